"""Linked attributes against the relabelling written out by hand: every individual of a small space, decided by the
library's own model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import evenhand

AGES = range(18, 48)
HOURS = range(10, 30)
RELATIONS = ("Husband", "Own-child", "Unmarried", "Wife")
LINK = "sex:relationship=Wife/Husband"
ROLES = (("Wife", "Husband"), ("Husband", "Wife"), ("Own-child", "Own-child"), ("Unmarried", "Unmarried"))
"""As a woman, as a man: the link by hand."""
COLUMNS = ["sex", "relationship", "age", "hours"]


def people_by_hand() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every individual as a woman, and as a man, in the same order."""
    every = list(itertools.product(ROLES, AGES, HOURS))
    women = pd.DataFrame([("Female", role[0], age, hours) for role, age, hours in every], columns=COLUMNS)
    men = pd.DataFrame([("Male", role[1], age, hours) for role, age, hours in every], columns=COLUMNS)
    return women, men


@cache
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 3_000
    sex = rng.choice(["Female", "Male"], n)
    married = rng.random(n) < 0.5
    single = rng.choice(["Own-child", "Unmarried"], n)
    spouse = np.where(sex == "Male", "Husband", "Wife")
    people = pd.DataFrame(
        {
            "sex": sex,
            "relationship": np.where(married, spouse, single),
            "age": rng.integers(AGES.start, AGES.stop, n),
            "hours": rng.integers(HOURS.start, HOURS.stop, n),
        }
    )
    score = (
        0.08 * (people.age - 32)
        + 0.1 * (people.hours - 19)
        + 1.2 * (people.relationship == "Husband")
        + 0.4 * (people.relationship == "Wife")
        + 0.5 * (people.sex == "Male")
        - 0.6
    )
    people["outcome"] = np.where(score + rng.normal(0, 0.7, n) > 0, "yes", "no")
    return people


def encoded() -> Any:
    return make_column_transformer((OneHotEncoder(), ["sex", "relationship"]), (StandardScaler(), ["age", "hours"]))


def vote() -> Any:
    members = [
        ("line", LogisticRegression()),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=1)),
        ("net", MLPClassifier((6,), max_iter=200, random_state=2)),
    ]
    return make_pipeline(encoded(), VotingClassifier(members))


MODELS: dict[str, Callable[[], Any]] = {
    "linear": lambda: make_pipeline(encoded(), LogisticRegression()),
    "tree": lambda: make_pipeline(encoded(), DecisionTreeClassifier(max_depth=6, random_state=1)),
    "forest": lambda: make_pipeline(encoded(), RandomForestClassifier(12, max_depth=5, random_state=1)),
    "network": lambda: make_pipeline(encoded(), MLPClassifier((10, 6), max_iter=300, random_state=2)),
    "vote": vote,
}


@cache
def fitted(name: str) -> Any:
    people = table()
    return MODELS[name]().fit(people[COLUMNS], people.outcome)


@cache
def unlike(name: str) -> frozenset[tuple[Any, ...]]:
    """Everybody decided differently as a woman and as a man: how each is spelled as a woman."""
    women, men = people_by_hand()
    model = fitted(name)
    differs = model.predict(women) != model.predict(men)
    return frozenset(women[differs].itertuples(index=False, name=None))


def review(name: str, **own: Any) -> evenhand.Review:
    data = evenhand.read_data(table(), label="outcome", favourable="yes")
    return evenhand.Review(data, fitted(name), protected="sex", **own)


def as_women(pairs: pd.DataFrame) -> set[tuple[Any, ...]]:
    women = pairs[pairs.sex == "Female"]
    return set(women[COLUMNS].astype({"age": int, "hours": int}).itertuples(index=False, name=None))


@pytest.mark.parametrize("name", MODELS)
def test_the_exact_count_is_that_of_the_relabelling_by_hand(name: str) -> None:
    found = review(name, links=LINK).count()
    assert (found.n_discriminatory, found.n_individuals) == (len(unlike(name)), len(people_by_hand()[0]))


@pytest.mark.parametrize("name", MODELS)
def test_certification_ends_at_the_share_of_the_relabelling_by_hand(name: str) -> None:
    found = review(name, links=LINK).certify(max_seconds=60)
    share = len(unlike(name)) / len(people_by_hand()[0])
    assert found.falsified == pytest.approx(share, abs=1e-9)
    assert found.certified == pytest.approx(1 - share, abs=1e-9)
    assert as_women(found.pairs) <= unlike(name)


@pytest.mark.parametrize("weights", ["uniform", "data"])
@pytest.mark.parametrize("name", ["linear", "network", "forest"])
def test_whole_boxes_and_weights_of_the_data_claim_nothing_that_is_not_so(name: str, weights: str) -> None:
    found = review(name, links=LINK).certify(max_seconds=60, weights=weights, mode="classic")
    women, men = people_by_hand()
    differs = fitted(name).predict(women) != fitted(name).predict(men)
    weight = np.ones(len(women))
    if weights == "data":
        roles = table().relationship.where(table().sex == "Female", table().relationship.replace(dict(swapped())))
        for column, own in (("relationship", roles), ("age", table().age), ("hours", table().hours)):
            weight *= women[column].map(own.value_counts(normalize=True)).fillna(0).to_numpy()
    share = weight[differs].sum() / weight.sum()
    assert found.falsified <= share + 1e-9
    assert found.certified <= 1 - share + 1e-9
    assert found.certified + found.falsified > 0.2


def swapped() -> list[tuple[str, str]]:
    return [("Husband", "Wife"), ("Wife", "Husband")]


@pytest.mark.parametrize("technique", ["data-scan", "directed", "aequitas", "maft", "sg", "random"])
def test_every_search_finds_people_of_the_relabelling_by_hand_only(technique: str) -> None:
    found = review("forest", links=LINK).search(technique, max_evaluations=4_000)
    assert as_women(found.pairs) <= unlike("forest")
    men = found.pairs[found.pairs.sex == "Male"]
    assert len(men) == len(as_women(found.pairs)) == found.n_found
    if technique == "data-scan":
        people = table()[COLUMNS]
        roles = people.copy()
        is_man = roles.sex == "Male"
        roles.loc[is_man, "relationship"] = roles.relationship[is_man].replace(dict(swapped()))
        roles["sex"] = "Female"
        assert as_women(found.pairs) == set(roles.itertuples(index=False, name=None)) & unlike("forest")


def test_pairs_of_spouses_are_husband_and_wife() -> None:
    pairs = review("forest", links=LINK).search("data-scan").pairs
    spouses, *others = (frozenset(each) for each in ({"Husband", "Wife"}, {"Own-child"}, {"Unmarried"}))
    found = set(pairs.groupby("pair").relationship.agg(frozenset))
    assert spouses in found
    assert found <= {spouses, *others}


def test_an_estimate_over_the_data_counts_people_by_their_role() -> None:
    found = review("forest", links=LINK).estimate(samples=10_000, distribution="data")
    people = table()[COLUMNS].copy()
    model = fitted("forest")
    other = people.copy()
    is_man = people.sex == "Male"
    other["sex"] = np.where(is_man, "Female", "Male")
    other["relationship"] = people.relationship.replace(dict(swapped()))
    assert found.n == len(people)
    assert found.n_hits == int((model.predict(people) != model.predict(other)).sum())


def test_without_links_nothing_changes() -> None:
    plain = review("network").search("directed", max_evaluations=5_000).pairs
    again = review("network", links=()).search("directed", max_evaluations=5_000).pairs
    pd.testing.assert_frame_equal(plain, again)


# --- nothing to find, nothing to link -----------------------------------------------------------


def by_age_alone() -> Any:
    """A tree that takes everything and looks at the age only."""
    people = table()
    return make_pipeline(encoded(), DecisionTreeClassifier(max_depth=3)).fit(people[COLUMNS], people.age > 32)


@pytest.mark.parametrize("technique", ["data-scan", "directed", "aequitas", "maft-plus", "sg-shared", "random"])
def test_a_search_that_finds_nobody_ends_as_any_other(technique: str) -> None:
    data = evenhand.read_data(table(), label="outcome", favourable="yes")
    found = evenhand.Review(data, by_age_alone(), protected="sex", links=LINK).search(technique, max_evaluations=3_000)
    assert (found.n_found, found.n_plausible, len(found.pairs)) == (0, 0, 0)
    assert found.figures["plausibility"]["atn"] is None


def test_nobody_is_a_counterexample_of_what_is_certified_whole() -> None:
    data = evenhand.read_data(table(), label="outcome", favourable="yes")
    found = evenhand.Review(data, by_age_alone(), protected="sex", links=LINK).certify(max_seconds=60)
    assert (found.certified, len(found.pairs)) == (1.0, 0)


def without_relationship() -> Any:
    people = table()
    encoder = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age", "hours"]))
    columns = ["sex", "age", "hours"]
    return make_pipeline(encoder, LogisticRegression()).fit(people[columns], people.outcome)


@pytest.mark.parametrize("ask", ["search", "estimate", "count"])
def test_a_link_of_what_the_model_does_not_take_is_one_sentence(ask: str) -> None:
    data = evenhand.read_data(table(), label="outcome", favourable="yes")
    linked = evenhand.Review(data, without_relationship(), protected="sex", links=LINK)
    with pytest.raises(evenhand.Error, match="does not take 'relationship', so that a link of it changes nothing"):
        getattr(linked, ask)()


def test_what_is_proved_with_a_link_of_what_is_not_taken_is_what_is_proved_without() -> None:
    """A retraining without the protected attributes makes such a model, and compares it with the one before."""
    data = evenhand.read_data(table(), label="outcome", favourable="yes")
    linked, plain = (evenhand.Review(data, without_relationship(), protected="sex", links=way) for way in (LINK, ()))
    found = linked.certify(max_seconds=60)
    again = plain.certify(max_seconds=60)
    assert (found.certified, found.falsified) == pytest.approx((again.certified, again.falsified), abs=1e-9)
    assert 0 < found.falsified < 1
