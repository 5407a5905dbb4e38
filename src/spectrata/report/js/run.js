// A watched run: one measure over layers and epochs with the scores below it, and each layer against its control.
const RUN = D.run;
const COLLAPSE = D.collapse ? unpackAll(D.collapse) : null;
const orNull = (x) => (isNumber(x) ? x : null);

// From half a step before the first pass to half a step after the last.
function span(at) {
  const last = at.length - 1, half = (k) => (last > 0 ? (at[k + 1] - at[k]) / 2 : 0.5);
  return [at[0] - half(0), at[last] + half(Math.max(0, last - 1))];
}

// Ticks that are powers of ten, written as such where they are small.
function powers({ tickvals, ticktext }) {
  return { tickvals, ticktext: tickvals.map((x, k) => (x < 0.0011 ? `10<sup>${Math.round(Math.log10(x))}</sup>` : ticktext[k])) };
}

function runMode() { return RUN.modes[Math.min(S.mode, RUN.modes.length - 1)]; }

// Colours by the logarithm between two values, or as they are.
function runColours(values, limits) {
  if (!limits) return { z: values, scale: { zmin: undefined, zmax: undefined }, bar: { nticks: 5 } };
  const [low, high] = limits.map(Math.log10), ticks = logTicks(low, high);
  return {
    z: values.map((list) => list.map((x) => (x === null ? null : Math.min(high, Math.max(low, Math.log10(Math.max(x, 1e-300))))))),
    scale: { zmin: low, zmax: high },
    bar: { tickvals: ticks.tickvals.map(Math.log10), ticktext: ticks.ticktext },
  };
}

function drawRun() {
  byId("run-section").hidden = !RUN && !COLLAPSE;
  byId("run-figure").hidden = !RUN;
  if (!RUN) return null;
  const mode = runMode(), chosen = mode.measures[Math.min(S.measure, mode.measures.length - 1)], unpacked = unpack(chosen.values), count = mode.layers.length;
  const values = mode.layers.map((_, k) => Array.from(row(unpacked, k), orNull));
  const scores = RUN.scores.map((one) => ({ name: one.name, y: Array.from(unpack(one.values).v, orNull) })).filter((one) => one.y.some(isNumber));
  const below = scores.length ? 0.26 : 0, size = Math.max(120, Math.min(620, (count > 20 ? 14 : 22) * count)), { z, scale, bar } = runColours(values, chosen.log);
  const narrow = (byId("run").clientWidth || 600) < 420, every = Math.ceil(count / 40), ticks = [...Array(count).keys()].filter((k) => k % every === 0);
  const layout = baseLayout(size / (1 - below) + 90, {
    shapes: [{ type: "rect", xref: "x domain", yref: "y domain", x0: 0, x1: 1, y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: css("hole") }], margin: { l: 52, r: 8, b: 44 }, showlegend: scores.length > 1, legend: { orientation: "h", y: 0, yref: "container", yanchor: "bottom", x: 0 },
    xaxis: axisLook({ title: { text: esc(RUN.time), standoff: 6 }, showgrid: false, range: span(mode.at.length > 1 ? mode.at : RUN.at), anchor: scores.length ? "y2" : "y" }),
    yaxis: axisLook({ domain: [below + (below ? 0.05 : 0), 1], autorange: "reversed", showgrid: false, tickvals: ticks, ticktext: ticks.map((k) => esc(short(mode.layers[k], narrow ? 14 : 22))), tickfont: { size: narrow || count > 24 ? 9 : 11, color: css("soft") } }),
    yaxis2: axisLook({ domain: [0, below], title: { text: scores.length === 1 ? esc(scores[0].name) : "score" }, rangemode: "tozero" }),
  });
  const text = values.map((list, k) => list.map((x, e) => `${esc(mode.layers[k])}, ${esc(RUN.time)} ${esc(mode.at[e])}: ${num(x)}`));
  const colours = ["main", "over", "pick", "soft"];
  const traces = [heatTrace(z, mode.at, [...Array(count).keys()], { hovertext: text, meta: "run", ...scale, colorbar: { thickness: 10, outlinewidth: 0, tickfont: { size: 10, color: css("soft") }, y: 1, yanchor: "top", ypad: 0, len: below ? 0.95 - below : 1, ...bar } })];
  scores.forEach((one, i) => traces.push({ x: RUN.at, y: one.y, name: esc(one.name), mode: RUN.at.length > 30 ? "lines" : "lines+markers", connectgaps: true, yaxis: "y2", meta: "score", line: { color: css(colours[i % colours.length]), width: 1.6 } }));
  const how = chosen.log ? ` Colours are logarithmic and end at ${num(chosen.log[0], 2)} and ${num(chosen.log[1], 2)}.` : "";
  byId("run-caption").textContent = `${chosen.name}: ${chosen.text || "a measure of the watched run"}; ${mode.name === "without messages" ? "evaluations without messages (self-loops as the only edges)" : `${mode.name} passes`}.${how} Grey: not recorded.${scores.length ? " Below: the scores of the run." : ""}`;
  return draw("run", traces, layout);
}

// Each layer at the evaluation and without messages, with the levels of the study at the two places judged.
function drawCollapse() {
  byId("collapse-figure").hidden = !COLLAPSE;
  if (!COLLAPSE) return null;
  const { names, floor, levels } = COLLAPSE, x = [...names.keys()], at = (v) => (isNumber(v) ? Math.max(v, floor) : null);
  const drawn = ["values", "control", "low"].filter((key) => COLLAPSE[key]).flatMap((key) => Array.from(COLLAPSE[key].v)).filter(isNumber);
  const least = Math.max(floor, Math.min(...drawn, ...levels.map((one) => one.level)) / 1.6), range = [Math.log10(least) - 0.04, Math.log10(1.3)];
  const narrow = (byId("collapse").clientWidth || 600) < 420, every = Math.ceil(names.length / (narrow ? 10 : 20)), ticks = x.filter((k) => k % every === 0);
  const curve = (key, name, colour, symbol) => ({
    x, y: Array.from(COLLAPSE[key].v, at), name, meta: key, mode: "lines+markers", line: { color: css(colour), width: 1.6 }, hoverinfo: "text",
    marker: { size: 8, symbol: Array.from(COLLAPSE[key].v, (v) => (v < floor ? "triangle-down" : symbol)) },
    hovertext: x.map((k) => `${esc(names[k])}, ${name}: ${num(COLLAPSE[key].v[k])}`),
  });
  const traces = [];
  if (COLLAPSE.low) {
    traces.push({ x: x.flatMap((k) => [k, k, null]), y: x.flatMap((k) => [at(COLLAPSE.low.v[k]), at(COLLAPSE.high.v[k]), null]), name: `range of the last ${COLLAPSE.evaluations}`, mode: "lines", hoverinfo: "skip", meta: "range", line: { color: css("main"), width: 7 }, opacity: 0.3 });
  }
  traces.push(curve("values", "with messages", "main", "circle"));
  if (COLLAPSE.control) traces.push(curve("control", "control: self-loops only", "over", "square"));
  traces.push({ x: levels.flatMap(({ at: k }) => [k - 0.45, k + 0.45, null]), y: levels.flatMap(({ level }) => [level, level, null]), name: "level of collapse (study)", mode: "lines", hoverinfo: "skip", meta: "level", line: { color: css("ink"), width: 3 } });
  const layout = baseLayout(Math.max(360, byId("run").clientHeight ? Math.min(520, byId("run").clientHeight - BAR) : 360), {
    margin: { l: 58, r: 10, b: 60 }, showlegend: true, legend: { orientation: "h", y: 0, yref: "container", yanchor: "bottom", x: 0, font: { size: 11 } },
    xaxis: axisLook({ tickvals: ticks, ticktext: ticks.map((k) => esc(short(names[k], 18))), tickangle: names.length > 4 ? -40 : 0, range: [-0.6, names.length - 0.4], showgrid: false }),
    yaxis: axisLook({ type: "log", range, title: { text: "off_zero_live", standoff: 4 }, ...powers(logTicks(...range)) }),
  });
  byId("collapse-caption").textContent = `Share of the energy of the nodes' directions that varies within connected parts of the graph (off the zero components) at K = 1, live nodes, combinatorial Laplacian; ${COLLAPSE.when}. Short lines: ${levels.map((one) => `level of the ${one.name}: ${num(one.level, 2)}`).join(", ")}.${drawn.some((v) => v < floor) ? ` Triangles: below ${num(floor, 1)}.` : ""}`;
  return draw("collapse", traces, layout);
}
