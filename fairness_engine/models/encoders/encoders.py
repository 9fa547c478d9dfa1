"""From rows of the engine to what a model takes: codes, labels or one-hot columns, in the model's own order.

Which of them is decided by the schema, then by the names that the model carries, then by the number of its inputs;
see ``choose_encoder``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import FitError
from fairness_engine.models.encoders.domain_values import numeric_codes, positions_of
from fairness_engine.models.encoders.one_hot import (
    OneHotEncoder,
    OneHotFeature,
    features_by_name,
    features_in_order,
    is_text,
    matches_of,
    one_hot_sets,
    scaling_of,
)
from fairness_engine.models.inputs.names import say_nothing
from fairness_engine.models.model import Encoder

if TYPE_CHECKING:
    import pandas as pd

_CODES_BLOCK = 1 << 14
_LABELS_BLOCK = 1 << 16


class CodesEncoder:
    """One number a column: the code of the category, or the value itself.

    Categories whose codes are text are passed as their positions 0..k-1.

    Args:
        schema: what the rows are; ``schema.layout.scaling`` holds for the inputs that it names.
        order: indices of the columns that the model takes, in its order.
        named: the same as features, where the model has names for them.

    Attributes:
        by_place: names of the columns whose categories are text in the file, and numbers of nobody's saying to the
            model.
    """

    def __init__(
        self, schema: Schema, order: Sequence[int] | None = None, named: Sequence[OneHotFeature] | None = None
    ) -> None:
        columns = schema.inputs
        features = _whole_columns(schema, order) if named is None else named
        self.order = np.array([feature.column for feature in features], dtype=np.int64)
        self.names = tuple(feature.name for feature in features)
        self.columns = tuple(columns[i].name for i in self.order)
        self.matches = matches_of(schema, features)
        self._n_columns = len(columns)
        self._tables = [numeric_codes(schema, columns[i]) for i in self.order]
        self.by_place = tuple(columns[i].name for i in self.order if is_text(columns[i]))
        self._scaling = scaling_of(schema.layout, self.names)
        is_same = all(table is None or np.array_equal(table, np.arange(len(table))) for table in self._tables)
        is_in_place = np.array_equal(self.order, np.arange(len(columns)))
        self.is_identity = is_same and is_in_place and self._scaling is None
        self.block_rows = None if self.is_identity else _CODES_BLOCK

    def encode(self, rows: FloatArray) -> FloatArray:
        """``(n_rows, n_columns)`` -> ``(n_rows, n_inputs)``; the rows themselves where nothing changes."""
        if self.is_identity:
            return rows
        inputs: FloatArray = np.ascontiguousarray(rows[:, self.order])
        for j, table in enumerate(self._tables):
            if table is not None:
                known = ~np.isnan(inputs[:, j])
                inputs[known, j] = table[positions_of(inputs[known, j])]
        return inputs if self._scaling is None else (inputs - self._scaling[0]) / self._scaling[1]

    plain = encode

    def chain(self, rows: FloatArray, gradients: FloatArray) -> FloatArray:
        """From derivatives by the inputs ``(n_rows, n_inputs)`` to derivatives by the columns ``(n_rows, n_columns)``.

        Along categories whose codes are unevenly spaced, the slope is that between a category's neighbours.
        """
        if self.is_identity:
            return gradients
        by_column = np.zeros((len(rows), self._n_columns))
        by_column[:, self.order] = gradients if self._scaling is None else gradients / self._scaling[1]
        for column, table in zip(self.order, self._tables, strict=True):
            if table is not None and len(table) > 1:
                by_column[:, column] *= np.gradient(table)[positions_of(rows[:, column])]
        return by_column

    def affine(self) -> tuple[FloatArray, FloatArray] | None:
        """``(scale, shift)``, ``(n_columns,)`` each, when ``encode`` is ``scale * rows + shift``; else ``None``."""
        if not np.array_equal(self.order, np.arange(self._n_columns)):
            return None
        scale = np.ones(len(self.order))
        shift = np.zeros(len(self.order))
        for j, table in enumerate(self._tables):
            if table is None:
                continue
            step = table[1] - table[0] if len(table) > 1 else 1.0
            if not np.array_equal(table, table[0] + step * np.arange(len(table))):
                return None
            scale[j] = step
            shift[j] = table[0]
        if self._scaling is None:
            return scale, shift
        return scale / self._scaling[1], (shift - self._scaling[0]) / self._scaling[1]


class FoldedEncoder:
    """Hands rows on as they are, to a predictor that took the encoding into its first layer."""

    block_rows: int | None = None

    def __init__(self, original: Encoder) -> None:
        self.original = original
        self.names = original.names
        self.columns: tuple[str, ...] = getattr(original, "columns", original.names)

    def encode(self, rows: FloatArray) -> FloatArray:
        """The rows themselves."""
        return rows

    def plain(self, rows: FloatArray) -> Any:
        """The inputs before folding."""
        return self.original.plain(rows)

    def chain(self, rows: FloatArray, gradients: FloatArray) -> FloatArray:  # noqa: ARG002 - as CodesEncoder's
        """Derivatives by the inputs are derivatives by the columns."""
        return gradients


class LabelsEncoder:
    """A pandas DataFrame with the file's own values and column names, as the model's author read it.

    Args:
        schema: what the rows are; ``schema.layout.scaling`` holds for the numbers that it names.
        order: indices of the columns that the model takes, in its order; no others are passed.
        named: the same as features, where the model has names for them.
    """

    block_rows: int | None = _LABELS_BLOCK

    def __init__(
        self, schema: Schema, order: Sequence[int] | None = None, named: Sequence[OneHotFeature] | None = None
    ) -> None:
        features = _whole_columns(schema, order) if named is None else named
        self.order = tuple(feature.column for feature in features)
        self._columns = [schema.inputs[i] for i in self.order]
        self.names = tuple(feature.name for feature in features)
        self.columns = tuple(column.name for column in self._columns)
        self.matches = matches_of(schema, features)
        self._values = [_file_values(column) for column in self._columns]
        self._missing: list[Any] = [np.nan] * len(self.names)
        self._whole: np.dtype[Any] = np.dtype(np.int64)
        self._scaling = schema.layout.scaling
        self.doubts: tuple[str, ...] = ()
        """Why some rows may not be given to the model as its file would have them, one sentence each."""

    def give_floats(self) -> None:
        """Pass whole numbers as floats, as pandas reads those of a column that has missing cells."""
        self._whole = np.dtype(np.float64)

    def respell_missing(self, name: str, text: Any) -> None:
        """Pass this for the missing cells of a column of categories, instead of NaN; ``name`` as for ``respell``."""
        self._missing[self.names.index(name)] = text

    def respell(self, name: str, values: Sequence[Any]) -> None:
        """Pass other values for the categories of a column than the file holds.

        Args:
            name: the model's, of the input.
            values: one a category, in the schema's order.
        """
        spelled = np.empty(len(values), dtype=object)
        spelled[:] = values
        self._values[self.names.index(name)] = spelled

    def encode(self, rows: FloatArray) -> pd.DataFrame:
        """``(n_rows, n_columns)`` -> a frame of ``n_rows``; text columns are of dtype object."""
        import pandas as pd

        series = {}
        for place, (name, i, column) in enumerate(zip(self.names, self.order, self._columns, strict=True)):
            values = self._values[place]
            is_missing = np.isnan(rows[:, i])
            if is_missing.any():
                data = _with_missing(rows[:, i], is_missing, values, self._missing[place])
            elif values is not None:
                data = values[positions_of(rows[:, i])]
            else:
                data = np.rint(rows[:, i]).astype(self._whole) if column.kind is Kind.INTEGER else rows[:, i]
                if name in self._scaling:
                    data = (data - self._scaling[name][0]) / self._scaling[name][1]
            series[name] = pd.Series(data, dtype=data.dtype)
        return pd.DataFrame(series, copy=False)

    plain = encode


def _with_missing(cells: FloatArray, is_missing: NDArray[np.bool_], values: Any, missing: Any) -> Any:
    """A column with missing cells as pandas reads one: NaN among numbers, and among labels of dtype object, or what
    stands for it there.
    """
    if values is None:
        return cells
    is_number = values.dtype.kind in "if" and isinstance(missing, float)
    data = np.full(len(cells), missing, dtype=np.float64 if is_number else object)
    data[~is_missing] = values[positions_of(cells[~is_missing])]
    return data


def choose_encoder(
    schema: Schema, n_inputs: int | None, names: tuple[str, ...] | None = None, takes_frame: bool = False
) -> Encoder:
    """How a model takes a row: by the schema's word, by the names it carries, by its number of inputs.

    Args:
        schema: what the rows are; ``schema.model_input`` other than auto decides.
        n_inputs: how many inputs the model takes; ``None`` when it does not say.
        names: what the model calls its inputs, in its order.
        takes_frame: the model wants a DataFrame with these names, not a matrix.

    Raises:
        FitError: the model's inputs cannot be made from the schema's columns.
    """
    asked = schema.model_input
    if names is not None and say_nothing(schema, names):
        if takes_frame and len(names) == len(schema.inputs):
            return LabelsEncoder(schema, named=[OneHotFeature(name, i) for i, name in enumerate(names)])
        names = names if takes_frame else None  # they say nothing but places
    if names is not None:
        features = features_by_name(schema, names)
        if asked is not ModelInput.ONE_HOT and all(feature.position is None for feature in features):
            is_labels = takes_frame or asked is ModelInput.LABELS
            return LabelsEncoder(schema, named=features) if is_labels else CodesEncoder(schema, named=features)
        if asked is not ModelInput.LABELS:
            return OneHotEncoder(schema, features, is_frame=takes_frame)
    return _by_width(schema, n_inputs, takes_frame)


def _by_width(schema: Schema, n_inputs: int | None, takes_frame: bool) -> Encoder:
    """The encoder of a model without names: by the schema's word and order, else by the number of its inputs."""
    asked = schema.model_input
    if asked is ModelInput.LABELS:
        return LabelsEncoder(schema)
    if schema.layout.order and n_inputs in (None, len(schema.layout.order)):
        return _in_order(schema, schema.layout.order, takes_frame)
    n_columns = len(schema.inputs)
    sets = one_hot_sets(schema)
    features = sets[0]
    fitting = [each for each in sets if n_inputs == len(each) != n_columns]
    if asked is ModelInput.ONE_HOT or (asked is ModelInput.AUTO and fitting):
        chosen = fitting[0] if fitting else features
        _check_width(n_inputs, len(chosen), "one-hot columns of the data")
        return OneHotEncoder(schema, chosen)
    if n_inputs not in (None, n_columns):
        _check_width(n_inputs, n_columns, f"input columns of the data (or {len(features)} one-hot ones)")
    return LabelsEncoder(schema) if takes_frame else CodesEncoder(schema)


def _whole_columns(schema: Schema, order: Sequence[int] | None) -> list[OneHotFeature]:
    """Columns as inputs of a model that has no names for them; all in the schema's order, if none is given."""
    chosen = range(len(schema.inputs)) if order is None else order
    return [OneHotFeature(schema.inputs[i].name, int(i)) for i in chosen]


def _in_order(schema: Schema, order: tuple[str, ...], takes_frame: bool) -> Encoder:
    """The encoder of inputs that a person put in order: columns, or categories of columns."""
    features = features_in_order(schema, order)
    if all(feature.position is None for feature in features):
        columns = [feature.column for feature in features]
        return LabelsEncoder(schema, columns) if takes_frame else CodesEncoder(schema, columns)
    return OneHotEncoder(schema, features, is_frame=takes_frame)


def _file_values(column: Column) -> Any:
    """What the file holds for each position, as an array to take from; ``None`` for a column of numbers."""
    if column.kind is not Kind.CATEGORICAL:
        return None
    if all(isinstance(code, int) for code in column.codes):
        return np.asarray(column.codes, dtype=np.int64)
    values = np.empty(len(column.codes), dtype=object)
    values[:] = column.codes
    return values


def _check_width(n_inputs: int | None, n_expected: int, what: str) -> None:
    if n_inputs not in (None, n_expected):
        raise FitError(
            f"The model takes {n_inputs} inputs, but there are {n_expected} {what}. Mark columns that the model does "
            "not take as 'ignored', or choose how it takes a row (codes, labels, one-hot)."
        )
