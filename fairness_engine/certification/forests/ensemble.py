"""What a model of trees adds up, and what its sums decide, to the bit.

A decision tree, a forest, a soft vote of them and gradient boosting are sums of one leaf a tree. With two classes one
sum decides by a threshold; with several, the difference of every two classes decides which of them is ahead. Sums that
rounding could place on either side decide nothing here: a model of one tree has no such sums, nor has a forest whose
leaves are pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import ModelError
from fairness_engine.models.model import Model, Predictor
from fairness_engine.models.sklearn.estimator import EstimatorPredictor
from fairness_engine.models.sklearn.voting import Rearranged, SoftVote, Transformed, positive_score, settle
from fairness_engine.models.trees.trees import BoostedTrees, Forest, TreeNodes

_HISTOGRAM = "HistGradientBoostingClassifier"


@dataclass(frozen=True)
class ClassSums:
    """Sums a class, or the one of class 1, before they are compared.

    Args:
        nodes: of all trees.
        values: of the leaves ``(n_nodes, n_classes)``, or ``(n_nodes, 1)``.
        start: of each sum.
        divisor: what the sums are divided by.
        is_share: they are class shares, not sums before a link function.
        n_classes: at least two.
    """

    nodes: TreeNodes
    values: FloatArray
    start: FloatArray
    divisor: float
    is_share: bool
    n_classes: int


def is_tree_model(model: Model) -> bool:
    """Whether a model is made of trees, be they such that proofs are made for them or not."""
    predictor = model.predictor.inner if isinstance(model.predictor, Rearranged) else model.predictor
    return _is_made_of_trees(predictor.final if isinstance(predictor, Transformed) else predictor)


def _is_made_of_trees(predictor: Predictor) -> bool:
    if isinstance(predictor, SoftVote):
        return all(isinstance(member, Forest) for member in predictor.members)
    return isinstance(predictor, Forest | BoostedTrees) or _is_histogram(predictor)


def read_sums(predictor: Predictor) -> ClassSums:
    """The trees of a predictor that ``is_tree_model`` knows, and what their leaves add up to.

    Raises:
        ModelError: no proof is made for it; the sentence says why and what to do.
    """
    if isinstance(predictor, Forest):
        nodes = predictor.sums.nodes
        n_classes = nodes.values.shape[1]
        return ClassSums(nodes, nodes.values, np.zeros(n_classes), float(predictor.n_trees), True, n_classes)
    if isinstance(predictor, BoostedTrees):
        nodes = predictor.sums.nodes
        return ClassSums(nodes, nodes.values, predictor.start[0], 1.0, False, max(2, predictor.n_scores))
    if isinstance(predictor, SoftVote):
        return _read_vote(predictor)
    assert isinstance(predictor, EstimatorPredictor)
    return _read_histogram(predictor)


def _read_vote(vote: SoftVote) -> ClassSums:
    members = [member for member in vote.members if isinstance(member, Forest)]
    weights = np.ones(len(members)) if vote.weights is None else np.asarray(vote.weights, dtype=np.float64)
    parts = [member.sums.nodes for member in members]
    shares = [p.values * w / m.n_trees for p, w, m in zip(parts, weights / weights.sum(), members, strict=True)]
    nodes = _joined(parts, np.concatenate(shares))
    n_classes = nodes.values.shape[1]
    return ClassSums(nodes, nodes.values, np.zeros(n_classes), 1.0, True, n_classes)


def _joined(parts: list[TreeNodes], values: FloatArray) -> TreeNodes:
    offsets = np.cumsum([0, *(len(part.feature) for part in parts[:-1])])

    def moved(name: str) -> IntArray:
        return np.concatenate([getattr(part, name) + offset for part, offset in zip(parts, offsets, strict=True)])

    feature = np.concatenate([part.feature for part in parts])
    limit = np.concatenate([part.limit for part in parts])
    return TreeNodes(moved("roots"), feature, limit, moved("left"), moved("right"), values)


def _is_histogram(predictor: Predictor) -> bool:
    return isinstance(predictor, EstimatorPredictor) and type(predictor.estimator).__name__ == _HISTOGRAM


def _read_histogram(predictor: EstimatorPredictor) -> ClassSums:
    """Boosting on histograms, by its nodes; its thresholds are float64."""
    estimator = predictor.estimator
    if estimator.is_categorical_ is not None or predictor.method != "predict_proba":
        raise ModelError(
            f"This model cannot be certified: {_HISTOGRAM} must take numbers only, but it splits sets of categories. "
            "Train it with one-hot or ordinal columns, or estimate the share instead."
        )
    trees = [(tree.nodes, k) for stage in estimator._predictors for k, tree in enumerate(stage)]
    sizes = [len(nodes) for nodes, _ in trees]
    starts = np.cumsum([0, *sizes[:-1]])
    all_nodes = np.concatenate([nodes for nodes, _ in trees])
    own = np.arange(len(all_nodes))
    offset = np.repeat(starts, sizes)
    is_leaf = all_nodes["is_leaf"].astype(bool)
    left, right = (np.where(is_leaf, own, all_nodes[side].astype(np.int64) + offset) for side in ("left", "right"))
    feature = np.where(is_leaf, 0, all_nodes["feature_idx"]).astype(np.int64)
    ends = offset + np.repeat(sizes, sizes)
    is_sound = all(((child > own) & (child < ends))[~is_leaf].all() for child in (left, right))
    if not is_sound or feature.min() < 0 or feature.max() >= int(predictor.n_inputs or 0):
        raise ModelError(
            "A tree of the model points outside itself: the file is damaged and is refused. Save it again."
        )
    start = np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel()
    values = np.zeros((len(own), len(start)))
    values[own, np.repeat([k for _, k in trees], sizes)] = all_nodes["value"]
    limit = np.where(is_leaf, np.inf, all_nodes["num_threshold"])
    nodes = TreeNodes(starts, feature, limit, left, right, values, np.float64)
    return ClassSums(nodes, values, start, 1.0, False, max(2, len(start)))


_SLACK = 1e-9
"""Share of the largest sum by which rounding, in any order of adding, is safely exceeded."""
_GUARD = 16
"""Rounding steps of a score around the threshold that decide nothing."""
_MAX_NUMBERS = 200_000_000

Score = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Ensemble:
    """Trees whose leaves are added up, and what the sums mean.

    Args:
        nodes: of all trees; their ``values`` are not the sums below.
        values: what a leaf adds to each sum ``(n_nodes, n_sums)``.
        start: of each sum ``(n_sums,)``.
        below, above: a sum up to ``below`` puts ``second`` before ``first``, one greater than ``above`` the reverse
            ``(n_sums,)``.
        first, second: classes that a sum compares ``(n_sums,)``; a class that is before all others is the decision.
        n_classes: how many there are.
        score: two classes only: from sums ``(n,)`` to the model's scores ``(n,)``; rises.
        kind: in words.
    """

    nodes: TreeNodes
    values: FloatArray
    start: FloatArray
    below: FloatArray
    above: FloatArray
    first: IntArray
    second: IntArray
    n_classes: int
    score: Score | None
    kind: str

    def __post_init__(self) -> None:
        """Numbers as the loops are compiled for."""
        for name in ("values", "start", "below", "above"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        for name in ("first", "second"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int64))

    @property
    def merges(self) -> int:
        """Which leaves may become one: 0 for none, as sums might round differently; 1 for equal ones; 2 for those that
        decide alike.
        """
        if len(self.nodes.roots) == 1 and self.n_classes == 2:
            return 2
        return int(bool((self.below == self.above).all()))


def read_ensemble(model: Model) -> Ensemble:
    """The sums of a model of trees.

    Raises:
        ModelError: a model of trees that no proof is made for; the sentence says why and what to do.
    """
    predictor = model.predictor
    rearranged = None
    if isinstance(predictor, Rearranged):
        rearranged = predictor
        predictor = predictor.inner
    if isinstance(predictor, Transformed):
        raise ModelError(
            "This model cannot be certified: the steps before its trees must turn each column into inputs of its own, "
            "and continuous numbers by scaling alone, but an input here depends on several columns, or on a number in "
            "curves or steps. Train it without the step that mixes or bends them, or estimate the share instead."
        )
    sums = read_sums(predictor)
    if predictor.n_scores > 1:
        order = list(range(sums.n_classes)) if rearranged is None else rearranged.order
        return _several_classes(sums, order, predictor.kind)
    return _two_classes(sums, rearranged, model.threshold, predictor.kind)


# --- two classes --------------------------------------------------------------------------------


def _two_classes(sums: ClassSums, rearranged: Rearranged | None, threshold: float, kind: str) -> Ensemble:
    is_mirrored = rearranged is not None

    def turned(scores: FloatArray) -> FloatArray:
        return (scores if rearranged is None else rearranged.turned(scores))[:, 0]

    def scores_of(shares: FloatArray) -> FloatArray:
        return turned(settle(shares))

    def share_score(share: FloatArray, whole: float = 1.0) -> FloatArray:
        parts = (share, whole - share) if is_mirrored else (whole - share, share)
        return scores_of(np.stack(parts, axis=1) / whole)

    def raw_score(raw: FloatArray) -> FloatArray:
        own = -raw[:, None] if is_mirrored else raw[:, None]
        with np.errstate(over="ignore"):
            return turned(positive_score(1 / (1 + np.exp(-own)), own >= 0))

    def made(values: FloatArray, start: float, limits: tuple[float, float], score: Score) -> Ensemble:
        limit = np.array(limits)
        one = np.array([1])
        return Ensemble(
            sums.nodes, values[:, None], np.array([start]), limit[:1], limit[1:], one, one - 1, 2, score, kind
        )

    if not sums.is_share:
        sign = -1.0 if is_mirrored else 1.0
        values = sign * sums.values[:, 0]
        start = sign * float(sums.start[0])
        return made(values, start, _crossing(raw_score, threshold, sums.nodes, values, start), raw_score)
    if len(sums.nodes.roots) == 1:  # its leaves' own scores, less the threshold
        return made(scores_of(sums.values) - threshold, 0.0, (0.0, 0.0), lambda margin: margin + threshold)
    values = sums.values[:, 0 if is_mirrored else 1]
    if _is_pure(sums):
        n = len(sums.nodes.roots)
        n_votes = int((share_score(np.arange(n + 1.0), n) <= threshold).sum()) - 1
        return made(values, 0.0, (n_votes, n_votes), lambda votes: share_score(votes, n))
    values = values / sums.divisor
    return made(values, 0.0, _crossing(share_score, threshold, sums.nodes, values, 0.0), share_score)


def _is_pure(sums: ClassSums) -> bool:
    """Every leaf is one class: sums are numbers of votes, which rounding leaves alone."""
    leaves = sums.values[_leaves(sums.nodes)]
    is_whole = ((leaves == 0) | (leaves == 1)).all() and (leaves.sum(axis=1) == 1).all()
    return bool(is_whole) and sums.divisor == len(sums.nodes.roots)


def _crossing(
    score: Score, threshold: float, nodes: TreeNodes, values: FloatArray, start: float
) -> tuple[float, float]:
    """Up to the first sum the score is not above the threshold; beyond the second it is; between them rounding may
    decide.
    """
    size = 1 + abs(start) + float(_largest(nodes, values[:, None])[0])

    def is_surely(sum_: float, above: bool) -> bool:
        value = float(score(np.array([sum_]))[0])
        guard = _GUARD * float(np.spacing(max(abs(value), abs(threshold))))
        return value - guard > threshold if above else value + guard <= threshold

    below = _last(lambda s: is_surely(s, above=False), -size, size)
    above = -_last(lambda s: is_surely(-s, above=True), -size, size)
    return below - _SLACK * size, above + _SLACK * size


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The greatest number for which ``holds``, which holds up to some number and not beyond."""
    if not holds(low):
        return -np.inf
    if holds(high):
        return np.inf
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# --- several classes ----------------------------------------------------------------------------


def _several_classes(sums: ClassSums, order: list[int], kind: str) -> Ensemble:
    pairs = np.array(list(itertools.combinations(range(sums.n_classes), 2)))
    n_numbers = len(pairs) * len(sums.values)
    if n_numbers > _MAX_NUMBERS:
        raise ModelError(
            "This model cannot be certified: a proof holds the differences of every two classes, at most "
            f"{_MAX_NUMBERS:,} numbers, but its {sums.n_classes} classes and {len(sums.values):,} nodes need "
            f"{n_numbers:,}. Train it with fewer trees or classes."
        )
    first, second = pairs.T
    by_class = sums.values[:, order]
    start = sums.start[order]
    if sums.is_share and len(sums.nodes.roots) == 1:
        by_class = np.eye(sums.n_classes)[by_class.argmax(axis=1)]
    is_exact = sums.is_share and (len(sums.nodes.roots) == 1 or _is_pure(sums))
    values = by_class[:, first] - by_class[:, second]
    start = start[first] - start[second]
    limit = np.full(len(pairs), -0.5)  # of whole numbers: a tie is the class that comes first
    slack = np.zeros(len(pairs))
    if not is_exact:
        values = values / sums.divisor
        size = (_largest(sums.nodes, sums.values) / sums.divisor + np.abs(sums.start)).sum()
        limit = np.zeros(len(pairs))
        slack = np.full(len(pairs), _SLACK * (1 + size))
    return Ensemble(sums.nodes, values, start, limit - slack, limit + slack, first, second, sums.n_classes, None, kind)


def _leaves(nodes: TreeNodes) -> IntArray:
    return np.flatnonzero(nodes.left == np.arange(len(nodes.left)))


def _largest(nodes: TreeNodes, values: FloatArray) -> FloatArray:
    """The largest amount that each sum can reach ``(n_sums,)``: each tree's largest leaf, added up."""
    is_leaf = nodes.left == np.arange(len(nodes.left))
    sizes = np.where(is_leaf[:, None], np.abs(values), 0.0)
    return np.asarray(np.maximum.reduceat(sizes, nodes.roots, axis=0).sum(axis=0))
