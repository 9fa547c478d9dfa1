"""What a search needs of a model and a domain, said in one sentence before anything is searched.

``check`` asks the model itself, in the process of the run. ``why_not`` and ``notes_of`` read the fit card, so that the
app can say the same before a run is started; they know less, and leave to ``check`` what the card does not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import Clock, WorkingTime
from fairness_engine.data.links.reading import refuse_idle
from fairness_engine.errors import FitError, ModelError, SettingError
from fairness_engine.models.encoders.linked import spelling_of
from fairness_engine.models.model import Model, Output
from fairness_engine.oracle.domain import Domain
from fairness_engine.search.technique import Technique

_SEED = 0
_FIRST_EVALUATIONS = 64
_MIN_PEOPLE = 256
_ENOUGH_PEOPLE = 512
_MAX_PEOPLE = 4096
"""A verdict needs the first; people of one decision are tried up to the second, people of one score up to the last."""
_MAX_SECONDS = 3.0


def check(
    model: Model,
    domain: Domain,
    rows: FloatArray,
    technique: type[Technique] | Technique | None = None,
    *,
    refuses_one_score: bool = True,
) -> tuple[str, ...]:
    """Refuse a search that cannot find anything, and say what a reader should know of one that can.

    A few people are tried with all their variants, half of them rows of the data and half uniform; as soon as two
    decisions differ, that is enough. These evaluations are no technique's and not charged to its budget.

    Args:
        model, domain: what is assessed, and where.
        rows: rows of the data ``(n_rows, n_columns)``; may be empty.
        technique: the class of the technique or one of its kind; ``None`` for an estimate.
        refuses_one_score: one score for everybody is refused; who counts finds that there is nobody, and is told why.

    Returns:
        Notes, one sentence or two each.

    Raises:
        FitError: the model takes none of the protected attributes, gives no numbers, or one score for everybody.
        ModelError: the technique follows the true gradient, and the model has none.
        SettingError: the technique moves attributes, and none may be moved; or what is linked is not taken.
    """
    notes = [*_on_protected(model, domain), *_on_technique(model, domain, technique)]
    return (*notes, *_on_answers(model, domain, rows, refuses_one_score=refuses_one_score))


def notes_on_proofs(model: Model, domain: Domain, rows: FloatArray) -> tuple[str, ...]:
    """What a reader should know of a certification: that everybody is decided alike because of the threshold, say.

    Args:
        model, domain, rows: as in ``check``.

    Raises:
        FitError: the model gives no numbers.
    """
    return tuple(_on_answers(model, domain, rows, refuses_one_score=False))


# --- what the inputs tell -----------------------------------------------------------------------


def _on_protected(model: Model, domain: Domain) -> Iterator[str]:
    """A model that takes no protected attribute decides all variants alike; to search it would only look like work."""
    protected = domain.scope.protected
    taken = model.taken(domain.schema.names)
    spelling = spelling_of(model)
    linked = [] if spelling is None else [domain.schema.inputs[column].name for column in spelling.columns]
    if not taken.intersection((*protected, *linked)):
        raise FitError(
            f"The model must take a protected attribute, but {', '.join(protected)} is not among its inputs: it "
            "decides all variants alike by construction, and a search would find nothing. Compare groups instead."
        )
    refuse_idle(linked, taken)
    if linked:
        return  # a protected attribute may matter by what goes with it
    for name, values in zip(protected, domain.variant_values.T, strict=True):
        if name not in taken:
            yield (
                f"The model does not take '{name}', so nothing changes with it, and every person costs "
                f"{len(set(values))} times the "
                "evaluations needed. Leave it out of the protected attributes under Scope."
            )


def _on_technique(model: Model, domain: Domain, technique: type[Technique] | Technique | None) -> Iterator[str]:
    if technique is None:
        return
    if technique.needs_gradient and not model.has_gradient:
        raise ModelError(_no_gradient(technique, model.predictor.kind))
    if not len(domain.movable) and technique.moves_rows:
        raise SettingError(
            f"{technique.title} moves attributes, but none is left to move: all that are not protected are fixed, have "
            "one value, or are not taken by the model. Free one under Scope, or choose the data scan."
        )
    if technique.estimates_gradient and model.predictor.output is Output.LABEL:
        yield _labels_only(technique)


def _no_gradient(technique: type[Technique] | Technique, kind: str) -> str:
    return (
        f"{technique.title} follows the true gradient, which only a network that takes every column as one number has; "
        f"this model ({kind}) has none. Choose MAFT, which estimates gradients from the scores of any model."
    )


def _labels_only(technique: type[Technique] | Technique) -> str:
    return (
        f"The model gives labels without scores: {technique.title} sees a slope only where one step changes the "
        "label, and elsewhere "
        "moves at random, so it may find less. Compare it with Directed or AEQUITAS, which need labels only."
    )


# --- what the answers tell ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Answers:
    """What the model said to the people tried.

    Args:
        n_people: how many were tried, each with all variants.
        n_rows, n_not_finite: rows evaluated, and how many of them got no number.
        lowest, highest: finite scores ``(n_scores,)``; infinite where there was none.
        classes: the decisions met.
    """

    n_people: int
    n_rows: int
    n_not_finite: int
    lowest: FloatArray
    highest: FloatArray
    classes: frozenset[int]

    @property
    def have_one_score(self) -> bool:
        return bool((self.lowest == self.highest).all())

    @property
    def are_enough(self) -> bool:
        return len(self.classes) > 1 or (self.n_people >= _ENOUGH_PEOPLE and not self.have_one_score)


def _on_answers(model: Model, domain: Domain, rows: FloatArray, *, refuses_one_score: bool) -> Iterator[str]:
    answers = _try_out(model, domain, rows)
    if answers.n_not_finite == answers.n_rows:
        raise FitError(
            f"The model must give numbers, but gave none (NaN) for all of {answers.n_rows:,} rows tried. Check the "
            "ranges of the columns, or train the model again."
        )
    if answers.n_not_finite:
        yield (
            f"The model gives no number (NaN) for {answers.n_not_finite:,} of {answers.n_rows:,} rows tried: such rows "
            "are never reported as found. Check the ranges of the columns."
        )
    if len(answers.classes) > 1 or answers.n_people < _MIN_PEOPLE:
        return
    if answers.have_one_score:
        scores = ", ".join(f"{score:.4g}" for score in answers.lowest)
        all_alike = f"gave all of {answers.n_rows:,} rows tried the same score ({scores})"
        advice = "Widen the limits, or check" if domain.scope.limits else "Check"
        if refuses_one_score:
            raise FitError(
                f"The model must tell people apart, but {all_alike}: a search would find nothing. {advice} that its "
                "inputs are scaled and ordered as in its training."
            )
        yield f"The model {all_alike}. {advice} that its inputs are scaled and ordered as in its training."
        return
    if domain.scope.score_gap == 0:
        (only,) = answers.classes
        yield (
            f"The model decided all of {answers.n_rows:,} rows tried for '{model.classes[only]}', though their scores "
            "differ: expect few pairs, or none. Check the decision threshold, or set a score gap under Scope "
            "(--gap)."
        )


def _try_out(model: Model, domain: Domain, rows: FloatArray) -> _Answers:
    """Evaluate people with all their variants, in growing batches, until their answers differ or enough were asked."""
    people = _people(domain, rows)
    n_scores = model.predictor.n_scores
    answers = _Answers(0, 0, 0, np.full(n_scores, np.inf), np.full(n_scores, -np.inf), frozenset())
    size = max(1, _FIRST_EVALUATIONS // domain.n_variants)
    clock = Clock(_MAX_SECONDS, now=WorkingTime())
    while answers.n_people < len(people) and not answers.are_enough:
        batch = people[answers.n_people : answers.n_people + size]
        answers = _added(answers, model, domain.variants(batch).reshape(-1, domain.n_columns), len(batch))
        if clock.is_over:
            break
        size *= 2
    return answers


def _people(domain: Domain, rows: FloatArray) -> FloatArray:
    """Rows of the data that lie in the domain, and as many uniform ones, mixed ``(n_people, n_columns)``."""
    rng = np.random.default_rng(_SEED)
    inside = rows[domain.contains(rows)] if len(rows) else np.empty((0, domain.n_columns))
    chosen = rng.permutation(len(inside))[: _MAX_PEOPLE // 2]
    uniform = domain.sample(_MAX_PEOPLE - len(chosen), rng, inside)
    return rng.permutation(np.concatenate([inside[chosen], uniform]))


def _added(answers: _Answers, model: Model, variants: FloatArray, n_people: int) -> _Answers:
    scores = np.asarray(model.scores(variants))
    is_finite = np.isfinite(scores).all(axis=1)
    finite = scores[is_finite]
    decisions: IntArray = model.decide(finite)
    return _Answers(
        answers.n_people + n_people,
        answers.n_rows + len(scores),
        answers.n_not_finite + int((~is_finite).sum()),
        np.minimum(answers.lowest, finite.min(axis=0, initial=np.inf)),
        np.maximum(answers.highest, finite.max(axis=0, initial=-np.inf)),
        answers.classes | {int(decision) for decision in np.unique(decisions)},
    )


# --- what the fit card tells --------------------------------------------------------------------


def why_not(technique: type[Technique] | Technique, card: Mapping[str, Any], protected: Sequence[str]) -> str | None:
    """Why a technique cannot work with the model of a fit card, in one sentence or two; ``None`` when it can.

    Args:
        technique: its class.
        card: ``FitCard.to_json``; what an older card does not tell is left to ``check``.
        protected: names of the protected attributes.
    """
    output = card.get("output") or {}
    used = card.get("uses_protected") or {}
    is_blind = bool(protected) and all(used.get(name) is False for name in protected)
    if is_blind and output.get("min") is not None and output["min"] == output.get("max"):
        return (
            f"The model gives everybody the same score ({output['min']:.4g}), so a search would find nothing. Check "
            "that its inputs are scaled and ordered as in its training."
        )
    if is_blind:
        names = " and ".join([", ".join(protected[:-1]), protected[-1]] if len(protected) > 1 else protected)
        return (
            f"The model does not take {names}, so a search would find nothing by construction. Look at groups instead."
        )
    if technique.needs_gradient:
        if output.get("kind") == Output.LABEL:
            return "The model gives labels only, and this technique follows the slope of its scores. Choose AEQUITAS."
        if card.get("has_gradient") is False:
            return _no_gradient(technique, str(card.get("kind") or "its kind is not known"))
    return None


def notes_of(
    technique: type[Technique] | Technique, card: Mapping[str, Any], protected: Sequence[str]
) -> tuple[str, ...]:
    """What to know before a technique is started with the model of a fit card; arguments as ``why_not``."""
    used = card.get("uses_protected") or {}
    notes = []
    notes += [
        f"No score changed with '{name}' on the rows tried: expect pairs that differ in the others only. Without it a "
        "search is cheaper."
        for name in protected
        if len(protected) > 1 and used.get(name) is False
    ]
    if technique.estimates_gradient and (card.get("output") or {}).get("kind") == Output.LABEL:
        notes.append(_labels_only(technique))
    return tuple(notes)
