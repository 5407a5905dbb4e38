// Columns that are signals of their own: ranked in a table, one of them shown in the rest of the page.
const RANKED = D.column_table;

function rankedBar(z, top) { // |z| as a bar: alike or unlike by its colour
  const bar = element("span", "", "bar");
  bar.style.cssText = `display:inline-block;height:.7em;width:${isNumber(z) ? (6 * Math.abs(z)) / top : 0}rem;background:${z < 0 ? "var(--main)" : "var(--over)"}`;
  return bar;
}

function rankedName(i) {
  if (i >= RANKED.shown) return element("bdi", RANKED.column[i]);
  const button = element("button", "");
  button.type = "button";
  button.append(element("bdi", RANKED.column[i]));
  button.setAttribute("aria-pressed", String(i === S.snapshot));
  button.addEventListener("click", () => showColumn(i));
  return button;
}

function showColumn(i) {
  S.snapshot = i;
  byId("snapshot").value = String(i);
  document.querySelectorAll("#ranked button").forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
  later();
}

function rankedTable() {
  const p = (i) => (RANKED.p[i] === null ? "–" : `${RANKED.bound[i] ? "≤ " : ""}${num(RANKED.p[i], 2)}${RANKED.matched[i] ? "*" : ""}`);
  const at = (q) => q !== null && q <= 0.05, clear = (i) => at(RANKED.q[i]) || at(RANKED.peak_q[i]); // a peak of noise means nothing
  const reach = (i) => (RANKED.reach[i] === null ? "–" : `${RANKED.reach_bound[i] ? "≥ " : ""}${RANKED.reach[i]}`);
  const rows = RANKED.column.map((_, i) => ["", "", num(RANKED.z[i], 3), p(i), num(RANKED.q[i], 2), num(RANKED.ratio[i], 3), reach(i), num(RANKED.peak_band[i], 1), num(RANKED.peak_q[i], 2), clear(i) ? num(RANKED.peak_eigenvalue[i], 3) : "–", num(RANKED.low_z[i], 3), num(RANKED.high_z[i], 3)]);
  const out = table(["column", "", "z", "p", "q", "ratio", "up to K", "peak band", "band q", "peak at", "low z", "high z"], rows, 2);
  const top = Math.max(...RANKED.z.map((z) => Math.abs(z || 0)), 1);
  [...out.tBodies[0].rows].forEach((line, i) => {
    line.cells[0].replaceChildren(rankedName(i));
    line.cells[1].replaceChildren(rankedBar(RANKED.z[i], top));
  });
  return out;
}

function rankedKey() {
  const key = element("details", ""), list = element("ul", "");
  key.append(element("summary", "What the columns of this table are"), list);
  list.append(...RANKED.key.map((line) => element("li", line)));
  return key;
}

function fillRanked() {
  const section = element("section", ""), box = element("div", "", "scroll");
  section.id = "ranked-section";
  box.id = "ranked";
  box.style.cssText = "max-height:22rem;overflow:auto";
  box.append(rankedTable());
  const left = RANKED.total - RANKED.column.length;
  section.append(
    element("h2", `Columns, ranked at K = ${RANKED.hop}`),
    element("p", `Choose ${RANKED.shown < RANKED.total ? `one of the first ${RANKED.shown} columns` : "a column"} to show it below. q: false discovery rate over the ${whole(RANKED.tested)} columns tested; blue: alike, orange: unlike.${left ? ` ${whole(left)} more columns are left out here.` : ""}`),
    ...(RANKED.note ? [element("p", RANKED.note, "small")] : []), box, rankedKey());
  byId("first").before(section, byId("strip-section")); // the table chooses what everything below it shows
  const list = element("ul", "");
  list.append(...RANKED.sentences.map((line) => element("li", line)));
  byId("findings").replaceChildren(list);
  byId("snapshot").addEventListener("input", (event) => showColumn(Number(event.target.value)));
  byId("shift").closest("figure").hidden = true; // columns have no first and last
  S.overlay = "";
  byId("overlay").value = "";
  S.snapshot = 0;
  pick(0, strongestAt(0));
  showColumn(0);
}

if (RANKED) fillRanked();
