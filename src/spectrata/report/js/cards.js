// ---- one card per hop, and the maps below them

function cardWords(card, hop) {
  const given = missing(card.r_given) ? "" : `given ${DATA.given} r = ${r(card.r_given)}, ${p(card.p_given)}; `;
  const same = missing(card.same) ? "" : `; ${Math.round(100 * card.same)} % have the same label`;
  const chance = missing(card.low) ? "" : ` (chance ${r(card.low)} to ${r(card.high)})`;
  const test = missing(card.p) ? "" : `, ${p(card.p)}`;
  const few = (card.remark ?? "").startsWith("only "), pairs = few ? card.remark : counted(card.pairs, "pair");
  const rest = [...(card.near ? ["near the level .05"] : []), ...(card.remark && !few ? [card.remark] : [])];
  const more = [`${given}${pairs}${same}`, ...rest].join("; ");
  return { value: `r = ${r(card.r)}${test}`, more, chance, title: apart(hop) };
}

// Phrases that are broken between each other, and inside only where they are long.
function phrases(into, text) {
  for (const one of text.replaceAll(" = ", "\u00a0=\u00a0").split(/(?<=[,;]) /)) { make("span", into, one, one.length < 20 ? "whole" : ""); into.append(" "); }
}

const said = (card) => (missing(card.r) || card.described ? card.verdict || "not tested" : card.verdict);

function showCards() {
  const one = body(), cards = one.cards;
  $("cards-section").hidden = !cards.length;
  const room = Math.max(2, Math.floor($("cards-section").clientWidth / 185)), across = Math.min(room, cards.length);
  const rows = Math.ceil(cards.length / across);
  $("cards").style.gridTemplateColumns = `repeat(${Math.ceil(cards.length / rows)}, minmax(0, 330px))`;
  const narrow = $("cards-section").clientWidth / Math.ceil(cards.length / rows) < 215;
  $("cards").classList.toggle("tall", narrow || cards.some((card) => said(card).length > 8));
  $("cards").replaceChildren();
  const largest = Math.max(...cards.flatMap((card) => [card.r, card.low, card.high].filter((x) => !missing(x)).map(Math.abs)), 0.05);
  const limit = [0.1, 0.2, 0.5, 1, 2].find((top) => top >= Math.min(largest, 2) - 1e-9);
  const paint = nodeColors(one.paint);
  cards.forEach((card, at) => {
    const words = cardWords(card, DATA.hops[at]), box = make("button", $("cards"), null, `card ${card.tone}`);
    box.type = "button";
    box.setAttribute("aria-pressed", String(at === state.hop));
    const title = make("span", box, `${words.title}: `, "title");
    make("b", title, card.described ? words.value : said(card), card.tone);
    if (DATA.drawing) {
      const canvas = make("canvas", box);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Pairs of nodes ${words.title}`);
      paintGraph(canvas, numbers(DATA.drawing.pairs[at]), numbers(one.parts[at]), orNone(DATA.drawing.weights[at]), paint, null, CARD_PAIRS);
    }
    if (!card.described) phrases(make("span", box, null, "r"), words.value);
    box.append(intervalChart(card, limit));
    phrases(make("span", box, null, "more"), words.more);
    box.onclick = () => chooseHop(at);
  });
  showLegend(one);
}

function key(into, ink, words, line) {
  const one = make("span", into, null, "key");
  make("i", one, null, line ? "line" : "").style.background = ink;
  make("bdi", one, words);
}

function showLegend(one) {
  const legend = $("legend"), labels = one.paint && one.paint.kind === "class";
  legend.replaceChildren();
  if (DATA.drawing) {
    key(legend, color("alike"), labels ? "pair of one label" : "pair on the same side of the mean", true);
    key(legend, color("unlike"), labels ? "pair of two labels" : "pair on opposite sides", true);
    showPaint(legend, one.paint);
    if (DATA.drawing.weights.some(Boolean)) make("span", legend, "Thicker lines have larger weights. ");
    if (one.cards.some((card) => card.pairs > CARD_PAIRS)) make("span", legend, `At most ${CARD_PAIRS} pairs are drawn on a card. `);
  }
  const tested = one.cards.some((card) => !missing(card.p));
  make("span", legend, tested ? `Grey bar: chance, 95 % of random orders of the nodes; a filled mark: alike or unlike. ${DATA.foot}` : DATA.foot);
}

function showPaint(into, paint) {
  if (!paint) return;
  if (paint.kind === "class") {
    paint.classes.slice(0, 8).forEach((name, at) => key(into, CLASSES[at % CLASSES.length], name));
    if (paint.classes.length > 8) make("span", into, `and ${paint.classes.length - 8} more labels `);
    return;
  }
  const [low, high] = scaleOf(numbers(paint.values)), one = make("span", into, null, "key");
  const known = numbers(paint.values).filter(Number.isFinite), [under, over] = [known.some((x) => x < low), known.some((x) => x > high)];
  make("span", one, `${paint.words}: ${shortNumber(low)}${under ? " or less" : ""}`);
  make("span", one, null, "ramp").style.background = `linear-gradient(90deg, ${ramp()})`;
  make("span", one, `${shortNumber(high)}${over ? " or more" : ""}`);
}

function nodeWords(node) {
  const one = body(), known = state.rest, lines = [known.names[node]];
  if (one.paint) {
    const value = numbers(one.paint.values)[node];
    lines.push(one.paint.kind === "class" ? (value < 0 ? "no label" : one.paint.classes[value]) : `${one.paint.words}: ${Number.isNaN(value) ? "no value" : shortNumber(value)}`);
  }
  lines.push(counted(numbers(known.degrees)[node], "neighbour"));
  if (one.local) lines.push(one.local.words[numbers(one.local.codes)[node]], `part of r ${shortNumber(numbers(one.local.r)[node])}`);
  return lines.join("\n");
}

const byWeight = (values) => Array.from(values.keys()).sort((a, b) => (Math.abs(values[b]) || 0) - (Math.abs(values[a]) || 0));

function showMaps() {
  const one = body();
  $("maps").hidden = !DATA.drawing || !one.cards.length;
  if ($("maps").hidden) return;
  $("local-figure").hidden = !one.local;
  const hop = DATA.hops[state.hop], values = one.paint ? numbers(one.paint.values) : null;
  $("map-title").textContent = `The signal, and pairs ${apart(hop)}`;
  paintGraph($("map"), numbers(DATA.drawing.pairs[state.hop]), numbers(one.parts[state.hop]), orNone(DATA.drawing.weights[state.hop]), nodeColors(one.paint));
  $("map").setAttribute("aria-label", `${$("map-title").textContent}; arrow keys go through the nodes`);
  const alone = DATA.drawing.left_out, left = alone ? ` ${counted(alone, "node")} without an edge ${alone > 1 ? "are" : "is"} not drawn.` : "";
  $("map-caption").textContent = `${DATA.drawing.laid_out ? "A layout places the nodes: near on paper means few hops." : "Nodes stand at their given positions."}${left} Point at a node, or use the arrow keys, for its name.`;
  tips($("map"), nodeWords, () => byWeight(values ?? new Float32Array(numbers(DATA.drawing.places).length / 2)));
  if (one.local) showLocal(one.local);
}

function showLocal(local) {
  const codes = numbers(local.codes), parts = numbers(local.r), caption = $("local-caption");
  const strong = local.words.map((word) => word in LOCAL), known = (node) => Number.isFinite(parts[node]);
  const large = scaleOf(parts.map(Math.abs))[1] || 1, size = (node) => Math.min(1, Math.abs(parts[node]) / large);
  const inks = local.words.map((word) => (LOCAL[word] ? color(LOCAL[word]) : ""));
  const faint = (node) => (known(node) ? between(parts[node] > 0 ? "alike" : "unlike", 0.18 + 0.4 * size(node)) : color("grid"));
  paintGraph($("local"), numbers(DATA.drawing.edges), null, orNone(DATA.drawing.edge_weights), (node) => inks[codes[node]] || faint(node), (node, radius) => (strong[codes[node]] ? radius * (0.85 + 0.45 * size(node)) : radius * 0.75));
  $("local").setAttribute("aria-label", "Nodes that are like or unlike their neighbours; arrow keys go through them");
  caption.replaceChildren();
  let found = 0;
  const pale = Array.from(codes.keys()).filter((node) => known(node) && !strong[codes[node]]);
  const differ = pale.filter((node) => local.words[codes[node]].startsWith("not beyond")).length;
  local.words.forEach((word, at) => {
    const total = codes.filter((code) => code === at).length;
    if (strong[at]) { key(caption, inks[at], `${word} (${total})`); found += total; }
  });
  if (pale.length) {
    key(caption, between("alike", 0.4), "pale: like its neighbours");
    key(caption, between("unlike", 0.4), "pale: unlike them");
  }
  const beyond = `beyond chance${DATA.given ? ` and ${DATA.given}` : ""}`, more = differ ? ` (${differ} of them ${differ > 1 ? "differ" : "differs"} from chance, but not beyond ${DATA.given})` : "";
  make("span", caption, found ? `Full colour: ${beyond} (q at most .05 over all nodes and columns tested); a larger dot has a larger part in r. ` : `No single node stands out ${beyond} (q at most .05 over all nodes and columns tested). `);
  if (pale.length) make("span", caption, `Pale (${counted(pale.length, "node")}): not shown ${beyond} for this node by itself${more}. A single node has few pairs, so r of all can be clear where single nodes are not.`);
  tips($("local"), nodeWords, () => byWeight(parts));
}

function showLines() {
  $("lines").replaceChildren();
  for (const line of body().lines) make("li", $("lines"), line);
}
