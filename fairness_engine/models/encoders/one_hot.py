"""Models of one-hot columns: which inputs they have, by the schema or by the names they carry, and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.missing import WHERE_SAID
from fairness_engine.data.schema import Column, Kind, Layout, Schema
from fairness_engine.errors import FitError, cut
from fairness_engine.models.encoders.domain_values import numeric_codes, positions_of
from fairness_engine.models.inputs.names import ABSENT, Found, How, InputMatch, Names, match_of, some

_ONE_HOT_BLOCK = 1 << 12


@dataclass(frozen=True)
class OneHotFeature:
    """One input of a model: a whole column (``position`` is ``None``), or whether a column is in a category; and how
    that is known.
    """

    name: str
    column: int
    position: int | None = None
    how: How = How.POSITION


class OneHotEncoder:
    """One input a category, and one a number.

    Args:
        schema: what the rows are; ``schema.layout.scaling`` holds for the inputs that it names.
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
            (j, feature.column, numeric_codes(schema, schema.inputs[feature.column]))
            for j, feature in enumerate(features)
            if feature.position is None
        ]
        self._targets = _one_hot_targets(schema, self.features)
        self._scaling = scaling_of(schema.layout, self.names)

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
        inputs = inputs[:, :-1]
        return inputs if self._scaling is None else (inputs - self._scaling[0]) / self._scaling[1]

    plain = encode


def one_hot_features(schema: Schema, *, drop_first: bool = False, only_texts: bool = False) -> list[OneHotFeature]:
    """The inputs of a one-hot model in the schema's order: every category of a column, or the number.

    Args:
        drop_first: the first category of a column has no input: exporters leave out what the others tell.
        only_texts: a column whose categories are numbers in the file stays one number, as ``pandas.get_dummies`` leaves
            it.
    """
    features = []
    for i, column in enumerate(schema.inputs):
        if column.kind is Kind.CATEGORICAL and (is_text(column) or not only_texts):
            named = [OneHotFeature(f"{column.name}_{code}", i, p) for p, code in enumerate(column.codes)]
            features += named[1:] if drop_first else named
        else:
            features.append(OneHotFeature(column.name, i))
    return features


def one_hot_sets(schema: Schema) -> list[list[OneHotFeature]]:
    """The sets of inputs that one-hot models have, the commonest first; those of the same number once."""
    sets: dict[int, list[OneHotFeature]] = {}
    for drop_first in (False, True):
        for only_texts in (False, True):
            features = one_hot_features(schema, drop_first=drop_first, only_texts=only_texts)
            sets.setdefault(len(features), features)
    return list(sets.values())


def features_in_order(schema: Schema, order: Sequence[str]) -> list[OneHotFeature]:
    """The inputs that a layout names: columns, and categories as ``one_hot_features`` calls them.

    Raises:
        FitError: a name is neither.
    """
    known = {feature.name: feature for feature in one_hot_features(schema)}
    known |= {column.name: OneHotFeature(column.name, i) for i, column in enumerate(schema.inputs)}
    unknown = [name for name in order if name not in known]
    if unknown:
        raise FitError(
            "The order of the model's inputs must name columns, or categories as 'column_category', got "
            f"'{unknown[0]}'. Put them in order again."
        )
    return [known[name] for name in order]


def scaling_of(layout: Layout, names: Sequence[str]) -> tuple[FloatArray, FloatArray] | None:
    """``(shift, scale)`` of a model's inputs ``(n_inputs,)`` each; ``None`` where none of them is scaled outside the
    model.
    """
    if not any(name in layout.scaling for name in names):
        return None
    pairs = np.array([layout.scaling.get(name, (0.0, 1.0)) for name in names])
    return pairs[:, 0], pairs[:, 1]


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
    for feature in text if one_hot else ():
        column = schema.inputs[feature.column]
        held = next((each for each in column.missing if feature.name.endswith(each)), None)
        if held is not None and feature.name != column.name:
            raise FitError(
                f"The model has an input '{cut(feature.name)}', but '{cut(held)}' of '{cut(column.name)}' counts as a "
                f"missing cell. Say that it is a value ({WHERE_SAID})."
            )
    if text and one_hot:
        raise FitError(
            f"The model takes '{text[0].name}' as one number, but its categories are text. Give the codes that the "
            "model was trained on in the data file."
        )
    return features


def matches_of(schema: Schema, features: Sequence[OneHotFeature]) -> tuple[InputMatch, ...]:
    """The table of a model's inputs that are features."""
    return tuple(match_of(schema, f.name, Found(f.column, f.position, f.how)) for f in features)


def _notes(schema: Schema, features: Sequence[OneHotFeature]) -> tuple[str, ...]:
    """Sentences on categories that only the model, or only the data, has; one that the data alone has may be told by
    the others.
    """
    notes = []
    for i in dict.fromkeys(feature.column for feature in features if feature.position is not None):
        column = schema.inputs[i]
        own = {feature.position for feature in features if feature.column == i}
        absent = [feature.name for feature in features if feature.column == i and feature.position == ABSENT]
        if absent:
            notes.append(
                f"The model has inputs for categories of '{column.name}' that the data does not have "
                f"({some(absent)}): they are always 0."
            )
        unknown = [label for position, label in enumerate(column.labels) if position not in own]
        if len(unknown) > 1:
            notes.append(
                f"The model does not know {len(unknown)} of the categories of '{column.name}', for example "
                f"'{unknown[0]}': it has no input for them, and takes them all alike. Remove them from the column "
                "(Categories on the Data page, or the schema file), or retrain."
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
