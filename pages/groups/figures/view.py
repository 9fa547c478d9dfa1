"""Classical group figures of a review: what to look at, the verdicts, rates with intervals, what must be known of
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.recorded import Source
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.errors import EvenhandError
from fairness_engine.groups.figures.report import FigureSettings, GroupReport, GroupTable
from fairness_engine.groups.rule_sets.settings import Edges
from fairness_engine.model_process.questions import GroupFigures
from pages.groups.figures import charts, phrases
from pages.shared import exports
from pages.shared.app import frame as layout
from pages.shared.app import navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.people import cohorts
from pages.shared.people.decisions import favourable_name
from pages.shared.review import kind, questions
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.store.records import Review

STYLE = """
<style>
.eh-verdict {line-height: 1.45}
.eh-verdict-tag {border: 1.5px solid currentColor; border-radius: 0.9rem; padding: 0 0.6rem; font-size: 0.9rem;
    font-weight: 650;
  white-space: nowrap; display: inline-block; margin-bottom: 0.3rem}
.eh-verdict-of {font-weight: 600; font-size: 1.06rem; margin-right: 0.5rem}
</style>
"""
_MAX_CHOSEN = 6
_MAX_TOGETHER = 3
_DECIDES = {Source.MODEL: "The model", Source.LABELS: "The label of the data"}
_EDGES = {Edges.ROUND: "Round numbers", Edges.EQUAL: "Equal widths"}
_BINS = (3, 5, 10, 20)


def draw(review: Review) -> None:
    """Group figures of a review; a click in here leaves the rest of the page alone."""
    layout.alone(_draw)(review)


def _draw(review: Review) -> None:
    """Controls, verdicts, the chart and table of one choice of attributes, what the words mean."""
    schema = review.schema
    assert schema is not None, "the page asks for a review with data and a scope"
    st.html(STYLE)
    group = cohorts.choose(review, "figures")
    settings = _controls(review, schema)
    if settings is None:
        st.info("Choose an attribute: the figures compare its groups.")
        return
    if group is not None:
        settings = replace(settings, within=group.rules)
    report = _asked(review, settings)
    if report is None:
        return
    favourable = favourable_name(review)
    st.markdown(wording.markdown(phrases.rows_sentence(report, favourable, group.cohort.name if group else "")))
    _verdicts(report, schema)
    table = _chosen_table(report, review.id)
    _figures(table, schema, favourable, review.id)
    with st.expander("What the verdicts mean, and do not"):
        st.markdown("\n".join(f"- {wording.markdown(text)}" for text in phrases.MEANING_OF_VERDICTS))
    exports.offer_csv(
        "Save all figures as CSV",
        lambda: charts.figures_csv(report.tables, schema),
        "evenhand-group-figures",
        "figures_csv",
    )


def _asked(review: Review, settings: FigureSettings) -> GroupReport | None:
    """The report, or why there is none and where that can be changed."""
    try:
        return questions.ask(
            questions.of_review(review, "Group figures need"), GroupFigures(settings), "Counting decisions by group …"
        )
    except EvenhandError as error:
        layout.say(error)
        session.link_to(navigation.SCOPE, "Change the scope")
        return None


# --- controls -----------------------------------------------------------------------------------


def _controls(review: Review, schema: Schema) -> FigureSettings | None:
    """What the widgets say; ``None`` while no attribute is chosen."""
    names = [column.name for column in schema.inputs]
    protected = [name for name in (review.scope.protected if review.scope else ()) if name in names]
    with layout.wrapping("figures_controls"):
        places = st.columns([4, 3, 3], vertical_alignment="bottom")
    link = _link_of(review)
    asked = [name for name in names if name in link.attributes]
    with places[0]:
        chosen: list[str] = st.multiselect(
            "Attributes",
            names,
            default=(asked or protected)[:_MAX_CHOSEN],
            max_selections=_MAX_CHOSEN,
            key=f"figures_attributes_{review.id}{link.suffix}",
            persist_state="session",
            help="Protected ones at first; any column can be looked at. Several are looked at one by one and, up to "
            "three, together. All intervals hold at once, so each grows a little with every attribute added.",
        )
    with places[1]:
        source = _source_field(review, schema, link)
    with places[2]:
        edges, bins = _range_fields(review, schema, chosen)
    if not chosen:
        return None
    sets = [(name,) for name in chosen] + ([tuple(chosen)] if 1 < len(chosen) <= _MAX_TOGETHER else [])
    column = kind.predictions_of(review) if source is Source.LABELS else ""
    if not kind.is_without_model(review):
        column = ""
    return FigureSettings(tuple(sets), source, column, bins, edges)


@dataclass(frozen=True)
class _Link:
    """What the last link to the figures asks for.

    Args:
        attributes, source: empty, and the model, without one.
        suffix: of the keys of what is chosen: each link has widgets of its own, so that what one of them begins with
            never changes, and what is chosen afterwards stands.
    """

    attributes: tuple[str, ...] = ()
    source: Source = Source.MODEL
    suffix: str = ""


def _link_of(review: Review) -> _Link:
    """The last link that was followed, which is taken from the address."""
    slot = f"figures_link_{review.id}"
    attributes = st.query_params.get_all(rule_runs.BY)
    if attributes:
        source = st.query_params.get(rule_runs.SOURCE)
        n_links = st.session_state.get(f"{slot}s", 0) + 1
        st.session_state[f"{slot}s"] = n_links
        known = Source(source) if source in set(Source) else Source.MODEL
        st.session_state[slot] = _Link(tuple(attributes), known, f"_{n_links}")
        for name in (rule_runs.BY, rule_runs.SOURCE):
            if name in st.query_params:
                del st.query_params[name]
    return st.session_state.get(slot, _Link())


def _source_field(review: Review, schema: Schema, link: _Link) -> Source:
    """Whose decisions are counted; asked only where there are two."""
    if kind.is_without_model(review):
        return Source.LABELS
    if schema.label is None or schema.favourable is None:
        return Source.MODEL
    chosen = st.segmented_control(
        "Who decides",
        list(_DECIDES),
        default=link.source,
        required=True,
        format_func=_DECIDES.__getitem__,
        key=f"figures_source_{review.id}{link.suffix}",
        persist_state="session",
        help="The label shows how groups differ in the data that the model learnt from.",
    )
    return Source(chosen)


def _range_fields(review: Review, schema: Schema, chosen: list[str]) -> tuple[Edges, int]:
    """How numbers are cut; asked only where there is one."""
    if not any(schema.column(name).kind in (Kind.INTEGER, Kind.REAL) for name in chosen):
        return Edges.ROUND, 10
    with st.popover("Ranges of numbers", icon=":material/straighten:"):
        edges = st.segmented_control(
            "Cut at",
            list(_EDGES),
            default=Edges.ROUND,
            required=True,
            format_func=_EDGES.__getitem__,
            key=f"figures_edges_{review.id}",
            persist_state="session",
        )
        bins = st.segmented_control(
            "Ranges, about",
            _BINS,
            default=10,
            required=True,
            key=f"figures_bins_{review.id}",
            persist_state="session",
            help="The same ranges as for rule sets with the same settings.",
        )
    return Edges(edges), int(bins)


# --- verdicts and figures -----------------------------------------------------------------------


def _verdicts(report: GroupReport, schema: Schema) -> None:
    """One card a choice of attributes: symbol, colour and words."""
    tables = report.tables
    for start in range(0, len(tables), 3):
        with layout.wrapping(f"verdicts_{start}"):
            places = st.columns(min(3, len(tables)))
        for place, table in zip(places, tables[start : start + 3], strict=False):
            with place, st.container(border=True, height="stretch"):
                st.html(verdict_html(table, schema))


def verdict_html(table: GroupTable, schema: Schema) -> str:
    """The verdict of a table; every text in it is escaped."""
    meaning = phrases.MEANINGS[table.verdict]
    title = wording.escaped(phrases.title_of(table))
    sentence = wording.escaped(phrases.verdict_sentence(table, schema))
    tag = f"{meaning.symbol} {meaning.name[0].upper()}{meaning.name[1:]}"
    return (
        f'<div class="eh-verdict"><span class="eh-verdict-of">{title}</span>'
        f'<span class="eh-verdict-tag" style="color:{meaning.colour}">{tag}</span><div>{sentence}</div></div>'
    )


def _chosen_table(report: GroupReport, review_id: str) -> GroupTable:
    """The choice of attributes whose groups are drawn."""
    titles = {phrases.title_of(table): table for table in report.tables}
    if len(titles) < 2:
        return report.tables[0]
    chosen = st.segmented_control(
        "Groups by",
        list(titles),
        default=next(iter(titles)),
        required=True,
        key=f"figures_table_{review_id}_{hash(tuple(titles)) & 0xFFFFFFFF:x}",
    )
    return titles[str(chosen)]


def _figures(table: GroupTable, schema: Schema, favourable: str, review_id: str) -> None:
    """Rates with intervals, the rates by what the data recorded, and what must be known."""
    key = (review_id, repr(table), theme.is_dark())
    chart = kept("figures_rates", key, lambda: charts.rates_chart(table, schema, favourable))
    n_drawn = len(charts.drawn(table, schema))
    n_groups = len(table.groups)
    note = "A dot is the group's rate, the bar its 95 % interval, each group on its own."
    if n_drawn < n_groups:
        note += (
            f" {n_drawn} of {n_groups} groups are drawn, those with the highest and the lowest rates; the table has "
            "all."
        )
    layout.chart(chart, "figures_rates_chart", note, said=phrases.verdict_sentence(table, schema))
    layout.folded_table(lambda: charts.figures_frame(table, schema), "figures_rates_table", column_config=_formats)
    for text in phrases.notes(table, schema):
        st.markdown(wording.markdown(text))
    if any(group.true_positive is not None for group in table.groups):

        def draw_odds() -> None:
            odds = kept("figures_odds", key, lambda: charts.odds_chart(table, schema))
            note = "The same numbers are in the table above, as true and false positive."
            layout.chart(odds, "figures_odds_chart", note)

        layout.fold("By what the data recorded: true and false positive rates", draw_odds, "figures_odds")


def _formats(frame: pd.DataFrame) -> dict[str, object]:
    """One decimal for shares, two for ratios, room for names."""
    formats: dict[str, object] = {
        name: st.column_config.NumberColumn(format="%.1f") for name in frame.columns if name.endswith(", %")
    }
    return formats | {
        "Group": st.column_config.TextColumn(width="medium"),
        "Verdict": st.column_config.TextColumn(width=170),
        "Impact ratio": st.column_config.NumberColumn(format="%.2f"),
    }
