// ---- charts as SVG

// One r with its interval of chance, on the scale of all hops: filled with a verdict, hollow without.
function intervalChart(card, limit) {
  const wide = 200, middle = 9, x = (value) => wide / 2 + (Math.max(-limit, Math.min(limit, value)) / limit) * (wide / 2 - 8);
  const words = missing(card.low) ? "" : `, chance ${shortNumber(card.low)} to ${shortNumber(card.high)}`;
  const svg = draw("svg", null, { viewBox: `0 0 ${wide} 30`, role: "img", "aria-label": `r ${shortNumber(card.r)}${words}` });
  draw("line", svg, { class: "axis", x1: x(-limit), x2: x(limit), y1: middle, y2: middle });
  draw("line", svg, { class: "axis", x1: x(0), x2: x(0), y1: middle - 5, y2: middle + 5 });
  if (!missing(card.low)) {
    const span = { x: x(card.low), y: middle - 4, width: Math.max(2, x(card.high) - x(card.low)), height: 8, rx: 2 };
    draw("rect", svg, { class: "chance", fill: color("chance"), ...span });
  }
  if (!missing(card.r)) {
    const ink = color(card.tone || "none");
    draw("circle", svg, { cx: x(card.r), cy: middle, r: 5, stroke: ink, "stroke-width": 2, fill: card.tone ? ink : color("paper") });
  }
  for (const at of [-limit, 0, limit]) {
    const place = at < 0 ? "start" : at > 0 ? "end" : "middle";
    draw("text", svg, { x: at < 0 ? 2 : at > 0 ? wide - 2 : x(0), y: 28, "text-anchor": place, style: "font-size:10px" }, minus(String(at)));
  }
  return svg;
}

const chartWidth = (id) => Math.max(330, Math.min(890, $(id).clientWidth));

function axes(svg, box, xs, ys, words) {
  for (const [value, place, text] of ys) {
    draw("line", svg, { class: "grid", x1: box.left, x2: box.right, y1: place, y2: place });
    draw("text", svg, { x: box.left - 6, y: place + 4, "text-anchor": "end" }, text ?? shortNumber(value));
  }
  draw("line", svg, { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
  for (const [value, place, text] of xs) {
    draw("text", svg, { x: place, y: box.bottom + 16, "text-anchor": "middle" }, text ?? shortNumber(value));
  }
  draw("text", svg, { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, words[0]);
  draw("text", svg, { x: box.left, y: 14 }, words[1]);
}

function steps(top) {
  const raw = top / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= raw);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}

// Shares of energy over eigenvalues: stems or bins, chance behind them. One scale (top) for all hops.
function spectrumChart(one, top, right) {
  const room = chartWidth("spectrum"), box = { left: 52, right: room - 20, top: 26, bottom: 250 };
  const svg = draw("svg", null, { viewBox: `0 0 ${room} 292`, role: "img", "aria-label": one.words[1] });
  const x = (value) => box.left + (value / right) * (box.right - box.left);
  const y = (value) => box.bottom - (value / top) * (box.bottom - box.top);
  axes(svg, box, steps(right).map((v) => [v, x(v)]), steps(top).map((v) => [v, y(v)]), one.words);
  if (one.turn) draw("line", svg, { class: "axis", "stroke-dasharray": "3 3", x1: x(1), x2: x(1), y1: box.top, y2: box.bottom });
  const bins = one.upper && one.upper.some((upper, at) => upper > one.lower[at] + 1e-6);
  one.share.forEach((share, at) => {
    const low = one.lower[at], high = bins ? one.upper[at] : low, middle = (x(low) + x(high)) / 2;
    const half = bins ? Math.max(1.5, (x(high) - x(low)) / 2 - 0.5) : 3.5;
    if (one.low && Number.isFinite(one.low[at])) {
      const height = Math.max(1, y(one.low[at]) - y(one.high[at]));
      draw("rect", svg, { class: "chance", fill: color("chance"), x: middle - half, width: 2 * half, y: y(one.high[at]), height });
    }
    const ink = color(!one.turn ? "alike" : (low + high) / 2 < 1 ? "alike" : "unlike");
    const mark = draw("g", svg, { class: "stem", "data-share": share, "data-at": low });
    draw("title", mark, {}, `eigenvalue ${shortNumber(low)}${bins ? ` to ${shortNumber(high)}` : ""}: ${shortNumber(share)}`);
    if (bins) draw("line", mark, { stroke: ink, "stroke-width": 2.5, x1: middle - half, x2: middle + half, y1: y(share), y2: y(share) });
    else {
      draw("line", mark, { stroke: ink, "stroke-width": 1.5, x1: middle, x2: middle, y1: box.bottom, y2: y(share) });
      draw("circle", mark, { fill: ink, cx: middle, cy: y(share), r: 3 });
    }
  });
  return svg;
}
