"""Pairs of linked attributes: what the table, the card, an edit and the variants say."""

from __future__ import annotations

import numpy as np

from fairness_engine.data.links.reading import parse_link
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from pages.pairs import edit
from pages.shared.pairs.card import Couple, couple_html, couple_sentence, person_at, person_sentence
from pages.shared.pairs.table import change_texts, pair_frame


def category(name: str, *labels: str) -> Column:
    return Column(name, Kind.CATEGORICAL, codes=labels, labels=labels)


SCHEMA = Schema(
    (category("sex", "f", "m"), category("status", "husband", "single", "wife"), category("job", "clerk", "nurse")),
    protected=("sex",),
)
DOMAIN = Domain(SCHEMA, Scope(("sex",), links=(parse_link("sex:status=wife/husband", SCHEMA),)))
MAN = [1.0, 0.0, 1.0]
WIFE = [0.0, 2.0, 1.0]
SINGLE = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
PAIRS = Pairs(
    np.array([MAN, SINGLE[0]]),
    np.array([WIFE, SINGLE[1]]),
    np.array([0.4, 0.4]),
    np.array([0.6, 0.6]),
    np.array([0, 0]),
    np.array([1, 1]),
    np.array([2, 4]),
)
DECISIONS = Decisions(("no", "yes"), 1)


def test_the_table_says_what_changes_with_the_protected_attribute() -> None:
    assert change_texts(DOMAIN, PAIRS).tolist() == ["sex: m → f, status: husband → wife", "sex: m → f"]
    lines = pair_frame(DOMAIN, PAIRS, DECISIONS, np.arange(2))
    assert lines["status"].tolist() == ["husband → wife", "single"]
    assert lines["job"].tolist() == ["nurse", "clerk"]


def test_the_card_shows_both_and_calls_it_linked() -> None:
    couple = Couple(DOMAIN, person_at(np.array(MAN), 0.4, 0), person_at(np.array(WIFE), 0.6, 1), DECISIONS)
    assert couple_sentence(couple).startswith("When only sex is f instead of m and status is wife instead of husband,")
    assert person_sentence(couple) == "Both: job nurse."
    html = couple_html(couple)
    assert html.count("linked</span>") == 1
    assert html.count('title="differs"') == 2


def test_an_edit_keeps_the_roles() -> None:
    rows = np.array([MAN, WIFE])
    both_single = edit.apply_edits(DOMAIN, rows, {edit.Target(1): 1.0})
    assert both_single.tolist() == [[1, 1, 1], [0, 1, 1]]
    as_wife = edit.apply_edits(DOMAIN, rows, {edit.Target(1): 2.0})
    assert as_wife.tolist() == [[1, 2, 1], [0, 0, 1]], "a man who is a wife goes with a woman who is a husband"
    same_sex = edit.apply_edits(DOMAIN, rows, {edit.Target(0, 1): 1.0})
    assert same_sex.tolist() == [MAN, MAN]
    assert edit.apply_edits(DOMAIN, rows, {edit.Target(2): 0.0})[:, 2].tolist() == [0, 0]


def test_the_variants_of_a_person_are_spelled() -> None:
    assert DOMAIN.variants(np.array([MAN]))[0].tolist() == [WIFE, MAN]
