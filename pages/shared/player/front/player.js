// The player: a picture, what the step says, and the controls. Words from data are set as text, never as HTML.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

function control(sign, label) {
  return element("button", { type: "button", title: label, "aria-label": label }, sign);
}

const SPEEDS = [
  ["slow", 4000],
  ["usual", 2000],
  ["fast", 700],
  ["very fast", 200],
];
const USUAL = 1;
const KEYS = "Keys: ← → a step, Space plays, Home and End";
const STAYING = ["tested", "found"]; // of the marks; the others are of one step
const CURVE = { width: 240, height: 64 };

class Player {
  constructor(place) {
    this.at = 0;
    this.speed = USUAL;
    this.isTruthShown = false;
    this.build();
    place.append(this.root);
    this.place = place;
    this.picture = new Picture(this.parts.canvas);
    this.sizes = new ResizeObserver(() => (this.scale === pixelScale() ? this.redraw() : this.repaint()));
    this.sizes.observe(this.parts.canvas);
    this.sizes.observe(this.parts.count); // it grows with the text of the page
    this.parts.canvas.addEventListener("repaint", () => this.repaint());
  }

  build() {
    const parts = {
      canvas: element("canvas", { role: "img" }),
      says: element("p", { class: "says", "aria-live": "polite" }),
      phase: element("p", { class: "phase" }),
      figures: element("dl", { class: "figures" }),
      panel: element("div", { class: "panel" }),
      curve: element("canvas", { class: "curve", "aria-hidden": "true" }),
      keys: element("p", { id: "player-keys", class: "keys" }),
      legend: element("ul", { class: "legend", "aria-label": "What the marks mean" }),
      first: control("«", "First step"),
      back: control("‹", "Step back"),
      play: control("▶ Play", "Play"),
      next: control("›", "Next step"),
      last: control("»", "Last step"),
      slider: element("input", { type: "range", min: "0", step: "1", value: "0", "aria-label": "Step" }),
      count: element("span", { class: "count" }),
      speed: element("select", {}, ...SPEEDS.map(([name], i) => element("option", { value: String(i) }, name))),
      truth: element("input", { type: "checkbox" }),
    };
    parts.speed.value = String(USUAL);
    parts.truthLabel = element("label", { class: "truth" }, parts.truth, "Truth");
    const controls = element(
      "div",
      { class: "controls", role: "group", "aria-label": "Steps" },
      parts.first,
      parts.back,
      parts.play,
      parts.next,
      parts.last,
      parts.slider,
      parts.count,
      element("label", { class: "speed" }, "Speed", parts.speed),
      parts.truthLabel,
    );
    const beside = element("div", { class: "beside" }, parts.phase, parts.figures, parts.curve, parts.says, parts.panel);
    this.root = element(
      "div",
      { class: "player", role: "group", tabindex: "0", "aria-describedby": "player-keys" },
      controls,
      element("div", { class: "views" }, element("div", { class: "picture" }, parts.canvas, parts.legend), beside),
      parts.keys,
    );
    this.parts = parts;
    parts.first.addEventListener("click", () => this.go(0));
    parts.back.addEventListener("click", () => this.go(this.at - 1));
    parts.next.addEventListener("click", () => this.go(this.at + 1));
    parts.last.addEventListener("click", () => this.go(this.recording.steps.length - 1));
    parts.play.addEventListener("click", () => this.toggle());
    parts.slider.addEventListener("input", () => this.go(Number(parts.slider.value)));
    parts.speed.addEventListener("change", () => {
      this.speed = Number(parts.speed.value);
      if (this.playing) this.play();
    });
    parts.truth.addEventListener("change", () => this.showTruth(parts.truth.checked));
    this.root.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    const isControl = event.target !== this.root;
    const isOnSlider = event.target === this.parts.slider || event.target === this.parts.speed;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.recording.steps.length - 1 };
    if (event.key in steps && !isOnSlider) this.go(steps[event.key]);
    else if (event.key === " " && !isControl) this.toggle();
    else if (event.key.toLowerCase() === "t" && this.hasTruth && event.target !== this.parts.speed) this.showTruth(!this.isTruthShown);
    else return;
    event.preventDefault();
  }

  /** Another recording, or the same one in other colours. */
  show(data) {
    if (this.name !== data.key) {
      this.stop();
      this.at = data.recording.beginsAtEnd ? data.recording.steps.length - 1 : 0;
      this.isTruthShown = false;
      this.name = data.key;
      this.speed = data.recording.speed ?? USUAL;
      this.parts.speed.value = String(this.speed);
    }
    const wasLast = this.recording && this.at === this.recording.steps.length - 1;
    this.recording = data.recording;
    if (this.recording.beginsAtEnd && wasLast) this.at = this.recording.steps.length - 1; // and goes on
    this.at = Math.min(this.at, this.recording.steps.length - 1);
    this.palettes = data.colours;
    this.parts.slider.max = String(this.recording.steps.length - 1);
    const showsDecisions = this.recording.steps.some((step) => step.decides); // of each step's own model
    this.hasTruth = !showsDecisions && (this.recording.truth ?? []).some((letters) => /[mw]/.test(letters));
    this.parts.truthLabel.hidden = !this.hasTruth;
    this.parts.keys.textContent = `${KEYS}${this.hasTruth ? ", T the truth." : "."}`;
    this.hasCurve = this.recording.steps.some((step) => step.progress);
    this.parts.curve.hidden = !this.hasCurve;
    this.root.setAttribute("aria-label", this.recording.title);
    this.root.style.setProperty("--height", `max(${data.height}px, 50vh)`);
    this.fillLegend();
    this.showTruth(this.isTruthShown);
    this.go(this.at, true);
  }

  showTruth(isShown) {
    this.isTruthShown = isShown;
    this.parts.truth.checked = isShown;
    this.showLegend();
    this.redraw();
  }

  go(step, isFirst = false) {
    const last = this.recording.steps.length - 1;
    const at = Math.min(Math.max(step, 0), last);
    if (at === this.at && !isFirst) {
      if (at === last) this.stop();
      return;
    }
    this.at = at;
    this.tell();
    this.showLegend();
    this.redraw();
    if (at === last) this.stop();
  }

  toggle() {
    if (this.playing) this.stop();
    else {
      if (this.at === this.recording.steps.length - 1) this.go(0);
      this.play();
    }
  }

  play() {
    clearInterval(this.playing);
    this.playing = setInterval(() => this.go(this.at + 1), SPEEDS[this.speed][1]);
    this.parts.play.replaceChildren("❚❚ Pause");
    this.parts.play.setAttribute("aria-label", "Pause");
    this.parts.says.setAttribute("aria-live", "off"); // a step every second would never be read to its end
  }

  stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.parts.play.replaceChildren("▶ Play");
    this.parts.play.setAttribute("aria-label", "Play");
    this.parts.says.setAttribute("aria-live", "polite");
  }

  /** The words and figures of the step. */
  tell() {
    const { parts, recording } = this;
    const step = recording.steps[this.at];
    parts.phase.textContent = step.phase ?? "";
    parts.says.textContent = step.says;
    parts.canvas.setAttribute("aria-label", `Step ${this.at + 1}: ${step.says}`);
    parts.count.textContent = `${this.at + 1} of ${recording.steps.length}`;
    parts.slider.value = String(this.at);
    parts.slider.setAttribute("aria-valuetext", `Step ${this.at + 1} of ${recording.steps.length}`);
    parts.back.disabled = parts.first.disabled = this.at === 0;
    parts.next.disabled = parts.last.disabled = this.at === recording.steps.length - 1;
    const figures = Object.entries(step.figures ?? {});
    parts.figures.replaceChildren(
      ...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
    parts.panel.replaceChildren();
    if (!step.panel) return;
    const list = element("ul", { class: recording.hasLongLabels ? "long" : "" });
    for (const [label, text, share, isMarked] of step.panel) {
      const words = element("span", { class: "label", title: label }, label);
      const line = element("li", isMarked ? { class: "marked" } : {}, words, element("span", {}, text));
      if (typeof share === "number") {
        const bar = element("span", { class: "bar" }, element("span"));
        bar.firstChild.style.width = `${Math.min(100, 100 * share)}%`;
        line.append(bar);
      }
      list.append(line);
    }
    parts.panel.append(element("p", { class: "panel-title" }, step.panel_title ?? ""), list);
  }

  /** All that is painted, anew: in other colours, or larger. */
  repaint() {
    if (!this.recording) return;
    this.fillLegend();
    this.showLegend();
    this.redraw();
  }

  redraw() {
    if (!this.recording) return;
    this.scale = pixelScale();
    this.readTheme();
    this.picture.measure();
    this.picture.draw(this.recording, this.at, this.colours, this.font, this.isTruthShown);
    if (this.hasCurve) this.drawCurve();
    this.root.dataset.step = String(this.at);
  }

  /** How many were found by how many tests, up to this step and after. */
  drawCurve() {
    const { curve } = this.parts;
    const scale = pixelScale();
    [curve.width, curve.height] = [CURVE.width * scale, CURVE.height * scale];
    const context = curve.getContext("2d");
    context.scale(scale, scale);
    const points = this.recording.steps.map((step) => step.progress ?? [0, 0]);
    const [nTests, nFound] = points[points.length - 1];
    const place = ([tests, found]) => [
      5 + ((CURVE.width - 10) * tests) / Math.max(1, nTests),
      CURVE.height - 5 - ((CURVE.height - 10) * found) / Math.max(1, nFound),
    ];
    const line = (some, colour, width) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      for (const point of some) context.lineTo(...place(point));
      context.stroke();
    };
    line([[0, 0], [nTests, 0]], this.colours.faint, 1);
    line(points, this.colours.tested, 1);
    line(points.slice(0, this.at + 1), this.colours.found, 2.5);
    const [x, y] = place(points[this.at]);
    context.fillStyle = this.colours.found;
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fill();
  }

  readTheme() {
    const style = getComputedStyle(this.place.host ?? this.place);
    this.font = style.getPropertyValue("--st-font").trim() || "sans-serif";
    const paper = style.getPropertyValue("--st-background-color").trim() || "#FFFFFF";
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = paper; // read back as #rrggbb, however it was written
    const [red, green, blue] = [1, 3, 5].map((from) => parseInt(context.fillStyle.slice(from, from + 2), 16));
    this.colours = this.palettes[0.3 * red + 0.6 * green + 0.1 * blue < 128 ? "dark" : "light"];
    for (const [name, colour] of Object.entries(this.colours)) this.root.style.setProperty(`--${name}`, colour);
  }

  /** The marks of the recording, in the order of ``MARKS``: each has its place, and is seen in the steps that have it. */
  fillLegend() {
    this.marks = this.recording.steps.map((step) => {
      const used = new Set();
      for (const dot of step.dots ?? []) used.add(dot[3]);
      for (const arrow of step.arrows ?? []) used.add(arrow[5]);
      for (const area of step.areas ?? []) used.add(area[5]);
      if (step.standing) used.add("standing");
      if (step.waiting) used.add("waiting");
      for (const one of step.cloud ?? []) used.add(one[3] ? "granted" : "refused");
      for (const letters of step.decides ?? []) {
        if (letters.includes("1")) used.add("both");
        if (/[mw]/.test(letters)) used.add("unlike");
      }
      return used;
    });
    for (let at = 1; at < this.marks.length; at += 1) {
      for (const kind of STAYING) if (this.marks[at - 1].has(kind)) this.marks[at].add(kind);
    }
    const used = new Set(this.marks.flatMap((marks) => [...marks]));
    if (this.hasTruth) used.add("truth");
    this.parts.legend.replaceChildren();
    this.readTheme();
    for (const [kind, words] of Object.entries(MARKS)) {
      if (!used.has(kind)) continue;
      const swatch = element("canvas", { class: "swatch", "aria-hidden": "true" });
      this.drawSwatch(swatch, kind);
      this.parts.legend.append(element("li", { "data-mark": kind }, swatch, words));
    }
  }

  showLegend() {
    for (const line of this.parts.legend.children) {
      const kind = line.dataset.mark;
      const isSeen = kind === "truth" ? this.isTruthShown : this.marks[this.at].has(kind);
      line.hidden = !isSeen;
    }
  }

  drawSwatch(swatch, kind) {
    const scale = pixelScale();
    [swatch.width, swatch.height] = [24 * scale, 16 * scale];
    const context = swatch.getContext("2d");
    context.scale(scale, scale);
    const { colours } = this;
    if (kind === "standing") {
      context.scale(0.75, 0.75);
      drawStanding(context, colours, 16, 10.5);
    } else if (kind === "waiting") drawWaiting(context, colours, 12, 8);
    else if (kind === "granted" || kind === "refused") drawDecided(context, colours, 12, 8, kind === "granted");
    else if (kind in ARROWS) drawArrow(context, colours, { x: 2, y: 8 }, { x: 22, y: 8 }, kind);
    else if (kind in AREAS) drawArea(context, colours, 1, 1, 22, 14, kind);
    else if (kind === "both") {
      context.globalAlpha = 0.3;
      context.fillStyle = colours.certified;
      context.fillRect(1, 1, 22, 14);
    } else if (kind === "truth" || kind === "unlike") {
      context.beginPath();
      context.rect(1, 1, 22, 14);
      context.clip();
      hatch(context, colours.found, 1, 1, 22, 14);
    } else drawDot(context, colours, 12, 8, kind, false);
  }

  close() {
    this.stop();
    this.sizes.disconnect();
    this.root.remove();
  }
}
