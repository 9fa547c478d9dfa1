"""Why a box is undecided, or what decides it, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.certification.box_inspection.details import BoxDetails
from fairness_engine.models.model import Model, Output, of_class_zero
from fairness_engine.oracle.domain import Domain

_N_BLAMED = 2
_BLAME_SHARE = 0.1
"""A column is named when it has at least this part of the blame."""
_MAX_VARIANTS_NAMED = 3
_NEAR = 0.1
"""Scores this near the threshold are told by their distance from it."""
_LEAST_PERCENT = 1e-4
_ROUNDING = 1e-6
_DECIDED = 1e-12
"""What is undecided of a decided box is rounding: less than this part of it."""


@dataclass(frozen=True)
class BoxContext:
    """What the sentences need beside the figures.

    Args:
        model, domain: what is assessed, and where.
        names: of the columns of the space.
        unit: what the model is made of: neurons, trees.
        people_scores: of rows of the data in the box ``(n, n_scores)``.
        is_blind: the model takes no protected attribute.
    """

    model: Model
    domain: Domain
    names: tuple[str, ...]
    unit: str
    people_scores: FloatArray
    is_blind: bool


def reasons_of(box: BoxDetails, context: BoxContext) -> tuple[str, ...]:
    """The sentences, the most telling first."""
    if context.is_blind:
        return (f"The model does not take {_protected(context)}: everybody is decided alike.",)
    if box.is_evaluated:
        return (_evaluated(box), *_people(box, context))
    if box.undecided <= _DECIDED * box.weight:
        return (_decided(box, context), *_bounds(box, context), *_people(box, context))
    told = (_part_decided(box), _drawn(box), _bounds(box, context), _open_units(box, context), _people(box, context))
    return tuple(sentence for part in told for sentence in part)


def _evaluated(box: BoxDetails) -> str:
    if box.n_drawn == 1:
        return "It is one individual, who was evaluated: " + (
            "discriminated against." if box.n_unfair else "decided alike whatever the protected values."
        )
    unfair = {0: "nobody is", 1: "one is", box.n_drawn: "all are"}.get(box.n_unfair, f"{box.n_unfair} are")
    return f"Its {box.n_drawn} individuals were evaluated one by one: {unfair} discriminated against."


def _decided(box: BoxDetails, context: BoxContext) -> str:
    alike = f"decided alike whatever their {_protected(context)}"
    if box.falsified <= 0:
        return f"It is proved that everybody in it is {alike}."
    if box.certified <= 0:
        return f"It is proved that for everybody in it two values of {_protected(context)} are decided differently."
    return f"It is proved that {_percent(box.certified / box.weight)} of it is {alike}, and the rest is not."


def _part_decided(box: BoxDetails) -> Iterator[str]:
    """How much of the box the bound leaves over."""
    certified = box.certified / max(box.weight, 1e-300)
    falsified = box.falsified / max(box.weight, 1e-300)
    if certified > 0 or falsified > 0:
        parts = [f"{_percent(certified)} is certified"] if certified > 0 else []
        parts += [f"{_percent(falsified)} is falsified"] if falsified > 0 else []
        yield f"Of the box, {' and '.join(parts)}; the rest lies too near the threshold for its bounds."


def _drawn(box: BoxDetails) -> Iterator[str]:
    """What individuals of the box are."""
    drawn = f"of {box.n_drawn:,} individuals drawn from it"
    if box.n_unfair == box.n_drawn:
        yield f"All {drawn} are discriminated against: a finer split may falsify it."
    elif box.n_unfair:
        yield (
            f"The box is mixed: {drawn}, {box.n_unfair:,} {'is' if box.n_unfair == 1 else 'are'} discriminated against."
        )
    else:
        yield f"None {drawn} is discriminated against: its bounds are too wide, and a finer split may certify it."


def _bounds(box: BoxDetails, context: BoxContext) -> Iterator[str]:
    """Between what the score lies, for every variant."""
    is_score = bool(np.isfinite(box.score_bounds).all())
    bounds = box.score_bounds if is_score else box.bounds
    if not np.isfinite(bounds).all():
        return
    what, line = ("score", context.model.threshold) if is_score else ("margin", 0.0)
    bounds, line = _shown(context, bounds[:, ::-1] if _is_turned(context) else bounds, line, is_score=is_score)
    what = f"{what} for {_scored(context)}"
    labels = context.domain.variant_labels()
    if len(labels) <= _MAX_VARIANTS_NAMED:
        ends = [
            (_score(low, line), _score(high, line), label) for label, (low, high) in zip(labels, bounds, strict=True)
        ]
        parts = [f"from {low} to {high} for {label}" for low, high, label in ends]
        yield f"The {what} lies {', '.join(parts)}; the threshold is {line:g}."
        return
    above = bounds[:, 0] > line
    below = bounds[:, 1] <= line
    n_crossing = int((~above & ~below).sum())
    if n_crossing:
        yield (
            f"For {n_crossing} of {len(labels)} values of {_protected(context)} the {what} may lie on either side of "
            "the threshold."
        )
    elif above.any() and below.any():
        yield (
            f"The {what} is above the threshold for {int(above.sum())} of {len(labels)} values of "
            f"{_protected(context)}, and not for the others."
        )


def _is_turned(context: BoxContext) -> bool:
    """Whether scores are told of class 0 of two, for it is the favourable one."""
    return context.model.is_binary and context.model.favourable == 0


def _scored(context: BoxContext) -> str:
    """The outcome that scores are told of."""
    return f"'{context.model.classes[0 if _is_turned(context) else 1]}'"


def _shown(context: BoxContext, values: FloatArray, line: float, *, is_score: bool) -> tuple[FloatArray, float]:
    """Scores, or margins, and where the decision changes, as they are told: of the favourable outcome."""
    if not _is_turned(context):
        return values, line
    output = context.model.predictor.output if is_score else Output.LOGIT
    return of_class_zero(values, output), float(of_class_zero(np.array(line), output))


def _open_units(box: BoxDetails, context: BoxContext) -> Iterator[str]:
    """What the bounds could not settle, and which columns are to blame."""
    order = np.argsort(-box.blame, kind="stable")[:_N_BLAMED]
    total = float(box.blame.sum())
    blamed = [f"'{context.names[i]}'" for i in order.tolist() if total > 0 and box.blame[i] >= _BLAME_SHARE * total]
    names = " and ".join(blamed)
    verb = "keep" if len(blamed) > 1 else "keeps"
    if not box.n_unstable:
        if blamed:
            yield (
                f"Its bounds leave nothing open but the threshold itself: {names} "
                f"{'cross' if len(blamed) > 1 else 'crosses'} it here."
            )
        return
    is_network = context.unit == "neurons"
    state = "neither always on nor always off here" if is_network else "not settled here"
    yield f"{box.n_unstable:,} of {box.n_units:,} {context.unit} are {state}" + (
        f"; {names} {verb} them open." if blamed else "."
    )


def _people(box: BoxDetails, context: BoxContext) -> Iterator[str]:
    """How near the rows of the data in the box are to the threshold."""
    if not context.model.is_binary or not len(context.people_scores):
        return
    scores, line = _shown(context, context.people_scores[:, 0], context.model.threshold, is_score=True)
    scored = _scored(context)
    if box.n_people == 1:
        yield (
            f"One row of the data lies in it, with the score for {scored} {_score(float(scores[0]), line)}; the "
            f"threshold is {line:g}."
        )
        return
    ends = _score(float(scores.min()), line), _score(float(scores.max()), line)
    furthest = float(np.abs(scores - line).max())
    where = f"scores for {scored} from {ends[0]} to {ends[1]}; the threshold is {line:g}"
    if furthest <= _NEAR:
        where = f"scores for {scored} within {_score(furthest, 0.0)} of the threshold {line:g}"
    looked_at = f", the first {len(scores):,} of them" if len(scores) < box.n_people else ""
    yield f"{box.n_people:,} rows of the data lie in it{looked_at} with {where}."


def _protected(context: BoxContext) -> str:
    return " and ".join(f"'{name}'" for name in context.domain.scope.protected)


def _percent(share: float) -> str:
    """A proved share, rounded down to two digits from the nearer of 0 and 100 %: no text claims more than the proof."""
    percent = 100 * share
    if 0 < percent < _LEAST_PERCENT:
        return f"less than {_LEAST_PERCENT:.4f} %"
    distance = min(percent, 100 - percent)
    decimals = 0 if distance <= 0 else min(4, max(0, 1 - math.floor(math.log10(distance))))
    cut = math.floor(percent * 10.0**decimals + _ROUNDING) / 10.0**decimals
    return f"{cut:.{decimals}f} %"


def _score(value: float, line: float) -> str:
    """A score with three decimals, or as many as tell it from the threshold."""
    for n_decimals in range(3, 10):
        text = f"{value:.{n_decimals}f}"
        if value == line or float(text) != float(f"{line:.{n_decimals}f}"):
            break
    return text.replace("-", "\N{MINUS SIGN}")
