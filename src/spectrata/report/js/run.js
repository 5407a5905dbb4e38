// A watched run: one measure over layers and epochs, and the scores below it.
const RUN = D.run;

// From half a step before the first pass to half a step after the last.
function span(at) {
  const last = at.length - 1, half = (k) => (last > 0 ? (at[k + 1] - at[k]) / 2 : 0.5);
  return [at[0] - half(0), at[last] + half(Math.max(0, last - 1))];
}

function drawRun() {
  byId("run-section").hidden = !RUN;
  if (!RUN) return null;
  const chosen = RUN.measures[S.measure], values = unpack(chosen.values), count = RUN.layers.length;
  const z = RUN.layers.map((_, k) => Array.from(row(values, k), (x) => (isNumber(x) ? x : null)));
  const scores = RUN.scores.map((one) => ({ name: one.name, y: Array.from(unpack(one.values).v, (x) => (isNumber(x) ? x : null)) })).filter((one) => one.y.some(isNumber));
  const below = scores.length ? 0.3 : 0, map = Math.max(120, Math.min(620, 24 * count));
  const layout = baseLayout(map / (1 - below) + 70, {
    shapes: [{ type: "rect", xref: "x domain", yref: "y domain", x0: 0, x1: 1, y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: css("hole") }], margin: { l: 52, r: 8, t: 8, b: 44 }, showlegend: scores.length > 1, legend: { orientation: "h", y: -0.14, x: 0 },
    xaxis: axisLook({ title: { text: esc(RUN.time), standoff: 6 }, showgrid: false, range: span(RUN.at), anchor: scores.length ? "y2" : "y" }),
    yaxis: axisLook({ domain: [below + (below ? 0.05 : 0), 1], autorange: "reversed", showgrid: false, tickvals: count > 40 ? undefined : [...Array(count).keys()], ticktext: count > 40 ? undefined : RUN.layers.map((name) => esc(short(name, 22))) }),
    yaxis2: axisLook({ domain: [0, below], title: { text: scores.length === 1 ? esc(scores[0].name) : "score" } }),
  });
  const text = z.map((list, k) => list.map((x, e) => `${esc(RUN.layers[k])}, ${esc(RUN.time)} ${esc(RUN.at[e])}: ${num(x)}`));
  const colours = ["main", "over", "pick", "soft"];
  const traces = [heatTrace(z, RUN.at, [...Array(count).keys()], { hovertext: text, meta: "run", zmin: undefined, zmax: undefined, colorbar: { thickness: 10, outlinewidth: 0, tickfont: { size: 10, color: css("soft") }, nticks: 5, y: below + (1 - below) / 2, len: 1 - below } })];
  scores.forEach((one, i) => traces.push({ x: RUN.at, y: one.y, name: esc(one.name), mode: RUN.at.length > 30 ? "lines" : "lines+markers", connectgaps: true, yaxis: "y2", meta: "score", line: { color: css(colours[i % colours.length]), width: 1.6 } }));
  byId("run-caption").textContent = `${chosen.name}: ${chosen.text || "a measure of the watched run"}${RUN.mode}. Grey: not recorded.${scores.length ? " Below: the scores of the run." : ""}`;
  return draw("run", traces, layout);
}
