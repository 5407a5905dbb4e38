// Tables and files to save.
function table(heads, rows, textColumns = 1, longColumn = -1) {
  const out = document.createElement("table"), head = out.createTHead().insertRow(), body = out.createTBody();
  heads.forEach((name, i) => { const th = element("th", name, i < textColumns || i === longColumn ? "text" : ""); th.scope = "col"; head.append(th); });
  for (const values of rows) {
    const line = body.insertRow();
    values.forEach((value, i) => {
      const place = line.insertCell();
      place.className = i === longColumn ? "text long" : i < textColumns ? "text" : "";
      const [text, below] = Array.isArray(value) ? value : [value];
      place.append(i === longColumn ? text : element("bdi", text)); // a name in another direction stays in its cell
      if (below) place.append(" ", element("small", below));
    });
  }
  return out;
}

function drawTables() {
  byId("strata").replaceChildren(table(
    ["K", "edges", "parts", "single nodes", "distinct eigenvalues", "components of repeated ones", "gradient norm"],
    ROWS.map((hop) => [HOPS[hop], whole(STRATA.n_edges[hop]), whole(STRATA.n_parts[hop]), whole(STRATA.n_singletons[hop]),
      whole(STRATA.n_eigenspaces[hop]), whole(STRATA.ambiguous[hop]), num(cell(STRATA.gradient_norm, S.snapshot, hop))]), 0));
  drawSimilarity();
  drawSmoothness();
  drawComparison();
}

function drawSimilarity() {
  if (!D.similarity || D.similarity.algorithms.length < 2) { byId("similarity-section").hidden = true; return; }
  const found = unpackAll(D.similarity);
  const value = (key, m, hop) => num(cell(found[key], m, S.snapshot, hop), 3);
  const first = found.algorithms.indexOf(found.base);
  const rows = [["a flat spectrum", ...ROWS.map((hop) => ["–", `cosine ${value("cosine_flat_a", first, hop)}`])]];
  found.algorithms.forEach((name, m) => {
    if (m === first) return;
    rows.push([name, ...ROWS.map((hop) => [value("correlation", m, hop), `cosine ${value("cosine", m, hop)}; flat ${value("cosine_flat_b", m, hop)}`])]);
  });
  byId("similarity-text").textContent =
    `Each algorithm against ${found.base}, off zero, spread evenly inside eigenspaces${D.snapshots ? `, at ${D.row_word} ${moment(S.snapshot)}` : ""}: the correlation, and below it the cosine with ${found.base} and that of the algorithm with a flat spectrum. The first row is the cosine of ${found.base} with a flat spectrum: a cosine that is no larger does not show a similarity.`;
  byId("similarity").replaceChildren(table(["algorithm", ...HOPS.map((hop) => `K = ${hop}`)], rows, 1));
}

function drawSmoothness() {
  if (!D.smoothness) { byId("smoothness-section").hidden = true; return; }
  const rows = D.smoothness.map((one) => {
    const values = unpack(one.values);
    const numbers = one.per_hop ? ROWS.map((hop) => num(cell(values, S.snapshot, hop))) : [num(values.v[S.snapshot]), ...ROWS.slice(1).map(() => "")];
    return [one.name.replaceAll("_", " "), one.text, ...numbers];
  });
  byId("smoothness-text").textContent = `Measures people quote${D.snapshots ? `, at ${D.row_word} ${moment(S.snapshot)}` : ""}. Ranks and norms belong to the signal, not to a hop; they stand under K = ${HOPS[0]}.`;
  byId("smoothness").replaceChildren(table(["measure", "definition", ...HOPS.map((hop) => `K = ${hop}`)], rows, 2, 1));
}

function drawComparison() {
  if (!D.comparison) return;
  const found = unpackAll(D.comparison), [first, last] = found.names, m = Math.max(0, found.algorithms.indexOf(D.algorithms[S.algorithm]));
  const rows = found.hops.map((hop, k) => {
    const value = (key, digits = 3) => num(cell(found[key], m, k), digits);
    return [hop, value("correlation"), value("cosine"), value("cosine_flat_a"), value("cosine_flat_b"), value("largest_difference"), value("at_eigenvalue"), value("wasserstein"), found.status[m][k]];
  });
  byId("comparison-title").textContent = "Comparison of the first and the last";
  byId("comparison-text").textContent = `${found.algorithms[m]}: ${iso(last)} against ${iso(first)}, off zero, spread evenly inside eigenspaces. The cosine stands beside that of each with a flat spectrum.`;
  byId("comparison").replaceChildren(table(["K", "correlation", "cosine", "flat with the first", "flat with the last", "largest difference", "at eigenvalue", "Wasserstein distance", "status"], rows, 0, 8));
}

// ---- files

const quoted = (value) => (/[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
const digits = (x) => (isNumber(x) ? String(Number(x.toPrecision(7))) : "");

function magnitudeLines(merged) {
  const heads = ["algorithm", ...(D.snapshots ? [D.row_word] : []), "hop", merged ? "eigenspace" : "component", "eigenvalue", ...(merged ? [] : ["eigenspace"]), "multiplicity", "magnitude", ...(merged ? ["energy_over_chance", "q"] : [])];
  const lines = [heads.join(",")];
  D.algorithms.forEach((name, m) => SNAPSHOTS.forEach((name_t, t) => ROWS.forEach((hop) => {
    for (const p of curve(m, t, hop, "raw", merged).points) {
      const start = [name, ...(D.snapshots ? [name_t] : []), HOPS[hop], p.index, digits(p.eigenvalue)];
      lines.push([...start, ...(merged ? [] : [p.space]), p.multiplicity, digits(p.magnitude), ...(merged ? [digits(p.ratio), digits(p.q)] : [])].map(quoted).join(","));
    }
  })));
  return lines;
}

function eigenvectorLines() {
  const found = pickedValues();
  return ["node,value", ...DRAWING.names.map((name, i) => `${quoted(name)},${found ? digits(found.values[i]) : ""}`)];
}

function tableLines(id) {
  return [...byId(id).querySelectorAll("tr")].map((line) => [...line.cells].map((one) => quoted(one.textContent)).join(","));
}

function save(name, lines) {
  saveBlob(name, new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
}

function addDownloads() {
  const files = [
    ["Magnitudes by component", "spectra.csv", () => magnitudeLines(false)],
    ["Magnitudes by eigenspace, with chance", "eigenspaces.csv", () => magnitudeLines(true)],
    ["The picked eigenvector", "eigenvector.csv", eigenvectorLines],
    ...["strata", "similarity", "smoothness", "comparison"].filter((id) => byId(id).querySelector("table"))
      .map((id) => [`Table: ${id}`, `${id}.csv`, () => tableLines(id)]),
  ];
  for (const [text, name, lines] of files) {
    const button = element("button", `${text} (CSV)`);
    button.type = "button";
    button.dataset.file = name;
    button.addEventListener("click", () => save(name, lines()));
    byId("downloads").append(button);
  }
}
