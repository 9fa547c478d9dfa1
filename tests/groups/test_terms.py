"""The list of identity terms: the project's own, and a user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.terms import (
    MAX_BYTES,
    MAX_CATEGORIES,
    MAX_TERM,
    MAX_TERMS,
    check_terms,
    default_terms,
    read_terms,
    same_term,
    terms_json,
)
from fairness_engine.groups.rule_sets.settings import RuleSettings

GOOD = {"religion": ["christian", "Muslim"], "age": ["middle aged", "old"]}


def test_the_projects_own_list_is_that_of_the_paper() -> None:
    terms = dict(default_terms())
    assert {category: len(words) for category, words in terms.items()} == {
        "gender": 14,
        "race": 17,
        "religion": 9,
        "age": 8,
    }
    assert "african american" in terms["race"]
    assert check_terms(default_terms()) == default_terms()


@pytest.mark.shared
def test_the_projects_own_list_is_that_of_the_real_data(shared: Path) -> None:
    known = json.loads((shared / "data/raw/identity_terms/terms.json").read_text())["testsgd_table1_48"]
    assert {category: list(words) for category, words in default_terms()} == known


def test_a_file_of_terms_is_read_back() -> None:
    terms = read_terms(json.dumps(GOOD).encode(), "mine.json")
    assert terms == (("religion", ("christian", "Muslim")), ("age", ("middle aged", "old")))
    assert read_terms(terms_json(terms).encode(), "again.json") == terms
    table = "\ufeffCategory, Term\nreligion,christian\n\nage, middle  aged\nreligion,Muslim\nage,old\n"
    assert read_terms(table.encode(), "mine.CSV") == terms


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "at least one category"),
        ({"": ["a", "b"]}, "needs a name"),
        ({"c" * (MAX_TERM + 1): ["a", "b"]}, "needs a name"),
        ({"age": []}, "at least two terms"),
        ({"age": ["old"]}, "at least two terms"),
        ({"age": ["old", " "]}, "must not be empty"),
        ({"age": ["old", "Old"]}, "twice in 'age'"),
        ({"age": ["old", "middle aged", "Middle-Aged"]}, "twice in 'age'"),
        ({"age": ["old", "straight"], "gender": ["male", "Straight"]}, "in 'age' and in 'gender'"),
        ({"age": ["old", "x" * (MAX_TERM + 1)]}, "at most 100 letters"),
        ({"age": ["old", "c++"]}, "begin and end with a letter"),
        ({"age": ["old", "-young"]}, "begin and end with a letter"),
        ({"age": ["old", "yo\x00ung"]}, "begin and end with a letter"),
        ({"Age": ["old", "young"], "age": ["older", "younger"]}, "'Age' twice"),
        ({f"c{i}": [f"a{i}", f"b{i}"] for i in range(MAX_CATEGORIES + 1)}, "At most 20 categories"),
        ({"age": [f"a{i}" for i in range(MAX_TERMS + 1)]}, "At most 1,000 identity terms"),
        ({"age": [f"{i:03d}{'x' * 90}" for i in range(200)]}, "10,000 letters"),
        ({"age": "old"}, "list of terms"),
        ({"age": [1, 2]}, "list of terms"),
        (["old"], "list of terms"),
        (None, "list of terms"),
    ],
)
def test_a_list_that_cannot_be_looked_for_is_refused_in_a_sentence(content: object, said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        read_terms(json.dumps(content).encode(), "mine.json")
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b'{"age": ["old", "young"]', "a.json", "must be JSON"),
        (b"\xff\xfe\x00", "a.json", "UTF-8"),
        (b" " * (MAX_BYTES + 1), "a.json", "at most 1 MB"),
        (b"[" * 100_000, "a.json", "must be JSON"),
        (b'{"age": ["old", "young"], "age": ["a", "b"]}', "a.json", "'age' twice"),
        (b"", "a.csv", "begin with the line"),
        (b"term,category\nold,age\n", "a.csv", "begin with the line"),
        (b"category,term\nage,old,young\n", "a.csv", "a category and a term"),
        (b"category,term\nage,\nage,old", "a.csv", "must not be empty"),
        (b'category,term\nage,old,"young\nelder', "a.csv", "got 'age,old,young elder'"),
        (b'category,"term\nage', "a.csv", "got 'category,term age'"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(content: bytes, name: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        read_terms(content, name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300


def test_terms_are_checked_with_a_runs_other_settings() -> None:
    settings = RuleSettings.from_json({"text_column": "comment", "terms": GOOD})
    assert RuleSettings.from_json(settings.to_json()) == settings
    with pytest.raises(SettingError, match="at least two terms"):
        RuleSettings.from_json({"terms": {"age": ["old"]}})


@given(st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=4), max_size=4))
def test_what_is_accepted_is_accepted_again_and_has_no_term_twice(content: dict[str, list[str]]) -> None:
    try:
        terms = check_terms(content.items())
    except SettingError:
        return
    assert check_terms(terms) == terms
    spelt = [same_term(term) for _, words in terms for term in words]
    assert len(set(spelt)) == len(spelt)
    assert all(spelt)
    assert read_terms(terms_json(terms).encode(), "a.json") == terms
