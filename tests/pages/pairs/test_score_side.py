"""Every page shows the score for the favourable outcome, whichever of the model's classes that is, and says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pair_cases
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.explanation.shap_values import PairValues
from fairness_engine.groups.results import SentencePair
from fairness_engine.models.fit.decisions import Decisions, decisions_under, threshold_note
from fairness_engine.models.model import Output
from fairness_engine.oracle.domain import Domain, Scope
from pages.certification import box_card
from pages.groups.texts import own_sentence, sentence_pairs
from pages.model import view
from pages.pairs import shap
from pages.pairs.flip_matrix import Flips, flip_frame, flip_html
from pages.shared.pairs.card import Couple, couple_html, couple_sentence, person_at

JA_FIRST = Decisions(("ja", "nein"), favourable=0)
"""The favourable outcome is class 0: the engine's scores are for "nein"."""


def couple(names: Decisions, scores: tuple[float, float] = (0.413, 0.87), domain: Domain | None = None) -> Couple:
    pairs = pair_cases.pairs()
    people = [
        person_at(rows[0], score, int(score > 0.5))
        for rows, score in zip((pairs.first, pairs.second), scores, strict=True)
    ]
    return Couple(domain or pair_cases.domain(), people[0], people[1], names)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (JA_FIRST, ("0.587 for ja", "0.130 for ja")),
        (replace(JA_FIRST, favourable=1), ("0.413 for nein", "0.870 for nein")),
        (replace(JA_FIRST, output=Output.LOGIT), ("−0.413 for ja", "−0.870 for ja")),
        (replace(JA_FIRST, favourable=None), ("0.413 for nein", "0.870 for nein")),
        (Decisions(("A", "B", "C"), favourable=2), ("0.413 for A", "0.870 for B")),
    ],
)
def test_the_card_shows_the_score_for_the_favourable_outcome(names: Decisions, said: tuple[str, str]) -> None:
    """It showed the score of class 1 as "score 0.413", beside SHAP values of the favourable outcome."""
    html = couple_html(couple(names))
    assert all(f"score {text}" in html for text in said)


def test_labels_and_probabilities_turn_alike_and_back() -> None:
    scores = np.array([0.0, 0.25, 1.0])
    for output in (Output.LABEL, Output.PROBABILITY):
        names = replace(JA_FIRST, output=output)
        assert names.shown(scores).tolist() == [1.0, 0.75, 0.0]
        assert names.shown(names.shown(scores)).tolist() == scores.tolist()


def test_a_sentence_about_scores_names_the_outcome() -> None:
    domain = Domain(pair_cases.schema(), Scope(("sex",), score_gap=0.1))
    text = couple_sentence(couple(JA_FIRST, (0.1, 0.3), domain))
    assert "the score for “ja” moves from 0.900 to 0.700 and the decision stays “ja”" in text


def test_the_variants_are_tinted_ordered_and_told_by_the_same_score() -> None:
    domain = pair_cases.domain("sex", "race", "age")
    scores = np.linspace(0.1, 0.9, domain.n_variants)
    flips = Flips(domain, scores, (scores > 0.5).astype(np.int64), (0, domain.n_variants - 1), JA_FIRST)
    html = flip_html(flips)
    frame = flip_frame(flips)
    assert "Score for ja" in html
    assert html.index("0.900") < html.index("0.100"), "the highest score for ja first"
    first = html.index("Female, Asian, 18")
    last = html.index("Male, White, 90")
    assert first < last, "which is the one with the lowest score for nein"
    assert frame["Score "].tolist() == pytest.approx((1 - scores).tolist())
    assert "score 0.9000 for ja" in html


def test_decisions_know_from_the_fit_card_what_the_scores_are() -> None:
    label = Column("bewilligt", Kind.CATEGORICAL, codes=("ja", "nein"), labels=("ja", "nein"))
    schema = Schema((*pair_cases.schema().columns, label), label="bewilligt")
    fit = {"classes": ["ja", "nein"], "favourable": 0, "output": {"kind": "logit", "min": -2.0, "max": 1.0}}
    names = decisions_under(fit, schema)
    assert names.output is Output.LOGIT
    assert names.shown([-2.0]).tolist() == [2.0]
    assert decisions_under({"output": {"kind": "of old"}}, None).output is Output.PROBABILITY


def test_the_model_page_tells_rows_and_range_of_the_same_score() -> None:
    """The fit card said "nein, score 0.870" of a person whose score for "ja" was 0.130 two pages further."""
    card = {"classes": ["ja", "nein"], "favourable": 0, "output": {"kind": "probability", "min": 0.2, "max": 0.9}}
    names = decisions_under(card, None)
    assert view.answer_text({"decision": "nein", "score": 0.87}, card, names) == "nein, score 0.130 for ja"
    _, value, kind, text = view.figures(card)[2]
    assert value == "0.10\u2009–\u20090.80"
    assert kind == "probability"
    assert "score for ja" in text


def test_bounds_of_a_certification_are_of_the_same_score() -> None:
    bounds = np.array([[0.1, 0.2], [0.4, 0.9]])
    shown, threshold = box_card.shown_bounds(JA_FIRST, bounds, 0.3, are_scores=True)
    assert shown.ravel().tolist() == pytest.approx([0.8, 0.9, 0.1, 0.6])
    assert threshold == pytest.approx(0.7)
    shown, threshold = box_card.shown_bounds(JA_FIRST, bounds - 0.3, 0.0, are_scores=False)
    assert shown.ravel().tolist() == pytest.approx([0.1, 0.2, -0.6, -0.1])
    assert threshold == 0
    same, threshold = box_card.shown_bounds(replace(JA_FIRST, favourable=1), bounds, 0.3, are_scores=True)
    assert (same.tolist(), threshold) == (bounds.tolist(), 0.3)


def test_a_threshold_of_ones_own_says_what_it_cuts() -> None:
    fit = {"classes": ["ja", "nein"], "favourable": 0}
    assert threshold_note(fit).endswith("own score, for “nein”; results show the score for “ja”.")
    assert threshold_note({**fit, "favourable": 1}) == "Above it the model decides “nein”."


def test_scores_of_several_classes_are_of_the_decided_one() -> None:
    card = {"classes": ["A", "B", "C"], "favourable": 2}
    names = decisions_under(card, None)
    assert view.answer_text({"decision": "B", "score": 0.6}, card, names) == "B, score 0.600 for B"


def test_texts_too() -> None:
    pair = SentencePair(
        0, "gender", "women", "men", "a", "b", [], [], is_original=False, decisions=(0, 1), scores=(0.4, 0.6)
    )
    html = sentence_pairs.pair_html(pair, JA_FIRST)
    assert "score 0.600 for ja" in html
    assert "score 0.400 for ja" in html
    assert own_sentence.score_note(JA_FIRST) == "The score is the model's for “ja”."


def test_the_explanation_speaks_of_the_same_outcome() -> None:
    pairs = pair_cases.pairs()
    found = PairValues(np.zeros((2, 5)), np.array([0.4, 0.4]), 0.4, True, 100, 0, 0.1)
    chart = shap.shap_chart(found, pair_cases.domain(), np.stack([pairs.first[0], pairs.second[0]]), JA_FIRST.scored())
    assert "“ja”" in chart.layout.xaxis.title.text
