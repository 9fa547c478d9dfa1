"""What activations do to sums of a dense network, the same to the bit on every machine."""

from __future__ import annotations

import numpy as np

from fairness_engine.models.dense.layers import Activation, Values, number_of


def apply_activation(values: Values, activation: Activation, slope: float) -> None:
    """Apply an activation of single values in place; contiguous, of any shape."""
    from fairness_engine.models.dense import kernels  # loads numba

    kernels.activate(values.reshape(-1), number_of(activation), slope)


def derivative(activation: Activation, sums: Values, values: Values, slope: float) -> Values:
    """An activation's derivatives, from its arguments and its results, of any shape."""
    from fairness_engine.models.dense import kernels  # loads numba

    found: Values = np.array(sums, np.float64)
    kernels.slopes(
        found.reshape(-1), np.ascontiguousarray(values, np.float64).reshape(-1), number_of(activation), slope
    )
    return found


def sigmoid(values: Values) -> Values:
    """``1 / (1 + exp(-x))``; the same to the bit on every machine."""
    found: Values = np.array(values, np.float64)
    apply_activation(found, Activation.SIGMOID, 0.0)
    return found


def softmax(values: Values) -> Values:
    """Shares of ``exp(x)`` along the last axis of ``(n_rows, n)``; the same to the bit on every machine."""
    from fairness_engine.models.dense import kernels  # loads numba

    found: Values = np.array(values, np.float64)
    kernels.softmax(found)
    return found


def weighted_sums(values: Values, weights: Values, biases: Values) -> Values:
    """``values @ weights + biases``, added up from the bias and the first value on, whatever the machine; for a few
    rows.

    Args:
        values: ``(n_rows, n)``.
        weights: ``(n, n_sums)``.
        biases: ``(n_sums,)``.
    """
    sums: Values = np.tile(np.asarray(biases, np.float64), (len(values), 1))
    for k in range(len(weights)):
        sums += values[:, k, None] * weights[k]
    return sums
