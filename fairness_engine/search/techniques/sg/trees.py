"""The path of a person in the decision tree of a neighbourhood (paper 003, Algorithm 2), with confidences.

The tree is scikit-learn's default one (CART, Gini impurity, grown until its leaves are pure), and of it only the
person's path is ever read. A node's split depends on the rows in that node alone, so the path is grown without the rest
of the tree: the same predicates for a tenth of the time. A test follows it through scikit-learn's own splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.oracle.domain import Domain
from fairness_engine.search.techniques.sg.constraints import Predicate
from fairness_engine.search.techniques.sg.neighbourhood import Neighbourhood
from fairness_engine.search.techniques.sg.search import Confidence

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle
    from fairness_engine.search.techniques.sg.sg_shared import SgShared

CodeArray = NDArray[np.int32]

_MAX_TABLED_VALUES = 1024
_DEEPEST = 512
"""Predicates of a path at most; 5,000 rows that agree with nothing grow some thirty."""


@dataclass(frozen=True)
class Path:
    """A conjunction of predicates, the root's first.

    Args:
        predicates: all hold for the person.
        confidences: of each ``(n,)``; see ``Confidence``.
    """

    predicates: tuple[Predicate, ...]
    confidences: FloatArray

    def __len__(self) -> int:
        return len(self.predicates)


class PathGrower:
    """Grows paths in trees of rows of one domain.

    Args:
        domain: of the rows.
        n_classes: of the labels.
        confidence: which share is meant by confidence; rows count by their weight.
        max_depth: predicates at most; 0 grows until the leaf is pure.
    """

    def __init__(self, domain: Domain, n_classes: int, confidence: Confidence, max_depth: int = 0) -> None:
        self._n_classes = n_classes
        self._confidence = confidence
        self._max_depth = min(max_depth or _DEEPEST, _DEEPEST)
        is_tabled = (domain.step > 0) & (domain.n_values <= _MAX_TABLED_VALUES)
        self._tabled: IntArray = np.flatnonzero(is_tabled)
        self._others: IntArray = np.flatnonzero(~is_tabled)
        self._low = domain.low[self._tabled]
        self._step = domain.step[self._tabled]
        self._tables = [np.empty(0) for _ in range(domain.n_columns)]
        for i in self._tabled:
            self._tables[i] = domain.low[i] + domain.step[i] * np.arange(int(domain.n_values[i]))

    def grow(self, rows: FloatArray, labels: IntArray, weights: FloatArray) -> Path:
        """The path of the first row in the tree of all rows.

        Args:
            rows: in the domain ``(n, n_columns)``, the person first.
            labels: the model's decisions ``(n,)``.
            weights: sample weights ``(n,)``, positive.
        """
        from fairness_engine.search.techniques.sg import kernels

        codes, tables = self._encode(rows)
        branch = np.zeros((self._max_depth, 4), dtype=np.int32)
        confidences = np.zeros(self._max_depth)
        first = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        own = np.arange(len(rows))
        n = kernels.grow_branch(codes, labels, weights, own, first, self._n_classes, branch, confidences)
        predicates = tuple(
            Predicate(column, float(tables[column][below] + tables[column][above]) / 2, bool(is_below))
            for column, below, above, is_below in branch[:n].tolist()
        )
        shares: FloatArray = confidences[:n].copy()
        return Path(predicates, np.asarray(np.cumprod(shares)) if self._confidence is Confidence.PATH else shares)

    def _encode(self, rows: FloatArray) -> tuple[CodeArray, list[FloatArray]]:
        """Each column as positions in a sorted table of its values, ``(n, n_columns)``, and the tables."""
        from fairness_engine.search.techniques.sg import kernels

        codes = np.empty(rows.shape, dtype=np.int32)
        tables = self._tables.copy()
        kernels.encode_lattice(rows, self._tabled, self._low, self._step, codes)
        for i in self._others:
            tables[i], codes[:, i] = np.unique(rows[:, i], return_inverse=True)
        return codes, tables


_BLOCK_NEIGHBOURS = 1 << 15
"""Neighbours that go to the model together."""
_MIN_SAMPLES = 50
_BUDGET_PARTS = 100
_SPACE_PARTS = 10
"""A neighbourhood takes at most these parts of the evaluation budget, and of what it costs to test the whole space."""


@dataclass(frozen=True)
class Explained:
    """A person and what explains the decision, to be shown.

    Args:
        person: ``(n_columns,)``.
        neighbours, labels: what the tree was grown on ``(n, n_columns)``, and how the model decided them ``(n,)``.
        path: of the person.
    """

    person: FloatArray
    neighbours: FloatArray
    labels: IntArray
    path: Path


@dataclass(frozen=True)
class Explainer:
    """Explains people by their path in a tree of their neighbourhood.

    Args:
        oracle: every neighbour is evaluated, and counts.
        neighbourhood: what draws them.
        n_samples: of one neighbourhood.
        grower: what grows the trees' paths.
        is_local: weigh neighbours by LIME's kernel.
        seed: a person's neighbourhood is drawn from this and the person's number, so that it does not matter when.
    """

    oracle: Oracle
    neighbourhood: Neighbourhood
    n_samples: int
    grower: PathGrower
    is_local: bool
    seed: int

    def explain(self, people: FloatArray, numbers: Sequence[int]) -> Iterator[Path]:
        """The paths of people ``(n_people, n_columns)`` with their numbers.

        Raises:
            SearchStopped: budget or cancel; asked before every block.
        """
        oracle = self.oracle
        n = self.n_samples
        block = max(1, _BLOCK_NEIGHBOURS // n)
        for start in range(0, len(people), block):
            part = people[start : start + block]
            rows = np.repeat(part, n, axis=0).reshape(len(part), n, -1)
            weights = np.ones((len(part), n))
            for k, number in enumerate(numbers[start : start + block]):
                rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
                drawn = self.neighbourhood.draw(rows[k], rng)
                if self.is_local:
                    weights[k] = drawn
            labels = oracle.model.decide(oracle.scores(rows.reshape(len(part) * n, -1))).reshape(len(part), n)
            for k in range(len(part)):
                path = self.grower.grow(rows[k], labels[k], weights[k])
                oracle.show(Explained(part[k], rows[k], labels[k], path))
                yield path


def samples_within(oracle: Oracle, n_samples: int) -> int:
    """Rows of a neighbourhood: as asked, or what budget and space allow.

    A neighbourhood takes at most a hundredth of the evaluation budget, and a tenth of what it costs to test the whole
    space; never fewer than 50 rows, unless fewer were asked for.
    """
    budget = oracle.budget.max_evaluations
    domain = oracle.domain
    by_budget = np.inf if budget is None else budget // _BUDGET_PARTS
    by_space = domain.n_individuals * domain.n_variants // _SPACE_PARTS
    return int(min(n_samples, max(_MIN_SAMPLES, min(by_budget, by_space))))


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

        from fairness_engine.search.techniques.sg import kernels

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
        self._roles[domain.movable] = kernels.MOVABLE
        self._roles[domain.protected] = kernels.PROTECTED

    def leaf_boxes(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The ranges ``(n_leaves, n_columns)`` that the leaves leave of a domain's, low and high; a range begins above
        its low end where a predicate bounds it.
        """
        columns, thresholds, left, right = self._tree
        waiting = [(0, low, high)]
        leaves = []
        while waiting:
            node, node_low, node_high = waiting.pop()
            column = int(columns[node])
            if column < 0:
                leaves.append((node_low, node_high))
                continue
            below = node_high.copy()
            below[column] = min(below[column], thresholds[node])
            above = node_low.copy()
            above[column] = max(above[column], thresholds[node])
            waiting += [(int(right[node]), above, node_high), (int(left[node]), node_low, below)]
        return np.array([each for each, _ in leaves]), np.array([each for _, each in leaves])

    def solve(
        self, people: FloatArray, limit: float, rng: np.random.Generator, *, is_directed: bool
    ) -> tuple[FloatArray, FloatArray]:
        """A random solution of each constraint set of the people's paths; sets without one are left out.

        A set of a path's predicates bounds every column by itself, so its solutions are a box, known without a solver;
        a test asks z3 about them. Columns without a predicate keep the person's value, and fixed ones.

        Args:
            people: ``(n_people, n_columns)``.
            limit: directed: predicates with a confidence under it are negated (T2); undirected: the first one under it
                ends the path (T1).
            rng: the only source of chance.
            is_directed: keep all other predicates, or those above the negated one that are not protected.

        Returns:
            rows ``(n, n_columns)``, and the average confidence of the constraint set of each ``(n,)``.
        """
        from fairness_engine.search.techniques.sg import kernels

        question = (people, self._tree, self._confidences, self._roles, limit, is_directed)
        first: IntArray = np.empty(len(people) + 1, dtype=np.int64)
        kernels.count_children(*question, first)
        children = np.empty((first[-1], people.shape[1]))
        orders = np.empty(len(children))
        kernels.fill_children(*question, first, self._bounds, rng.random(children.shape), children, orders)
        is_solved = ~np.isnan(orders)
        return children[is_solved], orders[is_solved]


@dataclass(frozen=True)
class LearnedTree:
    """A tree for everybody and what it was learned on, to be shown: rows ``(n, n_columns)`` and their labels
    ``(n,)``.
    """

    rows: FloatArray
    labels: IntArray
    tree: SharedTree


_PARTS = 20
"""The first tree costs at most this part of the budget, and all trees, but for the first, this part of the
evaluations.
"""
_MIN_SAMPLES = 50


class TreePool:
    """A pool of trees, learned one after the other as the search goes on, and then relearned in turn.

    A tree is learned on rows as LIME draws them; people found since the tree before take the places of up to half of
    them.

    Args:
        oracle: evaluates what trees are learned on; it counts.
        start_rows: rows of the data, where fixed columns come from.
        settings: ``n_trees``, ``n_samples`` a tree, ``confidence``, ``max_depth``.
        rng: the only source of chance.
    """

    def __init__(self, oracle: Oracle, start_rows: FloatArray, settings: SgShared, rng: np.random.Generator) -> None:
        budget = oracle.budget.max_evaluations
        affordable = settings.n_samples if budget is None else budget // _PARTS
        self._n_samples = min(settings.n_samples, max(_MIN_SAMPLES, affordable))
        self._oracle = oracle
        self._start_rows = start_rows
        self._settings = settings
        self._rng = rng
        self._neighbourhood = Neighbourhood(start_rows, oracle.domain, rng)
        self._trees: list[SharedTree] = []
        self._n_learned = self._n_solved = 0
        self._found: FloatArray = np.empty((0, oracle.domain.n_columns))

    @property
    def is_due(self) -> bool:
        """True when the trees so far have become less than a twentieth of the evaluations."""
        return self._n_learned * self._n_samples * _PARTS < self._oracle.evaluations

    def remember(self, found: FloatArray) -> None:
        """Keep people who were found ``(n, n_columns)`` for the next tree; the latest, as many as half a tree takes."""
        n = self._n_samples // 2
        self._found = np.concatenate([self._found, found])[-n:] if n else self._found

    def learn(self) -> None:
        """Learn a tree; it takes the oldest one's place when all are there."""
        rows = self._rows()
        labels = self._oracle.model.decide(self._oracle.scores(rows))
        seed = int(self._rng.integers(2**31))
        tree = SharedTree(self._oracle.domain, rows, labels, self._settings.confidence, self._settings.max_depth, seed)
        self._oracle.show(LearnedTree(rows, labels, tree))
        if len(self._trees) < self._settings.n_trees:
            self._trees.append(tree)
        else:
            self._trees[self._n_learned % self._settings.n_trees] = tree
        self._n_learned += 1

    def _rows(self) -> FloatArray:
        """What the next tree is learned on ``(n, n_columns)``."""
        rows = self._oracle.domain.sample(self._n_samples, self._rng, self._start_rows)  # for the fixed columns
        self._neighbourhood.draw(rows, self._rng)  # whose neighbourhood it is makes no difference but for the kernel
        rows[: len(self._found)] = self._found
        self._found = self._found[:0]
        return rows

    def solve(self, people: FloatArray, limit: float, *, is_directed: bool) -> tuple[FloatArray, FloatArray]:
        """Solved constraint sets of people's paths, each wave in the next tree; see ``SharedTree.solve``."""
        if not self._trees:
            self.learn()
        tree = self._trees[self._n_solved % len(self._trees)]
        self._n_solved += 1
        return tree.solve(people, limit, self._rng, is_directed=is_directed)
