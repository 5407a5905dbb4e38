// Columns that are signals of their own: ranked in a table, one of them shown in the rest of the page.
const RANKED = D.column_table;

function rankedBar(z, top) { // |z| as a bar: alike or unlike by its colour
  const bar = element("span", "", "bar");
  bar.style.cssText = `display:inline-block;height:.7em;width:${isNumber(z) ? (6 * Math.abs(z)) / top : 0}rem;background:${z < 0 ? "var(--low)" : "var(--high)"}`;
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
  const rows = RANKED.column.map((_, i) => ["", "", num(RANKED.z[i], 3), p(i), num(RANKED.q[i], 2), num(RANKED.ratio[i], 3), num(RANKED.low_z[i], 3), num(RANKED.low_q[i], 2), num(RANKED.high_z[i], 3), num(RANKED.high_q[i], 2)]);
  const out = table(["column", "", "z", "p", "q", "ratio", "low z", "low q", "high z", "high q"], rows, 2);
  const top = Math.max(...RANKED.z.map((z) => Math.abs(z || 0)), 1);
  [...out.tBodies[0].rows].forEach((line, i) => {
    line.cells[0].replaceChildren(rankedName(i));
    line.cells[1].replaceChildren(rankedBar(RANKED.z[i], top));
  });
  return out;
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
    element("p", `z, p and q of the mean squared difference of nodes this far apart (ratio below 1 and blue: alike; red: unlike), and z and q of the energy of the lowest and highest quarter of the frequencies. q is the false discovery rate over all ${whole(RANKED.total)} columns. Choose one of the first ${RANKED.shown} to show it below.${RANKED.confirmed ? ` *: ${RANKED.confirmed}` : ""}${left ? ` ${whole(left)} more columns are left out here.` : ""}`),
    box);
  document.querySelector("main").prepend(section);
  byId("findings").replaceChildren(...RANKED.sentences.map((line) => element("li", line)));
  byId("snapshot").parentNode.firstChild.textContent = "Column ";
  byId("snapshot").addEventListener("input", (event) => showColumn(Number(event.target.value)));
  byId("shift").closest("figure").hidden = true; // columns have no first and last
  S.overlay = "";
  byId("overlay").value = "";
  S.snapshot = 0;
  pick(0, strongestAt(0));
  showColumn(0);
}

if (RANKED) fillRanked();
