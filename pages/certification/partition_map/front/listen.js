// Mouse, touch and keys.

const FACTOR_OF_KEY = 1.6;
const FACTOR_OF_WHEEL = 0.0016;
const MS_OF_HINT = 1600;

PartitionMap.prototype.listen = function () {
  const { stage, tools } = this.frame;
  tools.in.addEventListener("click", () => this.zoomBy(FACTOR_OF_KEY));
  tools.out.addEventListener("click", () => this.zoomBy(1 / FACTOR_OF_KEY));
  tools.whole.addEventListener("click", () => this.zoomTo(WHOLE));
  tools.words.setAttribute("aria-pressed", String(this.areWordsShown));
  tools.words.addEventListener("click", () => {
    this.areWordsShown = !this.areWordsShown;
    tools.words.setAttribute("aria-pressed", String(this.areWordsShown));
    this.drawSoon();
  });
  stage.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
  stage.addEventListener("pointerdown", (event) => this.onDown(event));
  stage.addEventListener("pointermove", (event) => this.onMove(event));
  stage.addEventListener("pointerup", (event) => this.onUp(event));
  stage.addEventListener("pointercancel", () => this.drop());
  stage.addEventListener("pointerleave", () => this.hover(null));
  stage.addEventListener("dblclick", (event) => this.onDoubleClick(event));
  stage.addEventListener("keydown", (event) => this.onKey(event));
  this.sizes?.disconnect();
  this.sizes = new ResizeObserver(() => {
    const isAsItWas = stage.clientWidth === this.width && stage.clientHeight === this.height;
    if (isAsItWas && this.ratio === window.devicePixelRatio && this.larger === textScale()) return;
    this.measure();
    this.draw();
  });
  this.sizes.observe(stage);
  this.sizes.observe(tools.whole); // it grows with the text of the page
};

/** The wheel belongs to the page until the map has the focus: nobody is caught while scrolling. */
PartitionMap.prototype.onWheel = function (event) {
  const { stage, hint } = this.frame;
  const isOurs = event.ctrlKey || event.metaKey || stage.matches(":focus");
  if (!isOurs) {
    hint.hidden = false;
    clearTimeout(this.hinting);
    this.hinting = setTimeout(() => (hint.hidden = true), MS_OF_HINT);
    return;
  }
  if (event.deltaY > 0 && this.view.w >= 1 && this.view.h >= 1) return;
  event.preventDefault();
  const pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
  const { u, v } = this.boxAt(event);
  this.zoomBy(Math.exp(-pixels * FACTOR_OF_WHEEL), u, v);
  this.hover(event);
};

PartitionMap.prototype.onDown = function (event) {
  if (event.button !== 0) return;
  this.grip = { x: event.clientX, y: event.clientY, view: this.view, isDrag: false };
  this.frame.stage.setPointerCapture(event.pointerId);
};

PartitionMap.prototype.onMove = function (event) {
  if (!this.grip) {
    this.hover(event);
    return;
  }
  const [dx, dy] = [event.clientX - this.grip.x, event.clientY - this.grip.y];
  this.grip.isDrag ||= Math.hypot(dx, dy) > MAX_MOVE_OF_CLICK;
  if (!this.grip.isDrag) return;
  this.hover(null);
  this.frame.stage.classList.add("dragged");
  const { view } = this.grip;
  this.zoomTo({ ...view, x: view.x - (dx / this.width) * view.w, y: view.y - (dy / this.height) * view.h }, false);
};

PartitionMap.prototype.onUp = function (event) {
  const wasClick = this.grip && !this.grip.isDrag;
  this.drop();
  if (wasClick) this.select(this.boxAt(event).i, 0);
};

PartitionMap.prototype.drop = function () {
  this.grip = null;
  this.frame.stage.classList.remove("dragged");
};

/** Show what is under the pointer, or nothing. */
PartitionMap.prototype.hover = function (event) {
  const { tip } = this.frame;
  const i = event ? this.boxAt(event).i : null;
  tip.hidden = i === null;
  if (i !== this.hovered) {
    this.hovered = i;
    if (i !== null) fillTip(tip, this.tree, i);
    this.drawPointer();
  }
  if (i === null) return;
  const { left, top } = this.frame.stage.getBoundingClientRect();
  const [x, y] = [event.clientX - left, event.clientY - top];
  tip.style.left = `${x + 16 + tip.offsetWidth > this.width ? Math.max(0, x - tip.offsetWidth - 8) : x + 16}px`;
  tip.style.top = `${y + 16 + tip.offsetHeight > this.height ? Math.max(0, y - tip.offsetHeight - 8) : y + 16}px`;
};

/** A step into the map: the first box around the pointer that is not already most of what is seen. */
PartitionMap.prototype.onDoubleClick = function (event) {
  const { i } = this.boxAt(event);
  const most = 0.6 * this.view.w * this.view.h;
  const inner = this.tree.path(i).find((box) => this.tree.w[box] * this.tree.h[box] <= most);
  this.zoomTo(viewOf(this.tree, inner ?? i));
};

PartitionMap.prototype.onKey = function (event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    Enter: () => this.selected !== null && this.zoomTo(viewOf(this.tree, this.selected)),
    Escape: () => this.zoomOut(),
    Backspace: () => this.zoomOut(),
    "+": () => this.zoomBy(FACTOR_OF_KEY),
    "=": () => this.zoomBy(FACTOR_OF_KEY),
    "-": () => this.zoomBy(1 / FACTOR_OF_KEY),
    u: () => this.step(this.nextLeaf(UNDECIDED)),
    f: () => this.step(this.nextLeaf(FALSIFIED)),
    Home: () => {
      this.step(0);
      this.zoomTo(WHOLE);
    },
  };
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) actions[key] = () => this.step(this.move(key));
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  this.hover(null);
  action();
};

/** Choose a box by a key. */
PartitionMap.prototype.step = function (i) {
  if (i === null) return;
  this.reveal(i);
  this.select(i, MS_BEFORE_KEYS_ARE_SENT);
};
