// What part of the map is seen: a rectangle of the unit square.

const WHOLE = { x: 0, y: 0, w: 1, h: 1 };
/** Smallest side of a view: beyond it places in the unit square are not told apart. */
const MIN_SIDE = 1e-9;
const NEAR = 1e-6;

/** The view that a box fills; the box it was split from where it is too small to be shown. */
function viewOf(tree, i) {
  let at = i;
  while (at > 0 && Math.min(tree.w[at], tree.h[at]) < MIN_SIDE) at = tree.parent[at];
  return { x: tree.x[at], y: tree.y[at], w: tree.w[at], h: tree.h[at] };
}

/** A view moved back into the map. */
function clamped({ x, y, w, h }) {
  const [wide, high] = [within(w, MIN_SIDE, 1), within(h, MIN_SIDE, 1)];
  return { x: within(x, 0, 1 - wide), y: within(y, 0, 1 - high), w: wide, h: high };
}

/** A view `factor` times as near, with one place (parts of the view's sides) where it was. */
function zoomed(view, factor, u, v) {
  const [w, h] = [Math.min(1, view.w / factor), Math.min(1, view.h / factor)];
  return clamped({ x: view.x + view.w * u - w * u, y: view.y + view.h * v - h * v, w, h });
}

/** The deepest box that a view lies in. */
function focusOf(tree, view) {
  const [dx, dy] = [NEAR * view.w, NEAR * view.h];
  const holds = (i) =>
    tree.x[i] <= view.x + dx && tree.y[i] <= view.y + dy &&
    tree.x[i] + tree.w[i] >= view.x + view.w - dx && tree.y[i] + tree.h[i] >= view.y + view.h - dy;
  return tree.at(view.x + view.w / 2, view.y + view.h / 2, holds);
}

/** Where a box lies on a stage, in pixels of the page. */
function placeOf(tree, i, view, width, height) {
  const [kx, ky] = [width / view.w, height / view.h];
  return { x: (tree.x[i] - view.x) * kx, y: (tree.y[i] - view.y) * ky, w: tree.w[i] * kx, h: tree.h[i] * ky };
}

/** Between two views, `t` from 0 to 1; sides change by equal factors. */
function between(a, b, t) {
  const side = (p, q) => p * (q / p) ** t;
  const [w, h] = [side(a.w, b.w), side(a.h, b.h)];
  const start = (from, fromSide, to, toSide, now) =>
    Math.abs(toSide - fromSide) < 1e-12 * fromSide ? from + (to - from) * t : from + ((to - from) * (now - fromSide)) / (toSide - fromSide);
  return { x: start(a.x, a.w, b.x, b.w, w), y: start(a.y, a.h, b.y, b.h, h), w, h };
}
