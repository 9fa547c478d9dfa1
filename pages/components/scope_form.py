"""The questions of the Scope page; every function draws one group of widgets and returns what was answered."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.domain import Scope
from fairness_engine.errors import SettingError
from fairness_engine.schema import Column, Kind, Schema
from pages.components import layout, wording

if TYPE_CHECKING:
    import pandas as pd

Values = tuple[float, ...]

EVERY, EVEN, OWN = "Every value", "Evenly spaced values", "My own values"
_ONLY_THESE = "everybody is compared at these values, whatever their own."
N_EVEN = 5
_MAX_VARIANTS = 1000
FEW_VARIANTS = 100


def first_choice(schema: Schema) -> tuple[str, ...]:
    """The protected attributes to start with: as many of the schema's, in its order, as keep the variants few."""
    chosen, n_variants = [], 1
    for name in schema.protected:
        n_variants *= schema.column(name).n_values or N_EVEN
        if chosen and n_variants > FEW_VARIANTS:
            break
        chosen.append(name)
    return tuple(chosen)


# --- values of a protected number ---------------------------------------------------------------


def even_values(column: Column, n: int) -> Values:
    """``n`` values from the smallest to the largest, on the column's lattice, without repeats."""
    values = np.linspace(column.low, column.high, n)
    step = column.step or (1.0 if column.kind is Kind.INTEGER else 0.0)
    if step:
        values = column.low + np.rint((values - column.low) / step) * step
    return tuple(sorted({float(value) for value in np.clip(values, column.low, column.high)}))


def read_values(text: str, column: Column) -> Values:
    """Values that a person typed: ``20, 40, 60``.

    Raises:
        SettingError: something is no number, lies outside the column's range, or fewer than two are left.
    """
    words = [word for word in re.split(r"[,;\s]+", text) if word]
    try:
        values = sorted({float(word) for word in words})
    except ValueError:
        raise SettingError(
            f"The values of '{column.name}' must be numbers separated by commas, got '{text}'."
        ) from None
    if len(values) < 2:
        raise SettingError(f"Comparing '{column.name}' needs at least two values, got {len(values)}. Add one.")
    outside = [value for value in values if not column.low <= value <= column.high]
    if outside:
        raise SettingError(
            f"The values of '{column.name}' must lie within {column.low:g} to {column.high:g}, got {outside[0]:g}."
        )
    if column.kind is Kind.INTEGER and any(value != int(value) for value in values):
        raise SettingError(f"The values of '{column.name}' must be whole numbers, got '{text}'.")
    return tuple(values)


def ask_bins(columns: Sequence[Column], saved: Mapping[str, Values]) -> dict[str, Values] | None:
    """How each protected number is compared: on every value, or on chosen ones; ``None`` while an answer is wrong."""
    bins: dict[str, Values] = {}
    is_valid = True
    for column in columns:
        if column.kind is Kind.CATEGORICAL:
            continue
        try:
            values = _ask_values(column, saved.get(column.name))
        except SettingError as error:
            layout.say(error)
            is_valid = False
            continue
        if values is not None:
            bins[column.name] = values
    return bins if is_valid else None


def _ask_values(column: Column, saved: Values | None) -> Values | None:
    n_values = column.n_values
    choices = [EVEN, OWN] if n_values is None else [EVERY, EVEN, OWN]
    label = f"How to compare {wording.markdown(column.name)}"
    left, right = st.columns([1, 1])
    wanted = OWN if saved else EVERY if EVERY in choices and n_values <= _MAX_VARIANTS else EVEN
    how = left.radio(label, choices, index=choices.index(wanted), horizontal=True, key=f"how_{column.name}")
    if how == EVERY:
        right.caption(f"{wording.counted(n_values, 'value')}, {_range_text(column)}")
        return None
    if how == EVEN:
        n = right.number_input(
            f"How many values of {wording.markdown(column.name)}", 2, 100, N_EVEN, key=f"n_{column.name}"
        )
        values = even_values(column, int(n))
        right.caption(f"{_few(values)}: {_ONLY_THESE}")
        return values
    typed = ", ".join(f"{value:g}" for value in saved or even_values(column, N_EVEN))
    text = right.text_input(
        f"Values of {wording.markdown(column.name)}, separated by commas", typed, key=f"own_{column.name}"
    )
    values = read_values(text, column)
    right.caption(f"{wording.counted(len(values), 'value')}: {_ONLY_THESE}")
    return values


def _few(values: Values) -> str:
    return ", ".join(f"{value:g}" for value in values[:12]) + (" …" if len(values) > 12 else "")


def _range_text(column: Column) -> str:
    return f"{column.low:g} to {column.high:g}"


# --- decision -----------------------------------------------------------------------------------


def ask_decision(scope: Scope | None, fit: Mapping[str, Any]) -> tuple[float | None, float]:
    """Decision threshold (``None``: the model's own) and score gap."""
    output, models_own = fit.get("output") or {}, fit.get("threshold")
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    has_threshold = output.get("kind") != "label" and fit.get("n_classes", 2) == 2
    own = left.toggle(
        "Model's own threshold" + ("" if models_own is None else f" ({models_own:g})"),
        value=scope is None or scope.threshold is None,
        key="own_threshold",
        disabled=not has_threshold,
        help=wording.explain("decision threshold"),
    )
    threshold = None
    if has_threshold and not own:
        start = (
            scope.threshold if scope and scope.threshold is not None else 0.0 if output.get("kind") == "logit" else 0.5
        )
        threshold = middle.number_input(
            "Decision threshold", value=float(start), step=0.05, format="%.3f", key="threshold"
        )
    gap = right.number_input(
        "Score gap",
        min_value=0.0,
        value=scope.score_gap if scope else 0.0,
        step=0.05,
        format="%.3f",
        key="score_gap",
        help=wording.explain("score gap"),
    )
    if not has_threshold:
        left.caption("This model gives decisions without a score to cut, so there is no threshold to move.")
    return threshold, gap


# --- limits -------------------------------------------------------------------------------------


def limits_table(schema: Schema, limits: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """One line a number: its domain, and the range that a search may use."""
    import pandas as pd

    numbers = [column for column in schema.inputs if column.kind is not Kind.CATEGORICAL]
    ranges = [limits.get(column.name, (column.low, column.high)) for column in numbers]
    return pd.DataFrame(
        {
            "Attribute": [column.name for column in numbers],
            "Smallest": [column.low for column in numbers],
            "Largest": [column.high for column in numbers],
            "From": [low for low, _ in ranges],
            "To": [high for _, high in ranges],
        }
    )


def read_limits(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The ranges that are narrower than the domain; an emptied cell means the domain's own end."""
    limits = {}
    for line in table.itertuples(index=False):
        low = line.Smallest if _is_missing(line.From) else float(line.From)
        high = line.Largest if _is_missing(line.To) else float(line.To)
        if (low, high) != (line.Smallest, line.Largest):
            limits[str(line.Attribute)] = (low, high)
    return limits


def ask_limits(schema: Schema, scope: Scope | None) -> dict[str, tuple[float, float]]:
    """Narrower ranges for the search, edited in a table."""
    table = limits_table(schema, scope.limits if scope else {})
    if table.empty:
        st.caption("No attribute is a number, so there is no range to narrow.")
        return {}
    number = st.column_config.NumberColumn
    edited = st.data_editor(
        table,
        hide_index=True,
        disabled=["Attribute", "Smallest", "Largest"],
        column_config={"From": number("Search from", format="%g"), "To": number("Search to", format="%g")},
        key="limits",
    )
    return read_limits(edited)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
