"""What the page says of a run of rule sets, in plain sentences; nothing here is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.groups.results import RuleSummary
from fairness_engine.groups.rule_sets.phrases import categories, group_text, share_text
from fairness_engine.groups.rule_sets.result import RuleResult, Stage
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.runs.kinds import RULES
from pages.shared.app import theme, wording

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord

_NEIGHBOURS = (
    "Shares are of decisions on neighbours: rows of the data with one attribute, not a protected one, moved by a step."
)
_OWN_WORDS = ("people", "men", "women", "texts", "not", "everyone", "the")


def headline(result: RuleResult, position: int | None) -> str:
    """The group with the largest difference, and in which direction; of those that are no chance, where there is one.

    Args:
        result: of a run.
        position: of the rule set on top, ``None`` where all are nearly everybody.
    """
    if position is None:
        return "Every group that is large enough is nearly everybody: there is hardly anybody to compare it with."
    told = told_of(result, position)
    largest = score_text(result, position)
    if told is None:
        return (
            f"No group stands out: the largest difference, {largest}, may be chance with so many groups "
            "looked at. This does not show that there is none: more samples, or smaller groups, may find one."
        )
    if told != position:
        return (
            f"{group_sentence(result, told)} This is the largest difference that is more than chance: "
            f"{score_text(result, told)}. Larger ones, such as {largest}, may be chance with so many groups looked at."
        )
    top = int(np.flatnonzero(result.scored.is_rest == 0)[0])
    if top == position:
        return f"{group_sentence(result, position)} This is the largest difference: {largest}."
    return (
        f"{group_sentence(result, position)} This is the largest difference once near-duplicates are folded: "
        f"{largest}. Rank {wording.count(top + 1)} has {points(float(result.scored.score[top]))}, but is folded into a "
        "group further down that is nearly the same people, or nearly everyone else."
    )


def told_of(result: RuleResult, position: int) -> int | None:
    """The rule set that the headline tells: the one on top, or the highest whose interval does not reach down to 0.

    Args:
        result: of a run.
        position: of the rule set on top.
    """
    if result.scored.low[position] > 0:
        return position
    sure = np.flatnonzero((result.scored.low > 0) & (result.scored.is_rest == 0))
    if not len(sure):
        return None
    head = int(result.scored.head[sure[0]])
    return head if head >= 0 and result.scored.low[head] > 0 and not result.scored.is_rest[head] else int(sure[0])


def is_of_texts(result: RuleResult) -> bool:
    """Whether the rule sets are of terms in texts."""
    return any(attribute.kind == "term" for attribute in result.attributes)


def group_sentence(result: RuleResult, position: int, favourable: str = "favourable") -> str:
    """``▼ Men aged 40 to 59: 9.7 % favourable, everyone else 29.9 %.``"""
    scored = result.scored
    inside = share_text(float(scored.inside[position]))
    outside = share_text(float(scored.outside[position]))
    group = capitalised(group_text(result, position))
    return f"{direction(result, position).symbol} {group}: {inside} {favourable}, {others(result)} {outside}."


def noun_of(result: RuleResult) -> str:
    """What the data are made of."""
    return "text" if is_of_texts(result) else "row"


def others(result: RuleResult) -> str:
    """Who a group is compared with."""
    return "the same texts with other terms" if is_of_texts(result) else "everyone else"


def is_exact(result: RuleResult) -> bool:
    """Whether every neighbour was evaluated, so that no score has an interval."""
    return bool((result.scored.stage == Stage.EXACT).all())


def direction(result: RuleResult, position: int) -> theme.Meaning:
    """Whether fewer or more of the group than of everyone else get the favourable outcome."""
    return theme.HARMED if bool(result.scored.is_harmed[position]) else theme.FAVOURED


def capitalised(text: str) -> str:
    """With a capital first letter where it begins with one of our own words; names of columns and labels stay as they
    are.
    """
    return text[:1].upper() + text[1:] if text.partition(" ")[0].rstrip(",") in _OWN_WORDS else text


def points(score: float) -> str:
    """A difference of shares: ``20.2 points``; small ones with two significant digits."""
    return f"{share_text(score).removesuffix(' %')} points"


def score_text(result: RuleResult, position: int) -> str:
    """The score and its interval: ``20.2 points (18.1-22.4)``, ``20.2 points, counted``."""
    scored = result.scored
    score, low, high = (float(each[position]) for each in (scored.score, scored.low, scored.high))
    if low == high:
        return f"{points(score)}, counted"
    return f"{points(score)} ({100 * low:.1f}-{100 * high:.1f})"


def rows_text(result: RuleResult, position: int) -> str:
    """How many rows of the data the group has: ``412 rows (10 %)``; of texts, those that hold a term of its
    categories.
    """
    n = int(result.scored.n_rows[position])
    text = f"{wording.counted(n, noun_of(result))} ({wording.share(n / result.n_rows)})"
    if not is_of_texts(result):
        return text
    return f"{text} with a term of {' and of '.join(categories(result, position))}"


def method(run: RunRecord, result: RuleResult, counts: RuleSummary | None) -> str:
    """How many rule sets there are, how many are shown, what their shares are of, and how far the intervals hold."""
    settings = RULES.settings(run.config)
    scored = result.scored
    n_shown = counts.n_shown if counts else 0
    of_all = f"{_whole(settings.support)} of the {wording.counted(result.n_rows, noun_of(result))}"
    text = f"{wording.counted(len(scored), 'rule set')} of at least {of_all}"
    n_looked_at = int((scored.head >= 0).sum())
    if 0 < n_shown < n_looked_at:
        highest = f" of the highest {wording.count(n_looked_at)}" if n_looked_at < len(scored) else ""
        text += f", {wording.count(n_shown)}{highest} left after near-duplicates are folded"
    return f"{text}. {sampling_text(run, result, counts)}"


def sampling_text(run: RunRecord, result: RuleResult, counts: RuleSummary | None) -> str:
    """What the shares are shares of, and what holds together."""
    settings = RULES.settings(run.config)
    stage = result.scored.stage
    joint = f"intervals hold for all of them together with {_whole(settings.confidence)} confidence"
    if (stage == Stage.ROWS).all():
        name = settings.predictions or run.config.schema.label or "the label"
        return f"Shares are of the rows themselves, as “{name}” has them; no model was asked. The {joint}."
    evaluated = f"{wording.counted(run.evaluations, noun_of(result))} evaluated in {wording.duration(run.seconds)}"
    if is_exact(result):
        if is_of_texts(result):
            return f"Exact: every text was decided with every term, nothing was left to chance ({evaluated})."
        n = counts.n_neighbours if counts else 0
        every = f"all {wording.count(n)} neighbours of the rows" if n else "all neighbours of the rows"
        return f"{_NEIGHBOURS} Exact: {every} were evaluated, nothing was left to chance ({evaluated})."
    return f"{_NEIGHBOURS} {_error_text(settings, result)}; {joint}. Sampled: {evaluated}."


def _error_text(settings: RuleSettings, result: RuleResult) -> str:
    """By how much a score may be off, and whether that is what was asked for."""
    error = float(np.max(result.scored.error))
    asked = settings.error
    if error <= asked:
        return (
            f"Each score is off by at most {100 * asked:g} points at {_whole(settings.confidence)} confidence for "
            "itself"
        )
    return (
        f"Some scores are off by up to {100 * error:.1f} points, more than the {100 * asked:g} asked for: the run "
        "ended early"
    )


def _whole(share: float) -> str:
    """A share that somebody chose, as they wrote it."""
    return f"{100 * share:g} %"
