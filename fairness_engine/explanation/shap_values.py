"""What carried a decision: Shapley values of both people of a pair, with the ``shap`` library."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray, pack_array, unpack_array
from fairness_engine.codec import Count, decode
from fairness_engine.errors import SettingError, breach
from fairness_engine.models.model import Model, of_class_zero

N_BACKGROUND = 100
"""Rows of the data that stand for "not known", drawn by a fixed seed; fewer for a slow model."""
MAX_PERMUTATIONS = 200
_BACKGROUND_SIZES = (N_BACKGROUND, 50, 25)
_MIN_PERMUTATIONS = 4
_MAX_ROWS = 4_000_000
"""Masked rows of one explanation at most: they are laid out in memory before the model sees them."""
_MODEL_SECONDS = 6.0
_MOST_MODEL_SECONDS = 30.0
"""For the least that can be said, where it takes longer; so long may somebody wait who asked for it."""
_TIMED_SECONDS = 0.1
"""A batch that takes so long is as large as need be to measure the speed."""
_BLOCK_ROWS = 1 << 15
_SEED = 0


@dataclass(frozen=True)
class PairValues:
    """How far each attribute moves the score of each person of a pair away from the average score.

    Args:
        contributions: SHAP values of person A and person B ``(2, n_columns)``, in units of the score; 0 for columns
            that the model does not take. A row sums to the person's score less ``base``.
        scores: the explained scores ``(2,)``: higher is better for the person (see ``favourable_scores``).
        base: mean score of the background.
        is_exact: over all coalitions of attributes; else from ``n_permutations`` random orders, each also reversed.
        n_background: rows of the data that replace what is left out.
        n_permutations: 0 when exact.
        seconds: how long the explanation took, without loading the library.
    """

    contributions: FloatArray
    scores: FloatArray
    base: float
    is_exact: bool
    n_background: int
    n_permutations: int
    seconds: float

    @property
    def difference(self) -> FloatArray:
        """What each attribute adds to the score of person B over that of person A ``(n_columns,)``."""
        return np.asarray(self.contributions[1] - self.contributions[0], dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """As it travels between processes."""
        return {
            "contributions": pack_array(self.contributions),
            "scores": pack_array(self.scores),
            "base": self.base,
            "is_exact": self.is_exact,
            "n_background": self.n_background,
            "n_permutations": self.n_permutations,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, content: Any, n_columns: int) -> PairValues:
        """Read what ``to_json`` wrote; shapes and types are checked.

        Raises:
            ProcessError: it is nothing of the kind.
        """
        try:
            values = unpack_array(content["contributions"])
            scores = unpack_array(content["scores"])
            counts = (decode(Count, content["n_background"]), decode(Count, content["n_permutations"]))
            base = float(content["base"])
            seconds = float(content["seconds"])
            found = cls(values, scores, base, content["is_exact"] is True, *counts, seconds)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise breach("it sent no explanation") from None
        numbers = (values, scores, np.array([base, seconds]))
        has_shape = values.shape == (2, n_columns) and scores.shape == (2,)
        if not has_shape or not all(n.dtype == np.float64 and np.isfinite(n).all() for n in numbers):
            raise breach("it sent an explanation of the wrong shape")
        return found


def explain_pair(model: Model, people: FloatArray, data_rows: FloatArray, taken: IntArray) -> PairValues:
    """SHAP values of both people of a pair, against rows of the data.

    An attribute that is left out takes its values from the background, independently of the others ("interventional"
    values). With few attributes all coalitions are evaluated, else random orders of attributes, the same for both
    people.

    Args:
        model: what decided.
        people: the two persons as rows of the engine ``(2, n_columns)``.
        data_rows: rows of the data ``(n_rows, n_columns)``, at least one.
        taken: indices of the columns that the model takes; the others get 0.

    Raises:
        SettingError: the model is too slow for an answer within seconds.

    Reference: Lundberg and Lee (2017), section 4; the two algorithms are ``shap.explainers.Exact`` and ``Permutation``.
    """
    from shap.explainers import ExactExplainer, PermutationExplainer

    leave_uncompiled()
    started = time.perf_counter()
    n_varying = n_varying_of(people, background_of(data_rows, N_BACKGROUND), taken)
    plan = _plan(_rows_per_second(model, data_rows), max(n_varying))
    background = background_of(data_rows, plan.n_background)
    base = float(np.mean(score_of(model, people[0], taken)(background[:, taken])))
    values = np.zeros((2, people.shape[1]))
    masker = Masker(background[:, taken])
    for i, n in enumerate(n_varying_of(people, background, taken)):
        if n == 0:  # the library's loops take it that something can be left out
            continue
        score = score_of(model, people[i], taken)
        if plan.is_exact:
            explainer = ExactExplainer(score, masker, **AS_IT_IS)
            n_masks = 2**n
        else:
            explainer = PermutationExplainer(score, masker, **AS_IT_IS, seed=_SEED)
            n_masks = plan.n_permutations * (2 * n + 1)
        values[i, taken] = explainer(people[i : i + 1, taken], max_evals=n_masks, silent=True).values[0]
    scores = favourable_scores(model, model.scores(people))
    used = (plan.is_exact, len(background), plan.n_permutations)
    return PairValues(values, scores, base, *used, time.perf_counter() - started)


def favourable_scores(model: Model, scores: FloatArray) -> FloatArray:
    """One number a row ``(n_rows,)`` that is higher when the model is nearer to the favourable outcome.

    Two classes: the score of class 1 where that class is favourable; else 1 less the score, or the negative of a logit.
    More classes: the score of the favourable class, for both people, whatever was decided for them.

    Args:
        scores: as ``Model.scores`` gives them ``(n_rows, n_scores)``.
    """
    if not model.is_binary:
        return np.asarray(scores[:, model.favourable], dtype=np.float64)
    of_class_one = np.asarray(scores[:, 0], dtype=np.float64)
    return of_class_one if model.favourable == 1 else of_class_zero(of_class_one, model.predictor.output)


# --- how much can be afforded --------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    is_exact: bool
    n_background: int
    n_permutations: int = 0


def _plan(rows_per_second: float, n_varying: int) -> _Plan:
    """The best explanation of two people that the model's speed allows.

    Raises:
        SettingError: none is possible in time.
    """
    n_rows = min(float(_MAX_ROWS), rows_per_second * _MODEL_SECONDS)
    for size in _BACKGROUND_SIZES:
        if 2.0 * 2.0**n_varying * size <= n_rows:
            return _Plan(True, size)
    for size in _BACKGROUND_SIZES:
        n_permutations = int(n_rows / (2 * (2 * n_varying + 1) * size))
        if n_permutations >= _MIN_PERMUTATIONS:
            return _Plan(False, size, min(MAX_PERMUTATIONS, n_permutations))
    needed = 2 * (2 * n_varying + 1) * _BACKGROUND_SIZES[-1] * _MIN_PERMUTATIONS
    if needed <= rows_per_second * _MOST_MODEL_SECONDS:
        return _Plan(False, _BACKGROUND_SIZES[-1], _MIN_PERMUTATIONS)
    raise SettingError(
        f"SHAP values of this pair need at least {needed:,} rows of the model, and it decides about "
        f"{rows_per_second:,.0f} rows a second: too slow for an answer here. Change single values of the pair instead."
    )


def _rows_per_second(model: Model, rows: FloatArray) -> float:
    """Rows scored a second, the best of batches that grow: what each call costs however few its rows are, as in a
    pipeline of many steps, is little in the large blocks of an explanation.
    """
    model.scores(rows[:1])  # what a first call costs once is no measure of speed
    n = 32
    best = 0.0
    while True:
        batch = np.resize(rows, (n, rows.shape[1]))
        before = time.perf_counter()
        model.scores(batch)
        seconds = max(time.perf_counter() - before, 1e-9)
        best = max(best, n / seconds)
        if seconds > _TIMED_SECONDS or n >= _BLOCK_ROWS:
            return best
        n *= 4


def n_varying_of(people: FloatArray, background: FloatArray, taken: IntArray) -> list[int]:
    """In how many taken columns each person differs from some row of the background; the others need no coalition."""
    return [int((background[:, taken] != person[taken]).any(axis=0).sum()) for person in people]


def background_of(data_rows: FloatArray, n: int) -> FloatArray:
    """A sample of the data, always the same; the smaller ones are parts of the larger ones."""
    order = np.random.default_rng(_SEED).permutation(len(data_rows))
    return data_rows[order[:n]]


# --- the library's side --------------------------------------------------------------------------


@cache
def leave_uncompiled() -> None:
    """Have the library take its loops as they are written: to compile them takes 3 s in every process, which cannot
    keep what it compiled for the next one, and for as many masks as an explanation has they are no faster.
    """
    from shap.explainers import _exact
    from shap.utils import _masked_model

    for module, name in ((_exact, "_compute_grey_code_row_values"), (_masked_model, "_build_fixed_single_output")):
        setattr(module, name, getattr(module, name).py_func)


class _Same:
    """A link that changes nothing."""

    def __call__(self, mean: float) -> float:
        return mean

    inverse = __call__


AS_IT_IS: dict[str, Any] = {"link": _Same(), "linearize_link": False}
"""What explainers are told so that scores are explained as they are; the library's own link is compiled."""


class Masker:
    """Replaces attributes that are left out by those of every background row, in the library's protocol for maskers.

    Its own one takes values as equal when they are close (1 in 100,000) and then does not evaluate them, so that sums
    are off, and compiles itself for 7 s in every new process.

    Args:
        background: the taken columns of rows of the data ``(n_background, n_taken)``.
    """

    supports_delta_masking = True

    def __init__(self, background: FloatArray) -> None:
        self.background = background
        self.shape = background.shape

    def invariants(self, person: FloatArray) -> BoolArray:
        """Where leaving out changes nothing ``(n_background, n_taken)``."""
        return np.asarray(self.background == person)

    def __call__(self, flips: IntArray, person: FloatArray) -> tuple[tuple[FloatArray], BoolArray]:
        """Masked rows for a sequence of coalitions, each the one before with one attribute flipped.

        Args:
            flips: which attribute ``(n_coalitions,)``; the first flips none.
            person: ``(n_taken,)``.

        Returns:
            ``(n_coalitions * n_background, n_taken)`` in a tuple, and which of them differ from the coalition before
            ``(n_coalitions, n_background)``.
        """
        is_flipped = np.asarray(flips)[:, None] == np.arange(self.shape[1])
        is_known = np.logical_xor.accumulate(is_flipped, axis=0)
        rows = np.where(is_known[:, None, :], person, self.background)
        varying = ~self.invariants(person)[:, np.where(is_flipped.any(axis=1), flips, 0)].T
        varying[0] = True
        return (rows.reshape(-1, self.shape[1]),), varying


def score_of(model: Model, person: FloatArray, taken: IntArray) -> Callable[[FloatArray], FloatArray]:
    """The explained score as a function of the taken columns ``(n_rows, n_taken) -> (n_rows,)``; blocks bound the
    memory.
    """

    def score(inputs: FloatArray) -> FloatArray:
        out = np.empty(len(inputs))
        for start in range(0, len(inputs), _BLOCK_ROWS):
            block = inputs[start : start + _BLOCK_ROWS]
            rows = np.tile(person, (len(block), 1))
            rows[:, taken] = block
            out[start : start + _BLOCK_ROWS] = favourable_scores(model, model.scores(rows))
        return out

    return score
