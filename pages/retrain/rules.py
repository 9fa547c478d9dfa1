"""Rule sets of both models after a retraining: the worst one, which was to be mitigated, and the groups of a new
search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.retraining.results import GroupScore, WorstOfNew, WorstRuleSet
from pages.groups.rule_sets import cards as rules_cards
from pages.groups.rule_sets import phrases as rules_words
from pages.retrain import charts, follow_ups
from pages.retrain import phrases as retrain_numbers
from pages.retrain.follow_ups import FollowUps
from pages.retrain.phrases import Figure, Line, Unit
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import RunRecord

_N_GROUPS = 8
_N_CARDS = 3


def draw(run: RunRecord, worst: WorstRuleSet | None, measured: FollowUps) -> None:
    """The worst rule set, and the groups of both models.

    Args:
        run, worst: the retraining.
        measured: the runs of rule sets of both models.
    """
    st.header("Rule sets, before and after", anchor=False)
    _draw_worst(run, worst)
    if measured.both is None:
        follow_ups.say_missing(measured)
        return
    found = [rule_runs.result_of(each) for each in measured.both]
    if found[0] is None or found[1] is None:
        st.caption("One of the two searches scored no group before it ended.")
        return
    _draw_both(measured.both, (found[0], found[1]))


# --- the worst one ------------------------------------------------------------------------------


def _draw_worst(run: RunRecord, worst: WorstRuleSet | None) -> None:
    if worst is None:
        return
    if worst.reason or worst.before is None:
        st.caption(wording.markdown(worst.reason or "No rule set was scored on the held-out rows."))
        return
    lines = worst_lines(worst)
    is_of_texts = bool(run.config.text_column)
    others = "the same texts with other terms" if is_of_texts else "everyone else"
    for text in worst_texts(worst, others):
        st.markdown(wording.markdown(text))
    title = "Score of the worst rule set, on held-out rows"
    key = (run.id, theme.is_dark(), len(lines))
    figure = kept("retrain_worst", key, lambda: charts.dumbbells(lines, title, "Score, points", is_from_zero=True))
    note = (
        "A score is the difference of the favourable shares of the group and of everyone else. The group was found on "
        "rows that are not "
        "held out, and is scored by all neighbours of the held-out rows, with a 95 % interval over people."
    )
    if is_of_texts:
        note = (
            "A score is the difference of the favourable shares of texts with the term and of the same texts with the "
            "other terms of its category. The term was found on texts that are not held out, and is scored on those "
            "that are, each sentence once, with a 95 % interval over sentences."
        )
    frame.chart_with_table(
        figure,
        lambda: retrain_numbers.table(lines, "Group"),
        "retrain_worst_chart",
        note,
        said=" ".join(worst_texts(worst, others)),
    )


def worst_lines(worst: WorstRuleSet) -> list[Line]:
    """The score of the worst rule set of the original before and after, and of the worst one of the new model."""
    lines = [Line(_group(worst, "the worst rule set"), _score(worst.before), _score(worst.after))]
    other = worst.worst_after
    if other is not None and other.rules != worst.rules:
        lines.append(Line(_group(other, "the worst of the new model"), None, _score(other)))
    return lines


def _group(found: WorstRuleSet | WorstOfNew, otherwise: str) -> str:
    text = found.group or found.text.partition(":")[0] or otherwise
    return rules_words.capitalised(text)


def _score(found: GroupScore | None) -> Figure | None:
    return None if found is None else Figure(found.score, found.low, found.high, Unit.POINTS)


def worst_texts(worst: WorstRuleSet, others: str = "everyone else") -> list[str]:
    """The worst rule set before and after, and what the new search says, in sentences.

    Args:
        worst: with a score before.
        others: who is not in a group.
    """
    assert worst.before is not None, "looked at before"
    found = [f"Worst rule set of the model before: {_group(worst, '')}: {_sides(worst.before, others)}."]
    other = worst.worst_after
    if worst.after is not None:
        found[0] += f" With the new model: {_sides(worst.after, others)}."
    if other is not None and other.rules == worst.rules:
        found.append("A new search names the same group as the worst of the new model.")
    elif other is not None:
        found.append(f"Worst of the new model, by a new search: {_group(other, '')}: {_sides(other, others)}.")
    return found


def _sides(found: GroupScore, others: str) -> str:
    points = Figure(found.score, found.low, found.high, Unit.POINTS).text
    return f"{wording.share(found.inside)} favourable, {others} {wording.share(found.outside)}, {points}"


# --- both searches ------------------------------------------------------------------------------


def _draw_both(runs: tuple[RunRecord, RunRecord], results: tuple[RuleResult, RuleResult]) -> None:
    lines = group_lines(*results)
    others = "the same texts with other terms" if runs[0].config.text_column else "everyone else"
    title = "The same groups in both models"
    key = (runs[0].id, runs[1].id, theme.is_dark())
    figure = kept("retrain_rules", key, lambda: charts.dumbbells(lines, title, "Score, points", is_from_zero=True))
    note = (
        f"The {_N_GROUPS // 2} groups with the highest scores of each model, near-duplicates folded. "
        f"{theme.HARMED.symbol} fewer, {theme.FAVOURED.symbol} more of the group than of {others} get the favourable "
        "outcome. Each is a search of its own, which is not confined to the held-out rows: a score may differ from "
        "that above."
    )
    if lines:
        frame.chart_with_table(
            figure,
            lambda: retrain_numbers.table(lines, "Group"),
            "retrain_rules_chart",
            note,
            said=retrain_numbers.lines_text(lines),
        )
    st.html(rules_cards.STYLE)
    with frame.wrapping("retrain_rules", is_wide=True):
        places = st.columns(2, gap="medium")
    for place, run, result, meaning in zip(places, runs, results, (theme.BEFORE, theme.AFTER), strict=True):
        with place:
            st.html(side_html(result, meaning))
            session.page_link(
                navigation.GROUPS, f"All rule sets of the model {meaning.name}", session.address_of(run=run.id)
            )


def heads(result: RuleResult, n: int) -> list[int]:
    """Positions of the first rule sets that stand for themselves: not folded, not nearly everybody."""
    scored = result.scored
    places = np.arange(len(scored))
    is_head = (scored.head == places) & (scored.is_rest == 0)
    return [int(place) for place in np.flatnonzero(is_head)[:n]]


def group_lines(before: RuleResult, after: RuleResult) -> list[Line]:
    """The highest groups of either model, with their scores in both."""
    places = [
        {tuple(rules): position for position, rules in enumerate(result.scored.rules.tolist())}
        for result in (before, after)
    ]
    wanted: dict[tuple[int, ...], None] = {}
    for result in (before, after):
        for position in heads(result, _N_GROUPS // 2):
            wanted.setdefault(tuple(result.scored.rules[position].tolist()))
    lines = []
    for rules in wanted:
        at = [known.get(rules) for known in places]
        which = before if at[0] is not None else after
        name = rules_words.capitalised(group_text(which, next(each for each in at if each is not None)))
        marks = [
            "" if place is None else rules_words.direction(result, place).symbol
            for result, place in zip((before, after), at, strict=True)
        ]
        mark = marks[0] if marks[0] == marks[1] or not marks[1] else "→".join(each for each in marks if each)
        lines.append(Line(f"{mark} {name}", _score_of(before, at[0]), _score_of(after, at[1])))
    return lines


def _score_of(result: RuleResult, position: int | None) -> Figure | None:
    if position is None:
        return None
    scored = result.scored
    return Figure(*(float(each[position]) for each in (scored.score, scored.low, scored.high)), Unit.POINTS)


def side_html(result: RuleResult, meaning: theme.Meaning) -> str:
    """The first rule sets of one model as cards, under its symbol; everything escaped."""
    cards = "".join(
        f'<div style="margin:0.5rem 0 0.7rem 0">{rules_cards.card_html(result, position)}</div>'
        for position in heads(result, _N_CARDS)
    )
    head = f"{meaning.symbol} {meaning.name.capitalize()}"
    return f'<div style="border-left:5px solid {meaning.colour};padding:0.1rem 0.9rem"><b>{head}</b>{cards}</div>'
