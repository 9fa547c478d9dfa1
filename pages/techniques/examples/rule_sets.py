"""Rule sets of a table small enough to check by hand: sixty people, one group that is harmed, a known answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.recorded import Source
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.events import RulesScored
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.phrases import group_text, share_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.oracle.domain import Ranges, Scope
from pages.shared.app.kept import shared
from pages.shared.app.theme import FAVOURED, HARMED

STORY = (
    "Sixty people ask for credit: ten men and ten women of each of three ages. Five of ten get it, everywhere but in "
    "one place."
)
ANSWER = (
    "Of the women under 30, 2 of 10 get credit; of everyone else, 25 of 50. That is a difference of 30 points. "
    "Whoever looks at one attribute at a time sees half of it at most: 10 points between women and men, 15 between "
    "people under 30 and the others."
)
SEXES = ("men", "women")
AGES = (20, 30, 40)
N_IN_CELL = 10
N_PEOPLE = len(SEXES) * len(AGES) * N_IN_CELL
_GRANTED = 5
_GRANTED_TO_YOUNG_WOMEN = 2
MIN_PERCENT = 5
MAX_PERCENT = 50


def granted() -> np.ndarray:
    """How many of the ten of each sex and age get credit ``(2, 3)``."""
    counts = np.full((len(SEXES), len(AGES)), _GRANTED)
    counts[SEXES.index("women"), 0] = _GRANTED_TO_YOUNG_WOMEN
    return counts


def table() -> dict[str, list[str]]:
    """The example as people read it, one line a sex."""
    lines: dict[str, list[str]] = {"Credit": list(SEXES)}
    for place, age in enumerate(AGES):
        lines[f"{age} to {age + 9}"] = [f"{count} of {N_IN_CELL}" for count in granted()[:, place].tolist()]
    return lines


@shared
def example_result(support: float) -> RuleResult:
    """All rule sets of at least a share of the sixty people, as a run over the outcomes scores them; shares are of
    everybody.

    Args:
        support: above 0, at most one half, where men and women are left.
    """
    age = Column("age", Kind.INTEGER, minimum=AGES[0], maximum=AGES[-1] + 9)
    schema = Schema((Column("sex", Kind.CATEGORICAL, codes=SEXES, labels=SEXES), age))
    rows, decided = _people()
    settings = RuleSettings(source=Source.LABELS, support=support, bins=len(AGES))
    subject = AssessedData(rows, decided, None)
    events = run_rules(subject, Ranges(schema, Scope(("sex", "age"))), settings, 0)
    scored = next(event for event in events if isinstance(event, RulesScored))
    result = RuleResult.from_parts(scored.arrays, scored.space)
    exact = result.scored.score  # the sixty are everybody, not a sample
    return replace(result, scored=replace(result.scored, low=exact, high=exact))


def first(result: RuleResult, n: int) -> IntArray:
    """Positions of the first rule sets: one of a family, none that is nearly everybody."""
    scored = result.scored
    is_head = scored.head == np.arange(len(scored))
    return np.flatnonzero(is_head & (scored.is_rest == 0))[:n]


def rules_table(result: RuleResult, positions: IntArray) -> dict[str, list[str]]:
    """Rule sets as people read them: the group, both shares, by how many points they differ."""
    scored = result.scored
    return {
        "Group": [group_text(result, position) for position in positions.tolist()],
        "Inside": [_whole(share_text(float(share))) for share in scored.inside[positions]],
        "Outside": [_whole(share_text(float(share))) for share in scored.outside[positions]],
        "Score": [_points_text(result, position) for position in positions.tolist()],
    }


def _whole(number: str) -> str:
    """A number that stays on one line with its unit."""
    return number.replace(" ", "\u00a0")


def _points_text(result: RuleResult, position: int) -> str:
    meaning = HARMED if result.scored.is_harmed[position] else FAVOURED
    return f"{meaning.symbol} {100 * result.scored.score[position]:.1f} points {meaning.name}"


def what_it_shows(support: float) -> str:
    """What a reader should see at a support."""
    if support * N_PEOPLE <= N_IN_CELL:
        return "The group that is harmed comes first: no single attribute comes near it."
    return (
        "The ten women under 30 are fewer than that, so their group is not looked at: what is left of it shows in "
        "larger groups only, and looks smaller."
    )


def _people() -> tuple[np.ndarray, np.ndarray]:
    """Rows of sex and age ``(60, 2)``, and who gets credit ``(60,)``."""
    cells = [(sex, age, place) for sex in range(len(SEXES)) for place, age in enumerate(AGES)]
    rows = [(sex, age + i) for sex, age, _ in cells for i in range(N_IN_CELL)]
    decided = [i < granted()[sex, place] for sex, _, place in cells for i in range(N_IN_CELL)]
    return np.array(rows, dtype=np.float64), np.array(decided)
