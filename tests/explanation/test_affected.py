"""Whom a search's finds are about: planted truths by their words, and every count by brute force."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from fairness_engine.clock import NO_LIMIT
from fairness_engine.codec import decode
from fairness_engine.data.catalogue import list_samples
from fairness_engine.data.table import read_table
from fairness_engine.events import ResultReady
from fairness_engine.explanation.affected import with_affected
from fairness_engine.explanation.results import Affected
from fairness_engine.model_process.session import ModelSession, open_table
from fairness_engine.models.open import open_model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.runs import kinds
from fairness_engine.search.driver import rng_of, run_search
from fairness_engine.search.registry import technique_named
from fairness_engine.search.techniques.data_scan import scan_order
from fairness_engine.search.techniques.random_search import RandomSearch
from handmade import biased_score, function_model, small_domain

SAMPLES = {model.path.name: (sample, model) for sample in list_samples() for model in sample.models}


def opened(file: str) -> ModelSession:
    sample, model = SAMPLES[file]
    scope = Scope(model.protected)
    schema = sample.schema_for(model).with_protected(scope.protected)
    table = read_table(sample.data, name=sample.data.name)
    return open_table(table, schema, scope, partial(open_model, model.path, name=model.path.name))


def affected(session: ModelSession, technique: str, seed: int = 0, **others: Any) -> Affected | None:
    assert session.scope is not None
    held = ("data", "model", session.dataset.schema, session.scope)
    config = kinds.SEARCH.config(*held, technique=technique, seed=seed, **others)
    told = [event for event in session.run(config, NO_LIMIT) if isinstance(event, ResultReady)]
    found = [decode(Affected, event.content) for event in told if event.name == "affected"]
    return found[0] if found else None


PLANTED = {
    "census_income_planted.keras": ({"sex"}, {"sex": ["Female"]}, {"education_years": (16, 18)}),
    "credit_planted.onnx": ({"age"}, {"age": (19, 25)}, {"duration_months": (31, 60)}),
    "marketing_planted.onnx": (
        {"age", "sex", "born_in"},
        {"age": (40, 59), "sex": ["male"], "born_in": ["Africa", "Asia"]},
        {},
    ),
    "recidivism_planted.skops": ({"race", "sex"}, {"race": ["African-American"], "sex": ["Male"]}, {}),
}


def said(rules: list[Any]) -> dict[str, Any]:
    return {rule["column"]: rule["values"] if "values" in rule else (rule["low"], rule["high"]) for rule in rules}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("file", PLANTED)
def test_a_scan_says_the_planted_truth(file: str, seed: int) -> None:
    matters, worse, where = PLANTED[file]
    found = affected(opened(file), "data-scan", seed, budget=Budget())
    assert found is not None
    everybody = found.groups[0]
    assert {name for name, n in everybody.alone.items() if n} == matters
    assert said(everybody.worse) == worse
    assert everybody.n_worse_harmed == everybody.n_worse
    assert everybody.n_others_harmed == 0
    if where:
        group = found.groups[1]
        assert where.items() <= said(group.rules).items()
        assert group.n_hits / group.n > 2 * everybody.n_hits / everybody.n


@pytest.mark.parametrize("budget", [Budget(40), Budget(100), Budget(300), Budget(max_found=7), Budget(max_found=60)])
def test_of_a_scan_that_a_limit_ends_nobody_counts_who_was_not_tested(budget: Budget) -> None:
    """Everybody is affected; twins behind the last who was tested were counted, and others before them taken."""
    domain = small_domain(limits={"hours": (0.0, 2.0), "age": (20.0, 22.0)})
    model = function_model(lambda rows: rows[:, 0])
    people = domain.sample(500, np.random.default_rng(4))
    scan = technique_named("data-scan")()
    events = run_search(scan, model, domain, people, budget, 1)
    told = list(with_affected(events, model, domain, people[scan_order(500, rng_of(1))]))
    (scanned,) = [e.content["n_tested"] for e in told if isinstance(e, ResultReady) and e.name == "scan"]
    (found,) = [decode(Affected, e.content) for e in told if isinstance(e, ResultReady) and e.name == "affected"]
    assert (found.n_tried, found.n_affected) == (scanned, scanned)
    assert found.groups[0].n == found.groups[0].n_hits


@pytest.mark.parametrize("file", [name for name in SAMPLES if "ignores" in name])
@pytest.mark.parametrize("technique", ["data-scan", "directed"])
def test_of_a_model_that_ignores_what_is_protected_nothing_is_told(file: str, technique: str) -> None:
    assert affected(opened(file), technique, budget=Budget(100_000)) is None


def test_shares_of_a_scan_are_of_people_who_did_not_choose_the_groups() -> None:
    session = opened("census_income_forest.skops")
    found = affected(session, "data-scan", budget=Budget())
    assert found is not None
    domain = session.domain
    people = session.dataset.rows
    people = people[np.random.default_rng(np.random.SeedSequence(0)).permutation(len(people))][1::2]
    decisions = decided(session.model, domain, people)
    hits = decisions.min(axis=1) != decisions.max(axis=1)
    for group in found.groups:
        inside = np.ones(len(people), dtype=bool)
        for name, what in said(group.rules).items():
            column = domain.schema.column(name)
            values = people[:, domain.schema.index(name)]
            labels = what if isinstance(what, list) else []
            places = [column.labels.index(label) for label in labels]
            inside &= np.isin(values, places) if labels else (values >= what[0]) & (values <= what[1])
        assert (group.n, group.n_hits) == (inside.sum(), (inside & hits).sum())


@pytest.mark.parametrize(
    "narrowed",
    [{}, {"bins": {"age": (20.0, 29.0)}}, {"excluded": ((1.0, 25.0), (0.0, 29.0))}, {"score_gap": 0.1}],
)
def test_for_whom_one_attribute_is_enough_as_they_are_is_counted_person_by_person(narrowed: dict[str, Any]) -> None:
    domain = Domain(small_domain().schema, Scope(("sex", "age"), **narrowed))
    model = function_model(of_both)
    scan = technique_named("data-scan").from_json({})
    events = with_affected(run_search(scan, model, domain, DATA, Budget(), 1), model, domain, DATA)
    (content,) = [event.content for event in events if isinstance(event, ResultReady) and event.name == "affected"]
    everybody = decode(Affected, content).groups[0]
    people = DATA[1::2]
    spread = np.ptp(figures(model, domain, domain.variants(people)), axis=1)
    people = people[spread > domain.scope.score_gap]
    assert len(people) == everybody.n_judged == everybody.n_hits
    expected = {}
    for axis, name in enumerate(domain.scope.protected):
        enough = 0
        for person in people:
            line = [person]
            for value in np.unique(domain.variant_values[:, axis]):
                other = person.copy()
                other[domain.schema.index(name)] = value
                if not domain.is_excluded(other[None, domain.protected])[0]:
                    line.append(other)
            enough += np.ptp(figures(model, domain, np.array(line)[None])) > domain.scope.score_gap
        expected[name] = enough
    assert everybody.as_they_are == expected
    assert everybody.as_they_are != everybody.alone


def of_both(rows: np.ndarray) -> np.ndarray:
    """Sex matters to the older ones alone, and age to one sex."""
    return 0.3 + 0.4 * ((rows[:, 0] == 1) & (rows[:, 2] > 25)) + 0.02 * rows[:, 3]


def figures(model: Any, domain: Domain, rows: np.ndarray) -> np.ndarray:
    """What must not differ, of rows ``(n_people, n_rows, n_columns)``."""
    scores = model.scores(rows.reshape(-1, rows.shape[2]))
    told = scores[:, 0] if domain.scope.score_gap else model.decide(scores).astype(float)
    return np.asarray(told).reshape(rows.shape[:2])


def decided(model: Any, domain: Domain, rows: np.ndarray) -> np.ndarray:
    variants = domain.variants(rows)
    return np.asarray(model.decide(model.scores(variants.reshape(-1, variants.shape[2])))).reshape(variants.shape[:2])


@pytest.mark.parametrize("excluded", [(), ((1.0, 2.0), (0.0, 0.0))])
def test_who_needs_one_attribute_alone_is_counted_pair_by_pair(excluded: tuple[tuple[float, ...], ...]) -> None:
    domain = Domain(small_domain().schema, Scope(("sex", "job"), excluded=excluded))
    model = function_model(biased_score)
    found = searched(model, domain)
    (group,) = found.groups
    assert found.n_tried == 0
    rows = found_rows(model, domain)
    assert group.n == group.n_hits == group.n_judged == len(rows)
    decisions = decided(model, domain, rows)
    values = domain.variant_values
    for axis, name in enumerate(("sex", "job")):
        pairs = [
            (a, b)
            for a, b in product(range(len(values)), repeat=2)
            if values[a, axis] != values[b, axis] and values[a, 1 - axis] == values[b, 1 - axis]
        ]
        alone = np.any([decisions[:, a] != decisions[:, b] for a, b in pairs], axis=0)
        assert group.alone[name] == alone.sum()


def searched(model: Any, domain: Domain) -> Affected:
    events = with_affected(run_search(RandomSearch(), model, domain, DATA, Budget(4_000), 1), model, domain)
    (content,) = [event.content for event in events if isinstance(event, ResultReady) and event.name == "affected"]
    return decode(Affected, content)


def found_rows(model: Any, domain: Domain) -> np.ndarray:
    events = run_search(RandomSearch(), model, domain, DATA, Budget(4_000), 1)
    return np.concatenate([event.pairs.first for event in events if hasattr(event, "pairs")])


DATA = small_domain().sample(300, np.random.default_rng(1))


def test_a_gap_of_scores_is_judged_by_scores() -> None:
    domain = Domain(small_domain().schema, Scope(("sex",), score_gap=0.05))
    (group,) = searched(function_model(biased_score), domain).groups
    assert group.alone["sex"] == group.n_judged
    assert said(group.worse).keys() == {"sex"}
    assert group.n_worse_harmed == group.n_worse
    assert group.n_others_harmed == 0


def three_outcomes(rows: np.ndarray) -> np.ndarray:
    """Sex moves the old between the first two outcomes; of the young it decides who gets the third."""
    scores = np.zeros((len(rows), 3))
    is_woman = rows[:, 0] == 0
    is_young = rows[:, 2] < 26
    decision = np.where(is_young, np.where(is_woman, 0, 2), np.where(is_woman, 1, 0))
    scores[np.arange(len(rows)), decision] = 1.0
    return scores


def test_of_three_outcomes_who_fares_worse_is_told_of_those_whom_it_decides_about_the_favourable_one() -> None:
    domain = Domain(small_domain().schema, Scope(("sex",)))
    model = replace(function_model(three_outcomes, 3), favourable=2)
    (group,) = searched(model, domain).groups
    people = found_rows(model, domain)
    n_young = int((people[:, 2] < 26).sum())
    assert 2 * group.n_told in range(n_young - 1, n_young + 2), "half of the young chose the values"
    assert group.n_told < group.n_judged / 2, "the old are asked, too, and move between the others"
    assert said(group.worse) == {"sex": [domain.schema.column("sex").labels[0]]}
    assert (group.n_worse_harmed, group.n_others_harmed) == (group.n_worse, 0)
    assert group.n_worse + group.n_others == group.n_told * domain.n_variants
    (nobody,) = searched(replace(function_model(three_outcomes, 3), favourable=1), domain).groups
    assert said(nobody.worse) == {"sex": [domain.schema.column("sex").labels[1]]}, "the old alone get the second"


def test_of_very_many_finds_some_are_taken_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairness_engine.explanation import affected as module

    monkeypatch.setattr(module, "_MAX_KEPT", 50)
    domain = Domain(small_domain().schema, Scope(("sex",)))
    model = function_model(biased_score)
    (group,) = searched(model, domain).groups
    assert group.n == group.n_hits == len(found_rows(model, domain)) > 100
    assert 50 <= group.n_judged < 100
