"""Rule sets in plain words: natural where the name of a column makes it safe, never more than the data say."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.phrases import (
    group_words,
    group_words_of_json,
    key_words,
    plain_name,
    share_text,
)

SEX = RuleAttribute("Sex", "categorical", ("Male", "Female"))
RACE = RuleAttribute("race", "categorical", ("White", "Black", "Asian", "Other"))
BORN = RuleAttribute("born_in", "categorical", ("Europe", "Africa", "Asia"))
LIVES = RuleAttribute("living_in", "categorical", ("City", "Town", "Village", "Hills"))
JOB = RuleAttribute("marital_status", "categorical", ("Married", "Widowed", "Single"))
FOREIGN = RuleAttribute("foreign_worker", "categorical", ("no", "yes"))
AGE = RuleAttribute(
    "age", "integer", ("0 to 19", "20 to 39", "40 to 59", "60 to 90"), (0, 20, 40, 60), (19, 39, 59, 90)
)
HOURS = RuleAttribute("hours_per_week", "integer", ("1 to 39", "40", "41 to 99"), (1, 40, 41), (39, 40, 99))
SCORE = RuleAttribute("score", "real", ("0 to 0.25", "0.25 to 0.5", "0.5 to 1"), (0, 0.25, 0.5), (0.25, 0.5, 1))
CODED = RuleAttribute("Sex", "categorical", ("0", "1"))
CODED_RACE = RuleAttribute("race", "categorical", ("1", "2", "3", "4"))
RELIGION = RuleAttribute("religion", "term", ("muslim", "jewish"))


def rule_of(attribute: RuleAttribute, *values: int) -> int:
    """The index of the rule that takes exactly these values."""
    wanted = np.isin(np.arange(attribute.n_values), values)
    (found,) = np.flatnonzero((attribute.members == wanted).all(axis=1))
    return int(found)


@pytest.mark.parametrize(
    ("attribute", "values", "text"),
    [
        (SEX, (1,), "women"),
        (RACE, (0, 2), "White or Asian"),
        (RACE, (0, 1, 2), "not Other"),
        (BORN, (1, 2), "people born in Africa or Asia"),
        (LIVES, (0, 2, 3), "people not living in Town"),
        (JOB, (0, 1), "marital status Married or Widowed"),
        (FOREIGN, (1,), "foreign worker = yes"),
        (CODED, (1,), "Sex = 1"),
        (CODED_RACE, (1, 2), "race 2 or 3"),
        (CODED_RACE, (0, 1, 2), "race not 4"),
        (AGE, (1, 2), "people aged 20 to 59"),
        (AGE, (0,), "people aged 19 or under"),
        (AGE, (2, 3), "people aged 40 or over"),
        (HOURS, (0,), "hours per week 39 or less"),
        (HOURS, (1,), "hours per week 40"),
        (HOURS, (1, 2), "hours per week 40 or more"),
        (SCORE, (0,), "score under 0.25"),
        (SCORE, (1,), "score 0.25 to under 0.5"),
        (SCORE, (1, 2), "score 0.25 or more"),
        (RELIGION, (0,), "texts with “muslim”"),
    ],
)
def test_a_group_of_one_rule(attribute: RuleAttribute, values: tuple[int, ...], text: str) -> None:
    assert group_words([attribute], [rule_of(attribute, *values)]) == text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([(SEX, (0,)), (AGE, (2,)), (BORN, (1, 2))], "men aged 40 to 59 born in Africa or Asia"),
        ([(AGE, (2,)), (SEX, (1,)), (RACE, (0, 2))], "women aged 40 to 59, White or Asian"),
        ([(SEX, (0,))], "men"),
        ([(SEX, (0,)), (LIVES, (0, 2, 3))], "men not living in Town"),
        ([(AGE, (3,))], "people aged 60 or over"),
        ([(RACE, (1,)), (HOURS, (2,))], "Black, hours per week 41 or more"),
        ([(BORN, (1,)), (RACE, (1,))], "people born in Africa, Black"),
        ([(AGE, (0,)), (FOREIGN, (1,))], "people aged 19 or under, foreign worker = yes"),
        ([(RELIGION, (1,))], "texts with “jewish”"),
    ],
)
def test_a_group(parts: list[tuple[RuleAttribute, tuple[int, ...]]], text: str) -> None:
    attributes = [attribute for attribute, _ in parts]
    rules = [rule_of(attribute, *values) for attribute, values in parts]
    assert group_words(attributes, rules) == text
    said = [attribute.rule_json(rule) for attribute, rule in zip(attributes, rules, strict=True)]
    assert group_words_of_json(attributes, said) == text


def test_attributes_without_a_rule_are_not_named() -> None:
    assert group_words([SEX, RACE, AGE], [-1, rule_of(RACE, 3), -1]) == "Other"


def test_children_are_no_men() -> None:
    young = RuleAttribute("age", "integer", ("0 to 17", "18 to 90"), (0, 18), (17, 90))
    assert group_words([SEX, young], [rule_of(SEX, 0), rule_of(young, 0)]) == "people aged 17 or under, Male"
    assert group_words([SEX, young], [rule_of(SEX, 0), rule_of(young, 1)]) == "men aged 18 or over"


def test_a_sex_that_the_labels_do_not_name_plainly_stays_as_it_is() -> None:
    codes = RuleAttribute("gender", "categorical", ("1", "2", "diverse"))
    assert group_words([codes, AGE], [rule_of(codes, 0, 1), rule_of(AGE, 3)]) == "people aged 60 or over, 1 or 2"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.299, "29.9 %"),
        (0.097, "9.7 %"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.00062, "0.062 %"),
        (0.99964, "99.964 %"),
        (1e-9, "0.0000 %"),
    ],
)
def test_a_share(share: float, text: str) -> None:
    assert share_text(share) == text


def test_a_name_is_never_empty() -> None:
    assert plain_name("hours_per_week") == "hours per week"
    assert plain_name("_") == "_"


@pytest.mark.parametrize(
    ("words", "before"),
    [
        ("people aged 22 or under, Sex = 1", "people aged 22 or under, 1"),
        ("race 2 or 3", "2 or 3"),
        ("race not 4, sex = 0", "not 4, 0"),
        ("women, White or Asian", "women, White or Asian"),
        ("sex ratio 3 or more, horse race 2", "sex ratio 3 or more, horse race 2"),
    ],
)
def test_decisions_of_versions_before_are_found_again(words: str, before: str) -> None:
    """Keys are made of words; those of bare codes are what they were."""
    assert key_words(words) == before
