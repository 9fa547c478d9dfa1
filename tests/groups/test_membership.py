"""Who is in a group: the same answer as the run that scored it, for rows of any other run too."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import SchemaError
from fairness_engine.groups.rule_sets.attributes import make_attribute
from fairness_engine.groups.rule_sets.driver import make_space
from fairness_engine.groups.rule_sets.membership import lie_within, members, unknown_attributes
from fairness_engine.groups.rule_sets.mining import mine
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.oracle.domain import Ranges, Scope

SCHEMA = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male")),
        Column("income", Kind.REAL, minimum=0.0, maximum=1.0),
        Column("age", Kind.INTEGER, minimum=20, maximum=69),
    )
)


@pytest.mark.parametrize("name", ["marketing", "recidivism", "census_income"])
@pytest.mark.parametrize("edges", ["equal", "round"])
def test_members_are_those_of_the_run(name: str, edges: str) -> None:
    sample = find_sample(name)
    schema = Schema.read(sample.schema).with_protected(sample.protected)
    dataset = make_dataset(read_table(sample.data), schema)
    settings = RuleSettings(edges=edges)  # type: ignore[arg-type]
    space = make_space(Ranges(schema, Scope(sample.protected)), dataset.rows, settings)
    mined = mine(space, settings)
    chosen = np.random.default_rng(0).choice(len(mined.rules), 40)
    expected = space.inside(mined.rules[chosen])
    for line, inside in zip(mined.rules[chosen], expected, strict=True):
        np.testing.assert_array_equal(members(space.attributes, line.tolist(), schema, dataset.rows), inside)
    np.testing.assert_array_equal(expected.sum(axis=1), mined.n_rows[chosen])


def test_another_order_of_columns_and_categories_finds_the_same_people() -> None:
    women_of_forty = _group(sex=(0,), age=(40, 49))
    rows = np.array([[0.0, 0.5, 45.0], [1.0, 0.5, 45.0], [0.0, 0.5, 39.0], [0.0, 0.5, 50.0]])
    assert members(*women_of_forty, SCHEMA, rows).tolist() == [True, False, False, False]
    sex = replace(SCHEMA.column("sex"), codes=(1, 2, 0), labels=("Male", "Other", "Female"))
    other = Schema((SCHEMA.column("age"), sex))
    turned = np.array([[45.0, 2.0], [45.0, 0.0], [45.0, 1.0], [39.0, 2.0]])
    assert members(*women_of_forty, other, turned).tolist() == [True, False, False, False]


def test_a_value_that_the_attribute_was_not_cut_for_is_in_no_group() -> None:
    age = make_attribute(SCHEMA.column("age"), (30.0, 59.0), RuleSettings(bins=3))
    rows = np.array([[0.0, 0.5, value] for value in (29.0, 30.0, 39.0, 40.0, 59.0, 60.0, np.nan)])
    by_rule = [members((age,), (rule,), SCHEMA, rows) for rule in range(age.n_rules)]
    lowest = by_rule[0]
    not_lowest = by_rule[-1]
    assert age.values_of(0).tolist() == [0]
    assert lowest.tolist() == [False, True, True, False, False, False, False]
    assert not any(inside[[0, 5, 6]].any() for inside in by_rule)
    assert not_lowest[4]


def test_everybody_is_in_a_rule_set_without_rules() -> None:
    attributes, _ = _group(sex=(0,), age=(40, 49))
    assert members(attributes, (-1, -1), SCHEMA, np.zeros((3, 3))).all()


def test_attributes_that_a_schema_lacks_are_named() -> None:
    attributes, rules = _group(sex=(0,), age=(40, 49))
    without = Schema((SCHEMA.column("sex"), SCHEMA.column("income")))
    assert unknown_attributes(attributes, rules, SCHEMA) == ()
    assert unknown_attributes(attributes, rules, without) == ("age",)
    assert unknown_attributes(attributes, (rules[0], -1), without) == ()
    words = Column("age", Kind.CATEGORICAL, codes=("young", "old"), labels=("young", "old"))
    assert unknown_attributes(attributes, rules, Schema((SCHEMA.column("sex"), words))) == ("age",)
    finer = replace(SCHEMA.column("age"), kind=Kind.REAL)
    assert unknown_attributes(attributes, rules, Schema((SCHEMA.column("sex"), finer))) == ()
    with pytest.raises(SchemaError):
        members(attributes, rules, without, np.zeros((1, 2)))


def test_the_ranges_are_those_that_a_run_goes_by() -> None:
    columns = (*SCHEMA.columns, Column("grade", Kind.REAL, minimum=0.0, maximum=2.0, step=0.25))
    ranges = Ranges(Schema(columns), Scope(("sex",), limits={"age": (30.0, 40.0), "sex": (1.0, 1.0)}))
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [rng.integers(0, 2, 500), rng.uniform(-0.2, 1.2, 500), rng.integers(25, 45, 500), rng.integers(-1, 12, 500) / 4]
    ).astype(np.float64)
    rows[0, 1] = np.nan
    rows[1:20, 2] += 0.5
    rows[20:40, 3] += 0.1
    inside = lie_within(ranges, rows)
    np.testing.assert_array_equal(inside, ranges.contains(rows))
    assert 0 < inside.sum() < 500


def test_the_app_can_ask_without_compiled_loops() -> None:
    code = (
        "import sys, fairness_engine.groups.rule_sets.membership; print(sorted({'numba', 'sklearn', 'keras'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _group(sex: tuple[int, ...], age: tuple[int, int]):  # type: ignore[no-untyped-def]
    """A rule on sex and one on age, which is cut into tens."""
    attributes = tuple(make_attribute(SCHEMA.column(name), None, RuleSettings(bins=5)) for name in ("sex", "age"))
    wanted = attributes[0], attributes[1]
    rule_of_sex = next(r for r in range(wanted[0].n_rules) if tuple(wanted[0].values_of(r)) == sex)
    rule_of_age = next(
        r for r in range(wanted[1].n_rules) if (wanted[1].rule_json(r)["low"], wanted[1].rule_json(r)["high"]) == age
    )
    return attributes, (rule_of_sex, rule_of_age)
