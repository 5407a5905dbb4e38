// The first screen: hops and their verdicts, findings, the signal on the graph, energy over chance, cumulative energy.
const LIKENESS = D.likeness ? unpackAll(D.likeness) : null;
const BANDS = D.bands ? unpackAll(D.bands) : null;
const CUMULATIVE = D.cumulative ? unpackAll(D.cumulative) : null;
const VERDICTS = { 1: ["alike", "alike"], 0: ["same", "not distinguishable"], "-1": ["unlike", "unlike"] };
const hopWord = (hop) => `${HOPS[hop]} hop${HOPS[hop] === 1 ? "" : "s"}`;

function drawStrip() {
  byId("strip-section").hidden = !LIKENESS;
  if (!LIKENESS) return;
  const dense = HOPS.length > 7, box = byId("strip"), kept = document.activeElement && document.activeElement.dataset.hop;
  box.className = dense ? "dense" : "";
  box.replaceChildren(...ROWS.map((hop) => {
    const [name, word] = VERDICTS[cell(LIKENESS.verdict, S.snapshot, hop)] || ["same", "not tested"];
    const r = num(cell(LIKENESS.r, S.snapshot, hop), 3);
    const button = element("button", undefined, name);
    button.type = "button";
    button.dataset.hop = String(hop);
    button.setAttribute("aria-pressed", String(hop === S.pick.row));
    button.append(element("b", `${hopWord(hop)}: ${word}`), element("small", `r = ${r}`));
    button.addEventListener("click", () => go(hop, strongestAt(hop)));
    return button;
  }));
  const untested = LIKENESS.tested.length && !ROWS.some((hop) => isNumber(cell(LIKENESS.verdict, S.snapshot, hop)));
  if (kept !== undefined && kept !== null) box.children[Number(kept)].focus();
  byId("strip-caption").textContent = `${D.snapshots ? `${ROW_TITLE} ${moment(S.snapshot)}. ` : ""}r: correlation between the two ends of a pair; ${LIKENESS.how}. ${untested ? `Tested: ${LIKENESS.tested.map((name) => `${D.row_word} ${iso(name)}`).join(", ")}. ` : ""}Choose a hop to see it below.`;
}

function fillFindings() {
  const groups = D.findings.length ? D.findings : [{ about: "", lines: [D.tested ? "No finding is significant." : "Nothing was tested against chance; the list below says why."] }];
  byId("findings").replaceChildren(...groups.map(({ about, lines }) => {
    const list = element("ul");
    list.append(...lines.map((line) => element("li", line)));
    const group = element("div");
    group.append(...(about ? [element("h3", about), list] : [list]));
    return group;
  }));
  byId("missing").replaceChildren(...(D.missing.length ? D.missing : ["Everything was computed."]).map((line) => element("li", line)));
  byId("missing-title").parentElement.open = !D.findings.length && !D.tested;
  byId("missing-title").textContent = `Not computed, and why (${D.missing.length})`;
}

// ---- the signal

const NAMED = D.drawing.columns; // of the columns, where they have names
const PAINTS = D.columns > 2 ? ["first principal axis", "second principal axis"] : NAMED || (D.columns === 1 ? ["value"] : ["column 1", "column 2"]);
const AXES_WORDS = NAMED && D.columns === 2 ? `the columns ${iso(NAMED[0])} and ${iso(NAMED[1])}` : D.drawing.axes;
const PLACES = [0, 1].map((k) => Float64Array.from({ length: NODES }, (_, i) => DRAWING.places.v[2 * i + k]));
const WHOLE = [[-1.06, 1.06], [-1.06, 1.06]];
const AXES = DRAWING.embedding ? [0, 1].map((k) => DRAWING.embedding.v.filter((_, i) => i % 2 === k)) : null;

function signalRow() { return Math.min(S.snapshot, DRAWING.embedding.s[0] - 1); }

function signalValues(axis) {
  const all = row3(DRAWING.embedding, signalRow());
  return Float64Array.from({ length: NODES }, (_, i) => all[2 * i + axis]);
}

const row3 = (array, t) => array.v.subarray(t * array.s[1] * array.s[2], (t + 1) * array.s[1] * array.s[2]);

// One scale for all snapshots: symmetric about 0 for values of both signs, else from the lowest to the highest.
const ENDS = new Map();
function scaleOf(axis) {
  if (!ENDS.has(axis)) {
    const sorted = AXES[axis].filter((x) => Number.isFinite(x)).sort(), last = sorted.length - 1;
    const low = sorted[Math.floor(0.01 * last)] || 0, high = sorted[Math.ceil(0.99 * last)] || 0;
    if (low < 0 && high > 0) { const top = Math.max(-low, high); ENDS.set(axis, [-top, top, true]); }
    else ENDS.set(axis, [low, high > low ? high : low + (Math.abs(low) || 1) * 1e-9, false]);
  }
  return ENDS.get(axis);
}

function drawSignal() {
  if (!DRAWING.embedding) return;
  const axis = Math.min(S.paint, PAINTS.length - 1), values = signalValues(axis), [low, high, signed] = scaleOf(axis);
  const stops = signed ? signedScale() : HEAT;
  drawScene("signal", {
    height: 330, range: WHOLE, labels: false,
    panels: [{ x: PLACES[0], y: PLACES[1], values, paint: painter(values, low, high, stops), low, high, stops, words: (i) => `${NAMED ? iso(PAINTS[axis]) : PAINTS[axis]} ${num(values[i])}\n${many(DRAWING.degrees.v[i], "neighbour")}` }],
  });
  const shown = D.snapshots ? `${ROW_TITLE} ${moment(DRAWING.embedding.s[0] > 1 ? S.snapshot : LAST)}, one scale for all. ` : "";
  const what = D.columns === 1 ? "" : `${D.metric === "angular" ? "Vectors taken as directions; " : ""}${AXES_WORDS}. `;
  const edges = DRAWING.n_edges > DRAWING.edges.s[0] ? `${whole(DRAWING.n_edges)} edges are not drawn. ` : "";
  byId("signal-caption").textContent = `${shown}${what}${edges}Colours end at the 1st and 99th percentile.`;
}

// ---- energy over chance

const FAR = 3; // powers of two at which colours end
function chanceScale() { return [[0, css("less")], [0.5, css("middle")], [1, css("more")]]; }

function bandSpace(hop, band) { // the strongest eigenspace of a band that the page can show
  const value = row(SPECTRA.merged.eigenvalue, hop), low = row(BANDS.band_lower, hop)[band], high = row(BANDS.band_upper, hop)[band];
  const m = row(SPECTRA.merged.magnitude, S.algorithm, S.snapshot, hop);
  let best = -1;
  value.forEach((x, a) => { if (x >= low - 1e-5 * Math.abs(low) && x <= high + 1e-5 * Math.abs(high) && KEPT[hop].has(a) && (best < 0 || m[a] > m[best])) best = a; });
  return best;
}

function drawHops() {
  byId("hops-title").textContent = BANDS ? "Energy over chance" : "Energy by hop and frequency";
  if (!BANDS) return drawMagnitudes();
  const count = BANDS.ratio.s[2], names = [...Array(count).keys()];
  const ratio = ROWS.map((hop) => Array.from(row(BANDS.ratio, S.snapshot, hop), (x) => (isNumber(x) ? x : null)));
  const z = ratio.map((list) => list.map((x) => (x === null ? null : Math.max(-FAR, Math.min(FAR, Math.log2(Math.max(x, 1e-9)))))));
  const text = ratio.map((list, hop) => list.map((x, b) => `${hopWord(hop)}, eigenvalues ${num(row(BANDS.band_lower, hop)[b], 3)} to ${num(row(BANDS.band_upper, hop)[b], 3)}<br>${num(x, 3)} times the energy of chance`));
  const narrow = (byId("hops").clientWidth || 400) < 360;
  const layout = baseLayout(330, {
    plot_bgcolor: css("hole"), margin: { l: 52, r: 8, b: 36 },
    xaxis: axisLook({ tickvals: [0, count - 1], ticktext: ["smooth", "rough"], title: { text: "frequency", standoff: 0 }, showgrid: false }),
    yaxis: axisLook({ autorange: "reversed", showgrid: false, tickvals: HOPS.length > 12 ? undefined : ROWS, ticktext: HOPS.length > 12 ? undefined : ROWS.map(hopWord), title: HOPS.length > 12 ? { text: "hops" } : undefined }),
  });
  byId("hops-caption").textContent = `gft${D.snapshots ? `, ${D.row_word} ${moment(S.snapshot)}` : ""}: energy of ${count} bands of equally many components off zero, over the permutation mean. The zero components, which hold what is constant on every connected part of the K-hop graph, are in no band. Grey: no eigenspace lies there. Click a cell to see its strongest component.`;
  return draw("hops", [{
    type: "heatmap", z, x: names, y: ROWS, zmin: -FAR, zmax: FAR, colorscale: chanceScale(), hoverinfo: "text", hovertext: text, hoverongaps: false, xgap: 1, ygap: 1,
    text: ratio.map((list) => list.map((x) => (x === null ? "" : x < 0.01 ? "<.01" : num(x, x < 0.1 ? 1 : 2)))), texttemplate: HOPS.length <= 12 ? "%{text}" : "", textfont: { size: narrow ? 9 : 10 },
    customdata: ratio.map((list, hop) => list.map((_, b) => [hop, bandSpace(hop, b)])), meta: "chance",
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { size: 10, color: css("soft") }, tickvals: [-3, -1, 0, 1, 3], ticktext: ["1/8", "1/2", "chance", "2 ×", "8 ×"] },
  }], layout);
}

// ---- cumulative energy

// Cumulative share of the energy off zero of any algorithm, at the ends of eigenspaces.
function accumulated(algorithm, snapshot, hop) {
  const found = curve(algorithm, snapshot, hop, "raw", true).points.filter((p) => !p.zero && isNumber(p.magnitude));
  const size = found.reduce((sum, p) => sum + p.multiplicity, 0);
  let energy = 0, count = 0;
  const y = found.map((p) => (energy += p.magnitude ** 2)), x = found.map((p) => (count += p.multiplicity) / size);
  const adds = SPECTRA.merged.evening[algorithm] === 1; // such magnitudes have no energy that adds up over frequencies
  return adds || !(energy > 0) ? { x: [], y: [] } : { x, y: y.map((e) => e / energy) };
}

function cumulativeTraces(hop, axes, algorithm, name, colour) {
  const traces = [], exact = D.algorithms[algorithm] === "gft", start = (list) => [0, ...list];
  if (CUMULATIVE && exact) {
    const x = start(Array.from(row(CUMULATIVE.frequency, hop)).filter(isNumber)), size = x.length - 1;
    const part = (key) => start(Array.from(row(CUMULATIVE[key], S.snapshot, hop)).slice(0, size));
    if (CUMULATIVE.draws) {
      const band = { ...axes, x, mode: "lines", hoverinfo: "skip", line: { width: 0, color: css("band") }, meta: "chance" };
      traces.push({ ...band, y: part("chance_low") }, { ...band, y: part("chance_high"), fill: "tonexty", fillcolor: css("band") });
      traces.push({ ...band, y: part("chance"), line: { width: 1, dash: "dot", color: css("soft") }, meta: "mean" });
    }
  }
  const { x, y } = accumulated(algorithm, S.snapshot, hop);
  traces.push({ ...axes, x: start(x), y: start(y), name: esc(name), mode: "lines", line: { color: colour, width: 2 }, meta: "cumulative", hovertemplate: "%{y:.3f} of the energy in %{x:.3f} of the frequencies<extra></extra>" });
  return traces;
}

function drawCumulative() {
  const algorithm = Math.max(0, D.algorithms.indexOf("gft")), hop = S.pick.row;
  byId("cumulative-title").textContent = `Cumulative energy at ${hopWord(hop)}`;
  const layout = baseLayout(330, {
    margin: { l: 52, r: 12, b: 44 }, annotations: [],
    xaxis: axisLook({ range: [0, 1.005], title: { text: "share of frequencies, smooth to rough", standoff: 6 } }),
    yaxis: axisLook({ range: [0, 1.02], title: { text: "share of energy" } }),
  });
  const traces = cumulativeTraces(hop, {}, algorithm, "signal", css("main"));
  if (!traces[traces.length - 1].y.slice(1).some(isNumber)) layout.annotations.push({ text: "no energy off zero", xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false });
  const chance = CUMULATIVE && CUMULATIVE.draws ? ` Grey: chance, 95 % of ${CUMULATIVE.draws} random orders of the nodes; dotted: their mean.` : "";
  byId("cumulative-caption").textContent = `${D.algorithms[algorithm]}${D.snapshots ? `, ${D.row_word} ${moment(S.snapshot)}` : ""}: energy off zero up to each frequency.${chance}`;
  return draw("cumulative", traces, layout);
}

// ---- correlogram

function drawCorrelogram() {
  if (!LIKENESS) return null;
  const [r, low, high] = ["r", "chance_low", "chance_high"].map((key) => Array.from(row(LIKENESS[key], S.snapshot))), verdict = row(LIKENESS.verdict, S.snapshot);
  const bars = ROWS.filter((hop) => isNumber(low[hop]) && isNumber(high[hop]));
  const far = 1.15 * Math.max(0.1, ...[...r, ...low, ...high].filter(isNumber).map(Math.abs));
  const layout = baseLayout(330, {
    margin: { l: 58, r: 12, b: 44 },
    xaxis: axisLook({ title: { text: "hop distance K", standoff: 6 }, dtick: HOPS.length > 15 ? undefined : 1, range: [HOPS[0] - 0.6, HOPS[HOPS.length - 1] + 0.6], showgrid: false }),
    yaxis: axisLook({ title: { text: "r" }, range: [-far, far] }),
    shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: 0, y1: 0, line: { color: css("soft"), width: 1 } }],
  });
  byId("correlogram-caption").textContent = `${D.snapshots ? `${ROW_TITLE} ${moment(S.snapshot)}. ` : ""}r: correlation between the two ends of a pair. Bars: chance, 95 % of the permutations, one hop at a time. Filled markers: alike or unlike. Test: ${LIKENESS.how}.`;
  return draw("correlogram", [
    { x: bars.flatMap((hop) => [HOPS[hop], HOPS[hop], null]), y: bars.flatMap((hop) => [low[hop], high[hop], null]), mode: "lines", hoverinfo: "skip", line: { color: css("band"), width: 12 }, meta: "chance" },
    { x: HOPS, y: r, mode: "lines+markers", meta: "r", hoverinfo: "text", hovertext: ROWS.map((hop) => `${hopWord(hop)}: r = ${num(r[hop], 3)}`), line: { color: css("main"), width: 1 },
      marker: { color: css("main"), size: 9, symbol: ROWS.map((hop) => (verdict[hop] === 1 || verdict[hop] === -1 ? "circle" : "circle-open")), line: { width: 1.5, color: css("main") } } },
  ], layout);
}
