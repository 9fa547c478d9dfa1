"""Models of one-hot columns: which inputs they have, by the schema or by the names they carry, and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.errors import FitError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.domain_values import numeric_codes, positions_of
from fairness_engine.schema import Column, Kind, Schema, Value

_ONE_HOT_BLOCK = 1 << 12


@dataclass(frozen=True)
class OneHotFeature:
    """One input of a one-hot model: a number (``position`` is ``None``), or whether a column is in a category."""

    name: str
    column: int
    position: int | None = None


class OneHotEncoder:
    """One input a category, and one a number.

    Args:
        schema: what the rows are.
        features: the model's inputs, in its order.
    """

    block_rows: int | None = _ONE_HOT_BLOCK

    def __init__(self, schema: Schema, features: Sequence[OneHotFeature]) -> None:
        self.features = tuple(features)
        self.names = tuple(feature.name for feature in features)
        self.columns = tuple(dict.fromkeys(schema.inputs[feature.column].name for feature in features))
        self._numbers = [
            (j, feature.column, numeric_codes(schema.inputs[feature.column]))
            for j, feature in enumerate(features)
            if feature.position is None
        ]
        self._targets = _one_hot_targets(schema, self.features)

    def encode(self, rows: FloatArray) -> FloatArray:
        """``(n_rows, n_columns)`` -> ``(n_rows, n_inputs)`` of zeros, ones and numbers."""
        n = len(rows)
        inputs = np.zeros(
            (n, len(self.features) + 1)
        )  # the last column takes categories that the model has no input for
        lines = np.arange(n)
        for column, target in self._targets.items():
            inputs[lines, target[positions_of(rows[:, column])]] = 1.0
        for j, column, table in self._numbers:
            inputs[:, j] = rows[:, column] if table is None else table[positions_of(rows[:, column])]
        return inputs[:, :-1]

    plain = encode


def one_hot_features(schema: Schema) -> list[OneHotFeature]:
    """The inputs of a one-hot model in the schema's order: every category of a column, or the number."""
    features = []
    for i, column in enumerate(schema.inputs):
        if column.kind is Kind.CATEGORICAL:
            features += [OneHotFeature(f"{column.name}_{code}", i, p) for p, code in enumerate(column.codes)]
        else:
            features.append(OneHotFeature(column.name, i))
    return features


def features_by_name(schema: Schema, names: tuple[str, ...]) -> list[OneHotFeature]:
    """The inputs that a model names, when every name is a column or a column with a category."""
    known: dict[str, OneHotFeature] = {}
    for i, column in enumerate(schema.inputs):
        known[column.name] = OneHotFeature(column.name, i)
        for position, values in enumerate(zip(column.codes, column.labels, strict=True)):
            for spelling in _spellings(column.name, values):
                known.setdefault(spelling, OneHotFeature(spelling, i, position))
    missing = [name for name in names if name not in known]
    if missing and missing[0] in {column.name for column in schema.columns}:
        raise FitError(
            f"The model takes the column '{missing[0]}', which is not among the inputs. Set its kind under Data so that it is "
            "one (not ignored, not the label)."
        )
    if missing:
        raise FitError(
            f"The model takes an input '{missing[0]}', which is no column of the data (its columns: "
            f"{', '.join(schema.names[:12])}). Rename the column, or use the data that the model was trained on."
        )
    features = [known[name] for name in names]
    text = [f for f in features if f.position is None and is_text(schema.inputs[f.column])]
    one_hot = {f.column for f in features if f.position is not None}
    if text and one_hot:
        raise FitError(
            f"The model takes '{text[0].name}' as one number, but its categories are text. Give the codes that the model "
            "was trained on in the data file."
        )
    return features


def is_text(column: Column) -> bool:
    """Whether the file holds labels instead of codes."""
    return any(isinstance(code, str) for code in column.codes)


def _spellings(name: str, values: tuple[Value, str]) -> list[str]:
    return [f"{name}{separator}{value}" for value in values for separator in ("_", "=", "__", " = ", ":", ".")]


def _one_hot_targets(schema: Schema, features: tuple[OneHotFeature, ...]) -> dict[int, IntArray]:
    """For every column with one-hot inputs: the input of each position; one past the last where there is none."""
    targets: dict[int, IntArray] = {}
    for j, feature in enumerate(features):
        if feature.position is not None:
            n = len(schema.inputs[feature.column].codes)
            target = targets.setdefault(feature.column, np.full(n, len(features), dtype=np.int64))
            target[feature.position] = j
    return targets
