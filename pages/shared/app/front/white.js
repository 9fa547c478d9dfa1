// Paper is white. What the dark theme paints is painted in the light theme's colours while the browser prints, charts,
// maps and players among it.

const SIDES = ["top", "right", "bottom", "left"];
const PAINTED = ["background-color", "background-image", ...SIDES.map((side) => `border-${side}-color`)];
const DRAWN = ["fill", "stroke", "stop-color"];
const COLOUR = /(rgba?)\(([\d.]+), ([\d.]+), ([\d.]+)/g;
const SHARES = /color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)/g; // what mixing colours gives
const HEX = /^#[0-9a-f]{6}$/i;
const DARK = 128;
const OF_PARTS = ["--st-background-color", "--st-text-color", "--st-border-color"];

const REPORT = "evenhand-paper-report";

let kept = [];

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** A colour of the dark theme in the light one: its own there, else as light as it is dark, of the same hue. */
function onWhite([red, green, blue], table) {
  const known = table[`${red}, ${green}, ${blue}`];
  if (known) return channels(known);
  const turn = 255 - Math.max(red, green, blue) - Math.min(red, green, blue);
  return [red + turn, green + turn, blue + turn];
}

function isDark() {
  const paper = getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor;
  const [red, green, blue] = paper.match(/[\d.]+/g).map(Number);
  return 0.3 * red + 0.6 * green + 0.1 * blue < DARK;
}

/** Everything on the page, also within parts that have a tree of their own; but for a report, which is white. */
function* everything(root) {
  for (const one of root.querySelectorAll(`*:not(.${REPORT})`)) {
    yield one;
    if (one.shadowRoot) yield* everything(one.shadowRoot);
  }
}

function changesOf(one, colours) {
  const style = getComputedStyle(one);
  const isDrawing = one instanceof SVGElement;
  const isText = isDrawing && one.closest("text") !== null;
  const changes = [];
  for (const name of ["color", ...(isDrawing ? DRAWN : PAINTED)]) {
    const value = style.getPropertyValue(name);
    const table = name === "color" || isText ? colours.written : colours.painted;
    const changed = value
      .replace(COLOUR, (_, kind, ...part) => `${kind}(${onWhite(part.slice(0, 3).map(Number), table).join(", ")}`)
      .replace(SHARES, (_, ...part) => {
        const turned = onWhite(part.slice(0, 3).map((share) => Math.round(255 * share)), table);
        return `color(srgb ${turned.map((channel) => channel / 255).join(" ")}`;
      });
    if (changed !== value) changes.push([name, changed]);
  }
  if (one.shadowRoot) {
    for (const name of OF_PARTS) {
      const value = style.getPropertyValue(name).trim();
      if (HEX.test(value)) changes.push([name, `rgb(${onWhite(channels(value), colours.written).join(", ")})`]);
    }
  }
  return changes;
}

function repaint(app) {
  for (const one of everything(app)) {
    if (one instanceof HTMLCanvasElement) one.dispatchEvent(new Event("repaint"));
  }
}

/** Paint the page as the light theme does, until ``darken``. */
function whiten(colours) {
  if (!isDark()) return;
  const app = document.querySelector('[data-testid="stApp"]');
  const all = [document.documentElement, document.body, app, ...everything(app)];
  const changes = all.map((one) => changesOf(one, colours)); // all is read before anything changes
  all.forEach((one, at) => {
    kept.push([one, one.getAttribute("style")]);
    if (changes[at].length) one.style.setProperty("transition", "none", "important");
    for (const [name, value] of changes[at]) one.style.setProperty(name, value, "important");
  });
  for (const one of [document.documentElement, app]) one.style.setProperty("color-scheme", "light", "important");
  repaint(app);
}

function darken() {
  if (!kept.length) return;
  for (const [one, style] of kept) {
    if (style === null) one.removeAttribute("style");
    else one.setAttribute("style", style);
  }
  kept = [];
  repaint(document.querySelector('[data-testid="stApp"]'));
}

/** Charts have the colours of the theme that was on when the app drew them: it draws anew when there is another. */
function followTheme(drawnDark, ask) {
  let asked = drawnDark;
  const look = () => {
    if (kept.length || isDark() === asked) return;
    asked = isDark();
    ask("theme", asked);
  };
  const looking = new MutationObserver(look);
  looking.observe(document.querySelector('[data-testid="stApp"]'), { attributeFilter: ["class"] });
  look();
  return looking;
}
