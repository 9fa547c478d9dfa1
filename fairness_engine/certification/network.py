"""A dense ReLU network over the lattice of a space: what a certifier needs of a model, in float64.

Every encoder of the engine treats each column by itself, so the first layer's sums are a sum over the columns: a number times the
digit where the inputs grow evenly with it, a table otherwise (one-hot categories, uneven codes). The protected columns add one
vector a variant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.certification.space import Space
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.activations import Activation
from fairness_engine.models.dense import DenseNetwork, Layer, threshold_logit
from fairness_engine.models.model import Model

_EVEN = 1e-12
"""Inputs that grow with the digit are taken as a number times the digit where the largest deviation is below this share."""
_SUPPORTED = (Activation.RELU, Activation.RELU6, Activation.LEAKY_RELU, Activation.LINEAR)


@dataclass(frozen=True)
class ReluNetwork:
    """``z_v = places(x) @ first + shifts[v]``, then ``z -> relu(z) @ weights[i] + biases[i]`` layer by layer.

    Column ``i`` has the places ``starts[i]`` to ``starts[i + 1]``: one, which holds the digit itself, or one a digit, which hold 1 for
    the digit and 0 for the others.

    Args:
        first: ``(n_places, n_1)``.
        starts: ``(D + 1,)``.
        reach: how far the column's value may be from its digit's, in digits ``(D,)``: half a cell of a continuous column, else 0.
        shifts: of each variant, the bias among them ``(K, n_1)``.
        weights: of the later layers ``(n_in, n_out)`` each; empty for a linear model.
        biases: of the later layers ``(n_out,)`` each.
        slopes: of the negative side of every hidden layer: 0 for ReLU, up to 1.
        n_outputs: 1 where the last sum decides by its sign (above 0 is class 1), else the largest decides.
    """

    first: FloatArray
    starts: IntArray
    reach: FloatArray
    shifts: FloatArray
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    slopes: tuple[float, ...]

    @property
    def n_outputs(self) -> int:
        """How many last sums there are."""
        return self.weights[-1].shape[1] if self.weights else self.first.shape[1]

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of every hidden layer."""
        return (self.first.shape[1], *(w.shape[1] for w in self.weights[:-1])) if self.weights else ()

    @property
    def n_variants(self) -> int:
        """How many combinations of protected values there are."""
        return len(self.shifts)

    @property
    def is_blind(self) -> bool:
        """True when no protected value changes anything."""
        return bool((self.shifts == self.shifts[0]).all())


def read_network(model: Model, space: Space) -> ReluNetwork:
    """The network of a model over a space.

    Args:
        model: a dense network, or a linear model.
        space: of the same domain.

    Raises:
        ModelError: an activation whose bounds are not known here, named.
        SettingError: a threshold that no probability crosses.
    """
    assert isinstance(model.predictor, DenseNetwork)
    layers = _plain_layers(model.predictor, model.threshold)
    tables = _column_inputs(model, space)
    weights, biases = layers[0].weights, layers[0].biases
    places, starts = [], [0]
    for table in tables:
        sums = table @ weights
        places.append(sums)
        starts.append(starts[-1] + len(sums))
    first = np.concatenate(places) if places else np.empty((0, weights.shape[1]))
    variants = np.array([_encoded(model, _one_row(space, variant)) for variant in space.domain.variant_values])
    shifts = variants @ weights + biases
    return ReluNetwork(
        np.ascontiguousarray(first),
        np.array(starts, dtype=np.int64),
        np.where(space.is_cell, 0.5, 0.0),
        np.ascontiguousarray(shifts),
        tuple(np.ascontiguousarray(layer.weights) for layer in layers[1:]),
        tuple(layer.biases.copy() for layer in layers[1:]),
        tuple(_slope(layer) for layer in layers[:-1]),
    )


def check_activations(network: DenseNetwork) -> str | None:
    """Why a network cannot be certified, or ``None``."""
    for number, layer in enumerate(network.layers[:-1], 1):
        is_steep = layer.activation is Activation.LEAKY_RELU and not 0 <= layer.slope <= 1
        if layer.activation not in _SUPPORTED or is_steep:
            slope = f" with slope {layer.slope:g}" if is_steep else ""
            return (
                f"Hidden layer {number} uses {layer.activation}{slope}, and proofs are made for ReLU (also leaky, and capped at 6) only. "
                "Search for pairs or estimate the share instead."
            )
    last = network.layers[-1].activation
    known = (Activation.SIGMOID, Activation.SOFTMAX, Activation.LINEAR, Activation.TANH)
    if last not in known:
        return (
            f"The output uses {last}, and proofs are made for sigmoid, softmax, tanh and linear outputs only. Search for pairs or "
            "estimate the share instead."
        )
    return None


# --- layers -------------------------------------------------------------------------------------


def _plain_layers(network: DenseNetwork, threshold: float) -> list[Layer]:
    """The layers with the threshold in the last bias, two outputs as their difference, and no linear layer before the last."""
    reason = check_activations(network)
    if reason is not None:
        raise ModelError(f"This network cannot be certified. {reason}")
    layers = [_uncapped(layer) for layer in network.layers]
    layers = _with_widened_inputs(network.layers, layers)
    last = layers[-1]
    weights, biases = last.weights, last.biases
    if weights.shape[1] == 2 and network.n_scores == 1:
        weights, biases = weights[:, 1:] - weights[:, :1], biases[1:] - biases[:1]
    if weights.shape[1] == 1:
        biases = biases - _crossing(last.activation, threshold)
    layers[-1] = Layer(weights, biases)
    return _merged(layers)


def _crossing(activation: Activation, threshold: float) -> float:
    """The last sum at which the score crosses the threshold."""
    if activation in (Activation.SIGMOID, Activation.SOFTMAX):
        crossing = threshold_logit(threshold)
    elif activation is Activation.TANH:
        crossing = math.atanh(threshold) if -1 < threshold < 1 else math.inf
    else:
        crossing = threshold
    if not math.isfinite(crossing):
        raise SettingError(
            f"The decision threshold must be one that scores can cross, got {threshold:g}. Set it under Scope, or leave it to the model."
        )
    return crossing


def _uncapped(layer: Layer) -> Layer:
    """``min(relu(z), 6) = relu(z) - relu(z - 6)``: twice the neurons, ReLU alone."""
    if layer.activation is not Activation.RELU6:
        return layer
    weights = np.concatenate([layer.weights, layer.weights], axis=1)
    return Layer(weights, np.concatenate([layer.biases, layer.biases - 6.0]), Activation.RELU)


def _with_widened_inputs(original: tuple[Layer, ...], layers: list[Layer]) -> list[Layer]:
    """After a capped layer, the next one takes the second half with the opposite sign."""
    out = list(layers)
    for i, layer in enumerate(original[:-1]):
        if layer.activation is Activation.RELU6:
            after = out[i + 1]
            weights = np.concatenate([after.weights, -after.weights])
            out[i + 1] = Layer(weights, after.biases, after.activation, after.slope)
    return out


def _merged(layers: list[Layer]) -> list[Layer]:
    """Linear layers multiplied into the ones behind them."""
    merged = [layers[0]]
    for layer in layers[1:]:
        before = merged[-1]
        if before.activation is Activation.LINEAR:
            weights = before.weights @ layer.weights
            merged[-1] = Layer(weights, before.biases @ layer.weights + layer.biases, layer.activation, layer.slope)
        else:
            merged.append(layer)
    return merged


def _slope(layer: Layer) -> float:
    return float(layer.slope) if layer.activation is Activation.LEAKY_RELU else 0.0


# --- inputs -------------------------------------------------------------------------------------


def _column_inputs(model: Model, space: Space) -> list[FloatArray]:
    """What each column adds to the model's inputs with digit 0 everywhere (the middle of the first cell), a line a place."""
    base = _encoded(model, _one_row(space, None))
    tables = []
    for i, n in enumerate(space.n_digits):
        ends = _inputs_along(model, space, i, np.array([0, int(n) - 1])) - base
        if space.is_cell[i]:
            tables.append(ends[1:] / max(int(n) - 1, 1))
            continue
        table = _inputs_along(model, space, i, np.arange(int(n))) - base
        step = ends[1] / max(int(n) - 1, 1)
        off = np.abs(table - np.arange(int(n))[:, None] * step).max(initial=0.0)
        is_even = off <= _EVEN * max(1.0, float(np.abs(table).max(initial=0.0)))
        tables.append(step[None, :] if is_even else table)
    return tables


def _one_row(space: Space, variant: FloatArray | None) -> FloatArray:
    row = space.rows(np.zeros((1, len(space.columns)), np.int64))
    if variant is not None:
        row[:, space.domain.protected] = variant
    return row


def _inputs_along(model: Model, space: Space, column: int, digits: IntArray) -> FloatArray:
    """The inputs with one column at each of some digits, the others at 0 ``(n, n_inputs)``."""
    chosen = np.zeros((len(digits), len(space.columns)), np.int64)
    chosen[:, column] = digits
    encode: Callable[[FloatArray], Any] = model.encoder.encode
    return np.asarray(encode(space.rows(chosen)), dtype=np.float64)


def _encoded(model: Model, row: FloatArray) -> FloatArray:
    return np.asarray(model.encoder.encode(row), dtype=np.float64)[0]
