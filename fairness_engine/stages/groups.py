"""The stage of TestSGD: groups as rectangles, women and men apart, each rate against everyone else's."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.events import RulesScored
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.oracle.domain import Ranges, Scope
from fairness_engine.stages.small_models import AGE, HIGHEST_INCOME, INCOME, SEX, SEXES, SmallModel
from fairness_engine.stages.stage import Area, PanelLine, Stage, StageStep, counted

_SETTINGS = RuleSettings(support=0.05, bins=6)
_N_FIRST = 5


def groups_stage(small: SmallModel) -> Stage:
    """Groups of sex and age, grown range by range, and the first of all."""
    schema = small.domain.schema
    subject = AssessedData(small.people, None, small.model)
    events = run_rules(subject, Ranges(schema, Scope(("sex", "age"))), _SETTINGS, 0)
    scored = next(event for event in events if isinstance(event, RulesScored))
    result = RuleResult.from_parts(scored.arrays, scored.space)
    granted = small.model.decide(small.model.scores(small.people))
    dots = [
        (round(row[SEX]), round(row[INCOME]), round(row[AGE]), int(is_granted))
        for row, is_granted in zip(small.people, granted.tolist(), strict=True)
    ]
    steps = [
        StageStep(
            f"{counted(len(dots), 'person', 'people')} of the data, women on the left, men on the right. Filled "
            "circles get the loan, rings do not. Which group gets it less often than everyone else?",
            "before",
            cloud=dots,
            figures={"Groups scored": "0"},
        )
    ]
    for n, (position, says) in enumerate(_tour(result), start=1):
        steps.append(
            StageStep(
                says,
                "growing a group" if n <= len(_grown(result)) else "in order of the score",
                cloud=dots,
                areas=_areas(result, position),
                panel_title=group_text(result, position),
                panel=_panel(result, position),
                figures={"Groups scored": f"{len(result.scored):,}"},
            )
        )
    names = tuple(SEXES)
    women, men = small.granted()
    whole = ["".join("1" if each else "0" for each in side[0].ravel()) for side in (women, men)]
    return Stage(
        "testsgd",
        small,
        "Makes every group that values of the protected attributes can make: a sex, a range of ages, both together. Of "
        "each it compares the share who get the loan with that of everyone else, over people of the data and people "
        "one small step away. The largest differences come first.",
        f"Ages are cut into {_SETTINGS.bins} ranges, 10 in a real run. Sex and age are both protected here. Every "
        "person one step away was evaluated, so the shares are exact; where samples are drawn, they have intervals.",
        steps,
        names,
        tuple(whole),
    )


def _grown(result: RuleResult) -> list[int]:
    """Positions of the groups of women that begin with the youngest, the smallest first."""
    sexes = result.attributes[0].members
    ages = result.attributes[1].members
    found = []
    for position, line in enumerate(result.scored.rules.tolist()):
        of_women = line[0] >= 0 and sexes[line[0]].tolist() == [True, False]
        from_youngest = line[1] >= 0 and ages[line[1]][0]
        if of_women and from_youngest:
            found.append((int(ages[line[1]].sum()), position))
    return [position for _, position in sorted(found)]


def _tour(result: RuleResult) -> list[tuple[int, str]]:
    """Groups in the order in which they are shown, and what is said of each."""
    scored = result.scored
    tour = []
    before = -1.0
    for position in _grown(result):
        score = float(scored.score[position])
        change = ""
        if before >= 0:
            change = " The difference shrinks: the group takes in people who are treated as everyone else."
            if score > before:
                change = " The difference grows with the group."
        tour.append((position, f"{_compared(result, position)}{change}"))
        before = score
    heads: IntArray = np.flatnonzero((scored.head == np.arange(len(scored))) & (scored.is_rest == 0))[:_N_FIRST]
    for rank, position in enumerate(heads.tolist(), start=1):
        order = {1: "The first of all", 2: "The second", 3: "The third", 4: "The fourth", 5: "The fifth"}[rank]
        alone = _one_at_a_time(result, position) if rank == 1 else ""
        tour.append(
            (
                position,
                f"{order} of {len(scored):,} groups, near duplicates folded. {_compared(result, position)}{alone}",
            )
        )
    return tour


def _one_at_a_time(result: RuleResult, position: int) -> str:
    """What whoever looks at one attribute at a time sees of a group of two."""
    rules = result.scored.rules
    points = []
    for attribute, rule in enumerate(rules[position].tolist()):
        others = np.delete(rules, attribute, axis=1)
        (single,) = np.flatnonzero((rules[:, attribute] == rule) & (others == NO_RULE).all(axis=1)).tolist()
        points.append(f"{group_text(result, single)} by {100 * result.scored.score[single]:.0f}")
    return f" One attribute at a time shows less: {' and '.join(points)}."


def _compared(result: RuleResult, position: int) -> str:
    scored = result.scored
    text = group_text(result, position)
    return (
        f"{text[0].upper()}{text[1:]}: {100 * scored.inside[position]:.0f} % get the loan, of everyone else "
        f"{100 * scored.outside[position]:.0f} %, a difference of {100 * scored.score[position]:.0f} points."
    )


def _panel(result: RuleResult, position: int) -> list[PanelLine]:
    scored = result.scored
    inside = float(scored.inside[position])
    outside = float(scored.outside[position])
    return [
        PanelLine("inside", f"{100 * inside:.1f} %", round(inside, 4), is_marked=True),
        PanelLine("everyone else", f"{100 * outside:.1f} %", round(outside, 4)),
        PanelLine("difference", f"{100 * scored.score[position]:.1f} points"),
        PanelLine("of the data", f"{100 * scored.n_rows[position] / result.n_rows:.0f} %"),
    ]


def _areas(result: RuleResult, position: int) -> list[tuple[int, int, int, int, int, str]]:
    """A rectangle on the plane of each sex that the group takes in; every income."""
    line = result.scored.rules[position].tolist()
    sexes = result.attributes[0].members[line[0]] if line[0] >= 0 else np.ones(len(SEXES), dtype=bool)
    age = result.attributes[1]
    members = age.members[line[1]] if line[1] >= 0 else np.ones(age.n_values, dtype=bool)
    taken = np.flatnonzero(members)
    low = round(age.lows[int(taken[0])])
    high = round(age.highs[int(taken[-1])])
    return [(plane, 0, HIGHEST_INCOME, low, high, str(Area.GROUP)) for plane in np.flatnonzero(sexes).tolist()]
