// Columns that are signals of their own: ranked in a table, one of them shown in the rest of the page.
const RANKED = D.column_table;

function rankedBar(r, top) { // |r| as a bar: alike or unlike by its colour
  const bar = element("span", "", "bar");
  bar.style.cssText = `display:inline-block;height:.7em;width:${isNumber(r) ? (6 * Math.abs(r)) / top : 0}rem;background:${r > 0 ? "var(--main)" : "var(--over)"}`;
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
  const p = (x) => (x === null ? "–" : x < 0.001 ? "< 0.001" : num(x, 2)), scale = (i) => (RANKED.scale[i] === null ? "–" : String(RANKED.scale[i]));
  const rows = RANKED.column.map((_, i) => ["", "", RANKED.verdict[i], num(RANKED.r[i], 3), p(RANKED.p[i]), p(RANKED.q[i]), num(RANKED.r_given[i], 3), p(RANKED.p_given[i]), p(RANKED.q_given[i]), String(RANKED.reach[i]), scale(i)]);
  const out = table(["column", "", "verdict", "r", "p", "q", "r given", "p given", "q given", "reach", "scale"], rows, 3);
  const top = Math.max(...RANKED.r.map((r) => Math.abs(r || 0)), 0.01);
  [...out.tBodies[0].rows].forEach((line, i) => {
    line.cells[0].replaceChildren(rankedName(i));
    line.cells[1].replaceChildren(rankedBar(RANKED.r[i], top));
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
    box, rankedKey());
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
