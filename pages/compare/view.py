"""What the Compare page shows of one comparison, while its runs work and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.runs.kinds import of_stored
from pages.compare import charts, table
from pages.compare import phrases as compare_words
from pages.shared import exports
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.runs import live, models, run_list
from pages.shared.runs import phrases as run_words
from pages.shared.runs.comparison_choice import Group, groups_of
from pages.shared.runs.figures import what_is_left

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.runs.comparison import Compared, Comparison
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.store import RunStore

_SLOT = "compare_reads"
Stand = tuple[str, int, int]


def stand_of(run: RunRecord) -> Stand:
    """Changes whenever a run has something new: it reports progress or ends."""
    return run.state.value, run.evaluations, run.n_found


class RememberedReads:
    """Progress and results of runs as the store gives them, each read once for every stand of its run.

    Dozens of runs with a thousand reports each take a second to read; while a comparison goes on, only the two or so at
    work have anything new.

    Args:
        store: where the runs are.
        runs: the runs of one comparison, as they stand; what was read of others is forgotten.
    """

    def __init__(self, store: RunStore, runs: Iterable[RunRecord]) -> None:
        self._store = store
        self._stands = {run.id: stand_of(run) for run in runs}
        held: dict[str, tuple[Stand, pd.DataFrame, dict[str, Any]]] = st.session_state.get(_SLOT, {})
        self._held = {run_id: read for run_id, read in held.items() if self._stands.get(run_id) == read[0]}
        st.session_state[_SLOT] = self._held

    def progress(self, run_id: str) -> pd.DataFrame:
        """As ``RunStore.progress``, without the phases."""
        return self._read(run_id)[1]

    def results(self, run_id: str) -> dict[str, Any]:
        """As ``RunStore.results``."""
        return self._read(run_id)[2]

    def _read(self, run_id: str) -> tuple[Stand, pd.DataFrame, dict[str, Any]]:
        if run_id not in self._held:
            progress = self._store.progress(run_id).drop(columns="phase")
            self._held[run_id] = (self._stands[run_id], progress, self._store.results(run_id))
        return self._held[run_id]


STYLE = f"""
<style>
.st-key-says p, .st-key-says_more p {{font-size: 1.06rem;}}
[class*="st-key-seed_runs"] [data-testid="stPageLink"] p {{font-size: 0.95rem;}}
{table.STYLE}
</style>
"""


def draw(review: Review, planned: Group, *, is_followed: bool) -> None:
    """Draw a comparison as it stands.

    Args:
        review: of the comparison.
        planned: its runs as they stood when the page was opened.
        is_followed: this is drawn again by itself; once all runs have ended, the page is rerun to end that.
    """
    store = session.store()
    group = _group_now(store, review, planned.name) if is_followed else planned
    if is_followed and not group.active:
        st.rerun()
    _standing(group)
    reads = RememberedReads(store, group.runs)
    comparison = _summary(reads, group)
    sentences = compare_words.conclusions(comparison)
    _say(sentences)
    _draw_curves(comparison, group.name, lambda: models.say_scope(group.runs[0], review))
    _say_more(comparison, sentences)
    _draw_table(comparison, group.name)
    _draw_problems(group)
    settings = {run.id: run.config for run in group.runs}
    for compared in comparison.techniques:
        whose = f"{compared.label}, with other settings than its own"
        models.say_settings(settings[compared.run_ids[0]], whose)
    _draw_notes(reads, comparison)
    _draw_runs(comparison, group)
    run_list.actions(review, list(group.runs), is_compared=True)


def _group_now(store: RunStore, review: Review, name: str) -> Group:
    """The runs as they stand, after noticing dead workers and starting what waits."""
    session.start_waiting()
    return next(group for group in groups_of(store.runs(review.id)) if group.name == name)


def _summary(reads: RememberedReads, group: Group) -> Comparison:
    """The comparison's figures, made again only when a run has something new."""
    from fairness_engine.runs.comparison import summarise

    stand = (group.name, *((run.id, stand_of(run)) for run in group.runs))
    return kept("comparison", stand, lambda: summarise(reads, group.runs))


# --- where it stands ----------------------------------------------------------------------------


def _standing(group: Group) -> None:
    if not group.active:
        return
    done = sum(what_is_left(run).done if run.is_active else 1.0 for run in group.runs) / len(group.runs)
    st.progress(min(1.0, done), text=compare_words.standing(group))
    live.stop_button(group.runs, "stop_all", "what was found", verb="Stop all and keep")


def _say(sentences: Sequence[str]) -> None:
    """The answer; what else there is to say stands under the curves."""
    if not sentences:
        st.caption("What the comparison shows is said here once a search beside the baselines has begun.")
        return
    with st.container(key="says"):
        st.markdown(f"**{wording.markdown(sentences[0])}**")


def _say_more(comparison: Comparison, sentences: Sequence[str]) -> None:
    if not sentences:
        return
    with st.container(border=True, key="says_more"):
        for sentence in sentences[1:]:
            st.markdown(wording.markdown(sentence))
        if unfinished := compare_words.unfinished(comparison):
            st.markdown(f":material/pending: {wording.markdown(unfinished)}")
        st.caption(compare_words.CAVEAT)


# --- figures ------------------------------------------------------------------------------------


def _draw_curves(comparison: Comparison, name: str, say_scope: Callable[[], None]) -> None:
    if not any(len(compared.by_evaluations.x) for compared in comparison.techniques):
        say_scope()
        return
    with st.container(horizontal=True, vertical_alignment="center", key="curve_options"):
        by = st.segmented_control(
            "Against",
            ["evaluations", "seconds"],
            default="evaluations",
            required=True,
            format_func=lambda axis: "Seconds" if axis == "seconds" else "Rows evaluated",
            key="compare_by",
            label_visibility="collapsed",
            persist_state="session",
        )
        is_log = st.toggle(
            "Logarithmic axes",
            key="compare_log",
            help="Each step along an axis is ten times as much: shows beginnings, and techniques far apart.",
            persist_state="session",
        )
        say_scope()
    key = (id(comparison), name, by, is_log, theme.is_dark())
    figure = kept("compare_figure", key, lambda: charts.found_curves(comparison.techniques, by, is_log=is_log))
    frame.chart_with_table(
        figure,
        lambda: charts.found_table(comparison.techniques, by),
        "compare_curves",
        _curve_note(comparison, by),
        said=next(iter(compare_words.conclusions(comparison)), ""),
    )


def _curve_note(comparison: Comparison, by: str) -> str:
    note = table.figure_note(comparison)
    if by != "seconds":
        return note
    return f"{note} Runs that work side by side slow one another down: seconds hold for this machine as it was."


def _draw_table(comparison: Comparison, name: str) -> None:
    st.html(kept("compare_table", (id(comparison), theme.is_dark()), lambda: table.html(comparison)))
    with st.expander("What the columns mean"):
        for column in table.columns_of(comparison):
            st.markdown(f"**{column.name}**: {wording.markdown(column.meaning)}")
    run_ids = [run_id for compared in comparison.techniques for run_id in compared.run_ids]
    with st.container(horizontal=True, key="compare_files"):
        for text, make, file in (
            ("Table as CSV", lambda: table.table_csv(comparison), "comparison"),
            ("Curves as CSV", lambda: table.curves_csv(comparison), "comparison-curves"),
        ):
            exports.offer_csv(text, make, f"evenhand-{file}-{name}", f"csv_{file}", run_ids=run_ids)


def _draw_problems(group: Group) -> None:
    """Runs that could not do their work, those with one reason in one line."""
    reasons: dict[str, list[RunRecord]] = {}
    for run in group.runs:
        if run.state.value in ("crashed", "failed"):
            reasons.setdefault(run_words.ending(run), []).append(run)
    for reason, runs in reasons.items():
        titles = wording.listed(list(dict.fromkeys(run_words.run_title(run.config) for run in runs)))
        text = f"{titles} ({wording.counted(len(runs), 'run')}): {reason}"
        st.error(wording.markdown(text), icon=":material/error:")


def _draw_notes(reads: RememberedReads, comparison: Comparison) -> None:
    """What runs said of the model before they began, once for all that said the same."""
    said: dict[str, list[str]] = {}
    for compared in comparison.techniques:  # the first run of each speaks for all seeds
        for note in of_stored(reads.results(compared.run_ids[0])).notes.notes:
            said.setdefault(note, []).append(compared.label)
    for note, labels in said.items():
        about = "" if len(labels) == len(comparison.techniques) else f"{wording.listed(labels)}: "
        st.caption(f":material/info: {wording.markdown(about + note)}")


# --- its runs -----------------------------------------------------------------------------------


def _draw_runs(comparison: Comparison, group: Group) -> None:
    """The runs behind one technique's line, each with its pairs."""
    techniques = {compared.run_ids[0]: compared for compared in comparison.techniques}
    if not techniques:
        return
    st.header("Behind the figures", anchor=False)
    chosen = st.pills(
        "Runs of",
        list(techniques),
        format_func=lambda run_id: techniques[run_id].label,
        key=f"runs_of_{group.name}",
        help="The runs of one technique, a seed each, with their pairs.",
    )
    if chosen is not None:
        _draw_seeds(techniques[chosen], group)


def _draw_seeds(compared: Compared, group: Group) -> None:
    runs = {run.id: run for run in group.runs}
    with st.container(border=True, key=f"seed_runs_{group.name}"):
        for run_id in compared.run_ids:
            run = runs[run_id]
            text, follow, pairs = st.columns([5, 2, 2], vertical_alignment="center")
            found = wording.counted(run.n_found, "pair")
            rows = wording.counted(run.evaluations, "row")
            text.markdown(f"Seed {run.config.seed} · {run_words.state_text(run)} · {found}, {rows} evaluated")
            with follow:
                _link(navigation.RUN, "The run", run_id)
            if run.n_found:
                with pairs:
                    _link(navigation.PAIRS, "Its pairs", run_id)


def _link(place: navigation.Place, text: str, run_id: str) -> None:
    session.page_link(place, text, session.address_of(run=run_id))
