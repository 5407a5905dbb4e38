// Nodes and edges on a canvas: thousands of them, with hover, keys, zoom, and both file formats.
const SCENES = new Map(); // by id: what is shown, and how it is zoomed

const hex = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

// 65 colours between stops of the form [place, "#rrggbb"].
function ramp(stops) {
  return Array.from({ length: 65 }, (_, i) => {
    const place = i / 64, k = Math.max(1, stops.findIndex(([at]) => at >= place));
    const [a, low] = stops[k - 1], [b, high] = stops[k], share = (place - a) / (b - a || 1);
    const [from, to] = [hex(low), hex(high)];
    return `rgb(${from.map((x, c) => Math.round(x + share * (to[c] - x))).join(",")})`;
  });
}

// Colours of values between two ends; hollow where there is none.
function painter(values, low, high, stops) {
  const colours = ramp(stops);
  return (i) => (isNumber(values[i]) ? colours[Math.round(64 * Math.min(1, Math.max(0, (values[i] - low) / (high - low || 1))))] : null);
}

// The largest sizes lie on top: they are what is looked for.
function paintOrder(values) {
  const order = Array.from({ length: NODES }, (_, i) => i);
  return values ? order.sort((a, b) => Math.abs(values[a] || 0) - Math.abs(values[b] || 0)) : order;
}

// spec: { height, panels: [{ x, y, values, paint, low, high, stops, title, words(i) }], range: [[x0, x1], [y0, y1]], labels, stretch }
function drawScene(id, spec) {
  const host = byId(id), first = !SCENES.has(id);
  if (first) SCENES.set(id, { zoom: 1, dx: 0, dy: 0, at: -1, panel: 0 });
  const scene = Object.assign(SCENES.get(id), { spec, id });
  if (first) prepareScene(host, scene);
  const canvas = host.querySelector("canvas"), density = window.devicePixelRatio || 1;
  scene.width = host.clientWidth || 640;
  const columns = Math.min(spec.panels.length, scene.width < 430 ? 2 : 4), lines = Math.ceil(spec.panels.length / columns);
  scene.boxes = spec.panels.map((_, i) => ({
    left: (i % columns) * (scene.width / columns), top: Math.floor(i / columns) * spec.height, width: scene.width / columns, height: spec.height,
  }));
  scene.height = spec.height * lines;
  canvas.style.height = `${scene.height}px`;
  canvas.width = Math.round(scene.width * density);
  canvas.height = Math.round(scene.height * density);
  const brush = canvas.getContext("2d");
  brush.setTransform(density, 0, 0, density, 0, 0);
  paintScene(scene, canvasPen(brush));
  host.placeOf = (i, panel = 0) => placeIn(scene, panel)(spec.panels[panel].x[i], spec.panels[panel].y[i]);
  host.data = spec.panels.flatMap((one) => [{ x: [], y: [] }, { x: one.x, y: one.y, marker: { color: one.values }, text: spec.labels ? DRAWING.names.map((name) => short(name)) : null }]);
  showTip(host, scene);
}

// Where a node of a panel is drawn, in pixels of the host.
function placeIn(scene, panel) {
  const box = scene.boxes[panel], { range } = scene.spec, bar = scene.spec.panels[panel].paint ? barRoom(scene.spec.panels[panel]) + 6 : 12;
  const left = box.left + 12, top = box.top + (scene.spec.panels[panel].title ? 30 : 14);
  const width = box.width - 12 - bar, height = box.height - (top - box.top) - 36; // the zoom buttons lie below
  const spans = range.map(([a, b]) => b - a || 1);
  let sx = width / spans[0], sy = height / spans[1];
  if (!scene.spec.stretch) sx = sy = Math.min(sx, sy);
  const mx = (range[0][0] + range[0][1]) / 2, my = (range[1][0] + range[1][1]) / 2;
  const cx = left + width / 2, cy = top + height / 2;
  return (x, y) => [cx + scene.zoom * (sx * (x - mx) + scene.dx * width), cy - scene.zoom * (sy * (y - my) + scene.dy * height)];
}

function paintScene(scene, pen) {
  const { spec } = scene, size = NODES <= 30 ? 7 : NODES <= 100 ? 5 : Math.max(1.3, Math.min(4, 90 / Math.sqrt(NODES)));
  pen.clear(scene.width, scene.height);
  spec.panels.forEach((one, panel) => {
    const place = placeIn(scene, panel), box = scene.boxes[panel], spots = new Float64Array(2 * NODES);
    for (let i = 0; i < NODES; i++) { const [x, y] = place(one.x[i], one.y[i]); spots[2 * i] = x; spots[2 * i + 1] = y; }
    pen.clip(box);
    pen.lines(DRAWING.edges, spots, css("edge"), NODES > 1000 ? 0.35 : NODES > 100 ? 0.6 : 1, NODES > 1000 ? 0.35 : 0.6);
    const colour = one.paint || (() => null), rim = css("edge"), radius = size * Math.sqrt(Math.min(scene.zoom, 4)) * (spec.panels.length > 1 ? 0.75 : 1);
    for (const i of paintOrder(one.values)) {
      const x = spots[2 * i], y = spots[2 * i + 1];
      if (x < box.left - 9 || x > box.left + box.width + 9 || !isNumber(x) || !isNumber(y)) continue;
      pen.dot(x, y, radius, colour(i) || css("paper"), colour(i) && NODES > 1000 ? null : rim);
    }
    if (spec.labels) for (const [x, y, text] of labelsThatFit(spots, paintOrder(one.values).reverse(), size + 3)) pen.text(x, y, text, css("ink"), 11, "center");
    pen.unclip();
    if (one.title) pen.text(box.left + box.width / 2, box.top + 14, one.title, css("ink"), 11.5, "center");
    if (one.paint) colourBar(pen, one, box);
  });
}

// Labels above their nodes, the largest values first; one that would lie over another is left out, and the tip has it.
function labelsThatFit(spots, order, above) {
  const placed = [];
  for (const i of order) {
    const x = spots[2 * i], y = spots[2 * i + 1] - above, text = short(DRAWING.names[i]), half = textWidth(text, 11) / 2 + 1;
    if (!isNumber(x) || !isNumber(y) || placed.some(([px, py, , wide]) => Math.abs(px - x) < wide + half && Math.abs(py - y) < 12)) continue;
    placed.push([x, y, text, half]);
  }
  return placed;
}

const barLabels = (one) => [[0, one.low], [0.5, (one.low + one.high) / 2], [1, one.high]].map(([share, value]) => [share, num(value, 2)]);
const barRoom = (one) => Math.max(52, 18 + Math.max(...barLabels(one).map(([, label]) => textWidth(label, 10.5))));

function colourBar(pen, one, box) {
  const colours = ramp(one.stops), height = Math.min(150, box.height * 0.5), left = box.left + box.width - barRoom(one), top = box.top + (box.height - height) / 2;
  colours.forEach((colour, i) => pen.rect(left, top + height - ((i + 1) * height) / 65, 9, height / 65 + 0.6, colour));
  for (const [share, label] of barLabels(one)) pen.text(left + 12, top + height * (1 - share) + 4, label, css("soft"), 10.5, "left");
}

// ---- two pens: pixels, and lines for a file

function canvasPen(brush) {
  return {
    clear: (width, height) => { brush.fillStyle = css("paper"); brush.fillRect(0, 0, width, height); },
    clip: (box) => { brush.save(); brush.beginPath(); brush.rect(box.left, box.top, box.width, box.height); brush.clip(); },
    unclip: () => brush.restore(),
    lines: (edges, spots, colour, width, alpha) => {
      brush.globalAlpha = alpha; brush.strokeStyle = colour; brush.lineWidth = width; brush.beginPath();
      for (let e = 0; e < edges.v.length; e += 2) {
        const a = 2 * edges.v[e], b = 2 * edges.v[e + 1];
        brush.moveTo(spots[a], spots[a + 1]); brush.lineTo(spots[b], spots[b + 1]);
      }
      brush.stroke(); brush.globalAlpha = 1;
    },
    dot: (x, y, radius, fill, rim) => {
      brush.beginPath(); brush.arc(x, y, radius, 0, 6.2832); brush.fillStyle = fill; brush.fill();
      if (rim) { brush.strokeStyle = rim; brush.lineWidth = 0.8; brush.stroke(); }
    },
    text: (x, y, text, colour, size, align) => { brush.fillStyle = colour; brush.font = `${size}px system-ui, "Segoe UI", Arial, sans-serif`; brush.textAlign = align; brush.fillText(text, x, y); },
    rect: (x, y, width, height, colour) => { brush.fillStyle = colour; brush.fillRect(x, y, width, height); },
  };
}

function svgPen() {
  const out = [], f = (x) => (Math.round(100 * x) / 100).toString(), clips = [];
  const safe = (text) => esc(text).replace(/"/g, "&quot;").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "�");
  return {
    out,
    clear: (width, height) => out.push(`<rect width="${f(width)}" height="${f(height)}" fill="${css("paper")}"/>`),
    clip: (box) => { clips.push(box); out.push(`<svg x="${f(box.left)}" y="${f(box.top)}" width="${f(box.width)}" height="${f(box.height)}" viewBox="${[box.left, box.top, box.width, box.height].map(f).join(" ")}">`); },
    unclip: () => out.push("</svg>"),
    lines: (edges, spots, colour, width, alpha) => {
      const path = [];
      for (let e = 0; e < edges.v.length; e += 2) { const a = 2 * edges.v[e], b = 2 * edges.v[e + 1]; path.push(`M${f(spots[a])} ${f(spots[a + 1])}L${f(spots[b])} ${f(spots[b + 1])}`); }
      out.push(`<path d="${path.join("")}" stroke="${colour}" stroke-width="${width}" opacity="${alpha}"/>`);
    },
    dot: (x, y, radius, fill, rim) => out.push(`<circle cx="${f(x)}" cy="${f(y)}" r="${f(radius)}" fill="${fill}"${rim ? ` stroke="${rim}" stroke-width="0.8"` : ""}/>`),
    text: (x, y, text, colour, size, align) => out.push(`<text x="${f(x)}" y="${f(y)}" fill="${colour}" font-size="${size}" font-family="system-ui, Arial, sans-serif" text-anchor="${align === "center" ? "middle" : "start"}">${safe(text)}</text>`),
    rect: (x, y, width, height, colour) => out.push(`<rect x="${f(x)}" y="${f(y)}" width="${f(width)}" height="${f(height)}" fill="${colour}"/>`),
  };
}

function saveScene(id, format) {
  const scene = SCENES.get(id), name = `spectrata-${id}.${format}`;
  if (format === "svg") {
    const pen = svgPen();
    paintScene(scene, pen);
    saveBlob(name, new Blob([`<svg xmlns="http://www.w3.org/2000/svg" width="${scene.width}" height="${scene.height}">${pen.out.join("\n")}</svg>`], { type: "image/svg+xml" }));
    return;
  }
  const canvas = document.createElement("canvas");
  canvas.width = 2 * scene.width; canvas.height = 2 * scene.height;
  const brush = canvas.getContext("2d");
  brush.scale(2, 2);
  paintScene(scene, canvasPen(brush));
  canvas.toBlob((blob) => saveBlob(name, blob));
}

// ---- hover, keys, zoom

function prepareScene(host, scene) {
  const canvas = element("canvas"), tip = element("div", "", "tip"), zoom = element("div", undefined, "zoom");
  canvas.setAttribute("aria-hidden", "true");
  tip.hidden = true;
  tip.setAttribute("aria-live", "polite");
  host.tabIndex = 0;
  host.setAttribute("role", "group");
  host.title = "";
  for (const [text, label, by] of [["+", "Zoom in", 1.6], ["−", "Zoom out", 1 / 1.6], ["○", "Whole graph", 0]]) {
    const button = element("button", text);
    button.type = "button"; button.setAttribute("aria-label", `${label}: ${host.id}`); button.title = label;
    button.addEventListener("click", () => zoomScene(scene, by));
    zoom.append(button);
  }
  host.append(canvas, zoom, tip);
  let drag = null;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    if (drag && scene.zoom > 1) {
      const span = scene.boxes[0];
      scene.dx += (x - drag[0]) / scene.zoom / span.width; scene.dy -= (y - drag[1]) / scene.zoom / span.height;
      drag = [x, y];
      later(() => drawScene(scene.id, scene.spec));
      return;
    }
    [scene.at, scene.panel] = nearestNode(scene, x, y);
    showTip(host, scene);
  });
  canvas.addEventListener("pointerdown", (event) => { const box = canvas.getBoundingClientRect(); drag = [event.clientX - box.left, event.clientY - box.top]; });
  for (const kind of ["pointerup", "pointerleave"]) canvas.addEventListener(kind, () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { scene.at = -1; showTip(host, scene); });
  canvas.addEventListener("wheel", (event) => { if (event.ctrlKey) { event.preventDefault(); zoomScene(scene, event.deltaY < 0 ? 1.2 : 1 / 1.2); } }, { passive: false });
  host.addEventListener("keydown", (event) => {
    const by = { "+": 1.6, "=": 1.6, "-": 1 / 1.6, 0: 0 }[event.key], step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.target !== host || (by === undefined && step === undefined)) return;
    event.preventDefault();
    if (by !== undefined) zoomScene(scene, by);
    else stepNode(host, scene, step);
  });
  host.addEventListener("blur", () => { scene.at = -1; showTip(host, scene); });
}

function zoomScene(scene, by) {
  scene.zoom = by ? Math.min(40, Math.max(1, scene.zoom * by)) : 1;
  if (scene.zoom === 1) scene.dx = scene.dy = 0;
  drawScene(scene.id, scene.spec);
}

function nearestNode(scene, x, y) {
  const panel = Math.max(0, scene.boxes.findIndex((box) => x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height));
  const place = placeIn(scene, panel), one = scene.spec.panels[panel];
  let best = -1, least = 16 ** 2;
  for (let i = 0; i < NODES; i++) {
    const [px, py] = place(one.x[i], one.y[i]), far = (px - x) ** 2 + (py - y) ** 2;
    if (far < least) { least = far; best = i; }
  }
  return [best, panel];
}

// Keys go through the nodes, the largest value first.
function stepNode(host, scene, by) {
  const order = paintOrder(scene.spec.panels[0].values).reverse(), now = order.indexOf(scene.at);
  scene.panel = 0;
  scene.at = order[now < 0 ? 0 : (now + by + NODES) % NODES];
  showTip(host, scene);
}

function showTip(host, scene) {
  const tip = host.querySelector(".tip"), one = scene.spec.panels[scene.panel] || scene.spec.panels[0];
  tip.hidden = scene.at < 0;
  if (tip.hidden) return;
  const [x, y] = placeIn(scene, scene.panel)(one.x[scene.at], one.y[scene.at]);
  tip.textContent = `${iso(DRAWING.names[scene.at])}\n${one.words(scene.at)}`;
  tip.style.left = `${Math.max(0, Math.min(x + 10, scene.width - tip.offsetWidth))}px`;
  tip.style.top = `${Math.max(0, y - tip.offsetHeight - 8)}px`;
}
