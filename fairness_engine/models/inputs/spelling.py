"""How a model spells the categories it was trained on, where that differs from the table as read.

A table's cells are trimmed and read as text; a model may have learned `` Private`` with its blank, or the truth values
that pandas makes of "True" and "False". An encoder that ignores unknown categories would turn each into nothing,
silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairness_engine.data.schema import Column, Kind


def known_categories(estimator: Any) -> dict[str, list[Any]]:
    """The categories that the encoders of a pipeline were fitted on, by the name of the column."""
    found: dict[str, list[Any]] = {}
    for name, encoder in _encoders(estimator):
        for columns, values in zip(name, encoder.categories_, strict=False):
            found.setdefault(str(columns), list(values))
    return found


def spell(column: Column, known: Sequence[Any] | None) -> tuple[list[Any], list[str]]:
    """What to pass for each category of a column, and which categories the model does not know.

    Args:
        known: the categories that the model was trained on; ``None`` when it does not say.

    Returns:
        values parallel to ``column.codes``, and the labels of unknown categories.
    """
    if column.kind is not Kind.CATEGORICAL or known is None:
        return list(column.codes), []
    own = {normal(value): value for value in known}
    values = [own.get(normal(code), code) for code in column.codes]
    missing = [label for code, label in zip(column.codes, column.labels, strict=True) if normal(code) not in own]
    return values, missing


def normal(value: Any) -> str:
    """A category or outcome without blanks around it, and a number in one spelling: ``1``, ``1.0`` and `` 1`` are
    equal.
    """
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def _encoders(estimator: Any) -> Iterator[tuple[list[str], Any]]:
    """``(column names, fitted encoder)`` of everything in a pipeline that has categories of named columns."""
    for _, step in getattr(estimator, "steps", ()):
        if type(step).__name__ == "ColumnTransformer":
            for _, transformer, columns in step.transformers_:
                names = _names(step, columns)
                for part in [transformer, *(inner for _, inner in getattr(transformer, "steps", ()))]:
                    if hasattr(part, "categories_"):
                        yield names, part
        elif hasattr(step, "categories_") and hasattr(step, "feature_names_in_"):
            yield [str(name) for name in step.feature_names_in_], step
    for member in getattr(estimator, "estimators_", ()) if type(estimator).__name__ == "VotingClassifier" else ():
        yield from _encoders(member)


def _names(step: Any, columns: Any) -> list[str]:
    """The names of the columns that a part of a ``ColumnTransformer`` takes."""
    known = [str(name) for name in getattr(step, "feature_names_in_", ())]
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice):
        return known[columns] if not isinstance(columns.start, str) else []
    return [known[c] if isinstance(c, int) and not isinstance(c, bool) and c < len(known) else str(c) for c in columns]
