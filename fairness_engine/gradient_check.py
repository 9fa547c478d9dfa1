"""How good estimated gradients are: their angle to the true ones, and what the size of the perturbation does to a search.

Wang et al., "MAFT" (paper 002), RQ1 (perturbation size) and RQ3 (cosine similarity, equation 10), on the user's own model and data.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from fairness_engine import kernels
from fairness_engine.budget import Budget
from fairness_engine.domain import Domain
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.events import FloatArray, IntArray, Stopped, StopReason
from fairness_engine.gradient_agreement import ALIKE, N_SEEDS, SIZES, Agreement, AtSize, GradientCheck
from fairness_engine.models.model import Model
from fairness_engine.search.maft import Maft
from fairness_engine.search.run import run_search
from fairness_engine.search.slopes import Terrain

_MAX_PEOPLE = 1000
_SEARCH_EVALUATIONS = 50_000
_SEARCH = {"n_starts": 100, "n_steps": 100}
"""The size of the searches with which the paper compares perturbation sizes (section 4.2.1)."""
_SEED = 0


def check_gradients(model: Model, domain: Domain, rows: FloatArray, max_seconds: float = 30.0) -> GradientCheck:
    """Compare estimated with true gradients on rows of the data, and search with each perturbation size.

    Gradients are those of the score of the predicted class by the movable columns, per unit of a column, at the people of the
    data themselves. Sizes near 1 come first, so that a slow model gives at least those.

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
            "Comparing gradients needs a network that takes every column as one number, got another kind of model: there is no "
            "true gradient to compare with. MAFT works all the same."
        )
    inside = rows[domain.contains(rows)] if len(rows) else rows
    if not len(domain.movable) or not len(inside):
        raise SettingError(
            "Comparing gradients needs a row of the data within the limits and an attribute that may vary. Widen the scope."
        )
    kernels.warm_up()
    Maft.warm_up()
    deadline = time.monotonic() + max_seconds
    people = inside[np.random.default_rng(_SEED).permutation(len(inside))[:_MAX_PEOPLE]]
    true = _true_gradients(model, domain, people)
    measured: dict[float, AtSize] = {}
    by_importance = sorted(SIZES, key=lambda h: abs(math.log10(h)))
    for h in by_importance:
        if not measured or time.monotonic() < deadline:
            measured[h] = _compare(model, domain, people, true, h)
    for h in by_importance:
        if h in measured:
            measured[h] = replace(measured[h], n_found=_search(model, domain, inside, h, deadline))
    return GradientCheck(
        n_people=len(people),
        n_flat=int((~true.any(axis=1)).sum()),
        n_attributes=len(domain.movable),
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


def _compare(model: Model, domain: Domain, people: FloatArray, true: FloatArray, h: float) -> AtSize:
    from fairness_engine.search import gradient_kernels  # numba is loaded in the model's process, not by the app

    ground = Terrain.of(domain)
    steps = gradient_kernels.probe_steps(people, ground.columns, h * ground.unit, ground.low, ground.top, ground.unit)
    probes = gradient_kernels.moved_rows(people, ground.columns, steps)
    own = model.scores(people)
    near = model.scores(probes).reshape(len(people), len(ground.columns), -1)
    exact = _estimate(model, own, near, own, steps / ground.unit)
    fast_own, fast_near = model.nearby_scores(people, ground.columns, steps)
    fast = _estimate(model, fast_own, fast_near, own, steps / ground.unit)
    return AtSize(h, _agreement(exact, true), _agreement(fast, true))


def _estimate(model: Model, own: FloatArray, near: FloatArray, scores: FloatArray, steps: FloatArray) -> FloatArray:
    """Algorithm 2: difference quotients of the score of the predicted class, per unit ``(n_people, n_movable)``.

    Args:
        own, near: scores of the people ``(n_people, n_scores)`` and of their probes ``(n_people, n_movable, n_scores)``.
        scores: exact ones, which say the predicted class.
        steps: of the probes, in units ``(n_people, n_movable)``.
    """
    classes, people = model.decide(scores), np.arange(len(own))
    chosen = np.zeros(len(own), dtype=np.int64) if model.is_binary else classes
    differences = near[people, :, chosen] - own[people, chosen][:, None]
    return np.asarray(differences / steps * _signs(model, classes)[:, None])


def _agreement(estimated: FloatArray, true: FloatArray) -> Agreement:
    """How the estimates of people compare with their true gradients; both ``(n_people, n_movable)``."""
    has_true, has_estimate = true.any(axis=1), estimated.any(axis=1)
    if not has_true.any():
        return Agreement(None, None, None, None)
    both = has_true & has_estimate
    cosines = _cosines(estimated[both], true[both])
    sloped = true != 0
    return Agreement(
        quartiles=(_rounded(np.quantile(cosines, [0.25, 0.5, 0.75]))) if len(cosines) else None,
        alike_share=float((cosines > ALIKE).sum() / has_true.sum()),
        sign_share=float((np.sign(estimated) == np.sign(true))[sloped].mean()),
        zero_share=float((has_true & ~has_estimate).sum() / has_true.sum()),
    )


def _cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Equation 10, by row; rows are scaled first, so that the slopes of a saturated sigmoid do not vanish when squared."""
    a, b = (x / np.abs(x).max(axis=1, keepdims=True) for x in (a, b))
    cosines = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray(np.clip(cosines, -1.0, 1.0))


def _rounded(values: FloatArray) -> tuple[float, float, float]:
    low, middle, high = (float(value) for value in values)
    return low, middle, high


# --- searches -----------------------------------------------------------------------------------


def _search(model: Model, domain: Domain, rows: FloatArray, h: float, deadline: float) -> tuple[int, ...]:
    """Individuals that MAFT finds with a perturbation size, one number a seed, as far as time allows."""
    found: list[int] = []
    for seed in range(N_SEEDS):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        events = run_search(Maft(h=h, **_SEARCH), model, domain, rows, Budget(_SEARCH_EVALUATIONS, left), seed)
        last = [event for event in events if isinstance(event, Stopped)][-1]
        if last.reason is StopReason.SECONDS:
            break
        found.append(last.n_found)
    return tuple(found)
