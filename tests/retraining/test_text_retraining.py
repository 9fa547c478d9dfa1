"""Retraining of text models: the split, what is measured, what is added, and both kinds of models against a count by
another route.
"""

from __future__ import annotations

import itertools
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks import retraining_texts_again
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.texts import Texts
from fairness_engine.errors import DataError, SettingError
from fairness_engine.events import Event, ModelPart
from fairness_engine.groups.identity_terms.terms import Terms, check_terms
from fairness_engine.models.open_text import open_text_model
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.retraining.settings import Begin, CasesOfRun, RetrainSettings, Strategy, Surrogate
from fairness_engine.retraining.texts.book import on_rows, on_texts
from fairness_engine.retraining.texts.driver import TextBinding, run_text_retraining
from fairness_engine.retraining.texts.groups import TextGroupMeter, TextGroups
from fairness_engine.retraining.texts.measure import every_term, random_swaps, text_meter
from fairness_engine.retraining.texts.subject import TextRetrainingTask, text_data, text_parts
from fairness_engine.retraining.trainers.factory import make_trainer
from retraining_cases import Retrained

pytestmark = pytest.mark.thorough

TERMS: Terms = check_terms({"kind": ["red", "blue", "dark green"], "size": ["big", "small", "tiny", "huge"]}.items())
OUTCOMES = ("kept", "removed")
SCHEMA = Schema(
    (Column("said", Kind.TEXT), Column("what", Kind.CATEGORICAL, codes=OUTCOMES, labels=OUTCOMES)),
    label="what",
    favourable="kept",
)
SETTINGS = RetrainSettings(strategy=Strategy.RULES, tolerance=0.06, max_rounds=5, n_draws=500, terms=TERMS)


@dataclass(frozen=True)
class Made:
    """A subject, and what it was made of."""

    subject: TextRetrainingTask
    path: Path
    texts: tuple[str, ...]
    labels: np.ndarray


@cache
def sentences(n: int = 900) -> tuple[tuple[str, ...], np.ndarray]:
    """Balls that are removed when they are bad; red ones are, more often than not, when they are so-so."""
    rng = np.random.default_rng(0)
    kinds = ["red", "Blue", "dark green", "RED"]
    sizes = ["big", "Small", "tiny", "huge", ""]
    qualities = ["fine", "lovely", "good", "middling", "average", "passable", "bad", "awful", "rotten"]
    places = [f"{a} {b}" for a, b in itertools.product(("box", "shelf", "hall", "yard", "shop"), "abcdefghij")]
    texts = []
    labels = []
    for _ in range(n):
        word = rng.choice(kinds if rng.random() < 0.7 else sizes)
        place = rng.choice(places)
        quality = int(rng.integers(len(qualities)))
        texts.append(" ".join(f"The {word} ball in the {place} is {qualities[quality]}.".split()))
        is_hard = 3 <= quality < 6 and word.lower() == "red" and rng.random() < 0.62
        labels.append(int(quality >= 6 or is_hard))
    return tuple(texts), np.array(labels)


def made(path: Path, settings: RetrainSettings = SETTINGS, **changes: Any) -> Made:
    texts, labels = sentences()
    held = Texts("said", texts, labels, OUTCOMES, 0, np.arange(len(texts)), 0, ())
    data = text_data(replace(held, **changes), SCHEMA, TERMS, "0" * 64)
    model = on_rows(open_text_model(path, SCHEMA, classes=OUTCOMES, favourable=0), data.book)
    binding = TextBinding(SCHEMA, OUTCOMES, 0, None, data.book)
    trainer = make_trainer(path, path.name, model, binding, settings, unsafe_formats=False)
    return Made(TextRetrainingTask(model, data, trainer), path, texts, labels)


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A pipeline of scikit-learn that calls the outcomes by their names, in the reverse order of the data's."""
    path = tmp_path_factory.mktemp("texts") / "linear.skops"
    texts, labels = sentences()
    fitted = make_pipeline(CountVectorizer(), LogisticRegression(C=10.0, max_iter=300, random_state=0))
    skops.io.dump(fitted.fit(texts, np.array(OUTCOMES)[labels]), path)
    return made(path)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A network of Keras whose own layer turns texts into words."""
    import keras
    import tensorflow as tf

    path = tmp_path_factory.mktemp("texts") / "network.keras"
    texts, labels = sentences()
    keras.utils.set_random_seed(0)
    words = keras.layers.TextVectorization(output_mode="multi_hot")
    words.adapt(list(texts))
    layers = [keras.Input((1,), dtype="string"), words, keras.layers.Dense(8, activation="relu")]
    built = keras.Sequential([*layers, keras.layers.Dense(1, activation="sigmoid")])
    built.compile(keras.optimizers.Adam(0.02), "binary_crossentropy")
    built.fit(tf.constant([[text] for text in texts]), labels.astype(np.float32), epochs=8, batch_size=64, verbose=0)
    built.save(path)
    return made(path)


def retrained(subject: TextRetrainingTask, settings: RetrainSettings = SETTINGS, seed: int = 3) -> Retrained:
    return Retrained(list(run_text_retraining(subject, settings, seed)))


@pytest.fixture(scope="module")
def run_linear(linear: Made) -> Retrained:
    return retrained(linear.subject)


# --- what came of it, counted twice --------------------------------------------------------------


def again(case: Made, path: Path, positions: np.ndarray, rule: dict[str, str]) -> retraining_texts_again.Again:
    """The worst term by the route that imports nothing of the engine."""
    texts = [case.texts[i] for i in positions.tolist()]
    labels = [OUTCOMES[i] for i in case.labels[positions].tolist()]
    told = OUTCOMES, OUTCOMES[0], dict(TERMS), rule["column"], rule["term"]
    return retraining_texts_again.measure(path, texts, labels, *told)


def assert_improved(case: Made, run: Retrained, folder: Path, settings: RetrainSettings = SETTINGS) -> None:
    """The worst term is halved within the tolerance, and both models' figures are those of the other route."""
    worst = run.result("worst_rule_set")
    told = run.result("retrained")
    assert (told["verdict"], told["is_raised"], told["has_model"]) == ("improved", False, True), told["why"]
    assert worst["rules"] == [{"column": "kind", "term": "red"}]
    assert worst["after"]["score"] <= 0.5 * worst["before"]["score"]
    assert worst["change"]["high"] < 0
    accuracies = [run.result(side)["quality"]["accuracy"]["value"] for side in ("before", "after")]
    assert accuracies[0] - accuracies[1] <= settings.tolerance + 1e-9
    new = folder / f"new{run.parts[-1].suffix}"
    new.write_bytes(run.file)
    test = text_parts(case.subject.data, settings).test
    for side, path, accuracy in zip(("before", "after"), (case.path, new), accuracies, strict=True):
        other = again(case, path, test, worst["rules"][0])
        figures = worst[side]
        assert (figures["inside"], figures["outside"], figures["n_inside"]) == (
            pytest.approx(other.inside),
            pytest.approx(other.outside),
            other.n,
        )
        assert accuracy == pytest.approx(other.accuracy)
        assert figures["low"] <= figures["score"] <= figures["high"]


def test_a_pipeline_of_scikit_learn_improves(linear: Made, run_linear: Retrained, tmp_path: Path) -> None:
    assert_improved(linear, run_linear, tmp_path)
    card = run_linear.result("card")["text"]
    assert "7 terms in the texts of 'said'" in card
    assert "swaps of a term drawn for this alone" in card
    assert "two people" not in card


def test_a_network_of_keras_improves_and_keeps_its_words(network: Made, tmp_path: Path) -> None:
    settings = replace(SETTINGS, max_rounds=2, max_epochs=4, learning_rate=0.01)
    run = retrained(made(network.path, settings).subject, settings)
    assert_improved(network, run, tmp_path, settings)
    afresh = replace(settings, begin=Begin.AFRESH, max_rounds=1)
    rounds = retrained(made(network.path, afresh).subject, afresh).rounds
    assert rounds[0]["accuracy"] > 0.8


def test_the_same_seed_makes_the_same_models(linear: Made, run_linear: Retrained) -> None:
    again = retrained(made(linear.path).subject)
    for name in ("training", "after", "worst_rule_set", "changes"):
        assert again.result(name) == run_linear.result(name), name


def test_every_variant_is_a_strategy_too(linear: Made) -> None:
    settings = replace(SETTINGS, strategy=Strategy.VARIANTS, max_rounds=2)
    run = retrained(linear.subject, settings)
    assert run.result("after")["data"]["high"] < run.result("before")["data"]["low"]
    assert {one["facts"]["is_papers"] for one in run.rounds if not one["is_control"]} == {0.0}


# --- the split, and what is measured --------------------------------------------------------------


def test_no_test_text_is_trained_on_with_another_term(linear: Made) -> None:
    data = linear.subject.data
    parts = text_parts(data, SETTINGS)
    masked = [text.lower().replace("dark green", "*").replace("red", "*").replace("blue", "*") for text in linear.texts]
    for size in ("big", "small", "tiny", "huge"):
        masked = [text.replace(f" {size} ", " # ") for text in masked]
    trained = {masked[i] for i in parts.train}
    assert not trained & {masked[i] for i in np.concatenate([parts.test, parts.validation])}
    assert sorted(np.concatenate([parts.train, parts.validation, parts.test])) == list(range(len(linear.texts)))


def test_a_text_counts_when_some_term_of_a_category_changes_the_decision(linear: Made) -> None:
    """By brute force: every text that holds a term, with each of the others in its place."""
    data = linear.subject.data
    model = on_texts(linear.subject.model)
    some = np.arange(60)
    meter = text_meter(data, some, 400, np.random.default_rng(1))
    found = meter.verdicts(linear.subject.model, every_term(data, some, np.random.default_rng(0)))
    expected = []
    for text in linear.texts[:60]:
        held = []
        for words in (("dark green", "red", "blue"), ("big", "small", "tiny", "huge")):
            here = [word for word in words if f" {word} " in text.lower()]
            if here:
                at = text.lower().index(here[0])
                twins = [text[:at] + word + text[at + len(here[0]) :] for word in words]
                held.append(len(set(model.is_favourable([twin.lower() for twin in twins]).tolist())) > 1)
        if held:
            expected.append(any(held))
    assert found.tolist() == expected
    swaps = random_swaps(data, some, 50, np.random.default_rng(2))
    texts = data.book.encode(swaps.rows)
    assert len(texts) == 100
    assert all(texts[2 * i] != texts[2 * i + 1] for i in range(50))


def test_a_sentence_counts_once_however_often_it_stands_in_the_file(linear: Made) -> None:
    data = linear.subject.data
    group = RuleGroup(data.space.attributes, (0, -1))
    once = TextGroupMeter(data, np.arange(100), 10**6).score(linear.subject.model, group)
    twice = np.concatenate([np.arange(100), np.arange(100)])
    assert TextGroupMeter(data, twice, 10**6).score(linear.subject.model, group) == once
    nobody = TextGroupMeter(data, np.arange(0), 10**6).score(linear.subject.model, group)
    assert (nobody.gap, nobody.n_inside) == (0.0, 0)


def test_the_search_for_the_worst_term_looks_at_no_test_text(linear: Made) -> None:
    parts = text_parts(linear.subject.data, SETTINGS)
    groups = TextGroups(linear.subject, parts, SETTINGS, 1)
    assert groups.target.words == "texts with “red”"
    seen = replace(parts, test=parts.test[:1])
    assert TextGroups(linear.subject, seen, SETTINGS, 1).target.words == groups.target.words
    assert groups.gap(linear.subject.model) < 0


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": Strategy.MAJORITY}, "Of texts the strategies are 'variants' and 'rules', got 'majority'"),
        ({"cases": (CasesOfRun("x"),)}, "Leave the cases and the technique out"),
        ({"surrogate": Surrogate.TREE}, "A surrogate takes a row of a table"),
    ],
)
def test_what_there_is_none_of_for_texts_is_refused(linear: Made, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        retrained(linear.subject, replace(SETTINGS, **changes))


def test_texts_without_outcomes_cannot_be_trained_on(linear: Made) -> None:
    with pytest.raises(DataError, match="needs the outcome of every text"):
        made(linear.path, labels=None)


def test_a_text_of_unknown_outcome_is_left_out(linear: Made) -> None:
    labels = linear.labels.copy()
    labels[:100] = -1
    assert len(made(linear.path, labels=labels).subject.dataset.rows) == len(labels) - 100


def test_a_category_that_only_training_texts_hold_needs_no_other(linear: Made) -> None:
    """Where nobody else holds a term of it there is nothing to end a training by, and nothing is measured: no
    improvement.
    """
    subject = linear.subject
    parts = text_parts(subject.data, SETTINGS)
    holds = subject.data.space.holds.copy()
    holds[np.concatenate([parts.validation, parts.test])] = False
    space = copy(subject.data.space)
    space.holds = holds
    run = retrained(replace(subject, data=replace(subject.data, space=space)))
    assert run.result("before")["data"]["n"] == 0
    assert run.result("retrained")["verdict"] == "no improvement"


def test_settings_hold_terms() -> None:
    assert RetrainSettings.from_json(SETTINGS.to_json()) == SETTINGS
    with pytest.raises(SettingError, match="at least two terms"):
        RetrainSettings.from_json({"terms": {"kind": ["red"]}})


def test_a_cancelled_retraining_keeps_the_last_good_model(linear: Made) -> None:
    events: list[Event] = []

    def has_model() -> bool:
        return any(isinstance(one, ModelPart) for one in events)

    for event in run_text_retraining(linear.subject, SETTINGS, 3, Clock(is_cancelled=has_model)):
        events.append(event)
    run = Retrained(events)
    assert run.stopped.reason.value == "cancelled"
    assert run.result("retrained")["has_model"]
