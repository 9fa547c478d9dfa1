"""Compiled loops for bounds of one side: a form below the margin of every variant, or above it, by going back through
the layers.

Each neuron that is not settled is replaced by a line below it or above it, whichever the side needs. The line above is
the chord; the line below may have any slope from the leaky side's to 1. What a box loses is then often less than with a
band that serves both sides.

CROWN (Zhang et al., 2018) goes back like this for one input; that the slopes are shared by all variants is our own.
"""

from __future__ import annotations

from numba import njit

from fairness_engine.certification.networks.workspace_kernels import FAST, SLACK, chord, multiply, residual


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def bound_side(n_rows, network, s, sides, side, row, constants):  # type: ignore[no-untyped-def]  # numba infers the types
    """A form below the margin (``side`` 1) or above it (-1) in the box of the workspace.

    Args:
        n_rows: of the columns that vary.
        row: ``(n_rows,)``, filled with the form's coefficients.
        constants: ``(K,)``, filled with its constant for each variant, without the slack.
    """
    k = len(constants)
    passed = sides.left
    onwards = sides.right
    passed[0] = 1.0
    for v in range(k):
        constants[v] = 0.0
    for number in range(len(network.widths) - 2, -1, -1):
        n = network.widths[number]
        n_next = network.widths[number + 1]
        at = network.weight_starts[number]
        bias_at = network.bias_starts[number]
        base = 0.0
        for j in range(n_next):
            base += passed[j] * network.biases[bias_at + j]
        for v in range(k):
            constants[v] += base
        for q in range(n):
            total = 0.0
            line = network.weights[at + q * n_next : at + (q + 1) * n_next]
            for j in range(n_next):
                total += line[j] * passed[j]
            onwards[q] = total
        _pass_relu(n, number, network.slopes[number], side, onwards, constants, sides)
        for q in range(n):
            passed[q] = onwards[q]
    n = network.widths[0]
    for v in range(k):
        total = 0.0
        line = s.constants[0, v]
        for j in range(n):
            total += line[j] * passed[j]
        constants[v] += total
    for a in range(n_rows):
        total = 0.0
        line = s.rows[0, a]
        for j in range(n):
            total += line[j] * passed[j]
        row[a] = total


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _pass_relu(n, layer, slope, side, weights, constants, sides):  # type: ignore[no-untyped-def]
    """From weights of neurons to weights of their sums ``(n,)``, in place; what the lines leave goes to the
    constants.
    """
    for j in range(n):
        least = sides.min_lower[layer, j]
        most = sides.max_upper[layer, j]
        if least >= 0.0:
            continue
        if most <= 0.0:
            weights[j] *= slope
            continue
        weight = weights[j]
        is_below = weight * side >= 0.0
        line_slope = _slope_below(least, most, slope) if is_below else chord(least, most, slope)
        for v in range(len(constants)):
            lower = sides.lower[layer, v, j]
            upper = sides.upper[layer, v, j]
            low, high = residual(lower, upper, line_slope, slope, v >= sides.n_alone)
            constants[v] += weight * (low if is_below else high)
        weights[j] = weight * line_slope


@njit(cache=True, nogil=True, fastmath=FAST)
def _slope_below(least, most, slope):  # type: ignore[no-untyped-def]
    """The slope of the line below a neuron that crosses 0: of the side on which most of its range is."""
    return 1.0 if most > -least else slope


@njit(cache=True, nogil=True, forceinline=True)
def begin_sides(n, n_rows, s, sides):  # type: ignore[no-untyped-def]
    """The first layer's sums are their own forms below and above."""
    k = len(s.error_radii)
    for side in range(2):
        for i in range(n_rows):
            for j in range(n):
                sides.bound_rows[side, i, j] = s.rows[0, i, j]
        for v in range(k):
            for j in range(n):
                sides.bound_constants[side, v, j] = s.constants[0, v, j]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def choose_below(n, layer, slope, s, sides):  # type: ignore[no-untyped-def]
    """The slope of the line below each neuron."""
    for j in range(n):
        least = sides.min_lower[layer, j]
        most = sides.max_upper[layer, j]
        sides.lower_slope[j] = s.chord_slope[j]
        if least < 0.0 < most:
            sides.lower_slope[j] = _slope_below(least, most, slope)


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def advance_sides(n_rows, n_active, number, layer, signed, s, sides):  # type: ignore[no-untyped-def]
    """Forms below and above the next sums, from those of this layer's and the lines below and above its neurons.

    ``lower = B W + (A - B) W_up`` and ``upper = B W + (A - B) W_down``, with ``A`` the lines below and ``B`` those
    above, and the weights ``W`` above 0 and those below (``signed``). ``A`` and ``B`` are the same for what is settled
    in the first layer.
    """
    k = len(s.error_radii)
    n_next = len(layer.biases)
    n_lines = n_rows + k
    n_apart = _list_apart(n_active, number, s, sides)
    above = sides.left[: n_lines * n_active].reshape(n_lines, n_active)
    less = sides.left[n_lines * n_active : n_lines * (n_active + n_apart)].reshape(n_lines, n_apart)
    _pass_lines(n_rows, n_active, n_apart, number, layer.slope, above, less, s, sides)
    total = sides.product[: n_lines * n_next].reshape(n_lines, n_next)
    part = sides.product[n_lines * n_next : 2 * n_lines * n_next].reshape(n_lines, n_next)
    multiply(above, s.active, layer.weights, total)
    for side in range(2):
        multiply(less, sides.apart, signed.negative if side else signed.positive, part)
        rows = sides.bound_rows[side]
        constants = sides.bound_constants[side]
        for i in range(n_rows):
            for t in range(n_next):
                rows[i, t] = total[i, t] + part[i, t]
        for v in range(k):
            for t in range(n_next):
                constants[v, t] = total[n_rows + v, t] + part[n_rows + v, t] + layer.biases[t]


@njit(cache=True, nogil=True, forceinline=True)
def _list_apart(n_active, layer, s, sides):  # type: ignore[no-untyped-def]
    """Neurons whose lines below and above differ: fills ``apart``, returns how many."""
    n_apart = 0
    for q in range(n_active):
        j = s.active[q]
        if layer > 0 or sides.min_lower[layer, j] < 0.0 < sides.max_upper[layer, j]:
            sides.apart[n_apart] = j
            n_apart += 1
    return n_apart


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _pass_lines(n_rows, n_active, n_apart, layer, slope, above, less, s, sides):  # type: ignore[no-untyped-def]
    """What the lines above the active neurons pass on of rows and of constants, and how much less those below do where
    they differ.
    """
    for q in range(n_active):
        j = s.active[q]
        upper_slope = s.chord_slope[j]
        for i in range(n_rows):
            above[i, q] = upper_slope * sides.bound_rows[1, i, j]
        for v in range(len(s.error_radii)):
            above[n_rows + v, q] = upper_slope * sides.bound_constants[1, v, j]
            if sides.min_lower[layer, j] < 0.0 < sides.max_upper[layer, j]:
                _, most = residual(sides.lower[layer, v, j], sides.upper[layer, v, j], upper_slope, slope, False)
                above[n_rows + v, q] += most
    at = 0
    for q in range(n_apart):
        j = sides.apart[q]
        upper_slope = s.chord_slope[j]
        lower_slope = sides.lower_slope[j]
        for i in range(n_rows):
            less[i, q] = lower_slope * sides.bound_rows[0, i, j] - upper_slope * sides.bound_rows[1, i, j]
        while s.active[at] != j:
            at += 1
        for v in range(len(s.error_radii)):
            under = lower_slope * sides.bound_constants[0, v, j]
            if sides.min_lower[layer, j] < 0.0 < sides.max_upper[layer, j]:
                least, _ = residual(
                    sides.lower[layer, v, j], sides.upper[layer, v, j], lower_slope, slope, v >= sides.n_alone
                )
                under += least
            less[n_rows + v, q] = under - above[n_rows + v, at]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def tighten(box, n, layer, s, sides):  # type: ignore[no-untyped-def]
    """Bounds of a layer's sums, no looser than by the forms below and above."""
    k = len(s.error_radii)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        rows = sides.bound_rows[side]
        far = s.base
        for j in range(n):
            far[j] = SLACK * s.magnitude[j]
        for c in range(len(box.columns)):
            begin = box.begins[c]
            end = box.begins[c + 1]
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
        bounds = sides.lower[layer] if side == 0 else sides.upper[layer]
        for v in range(sides.n_alone):
            constants = sides.bound_constants[side, v]
            ends = bounds[v]
            for j in range(n):
                ends[j] = sign * min(sign * ends[j], sign * constants[j] + far[j])
        for v in range(sides.n_alone, k, 2):
            _tighten_pair(n, sign, far, sides.bound_constants[side, v : v + 2], bounds[v : v + 2])


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _tighten_pair(n, sign, far, constants, ends):  # type: ignore[no-untyped-def]
    """Both ends of a line take their bounds from one form, the better on the whole: bounds of two forms do not mix."""
    for j in range(n):
        first = sign * constants[0, j] + far[j]
        second = sign * constants[1, j] + far[j]
        if first + second < sign * (ends[0, j] + ends[1, j]):
            ends[0, j] = sign * first
            ends[1, j] = sign * second
