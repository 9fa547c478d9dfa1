"""Samples of the data's people, and the model's decisions on them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from rule_cases import group_score, small_rows

from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.errors import SearchStopped, StopReason
from fairness_engine.groups.rule_sets.sampling import Decider, RowCounts, Sampler
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges, Scope
from handmade import FunctionPredictor, function_model, small_schema


class Seen(FunctionPredictor):
    """A predictor that keeps the rows it was asked for."""

    def __init__(self) -> None:
        super().__init__(group_score)
        self.rows: list[np.ndarray] = []

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self.rows.append(inputs.copy())
        return super().predict(inputs)


def sampler_of(rows: np.ndarray, scope: Scope, taken: set[str] | None = None) -> tuple[Sampler, Seen, Ranges]:
    predictor = Seen()
    ranges = Ranges(small_schema(), scope, taken)
    return Sampler(ranges, rows, Decider(Model(predictor, predictor))), predictor, ranges


def neighbours(ranges: Ranges, row: np.ndarray) -> list[tuple[float, ...]]:
    """All samples of a row, one by one."""
    found = []
    for column, sign in itertools.product(ranges.movable.tolist(), (-1, 1)):
        moved = row.copy()
        moved[column] = min(max(moved[column] + sign * ranges.unit[column], ranges.low[column]), ranges.high[column])
        found.append(tuple(moved.tolist()))
    return found


@pytest.mark.parametrize(
    ("scope", "taken", "still"),
    [
        (Scope(("sex", "age")), None, {0, 2}),
        (Scope(("sex",), fixed=("hours", "job")), None, {0, 1, 3}),
        (Scope(("age",)), {"sex", "age", "hours"}, {1, 2, 4}),  # job and wealth are not the model's
        (Scope(("sex",), limits={"hours": (4.0, 4.0)}), None, {0, 3}),
    ],
)
def test_a_sample_moves_one_attribute_by_one_unit_and_never_a_protected_one(
    scope: Scope, taken: set[str] | None, still: set[int]
) -> None:
    row = np.array([1.0, 1.0, 25.0, 4.0, 0.5])
    sampler, seen, ranges = sampler_of(row[None], scope, taken)
    sampler.draw(500, np.random.default_rng(0))
    drawn = {tuple(line) for line in np.concatenate(seen.rows).tolist()}
    assert drawn == set(neighbours(ranges, row))
    assert {i for i in range(5) if len({line[i] for line in drawn}) == 1} == still


def test_samples_are_clipped_to_the_ranges() -> None:
    row = np.array([1.0, 2.0, 29.0, 0.0, 1.0])
    sampler, seen, ranges = sampler_of(row[None], Scope(("sex",), limits={"hours": (0.0, 5.0)}))
    sampler.draw(400, np.random.default_rng(0))
    drawn = np.concatenate(seen.rows)
    assert (drawn >= ranges.low).all()
    assert (drawn <= ranges.high).all()
    n_unmoved = int((drawn == row).all(axis=1).sum())
    assert 400 * 0.35 < n_unmoved < 400 * 0.65  # four attributes, at an end each: half of the moves stay


def test_enumerating_counts_every_neighbour_of_every_row() -> None:
    rows = small_rows(30)
    sampler, _, ranges = sampler_of(rows, Scope(("sex", "age")))
    counts = sampler.enumerate()
    expected = [sum(group_score(np.array(neighbours(ranges, row))) > 0.5) for row in rows]
    assert counts.favourable.tolist() == expected
    assert (counts.drawn == sampler.n_neighbours).all()
    some = np.array([3, 7])
    partly = sampler.enumerate(some)
    assert partly.favourable[some].tolist() == [expected[3], expected[7]]
    assert partly.drawn.sum() == 2 * sampler.n_neighbours


def test_draws_come_near_to_what_enumerating_gives() -> None:
    rows = small_rows(40)
    sampler, _, _ = sampler_of(rows, Scope(("sex",)))
    every = sampler.enumerate()
    drawn = sampler.draw(200_000, np.random.default_rng(5))
    assert drawn.drawn.sum() == 200_000
    share = drawn.favourable / drawn.drawn
    truth = every.favourable / every.drawn
    assert np.abs(share - truth).max() < 5 * np.sqrt(0.25 / drawn.drawn.min())


def test_some_rows_only() -> None:
    sampler, _, _ = sampler_of(small_rows(20), Scope(("sex",)))
    counts = sampler.draw(300, np.random.default_rng(0), among=np.array([4, 9]))
    assert np.flatnonzero(counts.drawn).tolist() == [4, 9]


def test_where_nothing_moves_a_row_is_its_own_sample() -> None:
    rows = small_rows(10)
    scope = Scope(("sex", "age"), fixed=("job", "hours", "wealth"))
    sampler, seen, _ = sampler_of(rows, scope)
    counts = sampler.enumerate()
    assert sampler.n_neighbours == 1
    np.testing.assert_array_equal(np.concatenate(seen.rows), rows)
    np.testing.assert_array_equal(counts.favourable, group_score(rows) > 0.5)


def test_the_same_seed_draws_the_same_whatever_the_blocks() -> None:
    rows = small_rows(50)
    found = []
    for block in (3, 512):
        sampler, _, _ = sampler_of(rows, Scope(("sex",)))
        sampler._decider._batches = Batches(NO_LIMIT, block)
        found.append(sampler.draw(2000, np.random.default_rng(7)).weights)
    np.testing.assert_array_equal(*found)


def test_a_draw_cut_short_keeps_what_was_decided() -> None:
    asked = iter([False, False, True])
    predictor = Seen()
    decider = Decider(Model(predictor, predictor), Clock(is_cancelled=lambda: next(asked)))
    sampler = Sampler(Ranges(small_schema(), Scope(("sex",))), small_rows(50), decider)
    into = RowCounts.none(50)
    with pytest.raises(SearchStopped) as stop:
        sampler.draw(100_000, np.random.default_rng(0), into=into)
    assert stop.value.reason is StopReason.CANCELLED
    assert into.drawn.sum() == decider.evaluations == sum(map(len, predictor.rows)) > 0
    assert into.favourable.sum() == sum((group_score(rows) > 0.5).sum() for rows in predictor.rows)


def test_out_of_time_stops_before_the_next_block() -> None:
    model = function_model(group_score)
    decider = Decider(model, Clock(-1.0))
    with pytest.raises(SearchStopped) as stop:
        decider.favourable(small_rows(5))
    assert stop.value.reason is StopReason.SECONDS
    assert decider.evaluations == 0


def test_a_class_is_favourable_when_it_is_the_one_named() -> None:
    rows = small_rows(60)
    binary = function_model(group_score)
    is_given = group_score(rows) > 0.5
    assert Decider(binary).favourable(rows).tolist() == is_given.tolist()
    turned = replace(binary, favourable=0)
    assert Decider(turned).favourable(rows).tolist() == (~is_given).tolist()

    def three(rows: np.ndarray) -> np.ndarray:
        return np.eye(3)[rows[:, 1].astype(int)]

    for favourable in range(3):
        model = replace(function_model(three, 3), favourable=favourable)
        decided = Decider(model).favourable(rows)
        assert decided.tolist() == (rows[:, 1] == favourable).tolist()


@pytest.mark.parametrize("n_scores", [1, 3])
def test_fast_arithmetic_decides_nothing_near_the_threshold(n_scores: int) -> None:
    class Rough(FunctionPredictor):
        """Right by one in a thousand only; the exact scores say so."""

        def margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
            return self.exact_margins(inputs, threshold) + 1e-3 * np.arange(1, n_scores + 1)

        def exact_margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
            return super().margins(inputs, threshold)

    def just_below(rows: np.ndarray) -> np.ndarray:
        scores = np.where(rows[:, 0] == 0, 0.4995, 0.8)
        return scores if n_scores == 1 else np.column_stack([scores, np.full((len(rows), 2), 0.4990)])

    predictor = Rough(just_below, n_scores)
    model = Model(predictor, predictor, classes=("a", "b", "c"), favourable=1 if n_scores == 1 else 0)
    rows = small_rows(40)
    expected = rows[:, 0] == 1 if n_scores == 1 else np.ones(40, dtype=bool)
    careful = Decider(replace(model, rounding=2e-3)).favourable(rows)
    assert careful.tolist() == expected.tolist()
    assert Decider(model).favourable(rows).tolist() != expected.tolist()
