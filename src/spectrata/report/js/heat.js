// Heat maps: hop by frequency, frequency by snapshot, and bands of energy between first and last.
const BINS = 400; // columns from which neighbouring components share one

const HEAT = [[0, "#00224e"], [0.25, "#35456c"], [0.5, "#7b7b78"], [0.75, "#bcae6c"], [1, "#fee838"]]; // cividis

// Components to columns of a picture: as they are, or the root mean square of neighbours.
function columns(found) {
  if (COMPONENTS <= BINS) return { z: Array.from(found.value), space: Array.from(found.space), start: [...Array(COMPONENTS).keys()] };
  const z = [], space = [], start = [];
  for (let b = 0; b < BINS; b++) {
    const from = Math.floor((b * COMPONENTS) / BINS), to = Math.floor(((b + 1) * COMPONENTS) / BINS);
    let sum = 0, used = 0, best = from;
    for (let i = from; i < to; i++) {
      if (Number.isNaN(found.value[i])) continue;
      sum += found.value[i] ** 2; used += 1;
      if (Number.isNaN(found.value[best]) || found.value[i] > found.value[best]) best = i;
    }
    z.push(used ? Math.sqrt(sum / used) : NaN); space.push(found.space[best]); start.push(from);
  }
  return { z, space, start };
}

function topOf(rows) {
  const values = rows.flat().filter((x) => isNumber(x)).sort((a, b) => a - b);
  const top = values.length ? values[Math.min(values.length - 1, Math.floor(0.99 * values.length))] : 0;
  return top > 0 ? top : 1;
}

function heatTrace(z, x, y, more) {
  return Object.assign({
    type: "heatmap", z, x, y, zmin: 0, zmax: topOf(z), colorscale: HEAT, hoverinfo: "text", hoverongaps: false,
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { size: 10, color: css("soft") }, nticks: 5 },
  }, more);
}

function drawMagnitudes() {
  const found = ROWS.map((hop) => columns(evened(S.algorithm, S.snapshot, hop)));
  const z = found.map((one) => one.z.map((v) => (Number.isNaN(v) ? null : v)));
  const text = found.map((one, hop) => one.z.map((v, i) => `K = ${HOPS[hop]}, eigenvalue ${num(row(SPECTRA.merged.eigenvalue, hop)[one.space[i]])}<br>${D.algorithms[S.algorithm]}, normalised off zero: ${num(v)}`));
  const layout = baseLayout(Math.max(200, Math.min(560, 90 + 36 * HOPS.length)), {
    plot_bgcolor: css("hole"),
    xaxis: axisLook({ title: { text: "component, by ascending eigenvalue", standoff: 6 }, showgrid: false }),
    yaxis: axisLook({ title: { text: "K" }, autorange: "reversed", showgrid: false, type: "category" }),
  });
  byId("hops-caption").textContent =
    `${curveName()}: magnitude divided by the l2 norm off zero, spread evenly inside eigenspaces; ${COMPONENTS > BINS ? `root mean squares over ${BINS} columns; ` : ""}grey: zero components, which hold what is constant on every connected part of the K-hop graph. Click a cell to pick its component.`;
  return draw("hops", [heatTrace(z, found[0].start, HOPS.map(String), { hovertext: text, customdata: found.map((one, hop) => one.space.map((a) => [hop, a])) })], layout);
}

function drawSpectrogram() {
  if (!D.snapshots || SNAPSHOTS.length < 2) return null;
  const hop = S.pick.row;
  const found = SNAPSHOTS.map((_, t) => columns(evened(S.algorithm, t, hop)));
  const depth = found[0].z.length, z = [], text = [], custom = [];
  for (let i = 0; i < depth; i++) {
    z.push(found.map((one) => (Number.isNaN(one.z[i]) ? null : one.z[i])));
    text.push(found.map((one, t) => `${esc(SNAPSHOTS[t])}: eigenvalue ${num(row(SPECTRA.merged.eigenvalue, hop)[one.space[i]])}<br>normalised off zero: ${num(one.z[i])}`));
    custom.push(found.map((one, t) => [hop, one.space[i], t]));
  }
  const x = SNAPSHOTS.map((_, t) => t);
  const ticks = [...new Set([0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * LAST)))];
  const layout = baseLayout(340, {
    plot_bgcolor: css("hole"),
    xaxis: axisLook({ tickvals: ticks, ticktext: ticks.map((t) => esc(short(SNAPSHOTS[t]))), title: { text: D.row_word, standoff: 6 }, showgrid: false }),
    yaxis: axisLook({ title: { text: "component, by ascending eigenvalue" }, showgrid: false }),
    shapes: [{ type: "line", xref: "x", yref: "paper", x0: S.snapshot, x1: S.snapshot, y0: 0, y1: 1, line: { color: css("pick"), width: 2 } }],
  });
  byId("spectrogram-title").textContent = `Spectrogram at K = ${HOPS[hop]}`;
  byId("spectrogram-caption").textContent = `${D.algorithms[S.algorithm]}: magnitude divided by the l2 norm off zero, at the hop that is picked; grey: zero components; the line is the ${D.row_word} shown. Click to go there.`;
  return draw("spectrogram", [heatTrace(z, x, found[0].start, { hovertext: text, customdata: custom })], layout);
}

function drawShift() {
  const compared = D.comparison;
  if (!compared) return null;
  const shift = unpack(compared.energy_shift), algorithm = Math.max(0, compared.algorithms.indexOf(D.algorithms[S.algorithm]));
  const z = compared.hops.map((_, hop) => Array.from(row(shift, algorithm, hop), (v) => (Number.isNaN(v) ? null : v)));
  const top = Math.max(...z.flat().map((v) => Math.abs(v || 0)), 0.05);
  const names = ["lowest", "low", "high", "highest"].slice(0, z[0].length);
  const [first, last] = compared.names;
  const layout = baseLayout(340, {
    plot_bgcolor: css("hole"), xaxis: axisLook({ type: "category", title: { text: "quarter of the components off zero", standoff: 6 }, showgrid: false }),
    yaxis: axisLook({ title: { text: "K" }, autorange: "reversed", type: "category", showgrid: false }),
  });
  byId("shift-caption").textContent = `${D.algorithms[S.algorithm]}: share of the energy off zero in each quarter, at ${iso(last)} less at ${iso(first)}. Grey: a hop with too few eigenvalues, or none.`;
  const text = z.map((list, hop) => list.map((v, b) => `K = ${compared.hops[hop]}, ${names[b] || b}: ${v === null ? "–" : `${v >= 0 ? "+" : ""}${num(v, 3)}`}`));
  return draw("shift", [heatTrace(z, names, compared.hops.map(String), {
    zmin: -top, zmax: top, colorscale: signedScale(), hovertext: text, texttemplate: "%{z:+.2f}", textfont: { size: 11 }, xgap: 1, ygap: 1,
  })], layout);
}
