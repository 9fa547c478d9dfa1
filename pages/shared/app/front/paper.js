// Before the browser prints: charts are told their size, so that the style of paper can scale them, tables and reports
// are laid out in full, what fits on a sheet is marked to stay whole, and the dark theme goes (white.js). Afterwards all
// of it comes back.

const SHEET_PIXELS = 900;
const LINE_PIXELS = 680;
const LETTER = 0.56; // its width, in sizes of the font, of which a table gets what makes its longest words fit
const SIZES = [7, 12];
const PADDING_PIXELS = 8;

function scaleCharts() {
  for (const frame of document.querySelectorAll(".js-plotly-plot .svg-container")) {
    for (const picture of frame.querySelectorAll(".main-svg")) {
      const width = picture.getAttribute("width");
      const height = picture.getAttribute("height");
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      frame.style.setProperty("--wide", `${width}px`);
      frame.style.setProperty("--picture", `${width} / ${height}`);
    }
  }
}

function layOut(place) {
  const { columns, more } = JSON.parse(place.dataset.table.replaceAll("_", "_\u200b")); // where a name may break
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const { name, number } of columns) {
    const cell = document.createElement("th");
    cell.textContent = name;
    cell.classList.toggle("number", number);
    head.append(cell);
  }
  const body = table.createTBody();
  for (let row = 0; row < (columns[0]?.cells.length ?? 0); row += 1) {
    const line = body.insertRow();
    for (const { cells, number } of columns) {
      const cell = line.insertCell();
      cell.textContent = cells[row];
      cell.classList.toggle("number", number);
    }
  }
  fitWords(table, columns);
  place.replaceChildren(table, more);
}

function fitWords(table, columns) {
  const longest = (text) => Math.max(...text.split(/[\s\u200b]/).map((word) => word.length));
  const wholly = ({ name, cells, number }) => [longest(name), ...cells.map(number ? (cell) => cell.length : longest)];
  const letters = columns.reduce((all, column) => all + 1 + Math.max(...wholly(column)), 0);
  const size = (LINE_PIXELS - PADDING_PIXELS * columns.length) / (LETTER * letters);
  table.style.setProperty("--letters", `${Math.min(Math.max(size, SIZES[0]), SIZES[1])}px`);
  table.classList.toggle("crowded", size < SIZES[0]);
}

// Tables of a page's own, whose style wants more room than a sheet has.
function shrink(table) {
  table.style.width = "min-content";
  const needed = table.offsetWidth;
  table.style.width = "";
  table.style.setProperty("--fit", Math.min(1, LINE_PIXELS / needed));
}

// A document within the page would be one picture, cut at the foot of each sheet: its content is laid out beside it.
function layOutDocument(frame) {
  const content = frame.contentDocument;
  if (!content?.body || frame.parentElement.querySelector(`.${REPORT}`)) return;
  const place = document.createElement("div");
  place.className = REPORT;
  const inside = place.attachShadow({ mode: "open" });
  const style = [...content.querySelectorAll("style")].map((one) => one.textContent).join("\n");
  inside.innerHTML = content.body.innerHTML;
  const own = document.createElement("style");
  own.textContent = style.replace(/(^|[\s},])(:root|html|body)(?=[\s{,])/g, "$1:host");
  inside.prepend(own);
  frame.parentElement.append(place);
}

function prepare(colours) {
  scaleCharts();
  document.querySelectorAll('[data-testid="stMain"] table').forEach(shrink);
  document.querySelectorAll(".evenhand-paper-table").forEach(layOut);
  document.querySelectorAll('[data-testid="stMain"] iframe[srcdoc]').forEach(layOutDocument);
  for (const block of document.querySelectorAll('[data-testid="stMain"] :is(.stVerticalBlock, .stHorizontalBlock)')) {
    const isCard = parseFloat(getComputedStyle(block).borderTopWidth) > 0;
    block.classList.toggle("evenhand-whole", isCard && block.offsetHeight < SHEET_PIXELS);
  }
  whiten(colours);
}

function restore() {
  darken();
  document.querySelectorAll(".main-svg[viewBox]").forEach((picture) => picture.removeAttribute("viewBox"));
  document.querySelectorAll(".evenhand-paper-table").forEach((place) => place.replaceChildren());
  document.querySelectorAll(`.${REPORT}`).forEach((place) => place.remove());
  document.querySelectorAll(".evenhand-whole").forEach((block) => block.classList.remove("evenhand-whole"));
}

export default function mount({ data, setTriggerValue }) {
  const ending = new AbortController();
  const listening = { signal: ending.signal };
  window.addEventListener("beforeprint", () => prepare(data.colours), listening);
  window.addEventListener("afterprint", restore, listening);
  const paper = window.matchMedia("print");
  paper.addEventListener("change", () => (paper.matches ? prepare(data.colours) : restore()), listening);
  const looking = followTheme(data.isDark, setTriggerValue);
  return () => {
    ending.abort();
    looking.disconnect();
  };
}
