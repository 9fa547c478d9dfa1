"""Fields of forms: those of settings, made from what the settings say of themselves, and the seed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from fairness_engine.settings import ADVANCED, SettingInfo, Settings, settings_of
from pages.shared.app import wording

MAX_EXACT = 2**53 - 1
"""Largest whole number that the browser holds exactly."""
_N_ADVANCED = 3
"""Advanced fields beside one another."""
_PERCENT_DIGITS = 6


def seed_field(key: str, label: str = "Seed", hint: str = "") -> int:
    """Where the chance of a run, or of the first of several, comes from."""
    help_text = hint or wording.explain("seed")
    return int(st.number_input(label, 0, MAX_EXACT, 0, key=key, help=help_text, persist_state="session") or 0)


@dataclass(frozen=True)
class SettingsForm:
    """The fields of settings, part by part.

    Args:
        kind: whose settings they are.
        prefix: of the widgets' keys, ``prefix_name``.
        values: what is proposed instead of the default, by name; what is not asked keeps it too.
        holds: what is so; a setting that wants something else is not asked.
        changes: what single settings say otherwise here, by name.
        keys: of widgets that have another one, by name.
    """

    kind: type[Settings]
    prefix: str
    values: Mapping[str, Any] = field(default_factory=dict)
    holds: Collection[str] = ()
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)

    def draw(self, part: str, make_places: Callable[[], Sequence[Any]] = lambda: (st,)) -> dict[str, Any]:
        """The fields of a part, in places that take turns, made where anything is asked; returns all its settings by
        name.
        """
        infos = [info for info in settings_of(self.kind) if info.part == part]
        found = {info.name: self.values.get(info.name, info.default) for info in infos}
        asked = [info for info in infos if not info.when or info.when in self.holds]
        for info, place in zip(asked, itertools.cycle(make_places() if asked else ()), strict=False):
            own = replace(info, **self.changes.get(info.name, {}))
            key = self.keys.get(info.name, f"{self.prefix}_{info.name}")
            found[info.name] = _draw(own, place, key, found[info.name])
        return found

    def draw_advanced(self, title: str = "Advanced settings", icon: str | None = None) -> dict[str, Any]:
        """The advanced fields behind a title; nothing is drawn where there are none."""
        if not any(info.part == ADVANCED for info in settings_of(self.kind)):
            return {}
        with st.expander(title, icon=icon):
            return self.draw(ADVANCED, lambda: st.columns(_N_ADVANCED))


def _draw(info: SettingInfo, place: Any, key: str, proposed: Any) -> Any:
    """One setting as the widget that fits it; returns its value."""
    same: dict[str, Any] = {"key": key, "persist_state": "session"}
    label = ", ".join(filter(None, [info.label, info.unit or "%" * info.is_percent]))
    hint = info.hint or info.help
    if info.names:
        return _draw_names(info, place, proposed, {"label": label, **same})
    if isinstance(info.default, bool):
        draw = place.toggle if info.part == ADVANCED else place.checkbox
        return draw(label, proposed, help=hint, **same)
    if info.choices:
        return place.selectbox(label, info.choices, info.choices.index(proposed), help=hint, **same)
    if not isinstance(info.default, int | float):
        return place.text_input(label, proposed, help=hint, **same)
    return _draw_number(info, place, proposed, {"label": label, "help": hint, **same})


def _draw_names(info: SettingInfo, place: Any, proposed: Any, same: dict[str, Any]) -> Any:
    """Values by their names: side by side, or below one another where a line explains each."""
    notes = [note for _, note in info.names.values()]
    names = {name: value for value, (name, _) in info.names.items()}
    if not any(notes):
        first = next((name for name, value in names.items() if value == proposed), next(iter(names)))
        chosen = place.segmented_control(
            options=list(names), default=first, required=True, help=info.hint or info.help, **same
        )
        return names[str(chosen)]
    values = list(info.names)
    index = values.index(proposed) if proposed in values else None if proposed is None else 0
    return place.radio(options=values, index=index, format_func=info.name_of, captions=notes, **same)


def _draw_number(info: SettingInfo, place: Any, proposed: Any, same: dict[str, Any]) -> Any:
    """A number, in percent where it is a share of something; an empty field proposes its value."""
    kind = float if info.is_percent else type(info.default)
    scale = 100 if info.is_percent else 1
    step = kind(info.step or (1 if kind is int else 0.001))
    low, high = info.ends or (_end(info.minimum, info.above, step, scale), _end(info.maximum, info.below, -step, scale))
    low, high = (None if end is None else kind(end) for end in (low, high))
    first = kind(round(scale * proposed, _PERCENT_DIGITS))
    first = first if low is None else max(low, first)
    st.session_state.setdefault(same["key"], first if high is None else min(first, high))
    if info.is_slider:
        value = place.slider(min_value=low, max_value=high, step=step, format="%.2f", **same)
    else:
        shape = {} if kind is int else {"format": "%g"}
        value = place.number_input(min_value=low, max_value=high, step=step, **shape, **same)
    if value is None:
        return proposed
    return round(value / 100, _PERCENT_DIGITS) if info.is_percent else kind(value)


def _end(closed: float | None, is_open: float | None, step: float, scale: int) -> float | None:
    """The end of a field: that of the range, or one step inside it where the range has it not."""
    if closed is not None:
        return scale * closed
    return None if is_open is None else scale * is_open + step
