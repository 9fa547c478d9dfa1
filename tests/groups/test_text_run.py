"""TestSGD on texts: against enumeration, against a literal reading of Algorithm 2, and what a user meets."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence

import numpy as np
import pytest
from text_cases import TERMS, Points, Ran, comments, made_texts, points_model, run_texts

from fairness_engine import clock
from fairness_engine.errors import SettingError, StopReason
from fairness_engine.groups.identity_terms import driver, scoring
from fairness_engine.groups.identity_terms.scoring import KEPT
from fairness_engine.groups.identity_terms.terms import Terms, default_terms
from fairness_engine.groups.rule_sets.result import Stage, read_checked
from fairness_engine.groups.rule_sets.scoring import Counts, joint_intervals
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.text_model import TextModel

POINTS = {"red": -2.0, "tiny": 1.0, "green": 0.5, "huge": -0.5}


def plain_swap(text: str, terms: Terms, wanted: dict[str, str]) -> str:
    """Whole words replaced by a plain regular expression, one category after the other."""
    for category, term in wanted.items():
        words = sorted(dict(terms)[category], key=len, reverse=True)
        text = re.sub(rf"\b({'|'.join(words)})\b", lambda m, t=term: _like(m.group(), t), text, flags=re.IGNORECASE)
    return text


def _like(word: str, term: str) -> str:
    if word.isupper():
        return term.upper()
    return term.title() if word[0].isupper() else term


def seeds_of(texts: Sequence[str], terms: Terms, categories: Sequence[str]) -> list[str]:
    found = []
    for text in texts:
        held = [re.search(rf"\b({'|'.join(dict(terms)[c])})\b", text, re.IGNORECASE) for c in categories]
        if all(held):
            found.append(text)
    return found


def literal_shares(
    texts: Sequence[str], terms: Terms, model: TextModel, wanted: dict[str, str]
) -> tuple[int, int, int, int]:
    """Texts inside, favourable ones, texts outside, favourable ones: text by text, one after the other."""
    seeds = seeds_of(texts, terms, list(wanted))
    others = [
        dict(zip(wanted, choice, strict=True))
        for choice in itertools.product(*(dict(terms)[category] for category in wanted))
        if dict(zip(wanted, choice, strict=True)) != wanted
    ]
    inside = [bool(model.is_favourable([plain_swap(seed, terms, wanted)])[0]) for seed in seeds]
    outside = [bool(model.is_favourable([plain_swap(seed, terms, other)])[0]) for seed in seeds for other in others]
    return len(inside), sum(inside), len(outside), sum(outside)


def category_of(terms: Terms, term: str) -> str:
    return next(category for category, words in terms if term in words)


# --- everything looked at
# ---------------------------------------------------------------------------------------------------


def test_with_every_text_looked_at_shares_are_those_of_one_text_after_the_other() -> None:
    texts = made_texts(60, 1)
    model = points_model(POINTS)
    ran = run_texts(texts, model, error=0, support=0.1)
    scored = ran.result.scored
    lines = ran.lines()
    assert len(lines) == 3 + 4 + 12
    for terms, position in lines.items():
        wanted = {category_of(TERMS, term): term for term in terms}
        told = (scored.n_inside, scored.favourable_inside, scored.n_outside, scored.favourable_outside)
        assert tuple(int(each[position]) for each in told) == literal_shares(texts, TERMS, model, wanted), terms
        assert scored.n_rows[position] == len(seeds_of(texts, TERMS, list(wanted)))
    assert (scored.stage == Stage.EXACT).all()
    assert (scored.low == scored.score).all()
    assert (scored.error == 0).all()


def test_shares_of_the_sample_are_those_of_one_text_after_the_other() -> None:
    texts, model = comments()
    some = texts.texts[::30]
    ran = run_texts(some, model, error=0, support=0.02, terms=())
    scored = ran.result.scored
    for terms, position in list(ran.lines().items())[::6]:
        wanted = {category_of(default_terms(), term): term for term in terms}
        told = (scored.n_inside, scored.favourable_inside, scored.n_outside, scored.favourable_outside)
        assert tuple(int(each[position]) for each in told) == literal_shares(some, default_terms(), model, wanted), (
            terms
        )


def test_the_planted_terms_of_the_sample_come_first_and_are_harmed() -> None:
    texts, model = comments()
    ran = run_texts(texts.texts, model, terms=())
    scored = ran.result.scored
    lines = ran.lines()
    assert {("gay",), ("muslim",)} == set(list(lines)[:2])
    assert scored.is_harmed[:2].all()
    assert (scored.score[:2] > 0.25).all()
    harmless = [
        position for terms, position in lines.items() if category_of(default_terms(), terms[0]) in ("race", "age")
    ]
    assert len(harmless) == 17 + 8
    assert (scored.score[harmless] < 0.1).all()
    assert scored.score[2] < scored.score[1] / 3


def test_rule_sets_are_in_the_order_of_scores_and_pass_the_checks_of_the_store() -> None:
    settings = RuleSettings(text_column="said", terms=TERMS, support=0.1, least_samples=30, error=0.4)
    for error in (0.0, 0.4):
        ran = run_texts(made_texts(300, 2), points_model(POINTS), support=0.1, least_samples=30, error=error)
        result = ran.result
        assert (np.diff(result.scored.score) <= 0).all()
        read_checked(result.to_arrays(), result.to_json(), settings, result.attributes)
        summary = ran.content("rules")
        assert summary["n_by_size"] == [7, 12]
        assert summary["n_rule_sets"] == len(result.scored) == 19
        assert [each["is_exact"] for each in summary["texts"]["sets"]] == [error == 0] * 3


def test_a_category_of_two_terms_is_one_finding() -> None:
    texts = [f"{who} said {word}." for who in ("He", "She") for word in "abcdefgh"]
    ran = run_texts(
        texts, points_model({"she": -9.0, "he": 9.0}), terms=(("who", ("he", "she")), ("x", ("up", "down")))
    )
    scored = ran.result.scored
    lines = ran.lines()
    assert scored.score[0] == scored.score[1] > 0
    assert scored.head.tolist() == [lines["she",]] * 2
    assert scored.is_harmed[lines["she",]]


def test_a_model_that_reads_no_term_scores_nothing() -> None:
    ran = run_texts(made_texts(200, 3), TextModel(Points({}, noise=0), threshold=-1.0), support=0.1)
    assert (ran.result.scored.score == 0).all()
    assert ran.content("sentences")["pairs"] == []


# --- samples
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_joint_intervals_hold_in_95_of_100_repeats() -> None:
    texts = made_texts(900, 4)
    model = points_model(POINTS)
    exact = run_texts(texts, model, support=0.1, error=0)
    truth = {terms: exact.result.scored.score[position] for terms, position in exact.lines().items()}
    held = []
    widths = []
    for seed in range(200):
        ran = run_texts(texts, model, seed=seed, has_sentences=False, support=0.1, error=0.25, least_samples=60)
        scored = ran.result.scored
        assert (scored.stage == Stage.FRESH).all()
        inside = [scored.low[i] <= truth[terms] <= scored.high[i] for terms, i in ran.lines().items()]
        held.append(all(inside))
        widths.append(float((scored.high - scored.low).max()))
    assert np.mean(held) >= 0.95
    assert max(widths) < 0.7  # not by saying nothing
    assert any(scored.low[0] > 0 for scored in [run_texts(texts, model, support=0.1, error=0.05).result.scored])


def test_a_literal_algorithm_2_agrees_within_the_intervals() -> None:
    """Seeds drawn one at a time for each rule set, terms swapped one text at a time, as the paper has it."""
    texts = made_texts(1200, 5)
    model = points_model(POINTS)
    ran = run_texts(texts, model, support=0.1, error=0.2, least_samples=100)
    scored = ran.result.scored
    rng = np.random.default_rng(7)
    n = 150
    lines = ran.lines()
    for terms, position in lines.items():
        wanted = {category_of(TERMS, term): term for term in terms}
        seeds = seeds_of(texts, TERMS, list(wanted))
        counts = np.zeros(2)
        for _ in range(n):
            other = dict(wanted)
            while other == wanted:
                other = {category: str(rng.choice(dict(TERMS)[category])) for category in wanted}
            for side, choice in enumerate((wanted, other)):
                counts[side] += model.is_favourable([plain_swap(seeds[rng.integers(len(seeds))], TERMS, choice)])[0]
        one = np.array([float(n)])
        literal = Counts(one, counts[:1], one, counts[1:])
        low, high = joint_intervals(literal, len(lines), 0.95)
        assert max(low[0], scored.low[position]) <= min(high[0], scored.high[position]), terms


def test_the_error_asked_for_is_met_with_the_least_samples() -> None:
    ran = run_texts(made_texts(3000, 6), points_model(POINTS), support=0.1, error=0.12, least_samples=200)
    scored = ran.result.scored
    assert (scored.error <= 0.12).all()
    assert (scored.n_inside == 267).all()  # (1.96 / 0.12) ** 2, whatever the shares are
    assert (scored.n_outside >= scored.n_inside * 2).all()


def test_the_same_seed_gives_the_same_result_and_another_one_another() -> None:
    texts = made_texts(900, 7)
    model = points_model(POINTS)
    first, again, other = (
        run_texts(texts, model, seed=seed, support=0.1, error=0.3, least_samples=50) for seed in (3, 3, 4)
    )
    assert all(np.array_equal(a, first.result.to_arrays()[name]) for name, a in again.result.to_arrays().items())
    assert again.content("sentences") == first.content("sentences")
    assert not np.array_equal(other.result.scored.favourable_inside, first.result.scored.favourable_inside)


def test_many_texts_of_few_templates_are_looked_at_whole_and_each_different_one_decided_once() -> None:
    model = points_model(POINTS)
    texts = made_texts(40, 8) * 500
    ran = run_texts(texts, model, support=0.1, error=0.3, least_samples=50)
    assert (ran.result.scored.stage == Stage.EXACT).all()
    small = run_texts(made_texts(40, 8), points_model(POINTS), support=0.1, error=0)
    assert np.allclose(small.result.scored.score, ran.result.scored.score)
    predictor = model.predictor
    assert isinstance(predictor, Points)
    assert predictor.n_decided <= 40 * (3 + 4 + 12) + 19 * 4 * KEPT
    assert ran.stopped.evaluations == predictor.n_decided


# --- ends
# -------------------------------------------------------------------------------------------------------------------


def test_a_cancelled_run_keeps_the_categories_that_it_scored() -> None:
    texts = made_texts(400, 9)
    model = points_model(POINTS)
    predictor = model.predictor
    assert isinstance(predictor, Points)
    ran = run_texts(texts, model, support=0.1, error=0, is_cancelled=lambda: predictor.n_decided > 1000)
    assert ran.stopped.reason is StopReason.CANCELLED
    assert 0 < len(ran.result.scored) < 19
    assert ran.content("rules")["n_rule_sets"] == len(ran.result.scored) == ran.stopped.n_found


def test_a_run_out_of_time_still_shows_sentences_for_what_it_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    model = points_model(POINTS)
    predictor = model.predictor
    assert isinstance(predictor, Points)
    monkeypatch.setattr(clock.time, "perf_counter", lambda: 5.0 if predictor.n_decided > 1000 else 0.0)
    ran = run_texts(made_texts(400, 9), model, support=0.1, error=0, max_seconds=1)
    assert ran.stopped.reason is StopReason.SECONDS
    assert 0 < len(ran.result.scored) < 19
    assert ran.content("sentences")["pairs"]


def test_a_run_without_time_ends_without_a_result() -> None:
    ran = run_texts(made_texts(100, 9), points_model(POINTS), max_seconds=0)
    assert ran.stopped.reason is StopReason.SECONDS
    assert ran.stopped.n_found == 0


def test_progress_names_the_categories() -> None:
    ran = run_texts(made_texts(200, 10), points_model(POINTS), support=0.1)
    assert ran.phases[0] == "finding the terms"
    assert any("kind and size" in phase for phase in ran.phases)


# --- what cannot be
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "settings", "said"),
    [
        (["nothing", "at all"], {}, r"none of the 7 terms looked for \(red, blue, dark green, big, small, tiny, ...\)"),
        (["red ball"] * 3 + ["none"] * 97, {}, r"the largest, 'kind', is in 3 of 100 \(0.03\)"),
        (["red ball"], {"source": "labels"}, "only a model can decide anew"),
    ],
)
def test_texts_without_enough_terms_are_refused_in_a_sentence(
    texts: list[str], settings: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingError, match=said):
        run_texts(texts, points_model({}), **settings)


def test_no_more_categories_are_joined_than_asked() -> None:
    ran = run_texts(made_texts(200, 11), points_model(POINTS), support=0.1, max_attributes=1)
    assert len(ran.result.scored) == 7
    assert ran.content("rules")["max_attributes"] == 1


def test_too_many_rule_sets_leave_the_larger_ones_out(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = made_texts(200, 11)
    assert run_texts(texts, points_model(POINTS), support=0.1).content("rules")["max_attributes"] == 2
    assert run_texts(texts, points_model(POINTS), support=0.6).content("rules")["max_attributes"] == 2  # none is larger
    monkeypatch.setattr(driver, "MAX_RULE_SETS", 18)
    ran = run_texts(texts, points_model(POINTS), support=0.1)
    assert len(ran.result.scored) == 7
    assert ran.content("rules")["max_attributes"] == 1


# --- sentences
# --------------------------------------------------------------------------------------------------------------


def test_sentences_show_the_direction_of_the_score_with_the_words_marked() -> None:
    texts, model = comments()
    ran = run_texts(texts.texts, model, terms=())
    told = ran.content("sentences")
    scored = ran.result.scored
    assert told["pairs"]
    for pair in told["pairs"]:
        first = pair["first"]
        second = pair["second"]
        assert [first[a:b].lower() for a, b in pair["spans_first"]] == [pair["term"]] * len(pair["spans_first"])
        assert [second[a:b].lower() for a, b in pair["spans_second"]] == [pair["other"]] * len(pair["spans_second"])
        assert not pair["is_original"] or second in texts.texts
        scores = model.scores([first, second])
        assert model.decide(scores).tolist() == pair["decisions"]
        assert scores[:, 0].tolist() == pytest.approx(pair["scores"])
        is_favourable = [decision == model.favourable for decision in pair["decisions"]]
        assert is_favourable == ([False, True] if scored.is_harmed[pair["rule_set"]] else [True, False])
    best = next(each for each in told["looked"] if each["rule_set"] == 0)
    assert best["lost"] - best["gained"] == pytest.approx(scored.score[0])
    assert len(json.dumps(told)) <= 100_000


def test_sentences_of_long_texts_are_cut_around_the_words() -> None:
    filler = "so it goes on and on " * 40
    texts = [f"{filler}{i} {kind} thing. {filler}end{'x' * (i % 7)}" for i in range(60) for kind in ("red", "blue")]
    ran = run_texts(texts, points_model({"red": -9.0, "blue": 9.0}))
    told = ran.content("sentences")
    assert told["pairs"]
    for pair in told["pairs"]:
        assert pair["is_excerpt"]
        assert len(pair["first"]) < 310
        ((a, b),) = pair["spans_first"]
        assert pair["first"][a:b] == pair["term"]
    assert len(json.dumps(told)) <= 100_000


def test_the_sentences_of_many_rule_sets_still_fit() -> None:
    wide = "ж" * 250
    texts = [f"{wide} {i} {term}" for i in range(30) for term in ("red", "big", "red big")]
    ran = run_texts(texts, points_model({"red": -9.0, "blue": 9.0, "green": 5.0, "tiny": 9.0, "big": -9.0}))
    assert 0 < len(json.dumps(ran.content("sentences"))) <= 100_000


def test_runs_share_nothing() -> None:
    texts = made_texts(100, 12)
    model = points_model(POINTS)
    first: Ran = run_texts(texts, model, support=0.1)
    second = run_texts(texts, model, support=0.1)
    assert first.stopped.evaluations == second.stopped.evaluations


def test_long_texts_are_filled_a_few_terms_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = made_texts(50, 13)
    model = points_model(POINTS)
    whole = run_texts(texts, model, support=0.1, error=0)
    monkeypatch.setattr(scoring, "_LETTERS_AT_ONCE", 500)
    parts = run_texts(texts, model, support=0.1, error=0)
    assert all(np.array_equal(a, parts.result.to_arrays()[name]) for name, a in whole.result.to_arrays().items())


def test_categories_that_few_texts_hold_are_named() -> None:
    texts = ["a red ball", "a blue one"] * 10 + ["a tiny ball"] + ["a plain ball"] * 19
    ran = run_texts(texts, points_model(POINTS), support=0.1)
    left_out, few = ran.content("notes")["notes"]
    assert "Fewer than 0.1 of the 40 texts hold a term of 'size' (1)" in left_out
    assert "'kind' (20)" in few
    ran = run_texts(made_texts(400, 14), points_model(POINTS), support=0.1)
    assert not any(getattr(event, "name", "") == "notes" for event in ran.events)


def test_a_single_text_that_is_decided_otherwise_is_shown() -> None:
    texts = [f"a {kind} ball {'x' * 300}{i}" for i in range(700) for kind in ("red", "blue")] + ["the red prince"]
    points = {"red": -6.0, "prince": 5.0}
    ran = run_texts(texts, points_model(points, noise=0))
    told = ran.content("sentences")
    position = ran.lines()["red",]
    (pair,) = (pair for pair in told["pairs"] if pair["rule_set"] == position)
    assert (pair["first"], pair["decisions"], pair["is_original"]) == ("the red prince", [0, 1], False)
    (seen,) = (each for each in told["looked"] if each["rule_set"] == position)
    assert (seen["n_looked_at"], seen["n_differing"]) == (1401, 1)


def test_differing_texts_are_counted_as_one_after_the_other() -> None:
    texts = made_texts(80, 16)
    model = points_model(POINTS)
    ran = run_texts(texts, model, support=0.1, error=0)
    lines = ran.lines()
    scored = ran.result.scored
    seen = {each["rule_set"]: each for each in ran.content("sentences")["looked"]}
    for term in dict(TERMS)["size"]:
        n = 0
        for text in seeds_of(texts, TERMS, ["size"]):
            own, *others = (
                bool(model.is_favourable([plain_swap(text, TERMS, {"size": each})])[0])
                for each in (term, *(word for word in dict(TERMS)["size"] if word != term))
            )
            n += own is not bool(scored.is_harmed[lines[term,]]) and any(other is not own for other in others)
        assert seen[lines[term,]]["n_differing"] == n, term
