// ---- several columns: the ranking, one row chosen

function showColumns() {
  const known = DATA.ranking;
  if (!known) return;
  $("columns-section").hidden = false;
  $("both").classList.add(known.column.length > 12 ? "ranked" : "few");  // a short table beside cards would leave blank paper below it
  const into = $("columns"), chosen = DATA.cells[state.cell].column;
  into.replaceChildren();
  const heads = ["column", "verdict", "r", `hops ${DATA.hops[0]} to ${DATA.hops[DATA.hops.length - 1]}`, "q", "q given"];
  const top = make("tr", make("thead", into));
  heads.forEach((head, at) => { make("th", top, head, [2, 4, 5].includes(at) ? "number" : "").scope = "col"; });
  const inside = make("tbody", into);
  known.column.forEach((name, at) => {
    const row = make("tr", inside);
    row.setAttribute("aria-selected", String(name === chosen));
    const button = make("button", make("td", row));
    button.type = "button";
    make("bdi", button, name);
    button.onclick = () => chooseCell(DATA.cells.findLastIndex((cell) => cell.column === name), true);
    make("span", make("td", row, null, "words"), known.verdict[at], known.tone[at]);
    make("td", row, r(known.r[at]), "number");
    const strip = make("span", make("td", row), null, "strip");
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", known.hops[at].map((word, hop) => `${DATA.hops[hop]}: ${word}`).join(", "));
    known.hops[at].forEach((word, hop) => {
      make("i", strip, null, known.marks[at][hop]).title = `${apart(DATA.hops[hop])}: ${word}`;
    });
    make("td", row, plainP(known.q[at]), "number");
    make("td", row, plainP(known.q_given[at]), "number");
  });
  const more = known.total > known.column.length ? `The first ${known.column.length} of ${known.total.toLocaleString("en")} columns; st.rank_columns lists all. ` : "";
  const caption = $("columns-caption"), given = DATA.given ? ` and ${DATA.given}` : "";
  caption.replaceChildren(`${more}Select a name to see its column. `);
  squares(caption, ["alike"], "alike");
  squares(caption, ["unlike"], `unlike (both beyond chance${given})`);
  if (given) squares(caption, ["alike open", "unlike open"], `beyond chance, but not beyond ${DATA.given}`);
  squares(caption, [""], "neither");
  caption.append(`r: ${apart(DATA.hops[0])}; q: false discovery rate over all columns and hops.`);
}

function squares(into, marks, words) {
  const one = make("span", into, null, "key"), strip = make("span", one, null, "strip");
  for (const mark of marks) make("i", strip, null, mark);
  one.append(words);
}
