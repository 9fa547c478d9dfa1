"""Which rule sets are listed: by size, direction, attributes; and one of each family of near-duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.events import IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.space import NO_RULE
from pages.components import layout, rules_words, theme, wording
from pages.components.kept import kept

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord

BOTH = "Both"
_DIRECTIONS = {
    BOTH: "Both",
    theme.HARMED.name: f"{theme.HARMED.symbol} Harmed",
    theme.FAVOURED.name: f"{theme.FAVOURED.symbol} Favoured",
}
N_SHOWN = (10, 20, 40)


@dataclass(frozen=True)
class RuleFilter:
    """What a reader wants to see.

    Args:
        support: least share of the rows, 0 to 1.
        direction: ``BOTH``, or the name of a direction.
        attributes: rule sets that speak of all of these; empty for any.
        n_attributes: rule sets of exactly so many attributes; 0 for any number.
        leaves_out_rest: leave out groups outside which there are fewer rows than the support of the run.
        n_shown: how many are drawn.
    """

    support: float
    direction: str = BOTH
    attributes: tuple[str, ...] = ()
    n_attributes: int = 0
    leaves_out_rest: bool = True
    n_shown: int = N_SHOWN[0]


@dataclass(frozen=True)
class Ranked:
    """Rule sets that match, the highest score first.

    Args:
        positions: all of them ``(n,)``.
        shown: one of each family of near-duplicates ``(n_shown,)``.
        families: the others of a family, by the one that is shown.
    """

    positions: IntArray
    shown: IntArray
    families: Mapping[int, IntArray]


def form(run: RunRecord, result: RuleResult) -> RuleFilter:
    """The widgets, kept for the run while the browser is open."""
    key = f"rules_filter_{run.id}"
    with layout.wrapping("rules_filters"):
        places = st.columns([3, 3, 4], vertical_alignment="bottom")
    with places[0]:
        support = _support_field(run, result, key)
    with places[1]:
        direction = st.segmented_control(
            "Direction",
            list(_DIRECTIONS),
            default=BOTH,
            required=True,
            format_func=_DIRECTIONS.__getitem__,
            key=f"{key}_direction",
            help="Harmed: fewer of the group than of everyone else get the favourable outcome. Favoured: more.",
            persist_state="session",
        )
    with places[2], st.container(horizontal=True, vertical_alignment="bottom"):
        n_shown = st.segmented_control(
            "Shown",
            N_SHOWN,
            default=N_SHOWN[0],
            required=True,
            key=f"{key}_shown",
            help="How many groups are drawn and listed, the largest difference first. The table has all.",
            persist_state="session",
        )
        attributes, n_attributes, leaves_out = _more_fields(result, key)
    return RuleFilter(support, str(direction), attributes, n_attributes, leaves_out, int(n_shown))


def _support_field(run: RunRecord, result: RuleResult, key: str) -> float:
    """The slider: from the run's own support up to the largest group that is not nearly everybody."""
    least = 100 * float(run.config.settings["support"])
    largest = 100 * float(np.where(is_rest(result), 0, result.scored.n_rows).max()) / result.n_rows
    if largest - least < 0.5:
        return 0.0
    value = st.slider(
        f"Least share of the {rules_words.noun_of(result)}s, %",
        round(least, 1),
        float(np.floor(largest)) if largest - least >= 2 else round(largest, 1),
        round(least, 1),
        step=0.5,
        format="%g",
        key=f"{key}_support",
        help="The support. Larger groups are fewer, and their differences smaller: the chart at the end shows by how much.",
        persist_state="session",
    )
    return 0.0 if value <= round(least, 1) else float(value) / 100


def _more_fields(result: RuleResult, key: str) -> tuple[tuple[str, ...], int, bool]:
    names = [attribute.name for attribute in result.attributes]
    n_most = int(result.scored.n_attributes.max())
    if n_most < 2 and not is_rest(result).any():
        return (), 0, False
    with st.popover("More filters", icon=":material/filter_list:"):
        attributes = (
            st.multiselect(
                "Groups that name",
                names,
                key=f"{key}_attributes",
                placeholder="any attribute",
                persist_state="session",
            )
            if len(names) > 1
            else []
        )
        counts = {0: "Any number", **{n: wording.counted(n, "attribute") for n in range(1, n_most + 1)}}
        n_attributes = st.selectbox(
            "Attributes in a group",
            list(counts),
            format_func=counts.__getitem__,
            key=f"{key}_n",
            persist_state="session",
        )
        leaves_out = st.checkbox(
            "Leave out groups that are nearly everybody",
            value=True,
            key=f"{key}_rest",
            help="Hardly any rows lie outside them, fewer than a group must have: what they say is really said of that small rest.",
            persist_state="session",
        )
    return tuple(attributes), int(n_attributes or 0), bool(leaves_out)


def is_rest(result: RuleResult) -> BoolArray:
    """Rule sets outside which there are fewer rows than a group must have ``(n_rule_sets,)``."""
    return np.asarray(result.scored.is_rest != 0)


def matching(result: RuleResult, wanted: RuleFilter) -> IntArray:
    """Positions of the rule sets that pass the filter, in the order of their score."""
    scored = result.scored
    found = scored.n_rows >= wanted.support * result.n_rows - 1e-9
    if wanted.direction != BOTH:
        found = found & (scored.is_harmed == (wanted.direction == theme.HARMED.name))
    for name in wanted.attributes:
        at = next(i for i, attribute in enumerate(result.attributes) if attribute.name == name)
        found = found & (scored.rules[:, at] != NO_RULE)
    if wanted.n_attributes:
        found = found & (scored.n_attributes == wanted.n_attributes)
    if wanted.leaves_out_rest:
        found = found & ~is_rest(result)
    return np.flatnonzero(found)


def families(result: RuleResult, positions: IntArray) -> Ranked:
    """One of each family of near-duplicates: the one it is folded under, or the highest that is left when that one is not."""
    head = result.scored.head
    family = np.where(head >= 0, head, np.arange(len(head)))[positions]
    _, first, of = np.unique(family, return_index=True, return_inverse=True)
    is_there = np.isin(family, positions)
    shown = np.sort(np.where(is_there[first], family[first], positions[first]))
    shown_of = np.where(is_there[first], family[first], positions[first])[of.ravel()]
    others = positions[shown_of != positions]
    under = shown_of[shown_of != positions]
    order = np.argsort(under, kind="stable")
    heads, starts = np.unique(under[order], return_index=True)
    parts = np.split(others[order], starts[1:]) if len(heads) else []
    return Ranked(positions, shown, {int(h): part for h, part in zip(heads.tolist(), parts, strict=True)})


def ranked(run: RunRecord, result: RuleResult, wanted: RuleFilter) -> Ranked:
    """The rule sets of a filter, found again only when something was asked for anew."""
    asked = (wanted.support, wanted.direction, wanted.attributes, wanted.n_attributes, wanted.leaves_out_rest)
    return kept("rules_ranked", (run.id, *asked), lambda: families(result, matching(result, wanted)))


def first_of(run: RunRecord, result: RuleResult) -> int | None:
    """The rule set on top when nothing is filtered but groups that are nearly everybody."""
    found = kept("rules_first", run.id, lambda: families(result, matching(result, RuleFilter(0.0))).shown[:1])
    return int(found[0]) if len(found) else None
