"""Pairs of the two models after a retraining: cases that are fixed, and what a fresh search by another technique finds
in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.errors import EvenhandError, RunError
from fairness_engine.model_process.questions import WhyNotCertifiable
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs.kinds import FollowUpRuns, Results
from fairness_engine.runs.pair_fates import MAX_PAIRS, Fates, pair_fates
from pages.certification import comparison, tree
from pages.certification.partition_map import AreaOf, partition_map
from pages.certification.tree import ReadTree
from pages.retrain import phrases as retrain_words
from pages.retrain.phrases import AFTER, BEFORE
from pages.shared import tables
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept, shared
from pages.shared.charts import certification_charts
from pages.shared.members import controls
from pages.shared.pairs.table import DISTANCE, FOUND_AT, pair_frame
from pages.shared.people.decisions import decisions_of
from pages.shared.runs import certification_runs, models
from pages.shared.runs import phrases as run_words
from pages.shared.runs.certification_phrases import Shares
from pages.shared.runs.figures import success_rate

if TYPE_CHECKING:
    from fairness_engine.pairs import Pairs
    from fairness_engine.store.records import Review, RunRecord

KINDS = ("search", "certify", "rules")
SIDES = ("before", "after")
_WHAT = {"search": "A fresh search", "certify": "The certification", "rules": "The search for rule sets"}
_NEVER = {
    "search": "No fresh search was made of this retraining.",
    "certify": "Neither model was certified after this retraining.",
    "rules": "No rule sets were scored after this retraining.",
}


@dataclass(frozen=True)
class FollowUps:
    """What measures both models, of one kind.

    Args:
        kind: of ``KINDS``.
        runs: of the model before and of the one after; ``None`` where there is none.
        reason: why there is none; empty where there is, or where nobody says.
    """

    kind: str
    runs: tuple[RunRecord | None, RunRecord | None] = (None, None)
    reason: str = ""

    @property
    def both(self) -> tuple[RunRecord, RunRecord] | None:
        """Both runs once they have ended well enough to be compared; one that broke off says nothing of its model."""
        before, after = self.runs
        if before is None or after is None or self.is_at_work or self.broken:
            return None
        return before, after

    @property
    def broken(self) -> list[RunRecord]:
        """The runs that broke off."""
        return [run for run in self.runs if run is not None and run.state.value in ("failed", "crashed")]

    @property
    def is_at_work(self) -> bool:
        """Whether a run waits or works."""
        return any(run is not None and run.is_active for run in self.runs)


@dataclass(frozen=True)
class AllMeasured:
    """Everything that measures both models."""

    of_kind: Mapping[str, FollowUps] = field(default_factory=dict)

    @property
    def is_at_work(self) -> bool:
        """Whether anything is still being measured."""
        return any(each.is_at_work for each in self.of_kind.values())

    @property
    def stand(self) -> tuple[object, ...]:
        """Changes whenever a run does."""
        runs = [run for each in self.of_kind.values() for run in each.runs]
        return tuple(None if run is None else (run.id, run.state.value) for run in runs)


def measured_of(followed: FollowUpRuns | None) -> AllMeasured:
    """The runs that a retraining's result names, as they stand now.

    Args:
        followed: as the result says.
    """
    followed = followed or FollowUpRuns()
    return AllMeasured(
        {
            kind: FollowUps(
                kind,
                (_run(followed.before.get(kind)), _run(followed.after.get(kind))),
                followed.reasons.get(kind, ""),
            )
            for kind in KINDS
        }
    )


def _run(run_id: str | None) -> RunRecord | None:
    if not run_id:
        return None
    review = session.current_review()
    known = next((run for run in session.runs(review.id) if run.id == run_id), None) if review is not None else None
    if known is not None and not known.is_active:
        return known

    try:
        return session.refreshed(run_id)
    except RunError:
        return None


def offer(run: RunRecord, followed: FollowUpRuns | None, measured: AllMeasured) -> None:
    """A button that starts the runs that measure, where a retraining ended without them, or some broke off."""
    if followed is None:
        text = (
            "Both models were not measured by another technique yet: neither searched anew, nor certified, nor looked "
            "at for groups."
        )
        st.info(text, icon=":material/science:")
        _start_button(run, "Measure both models")
    elif any(each.broken for each in measured.of_kind.values()) and not measured.is_at_work:
        _start_button(run, "Measure again what broke off")


def _start_button(run: RunRecord, label: str) -> None:
    if not controls.button(label, key="retrain_measure", icon=":material/play_arrow:"):
        return
    from fairness_engine.runs.follow_ups import start_measuring

    with st.spinner("Asking both models what can be measured …"):
        started = start_measuring(session.store(), run.id, lambda config: session.ask(config, WhyNotCertifiable()))
    if started is None:
        st.warning("This retraining asked for no measuring afterwards. Retrain again with it.")
        return
    session.start_waiting()
    st.rerun()


def say_missing(measured: FollowUps) -> None:
    """Why there is nothing to compare: it is being measured, is not possible, or broke off."""
    if measured.is_at_work:
        st.info(wording.markdown(working_text(measured)), icon=":material/hourglass_top:")
        return
    if measured.reason:
        st.caption(wording.markdown(measured.reason))
    elif measured.broken:
        why = run_words.ending(measured.broken[0])
        st.warning(wording.markdown(f"{_WHAT[measured.kind]} broke off: {why}"), icon=":material/error:")
    else:
        st.caption(_NEVER[measured.kind])


def working_text(measured: FollowUps) -> str:
    """How far both runs are."""
    parts = []
    for run, meaning in zip(measured.runs, (theme.BEFORE, theme.AFTER), strict=True):
        if run is None:
            parts.append(f"{meaning.symbol} {meaning.name}: about to start")
        else:
            # without its symbol: that of a run at work means "after" here
            standing = run_words.state_text(run).partition(" ")[2]
            doing = f", {run_words.activity(run).lower()}" if run.state.value == "running" else ""
            parts.append(f"{meaning.symbol} {meaning.name}: {standing.lower()}{doing}")
    return f"{_WHAT[measured.kind]} of both models is being made: {'; '.join(parts)}. This page fills in by itself."


TITLE = "What is proved, before and after"
_MAP_PIXELS = 380
_NAMES = (BEFORE, AFTER)
_AREAS = {AreaOf.DOMAIN: "Size of domain", AreaOf.PEOPLE: "The data's people"}


def draw_maps(measured: FollowUps) -> None:
    """Shares of both certifications and their maps.

    Args:
        measured: the certifications of both models.
    """
    st.header(TITLE, anchor=False)
    if measured.both is None:
        say_missing(measured)
        return
    runs = measured.both
    shares = [certification_runs.shares_of(run) for run in runs]
    if shares[0] is None or shares[1] is None:
        st.caption("One of the two certifications proved nothing before it ended.")
        return
    first = shares[0]
    second = shares[1]
    rows: dict[str, Shares] = dict(zip(_NAMES, (first, second), strict=True))
    key = (runs[0].id, runs[1].id, theme.is_dark())
    figure = kept(
        "retrain_shares", key, lambda: certification_charts.shares_chart(rows, "Certified, undecided, falsified")
    )
    frame.chart(figure, "retrain_proved", said=certification_charts.shares_text(rows))
    tables.show(comparison.difference_table(first, second), key="retrain_proved_table")
    seconds = runs[0].config.budget.max_seconds
    limit = f", {wording.number(seconds)} s each" if seconds else ""
    st.caption(
        f"Two certifications with equal settings{limit}. Undecided is no pass: a model that is harder to prove has "
        "more of it."
    )
    frame.alone(_draw_maps)(measured)
    _links(measured)


def _draw_maps(measured: FollowUps) -> None:
    """Both maps; a click in one leaves the rest of the page alone."""
    assert measured.both is not None, "drawn with both"
    trees = [tree.load(session.store(), run) for run in measured.both]
    if not all(trees):
        return
    area = st.segmented_control(
        "Areas by",
        list(_AREAS),
        default=AreaOf.DOMAIN,
        required=True,
        format_func=_AREAS.__getitem__,
        key=f"retrain_areas_{measured.both[0].id}",
        help=wording.explain("box"),
    )
    with frame.wrapping("retrain_maps", is_wide=True):
        places = st.columns(2)
    for place, name, read, meaning in zip(places, _NAMES, trees, (theme.BEFORE, theme.AFTER), strict=True):
        with place:
            st.html(
                f'<div style="border-left:5px solid {meaning.colour};padding:0.1rem '
                f'0.7rem;font-weight:600">{name}</div>'
            )
            _map(read, AreaOf(area))


def _map(read: ReadTree | None, area: AreaOf) -> None:
    """One map, and the chosen box in words."""
    if read is None:
        return
    slot = f"retrain_box_{read.run_id}"
    picked = partition_map(
        read.tree,
        read.columns,
        weight=area,
        selected=st.session_state.get(slot),
        height=_MAP_PIXELS,
        key=f"retrain_map_{read.run_id}",
    )
    st.session_state[slot] = picked
    if picked:
        st.caption(wording.markdown(f"{read.marks(picked)} {read.words(picked)}"))


def _links(measured: FollowUps) -> None:
    """To the boxes themselves, one by one, and as tables."""
    assert measured.both is not None, "drawn with both"
    before, after = measured.both
    with st.container(horizontal=True, key="retrain_map_links"):
        for run, name in zip((before, after), ("before", "after"), strict=True):
            session.page_link(
                navigation.CERTIFY, f"Boxes and table of the model {name}", session.address_of(run=run.id)
            )
        query = session.address_of(run=after.id) | {"with": before.id}
        session.page_link(navigation.CERTIFY, "Both over time", query)


_MAX_LISTED = 200
_TABLE_HEIGHT = 320

FIXED = theme.Meaning("fixed", "✔", "#00805D", "#3CC79C")
STILL = theme.Meaning("still there", "●", "#5F666F", "#A7ADB5")
NEW = theme.Meaning("new", "✚", "#B84A00", "#FF8A4C")


def draw_pairs(review: Review, results: Results, measured: FollowUps) -> None:
    """The cases, and the fresh pairs of both models.

    Args:
        review: the open one.
        results: of the retraining.
        measured: the fresh searches.
    """
    st.header("Pairs: fixed, new, still there", anchor=False)
    cases = retrain_words.cases_text(results.changes)
    if cases:
        st.markdown(wording.markdown(cases))
    if measured.both is None:
        say_missing(measured)
        return
    before, after = measured.both
    used = results.retrained.technique if results.retrained else ""
    st.markdown(wording.markdown(search_text(used, before)))
    tables.show(searches_table(before, after), key="retrain_searches")
    st.caption(
        "A search goes where it finds pairs, so it may find as many in a model that discriminates far less: these "
        "counts are no shares of people. "
        "How much less it is, the part “Figures” says; which pairs are gone, the counts below."
    )
    if not before.n_found and not after.n_found:
        extents = {before.extent, after.extent}
        extent = extents.pop() if len(extents) == 1 else "before one search was stopped"
        st.info(f"None found in either model {extent}. This does not show that there are none.")
        return
    frame.alone(_draw_fates)(models.as_of(review, before), before, after)


def search_text(used: str, before: RunRecord) -> str:
    """By what the pairs were found, and whether it is another technique than made the cases.

    Args:
        used: the technique that found the cases; empty where the strategy needs none.
        before: the fresh search of the model before.
    """
    name = run_words.run_title(before.config)
    other = ", another technique than the one that found the cases," if used and used != before.config.technique else ""
    return (
        f"Both models were searched anew by {name}{other} with the same settings and the fresh seed "
        f"{before.config.seed}."
    )


def searches_table(before: RunRecord, after: RunRecord) -> pd.DataFrame:
    """Both searches, one line each."""
    runs = {theme.BEFORE: before, theme.AFTER: after}
    return pd.DataFrame(
        {
            "Model": [f"{meaning.symbol} {meaning.name.capitalize()}" for meaning in runs],
            "Pairs found": [wording.count(run.n_found) for run in runs.values()],
            "Individuals tried": [wording.count(run.n_tried) for run in runs.values()],
            "Found of those tried": [success_rate(run) for run in runs.values()],
            "Rows evaluated": [wording.count(run.evaluations) for run in runs.values()],
            "Took": [wording.duration(run.seconds) for run in runs.values()],
            "State": [run_words.state_text(run) for run in runs.values()],
        }
    )


# --- replayed -----------------------------------------------------------------------------------


def _draw_fates(review: Review, before: RunRecord, after: RunRecord) -> None:
    """The pairs by what became of them; both models are asked once."""
    try:
        with st.spinner("Asking each model about the other one's pairs …"):
            fates = _fates(before.id, after.id)
    except EvenhandError as error:
        frame.say(error)
        return
    st.html(fates_html(fates))
    if max(before.n_found, after.n_found) > MAX_PAIRS:
        st.caption(f"Of each search, the first {wording.count(MAX_PAIRS)} pairs were put to the other model.")
    _draw_lists(review, (before, after), fates)


@shared
def _fates(before_id: str, after_id: str) -> Fates:
    return pair_fates(session.store(), session.evaluator(), before_id, after_id)


@shared
def _pairs_of(run_id: str) -> Pairs:
    """The pairs of a run that were put to the other model."""
    return session.store().pairs(run_id, limit=MAX_PAIRS)


def fates_html(fates: Fates) -> str:
    """The three counts, each under its symbol; everything is our own text."""
    cards = (
        (FIXED, fates.n_fixed, fates.n_before, "found before; the new model decides these people alike"),
        (STILL, fates.n_still, fates.n_before, "found before; the new model still discriminates"),
        (NEW, fates.n_new, fates.n_after, "found in the new model; the model before decided these people alike"),
    )
    parts = "".join(
        f'<div style="flex:1 1 15rem;border-left:5px solid {meaning.colour};padding:0.2rem 0.9rem">'
        f'<div style="color:{meaning.colour};font-weight:650">{meaning.symbol} {meaning.name.capitalize()}</div>'
        f'<div style="font-size:1.5rem;font-weight:600">{wording.count(n)}<span '
        'style="font-size:1rem;font-weight:400"> '
        f"of {wording.count(n_all)}{f' ({wording.share(n / n_all)})' if n_all else ''}</span></div>"
        f'<div style="opacity:0.85;font-size:0.92rem">{text}</div></div>'
        for meaning, n, n_all, text in cards
    )
    return f'<div style="display:flex;gap:1rem;flex-wrap:wrap;margin:0.3rem 0">{parts}</div>'


def _draw_lists(review: Review, runs: tuple[RunRecord, RunRecord], fates: Fates) -> None:
    """One of the lists at a time, and the way to the Pairs page."""
    lists = {
        FIXED.name: (FIXED, 0, np.flatnonzero(~fates.is_still)),
        STILL.name: (STILL, 0, np.flatnonzero(fates.is_still)),
        NEW.name: (NEW, 1, np.flatnonzero(fates.is_new)),
    }
    filled = [name for name, (_, _, positions) in lists.items() if len(positions)]
    if not filled:
        return
    chosen = st.segmented_control(
        "List",
        filled,
        default=filled[-1],
        required=True,
        format_func=lambda name: f"{lists[name][0].symbol} {name.capitalize()} ({wording.count(len(lists[name][2]))})",
        key=f"retrain_fate_{runs[0].id}",
    )
    _, side, positions = lists[str(chosen)]
    shown = positions[:_MAX_LISTED]
    domain = Domain(runs[side].config.schema, runs[side].config.scope)
    table = pair_frame(domain, _pairs_of(runs[side].id), decisions_of(review), shown)
    row = tables.clicked_row(
        table.drop(columns=[DISTANCE, FOUND_AT]),
        f"retrain_fate_table_{runs[side].id}_{chosen}",
        height=tables.height(len(shown), _TABLE_HEIGHT),
    )
    with st.container(horizontal=True, vertical_alignment="center", key="retrain_fate_links"):
        if row is not None:
            number = int(shown[row]) + 1
            query = session.address_of(run=runs[side].id) | {"pair": str(number)}
            label = f"Open pair {wording.count(number)} as a card"
        else:
            query = session.address_of(run=runs[side].id)
            label = f"All pairs of the model {'after' if side else 'before'}"
        session.page_link(navigation.PAIRS, label, query)
        text = "Select a line to open its card."
        if len(positions) > len(shown):
            text += f" The first {wording.count(len(shown))} are listed."
        st.caption(text)
