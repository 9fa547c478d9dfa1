"""Compiled loops for bounds of one side: a form below the margin of every variant, or above it, by going back through
the layers.

Each neuron that is not settled is replaced by a line below it or above it, whichever the side needs. The line above is
the chord; the line below may have any slope from the leaky side's to 1. What a box loses is then often less than with a
band that serves both sides.

CROWN (Zhang et al., 2018) goes back like this for one input; that the slopes are shared by all variants is our own.
"""

from __future__ import annotations

from numba import njit

from fairness_engine.certification.networks.workspace_kernels import FAST, SLACK, multiply


@njit(cache=True, nogil=True, fastmath=FAST)
def bound_side(n_columns, flat, s, side, row, constants):  # type: ignore[no-untyped-def]  # numba infers the types
    """A form below the margin (``side`` 1) or above it (-1) in the box of the scratch.

    Args:
        n_columns: that vary.
        row: ``(n_rows,)``, filled with the form's coefficients.
        constants: ``(K,)``, filled with its constant for each variant, without the slack.
    """
    k = len(constants)
    last = len(flat.widths) - 1
    passed = s.left
    onwards = s.right
    passed[0] = 1.0
    for v in range(k):
        constants[v] = 0.0
    at = len(flat.weights)
    bias_at = len(flat.biases)
    for layer in range(last - 1, -1, -1):
        n = flat.widths[layer]
        n_next = flat.widths[layer + 1]
        at -= n * n_next
        bias_at -= n_next
        base = 0.0
        for j in range(n_next):
            base += passed[j] * flat.biases[bias_at + j]
        for v in range(k):
            constants[v] += base
        for q in range(n):
            total = 0.0
            line = flat.weights[at + q * n_next : at + (q + 1) * n_next]
            for j in range(n_next):
                total += line[j] * passed[j]
            onwards[q] = total
        _pass_relu(n, layer, flat.slopes[layer], side, onwards, constants, s)
        for q in range(n):
            passed[q] = onwards[q]
    n = flat.widths[0]
    for v in range(k):
        total = 0.0
        line = s.constants[0, v]
        for j in range(n):
            total += line[j] * passed[j]
        constants[v] += total
    for a in range(s.begins[n_columns]):
        total = 0.0
        line = s.rows[0, a]
        for j in range(n):
            total += line[j] * passed[j]
        row[a] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def _pass_relu(n, layer, slope, side, weights, constants, s):  # type: ignore[no-untyped-def]
    """From weights of neurons to weights of their sums ``(n,)``, in place; what the lines leave goes to the
    constants.
    """
    for j in range(n):
        least = s.least[layer, j]
        most = s.most[layer, j]
        if least >= 0.0:
            continue
        if most <= 0.0:
            weights[j] *= slope
            continue
        weight = weights[j]
        is_below = weight * side >= 0.0
        rising = (most - slope * least) / (most - least)
        if is_below:
            rising = 1.0 if most > -least else slope
        for v in range(len(constants)):
            lower = s.low[layer, v, j]
            upper = s.high[layer, v, j]
            first = (1.0 - rising) * lower if lower >= 0.0 else (slope - rising) * lower
            second = (1.0 - rising) * upper if upper >= 0.0 else (slope - rising) * upper
            if is_below:
                left = min(first, second)
                if v >= s.n_alone or lower < 0.0 < upper:
                    left = min(left, 0.0)
            else:
                left = max(first, second)
            constants[v] += weight * left
        weights[j] = weight * rising


@njit(cache=True, nogil=True)
def begin_sides(n, n_rows, s):  # type: ignore[no-untyped-def]
    """The first layer's sums are their own forms below and above."""
    k = len(s.limits)
    for side in range(2):
        s.side_rows[side, :n_rows, :n] = s.rows[0, :n_rows, :n]
        s.side_constants[side, :k, :n] = s.constants[0, :k, :n]


@njit(cache=True, nogil=True, fastmath=FAST)
def choose_below(n, layer, slope, s):  # type: ignore[no-untyped-def]
    """The slope of the line below each neuron: of the side on which most of its range is."""
    for j in range(n):
        least = s.least[layer, j]
        most = s.most[layer, j]
        s.below[j] = s.rising[j]
        if least < 0.0 < most:
            s.below[j] = 1.0 if most > -least else slope


@njit(cache=True, nogil=True, fastmath=FAST)
def advance_sides(n_rows, n_live, n_next, layer, slope, parts, biases, s):  # type: ignore[no-untyped-def]
    """Forms below and above the next sums, from those of this layer's and the lines below and above its neurons.

    ``lower = B W + (A - B) W_up`` and ``upper = B W + (A - B) W_down``, with ``A`` the lines below and ``B`` those
    above; ``parts`` are the weights ``W``, those above 0 and those below. ``A`` and ``B`` are the same for what is
    settled in the first layer.
    """
    k = len(s.limits)
    n_lines = n_rows + k
    n_apart = _list_apart(n_live, layer, s)
    above = s.left[: n_lines * n_live].reshape(n_lines, n_live)
    less = s.left[n_lines * n_live : n_lines * (n_live + n_apart)].reshape(n_lines, n_apart)
    _pass_lines(n_rows, n_live, n_apart, layer, slope, above, less, s)
    total = s.product[: n_lines * n_next].reshape(n_lines, n_next)
    part = s.product[n_lines * n_next : 2 * n_lines * n_next].reshape(n_lines, n_next)
    multiply(above, s.live, parts[0], total)
    for side in range(2):
        multiply(less, s.apart, parts[1 + side], part)
        rows = s.side_rows[side]
        constants = s.side_constants[side]
        for i in range(n_rows):
            for t in range(n_next):
                rows[i, t] = total[i, t] + part[i, t]
        for v in range(k):
            for t in range(n_next):
                constants[v, t] = total[n_rows + v, t] + part[n_rows + v, t] + biases[t]


@njit(cache=True, nogil=True)
def _list_apart(n_live, layer, s):  # type: ignore[no-untyped-def]
    """Neurons whose lines below and above differ: fills ``apart``, returns how many."""
    n_apart = 0
    for q in range(n_live):
        j = s.live[q]
        if layer > 0 or s.least[layer, j] < 0.0 < s.most[layer, j]:
            s.apart[n_apart] = j
            n_apart += 1
    return n_apart


@njit(cache=True, nogil=True, fastmath=FAST)
def _pass_lines(n_rows, n_live, n_apart, layer, slope, above, less, s):  # type: ignore[no-untyped-def]
    """What the lines above the live neurons pass on of rows and of constants, and how much less those below do where
    they differ.
    """
    for q in range(n_live):
        j = s.live[q]
        rising = s.rising[j]
        for i in range(n_rows):
            above[i, q] = rising * s.side_rows[1, i, j]
        for v in range(len(s.limits)):
            above[n_rows + v, q] = rising * s.side_constants[1, v, j]
            if s.least[layer, j] < 0.0 < s.most[layer, j]:
                low = s.low[layer, v, j]
                high = s.high[layer, v, j]
                above[n_rows + v, q] += _left_over(low, high, rising, slope, True, False)
    at = 0
    for q in range(n_apart):
        j = s.apart[q]
        rising = s.rising[j]
        below = s.below[j]
        for i in range(n_rows):
            less[i, q] = below * s.side_rows[0, i, j] - rising * s.side_rows[1, i, j]
        while s.live[at] != j:
            at += 1
        for v in range(len(s.limits)):
            under = below * s.side_constants[0, v, j]
            if s.least[layer, j] < 0.0 < s.most[layer, j]:
                under += _left_over(s.low[layer, v, j], s.high[layer, v, j], below, slope, False, v >= s.n_alone)
            less[n_rows + v, q] = under - above[n_rows + v, at]


@njit(cache=True, nogil=True, fastmath=FAST)
def _left_over(lower, upper, rising, slope, is_above, is_end):  # type: ignore[no-untyped-def]
    """The most (or least) that ``relu(z) - rising * z`` can be on ``[lower, upper]``."""
    first = (1.0 - rising) * lower if lower >= 0.0 else (slope - rising) * lower
    second = (1.0 - rising) * upper if upper >= 0.0 else (slope - rising) * upper
    if is_above:
        return max(first, second)
    least = min(first, second)
    return min(least, 0.0) if is_end or lower < 0.0 < upper else least


@njit(cache=True, nogil=True, fastmath=FAST)
def tighten(n_columns, n, layer, s):  # type: ignore[no-untyped-def]
    """Bounds of a layer's sums, no looser than by the forms below and above."""
    k = len(s.limits)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        rows = s.side_rows[side]
        far = s.spare
        for j in range(n):
            far[j] = SLACK * s.magnitude[j]
        for c in range(n_columns):
            begin = s.begins[c]
            end = s.begins[c + 1]
            if end - begin == 1:
                row = rows[begin]
                for j in range(n):
                    far[j] += abs(row[j])
                continue
            for j in range(n):
                most = sign * rows[begin, j]
                for a in range(begin + 1, end):
                    most = max(most, sign * rows[a, j])
                far[j] += most
        bounds = s.low[layer] if side == 0 else s.high[layer]
        for v in range(s.n_alone):
            constants = s.side_constants[side, v]
            ends = bounds[v]
            for j in range(n):
                ends[j] = sign * min(sign * ends[j], sign * constants[j] + far[j])
        for v in range(s.n_alone, k, 2):
            _tighten_pair(n, sign, far, s.side_constants[side, v : v + 2], bounds[v : v + 2])


@njit(cache=True, nogil=True, fastmath=FAST)
def _tighten_pair(n, sign, far, constants, ends):  # type: ignore[no-untyped-def]
    """Both ends of a line take their bounds from one form, the better on the whole: bounds of two forms do not mix."""
    for j in range(n):
        first = sign * constants[0, j] + far[j]
        second = sign * constants[1, j] + far[j]
        if first + second < sign * (ends[0, j] + ends[1, j]):
            ends[0, j] = sign * first
            ends[1, j] = sign * second
