"""Compiled loop of the paper's choice of a column: bounds of the gradient times the width of the box (paper 004,
Algorithm 3).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.certification.relu_network import flatten, small_network


@njit(cache=True, nogil=True)
def choose_columns(low, high, net, columns, smears):  # type: ignore[no-untyped-def]  # numba infers the types
    """The column with the largest smear of every box ``(n, D)``, into ``columns (n,)``, and all smears, into ``smears
    (n, D)``; a column of one digit is never chosen.
    """
    n_variants = len(net.shifts)
    widest = net.widths.max()
    n_hidden = len(net.slopes)
    n_places = len(net.first)
    coefficients = np.empty((n_places, widest))
    following = np.empty((n_places, widest))
    least = np.empty((n_variants, widest))
    most = np.empty((n_variants, widest))
    mask_low = np.empty((n_hidden, n_variants, widest))
    mask_high = np.empty((n_hidden, n_variants, widest))
    rising = np.empty(widest)
    for b in range(len(low)):
        n = net.widths[0]
        for j in range(n):
            for p in range(n_places):
                coefficients[p, j] = net.first[p, j]
            for k in range(n_variants):
                least[k, j] = most[k, j] = net.shifts[k, j]
        for layer in range(n_hidden):
            _relax(low[b], high[b], net, layer, coefficients, least, most, mask_low[layer], mask_high[layer], rising)
            if layer < n_hidden - 1:
                _forward(net, layer, coefficients, following, least, most, rising)
        _backward(low[b], high[b], net, mask_low, mask_high, smears[b])
        columns[b] = -1
        largest = -1.0
        for i in range(low.shape[1]):
            if high[b, i] > low[b, i] and smears[b, i] > largest:
                columns[b] = i
                largest = smears[b, i]


@njit(cache=True, nogil=True)
def _relax(low, high, net, layer, coefficients, least, most, mask_low, mask_high, rising):  # type: ignore[no-untyped-def]
    """Bounds of one layer's sums for every variant; its masks; and ``relu(z)`` as ``rising * z`` with the rest of it in
    least, most.
    """
    slope = net.slopes[layer]
    for j in range(net.widths[layer]):
        begin = 0.0
        end = 0.0
        for i in range(len(low)):
            start = net.starts[i]
            if net.starts[i + 1] - start == 1:
                weight = coefficients[start, j]
                one = weight * (low[i] - net.reach[i])
                other = weight * (high[i] + net.reach[i])
                begin += min(one, other)
                end += max(one, other)
            else:
                smallest = largest = coefficients[start + low[i], j]
                for digit in range(low[i] + 1, high[i] + 1):
                    smallest = min(smallest, coefficients[start + digit, j])
                    largest = max(largest, coefficients[start + digit, j])
                begin += smallest
                end += largest
        hull_low = np.inf
        hull_high = -np.inf
        for k in range(len(least)):
            lower = begin + least[k, j]
            upper = end + most[k, j]
            mask_low[k, j] = 1.0 if lower >= 0 else slope
            mask_high[k, j] = slope if upper <= 0 else 1.0
            hull_low = min(hull_low, lower)
            hull_high = max(hull_high, upper)
        if hull_low >= 0:
            rising[j] = 1.0
        elif hull_high <= 0:
            rising[j] = slope
        else:
            rising[j] = (hull_high - slope * hull_low) / (hull_high - hull_low)
        for k in range(len(least)):
            lower = begin + least[k, j]
            upper = end + most[k, j]
            one = (lower if lower >= 0 else slope * lower) - rising[j] * lower
            other = (upper if upper >= 0 else slope * upper) - rising[j] * upper
            lowest = min(one, other)
            if lower < 0 and upper > 0:
                lowest = min(0.0, lowest)
            least[k, j] = rising[j] * least[k, j] + lowest
            most[k, j] = rising[j] * most[k, j] + max(one, other)


@njit(cache=True, nogil=True)
def _forward(net, layer, coefficients, following, least, most, rising):  # type: ignore[no-untyped-def]
    """The next layer's sums; what does not depend on the individual is kept as an interval of every variant."""
    n = net.widths[layer]
    n_next = net.widths[layer + 1]
    begin = net.weight_starts[layer]
    bias_begin = net.bias_starts[layer]
    following[:, :n_next] = 0.0
    lower = np.empty((len(least), n_next))
    upper = np.empty((len(least), n_next))
    for k in range(len(least)):
        for q in range(n_next):
            lower[k, q] = upper[k, q] = net.biases[bias_begin + q]
    for j in range(n):
        outgoing = net.weights[begin + j * n_next : begin + (j + 1) * n_next]
        for p in range(len(coefficients)):
            weight = coefficients[p, j] * rising[j]
            if weight != 0.0:
                for q in range(n_next):
                    following[p, q] += weight * outgoing[q]
        for k in range(len(least)):
            one = least[k, j]
            other = most[k, j]
            for q in range(n_next):
                lower[k, q] += min(outgoing[q] * one, outgoing[q] * other)
                upper[k, q] += max(outgoing[q] * one, outgoing[q] * other)
    coefficients[:, :n_next] = following[:, :n_next]
    least[:, :n_next] = lower
    most[:, :n_next] = upper


@njit(cache=True, nogil=True)
def _backward(low, high, net, mask_low, mask_high, smears):  # type: ignore[no-untyped-def]
    """Intervals of the gradient through the masks, averaged over the variants, times the box's widths, into ``smears
    (D,)``.
    """
    n_hidden = len(net.slopes)
    n_variants = len(net.shifts)
    n_first = net.widths[0]
    mean_low = np.zeros(n_first)
    mean_high = np.zeros(n_first)
    for k in range(n_variants):
        gradient_low = np.ones(1)
        gradient_high = np.ones(1)
        for layer in range(n_hidden - 1, -1, -1):
            n = net.widths[layer]
            n_next = net.widths[layer + 1]
            below_low = np.empty(n)
            below_high = np.empty(n)
            for j in range(n):
                lower = 0.0
                upper = 0.0
                for q in range(n_next):
                    weight = net.weights[net.weight_starts[layer] + j * n_next + q]
                    one = weight * gradient_low[q]
                    other = weight * gradient_high[q]
                    lower += min(one, other)
                    upper += max(one, other)
                least = mask_low[layer, k, j]
                most = mask_high[layer, k, j]
                below_low[j] = min(lower * least, lower * most)
                below_high[j] = max(upper * least, upper * most)
            gradient_low = below_low
            gradient_high = below_high
        for j in range(n_first):
            mean_low[j] += gradient_low[j] / n_variants
            mean_high[j] += gradient_high[j] / n_variants
    for i in range(len(low)):
        start = net.starts[i]
        if net.starts[i + 1] - start == 1:
            lower = 0.0
            upper = 0.0
            for j in range(n_first):
                one = net.first[start, j] * mean_low[j]
                other = net.first[start, j] * mean_high[j]
                lower += min(one, other)
                upper += max(one, other)
            smears[i] = max(abs(lower), abs(upper)) * (high[i] - low[i])
        else:
            smears[i] = 0.0
            for j in range(n_first):
                smallest = largest = net.first[start + low[i], j]
                for digit in range(low[i] + 1, high[i] + 1):
                    smallest = min(smallest, net.first[start + digit, j])
                    largest = max(largest, net.first[start + digit, j])
                smears[i] += max(abs(mean_low[j]), abs(mean_high[j])) * (largest - smallest)


def warm_up() -> None:
    """Compile or load the loop once."""
    box = np.zeros((1, 1), np.int64)
    choose_columns(box, box + 1, flatten(small_network()), np.zeros(1, np.int64), np.empty(box.shape))
