// Spectra, one panel per hop; a click picks a component.
const PANELS = 12;
const CROWD = 150; // points from which only those with an eigenvector get a marker

function pages() { return Math.ceil(HOPS.length / PANELS); }

function drawSpectra() {
  const shown = ROWS.slice(S.page * PANELS, (S.page + 1) * PANELS);
  const wide = byId("spectra").clientWidth || 700;
  const columns = Math.max(1, Math.min(shown.length, wide < 430 ? 1 : wide < 640 || shown.length === 4 ? 2 : 3));
  const lines = Math.ceil(shown.length / columns);
  const layout = baseLayout(70 + lines * (lines === 1 ? 380 : lines === 2 ? 260 : 200), { annotations: [], margin: { l: 58, r: 12, t: 30, b: 52 } });
  const traces = [];
  const merged = S.merged || S.scale === "calibrated";
  const overlay = overlayChoice();
  const log = S.scale === "calibrated" || S.log;
  const gapX = columns > 1 ? 0.16 / columns : 0, gapY = lines > 1 ? 62 / (lines * 200) : 0;
  shown.forEach((hop, i) => {
    const id = i === 0 ? "" : String(i + 1);
    const column = i % columns, line = Math.floor(i / columns);
    const x0 = column / columns + (column ? gapX / 2 : 0), x1 = (column + 1) / columns - (column < columns - 1 ? gapX / 2 : 0);
    const y1 = 1 - line / lines - (line ? gapY / 2 : 0), y0 = 1 - (line + 1) / lines + (line < lines - 1 ? gapY / 2 : 0);
    const found = curve(S.algorithm, S.snapshot, hop, S.scale, merged);
    layout[`xaxis${id}`] = axisLook({ domain: [x0, x1], anchor: `y${id}`, title: line === lines - 1 || i + columns >= shown.length ? { text: S.axis, font: { size: 12 }, standoff: 6 } : undefined });
    layout[`yaxis${id}`] = axisLook({ domain: [y0, y1], anchor: `x${id}`, type: log ? "log" : "linear", ...heights(found, log), exponentformat: "power", nticks: 6 });
    const alone = STRATA.n_singletons[hop];
    const title = `K = ${HOPS[hop]}: ${many(STRATA.n_edges[hop], "edge")}, ${many(STRATA.n_parts[hop], "part")}${alone ? ` (${whole(alone)} single)` : ""}`;
    layout.annotations.push({ text: title, xref: "paper", yref: "paper", x: x0, y: y1, yshift: 16, xanchor: "left", yanchor: "middle", showarrow: false, font: { size: 11.5 } });
    const axes = { xaxis: `x${id}`, yaxis: `y${id}` };
    const word = emptyWord(found);
    if (word) layout.annotations.push({ text: esc(word), xref: "paper", yref: "paper", x: (x0 + x1) / 2, y: (y0 + y1) / 2, showarrow: false, font: { color: css("soft") } });
    traces.push(...bandTraces(found, axes, log));
    if (overlay && S.scale !== "calibrated") {
      traces.push(...curveTraces(curve(overlay.algorithm, overlay.snapshot, hop, S.scale, merged), axes, css("over"), "dash", overlay.name));
    }
    traces.push(...curveTraces(found, axes, css("main"), "solid", curveName()));
    traces.push(pickedTrace(found, axes));
  });
  const caption = byId("spectra-caption");
  caption.textContent = spectraWords(merged, overlay, log);
  return draw("spectra", traces, layout);
}

function emptyWord(found) {
  const values = found.points.map((p) => p.y).filter((y) => !Number.isNaN(y));
  if (S.scale === "calibrated" && !found.calibrated) return "not calibrated";
  if (!values.length) return "undefined";
  return values.some((y) => y > 0) ? "" : "all zero";
}

const at = (point) => (S.axis === "rank" ? point.rank : point.eigenvalue);

function bandTraces(found, axes, log) {
  const points = found.points.filter((p) => isNumber(p.low) && isNumber(p.high) && (S.merged || S.scale === "calibrated"));
  if (!points.length) return [];
  const floor = log ? Math.min(...points.map((p) => p.high)) / 1e3 : 0;
  const x = points.map(at), common = { ...axes, x, mode: "lines", hoverinfo: "skip", line: { width: 0, color: css("band") }, meta: "chance" };
  return [
    { ...common, y: points.map((p) => Math.max(p.low, floor)) },
    { ...common, y: points.map((p) => p.high), fill: "tonexty", fillcolor: css("band") },
  ];
}

// A log axis leaves the last hundredth below it: what is zero but for rounding would take most of the room.
function heights(found, log) {
  if (!log) return { rangemode: "tozero" };
  const values = found.points.flatMap((p) => [p.y, p.high]).filter((y) => isNumber(y) && y > 0);
  if (!values.length) return {};
  values.sort((a, b) => a - b);
  const top = Math.log10(values[values.length - 1]), low = Math.log10(values[Math.floor(values.length / 100)]);
  return { range: [Math.max(low - 0.3, top - 5), top + 0.25] };
}

// All points, and where they crowd a line through them with markers only where there is an eigenvector.
function curveTraces(found, axes, color, dash, name) {
  const points = found.points, crowd = points.length > CROWD;
  const common = (chosen) => ({
    ...axes, name: esc(name), x: chosen.map(at), y: chosen.map((p) => p.y), customdata: chosen.map((p) => [p.hop, p.space, p.index]),
    hovertext: chosen.map((p) => pointText(p, name)), hoverinfo: "text",
  });
  const line = { color, width: crowd ? 0.8 : 1.3, dash: crowd ? "solid" : dash };
  const marker = (chosen, size) => ({
    color, size, symbol: chosen.map((p) => (p.zero ? "square" : "circle") + (hollow(p) ? "-open" : "")), line: { width: 1.3, color },
  });
  if (!crowd) return [{ ...common(points), meta: "curve", mode: "lines+markers", line, marker: marker(points, 7) }];
  const marked = points.filter((p) => KEPT[p.hop].has(p.space));
  return [{ ...common(points), meta: "curve", mode: "lines", line }, { ...common(marked), meta: "marked", mode: "markers", marker: marker(marked, 5) }];
}

function hollow(point) {
  if (S.scale === "calibrated") return isNumber(point.q) ? point.q > 0.05 : isNumber(point.z) && Math.abs(point.z) < 2;
  return point.doubtful;
}

function pickedTrace(found, axes) {
  const merged = S.merged || S.scale === "calibrated";
  const points = found.points.filter((p) => p.hop === S.pick.row && p.space === S.pick.space && (merged || S.pick.member < 0 || p.index === pickedComponent()));
  return {
    ...axes, meta: "picked", mode: "markers", hoverinfo: "skip", x: points.map(at), y: points.map((p) => p.y),
    marker: { size: 15, color: "rgba(0,0,0,0)", symbol: "circle", line: { color: css("pick"), width: 2.5 } },
  };
}

function pointText(p, name) {
  const fold = p.multiplicity > 1 ? `, ${p.multiplicity}-fold` : "";
  const lines = [
    `<b>K = ${HOPS[p.hop]}, ${p.zero ? "zero components" : `eigenvalue ${num(p.eigenvalue)}`}${fold}</b>`,
    `${esc(name)}: magnitude ${num(p.magnitude)}`,
  ];
  if (S.scale === "normalised") lines.push(`normalised ${num(p.y)}`);
  if (isNumber(p.ratio)) lines.push(`energy over chance ${num(p.ratio, 3)}${isNumber(p.q) ? `, q = ${num(p.q, 2)}` : isNumber(p.z) ? `, z = ${num(p.z, 3)}` : ""}`);
  if (p.doubtful) lines.push(S.merged ? "depends on the choice of a basis" : "the split inside this eigenvalue is arbitrary");
  if (!KEPT[p.hop].has(p.space)) lines.push("its eigenvector is not in this page");
  return lines.join("<br>");
}

function curveName() {
  return D.algorithms[S.algorithm] + (D.snapshots ? `, ${moment(S.snapshot)}` : "");
}

// "m2": another algorithm at this snapshot; "s0": this algorithm at another snapshot.
function overlayChoice() {
  if (!S.overlay) return null;
  const index = Number(S.overlay.slice(1));
  if (S.overlay[0] === "m") return { algorithm: index, snapshot: S.snapshot, name: D.algorithms[index] };
  return { algorithm: S.algorithm, snapshot: index, name: `${D.algorithms[S.algorithm]}, ${moment(index)}` };
}

function spectraWords(merged, overlay, log) {
  const out = [`${curveName()} (solid)`];
  if (overlay && S.scale !== "calibrated") out.push(`${overlay.name} over it (other colour)`);
  let text = out.join(", ") + ". ";
  if (S.scale === "raw") text += "Height: magnitude. ";
  if (S.scale === "normalised") text += "Height: magnitude divided by the l2 norm over the hop. ";
  if (S.scale === "calibrated") {
    text += "Height: energy over what chance gives, 1 is chance; ";
    text += CHANCE && CHANCE.draws ? "filled where q ≤ 0.05. " : "filled where z is beyond 2. ";
  }
  text += merged ? "One point per eigenspace. " : "One point per component; hollow: the split inside a repeated eigenvalue is arbitrary. ";
  if (merged && S.scale !== "calibrated" && row(SPECTRA.merged.ambiguous, S.algorithm, 0).length && isAmbiguous()) text += "Hollow: the value depends on the choice of a basis. ";
  text += "Squares: zero components. ";
  if (merged && CHANCE && CHANCE.algorithms.includes(D.algorithms[S.algorithm])) text += "Grey band: chance, mean and two standard deviations of the energy. ";
  if (log) text += "Zeros lie below a log axis. ";
  if (COMPONENTS > CROWD) text += "Markers stand where the page holds the eigenvector. ";
  return text + "Click a point to see it on the graph.";
}

function isAmbiguous() { return ROWS.some((hop) => row(SPECTRA.merged.ambiguous, S.algorithm, hop).some((x) => x === 1)); }
