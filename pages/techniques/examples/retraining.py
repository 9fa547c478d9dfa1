"""A retraining small enough to check by hand: twelve people, a model of two limits, before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pages.shared.app.wording import DASH, counted

STORY = (
    "Twelve people asked for credit, a woman and a man of each income from 1 to 6. The men got it from income 3 on, "
    "the women from income 5 on. The model learns a limit for women and one for men: those with the fewest mistakes."
)
ANSWER = (
    "It repeats what happened: limits 5 and 3, no mistake, and at incomes 3 and 4 the decision hangs on sex, which is "
    "4 of the 12 people. "
    "Those two incomes are the cases. Each case adds its woman and its man twice, with one label for both."
)
INCOMES = np.arange(1, 7)
COPIES = 2
WOMEN = 0
MEN = 1
_N_GRANTED_FROM = {WOMEN: 5, MEN: 3}
_NAMES = {WOMEN: ("woman", "women"), MEN: ("man", "men")}
LABELS = {"Granted": True, "Refused": False}
"""What a case may be labelled, as the choice says it."""


@dataclass(frozen=True)
class Round:
    """The model after some cases were added.

    Args:
        incomes: of the cases.
        limits: of women and of men; a limit above the highest income grants nothing.
        n_right: people of the twelve who are decided as they were before.
        n_discriminatory: people of the twelve whose decision hangs on sex.
    """

    incomes: tuple[int, ...]
    limits: tuple[int, int]
    n_right: int
    n_discriminatory: int


def people() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Income, sex and whether credit was granted, of the twelve."""
    income = np.tile(INCOMES, 2)
    sex = np.repeat([WOMEN, MEN], len(INCOMES))
    granted_from = np.where(sex == WOMEN, _N_GRANTED_FROM[WOMEN], _N_GRANTED_FROM[MEN])
    return income, sex, income >= granted_from


def trained(income: np.ndarray, sex: np.ndarray, granted: np.ndarray) -> tuple[int, int]:
    """For each sex the limit with the fewest mistakes, the lowest of equals."""
    limits = np.arange(INCOMES[0], INCOMES[-1] + 2)

    def best(one: int) -> int:
        mistakes = ((income[sex == one] >= limits[:, None]) != granted[sex == one]).sum(axis=1)
        return int(limits[mistakes.argmin()])

    return best(WOMEN), best(MEN)


def rounds(*, is_granted: bool) -> list[Round]:
    """The model without a case, with the first and with both; a case is taken first where the limit that has to move is
    next to it.

    Args:
        is_granted: the label of both people of a case.
    """
    income, sex, granted = people()
    women, men = trained(income, sex, granted)
    cases = [int(each) for each in INCOMES if min(women, men) <= each < max(women, men)]
    cases = cases[::-1] if is_granted else cases
    made = []
    for n in range(len(cases) + 1):
        added = np.tile(np.repeat(np.array(cases[:n], dtype=np.int64), 2), COPIES)
        both = np.tile([WOMEN, MEN], n * COPIES)
        labels = np.full(len(added), is_granted)
        limits = trained(np.append(income, added), np.append(sex, both), np.append(granted, labels))
        decided = income >= np.array(limits)[sex]
        hangs = (income >= limits[WOMEN]) != (income >= limits[MEN])
        made.append(Round(tuple(cases[:n]), limits, int((decided == granted).sum()), int(hangs.sum())))
    return made


def chosen(made: list[Round], tolerance: int) -> Round:
    """The round with the fewest discriminatory people among those within the tolerance.

    Args:
        tolerance: by how many of the twelve it may be right less often than the model before.
    """
    within = [each for each in made if made[0].n_right - each.n_right <= tolerance]
    return min(within, key=lambda each: each.n_discriminatory)


def rounds_table(made: list[Round], tolerance: int) -> dict[str, list[str]]:
    """Rounds as people read them, one line a round."""
    kept = chosen(made, tolerance)
    return {
        "Cases": [" and ".join(f"income {each}" for each in one.incomes) or "none" for one in made],
        "Limit of women": [str(one.limits[WOMEN]) for one in made],
        "Limit of men": [str(one.limits[MEN]) for one in made],
        "Discriminatory": [f"{one.n_discriminatory} of {2 * len(INCOMES)}" for one in made],
        "Right": [f"{one.n_right} of {2 * len(INCOMES)}" for one in made],
        "": [_standing(one, made[0], kept, tolerance) for one in made],
    }


def _standing(one: Round, before: Round, kept: Round, tolerance: int) -> str:
    if one is kept:
        return "**before, kept**" if one is before else "**kept**"
    if one is before:
        return "before"
    return DASH if before.n_right - one.n_right <= tolerance else "beyond the tolerance"


def what_it_shows(made: list[Round], tolerance: int) -> str:
    """What became of whom, in a sentence or two."""
    kept = chosen(made, tolerance)
    before = made[0]
    if kept is before:
        return (
            "No improvement: every model with fewer discriminatory people is beyond the tolerance, so the original "
            "stays. The labels "
            "themselves discriminate here, so fewer discriminatory people always means more decisions unlike them."
        )
    moved = WOMEN if kept.limits[WOMEN] != before.limits[WOMEN] else MEN
    n = abs(before.limits[moved] - kept.limits[moved])
    verb = "gain" if kept.limits[moved] < before.limits[moved] else "lose"
    who = counted(n, *_NAMES[moved])
    return (
        f"{who} {verb}{'s' if n == 1 else ''} credit, and nobody else's decision changes: the label of the cases "
        "decides whether the one side gains or the other loses. The model is right less often, which cannot be "
        "otherwise where the labels themselves discriminate. A real retraining counts on people who were kept out of "
        "training; here they are the same twelve."
    )
