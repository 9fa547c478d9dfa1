"""From choices to runs: budgets in words, expected time, refusals."""

from __future__ import annotations

import pytest

import run_cases
from fairness_engine.errors import SettingError
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.store.environment import CLUSTER_VARIABLE
from fairness_engine.store.run_config import Distribution
from fairness_engine.store.store import RunStore
from pages.shared.review import planning
from pages.shared.review.planning import Plan, PlannedRun
from pages.shared.runs.technique_families import known_families


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(500_000, 600), "500\u202f000 rows evaluated or 10 min, whichever comes first"),
        (Budget(1), "1 rows evaluated"),
        (Budget(None, 3600), "1 h"),
        (Budget(None, 90), "1 min 30 s"),
        (Budget(100, 5, 20), "100 rows evaluated or 5.0 s or 20 found, whichever comes first"),
    ],
)
def test_a_budget_reads_like_a_sentence(budget: Budget, text: str) -> None:
    assert planning.budget_text(budget) == text.replace("1 rows", "1 row")


def plan(budget: Budget, n_searches: int = 1, *distributions: Distribution, **more: int) -> Plan:
    return Plan([PlannedRun("random")] * n_searches, budget, 0, distributions, n_samples=1000, **more)


@pytest.fixture
def domain(store: RunStore) -> Domain:
    review = run_cases.review_of(store)
    assert review.schema is not None
    assert review.scope is not None
    return Domain(review.schema, review.scope)


def test_the_expected_time_follows_from_the_models_speed(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_MAX_RUNS", "2")
    fast = planning.expected_text(plan(Budget(100_000, 600)), domain, 10_000.0)
    assert fast == "About 12 s with this model.", "100 000 rows at 10 000 a second, and the start"
    assert (
        planning.expected_text(plan(Budget(100_000, 600), 4), domain, 10_000.0)
        == "All of it takes about 23 s with this model."
    )
    seeds = plan(Budget(100_000, 600), 2, n_seeds=5)
    assert planning.expected_text(seeds, domain, 10_000.0) == "All of it takes about 58 s with this model.", (
        "ten runs, two at a time"
    )
    slow = planning.expected_text(plan(Budget(5_000_000, 60)), domain, 15.0)
    assert slow == "About 1 min 0 s with this model.", "the time limit ends it"
    assert planning.expected_text(plan(Budget(100, 60)), domain, None) == "At most 1 min 0 s a search."


def test_an_unknown_speed_without_a_time_limit_promises_nothing(domain: Domain) -> None:
    assert planning.expected_text(plan(Budget(100)), domain, None) == ""


def test_settings_out_of_range_are_refused_before_anything_is_stored(store: RunStore) -> None:
    review = run_cases.review_of(store)
    asked = Plan([PlannedRun("aequitas", {"n_steps": 0})], Budget(100), 0)
    with pytest.raises(SettingError, match="n_steps"):
        planning.make_configs(review, asked)


def test_an_empty_plan_is_refused(store: RunStore) -> None:
    with pytest.raises(SettingError, match="at least one technique"):
        planning.make_configs(run_cases.review_of(store), Plan([], Budget(100), 0))


def test_every_technique_says_when_to_use_it_and_stands_in_one_family() -> None:
    for technique in TECHNIQUES.values():
        assert 10 < len(technique.summary) < 140, technique.name
        assert planning.strategies_of(technique) in ((), ("random", "semi-directed", "fully-directed"))
    placed = [name for family in known_families() for name in family.techniques]
    assert sorted(placed) == sorted(TECHNIQUES)


def test_a_technique_without_a_family_is_not_lost() -> None:
    families = known_families({"random": object, "brand-new": object})
    assert [(family.key, family.techniques) for family in families] == [
        ("baselines", ("random",)),
        ("other", ("brand-new",)),
    ]


def test_what_a_cluster_would_make_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    long = plan(Budget(3_600_000))
    assert planning.cluster_text(long, 1_000.0) == "", "there is none"
    monkeypatch.setenv(CLUSTER_VARIABLE, "tcp://10.0.0.1:8786")
    assert planning.cluster_text(long, 1_000.0) == (
        "With the cluster about 37 min 38 s on 2 processes or 3 min 53 s on 20 processes."
    )
    monkeypatch.setenv(CLUSTER_VARIABLE, "4")
    assert planning.cluster_text(long, 1_000.0) == "With the cluster about 18 min 53 s on 4 processes."
    assert planning.cluster_text(long, 1_000_000.0).startswith("The cluster would not help: a search takes 3.6 s here")
    assert planning.cluster_text(long, 150_000.0).startswith("The cluster would hardly help: this model decides rows")
    assert planning.cluster_text(plan(Budget(None, 60)), 1_000.0) == "", "what ends by the clock takes as long"
