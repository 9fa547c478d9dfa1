"""A dense ReLU network over the lattice of a space: what a certifier needs of a model, in float64.

Every encoder of the engine treats each column by itself, so the first layer's sums are a sum over the columns: a number times the
digit where they grow evenly with it, a table otherwise (one-hot categories, uneven codes). The protected columns add one vector a
variant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fairness_engine.certification.network_layers import plain_layers
from fairness_engine.certification.space import Space
from fairness_engine.errors import ModelError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.activations import Activation
from fairness_engine.models.dense import DenseNetwork, Layer
from fairness_engine.models.encoding import CodesEncoder, FoldedEncoder, LabelsEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.one_hot import OneHotEncoder
from fairness_engine.models.tabulated import TabulatedEncoder
from fairness_engine.schema import Kind

_EVEN = 1e-13
"""Sums that grow with the digit are taken as a number times the digit where they deviate by at most this share of the largest."""
_BLOCK_NUMBERS = 1 << 22
"""Encoded numbers at once: 32 MB."""
_MAX_TABLE_NUMBERS = 1 << 26
"""Numbers of a column's table: half a gigabyte."""
_COLUMN_WISE = (CodesEncoder, FoldedEncoder, OneHotEncoder, LabelsEncoder, TabulatedEncoder)
_NUMBERS_AS_THEY_ARE = (CodesEncoder, FoldedEncoder, OneHotEncoder)


@dataclass(frozen=True)
class ReluNetwork:
    """``z_v = places(x) @ first + shifts[v]``, then ``z -> relu(z) @ weights[i] + biases[i]`` layer by layer.

    Column ``i`` has the places ``starts[i]`` to ``starts[i + 1]``: one, which holds the digit itself, or one a digit, which hold 1 for
    the digit and 0 for the others.

    Args:
        first: ``(n_places, n_1)``.
        starts: ``(D + 1,)``.
        reach: how far the column's value may be from its digit's, in digits ``(D,)``: half a cell of a continuous column, else 0.
        shifts: of each variant, the bias among them ``(K, n_1)``; variants that are the same to the network are listed once.
        weights: of the later layers ``(n_in, n_out)`` each; empty for a linear model.
        biases: of the later layers ``(n_out,)`` each.
        slopes: of the negative side of every hidden layer: 0 for ReLU, up to 1.
        variants: the line of ``shifts`` of each combination of protected values ``(n_variants,)``; each has its own unless given.
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


def read_network(model: Model, space: Space) -> ReluNetwork:
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
            f"This network cannot be certified: it takes rows through {type(model.encoder).__name__}, and a proof needs every column to "
            "be taken by itself. Give it codes or one-hot columns, or search for pairs instead."
        )
    layers = plain_layers(model.predictor, model.threshold)
    weights, biases = layers[0].weights, layers[0].biases
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


def _distinct_variants(model: Model, space: Space, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """The inputs of the variants with digit 0 elsewhere, each once, and the line of every variant.

    Two are the same where all inputs that have weights are: equal sums are not enough, since they may be rounded differently.
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

    def __init__(self, model: Model, space: Space, weights: FloatArray) -> None:
        self._model, self._space, self._weights = model, space, weights
        self._base = encoded(model, space.rows(np.zeros((1, len(space.columns)), np.int64)))
        self._block = max(1, _BLOCK_NUMBERS // max(weights.shape[0], weights.shape[1], 1))

    def places(self, column: int) -> FloatArray:
        """One place where the sums grow evenly with the digit, else a table, ``(1 or n, n_1)``; digit 0 adds nothing.

        Columns of numbers that the encoder hands on as they are have millions of values at times: two of them are enough.

        Raises:
            ModelError: the table would not fit in memory.
        """
        n, n_units = int(self._space.n_digits[column]), self._weights.shape[1]
        step = self._sums(column, np.array([n - 1])) / max(n - 1, 1)
        if n <= 2 or self._is_number(column) or self._is_even(column, n, step):
            return step
        if n * n_units > _MAX_TABLE_NUMBERS:
            name = self._space.domain.schema.inputs[int(self._space.columns[column])].name
            raise ModelError(
                f"This network cannot be certified: it takes '{name}' unevenly, and a table of its {n:,} values for {n_units:,} neurons "
                "does not fit in memory. Narrow its limits under Scope."
            )
        return np.concatenate([sums for _, sums in self._blocks(column, n)])

    def _is_number(self, column: int) -> bool:
        kind = self._space.domain.schema.inputs[int(self._space.columns[column])].kind
        return kind is Kind.REAL or (kind is Kind.INTEGER and isinstance(self._model.encoder, _NUMBERS_AS_THEY_ARE))

    def _is_even(self, column: int, n: int, step: FloatArray) -> bool:
        allowed = _EVEN * np.abs(step) * (n - 1)
        return all((np.abs(sums - digits[:, None] * step) <= allowed).all() for digits, sums in self._blocks(column, n))

    def _blocks(self, column: int, n: int) -> Iterator[tuple[IntArray, FloatArray]]:
        for start in range(0, n, self._block):
            digits = np.arange(start, min(start + self._block, n))
            yield digits, self._sums(column, digits)

    def _sums(self, column: int, digits: IntArray) -> FloatArray:
        """What the column adds to the first sums with some digits, the others at 0 ``(n, n_1)``."""
        chosen = np.zeros((len(digits), len(self._space.columns)), np.int64)
        chosen[:, column] = digits
        sums: FloatArray = (encoded(self._model, self._space.rows(chosen)) - self._base) @ self._weights
        return sums
