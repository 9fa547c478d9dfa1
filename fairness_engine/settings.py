"""Settings: frozen dataclasses whose fields say all that a check, a form, an option, a file and the docs need to know.

Techniques, certifications, rule sets and retrainings are asked for by them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from fairness_engine.errors import MAX_LISTED, SettingError, one_sentence, shown

_YES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


ADVANCED = "advanced"
"""The part of a form that most settings are in."""
NOT_ASKED = ""
"""The part of those that a form does not ask, or by a widget of its own."""


@dataclass(frozen=True)
class SettingInfo:
    """What there is to know of one setting.

    Args:
        default: also says the type: whole number, number, yes or no, a ``StrEnum``, else text.
        help: what it does, in a sentence.
        name: of the field.
        label: on screens; made of the name when there is none.
        minimum, maximum, above, below: ends of its range, the first two included.
        unit: of a number.
        choices: what it may be; of a ``StrEnum`` all its members.
        reader, writer: of what is none of these types, from and to JSON; ``reader`` raises ``SettingError``.
        names: of the values that a form offers, each with a line that explains it or "".
        hint: beside the field of a form, where it says another thing than ``help``.
        is_percent: a share, which a form asks in percent, or in the ``unit`` that is named.
        is_slider: a form shows the whole range.
        step: of a form's field, in what the form asks.
        ends: of a form's field, in what the form asks, where they are not those of the range.
        part: of a form.
        when: what must be so for a form to ask; "" for always.
        option: of the command line with what stands for its value, ``--bins N``; without one it is given by ``--set``.
    """

    default: Any
    help: str
    name: str = ""
    label: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    reader: Callable[[Any], Any] | None = None
    writer: Callable[[Any], Any] | None = None
    names: Mapping[Any, tuple[str, str]] = dataclasses.field(default_factory=dict)
    hint: str = ""
    is_percent: bool = False
    is_slider: bool = False
    step: float | None = None
    ends: tuple[float, float] | None = None
    part: str = ADVANCED
    when: str = ""
    option: str = ""

    @property
    def flag(self) -> str:
        """The option's name, ``--bins``."""
        return self.option.split(" ")[0]

    def name_of(self, value: Any) -> str:
        """A value as forms call it; it is one that they offer."""
        return self.names[value][0]

    def read(self, value: Any) -> Any:
        """The value in the setting's own type, checked.

        Args:
            value: of the right type, of a JSON file, or text from the command line.

        Raises:
            SettingError: wrong type, out of range, or not one of the choices.
        """
        if self.reader is not None:
            return self.reader(value)
        kind = type(self.default)
        try:
            found = self._typed(kind, value)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SettingError(f"The setting '{self.name}' must be {self._what(kind)}, got {_told(value)}.") from None
        if kind in (int, float) and not self._is_in_range(found):
            raise SettingError(f"The setting '{self.name}' must be {self._what(kind)}, got {_told(value)}.")
        return found

    def _typed(self, kind: type[Any], value: Any) -> Any:
        if kind is bool:
            return value if isinstance(value, bool) else _YES[str(value).strip().lower()]
        if self.choices:
            if str(value) not in self.choices:
                raise ValueError(value)
            return kind(value)
        if kind is str:
            if not isinstance(value, str):
                raise TypeError(value)
            return value
        if isinstance(value, str) and kind is int and not value.strip().lstrip("+-").replace("_", "").isdigit():
            value = float(value)  # 1e6
        found = kind(value)
        if isinstance(value, bool) or not math.isfinite(found) or (not isinstance(value, str) and value != found):
            raise ValueError(value)
        return found

    def _is_in_range(self, value: float) -> bool:
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def _what(self, kind: type[Any]) -> str:
        if self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        noun = {int: "a whole number", float: "a number", bool: "yes or no"}.get(kind, "text")
        return " ".join(filter(None, [noun, self.range_text]))

    @property
    def range_text(self) -> str:
        """What numbers it may be, in words; empty where any."""
        if self.minimum is not None and self.maximum is not None:
            return f"from {_number(self.minimum)} to {_number(self.maximum)}"
        ends = [
            "" if self.minimum is None else f"of at least {_number(self.minimum)}",
            "" if self.above is None else f"above {_number(self.above)}",
            "" if self.maximum is None else f"of at most {_number(self.maximum)}",
            "" if self.below is None else f"below {_number(self.below)}",
        ]
        return " and ".join(filter(None, ends))


def setting(default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - the word that argparse and streamlit use too
    """A field with what there is to know about it, by the names of ``SettingInfo``."""
    kind = type(default)
    if issubclass(kind, StrEnum):
        more.setdefault("choices", tuple(map(str, kind)))
    return dataclasses.field(default=default, metadata={"info": SettingInfo(default, help, **more)})


def _number(value: float) -> str:
    return f"{value:,}".removesuffix(".0")


def _told(value: Any) -> str:
    return f"'{one_sentence(value, MAX_LISTED)}'" if isinstance(value, str) else one_sentence(shown(value))


class Settings:
    """Base of frozen dataclasses all of whose fields are made by ``setting``.

    Raises:
        SettingError: a value out of its range, or not of its type.
    """

    whose: ClassVar[str]
    """Who has them, at the beginning of a sentence: ``A certification``."""

    def __post_init__(self) -> None:
        for info in settings_of(type(self)):
            object.__setattr__(self, info.name, info.read(getattr(self, info.name)))

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``from_json`` reads them back to equal settings."""
        content = {}
        for info in settings_of(type(self)):
            value = getattr(self, info.name)
            content[info.name] = info.writer(value) if info.writer else str(value) if info.choices else value
        return content

    @classmethod
    def info(cls, name: str) -> SettingInfo:
        """What there is to know of one of them."""
        return next(info for info in settings_of(cls) if info.name == name)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Settings by name; what is not named keeps its default.

        Raises:
            SettingError: a name that there is none of, or a value out of its range.
        """
        known = [info.name for info in settings_of(cls)]
        unknown = sorted(set(content) - set(known))
        if unknown:
            listed = ", ".join(known) or "none"
            raise SettingError(f"{cls.whose} has no setting '{unknown[0]}'; known are: {listed}.")
        return cls(**content)


_KNOWN: dict[type[Any], tuple[SettingInfo, ...]] = {}


def settings_of(kind: type[Any]) -> tuple[SettingInfo, ...]:
    """The settings of a dataclass, in the order of its fields."""
    if kind not in _KNOWN:
        _KNOWN[kind] = _read_fields(kind)
    return _KNOWN[kind]


def _read_fields(kind: type[Any]) -> tuple[SettingInfo, ...]:
    return tuple(
        dataclasses.replace(
            field.metadata["info"],
            name=field.name,
            label=field.metadata["info"].label or field.name.replace("_", " ").capitalize(),
        )
        for field in dataclasses.fields(kind)
    )
