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
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from fairness_engine.data.csv.dialect import MAX_COLUMNS
from fairness_engine.data.links.link import Link
from fairness_engine.data.links.reading import read_links
from fairness_engine.errors import MAX_LISTED, SchemaError, cut, shown

Value = int | float | str
E = TypeVar("E", bound=StrEnum)
_MAX_DIGITS_TYPED = 10
"""Significant digits up to which a number that is not quite equal was meant."""
_MAX_WHOLE = 1e15
"""Whole numbers below it are written with all their digits."""
_MAX_VALUES = 10**18
"""How many values a column of whole numbers or steps may have; the limits of whole numbers lie within it, too."""


_SCHEMA_KEYS = {"version", "label", "favourable", "protected", "model_input", "positive", "id", "layout"}
_SCHEMA_KEYS |= {"links", "columns"}
_COLUMN_KEYS = {"name", "kind", "was", "min", "max", "step", "codes", "categories", "missing"}


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


EMPTY = "(empty)"
"""What people read of the category whose code is the empty text: that of empty cells."""


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
        missing: texts of the file that stand for an empty cell in this column; they are no category and no number.
        was: ignored only: the kind that it had, with its domain in the other fields, so that taking it back restores
            it.
    """

    name: str
    kind: Kind
    codes: tuple[Value, ...] = ()
    labels: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    missing: tuple[str, ...] = ()
    was: Kind | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise SchemaError("Every column needs a name, got an empty one. Name it in the header of the file.")
        if self.was is not None and (self.kind is not Kind.IGNORED or self.was is Kind.IGNORED):
            raise SchemaError(
                f"Only an ignored column was something else before, but '{cut(self.name)}' is {self.kind}."
            )
        domain = self.was or self.kind
        if domain is Kind.CATEGORICAL:
            self._check_categories()
        elif domain in (Kind.INTEGER, Kind.REAL):
            self._check_range()

    def _check_categories(self) -> None:
        if not self.codes:
            raise SchemaError(
                f"Categorical column '{cut(self.name)}' needs at least one category, got none. "
                "List them under 'codes' or 'categories'."
            )
        is_text = any(isinstance(code, str) for code in self.codes)
        told_apart = set(self.codes if is_text else map(_as_float, self.codes))
        if len(told_apart) != len(self.codes) or len(set(self.labels)) != len(self.labels):
            raise SchemaError(
                f"The categories of column '{cut(self.name)}' must differ from one another, got one twice. Remove or "
                "rename it."
            )
        if len(self.codes) != len(self.labels):
            raise SchemaError(
                f"Column '{cut(self.name)}' has {len(self.codes)} codes but {len(self.labels)} labels. Give one label "
                "to each code."
            )

    def _check_range(self) -> None:
        low = self.minimum
        high = self.maximum
        name = cut(self.name)
        if low is None or high is None or not math.isfinite(high - low) or low > high:
            raise SchemaError(
                f"Column '{name}' needs a finite range with min <= max, got {low} to {high}. Correct 'min' and 'max'."
            )
        if Kind.INTEGER in (self.kind, self.was):
            if low != int(low) or high != int(high):
                raise SchemaError(f"Integer column '{name}' needs whole limits, got {low} to {high}.")
            if max(-low, high) > _MAX_VALUES:
                raise SchemaError(
                    f"The limits of integer column '{name}' must lie within 1e18 of 0, got {low:g} to {high:g}. "
                    "Correct them, or choose 'real' as its type."
                )
        if self.step is not None:
            if not self.step > 0:
                raise SchemaError(f"The step of column '{name}' must be greater than 0, got {self.step}.")
            if (high - low) / self.step > _MAX_VALUES:
                raise SchemaError(
                    f"Column '{name}' may have at most 1e18 steps, got steps of {self.step:g} from {low:g} to "
                    f"{high:g}. Choose a larger step, or none."
                )

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
        return number_text(value)

    def code(self, value: float) -> Value:
        """What the file and the model hold for a value of a row of the engine."""
        if self.kind is Kind.CATEGORICAL:
            return self.codes[round(value)]
        return round(value) if self.kind is Kind.INTEGER else float(value)


@dataclass(frozen=True)
class Layout:
    """How a model's own inputs are made of the columns, where its file does not say so or says it in other words.

    Args:
        names: the model's name of an input -> the column that it is.
        order: names of the inputs in the model's order, a column's name or ``column_code`` for one of its categories;
            empty for the schema's order.
        scaling: ``(shift, scale)`` by name of the input: the model receives ``(value - shift) / scale``.
        codes: by name of a column of texts that the model takes as one number: its categories in the order of their
            codes 0, 1, ...; a spelling of its missing cells may be among them.
        codes_guessed: whether the codes are a guess that fits the data, or somebody's word; ``None`` where that is not
            said: then codes that follow from the data are taken for a guess.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    scaling: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    codes_guessed: bool | None = None

    def __post_init__(self) -> None:
        twice = sorted(name for name, count in Counter(self.order).items() if count > 1)
        if twice:
            raise SchemaError(
                f"Every input must stand once in the model's order, got '{cut(twice[0])}' twice. Remove one."
            )
        for name, (shift, scale) in self.scaling.items():
            if not (math.isfinite(shift) and math.isfinite(scale) and scale):
                raise SchemaError(
                    f"The scaling of '{cut(name)}' must be two finite numbers, the second not 0, got {shift} and "
                    f"{scale}."
                )

    @property
    def is_plain(self) -> bool:
        """True when it says nothing."""
        return not (self.names or self.order or self.scaling or self.codes)

    @classmethod
    def from_json(cls, content: Any) -> Layout:
        """Read the value of the key ``layout`` of a schema file.

        Raises:
            SchemaError: an unknown key, or a value that cannot be.
        """
        if not isinstance(content, Mapping):
            raise SchemaError(f"'layout' must be an object with names, order, scaling or codes, got {shown(content)}.")
        _refuse_unknown(content, {"names", "order", "scaling", "codes", "codes_guessed"}, "'layout'")
        names = content.get("names", {})
        order = content.get("order", [])
        scaling = content.get("scaling", {})
        codes = content.get("codes", {})
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names.values()):
            raise SchemaError(f"'names' of 'layout' must map names of inputs to columns, got {shown(names)}.")
        if not isinstance(order, list) or not all(isinstance(name, str) for name in order):
            raise SchemaError(f"'order' of 'layout' must be a list of names of inputs, got {shown(order)}.")
        if not isinstance(scaling, Mapping) or not all(_is_pair(pair) for pair in scaling.values()):
            raise SchemaError(
                f"'scaling' of 'layout' must map names of inputs to [shift, scale], got {shown(scaling)}."
            )
        if not isinstance(codes, Mapping) or not all(
            isinstance(own, list) and all(isinstance(text, str) for text in own) for own in codes.values()
        ):
            raise SchemaError(f"'codes' of 'layout' must map columns to lists of their categories, got {shown(codes)}.")
        guessed = content.get("codes_guessed")
        if not (guessed is None or isinstance(guessed, bool)):
            raise SchemaError(f"'codes_guessed' of 'layout' must be true or false, got {shown(guessed)}.")
        pairs = {name: (float(pair[0]), float(pair[1])) for name, pair in scaling.items()}
        return cls(dict(names), tuple(order), pairs, {name: tuple(own) for name, own in codes.items()}, guessed)

    def to_json(self) -> dict[str, Any]:
        """What ``from_json`` reads back; what says nothing is left out."""
        content: dict[str, Any] = {"names": dict(self.names)} if self.names else {}
        if self.order:
            content["order"] = list(self.order)
        if self.scaling:
            content["scaling"] = {name: list(pair) for name, pair in self.scaling.items()}
        if self.codes:
            content["codes"] = {name: list(own) for name, own in self.codes.items()}
        if self.codes_guessed is not None:
            content["codes_guessed"] = self.codes_guessed
        return content


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(_is_number(number) and _as_float(number) is not None for number in value)
    )


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
        positive: the outcome, as the file holds it, whose probability a model's one score is (its class 1), for models
            whose file does not name its classes; ``None`` takes the second outcome.
        case_id: name of the column that names a case; it never is an input.
        layout: what of the model's inputs neither its file nor ``model_input`` says.
        links: columns that change with a protected attribute; those of attributes that are not protected say nothing.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    favourable: Value | None = None
    protected: tuple[str, ...] = ()
    model_input: ModelInput = ModelInput.AUTO
    positive: Value | None = None
    case_id: str | None = None
    layout: Layout = field(default_factory=Layout, hash=False)
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        twice = sorted(name for name, count in Counter(column.name for column in self.columns).items() if count > 1)
        if twice:
            raise SchemaError(f"Column names must differ, got '{cut(twice[0])}' twice. Rename or remove one of them.")
        if not self.inputs and not any(column.kind is Kind.TEXT for column in self.columns):
            raise SchemaError("A schema needs at least one column that the model takes, or one of texts, got none.")
        for name in self.protected:
            self.index(name)
        if self.case_id is not None and (self.case_id == self.label or self.case_id in self.names):
            raise SchemaError(
                f"'{cut(self.case_id)}' cannot name cases and be an input or the label. Choose 'ignored' as its kind."
            )

    @cached_property
    def inputs(self) -> tuple[Column, ...]:
        """The columns of a row of the engine, in order."""
        return tuple(column for column in self.columns if column.is_input and column.name != self.label)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of ``inputs``."""
        return tuple(column.name for column in self.inputs)

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """All columns, whatever their kind."""
        return {column.name: column for column in self.columns}

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def as_model_sees(self) -> tuple[Any, ...]:
        """What of it a model, and what is said of one, depend on."""
        texts = tuple(column.name for column in self.columns if column.kind is Kind.TEXT and column.name != self.label)
        return self.inputs, texts, self.label, self.favourable, self.positive, self.layout, self.model_input

    def index(self, name: str) -> int:
        """Position of an input in a row.

        Raises:
            SchemaError: there is no such input.
        """
        try:
            return self._positions[name]
        except KeyError:
            raise SchemaError(
                f"'{cut(name)}' must be a column that the model takes, but {self._why_none(name)}"
            ) from None

    def _why_none(self, name: str) -> str:
        """Why a name is none of an input, and what to do, as the rest of a sentence and one more."""
        if name == self.case_id:
            return "it names the cases. Choose another column."
        if name in self.by_name and name != self.label:
            is_text = self.by_name[name].kind is Kind.TEXT
            return (
                f"it {'holds free text' if is_text else 'is left out'}. Choose another type for it, or another column."
            )
        known = cut(", ".join(self.names[:12]), MAX_LISTED) or "none"
        remedy = "It is the label: choose another one." if name == self.label else "Check the spelling."
        return f"the inputs are: {known}. {remedy}"

    def column(self, name: str) -> Column:
        """The input of that name."""
        return self.inputs[self.index(name)]

    def is_text(self, name: str) -> bool:
        """Whether it has a column of texts of this name; texts are no inputs."""
        return any(column.name == name and column.kind is Kind.TEXT for column in self.columns)

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
        _refuse_unknown(content, _SCHEMA_KEYS, "the schema")
        if content.get("version", 1) != 1:
            raise SchemaError(
                f"The schema file must be of version 1, got {shown(content['version'])}. Save it again as version 1."
            )
        columns = content.get("columns")
        if not isinstance(columns, list) or not columns:
            raise SchemaError("The schema file needs a list 'columns' with at least one column.")
        if len(columns) > MAX_COLUMNS:
            raise SchemaError(
                f"A schema may have at most {MAX_COLUMNS} columns, as a table may, got {len(columns)}. Leave some out."
            )
        protected = content.get("protected", [])
        if not isinstance(protected, list) or not all(isinstance(name, str) for name in protected):
            raise SchemaError(f"'protected' must be a list of column names, got {shown(protected)}.")
        found = cls(
            columns=tuple(_column_from_json(column) for column in columns),
            label=_optional_text(content, "label"),
            favourable=_outcome(content, "favourable"),
            protected=tuple(protected),
            model_input=_choice(ModelInput, content.get("model_input", "auto"), "model_input"),
            positive=_outcome(content, "positive"),
            case_id=_optional_text(content, "id"),
            layout=Layout.from_json(content.get("layout", {})),
        )
        if "links" not in content:
            return found
        return replace(found, links=read_links(content["links"], found))

    def to_json(self) -> dict[str, Any]:
        """The content of a schema file, version 1; ``from_json`` reads it back to an equal schema."""
        content: dict[str, Any] = {
            "version": 1,
            "label": self.label,
            "favourable": self.favourable,
            "protected": list(self.protected),
            "model_input": self.model_input.value,
        }
        # what few files need is left out where it says nothing
        if self.positive is not None:
            content["positive"] = self.positive
        if self.case_id is not None:
            content["id"] = self.case_id
        if not self.layout.is_plain:
            content["layout"] = self.layout.to_json()
        if self.links:
            content["links"] = [link.to_json() for link in self.links]
        return {**content, "columns": [_column_to_json(column) for column in self.columns]}

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a schema file.

        Raises:
            SchemaError: the file is missing, is not JSON, or says something that cannot be.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise SchemaError(
                f"The schema file {cut(path.name)} cannot be read: {error.strerror}. It must be a file of JSON: "
                "check the path."
            ) from None
        except ValueError as error:
            raise SchemaError(f"The schema file {cut(path.name)} must be JSON in UTF-8: {error}.") from None
        except RecursionError:
            raise SchemaError(
                f"The schema file {cut(path.name)} must be one list of columns, but is nested too deeply to be read. "
                "Save it again."
            ) from None
        return cls.from_json(content)

    def write(self, path: Path) -> None:
        """Write a schema file."""
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def number_text(value: float) -> str:
    """A number as a file would hold it: the shortest text that reads back equal, ``10340.21``.

    One that needs more than twelve digits was made by arithmetic, not typed: it is told without the arithmetic's last
    digits (0.1 + 0.2 is ``0.3``), or with six; of millions with all before the point.
    """
    if abs(value) < _MAX_WHOLE and value == round(value):
        return str(round(value))
    short = f"{value:.12g}"
    n_digits = sum(character.isdigit() for character in short.partition("e")[0].lstrip("-0.").replace(".", ""))
    if n_digits <= _MAX_DIGITS_TYPED or float(short) == value:
        return short
    return f"{value:.0f}" if 1e6 <= abs(value) < _MAX_WHOLE else f"{value:.6g}"


def _refuse_unknown(content: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(content) - known)
    if unknown:
        raise SchemaError(f"Unknown key '{cut(unknown[0])}' in {where}; known are: {', '.join(sorted(known))}.")


def _choice(enum: type[E], value: Any, key: str) -> E:
    try:
        return enum(value)
    except ValueError:
        raise SchemaError(f"'{key}' must be one of {', '.join(enum)}, got {shown(value)}.") from None


def _optional_text(content: Mapping[str, Any], key: str) -> str | None:
    value = content.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError(f"'{key}' must be a column name, got {shown(value)}.")
    return value


def _outcome(content: Mapping[str, Any], key: str) -> Value | None:
    value: Value | None = content.get(key)
    if not (value is None or isinstance(value, str) or (_is_number(value) and _as_float(value) is not None)):
        raise SchemaError(f"'{key}' must be one outcome of the label, got {shown(value)}.")
    return value


def _column_from_json(content: Any) -> Column:
    if not isinstance(content, Mapping) or not isinstance(content.get("name"), str):
        raise SchemaError(f"Every column of the schema needs a 'name', got {shown(content)}.")
    name = content["name"]
    quoted = cut(name)
    _refuse_unknown(content, _COLUMN_KEYS, f"column '{quoted}'")
    kind = _choice(Kind, content.get("kind"), f"kind of column {quoted}")
    was = None if content.get("was") is None else _choice(Kind, content["was"], f"earlier kind of column {quoted}")
    column = _with_domain(name, was or kind, content)
    missing = content.get("missing", [])
    if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
        raise SchemaError(f"'missing' of column '{quoted}' must be a list of texts, got {shown(missing)}.")
    return replace(column, kind=kind, was=was, missing=tuple(missing))


def _with_domain(name: str, kind: Kind, content: Mapping[str, Any]) -> Column:
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
    codes = content.get("codes")
    categories = content.get("categories")
    if (codes is None) == (categories is None):
        raise SchemaError(f"Categorical column '{cut(name)}' needs either 'codes' or 'categories', and not both.")
    if categories is not None:
        if not isinstance(categories, list):
            raise SchemaError(f"'categories' of column '{cut(name)}' must be a list, got {shown(categories)}.")
        return Column(
            name,
            Kind.CATEGORICAL,
            codes=tuple(str(c) for c in categories),
            labels=tuple(str(c) or EMPTY for c in categories),
        )
    if not isinstance(codes, Mapping):
        raise SchemaError(f"'codes' of column '{cut(name)}' must map codes to labels, got {shown(codes)}.")
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
        if all(str(code) == text and _is_finite(code) for code, text in zip(codes, texts, strict=True)):
            return codes
    return tuple(texts)


def _number(content: Mapping[str, Any], key: str, name: str) -> float:
    value = content.get(key)
    number = _as_float(value) if _is_number(value) else None
    if number is None:
        raise SchemaError(f"Column '{cut(name)}' needs a number as '{key}', got {shown(value)}.")
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(number: Any) -> bool:
    value = _as_float(number)
    return value is not None and math.isfinite(value)


def _as_float(number: Any) -> float | None:
    """``None`` for a whole number beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        return None


def _column_to_json(column: Column) -> dict[str, Any]:
    content: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    if column.was is not None:
        content["was"] = column.was.value
    domain = column.was or column.kind
    if domain is Kind.CATEGORICAL:
        if column.codes == column.labels and "" not in column.codes:
            content["categories"] = list(column.labels)
        else:
            content["codes"] = {str(code): label for code, label in zip(column.codes, column.labels, strict=True)}
    elif domain in (Kind.INTEGER, Kind.REAL):
        whole = domain is Kind.INTEGER
        content["min"] = int(column.low) if whole else column.minimum
        content["max"] = int(column.high) if whole else column.maximum
        if column.step is not None:
            content["step"] = column.step
    if column.missing:
        content["missing"] = list(column.missing)
    return content
