// ---- what is chosen, and the parts that follow it

function chooseHop(hop) {
  state.hop = hop;
  [...$("cards").children].forEach((card, at) => card.setAttribute("aria-pressed", String(at === hop)));
  showMaps();
  fillOpen();
}

async function chooseCell(cell, byColumn) {
  await rest();
  state.cell = cell;
  $("choose").value = String(cell);
  showCell();
  if (byColumn) $("cards-section").scrollIntoView({ block: "nearest" });  // on a phone the cards stand below the table
}

function showCell() {
  const one = body();
  if (!DATA.ranking && !DATA.status.length && one.cards.length) $("headline").textContent = one.headline;
  $("cards-title").textContent = DATA.ranking || DATA.status.length ? one.headline : "";
  showChooser();
  showColumns();
  showCards();
  showLines();
  showMaps();
  fillOpen();
}

// Snapshots, layers or rows to choose from; of several columns those of the chosen one.
function showChooser() {
  const column = DATA.cells[state.cell].column, own = DATA.cells.map((cell, at) => [cell, at]).filter(([cell]) => cell.column === column);
  $("chooser").hidden = own.length < 2;
  $("chooser-word").textContent = DATA.rows === "column" ? "Snapshot" : DATA.rows[0].toUpperCase() + DATA.rows.slice(1);
  $("choose").replaceChildren();
  for (const [cell, at] of own) make("option", $("choose"), cell.label).value = String(at);
  $("choose").value = String(state.cell);
  $("choose").onchange = () => chooseCell(Number($("choose").value));
}

function summary() {
  const one = body(), lines = [$("headline").textContent, DATA.facts.join(" \u00b7 "), ...DATA.status];
  if (DATA.ranking) lines.push(one.headline);
  one?.cards.forEach((card, at) => {
    const words = cardWords(card, DATA.hops[at]);
    lines.push(`${words.title}: ${said(card)}, ${words.value}${words.chance}; ${words.more}`);
  });
  return [...lines, ...(one?.lines ?? []), DATA.made[0].join(" ")].filter(Boolean).join("\n");
}

async function copySummary() {
  const text = summary(), button = $("copy");
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a frame of a notebook may not write to the clipboard
    const area = make("textarea", document.body, null);
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.dataset.text = text;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy summary"; }, 1500);
}

function redraw() {
  showRun();
  if (DATA.cells.length) showCell();
  else showMaps();
}

function start() {
  $("headline").textContent = DATA.headline;
  $("facts").textContent = DATA.facts.join(" \u00b7 ");
  $("status").hidden = !DATA.status.length;
  for (const line of DATA.status) make("li", $("status"), line);
  if (!DATA.cells.length) DATA.cell = { headline: "", cards: [], lines: [], paint: null, local: null };
  $("tests").hidden = !DATA.cell.cards.length;
  $("spectra").hidden = !DATA.cells.length;
  $("nodes").hidden = !DATA.cell.paint && !DATA.cell.local;
  $("copy").onclick = copySummary;
  DATA.hops.forEach((hop, at) => { make("option", $("spectrum-hop"), hop).value = String(at); });
  $("spectrum-hop").onchange = () => chooseHop(Number($("spectrum-hop").value));
  $("spectrum-kind").onchange = fillSpectra;
  for (const [id, fill] of Object.entries(FILL)) $(id).addEventListener("toggle", () => { if ($(id).open) fill(); });
  redraw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let wide = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === wide) return;
    wide = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  document.documentElement.dataset.ready = "yes";
}

start();
