"""The contract of a technique, and how its settings describe themselves.

A technique is a frozen dataclass whose fields are its settings, and one method, ``search``. Budget, cancel,
duplicates and the replay of every pair are the oracle's and the driver's business: a technique only proposes
rows to ``oracle.probe`` and says ``Step`` after each batch. The forms of the app and the options of the command
line are built from the settings' metadata.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import SettingError
from fairness_engine.events import Event
from fairness_engine.oracle.budget import Budget

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


class Technique(Protocol):
    """One way to search for discriminatory pairs.

    Class attributes: ``name`` (command line, e.g. ``aequitas``), ``title`` (screens), ``summary`` (when to use it, one
    line), ``reference`` (paper and algorithm number). Optional claims that ``requirements.py`` reads:
    ``needs_gradient`` (of the model, else it is refused), ``estimates_gradient`` (from scores, which labels hardly
    give), and ``moves_rows``, False for one that works where no attribute may be moved.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Propose rows to the oracle until done; the oracle raises ``SearchStopped`` when the budget is spent.

        Args:
            oracle: the only door to the model.
            start_rows: rows of the data ``(n_rows, n_columns)`` to start from; may be empty.
            rng: the only source of chance.

        Yields:
            ``Step`` after every batch, and findings of its own kind.
        """
        ...


def setting(
    default: Any,
    help: str,  # noqa: A002 - the word that argparse and streamlit use too
    *,
    label: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    unit: str = "",
    choices: tuple[str, ...] = (),
) -> Any:
    """A field of a technique with what a form needs to know about it."""
    metadata = {"help": help, "label": label, "minimum": minimum, "maximum": maximum, "unit": unit, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class SettingInfo:
    """One setting as a form or a command line shows it."""

    name: str
    label: str
    default: Any
    help: str
    minimum: float | None
    maximum: float | None
    unit: str
    choices: tuple[str, ...]

    def read(self, value: Any) -> Any:
        """The value in the setting's own type, checked.

        Args:
            value: of the right type, or text from the command line.

        Raises:
            SettingError: wrong type, out of range, or not one of the choices.
        """
        kind = type(self.default)
        try:
            read = _read_bool(value) if kind is bool else kind(value)
        except (TypeError, ValueError):
            raise SettingError(f"Setting '{self.name}' must be {_noun(kind)}, got {value!r}.") from None
        if kind is int and isinstance(value, float) and value != read:
            raise SettingError(f"Setting '{self.name}' must be a whole number, got {value!r}.")
        if self.choices and read not in self.choices:
            raise SettingError(f"Setting '{self.name}' must be one of {', '.join(self.choices)}, got {value!r}.")
        if kind is float and not math.isfinite(read):
            raise SettingError(f"Setting '{self.name}' must be a finite number, got {value!r}.")
        below = self.minimum is not None and kind is not str and read < self.minimum
        above = self.maximum is not None and kind is not str and read > self.maximum
        if below or above:
            raise SettingError(f"Setting '{self.name}' must be {self._range()}, got {value!r}.")
        return read

    def _range(self) -> str:
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum:g} to {self.maximum:g}"
        return f"at least {self.minimum:g}" if self.minimum is not None else f"at most {self.maximum:g}"


def settings_of(technique: type[Any]) -> tuple[SettingInfo, ...]:
    """The settings of a technique, in the order of its fields."""
    return tuple(
        SettingInfo(
            name=field.name,
            label=field.metadata.get("label") or field.name.replace("_", " ").capitalize(),
            default=field.default,
            **{key: field.metadata[key] for key in ("help", "minimum", "maximum", "unit", "choices")},
        )
        for field in dataclasses.fields(technique)
    )


def make_technique(technique: type[Any], values: Mapping[str, Any]) -> Any:
    """Build a technique from settings by name; what is not named keeps its default.

    Raises:
        SettingError: an unknown name, or a value that cannot be.
    """
    infos = {info.name: info for info in settings_of(technique)}
    unknown = sorted(set(values) - set(infos))
    if unknown:
        known = ", ".join(infos) or "none"
        raise SettingError(f"'{technique.name}' has no setting '{unknown[0]}'; its settings are: {known}.")
    return technique(**{name: infos[name].read(value) for name, value in values.items()})


def _read_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    read = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
        str(value).strip().lower()
    )
    if read is None:
        raise ValueError(value)
    return read


def _noun(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "yes or no"}.get(kind, "text")


__all__ = ["Budget", "SettingInfo", "Technique", "make_technique", "setting", "settings_of"]
