"""Gates for pipelines: ``--fail-if "estimate.high > 0.01"``, parsed here and never evaluated as code.

A gate is one comparison, or several joined by ``and`` and ``or`` (``and`` binds more tightly). A side is a number,
``true``, ``false``, or the name of something in the JSON, with dots into its objects and lists (``rule_sets.0.score``:
counted from 0); the command's own name may come first.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Comparison:
    """Two sides and what must hold between them for the gate to fail."""

    left: str
    sign: str
    right: str

    def holds(self, values: Mapping[str, Any], command: str) -> bool:
        """Compare.

        Raises:
            SettingError: a name that is not there, or stands for no number.
        """
        return _OPERATORS[self.sign](_number(self.left, values, command), _number(self.right, values, command))

    @property
    def names(self) -> tuple[str, ...]:
        """The names on either side."""
        return tuple(side for side in (self.left, self.right) if re.fullmatch(_NAME, side) and side not in _CLAIMS)


@dataclass(frozen=True)
class Gate:
    """A gate as written, and its comparisons: any of the groups suffices, all of a group are needed."""

    text: str
    groups: tuple[tuple[Comparison, ...], ...]

    def fails(self, values: Mapping[str, Any], command: str) -> bool:
        """True when what was written holds, so that the pipeline should stop.

        From left to right, and no further than needed: ``improved == false or after.accuracy < 0.8`` asks nothing of a
        model that was not made.

        Raises:
            SettingError: a name that is not there, or stands for no number.
        """
        return any(all(comparison.holds(values, command) for comparison in group) for group in self.groups)

    def check_names(self, known: tuple[str, ...], command: str) -> None:
        """Refuse names that the command's JSON will not have, before the work is done.

        Raises:
            SettingError: a first part that is neither one of ``known`` nor the command.
        """
        for name in (name for group in self.groups for comparison in group for name in comparison.names):
            first, _, rest = name.partition(".")
            if first == command and rest and first not in known:
                first = rest.partition(".")[0]
            if first not in known:
                raise SettingError(
                    f"--fail-if must name something in the JSON of '{command}' ({', '.join(known)}), got '{name}'."
                )


def read_gate(text: str) -> Gate:
    """Read what ``--fail-if`` was given.

    Raises:
        SettingError: it is none.
    """
    groups = [[_comparison(part, text) for part in re.split(r"\band\b", group)] for group in re.split(r"\bor\b", text)]
    return Gate(text, tuple(tuple(group) for group in groups))


def _comparison(part: str, text: str) -> Comparison:
    found = _COMPARISON.fullmatch(part)
    if found is None:
        raise SettingError(f"--fail-if needs comparisons of names and numbers, got '{text}'. {_HELP}")
    return Comparison(*found.groups())


def _number(side: str, values: Mapping[str, Any], command: str) -> float:
    if re.fullmatch(_NUMBER, side):
        return float(side)
    if side in _CLAIMS:
        return _CLAIMS[side]
    value = _look_up(side, values, command)
    if not isinstance(value, int | float) or not math.isfinite(value):
        shown = "nothing" if value is None else f"no number ({str(value)[:40]})"
        raise SettingError(f"--fail-if needs numbers, but '{side}' is {shown} in the result. {_HELP}")
    return float(value)


def _look_up(name: str, values: Mapping[str, Any], command: str) -> Any:
    first, _, rest = name.partition(".")
    paths = [name.split("."), *([rest.split(".")] if first == command and rest else [])]
    for path in paths:
        value: Any = values
        for part in path:
            value = _inside(value, part)
        if value is not _ABSENT:
            return value
    raise SettingError(
        f"--fail-if must name something in the result, got '{name}'. The names are: {', '.join(values)}."
    )


def _inside(value: Any, part: str) -> Any:
    """What an object has under a name, or a list at a place."""
    if isinstance(value, Mapping):
        return value.get(part, _ABSENT)
    is_place = isinstance(value, list) and part.isdecimal() and int(part) < len(value)
    return value[int(part)] if is_place else _ABSENT


_ABSENT: Any = object()
