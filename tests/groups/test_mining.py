"""Frequent rule sets, against counting every combination by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import categories, numbers, plain_inside, sample_case, space_of

from fairness_engine.data.schema import Column, Kind
from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets import mining
from fairness_engine.groups.rule_sets import settings as rule_settings
from fairness_engine.groups.rule_sets.attributes import RuleAttribute, make_attribute, value_codes
from fairness_engine.groups.rule_sets.mining import NO_RULE, GroupIndex, by_attributes, least_rows, mine
from fairness_engine.groups.rule_sets.settings import RuleSettings

CRIME = (
    *("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp", "agePct12t21", "agePct12t29"),
    *("agePct16t24", "agePct65up", "MalePctDivorce", "FemalePctDiv"),
)


@st.composite
def spaces(draw: st.DrawFn) -> GroupIndex:
    """Two or three attributes of two to four values over one to 20 rows."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))
    kinds = [draw(st.sampled_from(["category", "number", "one-sided"])) for _ in sizes]
    attributes = [
        categories(f"a{i}", n) if kind == "category" else numbers(f"a{i}", n, one_sided=kind == "one-sided")
        for i, (n, kind) in enumerate(zip(sizes, kinds, strict=True))
    ]
    rows = st.tuples(*(st.integers(0, n - 1) for n in sizes))
    return space_of(*attributes, codes=draw(st.lists(rows, min_size=1, max_size=20)))


def every_rule_set(space: GroupIndex, most: int) -> dict[tuple[int, ...], int]:
    """Rows in each rule set of at most so many rules, one after the other."""
    choices = itertools.product(*(range(-1, attribute.n_rules) for attribute in space.attributes))
    lines = [line for line in choices if 0 < sum(rule != NO_RULE for rule in line) <= most]
    return {line: sum(plain_inside(space, line)) for line in lines}


@given(spaces(), st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9]), st.integers(1, 4))
@settings(max_examples=50)
def test_mining_finds_what_counting_finds(space: GroupIndex, support: float, most: int) -> None:
    asked = RuleSettings(support=support, max_attributes=most)
    counts = every_rule_set(space, most)
    least = support * space.n_rows
    expected = {line: n for line, n in counts.items() if least - 1e-9 <= n < space.n_rows}
    if not expected:
        with pytest.raises(SettingError):
            mine(space, asked)
        return
    mined = mine(space, asked)
    found = dict(zip(map(tuple, mined.rules.tolist()), mined.n_rows.tolist(), strict=True))
    assert found == expected
    assert len(mined.rules) == len(found)
    assert mined.n_whole == sum(n == space.n_rows for n in counts.values())
    assert mined.largest == max(n for n in counts.values() if n < space.n_rows) / space.n_rows
    assert mined.max_attributes == min(most, len(space.attributes))
    assert np.all(np.diff((mined.rules != NO_RULE).sum(axis=1)) >= 0)


@pytest.mark.thorough
@given(spaces(), st.integers(0, 2**32 - 1))
def test_sums_are_those_of_the_rows_inside(space: GroupIndex, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = np.array(list(every_rule_set(space, 4)))
    rules = lines[rng.integers(len(lines), size=min(300, 2 * len(lines)))]
    weights = rng.integers(0, 5, (2, space.n_rows)).astype(float)
    inside = space.inside(rules)
    assert inside[0].tolist() == plain_inside(space, rules[0].tolist())
    np.testing.assert_array_equal(space.sums(rules, weights), weights @ inside.T)


@pytest.mark.thorough
@given(spaces())
def test_rule_sets_are_grouped_by_the_attributes_they_constrain(space: GroupIndex) -> None:
    rules = np.array(list(every_rule_set(space, 4)))
    groups = list(by_attributes(rules))
    assert sorted(np.concatenate([lines for _, lines in groups]).tolist()) == list(range(len(rules)))
    assert len({tuple(which) for which, _ in groups}) == len(groups)
    for which, lines in groups:
        assert ((rules[lines] != NO_RULE) == np.isin(np.arange(rules.shape[1]), which)).all()


@given(spaces())
def test_cells_are_the_different_rows(space: GroupIndex) -> None:
    codes, cell, n_rows = space.cells
    np.testing.assert_array_equal(codes[cell], space.codes)
    assert len({tuple(line) for line in codes.tolist()}) == len(codes)
    np.testing.assert_array_equal(np.bincount(cell, minlength=len(codes)), n_rows)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    attributes = (categories("a", 4), numbers("b", 6), numbers("c", 5))
    space = space_of(*attributes, codes=rng.integers(0, (4, 6, 5), (200, 3)))
    expected = mine(space, RuleSettings(support=0.02))
    sums = space.sums(expected.rules, np.ones((1, 200)))
    monkeypatch.setattr(mining, "_BLOCK_NUMBERS", 64)
    monkeypatch.setattr("fairness_engine.groups.rule_sets.mining._BLOCK_NUMBERS", 64)
    found = mine(space, RuleSettings(support=0.02))
    np.testing.assert_array_equal(found.rules, expected.rules)
    np.testing.assert_array_equal(space.sums(found.rules, np.ones((1, 200))), sums)


def test_the_support_is_met_exactly() -> None:
    space = space_of(categories("a", 2), numbers("b", 2), codes=[(0, 0)] * 3 + [(1, 1)] * 7)
    assert set(mine(space, RuleSettings(support=0.3)).n_rows.tolist()) == {3, 7}
    assert set(mine(space, RuleSettings(support=0.31)).n_rows.tolist()) == {7}
    assert least_rows(RuleSettings(support=0.07), 100) == 7  # 0.07 * 100 is a little more than 7


def test_too_much_support_is_refused_with_the_largest_there_is() -> None:
    space = space_of(categories("a", 2), codes=[(0,)] * 4 + [(1,)] * 6)
    with pytest.raises(
        SettingError, match=r"No group holds 70 % of the rows .* the largest .* holds 60 %\. Ask for a smaller"
    ):
        mine(space, RuleSettings(support=0.7))


def test_groups_with_nobody_outside_are_left_out_and_counted() -> None:
    space = space_of(categories("a", 3), categories("b", 2), codes=[(0, 0)] * 4 + [(1, 1)] * 6)
    mined = mine(space, RuleSettings(support=0.1))
    whole = sum(n == 10 for n in every_rule_set(space, 3).values())
    assert mined.n_whole == whole == 1  # a in {0, 1}
    assert (mined.n_rows < 10).all()


def test_one_value_in_all_rows_is_refused() -> None:
    space = space_of(categories("a", 2), codes=[(0,)] * 4)
    with pytest.raises(SettingError, match=r"all of the rows, so that nobody is left.*Choose another"):
        mine(space, RuleSettings())


def test_too_many_rule_sets_leave_out_the_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    space = space_of(*(numbers(f"a{i}", 6) for i in range(4)), codes=rng.integers(0, 6, (300, 4)))
    asked = RuleSettings(support=0.05, max_attributes=3)
    everything = mine(space, asked)
    of_two = int(((everything.rules != NO_RULE).sum(axis=1) <= 2).sum())
    for module, name, limit in (
        (rule_settings, "MAX_RULE_SETS", len(everything.rules) - 1),
        (mining, "MAX_CELLS", 6**3 - 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, limit)
            mined = mine(space, asked)
        assert mined.max_attributes == 2
        assert len(mined.rules) == of_two


@pytest.mark.thorough
def test_few_attributes_are_all_combined_unasked_as_long_as_the_rule_sets_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)

    def of(n: int) -> GroupIndex:
        return space_of(*(categories(f"a{i}", 2) for i in range(n)), codes=rng.integers(0, 2, (500, n)))

    unasked = RuleSettings(support=0.01)
    assert [mine(of(n), unasked).max_attributes for n in (1, 2, 3, 4, 5, 6, 8)] == [1, 2, 3, 4, 5, 3, 3]
    assert mine(of(6), RuleSettings(support=0.01, max_attributes=5)).max_attributes == 5
    space = of(5)
    mined = mine(space, unasked)
    counts = every_rule_set(space, 5)
    assert len(mined.rules) == sum(5 <= n < 500 for n in counts.values())
    of_three = int(((mined.rules != NO_RULE).sum(axis=1) <= 3).sum())
    of_four = int(((mined.rules != NO_RULE).sum(axis=1) <= 4).sum())
    for limit, most, n in ((len(mined.rules) - 1, 4, of_four), (of_four - 1, 3, of_three), (0, 3, of_three)):
        monkeypatch.setattr(rule_settings, "MAX_UNASKED", limit)
        cut = mine(space, unasked)
        assert (cut.max_attributes, len(cut.rules)) == (most, n)
    assert len(mine(space, RuleSettings(support=0.01, max_attributes=5)).rules) == len(mined.rules), "asked for"
    assert RuleSettings(text_column="said").most_attributes(4) == 3, "of texts, whose every combination is evaluated"


def test_counts_on_a_sample() -> None:
    """A twin of the counts on the real data: counted anew with pandas, combination by combination."""
    case = sample_case("recidivism", "recidivism_planted", ("race", "sex", "age_group"))
    frame = pd.DataFrame(case.dataset.rows, columns=case.dataset.schema.names)[list(case.ranges.scope.protected)]
    subsets = [[chosen for size in range(0, n) for chosen in itertools.combinations(range(n), size)] for n in (4, 2, 3)]
    expected = 0
    for sets in itertools.product(*subsets):
        inside = np.ones(len(frame), dtype=bool)
        for name, chosen in zip(frame.columns, sets, strict=True):
            inside &= frame[name].isin(chosen).to_numpy() if chosen else True
        expected += any(sets) and 0.05 <= inside.mean() < 1
    assert len(case.run(error=0).result.scored) == expected == 268


def real_space(
    shared: Path, name: str, asked: RuleSettings, columns: dict[str, tuple[float, float] | None]
) -> GroupIndex:
    frame = pd.read_csv(shared / "data" / "raw" / name / "data.csv", usecols=list(columns))
    attributes: list[RuleAttribute] = []
    codes = []
    for column_name, ends in columns.items():
        if ends is None:
            texts = sorted(frame[column_name].unique())
            column = Column(column_name, Kind.CATEGORICAL, codes=tuple(texts), labels=tuple(texts))
            values = frame[column_name].map({text: i for i, text in enumerate(texts)}).to_numpy(float)
        else:
            kind = Kind.INTEGER if column_name == "age" else Kind.REAL
            column = Column(column_name, kind, minimum=ends[0], maximum=ends[1])
            values = frame[column_name].to_numpy(float)
        attributes.append(make_attribute(column, None, asked))
        codes.append(value_codes(attributes[-1], column, values, column.low))
    return GroupIndex(tuple(attributes), np.stack(codes, axis=1))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "columns", "asked", "expected"),
    [
        ("adult", {"sex": None, "race": None, "age": (0, 100)}, {}, (2563, [72, 1034, 1457])),
        ("compas", {"sex": None, "race": None, "age": (0, 100)}, {}, (5818, [102, 2372, 3344])),
        ("communities_crime", dict.fromkeys(CRIME, (0, 1)), {"max_attributes": 2}, (67193, [448, 66745])),
        (
            "communities_crime",
            dict.fromkeys(CRIME, (0, 1)),
            {"max_attributes": 2, "one_sided": True},
            (8640, [150, 8490]),
        ),
    ],
)
def test_counts_on_the_real_data(
    shared: Path, name: str, columns: dict, asked: dict, expected: tuple[int, list[int]]
) -> None:
    """The literal reading of the paper's Algorithm 1; its own counts include the rule sets that hold everybody."""
    chosen = RuleSettings(**asked)
    mined = mine(real_space(shared, name, chosen, columns), chosen)
    by_size = np.bincount((mined.rules != NO_RULE).sum(axis=1))[1:]
    assert len(mined.rules) + mined.n_whole == expected[0]
    assert (by_size.sum() + mined.n_whole, by_size[1:].tolist()) == (expected[0], expected[1][1:])
    assert by_size[0] + mined.n_whole == expected[1][0]
