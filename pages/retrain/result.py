"""What a retraining came to: the verdict in words, then both models side by side on the same axes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.retraining.results import Measured
from fairness_engine.runs.kinds import RETRAIN, Results
from fairness_engine.store.records import VersionState
from pages.retrain import charts, follow_ups, groups, live, phrases, rules, versions
from pages.retrain.phrases import Headline
from pages.retrain.rounds import Rounds
from pages.shared import tables
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.runs import models
from pages.shared.runs import phrases as run_words
from pages.shared.runs.results import results_now

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

STYLE = """
<style>
.eh-verdict-card {border-left: 6px solid; padding: 0.4rem 1.1rem; margin: 0.2rem 0 0.4rem 0}
.eh-verdict-card .eh-title {font-size: 1.5rem; font-weight: 650; line-height: 1.3}
.eh-verdict-card .eh-why {font-size: 1.08rem; line-height: 1.5; max-width: 62rem}
.eh-verdict-card ul {margin: 0.4rem 0 0 0; padding-left: 1.2rem; opacity: 0.88}
</style>
"""
_UNIT = re.compile(r"(?<=\d) %")
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
PART = "part"
"""The key of the parts of a result, and their name in the address."""
_LOOK_SECONDS = 2.0
"""How often the page looks whether the runs that measure are ready."""


def draw(review: Review, run: RunRecord) -> None:
    """One retraining that ended, whichever way.

    Args:
        review: the open one.
        run: the retraining.
    """
    store = session.store()
    results = results_now(run.id)
    version = store.version(run.id)
    _standing(review, run)
    retrained = results.retrained
    said = phrases.headline(run, results, version)
    if run.state.value in ("crashed", "failed") and said.meaning is not phrases.BROKEN:
        st.error(wording.markdown(run_words.ending(run)), icon=":material/error:")
    if retrained is not None and retrained.chance:
        st.warning(wording.markdown(retrained.chance), icon=":material/casino:")
    st.html(STYLE + headline_html(said))
    if version is not None and version.state is VersionState.NEW:
        st.markdown(f"Read what it came to, then [keep or discard the new model](#{versions.ANCHOR}), at the end.")
    measured = follow_ups.measured_of(results.measured)
    if results.after is not None:
        if measured.is_at_work:  # look every few seconds how they stand, and draw the page again when one has moved on
            frame.alone(_look, run_every=_LOOK_SECONDS)(run.id, measured.stand)
        if version is not None:
            follow_ups.offer(run, results.measured, measured)
    parts = _parts(review, run, results, measured)
    places = st.tabs(list(parts), key=PART, on_change="rerun", bind="query-params") if parts else ()
    for place, draw_part in zip(places, parts.values(), strict=True):
        if place.open:
            with place:
                draw_part()
    for note in (*(phrases.notes(retrained) if retrained else ()), *results.notes.notes):
        st.info(wording.markdown(note), icon=":material/info:")
    if retrained is not None:
        st.caption(wording.markdown(phrases.done_text(run, retrained)))
    versions.ask_to_keep(review, run, results.card, version)


def _parts(
    review: Review, run: RunRecord, results: Results, measured: follow_ups.AllMeasured
) -> dict[str, Callable[[], None]]:
    """The parts of a result by name, and what draws each; only the open one is drawn."""
    parts: dict[str, Callable[[], None]] = {}
    if results.before is not None:
        parts["Figures"] = lambda: _draw_numbers(run, results)
    if results.after is not None:
        if results.changes is not None and results.changes.groups:
            parts["Groups"] = lambda: groups.draw(run, results.changes)
        if not run.config.text_column:
            parts["Pairs"] = lambda: follow_ups.draw_pairs(review, results, measured.of_kind["search"])
            parts["Proofs"] = lambda: follow_ups.draw_maps(measured.of_kind["certify"])
        parts["Rule sets"] = lambda: rules.draw(run, results.worst_rule_set, measured.of_kind["rules"])
    told = Rounds.of(
        run_words.run_title(run.config),
        results.training,
        RETRAIN.settings(run.config),
        phrases.rounds_of(run.config),
    )
    if told.rounds:
        parts["Rounds"] = lambda: _draw_rounds(run, told)
    return parts


def _look(run_id: str, stand: tuple[object, ...]) -> None:
    if follow_ups.measured_of(results_now(run_id).measured).stand != stand:
        st.rerun()


def _standing(review: Review, run: RunRecord) -> None:
    title = f"**{wording.markdown(run_words.run_title(run.config))}**{models.standing_html(review, run)}"
    stand = f"{run_words.state_text(run)} · {wording.when(run.created)} · seed {run.config.seed}"
    with st.container(horizontal=True, vertical_alignment="center", key="standing"):
        st.markdown(f"{title} · {stand}", width="content")
        models.say_scope(run)


def headline_html(said: Headline) -> str:
    """The verdict: symbol, title, why, what to do next; everything escaped."""
    advice = "".join(f"<li>{wording.escaped(text)}</li>" for text in said.advice)
    return (
        f'<div class="eh-verdict-card" style="border-color:{said.meaning.colour}">'
        f'<div class="eh-title"><span style="color:{said.meaning.colour}">{said.meaning.symbol}</span> '
        f"{wording.escaped(said.title)}</div>"
        f'<div class="eh-why">{_plain(said.why)}</div>{f"<ul>{advice}</ul>" if advice else ""}</div>'
    )


def _plain(text: str) -> str:
    """A text of the engine, escaped: numbers do not break from their unit, and have a real minus sign."""
    return wording.escaped(_MINUS.sub("\N{MINUS SIGN}", _UNIT.sub("\N{NO-BREAK SPACE}%", wording.spaced(text))))


# --- numbers ------------------------------------------------------------------------------------


def _draw_numbers(run: RunRecord, results: Results) -> None:
    """Quality and discriminatory shares of both models on the same axes."""
    assert results.before is not None, "drawn with it"
    names = phrases.shares_of(run.config)
    is_of_texts = bool(run.config.text_column)
    quality = phrases.quality_lines(results)
    shares = phrases.share_lines(results, names)
    st.header("Before and after" if results.after else "The model as it is", anchor=False)
    key = (run.id, results.after is not None, theme.is_dark())
    left_title = "How often it is right"
    right_title = "How often it discriminates"
    left_figure = kept(
        "retrain_quality",
        key,
        lambda: charts.dumbbells(quality, left_title, "Accuracy and F1 in %, AUC × 100"),
    )
    right_figure = kept(
        "retrain_discrimination",
        key,
        lambda: charts.dumbbells(shares, right_title, "Discriminatory, %", is_from_zero=True),
    )
    with frame.wrapping("retrain_numbers", is_wide=True):
        left, right = st.columns(2)
    with left:
        frame.chart(left_figure, "retrain_quality_chart", said=phrases.lines_text(quality))
    with right:
        if shares:
            frame.chart(right_figure, "retrain_discrimination_chart", said=phrases.lines_text(shares))
        else:
            st.caption(f"{right_title}: there was nothing to measure it on.")
    tables.show(
        phrases.table([*quality, *phrases.named_shares(shares)], "Figure"),
        key="retrain_numbers_table",
        column_config=phrases.column_helps(phrases.HELP if is_of_texts else ""),
    )
    note = texts_note if is_of_texts else numbers_note
    st.caption(wording.markdown(note(results.before, results)))


def numbers_note(before: Measured, results: Results) -> str:
    """What the figures are of, how many rows and draws."""
    text = (
        f"{_how(results)} {wording.counted(before.quality.n, 'held-out row')}, {wording.count(before.data.n)} of them "
        f"in the scope; {wording.counted(before.uniform.n, 'individual')} drawn uniformly from the domain."
    )
    if results.changes is not None:
        paired = results.changes.data
        text += (
            f" Of the held-out people, {wording.count(paired.n_lost)} ceased to be discriminated against and "
            f"{wording.count(paired.n_gained)} began to be. Changes are paired: the same people, asked twice."
        )
    return text


def _how(results: Results) -> str:
    return phrases.HOW_MEASURED if results.after else phrases.HOW_MEASURED_ALONE


def texts_note(before: Measured, results: Results) -> str:
    """The same of texts: how many, and how many swaps."""
    return (
        f"{_how(results)} {wording.counted(before.quality.n, 'held-out text')}, {wording.count(before.data.n)} with "
        f"a term looked at with every other term of its category; {wording.counted(before.uniform.n, 'swap')} of "
        "one term for another drawn at random in them."
    )


# --- rounds -------------------------------------------------------------------------------------


def _draw_rounds(run: RunRecord, told: Rounds) -> None:
    """How the search for the model went."""
    label = f"How the search for the model went: {wording.counted(told.n_rounds, 'round')}"
    if told.n_rounds < len(told.rounds):
        label += " and a control"
    st.header(label, anchor=False)
    frame.alone(live.draw_rounds)([told], (run.id, run.seconds), "retrain_way")
