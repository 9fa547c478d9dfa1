// One place from which things are read aloud, politely and not too often; the last word replaces one that waits.

const SECONDS_BETWEEN = 5;

class Voice {
  constructor() {
    this.region = document.createElement("div");
    this.region.setAttribute("role", "status");
    this.region.dataset.testid = "announced";
    this.region.style.cssText = "position:fixed;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";
    document.body.append(this.region);
    this.heard = new Set();
    this.saidAt = -Infinity;
    this.timer = null;
  }

  say({ text, name }) {
    if (this.heard.has(name)) return;
    this.heard.add(name);
    clearTimeout(this.timer);
    const wait = this.saidAt + 1000 * SECONDS_BETWEEN - performance.now();
    this.timer = setTimeout(() => this.speak(text), Math.max(0, wait));
  }

  speak(text) {
    this.saidAt = performance.now();
    this.region.textContent = text;
  }
}

const voice = new Voice();
