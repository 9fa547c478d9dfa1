"""A certification at work: the shares shrinking and growing, boxes a second, time to go, stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.runs.kinds import Results
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import certification_charts, share_bar
from pages.shared.runs import certification_runs, phrases
from pages.shared.runs.certification_phrases import run_title
from pages.shared.runs.figures import what_is_left
from pages.shared.runs.live import stop_button, tiles
from pages.shared.runs.results import results_of

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord


def draw(run_id: str) -> None:
    """Draw a run as it stands; once it has ended, the page is drawn again with its result."""
    run = session.refreshed(run_id)
    if not run.is_active:
        st.rerun()
    st.markdown(f"**{wording.markdown(run_title(run.config))}** · {phrases.state_text(run)}")
    left = what_is_left(run)
    results = results_of(run)
    has_ended = results.certification is not None
    st.progress(1.0 if has_ended else left.done, text=wording.markdown(_doing(run, has_ended=has_ended)))
    stop_button([run], "stop_certifying", "what is proved")
    shares = certification_runs.shares_of(run)
    if shares is None:
        st.caption("The first shares appear as soon as proving begins; the time you gave it starts only then.")
        return
    st.html(share_bar.bar_html(shares))
    _tiles(run, has_ended=has_ended)
    draw_curve(run, results)


def _doing(run: RunRecord, *, has_ended: bool) -> str:
    """What a run is at: proving takes the time that was given to it, opening, sampling and storing come on top."""
    text = phrases.activity(run)
    if has_ended:
        return (
            f"Proving ended after {wording.duration(run.seconds)}: looking whether the counterexamples are plausible, "
            "and storing"
        )
    limit = run.config.budget.max_seconds
    if limit and run.seconds >= limit:
        return "Sampling what is undecided and storing the boxes"
    if limit and run.evaluations:
        text += f" · at most {wording.duration(max(0.0, limit - run.seconds))} to go"
    return text


def _tiles(run: RunRecord, *, has_ended: bool) -> None:
    limit = run.config.budget.max_seconds
    speed = wording.count(run.evaluations / run.seconds) if run.seconds > 0 else wording.DASH
    to_go = wording.duration(max(0.0, limit - run.seconds)) if limit and not has_ended else wording.DASH
    content = (
        ("Boxes a second", speed, wording.explain("box")),
        ("Boxes", wording.count(run.evaluations), "Boxes that were assessed so far."),
        ("Seconds", wording.number(round(run.seconds, 1)), "Time spent proving."),
        ("To go", to_go, "Of proving, at most; it ends sooner when everything is decided."),
    )
    tiles("certify_tiles", content)


def draw_curve(run: RunRecord, results: Results) -> None:
    """The anytime curve, on a linear or logarithmic axis of seconds."""
    trace = results.trace
    steps = {
        (certified, falsified): seconds
        for seconds, certified, falsified, *_ in reversed(trace)
        if certified + falsified > 0
    }
    if len(steps) < 2:
        at_once = [f"All that is proved was proved in one step, after {wording.duration(s)}." for s in steps.values()]
        st.caption("The curve appears with the next report." if run.is_active else " ".join(at_once))
        return
    place = st.container()
    is_log = st.toggle(
        "Logarithmic seconds",
        key="certify_log",
        help="Each step along the axis is ten times as long: shows how much is proved at once.",
        persist_state="session",
    )
    stand = (run.id, len(trace), trace[-1][0])
    key = (*stand, is_log, theme.is_dark())
    figure = kept("certify_curve", key, lambda: certification_charts.anytime_chart(trace, is_log=is_log))
    with place:
        frame.chart_with_table(figure, lambda: certification_charts.anytime_table(trace), "certify_anytime")
