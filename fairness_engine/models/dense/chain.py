"""Builds a dense network step by step: weighted sums, scalings and activations in the order the data meets them.

Scalings and shifts (standardisation, batch normalisation) are folded into the weights beside them.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import ModelError
from fairness_engine.models.dense.activations import weighted_sums
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer

_MAX_IDENTITY = 20_000


class DenseChain:
    """Collects the steps of a network.

    Args:
        width: number of inputs, or ``None`` when the first weights tell it.
    """

    def __init__(self, width: int | None = None) -> None:
        self.width = width
        self._layers: list[Layer] = []
        self._scaling: tuple[FloatArray, FloatArray] | None = None

    def multiply(self, weights: FloatArray, biases: FloatArray | None = None) -> None:
        """``x -> x @ weights + biases``.

        Args:
            weights: ``(n_in, n_out)``.
            biases: ``(n_out,)``; ``None`` for none.

        Raises:
            ModelError: the shapes do not chain.
        """
        self.check_shapes(weights.shape, None if biases is None else biases.shape)
        sums = np.zeros(weights.shape[1]) if biases is None else biases.astype(np.float64)
        if self._scaling is not None:
            scale, shift = self._scaling
            sums = weighted_sums(shift[None, :], weights, sums)[0]
            self._scaling = None
            weights = weights * scale[:, None]
        self._layers.append(Layer(weights, sums))
        self.width = weights.shape[1]

    def check_shapes(self, weights: tuple[int, ...], biases: tuple[int, ...] | None) -> None:
        """Whether weights and biases of these shapes follow; asked before they are read.

        Raises:
            ModelError: the shapes do not chain.
        """
        if len(weights) != 2 or min(weights) < 1:
            raise ModelError(f"A dense layer needs a matrix of weights, got one of shape {weights}.")
        self._check_width(weights[0])
        if biases not in (None, (weights[1],)):
            raise ModelError(f"Weights of shape {weights} need {weights[1]} biases, got shape {biases}.")

    def scale(self, factor: FloatArray | float, shift: FloatArray | float) -> None:
        """``x -> x * factor + shift``, a number or one value a unit each.

        Raises:
            ModelError: another number of values than units, or the width is not known yet.
        """
        sizes = {np.size(factor), np.size(shift)} - {1}
        if self.width is None and len(sizes) == 1:
            self.width = sizes.pop()
        if self.width is None:
            raise ModelError("The model must say how many inputs it takes, but its file does not.")
        for value in (factor, shift):
            if np.size(value) not in (1, self.width):
                raise ModelError(f"A scaling of {self.width} values needs as many factors, got {np.size(value)}.")
        factors = np.broadcast_to(np.asarray(factor, dtype=np.float64).ravel(), (self.width,)).copy()
        shifts = np.broadcast_to(np.asarray(shift, dtype=np.float64).ravel(), (self.width,)).copy()
        if not (np.isfinite(factors).all() and np.isfinite(shifts).all()):
            raise ModelError(
                "The weights must be finite numbers, but a scaling has some that are not. Save the model again."
            )
        if self._layers and self._layers[-1].activation is Activation.LINEAR and self._scaling is None:
            last = self._layers.pop()
            self._layers.append(Layer(last.weights * factors, last.biases * factors + shifts))
        elif self._scaling is None:
            self._scaling = factors, shifts
        else:
            before, offset = self._scaling
            self._scaling = before * factors, offset * factors + shifts

    def activate(self, activation: Activation, slope: float = 0.0) -> None:
        """Apply an activation to what the chain gives so far."""
        if activation is Activation.LINEAR:
            return
        if self._scaling is not None or not self._layers or self._layers[-1].activation is not Activation.LINEAR:
            if self.width is None:
                raise ModelError("The model must say how many inputs it takes, but its file does not.")
            self.multiply(_identity(self.width))
        last = self._layers.pop()
        self._layers.append(Layer(last.weights, last.biases, activation, slope))

    @property
    def is_empty(self) -> bool:
        """Nothing was added yet."""
        return not self._layers and self._scaling is None

    @property
    def has_inner_softmax(self) -> bool:
        """A softmax before the last layer: no ``DenseNetwork`` can be made."""
        return any(layer.activation is Activation.SOFTMAX for layer in self._layers[:-1]) or bool(
            self._layers and self._layers[-1].activation is Activation.SOFTMAX and self._scaling is not None
        )

    def finish(self, feature_names: tuple[str, ...] | None = None, kind: str = "dense network") -> DenseNetwork:
        """The network.

        Raises:
            ModelError: there is no layer, or the shapes do not chain.
        """
        if self._scaling is not None and self.width is not None:
            self.multiply(_identity(self.width))
        return DenseNetwork(self._layers, feature_names, kind)

    def _check_width(self, n_inputs: int) -> None:
        if self.width is not None and self.width != n_inputs:
            raise ModelError(
                f"The layers of the model must chain, but one with {self.width} outputs is followed by one with "
                f"{n_inputs} inputs. Save the model again."
            )


def _identity(width: int) -> FloatArray:
    """A matrix that changes nothing.

    Raises:
        ModelError: the file declares more inputs than a table has columns, by far.
    """
    if width > _MAX_IDENTITY:
        raise ModelError(
            f"The model must begin with weights, or take at most {_MAX_IDENTITY:,} inputs, but its file declares "
            f"{width:,}. Save the model again."
        )
    return np.eye(width)
