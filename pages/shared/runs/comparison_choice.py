"""Which comparison is shown: the comparisons of a review, the one that the address names, a list to choose another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import streamlit as st

from fairness_engine.runs.kinds import RETRAIN, SEARCH
from pages.shared.app import navigation, session, wording
from pages.shared.review import planning
from pages.shared.runs import models
from pages.shared.runs.phrases import run_title

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord

_PARAMETER = "comparison"
_MAX_NAMES = 4


@dataclass(frozen=True)
class Group:
    """Runs that were planned to stand side by side, in the order of the plan."""

    name: str
    runs: tuple[RunRecord, ...]

    @property
    def searches(self) -> list[RunRecord]:
        """Those that search."""
        return [run for run in self.runs if SEARCH.has(run.config)]

    @property
    def active(self) -> list[RunRecord]:
        """Those that have not ended."""
        return [run for run in self.runs if run.is_active]


def groups_of(runs: Sequence[RunRecord]) -> list[Group]:
    """The comparisons among a review's runs, the newest first; one of a single search is none.

    Runs that measure a retraining bear its id together: they are of two models, and compare no techniques.
    """
    retrainings = {run.id for run in runs if RETRAIN.has(run.config)}
    members: dict[str, list[RunRecord]] = {}
    for run in runs:
        if run.config.comparison is not None and run.config.comparison not in retrainings:
            members.setdefault(run.config.comparison, []).append(run)
    groups = [Group(name, tuple(sorted(found, key=lambda run: run.created))) for name, found in members.items()]
    compared = [group for group in groups if len(group.searches) > 1]
    return sorted(compared, key=lambda group: group.runs[0].created, reverse=True)


def label(group: Group) -> str:
    """A comparison in one line: techniques, seeds, budget, when."""
    titles = list(dict.fromkeys(run_title(run.config) for run in group.searches))
    n_seeds = len({run.config.seed for run in group.searches})
    budget = planning.budget_text(group.searches[0].config.budget).removesuffix(", whichever comes first")
    parts = [wording.listed(titles, _MAX_NAMES), wording.counted(n_seeds, "seed"), budget]
    scope = models.scope_text(group.runs[0].config)
    return " · ".join([*parts, wording.when(group.runs[0].created), scope])


def choose(groups: Sequence[Group]) -> Group | None:
    """The comparison to show: the one in the address, else the one of the open run, else the newest.

    Returns:
        ``None`` when the address names one that is not of this review; the list to choose from is drawn all the same.
    """
    names = [group.name for group in groups]
    asked = st.query_params.get(_PARAMETER) or _of_session(names) or _of_open_run(groups) or names[0]
    at = names.index(asked) if asked in names else None
    if len(groups) > 1 or at is None:
        chosen = st.selectbox(
            "Comparison",
            range(len(groups)),
            at,
            format_func=lambda i: label(groups[i]),
            key=f"comparison_{len(groups)}_{asked}",
            placeholder="Choose one",
        )
        if chosen is not None and chosen != at:
            _remember(names[chosen])
            st.rerun()
    if at is None:
        return None
    _remember(asked)
    return groups[at]


def _of_session(names: list[str]) -> str | None:
    held = st.session_state.get("open_comparison")
    return held if held in names else None


def _of_open_run(groups: Sequence[Group]) -> str | None:
    run_id = session.current_run_id()
    return next((group.name for group in groups if run_id in {run.id for run in group.runs}), None)


def _remember(name: str) -> None:
    st.session_state["open_comparison"] = name
    if st.query_params.get(_PARAMETER) != name:
        st.query_params[_PARAMETER] = name


def adopt_review() -> None:
    """Open the review that the comparison in the address belongs to, when the address names no review."""
    name = st.query_params.get(_PARAMETER)
    if not name or st.query_params.get("review") or session.current_review() is not None:
        return
    runs = session.store().runs
    review_id = session.review_to_find(
        lambda: next((run.review_id for run in runs() if run.config.comparison == name), None)
    )
    if review_id:
        session.set_review(review_id)
        st.rerun()  # the menu knew no review yet


def link_to(name: str, text: str) -> None:
    """A link to a comparison."""
    session.page_link(
        navigation.COMPARE,
        wording.markdown(text),
        session.address_of(**{_PARAMETER: name}),
        icon=":material/stacked_line_chart:",
    )


def go_to(name: str) -> NoReturn:
    """Leave for a comparison."""
    st.session_state["open_comparison"] = name
    st.switch_page(session.script(navigation.COMPARE), query_params=session.address_of(**{_PARAMETER: name}))
