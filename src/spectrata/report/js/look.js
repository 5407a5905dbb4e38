// Colours from the style sheet, and what every picture has in common.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function signedScale() { return [[0, css("low")], [0.5, css("middle")], [1, css("high")]]; }
function plainScale() { return [[0, css("middle")], [1, css("high")]]; }

const BAR = 28; // pixels above every plot for Plotly's buttons, which appear under the pointer and would cover what is drawn there

function baseLayout(height, more) {
  const margin = { l: 52, r: 14, t: 0, b: 44, ...more.margin };
  return Object.assign({
    autosize: true, paper_bgcolor: css("paper"), plot_bgcolor: css("paper"),
    font: { color: css("ink"), size: 12, family: "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif" },
    hovermode: "closest", showlegend: false,
    modebar: { orientation: "h", bgcolor: "rgba(0,0,0,0)", color: css("edge"), activecolor: css("main") },
    hoverlabel: { bgcolor: css("panel"), bordercolor: css("line"), font: { color: css("ink"), size: 12 }, align: "left" },
  }, more, { height: height + BAR, margin: { ...margin, t: margin.t + BAR } });
}

const RULER = document.createElement("canvas").getContext("2d");
function textWidth(text, size) {
  RULER.font = `${size}px system-ui, "Segoe UI", Arial, sans-serif`;
  return RULER.measureText(text).width;
}

// Pieces of a text in as few lines as fit a width.
function wrapped(pieces, width, size) {
  const lines = [];
  for (const piece of pieces) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${piece}` : piece;
    if (lines.length && textWidth(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}

function axisLook(more) {
  return Object.assign({
    gridcolor: css("grid"), linecolor: css("line"), zerolinecolor: css("line"), zeroline: false, automargin: true,
    tickfont: { size: 11, color: css("soft") },
  }, more);
}

// Ticks of a log axis between two powers of ten: decades, or 1, 2 and 5 of each where there are few.
function logTicks(low, high) {
  const steps = high - low < 2.5 ? [1, 2, 5] : [1], ticks = [];
  for (let power = Math.floor(low); power <= high; power++) for (const step of steps) ticks.push(step * 10 ** power);
  const shown = ticks.filter((x) => Math.log10(x) >= low - 1e-9 && Math.log10(x) <= high + 1e-9);
  return { tickvals: shown, ticktext: shown.map((x) => num(x, 1)) };
}

const CONFIG = {
  displaylogo: false, responsive: true, displayModeBar: "hover",
  modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]], // named one by one: Plotly's own list has uploads
};

function draw(id, traces, layout) {
  return Plotly.react(byId(id), traces, layout, CONFIG);
}

// Every picture can be saved, as pixels or as lines.
function addSaveButtons() {
  for (const plot of document.querySelectorAll(".plot")) {
    const box = document.createElement("div");
    box.className = "save";
    for (const format of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.setAttribute("aria-label", `Save ${plot.id} as ${format.toUpperCase()}`);
      button.dataset.save = `${plot.id}.${format}`;
      button.addEventListener("click", () => {
        if (plot.classList.contains("scene")) saveScene(plot.id, format);
        else Plotly.downloadImage(plot, { format, filename: `spectrata-${plot.id}`, scale: format === "png" ? 2 : 1 });
      });
      box.append(button);
    }
    plot.closest("figure").prepend(box);
  }
}

function saveBlob(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function element(tag, text, className) {
  const out = document.createElement(tag);
  if (text !== undefined) out.textContent = text;
  if (className) out.className = className;
  return out;
}
