"""Whether a retraining helped, in words: from intervals, with what contradicts said beside what agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fairness_engine.measures.results import Share
from fairness_engine.retraining.evaluation.measure import Examined
from fairness_engine.retraining.results import GroupScore, Measured, PairedChange, Verdict, WorstRuleSet


class Direction(StrEnum):
    """Where a figure went, as far as the interval of its change tells."""

    FELL = "fell"
    ROSE = "rose"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Words:
    """What the two shares of discrimination are shares of, in words.

    Args:
        share: the share that is told of, as a subject: "The share of discriminatory individuals".
        uniform, data: of whom, as in "from 12 % to 0.9 % of the test rows".
        many: who there may be more of than before.
        drawn: who was drawn.
        figures: the two shares in a table.
        meaning: what is measured and what is not, for a model card.
    """

    share: str = "The share of discriminatory individuals"
    uniform: str = "of the individuals of the domain"
    data: str = "of the test rows"
    many: str = "individuals are discriminatory"
    drawn: str = "individuals drawn"
    figures: tuple[str, str] = ("discriminatory, of the domain", "discriminatory, of the test rows")
    meaning: str = (
        "Individual discrimination is what is measured: two people who differ in protected attributes only are "
        "decided differently. Other "
        "columns may stand for a protected attribute, and groups may differ without any such pair."
    )


@dataclass(frozen=True)
class Opinion:
    """A verdict and one or two sentences of why."""

    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Figure:
    """One share before and after.

    Args:
        of: what it is a share of, as in "of the test rows".
        before, after: shares.
        direction: what the interval of the change tells.
    """

    of: str
    before: float
    after: float
    direction: Direction

    @classmethod
    def paired(cls, of: str, before: Share, after: Share, change: PairedChange) -> Figure:
        """Of the same individuals looked at twice."""
        fell_or_rose = Direction.FELL if change.is_fall else Direction.ROSE if change.is_rise else Direction.UNCLEAR
        return cls(of, before.share, after.share, fell_or_rose)

    @property
    def text(self) -> str:
        """As in "from 12 % to 0.9 % of the test rows"."""
        return f"from {percent(self.before)} to {percent(self.after)} {self.of}"


def compare(
    before: Measured,
    after: Measured,
    accuracy: PairedChange,
    uniform: PairedChange,
    data: PairedChange,
    words: Words | None = None,
) -> Opinion:
    """The opinion on individual discrimination: both shares are looked at, and neither may have risen.

    A share fell, or rose, when the whole interval of the paired change says so. Uniform individuals and rows of the
    data can go opposite ways, as in published retrained networks: that is no improvement, and is said.

    Args:
        before, after: on the held-out rows and the same draws.
        accuracy, uniform, data: the paired changes.
        words: of what these are shares; ``None`` for a table.
    """
    words = words or Words()
    figures = (
        Figure.paired(words.uniform, before.uniform, after.uniform, uniform),
        Figure.paired(words.data, before.data, after.data, data),
    )
    return Opinion(_verdict(figures), f"{_shares_text(figures, words.share)} {accuracy_text(before, after, accuracy)}")


def compare_rule_set(
    worst: WorstRuleSet, before: GroupScore, after: GroupScore, shares: Opinion, words: Words | None = None
) -> Opinion:
    """The opinion on a retraining whose aim was a rule set: its score decides, and the shares may not be worse.

    A paired change of what the score is made of, where there is one, tells more than two intervals apart. Where the
    worst rule set of the new model is another one, one as bad as the first was is no improvement, whatever became of
    the first; one that is worse for certain is a worse model.

    Args:
        worst: the rule set.
        before, after: its scores.
        shares: what ``compare`` says.
        words: as there.
    """
    change = worst.change
    is_fall = after.high < before.low
    is_rise = after.low > before.high
    if change is not None:
        is_fall = after.score < before.score and change.is_fall
        is_rise = after.score > before.score and change.is_rise
    direction = Direction.FELL if is_fall else Direction.ROSE if is_rise else Direction.UNCLEAR
    why_unclear = "the intervals overlap" if change is None else "too few decisions changed"
    subject = f"The score of the rule set that was to be mended ({worst.group})"
    moved = f"from {100 * before.score:.1f} to {100 * after.score:.1f} points"
    said = {
        Direction.FELL: f"{subject} fell {moved}.",
        Direction.ROSE: f"{subject} rose {moved}.",
        Direction.UNCLEAR: f"{subject} went {moved}; {why_unclear}, so that may be chance.",
    }[direction]
    verdict = {
        Direction.FELL: Verdict.IMPROVED,
        Direction.ROSE: Verdict.WORSE,
        Direction.UNCLEAR: Verdict.NO_IMPROVEMENT,
    }[direction]
    other = worst.worst_after
    if other is not None and other.rules != worst.rules and other.score > 0:
        said += f" The worst of the new model is another one: {other.group}, {100 * other.score:.1f} points."
        if other.low > before.high:
            verdict = Verdict.WORSE
            said = f"{said} That is more than the worst had before."
        elif other.score >= before.score and verdict is Verdict.IMPROVED:
            verdict = Verdict.NO_IMPROVEMENT
            said = f"{said} The worst before had no more."
    if verdict is Verdict.IMPROVED and shares.verdict is Verdict.WORSE:
        verdict = Verdict.NO_IMPROVEMENT
        said = f"{said} But more {(words or Words()).many} than before."
    return Opinion(verdict, f"{said} {shares.why}")


def where_all_alike(opinion: Opinion, before: Examined, after: Examined, classes: Sequence[str]) -> Opinion:
    """The opinion on a new model that decides every test row alike: whatever fell, nobody is told apart any more, and
    that is no improvement. On another model as it is.

    Args:
        opinion: of the figures alone.
        before, after: the original, and the new model.
        classes: what the model's classes are called.
    """
    if len(set(after.decided.tolist())) != 1:
        return opinion
    is_same = set(before.decided.tolist()) == set(after.decided.tolist())
    said = (
        f"The new model decides every one of the {len(after.decided):,} test rows "
        f"as '{classes[after.decided[0]]}'{', as the original does' if is_same else ''}: a share that falls where "
        "nobody is told apart is no improvement."
    )
    verdict = Verdict.NO_IMPROVEMENT if opinion.verdict is Verdict.IMPROVED else opinion.verdict
    return Opinion(verdict, f"{said} {opinion.why}")


def _verdict(figures: tuple[Figure, ...]) -> Verdict:
    went = {figure.direction for figure in figures}
    if Direction.ROSE in went:
        return Verdict.NO_IMPROVEMENT if Direction.FELL in went else Verdict.WORSE
    return Verdict.IMPROVED if Direction.FELL in went else Verdict.NO_IMPROVEMENT


def _shares_text(figures: tuple[Figure, ...], subject: str) -> str:
    first, second = sorted(figures, key=lambda figure: list(Direction).index(figure.direction))
    one = first.direction
    other = second.direction
    if one is other is Direction.UNCLEAR:
        return f"{subject} did not change by more than chance explains: {first.text}, and {second.text}."
    if one is other:
        return f"{subject} {one} {first.text}, and {second.text}."
    if other is Direction.UNCLEAR:
        return f"{subject} {one} {first.text}; {second.text} is no more than chance explains."
    return f"The shares contradict each other: {one} {first.text}, but {other} {second.text}."


def accuracy_text(before: Measured, after: Measured, change: PairedChange) -> str:
    """What became of the accuracy, with the interval of the paired change in points."""
    low, value, high = (points(end) for end in (change.low, change.value, change.high))
    was, now = (percent(each.quality.accuracy.value) for each in (before, after))
    unit = "point" if value in ("+1", "-1") else "points"
    return (
        f"Accuracy on the {change.n:,} test rows went from {was} to {now} ({value} {unit}, 95 % interval {low} to "
        f"{high})."
    )


def percent(share: float) -> str:
    """A share with three digits that matter: "12.3 %", "0.0412 %"; nothing is "0 %"."""
    value = 100 * share
    if value == 0:
        return "0 %"
    return f"{value:.1f} %" if abs(value) >= 10 else f"{float(f'{value:.2g}'):g} %"


def in_points(share: float) -> str:
    """How much a share is in points, without a sign: "1 point", "0.5 points"."""
    text = points(share).lstrip("+")
    return f"{text} point" if text == "1" else f"{text} points"


def points(change: float) -> str:
    """A change of a share in points, with its sign."""
    value = round(100 * change, 2)
    return f"{value:+g}" if value else "0"
