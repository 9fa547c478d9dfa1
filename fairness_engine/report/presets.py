"""Presets: which tables, columns, thresholds and chapters a law or a standard asks for, as of a date. One JSON file
each; a user can write another.

A preset chooses, orders and labels figures that are the same for every law. It never says that something is allowed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from fairness_engine.codec import Proportion, Text, Word, decode
from fairness_engine.errors import SettingError

FOLDER = Path(__file__).resolve().parent / "presets"
PLAIN = "plain"
_MAX_BYTES = 200_000
_MAX_ITEMS = 50


class Rate(StrEnum):
    """What is compared between groups."""

    SELECTION = "selection"
    SCORING = "scoring"


class TableColumn(StrEnum):
    """A column of a table of groups."""

    N = "n"
    SELECTED = "selected"
    RATE = "rate"
    INTERVAL = "interval"
    IMPACT_RATIO = "impact_ratio"
    RATIO_INTERVAL = "ratio_interval"
    VERDICT = "verdict"
    FISHER_P = "fisher_p"
    N_TO_FLIP = "n_to_flip"


class Part(StrEnum):
    """A part of the summary."""

    QUESTION = "question"
    ANSWER = "answer"
    FINDINGS = "findings"
    PEOPLE = "people"
    TABLES = "tables"
    GROUPS = "groups"
    MITIGATION = "mitigation"
    TRIED = "tried"
    LIMITS = "limits"
    DECISIONS = "decisions"
    ASKS = "asks"
    PERSON = "person"


@dataclass(frozen=True)
class Role:
    """An attribute that a law names.

    Args:
        title: as the law calls it.
        columns: names of columns that hold it, in small letters; the first that there is counts.
    """

    title: Word
    columns: Annotated[list[Word], Meta(min_length=1, max_length=_MAX_ITEMS)]


@dataclass(frozen=True)
class TableAsked:
    """A table of groups.

    Args:
        title: of it.
        by: roles whose groups it is of, together; none for every table that there is.
    """

    title: Word
    by: Annotated[list[Word], Meta(max_length=3)] = field(default_factory=list)


@dataclass(frozen=True)
class LeastShare:
    """The least share of the rows of a group that is a measure for others, and where that is from."""

    value: Proportion
    source: Text


@dataclass(frozen=True)
class Threshold:
    """A number that figures are held against; ``source`` is a place in a law, or says that it is a convention."""

    name: Word
    value: float
    source: Annotated[str, Meta(min_length=3, max_length=500)]


Texts = Annotated[list[Text], Meta(max_length=_MAX_ITEMS)]
Chapters = Annotated[list[tuple[Word, list[Part]]], Meta(min_length=1, max_length=_MAX_ITEMS)]


@dataclass(frozen=True)
class Preset:
    """What a law or standard asks for.

    Args:
        version: of the format: 1.
        name, title: of the preset.
        law, source: what asks, and where it can be read; empty for none.
        as_of: the day on which the facts were looked up; a person checks them before they are relied on.
        retention: how long records are kept, in words.
        roles: attributes that the law names, by a name of the preset's own.
        tables, rates, columns: of groups.
        least_share, thresholds: what figures are held against.
        notes: printed under the tables.
        asks: what is asked for, and where it stands here.
        chapters: of the summary, each with its parts.
    """

    version: Annotated[int, Meta(ge=1, le=1)]
    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
    title: Word
    as_of: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    chapters: Chapters
    law: Text = ""
    source: Text = ""
    retention: Text = ""
    roles: dict[Word, Role] = field(default_factory=dict)
    tables: Annotated[list[TableAsked], Meta(max_length=_MAX_ITEMS)] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    columns: list[TableColumn] = field(default_factory=list)
    least_share: LeastShare = LeastShare(0.02, "convention")
    thresholds: Annotated[list[Threshold], Meta(max_length=_MAX_ITEMS)] = field(default_factory=list)
    notes: Texts = field(default_factory=list)
    asks: Annotated[list[tuple[Text, Text]], Meta(max_length=_MAX_ITEMS)] = field(default_factory=list)

    def __post_init__(self) -> None:
        date.fromisoformat(self.as_of)
        for table in self.tables:
            unknown = [role for role in table.by if role not in self.roles]
            if unknown:
                raise ValueError(f"the table '{table.title}' is by '{unknown[0]}', which is none of the roles")

    def has(self, part: Part) -> bool:
        """Whether a part is printed."""
        return any(part in parts for _, parts in self.chapters)


def preset_names() -> list[str]:
    """The presets that come with Evenhand, the plain one first."""
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    return [PLAIN, *(name for name in names if name != PLAIN)]


def find_preset(name: str) -> Preset:
    """A preset by its name, or a file of one's own.

    Args:
        name: of a preset, or the path of a JSON file.

    Raises:
        SettingError: there is none, or it is no preset.
    """
    if name in preset_names():
        return _shipped(name)
    path = Path(name)
    if path.suffix != ".json" or not path.is_file():
        raise SettingError(
            f"The preset must be one of {', '.join(preset_names())}, or the path of a JSON file, got '{name}'."
        )
    if path.stat().st_size > _MAX_BYTES:
        raise SettingError(f"A preset must be a file of at most {_MAX_BYTES:,} bytes, got {path.stat().st_size:,}.")
    return read_preset(path.read_bytes(), path.name)


@cache
def _shipped(name: str) -> Preset:
    return read_preset((FOLDER / f"{name}.json").read_bytes(), name)


def read_preset(content: bytes, name: str) -> Preset:
    """Read a preset file.

    Raises:
        SettingError: it is none; what is wrong, and where, is said.
    """
    try:
        known = json.loads(content.decode("utf-8-sig"))
        unknown = set(known) - set(Preset.__dataclass_fields__) if isinstance(known, dict) else set()
        if unknown:
            raise ValueError(f"'{sorted(unknown)[0]}' is no key of a preset")
        return decode(Preset, known)
    except (ValueError, RecursionError) as error:
        raise SettingError(f"The preset '{name}' must be a preset file (docs/report.md), got: {error}.") from None
