"""Paths of people against scikit-learn's own trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.search.techniques.sg.search import Confidence
from fairness_engine.search.techniques.sg.trees import Path, PathGrower
from handmade import small_domain


def sample(seed: int, n_classes: int = 2, n: int = 600) -> tuple[Domain, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a domain with lattice and real columns, labels that depend on them with noise, weights."""
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=20, maximum=29),
        Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0),
        Column("height", Kind.REAL, minimum=-2.0, maximum=2.0, step=0.25),
    )
    domain = Domain(Schema(columns=columns), Scope(("sex",)))
    rng = np.random.default_rng(seed)
    rows = domain.sample(n, rng)
    score = rows[:, 0] + rows[:, 1] / 5 + 3 * rows[:, 2] * rows[:, 3] + rng.normal(0, 1, n)
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score).astype(np.int64)
    return domain, rows, labels, rng.uniform(0.2, 1, n)


def follow(path: Path, rows: np.ndarray) -> list[np.ndarray]:
    """Which rows reach each node of the path, the root first and the leaf last."""
    reached = [np.ones(len(rows), dtype=bool)]
    for predicate in path.predicates:
        reached.append(reached[-1] & predicate.holds(rows))
    return reached


def impurity(labels: np.ndarray, weights: np.ndarray) -> float:
    """Weighted Gini impurity times weight."""
    total = weights.sum()
    shares = np.bincount(labels, weights) / total
    return float(total * (1 - (shares**2).sum()))


@pytest.mark.parametrize("seed", range(6))
def test_the_path_is_that_of_scikit_learn_s_tree(seed: int) -> None:
    """Four levels of hundreds of rows, where no two splits are equally good."""
    domain, rows, labels, weights = sample(seed)
    path = PathGrower(domain, 2, Confidence.NODE, max_depth=4).grow(rows, labels, weights)
    tree = DecisionTreeClassifier(max_depth=4, random_state=seed).fit(rows, labels, sample_weight=weights).tree_
    node = 0
    n = 0
    while tree.children_left[node] >= 0:
        predicate = path.predicates[n]
        confidence = path.confidences[n]
        is_below = rows[0, tree.feature[node]] <= tree.threshold[node]
        assert (predicate.column, predicate.is_below) == (tree.feature[node], is_below)
        assert predicate.threshold == pytest.approx(tree.threshold[node], abs=1e-6)
        child = tree.children_left[node] if is_below else tree.children_right[node]
        assert confidence == pytest.approx(tree.weighted_n_node_samples[child] / tree.weighted_n_node_samples[node])
        node = child
        n = n + 1
    assert n == len(path) > 1


@pytest.mark.parametrize(("seed", "n_classes"), [(1, 2), (2, 3), (3, 5)])
def test_every_split_to_the_leaf_is_as_good_as_scikit_learn_s_and_the_leaf_is_pure(seed: int, n_classes: int) -> None:
    domain, rows, labels, weights = sample(seed, n_classes)
    path = PathGrower(domain, n_classes, Confidence.NODE).grow(rows, labels, weights)
    reached = follow(path, rows)
    assert len(set(labels[reached[-1]])) == 1
    assert reached[-1][0]
    assert len(path) > 4
    for i, (here, predicate) in enumerate(zip(reached[:-1], path.predicates, strict=True)):
        assert len(set(labels[here])) > 1
        stump = DecisionTreeClassifier(max_depth=1).fit(rows[here], labels[here], sample_weight=weights[here])
        sides = stump.apply(rows[here])
        best = sum(impurity(labels[here][sides == s], weights[here][sides == s]) for s in np.unique(sides))
        holds = predicate.holds(rows[here])
        ours = sum(impurity(labels[here][side], weights[here][side]) for side in (holds, ~holds))
        assert ours <= best + 1e-9
        assert path.confidences[i] == pytest.approx(weights[reached[i + 1]].sum() / weights[here].sum())


def test_confidence_of_the_path_is_the_share_of_the_neighbourhood_that_follows_so_far() -> None:
    domain, rows, labels, weights = sample(4)
    path = PathGrower(domain, 2, Confidence.PATH).grow(rows, labels, weights)
    shares = [weights[here].sum() / weights.sum() for here in follow(path, rows)[1:]]
    assert path.confidences == pytest.approx(np.array(shares))


def test_splits_without_gain_are_made_as_scikit_learn_makes_them() -> None:
    """Two columns whose difference decides: neither says anything alone."""
    domain = small_domain()
    corners = np.array([[0, 0, 20, 0, 0], [0, 2, 20, 0, 1], [0, 0, 20, 0, 1], [0, 2, 20, 0, 0]], dtype=float)
    path = PathGrower(domain, 2, Confidence.NODE).grow(corners, np.array([0, 0, 1, 1]), np.ones(4))
    tree = DecisionTreeClassifier(random_state=0).fit(corners, [0, 0, 1, 1])
    assert len(path) == tree.get_depth() == 2
    assert follow(path, corners)[-1].tolist() == [True, False, False, False]


def test_rows_that_agree_or_cannot_be_told_apart_have_no_path() -> None:
    domain, rows, labels, weights = sample(5)
    grower = PathGrower(domain, 2, Confidence.PATH)
    assert len(grower.grow(rows, np.ones_like(labels), weights)) == 0
    same = np.repeat(rows[:1], 4, axis=0)
    assert len(grower.grow(same, np.array([0, 1, 0, 1]), np.ones(4))) == 0
