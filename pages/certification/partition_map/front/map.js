// One map on the page: draws, listens, and tells Python which box was chosen.

const MS_OF_ZOOM = 180;
const MS_BEFORE_KEYS_ARE_SENT = 250;
/** A box that is chosen elsewhere is zoomed to unless its sides are this many pixels. */
const MIN_SEEN = 14;
const GOOD_SIZE = 40;
const MIN_HIT = 4;
const MIN_SYMBOL = 30;
const MAX_MOVE_OF_CLICK = 4;
const ROOT_PIXELS = 16;

/** How much larger the text of the page is than usual. */
function textScale() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / ROOT_PIXELS;
}

class PartitionMap {
  constructor(place) {
    this.place = place;
    this.view = WHOLE;
    this.selected = null;
    this.hovered = null;
    this.areWordsShown = true;
    this.isPathWhole = false;
    this.sent = [];
    this.nextOf = {};
  }

  /** Show a tree: at first all of it. What was zoomed to stays where the boxes are the same. */
  show(tree, selected, kept) {
    if (this.frame && this.tree.header.data === tree.header.data) {
      this.refresh();
      return;
    }
    const hadFocus = this.frame?.stage.matches(":focus");
    this.tree = tree;
    this.nextOf = {};
    this.frame?.root.remove();
    this.frame = makeFrame(tree.header);
    this.frame.canvases[0].addEventListener("repaint", () => this.repaint());
    this.place.append(this.frame.root);
    if (hadFocus) this.frame.stage.focus();
    this.listen();
    const isSame = kept?.shape === tree.header.shape;
    this.view = isSame ? (kept.data === tree.header.data ? kept.view : viewOf(tree, kept.focus)) : WHOLE;
    this.selected = this.known(selected);
    this.readTheme();
    this.measure();
    this.draw();
    this.say();
  }

  /** The same tree came again, by a rerun or in another theme. */
  refresh() {
    this.readTheme();
    this.measure();
    this.draw();
  }

  /** All of it in other colours, also while the browser prints: then strokes are printed on white, and what lies below is
   * not seen, but as pictures of themselves they hide nothing.
   */
  repaint() {
    this.refresh();
    for (const canvas of this.frame.canvases) {
      const context = canvas.getContext("2d");
      context.putImageData(context.getImageData(0, 0, canvas.width, canvas.height), 0, 0);
    }
  }

  /** What to remember of this map when it leaves the page. */
  get kept() {
    const { shape, data } = this.tree.header;
    return { shape, data, view: this.view, focus: this.focus };
  }

  get focus() {
    return focusOf(this.tree, this.view);
  }

  known(i) {
    return Number.isInteger(i) && i >= 0 && i < this.tree.n ? i : null;
  }

  close() {
    this.sizes?.disconnect();
    clearTimeout(this.sending);
    cancelAnimationFrame(this.drawing);
    cancelAnimationFrame(this.moving);
    this.frame?.root.remove();
  }

  // --- drawing

  readTheme() {
    const style = getComputedStyle(this.place.host ?? this.place);
    const read = (name, otherwise) => style.getPropertyValue(`--st-${name}`).trim() || otherwise;
    this.theme = {
      paper: hexColour(read("background-color", "#FFFFFF")),
      ink: read("text-color", "#1B1F24"),
      border: read("border-color", "#D5DAE0"),
      font: read("font", "sans-serif"),
    };
    const { paper } = this.theme;
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(paper.slice(at, at + 2), 16));
    this.palette = this.tree.header.colours[0.3 * red + 0.6 * green + 0.1 * blue < 128 ? "dark" : "light"];
    this.frame?.root.style.setProperty("--selection", this.palette.selection);
  }

  /** Fit the canvases to the stage and the screen's pixels. */
  measure() {
    const { stage, canvases } = this.frame;
    this.width = stage.clientWidth;
    this.height = stage.clientHeight;
    this.ratio = window.devicePixelRatio || 1;
    this.larger = textScale();
    for (const canvas of canvases) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    this.tiles = makeTiles(this.palette, this.ratio);
    this.symbols = makeSymbols(this.palette, this.theme.font, this.ratio * this.larger);
    fillLegend(this.frame.legend, this.tree, this.tiles, this.ratio * this.larger);
  }

  drawSoon() {
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.draw());
  }

  draw() {
    if (!this.width || !this.height) return;
    const started = performance.now();
    const [areas, marks] = this.frame.canvases;
    const context = areas.getContext("2d", { willReadFrequently: true });
    const image = context.createImageData(areas.width, areas.height);
    const painter = new Painter(image, this.tiles, this.theme.paper);
    painter.paint(this.tree, this.view, MIN_SYMBOL * this.ratio * this.larger);
    context.putImageData(image, 0, 0);
    this.drawMarks(this.clean(marks), painter.large);
    this.drawPointer();
    this.drawPath();
    this.frame.stage.dataset.drawMs = (performance.now() - started).toFixed(1);
    this.frame.stage.dataset.nDrawn = String(Number(this.frame.stage.dataset.nDrawn ?? 0) + 1);
  }

  drawMarks(context, large) {
    const [width, height] = [this.width / this.larger, this.height / this.larger];
    context.scale(this.larger, this.larger);
    const splits = visibleSplits(this.tree, this.view, width, height);
    drawLines(context, this.tree, splits, this.theme.paper);
    const minArea = MIN_CHIP_SHARE * width * height;
    const taken = this.areWordsShown ? drawChips(context, this.tree, splits, this.theme, minArea) : [];
    drawSymbols(context, large, taken, this.symbols, this.ratio * this.larger);
  }

  drawPointer() {
    const context = this.clean(this.frame.canvases[2]);
    const place = (i) => placeOf(this.tree, i, this.view, this.width, this.height);
    if (this.hovered !== null) drawOutline(context, place(this.hovered), this.theme.ink, this.theme.paper, 1);
    if (this.selected !== null) drawOutline(context, place(this.selected), this.palette.selection, this.theme.paper, 3);
  }

  /** An empty canvas that is drawn on in pixels of the page. */
  clean(canvas) {
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.scale(this.ratio, this.ratio);
    return context;
  }

  drawPath() {
    const { tree, focus, selected } = this;
    const end = selected !== null && tree.path(selected).includes(focus) ? selected : focus;
    const state = `${end} ${focus} ${this.isPathWhole} ${this.width}`;
    if (this.frame.path.dataset.state === state) return;
    this.frame.path.dataset.state = state;
    this.frame.path.classList.toggle("whole", this.isPathWhole);
    fillPath(this.frame.path, tree, tree.path(end), {
      focus,
      isWhole: this.isPathWhole,
      width: this.width,
      onBox: (box) => this.zoomTo(viewOf(tree, box)),
      onOpen: () => {
        this.isPathWhole = true;
        this.drawPath();
      },
    });
  }

  say() {
    this.frame.status.textContent =
      this.selected === null ? "No box is selected: click one, or move with the arrow keys." : boxSentence(this.tree, this.selected);
  }

  // --- moving

  zoomTo(target, isSmooth = true) {
    cancelAnimationFrame(this.moving);
    const to = clamped(target);
    if (!isSmooth || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.view = to;
      this.drawSoon();
      return;
    }
    const [from, started] = [this.view, performance.now()];
    const move = (now) => {
      const t = within((now - started) / MS_OF_ZOOM, 0, 1);
      this.view = t < 1 ? clamped(between(from, to, 1 - (1 - t) ** 2)) : to;
      this.draw();
      if (t < 1) this.moving = requestAnimationFrame(move);
    };
    this.moving = requestAnimationFrame(move);
  }

  zoomBy(factor, u = 0.5, v = 0.5) {
    this.zoomTo(zoomed(this.view, factor, u, v), false);
  }

  /** One step out: the box around the one that is seen; without any, nothing is selected any more. */
  zoomOut() {
    const { focus } = this;
    const isExact = this.view.w >= this.tree.w[focus] * (1 - NEAR) && this.view.h >= this.tree.h[focus] * (1 - NEAR);
    if (focus === 0 && isExact) this.select(null, 0);
    else this.zoomTo(viewOf(this.tree, isExact ? this.tree.parent[focus] : focus));
  }

  /** Bring a box into view where it is outside or too small to be seen: as much around it as lets it be seen well. */
  reveal(i, isSmooth = true) {
    const { tree, width, height } = this;
    const now = placeOf(tree, i, this.view, width, height);
    const isInside = now.x >= -1 && now.y >= -1 && now.x + now.w <= width + 1 && now.y + now.h <= height + 1;
    if (isInside && Math.min(now.w, now.h) >= MIN_SEEN) return;
    const seen = (around) => placeOf(tree, i, viewOf(tree, around), width, height);
    const around = tree.path(i).find((above) => Math.min(seen(above).w, seen(above).h) >= GOOD_SIZE);
    this.zoomTo(viewOf(tree, around ?? i), isSmooth);
  }

  // --- choosing

  /** Choose a box (or none) as the reader did, and tell Python after a pause. */
  select(i, delay) {
    this.selected = i;
    this.drawPointer();
    this.drawPath();
    this.say();
    clearTimeout(this.sending);
    this.sending = setTimeout(() => {
      this.sent.push(i);
      this.tell("picked", i ?? -1);
    }, delay);
  }

  /** Choose a box as Python says; an answer to a choice that the reader has changed since is passed over. */
  obey(wanted) {
    const i = this.known(wanted);
    const at = this.sent.indexOf(i);
    this.sent = at < 0 ? [] : this.sent.slice(at + 1);
    if (this.sent.length > 0 || i === this.selected) return;
    this.selected = i;
    if (i !== null) this.reveal(i);
    this.drawSoon();
    this.say();
  }

  boxAt(event) {
    const { left, top } = this.frame.stage.getBoundingClientRect();
    const [u, v] = [(event.clientX - left) / this.width, (event.clientY - top) / this.height];
    const [x, y] = [this.view.x + this.view.w * u, this.view.y + this.view.h * v];
    const isFine = (i) => {
      const { w, h } = placeOf(this.tree, i, this.view, this.width, this.height);
      return Math.min(w, h) >= MIN_HIT;
    };
    return { i: this.tree.at(x, y, isFine), u, v };
  }

  move(key) {
    const { tree, selected } = this;
    if (selected === null || key === "Home") return 0;
    if (key === "ArrowUp") return Math.max(0, tree.parent[selected]);
    if (key === "ArrowDown") return tree.isSplit[selected] ? tree.largerPart(selected) : selected;
    const next = tree.neighbour(selected, key === "ArrowRight" ? 1 : -1);
    return next < 0 ? selected : next;
  }

  /** The largest leaf of a verdict, then the next one with every call. */
  nextLeaf(verdict) {
    this.nextOf[verdict] ??= { leaves: this.tree.leavesBy(verdict), at: 0 };
    const found = this.nextOf[verdict];
    return found.leaves.length ? found.leaves[found.at++ % found.leaves.length] : this.selected;
  }
}

/** "rgb(1, 2, 3)" or "#123" as "#010203". */
function hexColour(colour) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = colour;
  return context.fillStyle.startsWith("#") ? context.fillStyle : "#FFFFFF";
}
