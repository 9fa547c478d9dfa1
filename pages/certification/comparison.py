"""Two certifications side by side: before and after, or two models. Differences in settings are said first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from fairness_engine.errors import RunError
from fairness_engine.runs.kinds import CERTIFY
from pages.shared import tables
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import certification_charts
from pages.shared.runs import certification_phrases, certification_runs, models
from pages.shared.runs.certification_phrases import Shares
from pages.shared.runs.results import results_of

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.store import RunStore

_PARAMETER = "with"
_LEAST_POINTS = 1e-4
_ROUNDING = 1e-6
_SHARES = ("certified", "falsified", "undecided")


def draw(review: Review, run: RunRecord, runs: Sequence[RunRecord]) -> None:
    """Choose another certification and draw the two side by side.

    Args:
        review: the open one.
        run: the certification that is shown.
        runs: all certifications of the review.
    """
    store = session.store()
    st.header("Compare with another certification", anchor=False)
    others = _offered(store, review, run, runs)
    if not others:
        st.caption(
            "There is no other one yet. Certify again with other settings, or certify the same data with another model."
        )
        return
    other = _choose(store, review, run, others)
    if other is None:
        return
    first, second = sorted((run, other), key=lambda each: each.created)
    if st.toggle("Swap before and after", key=f"swap_{run.id}_{other.id}"):
        first, second = second, first
    _draw_pair(store, review, first, second)


def _offered(store: RunStore, review: Review, run: RunRecord, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The certifications to choose from: of this review, where wanted of others, and the one that the address names."""
    others = [each for each in runs if _is_comparable(each, run)]
    if st.toggle(
        "From other reviews too",
        key="certify_foreign",
        help="For another model, or other data.",
        persist_state="session",
    ):
        others += _foreign(store, review, run)
    asked = st.query_params.get(_PARAMETER)
    if asked and asked not in {each.id for each in others}:
        others += _asked(store, run, asked)
    return others


def _is_comparable(other: RunRecord, run: RunRecord) -> bool:
    """Whether it is another certification that ended with something proved."""
    return CERTIFY.has(other.config) and other.id != run.id and bool(other.evaluations) and not other.is_active


def _foreign(store: RunStore, review: Review, run: RunRecord) -> list[RunRecord]:
    """Certifications of the reader's other reviews."""
    held = {each.id for each in store.reviews(session.owner())} if session.lists_reviews() else set()
    return [each for each in store.runs() if each.review_id in held - {review.id} and _is_comparable(each, run)]


def _asked(store: RunStore, run: RunRecord, run_id: str) -> list[RunRecord]:
    """The one that the address names, of whatever review: who has its link may see it."""
    try:
        other = store.run(run_id)
    except RunError:
        return []
    return [other] if _is_comparable(other, run) else []


def _choose(store: RunStore, review: Review, run: RunRecord, others: list[RunRecord]) -> RunRecord | None:
    ids = [other.id for other in others]
    asked = st.query_params.get(_PARAMETER)
    at = st.selectbox(
        "Other certification",
        range(len(others)),
        ids.index(asked) if asked in ids else None,
        format_func=lambda i: _label(store, review, others[i]),
        key=f"certify_with_{run.id}_{len(others)}",
        placeholder="choose one of this review, or of another for another model",
        label_visibility="collapsed",
    )
    if at is None:
        if _PARAMETER in st.query_params:
            del st.query_params[_PARAMETER]
        return None
    st.query_params[_PARAMETER] = ids[at]
    return others[at]


def _label(store: RunStore, review: Review, run: RunRecord) -> str:
    text = (
        f"{certification_phrases.run_label(run, certification_runs.shares_of(run))} · {models.scope_text(run.config)}"
    )
    return text if run.review_id == review.id else f"{_review_name(store, run)}: {text}"


def _review_name(store: RunStore, run: RunRecord) -> str:
    try:
        return store.review(str(run.review_id)).name
    except RunError:
        return "a deleted review"


def _draw_pair(store: RunStore, review: Review, first: RunRecord, second: RunRecord) -> None:
    pair = (first, second)
    shares = [certification_runs.shares_of(run) for run in pair]
    if shares[0] is None or shares[1] is None:
        st.info("One of the two proved nothing before it ended. Choose another one, or certify again.")
        return
    differing = differences(first, second)
    if differing:
        st.warning(wording.markdown(settings_note(differing)), icon=":material/compare_arrows:")
    names = [f"{mark.symbol} {text}" for mark, text in ((theme.BEFORE, "Before"), (theme.AFTER, "After"))]
    rows = dict(zip(names, shares, strict=True))
    st.html(f'<div style="display:flex;gap:1rem;flex-wrap:wrap">{_heads(store, review, pair)}</div>')
    key = (first.id, second.id, *shares, theme.is_dark())
    figure = kept("certify_pair", key, lambda: certification_charts.shares_chart(rows, "What is proved, side by side"))
    frame.chart_with_table(
        figure,
        lambda: certification_charts.shares_table(rows),
        "certify_pair_shares",
        said=certification_charts.shares_text(rows),
    )
    tables.show(difference_table(shares[0], shares[1]), key="certify_difference")
    _draw_curves(pair, names)
    with st.expander("Settings side by side", expanded=bool(differing)):
        tables.show(
            settings_table(first, second),
            key="certify_settings",
            column_config={"": st.column_config.TextColumn(width=36)},
        )


def _heads(store: RunStore, review: Review, pair: tuple[RunRecord, RunRecord]) -> str:
    """Which two, each under its symbol and colour."""
    parts = []
    for run, meaning, word in zip(pair, (theme.BEFORE, theme.AFTER), ("Before", "After"), strict=True):
        label = wording.escaped(_label(store, review, run))
        parts.append(
            f'<div style="flex:1 1 20rem;border-left:5px solid {meaning.colour};padding:0.2rem 0.8rem">'
            f'<div style="font-weight:600">{meaning.symbol} {word}</div><div>{label}</div></div>'
        )
    return "".join(parts)


def _draw_curves(pair: tuple[RunRecord, RunRecord], names: list[str]) -> None:
    traces = {name: results_of(run).trace for name, run in zip(names, pair, strict=True)}
    if not all(len(trace) > 1 for trace in traces.values()):
        return
    is_log = bool(st.session_state.get("certify_log"))
    key = (*(run.id for run in pair), is_log, theme.is_dark())
    figure = kept("certify_overlay", key, lambda: certification_charts.overlay_chart(traces, is_log=is_log))
    note = "Seconds hold for this machine as it was; two runs that worked at once slowed each other down."
    frame.chart_with_table(
        figure,
        lambda: certification_charts.overlay_table(traces),
        "certify_overlay_chart",
        note,
    )


# --- words --------------------------------------------------------------------------------------


def differences(first: RunRecord, second: RunRecord) -> list[str]:
    """Names of the settings in which two certifications differ, so that their shares are not of the same thing."""
    lines = certification_phrases.settings_lines(first.config), certification_phrases.settings_lines(second.config)
    names = dict.fromkeys((*lines[0], *lines[1]))
    found = [name for name in names if lines[0].get(name) != lines[1].get(name)]
    if first.config.model_id != second.config.model_id:
        found.insert(0, "Model")
    if (first.config.data_id, first.config.schema) != (second.config.data_id, second.config.schema):
        found.insert(0, "Data")
    return found


def settings_note(differing: list[str]) -> str:
    """What to keep in mind when settings differ, not escaped."""
    names = wording.listed([name[:1].lower() + name[1:] for name in differing])
    if set(differing) & {"Data", "Weights", "Protected", "Limits", "Decision threshold"}:
        return f"The two differ in {names}: their shares are not shares of the same thing."
    if differing == ["Model"]:
        return "Two models, everything else alike: the difference is theirs."
    return f"The two differ in {names}: the difference is not the model's alone."


def difference_table(first: Shares, second: Shares) -> pd.DataFrame:
    """Shares of both and the difference in percentage points, one line a verdict."""
    meanings = dict(zip(_SHARES, (theme.CERTIFIED, theme.DISCRIMINATORY, theme.UNDECIDED), strict=True))
    gaps = [100 * (getattr(second, name) - getattr(first, name)) for name in _SHARES]
    return pd.DataFrame(
        {
            "": [f"{meaning.symbol} {name}" for name, meaning in meanings.items()],
            f"{theme.BEFORE.symbol} Before": first.texts,
            f"{theme.AFTER.symbol} After": second.texts,
            "Difference, points": [points_text(gap) for gap in gaps],
        }
    )


def points_text(gap: float) -> str:
    """A difference in percentage points with its sign, cut to two digits as proved shares are: ``+3.1``, ``−12``,
    ``0``.
    """
    if gap == 0:
        return "0"
    size = abs(gap)
    if size < _LEAST_POINTS:
        return f"less than {_LEAST_POINTS:.4f}"
    decimals = max(0, 1 - math.floor(math.log10(size)))
    cut = math.floor(size * 10.0**decimals + _ROUNDING) / 10.0**decimals
    return f"{'+' if gap > 0 else '−'}{cut:.{decimals}f}"


def settings_table(first: RunRecord, second: RunRecord) -> pd.DataFrame:
    """The settings of both, one line each; those that differ are marked."""
    lines = certification_phrases.settings_lines(first.config), certification_phrases.settings_lines(second.config)
    names = list(dict.fromkeys((*lines[0], *lines[1])))
    texts = [[line.get(name, wording.DASH) for name in names] for line in lines]
    marks = ["≠" if a != b else "" for a, b in zip(*texts, strict=True)]
    table = {
        "": marks,
        "Setting": names,
        f"{theme.BEFORE.symbol} Before": texts[0],
        f"{theme.AFTER.symbol} After": texts[1],
    }
    return pd.DataFrame(table)
