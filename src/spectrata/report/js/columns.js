// ---- several columns: the ranking, one row chosen

function showColumns() {
  const known = DATA.ranking;
  if (!known) return;
  $("columns-section").hidden = false;
  $("both").classList.add("ranked");
  const into = $("columns"), chosen = DATA.cells[state.cell].column;
  into.replaceChildren();
  const heads = ["column", "r", "verdict", `hops ${DATA.hops[0]} to ${DATA.hops[DATA.hops.length - 1]}`, "q", "q given"];
  const top = make("tr", make("thead", into));
  heads.forEach((head, at) => { make("th", top, head, [1, 4, 5].includes(at) ? "number" : "").scope = "col"; });
  const inside = make("tbody", into);
  known.column.forEach((name, at) => {
    const row = make("tr", inside);
    row.setAttribute("aria-selected", String(name === chosen));
    const button = make("button", make("td", row));
    button.type = "button";
    make("bdi", button, name);
    button.onclick = () => chooseCell(DATA.cells.findLastIndex((cell) => cell.column === name), true);
    make("td", row, r(known.r[at]), "number");
    make("span", make("td", row), known.verdict[at], known.verdict[at]);
    const strip = make("span", make("td", row), null, "strip");
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", known.hops[at].map((word, hop) => `${DATA.hops[hop]}: ${word}`).join(", "));
    known.hops[at].forEach((word, hop) => {
      make("i", strip, null, ["alike", "unlike"].includes(word) ? word : "").title = `${apart(DATA.hops[hop])}: ${word}`;
    });
    make("td", row, plainP(known.q[at]), "number");
    make("td", row, plainP(known.q_given[at]), "number");
  });
  const more = known.total > known.column.length ? `The first ${known.column.length} of ${known.total.toLocaleString("en")} columns; st.rank_columns lists all. ` : "";
  $("columns-caption").textContent = `${more}Select a name to see its column. Squares: blue alike, orange unlike, empty neither. r: ${apart(DATA.hops[0])}; q: false discovery rate over all columns and hops.`;
}
