"""The runs of a review as a list to choose from, and what can be done with an ended one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from fairness_engine.runs.kinds import SEARCH, kind_of
from fairness_engine.store.run_config import RunConfig
from pages.shared import tables
from pages.shared.app import frame, navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.runs import comparison_choice, models, phrases

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord


_CHOSEN = "pairs_run_chosen"


def has_pairs(run: RunRecord) -> bool:
    """Whether the Pairs page lists a run: a search, or a certification with counterexamples."""
    return SEARCH.has(run.config) or (kind_of(run.config).has_pairs and run.n_found > 0)


def actions(review: Review, group: list[RunRecord], *, is_compared: bool = False) -> None:
    """What to do next once all runs of a group have ended.

    Args:
        is_compared: the group is followed on the Compare page, and so is its repetition.
    """
    if any(run.is_active for run in group):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="actions"):
        if controls.button(
            "Run again", key="again", icon=":material/replay:", help="The same settings and the same seed."
        ):
            _run_again(review, group, is_compared=is_compared)
        session.link_to(navigation.PLAN, "Plan another")


def _run_again(review: Review, group: list[RunRecord], *, is_compared: bool) -> None:
    import secrets

    comparison = secrets.token_hex(6) if len(group) > 1 else None
    run_ids = session.queue_runs(review, [replace(run.config, comparison=comparison) for run in group])
    session.set_run(run_ids[0])
    if is_compared and comparison is not None:
        comparison_choice.go_to(comparison)
    st.rerun()


@dataclass(frozen=True)
class Listing:
    """How runs of one sort are listed.

    Args:
        key: of the table.
        heading: above it.
        noun: heads the column of their names.
        columns: what stands between their state and their times.
        title: the name of one.
        took: heads the column of their seconds.
    """

    key: str
    heading: str
    noun: str
    columns: Callable[[Sequence[RunRecord]], dict[str, list[str]]]
    title: Callable[[RunConfig], str] = phrases.run_title
    took: str = "Took"

    def table(self, runs: Sequence[RunRecord], open_ids: Collection[str]) -> pd.DataFrame:
        """One line a run."""
        review = session.current_review()
        return pd.DataFrame(
            {
                " ": ["◆ shown" if run.id in open_ids else "" for run in runs],
                self.noun: [models.title_of(review, run, self.title(run.config)) for run in runs],
                "Scope": [models.scope_text(run.config) for run in runs],
                "State": [phrases.state_text(run) for run in runs],
                **self.columns(runs),
                self.took: [wording.duration(run.seconds) for run in runs],
                "Started": [wording.when(run.created) for run in runs],
                "Seed": [run.config.seed for run in runs],
            }
        )

    def draw(self, review: Review, runs: Sequence[RunRecord], shown: Sequence[RunRecord]) -> RunRecord | None:
        """The table of a review's runs, where there are others than those shown; the one that was clicked."""
        open_ids = {run.id for run in shown}
        if len(runs) < 2 or len(runs) == len(shown):
            return None
        st.header(self.heading, anchor=False)
        stand = (sorted(open_ids), review.changed, [(run.id, run.state.value, run.evaluations) for run in runs])
        row = tables.clicked_row(
            kept(self.key, stand, lambda: self.table(runs, open_ids)),
            f"{self.key}_{review.id}_{len(runs)}_{'_'.join(sorted(open_ids))}",
            column_config={" ": st.column_config.TextColumn(width=85)},
        )
        return None if row is None or runs[row].id in open_ids else runs[row]


ALL = Listing(
    "runs",
    "Runs of this review",
    "Run",
    lambda runs: {
        "Pairs found": [wording.count(run.n_found) if kind_of(run.config).has_pairs else "" for run in runs],
        "Rows evaluated": [phrases.effort(run) for run in runs],
    },
)


def draw(review: Review, runs: Sequence[RunRecord], shown: Sequence[RunRecord], listing: Listing = ALL) -> None:
    """A list of runs, newest first; a click opens one."""
    for unreadable in session.unreadable_runs(review.id):
        st.caption(f":material/warning: Run {unreadable.id} cannot be shown. {wording.markdown(unreadable.reason)}")
    chosen = listing.draw(review, runs, shown)
    if chosen is not None:
        session.set_run(chosen.id)
        st.rerun()


def choose_search(runs: list[RunRecord]) -> RunRecord:
    """The run whose pairs are shown, and a list to choose another: the search in the address, else the newest search
    with pairs, of the review's model if there is one. A certification, whose counterexamples are few, is shown when it
    was chosen here or a link names one of its pairs.
    """
    ids = [run.id for run in runs]
    asked = session.open_run_id()
    at = ids.index(asked) if asked in ids and _is_meant(runs[ids.index(asked)]) else _newest_with_pairs(runs)
    if len(runs) == 1:
        note = models.standing_html(session.current_review(), runs[0])
        st.markdown(f"**{wording.markdown(phrases.run_title(runs[0].config))}**{note} · seed {runs[0].config.seed}")
        models.say_scope(runs[0])
        return runs[0]
    review = session.current_review()
    stand = (review, [(run.id, run.n_found) for run in runs])
    labels = kept("search_labels", stand, lambda: [_search_label(review, run) for run in runs])
    line = st.container(horizontal=True, vertical_alignment="center", key="searches")
    chosen = line.selectbox(
        "Run",
        range(len(runs)),
        at,
        format_func=labels.__getitem__,
        key=f"search_{len(runs)}_{ids[at]}",
        label_visibility="collapsed",
    )
    if ids[chosen] != asked:
        session.set_run(ids[chosen])
        st.session_state[_CHOSEN] = ids[chosen]
        if "pair" in st.query_params:
            del st.query_params["pair"]
        if chosen != at:
            st.rerun()
    with line:
        models.say_scope(runs[chosen], review)
    return runs[chosen]


def _is_meant(run: RunRecord) -> bool:
    """Whether the open run is the one whose pairs are to be seen; the menu brings a certification along from its own
    page.
    """
    is_named = not {"pair", "group"}.isdisjoint(st.query_params)
    return SEARCH.has(run.config) or is_named or st.session_state.get(_CHOSEN) == run.id


def _newest_with_pairs(runs: list[RunRecord]) -> int:
    """Position of the newest search that found pairs, of the review's model if there is one; of the newest run without
    any.
    """
    review = session.current_review()
    found = [i for i, run in enumerate(runs) if SEARCH.has(run.config) and run.n_found]
    of_model = [i for i in found if review is not None and runs[i].config.model_id == review.model_id]
    return next(iter(of_model or found), 0)


def _search_label(review: Review | None, run: RunRecord) -> str:
    """A run in one line: technique, what it is of, seed, pairs, when, scope."""
    found = wording.counted(run.n_found, "pair")
    title = models.title_of(review, run)
    scope = models.scope_text(run.config)
    return f"{title}, seed {run.config.seed}: {found}, {wording.when(run.created)} · {scope}"


def _wait_for_pairs(run_id: str) -> None:
    """Look at a running search every second, and draw the page again once there is something to see."""
    run = session.refreshed(run_id)
    if run.n_found or not run.is_active:
        st.rerun()
    st.info("Nothing found yet; the search goes on, and pairs appear here as soon as there are any.")
    session.link_to(navigation.RUN, "Follow the run")


def say_nothing_found(run: RunRecord) -> None:
    """What to read from a search without pairs, and what to do next."""
    if run.is_active:
        frame.alone(_wait_for_pairs, run_every=1.0)(run.id)
        return
    from fairness_engine.intervals import share_interval

    if run.state.value in ("crashed", "failed"):
        st.error(wording.markdown(phrases.ending(run)), icon=":material/error:")
    else:
        st.info(wording.markdown(phrases.none_found(run, share_interval(0, run.n_tried)[1])))
    st.markdown("Try a larger budget, another technique, or other protected attributes.")
    session.link_to(navigation.PLAN, "Plan another search")
    session.link_to(navigation.SCOPE, "Change the scope")
