"""Lines of groups: selection rates, impact ratios and rule sets, before and after."""

from __future__ import annotations

import numpy as np

from fairness_engine.errors import RunError
from fairness_engine.findings.finding import Figure, Level
from fairness_engine.findings.groups import group_name
from fairness_engine.findings.two_reviews.change import Better, Change, Measure, NotCompared, Row, Topic
from fairness_engine.findings.two_reviews.lining_up import Both, is_of_same_rows
from fairness_engine.groups.figures.report import LEAST_SHARE, GroupRates, GroupTable, Rate
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import listed

_MAX_ROWS = 60
"""Of one pair of runs: an intersection of several attributes has more groups than anybody reads."""


def figure_rows(figures: tuple[Both, ...]) -> tuple[list[Row], list[NotCompared]]:
    """Selection rates and impact ratios of the groups that both runs have."""
    rows: list[Row] = []
    missing: list[NotCompared] = []
    for both in figures:
        first, second = (one.results.figures for one in both)
        if first is None or second is None:
            continue
        tables = {table.attributes: table for table in second.read().tables}
        own: list[Row] = []
        for table in first.read().tables:
            what = f"Groups by {' and '.join(table.attributes)}"
            other = tables.get(table.attributes)
            if other is None:
                missing.append(NotCompared(what, "Only the first review's run has these groups."))
                continue
            own += _table_rows(both, table, other)
            small = _left_out(table, other)
            if small:
                why = f"Under {100 * LEAST_SHARE:g} % of the rows in one of the two: left out of ratios."
                missing.append(NotCompared(f"Impact ratios of {listed(small)}", why))
        rows += own[:_MAX_ROWS]
        if len(own) > _MAX_ROWS:
            why = f"{len(own) - _MAX_ROWS} further figures of groups are on the pages of the runs."
            missing.append(NotCompared("Group figures", why))
    return rows, missing


def _table_rows(both: Both, before: GroupTable, after: GroupTable) -> list[Row]:
    there = {group.labels: group for group in after.groups}
    rows = []
    for group in before.groups:
        other = there.get(group.labels)
        if other is None:
            continue
        name = group_name(before, group)
        rows.append(_rate_row(both, name, group, other))
        is_measure = group is before.most_favoured and other is after.most_favoured  # of itself, which is 1
        if _have_ratios(group, other) and not is_measure:
            rows.append(_impact_row(both, name, group, other))
    return rows


def _have_ratios(before: GroupRates, after: GroupRates) -> bool:
    return all(group.impact is not None and group.is_compared for group in (before, after))


def _left_out(before: GroupTable, after: GroupTable) -> list[str]:
    """The groups of both that one of the two leaves out of its ratios, being small."""
    there = {group.labels for group in after.groups}
    small = {group.labels for group in (*before.small, *after.small)}
    return [group_name(before, group) for group in before.groups if group.labels in there & small]


def _rate_row(both: Both, name: str, before: GroupRates, after: GroupRates) -> Row:
    rates = before.selection, after.selection
    figures = tuple(Figure(rate.share, rate.low, rate.high) for rate in rates)
    if is_of_same_rows(*both) and rates[0].n == rates[1].n:
        change = Change.of_same_rows(rates[0].n_hits, rates[1].n_hits, rates[0].n, _most_lost(before, after))
    else:
        change = Change.independent(figures[0], figures[1])
    return Row(
        Topic.GROUPS,
        Level.ESTIMATED,
        f"{name}: selection rate",
        figures[0],
        figures[1],
        change,
        change.verdict(Better.NEITHER),
        rates[0].n,
        rates[1].n,
        (both[0].run.id, both[1].run.id),
    )


def _most_lost(before: GroupRates, after: GroupRates) -> int | None:
    """How many of a group's rows can have lost the favourable outcome, where it is counted apart by the outcome that
    was recorded; ``None`` where it is not.
    """
    n_lost = 0
    for first, second in ((before.true_positive, after.true_positive), (before.false_positive, after.false_positive)):
        if first is None or second is None or first.n != second.n:
            return None
        n_lost += _most_lost_of(first, second)
    return n_lost


def _most_lost_of(before: Rate, after: Rate) -> int:
    return min(before.n_hits, after.n - after.n_hits)


def _impact_row(both: Both, name: str, before: GroupRates, after: GroupRates) -> Row:
    assert before.impact is not None and after.impact is not None, "asked of groups with one"  # noqa: PT018
    figures = tuple(Figure(each.value, each.low, each.high) for each in (before.impact, after.impact))
    change = Change.dependent(figures[0], figures[1])
    if not is_of_same_rows(*both):
        change = Change.independent(figures[0], figures[1])
    return Row(
        Topic.GROUPS,
        Level.ESTIMATED,
        f"{name}: impact ratio",
        figures[0],
        figures[1],
        change,
        change.verdict(Better.HIGHER),
        before.n_rows,
        after.n_rows,
        (both[0].run.id, both[1].run.id),
        "To the most favoured group; 1 is no difference.",
        Measure.RATIO,
    )


# --- rule sets ----------------------------------------------------------------------------------


def rule_rows(store: RunStore, rules: tuple[Both, ...]) -> tuple[list[Row], list[NotCompared]]:
    """The highest rule set of each run, and its score under the other model."""
    rows: list[Row] = []
    missing: list[NotCompared] = []
    for both in rules:
        try:
            results = [stored_rules(store, one.run.id) for one in both]
        except RunError as error:
            missing.append(NotCompared("Rule sets", str(error)))
            continue
        if not len(results[0].scored) or not len(results[1].scored):
            missing.append(NotCompared("Rule sets", "No group is large enough in one of the two."))
            continue
        if results[0].attributes != results[1].attributes:
            missing.append(NotCompared("Rule sets", "The two cut the protected attributes into other groups."))
            continue
        places: dict[tuple[int, int], str] = {}
        for side, which in enumerate(("first", "second")):
            top = _highest(results[side])
            found = _place(results[1 - side], results[side].scored.rules[top])
            if found is None:
                who = group_text(results[side], top)
                missing.append(
                    NotCompared(f"Highest rule set of the {which}: {who}", "The other run has no score of it.")
                )
                continue
            place = (top, found) if side == 0 else (found, top)
            places[place] = "both" if place in places else f"the {which} review"
        rows += [_rule_row(both, results, place, whose) for place, whose in places.items()]
    return rows, missing


def _highest(result: RuleResult) -> int:
    """The first that speaks of a group, and not of the few outside it."""
    own = np.flatnonzero(result.scored.is_rest == 0)
    return int(own[0]) if len(own) else 0


def _place(result: RuleResult, rules: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int | None:
    """Where a rule set stands among those of a run."""
    found = np.flatnonzero((result.scored.rules == rules).all(axis=1))
    return int(found[0]) if len(found) else None


def _rule_row(both: Both, results: list[RuleResult], places: tuple[int, int], whose: str) -> Row:
    figures = []
    counts = []
    for result, place in zip(results, places, strict=True):
        scored = result.scored
        figures.append(Figure(*(float(part[place]) for part in (scored.score, scored.low, scored.high))))
        counts.append(int(scored.n_inside[place] + scored.n_outside[place]))
    change = Change.dependent(figures[0], figures[1])
    return Row(
        Topic.RULES,
        Level.RULE,
        f"Highest of {whose}: {group_text(results[0], places[0])}",
        figures[0],
        figures[1],
        change,
        change.verdict(Better.LOWER),
        counts[0],
        counts[1],
        (both[0].run.id, both[1].run.id),
        f"By how much the favourable shares inside and outside differ: {_direction(results, places)}.",
        Measure.DIFFERENCE,
    )


def _direction(results: list[RuleResult], places: tuple[int, int]) -> str:
    """Whether the group is harmed or favoured, in each."""
    words = [
        "harmed" if result.scored.is_harmed[at] else "favoured" for result, at in zip(results, places, strict=True)
    ]
    return f"the group is {words[0]} in both" if words[0] == words[1] else f"{words[0]} before, {words[1]} after"
