// How each kind of mark is drawn on the plane. Places are pixels; nothing here knows of steps.

const MARKS = {
  waiting: "not asked about yet",
  tested: "tested, decided alike",
  found: "found: decided differently",
  felt: "asked about, not tested",
  standing: "looked at now",
  granted: "gets the loan",
  refused: "does not",
  hit: "move to a person found",
  miss: "move to a person not found",
  true: "downhill, true",
  estimated: "downhill, estimated",
  certified: "certified",
  falsified: "falsified",
  undecided: "undecided",
  next: "cut now",
  tree: "where the conditions hold",
  group: "the group",
  both: "get the loan, women and men",
  unlike: "only one of the two does",
  truth: "the truth: decided differently",
};

/** A person: where, what became of them, and whether it was in this step; smaller where there are many. */
function drawDot(context, colours, x, y, kind, isNew, scale = 1) {
  const size = (isNew ? 6 : 4.2) * scale;
  context.lineWidth = 1.5 * scale;
  if (kind === "found") {
    context.fillStyle = colours.found;
    context.beginPath();
    context.moveTo(x, y - size);
    context.lineTo(x + size, y + size * 0.8);
    context.lineTo(x - size, y + size * 0.8);
    context.closePath();
    context.fill();
    return;
  }
  context.strokeStyle = isNew ? colours.ink : colours.tested;
  context.beginPath();
  context.arc(x, y, kind === "felt" ? 1.2 : size * 0.62, 0, 2 * Math.PI);
  context.stroke();
}

/** A person of a cloud: a filled circle gets the loan, a ring does not. */
function drawDecided(context, colours, x, y, isGranted) {
  context.lineWidth = 1.4;
  context.strokeStyle = colours.certified;
  context.fillStyle = colours.certified;
  context.beginPath();
  context.arc(x, y, 3, 0, 2 * Math.PI);
  if (isGranted) context.fill();
  else context.stroke();
}

function drawWaiting(context, colours, x, y) {
  context.fillStyle = colours.tested;
  context.beginPath();
  context.arc(x, y, 1.6, 0, 2 * Math.PI);
  context.fill();
}

function drawStanding(context, colours, x, y) {
  context.lineWidth = 2.5;
  context.strokeStyle = colours.selection;
  context.beginPath();
  context.arc(x, y, 9, 0, 2 * Math.PI);
  context.stroke();
}

const ARROWS = {
  hit: { colour: "found", dash: [], width: 2 },
  miss: { colour: "tested", dash: [4, 3], width: 2 },
  true: { colour: "true", dash: [], width: 5 },
  estimated: { colour: "estimated", dash: [6, 3], width: 2 }, // drawn on the true one, which stays in view
};

function drawArrow(context, colours, from, to, kind) {
  const { colour, dash, width } = ARROWS[kind];
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length < 2) return;
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const head = Math.min(5 + width, length);
  context.lineWidth = width;
  context.strokeStyle = colours[colour];
  context.fillStyle = colours[colour];
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - head * ux + head * 0.5 * uy, to.y - head * uy - head * 0.5 * ux);
  context.lineTo(to.x - head * ux - head * 0.5 * uy, to.y - head * uy + head * 0.5 * ux);
  context.closePath();
  context.fill();
}

const AREAS = {
  certified: { fill: "certified", strength: 0.55, line: "paper", width: 1 },
  falsified: { fill: "found", strength: 0.3, line: "found", width: 1, hatch: "found" },
  undecided: { fill: "undecided", strength: 0.18, line: "undecided", width: 1, dots: "undecided" },
  next: { line: "selection", width: 4 },
  tree: { fill: "selection", strength: 0.14, line: "selection", width: 2, dash: [6, 4] },
  group: { fill: "selection", strength: 0.2, line: "selection", width: 3 },
};

function drawArea(context, colours, left, top, width, height, kind) {
  const look = AREAS[kind];
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  if (look.fill) {
    context.globalAlpha = look.strength;
    context.fillStyle = colours[look.fill];
    context.fillRect(left, top, width, height);
    context.globalAlpha = 1;
  }
  if (look.hatch) hatch(context, colours[look.hatch], left, top, width, height);
  if (look.dots) stipple(context, colours[look.dots], left, top, width, height);
  context.restore();
  context.strokeStyle = colours[look.line];
  context.lineWidth = look.width;
  context.setLineDash(look.dash ?? []);
  const inset = look.width / 2;
  context.strokeRect(left + inset, top + inset, Math.max(0, width - look.width), Math.max(0, height - look.width));
  context.setLineDash([]);
}

/** The parts of a plane whose letters are among some: clipped, and filled by what is drawn then. */
function drawWhere(context, cells, draw) {
  context.save();
  context.beginPath();
  for (const [left, top, width, height] of cells) context.rect(left, top, width + 0.5, height + 0.5);
  context.clip();
  draw();
  context.restore();
}

const HATCH_PIXELS = 7;

function hatch(context, colour, left, top, width, height) {
  context.strokeStyle = colour;
  context.lineWidth = 1.2;
  context.beginPath();
  const first = Math.floor((left + top) / HATCH_PIXELS) * HATCH_PIXELS;
  for (let at = first; at < left + width + top + height; at += HATCH_PIXELS) {
    context.moveTo(at - top, top);
    context.lineTo(at - top - height, top + height);
  }
  context.stroke();
}

function stipple(context, colour, left, top, width, height) {
  context.fillStyle = colour;
  const first = (from) => Math.ceil(from / HATCH_PIXELS) * HATCH_PIXELS;
  for (let x = first(left); x < left + width; x += HATCH_PIXELS) {
    for (let y = first(top); y < top + height; y += HATCH_PIXELS) context.fillRect(x - 0.7, y - 0.7, 1.4, 1.4);
  }
}
