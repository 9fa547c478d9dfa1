"""Numbers of a schema's columns: codes, positions, uniform rows."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import FitError


def numeric_codes(schema: Schema, column: Column) -> FloatArray | None:
    """The number a model takes for each position ``(k,)``: the code; for a code that is text its place in
    ``layout.codes``, or its position.

    ``None`` for a column of numbers.

    Raises:
        FitError: ``layout.codes`` does not hold every category of the column once.
    """
    if column.kind is not Kind.CATEGORICAL:
        return None
    if any(isinstance(code, str) for code in column.codes):
        return _places(schema, column)
    return np.asarray(column.codes, dtype=np.float64)


def _places(schema: Schema, column: Column) -> FloatArray:
    said = schema.layout.codes.get(column.name)
    if said is None:
        return np.arange(len(column.codes), dtype=np.float64)
    places = {text: float(i) for i, text in enumerate(said)}
    found = [places.get(str(code), places.get(label)) for code, label in zip(column.codes, column.labels, strict=True)]
    if len(places) != len(said) or None in found:
        gone = next((label for label, place in zip(column.labels, found, strict=True) if place is None), said[0])
        raise FitError(
            f"'codes' of 'layout' must hold every category of '{column.name}' once, in the order of their codes, but "
            f"'{gone}' is missing or there twice."
        )
    return np.array(found, dtype=np.float64)


def sample_rows(schema: Schema, n_rows: int, rng: np.random.Generator) -> FloatArray:
    """Uniform rows of the schema's whole domain, ``(n_rows, n_columns)``."""
    columns: list[FloatArray] = []
    for column in schema.inputs:
        if column.n_values is None:
            columns.append(rng.uniform(column.low, column.high, n_rows))
        else:
            step = column.step if column.kind is Kind.REAL and column.step else 1.0
            columns.append(column.low + float(step) * rng.integers(0, column.n_values, n_rows).astype(np.float64))
    return np.stack(columns, axis=1)


def positions_of(values: FloatArray) -> IntArray:
    """Positions of categories that a row holds as floats."""
    return np.rint(values).astype(np.int64)
