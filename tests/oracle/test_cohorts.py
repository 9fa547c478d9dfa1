"""Groups by rules: every row held against every rule one by one, what no schema can tell, and groups as limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.data.links.link import Link
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SchemaError, SettingError
from fairness_engine.oracle.cohorts import check_rules, joined, members, narrowed, rules_of_limits
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.telling.rules import Rule

SEX = Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male"))
JOB = Column("job", Kind.CATEGORICAL, codes=(3, 5, 9, 11), labels=("nurse", "judge", "cook", "clerk"))
AGE = Column("age", Kind.INTEGER, minimum=18, maximum=90)
WEALTH = Column("wealth", Kind.REAL, minimum=-1.0, maximum=1.0)
GRADE = Column("grade", Kind.REAL, minimum=0.5, maximum=4.5, step=0.5)
SCHEMA = Schema((SEX, JOB, AGE, WEALTH, GRADE), label="loan", protected=("sex",))
SCOPE = Scope(("sex",))
RULES: list[Rule] = [
    {"column": "sex", "values": ["Male"]},
    {"column": "job", "values": ["clerk", "judge"]},
    {"column": "age", "low": 25, "high": 39},
    {"column": "wealth", "low": -0.5, "high": 0.25},
    {"column": "wealth", "low": -0.5, "high": 0.25, "includes_high": False},
    {"column": "grade", "low": 1.5, "high": 3.0, "includes_high": False},
    {"column": "grade", "low": 1.2, "high": 3.2},
]


def drawn(n: int, seed: int) -> FloatArray:
    """Rows of the schema, many of them at the ends of rules, some with a missing cell."""
    rng = np.random.default_rng(seed)
    rows = Domain(SCHEMA, SCOPE).sample(n, rng)
    rows[: n // 4, 3] = 0.25
    rows[n // 5 : n // 3, 3] = -0.5
    rows[n // 6 : n // 2, 2] = rng.choice([24, 25, 39, 40], size=n // 2 - n // 6)
    rows[rng.random(rows.shape) < 0.03] = math.nan
    return rows


def obeys(rule: Rule, row: FloatArray) -> bool:
    """One row, as the rule is said to people."""
    column = SCHEMA.column(rule["column"])
    value = float(row[SCHEMA.names.index(rule["column"])])
    if math.isnan(value):
        return False
    if "values" in rule:
        return column.text(value) in rule["values"]
    if not rule.get("includes_high", True) and value == rule["high"]:
        return False
    return rule["low"] <= value <= rule["high"]


@pytest.mark.parametrize("seed", range(20))
def test_every_row_is_held_against_every_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = drawn(400, seed)
    for rules in ([rule] for rule in RULES):
        found = members(SCHEMA, rules, rows)
        assert found.tolist() == [obeys(rules[0], row) for row in rows]
        assert 0 < found.sum() < len(rows)
    some = [RULES[i] for i in sorted(rng.choice(len(RULES), 3, replace=False))]
    assert members(SCHEMA, some, rows).tolist() == [all(obeys(rule, row) for rule in some) for row in rows]


@pytest.mark.parametrize("seed", range(20))
def test_rules_that_are_joined_are_of_those_who_obey_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = drawn(400, seed)
    one, other = (
        list({rule["column"]: rule for rule in rng.permutation(np.array(RULES))[: rng.integers(0, 5)]}.values())
        for _ in range(2)
    )
    wider: list[Rule] = [
        {"column": "job", "values": ["judge", "nurse"]},
        {"column": "age", "low": 30, "high": 90},
        {"column": "wealth", "low": -1.0, "high": 0.25, "includes_high": bool(seed % 2)},
    ]
    for more in (other, wider):
        both = joined(one, more)
        assert len({rule["column"] for rule in both}) == len(both)
        expected = members(SCHEMA, one, rows) & members(SCHEMA, more, rows)
        assert members(SCHEMA, both, rows).tolist() == expected.tolist()


def test_everybody_obeys_no_rule_and_no_row_is_no_member() -> None:
    rows = drawn(50, 0)
    assert members(SCHEMA, [], rows).all()
    assert members(SCHEMA, RULES, rows[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"column": "height", "low": 1, "high": 2}, "'height' must be a column that the model takes"),
        ({"column": "loan", "values": ["yes"]}, "'loan' must be a column that the model takes"),
        ({"column": "job", "values": ["nurse", "baker"]}, r"categories that 'job' has \(nurse, .*\), got 'baker'"),
        ({"column": "job", "values": []}, "categories that 'job' has .* got none"),
        ({"column": "age", "values": ["25"]}, "'age', which is integer, needs a range of it, got categories"),
        ({"column": "job", "low": 0, "high": 1}, "'job', which is categorical, needs categories of it, got a range"),
        ({"column": "age", "low": 25}, "needs a range"),
        ({"column": "story", "term": "she"}, "columns of a table, got the term 'she'"),
    ],
)
def test_what_a_schema_cannot_tell_is_said(rule: Rule, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        members(SCHEMA, [RULES[0], rule], drawn(5, 0))
    with pytest.raises(SchemaError, match=said):
        check_rules(SCHEMA, [rule])


# --- as limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "limits"),
    [
        ({"column": "job", "values": ["cook", "judge"]}, (1.0, 2.0)),
        ({"column": "age", "low": 25, "high": 39}, (25.0, 39.0)),
        ({"column": "age", "low": 24.3, "high": 39.7}, (25.0, 39.0)),
        ({"column": "age", "low": 5, "high": 300}, (18.0, 90.0)),
        ({"column": "wealth", "low": -0.5, "high": 0.25}, (-0.5, 0.25)),
        ({"column": "wealth", "low": -0.5, "high": 0.25, "includes_high": False}, (-0.5, np.nextafter(0.25, -1))),
        ({"column": "grade", "low": 1.5, "high": 3.0, "includes_high": False}, (1.5, 2.5)),
        ({"column": "grade", "low": 1.2, "high": 3.2}, (1.5, 3.0)),
    ],
)
def test_a_group_as_limits_is_the_same_people(rule: Rule, limits: tuple[float, float]) -> None:
    scope = narrowed(SCHEMA, SCOPE, [rule])
    assert scope.limits == {rule["column"]: limits}
    rows = drawn(500, 3)
    low, high = limits
    values = rows[:, SCHEMA.index(rule["column"])]
    assert ((values >= low) & (values <= high)).tolist() == members(SCHEMA, [rule], rows).tolist()
    assert members(SCHEMA, [rule], Domain(SCHEMA, scope).sample(200, np.random.default_rng(0))).all()


def test_limits_that_are_there_stay() -> None:
    scope = Scope(("sex",), limits={"age": (30, 60), "grade": (1.0, 2.0)})
    found = narrowed(SCHEMA, scope, [{"column": "age", "low": 18, "high": 45}])
    assert found.limits == {"age": (30, 45), "grade": (1.0, 2.0)}
    assert scope.limits["age"] == (30, 60)
    with pytest.raises(SettingError, match="limits of 'age' leave nobody"):
        narrowed(SCHEMA, scope, [{"column": "age", "low": 18, "high": 29}])


def test_what_limits_cannot_say_is_said() -> None:
    with pytest.raises(SettingError, match="'sex' is protected"):
        narrowed(SCHEMA, SCOPE, [RULES[0]])
    with pytest.raises(SettingError, match="between those of 'job' stands 'judge'"):
        narrowed(SCHEMA, SCOPE, [{"column": "job", "values": ["nurse", "cook", "clerk"]}])
    with pytest.raises(SchemaError, match="got 'baker'"):
        narrowed(SCHEMA, SCOPE, [{"column": "job", "values": ["baker"]}])
    linked = Scope(("sex",), links=(Link("sex", "job", (0, 1), ((3, 5),)),))
    with pytest.raises(SettingError, match="'job' is linked to a protected attribute"):
        narrowed(SCHEMA, linked, [{"column": "job", "values": ["cook"]}])


def test_limits_as_rules_and_back() -> None:
    limits = {"job": (1.0, 3.0), "age": (20.0, 30.0), "wealth": (-0.25, 1.0)}
    rules = rules_of_limits(SCHEMA, limits)
    assert rules == [
        {"column": "job", "values": ["judge", "cook", "clerk"]},
        {"column": "age", "low": 20, "high": 30},
        {"column": "wealth", "low": -0.25, "high": 1.0},
    ]
    assert narrowed(SCHEMA, SCOPE, rules).limits == limits
