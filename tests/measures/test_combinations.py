"""Combinations of protected values that are left out: found in data by hand, and absent from every search, share, count
and pair.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SettingError
from fairness_engine.events import PairsFound, ResultReady, ShareEstimated
from fairness_engine.explanation.simplify import plain_row, simplify_pair
from fairness_engine.explanation.where import WhereSettings, find_where
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.measures.plausibility.combinations import unseen_combinations
from fairness_engine.measures.share import run_estimate
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Combination, Domain, Scope, compared_values
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.evaluation.measure import Meter
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from handmade import function_model, linear_network, network_model, small_domain, small_schema

PROTECTED = ("sex", "job", "age")
AGES = (20.0, 24.0, 28.0)
EXCLUDED: tuple[Combination, ...] = ((0.0, 2.0, None), (1.0, 0.0, 28.0), (None, 1.0, 20.0))
SCOPE = Scope(PROTECTED, bins={"age": AGES, "job": (0.0, 1.0, 2.0)}, excluded=EXCLUDED)
NO_DATA = np.empty((0, 5))


def compared(scope: Scope = SCOPE) -> list[tuple[float, ...]]:
    """The combinations that are compared, by enumeration."""
    every = itertools.product((0.0, 1.0), scope.bins["job"], scope.bins["age"])
    return [
        values
        for values in every
        if not any(
            all(a is None or a == b for a, b in zip(left_out, values, strict=True)) for left_out in scope.excluded
        )
    ]


def everybody() -> np.ndarray:
    """All 50 individuals beside sex, job and age."""
    both = itertools.product(range(10), np.linspace(0, 1, 5))
    return np.array([[0, 0, 20, hours, wealth] for hours, wealth in both], dtype=float)


def are_unfair(model: Model, rows: np.ndarray, variants: list[tuple[float, ...]]) -> np.ndarray:
    """Which rows are decided differently over some variants, one variant after the other."""
    decisions = []
    for variant in variants:
        changed = rows.copy()
        changed[:, :3] = variant
        decisions.append(model.decide(model.scores(changed)))
    return np.ptp(np.stack(decisions), axis=0) > 0


# --- what is compared ---------------------------------------------------------------------------


def test_only_what_is_not_left_out_is_compared() -> None:
    domain = Domain(small_schema(), SCOPE)
    assert [tuple(values) for values in domain.variant_values.tolist()] == compared()
    assert domain.n_variants == 18 - 3 - 1 - 2 == len(domain.variant_labels())
    rows = np.array(
        [[0, 0, 20, 1, 0.5], [0, 2, 24, 1, 0.5], [1, 0, 28, 1, 0.5], [1, 2, 20, 1, 0.5], [1, 2, 21, 1, 0.5]]
    )
    assert domain.are_variants(rows).tolist() == [True, False, False, True, False]


def test_categories_are_chosen_by_position_and_named_where_they_cannot_be() -> None:
    domain = Domain(small_schema(), Scope(("job",), bins={"job": (0.0, 2.0)}))
    assert domain.variant_labels() == ("clerk", "judge")
    assert compared_values(small_schema(), Scope(("job",), bins={"job": (2.0, 0.0)}), "job") == [0.0, 2.0]
    with pytest.raises(SettingError, match="'job' must lie within clerk to judge, got 0, 3"):
        Domain(small_schema(), Scope(("job",), bins={"job": (0.0, 3.0)}))
    with pytest.raises(SettingError, match="steps of 1"):
        Domain(small_schema(), Scope(("job",), bins={"job": (0.5, 1.0)}))


@pytest.mark.parametrize(
    ("excluded", "message"),
    [
        (((0.0, None, None),), "two values or more of the 3"),
        (((0.0, 1.0),), "a place for each"),
        (((None, float(job), age) for job in range(3) for age in AGES), "the others are left out"),
    ],
)
def test_what_cannot_be_left_out_is_refused_in_a_sentence(excluded: tuple[Combination, ...], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Domain(small_schema(), replace(SCOPE, excluded=tuple(excluded)))


def test_the_limit_counts_what_is_compared() -> None:
    many = replace(SCOPE, bins={"age": AGES}, max_variants=12)
    assert Domain(small_schema(), many).n_variants == 12
    with pytest.raises(SettingError, match=r"have 18 combinations \(sex 2 x job 3 x age 3\), more than 12"):
        Domain(small_schema(), replace(many, excluded=()))
    with pytest.raises(SettingError, match="evenly spaced values of a number, the commonest values of a category"):
        Domain(small_schema(), replace(many, max_variants=11))


def test_a_scope_with_combinations_left_out_survives_json_and_an_older_one_has_none() -> None:
    content = json.loads(json.dumps(SCOPE.to_json()))
    assert Scope.from_json(content) == SCOPE
    del content["excluded"]
    assert Scope.from_json(content) == replace(SCOPE, excluded=())


def test_other_protected_attributes_keep_what_still_speaks_of_them() -> None:
    changed = replace(SCOPE, fixed=("hours", "wealth")).with_protected(("age", "hours", "job"))
    assert changed.protected == ("age", "hours", "job")
    assert changed.fixed == ("wealth",)
    assert changed.excluded == ((20.0, None, 1.0),)
    assert SCOPE.with_protected(PROTECTED) == SCOPE


def test_positions_follow_their_categories_into_a_corrected_schema() -> None:
    old = small_schema()
    jobs = Column("job", Kind.CATEGORICAL, codes=("judge", "clerk", "baker"), labels=("J", "C", "B"))
    new = replace(old, columns=tuple(jobs if column.name == "job" else column for column in old.columns))
    scope = replace(SCOPE, limits={"job": (0.0, 2.0), "hours": (1.0, 2.0)}).moved(old, new)
    assert scope.bins == {"age": AGES, "job": (0.0, 1.0)}, "the nurse is gone"
    assert scope.excluded == ((0.0, 0.0, None), (1.0, 1.0, 28.0))
    assert scope.limits == {"job": (1.0, 0.0), "hours": (1.0, 2.0)}
    assert SCOPE.moved(old, old) == SCOPE


# --- what data never holds ----------------------------------------------------------------------

TITLES = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("female", "male")),
        Column("status", Kind.CATEGORICAL, codes=("w", "h", "n"), labels=("wife", "husband", "neither")),
        Column("age", Kind.INTEGER, minimum=0, maximum=99),
    )
)


def people(*groups: tuple[int, int, int, int]) -> np.ndarray:
    """Rows of sex, status and age, each so many times."""
    return np.repeat([group[:3] for group in groups], [group[3] for group in groups], axis=0).astype(float)


def test_values_that_never_meet_though_they_should_are_found() -> None:
    rows = people((0, 0, 40, 100), (1, 1, 40, 100), (0, 2, 40, 80), (1, 2, 40, 120))
    found = unseen_combinations(rows, TITLES, Scope(("sex", "status")))
    assert [(each.combination, each.n_expected) for each in found] == [((1.0, 0.0), 55.0), ((0.0, 1.0), 45.0)]
    assert found[0].text(TITLES, Scope(("sex", "status"))) == "sex male and status wife"


def test_what_is_rare_or_seen_once_is_not_left_out() -> None:
    rows = people((0, 0, 40, 100), (1, 0, 40, 1), (1, 1, 40, 15), (0, 2, 40, 80), (1, 2, 40, 120))
    assert unseen_combinations(rows, TITLES, Scope(("sex", "status"))) == (), "8.5 husbands expected among 180 women"
    assert unseen_combinations(rows, TITLES, Scope(("sex",))) == ()
    assert unseen_combinations(NO_DATA[:, :3], TITLES, Scope(("sex", "status"))) == ()


def test_a_number_counts_at_the_nearest_value_compared_and_other_categories_do_not_count() -> None:
    rows = people((0, 0, 40, 100), (0, 2, 12, 60), (1, 1, 44, 100), (1, 2, 6, 60))
    scope = Scope(("status", "age"), bins={"status": (0.0, 2.0), "age": (10.0, 42.0)})
    found = unseen_combinations(rows, TITLES, scope)
    assert [each.combination for each in found] == [(2.0, 42.0), (0.0, 10.0)]
    assert found[1].n_expected == pytest.approx(100 * 120 / 320)


# --- everything that compares -------------------------------------------------------------------

MODELS = {
    "network": lambda: network_model(small_domain(), linear_network(-1.0, 0.5, 0.02, 0.6, 0.8, bias=-3.5)),
    "function": lambda: function_model(
        lambda rows: (
            0.2 + 0.1 * rows[:, 3] * (rows[:, 0] == 0) * (rows[:, 1] == 2) + 0.04 * rows[:, 1] * rows[:, 4] * rows[:, 3]
        )
    ),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    found: Model = MODELS[request.param]()
    rows = everybody()
    fewer = are_unfair(found, rows, compared())
    more = are_unfair(found, rows, compared(replace(SCOPE, excluded=())))
    assert 0 < fewer.sum() < more.sum(), "what is left out makes a difference"
    return found


def test_count_estimate_and_measure_are_those_of_brute_force(model: Model) -> None:
    domain = Domain(small_schema(), SCOPE)
    rows = everybody()
    truth = are_unfair(model, rows, compared())
    (count,) = [event for event in run_exact(model, domain) if isinstance(event, ResultReady)]
    assert (count.content["n_discriminatory"], count.content["n_individuals"]) == (truth.sum(), len(rows))
    *_, share = (e for e in run_estimate(model, domain, rows, "data", len(rows), 0) if isinstance(e, ShareEstimated))
    assert (share.n_hits, share.n) == (truth.sum(), len(rows))
    meter = Meter(domain, rows, rows[:1], np.zeros(1, dtype=np.int64))
    assert np.array_equal(meter.verdicts(model, rows), truth)


@pytest.mark.parametrize("name", sorted(TECHNIQUES))
def test_every_technique_finds_pairs_of_what_is_compared_only(name: str) -> None:
    domain = Domain(small_schema(), SCOPE)
    model = MODELS["network"]()
    rows = everybody()
    unfair = {tuple(row[3:]) for row in rows[are_unfair(model, rows, compared())]}
    starts = domain.sample(60, np.random.default_rng(0))
    settings = {"sg": {"n_samples": 100}, "sg-shared": {"n_samples": 300}}.get(name, {})
    events = run_search(TECHNIQUES[name].from_json(settings), model, domain, starts, Budget(3_000), 0)
    pairs = [event.pairs for event in events if isinstance(event, PairsFound)]
    found = Pairs.concatenate(pairs, 5)
    assert len(found)
    for side in (found.first, found.second):
        assert {tuple(values) for values in side[:, :3].tolist()} <= set(compared())
    assert {tuple(row[3:]) for row in found.first} <= unfair


def test_a_plainer_pair_and_the_examples_of_groups_stay_among_what_is_compared(model: Model) -> None:
    domain = Domain(small_schema(), SCOPE)
    rows = everybody()
    found = find_where(model, domain, rows, WhereSettings())
    sides = np.concatenate([found.examples.first, found.examples.second])
    assert {tuple(values) for values in sides[:, :3].tolist()} <= set(compared())
    for i in range(len(found.examples)):
        plain = simplify_pair(model, domain, found.examples[np.array([i])], plain_row(domain, rows))
        assert tuple(plain.first[0, :3].tolist()) in compared()
        assert tuple(plain.second[0, :3].tolist()) in compared()
