"""Trains a network on standardised inputs though its file takes raw ones.

A network of codes often holds its standardisation folded into its first weights. An optimizer moves every weight by about the same
step, so that a weight of 1e-4, on an input of thousands, would be lost at once. While training, the first dense layer is unfolded:
it takes ``(x - mean) / scale``; afterwards it takes ``x`` again. The function is the same, at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.events import FloatArray

_NEUTRAL = ("InputLayer", "Flatten", "Reshape")
"""Layers that hand a row on as it is."""
_LEAST_OF_EXAMPLES = 0.1
"""A column that hardly varies in the data is scaled by at least this share of its spread in what is trained on."""


@dataclass(frozen=True)
class InputScaling:
    """Mean and scale of each input ``(n_inputs,)``; ``None`` where a network cannot be unfolded: nothing is scaled then."""

    mean: FloatArray | None = None
    scale: FloatArray | None = None

    @classmethod
    def of(cls, network: Any, data: Any, examples: Any) -> InputScaling:
        """For a network whose first layer is dense with biases.

        Args:
            network: of Keras.
            data: inputs of people as they are ``(n_rows, n_inputs)``.
            examples: inputs that are trained on, people from all over the domain among them.
        """
        layer = first_dense(network) if len(network.inputs) == 1 and isinstance(data, np.ndarray) else None
        if layer is None or layer.kernel.shape[0] != data.shape[1]:
            return cls()
        spread = np.maximum(data.std(axis=0), _LEAST_OF_EXAMPLES * examples.std(axis=0))
        return cls(data.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def scaled(self, inputs: Any) -> Any:
        """Inputs ``(n_rows, n_inputs)`` as the unfolded network takes them."""
        return inputs if self.mean is None else (inputs - self.mean) / self.scale

    def take(self, network: Any) -> None:
        """Unfold the first layer of a network that takes raw inputs, in place."""
        if self.mean is not None and self.scale is not None:
            layer = first_dense(network)
            weights, biases = (np.asarray(array, dtype=np.float64) for array in layer.get_weights())
            layer.set_weights([weights * self.scale[:, None], biases + self.mean @ weights])

    def give_back(self, network: Any) -> None:
        """Fold it again, in place: the network takes raw inputs."""
        if self.mean is not None and self.scale is not None:
            layer = first_dense(network)
            weights, biases = (np.asarray(array, dtype=np.float64) for array in layer.get_weights())
            folded = weights / self.scale[:, None]
            layer.set_weights([folded, biases - self.mean @ folded])


def first_dense(network: Any) -> Any:
    """The layer that takes the inputs as they are, if it is a plain dense one with biases, used once and trained; else ``None``."""
    layers = [layer for layer in network.layers if type(layer).__name__ not in _NEUTRAL]
    first = layers[0] if layers else None
    is_plain = first is not None and type(first).__name__ == "Dense" and first.use_bias and first.trainable
    if not is_plain or getattr(first, "quantization_mode", None) or getattr(first, "lora_enabled", False):
        return None
    return first if is_chain(network) and not _is_restrained(first) else None


def is_chain(network: Any) -> bool:
    """Whether every layer takes the output of the one before alone."""
    if (
        type(network).__name__ == "Sequential"
    ):  # built layer by layer, each layer has a node for every layer that followed
        return len({id(layer) for layer in network.layers}) == len(network.layers)
    return all(len(layer._inbound_nodes) == 1 and len(_parents(layer)) <= 1 for layer in network.layers)


def _parents(layer: Any) -> list[Any]:
    return [parent for node in layer._inbound_nodes for parent in node.parent_nodes]


def _is_restrained(layer: Any) -> bool:
    """A penalty or a limit on the weights is meant for those in the file."""
    parts = ("kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint")
    return any(getattr(layer, part, None) is not None for part in parts)
