// Spectra, one panel per hop; a click picks a component.
const PANELS = 12;
const TITLE = 11.5; // pixels, of the titles of panels
const CROWD = 150; // points from which only those with an eigenvector get a marker

function pages() { return Math.ceil(HOPS.length / PANELS); }

function drawSpectra() {
  const shown = ROWS.slice(S.page * PANELS, (S.page + 1) * PANELS);
  const wide = byId("spectra").clientWidth || 700;
  const columns = Math.max(1, Math.min(shown.length, wide < 430 ? 1 : wide < 640 || shown.length === 4 ? 2 : 3));
  const lines = Math.ceil(shown.length / columns);
  const gapX = columns > 1 ? 0.1 / columns : 0, margin = { l: 62, r: 14, b: 52 };
  const titles = shown.map((hop) => wrapped(panelTitle(hop), ((wide - margin.l - margin.r) * (1 - gapX * columns)) / columns, TITLE));
  const tall = 15 * (Math.max(1, ...titles.map((one) => one.length)) - 1); // pixels of titles beyond one line
  const inner = lines * (lines === 1 ? 380 : lines === 2 ? 260 : 200);
  const layout = baseLayout(inner + 70, { annotations: [], margin: { ...margin, t: 24 + tall } });
  const traces = [], merged = S.merged || S.scale === "calibrated", adds = S.scale === "cumulative";
  const overlay = S.scale === "calibrated" ? null : overlayChoice();
  const log = !adds && (S.scale === "calibrated" || S.log);
  const found = shown.map((hop) => curve(S.algorithm, S.snapshot, hop, S.scale, merged));
  const over = overlay && !adds ? shown.map((hop) => curve(overlay.algorithm, overlay.snapshot, hop, S.scale, merged)) : [];
  const height = adds ? { range: [0, 1.02] } : heights([...found, ...over], log); // one scale on all hops
  const gapY = lines > 1 ? (lines === 2 ? 80 + tall : 62 + tall) / inner : 0;
  shown.forEach((hop, i) => {
    const id = i === 0 ? "" : String(i + 1), axes = { xaxis: `x${id}`, yaxis: `y${id}` };
    const column = i % columns, line = Math.floor(i / columns);
    const x0 = column / columns + (column ? gapX / 2 : 0), x1 = (column + 1) / columns - (column < columns - 1 ? gapX / 2 : 0);
    const y1 = 1 - line / lines - (line ? gapY / 2 : 0), y0 = 1 - (line + 1) / lines + (line < lines - 1 ? gapY / 2 : 0);
    const low = line === lines - 1 || i + columns >= shown.length;
    layout[`xaxis${id}`] = axisLook({ domain: [x0, x1], anchor: `y${id}`, title: low ? { text: adds ? "share of frequencies" : S.axis === "rank" ? "rank of the eigenvalue" : "eigenvalue", font: { size: 12 }, standoff: 6 } : undefined });
    layout[`yaxis${id}`] = axisLook({
      domain: [y0, y1], anchor: `x${id}`, type: log ? "log" : "linear", ...height, showticklabels: column === 0,
      title: column === 0 ? { text: heightName(), font: { size: 12 }, standoff: 4 } : undefined,
    });
    layout.annotations.push({ text: titles[i].join("<br>"), xref: "paper", yref: "paper", x: x0, y: y1, yshift: 6, xanchor: "left", yanchor: "bottom", align: "left", showarrow: false, font: { size: TITLE } });
    const word = adds ? "" : emptyWord(found[i]);
    if (word) layout.annotations.push({ text: esc(word), xref: "paper", yref: "paper", x: (x0 + x1) / 2, y: (y0 + y1) / 2, showarrow: false, font: { color: css("soft") } });
    if (adds) { traces.push(...cumulativeTraces(hop, axes, S.algorithm, curveName(), css("main"))); return; }
    const floor = log && height.range ? 10 ** height.range[0] : 0;
    traces.push(...chanceTraces(found[i], axes, floor));
    if (over.length) traces.push(...curveTraces(over[i], axes, css("over"), overlay.name, log));
    traces.push(...curveTraces(found[i], axes, css("main"), curveName(), log));
    traces.push(pickedTrace(found[i], axes));
    if (S.scale === "calibrated") layout.shapes = [...(layout.shapes || []), { type: "line", xref: `x${id} domain`, yref: `y${id}`, x0: 0, x1: 1, y0: 1, y1: 1, line: { color: css("soft"), width: 1 } }];
  });
  byId("spectra-caption").textContent = spectraWords(merged, overlay, log);
  return draw("spectra", traces, layout);
}

function panelTitle(hop) {
  const alone = STRATA.n_singletons[hop];
  return [`K = ${HOPS[hop]}:`, `${many(STRATA.n_edges[hop], "edge")},`, many(STRATA.n_parts[hop], "part"), ...(alone ? [`(${whole(alone)} single)`] : [])];
}

const heightName = () => ({ raw: "magnitude", normalised: "magnitude / l2 norm", calibrated: "energy / chance", cumulative: "share of energy" })[S.scale];

function emptyWord(found) {
  const values = found.points.map((p) => p.y).filter((y) => !Number.isNaN(y));
  if (S.scale === "calibrated" && !found.calibrated) return "not calibrated";
  if (!values.length) return "undefined";
  return values.some((y) => y > 0) ? "" : "all zero";
}

const at = (point) => (S.axis === "rank" ? point.rank : point.eigenvalue);

// Chance of each eigenspace as a bar of its own: eigenspaces do not follow each other.
function chanceTraces(found, axes, floor) {
  const points = found.points.filter((p) => isNumber(p.low) && isNumber(p.high) && (S.merged || S.scale === "calibrated"));
  if (!points.length) return [];
  const bars = (x, y) => ({ ...axes, x, y, mode: "lines", hoverinfo: "skip", line: { width: points.length > 100 ? 2 : 5, color: css("band") }, meta: "chance" });
  return [bars(points.flatMap((p) => [at(p), at(p), null]), points.flatMap((p) => [Math.max(p.low, floor), p.high, null]))];
}

// One range for all panels. A log axis leaves the last hundredth below it: what is zero but for rounding would take
// most of the room; its ticks are decades, or 1, 2, 5 where it spans fewer than two.
function heights(found, log) {
  const values = found.flatMap((one) => one.points.flatMap((p) => [p.y, p.high])).filter((y) => isNumber(y) && y > 0);
  if (!values.length) return log ? {} : { range: [0, 1] };
  values.sort((a, b) => a - b);
  const most = values[values.length - 1];
  if (!log) return { range: [0, 1.06 * most], nticks: 6 };
  const top = Math.log10(most) + 0.15, low = Math.max(Math.log10(values[Math.floor(values.length / 100)]) - 0.3, top - 5);
  return { range: [low, top], ...logTicks(low, top) };
}

// Stems with a marker, which stand on zero and so not on a log axis; where they crowd, markers only where the page has the eigenvector, over faint dots.
function curveTraces(found, axes, color, name, log) {
  const points = found.points, crowd = points.length > CROWD;
  const common = (chosen) => ({
    ...axes, name: esc(name), x: chosen.map(at), y: chosen.map((p) => p.y), customdata: chosen.map((p) => [p.hop, p.space, p.index]),
    hovertext: chosen.map((p) => pointText(p, name)), hoverinfo: "text",
  });
  const marker = (chosen, size) => ({
    color, size, symbol: chosen.map((p) => (p.zero ? "square" : "circle") + (hollow(p) ? "-open" : "")), line: { width: 1.3, color },
  });
  if (!crowd) {
    const tall = points.filter((p) => isNumber(p.y));
    const stems = { ...axes, x: tall.flatMap((p) => [at(p), at(p), null]), y: tall.flatMap((p) => [0, p.y, null]), mode: "lines", hoverinfo: "skip", line: { color, width: 1.2 }, meta: "stem" };
    return [...(log ? [] : [stems]), { ...common(points), meta: "curve", mode: "markers", marker: marker(points, points.length > 60 ? 5 : 7) }];
  }
  const marked = points.filter((p) => KEPT[p.hop].has(p.space));
  return [{ ...common(points), meta: "curve", mode: "markers", marker: { color, size: 2.5, opacity: 0.4 } }, { ...common(marked), meta: "marked", mode: "markers", marker: marker(marked, 5) }];
}

function hollow(point) {
  if (S.scale === "calibrated") return !(point.q <= 0.05);
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
  if (isNumber(p.ratio)) lines.push(`energy over chance ${num(p.ratio, 3)}${isNumber(p.q) ? `, q = ${num(p.q, 2)}` : ""}`);
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
  let text = curveName() + (overlay && S.scale !== "cumulative" ? `, with ${overlay.name} in the other colour` : "") + ". ";
  const chance = CHANCE && CHANCE.algorithms.includes(D.algorithms[S.algorithm]);
  if (S.scale === "cumulative") {
    text += SPECTRA.merged.evening[S.algorithm] === 1 ? "The magnitudes of this algorithm have no energy that adds up over frequencies. " : "Share of the energy off zero up to each frequency. ";
    return text + (CUMULATIVE && CUMULATIVE.draws && D.algorithms[S.algorithm] === "gft" ? `Grey: chance, 95 % of ${CUMULATIVE.draws} random orders of the nodes.` : "");
  }
  if (S.scale === "normalised") text += "Magnitudes are divided by the l2 norm over the hop. ";
  if (S.scale === "calibrated") text += `Energy over what chance gives; filled where q ≤ 0.05. `;
  text += merged ? "One point per eigenspace. " : "One point per component; hollow: the split inside a repeated eigenvalue is arbitrary. ";
  if (merged && S.scale !== "calibrated" && isAmbiguous()) text += "Hollow: the value depends on the choice of a basis. ";
  text += "Squares: zero components. ";
  if (merged && chance) text += "Grey bars: chance, 95 % of the permutations. ";
  if (log) text += "Zeros lie below a log axis. ";
  if (COMPONENTS > CROWD) text += "Large markers: the page has the eigenvector. ";
  return text + "Click a point to see it on the graph.";
}

function isAmbiguous() { return ROWS.some((hop) => row(SPECTRA.merged.ambiguous, S.algorithm, hop).some((x) => x === 1)); }
