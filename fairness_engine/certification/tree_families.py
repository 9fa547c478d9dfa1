"""The families of tree models, as trees and the sums of their leaves by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.errors import ModelError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.composite import Rearranged, SoftVote, Transformed
from fairness_engine.models.model import Model, Predictor
from fairness_engine.models.sklearn_model import EstimatorPredictor
from fairness_engine.models.trees import BoostedTrees, Forest, TreeNodes

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
            f"This model cannot be certified: {_HISTOGRAM} must take numbers only, but it splits sets of categories. Train it with one-hot "
            "or ordinal columns, or estimate the share instead."
        )
    trees = [(tree.nodes, k) for stage in estimator._predictors for k, tree in enumerate(stage)]
    sizes = [len(nodes) for nodes, _ in trees]
    starts = np.cumsum([0, *sizes[:-1]])
    all_nodes = np.concatenate([nodes for nodes, _ in trees])
    own, offset = np.arange(len(all_nodes)), np.repeat(starts, sizes)
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
