"""How a retraining came out: the result ``retrained``, with a verdict and its reasons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from fairness_engine.models.encoders.linked import spelling_of
from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.evaluation.split import Split
from fairness_engine.retraining.evaluation.verdict import (
    Opinion,
    Words,
    compare,
    compare_rule_set,
    in_points,
    percent,
    points,
)
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.results import Changes, Measured, Retrained, Round, Verdict, WorstRuleSet
from fairness_engine.retraining.session import RoundsLog
from fairness_engine.retraining.settings import RetrainSettings, Strategy
from fairness_engine.retraining.strategy import Validation
from fairness_engine.retraining.subject import Retrainable, RetrainingTask

_MOST_VALUES = 12
"""Of an attribute that a note names."""
_AS_IT_IS = "the model as it is, with a threshold for each group"


@dataclass(frozen=True)
class ChosenModel:
    """The model that a retraining ends with.

    Args:
        round: its number.
        objective: what chose it.
        has_file: a file of it was sent.
        no_file: why there is none.
    """

    round: int
    objective: float
    has_file: bool
    no_file: str = ""


@dataclass
class RunLog:
    """What happened, as far as it is told at the end.

    Args:
        log: rounds and epochs.
        kept: the model that the retraining ends with.
        reference: accuracy on the validation rows that the tolerance counts from; ``None`` before the judge was ready.
        notes: sentences that a reader of the figures needs.
        nothing: why there was nothing to mitigate; empty where there was.
    """

    log: RoundsLog
    kept: ChosenModel | None = None
    reference: float | None = None
    notes: list[str] = field(default_factory=list)
    nothing: str = ""


def opinion_of(
    settings: RetrainSettings,
    before: Measured,
    after: Measured,
    changed: Changes,
    worst: WorstRuleSet | None,
    words: Words,
) -> Opinion:
    """The verdict on a new model.

    Args:
        settings: the strategy ``rules`` is judged by the score of its rule set first.
        before, after, changed: figures on the test rows.
        worst: the rule set that was to be mended; ``None`` before it was scored again.
        words: of what the shares are.
    """
    shares = compare(before, after, changed.accuracy, changed.uniform, changed.data, words)
    if settings.strategy is not Strategy.RULES or worst is None or worst.before is None or worst.after is None:
        return shares
    return compare_rule_set(worst, worst.before, worst.after, shares, words)


def without_model(story: RunLog, settings: RetrainSettings, *, is_stopped: bool, n_cases: int) -> Opinion:
    """Why no model was kept; the original stays."""
    rounds = story.log.proposed
    return Opinion(
        Verdict.NO_IMPROVEMENT, f"{_reason(story, rounds, settings, is_stopped, n_cases)} The original stays."
    )


def _reason(story: RunLog, rounds: list[Round], settings: RetrainSettings, is_stopped: bool, n_cases: int) -> str:
    if story.nothing or not rounds:
        return story.nothing or _nothing_tried(settings, is_stopped, n_cases)
    within = [row for row in rounds if row.is_within]
    tolerance = in_points(settings.tolerance)
    if not within:
        lost = (story.reference or 0.0) - max(row.accuracy for row in rounds)
        best = f"{in_points(lost)} on the rows that choose"
        if len(rounds) == 1:
            return f"The model that was trained lost {best}, more than the tolerance of {tolerance}."
        none = f"None of the {_models(len(rounds))} stayed within the tolerance of {tolerance}"
        return f"{none}: the most accurate lost {best}."
    unwritten = [row.no_file for row in within if row.no_file]
    if unwritten:
        return f"{_models(len(unwritten)).capitalize()} would have been kept, but cannot become a file. {unwritten[-1]}"
    vetoed = [row for row in within if row.is_vetoed]
    if vetoed:
        return (
            f"{_models(len(vetoed)).capitalize()} held on the rows that choose, but lost more than the tolerance of "
            f"{tolerance} on the test rows."
        )
    return (
        f"None of the {_models(len(within))} within the tolerance had fewer discriminatory individuals on the rows "
        "that choose."
    )


def _nothing_tried(settings: RetrainSettings, is_stopped: bool, n_cases: int) -> str:
    if is_stopped:
        return "It was stopped before a model was trained."
    if STRATEGIES[settings.strategy].technique and not n_cases:
        return "No discriminatory individual was found within the budget, so there was nothing to train on."
    return "The strategy had nothing to propose for this model and data."


def _models(n: int) -> str:
    return f"{n} trained model" + ("s" if n != 1 else "")


def summary(
    subject: Retrainable,
    settings: RetrainSettings,
    parts: Split,
    story: RunLog,
    opinion: Opinion,
    **facts: Any,
) -> Retrained:
    """What was done, and how it came out.

    Args:
        subject, settings, parts, story: of the run.
        opinion: the verdict.
        facts: further fields, of the cases, the draws and the control.
    """
    kept = story.kept
    kind = subject.trainer.kind
    if settings.strategy is Strategy.THRESHOLD:
        kind = _AS_IT_IS
    elif settings.strategy is Strategy.REDUCTION and kept is not None:
        kind = story.log.rows[kept.round - 1].title
    return Retrained(
        strategy=settings.strategy,
        kind=kind,
        n_rounds=len(story.log.proposed),
        n_train=len(parts.train),
        n_validation=len(parts.validation),
        n_test=len(parts.test),
        tolerance=settings.tolerance,
        reference=settings.reference.value,
        has_model=kept is not None and kept.has_file,
        no_file=kept.no_file if kept is not None else "",
        round=kept.round if kept is not None else 0,
        n_added=story.log.rows[kept.round - 1].n_added if kept is not None else 0,
        n_vetoed=story.log.n_vetoed(kept.objective if kept is not None else float("inf")),
        verdict=opinion.verdict,
        why=opinion.why,
        notes=list(story.notes),
        **facts,
    )


def nothing_to_mitigate(subject: RetrainingTask) -> str:
    """Why a model needs no mitigation of individual discrimination; empty where it may."""
    if not subject.ignores_protected:
        return ""
    names = ", ".join(subject.domain.scope.protected)
    return (
        f"The model decides without the protected attributes ({names}): none of its decisions depends on them "
        "directly, so there is nothing "
        "to mitigate here. What it decides by other columns may still go along with them, which Groups shows."
    )


def aim_note(settings: RetrainSettings, changed: Changes) -> str:
    """What became of the group figures, which baselines aim at; empty for other strategies, and where they were not
    counted.
    """
    if not settings.is_baseline or not changed.figures:
        return ""
    moved = []
    for before, after in zip(*(changed.figures[when]["tables"] for when in ("before", "after")), strict=True):
        was = before["figures"][0]
        now = after["figures"][0]
        if was and now:
            moved.append(
                f"by {' and '.join(before['attributes'])} from {points(was[0])} to {points(now[0])} points".replace(
                    "+", ""
                )
            )
    if not moved:
        return ""
    return (
        f"Group figures, which this baseline aims at: the selection rates of groups differ {', '.join(moved)} at most "
        "on the test rows."
    )


def none_found(standing: Validation, n_draws: int, words: Words) -> str:
    """Why there is nothing that a mitigation could lower; empty where there is."""
    if standing.uniform or standing.data:
        return ""
    return (
        f"None of {n_draws:,} {words.drawn}, and none of the rows that choose, is discriminatory: none found that a "
        "retraining could mend. The test rows are others."
    )


def words_of(scope: Scope) -> Words:
    """What the shares are shares of, in a scope."""
    gap = scope.score_gap
    if not gap:
        return Words()
    apart = f"scores more than {gap:g} apart"
    return Words(
        share=f"The share of individuals with {apart}",
        many=f"individuals have {apart}",
        figures=(f"{apart}, of the domain", f"{apart}, of the test rows"),
        meaning=(
            f"What is measured is whether two people who differ in protected attributes only get {apart}; their "
            "decisions may be the same. Other columns may stand for a protected attribute, and groups may differ "
            "without any such pair."
        ),
    )


def scope_notes(domain: Domain, n_inside: int, n_test: int) -> list[str]:
    """What narrows a scope: limits, values that are compared, attributes that stay, and how many test rows lie in it.

    Args:
        n_inside: of the test rows, those that the share of the test rows is of.
        n_test: of the test rows, all.
    """
    scope = domain.scope
    said = []
    for name, (low, high) in scope.limits.items():
        column = domain.schema.column(name)
        said.append(f"{name} from {column.text(low)} to {column.text(high)}")
    for name, values in scope.bins.items():
        column = domain.schema.column(name)
        said.append(
            f"{name} {', '.join(map(column.text, values[:_MOST_VALUES]))}{', ...' * (len(values) > _MOST_VALUES)}"
        )
    text = f"People are looked at with {'; '.join(said)}. " if said else ""
    if scope.fixed:
        text += f"What stays as somebody has it: {', '.join(scope.fixed)}. "
    if n_inside < n_test:
        text += (
            f"Of the {n_test:,} test rows {n_inside:,} lie in this scope: the share of the test rows is of these, "
            "accuracy and groups are of all. "
        )
    gap = scope.score_gap
    differ = f"What counts is whether scores are more than {gap:g} apart, not whether decisions differ." if gap else ""
    return [note for note in (text.strip(), differ) if note]


def unseen_note(model: Model, subject: RetrainingTask) -> str:
    """That the new model decides without protected attributes; empty where it does not."""
    if not replace(subject, model=model).ignores_protected:
        return ""
    return "The new model decides without the protected attributes: that holds for everybody, not only for those drawn."


def threshold_note(model: Model) -> str:
    """That the new model's file by itself decides elsewhere; empty where it does not."""
    if math.isclose(model.threshold, model.threshold_of_file):
        return ""
    return (
        f"Everything is decided at a score of {model.threshold:g}, as was set: above it for “{model.classes[1]}”. The "
        f"file of the new model by itself decides at {model.threshold_of_file:g}: whoever uses it must be told."
    )


def incomplete_note(model: Model, subject: RetrainingTask) -> str:
    """What rows with missing cells have to do with the new model, which has learned of none; where the original takes
    none, or nobody can ask it (the scope has links), that they do not count; empty where there are none.
    """
    more = subject.dataset.incomplete
    left_out = subject.dataset.say_left_out(len(subject.dataset.rows))
    if more is None or subject.model.incomplete is None or spelling_of(subject.model) is not None:
        return left_out
    scores = incomplete_scores(subject.model, more.rows)
    is_told = is_answered(scores)
    if not is_told.any():
        return left_out
    said = (
        f"{int(is_told.sum()):,} rows with a missing cell, which the original takes, trained nothing and are in none "
        "of these figures."
    )
    new = incomplete_scores(model, more.rows)
    is_lost = is_told & ~is_answered(new)
    if is_lost.any():
        return (
            f"{said} The new model refuses {int(is_lost.sum()):,} of them: complete the cells, or make them values of "
            "their own, and train again."
        )
    if more.labels is None:
        return said
    before, after = (
        float((one.decide(answers[is_told]) == more.labels[is_told]).mean())
        for one, answers in ((subject.model, scores), (model, new))
    )
    return f"{said} On these the original is right in {percent(before)}, the new model in {percent(after)}."


def unwritten_notes(log: RoundsLog) -> list[str]:
    """That models could not become files, one sentence a reason."""
    found: dict[str, list[str]] = {}
    for number, row in enumerate(log.proposed, 1):
        if row.no_file:
            found.setdefault(row.no_file, []).append(str(number))
    return [
        f"Better on the rows that choose, but not kept (round {', '.join(numbers)}): {reason}"
        for reason, numbers in found.items()
    ]


def vetoed_note(n_vetoed: int, tolerance: float) -> str:
    """That the test rows refused models; empty when they refused none."""
    if not n_vetoed:
        return ""
    held = "A model that was" if n_vetoed == 1 else f"{n_vetoed} models that were"
    taken = "was not taken: its" if n_vetoed == 1 else "were not taken: their"
    return (
        f"{held} better on the rows that choose {taken} accuracy on the test rows fell by more than "
        f"{in_points(tolerance)}."
    )
