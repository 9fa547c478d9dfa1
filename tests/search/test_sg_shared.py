"""SG with shared trees: constraint sets of many people at once against the paths of scikit-learn's tree, and its
searches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.events import PairsFound, ResultReady
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.sg.constraints import ConstraintSolver, Predicate
from fairness_engine.search.techniques.sg.queue import PriorityRows, directed, undirected
from fairness_engine.search.techniques.sg.search import Confidence
from fairness_engine.search.techniques.sg.sg import Sg
from fairness_engine.search.techniques.sg.sg_shared import SgShared
from fairness_engine.search.techniques.sg.trees import Path, SharedTree, TreePool
from handmade import biased_score, function_model, small_domain


def learned(domain: Domain, seed: int) -> tuple[np.ndarray, np.ndarray, SharedTree, Any]:
    """Rows and labels, the shared tree, and scikit-learn's own of the same."""
    rng = np.random.default_rng(seed)
    rows = domain.sample(500, rng)
    labels = ((biased_score(rows) > 0.5) ^ (rng.random(500) < 0.1)).astype(np.int64)
    tree = DecisionTreeClassifier(random_state=seed).fit(rows, labels).tree_
    return rows, labels, SharedTree(domain, rows, labels, Confidence.PATH, 0, seed), tree


def path_of(tree: Any, person: np.ndarray) -> Path:
    """The person's path as scikit-learn walks it, with the share of all rows that reach each child."""
    node = 0
    predicates = []
    shares = []
    while tree.children_left[node] >= 0:
        predicate = Predicate(int(tree.feature[node]), float(tree.threshold[node]), True)
        is_below = bool(predicate.holds(person[None])[0])
        predicates.append(predicate if is_below else predicate.negated())
        node = tree.children_left[node] if is_below else tree.children_right[node]
        shares.append(tree.n_node_samples[node] / tree.n_node_samples[0])
    return Path(tuple(predicates), np.array(shares))


@pytest.mark.parametrize("is_directed", [True, False])
def test_sets_of_constraints_are_those_of_sg_and_z3_agrees_which_have_a_solution(is_directed: bool) -> None:
    domain = small_domain(fixed=("job",))
    _, _, shared, tree = learned(domain, 3)
    people = domain.sample(60, np.random.default_rng(1))
    solver = ConstraintSolver(domain)
    movable = frozenset(domain.movable.tolist())
    rng = np.random.default_rng(2)
    limit = 0.2 if is_directed else 0.05
    n_all = n_empty = 0
    for person in people:
        path = path_of(tree, person)
        make = directed if is_directed else undirected
        sets = list(make(person, path, movable, limit))
        solvable = [one for one in sets if solver.solve(one.predicates, person, rng) is not None]
        rows, averages = shared.solve(person[None], limit, rng, is_directed=is_directed)
        n_all = n_all + len(sets)
        n_empty = n_empty + len(sets) - len(solvable)
        assert len(rows) == len(solvable)
        assert domain.contains(rows).all()
        for row, average, one in zip(rows, averages, solvable, strict=True):
            confidences = path.confidences if is_directed else path.confidences[: one.negated + 1]
            assert average == pytest.approx(confidences.mean())
            on_fixed = [p for p in one.predicates if p.column in domain.fixed]
            assert all(p.holds(row[None])[0] for p in one.predicates if p not in on_fixed)
            still = [i for i in range(5) if i in domain.fixed or i not in {p.column for p in one.predicates}]
            assert (row[still] == person[still]).all()
    assert n_all > 100
    assert n_empty > 5 or not is_directed


def test_the_confidence_of_a_node_is_the_share_of_its_rows_that_go_the_way() -> None:
    domain = small_domain()
    rows, labels, _, tree = learned(domain, 4)
    shared = SharedTree(domain, rows, labels, Confidence.NODE, 0, 4)
    inner = np.flatnonzero(tree.children_left >= 0)
    for children in (tree.children_left, tree.children_right):
        expected = tree.n_node_samples[children[inner]] / tree.n_node_samples[inner]
        assert shared._confidences[children[inner]] == pytest.approx(expected)


def test_a_grove_spends_a_twentieth_and_relearns_in_turn() -> None:
    domain = small_domain()
    oracle = Oracle(function_model(biased_score), domain, Budget(20_000))
    start_rows = domain.sample(300, np.random.default_rng(5))
    rng = np.random.default_rng(6)
    grove = TreePool(oracle, start_rows, SgShared(n_trees=2, n_samples=100), rng)
    oracle.scores(domain.sample(100, rng))
    seen = []
    for _ in range(40):
        oracle.scores(domain.sample(200, rng))
        grove.remember(domain.sample(30, rng))
        before = oracle.evaluations
        if grove.is_due:
            grove.learn()
            assert oracle.evaluations == before + 100
        seen.append(tuple(id(tree) for tree in grove._trees))
    assert {len(trees) for trees in seen} == {1, 2}
    assert len({tree for trees in seen for tree in trees}) >= 3
    assert grove._n_learned * 100 * 20 <= oracle.evaluations + 2 * 2000


def test_rows_wait_in_order_and_only_the_best_are_kept() -> None:
    waiting = PriorityRows(1, 10)
    for start in range(0, 40, 8):
        values = np.arange(start, start + 8.0)
        waiting.add(values[:, None], values % 4)
    assert len(waiting) <= 20
    taken = waiting.take(6)
    assert taken[:, 0].tolist() == [0, 4, 8, 12, 16, 20]
    assert waiting.take(100)[0, 0] >= 1
    assert not waiting


def last_split(technique: Any, budget: int) -> tuple[int, int, dict[str, dict[str, int]]]:
    domain = small_domain()
    rows = domain.sample(40, np.random.default_rng(0))
    events = list(run_search(technique, function_model(biased_score), domain, rows, Budget(budget), 1))
    splits = [event.content for event in events if isinstance(event, ResultReady)]
    assert len(splits) == 1
    assert events[-1].n_found == sum(len(event.pairs) for event in events if isinstance(event, PairsFound))
    return events[-1].n_tried, events[-1].n_found, splits[0]


@pytest.mark.parametrize("budget", [700, 1501, 6000])
@pytest.mark.parametrize("technique", [Sg(), Sg(wave=1, explains_late=False), SgShared(wave=16)])
def test_the_split_accounts_for_everybody_also_when_the_budget_ends_it(technique: Any, budget: int) -> None:
    n_tried, n_found, split = last_split(technique, budget)
    assert sum(counts["n_tried"] for counts in split.values()) == n_tried
    assert sum(counts["n_found"] for counts in split.values()) == n_found
    assert split["data"]["n_tried"] > 0
    assert n_found > 0


def test_shared_trees_find_far_more_for_the_same_rows_evaluated() -> None:
    found = {technique.name: last_split(technique, 3000)[1] for technique in (Sg(), SgShared(wave=64))}
    assert found["sg-shared"] > found["sg"] > 0
