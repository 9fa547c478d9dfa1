"""The pair card and the flip matrix: what differs is marked, every text is escaped, numbers are told apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pair_cases
import pytest

from fairness_engine.data.schema import Column, Kind
from fairness_engine.models.fit.decisions import Decisions, score_digits, score_text
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.store.store import RunStore
from pages.pairs.edit import BOTH, Target, apply_edits, target_name, targets
from pages.pairs.flip_matrix import Flips, flip_frame, flip_html, variant_of
from pages.shared.app import wording
from pages.shared.pairs.card import Couple, couple_html, couple_sentence, person_at
from pages.shared.people.decisions import decisions_of


def couple(index: int = 0, domain: Domain | None = None, names: Decisions = pair_cases.NAMES) -> Couple:
    pairs = pair_cases.pairs()
    first = person_at(pairs.first[index], pairs.score_first[index], pairs.decision_first[index])
    second = person_at(pairs.second[index], pairs.score_second[index], pairs.decision_second[index])
    return Couple(domain or pair_cases.domain(), first, second, names)


def test_the_sentence_names_what_differs_and_both_decisions() -> None:
    text = couple_sentence(couple(2))
    assert (
        text == "When only sex is Male instead of Female and race is White instead of Black, the decision turns from "
        "“refused” to “granted”."
    )


def test_the_sentence_tells_of_scores_when_the_decision_stays() -> None:
    pairs = pair_cases.pairs()
    domain = Domain(pair_cases.schema(), Scope(("sex",), score_gap=0.1))
    held = Couple(domain, person_at(pairs.first[0], 0.61, 1), person_at(pairs.second[0], 0.9, 1), pair_cases.NAMES)
    assert "the score for “granted” moves from 0.610 to 0.900 and the decision stays “granted”" in couple_sentence(held)
    assert held.is_discriminatory


def test_only_lines_that_differ_are_marked_with_a_symbol() -> None:
    html = couple_html(couple(0))
    assert html.count("≠") == 1
    assert html.index("≠") < html.index("sex") < html.index("race")


def test_every_text_of_the_card_is_escaped() -> None:
    html = couple_html(couple(0, names=Decisions((pair_cases.HOSTILE, "ok"))))
    assert "<img" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 3, "the job of both people, and the decision of one"


def test_an_edited_value_shows_what_it_was() -> None:
    held = couple(2)
    pairs = pair_cases.pairs()
    rows = apply_edits(pair_cases.domain(), np.stack([pairs.first[2], pairs.second[2]]), {Target(3): 60.0})
    edited = Couple(
        held.domain,
        person_at(rows[0], 0.1, 0),
        person_at(rows[1], 0.2, 0),
        held.names,
        {0: pairs.first[2], 1: pairs.second[2]},
    )
    html = couple_html(edited)
    assert html.count("✎ 60") == 2
    assert "52</s>" in html
    assert not edited.is_discriminatory


def test_an_edit_of_a_free_attribute_reaches_both_people_and_a_protected_one_its_own() -> None:
    pairs = pair_cases.pairs()
    rows = np.stack([pairs.first[0], pairs.second[0]])
    out = apply_edits(pair_cases.domain(), rows, {Target(4, BOTH): 0.9, Target(1, 1): 0.0})
    assert out[:, 4].tolist() == [0.9, 0.9]
    assert out[:, 1].tolist() == [2.0, 0.0]
    assert rows[:, 4].tolist() == [0.25, 0.25], "the pair as found is left as it was"


def test_targets_name_the_person_for_protected_attributes_only() -> None:
    names = [target_name(pair_cases.domain(), target) for target in targets(pair_cases.domain())]
    assert names == [
        "job",
        "age",
        "wealth",
        "sex of person A",
        "sex of person B",
        "race of person A",
        "race of person B",
    ]


def flips(domain: Domain) -> Flips:
    n = domain.n_variants
    scores = np.linspace(0.2, 0.8, n)
    return Flips(domain, scores, (scores > 0.5).astype(np.int64), (0, n - 1), pair_cases.NAMES)


@pytest.mark.parametrize("protected", [("sex",), ("sex", "race"), ("sex", "race", "job"), ("age",), ("sex", "age")])
def test_every_variant_has_a_cell_with_its_symbol_and_its_hint(protected: tuple[str, ...]) -> None:
    domain = pair_cases.domain(*protected)
    html = flip_html(flips(domain))
    assert html.count("title=") == domain.n_variants
    assert html.count(">○") + html.count(">●") == domain.n_variants
    assert html.count(">A<") + html.count("> A<") == 1
    assert "<img" not in html


def test_two_attributes_make_a_matrix_with_both_names_and_all_values() -> None:
    html = flip_html(flips(pair_cases.domain("sex", "race")))
    assert "sex ↓" in html
    assert "race →" in html
    for label in ("Female", "Male", "Asian", "Black", "White"):
        assert f">{label}</th>" in html


def test_many_values_make_strips_with_the_turns_in_words() -> None:
    domain = pair_cases.domain("age", "sex")  # 73 x 2: a strip for each sex
    held = flips(domain)
    html = flip_html(held)
    male = html.split("sex Male, by age")[1]
    cells = male.split("title=")[1:]
    assert len(cells) == 73
    position = domain.variant_labels().index("40, Male")
    assert cells[40 - 18].startswith(f'"40, Male: {held.names.name(int(held.decisions[position]))}')
    turn = next(age for age in range(18, 91) if held.decisions[domain.variant_labels().index(f"{age}, Male")] == 1)
    assert f"age: ○ 18-{turn - 1} · ● {turn}-90" in male


def test_a_matrix_puts_each_score_where_its_values_meet() -> None:
    domain = pair_cases.domain("race", "sex")
    held = flips(domain)
    lines = flip_html(held).split("<tbody>")[1].split("<tr>")[1:]
    assert [line.split("</th>")[0].split(">")[-1] for line in lines] == ["Female", "Male"]
    at = domain.variant_labels().index("White, Female")
    assert (
        lines[0].split("<td>")[3].startswith(f'<div title="White, Female: {held.names.name(int(held.decisions[at]))}')
    )


@pytest.mark.parametrize(
    ("fit", "label", "expected"),
    [
        ({"classes": ["no", "yes"], "favourable": 1}, None, ("no", "yes")),
        ({"classes": ["0", "1"], "favourable": 1}, None, ("unfavourable (0)", "favourable (1)")),
        ({"classes": ["0", "1"], "favourable": 0}, None, ("favourable (0)", "unfavourable (1)")),
        ({"classes": ["0", "1"], "favourable": 1}, ("rejected", "granted"), ("rejected", "granted")),
        ({}, None, ()),
    ],
)
def test_decisions_have_human_names(
    fit: dict[str, object], label: tuple[str, str] | None, expected: tuple[str, ...], store: RunStore
) -> None:
    schema = pair_cases.schema()
    if label is not None:
        column = Column("loan", Kind.CATEGORICAL, codes=(0, 1), labels=label)
        schema = replace(schema, columns=(*schema.columns, column))
    review = replace(store.create_review("Loans"), fit=fit, schema=schema)
    assert decisions_of(review).names == expected


def test_the_pairs_two_people_are_found_among_the_variants() -> None:
    domain = pair_cases.domain()
    pairs = pair_cases.pairs()
    assert domain.variant_labels()[variant_of(domain, pairs.second[2])] == "Male, White"
    stranger = pairs.first[0].copy()
    stranger[0] = 0.5
    assert variant_of(domain, stranger) == -1


def test_the_table_marks_whose_variant_it_is() -> None:
    frame = flip_frame(flips(pair_cases.domain()))
    assert frame["Person "].tolist() == ["A", "", "", "", "", "B"]
    assert frame["Decision "].tolist()[0] == "○ refused"


def test_scores_get_as_many_digits_as_they_need_to_differ() -> None:
    assert score_digits([0.2, 0.8]) == 3
    assert score_digits([0.49996, 0.50002]) == 5
    assert score_digits([0.5, 0.5]) == 3
    assert score_text(-1.25) == "−1.250"


def test_a_decision_without_a_name_is_told_by_its_number() -> None:
    assert Decisions((), None).text(1) == "○ outcome 2"


# --- combinations that are left out, and a great many -------------------------------------------


def test_a_matrix_says_which_combinations_are_not_compared() -> None:
    scope = Scope(("sex", "race"), excluded=((0.0, 1.0), (1.0, 2.0)))
    held = flips(Domain(pair_cases.schema(), scope))
    lines = flip_html(held).split("<tbody>")[1].split("<tr>")[1:]
    assert [line.count("not compared") for line in lines] == [1, 1]
    female, male = (line.split("<td>")[1:] for line in lines)
    assert ["not compared" in cell for cell in female] == [False, True, False]
    assert ["not compared" in cell for cell in male] == [False, False, True]
    assert 'title="Male, Black' in male[1]


@pytest.mark.parametrize("protected", [("sex", "race", "age"), ("age", "wealth")])
def test_of_a_great_many_the_most_different_are_listed_and_counted(protected: tuple[str, ...]) -> None:
    bins = {"wealth": tuple(np.linspace(0, 1, 20).tolist())} if "wealth" in protected else {}
    domain = Domain(pair_cases.schema(), Scope(protected, bins=bins, max_variants=5_000))
    n = domain.n_variants
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    held = Flips(domain, scores, (scores > 0.7).astype(np.int64), (5, 9), pair_cases.NAMES)
    html = flip_html(held)
    assert html.count("title=") == 12 == n - held.n_hidden
    assert held.listed[:2].tolist() == [5, 9]
    rest = held.listed[2:]
    others = np.setdiff1d(np.flatnonzero(held.decisions != held.decisions[5]), [9])
    gaps = np.abs(scores - scores[5])
    assert rest.tolist() == others[np.argsort(-gaps[others])][:10].tolist()
    assert f"{wording.count(int((scores > 0.7).sum()))} ● granted" in html
    assert len(flip_frame(held)) == n, "the table has all"
