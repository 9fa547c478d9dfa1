"""For whom it matters most: who is told, that they differ, and every figure of them by brute force."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fairness_engine.clock import Clock
from fairness_engine.codec import decode
from fairness_engine.events import Event, PairsFound, PairsMeasured, ResultReady, Stopped
from fairness_engine.measures.plausibility.background import with_plausibility
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.measures.results import N_SEVERE, SeverePerson, Severity
from fairness_engine.measures.severity import with_severity
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.random_search import RandomSearch
from handmade import biased_score, function_model, small_domain

DOMAINS = {"sex": small_domain(), "age": small_domain(("age",)), "both": small_domain(("sex", "job"))}
MODEL = function_model(biased_score)


def data_of(domain: Domain) -> np.ndarray:
    rows = domain.sample(300, np.random.default_rng(1))
    return domain.with_variant(rows, np.random.default_rng(2).integers(domain.n_variants, size=len(rows)))


def learned(domain: Domain) -> Plausibility:
    return Plausibility.learn(data_of(domain), domain, np.random.default_rng(0))


def searched(domain: Domain, budget: int = 6_000, clock: Clock | None = None) -> tuple[list[Event], Plausibility]:
    known = learned(domain)
    events = run_search(RandomSearch(), MODEL, domain, data_of(domain), Budget(budget), 1)
    events = with_plausibility(events, lambda: known)
    return list(with_severity(events, lambda: known, MODEL, domain, clock or Clock())), known


def severity_of(events: list[Event]) -> list[SeverePerson]:
    (content,) = [event.content for event in events if isinstance(event, ResultReady) and event.name == "severity"]
    return decode(Severity, content).top


def pairs_of(events: list[Event], domain: Domain) -> Pairs:
    found = [event.pairs for event in events if isinstance(event, PairsFound)]
    return Pairs.concatenate(found, domain.n_columns)


@pytest.mark.parametrize("name", DOMAINS)
def test_every_figure_is_that_of_brute_force(name: str) -> None:
    domain = DOMAINS[name]
    events, known = searched(domain)
    pairs = pairs_of(events, domain)
    told = severity_of(events)
    assert len(told) == N_SEVERE
    assert isinstance(events[-1], Stopped)
    rows = data_of(domain)
    for one in told:
        pair = pairs[one.pair - 1 : one.pair]
        both = np.concatenate([pair.first, pair.second])
        assert known.are_plausible(both).all()
        variants = domain.variants(pair.first)[0]
        scores = biased_score(variants)
        decisions = (scores > 0.5).astype(int)
        assert one.n_variants == domain.n_variants
        assert one.variants_unlike == min(decisions.sum(), (1 - decisions).sum())
        assert one.gap == pytest.approx(scores.max() - scores.min())
        alone = [Plausibility.learn(person[None], domain, np.random.default_rng(0)) for person in both]
        near = np.stack([each.measure(rows)[0] for each in alone]).min(axis=0) <= known.limit
        assert one.similar_rows == int(near.sum())


@pytest.mark.parametrize("name", DOMAINS)
def test_they_differ_and_the_worst_come_first(name: str) -> None:
    domain = DOMAINS[name]
    events, known = searched(domain)
    pairs = pairs_of(events, domain)
    told = severity_of(events)
    order = [(-one.variants_unlike / one.n_variants, -one.gap, -one.similar_rows) for one in told]
    assert order == sorted(order)
    assert len({one.pair for one in told}) == len(told)
    both = np.concatenate([pairs.first, pairs.second])
    is_plausible = known.are_plausible(both).reshape(2, -1).all(axis=0)
    widest = int(np.flatnonzero(is_plausible)[pairs.gaps[is_plausible].argmax()])
    assert pairs.gaps[widest] in {float(pairs.gaps[one.pair - 1]) for one in told}, "the widest of all is among them"
    chosen = pairs.first[[one.pair - 1 for one in told]]
    apart = (chosen[:, None] != chosen[None]).mean(axis=2)
    widest_first = np.argsort(-pairs.gaps[is_plausible], kind="stable")[:N_SEVERE]
    plain = pairs.first[is_plausible][widest_first]
    assert apart.sum() >= (plain[:, None] != plain[None]).mean(axis=2).sum(), "more than the widest gaps alone"


def test_pairs_may_be_measured_in_other_parts_than_they_are_found() -> None:
    domain = DOMAINS["sex"]
    events, known = searched(domain)
    pairs = pairs_of(events, domain)
    measured = [event for event in events if isinstance(event, PairsMeasured)]
    distance = np.concatenate([event.distance for event in measured])
    n_unseen = np.concatenate([event.n_unseen for event in measured])

    def again(sizes: list[int], measured_sizes: list[int]) -> Iterator[Event]:
        for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
            yield PairsFound(pairs[int(start) : int(start) + size])
        for start, size in zip(np.cumsum([0, *measured_sizes]), measured_sizes, strict=False):
            part = slice(int(start), int(start) + size)
            yield PairsMeasured(distance[part], n_unseen[part])
        yield events[-1]

    n = len(pairs)
    wanted = severity_of(events)
    for sizes, parts in (
        ([n], [1, n - 1]),
        ([3, n - 3], [n]),
        ([n // 2, n - n // 2], [n // 3, n // 3, n - 2 * (n // 3)]),
    ):
        assert severity_of(list(with_severity(again(sizes, parts), lambda: known, MODEL, domain))) == wanted


def test_nobody_found_is_nobody_told_and_a_cancelled_search_tells_nothing() -> None:
    domain = DOMAINS["sex"]
    known = learned(domain)
    stopped = Stopped(reason=searched(domain, 10)[0][-1].reason, evaluations=0, seconds=0.0, n_tried=0, n_found=0)
    events = list(with_severity(iter([stopped]), lambda: known, MODEL, domain))
    assert severity_of(events) == []
    cancelled = Clock(is_cancelled=lambda: True)
    assert list(with_severity(iter([stopped]), lambda: known, MODEL, domain, cancelled)) == [stopped]


def test_unlikely_people_follow_where_too_few_are_plausible() -> None:
    domain = DOMAINS["sex"]
    events, _ = searched(domain)
    pairs = pairs_of(events, domain)
    far = np.ones((len(pairs), 2))

    def none_near() -> Iterator[Event]:
        yield PairsFound(pairs)
        yield PairsMeasured(far, np.ones((len(pairs), 2), dtype=np.int64))
        yield events[-1]

    told = severity_of(list(with_severity(none_near(), lambda: learned(domain), MODEL, domain)))
    assert len(told) == N_SEVERE
    assert {one.pair - 1 for one in told} == set(np.argsort(-pairs.gaps, kind="stable")[:N_SEVERE].tolist())
