"""Questions of the Scope page: the decision and the limits; which values are compared is asked in ``scope_values``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.data.schema import Kind, Schema
from fairness_engine.models.fit.decisions import has_threshold, threshold_note, threshold_range
from fairness_engine.oracle.domain import Scope
from pages.shared import tables
from pages.shared.app import wording

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

# --- decision -----------------------------------------------------------------------------------


def ask_decision(scope: Scope | None, fit: Mapping[str, Any]) -> tuple[float | None, float]:
    """Decision threshold (``None``: the model's own) and score gap."""
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    threshold = ask_threshold(scope, fit, left, middle)
    gap = right.number_input(
        "Score gap",
        min_value=0.0,
        value=scope.score_gap if scope else 0.0,
        step=0.05,
        format="%.3f",
        key="score_gap",
        help=wording.explain("score gap"),
    )
    return threshold, gap


def ask_threshold(
    scope: Scope | None, fit: Mapping[str, Any], left: DeltaGenerator, right: DeltaGenerator
) -> float | None:
    """The decision threshold, ``None`` for the model's own: a switch, and the number beside it."""
    if not has_threshold(fit):
        n_classes = len(fit.get("classes") or ())
        why = f"decides for the largest of {n_classes} scores" if n_classes > 2 else "gives decisions without a score"
        left.caption(f"This model {why}: there is no threshold to move.")
        return None
    own = fit.get("threshold")
    if own is None:
        own = 0.0 if (fit.get("output") or {}).get("kind") == "logit" else 0.5
    is_own = left.toggle(
        f"Model's own threshold ({own:g})",
        value=scope is None or scope.threshold is None,
        key="own_threshold",
        help=wording.explain("decision threshold"),
    )
    if is_own:
        return None
    start = own if scope is None or scope.threshold is None else scope.threshold
    least, largest = threshold_range(fit)
    return float(
        right.number_input(
            "Decision threshold",
            min_value=least,
            max_value=largest,
            value=float(np.clip(start, least, largest)),
            step=0.05,
            format="%.3f",
            key="threshold",
            help=threshold_note(fit),
        )
    )


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
    edited = tables.edit(
        table,
        disabled=["Attribute", "Smallest", "Largest"],
        column_config={"From": number("Search from", format="%g"), "To": number("Search to", format="%g")},
        key="limits",
    )
    return read_limits(edited)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
