"""The activations of dense networks and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


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


def apply_activation(values: Values, activation: Activation, slope: float) -> None:
    """Apply an activation in place; ``(n_rows, n_units)``."""
    if activation is Activation.RELU:
        np.maximum(values, 0, out=values)
    elif activation in _SIMPLE:
        with np.errstate(over="ignore"):
            values[...] = _SIMPLE[activation](values)
    elif activation is Activation.LEAKY_RELU:
        np.copyto(values, values * values.dtype.type(slope), where=values < 0)
    elif activation is Activation.ELU:
        np.copyto(values, values.dtype.type(slope) * np.expm1(np.minimum(values, 0)), where=values < 0)


def sigmoid(values: Values) -> Values:
    """``1 / (1 + exp(-x))``."""
    with np.errstate(over="ignore"):
        result: Values = 1 / (1 + np.exp(-values))
    return result


def softmax(values: Values) -> Values:
    """Shares of ``exp(x)`` along the last axis."""
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    result: Values = powers / powers.sum(axis=1, keepdims=True)
    return result


def _selu(values: Values) -> Values:
    negative = _SELU_ALPHA * np.expm1(np.minimum(values, 0))
    return np.where(values > 0, values, negative) * _SELU_SCALE


_SIMPLE: dict[Activation, Callable[[Values], Values]] = {
    Activation.RELU6: lambda values: np.clip(values, 0, 6),
    Activation.SELU: _selu,
    Activation.TANH: np.tanh,
    Activation.SIGMOID: sigmoid,
    Activation.SILU: lambda values: values * sigmoid(values),
    Activation.SOFTPLUS: lambda values: np.logaddexp(values, 0),
    Activation.SOFTSIGN: lambda values: values / (1 + np.abs(values)),
    Activation.SOFTMAX: softmax,
}


def _silu_derivative(sums: Values, values: Values, _: float) -> Values:
    share = sigmoid(sums)
    return np.asarray(share + values * (1 - share))


DERIVATIVES: dict[Activation, Callable[[Values, Values, float], Values]] = {
    Activation.LINEAR: lambda sums, _, __: np.ones_like(sums),
    Activation.RELU: lambda sums, _, __: np.where(sums > 0, 1.0, 0.0),
    Activation.RELU6: lambda sums, _, __: np.where((sums > 0) & (sums < 6), 1.0, 0.0),
    Activation.LEAKY_RELU: lambda sums, _, slope: np.where(sums > 0, 1.0, slope),
    Activation.ELU: lambda sums, values, slope: np.where(sums > 0, 1.0, values + slope),
    Activation.SELU: lambda sums, values, _: np.where(sums > 0, _SELU_SCALE, values + _SELU_SCALE * _SELU_ALPHA),
    Activation.TANH: lambda _, values, __: 1 - values**2,
    Activation.SIGMOID: lambda _, values, __: values * (1 - values),
    Activation.SILU: _silu_derivative,
    Activation.SOFTPLUS: lambda sums, _, __: sigmoid(sums),
    Activation.SOFTSIGN: lambda _, values, __: (1 - np.abs(values)) ** 2,
}
"""Derivatives by the argument, from the argument, the result and the slope."""
