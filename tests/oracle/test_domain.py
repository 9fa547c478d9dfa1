from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SchemaError, SettingError
from fairness_engine.models.model import Output
from fairness_engine.oracle.domain import Domain, Scope
from handmade import all_individuals, small_domain, small_schema


def test_variants_cross_all_protected_attributes_and_change_nothing_else() -> None:
    domain = small_domain(("sex", "age"))
    rows = domain.sample(50, np.random.default_rng(0))
    variants = domain.variants(rows)
    assert variants.shape == (50, 20, 5)
    assert (variants[:, :, domain.free] == rows[:, None, domain.free]).all()
    assert len(np.unique(variants[0][:, domain.protected], axis=0)) == 20
    assert domain.variant_labels()[0] == "F, 20"


def test_every_sampled_row_lies_in_the_domain_and_all_values_occur() -> None:
    domain = small_domain()
    rows = domain.sample(5000, np.random.default_rng(1))
    assert domain.contains(rows).all()
    for i in range(domain.n_columns):
        assert len(np.unique(rows[:, i])) == domain.n_values[i]


def test_sampling_is_uniform() -> None:
    rows = small_domain().sample(100_000, np.random.default_rng(2))
    counts = np.bincount(rows[:, 1].astype(int), minlength=3)
    assert np.abs(counts / 100_000 - 1 / 3).max() < 0.01


def test_continuous_columns_are_sampled_moved_and_identified() -> None:
    schema = Schema(
        columns=(
            Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
            Column("score", Kind.REAL, minimum=-2.0, maximum=2.0),
        )
    )
    domain = Domain(schema, Scope(("sex",)))
    rows = domain.sample(1000, np.random.default_rng(3))
    assert domain.unit[1] == pytest.approx(0.04)
    assert domain.n_individuals == np.inf
    assert len(np.unique(domain.keys(rows))) == 1000
    assert rows[:, 1].min() >= -2
    assert rows[:, 1].max() <= 2


def test_keys_are_one_to_one_on_the_whole_space_and_ignore_protected_values() -> None:
    domain = small_domain()
    rows = all_individuals(domain)
    assert len(np.unique(domain.keys(rows))) == len(rows) == domain.n_individuals
    other = rows.copy()
    other[:, 0] = 1
    assert (domain.keys(rows) == domain.keys(other)).all()


def test_hashed_keys_of_a_huge_space_do_not_collide() -> None:
    columns = [Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M"))]
    columns += [Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=999) for i in range(30)]
    domain = Domain(Schema(columns=tuple(columns)), Scope(("sex",)))
    assert domain.n_individuals > 2.0**63
    rows = np.repeat(domain.sample(1, np.random.default_rng(4)), 20_000, axis=0)
    rows[:, 1] = np.arange(20_000) % 1000
    rows[:, 2] = np.arange(20_000) // 1000
    assert len(np.unique(domain.keys(rows))) == 20_000
    swapped = rows.copy()
    swapped[:, [1, 2]] = rows[:, [2, 1]]
    same = rows[:, 1] == rows[:, 2]
    assert (domain.keys(swapped)[~same] != domain.keys(rows)[~same]).all()


def test_limits_narrow_the_domain_and_bins_choose_protected_values() -> None:
    domain = small_domain(("age",), limits={"hours": (2.0, 4.0)}, bins={"age": (20.0, 25.0)})
    assert domain.n_variants == 2
    assert domain.sample(500, np.random.default_rng(5))[:, 3].max() == 4
    assert domain.n_individuals == 2 * 3 * 3 * 5
    assert domain.variant_labels() == ("20", "25")


@pytest.mark.parametrize(
    ("limits", "within"),
    [
        ({"age": (20.5, 23.7)}, {"age": (21.0, 23.0)}),
        ({"age": (20.0, 20.9)}, {"age": (20.0, 20.0)}),
        ({"wealth": (0.3, 0.8)}, {"wealth": (0.5, 0.75)}),
        ({"hours": (1.5, 4.0), "wealth": (0.0, 0.1)}, {"hours": (2.0, 4.0), "wealth": (0.0, 0.0)}),
    ],
)
def test_limits_between_values_hold_those_inside_and_no_other(
    limits: dict[str, tuple[float, float]], within: dict[str, tuple[float, float]]
) -> None:
    between, plain = (small_domain(limits=each) for each in (limits, within))
    assert between.n_individuals == plain.n_individuals
    rows = between.sample(500, np.random.default_rng(5))
    assert plain.contains(rows).all()
    assert small_domain().contains(rows).all()
    assert np.array_equal(rows, plain.sample(500, np.random.default_rng(5)))
    everybody = small_domain().sample(500, np.random.default_rng(5))
    assert np.array_equal(between.contains(everybody), plain.contains(everybody))


def test_limits_between_values_of_a_protected_column_compare_those_inside() -> None:
    assert small_domain(("age",), limits={"age": (20.5, 23.7)}).variant_labels() == ("21", "22", "23")


@pytest.mark.parametrize("limits", [{"age": (20.2, 20.8)}, {"wealth": (0.3, 0.4)}])
def test_limits_that_hold_nobody_are_refused(limits: dict[str, tuple[float, float]]) -> None:
    with pytest.raises(SettingError, match=r"must hold a value of it, but none of .* Widen them"):
        small_domain(limits=limits)


def test_a_threshold_is_refused_where_the_largest_score_decides() -> None:
    """It was ignored without a word."""
    for output in (Output.LOGIT, Output.PROBABILITY, Output.LABEL):
        with pytest.raises(SettingError, match=r"for a model of 3 classes, whose largest score decides, got 0\.4"):
            Scope(("sex",), threshold=0.4).check_scores(output, 3)
        Scope(("sex",)).check_scores(output, 3)


def test_limits_in_the_wrong_order_are_said_to_be() -> None:
    with pytest.raises(SettingError, match="must be the lower one, then the upper, got 24 to 21"):
        small_domain(limits={"age": (24.0, 21.0)})


@pytest.mark.parametrize("setting", [{"threshold": 1.5}, {"threshold": -0.1}, {"threshold": 50.0}, {"score_gap": 1.0}])
def test_a_threshold_or_a_gap_that_no_score_can_meet_is_refused(setting: dict[str, float]) -> None:
    scope = Scope(("sex",), **setting)
    scope.check_scores(Output.LOGIT, 1)
    for output in (Output.PROBABILITY, Output.LABEL):
        with pytest.raises(
            SettingError,
            match=r"^The (decision threshold|score gap) must .* Set it under Scope \(--(threshold|gap)\)\.$",
        ):
            scope.check_scores(output, 1)
    for possible in (Scope(("sex",)), Scope(("sex",), threshold=0.0), Scope(("sex",), threshold=1.0, score_gap=0.99)):
        possible.check_scores(Output.PROBABILITY, 1)
    with pytest.raises(
        SettingError, match=r"must be left out for a model that gives decisions and no scores, got 0\.7"
    ):
        Scope(("sex",), threshold=0.7).check_scores(Output.LABEL, 1)
    Scope(("sex",), threshold=0.5).check_scores(Output.LABEL, 1)
    Scope(("sex",), threshold=0.7).check_scores(Output.PROBABILITY, 1)


def test_fixed_columns_are_drawn_from_the_data_and_never_moved() -> None:
    domain = small_domain(fixed=("job",))
    data_rows = domain.sample(20, np.random.default_rng(6))
    data_rows[:, 1] = 2
    rows = domain.sample(100, np.random.default_rng(7), data_rows)
    assert (rows[:, 1] == 2).all()
    assert 1 not in domain.movable


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ({"protected": ()}, "at least one protected"),
        ({"protected": ("sex", "sex")}, "once only"),
        ({"protected": ("sex",), "fixed": ("sex",)}, "protected and fixed"),
        ({"protected": ("sex",), "score_gap": -1.0}, "0 or more"),
        ({"protected": ("sex",), "threshold": float("nan")}, "finite"),
        ({"protected": ("sex",), "limits": {"hours": (0.0, 99.0)}}, "within 0 to 9"),
        ({"protected": ("sex", "age"), "max_variants": 10}, "sex 2 x age 10"),
        ({"protected": ("age",), "bins": {"age": (5.0, 20.0)}}, "within 20 to 29"),
        ({"protected": ("age",), "bins": {"age": (20.0, 25.0)}, "limits": {"age": (22.0, 29.0)}}, "within 22 to 29"),
        ({"protected": ("age",), "bins": {"age": (20.0, 22.5)}}, "steps of 1 from there, got 22.5"),
        ({"protected": ("age",), "bins": {"age": (20.0,)}}, "at least two values"),
    ],
)
def test_a_scope_that_cannot_be_is_refused_in_a_sentence(scope: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Domain(small_schema(), Scope(**scope))


def test_a_continuous_protected_attribute_asks_for_values() -> None:
    schema = Schema(
        columns=(Column("x", Kind.REAL, minimum=0, maximum=1), Column("y", Kind.INTEGER, minimum=0, maximum=3))
    )
    with pytest.raises(SettingError, match="choose the values"):
        Domain(schema, Scope(("x",)))


def test_an_unknown_attribute_is_named() -> None:
    with pytest.raises(SchemaError, match="'gender' must be a column"):
        Domain(small_schema(), Scope(("gender",)))
    with pytest.raises(SchemaError, match="'gender'"):
        Domain(small_schema(), Scope(("sex",), limits={"gender": (0.0, 1.0)}))


@given(
    protected=st.lists(st.sampled_from(["sex", "age", "job"]), min_size=1, unique=True),
    gap=st.floats(0, 1),
    threshold=st.none() | st.floats(0, 1),
    low=st.integers(0, 9),
)
def test_a_scope_survives_json(protected: list[str], gap: float, threshold: float | None, low: int) -> None:
    scope = Scope(tuple(protected), threshold, gap, ("wealth",), {"hours": (float(low), 9.0)}, {"age": (20.0, 22.0)})
    assert Scope.from_json(json.loads(json.dumps(scope.to_json()))) == scope


def test_rows_off_the_lattice_or_out_of_range_are_not_in_the_domain() -> None:
    domain = small_domain()
    rows = np.array([[0, 0, 20, 0, 0.25], [0, 0, 20.5, 0, 0.25], [0, 0, 20, 0, 0.3], [0, 3, 20, 0, 0]], dtype=float)
    assert domain.contains(rows).tolist() == [True, False, False, False]
    assert domain.contains(domain.clip(np.array([[0, 9, 99, -5, 2.0]]))).all()


def test_columns_that_the_model_does_not_take_tell_nobody_apart() -> None:
    domain = Domain(small_schema(), Scope(("sex",)), taken={"sex", "age", "hours"})
    assert domain.n_individuals == 10 * 10
    assert domain.movable.tolist() == [2, 3]
    data_rows = domain.sample(50, np.random.default_rng(0))
    rows = domain.sample(500, np.random.default_rng(1), data_rows)
    assert {tuple(r) for r in rows[:, [1, 4]]} <= {tuple(r) for r in data_rows[:, [1, 4]]}
    other = rows.copy()
    other[:, [1, 4]] = 0
    assert (domain.keys(rows) == domain.keys(other)).all()
