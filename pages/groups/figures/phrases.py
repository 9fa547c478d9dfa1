"""What the page says of classical group figures; nothing here is escaped. A verdict is about a convention, never about
virtue.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairness_engine.data.schema import Kind, Schema
from fairness_engine.groups.figures.report import (
    FOUR_FIFTHS,
    LEAST_SHARE,
    Bounded,
    FigureVerdict,
    GroupRates,
    GroupReport,
    GroupTable,
    verdict_of,
)
from pages.shared.app import theme, wording

MEANINGS = {
    FigureVerdict.FLAG: theme.Meaning("flag", "⚑", "#D55E00", "#FF8A4C", "/"),
    FigureVerdict.PASS: theme.Meaning("pass", "≈", "#0072B2", "#6DB6E8"),
    FigureVerdict.UNCLEAR: theme.Meaning("not enough evidence", "?", "#6B7079", "#A7ADB5", "."),
    FigureVerdict.LEFT_OUT: theme.Meaning("left out", "□", "#6B7079", "#A7ADB5"),
}
"""Each verdict has a symbol and a colour; a pass has not that of a proof."""
MEANING_OF_VERDICTS = (
    "Flag: even the upper end of the impact ratio of a group that is compared lies below 0.8.",
    "Pass: even the lower end of the impact ratio of every group that is compared is at least 0.8.",
    "Not enough evidence: everything else.",
    f"Left out: a group with under {100 * LEAST_SHARE:g} % of the rows. Its figures are shown, and are no part of a "
    "verdict.",
    "An impact ratio is a group's rate by that of the most favoured group. All intervals of impact ratios on this "
    "page hold together at 95 %, whichever group is truly the most favoured: exact intervals of the rates (Clopper "
    "and Pearson), shared out among all groups.",
    "Four fifths is a convention of personnel selection in the United States (29 CFR 1607.4 D, 1978), not a law for "
    "other decisions.",
    "None of this is about individuals: rates can be alike while people are treated differently, and can differ for "
    "reasons that are not the attribute.",
)
HIGHEST = theme.Meaning("highest rate", "◇", "#1B1F24", "#E8EAED")
"""The group that the others are measured by."""
_MAX_NAMED = 6
_NUMBERS = (Kind.INTEGER, Kind.REAL)


def title_of(table: GroupTable) -> str:
    """``sex``, or ``sex and race``."""
    return wording.listed(table.attributes)


def group_name(table: GroupTable, group: GroupRates, schema: Schema) -> str:
    """The group as people read it; a range says of what: ``Women, age 18 to 29``."""
    named = zip(table.attributes, group.labels, strict=True)
    return ", ".join(f"{name} {label}" if schema.column(name).kind in _NUMBERS else label for name, label in named)


def figure_text(figure: Bounded) -> str:
    """A figure with its interval: ``0.47 (0.39 to 0.55)``."""
    return f"{figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def verdict_sentence(table: GroupTable, schema: Schema) -> str:
    """Why a table has the verdict that it has."""
    best = table.most_favoured
    if len(table.compared) < 2:
        return f"Fewer than two groups have {_least()} of the rows: there is nobody to compare with."
    if best is None or all(group.impact is None for group in table.groups):
        return "Nobody in these groups gets the favourable outcome: there is nothing to compare."
    best_name = group_name(table, best, schema)
    if table.verdict is FigureVerdict.FLAG:
        return _flagged_sentence(table, schema, best_name)
    others = [group for group in table.compared if group is not best]
    worst, impact = min(_with_impact(others), key=lambda each: each[1].value)
    lowest = f"the lowest impact ratio is {figure_text(impact)}, {group_name(table, worst, schema)} against {best_name}"
    if table.verdict is FigureVerdict.PASS:
        return f"Every group compared reaches four fifths of the rate of the most favoured: {lowest}."
    return f"The rows do not settle whether every group reaches four fifths of the most favoured: {lowest}."


def _flagged_sentence(table: GroupTable, schema: Schema, best_name: str) -> str:
    flagged = [group for group in table.compared if group.verdict is FigureVerdict.FLAG]
    worst, impact = min(_with_impact(flagged), key=lambda each: each[1].high)  # the surest one, not the most extreme
    rates = f"{wording.share(worst.selection.share)} favourable"
    text = (
        f"{group_name(table, worst, schema)}: {rates}, impact ratio {figure_text(impact)} against {best_name}. "
        "All of that interval lies below four fifths."
    )
    n = len(flagged)
    of = "groups that are compared" if table.small else "groups"
    return text if n == 1 else f"{text} {n} of {len(table.compared)} {of} are flagged."


def _with_impact(groups: Sequence[GroupRates]) -> list[tuple[GroupRates, Bounded]]:
    return [(group, group.impact) for group in groups if group.impact is not None]


def notes(table: GroupTable, schema: Schema) -> list[str]:
    """What a reader must know of a table: groups that are small, rows of nobody knows which group, equalised odds."""
    said = []
    small = [f"{group_name(table, group, schema)} ({wording.counted(group.n_rows, 'row')})" for group in table.small]
    if small:
        it, are = ("It", "is") if len(small) == 1 else ("They", "are")
        text = (
            f"Under {_least()} of the rows: {wording.listed(small, _MAX_NAMED)}. {it} {are} left out: no measure for "
        )
        said.append(f"{text}others, and no part of a verdict (a convention too).{_small_below(table, schema)}")
    if table.n_unknown:
        said.append(
            f"{wording.counted(table.n_unknown, 'row')} of the file {'has' if table.n_unknown == 1 else 'have'} no "
            f"known {title_of(table)} and {'is' if table.n_unknown == 1 else 'are'} left out: the groups may look "
            "different with them."
        )
    if table.odds_difference is None and any(group.true_positive is not None for group in table.groups):
        said.append(
            "No equalised odds: a group compared has no row of one of the recorded outcomes, or there is one group "
            "only."
        )
    elif table.odds_difference is not None:
        said.append(
            f"Equalised odds difference {figure_text(table.odds_difference)}: the largest gap between groups in the "
            "true or the false positive rate, 0 where people with the same recorded outcome fare alike in all groups."
        )
    return said


def _small_below(table: GroupTable, schema: Schema) -> str:
    """Groups left out whose interval alone would be flagged: too few to judge by is not too few to look at."""
    below = [
        f"{group_name(table, group, schema)} {figure_text(impact)}"
        for group, impact in _with_impact(table.small)
        if verdict_of(impact) is FigureVerdict.FLAG
    ]
    if not below:
        return ""
    return f" All of the interval lies below four fifths all the same: {wording.listed(below, _MAX_NAMED)}."


def rows_sentence(report: GroupReport, favourable: str, group: str = "") -> str:
    """What the figures are of.

    Args:
        report: the figures.
        favourable: what the outcome is called.
        group: the name of the one whose rows alone are counted; empty for everybody.
    """
    whose = (
        f"as column “{report.column}” has it"
        if report.column
        else "by the model's decision on each row as it stands (rule sets count neighbours of the rows, so their "
        "shares may differ)"
    )
    of_group = f" in the group “{group}”" if group else ""
    text = f"{wording.counted(report.n_rows, 'row')} of the data{of_group}; favourable is “{favourable}”, {whose}."
    if report.n_incomplete:
        n = wording.counted(report.n_incomplete, "row")
        text += f" {n} of these miss a cell: they count wherever their group is known."
    if report.n_left_out:
        n = wording.counted(report.n_left_out, "row")
        are = "is" if report.n_left_out == 1 else "are"
        outside = "the group or the limits of the scope" if group else "the limits of the scope"
        text += f" {n} {are} left out: outside {outside}, or without a decision."
    return text


def meaning_of(table: GroupTable, group: GroupRates) -> theme.Meaning:
    """What a group is marked as: its verdict, but for the group that the others are measured by."""
    return HIGHEST if group is table.most_favoured else MEANINGS[group.verdict]


def _least() -> str:
    return f"{100 * LEAST_SHARE:g} %"


def four_fifths_text(name: str) -> str:
    """The name of the line in the chart."""
    return f"four fifths of the rate of {name} ({FOUR_FIFTHS:g}, a convention)"
