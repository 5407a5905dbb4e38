// ---- folded sections, filled when they are opened

const STATISTICS = { r: "r", smooth: "share of the lowest quarter", rough: "share of the highest quarter", main_divide: "share of the main divide" };
const HEADS = ["statistic", "hop", "verdict", "value", "chance low", "chance high", "p", "p corrected", "value given", "p given", "p given, corrected"];

async function fillTests() {
  const known = (await rest()).details[state.cell]?.tests ?? [], box = $("tests");
  const shown = known.map((row) => [STATISTICS[row[0]], row[1], row[2], ...row.slice(3, 6).map(shortNumber), plainP(row[6]), plainP(row[7]), shortNumber(row[8]), plainP(row[9]), plainP(row[10])]);
  table(box.querySelector("table"), HEADS, shown, [1, 3, 4, 5, 6, 7, 8, 9, 10]);
  box.querySelector("p").textContent = known.length ? `${DATA.foot} Verdicts rest on the corrected p.` : "No test was made.";
  box.querySelector(".save").onclick = () => saveCsv("tests.csv", HEADS, known);
}

async function fillSpectra() {
  const known = await rest(), own = known.details[state.cell]?.spectra, given = known.result, kinds = $("spectrum-kind");
  const names = [...(own ? ["share of energy, random walk"] : []), ...(given ? given.algorithms.map((name) => `${name}, ${given.operator}`) : [])];
  if (kinds.options.length !== names.length) {
    kinds.replaceChildren();
    for (const name of names) make("option", kinds, name);
  }
  $("spectrum-kinds").hidden = names.length < 2;
  $("spectrum-hop").value = String(state.hop);
  if (!names.length) { $("spectrum-caption").textContent = "No spectrum is shown for this column: spectra are made for numbers at every node, up to 4,000 nodes."; return; }
  const at = Math.max(0, kinds.selectedIndex), one = own && at === 0 ? ownSpectrum(own) : givenSpectrum(given, at - (own ? 1 : 0));
  $("spectrum").replaceChildren(spectrumChart(one.shown, one.top, one.right));
  $("spectrum-caption").textContent = one.caption;
}

function ownSpectrum(own) {
  const all = own.flatMap((hop) => [...numbers(hop.share), ...numbers(hop.high).filter(Number.isFinite)]), hop = own[state.hop];
  const shown = Object.fromEntries(Object.entries(hop).map(([name, array]) => [name, numbers(array)]));
  const words = [`eigenvalue of the pairs ${apart(DATA.hops[state.hop])}`, "share of the energy off zero"];
  const caption = "r is the mean of 1 minus the eigenvalue, weighted by these shares (and by what varies between connected parts): energy below 1 makes nodes alike, above 1 unlike. Grey: 95 % of random orders, one at a time.";
  return { shown: { ...shown, words, turn: true }, top: Math.max(...all, 1e-9), right: 2, caption };
}

function givenSpectrum(given, algorithm) {
  const [a, rows, hops, n] = given.magnitude.s, values = numbers(given.magnitude), at = Math.min(state.hop, hops - 1), lower = numbers(given.eigenvalue);
  const row = Math.min(state.cell, rows - 1), start = ((algorithm * rows + row) * hops + at) * n;
  const kept = Array.from({ length: n }, (_, k) => k).filter((k) => Number.isFinite(values[start + k]) && Number.isFinite(lower[at * n + k]));
  const everyone = Array.from(values.subarray(algorithm * rows * hops * n, (algorithm + 1) * rows * hops * n)).filter(Number.isFinite);
  const shown = { share: kept.map((k) => values[start + k]), lower: kept.map((k) => lower[at * n + k]), words: ["eigenvalue", `magnitude of ${given.algorithms[algorithm]}`] };
  const right = Math.max(...Array.from(lower).filter(Number.isFinite), 1e-9);
  const caption = `The result as it was given, total over each eigenspace. ${given.status.join(" ")}`;
  return { shown, top: Math.max(...everyone, 1e-9), right, caption };
}

async function fillNodes() {
  const known = await rest(), one = body(), box = $("nodes"), values = one.paint ? numbers(one.paint.values) : null, degrees = numbers(known.degrees);
  const heads = ["node", ...(one.local ? ["verdict"] : []), "neighbours", ...(values ? [one.paint.kind === "class" ? "label" : one.paint.words] : []), ...(one.local ? ["part of r", "q"] : [])];
  const said = (node) => (one.paint.kind === "class" ? (values[node] < 0 ? "" : one.paint.classes[values[node]]) : values[node]);
  const row = (node) => [known.names[node], ...(one.local ? [one.local.words[numbers(one.local.codes)[node]]] : []), degrees[node], ...(values ? [said(node)] : []),
    ...(one.local ? [numbers(one.local.r)[node], numbers(one.local.q)[node]] : [])];
  const order = byWeight(one.local ? numbers(one.local.r) : values ?? degrees), first = order.slice(0, 30);
  const written = (cell, at) => (typeof cell === "number" && heads[at] !== "neighbours" ? shortNumber(cell) : cell);
  table(box.querySelector("table"), heads, first.map((node) => row(node).map(written)), [1, 2, 3, 4, 5].filter((at) => !["label", "verdict"].includes(heads[at])));
  box.querySelector("p").textContent = `${order.length > 30 ? `The first 30 of ${order.length.toLocaleString("en")} nodes, ` : "All nodes, "}${one.local ? "largest part of r first." : "largest value first."}`;
  box.querySelector(".save").onclick = () => saveCsv("nodes.csv", heads, Array.from(order.keys()).map(row));
}

async function fillMade() {
  const known = await rest(), box = $("made"), list = box.querySelector("ul");
  list.replaceChildren();
  for (const note of DATA.notes) make("li", list, note, / {2}/.test(note) ? "columns" : "");
  table(box.querySelector("table"), ["", ""], [...DATA.made, ["command", DATA.command]], []);
  table($("strata"), ["hop", "pairs", "connected parts", "nodes without a pair"], known.strata, [1, 2, 3]);
}

const FILL = { tests: fillTests, spectra: fillSpectra, nodes: fillNodes, made: fillMade };
function fillOpen() {
  for (const [id, fill] of Object.entries(FILL)) if ($(id).open) fill();
}
