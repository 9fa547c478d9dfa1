"""Dense networks evaluated in NumPy: the weights of a file, no framework.

Scores are computed in float64. Margins, which a search asks for millions of times, are computed in float32 over
blocks of rows that stay in the processor's cache, without the last sigmoid or softmax: the logit is compared with
the threshold's logit instead.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.errors import FitError, ModelError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.activations import DERIVATIVES, Activation, Values, apply_activation, sigmoid, softmax
from fairness_engine.models.model import Output

_CACHE_VALUES = 1 << 17
"""Values of the widest layer that a block of rows may take: two such layers in float32 fill a 1 MB cache."""
_MIN_BLOCK_ROWS, _MAX_BLOCK_ROWS = 256, 4096
_PADDED_ROWS = 256
"""Products are made of a multiple of this many rows. BLAS picks its kernel by the shape, and its kernels round differently:
without the padding a row's score would depend, in its last bits, on the rows beside it, and a search on its block sizes."""
_EXACT_ROWS = 512
"""Products in float64 all have this many rows: there the kernels differ between padded sizes too."""


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


@dataclass(frozen=True)
class _Stack:
    """The layers in one precision, the last activation left out."""

    weights: tuple[Values, ...]
    biases: tuple[Values, ...]
    dtype: type[np.floating[Any]]


class DenseNetwork:
    """A predictor of dense layers.

    One sigmoid output, or softmax over two, gives one score: the probability of class 1. One linear output (or two)
    gives one score: its logit (their difference), to be compared with 0. More outputs give one score each.

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
        widest = max(max(layer.weights.shape) for layer in layers)
        self._block_rows = _padded(min(max(_CACHE_VALUES // widest, _MIN_BLOCK_ROWS), _MAX_BLOCK_ROWS))
        self._scratch = threading.local()

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of units of every layer, the inputs first."""
        return (self.layers[0].weights.shape[0], *(layer.weights.shape[1] for layer in self.layers))

    @property
    def default_threshold(self) -> float:
        """Scores above it mean class 1: 0.5 for a probability, 0 for a logit."""
        return 0.5 if self.output is Output.PROBABILITY else 0.0

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)`` in float64 of inputs ``(n_rows, n_inputs)``."""
        return self._to_scores(self.logits(inputs))

    def fast_scores(self, inputs: Any) -> FloatArray:
        """As ``predict``, from logits in float32 arithmetic."""
        return self._to_scores(self._forward(inputs, self._fast))

    def nearby_scores(self, inputs: Any, columns: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``fast_scores`` of rows, and of each with one input moved; the first layer is computed once a row.

        Args:
            inputs: ``(n_rows, n_inputs)``.
            columns: which inputs move ``(n_moves,)``.
            steps: by how much ``(n_rows, n_moves)``.

        Returns:
            ``(n_rows, n_scores)`` and ``(n_rows, n_moves, n_scores)``.
        """
        stack, n_each = self._fast, len(columns) + 1
        first, bias = stack.weights[0], stack.biases[0]
        pulls = first[columns]

        def spread(shared: Values, part: slice, sums: Values) -> None:
            shared += bias
            sums[:, 0] = shared
            np.multiply(steps[part, :, None].astype(stack.dtype), pulls, out=sums[:, 1:])
            sums[:, 1:] += shared[:, None]

        scores = self._to_scores(self._sharing_first(inputs, first, n_each, spread, stack)).reshape(
            len(inputs), n_each, -1
        )
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
        scores, rows = self._to_scores(logits.copy()), np.arange(len(logits))
        wanted = np.zeros(len(rows), np.int64) if classes is None or self.n_scores == 1 else classes
        by_logit = np.stack(derivatives, axis=1)
        own = by_logit[rows, wanted]
        last = self.layers[-1]
        if last.activation is Activation.SOFTMAX and self.n_scores > 1:
            share = scores[rows, wanted][:, None]
            return np.asarray(share * (own - np.einsum("nk,nki->ni", scores, by_logit)))
        activation = Activation.SIGMOID if last.activation in _PROBABILITIES else last.activation
        slopes = DERIVATIVES[activation](logits, scores, last.slope)
        return np.asarray(own * slopes[rows, wanted][:, None])

    def _to_scores(self, logits: FloatArray) -> FloatArray:
        """The last activation; in place where it can be."""
        last = self.layers[-1]
        if last.activation is Activation.SOFTMAX:
            return sigmoid(logits) if self._is_difference else softmax(logits)
        if not self._is_difference:
            apply_activation(logits, last.activation, last.slope)
        return logits

    def logits(self, inputs: Any) -> FloatArray:
        """What enters the last activation, in float64: ``(n_rows, n_scores)``; of two classes the difference."""
        return self._forward(inputs, self._exact)

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores with the threshold at 0, in float32 arithmetic and before the last activation where that is monotone.

        One score: positive where it exceeds ``threshold``. Several: their order is that of the scores.
        """
        return self._margins(inputs, threshold, self._fast)

    def variant_margins(self, inputs: Any, columns: IntArray, values: FloatArray, threshold: float) -> FloatArray:
        """Margins of every variant of every row, ``(n_rows * n_variants, n_scores)``, the variants of a row together.

        The variants of a row share all of the first layer but the part of the protected columns, so that layer is computed
        once a row, and no variant is ever written out.

        Args:
            inputs: ``(n_rows, n_inputs)``; what they hold in ``columns`` does not matter.
            columns: the protected columns ``(n_protected,)``.
            values: what each variant holds in them ``(n_variants, n_protected)``.
            threshold: as in ``margins``.
        """
        stack = self._fast
        free = stack.weights[0].copy()
        free[columns] = 0
        shifts = (values @ self.layers[0].weights[columns] + self.layers[0].biases).astype(stack.dtype)

        def spread(shared: Values, _: slice, sums: Values) -> None:
            np.add(shared[:, None, :], shifts, out=sums)

        return self._to_margins(self._sharing_first(inputs, free, len(values), spread, stack), threshold)

    def _sharing_first(
        self,
        inputs: Any,
        first: Values,
        n_each: int,
        spread: Callable[[Values, slice, Values], None],
        stack: _Stack,
    ) -> FloatArray:
        """What enters the last activation, for people who share most of the first layer ``(n_rows * n_each, n_outputs)``.

        Args:
            inputs: ``(n_rows, n_inputs)``.
            first: the weights of what they share.
            n_each: people a row.
            spread: given the shared sums ``(n, n_units)`` of some rows, fills in those of their people ``(n, n_each, n_units)``.
            stack: the layers.
        """
        n_rows = len(inputs)
        block = max(1, min(self._block_rows // n_each, n_rows))
        rows = np.zeros((_padded(block), first.shape[0]), dtype=stack.dtype)
        sums = np.zeros((_padded(block * n_each), first.shape[1]), dtype=stack.dtype)
        result: FloatArray = np.empty((n_rows * n_each, stack.weights[-1].shape[1]))
        for start in range(0, n_rows, block):
            n = min(block, n_rows - start)
            np.copyto(rows[:n], inputs[start : start + n], casting="same_kind")
            shared = rows[: _padded(n)] @ first
            spread(shared[:n], slice(start, start + n), sums[: n * n_each].reshape(n, n_each, -1))
            part = slice(start * n_each, (start + n) * n_each)
            result[part] = self._after_first(sums[: _padded(n * n_each)], stack)[: n * n_each]
        return result

    def _after_first(self, sums: Values, stack: _Stack) -> Values:
        """What enters the last activation, from the sums of the first layer (which are overwritten)."""
        buffers = self._buffers(stack, len(sums))
        for i in range(1, len(self.layers)):
            apply_activation(sums, self.layers[i - 1].activation, self.layers[i - 1].slope)
            sums = np.matmul(sums, stack.weights[i], out=buffers[i + 1][: len(sums)])
            sums += stack.biases[i]
        return sums

    def exact_margins(self, inputs: Any, threshold: float) -> FloatArray:
        """As ``margins``, in float64 arithmetic."""
        return self._margins(inputs, threshold, self._exact)

    def gradients(self, inputs: Any, output: int = 0) -> FloatArray:
        """Derivatives of one logit by the inputs, ``(n_rows, n_inputs)``, by back-propagation in float64.

        Args:
            inputs: ``(n_rows, n_inputs)``.
            output: which logit, 0..n_scores-1.
        """
        return self._derive(inputs, (output,))[1][0]

    def _derive(self, inputs: Any, outputs: Sequence[int]) -> tuple[FloatArray, list[FloatArray]]:
        """The logits ``(n_rows, n_scores)`` and the derivatives of some of them, ``(n_rows, n_inputs)`` each."""
        values: Values = np.ascontiguousarray(inputs, dtype=np.float64)
        weights, biases = self._exact.weights, self._exact.biases
        slopes = []
        for i, layer in enumerate(self.layers[:-1]):
            sums = values @ weights[i] + biases[i]
            values = sums.copy()
            apply_activation(values, layer.activation, layer.slope)
            slopes.append(DERIVATIVES[layer.activation](sums, values, layer.slope))
        gradients: list[FloatArray] = []
        for output in outputs:
            gradient: FloatArray = np.repeat(weights[-1][:, output][None, :], len(values), axis=0)
            for slope, layer_weights in zip(reversed(slopes), reversed(weights[:-1]), strict=True):
                gradient = (gradient * slope) @ layer_weights.T
            gradients.append(gradient)
        logits: FloatArray = values @ weights[-1] + biases[-1]
        return logits, gradients

    def with_affine_inputs(self, scale: FloatArray, shift: FloatArray) -> DenseNetwork:
        """The network of ``x -> self(scale * x + shift)``, folded into the first layer so that it costs nothing.

        Args:
            scale, shift: ``(n_inputs,)`` each.
        """
        first = self.layers[0]
        biases = first.biases + shift @ first.weights
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

    def _stack(self, dtype: type[np.floating[Any]]) -> _Stack:
        weights = [layer.weights for layer in self.layers]
        biases = [layer.biases for layer in self.layers]
        if self._is_difference:
            weights[-1], biases[-1] = weights[-1][:, 1:] - weights[-1][:, :1], biases[-1][1:] - biases[-1][:1]
        return _Stack(
            tuple(np.ascontiguousarray(w, dtype=dtype) for w in weights),
            tuple(np.ascontiguousarray(b, dtype=dtype) for b in biases),
            dtype,
        )

    def _margins(self, inputs: Any, threshold: float, stack: _Stack) -> FloatArray:
        return self._to_margins(self._forward(inputs, stack), threshold)

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

    def _forward(self, inputs: Any, stack: _Stack) -> FloatArray:
        """What enters the last activation, ``(n_rows, n_scores)`` in float64, computed in the stack's precision."""
        inputs = np.asarray(inputs)
        if inputs.ndim != 2 or inputs.shape[1] != self.n_inputs:
            raise FitError(f"The model takes {self.n_inputs} inputs a row, got an array of shape {inputs.shape}.")
        result: FloatArray = np.empty((len(inputs), stack.weights[-1].shape[1]))
        is_exact = stack.dtype is np.float64
        block_rows = _EXACT_ROWS if is_exact else self._block_rows
        buffers = self._buffers(stack, block_rows)
        for start in range(0, len(inputs), block_rows):
            block = inputs[start : start + block_rows]
            n_padded = _EXACT_ROWS if is_exact else _padded(len(block))
            values: Values = buffers[0][:n_padded]
            np.copyto(values[: len(block)], block, casting="same_kind")
            values[len(block) :] = 0
            for i, (weights, biases) in enumerate(zip(stack.weights, stack.biases, strict=True)):
                sums = buffers[i + 1][:n_padded]
                np.matmul(values, weights, out=sums)
                sums += biases
                if i < len(self.layers) - 1:
                    apply_activation(sums, self.layers[i].activation, self.layers[i].slope)
                values = sums
            result[start : start + len(block)] = values[: len(block)]
        return result

    def _buffers(self, stack: _Stack, n_rows: int) -> list[Values]:
        """Scratch space of one thread in one precision, for ``n_rows`` or more: allocating it anew would cost as much as the arithmetic."""
        name = stack.dtype.__name__
        buffers: list[Values] | None = getattr(self._scratch, name, None)
        if buffers is None or len(buffers[0]) < n_rows:
            widths = (self.n_inputs or 0, *(weights.shape[1] for weights in stack.weights))
            buffers = [np.empty((n_rows, width), dtype=stack.dtype) for width in widths]
            setattr(self._scratch, name, buffers)
        return buffers


_PROBABILITIES = (Activation.SIGMOID, Activation.SOFTMAX)
_DIFFERENCES = (Activation.SOFTMAX, Activation.LINEAR)


def _padded(n_rows: int) -> int:
    """``n_rows`` rounded up to a multiple of ``_PADDED_ROWS``."""
    return -(-n_rows // _PADDED_ROWS) * _PADDED_ROWS


def threshold_logit(threshold: float) -> float:
    """``log(t / (1 - t))``: a probability exceeds ``t`` where its logit exceeds this."""
    if threshold <= 0:
        return -math.inf
    return math.inf if threshold >= 1 else math.log(threshold) - math.log1p(-threshold)


def _check_layers(layers: Sequence[Layer]) -> None:
    if not layers:
        raise ModelError("A network needs at least one dense layer, got none.")
    for i, layer in enumerate(layers):
        shape, n_biases = layer.weights.shape, layer.biases.shape
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
