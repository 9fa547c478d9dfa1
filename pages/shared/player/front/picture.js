// The planes side by side: axes, the truth when asked for, and the marks of one step.

const ROOM = { left: 44, right: 10, top: 24, bottom: 40 };
const GAP = 14;
const TICK_PIXELS = 60;
const LABEL_PIXELS = 7;
const MOST_LETTERS = 14;

const ROOT_PIXELS = 16;

function screenRatio() {
  return window.devicePixelRatio || 1;
}

/** Pixels of the screen to one of a drawing, which grows with the text of the page. */
function pixelScale() {
  return (screenRatio() * parseFloat(getComputedStyle(document.documentElement).fontSize)) / ROOT_PIXELS;
}

/** An axis of a recording: people lie in cells of whole numbers, or, without cells, anywhere between low and high. */
function axis(recording, at) {
  const [name, low, high, more] = recording.axes[at];
  return { name, low, high, cell: more?.hasCells === false ? 0 : 1, labels: more?.labels };
}

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  /** Fit the canvas to its place and the screen's pixels; where the page's text is larger, so is all that is drawn. */
  measure() {
    const { canvas } = this;
    const scale = pixelScale();
    this.width = (canvas.clientWidth * screenRatio()) / scale;
    this.height = (canvas.clientHeight * screenRatio()) / scale;
    canvas.width = Math.max(1, Math.round(this.width * scale));
    canvas.height = Math.max(1, Math.round(this.height * scale));
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
  }

  /** Draw a step over what stays of those before it. */
  draw(recording, at, colours, font, isTruthShown) {
    const { context } = this;
    context.clearRect(0, 0, this.width, this.height);
    this.lay(recording);
    const step = recording.steps[at];
    for (const plane of recording.planes.keys()) this.drawFrame(recording, plane, colours, font);
    if (step.decides) this.drawDecides(recording, step.decides, colours);
    for (const area of step.areas ?? []) this.drawAreaOf(recording, area, colours);
    if (isTruthShown) this.drawTruth(recording, recording.truth, colours);
    const waiting = step.waiting === true ? this.everybody(recording) : (step.waiting ?? []);
    for (const [plane, x, y] of waiting) {
      const place = this.place(recording, plane, x, y);
      drawWaiting(context, colours, place.x, place.y);
    }
    for (const [plane, x, y, isGranted] of step.cloud ?? []) {
      const place = this.place(recording, plane, x, y);
      drawDecided(context, colours, place.x, place.y, isGranted);
    }
    for (const layer of ["felt", "tested", "found"]) {
      for (let before = 0; before <= at; before += 1) {
        for (const [plane, x, y, kind] of recording.steps[before].dots ?? []) {
          if (kind !== layer || (kind === "felt" && before < at)) continue;
          const place = this.place(recording, plane, x, y);
          drawDot(context, colours, place.x, place.y, kind, before === at, recording.dot ?? 1);
        }
      }
    }
    const order = Object.keys(ARROWS);
    const arrows = [...(step.arrows ?? [])].sort((one, other) => order.indexOf(one[5]) - order.indexOf(other[5]));
    for (const [plane, x, y, endX, endY, kind] of arrows) {
      drawArrow(context, colours, this.place(recording, plane, x, y), this.place(recording, plane, endX, endY), kind);
    }
    for (const [plane, x, y] of step.standing ?? []) {
      const place = this.place(recording, plane, x, y);
      drawStanding(context, colours, place.x, place.y);
    }
  }

  /** Where the planes lie. */
  lay(recording) {
    const n = recording.planes.length;
    const words = Math.max(0, ...(axis(recording, 1).labels ?? []).map((label) => short(label).length));
    const left = Math.max(ROOM.left, LABEL_PIXELS * words + 30);
    const width = (this.width - left - ROOM.right - GAP * (n - 1)) / n;
    this.boxes = recording.planes.map((_, plane) => ({
      left: left + plane * (width + GAP),
      top: ROOM.top,
      width,
      height: this.height - ROOM.top - ROOM.bottom,
    }));
  }

  unit(recording, plane) {
    const [x, y] = [axis(recording, 0), axis(recording, 1)];
    const box = this.boxes[plane];
    return { x: box.width / (x.high - x.low + x.cell), y: box.height / (y.high - y.low + y.cell) };
  }

  /** The middle of the cell of a person. */
  place(recording, plane, x, y) {
    const [across, up] = [axis(recording, 0), axis(recording, 1)];
    const box = this.boxes[plane];
    const unit = this.unit(recording, plane);
    return {
      x: box.left + (x - across.low + across.cell / 2) * unit.x,
      y: box.top + box.height - (y - up.low + up.cell / 2) * unit.y,
    };
  }

  /** A place for each person that there could be. */
  *everybody(recording) {
    const [across, up] = [axis(recording, 0), axis(recording, 1)];
    for (const plane of recording.planes.keys()) {
      for (let x = across.low; x <= across.high; x += 1) {
        for (let y = up.low; y <= up.high; y += 1) yield [plane, x, y];
      }
    }
  }

  drawAreaOf(recording, [plane, fromX, toX, fromY, toY, kind], colours) {
    const unit = this.unit(recording, plane);
    const low = this.place(recording, plane, fromX, fromY);
    const width = (toX - fromX + 1) * unit.x;
    const height = (toY - fromY + 1) * unit.y;
    drawArea(this.context, colours, low.x - unit.x / 2, low.y + unit.y / 2 - height, width, height, kind);
  }

  /** The cells of a plane whose letters are among some. */
  cells(recording, plane, letters, wanted) {
    const [[, lowX, highX], [, lowY]] = recording.axes;
    const nX = highX - lowX + 1;
    const unit = this.unit(recording, plane);
    const cells = [];
    for (let i = 0; i < letters.length; i += 1) {
      if (!wanted.includes(letters[i])) continue;
      const place = this.place(recording, plane, lowX + (i % nX), lowY + Math.floor(i / nX));
      cells.push([place.x - unit.x / 2, place.y - unit.y / 2, unit.x, unit.y]);
    }
    return cells;
  }

  /** Whoever is decided differently by sex, hatched. */
  drawTruth(recording, decides, colours) {
    const { context } = this;
    decides.forEach((letters, plane) => {
      const box = this.boxes[plane];
      drawWhere(context, this.cells(recording, plane, letters, "mw"), () => {
        context.globalAlpha = 0.16;
        context.fillStyle = colours.found;
        context.fillRect(box.left, box.top, box.width, box.height);
        context.globalAlpha = 0.75;
        hatch(context, colours.found, box.left, box.top, box.width, box.height);
      });
    });
  }

  /** What the model of this step decides: of whom both get the loan, and of whom one of the two. */
  drawDecides(recording, decides, colours) {
    const { context } = this;
    decides.forEach((letters, plane) => {
      const box = this.boxes[plane];
      drawWhere(context, this.cells(recording, plane, letters, "1"), () => {
        context.globalAlpha = 0.3;
        context.fillStyle = colours.certified;
        context.fillRect(box.left, box.top, box.width, box.height);
      });
    });
    this.drawTruth(recording, decides, colours);
  }

  drawFrame(recording, plane, colours, font) {
    const { context } = this;
    const box = this.boxes[plane];
    const [x, y] = [axis(recording, 0), axis(recording, 1)];
    context.strokeStyle = colours.faint;
    context.lineWidth = 1;
    context.strokeRect(box.left + 0.5, box.top + 0.5, box.width - 1, box.height - 1);
    context.fillStyle = colours.ink;
    context.font = `14px ${font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const [value, text] of ticks(x, box.width, (words) => LABEL_PIXELS * words.length + 12)) {
      context.fillText(text, this.place(recording, plane, value, y.low).x, box.top + box.height + 11);
    }
    context.fillText(x.name, box.left + box.width / 2, this.height - 9);
    context.font = `600 14px ${font}`;
    context.fillText(recording.planes[plane], box.left + box.width / 2, 11);
    if (plane > 0) return;
    context.font = `14px ${font}`;
    context.textAlign = "right";
    for (const [value, text] of ticks(y, box.height, () => TICK_PIXELS / 3)) {
      context.fillText(text, box.left - 6, this.place(recording, plane, x.low, value).y);
    }
    context.save();
    context.translate(9, box.top + box.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(y.name, 0, 0);
    context.restore();
  }
}

function short(label) {
  return label.length > MOST_LETTERS ? `${label.slice(0, MOST_LETTERS - 1)}…` : label;
}

/** Values along an axis and what is written there: labels where it has some, else round numbers; as many as fit. */
function ticks({ low, high, cell, labels }, pixels, room) {
  if (labels) {
    const texts = labels.map(short);
    const every = Math.max(1, Math.ceil((texts.length * Math.max(...texts.map(room))) / pixels));
    return texts.map((text, i) => [low + i, text]).filter((_, i) => i % every === 0);
  }
  const most = Math.max(2, Math.floor(pixels / TICK_PIXELS));
  const wanted = Math.max((high - low) / most, cell) || 1;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const gap = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= wanted);
  const values = [];
  for (let i = Math.ceil(low / gap); i * gap <= high; i += 1) values.push([i * gap, spaced(i * gap)]);
  return values;
}

/** A number with narrow spaces between its thousands. */
function spaced(value) {
  const [whole, part] = String(Number(value.toPrecision(6))).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return part ? `${grouped}.${part}` : grouped;
}
