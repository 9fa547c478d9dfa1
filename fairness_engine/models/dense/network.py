"""Dense networks evaluated by compiled loops: the weights of a file, no framework.

Scores are computed in float64. Margins, which a search asks for millions of times, are computed in float32 and without
the last sigmoid or softmax: the logit is compared with the threshold's logit instead. Both are the same to the bit on
every machine (``dense_kernels``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.dense.activations import apply_activation, derivative, sigmoid, softmax, weighted_sums
from fairness_engine.models.dense.layers import Activation, Stack, Values, number_of
from fairness_engine.models.model import Output
from fairness_engine.models.sklearn.voting import positive_score

_MAX_KEPT = 8
"""Sets of protected columns for which the first layer is kept without them."""


@dataclass(frozen=True)
class Layer:
    """One dense layer.

    Args:
        weights: ``(n_in, n_out)``.
        biases: ``(n_out,)``.
        activation: applied to ``inputs @ weights + biases``; softmax in the last layer only.
        slope: of the negative side of ``leaky_relu``; the alpha of ``elu``.
    """

    weights: FloatArray
    biases: FloatArray
    activation: Activation = Activation.LINEAR
    slope: float = 0.0


class DenseNetwork:
    """A predictor of dense layers.

    One sigmoid output, or softmax over two, gives one score: the probability of class 1. One linear output (or two)
    gives one score: its logit (their difference), to be compared with 0. More outputs give one score each. A
    probability is above 1/2 where its logit is above 0, however little: rounded on its own, that of a logit of 1e-17
    would be 1/2 itself.

    Args:
        layers: at least one; each takes as many inputs as the one before has outputs.
        feature_names: names of the inputs, when the file carries them.
        kind: what a screen calls it.

    Raises:
        ModelError: shapes that do not chain, a weight that is not finite, softmax before the last layer.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        feature_names: tuple[str, ...] | None = None,
        kind: str = "dense network",
    ) -> None:
        _check_layers(layers)
        self.layers = tuple(layers)
        self.feature_names = feature_names
        self.kind = kind
        self.n_inputs: int | None = layers[0].weights.shape[0]
        self._is_difference = layers[-1].weights.shape[1] == 2 and layers[-1].activation in _DIFFERENCES
        n_outputs = layers[-1].weights.shape[1]
        self.n_scores = 1 if self._is_difference else n_outputs
        self.output = Output.PROBABILITY if layers[-1].activation in _PROBABILITIES else Output.LOGIT
        self._exact = self._stack(np.float64)
        self._fast = self._stack(np.float32)
        self._without: dict[bytes, tuple[Any, ...]] = {}

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of units of every layer, the inputs first."""
        return (self.layers[0].weights.shape[0], *(layer.weights.shape[1] for layer in self.layers))

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)`` in float64 of inputs ``(n_rows, n_inputs)``."""
        return self._to_scores(self.logits(inputs))

    def fast_scores(self, inputs: Any) -> FloatArray:
        """As ``predict``, from logits in float32 arithmetic."""
        return self._to_scores(self._forward(inputs, self._fast_arrays))

    def nearby_scores(self, inputs: Any, columns: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``fast_scores`` of rows, and of each with one input moved; the first layer is computed once a row.

        Args:
            inputs: ``(n_rows, n_inputs)``.
            columns: which inputs move ``(n_moves,)``.
            steps: by how much ``(n_rows, n_moves)``.

        Returns:
            ``(n_rows, n_scores)`` and ``(n_rows, n_moves, n_scores)``.
        """
        pulls = np.concatenate([np.zeros((1, self.widths[1])), self.layers[0].weights[columns]]).astype(np.float32)
        steps = np.concatenate([np.zeros((len(steps), 1)), steps], axis=1).astype(np.float32)
        logits = self._shifted(inputs, pulls, steps, self._fast_arrays)
        scores = self._to_scores(logits).reshape(len(inputs), len(columns) + 1, -1)
        return scores[:, 0], scores[:, 1:]

    def scores_of(self, margins: FloatArray, threshold: float) -> FloatArray:
        """Scores ``(n_rows, n_scores)`` from ``margins`` at the same threshold."""
        if self.n_scores > 1:
            return self._to_scores(margins.copy())
        if self.layers[-1].activation in _PROBABILITIES:
            return sigmoid(margins + threshold_logit(threshold))
        return margins + threshold

    def score_gradients(self, inputs: Any, classes: IntArray | None = None) -> FloatArray:
        """Derivatives of a score by the inputs, ``(n_rows, n_inputs)``, by back-propagation in float64.

        Args:
            inputs: ``(n_rows, n_inputs)``.
            classes: for several scores: which one, by row ``(n_rows,)``. One score is that of class 1.
        """
        logits, derivatives = self._derive(inputs, range(self.n_scores))
        scores = self._to_scores(logits.copy())
        rows = np.arange(len(logits))
        wanted = np.zeros(len(rows), np.int64) if classes is None or self.n_scores == 1 else classes
        by_logit = np.stack(derivatives, axis=1)
        own = by_logit[rows, wanted]
        last = self.layers[-1]
        if last.activation is Activation.SOFTMAX and self.n_scores > 1:
            share = scores[rows, wanted][:, None]
            mean = np.zeros_like(own)
            for k in range(self.n_scores):
                mean += scores[:, k, None] * by_logit[:, k]
            return np.asarray(share * (own - mean))
        activation = Activation.SIGMOID if last.activation in _PROBABILITIES else last.activation
        slopes = derivative(activation, logits, scores, last.slope)
        return np.asarray(own * slopes[rows, wanted][:, None])

    def _to_scores(self, logits: FloatArray) -> FloatArray:
        """The last activation; in place where it can be."""
        last = self.layers[-1]
        if last.activation is Activation.SOFTMAX and not self._is_difference:
            return softmax(logits)
        if self.n_scores == 1 and last.activation in _PROBABILITIES:
            return positive_score(sigmoid(logits), logits > 0)
        if not self._is_difference:
            apply_activation(logits, last.activation, last.slope)
        return logits

    def logits(self, inputs: Any) -> FloatArray:
        """What enters the last activation, in float64: ``(n_rows, n_scores)``; of two classes the difference."""
        return self._forward(inputs, self._exact_arrays)

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores with the threshold at 0, in float32 arithmetic and before the last activation where that is monotone.

        One score: positive where it exceeds ``threshold``. Several: their order is that of the scores.
        """
        return self._to_margins(self._forward(inputs, self._fast_arrays), threshold)

    def variant_margins(self, inputs: Any, columns: IntArray, values: FloatArray, threshold: float) -> FloatArray:
        """Margins of every variant of every row, ``(n_rows * n_variants, n_scores)``, the variants of a row together.

        The variants of a row share all of the first layer but the part of the protected columns, so that layer is
        computed once a row, and no variant is ever written out.

        Args:
            inputs: ``(n_rows, n_inputs)``; what they hold in ``columns`` does not matter.
            columns: the protected columns ``(n_protected,)``.
            values: what each variant holds in them ``(n_variants, n_protected)``.
            threshold: as in ``margins``.
        """
        shifts = weighted_sums(values, self.layers[0].weights[columns], self.layers[0].biases).astype(np.float32)
        key = columns.tobytes()
        if key not in self._without:
            free = self.layers[0].weights.copy()
            free[columns] = 0
            if len(self._without) >= _MAX_KEPT:
                self._without.clear()
            self._without[key] = self._fast.with_first(free, np.zeros(len(self.layers[0].biases))).arrays
        no_steps = np.empty((0, len(values)), np.float32)
        return self._to_margins(self._shifted(inputs, shifts, no_steps, self._without[key]), threshold)

    def _shifted(self, inputs: Any, shifts: Values, steps: Values, arrays: tuple[Any, ...]) -> FloatArray:
        """What enters the last activation, of people who share the first layer but a shift ``(n_rows * n_each,
        n_outputs)``.
        """
        from fairness_engine.models.dense import kernels as dense_kernels  # loads numba

        rows = self._checked(inputs)
        result: FloatArray = np.empty((len(rows), len(shifts), arrays[0][-1]))
        dense_kernels.forward_shifted(rows, shifts, steps, arrays, result)
        return result.reshape(-1, result.shape[2])

    @cached_property
    def _fast_arrays(self) -> tuple[Any, ...]:
        return self._fast.arrays

    @cached_property
    def _exact_arrays(self) -> tuple[Any, ...]:
        return self._exact.arrays

    @cached_property
    def _turned_arrays(self) -> tuple[Any, ...]:
        return self._exact.turned().arrays

    def magnitudes(self, inputs: Any) -> FloatArray:
        """What the terms of the last sums add up to, all taken as positive: their rounding is in proportion to it
        ``(n_rows, n_scores)``.
        """
        values = np.abs(self._checked(inputs))
        for weights, biases in zip(self._exact.weights, self._exact.biases, strict=True):
            values = values @ np.abs(weights) + np.abs(biases)
        return values

    def exact_margins(self, inputs: Any, threshold: float) -> FloatArray:
        """As ``margins``, in float64 arithmetic."""
        return self._to_margins(self._forward(inputs, self._exact_arrays), threshold)

    def gradients(self, inputs: Any, output: int = 0) -> FloatArray:
        """Derivatives of one logit by the inputs, ``(n_rows, n_inputs)``, by back-propagation in float64.

        Args:
            inputs: ``(n_rows, n_inputs)``.
            output: which logit, 0..n_scores-1.
        """
        return self._derive(inputs, (output,))[1][0]

    def _derive(self, inputs: Any, outputs: Sequence[int]) -> tuple[FloatArray, list[FloatArray]]:
        """The logits ``(n_rows, n_scores)`` and the derivatives of some of them, ``(n_rows, n_inputs)`` each."""
        from fairness_engine.models.dense import kernels as dense_kernels  # loads numba

        rows = self._checked(inputs)
        logits: FloatArray = np.empty((len(rows), self.n_scores))
        gradients = np.empty((len(outputs), *rows.shape))
        chosen = np.array(outputs, np.int64)
        dense_kernels.backward(rows, chosen, self._exact_arrays, self._turned_arrays, logits, gradients)
        return logits, list(gradients)

    def with_affine_inputs(self, scale: FloatArray, shift: FloatArray) -> DenseNetwork:
        """The network of ``x -> self(scale * x + shift)``, folded into the first layer so that it costs nothing.

        Args:
            scale, shift: ``(n_inputs,)`` each.
        """
        first = self.layers[0]
        biases = weighted_sums(shift[None, :], first.weights, first.biases)[0]
        layer = Layer(first.weights * scale[:, None], biases, first.activation, first.slope)
        return DenseNetwork((layer, *self.layers[1:]), self.feature_names, self.kind)

    def with_class_order(self, order: Sequence[int]) -> DenseNetwork | None:
        """The network with its classes put into another order; ``None`` where one output cannot be mirrored.

        Args:
            order: for every class of the result, the class of this network.
        """
        last = self.layers[-1]
        if last.weights.shape[1] > 1:
            layer = Layer(last.weights[:, list(order)], last.biases[list(order)], last.activation, last.slope)
        elif last.activation in (Activation.SIGMOID, Activation.LINEAR, Activation.TANH):
            layer = Layer(-last.weights, -last.biases, last.activation)
        else:
            return None
        return DenseNetwork((*self.layers[:-1], layer), self.feature_names, self.kind)

    def _stack(self, dtype: type[np.floating[Any]]) -> Stack:
        weights = [layer.weights for layer in self.layers]
        biases = [layer.biases for layer in self.layers]
        if self._is_difference:
            weights[-1] = weights[-1][:, 1:] - weights[-1][:, :1]
            biases[-1] = biases[-1][1:] - biases[-1][:1]
        return Stack(
            tuple(np.ascontiguousarray(w, dtype=dtype) for w in weights),
            tuple(np.ascontiguousarray(b, dtype=dtype) for b in biases),
            tuple(number_of(layer.activation) for layer in self.layers[:-1]),
            tuple(layer.slope for layer in self.layers[:-1]),
        )

    def _to_margins(self, margins: FloatArray, threshold: float) -> FloatArray:
        """Margins of what enters the last activation; in place."""
        if self.n_scores > 1:
            return margins
        last = self.layers[-1].activation
        if last in _PROBABILITIES:
            margins -= threshold_logit(threshold)
            return margins
        if last is not Activation.LINEAR:
            apply_activation(margins, last, self.layers[-1].slope)
        if threshold:
            margins -= threshold
        return margins

    def _forward(self, inputs: Any, arrays: tuple[Any, ...]) -> FloatArray:
        """What enters the last activation, ``(n_rows, n_scores)`` in float64, computed in the precision of the
        arrays.
        """
        from fairness_engine.models.dense import kernels as dense_kernels  # loads numba

        rows = self._checked(inputs)
        result: FloatArray = np.empty((len(rows), arrays[0][-1]))
        dense_kernels.forward(rows, arrays, result)
        return result

    def _checked(self, inputs: Any) -> FloatArray:
        """The inputs as compiled loops take them.

        Raises:
            FitError: they are not ``(n_rows, n_inputs)``.
        """
        rows = np.asarray(inputs)
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            raise FitError(f"The model takes {self.n_inputs} inputs a row, got an array of shape {rows.shape}.")
        return np.ascontiguousarray(rows, dtype=np.float64)


_PROBABILITIES = (Activation.SIGMOID, Activation.SOFTMAX)
_DIFFERENCES = (Activation.SOFTMAX, Activation.LINEAR)


def threshold_logit(threshold: float) -> float:
    """``log(t / (1 - t))``: a probability exceeds ``t`` where its logit exceeds this."""
    if threshold <= 0:
        return -math.inf
    return math.inf if threshold >= 1 else math.log(threshold) - math.log1p(-threshold)


def _check_layers(layers: Sequence[Layer]) -> None:
    if not layers:
        raise ModelError("A network needs at least one dense layer, got none.")
    for i, layer in enumerate(layers):
        shape = layer.weights.shape
        n_biases = layer.biases.shape
        if len(shape) != 2 or min(shape) < 1 or n_biases != (shape[1],):
            raise ModelError(
                f"Layer {i + 1} has weights of shape {shape} and biases of shape {n_biases}; they must fit."
            )
        if i and shape[0] != layers[i - 1].weights.shape[1]:
            before = layers[i - 1].weights.shape[1]
            raise ModelError(f"Layer {i + 1} takes {shape[0]} inputs, but the layer before has {before} outputs.")
        if not (np.isfinite(layer.weights).all() and np.isfinite(layer.biases).all()):
            raise ModelError(
                f"Layer {i + 1} has weights that are not finite numbers: its training failed. Train and save it again."
            )
        if layer.activation is Activation.SOFTMAX and i < len(layers) - 1:
            raise ModelError("Softmax must be the last activation of the network.")
