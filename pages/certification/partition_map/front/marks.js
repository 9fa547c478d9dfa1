// What lies over the areas: lines of the splits, their words, symbols of the verdicts.

const SYMBOLS = [];
SYMBOLS[CERTIFIED] = "✓";
SYMBOLS[UNDECIDED] = "?";
SYMBOLS[FALSIFIED] = "▲";

/** Shortest side of a box, in pixels of the page, whose split is drawn as a line. */
const MIN_LINE = 20;
const MAX_CHIPS = 14;
/** Only splits of boxes that take so much of the stage have their words on the map. */
const MIN_CHIP_SHARE = 0.03;
const MAX_CHIP_TEXT = 24;
const CHIP_HEIGHT = 20;
const MIN_CHIP_WIDTH = 90;
const CHIP_PLACES = [0.5, 0.25, 0.75];
const SYMBOL_SIDE = 22;

/** Splits that a view shows, those nearest to the whole first: where their lines run, in pixels of the page. */
function visibleSplits(tree, view, width, height) {
  const splits = [];
  const kx = width / view.w;
  const ky = height / view.h;
  for (let i = 0; i < tree.n; ) {
    const left = (tree.x[i] - view.x) * kx;
    const top = (tree.y[i] - view.y) * ky;
    const right = left + tree.w[i] * kx;
    const bottom = top + tree.h[i] * ky;
    const isSeen = right > 0 && bottom > 0 && left < width && top < height;
    if (!isSeen || Math.min(right - left, bottom - top) < MIN_LINE || !tree.isSplit[i]) {
      i += tree.size[i];
      continue;
    }
    const part = tree.right(i);
    const isUpright = tree.isWide[i] === 1;
    const at = isUpright ? (tree.x[part] - view.x) * kx : (tree.y[part] - view.y) * ky;
    if (at > 0 && at < (isUpright ? width : height)) {
      const [x0, y0, x1, y1] = [Math.max(0, left), Math.max(0, top), Math.min(width, right), Math.min(height, bottom)];
      splits.push({ i, depth: tree.depth[i], isUpright, at, left: x0, top: y0, right: x1, bottom: y1 });
    }
    i += 1;
  }
  return splits.sort((a, b) => a.depth - b.depth);
}

/** Lines in the colour of the page, thicker for splits nearer to the whole, faint where both sides have one verdict. */
function drawLines(context, tree, splits, paper) {
  context.strokeStyle = paper;
  const first = splits.length ? splits[0].depth : 0;
  for (const isFaint of [true, false]) {
    context.globalAlpha = isFaint ? 0.3 : 1;
    for (let at = splits.length - 1; at >= 0; ) {
      const { depth } = splits[at];
      context.lineWidth = Math.max(0.75, 4 - 0.6 * (depth - first));
      context.beginPath();
      for (; at >= 0 && splits[at].depth === depth; at--) {
        const split = splits[at];
        if (hasOneVerdict(tree, split.i) !== isFaint) continue;
        context.moveTo(split.isUpright ? split.at : split.left, split.isUpright ? split.top : split.at);
        context.lineTo(split.isUpright ? split.at : split.right, split.isUpright ? split.bottom : split.at);
      }
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

function hasOneVerdict(tree, i) {
  return VERDICTS.filter((v) => tree.parts[v][i] > 0).length <= 1;
}

/** "◂ 17-35 · age · 36-90 ▸" on each line that has room for it, in the middle or beside it; returns the rectangles taken. */
function drawChips(context, tree, splits, theme, minArea) {
  const taken = [];
  context.font = `600 12px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const split of splits) {
    if (taken.length >= MAX_CHIPS) break;
    if (hasOneVerdict(tree, split.i)) continue;
    const [wide, high] = [split.right - split.left, split.bottom - split.top];
    if (wide < MIN_CHIP_WIDTH || high < CHIP_HEIGHT + 16 || wide * high < minArea) continue;
    const [text, width] = chipText(context, tree, split, wide - 12);
    if (!text) continue;
    const chip = CHIP_PLACES.map((part) => chipAt(split, width, part)).find((place) => !taken.some((other) => overlaps(place, other)));
    if (!chip) continue;
    taken.push(chip);
    context.fillStyle = theme.paper;
    context.strokeStyle = theme.border;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(chip.x0, chip.y0, width, CHIP_HEIGHT, 4);
    context.fill();
    context.stroke();
    context.fillStyle = theme.ink;
    context.fillText(text, (chip.x0 + chip.x1) / 2, (chip.y0 + chip.y1) / 2 + 0.5);
  }
  return taken;
}

/** The words of a split that fit, and their width: both parts, or the column alone; none where nothing fits. */
function chipText(context, tree, split, room) {
  const [before, behind] = split.isUpright ? ["◂", "▸"] : ["▴", "▾"];
  const [left, right] = [split.i + 1, tree.right(split.i)].map((part) => shortened(tree.shortWords(part).replace(/^= /, "")));
  const name = shortened(tree.splitName(split.i));
  for (const text of [`${before} ${left} · ${name} · ${right} ${behind}`, `${before} ${name} ${behind}`]) {
    const width = context.measureText(text).width + 14;
    if (width <= room) return [text, width];
  }
  return ["", 0];
}

/** Where a chip lies on its line, `part` of the line's length from its start. */
function chipAt(split, width, part) {
  const [wide, high] = [width / 2 + 4, CHIP_HEIGHT / 2 + 4];
  const along = split.isUpright ? split.top + part * (split.bottom - split.top) : split.left + part * (split.right - split.left);
  const x = within(split.isUpright ? split.at : along, split.left + wide, split.right - wide);
  const y = split.isUpright ? within(along, split.top + high, split.bottom - high) : split.at;
  return { x0: x - width / 2, y0: y - CHIP_HEIGHT / 2, x1: x + width / 2, y1: y + CHIP_HEIGHT / 2 };
}

/** A picture a verdict of its symbol, ringed with the verdict's own colour so that it stands clear of its pattern. */
function makeSymbols(palette, font, ratio) {
  return [palette.certified, palette.undecided, palette.falsified].map(([ground], v) => {
    const picture = document.createElement("canvas");
    picture.width = picture.height = Math.ceil(SYMBOL_SIDE * ratio);
    const context = picture.getContext("2d");
    context.scale(ratio, ratio);
    context.font = `700 15px ${font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = ground;
    context.fillStyle = palette.on;
    context.strokeText(SYMBOLS[v], SYMBOL_SIDE / 2, SYMBOL_SIDE / 2);
    context.fillText(SYMBOLS[v], SYMBOL_SIDE / 2, SYMBOL_SIDE / 2);
    return picture;
  });
}

function drawSymbols(context, large, taken, symbols, ratio) {
  const half = SYMBOL_SIDE / 2;
  for (const part of large) {
    const [x, y] = [part.x / ratio, part.y / ratio];
    const spot = { x0: x - half, y0: y - half, x1: x + half, y1: y + half };
    if (taken.some((chip) => overlaps(chip, spot))) continue;
    context.drawImage(symbols[part.verdict], spot.x0, spot.y0, SYMBOL_SIDE, SYMBOL_SIDE);
  }
}

/** An outline that is seen on every colour; a box too small for it gets a ring around it. */
function drawOutline(context, box, colour, paper, width) {
  const grow = Math.max(0, (12 - Math.min(box.w, box.h)) / 2);
  const [x, y, w, h] = [box.x - grow, box.y - grow, box.w + 2 * grow, box.h + 2 * grow];
  for (const [style, line] of [[paper, width + 3], [colour, width]]) {
    context.strokeStyle = style;
    context.lineWidth = line;
    context.strokeRect(x + width / 2, y + width / 2, Math.max(1, w - width), Math.max(1, h - width));
  }
}

function overlaps(a, b) {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

function within(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

function shortened(text) {
  return text.length <= MAX_CHIP_TEXT ? text : `${text.slice(0, MAX_CHIP_TEXT - 1)}…`;
}
