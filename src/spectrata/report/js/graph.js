// The picked component on the drawn graph, and on the embedding.
function pickedSpace() { return KEPT[S.pick.row].get(S.pick.space) || null; }

function pickedComponent() {
  const kept = pickedSpace();
  return kept && S.pick.member >= 0 ? kept.components[S.pick.member] : -1;
}

// Values on the drawn nodes: an eigenvector, or for a whole eigenspace the root of its summed squares.
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

function nodeColours() {
  const found = pickedValues();
  if (!found) return { marker: { color: css("hole"), line: { color: css("edge"), width: 1 } }, values: null };
  const top = Math.max(...found.values.map(Math.abs), 1e-12);
  return {
    values: found.values,
    marker: {
      color: found.values, cmin: found.signed ? -top : 0, cmax: top, colorscale: found.signed ? signedScale() : plainScale(),
      showscale: true, colorbar: { thickness: 10, len: 0.75, outlinewidth: 0, tickfont: { size: 10, color: css("soft") }, nticks: 5 },
      line: { color: css("edge"), width: 1 },
    },
  };
}

function edgeTrace(x, y) {
  const ex = [], ey = [];
  for (let e = 0; e < DRAWING.edges.s[0]; e++) {
    const [a, b] = row(DRAWING.edges, e);
    ex.push(x[a], x[b], null);
    ey.push(y[a], y[b], null);
  }
  return { x: ex, y: ey, mode: "lines", hoverinfo: "skip", line: { color: css("edge"), width: NODES > 100 ? 0.6 : 1 }, opacity: 0.75 };
}

function nodeTrace(x, y, labelled) {
  const look = nodeColours();
  const names = DRAWING.names;
  const trace = {
    x, y, mode: labelled ? "markers+text" : "markers", hoverinfo: "text", marker: look.marker, cliponaxis: false,
    hovertext: names.map((name, i) => `<b>${esc(name)}</b><br>${look.values ? `value ${num(look.values[i])}<br>` : ""}${many(DRAWING.degrees.v[i], "neighbour")}`),
  };
  trace.marker.size = NODES <= 30 ? 15 : NODES <= 100 ? 10 : 7;
  if (labelled) {
    trace.text = names.map((name) => esc(short(name)));
    trace.textposition = "top center";
    trace.textfont = { size: 11, color: css("ink") };
  }
  return trace;
}

const HIDDEN = { visible: false, showgrid: false, zeroline: false };

function drawGraph() {
  const x = [], y = [];
  for (let i = 0; i < NODES; i++) { const place = row(DRAWING.places, i); x.push(place[0]); y.push(place[1]); }
  const layout = baseLayout(430, {
    margin: { l: 6, r: 6, t: 8, b: 6 },
    xaxis: { ...HIDDEN, range: [-1.15, 1.15] }, yaxis: { ...HIDDEN, range: [-1.15, 1.2], scaleanchor: "x" },
  });
  describePick();
  return draw("graph", [edgeTrace(x, y), nodeTrace(x, y, NODES <= 60)], layout);
}

function drawEmbedding() {
  if (!DRAWING.embedding) return null;
  const x = [], y = [];
  for (let i = 0; i < NODES; i++) { const place = row(DRAWING.embedding, S.snapshot, i); x.push(place[0]); y.push(place[1]); }
  const all = DRAWING.embedding.v, low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (let i = 0; i < all.length; i++) if (isNumber(all[i])) { low[i % 2] = Math.min(low[i % 2], all[i]); high[i % 2] = Math.max(high[i % 2], all[i]); }
  const range = [0, 1].map((k) => { const margin = 0.1 * (high[k] - low[k]) || 1; return [low[k] - margin, high[k] + margin]; });
  const layout = baseLayout(360, {
    xaxis: axisLook({ range: range[0], title: { text: D.drawing.axes.startsWith("value") ? "value" : "" } }),
    yaxis: axisLook({ range: range[1], scaleanchor: D.drawing.axes.startsWith("value") ? undefined : "x" }),
  });
  const empty = x.every((v) => !isNumber(v));
  if (empty) layout.annotations = [{ text: "undefined at this snapshot", xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false }];
  byId("embedding-caption").textContent =
    `${D.snapshots ? `Snapshot ${moment(S.snapshot)}. ` : ""}Nodes where their vectors are${D.metric === "angular" ? ", taken as directions" : ""}: ${D.drawing.axes}${D.snapshots ? ", the same for all snapshots" : ""}. Colours are those of the graph above.`;
  return draw("embedding", [edgeTrace(x, y), nodeTrace(x, y, NODES <= 30)], layout);
}

// Energy of every drawn node, a panel for each band of eigenvalues.
const NODE_ENERGY = D.nodes ? unpackAll(D.nodes) : null;
function drawNodes() {
  byId("nodes-section").hidden = !NODE_ENERGY;
  if (!NODE_ENERGY) return null;
  const x = [], y = [], traces = [], bands = NODE_ENERGY.bands, count = bands.length;
  for (let i = 0; i < NODES; i++) { const place = row(DRAWING.places, i); x.push(place[0]); y.push(place[1]); }
  const snapshot = Math.min(S.snapshot, NODE_ENERGY.energy.s[0] - 1);
  const layout = baseLayout(300, { margin: { l: 6, r: 6, t: 30, b: 6 }, annotations: [] });
  bands.forEach(([low, high], b) => {
    const own = b ? String(b + 1) : "", values = Array.from(row(NODE_ENERGY.energy, snapshot, b));
    const axes = { xaxis: `x${own}`, yaxis: `y${own}` }, domain = [b / count + 0.005, (b + 1) / count - 0.005];
    layout[`xaxis${own}`] = { ...HIDDEN, range: [-1.15, 1.15], domain };
    layout[`yaxis${own}`] = { ...HIDDEN, range: [-1.15, 1.15], scaleanchor: `x${own}`, anchor: `x${own}` };
    layout.annotations.push({
      text: `(${num(low, 3)}, ${num(high, 3)}], ${num(100 * cell(NODE_ENERGY.share, snapshot, b), 2)} %`, showarrow: false,
      xref: "paper", yref: "paper", x: (domain[0] + domain[1]) / 2, y: 1.02, xanchor: "center", yanchor: "bottom", font: { size: 11 },
    });
    traces.push({ ...edgeTrace(x, y), ...axes }, {
      x, y, ...axes, mode: "markers", hoverinfo: "text", cliponaxis: false,
      hovertext: DRAWING.names.map((name, i) => `<b>${esc(name)}</b><br>energy ${num(values[i])}`),
      marker: { color: values, cmin: 0, cmax: Math.max(...values.filter(isNumber), 1e-300), colorscale: plainScale(), size: NODES <= 100 ? 9 : 6, line: { color: css("edge"), width: 0.5 } },
    });
  });
  const last = NODE_ENERGY.energy.s[0] < SNAPSHOTS.length ? SNAPSHOTS.length - 1 : S.snapshot;
  byId("nodes-caption").textContent =
    `K = ${NODE_ENERGY.hop}${D.snapshots ? `, snapshot ${moment(last)}` : ""}. One panel for each band of eigenvalues, with its share of the energy; each has its own scale from 0 to its largest energy. Zero components are in no band.`;
  return draw("nodes", traces, layout);
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
  if (DRAWING.total > NODES) {
    caption += `${whole(NODES)} of ${whole(DRAWING.total)} nodes are drawn, spread over the graph with the ways between them`;
    caption += kept ? `; they hold ${num(100 * kept.shown, 3)} % of the picked eigenvector's energy. ` : ". ";
  }
  if (DRAWING.quantised && kept) caption += "Values are rounded to 1/32767 of the largest. ";
  byId("graph-caption").textContent = caption;
  fillStrongest(kept);
  syncStepper();
}

function fillStrongest(kept) {
  const box = byId("strongest");
  const words = kept ? kept.nodes.flatMap((node, i) => [...(i ? [", "] : []), element("bdi", nodeName(node)), ` (${num(kept.values[i], 3)})`]) : ["nodes that are not in this page"];
  box.replaceChildren(...words);
}

const POSITION = new Map(Array.from(DRAWING.rows.v, (node, i) => [node, i]));
function nodeName(node) {
  return POSITION.has(node) ? DRAWING.names[POSITION.get(node)] : `${D.drawing.other_names[node]}`;
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
