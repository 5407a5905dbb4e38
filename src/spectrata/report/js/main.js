// Controls, keys, schemes and print.
function drawAll() {
  drawFirst();
  drawSpectra();
  drawGraph();
  drawRest();
}

function drawFirst() {
  drawStrip();
  drawRun();
  drawCollapse();
  drawSignal();
  drawHops();
  drawCumulative();
}

function drawRest() {
  drawCorrelogram();
  drawEmbedding();
  drawNodes();
  drawSpectrogram();
  drawShift();
  drawTables();
  byId("snapshot-name").textContent = D.snapshots ? SNAPSHOTS[S.snapshot] : "";
}

let waiting = null;
function later(work = drawAll) { // many events, one drawing
  if (waiting) cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => { waiting = null; work(); });
}

function go(hop, space, component) {
  pick(hop, space, component);
  S.page = Math.floor(hop / PANELS);
  showPages();
  later(() => { drawStrip(); drawCumulative(); drawSpectra(); drawGraph(); drawEmbedding(); drawSpectrogram(); });
}

function step(by) {
  const last = STRATA.n_eigenspaces[S.pick.row] - 1;
  go(S.pick.row, Math.min(last, Math.max(0, S.pick.space + by)));
}

function stepHop(by) {
  const hop = Math.min(HOPS.length - 1, Math.max(0, S.pick.row + by));
  go(hop, Math.min(S.pick.space, STRATA.n_eigenspaces[hop] - 1));
}

function strongestAt(hop) { // where to begin: the strongest off zero that can be drawn
  const points = curve(S.algorithm, S.snapshot, hop, "raw", true).points.filter((p) => !p.zero && isNumber(p.magnitude) && KEPT[hop].has(p.space));
  return points.length ? points.reduce((a, b) => (b.magnitude > a.magnitude ? b : a)).space : 0;
}

function choices(select, options, value) {
  select.replaceChildren(...options.map(([key, text]) => { const option = element("option", text); option.value = key; return option; }));
  select.value = value;
}

function fillWords() {
  byId("title").textContent = D.title;
  for (const part of ["graph", "signal"]) {
    const [name, text] = D[part];
    byId(`${part}-line`).replaceChildren(...(name ? [element("bdi", name), ": "] : []), text);
  }
  fillFindings();
  byId("command").textContent = D.command;
  byId("origin").textContent = `spectrata ${D.version}, seed ${D.seed}, metric ${D.metric}, graph ${D.hash.slice(0, 16)}`;
  byId("options").textContent = JSON.stringify(JSON.parse(D.options), null, 1);
}

function fillControls() {
  choices(byId("algorithm"), D.algorithms.map((name, i) => [String(i), name]), String(S.algorithm));
  fillOverlay();
  choices(byId("pick-hop"), HOPS.map((hop, i) => [String(i), String(hop)]), "0");
  byId("log").checked = S.log;
  document.querySelector(`[name=axis][value=${S.axis}]`).checked = true;
  const calibrated = document.querySelector("[name=scale][value=calibrated]");
  calibrated.disabled = !CHANCE;
  if (D.snapshots && SNAPSHOTS.length > 1) {
    byId("time").hidden = false;
    byId("spectrogram-section").hidden = false;
    byId("comparison-section").hidden = !D.comparison;
    byId("snapshot").parentNode.firstChild.textContent = `${ROW_TITLE} `;
    byId("snapshot").max = String(LAST);
    byId("snapshot").value = String(S.snapshot);
  }
  document.querySelector(`[name=scale][value=${S.scale}]`).checked = true;
  choices(byId("paint"), PAINTS.map((name, i) => [String(i), name]), "0");
  byId("signal-figure").hidden = !DRAWING.embedding;
  byId("correlogram-figure").hidden = !LIKENESS;
  byId("embedding-figure").hidden = !DRAWING.embedding || D.columns === 1;
  byId("paint-box").hidden = PAINTS.length < 2;
  if (RUN) fillRun();
}

function fillRun() {
  choices(byId("run-measure"), runMode().measures.map((one, i) => [String(i), one.name.replaceAll("_", " ")]), String(S.measure));
  choices(byId("run-mode"), RUN.modes.map((one, i) => [String(i), one.name]), String(S.mode));
  byId("run-mode-label").hidden = RUN.modes.length < 2;
}

function fillOverlay() {
  const algorithms = D.algorithms.map((name, i) => [`m${i}`, name]).filter(([key]) => key !== `m${S.algorithm}`);
  const moments = D.snapshots && SNAPSHOTS.length > 1 ? (SNAPSHOTS.length <= 12 ? SNAPSHOTS.map((name, t) => [`s${t}`, `${D.row_word} ${short(name, 24)}`]) : [["s0", `${D.row_word} ${short(SNAPSHOTS[0], 24)}`], [`s${LAST}`, `${D.row_word} ${short(SNAPSHOTS[LAST], 24)}`]]) : [];
  choices(byId("overlay"), [["", "nothing"], ...moments, ...algorithms], S.overlay);
  if (byId("overlay").selectedIndex < 0) { S.overlay = ""; byId("overlay").value = ""; }
}

function showPages() {
  const box = byId("hop-pages");
  box.hidden = pages() < 2;
  box.replaceChildren(...[...Array(pages()).keys()].map((page) => {
    const from = page * PANELS, to = Math.min(HOPS.length, from + PANELS) - 1;
    const button = element("button", `K = ${HOPS[from]} to ${HOPS[to]}`);
    button.type = "button";
    button.setAttribute("aria-pressed", String(page === S.page));
    button.addEventListener("click", () => { S.page = page; showPages(); later(drawSpectra); });
    return button;
  }));
}

function listen() {
  const on = (id, event, work) => byId(id).addEventListener(event, work);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  // In a notebook's frame an address with # is one of the notebook, which the link would load in place of the page.
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("spectra").focus(); });
  on("algorithm", "change", (e) => { S.algorithm = Number(e.target.value); fillOverlay(); later(); });
  on("overlay", "change", (e) => { S.overlay = e.target.value; later(drawSpectra); });
  on("merged", "change", (e) => { S.merged = e.target.checked; later(drawSpectra); });
  on("log", "change", (e) => { S.log = e.target.checked; later(drawSpectra); });
  for (const name of ["scale", "axis"]) {
    for (const input of document.querySelectorAll(`[name=${name}]`)) {
      input.addEventListener("change", () => { S[name] = input.value; byId("merged").disabled = S.scale === "calibrated"; later(drawSpectra); });
    }
  }
  on("snapshot", "input", (e) => { S.snapshot = Number(e.target.value); later(); });
  on("play", "click", togglePlay);
  on("previous", "click", () => step(-1));
  on("next", "click", () => step(1));
  on("pick-hop", "change", (e) => { const hop = Number(e.target.value); go(hop, strongestAt(hop)); });
  on("pick-number", "change", (e) => { const space = Math.round(Number(e.target.value)); if (Number.isFinite(space)) step(space - S.pick.space); });
  on("member", "change", (e) => { S.pick.member = Number(e.target.value); later(() => { drawSpectra(); drawGraph(); drawEmbedding(); }); });
  on("spectra", "keydown", (e) => {
    const work = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => stepHop(1), ArrowUp: () => stepHop(-1) }[e.key];
    if (work && e.target === byId("spectra")) { e.preventDefault(); work(); }
  });
  on("paint", "change", (e) => { S.paint = Number(e.target.value); later(drawSignal); });
  on("run-mode", "change", (e) => { S.mode = Number(e.target.value); later(drawRun); });
  on("run-measure", "change", (e) => { S.measure = Number(e.target.value); later(drawRun); });
  on("scheme", "click", () => setScheme(!S.dark));
  byId("spectra").on("plotly_click", (event) => {
    const point = event.points.find((p) => p.customdata);
    if (point) go(point.customdata[0], point.customdata[1], S.merged || S.scale === "calibrated" ? -1 : point.customdata[2]);
  });
  byId("hops").on("plotly_click", (event) => { const [hop, space] = event.points[0].customdata; go(hop, space < 0 ? strongestAt(hop) : space); });
  if (D.snapshots && SNAPSHOTS.length > 1) {
    byId("spectrogram").on("plotly_click", (event) => {
      const [hop, space, t] = event.points[0].customdata;
      S.snapshot = t;
      byId("snapshot").value = String(t);
      pick(hop, space);
      later();
    });
  }
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; later(); } });
}

let playing = null;
function togglePlay() {
  if (playing) { clearInterval(playing); playing = null; }
  else {
    if (S.snapshot === LAST) S.snapshot = -1;
    playing = setInterval(() => {
      S.snapshot = Math.min(LAST, S.snapshot + 1);
      byId("snapshot").value = String(S.snapshot);
      drawAll();
      if (S.snapshot === LAST) togglePlay();
    }, 200);
  }
  byId("play").textContent = playing ? "Pause" : "Play";
  byId("play").setAttribute("aria-pressed", String(Boolean(playing)));
}

function setScheme(dark, redraw = true) {
  S.dark = dark;
  document.documentElement.dataset.scheme = dark ? "dark" : "light";
  byId("scheme").textContent = dark ? "Light" : "Dark";
  if (redraw) drawAll();
}

// On paper: the light scheme, whatever the screen has, and pictures as wide as the page.
const PAPER = 680;
let screenWasDark = false;
function beforePrint() {
  screenWasDark = S.dark;
  setScheme(false);
  for (const plot of document.querySelectorAll(".plot")) if (plot.layout) Plotly.relayout(plot, { width: PAPER, autosize: false });
}
function afterPrint() {
  for (const plot of document.querySelectorAll(".plot")) if (plot.layout) Plotly.relayout(plot, { width: null, autosize: true });
  setScheme(screenWasDark);
}

function start() {
  const prefers = window.matchMedia("(prefers-color-scheme: dark)");
  setScheme(prefers.matches, false);
  prefers.addEventListener("change", (event) => setScheme(event.matches));
  fillWords();
  fillControls();
  if (LAST > 0) { S.overlay = "s0"; byId("overlay").value = "s0"; }
  S.pick.row = 0;
  pick(0, strongestAt(0));
  showPages();
  addSaveButtons();
  drawFirst();
  setTimeout(finish); // the first screen is drawn first
}

function finish() {
  drawSpectra();
  drawGraph();
  drawRest();
  listen();
  addDownloads();
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
  document.documentElement.dataset.ready = "yes";
}

start();
