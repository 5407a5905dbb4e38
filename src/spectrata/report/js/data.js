// The page's data: JSON, with arrays as base64 of little-endian numbers.
const D = JSON.parse(document.getElementById("data").textContent);
const TYPES = { f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array };

function unpack(packed) {
  const text = atob(packed.b);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const values = new TYPES[packed.t](bytes.buffer);
  return packed.scale === undefined ? { v: values, s: packed.s } : { v: Float64Array.from(values, (x) => x * packed.scale), s: packed.s };
}

// One run along the last axis: row(array, algorithm, snapshot, hop).
function row(array, ...index) {
  const width = array.s[array.s.length - 1];
  let start = 0;
  index.forEach((i, axis) => { start = start * array.s[axis] + i; });
  return array.v.subarray(start * width, (start + 1) * width);
}

// One number: cell(array, algorithm, snapshot, hop).
function cell(array, ...index) {
  let place = 0;
  index.forEach((i, axis) => { place = place * array.s[axis] + i; });
  return array.v[place];
}

function unpackAll(object) {
  const out = {};
  for (const [key, value] of Object.entries(object)) out[key] = value && value.b !== undefined ? unpack(value) : value;
  return out;
}

const HOPS = D.strata.hop;
const ROWS = HOPS.map((_, i) => i);
const SNAPSHOTS = D.snapshots || [""];
const LAST = SNAPSHOTS.length - 1;
const ROW_TITLE = D.row_word[0].toUpperCase() + D.row_word.slice(1); // what a snapshot is: a layer, a column
const SPECTRA = unpackAll(D.spectra);
SPECTRA.merged = unpackAll(D.spectra.merged);
const CHANCE = D.chance ? unpackAll(D.chance) : null;
const STRATA = unpackAll(D.strata);
const DRAWING = unpackAll(D.drawing);
const NODES = DRAWING.names.length;
const COMPONENTS = SPECTRA.eigenvalue.s[1];

// Eigenspaces of each hop that have their eigenvectors in the page, by index.
const KEPT = D.drawing.spaces.map((list) => new Map(list.map((one) => [one.space, one])));

// What is shown now.
const S = {
  algorithm: D.shown_first, scale: COMPONENTS > 300 ? "cumulative" : "raw", axis: COMPONENTS > 60 ? "rank" : "eigenvalue", merged: true, log: COMPONENTS > 60,
  snapshot: D.first_row, overlay: "", page: 0, pick: { row: 0, space: 0, member: 0 }, paint: 0, measure: 0, mode: 0, dark: false,
};

// Plotly reads a little markup in every text; names are data, so they are escaped.
const esc = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;"); // $ opens mathematics
const short = (text, most = 14) => ([...text].length > most ? [...text].slice(0, most - 1).join("") + "…" : text);

function num(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return String(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-4 ? x.toExponential(Math.max(0, digits - 2)) : String(Number(x.toPrecision(digits)));
}
// A name in a sentence keeps its direction, and any override inside, to itself.
const iso = (text) => `\u2068${text}\u2069`;
const moment = (t) => iso(SNAPSHOTS[t]);
const whole = (x) => x.toLocaleString("en-US");
const many = (x, noun) => `${whole(x)} ${noun}${x === 1 ? "" : "s"}`;
const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
const byId = (id) => document.getElementById(id);

// The curve of one algorithm, snapshot and hop: one entry per eigenspace, or per component.
function curve(algorithm, snapshot, hop, scale, merged) {
  const from = merged ? SPECTRA.merged : SPECTRA;
  const eigenvalue = row(from.eigenvalue, hop), multiplicity = row(from.multiplicity, hop);
  const magnitude = row(from.magnitude, algorithm, snapshot, hop);
  const norm = cell(from.norm, algorithm, snapshot, hop);
  const divide = scale === "normalised" && norm > 0 ? norm : 1;
  const chance = chanceOf(algorithm, snapshot, hop);
  const space = merged ? null : row(SPECTRA.eigenspace, hop);
  const ambiguous = row(SPECTRA.merged.ambiguous, algorithm, hop), zero = row(SPECTRA.merged.is_zero, hop);
  const out = { points: [], calibrated: chance !== null };
  let place = 0;
  for (let i = 0; i < eigenvalue.length; i++) {
    if (!(multiplicity[i] > 0)) continue;
    const a = merged ? i : space[i];
    const point = { hop, index: i, space: a, eigenvalue: eigenvalue[i], multiplicity: multiplicity[i], magnitude: magnitude[i], rank: place };
    point.zero = zero[a] === 1;
    point.doubtful = merged ? ambiguous[a] === 1 : multiplicity[i] > 1;
    if (chance) {
      point.ratio = chance.ratio[a];
      point.energy = chance.energy[a];
      point.q = chance.q[a];
    }
    point.y = scale === "calibrated" ? (chance ? point.ratio : NaN) : magnitude[i] / divide;
    if (chance && !point.zero) {
      const low = chance.low[a], high = chance.high[a];
      point.low = scale === "calibrated" ? low / point.energy : Math.sqrt(low) / divide;
      point.high = scale === "calibrated" ? high / point.energy : Math.sqrt(high) / divide;
    }
    out.points.push(point);
    place += merged ? multiplicity[i] : 1;
  }
  return out;
}

function chanceOf(algorithm, snapshot, hop) {
  if (!CHANCE) return null;
  const m = CHANCE.algorithms.indexOf(D.algorithms[algorithm]);
  if (m < 0) return null;
  const out = {};
  for (const name of ["ratio", "energy", "low", "high", "q"]) out[name] = row(CHANCE[name], m, snapshot, hop);
  return out;
}

// Spectrum off zero of unit length, one value per component, even inside eigenspaces.
function evened(algorithm, snapshot, hop) {
  const merged = SPECTRA.merged, power = merged.evening[algorithm];
  const magnitude = row(merged.magnitude, algorithm, snapshot, hop), multiplicity = row(merged.multiplicity, hop), zero = row(merged.is_zero, hop);
  const norm = cell(merged.norm_off_zero, algorithm, snapshot, hop);
  const value = new Float64Array(COMPONENTS), space = new Int32Array(COMPONENTS);
  let place = 0;
  for (let a = 0; a < multiplicity.length; a++) {
    for (let k = 0; k < multiplicity[a]; k++) {
      value[place] = zero[a] === 1 ? NaN : norm > 0 ? magnitude[a] / Math.pow(multiplicity[a], power) / norm : 0 * magnitude[a];
      space[place++] = a;
    }
  }
  return { value, space };
}
