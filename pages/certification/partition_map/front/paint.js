// The coloured areas, pixel by pixel: an area on the map is what was proved, to the pixel, at any size.

/** Side of a pattern's tile; a power of two. */
const TILE = 32;

/** Pixels of a pattern, as numbers of the canvas. */
function makeTile(colours, isMark) {
  const tile = new Uint32Array(TILE * TILE);
  const [ground, mark] = colours.map(pixelOf);
  for (let y = 0; y < TILE; y++) {
    for (let x = 0; x < TILE; x++) tile[y * TILE + x] = isMark(x, y) ? mark : ground;
  }
  return tile;
}

/** "#0072B2" as one pixel of a canvas (little endian: alpha, blue, green, red). */
function pixelOf(colour) {
  const value = parseInt(colour.slice(1), 16);
  return ((255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** A tile a verdict: solid, dots, diagonal hatch. */
function makeTiles(palette, pixelRatio) {
  const scale = pixelRatio >= 1.5 ? 2 : 1;
  const tiles = [];
  tiles[CERTIFIED] = makeTile(palette.certified, () => false);
  tiles[UNDECIDED] = makeTile(palette.undecided, (x, y) => {
    const [column, row] = [Math.floor(x / scale), Math.floor(y / scale)];
    return (column + 4 * (Math.floor(row / 4) % 2)) % 8 < 2 && row % 4 < 2;
  });
  tiles[FALSIFIED] = makeTile(palette.falsified, (x, y) => (x + y) % (8 * scale) < 3 * scale);
  return tiles;
}

/** Paints the boxes of one view into an image; keeps what rounding to pixels owes each verdict. */
class Painter {
  constructor(image, tiles, paper) {
    this.width = image.width;
    this.height = image.height;
    this.pixels = new Uint32Array(image.data.buffer);
    this.pixels.fill(pixelOf(paper));
    this.tiles = tiles;
    this.owed = new Float64Array(N_VERDICTS);
    this.wanted = new Float64Array(N_VERDICTS);
    this.counts = new Int32Array(N_VERDICTS);
    /** Parts that are large enough for a symbol: verdict, and the middle in pixels. */
    this.large = [];
  }

  /**
   * Paint what a view shows of a tree.
   *
   * A box is painted whole where it is a leaf or where a side is no longer than a pixel: then the verdicts of all boxes in it
   * share its pixels by their areas.
   */
  paint(tree, view, minSymbol) {
    const kx = this.width / view.w;
    const ky = this.height / view.h;
    const { x, y, w, h, size, n } = tree;
    for (let i = 0; i < n; ) {
      const left = (x[i] - view.x) * kx;
      const top = (y[i] - view.y) * ky;
      const wide = w[i] * kx;
      const high = h[i] * ky;
      const right = left + wide;
      const bottom = top + high;
      if (right <= 0 || bottom <= 0 || left >= this.width || top >= this.height) {
        i += size[i];
        continue;
      }
      if (size[i] > 1 && wide > 1 && high > 1) {
        i += 1;
        continue;
      }
      const x0 = Math.round(left);
      const y0 = Math.round(top);
      const x1 = Math.round(right);
      const y1 = Math.round(bottom);
      const isInside = left >= 0 && top >= 0 && right <= this.width && bottom <= this.height;
      const isWide = wide >= high;
      if (isInside) this.paintExactly(tree, i, x0, y0, x1, y1, wide * high, isWide);
      else this.paintClipped(tree, i, x0, y0, x1, y1, isWide);
      if (size[i] === 1 && wide >= minSymbol && high >= minSymbol) this.noteLarge(tree, i, left, top, wide, high, minSymbol);
      i += size[i];
    }
  }

  /** Every verdict gets as many pixels as its area and what was owed to it; only verdicts that the box has. */
  paintExactly(tree, i, x0, y0, x1, y1, ideal, isWide) {
    const nPixels = (x1 - x0) * (y1 - y0);
    const perArea = tree.area[i] > 0 ? ideal / tree.area[i] : 0;
    const { owed, tiles, wanted, counts } = this;
    let sum = 0;
    for (let v = 0; v < N_VERDICTS; v++) {
      const area = tree.parts[v][i] * perArea;
      wanted[v] = area > 0 ? Math.max(0, area + owed[v]) : 0;
      owed[v] += area;
      sum += wanted[v];
    }
    if (nPixels <= 0) return;
    if (sum <= 0) for (let v = 0; v < N_VERDICTS; v++) sum += wanted[v] = tree.parts[v][i];
    if (sum <= 0) return; // a box of nobody has no colour
    shareOut(nPixels, wanted, sum, counts);
    let from = 0;
    for (let v = 0; v < N_VERDICTS; v++) {
      const n = counts[v];
      owed[v] -= n;
      if (n === nPixels) this.fill(x0, y0, x1, y1, tiles[v]);
      else if (n > 0) this.fillRun(x0, y0, x1, y1, isWide, from, from + n, tiles[v]);
      from += n;
    }
  }

  /** A box that reaches beyond the image: its parts lie where they would lie in the whole. */
  paintClipped(tree, i, x0, y0, x1, y1, isWide) {
    const [start, end] = isWide ? [x0, x1] : [y0, y1];
    let before = 0;
    for (const v of VERDICTS) {
      const from = Math.round(start + (end - start) * before);
      before += tree.part(i, v);
      const to = v === VERDICTS[VERDICTS.length - 1] ? end : Math.round(start + (end - start) * Math.min(1, before));
      if (isWide) this.fill(from, y0, to, y1, this.tiles[v]);
      else this.fill(x0, from, x1, to, this.tiles[v]);
    }
  }

  /** Pixels `from` to `to` of a rectangle, counted along its longer side. */
  fillRun(x0, y0, x1, y1, isWide, from, to, tile) {
    const side = isWide ? y1 - y0 : x1 - x0;
    for (let at = from; at < to; ) {
      const line = Math.floor(at / side);
      const start = at - line * side;
      const nLines = start === 0 ? Math.max(1, Math.floor((to - at) / side)) : 1;
      const end = Math.min(side, start + to - at);
      if (isWide) this.fill(x0 + line, y0 + start, x0 + line + nLines, y0 + end, tile);
      else this.fill(x0 + start, y0 + line, x0 + end, y0 + line + nLines, tile);
      at += nLines * (end - start);
    }
  }

  /** One rectangle with a pattern; what lies outside the image is left out. */
  fill(x0, y0, x1, y1, tile) {
    const { width, pixels } = this;
    const left = Math.max(0, x0);
    const right = Math.min(width, x1);
    const bottom = Math.min(this.height, y1);
    for (let y = Math.max(0, y0); y < bottom; y++) {
      const row = y * width;
      const line = (y & (TILE - 1)) * TILE;
      for (let x = left; x < right; x++) pixels[row + x] = tile[line + (x & (TILE - 1))];
    }
  }

  noteLarge(tree, i, left, top, wide, high, minSymbol) {
    let before = 0;
    for (const v of VERDICTS) {
      const part = tree.part(i, v);
      const middle = before + part / 2;
      before += part;
      if (Math.max(wide, high) * part < minSymbol) continue;
      const [x, y] = wide >= high ? [left + wide * middle, top + high / 2] : [left + wide / 2, top + high * middle];
      this.large.push({ verdict: v, x, y });
    }
  }
}

/** Whole numbers that sum to `n`, in proportion to `wanted`, whose sum is given; those cut off most get what is left. */
function shareOut(n, wanted, sum, counts) {
  let rest = n;
  for (let v = 0; v < N_VERDICTS; v++) {
    counts[v] = Math.floor((n * wanted[v]) / sum);
    rest -= counts[v];
  }
  for (; rest > 0; rest--) {
    let most = 0;
    for (let v = 1; v < N_VERDICTS; v++) {
      if ((n * wanted[v]) / sum - counts[v] > (n * wanted[most]) / sum - counts[most]) most = v;
    }
    counts[most] += 1;
  }
}
