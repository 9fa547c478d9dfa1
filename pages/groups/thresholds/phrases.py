"""What the page says of other decision thresholds; nothing here is escaped."""

from __future__ import annotations

import numpy as np

from fairness_engine.groups.figures.report import FOUR_FIFTHS, LEAST_SHARE, Bounded, GroupReport, GroupTable
from fairness_engine.groups.figures.thresholds import ThresholdCost, ThresholdCounts
from pages.groups.figures.phrases import rows_sentence
from pages.shared.app import wording

MEANING = (
    "Every figure is an exact count: the model is asked once for the score of each row, and a row is decided for class "
    "1 where its score is above the threshold, as the model itself does.",
    "Intervals are those of *Group figures*: of each rate on its own, of the impact ratios of one threshold together. "
    "They do not know that a threshold was picked by looking: on other people a picked one is likely to do a little "
    "worse. Measure it again on data that it was not picked on.",
    "Four fifths is a convention of personnel selection in the United States (29 CFR 1607.4 D, 1978), not a law for "
    "other decisions. A ratio can also reach it because nearly everybody, or nearly nobody, is favoured: look at the "
    "rates.",
    "One threshold for everybody treats equal scores alike. It says nothing of why the scores of groups differ, nor of "
    "individuals: searches and certification are for that.",
    "Accuracy is agreement with what the data recorded. Where the records themselves are unequal, so is it.",
)
_LEAST_POSITIONAL = 1e-6


def threshold_text(threshold: float) -> str:
    """A threshold with all its digits, so that no two read alike: ``0.31``, ``−1.25``, ``2e−12``."""
    is_plain = threshold == 0 or abs(threshold) >= _LEAST_POSITIONAL
    text = (
        np.format_float_positional(threshold, trim="-") if is_plain else np.format_float_scientific(threshold, trim="-")
    )
    return text.replace("-", "−")


def signed(number: float, text: str) -> str:
    """A text of an amount with the sign of the number, and none where the amount is read as 0."""
    is_zero = not any(digit in text for digit in "123456789")
    return text if is_zero else f"{'+' if number > 0 else '−'}{text}"


def points_text(change: float, decimals: int = 1) -> str:
    """A change of a share in points of a percent: ``−1.8``."""
    return signed(change, f"{100 * abs(change):.{decimals}f}")


def change_text(change: Bounded) -> str:
    """The same with its interval: ``−1.8 points (−2.1 to −1.5)``."""
    decimals = 1 if change.high - change.low > 0.002 else 2
    low, high = (points_text(end, decimals) for end in (change.low, change.high))
    return f"{points_text(change.value, decimals)} points ({low} to {high})"


def percent(share: float) -> str:
    """A share with one decimal, so that a small step of the slider shows."""
    return f"{100 * share:.1f} %"


def of_rows(counts: ThresholdCounts, table: GroupTable, favourable: str) -> str:
    """What the figures are of."""
    report = GroupReport((table,), counts.n_rows, counts.n_left_out, "", counts.n_incomplete)
    few = f" Few: under {100 * LEAST_SHARE:g} % of the rows, no measure for others." if table.small else ""
    return rows_sentence(report, favourable) + few


def offered(counts: ThresholdCounts) -> str:
    """Which thresholds there are to choose from."""
    n_scores = wording.counted(counts.n_scores, "different score")
    own = "" if counts.own == counts.present else f" The model's own threshold is {_own_text(counts)}."
    if counts.is_every:
        return f"The rows have {n_scores}: every decision that a threshold can make of them is offered.{own}"
    n = wording.count(len(counts.thresholds))
    return (
        f"The rows have {n_scores}. {n} thresholds are offered, at equal parts of the rows and at equal steps of the "
        f"score.{own}"
    )


def _own_text(counts: ThresholdCounts) -> str:
    return threshold_text(float(counts.thresholds[counts.own]))


def lowest_ratio(table: GroupTable) -> Bounded | None:
    """The impact ratio of the group compared that has the lowest; ``None`` where there is nothing to compare."""
    best = table.most_favoured
    found = [group.impact for group in table.compared if group is not best and group.impact is not None]
    return min(found, key=lambda impact: impact.value, default=None)


def cost_sentence(counts: ThresholdCounts, cost: ThresholdCost, favourable: str) -> str:
    """What the chosen threshold would change."""
    now = threshold_text(float(counts.thresholds[counts.present]))
    if not cost.n_changed:
        return f"As decided now, at {now}: no decision changes."
    rows = f"{wording.counted(cost.n_changed, 'row')} ({percent(cost.n_changed / counts.n_rows)})"
    get, lose = ("get", "lose") if cost.n_gained else ("lose", "get")
    text = f"Against the present threshold {now}, {rows} would {get} “{favourable}” and none would {lose} it."
    if cost.accuracy_change is None:
        return text
    return (
        f"{text} {wording.count(cost.n_right)} of these decisions would then be what the data recorded, "
        f"{wording.count(cost.n_wrong)} no longer: accuracy {change_text(cost.accuracy_change)}."
    )


def found_sentence(counts: ThresholdCounts) -> str:
    """Where four fifths are first reached, and what that costs."""
    convention = f"four fifths ({FOUR_FIFTHS:g}, a convention)"
    position = counts.four_fifths
    if position is None:
        return f"No threshold that is offered lets every group compared reach {convention} of the most favoured."
    at = threshold_text(float(counts.thresholds[position]))
    if position == counts.present:
        return f"At the present threshold every group compared reaches {convention} of the most favoured already."
    cost = counts.cost(position)
    share = float(counts.favourable[position].sum() / counts.n_rows)
    then = f"{wording.counted(cost.n_changed, 'decision')} changed, {percent(share)} favourable in all"
    if cost.accuracy_change is not None:
        then += f", accuracy {change_text(cost.accuracy_change)}"
    return f"With the fewest decisions changed, every group compared reaches {convention} at {at}: {then}."


def rates_title(counts: ThresholdCounts, position: int) -> str:
    """What stands above the table of groups."""
    now, then = (threshold_text(float(counts.thresholds[at])) for at in (counts.present, position))
    return f"Favourable outcome, now at {now} and then at {then}" if now != then else f"Favourable outcome at {now}"


ODDS_TITLE = "True and false positive rates: of those whose recorded outcome is, and is not, favourable"


def use_sentence(counts: ThresholdCounts, position: int) -> str:
    """What using the chosen threshold does."""
    chosen = threshold_text(float(counts.thresholds[position]))
    own = ", the model's own" if position == counts.own else ""
    return f"The review would decide at {chosen}{own}, as if it was set under Scope. The model's file stays as it is."
