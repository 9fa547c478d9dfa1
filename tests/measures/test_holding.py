"""What is left of a difference when columns are held: nothing where they account for it, what was planted where not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.errors import SearchStopped
from fairness_engine.measures.proxies import holding, learners
from fairness_engine.measures.proxies.differences import Decided, differences
from fairness_engine.measures.proxies.learners import Inputs
from fairness_engine.measures.proxies.results import REST, GroupDifference
from fairness_engine.measures.proxies.telling import Attribute
from proxy_cases import CARRIERS, NOISE, SCHEMA, planted

pytestmark = pytest.mark.thorough

N_REPEATS = 12
"""By learners that are quicker than the product's. More, by its own: ``benchmarks.proxies``."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer folds and fewer trees."""
    monkeypatch.setattr(holding, "N_FOLDS", 3)
    monkeypatch.setattr(holding, "N_SPLITS", 2)
    monkeypatch.setattr(learners, "_OF_FEW_ROWS", {"max_iter": 30, "max_leaf_nodes": 8, "early_stopping": False})


def left(
    rows: FloatArray,
    favourable: BoolArray,
    name: str = "sex",
    ask: Callable[[FloatArray], BoolArray] | None = None,
    strongest: tuple[str, ...] = (),
    clock: Clock = NO_LIMIT,
    seed: int = 0,
) -> list[GroupDifference]:
    """The differences by an attribute, whose every group is large."""
    place = SCHEMA.index(name)
    decided = Decided(Attribute.of(SCHEMA.column(name), rows[:, place]), place, rows, favourable, ask)
    return differences(decided, Inputs.of(rows, SCHEMA).without(name), strongest, np.random.default_rng(seed), clock)


def by_carriers(rows: FloatArray) -> BoolArray:
    """A model that ignores who somebody is, and leans on both carriers."""
    hours, place = (rows[:, SCHEMA.index(name)] for name in ("hours", "place"))
    return hours + 6 * (place == 2) > 42


def with_effect(rows: FloatArray) -> BoolArray:
    """A model that lets a fifth of all men pass where women do not, whatever else they are."""
    wealth = rows[:, SCHEMA.index("wealth")]
    return np.asarray(by_carriers(rows) & (wealth > 0.4)) | ((wealth < 0.2) & (rows[:, 0] == 1))


# --- a model is asked ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sex", "race", "age"])
def test_of_a_model_that_ignores_the_attribute_nothing_at_all_is_left(name: str) -> None:
    for seed in range(5):
        rows = planted(500, seed, name).rows
        for one in left(rows, by_carriers(rows), name, by_carriers):
            assert one.held is not None, one.why
            assert one.held.value == 0.0
            assert 0 < one.held.high == -one.held.low < 0.15
    if name == "sex":
        assert one.raw.high < -0.1


def test_what_a_model_makes_of_the_attribute_is_in_the_interval() -> None:
    """The planted fifth does not depend on what tells sex, so that it is a fifth however people are weighted."""
    found = []
    for seed in range(N_REPEATS):
        rows = planted(400, seed, strength=0.5).rows
        (one,) = left(rows, with_effect(rows), "sex", with_effect)
        assert one.held is not None, one.why
        assert (one.group, one.reference) == ("Female", "Male")
        found.append(one.held)
    assert np.mean([figure.low <= -0.2 <= figure.high for figure in found]) >= 0.9
    assert np.mean([figure.value for figure in found]) == pytest.approx(-0.2, abs=0.02)
    assert all(figure.high < 0 for figure in found)


def test_somebody_who_misses_a_cell_is_not_asked_for() -> None:
    rows = planted(400, 2).rows

    def ask(people: FloatArray) -> BoolArray:
        assert not np.isnan(people).any()
        return by_carriers(people)

    (one,) = left(rows, by_carriers(rows), "sex", ask)
    assert one.held is not None
    rows[25:, SCHEMA.index("town")] = np.nan
    (one,) = left(rows, by_carriers(rows), "sex", ask)
    assert one.held is None
    assert "rows, and at least 30 are needed" in one.why


# --- decisions that cannot be asked for ---------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_of_decisions_that_the_columns_account_for_nothing_is_left(noise: float) -> None:
    found = []
    for seed in range(N_REPEATS):
        table = planted(500, seed, strength=0.6, noise=noise)
        (one,) = left(table.rows, table.favourable)
        assert one.raw.high < -0.15, seed
        assert one.held is not None, one.why
        found.append(one.held)
    assert np.mean([figure.low <= 0 <= figure.high for figure in found]) >= 0.9
    assert abs(np.mean([figure.value for figure in found])) < 0.03


def test_what_the_columns_do_not_account_for_is_in_the_interval() -> None:
    """Women get it less often by a fifth than men who are like them, whoever they are."""
    found = []
    for seed in range(N_REPEATS):
        rng = np.random.default_rng(seed)
        rows = planted(500, seed, strength=0.6).rows
        chance = 0.3 + 0.004 * rows[:, SCHEMA.index("hours")] + 0.2 * rows[:, 0]
        (one,) = left(rows, rng.random(500) < chance)
        assert one.held is not None, one.why
        found.append(one.held)
    assert np.mean([figure.low <= -0.2 <= figure.high for figure in found]) >= 0.9
    assert np.mean([figure.value for figure in found]) == pytest.approx(-0.2, abs=0.03)


def test_the_strongest_alone_leave_nothing_where_they_carry_it_all_and_something_where_one_is_missing() -> None:
    table = planted(1_200, 1, noise=0.5)
    (both,) = left(table.rows, table.favourable, strongest=CARRIERS)
    (one,) = left(table.rows, table.favourable, strongest=("place",))
    (none,) = left(table.rows, table.favourable)
    assert both.held_strongest is not None
    assert both.held_strongest.low <= 0 <= both.held_strongest.high
    assert one.held_strongest is not None
    assert one.raw.value < one.held_strongest.high < -0.02
    assert (none.held_strongest, none.why_strongest[:17]) == (None, "No other column t")
    (noise,) = left(table.rows, table.favourable, strongest=NOISE)
    assert noise.held_strongest is not None
    assert noise.held_strongest.value == pytest.approx(noise.raw.value, abs=0.02)


# --- who is compared ----------------------------------------------------------------------------


def test_of_several_groups_each_is_compared_with_everybody_else() -> None:
    table = planted(900, 3, "race", noise=0.5)
    found = left(table.rows, table.favourable, "race")
    assert [one.group for one in found] == ["Black", "Other", "White"]
    assert {one.reference for one in found} == {REST}
    for code, one in enumerate(found):
        is_inside = table.rows[:, 1] == code
        assert (one.n_group, one.n_reference) == (is_inside.sum(), (~is_inside).sum())
        raw = table.favourable[is_inside].mean() - table.favourable[~is_inside].mean()
        assert one.raw.value == pytest.approx(raw)
        assert one.raw.low < raw < one.raw.high


def test_where_nobody_can_be_compared_that_is_said_instead_of_a_figure() -> None:
    table = planted(600, 4)
    rows = table.rows.copy()
    rows[:, SCHEMA.index("job")] = 2 * rows[:, 0]
    for ask in (None, by_carriers):
        (one,) = left(rows, table.favourable, ask=ask, strongest=("job",))
        assert (one.held, one.held_strongest) == (None, None)
        assert "of who is in the group open, so that there is hardly anybody to compare with" in one.why
        assert one.overlap < 0.05
    few = planted(80, 4, strength=2.0)
    (one,) = left(few.rows, few.favourable)
    assert one.held is None
    assert "rows, and at least 30 are needed" in one.why


def test_one_decision_for_all_leaves_nothing_with_an_interval() -> None:
    rows = planted(300, 5, strength=0.4).rows
    for decided in (np.zeros(300, dtype=bool), np.ones(300, dtype=bool)):
        for ask in (None, lambda people, decided=decided: np.full(len(people), decided[0])):
            (one,) = left(rows, decided, ask=ask)
            assert one.raw.value == 0
            assert one.held is not None
            assert one.held.value == pytest.approx(0, abs=1e-6)
            assert one.held.high > 0.005


def test_the_same_seed_leaves_the_same_and_a_cancel_is_heard() -> None:
    table = planted(400, 6, noise=0.5)
    assert left(table.rows, table.favourable, seed=3) == left(table.rows, table.favourable, seed=3)
    assert left(table.rows, table.favourable, seed=3) != left(table.rows, table.favourable, seed=4)
    with pytest.raises(SearchStopped):
        left(table.rows, table.favourable, clock=Clock(is_cancelled=lambda: True))
