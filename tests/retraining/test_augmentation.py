"""The strongest dose within the tolerance, and what a dose is made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.augmentation import (
    climb,
    cut_at,
    judged,
    near_people,
    with_some_variants,
)
from fairness_engine.retraining.strategy import Proposal, Validation
from tests.handmade import function_model, small_schema

DOSES = (1.0, 3.0)
SCHEMA = small_schema()
DOMAIN = Domain(SCHEMA, Scope(("sex",)))
MODEL = function_model(lambda rows: 0.05 + 0.2 * rows[:, 0] + rows[:, 3] / 10)
"""Above one half, men pass from 3 hours on, women from 5: people of 3 and 4 hours are decided unlike."""


def answered(becomes: Callable[[float], tuple[float, bool]], max_rounds: int = 8) -> list[float]:
    """The doses that are proposed to a model that becomes so: what is left, and whether it is within the tolerance."""
    rounds = climb(lambda dose: Proposal("", facts={"dose": dose}), DOSES, max_rounds)
    tried: list[float] = []
    standing: Validation | None = None
    while True:
        try:
            proposal = next(rounds) if standing is None else rounds.send(standing)
        except StopIteration:
            return tried
        tried.append(proposal.facts["dose"])
        objective, is_within = becomes(tried[-1])
        standing = Validation(MODEL, 0.9, objective, objective, objective, is_within)


def test_the_ladder_is_climbed_while_it_holds_and_is_worth_it() -> None:
    assert answered(lambda dose: (0.5 / dose, True)) == [1.0, 3.0]
    assert answered(lambda _: (0.95, True)) == [1.0], (
        "a dose that changes next to nothing is not followed by a stronger one"
    )


def test_bisection_finds_the_strongest_dose_that_holds() -> None:
    tried = answered(lambda dose: (1 - dose, dose <= 0.4), max_rounds=12)
    held = max(dose for dose in tried if dose <= 0.4)
    assert tried[0] == 1.0
    assert 0.38 <= held <= 0.4
    assert len(tried) <= 8, "it ends when the two ends meet"


def test_bisection_between_two_steps_of_the_ladder() -> None:
    tried = answered(lambda dose: (1 / (1 + dose), dose <= 2.2))
    assert tried[:3] == [1.0, 3.0, 2.0]
    assert 2.0 <= max(dose for dose in tried if dose <= 2.2) <= 2.2


@pytest.mark.parametrize("n", [1, 3])
def test_rounds_are_never_more_than_asked(n: int) -> None:
    assert len(answered(lambda _: (1.0, False), max_rounds=n)) == n


def people() -> FloatArray:
    """A woman and a man of 1, 3, 4 and 8 hours."""
    return np.array([[sex, 0, 25, hours, 0.5] for hours in (1, 3, 4, 8) for sex in (0, 1)], dtype=float)


def test_costs_are_the_distance_of_those_who_are_decided_otherwise() -> None:
    found = judged(MODEL, DOMAIN, people())
    assert found.own.tolist() == [[0, 0]] * 2 + [[0, 1]] * 4 + [[1, 1]] * 2
    assert (found.costs[[0, 1, 6, 7]] == 0).all()
    assert found.costs[2:6] == pytest.approx(0.1), (
        "three hours: the man is 0.05 above; four: the woman 0.05 below; either side of the score"
    )
    assert found.labels[[0, 1, 6, 7]].tolist() == [0, 0, 1, 1]
    assert found.labels[2:6].tolist() == [0, 0, 1, 1], "a tie goes to the mean score"
    assert cut_at(found.costs, 1.0) == np.inf
    assert cut_at(np.array([0.0, 1.0, 2.0, 3.0]), 0.5) == 2.0
    assert cut_at(np.zeros(3), 0.5) == np.inf


def test_rows_keep_their_label_in_all_variants_and_those_beyond_the_cut_stay_as_they_are() -> None:
    rows = people()
    labels = np.array([0, 1, 0, 1, 1, 0, 1, 1])
    found = judged(MODEL, DOMAIN, rows, labels)
    rng = np.random.default_rng(0)
    everybody = with_some_variants(DOMAIN, found, np.inf, rng, n_each=2, keeps_rows=True)
    assert everybody.labels.tolist() == np.repeat(labels, 2).tolist()
    assert everybody.rows[:, 0].tolist() == [0, 1] * len(rows)
    some = with_some_variants(DOMAIN, found, 0.0, rng, n_each=2, keeps_rows=True)
    assert some.rows[4:12, 0].tolist() == np.repeat(rows[2:6, 0], 2).tolist(), "decided unlike: as they are, twice"
    assert some.rows[:4, 0].tolist() == [0, 1, 0, 1]
    assert len(some) == len(everybody)


def test_drawn_people_beyond_the_cut_keep_the_model_s_decisions() -> None:
    found = judged(MODEL, DOMAIN, people())
    kept = with_some_variants(DOMAIN, found, 0.0, np.random.default_rng(0), n_each=2, keeps_rows=False)
    assert kept.labels.tolist() == MODEL.decide(MODEL.scores(kept.rows)).tolist()


def test_fewer_variants_than_there_are_always_hold_the_row_itself() -> None:
    domain = Domain(SCHEMA, Scope(("sex", "job")))
    found = judged(MODEL, domain, people(), np.ones(8, dtype=np.int64))
    some = with_some_variants(domain, found, np.inf, np.random.default_rng(0), n_each=3, keeps_rows=True)
    assert len(some) == 24
    assert np.array_equal(some.rows[::3], people())
    assert np.array_equal(some.rows[:, 2:], np.repeat(people(), 3, axis=0)[:, 2:]), "nothing but protected values moves"


def test_people_near_the_data_differ_in_one_to_three_columns() -> None:
    domain = Domain(SCHEMA, Scope(("sex",), fixed=("age",)))
    near = near_people(domain, people(), 500, np.random.default_rng(0))
    moved = (near[:, None] != people()[None]).sum(axis=2).min(axis=1)
    assert moved.max() == 3
    assert domain.contains(near).all()
    assert (near[:, 2] == 25).all(), "what is fixed stays"
