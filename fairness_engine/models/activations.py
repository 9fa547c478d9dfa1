"""The activations of dense networks and their derivatives."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]


class Activation(StrEnum):
    """What a layer does to its weighted sums; the names are Keras's."""

    LINEAR = "linear"
    RELU = "relu"
    RELU6 = "relu6"
    LEAKY_RELU = "leaky_relu"
    ELU = "elu"
    SELU = "selu"
    TANH = "tanh"
    SIGMOID = "sigmoid"
    SILU = "silu"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    SOFTMAX = "softmax"


EXPONENTIAL, POWER = -1, -2
"""What support vector machines have between their sums: ``exp(x)``, and ``x`` to the power of a whole number, the slope."""


def number_of(activation: Activation) -> int:
    """What ``dense_kernels`` calls an activation."""
    return list(Activation).index(activation)


def apply_activation(values: Values, activation: Activation, slope: float) -> None:
    """Apply an activation of single values in place; contiguous, of any shape."""
    from fairness_engine.models import dense_kernels  # loads numba

    dense_kernels.activate(values.reshape(-1), number_of(activation), slope)


def derivative(activation: Activation, sums: Values, values: Values, slope: float) -> Values:
    """An activation's derivatives, from its arguments and its results, of any shape."""
    from fairness_engine.models import dense_kernels  # loads numba

    found: Values = np.array(sums, np.float64)
    dense_kernels.slopes(
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
    from fairness_engine.models import dense_kernels  # loads numba

    found: Values = np.array(values, np.float64)
    dense_kernels.softmax(found)
    return found


def weighted_sums(values: Values, weights: Values, biases: Values) -> Values:
    """``values @ weights + biases``, added up from the bias and the first value on, whatever the machine; for a few rows.

    Args:
        values: ``(n_rows, n)``.
        weights: ``(n, n_sums)``.
        biases: ``(n_sums,)``.
    """
    sums: Values = np.tile(np.asarray(biases, np.float64), (len(values), 1))
    for k in range(len(weights)):
        sums += values[:, k, None] * weights[k]
    return sums
