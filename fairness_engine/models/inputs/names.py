"""Which column, or which category of a column, a model means by each name of its inputs.

Exporters change names: skl2onnx writes "Laufzeit__Monate_" for "Laufzeit (Monate)", a ``ColumnTransformer`` "num__age",
Keras "age_input". A name is looked for as it stands, then in a form that such changes leave alone, then in looser ones;
it is taken when one input and one column mean each other and nothing else does. Between two, nobody guesses: the person
says it in ``schema.layout.names``.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import MAX_MESSAGE, FitError, cut
from fairness_engine.models.inputs.spelling import normal

if TYPE_CHECKING:
    from fairness_engine.models.model import Encoder

_SEPARATORS = ("_", "=", "__", " = ", ":", ".")
_WRAPPERS = re.compile(r"^(?:serving_default_|input_)|_input(?:_\d+)?$|:\d+$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?P<word>.*?)(?P<number>\d*)(?::0)?")
_ENCODED = re.compile(r"x(?P<place>\d+)_(?P<category>.+)", re.DOTALL)
_MAX_NAMED = 8
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_PLAIN = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d"})
_SIGNS = (
    (r"<=|≤", "le"),
    (r">=|≥", "ge"),
    (r"<", "lt"),
    (r">", "gt"),
    (r"\+", "plus"),
    (r"(?<![0-9a-z])-(?=\d)", "minus"),
)
ABSENT = -1
SAY_IT = (
    "Say what they are in the table of the model's inputs on the Model page ('names' of 'layout' in a schema file), "
    "or use the data that the model was trained on."
)


class How(StrEnum):
    """How it was found out what an input is."""

    EXACT = "exact"
    NORMALISED = "normalised"
    CORRECTED = "corrected"
    POSITION = "position"


@dataclass(frozen=True)
class InputMatch:
    """One input of a model, and what of a row it is.

    Args:
        name: as the model calls it.
        column: the column; empty when nobody knows.
        category: the category that the input is 1 for; ``None`` where it is the whole column.
        how: in words of ``How``; empty when nobody knows.
    """

    name: str
    column: str
    category: str | None
    how: str


@dataclass(frozen=True)
class Found:
    """What one name means.

    Args:
        column: index among the schema's inputs.
        position: of the category; ``None`` for the whole column; ``ABSENT`` for a category that the data does not have.
    """

    column: int
    position: int | None
    how: How


@dataclass(frozen=True)
class _Target:
    """What a name may mean: ``column`` is ``None`` for a column that is no input."""

    column: int | None
    name: str
    position: int | None = None

    def text(self, schema: Schema) -> str:
        """In words of a sentence."""
        if self.column is None or self.position is None:
            return f"'{self.name}'"
        return f"'{self.name}' being '{schema.inputs[self.column].labels[self.position]}'"


class Names:
    """The names of a model's inputs, matched.

    Args:
        schema: says what the columns are; its ``layout.names`` wins over everything.
        names: the model's, in its order.
        has_categories: an input may be a category of a column.

    Attributes:
        found: by name.
        doubts: by name that means several things, or one that another name means as well: a sentence.

    Raises:
        FitError: a correction names what is no input, or an input of the model is a column that is left out.
    """

    def __init__(self, schema: Schema, names: Sequence[str], *, has_categories: bool = True) -> None:
        self.schema = schema
        self.names = tuple(names)
        self.found: dict[str, Found] = {}
        self.doubts: dict[str, str] = {}
        targets = _targets(schema, has_categories)
        self._correct(targets)
        open_targets = {target for target in targets if not self._is_taken(target)}
        for form, how in _forms_of(self.names):
            self._match(form, how, open_targets)
        if has_categories:
            self._match_encoded()
            self._leave_unknown_at_zero()

    @property
    def missing(self) -> list[str]:
        """Names that nobody knows, in the model's order."""
        return [name for name in self.names if name not in self.found]

    def table(self) -> tuple[InputMatch, ...]:
        """One line an input, those that nobody knows with an empty column."""
        return tuple(
            match_of(self.schema, name, self.found[name]) if name in self.found else InputMatch(name, "", None, "")
            for name in self.names
        )

    def refuse(self) -> FitError:
        """The error for names that are missing: what the model takes, which of them nobody knows, and where to say
        it.
        """
        first = next((name for name in self.missing if name in self.doubts), self.missing[0])
        lines = [asdict(line) for line in self.table()]
        if first in self.doubts:
            return FitError(f"{self.doubts[first]} {SAY_IT}", inputs=lines)
        which = f"an input '{cut(first, 40)}', which is no column of the data"
        if len(self.missing) > 1:
            which = f"{len(self.missing)} inputs that are no columns of the data ({cut(some(self.missing), 40)})"
        room = MAX_MESSAGE - len(f"The model takes {which}; the columns are: . {SAY_IT}")
        return FitError(
            f"The model takes {which}; the columns are: {cut(some(self.schema.names), room)}. {SAY_IT}", inputs=lines
        )

    # --- one way after the other ----------------------------------------------------------------

    def _correct(self, targets: Iterable[_Target]) -> None:
        known: dict[str, _Target] = {}
        for target in targets:
            for spelling in _spellings(self.schema, target, _SEPARATORS):
                known.setdefault(spelling, target)
        for name, wanted in self.schema.layout.names.items():
            if name not in self.names:
                continue
            meant = known.get(wanted)
            if meant is None or meant.column is None:
                raise FitError(
                    f"The model's input '{name}' was said to be '{wanted}', which is no input of the data (its inputs: "
                    f"{some(self.schema.names)}). Correct it in the table of the model's inputs on the Model page."
                )
            self.found[name] = Found(meant.column, meant.position, How.CORRECTED)

    def _is_taken(self, target: _Target) -> bool:
        return any((found.column, found.position) == (target.column, target.position) for found in self.found.values())

    def _match(self, form: Callable[[str], set[str]], how: How, targets: set[_Target]) -> None:
        """Take what one name and one target, and nothing else, have a form in common for."""
        if not self.missing:
            return
        separators = _SEPARATORS if how is How.EXACT else _SEPARATORS[:1]  # the other forms leave none of them
        by_form: dict[str, set[_Target]] = defaultdict(set)
        for target in targets:
            for spelling in _spellings(self.schema, target, separators):
                for text in form(spelling):
                    by_form[text].add(target)
        meant = {name: set().union(*(by_form.get(text, set()) for text in form(name))) for name in self.missing}
        if how is How.EXACT:  # a column is called as a category of another one, or a label as another's code
            meant = {
                name: set(sorted(own, key=lambda t: _rank(self.schema, t, name))[:1]) for name, own in meant.items()
            }
        askers: dict[_Target, list[str]] = defaultdict(list)
        for name, own in meant.items():
            for target in own:
                askers[target].append(name)
        for name, own in meant.items():
            if not own:
                continue
            target = min(own, key=lambda t: _rank(self.schema, t, name))
            if len(own) == len(askers[target]) == 1:
                self._take(name, target, how)
                targets.discard(target)
            elif name not in self.doubts:
                texts = sorted(other.text(self.schema) for other in own)
                both = " and ".join(f"'{other}'" for other in askers[target][:3])
                self.doubts[name] = (
                    f"The model's input '{name}' may mean {' or '.join(texts[:3])}."
                    if len(own) > 1
                    else f"The model's inputs {both} may mean the same, {texts[0]}."
                )

    def _take(self, name: str, target: _Target, how: How) -> None:
        if target.column is None:
            raise FitError(
                f"The model takes the column '{target.name}', which is not among the inputs: it is ignored, or the "
                "label. Make it one (its role on the Data page, or 'kind' in the schema file, which "
                "inspect --out-schema writes)."
            )
        self.found[name] = Found(target.column, target.position, how)
        self.doubts.pop(name, None)

    def _match_encoded(self) -> None:
        """Names like ``x0_m``, of an encoder that knew places only: the one column that has all categories of a
        place.
        """
        groups: dict[str, dict[str, str]] = defaultdict(dict)
        for name in self.missing:
            if (parts := _ENCODED.fullmatch(name)) is not None:
                groups[parts["place"]][name] = normal(parts["category"])
        if not groups:
            return
        columns = self.schema.inputs
        used = {found.column for found in self.found.values()}
        fits = {
            place: [i for i, c in enumerate(columns) if i not in used and set(group.values()) <= set(_by_spelling(c))]
            for place, group in groups.items()
        }
        places = sorted(fits, key=int)
        in_order = [i for i, column in enumerate(columns) if column.kind is Kind.CATEGORICAL]
        is_in_order = len(in_order) == len(places) and all(i in fits[p] for i, p in zip(in_order, places, strict=True))
        for place, own in fits.items():
            rivals = [other for other, theirs in fits.items() if set(own) & set(theirs)]
            if len(own) == 1 and rivals == [place]:
                column = own[0]
                how = How.NORMALISED
            elif is_in_order:
                column = in_order[places.index(place)]
                how = How.POSITION
            else:
                continue
            positions = _by_spelling(columns[column])
            for name, category in groups[place].items():
                self.found[name] = Found(column, positions[category], how)

    def _leave_unknown_at_zero(self) -> None:
        """Inputs of categories that the data does not have, of a column each of whose categories has its own: they are
        never 1.
        """
        for i, column in enumerate(self.schema.inputs):
            known = {found.position for found in self.found.values() if found.column == i}
            if not column.codes or not set(range(len(column.codes))) <= known:
                continue
            for name in self.missing:
                if name not in self.doubts and any(name.startswith(column.name + between) for between in _SEPARATORS):
                    self.found[name] = Found(i, ABSENT, How.EXACT)


def match_of(schema: Schema, name: str, found: Found) -> InputMatch:
    """A line of the table of inputs."""
    column = schema.inputs[found.column]
    if found.position is None:
        return InputMatch(name, column.name, None, found.how.value)
    category = "(not in the data)" if found.position == ABSENT else column.labels[found.position]
    return InputMatch(name, column.name, category, found.how.value)


def input_matches(encoder: Encoder) -> tuple[InputMatch, ...]:
    """The table of a model's inputs: what each is taken for, in the model's order."""
    own = getattr(encoder, "original", encoder)
    matches: tuple[InputMatch, ...] = getattr(own, "matches", ())
    return matches


def are_numbered(names: Sequence[str]) -> bool:
    """True for names that say nothing but a place, such as ``x0``, ``x1`` or ``input_1``, ``input_2``; in their
    order.
    """
    parts = [_NUMBERED.fullmatch(name) for name in names]
    words = {part["word"].rstrip("_") for part in parts if part is not None}
    numbers = [int(part["number"] or 0) for part in parts if part is not None]
    return len(names) > 1 and len(words) == 1 and all(a < b for a, b in itertools.pairwise(numbers))


def say_nothing(schema: Schema, names: Sequence[str] | None) -> bool:
    """True where a model has no names for its inputs, or such as tell their place only and nothing of the schema."""
    return names is None or (are_numbered(names) and not Names(schema, names).found)


def some(names: Sequence[str]) -> str:
    """A list of names that fits into a sentence."""
    more = f", and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(name[:60] for name in names[:_MAX_NAMED]) + more


# --- what a name may mean, and its forms --------------------------------------------------------


def _targets(schema: Schema, has_categories: bool) -> list[_Target]:
    targets = [_Target(i, column.name) for i, column in enumerate(schema.inputs)]
    inputs = frozenset(schema.names)
    others = [column for column in schema.columns if column.name not in inputs]
    targets += [_Target(None, column.name) for column in others]
    if has_categories:
        for i, column in enumerate(schema.inputs):
            targets += [_Target(i, column.name, position) for position in range(len(column.codes))]
    return targets


def _spellings(schema: Schema, target: _Target, separators: Sequence[str]) -> list[str]:
    if target.column is None or target.position is None:
        return [target.name]
    column = schema.inputs[target.column]
    values = dict.fromkeys([str(column.codes[target.position]), column.labels[target.position]])
    return [f"{target.name}{between}{value}" for value in values for between in separators]


def _rank(schema: Schema, target: _Target, name: str) -> tuple[int, int]:
    """Which of several exact meanings comes first: a column, then a category's code, then its label; then the schema's
    order.
    """
    if target.column is None or target.position is None:
        return 0, target.column or 0
    code = schema.inputs[target.column].codes[target.position]
    is_code = any(name == f"{target.name}{between}{code}" for between in _SEPARATORS)
    return 1 if is_code else 2, target.column


def _by_spelling(column: Column) -> Mapping[str, int]:
    """Position of each category by its label and by its code; none for a number."""
    if column.kind is not Kind.CATEGORICAL:
        return {}
    by_label = {normal(label): i for i, label in enumerate(column.labels)}
    return by_label | {normal(code): i for i, code in enumerate(column.codes)}


def _forms_of(names: Sequence[str]) -> list[tuple[Callable[[str], set[str]], How]]:
    """The forms in which names are compared, the strictest first."""
    own = set(names)
    is_prefixed = all("__" in name.strip("_") for name in names)  # as a ColumnTransformer's are, all or none

    def bare(name: str) -> set[str]:
        """An input's name without what was put around a column's; columns keep all of theirs."""
        if name not in own:
            return {name}
        inner = name.split("__", 1)[1] if is_prefixed else name
        while (shorter := _WRAPPERS.sub("", inner)) not in (inner, ""):
            inner = shorter
        return {name, inner}

    return [
        (lambda name: {name}, How.EXACT),
        (lambda name: {mangled(text) for text in bare(name)}, How.NORMALISED),
        (lambda name: {form for text in bare(name) for form in folded(text)}, How.NORMALISED),
    ]


def mangled(name: str) -> str:
    """A name with ``_`` for everything but ASCII letters and digits, as exporters write it, in small letters."""
    return re.sub(r"[^0-9a-z]", "_", unicodedata.normalize("NFC", name.strip()).lower())


def folded(name: str) -> set[str]:
    """Letters and digits of a name alone: other letters without their marks, as two letters (``ae``), or left out."""
    text = unicodedata.normalize("NFC", name.strip().lower())
    for sign, word in _SIGNS:
        text = re.sub(sign, word, text)
    bare = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return {re.sub(r"[^0-9a-z]", "", form) for form in (text, bare, text.translate(_GERMAN))} - {""}
