// ---- a watched run: measures over layers and epochs, layers against the levels of collapse

function runMode() {
  return DATA.run.modes[$("run-mode").selectedIndex];
}

function showRun() {
  if (!DATA.run) return;
  $("run-section").hidden = false;
  if (!$("run-mode").options.length) {
    for (const mode of DATA.run.modes) make("option", $("run-mode"), mode.name);
    $("run-modes").hidden = DATA.run.modes.length < 2;
    const several = DATA.run.modes.findIndex((mode) => mode.at.length > 1);  // one pass is no course
    $("run-mode").selectedIndex = Math.max(0, several);
    for (const measure of DATA.run.modes[0].measures) make("option", $("run-measure"), measure.title);
    $("run-mode").onchange = showRun;
    $("run-measure").onchange = showRun;
  }
  const mode = runMode(), measure = mode.measures[Math.max(0, $("run-measure").selectedIndex)] ?? mode.measures[0];
  $("run").replaceChildren(runChart(mode, measure));
  const scale = measure.log ? `Colours are logarithmic, from ${shortNumber(measure.log[0])} to ${shortNumber(measure.log[1])}. ` : "";
  $("run-caption").textContent = `${measure.title}: ${measure.text}. ${scale}Select a cell for its value and its layer.`;
  showCollapse();
}

function runChart(mode, measure) {
  const layers = mode.layers.length, passes = thin(mode.at.length, 60), high = Math.max(12, Math.min(24, 300 / layers));
  const room = chartWidth("run"), left = Math.min(150, room / 3.2), right = room - 20, top = 22, bottom = top + layers * high, wide = (right - left) / passes.length;
  const scores = DATA.run.scores.length && mode.at.length > 1 ? 90 : 0, svg = draw("svg", null, { viewBox: `0 0 ${room} ${bottom + 44 + scores}`, role: "group", "aria-label": "Layers over the run" });
  const known = measure.values.flat().filter((value) => !missing(value));
  const change = (value) => (measure.log ? Math.log(Math.max(value, measure.log[0])) : value);
  const ends = measure.log ? measure.log.map(Math.log) : [Math.min(...known), Math.max(...known)];
  mode.layers.forEach((name, row) => {
    const most = left < 120 ? 14 : 20, half = most / 2 - 1, words = name.length > most ? `${name.slice(0, half)}\u2026${name.slice(-half)}` : name;
    if (layers <= 40 || row % 2 === 0) draw("text", svg, { x: left - 6, y: top + (row + 0.5) * high + 4, "text-anchor": "end" }, words);
    passes.forEach((pass, at) => {
      const value = measure.values[row][pass], fill = missing(value) ? color("grid") : onRamp((change(value) - ends[0]) / (ends[1] - ends[0] || 1));
      const cell = draw("rect", svg, { class: "cell", x: left + at * wide, y: top + row * high, width: wide + 0.3, height: high - 1, fill, "data-value": missing(value) ? "" : value });
      draw("title", cell, {}, `${name}, ${DATA.run.time} ${mode.at[pass]}: ${missing(value) ? "not recorded" : shortNumber(value)}`);
      cell.onclick = () => chooseLayer(name, mode.at[pass], value);
    });
  });
  const ticks = thin(passes.length, room < 600 ? 5 : 8);
  for (const at of ticks) draw("text", svg, { x: left + (at + 0.5) * wide, y: bottom + 15, "text-anchor": "middle" }, String(mode.at[passes[at]]));
  draw("text", svg, { x: (left + right) / 2, y: bottom + 31, "text-anchor": "middle" }, DATA.run.time);
  draw("text", svg, { x: right, y: 14, "text-anchor": "end" }, `${room < 600 ? "" : `${measure.title}: `}dark ${shortNumber(measure.log ? measure.log[0] : ends[0])}, light ${shortNumber(measure.log ? measure.log[1] : ends[1])}`);
  if (scores) scoreLines(svg, left, right, bottom + 42, mode);
  return svg;
}

function scoreLines(svg, left, right, top, mode) {
  const first = mode.at[0], last = mode.at[mode.at.length - 1];
  DATA.run.scores.slice(0, 4).forEach((score, row) => {
    const known = score.values.filter((value) => !missing(value)), low = Math.min(...known), high = Math.max(...known);
    const ink = CLASSES[row];
    const points = score.values.map((value, at) => [DATA.run.at[at], value]).filter(([at, value]) => !missing(value) && at >= first && at <= last)
      .map(([at, value]) => `${left + ((at - first) / (last - first || 1)) * (right - left)},${top + 60 - ((value - low) / (high - low || 1)) * 52}`);
    draw("polyline", svg, { points: points.join(" "), fill: "none", stroke: ink, "stroke-width": 1.8, "data-score": score.name });
    draw("text", svg, { x: left + (row * (right - left)) / Math.min(4, DATA.run.scores.length), y: top + 80, style: `fill:${ink}` }, `${score.name}: ${shortNumber(low)} to ${shortNumber(high)}`);
  });
}

const thin = (total, most) => {
  const step = Math.ceil(total / most);
  return Array.from({ length: Math.ceil(total / step) }, (_, at) => at * step);
};

async function chooseLayer(name, when, value) {
  $("run-caption").textContent = `${name}, ${DATA.run.time} ${when}: ${missing(value) ? "not recorded" : shortNumber(value)}`;
  const at = DATA.cells.findIndex((cell) => cell.label === name);
  if (at >= 0) await chooseCell(at);
}

function showCollapse() {
  const known = DATA.collapse;
  if (!known) return;
  const n = known.names.length, room = chartWidth("collapse"), left = 60, right = room - 20, top = 26, bottom = 200;
  const least = Math.min(...[...known.values, ...(known.control ?? []), ...known.levels.map((one) => one.level)].filter((x) => x > 0));
  const decades = Math.max(2, Math.min(7, Math.ceil(-Math.log10(least)))), floor = 10 ** -decades;
  const shortName = (name) => (name.replace("/hidden", "").length > 11 ? `${name.slice(0, 10)}\u2026` : name.replace("/hidden", ""));
  const svg = draw("svg", null, { viewBox: `0 0 ${room} 250`, role: "img", "aria-label": "Layers against the levels of collapse" });
  const x = (at) => left + ((at + 0.5) / n) * (right - left), y = (value) => top + (-Math.log10(Math.max(floor, Math.min(1, value))) / decades) * (bottom - top);
  const ys = [1, 0.1, 0.01, 1e-3, 1e-5, 1e-7].filter((value) => value >= floor * 0.99).map((value) => [value, y(value), value < 1e-3 ? value.toExponential(0).replace("e-", "e\u2212") : String(value)]);
  axes(svg, { left, right, top, bottom }, thin(n, Math.max(2, Math.floor((right - left) / 84))).map((at) => [at, x(at), shortName(known.names[at])]), ys,
    ["layer", "share of the energy that tells nodes apart"]);
  for (const [values, ink, hollow] of [[known.control, color("none"), true], [known.values, color("alike"), false]]) {
    if (!values) continue;
    values.forEach((value, at) => {
      if (!missing(value)) draw("circle", svg, { cx: x(at), cy: y(value), r: 5, stroke: ink, "stroke-width": 2, fill: hollow ? color("paper") : ink, "data-value": value });
    });
  }
  for (const level of known.levels) {
    const wide = Math.max(14, (right - left) / n / 2);
    draw("line", svg, { x1: x(level.at) - wide, x2: x(level.at) + wide, y1: y(level.level), y2: y(level.level), stroke: color("unlike"), "stroke-width": 3, "data-level": level.level });
  }
  $("collapse").replaceChildren(svg);
  $("collapse-caption").textContent = `Layers at ${known.when}. Orange: levels of collapse of the study, at the layers that are judged.${known.control ? " Hollow: the same weights without messages." : ""}${least < floor ? ` Dots at the lower edge: below ${floor.toExponential(0).replace("e-", "e\u2212")}.` : ""}`;
}
