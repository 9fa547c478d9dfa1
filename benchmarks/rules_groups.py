"""The groups that are found beside the paper's: its Table 4, its Table 6 on the support, and THEMIS's two groups of its
Table 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rules_cases import ERROR, Case, Outcome, case_of, points, repeated
from benchmarks.rules_data import TABLES
from benchmarks.rules_literal import is_inside
from benchmarks.rules_paper import PAPER, SUPPORTS, shares
from benchmarks.table import markdown
from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets.phrases import group_text, share_text

N_TOP = 3

# --- groups ----------------------------------------------------------------------------------


def groups_part() -> str:
    """The highest rule sets beside Table 4, and the paper's rule sets on the networks here."""
    rows = []
    for name in TABLES:
        case = case_of(name)
        run = case.run(case.settings(error=0.0))
        samples = case.exact_samples()
        by_mark = dict(_top(run))
        for number, mark in enumerate(["†"] * ("†" in by_mark) + ["1", "2", "3"]):
            title = case.source.title if number == 0 else ""
            ours = _group_cells(run, by_mark[mark]) if mark in by_mark else ("",) * 4
            theirs = (
                ("",) * 6
                if mark == "†"
                else (*_paper_group(name, int(mark) - 1), *_scored_here(case, samples, int(mark) - 1))
            )
            rows.append((title, mark, *ours, *theirs))
    header = (
        *("data", "", "rule set", "of the rows", "favourable inside, outside", "score"),
        *("paper: rule set", "inside, outside", "score", "that one here: of the rows", "inside, outside", "score"),
    )
    return "\n\n".join(["## The groups", markdown(header, rows), _GROUPS_NOTE])


def _top(run: Outcome) -> list[tuple[str, int]]:
    """Rank and position of the highest, after one that speaks of a few outside it where that is higher still."""
    ranked = run.shown()[:N_TOP]
    rests = run.shown(of_rest=True)[:1]
    is_higher = rests and (not ranked or rests[0] < ranked[0])
    named = [(f"{rank}", position) for rank, position in enumerate(ranked, start=1)]
    return [*([("†", rests[0])] if is_higher else []), *named]


def _group_cells(run: Outcome, position: int) -> tuple[str, ...]:
    scored = run.result.scored
    return (
        group_text(run.result, position),
        share_text(float(scored.n_rows[position] / run.result.n_rows)),
        f"{share_text(float(scored.inside[position]))}, {share_text(float(scored.outside[position]))}",
        f"**{points(float(scored.score[position]))}**",
    )


def _paper_group(name: str, rank: int) -> tuple[str, ...]:
    inside, outside = shares(PAPER[name], rank)
    return PAPER[name].top[rank].words, f"{inside:.1f} %, {outside:.1f} %", f"{abs(inside - outside):.1f} points"


def _scored_here(case: Case, samples: tuple[np.ndarray, np.ndarray], rank: int) -> tuple[str, ...]:
    """Support, exact shares and score that one of the paper's rule sets has on the network here."""
    inside = is_inside(case.dataset.schema, case.dataset.rows, PAPER[case.source.name].top[rank].rules)
    drawn, favourable = samples
    own, rest = (float(favourable[side].sum() / drawn[side].sum()) for side in (inside, ~inside))
    support = float(inside.mean())
    least = case.settings().support
    mark = "✗ " if support < least else "† " if 1 - support < least else ""
    return mark + share_text(support), f"{share_text(own)}, {share_text(rest)}", points(abs(own - rest))


_GROUPS_NOTE = (
    "Every neighbour of every row, so that no chance is in the scores. Nearly the same people are folded together, "
    "which the paper does not do: the plainest of them is shown, whose score may be a tenth below the highest. † "
    "marks a rule set whose outside holds less than 5 % of the rows, so that it speaks of those few; where one is the "
    "highest, it stands before the three. The paper's shares of a high risk (COMPAS) and of much crime (Crime) are "
    "turned into those of the outcome that is good for the person. *That one here*: the paper's group on the network "
    "here, ✗ where it holds less than 5 % of the rows, so that it is no frequent rule set."
)


# --- support ---------------------------------------------------------------------------------


def support_part(repeats: int) -> str:
    """What the least size of a group does, beside Table 6."""
    rows = []
    for name, by_support in SUPPORTS.items():
        for support, (seconds, n_rule_sets, group, score) in by_support.items():
            ours = _support_cells(case_of(name), support, repeats)
            paper = (f"{n_rule_sets:,}", f"{seconds:,.1f}", group, f"{score:.1f} points" if n_rule_sets else "")
            rows.append((TABLES[name].title, f"{100 * support:g} %", *ours, *paper))
            print(rows[-1], flush=True)
    header = (
        *("data", "support", "rule sets", "s", "highest", "score"),
        *("paper: rule sets", "s", "highest", "score"),
    )
    return "\n\n".join(["## The support", markdown(header, rows), _SUPPORT_NOTE.format(repeats=repeats)])


def _support_cells(case: Case, support: float, repeats: int) -> tuple[str, ...]:
    try:
        _, seconds = repeated(case, repeats, error=ERROR, support=support)
    except SettingError as error:
        return ("0", "", str(error).partition(". Ask")[0], "")
    exact = case.run(case.settings(error=0.0, support=support))
    top = exact.shown()[0]
    return f"{len(exact.result.scored):,}", f"{seconds:.3f}", *_group_cells(exact, top)[::3]


_SUPPORT_NOTE = (
    "Seconds: sampled with an error of at most 0.05, medians of {repeats}. Highest: by every neighbour of every row, "
    "among rule sets with as many "
    "rows outside as the support asks for, or one in ten. The paper's support binds the inside alone."
)


# --- THEMIS ----------------------------------------------------------------------------------


def themis_part() -> str:
    """The two most different sub-groups beside Table 8."""
    rows = []
    for name in TABLES:
        case = case_of(name)
        run = case.run(case.settings(error=0.0))
        top = run.shown()[0]
        its = _paper_themis(name)
        rows.append((case.source.title, *_group_cells(run, top)[::3], *_themis_cells(run), *its))
    header = (
        *("data", "highest rule set", "score", "THEMIS: most often", "least often", "difference"),
        *("paper: most often", "least often", "difference"),
    )
    return "\n\n".join(["## THEMIS's two sub-groups", markdown(header, rows), _THEMIS_NOTE])


def _paper_themis(name: str) -> tuple[str, str, str]:
    """The group with the favourable outcome most often and the one least often, and the difference."""
    paper = PAPER[name]
    if paper.themis is None:
        return "timeout", "timeout", ""
    most, least, score = paper.themis
    return (least, most, f"{score:.1f} points") if paper.flipped else (most, least, f"{score:.1f} points")


def _themis_cells(run: Outcome) -> tuple[str, str, str]:
    found = run.summary["themis"]
    if found is None:
        return "none of enough rows", "", ""
    most, least = (
        f"{_plain(found[side]['rules'])}: {share_text(found[side]['share'])}" for side in ("highest", "lowest")
    )
    return most, least, points(found["score"])


def _plain(rules: list[dict[str, Any]]) -> str:
    """Rules as the command line says them, in words."""
    parts = []
    for rule in rules:
        is_range = "low" in rule
        parts.append(
            f"{rule['column']} {rule['low']:g} to {rule['high']:g}" if is_range else " or ".join(rule["values"])
        )
    return ", ".join(parts)


_THEMIS_NOTE = (
    "Sub-groups: one value of every protected attribute (age in decades), of those with enough rows; ours by every "
    "neighbour of every row, the paper's by uniformly random rows, which need not be like any person."
)
