"""Only plausible people: everybody found could exist, everybody who could is found, and nothing hangs where nobody
could.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, PeopleSampled, Stopped
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.oracle.tested import TestedPeople
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.directed.directed import Directed
from fairness_engine.search.techniques.gradient.maft import MaftPlus
from fairness_engine.search.techniques.sg.sg_shared import SgShared
from handmade import all_individuals, biased_score, function_model, network_model, small_domain

pytestmark = pytest.mark.thorough

TECHNIQUES = [Directed, MaftPlus, SgShared]
DOMAINS = {
    "sex": small_domain(),
    "age": small_domain(("age",)),
    "both": small_domain(("sex", "job")),
    "bins": small_domain(("age",), bins={"age": (20.0, 24.0, 29.0)}),
    "gap": small_domain(score_gap=0.1),
    "fixed": small_domain(fixed=("job",)),
    "limits": small_domain(limits={"hours": (2.0, 5.0)}),
}


def people_of(domain: Domain, n: int = 400) -> np.ndarray:
    """Rows of data in which some values never go together: nobody of the last job is of the first sex."""
    rows = domain.sample(n, np.random.default_rng(5))
    rows = domain.with_variant(rows, np.random.default_rng(6).integers(domain.n_variants, size=n))
    names = domain.schema.names
    sex = names.index("sex")
    job = names.index("job")
    rows[rows[:, job] == domain.schema.inputs[job].high, sex] = domain.schema.inputs[sex].high
    return rows


def plausibility_of(domain: Domain, rows: np.ndarray) -> Plausibility:
    return Plausibility.learn(rows, domain, np.random.default_rng(0))


def search(
    technique: Any, model: Model, domain: Domain, rows: np.ndarray, budget: Budget, seed: int = 0
) -> tuple[Pairs, Stopped]:
    known = plausibility_of(domain, rows)
    events = list(run_search(technique, model, domain, rows, budget, seed, nearness=known))
    last = events[-1]
    assert isinstance(last, Stopped)
    return Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], domain.n_columns), last


def enumerated(model: Model, domain: Domain, known: Plausibility) -> set[int]:
    """Keys of the individuals two of whose variants could both exist and are not treated alike, by the exact
    measure.
    """
    rows = all_individuals(domain)
    variants = domain.variants(rows)
    could = known.are_plausible(variants.reshape(-1, domain.n_columns)).reshape(variants.shape[:2])
    scores = model.scores(variants.reshape(-1, domain.n_columns))
    gap = domain.scope.score_gap
    told = (scores[:, 0] if gap else model.decide(scores)).reshape(could.shape).astype(float)
    least = np.where(could, told, np.inf).min(axis=1)
    most = np.where(could, told, -np.inf).max(axis=1)
    return {int(key) for key in domain.keys(rows[most - least > gap])}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_everybody_found_could_exist(technique: Any, name: str) -> None:
    domain = DOMAINS[name]
    rows = people_of(domain)
    known = plausibility_of(domain, rows)
    model = function_model(biased_score)
    pairs, last = search(technique(only_plausible=True), model, domain, rows, Budget(1_500), seed=1)
    assert len(pairs) == last.n_found > 0
    assert known.are_plausible(pairs.first).all()
    assert known.are_plausible(pairs.second).all()
    assert not len(known.breaks_constraints(pairs.first))
    keys = [int(key) for key in domain.keys(pairs.first)]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= enumerated(model, domain, known)
    assert last.evaluations <= 1_500


@pytest.mark.parametrize("name", DOMAINS)
def test_a_long_search_finds_exactly_whom_enumeration_finds(name: str) -> None:
    domain = DOMAINS[name]
    rows = people_of(domain)
    model = function_model(biased_score)
    pairs, last = search(Directed(only_plausible=True), model, domain, rows, Budget(10**6), seed=3)
    assert last.reason is StopReason.EXHAUSTED
    assert {int(key) for key in domain.keys(pairs.first)} == enumerated(model, domain, plausibility_of(domain, rows))


@pytest.mark.parametrize("only_plausible", [True, False])
def test_where_a_move_is_said_to_begin_somebody_was_found(only_plausible: bool) -> None:
    """Of numbers without steps, which lie near an end of their range."""
    sex = Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))
    rate = Column("rate", Kind.REAL, minimum=0.0, maximum=1.0)
    amount = Column("amount", Kind.REAL, minimum=-1e6, maximum=1e6)
    domain = Domain(Schema((sex, rate, amount)), Scope(("sex",)))
    rng = np.random.default_rng(1)
    rows = np.stack([rng.integers(0, 2, 600), rng.beta(0.5, 20, 600), rng.normal(0, 1e5, 600)], axis=1).astype(float)
    model = function_model(lambda rows: np.where(rows[:, 0] == 0, 0.2, 0.3) + (rows[:, 1] < 0.02) * 0.25)
    known = plausibility_of(domain, rows) if only_plausible else None
    technique = Directed(only_plausible=only_plausible)
    events = list(run_search(technique, model, domain, rows, Budget(4_000), 2, nearness=known))
    last = [event for event in events if isinstance(event, PeopleSampled)][-1]
    tested = TestedPeople(**last.arrays, phases=last.phases)
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], domain.n_columns)
    assert len(tested.origins) > 500
    assert domain.contains(tested.origins).all()
    assert set(domain.keys(tested.origins).tolist()) <= set(domain.keys(pairs.first).tolist())


def test_a_network_is_searched_alike() -> None:
    domain = small_domain(("sex", "job"))
    rows = people_of(domain)
    known = plausibility_of(domain, rows)
    model = network_model(domain)
    pairs, _ = search(MaftPlus(only_plausible=True), model, domain, rows, Budget(4_000), seed=2)
    assert known.are_plausible(pairs.first).all()
    assert known.are_plausible(pairs.second).all()


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_search_ends_where_nobody_could_exist(technique: Any) -> None:
    """Each sex has values of its own in every column: no variant of anybody is like anybody of the other sex."""
    domain = small_domain()
    n = 600
    rows = domain.sample(n, np.random.default_rng(0))
    is_first = np.arange(n) % 2 == 0
    rows[:, domain.protected[0]] = np.where(is_first, 0, 1)
    for column in domain.free.tolist():
        low, high = domain.low[column], domain.high[column]
        rows[:, column] = np.where(is_first, low, high)
    age = domain.schema.names.index("age")
    rows[:, age] = np.where(is_first, domain.low[age], domain.high[age] - 1) + np.arange(n) // 2 % 2
    known = plausibility_of(domain, rows)
    assert not (known.plausible_variants(all_individuals(domain)).sum(axis=1) == 2).any()
    pairs, last = search(technique(only_plausible=True), function_model(biased_score), domain, rows, Budget(2_000))
    assert not len(pairs)
    assert last.n_found == 0


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_search_ends_without_rows_of_the_data(technique: Any) -> None:
    domain = small_domain()
    rows = people_of(domain)
    known = plausibility_of(domain, rows)
    nobody = np.empty((0, domain.n_columns))
    model = function_model(biased_score)
    events = list(run_search(technique(only_plausible=True), model, domain, nobody, Budget(500), 0, nearness=known))
    assert isinstance(events[-1], Stopped)


@pytest.mark.parametrize("name", DOMAINS)
def test_yes_and_no_is_what_the_exact_measure_says(name: str) -> None:
    domain = DOMAINS[name]
    known = plausibility_of(domain, people_of(domain))
    rows = np.concatenate([domain.sample(300, np.random.default_rng(1)), people_of(domain, 300)])
    variants = domain.variants(rows)
    exact = known.are_plausible(variants.reshape(-1, domain.n_columns)).reshape(variants.shape[:2])
    assert np.array_equal(known.plausible_variants(rows), exact)
    chosen = np.random.default_rng(1).integers(domain.n_variants, size=(len(rows), 2))
    assert np.array_equal(known.plausible_variants(rows, chosen), np.take_along_axis(exact, chosen, axis=1))
    assert 0 < exact.sum() < exact.size
    assert np.array_equal(known.plausible_variants(rows[:1]), exact[:1])
    assert known.plausible_variants(rows[:0]).shape == (0, domain.n_variants)


def test_a_pair_is_never_of_a_variant_who_could_not_exist() -> None:
    """The widest two of somebody's variants are told apart by people who could not exist: others take their place."""
    domain = small_domain(("age",))
    rows = people_of(domain)
    known = plausibility_of(domain, rows)
    model = function_model(biased_score)
    oracle = Oracle(model, domain, Budget(10**6), nearness=known)
    everybody = all_individuals(domain)
    for asked in (oracle.probe, oracle.measure):
        asked(everybody)
        pairs = oracle.take_found()
        if asked == oracle.probe:
            assert {int(key) for key in domain.keys(pairs.first)} == enumerated(model, domain, known)
        assert known.are_plausible(np.concatenate([pairs.first, pairs.second])).all()
    other = Oracle(model, domain, Budget(10**6), nearness=known)
    measured = other.measure(everybody)
    found = {int(key) for key in domain.keys(everybody[measured.is_discriminatory])}
    assert found == enumerated(model, domain, known)
    pairs = other.take_found()
    assert known.are_plausible(np.concatenate([pairs.first, pairs.second])).all()
