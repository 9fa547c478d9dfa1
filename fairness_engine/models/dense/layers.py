"""The layers of a dense network in one precision, laid out for the compiled loops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray

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


EXPONENTIAL = -1
POWER = -2
"""What support vector machines have between their sums: ``exp(x)``, and ``x`` to the power of a whole number, the
slope.
"""


def number_of(activation: Activation) -> int:
    """What ``dense_kernels`` calls an activation."""
    return list(Activation).index(activation)


def apply_activation(values: Values, activation: Activation, slope: float) -> None:
    """Apply an activation of single values in place; contiguous, of any shape."""
    from fairness_engine.models.dense import kernels as dense_kernels  # loads numba

    dense_kernels.activate(values.reshape(-1), number_of(activation), slope)


def derivative(activation: Activation, sums: Values, values: Values, slope: float) -> Values:
    """An activation's derivatives, from its arguments and its results, of any shape."""
    from fairness_engine.models.dense import kernels as dense_kernels  # loads numba

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
    from fairness_engine.models.dense import kernels as dense_kernels  # loads numba

    found: Values = np.array(values, np.float64)
    dense_kernels.softmax(found)
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


TILE = 4
"""Units whose sums the compiled loops keep in registers at once."""


@dataclass(frozen=True)
class Stack:
    """Layers one after the other, all in one precision.

    Args:
        weights: of each layer ``(n_in, n_out)``.
        biases: of each layer ``(n_out,)``.
        activations: between the layers, one fewer; what ``dense_kernels`` calls them.
        slopes: their parameters, 0 where there is none.
    """

    weights: tuple[Values, ...]
    biases: tuple[Values, ...]
    activations: tuple[int, ...]
    slopes: tuple[float, ...]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As ``dense_kernels`` takes them: units in tiles, the weights of a tile together."""
        widths = [len(self.weights[0]), *(weights.shape[1] for weights in self.weights)]
        tiled = []
        padded = []
        for weights, biases in zip(self.weights, self.biases, strict=True):
            n_inputs, n_units = weights.shape
            n_tiles = -(-n_units // TILE)
            wide = np.zeros((n_inputs, n_tiles * TILE), weights.dtype)
            long = np.zeros(n_tiles * TILE, weights.dtype)
            wide[:, :n_units] = weights
            long[:n_units] = biases
            tiled.append(wide.reshape(n_inputs, n_tiles, TILE).transpose(1, 0, 2).ravel())
            padded.append(long)
        places = (np.cumsum([0, *map(len, parts[:-1])]) for parts in (tiled, padded))
        widest = -(-max(widths) // TILE) * TILE
        return (
            *(np.array(widths), np.concatenate(tiled), np.concatenate(padded), *places),
            *(np.array(self.activations, np.int64), np.array(self.slopes, np.float64), widest),
        )

    def with_first(self, weights: FloatArray, biases: FloatArray) -> Stack:
        """With another first layer of the same width."""
        dtype = self.weights[0].dtype
        return replace(
            self,
            weights=(weights.astype(dtype), *self.weights[1:]),
            biases=(biases.astype(dtype), *self.biases[1:]),
        )

    def turned(self) -> Stack:
        """From the outputs to the inputs: what derivatives are multiplied by."""
        weights = tuple(np.ascontiguousarray(each.T) for each in reversed(self.weights))
        return replace(self, weights=weights, biases=tuple(np.zeros(each.shape[1], each.dtype) for each in weights))
