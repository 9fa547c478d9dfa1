"""Links: what is read, what is refused and why, and that a person's roles lead back to the person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.data.corrections import remove_category, rename_label_text
from fairness_engine.data.links.link import Link
from fairness_engine.data.links.reading import joined, parse_link
from fairness_engine.data.links.spelling import Spelling, link_text, links_to_json, role_schema
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SchemaError, SettingError
from fairness_engine.oracle.domain import Domain, Scope


def category(name: str, *labels: str) -> Column:
    return Column(name, Kind.CATEGORICAL, codes=labels, labels=labels)


SCHEMA = Schema(
    (
        category("sex", "Female", "Male"),
        category("relationship", "Husband", "Own-child", "Wife", "Widow", "Widower"),
        category("race", "A", "B", "C"),
        category("title", "x", "y", "z", "other"),
        Column("age", Kind.INTEGER, minimum=17, maximum=90),
        Column("pay", Kind.REAL, minimum=0.0, maximum=9.0),
        Column("children", Kind.INTEGER, minimum=0, maximum=3),
    ),
    protected=("sex",),
)
SPOUSES = "sex:relationship=Wife/Husband"


def refused(text: str, schema: Schema = SCHEMA) -> str:
    with pytest.raises(SchemaError) as caught:
        joined([parse_link(text, schema)], schema)
    return str(caught.value)


def test_a_link_is_read_as_it_is_written() -> None:
    link = parse_link(f"{SPOUSES},Widow/Widower", SCHEMA)
    assert link == Link("sex", "relationship", ("Female", "Male"), (("Wife", "Husband"), ("Widow", "Widower")))
    assert link_text(link, SCHEMA) == "relationship goes with sex: Wife / Husband; Widow / Widower"
    assert links_to_json([link], SCHEMA) == [
        {"protected": "sex", "column": "relationship", "values": ["Wife", "Husband"]},
        {"protected": "sex", "column": "relationship", "values": ["Widow", "Widower"]},
    ]


def test_names_and_values_may_hold_the_signs_that_part_them() -> None:
    schema = Schema((category("a:b", "1", "2"), category("c=d", "u/v", "u", "v,w", "v")), protected=("a:b",))
    assert parse_link("a:b:c=d=u/v/v,w", schema).values == (("u/v", "v,w"),)
    assert parse_link("a:b:c=d=u/v,v,w/u/v", schema).values == (("u/v",), ("v,w", "u/v"))


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ([SPOUSES], [["Wife", "Husband"]]),
        ([{"protected": "sex", "column": "relationship", "values": ["Wife", "Husband"]}], [["Wife", "Husband"]]),
        ([{"protected": "sex", "column": "relationship", "values": "Wife/Husband"}], [["Wife", "Husband"]]),
        (
            [{"protected": "sex", "column": "relationship", "of": ["Male", "Female"], "values": [["Husband", "Wife"]]}],
            [["Wife", "Husband"]],
        ),
        (
            [{"protected": "sex", "column": "relationship", "values": ["Wife", "Husband"], "seen": 4, "expected": 9.5}],
            [["Wife", "Husband"]],
        ),
        ([SPOUSES, "sex:relationship=Widow/Widower"], [["Wife", "Husband"], ["Widow", "Widower"]]),
    ],
)
def test_the_schema_file_holds_the_same(content: list[Any], values: list[list[str]], tmp_path: Path) -> None:
    found = Schema.from_json({**SCHEMA.to_json(), "links": content})
    assert [list(each) for link in found.links for each in link.values] == values
    found.write(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == found
    scope = Scope(("sex",)).with_links_of(found)
    assert Scope.from_json(scope.to_json()) == scope


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sex:relationship=Wife/Wife", "must change a value"),
        ("sex:relationship=Wife/Own-child,Husband/Own-child", "two different people would become one"),
        ("sex:relationship=Wife", "a value of 'relationship' for each value of 'sex' (Female, Male)"),
        ("sex:relationship=Wife/Husband/Widow", "got 3 (Wife / Husband / Widow)"),
        ("sex:relationship=Wife/Spouse", "got 'Spouse'. Check the spelling"),
        ("sex:relationship=", "needs values that change"),
        ("sex:pay=1/2", "'pay' is a continuous number"),
        ("pay:relationship=Wife/Husband", "'pay' is a continuous number"),
        ("sex:sex=Female/Male", "joins two columns"),
        ("sex:kin=Wife/Husband", "'kin' must be a column"),
        ("gender:relationship=Wife/Husband", "'gender' must be a column"),
        ("relationship", "must be written like 'sex:relationship=Husband/Wife'"),
        ("", "must be written like"),
    ],
)
def test_what_is_no_link_is_refused_in_a_sentence(text: str, says: str) -> None:
    assert says in refused(text)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("sex", "'links' must be a list"),
        ([3], "Every link must be an object or a text"),
        ([{"protected": "sex", "column": "relationship"}], "needs 'values'"),
        ([{"protected": 1, "column": "relationship", "values": ["Wife", "Husband"]}], "names two columns"),
        ([{"protected": "sex", "column": "relationship", "values": ["Wife", ["x"]]}], "got ['x']"),
        ([{"who": "sex"}], "Unknown key 'who'"),
        (
            [{"protected": "sex", "column": "relationship", "of": ["Male"], "values": ["Husband"]}],
            "each of its 2 values once",
        ),
        (
            [{"protected": "sex", "column": "relationship", "of": ["Male", "Male"], "values": ["Husband", "Wife"]}],
            "each of its 2 values once",
        ),
    ],
)
def test_what_is_no_link_of_a_schema_file_is_refused_in_a_sentence(content: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=r".") as caught:
        Schema.from_json({**SCHEMA.to_json(), "links": content})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        ({"protected": ("race",)}, "'sex' of 'sex:relationship' is not protected"),
        ({"protected": ("sex", "relationship")}, "'relationship' is protected itself"),
        ({"protected": ("sex",), "limits": {"relationship": (0, 1)}}, "all values of a role or none"),
    ],
)
def test_a_link_that_does_not_fit_the_scope_is_refused(scope: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError) as caught:
        Domain(SCHEMA, Scope(**scope, links=(parse_link(SPOUSES, SCHEMA),)))
    assert says in str(caught.value)


def test_a_column_goes_with_one_attribute_only() -> None:
    links = (parse_link("sex:title=x/y", SCHEMA), parse_link("race:title=x/y/z", SCHEMA))
    with pytest.raises(SettingError, match="can go with one protected attribute only, got 2"):
        Domain(SCHEMA, Scope(("sex", "race"), links=links))


def test_three_values_go_round() -> None:
    """Who holds ``x`` as A holds ``y`` as B and ``z`` as C; the others go round the same way."""
    spelling = Spelling(SCHEMA, (parse_link("race:title=x/y/z", SCHEMA),))
    rows = np.zeros((4, 7))
    rows[:, 3] = range(4)
    as_b = rows.copy()
    as_b[:, 2] = 1
    assert spelling.spelled(as_b)[:, 3].tolist() == [1, 2, 0, 3]
    as_c = rows.copy()
    as_c[:, 2] = 2
    assert spelling.spelled(as_c)[:, 3].tolist() == [2, 0, 1, 3]
    assert np.array_equal(spelling.spelled(rows), rows)


@st.composite
def links_and_people(draw: st.DrawFn) -> tuple[Schema, tuple[Link, ...], np.ndarray]:
    """A schema, links of its two protected attributes with any roles, and people."""
    n_protected = draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))
    columns = [category(f"p{k}", *(f"p{k}{i}" for i in range(n))) for k, n in enumerate(n_protected)]
    links = []
    for k, n in enumerate(n_protected):
        n_values = draw(st.integers(2, 7))
        names = [f"c{k}{i}" for i in range(n_values)]
        columns.append(category(f"c{k}", *names))
        free = draw(st.permutations(names))
        roles = []
        while len(free) >= 2 and len(roles) < 3 and draw(st.booleans() if roles else st.just(True)):
            m = draw(st.integers(2, min(n, len(free))))
            ways, free = free[:m], free[m:]
            spread = draw(st.lists(st.sampled_from(ways), min_size=n, max_size=n).filter(lambda own: len(set(own)) > 1))
            roles.append(tuple(spread))
        links.append(Link(f"p{k}", f"c{k}", tuple(f"p{k}{i}" for i in range(n)), tuple(roles)))
    schema = Schema(tuple(columns))
    counts = [len(column.codes) for column in schema.inputs]
    people = draw(st.lists(st.tuples(*(st.integers(0, n - 1) for n in counts)), min_size=1, max_size=20))
    return schema, tuple(links), np.array(people, dtype=np.float64)


@given(links_and_people())
def test_roles_lead_back_to_the_person_and_variants_keep_them(
    drawn: tuple[Schema, tuple[Link, ...], np.ndarray],
) -> None:
    schema, links, people = drawn
    protected = tuple(link.protected for link in links)
    domain = Domain(schema, Scope(protected, links=links))
    assert np.array_equal(domain.spelled(domain.roles(people)), people)
    assert np.array_equal(domain.roles(domain.spelled(people)), people)
    variants = domain.variants(people)
    keys = domain.keys(variants.reshape(-1, len(schema.inputs))).reshape(len(people), -1)
    assert (keys == domain.keys(people)[:, None]).all()
    for person, own in zip(people, variants, strict=True):
        assert len(np.unique(own, axis=0)) == len(own)
        assert (own == person).all(axis=1).sum() == 1
        again = domain.with_variant(own, np.zeros(len(own), np.int64))
        assert (again == again[0]).all()


def test_a_missing_cell_stays_missing() -> None:
    domain = Domain(SCHEMA, Scope(("sex",), links=(parse_link(SPOUSES, SCHEMA),), bins={}))
    row = np.array([[np.nan, 0, 0, 0, 30, 1, 0], [1, np.nan, 0, 0, 30, 1, 0]])
    assert np.array_equal(domain.spelled(row), row, equal_nan=True)


def test_links_follow_corrections_of_the_columns() -> None:
    schema = Schema.from_json({**SCHEMA.to_json(), "links": [f"{SPOUSES},Widow/Widower"]})
    renamed = rename_label_text(schema, "relationship", "Wife", "Ehefrau")
    assert links_to_json(renamed.links, renamed)[0]["values"] == ["Ehefrau", "Husband"]
    fewer = remove_category(schema, "relationship", "Widow")
    assert [link.values for link in fewer.links] == [(("Wife", "Husband"),)]
    assert not remove_category(fewer, "relationship", "Wife").links
    assert not Scope(("race",)).with_links_of(schema).links


def test_roles_are_named_by_all_their_spellings() -> None:
    labels = role_schema(SCHEMA, (parse_link(SPOUSES, SCHEMA),)).column("relationship").labels
    assert labels == ("Husband/Wife", "Own-child", "Wife/Husband", "Widow", "Widower")


def test_whole_numbers_can_be_linked() -> None:
    link = parse_link("sex:children=0/1", SCHEMA)
    assert link.values == ((0, 1),)
    spelling = Spelling(SCHEMA, (link,))
    row = np.array([[1.0, 0, 0, 0, 30, 1, 0]])
    assert spelling.spelled(row)[0, 6] == 1
