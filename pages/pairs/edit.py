"""Change a value of a pair's two people and see what the model decides then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Column
from fairness_engine.oracle.domain import Domain
from pages.shared.app import wording

BOTH = -1


@dataclass(frozen=True)
class Target:
    """What can be changed: an attribute of both people, or a protected one of person A (0) or B (1)."""

    column: int
    side: int = BOTH


Edits = Mapping[Target, float]


def targets(domain: Domain) -> list[Target]:
    """Everything that can be changed: attributes that are not protected first."""
    columns = domain.schema.inputs
    free = [Target(i) for i in domain.free.tolist() if columns[i].low < columns[i].high]
    return free + [Target(i, side) for i in domain.protected.tolist() for side in (0, 1)]


def target_name(domain: Domain, target: Target) -> str:
    """The attribute, and whose when it is protected."""
    name = domain.schema.inputs[target.column].name
    return name if target.side == BOTH else f"{name} of person {'AB'[target.side]}"


def apply_edits(domain: Domain, rows: FloatArray, edits: Edits) -> FloatArray:
    """The two people ``(2, n_columns)`` with the changes made; a new array. What is linked to a protected attribute
    goes with it: of a linked one, person A gets the value and person B plays the same role.
    """
    out: FloatArray = np.array(rows, dtype=np.float64)
    for target, value in edits.items():
        if target.side != BOTH:
            roles = np.array(domain.roles(out))
            roles[target.side, target.column] = value
            out[target.side] = domain.spelled(roles)[target.side]
            continue
        out[0, target.column] = value
        roles = np.array(domain.roles(out))
        roles[1, target.column] = roles[0, target.column]
        out[1] = domain.spelled(roles)[1]
    return out


def value_of(rows: FloatArray, target: Target) -> float:
    """The value that a target has in the two people's rows."""
    return float(rows[max(target.side, 0), target.column])


def edits_of(pair_key: str) -> dict[Target, float]:
    """The changes made to the pair that is open; another pair begins without any."""
    held = st.session_state.get("pair_edits")
    if held is None or held[0] != pair_key:
        held = (pair_key, {})
        st.session_state["pair_edits"] = held
    edits: dict[Target, float] = held[1]
    return edits


def edit_form(domain: Domain, rows: FloatArray, pair_key: str) -> None:
    """Widgets to change one value at a time; the changes are kept in ``edits_of``.

    Args:
        domain: the columns.
        rows: the two people as found ``(2, n_columns)``.
        pair_key: names the pair.
    """
    edits = edits_of(pair_key)
    options = targets(domain)
    which, what = st.columns(2, vertical_alignment="bottom")
    with which:
        target = st.selectbox(
            "Change a value",
            options,
            format_func=lambda option: target_name(domain, option),
            key=f"edit_target_{pair_key}",
            help="The model is asked at once. Changing a value that is not protected changes it for both people.",
        )
    with what:
        found = value_of(rows, target)
        value = _value_field(domain.schema.inputs[target.column], edits.get(target, found), target, pair_key)
    if value != found:
        edits[target] = value
    else:
        edits.pop(target, None)
    if edits:
        label = f"Undo {wording.counted(len(edits), 'change')}"
        st.button(label, key="undo_edits", icon=":material/undo:", on_click=_undo, args=(pair_key,))


def _undo(pair_key: str) -> None:
    st.session_state["pair_edits"] = (pair_key, {})
    for key in [key for key in st.session_state if str(key).startswith(f"edit_value_{pair_key}")]:
        del st.session_state[key]


def _value_field(column: Column, value: float, target: Target, pair_key: str) -> float:
    """The widget for one value: the labels of a category, or a number in its range."""
    key = f"edit_value_{pair_key}_{target.column}_{target.side}"
    label = f"New value of {wording.markdown(column.name)}"
    if column.codes:
        positions = list(range(len(column.codes)))
        chosen: Any = st.selectbox(
            label, positions, round(value), format_func=lambda position: column.labels[position], key=key
        )
        return float(chosen)
    low = min(column.low, value)
    high = max(column.high, value)
    if column.kind.value == "integer":
        number: float | None = st.number_input(label, round(low), round(high), round(value), 1, key=key)
    else:
        step = column.step or (column.high - column.low) / 100
        number = st.number_input(label, low, high, value, step, format="%.6g", key=key)
    return value if number is None else float(number)
