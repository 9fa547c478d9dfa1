"""A decision tree that many people share, and the constraint sets that it gives each of them, solved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.search.symbolic.path_tree import Confidence


class SharedTree:
    """scikit-learn's tree of a neighbourhood, kept for all people; every row counts alike.

    Args:
        domain: of the rows.
        rows: what it is learned on ``(n, n_columns)``.
        labels: the model's decisions ``(n,)``.
        confidence: what a predicate's confidence is a share of.
        max_depth: of the tree; 0 grows until the leaves are pure.
        seed: how scikit-learn chooses among equal splits.
    """

    def __init__(
        self, domain: Domain, rows: FloatArray, labels: IntArray, confidence: Confidence, max_depth: int, seed: int
    ) -> None:
        from sklearn.tree import DecisionTreeClassifier  # loaded when a search begins, not by the app

        from fairness_engine.search.symbolic import kernels

        tree = DecisionTreeClassifier(max_depth=max_depth or None, random_state=seed).fit(rows, labels).tree_
        columns = np.where(tree.children_left < 0, -1, tree.feature).astype(np.int64)
        self._tree = (
            columns,
            np.ascontiguousarray(tree.threshold),  # a column of a table, which the loops were not compiled for
            tree.children_left.astype(np.int64),
            tree.children_right.astype(np.int64),
        )
        self._confidences: FloatArray = tree.n_node_samples / len(rows)
        if confidence is Confidence.NODE:
            inner = np.flatnonzero(columns >= 0)
            for children in self._tree[2:]:
                self._confidences[children[inner]] = tree.n_node_samples[children[inner]] / tree.n_node_samples[inner]
        self._bounds = (domain.low, domain.high, domain.step)
        self._roles: NDArray[np.int8] = np.zeros(domain.n_columns, dtype=np.int8)
        self._roles[domain.movable], self._roles[domain.protected] = kernels.MOVABLE, kernels.PROTECTED

    def solve(
        self, people: FloatArray, limit: float, rng: np.random.Generator, *, is_directed: bool
    ) -> tuple[FloatArray, FloatArray]:
        """A random solution of each constraint set of the people's paths; sets without one are left out.

        A set of a path's predicates bounds every column by itself, so its solutions are a box, known without a solver; a
        test asks z3 about them. Columns without a predicate keep the person's value, and fixed ones.

        Args:
            people: ``(n_people, n_columns)``.
            limit: directed: predicates with a confidence under it are negated (T2); undirected: the first one under it ends
                the path (T1).
            rng: the only source of chance.
            is_directed: keep all other predicates, or those above the negated one that are not protected.

        Returns:
            rows ``(n, n_columns)``, and the average confidence of the constraint set of each ``(n,)``.
        """
        from fairness_engine.search.symbolic import kernels

        question = (people, self._tree, self._confidences, self._roles, limit, is_directed)
        first: IntArray = np.empty(len(people) + 1, dtype=np.int64)
        kernels.count_children(*question, first)
        children = np.empty((first[-1], people.shape[1]))
        orders = np.empty(len(children))
        kernels.fill_children(*question, first, self._bounds, rng.random(children.shape), children, orders)
        is_solved = ~np.isnan(orders)
        return children[is_solved], orders[is_solved]
