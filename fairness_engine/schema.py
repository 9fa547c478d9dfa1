"""Columns, their domains and their human labels; the schema file, version 1.

A *row* inside the engine is one line of a float64 matrix ``(n_rows, n_columns)`` over the schema's
``inputs`` (every column that is neither ignored, nor text, nor the label), in the schema's order:

* categorical: the *position* 0..k-1 of the category (what the model receives is ``Column.codes[position]``);
* integer: the value itself; real: the value itself.

A schema of texts may have no inputs: a model of texts takes a column of kind *text* alone (``texts.py``).
So every technique walks on one kind of lattice and never meets a file's coding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from fairness_engine.errors import SchemaError

Value = int | float | str
E = TypeVar("E", bound=StrEnum)


class Kind(StrEnum):
    """What a column holds."""

    CATEGORICAL = "categorical"
    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    IGNORED = "ignored"


class ModelInput(StrEnum):
    """How the model takes a row."""

    AUTO = "auto"
    CODES = "codes"
    LABELS = "labels"
    ONE_HOT = "one-hot"


@dataclass(frozen=True)
class Column:
    """One column: its name, kind and domain.

    Args:
        name: as in the file's header.
        kind: what it holds.
        codes: categorical only: what the file and the model hold, one value a category. Strings where
            the file holds the labels themselves.
        labels: categorical only: what people read, parallel to ``codes``.
        minimum, maximum: integer and real only: the closed range of the domain.
        step: real only: distance of neighbouring values; ``None`` for a continuous column.
    """

    name: str
    kind: Kind
    codes: tuple[Value, ...] = ()
    labels: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise SchemaError("Every column needs a name, got an empty one. Name it in the header of the file.")
        if self.kind is Kind.CATEGORICAL:
            self._check_categories()
        elif self.kind in (Kind.INTEGER, Kind.REAL):
            self._check_range()

    def _check_categories(self) -> None:
        if not self.codes:
            raise SchemaError(
                f"Categorical column '{self.name}' needs at least one category, got none. "
                "List them under 'codes' or 'categories'."
            )
        if len(set(self.codes)) != len(self.codes) or len(set(self.labels)) != len(self.labels):
            raise SchemaError(
                f"The categories of column '{self.name}' must differ from one another, got one twice. Remove or rename it."
            )
        if len(self.codes) != len(self.labels):
            raise SchemaError(
                f"Column '{self.name}' has {len(self.codes)} codes but {len(self.labels)} labels. Give one label to each code."
            )

    def _check_range(self) -> None:
        low, high = self.minimum, self.maximum
        if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)) or low > high:
            raise SchemaError(
                f"Column '{self.name}' needs a finite range with min <= max, got {low} to {high}. Correct 'min' and 'max'."
            )
        if self.kind is Kind.INTEGER and (low != int(low) or high != int(high)):
            raise SchemaError(f"Integer column '{self.name}' needs whole limits, got {low} to {high}.")
        if self.step is not None and not self.step > 0:
            raise SchemaError(f"The step of column '{self.name}' must be greater than 0, got {self.step}.")

    @property
    def is_input(self) -> bool:
        """True for the kinds that a model of tables takes."""
        return self.kind in (Kind.CATEGORICAL, Kind.INTEGER, Kind.REAL)

    @property
    def low(self) -> float:
        """Smallest value in a row of the engine."""
        return 0.0 if self.kind is Kind.CATEGORICAL else float(self.minimum or 0.0)

    @property
    def high(self) -> float:
        """Largest value in a row of the engine."""
        return float(len(self.codes) - 1) if self.kind is Kind.CATEGORICAL else float(self.maximum or 0.0)

    @property
    def n_values(self) -> int | None:
        """How many values the domain has; ``None`` for a continuous column."""
        if self.kind is Kind.CATEGORICAL:
            return len(self.codes)
        if self.kind is Kind.INTEGER:
            return int(self.high - self.low) + 1
        if self.step is not None:
            return math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return None

    def text(self, value: float) -> str:
        """The human label of a value as it stands in a row of the engine."""
        if self.kind is Kind.CATEGORICAL:
            return self.labels[round(value)]
        if self.kind is Kind.INTEGER:
            return str(round(value))
        return f"{value:.6g}"

    def code(self, value: float) -> Value:
        """What the file and the model hold for a value of a row of the engine."""
        if self.kind is Kind.CATEGORICAL:
            return self.codes[round(value)]
        return round(value) if self.kind is Kind.INTEGER else float(value)


@dataclass(frozen=True)
class Schema:
    """All columns, the label, the favourable outcome and the protected attributes.

    Args:
        columns: every column of the file that the schema speaks of, in the order the model takes them.
            The label may or may not be among them.
        label: name of the outcome's column, or ``None``.
        favourable: the outcome that is good for the person, as the file holds it.
        protected: names of protected attributes (each an input).
        model_input: how the model takes a row.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    favourable: Value | None = None
    protected: tuple[str, ...] = ()
    model_input: ModelInput = ModelInput.AUTO

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SchemaError(f"Column names must differ, got '{twice[0]}' twice. Rename or remove one of them.")
        if not self.inputs and not any(column.kind is Kind.TEXT for column in self.columns):
            raise SchemaError("A schema needs at least one column that the model takes, or one of texts, got none.")
        for name in self.protected:
            self.index(name)

    @cached_property
    def inputs(self) -> tuple[Column, ...]:
        """The columns of a row of the engine, in order."""
        return tuple(column for column in self.columns if column.is_input and column.name != self.label)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of ``inputs``."""
        return tuple(column.name for column in self.inputs)

    def index(self, name: str) -> int:
        """Position of an input in a row.

        Raises:
            SchemaError: there is no such input.
        """
        try:
            return self.names.index(name)
        except ValueError:
            known = ", ".join(self.names[:12]) or "none"
            raise SchemaError(
                f"'{name}' must be a column that the model takes, but the inputs are: {known}. Check the spelling."
            ) from None

    def column(self, name: str) -> Column:
        """The input of that name."""
        return self.inputs[self.index(name)]

    def with_protected(self, names: Iterable[str]) -> Schema:
        """The same schema with other protected attributes."""
        return replace(self, protected=tuple(names))

    # --- the schema file ------------------------------------------------------------------

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Schema:
        """Read the content of a schema file (version 1; a file without a version is read as 1).

        Raises:
            SchemaError: an unknown key, a missing one, or a value that cannot be.
        """
        if not isinstance(content, Mapping):
            raise SchemaError(f"A schema file must hold one JSON object, got {type(content).__name__}.")
        _refuse_unknown(
            content, {"version", "label", "favourable", "protected", "model_input", "columns"}, "the schema"
        )
        if content.get("version", 1) != 1:
            raise SchemaError(
                f"The schema file must be of version 1, got {content['version']!r}. Save it again as version 1."
            )
        columns = content.get("columns")
        if not isinstance(columns, list) or not columns:
            raise SchemaError("The schema file needs a list 'columns' with at least one column.")
        protected = content.get("protected", [])
        if not isinstance(protected, list) or not all(isinstance(name, str) for name in protected):
            raise SchemaError(f"'protected' must be a list of column names, got {protected!r}.")
        return cls(
            columns=tuple(_column_from_json(column) for column in columns),
            label=_optional_text(content, "label"),
            favourable=_favourable(content.get("favourable")),
            protected=tuple(protected),
            model_input=_choice(ModelInput, content.get("model_input", "auto"), "model_input"),
        )

    def to_json(self) -> dict[str, Any]:
        """The content of a schema file, version 1; ``from_json`` reads it back to an equal schema."""
        return {
            "version": 1,
            "label": self.label,
            "favourable": self.favourable,
            "protected": list(self.protected),
            "model_input": self.model_input.value,
            "columns": [_column_to_json(column) for column in self.columns],
        }

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a schema file.

        Raises:
            SchemaError: the file is missing, is not JSON, or says something that cannot be.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise SchemaError(f"The schema file {path.name} cannot be read: {error.strerror}.") from None
        except ValueError as error:
            raise SchemaError(f"The schema file {path.name} must be JSON in UTF-8: {error}.") from None
        return cls.from_json(content)

    def write(self, path: Path) -> None:
        """Write a schema file."""
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _refuse_unknown(content: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(content) - known)
    if unknown:
        raise SchemaError(f"Unknown key '{unknown[0]}' in {where}; known are: {', '.join(sorted(known))}.")


def _choice(enum: type[E], value: Any, key: str) -> E:
    try:
        return enum(value)
    except ValueError:
        raise SchemaError(f"'{key}' must be one of {', '.join(enum)}, got {value!r}.") from None


def _optional_text(content: Mapping[str, Any], key: str) -> str | None:
    value = content.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError(f"'{key}' must be a column name, got {value!r}.")
    return value


def _favourable(value: Any) -> Value | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        raise SchemaError(f"'favourable' must be one outcome of the label, got {value!r}.")
    return value


def _column_from_json(content: Any) -> Column:
    if not isinstance(content, Mapping) or not isinstance(content.get("name"), str):
        raise SchemaError(f"Every column of the schema needs a 'name', got {content!r}.")
    name = content["name"]
    _refuse_unknown(content, {"name", "kind", "min", "max", "step", "codes", "categories"}, f"column '{name}'")
    kind = _choice(Kind, content.get("kind"), f"kind of column {name}")
    if kind is Kind.CATEGORICAL:
        return _categorical_from_json(name, content)
    if kind in (Kind.INTEGER, Kind.REAL):
        return Column(
            name,
            kind,
            minimum=_number(content, "min", name),
            maximum=_number(content, "max", name),
            step=_number(content, "step", name) if content.get("step") is not None else None,
        )
    return Column(name, kind)


def _categorical_from_json(name: str, content: Mapping[str, Any]) -> Column:
    codes, categories = content.get("codes"), content.get("categories")
    if (codes is None) == (categories is None):
        raise SchemaError(f"Categorical column '{name}' needs either 'codes' or 'categories', and not both.")
    if categories is not None:
        if not isinstance(categories, list):
            raise SchemaError(f"'categories' of column '{name}' must be a list, got {categories!r}.")
        return Column(
            name, Kind.CATEGORICAL, codes=tuple(str(c) for c in categories), labels=tuple(str(c) for c in categories)
        )
    if not isinstance(codes, Mapping):
        raise SchemaError(f"'codes' of column '{name}' must map codes to labels, got {codes!r}.")
    return Column(
        name,
        Kind.CATEGORICAL,
        codes=_codes(list(codes)),
        labels=tuple(str(label) for label in codes.values()),
    )


def _codes(texts: list[str]) -> tuple[Value, ...]:
    """Codes from the keys of a JSON object: all whole numbers, or all numbers, or else texts as they stand."""
    for number in (int, float):
        try:
            codes = tuple(number(text) for text in texts)
        except ValueError:
            continue
        if all(str(code) == text for code, text in zip(codes, texts, strict=True)):
            return codes
    return tuple(texts)


def _number(content: Mapping[str, Any], key: str, name: str) -> float:
    value = content.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SchemaError(f"Column '{name}' needs a number as '{key}', got {value!r}.")
    return float(value)


def _column_to_json(column: Column) -> dict[str, Any]:
    content: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    if column.kind is Kind.CATEGORICAL:
        if column.codes == column.labels:
            content["categories"] = list(column.labels)
        else:
            content["codes"] = {str(code): label for code, label in zip(column.codes, column.labels, strict=True)}
    elif column.kind in (Kind.INTEGER, Kind.REAL):
        whole = column.kind is Kind.INTEGER
        content["min"] = int(column.low) if whole else column.minimum
        content["max"] = int(column.high) if whole else column.maximum
        if column.step is not None:
            content["step"] = column.step
    return content
