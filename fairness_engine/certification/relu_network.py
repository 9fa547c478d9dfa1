"""A dense ReLU network over the lattice of a space: what a certifier needs of a model, in float64.

Every encoder of the engine treats each column by itself, so the first layer's sums are a sum over the columns: a number
times the digit where they grow evenly with it, a table otherwise (one-hot categories, uneven codes). The protected
columns add one vector a variant.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.data.schema import Kind
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer, threshold_logit
from fairness_engine.models.encoders.encoders import CodesEncoder, FoldedEncoder, LabelsEncoder
from fairness_engine.models.encoders.one_hot import OneHotEncoder
from fairness_engine.models.encoders.tabulated import TabulatedEncoder
from fairness_engine.models.model import Model

_HIDDEN = (Activation.RELU, Activation.RELU6, Activation.LEAKY_RELU, Activation.LINEAR)
_ONE_OUTPUT = (Activation.SIGMOID, Activation.TANH, Activation.LINEAR)
_SEVERAL_OUTPUTS = (Activation.SOFTMAX, Activation.LINEAR)
_REMEDY = "Search for pairs or estimate the share instead."
_NEAREST_TO_ONE = 1e-5
"""Between a threshold and 1, which large sums are rounded to: nearer, what rounds past the threshold is no longer
known.
"""
_NEAREST_TO_ZERO = 1e-300


def why_not(network: DenseNetwork) -> str | None:
    """Why the activations of a network cannot be certified and what to do, or ``None``."""
    for number, layer in enumerate(network.layers[:-1], 1):
        if layer.activation not in _HIDDEN:
            return (
                f"Hidden layer {number} uses {layer.activation}, and proofs are made for ReLU (also leaky, and capped "
                f"at 6) only. {_REMEDY}"
            )
        if layer.activation is Activation.LEAKY_RELU and not 0 <= layer.slope <= 1:
            return (
                f"Hidden layer {number} uses {layer.activation} with slope {layer.slope:g}, and proofs are made for "
                f"slopes from 0 to 1 only. {_REMEDY}"
            )
    last = network.layers[-1].activation
    n_outputs = network.layers[-1].weights.shape[1]
    if n_outputs == 1 and last is Activation.SOFTMAX:
        return (
            "Its only output uses softmax, which is 1 for everybody. Train it with a sigmoid, or with an output a "
            "class."
        )
    if last not in (_ONE_OUTPUT if n_outputs == 1 else _SEVERAL_OUTPUTS):
        outputs, known = ("output", _ONE_OUTPUT) if n_outputs == 1 else (f"{n_outputs} outputs", _SEVERAL_OUTPUTS)
        uses = "uses" if n_outputs == 1 else "use"
        return (
            f"The {outputs} {uses} {last}, and proofs are made for {', '.join(known[:-1])} and {known[-1]} there. "
            f"{_REMEDY}"
        )
    return None


def plain_layers(network: DenseNetwork, threshold: float) -> list[Layer]:
    """Layers that decide as the network does: class 1 where the only last sum is above 0, or the class of the largest.

    Two outputs become their difference, a cap at 6 becomes a second ReLU, and linear layers are multiplied into the
    ones behind them.

    Raises:
        ModelError: an activation whose bounds are not known here, named.
        SettingError: a threshold that no score crosses.
    """
    reason = why_not(network)
    if reason is not None:
        raise ModelError(f"This network cannot be certified. {reason}")
    layers = _uncapped(network.layers)
    last = layers[-1]
    weights = last.weights
    biases = last.biases
    if weights.shape[1] == 2 and network.n_scores == 1:
        weights = weights[:, 1:] - weights[:, :1]
        biases = biases[1:] - biases[:1]
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
            f"A proof needs a decision threshold that scores cross, from {low:.6g} to {high:.6f}, got {threshold:g}. "
            "Set it under Scope, or leave it to the model."
        )


def _uncapped(layers: tuple[Layer, ...]) -> list[Layer]:
    """``min(relu(z), 6) = relu(z) - relu(z - 6)``: twice the neurons, and the layer behind takes the second half
    away.
    """
    plain: list[Layer] = []
    is_after_capped = False
    for layer in layers:
        weights = layer.weights
        biases = layer.biases
        activation = layer.activation
        if is_after_capped:
            weights = np.concatenate([weights, -weights])
        is_after_capped = activation is Activation.RELU6
        if is_after_capped:
            weights = np.concatenate([weights, weights], axis=1)
            biases = np.concatenate([biases, biases - 6.0])
            activation = Activation.RELU
        plain.append(Layer(weights, biases, activation, layer.slope))
    return plain


def _merged(layers: list[Layer]) -> list[Layer]:
    """Linear layers multiplied into the ones behind them."""
    merged = [layers[0]]
    for layer in layers[1:]:
        before = merged[-1]
        if before.activation is Activation.LINEAR:
            weights = before.weights @ layer.weights
            biases = before.biases @ layer.weights + layer.biases
            merged[-1] = Layer(weights, biases, layer.activation, layer.slope)
        else:
            merged.append(layer)
    return merged


_EVEN = 1e-13
"""Sums that grow with the digit are taken as a number times the digit where they deviate by at most this share of the
largest.
"""
_BLOCK_NUMBERS = 1 << 22
"""Encoded numbers at once: 32 MB."""
_MAX_TABLE_NUMBERS = 1 << 26
"""Numbers of a column's table: half a gigabyte."""
_COLUMN_WISE = (CodesEncoder, FoldedEncoder, OneHotEncoder, LabelsEncoder, TabulatedEncoder)
_NUMBERS_AS_THEY_ARE = (CodesEncoder, FoldedEncoder, OneHotEncoder)


@dataclass(frozen=True)
class ReluNetwork:
    """``z_v = places(x) @ first + shifts[v]``, then ``z -> relu(z) @ weights[i] + biases[i]`` layer by layer.

    Column ``i`` has the places ``starts[i]`` to ``starts[i + 1]``: one, which holds the digit itself, or one a digit,
    which hold 1 for the digit and 0 for the others.

    Args:
        first: ``(n_places, n_1)``.
        starts: ``(D + 1,)``.
        reach: how far the column's value may be from its digit's, in digits ``(D,)``: half a cell of a continuous
            column, else 0.
        shifts: of each variant, the bias among them ``(K, n_1)``; variants that are the same to the network are listed
            once.
        weights: of the later layers ``(n_in, n_out)`` each; empty for a linear model.
        biases: of the later layers ``(n_out,)`` each.
        slopes: of the negative side of every hidden layer: 0 for ReLU, up to 1.
        variants: the line of ``shifts`` of each combination of protected values ``(n_variants,)``; each has its own
            unless given.
        magnitude: the largest sum of the absolute terms of a first sum: what its rounding in float64 is relative to.
    """

    first: FloatArray
    starts: IntArray
    reach: FloatArray
    shifts: FloatArray
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    slopes: tuple[float, ...]
    variants: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    magnitude: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.variants):
            object.__setattr__(self, "variants", np.arange(len(self.shifts)))

    @property
    def n_outputs(self) -> int:
        """How many last sums there are: 1 decides by its sign (above 0 is class 1), of more the largest."""
        return int((self.weights or (self.first,))[-1].shape[1])

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of every hidden layer."""
        return (self.first.shape[1], *(w.shape[1] for w in self.weights[:-1])) if self.weights else ()

    @property
    def n_variants(self) -> int:
        """How many combinations of protected values differ to the network."""
        return len(self.shifts)

    @property
    def is_blind(self) -> bool:
        """True when no protected value changes anything."""
        return len(self.shifts) == 1

    def last_sums(self, digits: IntArray) -> FloatArray:
        """What decides about individuals ``(n, D)``: ``(n, K, n_outputs)``; of cells their middle."""
        sums = np.repeat(self.shifts[None], len(digits), axis=0)
        for i, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            is_number = end - start == 1
            part = digits[:, i, None] * self.first[start] if is_number else self.first[start + digits[:, i]]
            sums += part[:, None, :]
        for weights, biases, slope in zip(self.weights, self.biases, self.slopes, strict=True):
            sums = np.where(sums > 0, sums, slope * sums) @ weights + biases
        return sums


class FlatNetwork(NamedTuple):
    """A ``ReluNetwork`` in one type for all depths, as compiled loops take it: the later layers end to end."""

    first: FloatArray  # (n_places, n_1)
    starts: IntArray  # (D + 1,)
    reach: FloatArray  # (D,)
    shifts: FloatArray  # (K, n_1) of variants by themselves, then pairs: the ends of lines of variants
    n_alone: int  # how many are by themselves
    widths: IntArray  # (n_layers,) of every sum, the output's at the end
    weights: FloatArray  # of layer 2, 3, ... end to end, row by row
    positive: FloatArray  # those above 0, 0 for the others
    negative: FloatArray  # those below 0
    biases: FloatArray
    weight_starts: IntArray  # (n_layers - 1,) where the weights behind each layer begin
    bias_starts: IntArray  # (n_layers - 1,)
    slopes: FloatArray  # (n_layers - 1,)
    is_touched: BoolArray  # (n_1,) sums that protected values move, and that go on
    magnitude: float


def flatten(network: ReluNetwork, bounded: IntArray | None = None, n_alone: int | None = None) -> FlatNetwork:
    """A network as the loops take it.

    Args:
        bounded: which variants have bounds, those by themselves first; ``None`` for each by itself.
        n_alone: how many are by themselves; what follows are pairs, the ends of lines of variants.
    """
    shifts = network.shifts if bounded is None else network.shifts[bounded]
    widths = [network.first.shape[1], *(w.shape[1] for w in network.weights)]
    goes_on = network.weights[0].any(axis=1) if network.weights else np.ones(widths[0], dtype=bool)
    weights = np.concatenate([*(w.ravel() for w in network.weights), np.empty(0)])
    sizes = [a * b for a, b in itertools.pairwise(widths)]
    return FlatNetwork(
        np.ascontiguousarray(network.first),
        network.starts,
        network.reach,
        np.ascontiguousarray(shifts),
        len(shifts) if n_alone is None else n_alone,
        np.array(widths, dtype=np.int64),
        weights,
        np.maximum(weights, 0.0),
        np.minimum(weights, 0.0),
        np.concatenate([*network.biases, np.empty(0)]),
        np.cumsum([0, *sizes], dtype=np.int64)[:-1],
        np.cumsum([0, *widths[1:]], dtype=np.int64)[:-1],
        np.array(network.slopes, dtype=np.float64),
        np.asarray((network.shifts != network.shifts[0]).any(axis=0) & goes_on),
        float(network.magnitude),
    )


def small_network() -> ReluNetwork:
    """One column, one neuron: what loops are compiled with."""
    line = np.ones((1, 1))
    starts = np.array([0, 1], dtype=np.int64)
    return ReluNetwork(line, starts, np.zeros(1), np.zeros((2, 1)), (line,), (np.zeros(1),), (0.0,))


def read_network(model: Model, space: Lattice) -> ReluNetwork:
    """The network of a model over a space.

    Args:
        model: a dense network, or a linear model.
        space: of the same domain.

    Raises:
        ModelError: an activation whose bounds are not known here, named; an encoder that mixes columns.
        SettingError: a threshold that no score crosses.
    """
    assert isinstance(model.predictor, DenseNetwork)
    if not isinstance(model.encoder, _COLUMN_WISE):
        raise ModelError(
            f"This network cannot be certified: it takes rows through {type(model.encoder).__name__}, and a proof "
            "needs every column to be taken by itself. Give it codes or one-hot columns, or search for pairs instead."
        )
    layers = plain_layers(model.predictor, model.threshold)
    weights = layers[0].weights
    biases = layers[0].biases
    reader = _ColumnReader(model, space, weights)
    columns = [reader.places(i) for i in range(len(space.columns))]
    variants, lines = _distinct_variants(model, space, weights)
    spans = [
        np.abs(part).max(axis=0) * (int(n) if len(part) == 1 else 1)
        for part, n in zip(columns, space.n_digits, strict=True)
    ]
    magnitudes = np.abs(variants) @ np.abs(weights) + np.abs(biases) + sum(spans)
    return ReluNetwork(
        np.ascontiguousarray(np.concatenate([np.empty((0, weights.shape[1])), *columns])),
        np.cumsum([0, *(len(part) for part in columns)]).astype(np.int64),
        np.where(space.is_cell, 0.5, 0.0),
        np.ascontiguousarray(variants @ weights + biases),
        tuple(np.ascontiguousarray(layer.weights) for layer in layers[1:]),
        tuple(layer.biases.copy() for layer in layers[1:]),
        tuple(_slope(layer) for layer in layers[:-1]),
        lines,
        float(magnitudes.max()),
    )


def encoded(model: Model, rows: FloatArray) -> FloatArray:
    """The numbers that a network takes for rows of the engine, ``(n_rows, n_inputs)``."""
    return np.asarray(model.encoder.encode(rows), dtype=np.float64)


def _slope(layer: Layer) -> float:
    return float(layer.slope) if layer.activation is Activation.LEAKY_RELU else 0.0


def _distinct_variants(model: Model, space: Lattice, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """The inputs of the variants with digit 0 elsewhere, each once, and the line of every variant.

    Two are the same where all inputs that have weights are: equal sums are not enough, since they may be rounded
    differently.
    """
    values = space.domain.variant_values
    rows = np.repeat(space.rows(np.zeros((1, len(space.columns)), np.int64)), len(values), axis=0)
    rows[:, space.domain.protected] = values
    inputs = encoded(model, rows)
    weighed = np.ascontiguousarray(inputs[:, (weights != 0).any(axis=1)])
    known: dict[bytes, int] = {}
    lines = np.array([known.setdefault(line.tobytes(), len(known)) for line in weighed + 0.0], dtype=np.int64)
    _, first = np.unique(lines, return_index=True)
    return inputs[first], lines


class _ColumnReader:
    """What each column adds to the first sums."""

    def __init__(self, model: Model, space: Lattice, weights: FloatArray) -> None:
        self._model = model
        self._space = space
        self._weights = weights
        self._base = encoded(model, space.rows(np.zeros((1, len(space.columns)), np.int64)))
        self._block = max(1, _BLOCK_NUMBERS // max(weights.shape[0], weights.shape[1], 1))

    def places(self, column: int) -> FloatArray:
        """One place where the sums grow evenly with the digit, else a table, ``(1 or n, n_1)``; digit 0 adds nothing.

        Columns of numbers that the encoder hands on as they are have millions of values at times: two of them are
        enough.

        Raises:
            ModelError: the table would not fit in memory.
        """
        n = int(self._space.n_digits[column])
        n_units = self._weights.shape[1]
        step = self._sums(column, np.array([n - 1])) / max(n - 1, 1)
        if n <= 2 or self._is_number(column) or self._is_even(column, n, step):
            return step
        if n * n_units > _MAX_TABLE_NUMBERS:
            name = self._space.domain.schema.inputs[int(self._space.columns[column])].name
            raise ModelError(
                f"This network cannot be certified: it takes '{name}' unevenly, and a table of its {n:,} values for "
                f"{n_units:,} neurons does not fit in memory. Narrow its limits under Scope."
            )
        return np.concatenate([self._sums(column, digits) for digits in self._digits(n)])

    def _is_number(self, column: int) -> bool:
        kind = self._space.domain.schema.inputs[int(self._space.columns[column])].kind
        return kind is Kind.REAL or (kind is Kind.INTEGER and isinstance(self._model.encoder, _NUMBERS_AS_THEY_ARE))

    def _is_even(self, column: int, n: int, step: FloatArray) -> bool:
        """Whether the sums of all digits are the digit times ``step``; of one input alone the input is asked."""
        last, _ = self._grown(column, np.array([n - 1]))
        is_one = last.shape[1] == 1
        even = last / (n - 1) if is_one else step
        allowed = _EVEN * np.abs(even) * (n - 1)
        for digits in self._digits(n):
            grown = self._grown(column, digits)[0] if is_one else self._sums(column, digits)
            if not (np.abs(grown - digits[:, None] * even) <= allowed).all():
                return False
        return True

    def _digits(self, n: int) -> Iterator[IntArray]:
        for start in range(0, n, self._block):
            yield np.arange(start, min(start + self._block, n))

    def _sums(self, column: int, digits: IntArray) -> FloatArray:
        """What the column adds to the first sums with some digits, the others at 0 ``(n, n_1)``."""
        grown, weights = self._grown(column, digits)
        sums: FloatArray = grown @ weights
        return sums

    def _grown(self, column: int, digits: IntArray) -> tuple[FloatArray, FloatArray]:
        """By how much inputs are larger than with digit 0 ``(n, n_inputs)``, and their weights ``(n_inputs, n_1)``: the
        column's own inputs where they are known, else all.
        """
        encoder = self._model.encoder
        if isinstance(encoder, TabulatedEncoder):
            place = int(self._space.columns[column])
            features, inputs = encoder.of_column(place, self._space.column_values(column, digits))
            return inputs.astype(np.float64) - self._base[:, features], self._weights[features]
        chosen = np.zeros((len(digits), len(self._space.columns)), np.int64)
        chosen[:, column] = digits
        return encoded(self._model, self._space.rows(chosen)) - self._base, self._weights
