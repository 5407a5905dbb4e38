// ---- what the page holds, and small helpers; all texts are set as text, never as markup

const DATA = JSON.parse(document.getElementById("data").textContent);
const TYPES = { f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array };
const $ = (id) => document.getElementById(id);
const state = { cell: DATA.first, hop: 0, rest: null };

function unpack(one) {
  const bytes = Uint8Array.from(atob(one.b), (letter) => letter.charCodeAt(0));
  return new TYPES[one.t](bytes.buffer);
}

// Typed arrays of packed ones, made once.
const arrays = new Map();
function numbers(one) {
  if (!arrays.has(one)) arrays.set(one, unpack(one));
  return arrays.get(one);
}

// What is not shown first, unpacked when it is first asked for.
let unpacking = null;
function rest() {
  unpacking ??= (async () => {
    const packed = Uint8Array.from(atob($("rest").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    state.rest = JSON.parse(await new Response(stream).text());
    return state.rest;
  })();
  return unpacking;
}

const body = () => (state.cell === DATA.first ? DATA.cell : state.rest.cells[state.cell]);

function make(tag, parent, text, name) {
  const one = document.createElement(tag);
  if (text !== undefined && text !== null) one.textContent = text;
  if (name) one.className = name;
  if (parent) parent.append(one);
  return one;
}

function draw(tag, parent, facts, text) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(facts)) one.setAttribute(name, value);
  if (text !== undefined) one.textContent = text;
  if (parent) parent.append(one);
  return one;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const minus = (text) => text.replace("-", "\u2212");
const missing = (x) => x === null || x === undefined;
const shortNumber = (x) => (missing(x) || Number.isNaN(x) ? "" : Math.abs(x) < 1e-9 ? "0" : minus(String(Number(x.toPrecision(3)))));
const r = (x) => (missing(x) ? "undefined" : Math.abs(x) < 0.005 ? "0.00" : minus(`${x > 0 ? "+" : ""}${x.toFixed(2)}`));
const p = (x) => (missing(x) ? "" : x < 0.001 ? "p < 0.001" : `p = ${x.toFixed(3)}`);
const plainP = (x) => (missing(x) ? "" : x < 0.001 ? "< 0.001" : x.toFixed(3));
const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const apart = (hop) => (/^\d+$/.test(hop) ? `${hop} hop${hop === "1" ? "" : "s"} apart` : `at distance ${hop}`);

function table(into, heads, rows, numeric) {
  into.replaceChildren();
  const top = make("tr", make("thead", into));
  heads.forEach((head, at) => make("th", top, head, numeric.includes(at) ? "number" : "").setAttribute("scope", "col"));
  const inside = make("tbody", into);
  for (const row of rows) {
    const line = make("tr", inside);
    row.forEach((cell, at) => {
      const one = make("td", line, null, numeric.includes(at) ? "number" : String(cell).length > 50 ? "wrap" : String(cell).length > 16 ? "words" : "");
      make("bdi", one, cell);
    });
  }
}

function saveCsv(name, heads, rows) {
  // A cell that a spreadsheet would run as a formula begins with an apostrophe.
  const quoted = (cell) => {
    const text = missing(cell) || Number.isNaN(cell) ? "" : String(cell);
    const safe = typeof cell === "string" && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const text = [heads, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n");
  const link = make("a", null);
  link.href = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
