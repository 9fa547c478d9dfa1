// The boxes of a partition tree as they come from Python, and where each lies on the map.

const CERTIFIED = 0;
const UNDECIDED = 1;
const FALSIFIED = 2;
/** Verdicts in the order in which they stand inside a box: what is not decided lies between what is. */
const VERDICTS = [CERTIFIED, UNDECIDED, FALSIFIED];
const N_VERDICTS = VERDICTS.length;

/** Areas travel as float32. */
const ROUNDING = 1e-6;
/** Width of the map by its height that boxes are split for; a window of another shape stretches it. */
const MAP_SHAPE = 2;

/**
 * Boxes in pre-order: a box, its left part with everything in it, its right part.
 *
 * The bytes: length of the header (uint32), the header (JSON, padded to four bytes), then of every leaf its certified, undecided
 * and falsified area (float32 each) and the boxes merged into it (uint32), of every box the text of the split it came from
 * (uint32), and whether it was split (uint8).
 */
class BoxTree {
  constructor(bytes) {
    const nHeader = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + nHeader)));
    let at = 4 + nHeader;
    const take = (Kind, n) => {
      const from = at;
      at += n * Kind.BYTES_PER_ELEMENT;
      return new Kind(bytes.slice(from, at).buffer);
    };
    const { n, n_leaves: nLeaves } = this.header;
    this.n = n;
    const leaves = { parts: VERDICTS.map(() => take(Float32Array, nLeaves)), merged: take(Uint32Array, nLeaves) };
    this.text = take(Uint32Array, n);
    this.isSplit = take(Uint8Array, n);
    this.sumUp(leaves);
    this.link();
    this.layOut();
  }

  /** Sizes of subtrees and sums over leaves: area, and of it the part of every verdict. */
  sumUp(leaves) {
    const { n, isSplit } = this;
    this.size = new Int32Array(n);
    this.area = new Float64Array(n);
    this.merged = new Float64Array(n);
    this.parts = VERDICTS.map(() => new Float64Array(n));
    const sums = [this.area, this.merged, ...this.parts];
    for (let i = n - 1, leaf = this.header.n_leaves; i >= 0; i--) {
      if (isSplit[i]) {
        const left = i + 1;
        const right = left + this.size[left];
        this.size[i] = 1 + this.size[left] + this.size[right];
        for (const sum of sums) sum[i] = sum[left] + sum[right];
        continue;
      }
      leaf -= 1;
      this.size[i] = 1;
      this.merged[i] = leaves.merged[leaf];
      for (const v of VERDICTS) {
        this.parts[v][i] = leaves.parts[v][leaf];
        this.area[i] += leaves.parts[v][leaf];
      }
    }
  }

  /** Who was split from whom, and how often. */
  link() {
    const { n, isSplit } = this;
    this.parent = new Int32Array(n).fill(-1);
    this.depth = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      if (!isSplit[i]) continue;
      for (const part of [i + 1, this.right(i)]) {
        this.parent[part] = i;
        this.depth[part] = this.depth[i] + 1;
      }
    }
  }

  /** A place in the unit square for every box: parts lie beside one another along the longer side, each as large as its area. */
  layOut() {
    const { n, isSplit, area } = this;
    [this.x, this.y, this.w, this.h] = [0, 0, 0, 0].map(() => new Float64Array(n));
    this.isWide = new Uint8Array(n);
    this.w[0] = this.h[0] = 1;
    for (let i = 0; i < n; i++) {
      if (!isSplit[i]) continue;
      const left = i + 1;
      const right = this.right(i);
      const share = area[i] > 0 ? area[left] / area[i] : 0.5;
      this.isWide[i] = this.w[i] * MAP_SHAPE >= this.h[i] ? 1 : 0;
      const [start, length, otherStart, otherLength] = this.isWide[i]
        ? [this.x, this.w, this.y, this.h]
        : [this.y, this.h, this.x, this.w];
      start[left] = start[i];
      length[left] = length[i] * share;
      start[right] = start[i] + length[left];
      length[right] = length[i] - length[left];
      for (const part of [left, right]) {
        otherStart[part] = otherStart[i];
        otherLength[part] = otherLength[i];
      }
    }
  }

  /** Where the right part of a box stands; the left one follows its box. */
  right(i) {
    return i + 1 + this.size[i + 1];
  }

  /** The other part of the split that a box came from; -1 for the whole. */
  sibling(i) {
    if (i === 0) return -1;
    const above = this.parent[i];
    return i === above + 1 ? this.right(above) : above + 1;
  }

  /** The part of a box with the larger area, the left one of (nearly) equals. */
  largerPart(i) {
    const [left, right] = [i + 1, this.right(i)];
    return this.area[right] > this.area[left] * (1 + ROUNDING) ? right : left;
  }

  /** The next box of the same depth, or the nearest leaf above it, before (-1) or behind (1) a box; -1 where there is none. */
  neighbour(i, step) {
    let above = i;
    while (above > 0 && (step > 0) !== (above === this.parent[above] + 1)) above = this.parent[above];
    if (above === 0) return -1;
    let at = this.sibling(above);
    while (this.depth[at] < this.depth[i] && this.isSplit[at]) at = step > 0 ? at + 1 : this.right(at);
    return at;
  }

  /** The boxes from the whole to a box. */
  path(i) {
    const path = [];
    for (let at = i; at >= 0; at = this.parent[at]) path.unshift(at);
    return path;
  }

  /** The deepest box around a place of the unit square for which `isFine` holds. */
  at(x, y, isFine) {
    let i = 0;
    while (this.isSplit[i]) {
      const right = this.right(i);
      const part = (this.isWide[i] ? x >= this.x[right] : y >= this.y[right]) ? right : i + 1;
      if (!isFine(part)) break;
      i = part;
    }
    return i;
  }

  /** What the last split says of a box: "age 35-52". */
  words(i) {
    const { everybody, columns, texts, text_columns: of } = this.header;
    return i === 0 ? everybody : `${columns[of[this.text[i]]]} ${texts[this.text[i]]}`;
  }

  /** The same without the name of the column. */
  shortWords(i) {
    return i === 0 ? this.header.everybody : this.header.texts[this.text[i]];
  }

  /** The name of the column that a box is split by. */
  splitName(i) {
    return this.header.columns[this.header.text_columns[this.text[i + 1]]];
  }

  /** A box in words: of every column that its splits narrow, the last word. */
  describe(i) {
    const last = new Map();
    for (const at of this.path(i).slice(1)) last.set(this.header.text_columns[this.text[at]], at);
    return [...last.values()].map((at) => this.words(at)).join(", ") || this.header.everybody;
  }

  /** Share of the whole map, 0 to 1. */
  share(i) {
    return this.area[0] > 0 ? this.area[i] / this.area[0] : 0;
  }

  /** Share of a box that has a verdict, 0 to 1. */
  part(i, verdict) {
    return this.area[i] > 0 ? this.parts[verdict][i] / this.area[i] : 0;
  }

  /** Leaves by the area of one verdict in them, largest first; those without any are left out. */
  leavesBy(verdict) {
    const leaves = [];
    for (let i = 0; i < this.n; i++) if (!this.isSplit[i] && this.parts[verdict][i] > 0) leaves.push(i);
    return leaves.sort((a, b) => this.parts[verdict][b] - this.parts[verdict][a]);
  }
}
