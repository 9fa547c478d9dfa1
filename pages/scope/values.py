"""Which values of the protected attributes are compared, and which of their combinations are left out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SettingError
from fairness_engine.measures.plausibility.combinations import UnseenCombination, unseen_combinations
from fairness_engine.oracle.domain import MAX_PRODUCT, Domain, Scope, compared_values
from pages.shared.app import frame, wording

Values = tuple[float, ...]

EVERY = "Every value"
EVEN = "Evenly spaced values"
COMMON = "The commonest values"
OWN = "My own values"
_ONLY_THESE = "everybody is compared at these values, whatever their own."
N_EVEN = 5
N_COMMON = 8
_FEW_CATEGORIES = 5
"""Of an attribute whose categories are all compared without a question."""
FEW_VARIANTS = 100
"""Beyond, a search is slow enough that the page says how to compare less."""
_MOST_NAMED = 12
MOST_VARIANTS = 10_000
"""That the page offers to compare; the limit itself can be set higher."""


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


def commonest(column: Column, own: FloatArray, n: int) -> Values:
    """The ``n`` categories that most people of the data have ``(n_rows,)``, in the column's order."""
    counts = np.bincount(np.rint(own).astype(np.int64), minlength=len(column.labels))
    return tuple(float(place) for place in np.sort(np.argsort(-counts, kind="stable")[:n]))


def ask_bins(
    columns: Sequence[Column], saved: Mapping[str, Values], schema: Schema, rows: FloatArray
) -> dict[str, Values] | None:
    """How each protected attribute is compared: on every value, or on chosen ones; ``None`` while an answer is wrong.

    Args:
        columns: the protected ones.
        saved: values chosen before.
        schema, rows: of the data ``(n_rows, n_columns)``.
    """
    bins: dict[str, Values] = {}
    is_valid = True
    for column in columns:
        own = rows[:, schema.index(column.name)]
        try:
            if column.kind is not Kind.CATEGORICAL:
                values = _ask_numbers(column, saved.get(column.name))
            elif len(column.labels) > _FEW_CATEGORIES or column.name in saved:
                values = _ask_categories(column, saved.get(column.name), own)
            else:
                values = None
        except SettingError as error:
            frame.say(error)
            is_valid = False
            continue
        if values is not None:
            bins[column.name] = values
    return bins if is_valid else None


def _ask_how(column: Column, choices: list[str], wanted: str) -> tuple[str, Any]:
    """The choice, and the place beside it."""
    left, right = st.columns([1, 1])
    label = f"How to compare {wording.markdown(column.name)}"
    how = left.radio(label, choices, index=choices.index(wanted), horizontal=True, key=f"how_{column.name}")
    return str(how), right


def _ask_numbers(column: Column, saved: Values | None) -> Values | None:
    n_values = column.n_values
    choices = [EVEN, OWN] if n_values is None else [EVERY, EVEN, OWN]
    is_even = saved is not None and saved == even_values(column, len(saved))
    wanted = choices[0] if saved is None else EVEN if is_even else OWN
    how, right = _ask_how(column, choices, wanted)
    if how == EVERY:
        right.caption(f"{wording.counted(n_values or 0, 'value')}, {column.low:g} to {column.high:g}")
        return None
    if how == EVEN:
        n = right.number_input(
            f"How many values of {wording.markdown(column.name)}",
            2,
            100,
            len(saved) if saved is not None and is_even else N_EVEN,
            key=f"n_{column.name}",
        )
        values = even_values(column, int(n))
        right.caption(f"{_few(column, values)}: {_ONLY_THESE}")
        return values
    typed = ", ".join(column.text(value) for value in saved or even_values(column, N_EVEN))
    text = right.text_input(
        f"Values of {wording.markdown(column.name)}, separated by commas", typed, key=f"own_{column.name}"
    )
    values = read_values(text, column)
    right.caption(f"{wording.counted(len(values), 'value')}: {_ONLY_THESE}")
    return values


def _ask_categories(column: Column, saved: Values | None, own: FloatArray) -> Values | None:
    n_labels = len(column.labels)
    is_common = saved is not None and saved == commonest(column, own, len(saved))
    how, right = _ask_how(column, [EVERY, COMMON, OWN], EVERY if saved is None else COMMON if is_common else OWN)
    if how == EVERY:
        right.caption(wording.counted(n_labels, "value"))
        return None
    if how == COMMON:
        n = right.number_input(
            f"How many values of {wording.markdown(column.name)}",
            2,
            n_labels,
            len(saved) if saved is not None and is_common else min(N_COMMON, n_labels),
            key=f"n_{column.name}",
        )
        values = commonest(column, own, int(n))
        share = float(np.isin(own, values).mean()) if len(own) else 0.0
        right.caption(wording.markdown(f"{_few(column, values)}, {wording.share(share)} of your data: {_ONLY_THESE}"))
        right.caption(wording.markdown(_left_out(column, values, own)))
        return values
    places = right.multiselect(
        f"Values of {wording.markdown(column.name)}",
        range(n_labels),
        default=[int(value) for value in saved or commonest(column, own, N_COMMON)],
        format_func=lambda place: column.labels[place],
        key=f"own_{column.name}",
    )
    right.caption(f"{wording.counted(len(places), 'value')}: {_ONLY_THESE}")
    if not places:
        raise SettingError(f"Comparing '{column.name}' needs a value, got none. Choose one, or '{EVERY}'.")
    values = tuple(sorted(float(place) for place in places))
    right.caption(wording.markdown(_left_out(column, values, own)))
    return values


def _left_out(column: Column, values: Values, own: FloatArray) -> str:
    """The categories that are not compared, those of most people first."""
    counts = np.bincount(np.rint(own).astype(np.int64), minlength=len(column.labels))
    places = [place for place in np.argsort(-counts, kind="stable").tolist() if float(place) not in values]
    if not places:
        return "All categories are compared."
    told = [f"{column.labels[place]} ({wording.counted(counts[place], 'person', 'people')})" for place in places]
    return f"Not compared: {', '.join(told[:_MOST_NAMED])}{' …' if len(told) > _MOST_NAMED else '.'}"


def _few(column: Column, values: Values) -> str:
    return ", ".join(column.text(value) for value in values[:_MOST_NAMED]) + (" …" if len(values) > _MOST_NAMED else "")


# --- too many -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remedy:
    """One way to compare less, as a button.

    Args:
        label: what it says.
        state: what it sets, by the keys of the widgets.
    """

    label: str
    state: Mapping[str, Any]


def n_compared(schema: Schema, scope: Scope) -> dict[str, int]:
    """How many values of each protected attribute are compared."""
    return {name: len(compared_values(schema, scope, name)) for name in scope.protected}


def remedies(schema: Schema, scope: Scope) -> list[Remedy]:
    """Ways to compare less than a scope does, all together first; none where there are few combinations.

    Where they are more than its limit, also one attribute at a time, and the limit itself as far as it can be raised.
    """
    try:
        counts = n_compared(schema, scope)
    except SettingError:  # said where it is asked
        return []
    n_variants = math.prod(counts.values())
    if n_variants <= FEW_VARIANTS:
        return []
    found = []
    fewer = dict(counts)
    for name, n in counts.items():
        is_category = schema.column(name).kind is Kind.CATEGORICAL
        n_new, way = (N_COMMON, COMMON) if is_category else (N_EVEN, EVEN)
        if n > n_new:
            fewer[name] = n_new
            label = f"{way} of {name}: {n_new} instead of {n}"
            found.append(Remedy(label, {f"how_{name}": way, f"n_{name}": n_new}))
    if len(found) > 1:
        state = {key: value for each in found for key, value in each.state.items()}
        n_new = math.prod(fewer.values())
        label = f"All of these: {wording.counted(n_new, 'combination')} instead of {wording.count(n_variants)}"
        found.insert(0, Remedy(label, state))
    if n_variants > scope.max_variants:
        if len(counts) > 1:
            found += [Remedy(f"Only {name} for now", {"protected": [name]}) for name in counts]
        if n_variants <= MOST_VARIANTS:
            found.append(Remedy(f"Compare all {wording.count(n_variants)}", {"max_variants": n_variants}))
    return found


def offer(ways: Sequence[Remedy]) -> None:
    """The ways as buttons, each of which answers the questions above so."""
    with st.container(horizontal=True, key="scope_remedies"):
        for i, way in enumerate(ways):
            st.button(wording.markdown(way.label), key=f"remedy_{i}", on_click=_answer, args=(dict(way.state),))


def _answer(state: Mapping[str, Any]) -> None:
    st.session_state.update(state)


def say_left_behind(schema: Schema, protected: Sequence[str]) -> None:
    """Which attributes are marked as protected in the data and not compared here, and a button that takes them in."""
    missing = [name for name in schema.protected if name not in protected]
    if not missing:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "Marked as protected under Data, and not compared in this scope: "
            f"{wording.markdown(wording.listed(missing))}."
        )
        st.button(
            "Compare them too", key="compare_marked", on_click=_answer, args=({"protected": [*protected, *missing]},)
        )


# --- what never goes together -------------------------------------------------------------------

_N_NAMED = 4


def ask_excluded(schema: Schema, rows: FloatArray, scope: Scope, saved: Scope | None) -> Scope:
    """The scope without the combinations that the data never holds, where there are any and the reader wants that.

    Args:
        schema, rows: of the data.
        scope: as answered so far.
        saved: the review's.

    Raises:
        SettingError: values that cannot be compared, or nothing is left to compare.
    """
    found = unseen_combinations(rows, schema, scope) if len(scope.protected) > 1 else ()
    if not found:
        return scope
    left = replace(scope, excluded=tuple(each.combination for each in found))
    n_all = math.prod(n_compared(schema, scope).values())
    if n_all > MAX_PRODUCT:  # refused below, with what can be done
        return scope
    n_left_out = n_all - Domain(schema, replace(left, max_variants=max(n_all, 2))).n_variants
    is_proposed = saved is None or bool(saved.excluded) or saved.protected != scope.protected
    is_wanted = st.toggle(
        f"Leave out {wording.counted(n_left_out, 'combination')} that your data never holds",
        is_proposed,
        key=f"leave_out_{is_proposed}",
        help="Nobody in your data has both values, though at least 10 people would if the two attributes had nothing "
        "to do with each other. A pair with such a person may be one that cannot exist.",
    )
    st.caption(wording.markdown(never_in_words(found, schema, scope)))
    return left if is_wanted else scope


def never_in_words(found: Sequence[UnseenCombination], schema: Schema, scope: Scope) -> str:
    """Which protected values never go together, with the number of people who would be expected to have both."""
    named = [
        f"{each.text(schema, scope)} ({wording.count(round(each.n_expected))} expected)" for each in found[:_N_NAMED]
    ]
    more = f"; and {len(found) - _N_NAMED} more" if len(found) > _N_NAMED else ""
    return f"Never together in your data: {'; '.join(named)}{more}."
