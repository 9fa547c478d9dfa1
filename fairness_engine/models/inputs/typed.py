"""Models of several inputs, each of a type of its own: words, whole numbers or numbers, one a column or a block of
columns.

A model's file says of each input what it takes (``InputSpec``): the type, how many values a row, the words that it
looks up, how many codes its table of embeddings has. Values are given as that wants them. What the file does not say
(which code a category had in training) is said as a note; what cannot be is refused with what to do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import FitError
from fairness_engine.models.encoders.domain_values import numeric_codes
from fairness_engine.models.encoders.one_hot import OneHotFeature, matches_of
from fairness_engine.models.inputs.names import How, Names, are_numbered, some
from fairness_engine.models.inputs.spelling import normal

if TYPE_CHECKING:
    import pandas as pd

_BLOCK_ROWS = 1 << 14
_LAYOUT = "Correct it in the table of the model's inputs on the Model page ('layout' in a schema file)."


class Takes(StrEnum):
    """What an input of a model takes, in the words of a sentence."""

    TEXT = "words"
    WHOLE = "whole numbers"
    NUMBER = "numbers"


@dataclass(frozen=True)
class InputSpec:
    """What a model's file says of one of its inputs.

    Args:
        name: the model's.
        takes: the type.
        width: how many values a row.
        known: the words or codes that the model looks up, where it does; others are all alike to it.
        n_codes: the input is a code from 0 up to this, without it (an embedding, a one-hot layer); ``None`` where it
            says nothing.
    """

    name: str
    takes: Takes
    width: int = 1
    known: tuple[Any, ...] | None = None
    n_codes: int | None = None


@dataclass(frozen=True)
class _Value:
    """One value of one input: the feature, and for each position of its column what is passed (``None``: the number
    itself).
    """

    feature: OneHotFeature
    takes: Takes
    table: NDArray[Any] | None
    scaling: tuple[float, float] | None


class TypedEncoder:
    """A DataFrame with the values of all inputs, in the model's order; an input of width w is w columns of it.

    Args:
        schema: what the rows are.
        specs: of the model's inputs, in its order.

    Raises:
        FitError: the inputs cannot be made from the schema's columns.
    """

    block_rows: int | None = _BLOCK_ROWS

    def __init__(self, schema: Schema, specs: Sequence[InputSpec]) -> None:
        features = _features(schema, specs)
        notes: list[str] = []
        by_place: list[str] = []
        self._values = []
        for spec, own in zip(specs, features, strict=True):
            for feature in own:
                column = schema.inputs[feature.column]
                scaling = schema.layout.scaling.get(feature.name) or schema.layout.scaling.get(column.name)
                table = _table(schema, spec, column, feature, scaling, notes, by_place)
                self._values.append(_Value(feature, spec.takes, table, scaling))
        self.features = tuple(value.feature for value in self._values)
        self.names = tuple(feature.name for feature in self.features)
        self.columns = tuple(dict.fromkeys(schema.inputs[feature.column].name for feature in self.features))
        self.matches = matches_of(schema, self.features)
        if by_place:
            notes.append(_on_places([schema.column(name) for name in dict.fromkeys(by_place)]))
        self.notes = tuple(notes)
        self.by_place = tuple(dict.fromkeys(by_place))
        self._column_names = [column.name for column in schema.inputs]

    def encode(self, rows: FloatArray) -> pd.DataFrame:
        """``(n_rows, n_columns)`` -> a frame of ``n_rows``, each column in the type of its input; a missing cell is ''
        or NaN.

        Raises:
            FitError: a cell is missing where the model takes whole numbers.
        """
        import pandas as pd

        series = {}
        for value in self._values:
            cells = rows[:, value.feature.column]
            data: Any = cells
            is_missing = np.isnan(cells)
            if value.table is not None:
                data = value.table[np.rint(np.where(is_missing, 0, cells)).astype(np.int64)]
            elif value.takes is Takes.TEXT:
                data = _objects([normal(cell) for cell in cells])
            if is_missing.any():
                data = self._with_missing(value, data, is_missing)
            if value.scaling is not None and value.takes is not Takes.TEXT:
                data = (data.astype(np.float64) - value.scaling[0]) / value.scaling[1]
            if value.takes is Takes.WHOLE:
                data = np.rint(data).astype(np.int64)
            series[value.feature.name] = pd.Series(data, dtype=data.dtype)
        return pd.DataFrame(series, copy=False)

    plain = encode

    def _with_missing(self, value: _Value, data: Any, is_missing: NDArray[np.bool_]) -> Any:
        if value.takes is Takes.WHOLE:
            raise FitError(
                f"The model's input '{value.feature.name}' takes whole numbers, but a cell of "
                f"'{self._column_names[value.feature.column]}' is missing. Leave rows with missing cells out."
            )
        if value.takes is Takes.TEXT:
            return np.where(is_missing, "", data)
        return np.where(is_missing, np.nan, data.astype(np.float64))


# --- which columns an input is made of ----------------------------------------------------------


def _features(schema: Schema, specs: Sequence[InputSpec]) -> list[list[OneHotFeature]]:
    """For every input the values that it takes, by its name; inputs of several values may have no column's name."""
    names = Names(
        schema, [spec.name for spec in specs], has_categories=any(spec.takes is not Takes.TEXT for spec in specs)
    )
    found: list[list[OneHotFeature]] = []
    for spec in specs:
        own = names.found.get(spec.name)
        found.append(
            [] if own is None else _of_one(schema, spec, OneHotFeature(spec.name, own.column, own.position, own.how))
        )
    waiting = [i for i, features in enumerate(found) if not features]
    if not waiting:
        return found
    left = [i for i in range(len(schema.inputs)) if i not in {f.column for features in found for f in features}]
    single = [specs[i].name for i in waiting if specs[i].width == 1]
    if len(single) == len(waiting) == len(left) == len(specs) and are_numbered(single):
        for place, (i, column) in enumerate(zip(waiting, left, strict=True)):
            found[i] = [OneHotFeature(single[place], column)]
        return found
    if single:
        raise names.refuse()
    blocks = _share_out(schema, [specs[i] for i in waiting], left)
    if blocks is None:
        raise _no_blocks(schema, [specs[i] for i in waiting], left, names)
    for i, block in zip(waiting, blocks, strict=True):
        found[i] = block
    return found


def _of_one(schema: Schema, spec: InputSpec, feature: OneHotFeature) -> list[OneHotFeature]:
    """The values of an input that is called as one column is."""
    column = schema.inputs[feature.column]
    if spec.width == 1:
        return [feature]
    if spec.width == len(column.codes) and spec.takes is not Takes.TEXT and feature.position is None:
        return _one_hot(schema, spec, [feature.column], feature.how)
    has = f"{len(column.codes)} categories" if column.codes else "one number"
    raise FitError(
        f"The model's input '{spec.name}' takes {spec.width} {spec.takes} a row, but column '{column.name}' has {has}. "
        "Bring the column's categories into line with those that the model was trained on."
    )


def _one_hot(schema: Schema, spec: InputSpec, columns: Sequence[int], how: How) -> list[OneHotFeature]:
    features = []
    for i in columns:
        column = schema.inputs[i]
        if column.kind is Kind.CATEGORICAL:
            features += [
                OneHotFeature(f"{spec.name}[{column.name}={label}]", i, p, how) for p, label in enumerate(column.labels)
            ]
        else:
            features.append(OneHotFeature(f"{spec.name}[{column.name}]", i, None, how))
    return features


def _share_out(schema: Schema, specs: Sequence[InputSpec], left: Sequence[int]) -> list[list[OneHotFeature]] | None:
    """The one way to share the columns that are left out among inputs of several values; ``None`` where there is none,
    or several.
    """
    ways = [_ways(schema, spec, left) for spec in specs]
    whole = [
        way
        for way in itertools.islice(itertools.product(*ways), 10_000)
        if sorted({f.column for block in way for f in block}) == sorted(left)
        and sum(len({f.column for f in block}) for block in way) == len(left)
    ]
    return list(whole[0]) if len(whole) == 1 else None


def _ways(schema: Schema, spec: InputSpec, left: Sequence[int]) -> list[list[OneHotFeature]]:
    """What an input of several values may be made of: the numbers, the categories as one value each, or as one value a
    category.
    """
    if len(schema.layout.order) == spec.width:
        matched = Names(schema, schema.layout.order)
        if not matched.missing:
            own = [(name, matched.found[name]) for name in schema.layout.order]
            return [[OneHotFeature(f"{spec.name}[{name}]", f.column, f.position, How.CORRECTED) for name, f in own]]
    kinds = {i: schema.inputs[i].kind for i in left}
    numbers = [i for i in left if kinds[i] is not Kind.CATEGORICAL]
    categories = [i for i in left if kinds[i] is Kind.CATEGORICAL]
    chosen: dict[tuple[int, ...], list[OneHotFeature]] = {}
    for columns in (numbers, categories, list(left)):
        if spec.takes is Takes.WHOLE and any(kinds[i] is Kind.REAL for i in columns):
            continue
        if spec.takes is Takes.TEXT and columns is numbers:
            continue
        if columns and len(columns) == spec.width:
            plain = [OneHotFeature(f"{spec.name}[{schema.inputs[i].name}]", i) for i in columns]
            chosen.setdefault(tuple(columns), plain)
    if spec.takes is not Takes.TEXT and categories:
        for columns in (categories, list(left)):
            features = _one_hot(schema, spec, columns, How.POSITION)
            if len(features) == spec.width:
                chosen.setdefault((-1, *columns), features)
    return list(chosen.values())


def _no_blocks(schema: Schema, specs: Sequence[InputSpec], left: Sequence[int], names: Names) -> FitError:
    columns = [schema.inputs[i] for i in left]
    n_numbers = sum(column.kind is not Kind.CATEGORICAL for column in columns)
    n_categories = sum(len(column.codes) for column in columns)
    wanted = " and ".join(f"'{spec.name}' {spec.width} {spec.takes}" for spec in specs[:3])
    return FitError(
        f"It cannot be known which columns the model's inputs are made of: {wanted} a row, while {len(columns)} "
        f"columns are left ({some([column.name for column in columns])}): {n_numbers} of numbers and "
        f"{len(columns) - n_numbers} with {n_categories} categories. Mark columns that the model does not take as "
        "'ignored', or give every column an input of its own, called as the column is.",
        inputs=[asdict(line) for line in names.table()],
    )


# --- what is passed for a category --------------------------------------------------------------


def _table(
    schema: Schema,
    spec: InputSpec,
    column: Column,
    feature: OneHotFeature,
    scaling: tuple[float, float] | None,
    notes: list[str],
    by_place: list[str],
) -> NDArray[Any] | None:
    """What is passed for each category ``(k,)``; ``None`` for a number; what should be said is added to ``notes`` and
    ``by_place``.
    """
    if feature.position is not None:
        if spec.takes is Takes.TEXT:
            raise FitError(f"The model's input '{spec.name}' is called as a category is, but takes words. {_LAYOUT}")
        return np.eye(len(column.codes))[feature.position] if feature.position >= 0 else np.zeros(len(column.codes))
    if column.kind is not Kind.CATEGORICAL:
        _check_number(spec, column, scaling)
        return None
    if spec.known is not None:
        return _looked_up(spec, column, notes)
    if spec.takes is Takes.TEXT:
        return _objects([str(code) for code in column.codes])
    codes = [code for code in column.codes if isinstance(code, int | float)]
    if len(codes) == len(column.codes) and _are_taken(spec, codes, scaling):
        return np.asarray(codes, dtype=np.float64)
    n = len(column.codes)
    if not _are_taken(spec, [0, n - 1], scaling):
        raise FitError(
            f"The model's input '{spec.name}' takes the codes 0 to {(spec.n_codes or 1) - 1}, but column "
            f"'{column.name}' has {n} categories, more than the model was trained with. Remove categories from the "
            f"column (Categories on the Data page, or the schema file), or say which column it is. {_LAYOUT}"
        )
    by_place.append(column.name)
    if spec.n_codes is not None and spec.n_codes > n:
        notes.append(
            f"The model's table for '{spec.name}' has {spec.n_codes} codes, but column '{column.name}' has {n} "
            "categories: if its codes begin at 1, set the shift of this input to -1; if it was trained with more "
            "categories, add them to the column's domain."
        )
    return numeric_codes(schema, column)


def _check_number(spec: InputSpec, column: Column, scaling: tuple[float, float] | None) -> None:
    if spec.takes is Takes.WHOLE and column.kind is Kind.REAL:
        raise FitError(
            f"The model's input '{spec.name}' takes whole numbers, but column '{column.name}' holds decimals. Choose "
            "'integer' as its type under Data if they are whole."
        )
    if not _are_taken(spec, [column.low, column.high], scaling):
        raise FitError(
            f"The model's input '{spec.name}' takes the codes 0 to {(spec.n_codes or 1) - 1}, but column "
            f"'{column.name}' goes from {column.low:g} to "
            f"{column.high:g}. Narrow the column's range, or choose 'categorical' as its type, under Data."
        )


def _are_taken(spec: InputSpec, codes: Sequence[float], scaling: tuple[float, float] | None) -> bool:
    """Whether codes are whole, and inside the model's table, as far as it has one."""
    shift, scale = scaling or (0.0, 1.0)
    sent = [(code - shift) / scale for code in codes]
    is_whole = spec.takes is not Takes.WHOLE or all(code == np.rint(code) for code in sent)
    return is_whole and (spec.n_codes is None or all(0 <= code < spec.n_codes for code in sent))


def _looked_up(spec: InputSpec, column: Column, notes: list[str]) -> NDArray[Any]:
    """Categories as the model's own vocabulary spells them: by what the file holds, or by what people read, whichever
    it knows more of.
    """
    own = {normal(value): value for value in spec.known or ()}
    by_code, by_label = ([own.get(normal(value)) for value in values] for values in (column.codes, column.labels))
    values = max(by_code, by_label, key=lambda found: sum(value is not None for value in found))
    missing = [label for label, value in zip(column.labels, values, strict=True) if value is None]
    if len(missing) == len(values):
        raise FitError(
            f"The model's input '{spec.name}' looks up {some([str(value) for value in spec.known or ()])}, but none of "
            f"these is a category of column '{column.name}' ({some(column.labels)}). Say which column it is, or bring "
            f"the categories into line. {_LAYOUT}"
        )
    if missing:
        notes.append(
            f"The model does not know {len(missing)} of the categories of '{column.name}', for example '{missing[0]}': "
            "it was trained without them, and takes them all alike. Remove them from the column (Categories on the "
            "Data page, or the schema file), or retrain."
        )
    if spec.takes is Takes.TEXT:
        return _objects(
            [str(code) if value is None else value for code, value in zip(column.codes, values, strict=True)]
        )
    unknown = 1 + max(int(value) for value in spec.known or (0,))
    return np.array([unknown if value is None else float(value) for value in values])


def _objects(values: Sequence[str]) -> NDArray[Any]:
    table = np.empty(len(values), dtype=object)
    table[:] = values
    return table


def _on_places(columns: Sequence[Column]) -> str:
    first = columns[0]
    more = f", and so for {some([column.name for column in columns[1:]])}" if len(columns) > 1 else ""
    last = f", '{first.labels[-1]}' is {len(first.codes) - 1}" if len(first.codes) > 1 else ""
    return (
        "The model takes numbers, so categories are passed as 0, 1, 2, ... in the order of the schema "
        f"('{first.name}': '{first.labels[0]}' is "
        f"0{last}{more}). The file does not say which code each had: check that the model was trained with this order."
    )
