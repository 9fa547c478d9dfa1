"""Which discriminatory pairs a retraining learns from: found anew, pinned, of a run, or those that the Pairs page
lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.arrays import IntArray
from fairness_engine.data.recorded import Source
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import CasesOfRun, Strategy
from fairness_engine.runs.kinds import RULES
from fairness_engine.search.registry import TECHNIQUES
from pages.shared.app import closed, navigation, session, wording
from pages.shared.review import planning
from pages.shared.runs import models, phrases, run_list

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

SEARCH = "search"
PINS = "pins"
LISTED = "listed"
RUN = "run"
"""Where cases come from."""
_SOURCE = "retrain_cases"
_RUN = "retrain_cases_run"
_TECHNIQUE = "retrain_technique"
"""Keys of the widgets."""
_ASKED = "retrain_asked"
_LISTED = "retrain_listed"
_RULE_SET = "retrain_rule_set"
GROUP = "retrain_group"
WORST = "worst"
PICKED = "picked"
"""Key of the widget that chooses the group of the strategy for groups, and what can be chosen."""
MAX_LISTED = 50_000
"""Pairs that a run takes at most; of more that are listed, as many are drawn evenly."""


@dataclass(frozen=True)
class CaseChoice:
    """What a reader chose.

    Args:
        cases: pairs of runs; empty for a search.
        technique: of that search; empty leaves it to the strategy.
        n: pairs chosen, as far as they are known.
        text: the choice in words, for a sentence.
        problem: why it cannot be used, in a sentence.
    """

    cases: tuple[CasesOfRun, ...] = ()
    technique: str = ""
    n: int = 0
    text: str = ""
    problem: str = ""


def takes_cases(strategy: Strategy) -> bool:
    """Whether a strategy learns from single discriminatory individuals."""
    return bool(STRATEGIES[strategy].technique)


def can_give(run: RunRecord, review: Review) -> bool:
    """Whether pairs of a run are of the review's data, model and question."""
    config = run.config
    return (
        run_list.has_pairs(run)
        and run.n_found > 0
        and review.schema is not None
        and review.scope is not None
        and (config.data_id, config.model_id) == (review.data_id, review.model_id)
        and config.schema.names == review.schema.names
        and config.scope.protected == review.scope.protected
        and config.scope.links == review.scope.links
    )


# --- from other pages ---------------------------------------------------------------------------


def is_asked_for() -> bool:
    """Whether another page sent its reader here to start a retraining."""
    return bool(st.session_state.get(_ASKED))


def forget_asking() -> None:
    """The form is not asked for any more."""
    st.session_state.pop(_ASKED, None)


def offer_listed(review: Review, run: RunRecord, positions: IntArray, *, only_pinned: bool) -> None:
    """On the Pairs page: a button that takes what is listed there to a retraining.

    Args:
        positions: of the pairs that are listed, among those of the run.
        only_pinned: the list holds the pinned ones only.
    """
    if not len(positions) or not _is_open(review) or not can_give(run, review):
        return
    if not only_pinned:
        st.session_state[_LISTED] = (run.id, positions)
    label = "Retrain with the pins" if only_pinned else "Retrain with these"
    note = "Opens the Retrain page with the pairs of this list as cases; nothing starts yet."
    if st.button(label, key="retrain_with_listed", icon=":material/model_training:", help=note):
        _go(PINS if only_pinned else LISTED, [Strategy.MAJORITY])


def offer_group(run: RunRecord, position: int, text: str) -> None:
    """On a card of a rule set: a button that leads to a retraining for this group.

    Args:
        position: of the rule set among those of the run.
        text: the group in words.
    """
    held = session.current_review()  # the card is drawn of the review as the run was made of it
    is_of_model = RULES.settings(run.config).source is Source.MODEL
    if held is None or not is_of_model or run.config.model_id != held.model_id or not _is_open(held):
        return
    note = (
        "Opens the Retrain page with the strategy “Worst group” for this one: samples of it with the opposite outcome "
        "are added until its score is low. Nothing starts yet."
    )
    if st.button("Retrain", key="retrain_for_group", icon=":material/model_training:", help=note):
        st.session_state["retrain_support"] = 100 * RULES.settings(run.config).support
        st.session_state[_RULE_SET] = (run.id, position, text)
        st.session_state[GROUP] = PICKED
        _go(SEARCH, [Strategy.RULES])


def picked_rule_set(review: Review) -> tuple[str, int, str] | None:
    """The rule set that a card on Groups sent here: its run, its position there, and the group in words."""
    held: tuple[str, int, str] | None = st.session_state.get(_RULE_SET)
    if held is None:
        return None
    is_of_review = any(run.id == held[0] and run.config.model_id == review.model_id for run in session.runs(review.id))
    return held if is_of_review else None


def _is_open(review: Review) -> bool:
    is_ready = navigation.missing_before(navigation.PLAN, review) is None
    return is_ready and closed.why_closed(navigation.RETRAIN, review, frozenset) is None


def _go(source: str, strategies: Sequence[Strategy]) -> None:
    st.session_state[_ASKED] = True
    st.session_state[_SOURCE] = source
    for strategy in Strategy:
        st.session_state[strategy_key(strategy)] = strategy in strategies
    session.go_to(navigation.RETRAIN)


def strategy_key(strategy: Strategy) -> str:
    """Key of the widget that chooses a strategy."""
    return f"retrain_use_{strategy.value}"


# --- the widgets --------------------------------------------------------------------------------


def ask(review: Review, strategies: Sequence[Strategy]) -> CaseChoice:
    """Where the cases come from; nothing to choose where no strategy takes any."""
    if not any(takes_cases(strategy) for strategy in strategies):
        return CaseChoice()
    runs = [run for run in session.runs(review.id) if can_give(run, review)]
    sources = _sources(review, runs)
    if st.session_state.get(_SOURCE) not in sources:
        st.session_state.pop(_SOURCE, None)
    chosen = st.radio(
        "Cases: discriminatory individuals to learn from",
        list(sources),
        format_func=lambda name: sources[name][0],
        captions=[sources[name][1] for name in sources],
        key=_SOURCE,
        persist_state="session",
    )
    _say_unused(strategies)
    if chosen == SEARCH:
        return _of_search(review)
    if chosen == PINS:
        return _of_pins(review, runs)
    return _of_list(runs) if chosen == LISTED else _of_run(runs)


def _sources(review: Review, runs: Sequence[RunRecord]) -> dict[str, tuple[str, str]]:
    """Where cases can come from: name and note of each, markdown."""
    found = {SEARCH: ("Find them anew", "A search from the training rows alone, against this model.")}
    pins = _pins_by_run(review, runs)
    if pins:
        n = sum(map(len, pins.values()))
        found[PINS] = (f"Pinned pairs ({wording.count(n)})", "Those that were pinned on the Pairs page of this review.")
    listed = _listed(runs)
    if listed is not None:
        run, positions = listed
        n_all = wording.counted(run.n_found, "pair")
        note = (
            f"{wording.count(len(positions))} of {n_all} of {wording.markdown(phrases.run_title(run.config))}, seed "
            f"{run.config.seed}."
        )
        found[LISTED] = ("What the Pairs page lists", note)
    if runs:
        found[RUN] = ("All pairs of a run", "Choose one of the runs with pairs.")
    return found


def _say_unused(strategies: Sequence[Strategy]) -> None:
    others = [f"“{STRATEGIES[one].title}”" for one in strategies if not takes_cases(one)]
    if others:
        verb = "learns" if len(others) == 1 else "learn"
        st.caption(
            wording.markdown(f"{wording.listed(others)} {verb} from the rows of the data instead, not from cases.")
        )


def _of_search(review: Review) -> CaseChoice:
    possible = {
        choice.technique.name: choice.technique.title for choice in planning.choices(review) if not choice.reason
    }
    chosen = st.selectbox(
        "Technique of the search",
        ["", *possible],
        format_func=lambda name: possible.get(name, "Chosen by the strategy"),
        key=_TECHNIQUE,
        help="AEQUITAS searches as in its paper; majority labels take pairs of a directed search. What measures the "
        "result is another technique than the one that finds the cases.",
        persist_state="session",
        width=420,
    )
    text = f"a search by {TECHNIQUES[chosen].title}" if chosen else "a search of the strategy's own"
    return CaseChoice(technique=str(chosen or ""), text=text)


def _pins_by_run(review: Review, runs: Sequence[RunRecord]) -> dict[str, list[int]]:
    n_found = {run.id: run.n_found for run in runs}
    pins: dict[str, list[int]] = {}
    for pin in session.store().pins(review.id):
        if pin.pair_index < n_found.get(pin.run_id, 0):
            pins.setdefault(pin.run_id, []).append(pin.pair_index)
    return pins


def _of_pins(review: Review, runs: Sequence[RunRecord]) -> CaseChoice:
    pins = _pins_by_run(review, runs)
    cases = tuple(CasesOfRun(run_id, tuple(sorted(indices))) for run_id, indices in pins.items())
    n = sum(map(len, pins.values()))
    n_all = len(session.store().pins(review.id))
    if n < n_all:
        left_out = wording.counted(n_all - n, "pin")
        st.caption(f"{left_out} of another model or scope cannot be used.")
    if n < _FEW:
        st.caption(f"{wording.counted(n, 'case')} alone will hardly move a model; a search finds thousands.")
    return CaseChoice(cases, n=n, text=wording.counted(n, "pinned pair"))


_FEW = 50


def _listed(runs: Sequence[RunRecord]) -> tuple[RunRecord, IntArray] | None:
    """What the Pairs page listed last, where those are not all pairs of a run."""
    run_id, positions = st.session_state.get(_LISTED, (None, ()))
    run = next((run for run in runs if run.id == run_id), None)
    return None if run is None or not len(positions) else (run, positions)


def _of_list(runs: Sequence[RunRecord]) -> CaseChoice:
    listed = _listed(runs)
    assert listed is not None, "offered only then"
    run, positions = listed
    n = len(positions)
    if n > MAX_LISTED:
        positions = positions[np.unique(np.linspace(0, n - 1, MAX_LISTED).round().astype(np.int64))]
        st.caption(f"{wording.count(len(positions))} of the {wording.count(n)}, spread evenly over the list, are used.")
    indices = () if len(positions) == run.n_found else tuple(map(int, positions))
    return CaseChoice((CasesOfRun(run.id, indices),), n=len(positions), text=wording.counted(len(positions), "pair"))


def _of_run(runs: Sequence[RunRecord]) -> CaseChoice:
    by_id = {run.id: run for run in runs}
    if st.session_state.get(_RUN) not in by_id:
        st.session_state.pop(_RUN, None)
    chosen = st.selectbox("Run", list(by_id), format_func=partial(_label, by_id), key=_RUN, persist_state="session")
    run = by_id[str(chosen)]
    if run.is_active:
        return CaseChoice(problem="This run is at work still. Wait until it has ended, or choose another.")
    text = f"{wording.counted(run.n_found, 'pair')} of {phrases.run_title(run.config)}"
    return CaseChoice((CasesOfRun(run.id),), n=run.n_found, text=text)


def _label(by_id: dict[str, RunRecord], run_id: str) -> str:
    run = by_id[run_id]
    found = wording.counted(run.n_found, "pair")
    title = phrases.run_title(run.config)
    scope = models.scope_text(run.config)
    return f"{title}, seed {run.config.seed}: {found}, {wording.when(run.created)} · {scope}"
