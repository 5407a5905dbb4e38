// The picked component on the graph and on the embedding, and the energies at the nodes.
function pickedSpace() { return KEPT[S.pick.row].get(S.pick.space) || null; }

function pickedComponent() {
  const kept = pickedSpace();
  return kept && S.pick.member >= 0 ? kept.components[S.pick.member] : -1;
}

// Values at the nodes: an eigenvector, or for a whole eigenspace the root of its summed squares.
function pickedValues() {
  const kept = pickedSpace();
  if (!kept) return null;
  const packed = S.pick.member < 0 && kept.length ? kept.length : kept.members[Math.max(0, S.pick.member)];
  return { values: Array.from(unpack(packed).v), signed: !(S.pick.member < 0 && kept.length) };
}

function pick(hop, space, component) {
  const kept = KEPT[hop].get(space);
  const size = row(SPECTRA.merged.multiplicity, hop)[space];
  let member = size > 1 ? -1 : 0;
  if (component !== undefined && component >= 0 && kept && size > 1) {
    const found = kept.components.indexOf(component);
    member = found < 0 ? -1 : found;
  }
  S.pick = { row: hop, space, member };
}

function drawGraph() {
  const found = pickedValues(), values = found ? found.values : null;
  const top = values ? values.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-12) : 1, low = found && found.signed ? -top : 0;
  const stops = found && found.signed ? signedScale() : plainScale();
  describePick();
  drawScene("graph", {
    height: 400, range: WHOLE, labels: NODES <= 60,
    panels: [{ x: PLACES[0], y: PLACES[1], values, paint: values ? painter(values, low, top, stops) : null, low, high: top, stops, words: (i) => `${values ? `value ${num(values[i])}\n` : ""}${many(DRAWING.degrees.v[i], "neighbour")}` }],
  });
}

// Nodes where their vectors are, in the colours of the picked component. One number a node has no such plane.
function drawEmbedding() {
  if (byId("embedding-figure").hidden) return;
  const x = signalValues(0), y = signalValues(1), found = pickedValues(), values = found ? found.values : null;
  const range = AXES.map((all) => {
    const known = all.filter((v) => Number.isFinite(v)), low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    return low <= high ? [low, high > low ? high : low + 1] : [0, 1];
  });
  const top = values ? values.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-12) : 1, low = found && found.signed ? -top : 0;
  const stops = found && found.signed ? signedScale() : plainScale();
  drawScene("embedding", {
    height: 330, range, labels: NODES <= 30,
    panels: [{ x, y, values, paint: values ? painter(values, low, top, stops) : null, low, high: top, stops, title: x.some(isNumber) ? "" : "undefined at this snapshot", words: (i) => `(${num(x[i])}, ${num(y[i])})` }],
  });
  byId("embedding-caption").textContent =
    `${D.snapshots ? `${ROW_TITLE} ${moment(S.snapshot)}. ` : ""}Nodes placed by their vectors${D.metric === "angular" ? ", taken as directions" : ""}: ${AXES_WORDS}${D.snapshots ? ", the same for all snapshots" : ""}. Colours: the picked component.`;
}

// Energy of every node, a panel for each band of eigenvalues.
const NODE_ENERGY = D.nodes ? unpackAll(D.nodes) : null;
function drawNodes() {
  byId("nodes-section").hidden = !NODE_ENERGY;
  if (!NODE_ENERGY) return;
  const snapshot = Math.min(S.snapshot, NODE_ENERGY.energy.s[0] - 1), stops = HEAT;
  drawScene("nodes", {
    height: 270, range: WHOLE, labels: false,
    panels: NODE_ENERGY.bands.map(([low, high], b) => {
      const values = row(NODE_ENERGY.energy, snapshot, b), top = values.reduce((most, x) => (x > most ? x : most), 1e-300);
      const title = `(${num(low, 3)}, ${num(high, 3)}]: ${num(100 * cell(NODE_ENERGY.share, snapshot, b), 2)} %`;
      return { x: PLACES[0], y: PLACES[1], values, paint: painter(values, 0, top, stops), low: 0, high: top, stops, title, words: (i) => `energy ${num(values[i])}` };
    }),
  });
  const last = NODE_ENERGY.energy.s[0] < SNAPSHOTS.length ? SNAPSHOTS.length - 1 : S.snapshot;
  byId("nodes-caption").textContent =
    `K = ${NODE_ENERGY.hop}${D.snapshots ? `, ${D.row_word} ${moment(last)}` : ""}. One panel for each band of eigenvalues, with its share of the energy and its own scale. Zero components are in no band.`;
}

function describePick() {
  const { row: hop, space, member } = S.pick;
  const merged = SPECTRA.merged, size = row(merged.multiplicity, hop)[space], value = row(merged.eigenvalue, hop)[space];
  const kept = pickedSpace();
  const magnitude = row(merged.magnitude, S.algorithm, S.snapshot, hop)[space];
  const chance = chanceOf(S.algorithm, S.snapshot, hop);
  let text = `K = ${HOPS[hop]}, ${row(merged.is_zero, hop)[space] === 1 ? "zero components" : `eigenvalue ${num(value)}`}`;
  if (size > 1) text += member < 0 ? `, the whole ${size}-fold eigenspace` : `, component ${member + 1} of ${size} (the basis inside is arbitrary)`;
  text += `. ${D.algorithms[S.algorithm]} magnitude ${num(magnitude)}${size > 1 ? " over the eigenspace" : ""}`;
  if (chance && isNumber(chance.ratio[space])) text += `, ${num(chance.ratio[space], 3)} times the energy of chance${chance.q && isNumber(chance.q[space]) ? ` (q = ${num(chance.q[space], 2)})` : ""}`;
  byId("picked").textContent = `${text}.`;
  let caption = !kept ? "Its eigenvector is not in this page, which holds the strongest and lowest of each hop. "
    : member < 0 && kept.length ? "Colour: length of the node's row in the eigenspace, the same in every basis. " : "Colour: the eigenvector's value at the node. ";
  if (DRAWING.quantised && kept) caption += "Values are rounded to 1/32767 of the largest. ";
  byId("graph-caption").textContent = caption;
  fillStrongest(kept);
  syncStepper();
}

function fillStrongest(kept) {
  const box = byId("strongest");
  const words = kept ? kept.nodes.flatMap((node, i) => [...(i ? [", "] : []), element("bdi", DRAWING.names[node]), ` (${num(kept.values[i], 3)})`]) : ["nodes that are not in this page"];
  box.replaceChildren(...words);
}

function syncStepper() {
  byId("pick-hop").value = String(S.pick.row);
  const number = byId("pick-number");
  number.max = String(STRATA.n_eigenspaces[S.pick.row] - 1);
  number.value = String(S.pick.space);
  const kept = pickedSpace(), select = byId("member"), label = byId("member-label");
  const several = kept !== null && kept.length !== null;
  label.hidden = !several;
  const options = several ? [["-1", "all"], ...kept.components.map((_, i) => [String(i), `component ${i + 1}`])] : [];
  select.replaceChildren(...options.map(([value, text]) => { const option = element("option", text); option.value = value; return option; }));
  if (several) select.value = String(S.pick.member);
}
