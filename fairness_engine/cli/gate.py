"""Gates for pipelines: ``--fail-if "estimate.high > 0.01"``, and those of a policy, parsed here and never evaluated as
code.

A gate is one comparison, or several joined by ``and`` and ``or`` (``and`` binds more tightly). A side is a number,
``true``, ``false``, or the name of something in the JSON, with dots into its objects and lists (``rule_sets.0.score``:
counted from 0); the command's own name may come first.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from enum import StrEnum
from types import UnionType
from typing import Any, get_args, get_type_hints

from fairness_engine.errors import SettingError

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_NAME = r"[A-Za-z_][\w-]*(?:\.[\w-]+)*"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMPARISON = re.compile(rf"\s*({_NAME}|{_NUMBER})\s*(>=|<=|==|!=|>|<)\s*({_NAME}|{_NUMBER})\s*")
_CLAIMS = {"true": 1.0, "false": 0.0}
_HELP = 'Write it like "estimate.high > 0.01".'
FAIL_IF = "--fail-if"
_N_ALIKE = 3
"""How many names are offered for one that is not there."""
_WANTED = {
    ">": "must be at most",
    ">=": "must be below",
    "<": "must be at least",
    "<=": "must be above",
    "==": "must not be",
    "!=": "must be",
}
"""What a comparison of a gate asks for, since a gate fails where it holds."""
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "==", "!=": "!="}


class Severity(StrEnum):
    """What a gate that fails does to a pipeline: stops it, or is only said."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Decided:
    """What a gate came to.

    Args:
        fails: whether what was written holds, so that the pipeline should stop.
        said: what the comparisons that decided ask for, and what was got, as a sentence.
    """

    fails: bool
    said: str


@dataclass(frozen=True)
class Comparison:
    """Two sides and what must hold between them for the gate to fail.

    Args:
        where: who asks, for messages.
    """

    left: str
    sign: str
    right: str
    where: str = FAIL_IF

    def holds(self, values: Mapping[str, Any], command: str) -> bool:
        """Compare.

        Raises:
            SettingError: a name that is not there, or stands for no number.
        """
        left, right = (self._number(side, values, command) for side in (self.left, self.right))
        return _OPERATORS[self.sign](left, right)

    def said(self, values: Mapping[str, Any], command: str) -> str:
        """What is asked of the sides, and what was got: ``estimate.high must be at most 0.01, got 0.03``.

        Args:
            values, command: as they were compared.
        """
        left = self.left
        sign = self.sign
        right = self.right
        if not _is_name(left) and _is_name(right):
            left, sign, right = right, _MIRRORED[sign], left
        got, limit = (self._value(side, values, command) for side in (left, right))
        asked = f"{right} ({_number_text(limit, got, sign)})" if _is_name(right) else right
        return f"{left} {_WANTED[sign]} {asked}, got {_number_text(got, limit, sign)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names on either side."""
        return tuple(side for side in (self.left, self.right) if _is_name(side))

    def _number(self, side: str, values: Mapping[str, Any], command: str) -> float:
        value = self._value(side, values, command)
        if not isinstance(value, int | float) or not math.isfinite(value):
            shown = "nothing" if value is None else f"no number ({str(value)[:40]})"
            raise SettingError(f"{self.where} needs numbers, but '{side}' is {shown} in the result. {_HELP}")
        return float(value)

    def _value(self, side: str, values: Mapping[str, Any], command: str) -> Any:
        if re.fullmatch(_NUMBER, side):
            return float(side)
        if side in _CLAIMS:
            return _CLAIMS[side]
        for path in _paths(side, command):
            value: Any = values
            for part in path:
                value = _inside(value, part)
            if value is not _ABSENT:
                return value
        raise SettingError(f"{self.where} must name something in the result, got '{side}'. {_nearest(side, values)}")


@dataclass(frozen=True)
class Gate:
    """A gate as written, and its comparisons: any of the groups suffices, all of a group are needed.

    Args:
        where: who asks, for messages.
        name, why: of a policy, which says what the gate is for; empty for ``--fail-if``.
        severity: what it does where it fails.
    """

    text: str
    groups: tuple[tuple[Comparison, ...], ...]
    where: str = FAIL_IF
    name: str = ""
    why: str = ""
    severity: Severity = Severity.ERROR

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name or self.text

    def fails(self, values: Mapping[str, Any], command: str) -> bool:
        """True when what was written holds, so that the pipeline should stop.

        Raises:
            SettingError: a name that is not there, or stands for no number.
        """
        return self.decide(values, command).fails

    def decide(self, values: Mapping[str, Any], command: str) -> Decided:
        """Compare.

        From left to right, and no further than needed: ``improved == false or after.accuracy < 0.8`` asks nothing of a
        model that was not made.

        Raises:
            SettingError: a name that is not there, or stands for no number.
        """
        kept: list[str] = []
        for group in self.groups:
            broken = next((each for each in group if not each.holds(values, command)), None)
            if broken is None:
                return Decided(True, "; or ".join(each.said(values, command) for each in group))
            kept.append(broken.said(values, command))
        return Decided(False, "; and ".join(kept))

    def check_names(self, known: tuple[str, ...], command: str, parts: Mapping[str, Any] | None = None) -> None:
        """Refuse names that the command's JSON will not have, before the work is done.

        Args:
            known: the names of the JSON.
            command: which may come first.
            parts: what objects of the JSON hold, by their name: names, a mapping of names to further parts, or the type
                that they are of; nothing is refused inside others.

        Raises:
            SettingError: a name that is not there.
        """
        names = dict.fromkeys(known) | {name: part for name, part in (parts or {}).items() if name in known}
        for name in (name for group in self.groups for comparison in group for name in comparison.names):
            unknown = [_first_unknown(path, names) for path in _paths(name, command)]
            if None not in unknown:
                inside, part, listed = max((found for found in unknown if found), key=lambda found: len(found[0]))
                whose = f"the JSON of '{command}'" if not inside else f"'{inside}' of the JSON of '{command}'"
                raise SettingError(
                    f"{self.where} must name something in {whose}, got '{name}'. {_nearest(part, listed)}"
                )


def read_gate(
    text: str, where: str = FAIL_IF, *, name: str = "", why: str = "", severity: Severity = Severity.ERROR
) -> Gate:
    """Read what ``--fail-if``, or a policy, was given.

    Args:
        where: who asks, for messages.
        name, why, severity: see ``Gate``.

    Raises:
        SettingError: it is none.
    """
    groups = [
        tuple(_comparison(part, text, where) for part in re.split(r"\band\b", group))
        for group in re.split(r"\bor\b", text)
    ]
    return Gate(text, tuple(groups), where, name, why, severity)


def _comparison(part: str, text: str, where: str) -> Comparison:
    found = _COMPARISON.fullmatch(part)
    if found is None:
        raise SettingError(f"{where} needs comparisons of names and numbers, got '{text}'. {_HELP}")
    left, sign, right = found.groups()
    return Comparison(left, sign, right, where)


def _is_name(side: str) -> bool:
    return side not in _CLAIMS and re.fullmatch(_NAME, side) is not None


def _number_text(value: float, other: float, sign: str) -> str:
    """A number that was compared with another: six digits, or as many as it takes to compare alike."""
    if isinstance(value, int):
        return str(value).lower()
    short = f"{value:.6g}"
    compare = _OPERATORS[sign]
    is_kept = compare(float(short), other) == compare(value, other) and (float(short) == other) == (value == other)
    return short if is_kept else str(value)


def _paths(name: str, command: str) -> list[list[str]]:
    """The ways to what a name may stand for: the command's own name may come first."""
    first, _, rest = name.partition(".")
    return [name.split("."), *([rest.split(".")] if first == command and rest else [])]


def _inside(value: Any, part: str) -> Any:
    """What an object has under a name, or a list at a place."""
    if isinstance(value, Mapping):
        return value.get(part, _ABSENT)
    is_place = isinstance(value, list) and part.isdecimal() and int(part) < len(value)
    return value[int(part)] if is_place else _ABSENT


def _nearest(part: str, names: Iterable[str]) -> str:
    """What to do about a name that is not there: those that are spelled most alike, and where all are."""
    alike = get_close_matches(part, names, _N_ALIKE, cutoff=0.0)
    return f"Take another, such as {', '.join(alike)}; docs/command-line.md has all."


def _first_unknown(path: list[str], names: Mapping[str, Any]) -> tuple[str, str, list[str]] | None:
    """Where a way leads to nothing: the object in which it does, what it has not, and what it has; ``None`` as far as
    is known.
    """
    inner: Mapping[str, Any] | None = names
    for i, part in enumerate(path):
        if inner is None:
            return None
        if part not in inner:
            return ".".join(path[:i]), part, list(inner)
        inner = _parts_of(inner[part])
    return None


def _parts_of(part: Any) -> Mapping[str, Any] | None:
    """What an object of the JSON holds, by name; ``None`` where nobody says so beforehand."""
    if part is None or isinstance(part, Mapping):
        return part
    if isinstance(part, tuple):
        return dict.fromkeys(part)
    kinds = get_args(part) if isinstance(part, UnionType) else (part,)
    typed = next((kind for kind in kinds if is_dataclass(kind)), None)
    return None if typed is None else get_type_hints(typed)


_ABSENT: Any = object()
