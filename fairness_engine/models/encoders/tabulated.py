"""Transformations that treat every column by itself, as tables: what each value of a column becomes.

One-hot encoders, ordinal encoders and scalers behind a ``ColumnTransformer`` take milliseconds a call, most of it spent
on labels. Their result for a whole row is put together here from what they gave, once, for every value of every column.
A continuous number has no list of values: it is computed as the pipeline's own scaler does, operation by operation, or
by slope and offset. Many whole numbers are computed too, where that gives each of them to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.model import Encoder

_BLOCK_ROWS = 1 << 12
_MAX_TABLE_NUMBERS = 20_000_000
_CHUNK_ROWS = 1 << 14
_CHUNK_NUMBERS = 20_000_000
"""Of rows that are transformed at once: those of a wide table are many numbers each."""
_MAX_FEATURES = 20_000
_N_CHECKED = 2_000
_N_TRIED = 64
_MANY_VALUES = 1_000
"""From here on arithmetic is faster than a line of a table."""
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Scaling:
    """What a scaler does to a number: ``(x - shift) / factor``, or ``x * factor + shift``; which of them matters to the
    last bit.
    """

    shift: float = 0.0
    factor: float = 1.0
    is_quotient: bool = True

    def __call__(self, values: FloatArray) -> FloatArray:
        """``(n,)`` -> ``(n,)``, rounded as the scaler rounds; it rises or falls throughout."""
        return (values - self.shift) / self.factor if self.is_quotient else values * self.factor + self.shift


@dataclass(frozen=True)
class _Table:
    """What one column becomes: a line of the table a value, or a scaling a feature."""

    column: int
    low: float
    features: slice | IntArray
    values: FloatArray  # (n_values, n_features)
    scalings: tuple[Scaling, ...] = ()  # one a feature, of a continuous column or of many whole numbers

    def look_up(self, values: FloatArray) -> FloatArray | None:
        """What values of the column ``(n,)`` become ``(n, n_features)``; ``None`` where one is not in the table."""
        if self.scalings:
            return np.stack([scaling(values) for scaling in self.scalings], axis=1)
        positions = np.rint(values - self.low).astype(np.int64)
        if len(values) and (positions.min() < 0 or positions.max() >= len(self.values)):  # beyond the schema's range
            return None
        return np.asarray(self.values[positions])


class TabulatedEncoder:
    """An encoder that gives what ``transform(original.encode(rows))`` gives; made by ``tabulate``."""

    block_rows: int | None = _BLOCK_ROWS

    def __init__(
        self,
        original: Encoder,
        transform: Callable[[Any], FloatArray],
        constant: FloatArray,
        tables: list[_Table],
        dtype: type[np.floating[Any]],
    ) -> None:
        self.original = original
        self.names = original.names
        self.columns: tuple[str, ...] = getattr(original, "columns", original.names)
        self._transform = transform
        self._constant = constant.astype(dtype)
        self._tables = tables
        self._dtype = dtype

    def plain(self, rows: FloatArray) -> Any:
        """The inputs before the transformations."""
        return self.original.plain(rows)

    def encode(self, rows: FloatArray) -> NDArray[Any]:
        """``(n_rows, n_columns)`` -> ``(n_rows, n_features)``; a missing cell is left to the transformation itself."""
        if np.isnan(rows).any():
            return self._transform(self.original.encode(rows)).astype(self._dtype)
        inputs: NDArray[Any] = np.empty((len(rows), len(self._constant)), dtype=self._dtype)
        inputs[:] = self._constant
        for table in self._tables:
            numbers = table.look_up(rows[:, table.column])
            if numbers is None:
                return self._transform(self.original.encode(rows)).astype(self._dtype)
            inputs[:, table.features] = numbers
        return inputs

    def of_column(self, column: int, values: FloatArray) -> tuple[slice | IntArray, NDArray[Any]]:
        """The features of one column of the schema, and what ``encode`` gives for some of its values ``(n, n_own)``.

        Args:
            column: its place in the schema.
            values: within its range ``(n,)``.
        """
        table = next((table for table in self._tables if table.column == column), None)
        numbers = None if table is None else table.look_up(values)
        if table is None or numbers is None:
            return slice(0), np.empty((len(values), 0), dtype=self._dtype)
        return table.features, numbers.astype(self._dtype)


def tabulate(
    schema: Schema,
    original: Encoder,
    transform: Callable[[Any], FloatArray],
    dtype: type[np.floating[Any]],
    is_smooth: bool,
    scalings: Sequence[Scaling] = (),
    bent: frozenset[str] = frozenset(),
) -> TabulatedEncoder | None:
    """Learn the tables of a transformation, and check them on rows it was not learned from.

    Args:
        schema: what the rows are.
        original: gives the inputs of ``transform``.
        transform: to a matrix ``(n_rows, n_features)``.
        dtype: of the result; float32 for predictors that would round to it anyway.
        is_smooth: a last digit does not matter to the predictor. One that compares numbers with thresholds may sit
            exactly on one, so its inputs must be right to the bit.
        scalings: of the scalers in the transformation, for continuous columns; which is whose is found out.
        bent: columns that the transformation does more to than scale: a table of them must be of all their values.

    Returns:
        ``None`` when the columns are not treated each by itself, or the check failed.
    """
    base = sample_rows(schema, 1, np.random.default_rng(1))
    constant = transform(original.encode(base))[0]
    if len(constant) > _MAX_FEATURES:
        return None
    taken = np.zeros(len(constant), dtype=bool)
    tables = []
    read = frozenset(getattr(original, "columns", schema.names))  # what a model does not take changes no feature
    for i, column in enumerate(schema.inputs):
        if column.name not in read:
            continue
        is_whole = column.kind in (Kind.CATEGORICAL, Kind.INTEGER)
        is_listed = is_whole and (column.n_values or 0) * len(constant) <= _MAX_TABLE_NUMBERS
        if not is_listed and column.name in bent:
            return None  # some numbers may be treated as no other
        known = (Scaling(), *scalings)
        table = _learn(column, i, base, constant, lambda rows: transform(original.encode(rows)), known, is_listed)
        if taken[table.features].any():
            return None  # a feature of two columns
        taken[table.features] = True
        if table.values.shape[1]:
            tables.append(table)
    encoder = TabulatedEncoder(original, transform, constant, tables, dtype)
    rows = sample_rows(schema, _N_CHECKED, np.random.default_rng(2))
    given = encoder.encode(rows)
    expected = transform(original.encode(rows)).astype(dtype)
    is_right = (
        np.allclose(given, expected, rtol=_TOLERANCE, atol=_TOLERANCE) if is_smooth else (given == expected).all()
    )
    return encoder if is_right else None


def _learn(
    column: Column,
    index: int,
    base: FloatArray,
    constant: FloatArray,
    transform: Callable[[FloatArray], FloatArray],
    scalings: Sequence[Scaling],
    is_listed: bool,
) -> _Table:
    """What one column becomes, of each of its values where they are listed, else of some."""
    values: FloatArray = np.linspace(column.low, column.high, _N_TRIED)
    if is_listed:
        values = column.low + np.arange(column.n_values or 0, dtype=np.float64)
    chunks = []
    step = min(_CHUNK_ROWS, max(1, _CHUNK_NUMBERS // base.shape[1]))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        rows = np.repeat(base, len(part), axis=0)
        rows[:, index] = part
        chunks.append(transform(rows))
    result = np.concatenate(chunks)  # (n_values, n_features)
    changed = np.flatnonzero((result != constant).any(axis=0))
    features = _as_slice(changed)
    scaled = [_scaling_of(values, result[:, feature], scalings) for feature in changed]
    found = tuple(scaling for scaling in scaled if scaling is not None)
    if is_listed and (len(values) < _MANY_VALUES or len(found) < len(changed)):
        return _Table(index, column.low, features, result[:, changed])
    if len(found) < len(changed):
        found = tuple(
            _line_through(values, result[:, feature]) if scaling is None else scaling
            for feature, scaling in zip(changed, scaled, strict=True)
        )
    return _Table(index, column.low, features, np.empty((0, len(changed))), found)


def _scaling_of(values: FloatArray, results: FloatArray, scalings: Sequence[Scaling]) -> Scaling | None:
    """The scaling that gives some results to the bit."""
    return next((scaling for scaling in scalings if (scaling(values) == results).all()), None)


def _line_through(values: FloatArray, results: FloatArray) -> Scaling:
    """Slope and offset of the ends of some results."""
    span = max(float(values[-1] - values[0]), float(np.finfo(np.float64).tiny))
    slope = float(results[-1] - results[0]) / span
    return Scaling(float(results[0]) - slope * float(values[0]), slope, is_quotient=False)


def _as_slice(indices: IntArray) -> slice | IntArray:
    """A slice where the indices follow one another: it is much faster to write to."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices
