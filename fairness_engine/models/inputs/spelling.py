"""How a model spells the categories it was trained on, where that differs from the table as read.

A table's cells are trimmed and read as text; a model may have learned `` Private`` with its blank, or the truth values
that pandas makes of "True" and "False". An encoder that ignores unknown categories would turn each into nothing,
silently.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from fairness_engine.data.schema import Column, Kind, number_text
from fairness_engine.models.sklearn.native_parts import all_parts

_TRUTHS = {"true": "True", "TRUE": "True", "True": "True", "false": "False", "FALSE": "False", "False": "False"}
"""What pandas takes for truth values."""
_READ_AS_MISSING = ("", "None", "NaN", "nan", "null", "NULL", "NA", "N/A", "n/a", "#N/A", "<NA>", "-nan", "-NaN")
"""What pandas reads as a missing cell of a file."""
_IMPUTERS = ("SimpleImputer", "MissingIndicator", "KNNImputer", "IterativeImputer")
_NEARLY = 1e-6
_OF_ITS_OWN = ("KBinsDiscretizer",)
"""What encodes values of its own making: its encoder knows numbers of bins, and none of the column's."""
_OTHER_COLUMNS = ("ColumnTransformer", "FeatureUnion")
"""What gives columns in another order, or others, than it takes."""


def known_categories(estimator: Any) -> dict[str, list[Any]]:
    """The categories that the encoders of an estimator were fitted on, by the name of the column; those of all its
    members together.
    """
    found: dict[str, dict[str, Any]] = {}
    for names, encoder in _encoders(estimator, [], set()):
        for column, values in zip(names, encoder.categories_, strict=True):
            own = found.setdefault(column, {})
            for value in values:
                own.setdefault(repr(value), value)
    return {column: list(values.values()) for column, values in found.items()}


def refusing_columns(estimator: Any) -> set[str]:
    """The columns whose encoder raises an error on what it was not fitted on."""
    encoders = _encoders(estimator, [], set())
    return {name for names, one in encoders if getattr(one, "handle_unknown", "") == "error" for name in names}


def unknown_numbers(column: Column, known: Sequence[Any] | None) -> str:
    """Which numbers of a column's range are none of the categories that a model was trained on, in words; empty where
    all are, of a column of categories, and where the model does not say.
    """
    if known is None or column.kind not in (Kind.INTEGER, Kind.REAL):
        return ""
    own = {value for each in known if (value := _number(each)) is not None and column.low <= value <= column.high}
    step = 1.0 if column.kind is Kind.INTEGER else column.step
    if step is None or column.n_values is None:
        example = (column.low + column.high) / 2 + 1e-3
        return f"all but {len(own):,} of those in its range, for example {number_text(example)}"
    places = {round((value - column.low) / step) for value in own if _is_whole((value - column.low) / step)}
    if len(places) >= column.n_values:
        return ""
    example = column.low + step * next(place for place in range(column.n_values) if place not in places)
    return f"{column.n_values - len(places):,} of those in its range, for example {number_text(example)}"


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < _NEARLY


def dropped_columns(estimator: Any) -> list[str]:
    """The named columns that a pipeline is given and drops before anything looks at them; none of another estimator."""
    first = estimator
    while getattr(first, "steps", None):
        first = first.steps[0][1]
    if type(first).__name__ != "ColumnTransformer":
        return []
    own = [str(name) for name in getattr(first, "feature_names_in_", ())]
    taken: set[str] = set()
    for _, transformer, columns in getattr(first, "transformers_", ()):
        if not (isinstance(transformer, str) and transformer == "drop"):
            taken |= set(_names(own, columns))
    return [name for name in own if name not in taken]


def missing_value(known: Sequence[Any], filled: Collection[str | None]) -> float | None:
    """What a model was given for a missing cell of a column: NaN as of a file, or ``None`` as of a database or a column
    of truth values, which are two categories to it.

    Args:
        known: the categories of the column that the model was trained on.
        filled: what imputers fill in, as ``filled_in`` has it.
    """
    knows_nan = any(isinstance(value, float) and math.isnan(value) for value in known)
    is_none = None in filled or any(value is None for value in known)
    return None if is_none and not knows_nan else math.nan


def filled_in(estimator: Any) -> set[str | None]:
    """What the imputers of an estimator fill in, of ``None`` and ``"nan"`` for NaN; empty without any."""
    found = [getattr(part, "missing_values", 0) for part in all_parts(estimator) if type(part).__name__ in _IMPUTERS]
    is_nan = any(isinstance(value, float) and math.isnan(value) for value in found)
    return {*([None] if any(value is None for value in found) else []), *(["nan"] if is_nan else [])}


def spell(
    column: Column, known: Sequence[Any] | None, missing: float | None = math.nan, *, is_filled_in: bool = False
) -> tuple[list[Any], list[str]]:
    """What to pass for each category of a column, and which categories the model does not know.

    Args:
        known: the categories that the model was trained on; ``None`` when it does not say: then truth values, and
            ``missing`` for empty cells, are passed, which pandas makes of them.
        missing: what the model was given for a missing cell.
        is_filled_in: it has an imputer, so that it need not know missing cells as a category.

    Returns:
        values parallel to ``column.codes``, and the labels of unknown categories.
    """
    if column.kind is not Kind.CATEGORICAL:
        return list(column.codes), []
    if known is None:
        are_truths = {normal(code) for code in column.codes} <= set(_TRUTHS.values())
        if are_truths:
            return [normal(code) == "True" for code in column.codes], []
        return [missing if code == "" else code for code in column.codes], []
    own = {normal(value): value for value in known}
    own |= {value: value for value in known if isinstance(value, str)}  # " m" and "m" may be two: as it stands, first
    if is_filled_in:
        own.setdefault("", missing)
    if any(is_missing_value(value) for value in known):
        own = dict.fromkeys(_READ_AS_MISSING, missing) | own
    spelled = [code if code in own else normal(code) for code in column.codes]
    unknown = [label for text, label in zip(spelled, column.labels, strict=True) if text not in own]
    return [own.get(text, code) for text, code in zip(spelled, column.codes, strict=True)], unknown


def is_missing_value(value: Any) -> bool:
    """Whether a category is that of missing cells: ``None`` or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def told_apart_by_blanks(column: Column, known: Sequence[Any]) -> list[str]:
    """Categories that a model knows with and without blanks at their ends: cells are read without."""
    texts = [value for value in known if isinstance(value, str)]
    counts = Counter(text.strip() for text in texts)
    return [text for text in column.codes if isinstance(text, str) and counts[text] > 1]


def normal(value: Any) -> str:
    """A category or outcome without blanks around it, and a number or a truth value in one spelling: ``1``, ``1.0`` and
    `` 1`` are equal, and ``true``, ``TRUE`` and what Python says of it.
    """
    text = str(float(value) if isinstance(value, np.floating) else value).strip()  # a short one of fewer digits
    try:
        number = float(text)
    except ValueError:
        return _TRUTHS.get(text, text)
    return str(int(number)) if number.is_integer() else repr(number)


def _encoders(part: Any, names: list[str], seen: set[int]) -> Iterator[tuple[list[str], Any]]:
    """``(column names, fitted encoder)`` of everything in an estimator, however deep, that has categories of named
    columns.

    Args:
        part: the estimator, or something in it.
        names: of the columns that it is given; empty where they are not known.
        seen: what was looked at.
    """
    if id(part) in seen:
        return
    if isinstance(part, list | tuple):
        seen.add(id(part))
        for one in part:
            yield from _encoders(one, names, seen)
        return
    is_part = hasattr(part, "get_params") or type(part).__module__.startswith("sklearn.")
    kind = type(part).__name__
    if not is_part or not hasattr(part, "__dict__") or kind in _OF_ITS_OWN:
        return
    seen.add(id(part))
    own = [str(name) for name in getattr(part, "feature_names_in_", names)]
    if hasattr(part, "categories_"):
        if len(own) == len(part.categories_):
            yield own, part
    elif kind == "ColumnTransformer":
        for _, transformer, columns in getattr(part, "transformers_", ()):
            yield from _encoders(transformer, _names(own, columns), seen)
    elif hasattr(part, "steps"):
        for _, step in part.steps:
            yield from _encoders(step, own, seen)
            own = [] if type(step).__name__ in _OTHER_COLUMNS else own
    else:
        for value in vars(part).values():
            yield from _encoders(value, own, seen)


def _names(known: list[str], columns: Any) -> list[str]:
    """The names of the columns that a part of a ``ColumnTransformer`` takes."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice):
        return known[columns] if not isinstance(columns.start, str) else []
    if callable(columns):
        return []
    taken = list(columns)
    if taken and all(isinstance(each, bool | np.bool_) for each in taken):
        return [name for name, is_taken in zip(known, taken, strict=False) if is_taken]
    return [known[each] if isinstance(each, int | np.integer) and each < len(known) else str(each) for each in taken]
