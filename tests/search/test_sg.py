"""SG against Algorithm 5 written out literally, and its finds against brute force and an independent evaluation."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, ResultReady, Stopped
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.oracle.oracle import Oracle, Probe
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.start_rows import StartRows
from fairness_engine.search.techniques.random_search import RandomSearch
from fairness_engine.search.techniques.sg.constraints import ConstraintSolver
from fairness_engine.search.techniques.sg.neighbourhood import Neighbourhood
from fairness_engine.search.techniques.sg.search import Confidence
from fairness_engine.search.techniques.sg.sg import Sg
from fairness_engine.search.techniques.sg.sg_shared import SgShared
from fairness_engine.search.techniques.sg.trees import PathGrower, samples_within
from handmade import biased_score, function_model, small_domain, true_keys

_UNDIRECTED_FIRST = 4
_DIRECTED = 3
_START = 2
_UNDIRECTED = 1


class RecordingOracle(Oracle):
    """Remembers the individuals that a technique tests, in order."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tested: list[int] = []

    def probe(self, rows: np.ndarray) -> Probe:
        probe = super().probe(rows)
        self.tested += [int(key) for key in self.domain.keys(rows[probe.fresh])]
        return probe


@dataclass
class Literal:
    """Algorithm 5, line by line: one input at a time, every path at once, nothing remembered but what it names."""

    model: Model
    domain: Domain
    settings: Sg
    n_samples: int
    tested: list[int] = field(default_factory=list)

    def run(self, start_rows: np.ndarray, limit: int, rng: np.random.Generator) -> list[int]:
        is_uniform = self.settings.start_source == "uniform"
        starts = StartRows(self.domain, start_rows, self.settings.n_clusters, rng, is_uniform=is_uniform)
        self.solver = ConstraintSolver(self.domain)
        self.neighbourhood = Neighbourhood(start_rows, self.domain, rng)
        self.seed = int(rng.integers(2**63))
        self.queue: list[tuple[tuple[int, float], Any, Any]] = []
        self.visited: set[tuple[str, Any]] = set()
        for _ in start_rows:
            self.queue.append(((_START, 0.0), None, None))  # drawn when its turn comes
        while len(self.tested) < limit and self.queue:
            first = max(range(len(self.queue)), key=lambda i: self.queue[i][0])  # of equal ranks the one added first
            _, person, constraints = self.queue.pop(first)
            if constraints is None:
                (person,) = starts.take(1)
            else:
                person = self.solver.solve(constraints, person, rng)
            if person is not None:
                self.test(person)
        return self.tested

    def test(self, person: np.ndarray) -> None:
        key = int(self.domain.keys(person[None])[0])
        if key in self.tested:
            return
        number = len(self.tested)
        self.tested.append(key)
        decisions = self.model.decide(self.model.scores(self.domain.variants(person[None])[0]))
        path = self.path(person, number)
        protected = set(self.domain.protected.tolist())
        if len(set(decisions)) > 1 and self.settings.is_directed:
            for i, c in enumerate(path.predicates):
                if c.column in protected:
                    continue
                if path.confidences[i] < self.settings.directed_below:
                    kept = [p.negated() if k == i else p for k, p in enumerate(path.predicates)]
                    self.add("directed", (_DIRECTED, -path.confidences.mean()), person, kept)
        if self.settings.undirected == "off":
            return
        place = _UNDIRECTED_FIRST if self.settings.undirected == "first" else _UNDIRECTED
        prefix: list[Any] = []
        for i, c in enumerate(path.predicates):
            if c.column in protected:
                continue
            if path.confidences[i] < self.settings.undirected_above:
                break
            self.add("undirected", (place, path.confidences[: i + 1].mean()), person, [*prefix, c.negated()])
            prefix.append(c)

    def add(self, search: str, rank: tuple[int, float], person: np.ndarray, constraints: list[Any]) -> None:
        key = (search, self.solver.key(constraints))
        if key not in self.visited:
            self.visited.add(key)
            self.queue.append((rank, person, constraints))

    def path(self, person: np.ndarray, number: int) -> Any:
        rows = np.repeat(person[None], self.n_samples, axis=0)
        weights = self.neighbourhood.draw(
            rows, np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        )
        labels = self.model.decide(self.model.scores(rows))
        grower = PathGrower(self.domain, max(2, self.model.predictor.n_scores), Confidence(self.settings.confidence))
        return grower.grow(rows, labels, weights if self.settings.is_local else np.ones(len(rows)))


def sloping_score(rows: np.ndarray) -> np.ndarray:
    """Everything counts a little, sex more where wealth is small: the decision changes along a slanted front."""
    merit = (rows[:, 3] - 4.5) / 9 + (rows[:, 2] - 24.5) / 12 + rows[:, 4] - 0.5 + 0.2 * (rows[:, 1] - 1)
    return 1 / (1 + np.exp(-4 * (merit - 0.35 * (1.2 - rows[:, 4]) * (rows[:, 0] - 0.5))))


def three_classes(rows: np.ndarray) -> np.ndarray:
    middle = 0.9 - 0.3 * (rows[:, 0] == 0) * (rows[:, 3] > 4) - 0.1 * (rows[:, 1] == 2)
    return np.column_stack([rows[:, 4], middle, 0.05 * (rows[:, 2] - 18)])


@pytest.mark.thorough
@pytest.mark.parametrize("protected", [("sex",), ("sex", "job")])
@pytest.mark.parametrize("values", [{}, {"confidence": "node", "is_local": False}, {"directed_below": 0.6}])
@pytest.mark.parametrize(("score", "n_scores"), [(sloping_score, 1), (three_classes, 3)])
def test_one_input_a_wave_is_algorithm_5(
    score: Any, n_scores: int, values: dict[str, Any], protected: tuple[str, ...]
) -> None:
    domain = small_domain(protected)
    limit = 120
    start_rows = domain.sample(40, np.random.default_rng(2))
    settings = Sg(wave=1, explains_late=False, n_samples=200, n_inputs=limit, **values)
    oracle = RecordingOracle(function_model(score, n_scores), domain, Budget())
    n_samples = samples_within(oracle, 200)
    list(settings.search(oracle, start_rows, np.random.default_rng(3)))
    literal = Literal(function_model(score, n_scores), domain, settings, n_samples)
    expected = literal.run(start_rows, limit, np.random.default_rng(3))
    assert oracle.tested[: len(expected)] == expected
    assert len(expected) > 45
    assert oracle.n_tried == limit  # when its queue is empty, uniform rows follow


ABLATIONS = {
    "Table 4, the data's rows": {"is_directed": False, "undirected": "off"},
    "Table 4, uniform rows": {"start_source": "uniform", "is_directed": False, "undirected": "off"},
    "Table 5": {"start_source": "uniform"},
    "Table 6": {"is_directed": False},
    "Table 7": {"is_directed": False, "undirected": "first"},
    "directed search alone": {"undirected": "off"},
    "undirected search first": {"undirected": "first"},
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_is_algorithm_5_without_the_part(name: str) -> None:
    """Tables 4 to 7, test by test against the algorithm written out."""
    values: dict[str, Any] = ABLATIONS[name]
    domain = small_domain()
    start_rows = domain.sample(40, np.random.default_rng(2))
    settings = Sg(wave=1, explains_late=False, n_samples=200, n_inputs=100, **values)
    oracle = RecordingOracle(function_model(sloping_score), domain, Budget())
    n_samples = samples_within(oracle, 200)
    list(settings.search(oracle, start_rows, np.random.default_rng(3)))
    expected = Literal(function_model(sloping_score), domain, settings, n_samples).run(
        start_rows, 100, np.random.default_rng(3)
    )
    assert oracle.tested[: len(expected)] == expected
    is_symbolic = settings.is_directed or settings.undirected != "off"
    assert len(expected) > 45 if is_symbolic else len(expected) >= 35


@pytest.mark.thorough
@pytest.mark.parametrize("technique", [Sg(wave=8), SgShared(wave=8)])
@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_tries_nobody_from_what_is_off(technique: Any, name: str) -> None:
    values: dict[str, Any] = ABLATIONS[name]
    domain = small_domain()
    start_rows = domain.sample(60, np.random.default_rng(2))
    oracle = Oracle(function_model(sloping_score), domain, Budget(None, 60.0))
    order: list[str] = []
    split: dict[str, dict[str, int]] = {}
    for event in replace(technique, **values).search(oracle, start_rows, np.random.default_rng(3)):
        if isinstance(event, ResultReady):
            split = event.content
        else:
            order.append(event.phase)
        if oracle.n_tried >= 1000:  # of 1,500
            break
    tried = {phase for phase in order if phase.startswith(("testing", "directed", "undirected"))}
    starts = "testing uniform rows" if values.get("start_source") == "uniform" else "testing start rows"
    assert order[0] == starts
    assert ("testing start rows" in tried) == (starts == "testing start rows")
    assert ("directed search" in tried) == values.get("is_directed", True)
    assert ("undirected search" in tried) == (values.get("undirected") != "off")
    is_symbolic = values.get("is_directed", True) or values.get("undirected") != "off"
    assert (oracle.evaluations > 2 * oracle.n_tried) == is_symbolic, "without a symbolic search nobody is explained"
    assert not split or sum(counts["n_tried"] for counts in split.values()) == oracle.n_tried
    if values.get("undirected") == "first":
        assert order[1] != starts, "further start rows wait"


def test_explaining_late_changes_neither_directed_inputs_nor_start_rows() -> None:
    domain = small_domain()
    start_rows = domain.sample(60, np.random.default_rng(2))
    tested = []
    evaluations = []
    for explains_late in (True, False):
        oracle = RecordingOracle(function_model(sloping_score), domain, Budget())
        work = Sg(wave=1, explains_late=explains_late, n_inputs=100).search(
            oracle, start_rows, np.random.default_rng(3)
        )
        phases = [(event.phase, len(oracle.tested)) for event in work if not isinstance(event, ResultReady)]
        n = next((n for phase, n in phases if phase in ("undirected search", "explaining people")), 100) - 1
        tested.append(oracle.tested[:n])
        evaluations.append(oracle.evaluations)
    n = min(map(len, tested))
    assert n >= 60
    assert tested[0][:n] == tested[1][:n]
    assert evaluations[0] < evaluations[1]


def test_directed_search_finds_most_and_undirected_comes_last() -> None:
    domain = small_domain()
    order = []
    start_rows = domain.sample(60, np.random.default_rng(2))
    oracle = Oracle(function_model(sloping_score), domain, Budget())
    for event in Sg(n_inputs=400).search(oracle, start_rows, np.random.default_rng(3)):
        if isinstance(event, ResultReady):
            split = event.content
        else:
            order.append(event.phase)
    assert split["directed"]["n_found"] > split["data"]["n_found"] > 0
    assert split["undirected"]["n_tried"] > 0
    assert order.index("undirected search") > order.index("testing start rows")
    last_start = max(i for i, phase in enumerate(order) if phase == "testing start rows")
    assert "undirected search" not in order[:last_start]


def test_more_is_found_than_at_random_for_the_same_people_tried() -> None:
    domain = small_domain()
    start_rows = domain.sample(60, np.random.default_rng(2))
    counts = {}
    for technique in (Sg(n_inputs=250), SgShared(wave=32), RandomSearch(batch=50)):
        for seed in range(3):
            oracle = Oracle(function_model(sloping_score), domain, Budget())
            for _ in technique.search(oracle, start_rows, np.random.default_rng(seed)):
                if oracle.n_tried >= 250:
                    break
            found, tried = counts.get(technique.name, (0, 0))
            counts[technique.name] = (found + oracle.n_found, tried + oracle.n_tried)
    rates = {name: found / tried for name, (found, tried) in counts.items()}
    assert rates["sg"] > 1.2 * rates["random"]
    assert rates["sg-shared"] > 1.5 * rates["random"]


@pytest.mark.parametrize("technique", [Sg(n_samples=50), SgShared()])
def test_a_small_space_is_searched_to_the_end(technique: Any) -> None:
    model = function_model(biased_score)
    domain = small_domain()
    start_rows = domain.sample(20, np.random.default_rng(2))
    events = list(run_search(technique, model, domain, start_rows, Budget(), 0))
    assert isinstance(events[-1], Stopped)
    assert events[-1].reason is StopReason.EXHAUSTED
    assert events[-1].n_tried == 1500
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], 5)
    assert {int(key) for key in domain.keys(pairs.first)} == true_keys(model, domain)


@pytest.mark.parametrize("technique", [Sg, SgShared])
def test_fixed_attributes_are_never_moved(technique: type[Any]) -> None:
    domain = small_domain(fixed=("age", "job"))
    start_rows = domain.sample(50, np.random.default_rng(2))
    start_rows[:, domain.fixed] = [[1.0, 23.0], [2.0, 24.0]] * 25
    oracle = RecordingOracle(function_model(biased_score), domain, Budget(4000))
    pairs = [
        event.pairs
        for event in run_search(technique(), oracle.model, domain, start_rows, oracle.budget, 0)
        if isinstance(event, PairsFound)
    ]
    found = Pairs.concatenate(pairs, 5)
    assert len(found) > 10
    assert {tuple(row) for row in found.first[:, domain.fixed]} == {(1.0, 23.0), (2.0, 24.0)}


@pytest.mark.parametrize("technique", [Sg, SgShared])
def test_a_score_gap_is_searched_too(technique: type[Any]) -> None:
    domain = small_domain(score_gap=0.3)
    events = list(run_search(technique(), function_model(biased_score), domain, np.empty((0, 5)), Budget(5000), 0))
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], 5)
    assert len(pairs)
    assert (np.abs(biased_score(pairs.first) - biased_score(pairs.second)) > 0.3).all()


def test_a_neighbourhood_takes_a_hundredth_of_the_budget_and_a_tenth_of_the_space() -> None:
    model = function_model(biased_score)
    small = small_domain()
    huge = small_domain(("sex", "job"))
    assert samples_within(Oracle(model, small, Budget()), 5000) == 300  # 1,500 individuals of 2 variants
    assert samples_within(Oracle(model, huge, Budget()), 5000) == 300
    assert samples_within(Oracle(model, small, Budget(20_000)), 5000) == 200
    assert samples_within(Oracle(model, small, Budget(100)), 5000) == 50
    assert samples_within(Oracle(model, small, Budget(100)), 20) == 20


@pytest.mark.thorough
@pytest.mark.parametrize("technique", [Sg(), SgShared()])
def test_on_the_census_network_directed_search_finds_most_and_every_pair_holds(
    technique: Any, shared: FilePath
) -> None:
    """Table 3's relation, on the network and data of the later papers; pairs checked by the exact network."""
    content = json.loads((shared / "data/peer/adult__maft_eidig.schema.json").read_text())
    schema = Schema.from_json(content).with_protected(("age",))
    dataset = make_dataset(read_table(shared / "data/peer/adult__maft_eidig.csv"), schema)
    model = open_model(shared / "models/maft/adult_model.h5", dataset.schema, classes=dataset.classes)
    domain = Domain(dataset.schema, Scope(("age",)))
    events = list(run_search(technique, model, domain, dataset.rows, Budget(500_000), 0))
    split = next(event.content for event in events if isinstance(event, ResultReady))
    assert split["directed"]["n_found"] > 5 * split["data"]["n_found"] > 0
    assert split["directed"]["n_found"] / split["directed"]["n_tried"] > 0.25  # uniform rows: 0.12
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], domain.n_columns)
    assert len(pairs) == events[-1].n_found > 80
    assert (pairs.first[:, domain.free] == pairs.second[:, domain.free]).all()
    assert domain.contains(np.concatenate([pairs.first, pairs.second])).all()
    assert len(np.unique(pairs.first[:, domain.free], axis=0)) == len(pairs)
    decided = [model.exact_margins(rows)[:, 0] > 0 for rows in (pairs.first, pairs.second)]
    assert (decided[0] != decided[1]).all()
