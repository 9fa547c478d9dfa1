"""The layers of a dense network as a certifier needs them: ReLU alone, the threshold in the last bias, nothing linear in between."""

from __future__ import annotations

import math

import numpy as np

from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.activations import Activation
from fairness_engine.models.dense import DenseNetwork, Layer, threshold_logit

_HIDDEN = (Activation.RELU, Activation.RELU6, Activation.LEAKY_RELU, Activation.LINEAR)
_ONE_OUTPUT = (Activation.SIGMOID, Activation.TANH, Activation.LINEAR)
_SEVERAL_OUTPUTS = (Activation.SOFTMAX, Activation.LINEAR)
_REMEDY = "Search for pairs or estimate the share instead."
_NEAREST_TO_ONE = 1e-5
"""Between a threshold and 1, which large sums are rounded to: nearer, what rounds past the threshold is no longer known."""
_NEAREST_TO_ZERO = 1e-300


def why_not(network: DenseNetwork) -> str | None:
    """Why the activations of a network cannot be certified and what to do, or ``None``."""
    for number, layer in enumerate(network.layers[:-1], 1):
        if layer.activation not in _HIDDEN:
            return f"Hidden layer {number} uses {layer.activation}, and proofs are made for ReLU (also leaky, and capped at 6) only. {_REMEDY}"
        if layer.activation is Activation.LEAKY_RELU and not 0 <= layer.slope <= 1:
            return (
                f"Hidden layer {number} uses {layer.activation} with slope {layer.slope:g}, and proofs are made for slopes from 0 to 1 "
                f"only. {_REMEDY}"
            )
    last, n_outputs = network.layers[-1].activation, network.layers[-1].weights.shape[1]
    if n_outputs == 1 and last is Activation.SOFTMAX:
        return "Its only output uses softmax, which is 1 for everybody. Train it with a sigmoid, or with an output a class."
    if last not in (_ONE_OUTPUT if n_outputs == 1 else _SEVERAL_OUTPUTS):
        outputs, known = ("output", _ONE_OUTPUT) if n_outputs == 1 else (f"{n_outputs} outputs", _SEVERAL_OUTPUTS)
        uses = "uses" if n_outputs == 1 else "use"
        return f"The {outputs} {uses} {last}, and proofs are made for {', '.join(known[:-1])} and {known[-1]} there. {_REMEDY}"
    return None


def plain_layers(network: DenseNetwork, threshold: float) -> list[Layer]:
    """Layers that decide as the network does: class 1 where the only last sum is above 0, or the class of the largest.

    Two outputs become their difference, a cap at 6 becomes a second ReLU, and linear layers are multiplied into the ones behind them.

    Raises:
        ModelError: an activation whose bounds are not known here, named.
        SettingError: a threshold that no score crosses.
    """
    reason = why_not(network)
    if reason is not None:
        raise ModelError(f"This network cannot be certified. {reason}")
    layers = _uncapped(network.layers)
    last = layers[-1]
    weights, biases = last.weights, last.biases
    if weights.shape[1] == 2 and network.n_scores == 1:
        weights, biases = weights[:, 1:] - weights[:, :1], biases[1:] - biases[:1]
    if weights.shape[1] == 1:
        biases = biases - _crossing(last.activation, threshold)
    return _merged([*layers[:-1], Layer(weights, biases)])


def _crossing(activation: Activation, threshold: float) -> float:
    """The last sum at which the score crosses the threshold."""
    if activation in (Activation.SIGMOID, Activation.SOFTMAX):
        _check_between(threshold, _NEAREST_TO_ZERO, 1 - _NEAREST_TO_ONE)
        return threshold_logit(threshold)
    if activation is Activation.TANH:
        _check_between(threshold, -1 + _NEAREST_TO_ONE, 1 - _NEAREST_TO_ONE)
        return math.atanh(threshold)
    return threshold


def _check_between(threshold: float, low: float, high: float) -> None:
    if not low <= threshold <= high:
        raise SettingError(
            f"A proof needs a decision threshold that scores cross, from {low:.6g} to {high:.6f}, got {threshold:g}. Set it under Scope, or "
            "leave it to the model."
        )


def _uncapped(layers: tuple[Layer, ...]) -> list[Layer]:
    """``min(relu(z), 6) = relu(z) - relu(z - 6)``: twice the neurons, and the layer behind takes the second half away."""
    plain: list[Layer] = []
    is_after_capped = False
    for layer in layers:
        weights, biases, activation = layer.weights, layer.biases, layer.activation
        if is_after_capped:
            weights = np.concatenate([weights, -weights])
        is_after_capped = activation is Activation.RELU6
        if is_after_capped:
            weights, biases = np.concatenate([weights, weights], axis=1), np.concatenate([biases, biases - 6.0])
            activation = Activation.RELU
        plain.append(Layer(weights, biases, activation, layer.slope))
    return plain


def _merged(layers: list[Layer]) -> list[Layer]:
    """Linear layers multiplied into the ones behind them."""
    merged = [layers[0]]
    for layer in layers[1:]:
        before = merged[-1]
        if before.activation is Activation.LINEAR:
            weights, biases = before.weights @ layer.weights, before.biases @ layer.weights + layer.biases
            merged[-1] = Layer(weights, biases, layer.activation, layer.slope)
        else:
            merged.append(layer)
    return merged
