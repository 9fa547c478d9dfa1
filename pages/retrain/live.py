"""Retrainings at work: phase, time left, rounds as they come, loss by epoch, stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from fairness_engine.runs.kinds import RETRAIN
from pages.retrain import phrases as retrain_texts
from pages.retrain import rounds
from pages.retrain.rounds import Rounds
from pages.shared import tables
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.runs import of_kind
from pages.shared.runs import phrases as run_words
from pages.shared.runs.figures import what_is_left
from pages.shared.runs.live import stop_button
from pages.shared.runs.results import results_of
from pages.shared.runs.run_list import Listing

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord
_TOGETHER = "Side by side"
ALONE = "alone"
"""In the address: the retraining that it names is shown in full, not side by side with those of its comparison."""
_PREFIX = "Retraining: "
"""Of every name; beside one another it says nothing."""


def retrainings(review: Review) -> list[RunRecord]:
    """The retrainings of a review, the newest first."""
    return of_kind.runs_of(review, RETRAIN)


def together_with(run: RunRecord, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """A run and those that were started with it to be compared, in the order of the form."""
    name = run.config.comparison
    group = [run] if name is None else [other for other in runs if other.config.comparison == name]
    return sorted(group, key=lambda one: one.created)


def shown(review: Review, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The retrainings that the page is about: of the address, else the newest; empty without any."""
    run = of_kind.shown(review, runs)
    if run is None:
        return []
    if st.query_params.get("run") != run.id:
        session.set_run(run.id)
    return together_with(run, runs)


def choose_of(group: Sequence[RunRecord]) -> RunRecord | None:
    """The one of several ended retrainings that the address names to be shown in full; ``None`` for all side by side.
    A single one is chosen.
    """
    if len(group) == 1:
        return group[0]
    by_id = {run.id: run for run in group}
    names = dict(zip(by_id, titles_of(group), strict=True))
    asked = by_id.get(st.query_params.get("run", "")) if ALONE in st.query_params else None
    key = f"retrain_shown_{group[0].id}"

    def take() -> None:
        chosen = st.session_state[key]
        show_alone(chosen if chosen in by_id else None)

    st.session_state[key] = _TOGETHER if asked is None else asked.id
    st.segmented_control(
        "Show",
        [_TOGETHER, *names],
        format_func=lambda which: names.get(which, which).removeprefix(_PREFIX),
        required=True,
        key=key,
        on_change=take,
        label_visibility="collapsed",
    )
    return asked


def show_alone(run_id: str | None) -> None:
    """Have the address name one of several retrainings to be shown in full; with ``None`` all are side by side."""
    if run_id is None:
        st.query_params.pop(ALONE, None)
        return
    session.set_run(run_id)
    st.query_params[ALONE] = "yes"


def titles_of(group: Sequence[RunRecord]) -> list[str]:
    """What several retrainings are called beside one another."""
    return run_words.distinct_titles([run.config for run in group])


RETRAININGS = Listing(
    "retrainings",
    "Retrainings of this review",
    "Retraining",
    lambda runs: {
        "Rounds": [wording.count(run.n_tried) if run.n_tried else wording.DASH for run in runs],
        "Within the tolerance": [wording.count(run.n_found) if run.n_tried else wording.DASH for run in runs],
    },
)


_IN_ROUNDS = ("round", "search")
"""How phases begin that the limit of seconds is about; measuring comes before and after."""
_BEST = "Of the best model within the tolerance so far."
_NOT_YET = "The first round appears once the model as it is was measured and a new one was trained."


def draw(run_ids: Sequence[str]) -> None:
    """Draw retrainings as they stand; once all have ended, the page is drawn again with their result."""
    session.start_waiting()
    runs = [session.refreshed(run_id) for run_id in run_ids]
    if not any(run.is_active for run in runs):
        st.rerun()
    names = titles_of(runs)
    if len(runs) == 1:
        _standing(runs[0], names[0])
    else:
        _standing_of_several(runs, names)
    stop_button(
        runs,
        "retrain_stop",
        "the best so far",
        "Ends at the next step. The original stays, and so does the best model within the tolerance, if there is one.",
    )
    told = [_rounds_of(run, name) for run, name in zip(runs, names, strict=True)]
    draw_rounds(told, tuple((run.id, run.state.value, run.seconds, run.n_tried) for run in runs))


def _rounds_of(run: RunRecord, name: str) -> Rounds:
    return Rounds.of(name, results_of(run).training, RETRAIN.settings(run.config), retrain_texts.rounds_of(run.config))


# --- where it stands ----------------------------------------------------------------------------


def _standing(run: RunRecord, name: str) -> None:
    st.markdown(f"**{wording.markdown(name)}** · {run_words.state_text(run)} · seed {run.config.seed}")
    left = what_is_left(run)
    st.progress(left.done, text=wording.markdown(_doing(run)))


def _doing(run: RunRecord) -> str:
    """What a run does, and how long at most."""
    text = wording.spaced(run_words.activity(run))
    limit = run.config.budget.max_seconds
    if not limit or not run.phase.startswith(_IN_ROUNDS):
        return text
    left = limit - run.seconds
    if left <= 0:
        return f"{text} · the time for rounds is up, measuring is left"
    return f"{text} · at most {wording.duration(left)} for rounds"


def _standing_of_several(runs: Sequence[RunRecord], names: Sequence[str]) -> None:
    n_ended = sum(not run.is_active for run in runs)
    done = sum(what_is_left(run).done if run.is_active else 1.0 for run in runs) / len(runs)
    st.progress(min(1.0, done), text=f"{n_ended} of {len(runs)} strategies have ended")
    tables.show(
        standing_table(runs, names),
        key="retrain_standing",
        column_config={
            "Best: accuracy": st.column_config.TextColumn(help=f"{_BEST} On the rows that choose among models."),
            "Best: discriminatory": st.column_config.TextColumn(help=f"{_BEST} Share of the data's people."),
        },
    )
    for run, name in zip(runs, names, strict=True):
        if run.state.value in ("crashed", "failed"):
            st.error(wording.markdown(f"{name}: {run_words.ending(run)}"), icon=":material/error:")


def standing_table(runs: Sequence[RunRecord], names: Sequence[str]) -> pd.DataFrame:
    """One line a run: what it does, and how far its best model is."""
    lines = []
    for run, name in zip(runs, names, strict=True):
        told = _rounds_of(run, name)
        best = None if told.best is None else told.rounds[told.best]
        lines.append(
            {
                "Strategy": name.removeprefix(rounds.PREFIX),
                "State": run_words.state_text(run),
                "Rounds": wording.count(told.n_rounds),
                "Best: accuracy": wording.DASH if best is None else wording.share(best.accuracy),
                "Best: discriminatory": wording.DASH if best is None else wording.share(best.data),
                "Doing": _doing(run) if run.is_active else wording.DASH,
            }
        )
    return pd.DataFrame(lines)


# --- rounds and epochs --------------------------------------------------------------------------


def draw_rounds(told: Sequence[Rounds], stand: tuple[object, ...], key: str = "retrain_rounds") -> None:
    """The rounds of one retraining or of several as a chart and a table, and the epochs of a network.

    Args:
        told: what each has told so far.
        stand: changes whenever that does.
        key: unique on the page.
    """
    if not any(run.rounds for run in told):
        st.caption(_NOT_YET)
    else:
        _draw_chart(told, stand, key)
    networks = [run for run in told if rounds.has_epochs(run)]
    if networks:
        _draw_epochs(networks, stand, key)


def _draw_chart(told: Sequence[Rounds], stand: tuple[object, ...], key: str) -> None:
    of = st.segmented_control(
        "Discriminatory share of",
        list(told[0].shares),
        default="data",
        required=True,
        format_func=told[0].shares.__getitem__,
        key=f"{key}_of",
        persist_state="session",
    )
    figure = kept(f"{key}_chart", (stand, of, theme.is_dark()), lambda: rounds.rounds_chart(told, str(of)))
    note = (
        "Further left discriminates less, further up is more accurate; an open mark is beyond the tolerance. Measured "
        "on the rows that choose among models: the result is measured on others. " + rounds.LEFT_HELP
    )
    if len(told) > 1:
        frame.chart_with_table(figure, lambda: rounds.rounds_chart_table(told), key, note)
        return
    frame.chart(figure, key, note)
    tables.show(rounds.rounds_chart_table(told), key=f"{key}_lines")


def _draw_epochs(networks: Sequence[Rounds], stand: tuple[object, ...], key: str) -> None:
    run = networks[0]
    if len(networks) > 1:
        names = [one.name for one in networks]
        chosen = st.selectbox("Epochs of", names, key=f"{key}_epochs_of", width=420)
        run = networks[names.index(str(chosen))]
    same = (stand, run.name, theme.is_dark())
    loss = kept(f"{key}_loss", same, lambda: rounds.epochs_chart(run, "loss"))
    accuracy = kept(f"{key}_accuracy", same, lambda: rounds.epochs_chart(run, "accuracy"))
    with frame.wrapping(f"{key}_epochs", is_wide=True):
        left, right = st.columns(2)
    with left:
        frame.chart(loss, f"{key}_loss")
    with right:
        frame.chart(accuracy, f"{key}_accuracy")
    with st.expander("The epochs as a table"):
        tables.show(rounds.epochs_table(run), key=f"{key}_epoch_table")
