"""Decision trees, forests and boosted trees of scikit-learn, evaluated many rows at a time.

The leaves that rows reach, and the order in which their values are added, are scikit-learn's, so that decisions agree
exactly, ties included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.dense.activations import sigmoid, softmax
from fairness_engine.models.model import Output
from fairness_engine.models.sklearn.voting import positive_score, settle

_N_LANES = 16


@dataclass(frozen=True)
class TreeNodes:
    """The nodes of several trees, one tree after the other; children stand behind their parents.

    Args:
        roots: the first node of every tree ``(n_trees,)``.
        feature: which input a node compares ``(n_nodes,)``.
        limit: inputs up to it, rounded to ``dtype`` first, go to the left ``(n_nodes,)``.
        left, right: children ``(n_nodes,)``; a leaf is its own child.
        values: what the leaves add ``(n_nodes, n_values)``.
        dtype: in which inputs are compared.
    """

    roots: IntArray
    feature: IntArray
    limit: FloatArray
    left: IntArray
    right: IntArray
    values: FloatArray
    dtype: type[np.floating[Any]] = np.float32


class TreeSums:
    """Trees laid out for the compiled walk.

    Args:
        trees: fitted ``sklearn.tree._tree.Tree`` objects.
        values: what the leaves of each tree add, ``(n_nodes, n_values)`` each.
        n_features: of a row.

    Raises:
        ModelError: a node points outside its tree, or asks for an input that there is none of.
    """

    def __init__(self, trees: Sequence[Any], values: Sequence[FloatArray], n_features: int) -> None:
        self.n_features = n_features
        sizes = [len(tree.children_left) for tree in trees]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        nodes = np.empty((starts[-1], 4), dtype=np.uint32)
        for tree, start, end in zip(trees, starts[:-1], starts[1:], strict=True):
            _lay_out(tree, int(start), nodes[start:end], n_features)
        self._roots = starts[:-1].astype(np.uint32)
        self._links = nodes.ravel()
        self._limits = nodes.view(np.float32).ravel()
        self._values = np.ascontiguousarray(np.concatenate(values), dtype=np.float64)
        if len(self._values) != len(nodes):
            raise ModelError(
                "Every node of a tree needs a value, but the file has another number. Save the model again."
            )

    @property
    def nodes(self) -> TreeNodes:
        """The trees as they are walked."""
        links = self._links.reshape(-1, 4).astype(np.int64)
        limit = self._limits.reshape(-1, 4)[:, 1].astype(np.float64)
        return TreeNodes(self._roots.astype(np.int64), links[:, 0], limit, links[:, 2], links[:, 3], self._values)

    def add_to(self, sums: FloatArray, inputs: Any) -> FloatArray:
        """``sums (n_rows, n_values)`` plus the values of the leaves reached from ``inputs (n_rows, n_features)``."""
        from fairness_engine.models.trees.kernels import add_leaf_values  # numba is loaded only where trees are used

        inputs = np.asarray(inputs)
        if inputs.ndim != 2 or inputs.shape[1] != self.n_features:
            raise FitError(f"The model takes {self.n_features} inputs a row, got an array of shape {inputs.shape}.")
        n = len(inputs)
        n_padded = -(-n // _N_LANES) * _N_LANES
        rows = np.zeros((n_padded, self.n_features), dtype=np.float32)
        rows[:n] = inputs
        padded = np.zeros((n_padded, sums.shape[1]))
        padded[:n] = sums
        add_leaf_values(rows.ravel(), self.n_features, self._roots, self._links, self._limits, self._values, padded)
        return padded[:n]


class Forest:
    """A predictor: the mean of the class shares in the leaves of one or more trees.

    Args:
        trees: as in ``TreeSums``; n_features: of a row; n_classes: at least two; kind: in words.
    """

    output = Output.PROBABILITY
    feature_names: tuple[str, ...] | None = None

    def __init__(self, trees: Sequence[Any], n_features: int, n_classes: int, kind: str) -> None:
        if any(tree.value.shape[2] != n_classes for tree in trees):
            raise ModelError(
                f"Every tree of the model must decide between its {n_classes} classes, but the file has another number "
                "in some. Save the model again."
            )
        values = [tree.value[:, 0] for tree in trees]
        self.kind = kind
        self.n_inputs: int | None = n_features
        self.n_scores = 1 if n_classes == 2 else n_classes
        self._n_classes = n_classes
        self.n_trees = len(trees)
        self.sums = TreeSums(trees, values, n_features)

    def probabilities(self, inputs: Any) -> FloatArray:
        """Class shares ``(n_rows, n_classes)``."""
        sums = self.sums.add_to(np.zeros((len(inputs), self._n_classes)), inputs)
        if self.n_trees > 1:
            sums /= self.n_trees
        return sums

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``; a tie of two classes is class 0, as in scikit-learn."""
        return settle(self.probabilities(inputs))

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores


class BoostedTrees:
    """A predictor: class scores summed over boosted regression trees (``GradientBoostingClassifier``).

    Args:
        estimator: fitted, with a constant start (the default).
    """

    output = Output.PROBABILITY
    feature_names: tuple[str, ...] | None = None

    def __init__(self, estimator: Any) -> None:
        stages = estimator.estimators_  # (n_stages, n_values)
        n_values = stages.shape[1]
        self.n_inputs: int | None = int(estimator.n_features_in_)
        self.n_scores = n_values
        self.kind = f"gradient boosting of {stages.size} trees"
        trees = []
        values = []
        for stage in stages:
            for k, regressor in enumerate(stage):
                spread = np.zeros((regressor.tree_.node_count, n_values))
                spread[:, k] = estimator.learning_rate * regressor.tree_.value[:, 0, 0]
                trees.append(regressor.tree_)
                values.append(spread)
        self.start = estimator._raw_predict_init(np.zeros((1, self.n_inputs)))
        self.sums = TreeSums(trees, values, self.n_inputs)

    def raw(self, inputs: Any) -> FloatArray:
        """Sums before the link function ``(n_rows, n_values)``."""
        return self.sums.add_to(np.repeat(self.start, len(inputs), axis=0), inputs)

    def probabilities(self, inputs: Any) -> FloatArray:
        """Class probabilities ``(n_rows, n_classes)``."""
        raw = self.raw(inputs)
        if self.n_scores > 1:
            return softmax(raw)
        positive = sigmoid(raw[:, 0])
        return np.stack([1 - positive, positive], axis=1)

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``; a sum of exactly 0 is class 1, as in scikit-learn."""
        if self.n_scores > 1:
            return self.probabilities(inputs)
        raw = self.raw(inputs)
        return positive_score(sigmoid(raw), raw >= 0)

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the sums, whose order is that of the scores."""
        return self.predict(inputs) - threshold if self.n_scores == 1 else self.raw(inputs)


def _lay_out(tree: Any, start: int, nodes: NDArray[np.uint32], n_features: int) -> None:
    """Write one tree's nodes as (feature, limit, left, right), indices counted over all trees."""
    left = tree.children_left.astype(np.int64)
    right = tree.children_right.astype(np.int64)
    own = np.arange(len(left))
    is_leaf = left == -1
    inner = ~is_leaf
    feature = np.where(is_leaf, 0, tree.feature)
    is_sound = (
        len(left) > 0
        and (right[is_leaf] == -1).all()
        and all(((child[inner] > own[inner]) & (child[inner] < len(own))).all() for child in (left, right))
        and ((feature >= 0) & (feature < n_features)).all()
    )
    if not is_sound:
        raise ModelError(
            "A tree of the model points outside itself: the file is damaged and is refused. Save it again."
        )
    nodes[:, 0] = feature
    nodes.view(np.float32)[:, 1] = np.where(is_leaf, np.inf, _largest_float32_below(tree.threshold))
    nodes[:, 2] = np.where(is_leaf, own, left) + start
    nodes[:, 3] = np.where(is_leaf, own, right) + start


def _largest_float32_below(limits: FloatArray) -> NDArray[np.float32]:
    """float32 limits for which ``x <= limit`` says, of a float32 ``x``, what the float64 limit says."""
    rounded = limits.astype(np.float32)
    too_large = rounded.astype(np.float64) > limits
    return np.where(too_large, np.nextafter(rounded, np.float32(-np.inf)), rounded)
