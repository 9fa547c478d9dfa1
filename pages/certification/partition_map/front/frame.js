// The elements around the areas. Words from data are set as text, never as HTML.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

const KEYS = [
  ["← →", "the other part of a split, or the next box as deep"],
  ["↓", "into the larger part"],
  ["↑", "to the box it was split from"],
  ["U, F", "to the next largest box with undecided, or with falsified individuals"],
  ["Enter", "zoom into the selected box"],
  ["Esc, Backspace", "zoom out a step"],
  ["+ −", "zoom"],
  ["Home", "everybody"],
];

/** All elements of one map, in order. */
function makeFrame(header) {
  const canvases = ["areas", "marks", "pointer"].map((name) => element("canvas", { class: name, "aria-hidden": "true" }));
  const tip = element("div", { class: "tip", hidden: "" });
  const hint = element("div", { class: "hint", hidden: "" }, "Click the map first, or hold Ctrl, to zoom with the wheel.");
  const stage = element("div", {
    class: "stage",
    tabindex: "0",
    role: "application",
    "aria-label": `Map of ${boxesText(header.n_leaves)}. Arrow keys move, Enter zooms in, Escape zooms out.`,
    "aria-describedby": "keys",
  });
  stage.style.height = `${header.height}px`;
  stage.append(...canvases, tip, hint);
  const tools = {
    in: button("+", "Zoom in"),
    out: button("−", "Zoom out"),
    whole: button("Everybody", "Show the whole map"),
    words: button("Words", "Show or hide the words of the splits"),
  };
  const path = element("ol");
  const status = element("p", { class: "status", role: "status", "aria-live": "polite" });
  const legend = element("ul", { class: "legend", "aria-label": "What the colours mean" });
  const note = element("p", { class: "note" }, header.note);
  const top = element(
    "div",
    { class: "top" },
    element("nav", { "aria-label": "Path of splits" }, path),
    element("div", { class: "tools" }, ...Object.values(tools)),
  );
  const root = element("div", { class: "map" }, top, stage, status, legend, note, keyList());
  return { root, stage, canvases, tip, hint, tools, path, status, legend };
}

function button(text, title) {
  return element("button", { type: "button", title, "aria-label": title }, text);
}

function keyList() {
  const list = element("dl", { id: "keys" });
  for (const [keys, meaning] of KEYS) list.append(element("dt", {}, keys), element("dd", {}, meaning));
  return element("details", {}, element("summary", {}, "Keys"), list);
}

/** A swatch with the pattern, the symbol, the word and the share of the whole, a verdict each. */
function fillLegend(place, tree, tiles, pixelRatio) {
  place.replaceChildren();
  for (const v of VERDICTS) {
    const swatch = element("canvas", { class: "swatch", "aria-hidden": "true" });
    [swatch.width, swatch.height] = [Math.round(28 * pixelRatio), Math.round(16 * pixelRatio)];
    const context = swatch.getContext("2d");
    const image = context.createImageData(swatch.width, swatch.height);
    const painter = new Painter(image, tiles, "#FFFFFF");
    painter.fill(0, 0, swatch.width, swatch.height, tiles[v]);
    context.putImageData(image, 0, 0);
    const words = `${SYMBOLS[v]} ${tree.header.verdicts[v]} ${tree.header.shares[v]}`;
    place.append(element("li", {}, swatch, words));
  }
}

/** Width of the map from which more of a path fits on a line. */
const WIDE = 900;

/** The path of splits to a box as buttons; of a long one the ends and the box that is zoomed to, until it is opened. */
function fillPath(place, tree, boxes, { focus, isWhole, width, onBox, onOpen }) {
  place.replaceChildren();
  const nLast = width < WIDE ? 2 : 4;
  let nLeftOut = 0;
  boxes.forEach((box, k) => {
    const isShown = isWhole || boxes.length <= nLast + 2 || k === 0 || k >= boxes.length - nLast || box === focus;
    if (!isShown) {
      nLeftOut += 1;
      return;
    }
    if (nLeftOut > 0) {
      const more = button("…", `Show the ${nLeftOut} steps between`);
      more.addEventListener("click", onOpen);
      place.append(element("li", {}, more));
      nLeftOut = 0;
    }
    const step = button(tree.words(box), `Zoom to: ${tree.words(box)}`);
    if (box === focus) step.setAttribute("aria-current", "location");
    if (tree.depth[box] > tree.depth[focus]) step.className = "ahead";
    step.addEventListener("click", () => onBox(box));
    place.append(element("li", {}, step));
  });
}

/** One box in a sentence or two. */
function boxSentence(tree, i) {
  const nInside = (tree.isSplit[i] ? (tree.size[i] + 1) / 2 : 0) + tree.merged[i];
  const present = VERDICTS.filter((v) => tree.parts[v][i] > 0);
  const verdict = (v) => `${tree.header.verdicts[v]} ${verdictText(v, tree.part(i, v))}`;
  const parts = present.length === 1 ? `wholly ${tree.header.verdicts[present[0]]}` : present.map(verdict).join(", ");
  const inside = nInside > 0 ? ` In it: ${boxesText(nInside, "smaller ")}.` : "";
  return `${tree.describe(i)}: ${shareText(tree.share(i))} of ${tree.header.unit}, ${parts || "nobody in it"}.${inside}`;
}

/** What a pointer over a box is told: its last split, its share, its verdicts, a line each. */
function fillTip(place, tree, i) {
  const present = VERDICTS.filter((v) => tree.parts[v][i] > 0);
  const lines = [
    element("strong", {}, tree.words(i)),
    element("span", {}, `${shareText(tree.share(i))} of ${tree.header.unit}, depth ${tree.depth[i]}`),
    ...present.map((v) => element("span", {}, `${SYMBOLS[v]} ${tree.header.verdicts[v]} ${verdictText(v, tree.part(i, v))}`)),
  ];
  place.replaceChildren(...lines);
}
