"""Models of one-hot columns: which inputs they have, by the schema or by the names they carry, and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from fairness_engine.errors import FitError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.domain_values import numeric_codes, positions_of
from fairness_engine.models.input_names import ABSENT, Found, How, InputMatch, Names, match_of, some
from fairness_engine.schema import Column, Kind, Schema

_ONE_HOT_BLOCK = 1 << 12


@dataclass(frozen=True)
class OneHotFeature:
    """One input of a model: a whole column (``position`` is ``None``), or whether a column is in a category; and how that is known."""

    name: str
    column: int
    position: int | None = None
    how: How = How.POSITION


class OneHotEncoder:
    """One input a category, and one a number.

    Args:
        schema: what the rows are.
        features: the model's inputs, in its order.
        is_frame: the model wants a DataFrame of its names, not a matrix.
    """

    block_rows: int | None = _ONE_HOT_BLOCK

    def __init__(self, schema: Schema, features: Sequence[OneHotFeature], *, is_frame: bool = False) -> None:
        self.features = tuple(features)
        self.matches = matches_of(schema, features)
        self.notes = _notes(schema, self.features)
        self._is_frame = is_frame
        self.names = tuple(feature.name for feature in features)
        self.columns = tuple(dict.fromkeys(schema.inputs[feature.column].name for feature in features))
        self._numbers = [
            (j, feature.column, numeric_codes(schema.inputs[feature.column]))
            for j, feature in enumerate(features)
            if feature.position is None
        ]
        self._targets = _one_hot_targets(schema, self.features)

    def encode(self, rows: FloatArray) -> Any:
        """``(n_rows, n_columns)`` -> ``(n_rows, n_inputs)`` of zeros, ones and numbers."""
        if not self._is_frame:
            return self._matrix(rows)
        import pandas as pd

        return pd.DataFrame(self._matrix(rows), columns=list(self.names))

    def _matrix(self, rows: FloatArray) -> FloatArray:
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
    """The inputs that a model names, when every name is a column or a column with a category.

    Raises:
        FitError: a name that nobody knows, or that may mean several things.
    """
    matched = Names(schema, names)
    if matched.missing:
        raise matched.refuse()
    features = [OneHotFeature(name, *astuple(matched.found[name])) for name in names]
    text = [f for f in features if f.position is None and is_text(schema.inputs[f.column])]
    one_hot = {f.column for f in features if f.position is not None}
    if text and one_hot:
        raise FitError(
            f"The model takes '{text[0].name}' as one number, but its categories are text. Give the codes that the model "
            "was trained on in the data file."
        )
    return features


def matches_of(schema: Schema, features: Sequence[OneHotFeature]) -> tuple[InputMatch, ...]:
    """The table of a model's inputs that are features."""
    return tuple(match_of(schema, f.name, Found(f.column, f.position, f.how)) for f in features)


def _notes(schema: Schema, features: Sequence[OneHotFeature]) -> tuple[str, ...]:
    """Sentences on categories that only the model, or only the data, has; one that the data alone has may be told by the others."""
    notes = []
    for i in dict.fromkeys(feature.column for feature in features if feature.position is not None):
        column = schema.inputs[i]
        own = {feature.position for feature in features if feature.column == i}
        absent = [feature.name for feature in features if feature.column == i and feature.position == ABSENT]
        if absent:
            notes.append(
                f"The model has inputs for categories of '{column.name}' that the data does not have ({some(absent)}): they are always 0."
            )
        unknown = [label for position, label in enumerate(column.labels) if position not in own]
        if len(unknown) > 1:
            notes.append(
                f"The model does not know {len(unknown)} of the categories of '{column.name}', for example '{unknown[0]}': it has no input "
                "for them, and takes them all alike. Remove them from the column's domain, or retrain."
            )
    return tuple(notes)


def is_text(column: Column) -> bool:
    """Whether the file holds labels instead of codes."""
    return any(isinstance(code, str) for code in column.codes)


def _one_hot_targets(schema: Schema, features: tuple[OneHotFeature, ...]) -> dict[int, IntArray]:
    """For every column with one-hot inputs: the input of each position; one past the last where there is none."""
    targets: dict[int, IntArray] = {}
    for j, feature in enumerate(features):
        if feature.position is not None and feature.position != ABSENT:
            n = len(schema.inputs[feature.column].codes)
            target = targets.setdefault(feature.column, np.full(n, len(features), dtype=np.int64))
            target[feature.position] = j
    return targets
