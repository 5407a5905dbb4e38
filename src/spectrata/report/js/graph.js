// ---- graphs on canvas: lines between pairs, and nodes

const RAMPS = [["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"], ["#8a63d2", "#5b82dd", "#2fb0a8", "#7fdc6f", "#fde725"]];
const ramp = () => RAMPS[Number(matchMedia("(prefers-color-scheme: dark)").matches)];
const CLASSES = ["#7b4fb5", "#2a9d5c", "#d9a400", "#c2568f", "#4bb3b3", "#8a6243", "#7d8894", "#b5c334"];
const LOCAL = {
  "high among high": "alike", "low among low": "alike-soft", "high among low": "unlike", "low among high": "unlike-soft",
  "like its neighbours": "alike", "unlike its neighbours": "unlike", "more of its own class": "alike",
  "fewer of its own class": "unlike",
  "less unlike than chance": "alike-soft", "less alike than chance": "unlike-soft",
};

function onRamp(share) {
  const RAMP = ramp(), at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1), low = Math.min(RAMP.length - 2, Math.floor(at));
  const parts = [1, 3, 5].map((k) => {
    const [a, b] = [RAMP[low], RAMP[low + 1]].map((text) => parseInt(text.slice(k, k + 2), 16));
    return Math.round(a + (b - a) * (at - low));
  });
  return `rgb(${parts})`;
}

// Ends of a colour scale: 2 and 98 % of the values, so that one node does not bleach the others.
function scaleOf(values) {
  const known = Array.from(values).filter(Number.isFinite).sort((a, b) => a - b);
  if (!known.length) return [0, 1];
  const at = (share) => known[Math.round(share * (known.length - 1))];
  return at(0.02) < at(0.98) ? [at(0.02), at(0.98)] : [known[0], known[known.length - 1] || known[0] + 1];
}

function nodeColors(paint) {
  if (!paint) return () => color("none");
  const values = numbers(paint.values);
  if (paint.kind === "class") return (node) => (values[node] < 0 ? color("grid") : CLASSES[values[node] % CLASSES.length]);
  const [low, high] = scaleOf(values);
  return (node) => (Number.isFinite(values[node]) ? onRamp((values[node] - low) / (high - low || 1)) : color("grid"));
}

let bounds = null;
function placed(width, height, margin) {
  const places = numbers(DATA.drawing.places);
  if (!bounds) {
    bounds = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < places.length; at += 2) {
      if (!isDrawn(at / 2)) continue;
      bounds = [Math.min(bounds[0], places[at]), Math.max(bounds[1], places[at]),
        Math.min(bounds[2], places[at + 1]), Math.max(bounds[3], places[at + 1])];
    }
  }
  const [left, right, low, high] = bounds;
  const scale = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
  return (node) => [width / 2 + (places[2 * node] - (left + right) / 2) * scale, height / 2 - (places[2 * node + 1] - (low + high) / 2) * scale];
}

const CARD_PAIRS = 300;  // more of them fill a card with ink

const isDrawn = (node) => numbers(DATA.drawing.places)[2 * node] !== -32768;
const orNone = (packed) => (packed ? numbers(packed) : null);

// Pairs (flat array), their parts in r and weights (or none), and nodes with colour and radius; every so many pairs above a number.
function paintGraph(canvas, pairs, parts, weights, colorOf, radiusOf, most = Infinity) {
  const wide = canvas.clientWidth || 300, high = canvas.clientHeight || 220, dots = window.devicePixelRatio || 1;
  canvas.width = Math.round(wide * dots);
  canvas.height = Math.round(high * dots);
  const pen = canvas.getContext("2d"), n = numbers(DATA.drawing.places).length / 2;
  pen.scale(dots, dots);
  const size = Math.max(0.8, Math.min(wide / 60, (0.24 * Math.min(wide, high)) / Math.sqrt(n))), at = placed(wide, high, size + 4);
  const total = pairs.length / 2, step = Math.max(1, Math.ceil(total / most)), inks = { 1: color("alike"), 0: color("none"), [-1]: color("unlike") };
  const line = Math.max(0.5, Math.min(1.4, 120 / Math.sqrt((total / step) * 20)));
  const full = parts ? Math.max(0.28, Math.min(0.85, (90 * step) / total)) : 0.35;
  for (let pair = 0; pair < total; pair += step) {
    const part = parts ? parts[pair] : 0, side = !parts || part === -128 ? 0 : Math.sign(part);
    const strength = weights ? weights[pair] / 100 : 0.5;
    pen.lineWidth = line * (0.4 + 1.2 * strength);
    pen.globalAlpha = weights ? full * (0.5 + 0.5 * strength) : full;
    pen.strokeStyle = inks[side];
    pen.beginPath();
    pen.moveTo(...at(pairs[2 * pair]));
    pen.lineTo(...at(pairs[2 * pair + 1]));
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = color("paper");
  pen.lineWidth = size > 2 ? 1 : 0.3;
  for (let node = 0; node < n; node += 1) {
    if (!isDrawn(node)) continue;
    pen.fillStyle = colorOf(node);
    pen.beginPath();
    pen.arc(...at(node), radiusOf ? radiusOf(node, size) : size, 0, 7);
    pen.fill();
    if (size > 1.5) pen.stroke();
  }
  canvas.at = at;
  canvas.drawn = Math.ceil(total / step);
}

// A colour between the paper and an ink.
function between(ink, share) {
  const [a, b] = [color("paper"), color(ink)].map((text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16)));
  return `rgb(${a.map((one, at) => Math.round(one + (b[at] - one) * share))})`;
}

// The nearest node under the pointer, or the next by arrow keys, with its words.
function tips(canvas, words, order) {
  const tip = canvas.parentElement.querySelector(".tip");
  let step = -1;
  const show = (node) => {
    const [x, y] = canvas.at(node);
    tip.textContent = words(node);
    tip.hidden = false;
    tip.style.left = `${Math.min(x + 8, canvas.clientWidth - Math.min(250, tip.offsetWidth) - 4)}px`;
    tip.style.top = `${Math.max(0, y - tip.offsetHeight - 6)}px`;
  };
  const nearest = async (event) => {
    await rest();
    const box = canvas.getBoundingClientRect(), n = numbers(DATA.drawing.places).length / 2;
    let best = -1, least = 18 ** 2;
    for (let node = 0; node < n; node += 1) {
      if (!isDrawn(node)) continue;
      const [x, y] = canvas.at(node), far = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (far < least) [best, least] = [node, far];
    }
    if (best >= 0) show(best);
    else tip.hidden = true;
  };
  canvas.onpointermove = nearest;
  canvas.onpointerdown = nearest;
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.onblur = () => { tip.hidden = true; };
  canvas.onkeydown = async (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    await rest();
    const nodes = order().filter(isDrawn);
    step = (step + move + nodes.length) % nodes.length;
    show(nodes[step]);
  };
}
