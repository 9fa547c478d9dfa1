"""A run of rule sets that ended: the sections of the page, the summary, and what a run without rule sets says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.groups.results import SubGroup, Themis
from fairness_engine.groups.rule_sets.phrases import group_text, group_words_of_json
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.models.fit.decisions import has_threshold
from fairness_engine.runs.kinds import RULES
from pages.groups.figures import view as group_figures_view
from pages.groups.rule_sets import card, cards, charts
from pages.groups.rule_sets import form as rules_form
from pages.groups.rule_sets import phrases as rules_words
from pages.groups.rule_sets import table as rules_table
from pages.groups.rule_sets.cards import Ranked
from pages.groups.rule_sets.phrases import capitalised, noun_of, score_text
from pages.groups.texts import form as text_form
from pages.groups.texts import sentences
from pages.groups.thresholds import view as thresholds_view
from pages.groups.two_attributes import view as group_matrix
from pages.shared import tables
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import kit
from pages.shared.people.decisions import decisions_of
from pages.shared.review import kind
from pages.shared.runs import figures, models, of_kind
from pages.shared.runs import phrases as run_words
from pages.shared.runs import rule_runs as rules_choice
from pages.shared.runs.live import stop_button, tiles
from pages.shared.runs.results import results_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.store.records import Review, RunRecord

_MAX_STEPS = 200
_LOG_RATIO = 30
"""Numbers of rule sets that differ by more are drawn on a logarithmic axis."""
_LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
_LEAST_SPAN = 0.005
"""Between the run's support and its largest group; with less there is nothing to see."""


def draw_support(run: RunRecord, result: RuleResult) -> None:
    """The curve and its table; nothing where all groups are of one size."""
    support = RULES.settings(run.config).support
    if float(_shares(result).max()) - support < _LEAST_SPAN:
        return
    figure = kept("rules_support", (run.id, theme.is_dark()), lambda: support_chart(result, support))
    frame.chart_with_table(
        figure,
        lambda: support_table(result, support),
        "rules_support_chart",
        "From the rule sets of this run: those whose group is at least that large, and not nearly everybody.",
    )


def _shares(result: RuleResult) -> FloatArray:
    """The share of the rows in each group; 0 for one that is nearly everybody, which is left out so."""
    return np.where(result.scored.is_rest != 0, 0.0, result.scored.n_rows / result.n_rows)


def support_steps(result: RuleResult, support: float) -> pd.DataFrame:
    """How many rule sets there are and the highest score among them, by the least support: from the run's own rule
    sets.

    Returns:
        Columns ``support`` (0 to 1, ascending), ``n`` and ``position`` (of the highest score).
    """
    share = _shares(result)
    order = np.argsort(-share, kind="stable")
    best = np.minimum.accumulate(order)
    levels = np.unique(np.concatenate([[support], np.linspace(support, float(share.max()), _MAX_STEPS)]))
    n = np.searchsorted(-share[order], -(levels - 1e-9), side="right")
    return pd.DataFrame({"support": levels, "n": n, "position": best[np.maximum(n - 1, 0)]})[n > 0]


def support_chart(result: RuleResult, support: float) -> Figure:
    """Number of rule sets, and the highest score, against the least support (Table 6 of the paper, for every value at
    once).

    Args:
        result: of the run.
        support: of the run.
    """
    steps = support_steps(result, support)
    x = (100 * steps["support"]).tolist()
    n = steps["n"]
    scores = 100 * result.scored.score[steps["position"].to_numpy()]
    is_log = n.max() > _LOG_RATIO * n.min()
    look = {"colour": theme.PLAIN.colour, "shape": "vh"}
    upper = {"domain": [0.56, 1.0], "fixedrange": True, "rangemode": "tozero"}
    return kit.chart(
        "Rule sets, and the highest score, by the least size of a group",
        [
            kit.line(x, n, "rule sets", "%{y:,d} rule sets", **look),
            kit.line(x, scores, "score", "highest score %{y:.1f} points", **look, dash=kit.dash(1), yaxis="y2"),
        ],
        kit.axis(f"Least share of the {noun_of(result)}s, %", anchor="y2", fixedrange=True),
        kit.axis("Rule sets", **upper, **({"type": "log", "dtick": 1} if is_log else {})),
        420,
        yaxis2=kit.axis("Highest score, points", **upper | {"domain": [0.0, 0.44]}),
        hovermode="x unified",
    )


def support_table(result: RuleResult, support: float) -> pd.DataFrame:
    """The curve at round values of the support, with the rule set of the highest score at each."""
    levels = sorted({support, *(level for level in _LEVELS if level > support)})
    share = _shares(result)
    lines = []
    for level in levels:
        found = np.flatnonzero(share >= level - 1e-9)
        if len(found):
            top = int(found[0])
            lines.append(
                [wording.share(level), len(found), capitalised(group_text(result, top)), score_text(result, top)]
            )
    return pd.DataFrame(lines, columns=["At least", "Rule sets", "Highest score", "Score"])


def draw_themis(result: RuleResult, themis: Themis | None) -> None:
    """The two sub-groups and their difference; nothing where the run has none."""
    if themis is None:
        return
    st.header("The two extremes beside it (THEMIS)", anchor=False)
    st.markdown(wording.markdown(sentence(themis)))
    tables.show(kept("rules_themis", themis, lambda: table(result, themis)), key="rules_themis")


def sentence(themis: Themis) -> str:
    """What THEMIS compares, and what comes out."""
    between = "exact" if themis.low == themis.high else f"{100 * themis.low:.1f}-{100 * themis.high:.1f}"
    return (
        f"Of the {wording.counted(themis.n_groups, 'finest group')} with at least "
        f"{wording.counted(themis.least_rows, 'row')}, the highest and the lowest favourable share lie "
        f"{rules_words.points(themis.score)} apart ({between}). THEMIS looks at these two only: it says how far apart "
        "groups can lie, not which rule keeps them apart."
    )


def table(result: RuleResult, themis: Themis) -> pd.DataFrame:
    """Both sub-groups, a line each."""
    groups = [themis.highest, themis.lowest]
    return pd.DataFrame(
        {
            "": ["Highest share", "Lowest share"],
            "Group": [rules_words.capitalised(group_words_of_json(result.attributes, group.rules)) for group in groups],
            "Favourable": [_share(group) for group in groups],
            "Samples": [wording.count(group.n) for group in groups],
            "Rows": [wording.count(group.n_rows) for group in groups],
        }
    )


def _share(group: SubGroup) -> str:
    if group.low == group.high:
        return wording.share(group.share)
    return wording.share(group.share, group.low, group.high)


RULES_STYLE = cards.STYLE


def draw_rules(review: Review, run: RunRecord, result: RuleResult, how: Sequence[str]) -> None:
    """Everything below the headline: a click in here leaves the rest of the page alone.

    Args:
        review, run, result: what is shown.
        how: it was measured, and what was noted on the way; under the chart.
    """
    wanted = cards.form(run, result)
    ranked = cards.ranked(run, result, wanted)
    chosen = rules_choice.chosen(len(result.scored))
    ranked = _pinned_only(review, run, ranked)
    if not len(ranked.positions):
        st.info("No group matches the filters. Take one away, or lower the least share of the rows.")
    else:
        _chart(run, result, ranked, wanted.n_shown, chosen)
    st.caption(wording.markdown(count_text(result, ranked)))
    method, *notes = how
    st.markdown(wording.markdown(method), help=wording.explain("rule set"))
    for note in notes:
        st.caption(f":material/info: {wording.markdown(note)}")
    if chosen is not None:
        card.draw(review, run, result, chosen)
    else:
        card.forget_view()
    if chosen is None and len(ranked.positions):
        st.info(
            "Choose a group in the chart, the cards or the table: who it is, the samples behind it, its rows and pairs."
        )
    if len(ranked.positions):
        st.header("In plain sentences", anchor=False)
        cards.draw(run.id, result, ranked, wanted.n_shown, chosen)
        st.header("All that match", anchor=False)
        rules_table.draw(run.id, result, ranked, chosen)


def _pinned_only(review: Review, run: RunRecord, ranked: Ranked) -> Ranked:
    """The pinned rule sets alone, whatever the filters, when the reader wants that; the others otherwise."""
    pins = [pin.rule_index for pin in session.store().rule_pins(review.id) if pin.run_id == run.id]
    if not pins or not st.toggle(f"Pinned only ({len(pins)})", key=f"rules_pinned_{run.id}"):
        return ranked
    pinned = np.array(sorted(pins), dtype=np.int64)
    return Ranked(pinned, pinned, {})


def count_text(result: RuleResult, ranked: Ranked) -> str:
    """How many rule sets match, and how many families they are."""
    n = len(ranked.positions)
    n_all = len(result.scored)
    n_shown = len(ranked.shown)
    text = f"{wording.count(n)} of {wording.counted(n_all, 'rule set')} match"
    n_looked_at = int((result.scored.head[ranked.positions] >= 0).sum())
    if 0 < n_looked_at < n:
        return (
            f"{text}; near-duplicates are folded among the highest {wording.count(n_looked_at)}. Numbers are ranks "
            "among all."
        )
    return (
        f"{text}; {wording.count(n_shown)} after near-duplicates are folded. Numbers are ranks among all."
        if n_shown < n
        else f"{text}."
    )


def _chart(run: RunRecord, result: RuleResult, ranked: Ranked, n_shown: int, chosen: int | None) -> None:
    """The dot plot; a click in a line opens its rule set."""
    positions = ranked.shown[:n_shown]
    key = (run.id, ranked.positions.tobytes(), len(ranked.families), n_shown, chosen, theme.is_dark())
    figure = kept("rules_dots", key, lambda: charts.dot_chart(result, positions, chosen, ranked.families))

    def take(points: list[Mapping[str, Any]]) -> None:
        found = [point["customdata"] for point in points if "customdata" in point]
        if found:
            rules_choice.choose(_position(found[0]))

    sure = "exactly" if rules_words.is_exact(result) else "with an interval; all intervals hold together"
    frame.chart(
        figure,
        f"rules_dots_{run.id}_{hash((positions.tobytes(), chosen)) & 0xFFFFFFFF:x}",
        f"Left: the share with the favourable outcome in the group and of {rules_words.others(result)}. Right: by how "
        f"many points they differ, {sure}. Click on a line to open it.",
        said=rules_words.group_sentence(result, int(positions[0])) if len(positions) else "",
        on_points=take,
    )
    frame.folded_table(lambda: charts.dot_table(result, positions), "rules_dots_twin")


def _position(custom: object) -> int:
    """Plotly hands over what a point carries as a number, or as a list of one."""
    return int(custom[0] if isinstance(custom, list | tuple) else custom)  # type: ignore[call-overload]


def draw_live(run_id: str) -> None:
    """Draw a run as it stands; once it has ended, the page is drawn again with its result."""
    run = session.refreshed(run_id)
    if not run.is_active:
        st.rerun()
    st.markdown(f"**{wording.markdown(run_words.run_title(run.config))}** · {run_words.state_text(run)}")
    st.progress(figures.what_is_left(run).done, text=wording.markdown(f"{run_words.activity(run)} …"))
    stop_button([run], "stop_rules", "what is scored")
    _tiles(run)


def _tiles(run: RunRecord) -> None:
    content = (
        (
            "Groups",
            wording.count(run.n_tried) if run.n_tried else wording.DASH,
            "Rule sets whose group is large enough.",
        ),
        ("Rows evaluated", wording.count(run.evaluations), wording.explain("evaluation")),
        ("Rows a second", figures.speed(run), "Over the whole run."),
        ("Seconds", wording.number(round(run.seconds, 1)), "Time spent in the model."),
    )
    tiles("rules_tiles", content)


STYLE = RULES_STYLE


def sections(review: Review, run: RunRecord | None, result: RuleResult | None) -> dict[str, Callable[[], None]]:
    """The sections of the page by name, and what draws each; only the open one is drawn."""
    of_run = review if run is None else models.as_of(review, run)
    found: dict[str, Callable[[], None]] = {rules_choice.RULE_SETS: lambda: draw(of_run, run, result)}
    if run is not None and result is not None and group_matrix.has_cells(result):
        found[rules_choice.TWO] = lambda: group_matrix.draw(of_run, run, result)
    if run is not None and RULES.settings(run.config).text_column:
        found[sentences.SECTION] = lambda: sentences.draw(of_run, run, result)
    if not kind.is_text(review):
        found[rules_choice.FIGURES] = lambda: _of_review(group_figures_view.draw, review)
        if not kind.is_without_model(review) and has_threshold(review.fit or {}):
            found[rules_choice.THRESHOLDS] = lambda: _of_review(thresholds_view.draw, review)
    return found


def _of_review(draw: Callable[[Review], None], review: Review) -> None:
    """Group figures and thresholds need no run, but what the review has now."""
    if session.can_start(review):
        draw(review)


def form_of(review: Review) -> ModuleType:
    """The form that fits a review: of tables, or of texts; both have ``draw_first`` and ``draw``."""
    return text_form if kind.is_text(review) else rules_form


def draw_again(review: Review, run: RunRecord, *, is_open: bool) -> None:
    """The form for another run, with the settings of this one; drawn once somebody wants it.

    Args:
        review, run: what is shown.
        is_open: it stands open from the start.
    """
    label = "Compare the terms" if kind.is_text(review) else "Look for groups"

    def draw_form() -> None:
        if session.can_start(review):
            form_of(review).draw(review, run, label)

    frame.fold(f"{label} again", draw_form, f"rules_again_{run.id}", is_open=is_open, icon=":material/replay:")


def draw(review: Review, run: RunRecord | None, result: RuleResult | None) -> None:
    """The rule sets of a run, or the form when there is none yet."""
    if run is None:
        form_of(review).draw_first(review)
        return
    if run.is_active:
        return
    _standing(run)
    if result is None:
        return
    results = results_of(run)
    summary = results.rules
    first = cards.first_of(run, result)
    st.html(f'<div class="eh-rule-headline">{headline_html(result, first)}</div>')
    names = decisions_of(review)
    outcome = "" if names.favourable is None else f" Favourable is “{names.name(names.favourable)}”."
    method = rules_words.method(run, result, summary) + outcome
    frame.alone(draw_rules)(review, run, result, (method, *results.notes.notes))
    draw_support(run, result)
    draw_themis(result, summary.themis if summary else None)


def headline_html(result: RuleResult, position: int | None) -> str:
    """The largest difference, its symbol in the colour of its direction; escaped."""
    text = wording.escaped(rules_words.headline(result, position))
    told = None if position is None else rules_words.told_of(result, position)
    if told is None:
        return text
    meaning = rules_words.direction(result, told)
    return f'<b style="color:{meaning.colour}">{meaning.symbol}</b> {text.removeprefix(meaning.symbol).strip()}'


def _standing(run: RunRecord) -> None:
    title = run_words.run_title(run.config)
    of_kind.say_standing(run, title, is_empty=not run.n_found, place=navigation.SCOPE, label="Change the scope")
