"""Attributes cut into values, and the rules on them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_cases import categories, numbers, small_rows

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets.attributes import (
    MAX_SUBSET_CATEGORIES,
    RuleAttribute,
    make_attribute,
    value_codes,
)
from fairness_engine.groups.rule_sets.driver import MAX_VALUES, make_space
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.oracle.domain import Ranges, Scope
from handmade import small_schema


def whole(low: float, high: float, limits: tuple[float, float] | None = None, **settings: object) -> RuleAttribute:
    return make_attribute(Column("age", Kind.INTEGER, minimum=low, maximum=high), limits, RuleSettings(**settings))


def real(low: float, high: float, **settings: object) -> RuleAttribute:
    return make_attribute(Column("share", Kind.REAL, minimum=low, maximum=high), None, RuleSettings(**settings))


def rule_values(attribute: RuleAttribute) -> set[tuple[int, ...]]:
    return {tuple(attribute.values_of(rule).tolist()) for rule in range(attribute.n_rules)}


def test_categories_have_every_subset_but_none_and_all() -> None:
    attribute = categories("race", 5)
    expected = {chosen for size in range(1, 5) for chosen in itertools.combinations(range(5), size)}
    assert len(expected) == 30  # as the paper counts
    assert rule_values(attribute) == expected
    assert attribute.n_rules == 30


def test_many_categories_have_each_alone_and_all_but_each() -> None:
    n = MAX_SUBSET_CATEGORIES + 1
    alone = {(value,) for value in range(n)}
    others = {tuple(other for other in range(n) if other != value) for value in range(n)}
    assert rule_values(categories("country", n)) == alone | others


def test_numbers_have_every_run_of_neighbours_but_the_whole() -> None:
    expected = {tuple(range(a, b + 1)) for a in range(10) for b in range(a, 10)} - {tuple(range(10))}
    assert len(expected) == 54
    assert rule_values(numbers("age", 10)) == expected


def test_one_sided_ranges_begin_or_end_where_the_column_does() -> None:
    expected = {tuple(range(i)) for i in range(1, 10)} | {tuple(range(i, 10)) for i in range(1, 10)}
    assert rule_values(numbers("age", 10, one_sided=True)) == expected


def test_terms_have_one_rule_each() -> None:
    assert rule_values(RuleAttribute("religion", "term", ("jewish", "sikh"))) == {(0,), (1,)}


def test_age_from_0_to_100_is_cut_into_the_papers_decades() -> None:
    attribute = whole(0, 100)
    assert attribute.lows == tuple(range(0, 100, 10))
    assert attribute.highs == (*range(9, 99, 10), 100)
    assert attribute.labels[0] == "0 to 9"
    assert attribute.labels[-1] == "90 to 100"


def test_equal_widths_of_whole_numbers_share_no_value_and_leave_none_out() -> None:
    attribute = whole(17, 90)
    assert attribute.lows[0] == 17
    assert attribute.highs[-1] == 90
    assert [high + 1 for high in attribute.highs[:-1]] == list(attribute.lows[1:])
    widths = [high - low + 1 for low, high in zip(attribute.lows, attribute.highs, strict=True)]
    assert set(widths) <= {7, 8}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, list(range(0, 100, 10))),
        (17, 90, [17, *range(30, 90, 10)]),  # 17 to 19 is no range of its own, nor is 90
        (18, 80, [18, *range(30, 80, 10)]),
        (15, 84, [15, *range(20, 80, 10)]),
        (0, 1_000_000, [i * 100_000 for i in range(10)]),
        (-35, 35, [-35, *range(-30, 40, 10)]),
    ],
)
def test_round_edges(low: int, high: int, expected: list[int]) -> None:
    assert list(whole(low, high, edges="round").lows) == expected


def test_round_edges_of_a_real_column() -> None:
    assert real(0.03, 0.97, edges="round").lows == (0.03, *(i / 10 for i in range(1, 10)))


def test_equal_edges_of_a_real_column_are_those_that_are_written() -> None:
    """The one behind 0.3 would begin a little above the 0.3 of a row, which its label names."""
    assert real(-1.5, 1.5, bins=10).lows == (-1.5, -1.2, -0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9, 1.2)
    for low in range(-30, 30):
        for tenths in range(1, 60):
            attribute = real(low / 10, (low + tenths) / 10, bins=10)
            assert [float(label.split(" to ")[0]) for label in attribute.labels] == list(attribute.lows)


@given(st.integers(-1000, 1000), st.integers(1, 5000), st.integers(2, 100), st.sampled_from(["equal", "round"]))
def test_ranges_of_whole_numbers_part_the_column(low: int, span: int, bins: int, edges: str) -> None:
    attribute = whole(low, low + span, bins=bins, edges=edges)
    held = [n for a, b in zip(attribute.lows, attribute.highs, strict=True) for n in range(int(a), int(b) + 1)]
    assert held == list(range(low, low + span + 1))
    assert 1 <= attribute.n_values <= max(bins, 1) + 1
    assert len(set(attribute.labels)) == attribute.n_values


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 100), st.sampled_from(["equal", "round"]))
def test_ranges_of_real_numbers_part_the_column(low: float, span: float, bins: int, edges: str) -> None:
    attribute = real(low, low + span, bins=bins, edges=edges)
    assert attribute.lows[0] == low
    assert attribute.highs[-1] == low + span
    assert attribute.highs[:-1] == attribute.lows[1:]
    assert all(a < b for a, b in zip(attribute.lows, attribute.highs, strict=True))
    assert len(set(attribute.labels)) == attribute.n_values


def test_whole_numbers_with_few_values_are_not_joined() -> None:
    assert whole(3, 7).labels == ("3", "4", "5", "6", "7")


def test_long_numbers_are_written_out() -> None:
    assert whole(0, 1_234_567, bins=2).labels == ("0 to 617283", "617284 to 1234567")
    assert real(0.0, 0.000_001, bins=2).labels == ("0 to 0.0000005", "0.0000005 to 0.000001")


def test_the_limits_of_the_scope_are_the_column() -> None:
    assert whole(0, 100, (20, 59), bins=4).labels == ("20 to 29", "30 to 39", "40 to 49", "50 to 59")
    race = Column("race", Kind.CATEGORICAL, codes=(0, 1, 2, 3), labels=("a", "b", "c", "d"))
    limited = make_attribute(race, (1.0, 2.0), RuleSettings())
    assert limited.labels == ("b", "c")
    assert value_codes(limited, race, np.array([1.0, 2.0]), 1.0).tolist() == [0, 1]


def test_codes_say_in_which_range_a_row_lies() -> None:
    attribute = real(0.0, 1.0, bins=4)
    column = Column("share", Kind.REAL, minimum=0.0, maximum=1.0)
    rows = np.array([0.0, 0.2499, 0.25, 0.5, 0.75, 1.0])
    assert value_codes(attribute, column, rows, 0.0).tolist() == [0, 0, 1, 2, 3, 3]


def test_json_gives_an_equal_attribute() -> None:
    for attribute in (categories("race", 5), numbers("age", 7, one_sided=True), whole(0, 100)):
        again = RuleAttribute.from_json(attribute.to_json())
        assert again == attribute
        np.testing.assert_array_equal(again.members, attribute.members)


def test_rules_are_said_as_the_command_line_does() -> None:
    age = whole(0, 100)
    race = categories("race", 3)
    decades = next(rule for rule in range(age.n_rules) if age.values_of(rule).tolist() == [4, 5])
    assert age.rule_json(decades) == {"column": "age", "low": 40, "high": 59}
    assert race.rule_json(race.n_rules - 1) == {"column": "race", "values": ["race1", "race2"]}
    assert RuleAttribute("religion", "term", ("sikh",)).rule_json(0) == {"column": "religion", "term": "sikh"}


def space_of_schema(*columns: Column, rows: np.ndarray, **scope: object) -> object:
    schema = Schema(columns)
    protected = tuple(column.name for column in columns if column.name != "other")
    return make_space(Ranges(schema, Scope(protected, **scope)), rows, RuleSettings())


def test_a_space_has_the_values_of_each_row() -> None:
    rows = small_rows(50)
    space = make_space(Ranges(small_schema(), Scope(("job", "age"))), rows, RuleSettings(bins=5))
    assert [attribute.n_values for attribute in space.attributes] == [3, 5]
    np.testing.assert_array_equal(space.codes, np.column_stack([rows[:, 1], (rows[:, 2] - 20) // 2]))


def test_refusals_say_what_to_do() -> None:
    other = Column("other", Kind.REAL, minimum=0.0, maximum=1.0)
    one = Column("sex", Kind.CATEGORICAL, codes=(0,), labels=("F",))
    with pytest.raises(SettingError, match=r"'sex' has one value only.*Choose another"):
        space_of_schema(one, other, rows=np.zeros((3, 2)))
    n = MAX_VALUES + 1
    many = Column("town", Kind.CATEGORICAL, codes=tuple(range(n)), labels=tuple(map(str, range(n))))
    with pytest.raises(SettingError, match=r"'town' has 1,001.*fewer"):
        space_of_schema(many, other, rows=np.zeros((3, 2)))
    with pytest.raises(SettingError, match=r"No row of the data lies in the ranges.*Widen"):
        make_space(Ranges(small_schema(), Scope(("sex",))), np.empty((0, 5)), RuleSettings())
    with pytest.raises(SettingError, match="at least one protected attribute"):
        Scope(())
