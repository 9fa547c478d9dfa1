"""What the page says of a run of rule sets, in plain sentences; nothing here is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.words import group_text, share_text
from pages.components import theme, wording

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord

EXACT, ROWS = 3, 4
"""``scores.Stage``, which is not imported: it brings SciPy along."""


def summary(run: RunRecord, result: RuleResult, counts: Mapping[str, Any]) -> list[str]:
    """What was found and how sure it is: a sentence on the largest difference, one on how it was measured."""
    return [headline(result), method(run, result, counts)]


def headline(result: RuleResult) -> str:
    """The group with the largest difference, and in which direction."""
    position = 0
    scored = result.scored
    if scored.low[position] <= 0:
        return (
            "No group stands out: the largest difference, "
            f"{points(float(scored.score[position]))}, is within what chance alone can do with so many groups looked at."
        )
    text = group_sentence(result, position)
    return f"{text} This is the largest difference."


def group_sentence(result: RuleResult, position: int, favourable: str = "favourable") -> str:
    """``▼ Men aged 40 to 59: 9.7 % favourable, everyone else 29.9 %.``"""
    scored = result.scored
    inside, outside = share_text(float(scored.inside[position])), share_text(float(scored.outside[position]))
    group = capitalised(group_text(result, position))
    return f"{direction(result, position).symbol} {group}: {inside} {favourable}, {others(result)} {outside}."


def others(result: RuleResult) -> str:
    """Who a group is compared with."""
    is_text = any(attribute.kind == "term" for attribute in result.attributes)
    return "the same texts with other terms" if is_text else "everyone else"


def direction(result: RuleResult, position: int) -> theme.Meaning:
    """Whether fewer or more of the group than of everyone else get the favourable outcome."""
    return theme.HARMED if bool(result.scored.is_harmed[position]) else theme.FAVOURED


def capitalised(text: str) -> str:
    """With a capital first letter; what begins with a quotation mark or a digit stays."""
    return text[:1].upper() + text[1:]


def points(score: float) -> str:
    """A difference of shares: ``20.2 points``; small ones with two significant digits."""
    return f"{share_text(score).removesuffix(' %')} points"


def score_text(result: RuleResult, position: int) -> str:
    """The score and its interval: ``20.2 points (18.1-22.4)``, ``20.2 points, exact``."""
    scored = result.scored
    score, low, high = (float(each[position]) for each in (scored.score, scored.low, scored.high))
    if low == high:
        return f"{points(score)}, exact"
    return f"{points(score)} ({100 * low:.1f}-{100 * high:.1f})"


def rows_text(result: RuleResult, position: int) -> str:
    """How many rows of the data the group has: ``412 rows (10 %)``."""
    n = int(result.scored.n_rows[position])
    return f"{wording.counted(n, 'row')} ({wording.share(n / result.n_rows)})"


def method(run: RunRecord, result: RuleResult, counts: Mapping[str, Any]) -> str:
    """How many rule sets there are, how many are shown, what their shares are of, and how far the intervals hold."""
    settings, scored = run.config.settings, result.scored
    n_shown = int(counts.get("n_shown", 0))
    text = f"{wording.counted(len(scored), 'rule set')} of at least {wording.share(settings['support'])} of "
    text += f"{wording.counted(result.n_rows, 'row')}"
    if n_shown < len(scored):
        text += f", {wording.count(n_shown)} of them shown after near-duplicates are folded"
    return f"{text}. {sampling_text(run, result, counts)}"


def sampling_text(run: RunRecord, result: RuleResult, counts: Mapping[str, Any]) -> str:
    """What the shares are shares of, and what holds together."""
    settings, stage = run.config.settings, result.scored.stage
    confidence = wording.share(settings["confidence"])
    took = wording.duration(run.seconds)
    joint = f"All intervals hold together with {confidence} confidence"
    if (stage == ROWS).all():
        name = settings.get("predictions") or run.config.schema.label or "the label"
        return f"Shares are of the rows themselves, as “{name}” decides them; no model was asked. {joint}."
    evaluated = f"{wording.counted(run.evaluations, 'row')} evaluated in {took}"
    if (stage == EXACT).all():
        n = counts.get("n_neighbours")
        people = f"all {wording.count(n)} neighbours of the rows" if n else "all neighbours of the rows"
        return f"Exact: {people} were evaluated, nothing was left to chance ({evaluated})."
    errors = scored_errors(result)
    limit = wording.share(settings["error"]) if settings["error"] else "0 %"
    met = (
        f"Each score is off by at most {limit.removesuffix(' %')} points at 95 % confidence for itself"
        if errors <= settings["error"]
        else f"Scores are off by up to {100 * errors:.1f} points at 95 % confidence each, more than the {limit} asked for"
    )
    return f"{met}; {joint[0].lower()}{joint[1:]}. Sampled from the neighbours of the rows: {evaluated}."


def scored_errors(result: RuleResult) -> float:
    """The largest error of a score."""
    return float(np.max(result.scored.error)) if len(result.scored) else 0.0
