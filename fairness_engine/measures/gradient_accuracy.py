"""How good estimated gradients are: their angle to the true ones, and what the size of the perturbation does to a
search.

Wang et al., "MAFT" (paper 002), RQ1 (perturbation size) and RQ3 (cosine similarity, equation 10, of gradients, of the
global phase's directions and of the local phase's probabilities; gradients in two principal components), on the user's
own model and data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import Clock
from fairness_engine.errors import ModelError, SettingError, StopReason
from fairness_engine.events import Stopped
from fairness_engine.measures.gradient_agreement import (
    ALIKE,
    MAX_PICTURED,
    N_SEEDS,
    PICTURED,
    SIZES,
    Agreement,
    AtSize,
    GradientCheck,
    Guidance,
    Picture,
    Points,
    Quartiles,
)
from fairness_engine.models.model import Model
from fairness_engine.oracle import kernels
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.search.driver import run_search
from fairness_engine.search.start_rows import nearest_variants
from fairness_engine.search.techniques.gradient.gradients import EstimatedSlopes, Gradients, MovableColumns, TrueSlopes
from fairness_engine.search.techniques.gradient.maft import Maft
from fairness_engine.search.techniques.gradient.search import EPSILON, ScoredPeople, furthest

_MAX_PEOPLE = 1000
_SEARCH_EVALUATIONS = 50_000
_SEARCH = {"n_starts": 100, "n_steps": 100}
"""The size of the searches with which the paper compares perturbation sizes (section 4.2.1)."""
_SEED = 0
_MAX_VARIANT_ROWS = 200_000
"""Rows evaluated to pair people; with many variants of each, fewer people are paired."""
_UNLIMITED = Budget(None, max_found=2**53)


def check_gradients(model: Model, domain: Domain, rows: FloatArray, max_seconds: float = 30.0) -> GradientCheck:
    """Compare estimated with true gradients on rows of the data, and search with each perturbation size.

    Gradients are those of the score of the predicted class by the movable columns, per unit of a column, at the people
    of the data themselves. Sizes near 1 come first, so that a slow model gives at least those.

    Args:
        model: one with a gradient.
        domain: says which columns move.
        rows: rows of the data ``(n_rows, n_columns)``; 1,000 of those in the domain are drawn.
        max_seconds: after this no more is begun; compiling the loops is not counted.

    Raises:
        ModelError: the model has no gradient.
        SettingError: nothing may be moved, or no row of the data lies in the domain.
    """
    if not model.has_gradient:
        raise ModelError(
            "Comparing gradients needs a network that takes every column as one number, got another kind of model: "
            "there is no true gradient to compare with. MAFT works all the same."
        )
    inside = rows[domain.contains(rows)] if len(rows) else rows
    if not len(domain.movable) or not len(inside):
        raise SettingError(
            "Comparing gradients needs a row of the data within the limits and an attribute that may vary. Widen the "
            "scope."
        )
    kernels.warm_up()
    Maft.warm_up()
    clock = Clock(max_seconds)
    people = inside[np.random.default_rng(_SEED).permutation(len(inside))[:_MAX_PEOPLE]]
    true = _true_gradients(model, domain, people)
    pairs = _pair(model, domain, people)
    measured: dict[float, AtSize] = {}
    by_importance = sorted(SIZES, key=lambda h: abs(math.log10(h)))
    for h in by_importance:
        if not measured or not clock.is_over:
            measured[h] = _compare(model, domain, people, true, pairs, h)
    for h in by_importance:
        if h in measured:
            measured[h] = replace(measured[h], n_found=_search(model, domain, inside, h, clock))
    return GradientCheck(
        n_people=len(people),
        n_flat=int((~true.any(axis=1)).sum()),
        n_attributes=len(domain.movable),
        n_pairs=len(pairs.rows),
        n_discriminatory=int(pairs.is_discriminatory.sum()),
        picture=_picture(true, _estimates(model, domain, people, PICTURED)[1]),
        search_evaluations=_SEARCH_EVALUATIONS,
        sizes=tuple(measured[h] for h in sorted(measured)),
        is_complete=len(measured) == len(SIZES) and all(len(m.n_found) == N_SEEDS for m in measured.values()),
    )


# --- gradients ----------------------------------------------------------------------------------


def _true_gradients(model: Model, domain: Domain, people: FloatArray) -> FloatArray:
    """Derivatives of the score of the predicted class, per unit ``(n_people, n_movable)``."""
    classes = model.decide(model.scores(people))
    gradients = model.gradients(people, classes)[:, domain.movable] * domain.unit[domain.movable]
    return np.asarray(gradients * _signs(model, classes)[:, None])


def _signs(model: Model, classes: IntArray) -> FloatArray:
    """-1 where the score is of class 1 and class 0 is predicted ``(n_people,)`` (Algorithm 2, lines 9-12)."""
    return np.where(classes == 0, -1.0, 1.0) if model.is_binary else np.ones(len(classes))


def _compare(model: Model, domain: Domain, people: FloatArray, true: FloatArray, pairs: _Paired, h: float) -> AtSize:
    exact, fast = (_agreement(estimated, true) for estimated in _estimates(model, domain, people, h))
    return AtSize(h, exact, fast, _guidance(pairs, pairs.slopes(EstimatedSlopes(pairs.oracle, pairs.ground, h))))


def _estimates(model: Model, domain: Domain, people: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """Estimated gradients ``(n_people, n_movable)``: of exact scores, and in the arithmetic of a search."""
    from fairness_engine.search.techniques.gradient import (
        kernels as gradient_kernels,  # numba is loaded in the model's process, not by the app
    )

    ground = MovableColumns.of(domain)
    steps = gradient_kernels.probe_steps(people, ground.columns, h * ground.unit, ground.low, ground.top, ground.unit)
    probes = gradient_kernels.moved_rows(people, ground.columns, steps)
    own = model.scores(people)
    near = model.scores(probes).reshape(len(people), len(ground.columns), -1)
    exact = _estimate(model, own, near, own, steps / ground.unit)
    fast_own, fast_near = model.nearby_scores(people, ground.columns, steps)
    return exact, _estimate(model, fast_own, fast_near, own, steps / ground.unit)


def _estimate(model: Model, own: FloatArray, near: FloatArray, scores: FloatArray, steps: FloatArray) -> FloatArray:
    """Algorithm 2: difference quotients of the score of the predicted class, per unit ``(n_people, n_movable)``.

    Args:
        own, near: scores of the people ``(n_people, n_scores)`` and of their probes ``(n_people, n_movable,
            n_scores)``.
        scores: exact ones, which say the predicted class.
        steps: of the probes, in units ``(n_people, n_movable)``.
    """
    classes = model.decide(scores)
    people = np.arange(len(own))
    chosen = np.zeros(len(own), dtype=np.int64) if model.is_binary else classes
    differences = near[people, :, chosen] - own[people, chosen][:, None]
    return np.asarray(differences / steps * _signs(model, classes)[:, None])


def _agreement(estimated: FloatArray, true: FloatArray) -> Agreement:
    """How the estimates of people compare with their true gradients; both ``(n_people, n_movable)``."""
    has_true = true.any(axis=1)
    has_estimate = estimated.any(axis=1)
    if not has_true.any():
        return Agreement(None, None, None, None)
    both = has_true & has_estimate
    cosines = _cosines(estimated[both], true[both])
    sloped = true != 0
    return Agreement(
        quartiles=_quartiles(cosines),
        alike_share=float((cosines > ALIKE).sum() / has_true.sum()),
        sign_share=float((np.sign(estimated) == np.sign(true))[sloped].mean()),
        zero_share=float((has_true & ~has_estimate).sum() / has_true.sum()),
    )


def _cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Equation 10, by row; rows are scaled first, so that the slopes of a saturated sigmoid do not vanish when
    squared.
    """
    a, b = (x / np.abs(x).max(axis=1, keepdims=True) for x in (a, b))
    cosines = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray(np.clip(cosines, -1.0, 1.0))


def _quartiles(cosines: FloatArray) -> Quartiles | None:
    if not len(cosines):
        return None
    low, middle, high = (float(value) for value in np.quantile(cosines, [0.25, 0.5, 0.75]))
    return low, middle, high


# --- what a search makes of them ----------------------------------------------------------------


@dataclass(frozen=True)
class _Paired:
    """People, each with the variant whose score is furthest away, as MAFT's first iteration pairs its start rows.

    Args:
        oracle, ground: what slopes are taken of, and along which columns.
        rows, own, other: the pairs as ``Gradients`` takes them.
        scores: of all variants ``(n_pairs, n_variants, n_scores)``.
        true: true slopes of both people, ``(n_pairs, n_movable)`` each.
        is_discriminatory: whether the two are decided differently ``(n_pairs,)``, or differ by more than the score gap.
    """

    oracle: Oracle
    ground: MovableColumns
    rows: FloatArray
    own: IntArray
    other: IntArray
    scores: FloatArray
    is_discriminatory: BoolArray
    true: tuple[FloatArray, FloatArray]

    def slopes(self, slopes: Gradients) -> tuple[FloatArray, FloatArray]:
        """Slopes of both people, of this kind."""
        return slopes(self.rows, self.own, self.other, self.scores)


def _pair(model: Model, domain: Domain, people: FloatArray) -> _Paired:
    rows = people[: max(1, _MAX_VARIANT_ROWS // domain.n_variants)]
    scores = model.scores(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(len(rows), domain.n_variants, -1)
    own = nearest_variants(domain, rows)
    at = np.arange(len(rows))
    other = furthest(ScoredPeople(rows, own, scores))
    gap = domain.scope.score_gap
    if gap > 0:
        is_discriminatory = np.abs(scores[at, own] - scores[at, other]).max(axis=1) > gap
    else:
        is_discriminatory = model.decide(scores[at, own]) != model.decide(scores[at, other])
    oracle = Oracle(model, domain, _UNLIMITED)
    ground = MovableColumns.of(domain)
    true = TrueSlopes(oracle, ground)(rows, own, other, scores)
    return _Paired(oracle, ground, rows, own, other, scores, is_discriminatory, true)


def _guidance(pairs: _Paired, estimated: tuple[FloatArray, FloatArray]) -> Guidance:
    """RQ3.2 and RQ3.3: the use that both phases make of the slopes of pairs, compared by equation 10."""
    undecided = ~pairs.is_discriminatory
    wanted, taken = (_directions(*slopes)[undecided] for slopes in (pairs.true, estimated))
    has_direction = wanted.any(axis=1)
    wanted = wanted[has_direction]
    taken = taken[has_direction]
    cosines = np.zeros(len(wanted))
    leads = taken.any(axis=1)
    cosines[leads] = _cosines(taken[leads], wanted[leads])
    chances = _cosines(_probabilities(*estimated), _probabilities(*pairs.true))
    return Guidance(_quartiles(cosines), _quartiles(chances))


def _directions(here: FloatArray, there: FloatArray) -> FloatArray:
    """The sign of both slopes of a pair ``(n_pairs, n_movable)``, 0 where they differ (Algorithm 3, lines 16-18)."""
    signs = np.sign(here)
    return np.where(signs == np.sign(there), signs, 0.0)


def _probabilities(here: FloatArray, there: FloatArray) -> FloatArray:
    """Probabilities of the attributes ``(n_pairs, n_movable)``, as a search computes them (Algorithm 4, line 11)."""
    from fairness_engine.search.techniques.gradient import (
        kernels as gradient_kernels,  # numba is loaded in the model's process, not by the app
    )

    cumulative = np.empty(here.shape)
    gradient_kernels.weigh(here, there, EPSILON, cumulative, np.arange(len(here)))
    return np.diff(cumulative, axis=1, prepend=0.0)


# --- the picture --------------------------------------------------------------------------------


def _picture(true: FloatArray, estimated: FloatArray) -> Picture | None:
    """Figure 11: directions in two principal components of the true ones; lengths, which a sigmoid squeezes, do not
    count.
    """
    both = true.any(axis=1) & estimated.any(axis=1)
    if true.shape[1] < 2 or both.sum() < 3:
        return None
    wanted, taken = (_scaled(slopes[both]) for slopes in (true, estimated))
    middle = wanted.mean(axis=0)
    _, spread, axes = np.linalg.svd(wanted - middle, full_matrices=False)
    axes = axes[:2] * np.where(
        axes[:2].sum(axis=1, keepdims=True) < 0, -1.0, 1.0
    )  # either sign would do: one is chosen
    first, second = (float(share) for share in (spread**2)[:2] / max(float((spread**2).sum()), np.finfo(float).tiny))
    return Picture((first, second), *(_points((slopes - middle) @ axes.T) for slopes in (wanted, taken)))


def _scaled(slopes: FloatArray) -> FloatArray:
    """Each row at length 1; rows are scaled by their largest first, as in ``_cosines``."""
    scaled = slopes / np.abs(slopes).max(axis=1, keepdims=True)
    return np.asarray(scaled / np.sqrt((scaled**2).sum(axis=1, keepdims=True)))


def _points(projected: FloatArray) -> Points:
    return tuple((round(float(x), 4), round(float(y), 4)) for x, y in projected[:MAX_PICTURED])


# --- searches -----------------------------------------------------------------------------------


def _search(model: Model, domain: Domain, rows: FloatArray, h: float, clock: Clock) -> tuple[int, ...]:
    """Individuals that MAFT finds with a perturbation size, one number a seed, as far as time allows."""
    found: list[int] = []
    for seed in range(N_SEEDS):
        if clock.is_over:
            break
        events = run_search(Maft(h=h, **_SEARCH), model, domain, rows, Budget(_SEARCH_EVALUATIONS), seed, clock)
        last = [event for event in events if isinstance(event, Stopped)][-1]
        if last.reason is StopReason.SECONDS:
            break
        found.append(last.n_found)
    return tuple(found)
