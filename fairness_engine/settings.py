"""Checks of settings that are frozen dataclasses: each says what must hold and what was got.

Raises everywhere:
    SettingError: a value is out of its range, or not of its type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from fairness_engine.errors import SettingError


class Settings(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


def take_choice(settings: Settings, name: str, kind: type[StrEnum]) -> None:
    """Make a word the choice that it names."""
    value = getattr(settings, name)
    if value not in list(kind):
        known = ", ".join(repr(str(one)) for one in kind)
        raise SettingError(f"The setting '{name}' must be one of {known}, got '{value}'.")
    object.__setattr__(settings, name, kind(value))


def check_whole(settings: Settings, name: str, low: int, high: float = math.inf) -> None:
    """Let only a whole number from ``low`` to ``high`` pass."""
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        limits = f"of at least {low:,}" if high == math.inf else f"from {low:,} to {high:,}"
        raise SettingError(f"The setting '{name}' must be a whole number {limits}, got {value}.")


def check_number(settings: Settings, name: str, low: float, high: float) -> None:
    """Let only a finite number from ``low`` to ``high`` pass."""
    value = getattr(settings, name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not low <= value <= high:
        raise SettingError(f"The setting '{name}' must be a number from {low:g} to {high:g}, got {value}.")


def refuse_unknown(kind: type[Settings], content: Mapping[str, Any], what: str) -> None:
    """Let only names of settings pass; ``what`` has them: "A certification has"."""
    unknown = sorted(set(content) - set(kind.__dataclass_fields__))
    if unknown:
        known = ", ".join(kind.__dataclass_fields__)
        raise SettingError(f"{what} no setting '{unknown[0]}'; known are: {known}.")
