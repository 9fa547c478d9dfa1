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
    """What ``kernels`` calls an activation."""
    return list(Activation).index(activation)


TILE = 4
"""Units whose sums the compiled loops keep in registers at once."""


@dataclass(frozen=True)
class Stack:
    """Layers one after the other, all in one precision.

    Args:
        weights: of each layer ``(n_in, n_out)``.
        biases: of each layer ``(n_out,)``.
        activations: between the layers, one fewer; what ``kernels`` calls them.
        slopes: their parameters, 0 where there is none.
    """

    weights: tuple[Values, ...]
    biases: tuple[Values, ...]
    activations: tuple[int, ...]
    slopes: tuple[float, ...]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As ``kernels`` takes them: units in tiles, the weights of a tile together."""
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
