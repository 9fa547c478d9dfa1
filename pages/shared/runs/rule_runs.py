"""The runs of rule sets of a review: which one is shown, what it left, a list to choose another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import RunError
from fairness_engine.runs.kinds import RULES
from fairness_engine.runs.writers.rule_sets import stored_rules
from pages.shared.app import session, wording
from pages.shared.app.kept import shared
from pages.shared.runs import of_kind
from pages.shared.runs.run_list import Listing

if TYPE_CHECKING:
    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import Review, RunRecord

VIEW = "view"
"""The key of the page's sections, and their name in the address."""
RULE_SETS = "Rule sets"
TWO = "Two attributes"
FIGURES = "Group figures"
BY = "by"
SOURCE = "decides"
"""Attributes of group figures, and whose decisions they count, in an address."""
THRESHOLDS = "Threshold"
_NAME = "rule"


def chosen(n_rule_sets: int) -> int | None:
    """The position of the open rule set, from 0; ``None`` when the address names none that there is."""
    text = st.query_params.get(_NAME, "")
    position = int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 10 else -1
    return position if 0 <= position < n_rule_sets else None


def choose(position: int | None) -> None:
    """Open a rule set by its position, from 0, or close the open one."""
    if position is not None:
        st.query_params[_NAME] = str(position + 1)
    elif _NAME in st.query_params:
        del st.query_params[_NAME]


def open_in_rule_sets(position: int) -> None:
    """For callbacks of other sections: open a rule set where its card is."""
    choose(position)
    st.session_state[VIEW] = RULE_SETS


def rule_runs(review: Review) -> list[RunRecord]:
    """The runs of rule sets of a review, the newest first."""
    return of_kind.runs_of(review, RULES)


def result_of(run: RunRecord | None) -> RuleResult | None:
    """What a run scored, read once for all browser sessions; ``None`` while it works, or when it ended before it had
    scored any.
    """
    if run is None or run.is_active:
        return None
    return _read(run.id)


@shared
def _read(run_id: str) -> RuleResult | None:
    try:
        return stored_rules(session.store(), run_id)
    except RunError:
        return None


def open_run(run_id: str) -> None:
    """Name the run that is shown; a rule set of another run is shown no more."""
    session.set_run(run_id)
    choose(None)


RULE_RUNS = Listing(
    "rules_runs",
    "Rule sets of this review",
    "Run",
    lambda runs: {
        "Rule sets": [wording.count(run.n_found) if run.n_found else wording.DASH for run in runs],
        "Rows evaluated": [wording.count(run.evaluations) for run in runs],
    },
)


def draw_list(review: Review, runs: Sequence[RunRecord], shown: RunRecord) -> None:
    """All runs of rule sets of the review; a click opens one."""
    chosen = RULE_RUNS.draw(review, runs, [shown])
    if chosen is not None:
        open_run(chosen.id)
        st.rerun()
