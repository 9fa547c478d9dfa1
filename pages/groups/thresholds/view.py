"""Another decision threshold: what it would do to the rates of groups and to the accuracy, live; nothing changes until
the reader wants it.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.schema import Kind, Schema
from fairness_engine.errors import EvenhandError
from fairness_engine.groups.figures.thresholds import ThresholdCounts, ThresholdSettings
from fairness_engine.groups.rule_sets.settings import Edges
from fairness_engine.model_process.questions import CountThresholds
from fairness_engine.models.fit.decisions import threshold_note
from pages.groups.thresholds import charts, phrases
from pages.shared import exports, tables
from pages.shared.app import frame as layout
from pages.shared.app import navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.people.decisions import decisions_of, favourable_name
from pages.shared.review import changes, questions

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from fairness_engine.groups.figures.report import GroupTable
    from fairness_engine.store.records import Review

_EDGES = {Edges.ROUND: "Round numbers", Edges.EQUAL: "Equal widths"}
_BINS = (3, 5, 10, 20)
_USED = "threshold_used"


def draw(review: Review) -> None:
    """The section of a review with a model that has a threshold; a click in here leaves the rest of the page alone."""
    layout.alone(_draw)(review)


def _draw(review: Review) -> None:
    """What is looked at, the slider, what the threshold would do, and the way to use it."""
    current = session.current_review()
    if current is None or current.revision != review.revision:
        st.rerun()  # it was saved from in here: the rest of the page speaks of what it was
    review = current  # with what another tab changed meanwhile
    schema = review.schema
    assert schema is not None, "the page asks for a review with data and a scope"
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    with controls:
        settings = _groups_field(review, schema)
    counts = _asked(review, settings)
    if counts is None:
        return
    if counts.n_scores == 1:
        st.info("The model gives all rows the same score, so that no threshold parts them.")
        return
    position = _slider(review, counts, controls)
    _figures(review, counts, settings, position)
    _use(review, counts, position)
    with st.expander("How to read this"):
        st.markdown("\n".join(f"- {text}" for text in phrases.MEANING))


def _asked(review: Review, settings: ThresholdSettings) -> ThresholdCounts | None:
    """The counts, or why there are none and where that can be changed."""
    try:
        return questions.ask(
            questions.of_review(review, "Another threshold needs"),
            CountThresholds(settings),
            "Counting decisions at every threshold …",
        )
    except EvenhandError as error:
        layout.say(error)
        session.link_to(navigation.SCOPE, "Change the scope")
        return None


# --- controls -----------------------------------------------------------------------------------


def _groups_field(review: Review, schema: Schema) -> ThresholdSettings:
    """Whose groups, and how a number is cut."""
    protected = [name for name in (review.scope.protected if review.scope else ()) if name in schema.names]
    attribute = st.selectbox(
        "Groups by",
        [*protected, *(name for name in schema.names if name not in protected)],
        key=f"threshold_attribute_{review.id}",
        persist_state="session",
        help="Protected attributes first; any column can be looked at.",
        width=250,
    )
    if schema.column(attribute).kind is Kind.CATEGORICAL:
        return ThresholdSettings(attribute)
    with st.popover("Ranges", icon=":material/straighten:"):
        edges = st.segmented_control(
            "Cut at",
            list(_EDGES),
            default=Edges.ROUND,
            required=True,
            format_func=_EDGES.__getitem__,
            key=f"threshold_edges_{review.id}",
            persist_state="session",
        )
        bins = st.segmented_control(
            "Ranges, about",
            _BINS,
            default=5,
            required=True,
            key=f"threshold_bins_{review.id}",
            persist_state="session",
            help="The same ranges as for rule sets with the same settings.",
        )
    return ThresholdSettings(attribute, int(bins), Edges(edges))


def _slider(review: Review, counts: ThresholdCounts, controls: DeltaGenerator) -> int:
    """The position of the threshold that the reader chose; at first the present one.

    Args:
        review, counts: what is shown.
        controls: the line above the slider, where a threshold can be typed and found.
    """
    slot = f"threshold_{review.id}_{zlib.crc32(counts.thresholds.tobytes()):x}_{counts.present}"
    texts: list[str] = kept(
        "threshold_texts", slot, lambda: [phrases.threshold_text(t) for t in counts.thresholds.tolist()]
    )
    if st.session_state.get(slot) not in texts:
        _go(slot, counts, counts.present)
    with controls:
        st.number_input(
            "Exact value",
            step=0.01,
            format="%.6g",
            key=f"{slot}_typed",
            on_change=lambda: _go(slot, counts, counts.nearest(st.session_state[f"{slot}_typed"])),
            help="The nearest threshold that is offered is taken.",
            persist_state="session",
            width=170,
        )
        position = texts.index(st.session_state[slot])
        st.button(
            "Find four fifths",
            key="threshold_find",
            icon=":material/search:",
            on_click=partial(_go, slot, counts, counts.four_fifths),
            disabled=counts.four_fifths in (None, position),
            help="The threshold with the fewest decisions changed at which every group compared reaches four fifths of "
            "the rate of the most favoured group: a convention.",
        )
        st.button(
            "Back to the present",
            key="threshold_back",
            icon=":material/undo:",
            on_click=partial(_go, slot, counts, counts.present),
            disabled=position == counts.present,
        )
    st.select_slider(
        "Decision threshold",
        texts,
        key=slot,
        on_change=lambda: _go(slot, counts, texts.index(st.session_state[slot])),
        help=f"{wording.markdown(threshold_note(review.fit or {}))} Moving it changes nothing in the review.",
        persist_state="session",
    )
    return position


def _go(slot: str, counts: ThresholdCounts, position: int | None) -> None:
    """Move the slider, and what is typed beside it."""
    if position is not None:
        threshold = float(counts.thresholds[position])
        st.session_state[slot] = phrases.threshold_text(threshold)
        st.session_state[f"{slot}_typed"] = threshold


# --- figures ------------------------------------------------------------------------------------


def _figures(review: Review, counts: ThresholdCounts, settings: ThresholdSettings, position: int) -> None:
    """Tiles, sentences, the chart and the tables of one threshold."""
    schema = review.schema
    assert schema is not None
    key = (review.id, settings, counts.thresholds.tobytes(), theme.is_dark())
    now = counts.table(counts.present)
    then = counts.table(position)
    favourable = favourable_name(review)
    names = kept("threshold_names", key, lambda: charts.names_of(counts, schema))
    lines = kept("threshold_curves", key, lambda: charts.curves(counts, names))
    chart = charts.threshold_chart(counts, lines, position, favourable, decisions_of(review).name(1))
    cost = phrases.cost_sentence(counts, counts.cost(position), favourable)
    left, right = st.columns([5, 2])
    with right:
        _tiles(counts, then, position)
    with left:
        layout.chart(chart, "threshold_chart", _note(counts), said=cost)
    st.markdown(wording.markdown(cost))
    st.markdown(wording.markdown(phrases.found_sentence(counts)))
    _table(phrases.rates_title(counts, position), charts.rates_frame(counts, now, then, position, names), "rates")
    if counts.has_labels:
        _table(phrases.ODDS_TITLE, charts.odds_frame(now, then, names), "odds")
    st.caption(wording.markdown(f"{phrases.of_rows(counts, then, favourable)} {phrases.offered(counts)}"))
    layout.folded_table(
        lambda: charts.curves_frame(counts, names), "threshold_curves_table", "All thresholds as a table", _formats
    )
    exports.offer_csv(
        "Save all thresholds as CSV", lambda: charts.curves_csv(counts, names), "evenhand-thresholds", "threshold_csv"
    )


def _tiles(counts: ThresholdCounts, then: GroupTable, position: int) -> None:
    """The figures that a reader looks at while moving the slider."""
    share, present = (float(counts.favourable[at].sum()) / counts.n_rows for at in (position, counts.present))
    ratio = phrases.lowest_ratio(then)
    cost = counts.cost(position)
    contents = [
        (
            "Impact ratio",
            wording.DASH if ratio is None else f"{ratio.value:.2f}",
            "nobody to compare" if ratio is None else f"{ratio.low:.2f} to {ratio.high:.2f}",
            "The lowest of the groups compared, against the most favoured one. Under it its 95 % interval.",
        ),
        ("Favourable", phrases.percent(share), f"now {phrases.percent(present)}", "Share of all rows."),
        (
            "Decisions changed",
            phrases.signed(cost.n_gained - cost.n_lost, wording.count(cost.n_changed)),
            f"{phrases.percent(cost.n_changed / counts.n_rows)} of the rows",
            "Rows that would get the favourable outcome (+), or no longer get it (−), against the present threshold.",
        ),
    ]
    if cost.accuracy is not None and cost.accuracy_change is not None:
        contents.append(
            (
                "Accuracy",
                phrases.percent(cost.accuracy),
                f"{phrases.points_text(cost.accuracy_change.value)} points" if cost.n_changed else "as now",
                f"{wording.explain('accuracy')} Under it what changes against the present threshold.",
            )
        )
    for title, figure, small, explanation in contents:
        st.metric(title, figure, small, delta_color="off", delta_arrow="off", help=explanation, border=True)


def _table(title: str, frame: pd.DataFrame, name: str) -> None:
    """A table of groups under its title."""
    st.markdown(f"**{wording.markdown(title)}**")
    tables.show(frame, key=f"threshold_{name}", column_config=_formats(frame))


def _formats(frame: pd.DataFrame) -> dict[str, object]:
    """One decimal for shares, two for ratios, all digits for thresholds, room for names."""
    number = st.column_config.NumberColumn
    formats: dict[str, object] = {column: number(format="%.1f") for column in frame.columns if column.endswith(", %")}
    formats |= {column: number(format="%.2f") for column in frame.columns if column in charts.RATIOS}
    return formats | {
        charts.THRESHOLD: number(format="%.10g"),
        "Group": st.column_config.TextColumn(width=190),
    }


def _note(counts: ThresholdCounts) -> str:
    note = "Each curve is the share of a group that would get the favourable outcome."
    n = len(counts.labels)
    if n > charts.MAX_DRAWN:
        note += f" {charts.MAX_DRAWN} of {n} groups are drawn, those with the most rows; the table has all."
    return note


# --- using it -----------------------------------------------------------------------------------


def _use(review: Review, counts: ThresholdCounts, position: int) -> None:
    """The button that changes the review, and what that means for what was made before."""
    said = st.session_state.pop(_USED, None)
    if said:
        st.success(said, icon=":material/check_circle:")
    chosen = phrases.threshold_text(float(counts.thresholds[position]))
    with st.container(border=True, key="threshold_use"):
        if position == counts.present:
            st.caption("Looking stores and changes nothing. Move the slider to use another threshold.")
        else:
            st.caption(wording.markdown(phrases.use_sentence(counts, position)))
            changes.say_before_threshold(review)
        if controls.button(
            "Use this threshold",
            key="threshold_save",
            disabled=position == counts.present,
            help="Saves it in the scope of the review, as the Scope page does.",
        ):
            assert review.scope is not None, "the page asks for a review with a scope"
            threshold = None if position == counts.own else float(counts.thresholds[position])
            session.save(replace(review, scope=replace(review.scope, threshold=threshold)))
            st.session_state[_USED] = f"Saved: the decision threshold of the review is {chosen}."
            st.rerun()
