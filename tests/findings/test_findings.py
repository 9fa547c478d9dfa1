"""What a review's runs say as cards: planted truths first, nothing where there is nothing, each level apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.table import read_table
from fairness_engine.findings import gather
from fairness_engine.findings.evidence import Evidence as Judged
from fairness_engine.findings.evidence import Sorted, sort_runs
from fairness_engine.findings.finding import MAX_CARDS, OF_ANOTHER_SCOPE, Evidence, Level, Place, Subject
from fairness_engine.findings.gather import findings_of
from fairness_engine.findings.groups import figure_cards, group_name
from fairness_engine.findings.people import tried_by
from fairness_engine.findings.proxies import proxy_cards
from fairness_engine.findings.shares import share_cards, tried_by_shares
from fairness_engine.findings.summary import answer
from fairness_engine.groups.figures.report import FigureVerdict
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.runs import kinds
from fairness_engine.runs.adoption import discard_version
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import share
from findings_cases import assess, assessed, review_of, without_model
from retrained_runs import retrained_runs
from run_cases import config_of, estimate_of, run_of
from run_cases import review_of as census_of

pytestmark = pytest.mark.thorough

PLANTED = {
    "census_income_planted": "Women fare worse, with age 27 or over, education years 16 or more, hours per week 39 or "
    "less",
    "credit_planted": "People aged 25 or under fare worse, with checking account high or low, duration months 31 or "
    "more",
    "marketing_planted": "Men aged 40 to 59 born in Africa or Asia fare worse",
    "recidivism_planted": "Men, African-American fare worse",
}
"""The first card of each planted model: the truth of its file, and what else the people have in common whose decision
hangs on it.
"""


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_truth_is_the_first_card(name: str, tmp_path: Path) -> None:
    found = findings_of(*assessed(tmp_path / "workspace", name))
    assert found.cards[0].title == PLANTED[name]
    assert found.cards[0].subject is Subject.WHOM
    assert not found.missing
    assert not found.broken
    assert len(found.cards) <= MAX_CARDS
    assert {card.level for card in found.cards} == set(Level)
    for card in found.cards:
        assert card.sentence.endswith(".")
        assert card.n > 0
        if card.figure is not None:
            assert card.figure.low <= card.figure.value <= card.figure.high


@pytest.mark.parametrize("name", ["census_income_ignores_protected", "marketing_ignores_protected"])
def test_of_a_model_that_ignores_what_is_protected_no_card_claims_anything(name: str, tmp_path: Path) -> None:
    found = findings_of(*assessed(tmp_path / "workspace", name))
    assert found.cards == ()
    assert {"Directed", "Data scan", "Estimate", "Certification"} <= {tried.title for tried in found.tried}
    assert "Rule sets of attributes that no decision depends on" in {tried.title for tried in found.tried}
    for tried in found.tried:
        assert all(text.endswith(".") for text in (tried.said, tried.shows, tried.does_not_show)), tried


def test_the_words_of_comments_come_first(tmp_path: Path) -> None:
    found = findings_of(*assessed(tmp_path / "workspace", "comments_linear"))
    first = [card for card in found.cards if card.subject is Subject.GROUP][:2]
    assert found.cards[0] is first[0]
    assert [card.title.split(":")[0] for card in first] == ["Texts with “gay”", "Texts with “muslim”"]
    assert found.missing == ()


def test_the_order_is_the_same_with_every_seed(tmp_path: Path) -> None:
    orders = []
    for seed in range(3):
        store = RunStore(tmp_path / str(seed))
        wanted = (Evidence.SCAN, Evidence.SEARCH, Evidence.SHARE, Evidence.RULES, Evidence.FIGURES)
        review = assess(store, review_of(store, "recidivism_planted"), wanted, seed)
        orders.append([card.key for card in findings_of(store, review).cards])
    assert orders[0] == orders[1] == orders[2]


def test_without_a_model_the_labels_speak(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    review = without_model(store)
    assert findings_of(store, review).missing == (Evidence.RULES, Evidence.FIGURES, Evidence.PROXIES)
    found = findings_of(store, assess(store, review, (Evidence.RULES, Evidence.FIGURES)))
    assert found.missing == (Evidence.PROXIES,)
    assert {card.subject for card in found.cards} == {Subject.GROUP, Subject.FIGURES}
    assert found.cards[0].title.startswith("Women: ")
    assert "Decided by the column 'income', not by a model." in found.cards[0].facts


def test_what_is_not_settled_is_told_beside_what_is_flagged(tmp_path: Path) -> None:
    """A flagged table hid its other groups below four fifths, and a report said that everything had found something."""
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    (one,) = sort_runs(store, review, store.runs(review.id)).of(kinds.FIGURES)
    cards, tried = figure_cards([one], "high income", frozenset())
    assert one.results.figures is not None
    flagged = {table.attributes for table in one.results.figures.read().tables if table.verdict is FigureVerdict.FLAG}
    assert len(cards) == len(flagged)
    below = [
        f"{group_name(table, group)} ({group.impact.value:.2f})"
        for table in one.results.figures.read().tables
        for group in table.groups
        if group.impact is not None and group.impact.value < 0.8 and group.verdict is not FigureVerdict.FLAG
    ]
    assert "Male, Black (0.66)" in below
    told = " ".join(each.shows for each in tried)
    assert [name for name in below if name not in told] == []


def test_what_was_not_looked_at_is_of_the_reviews_scope(tmp_path: Path) -> None:
    """*Not looked at: rates by group* stood under the rates of another scope."""
    found = findings_of(*assessed(tmp_path / "workspace", "census_income_planted"))
    asked = replace(found, missing=(Evidence.FIGURES,))
    assert any(said.startswith("Not looked at: ") for said in answer(asked))
    other = replace(found.cards[0], sentence=f"{OF_ANOTHER_SCOPE} (sex): {found.cards[0].sentence}")
    said = answer(replace(asked, cards=(other, *found.cards[1:])))
    assert any(each.startswith("Not looked at in the scope of this review: ") for each in said)


def test_figures_of_cards_are_those_of_the_store(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    for card in findings_of(store, review).cards:
        results = kinds.results_of(store, card.run_ids[0])
        if card.subject is Subject.SHARE:
            assert results.share is not None
            assert card.figure is not None
            assert (card.figure.value, card.n) == (results.share.share, results.share.n)
        if card.subject is Subject.PEOPLE:
            assert card.action.place is Place.PAIRS
            assert results.severity is not None
            assert card.action.number == results.severity.top[0].pair
            assert card.weight == max(store.run(run_id).n_found for run_id in card.run_ids)
        if card.subject is Subject.PROOF:
            assert results.certification is not None
            assert card.figure is not None
            assert card.figure.low == results.certification.falsified


def test_runs_of_another_model_columns_or_threshold_say_nothing(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "recidivism_planted")
    n_runs = len(store.runs(review.id))
    assert review.scope is not None
    moved = store.save_review(replace(review, scope=replace(review.scope, threshold=0.3)))
    found = findings_of(store, moved)
    assert (found.cards, len(found.earlier), set(found.missing)) == ((), n_runs, set(Evidence))
    narrower = store.save_review(replace(moved, scope=Scope(("race",))))
    found = findings_of(store, narrower)
    assert found.cards
    assert "race or sex" in found.cards[0].sentence
    other = review_of(store, "recidivism_mlp")
    renewed = store.save_review(replace(narrower, model_id=other.model_id))
    assert findings_of(store, renewed).cards == ()


def test_runs_of_a_part_of_the_people_say_so_and_stand_for_nobody_else(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "recidivism_planted")
    whole = findings_of(store, review)
    assert review.scope is not None
    first = {"earlier_offences": (0.0, 1.0)}
    part = store.save_review(replace(review, scope=replace(review.scope, limits=first)))
    assess(store, part, (Evidence.SCAN, Evidence.SHARE, Evidence.FIGURES, Evidence.PROOF))
    again = store.save_review(replace(store.review(review.id), scope=review.scope))
    found = findings_of(store, again)
    told = [card for card in found.cards if card.title.startswith("Only with earlier offences 1 or less: ")]
    assert {card.subject for card in told} >= {Subject.WHOM, Subject.SHARE, Subject.PROOF}
    assert all(card.sentence.startswith("Only with earlier offences 1 or less: ") for card in told)
    assert all(card.population.endswith("only with earlier offences 1 or less") for card in told)
    assert [card for card in found.cards if card not in told] == [*whole.cards][: MAX_CARDS - len(told)]
    assert answer(found) == answer(whole)
    alone = store.create_review("Only a part")
    copied = {name: getattr(part, name) for name in ("data_id", "model_id", "schema", "fit")}
    alone = store.save_review(replace(alone, scope=review.scope, **copied))
    assess(store, store.save_review(replace(alone, scope=part.scope)), (Evidence.SCAN,))
    asked = store.save_review(replace(store.review(alone.id), scope=review.scope))
    assert Evidence.SCAN in findings_of(store, asked).missing


def test_a_search_that_broke_off_says_so_and_what_was_not_measured_is_not_counted(tmp_path: Path) -> None:
    store, review = assessed(tmp_path, "census_income_planted")
    runs = store.runs(review.id)
    (search,) = [run for run in runs if run.config.technique not in ("", "data-scan")]
    broken = replace(search, state=RunState.CRASHED, n_found=search.n_found + 1_000)
    found = findings_of(store, review, [broken if run.id == search.id else run for run in runs])
    (card,) = [card for card in found.cards if card.key.startswith("people|") and search.id in card.run_ids]
    assert card.sentence.endswith("The run broke off before its end.")
    (fact,) = [fact for fact in card.facts if fact.startswith("Both people could exist")]
    assert "pairs that were measured (" in fact
    whole = findings_of(store, review)
    (card,) = [card for card in whole.cards if card.key.startswith("people|") and search.id in card.run_ids]
    assert "broke off" not in card.sentence
    assert not any("measured" in fact for fact in card.facts)


def test_runs_of_other_attributes_than_the_review_asks_for_by_now_say_so_and_answer_nothing_else(
    tmp_path: Path,
) -> None:
    store, review = assessed(tmp_path, "census_income_planted")
    before = findings_of(store, review)
    assert review.scope is not None
    narrower = store.save_review(replace(review, scope=replace(review.scope, protected=("sex",))))
    found = findings_of(store, narrower)
    assert set(found.missing) == set(Evidence)
    whose = "Of another scope (sex and race): "
    assert [card.title for card in found.cards] == [whose + card.title for card in before.cards]
    assert [card.key for card in found.cards] == [card.key for card in before.cards], "what was decided stays with it"
    assert all(one.title.startswith(whose) for one in found.tried)
    assert all(sentence.startswith(whose) for sentence in answer(found)[:-1])
    assert "the data's people one by one" in answer(found)[-1]
    assess(store, narrower, (Evidence.SCAN,))
    own = store.runs(review.id)[0].id
    whom = [card for card in findings_of(store, narrower).cards if card.subject is Subject.WHOM]
    assert whom[0].run_ids == (own,)
    assert [card.title.startswith(whose) for card in whom] == [card.run_ids != (own,) for card in whom]


def test_of_a_score_gap_no_card_speaks_of_decisions(tmp_path: Path) -> None:
    """Nobody was decided otherwise, and all cards said that they were."""
    store = RunStore(tmp_path / "workspace")
    review = census_of(store, scope=Scope(("sex",), threshold=1.0, score_gap=0.1))
    run = run_of(store, review, "data-scan", budget=Budget())
    estimate_of(store, review)
    assert (store.pairs(run.id).decision_first == store.pairs(run.id).decision_second).all()
    found = findings_of(store, review)
    said = " ".join(f"{card.title} {card.sentence} {card.brief}" for card in found.cards)
    assert said.count("scores more than 0.1 apart") >= 4
    assert not [words for words in ("another decision", "otherwise", "decision changes") if words in said]
    facts = " ".join(fact for card in found.cards for fact in card.facts)
    assert "have the lower scores in 100 %" in facts


def test_an_empty_review_has_nothing_and_misses_everything(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    assert findings_of(store, store.create_review("Empty")).is_empty
    found = findings_of(store, review_of(store, "recidivism_planted"))
    assert found.is_empty
    assert found.missing == tuple(Evidence)


def test_a_search_beside_no_scan_says_whom_it_found_and_that_this_is_no_share(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    review = assess(store, review_of(store, "recidivism_planted"), (Evidence.SEARCH,))
    found = findings_of(store, review)
    assert found.cards[0].level is Level.FOUND
    assert found.cards[0].title == "Men, African-American fare worse"
    assert "nothing of this is a share of the population" in found.cards[0].sentence


def test_a_proxy_that_moves_no_score_is_said_in_words_not_in_shares_of_nothing(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    run = next(run for run in store.runs(review.id) if kinds.PROXIES.has(run.config))
    results = kinds.results_of(store, run.id)
    assert results.proxies is not None
    assert results.proxies.shap is not None
    still = replace(results.proxies.shap, shares=dict.fromkeys(results.proxies.shap.shares, 0.0))
    (card, *_), _ = proxy_cards(
        [Judged(run, replace(results, proxies=replace(results.proxies, shap=still)))], frozenset()
    )
    assert f"move none of the model's scores for {still.n_people:,} people." in card.facts[0]
    assert "0 %" not in card.facts[0]


@pytest.mark.parametrize("kind", ["search", "estimate", "count", "certify", "rules", "figures", "proxies"])
def test_a_run_that_was_cancelled_before_it_began_is_no_look(tmp_path: Path, kind: str) -> None:
    store = RunStore(tmp_path / "workspace")
    review = review_of(store, "marketing_ignores_protected", ("sex",))
    store.request_cancel(
        store.create_run(config_of(review, "random" if kind == "search" else "", kind=kind), review.id)
    )
    found = findings_of(store, review)
    assert found.is_empty
    assert answer(found) == ["Nothing was looked at yet."]
    assert set(found.missing) == set(Evidence)


def test_what_was_stopped_half_way_did_not_use_its_budget(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "workspace")
    review = assess(store, review_of(store, "marketing_ignores_protected", ("sex",)), (Evidence.SEARCH, Evidence.PROOF))
    for run in store.runs(review.id):
        results = kinds.results_of(store, run.id)
        if results.certification is not None:
            open_half = replace(results.certification, is_by_construction=False, certified=0.5, undecided=0.5)
            results = replace(results, certification=open_half)
        ended, stopped = (Judged(replace(run, state=state), results) for state in (run.state, RunState.CANCELLED))
        is_proof = kinds.CERTIFY.has(run.config)
        (whole,), (part,) = (
            tried_by_shares([], [], [one]) if is_proof else tried_by([one]) for one in (ended, stopped)
        )
        assert "within the budget" in whole.said
        assert part.said == whole.said.replace("within the budget", "before it was stopped")


def test_who_was_counted_one_by_one_comes_before_an_estimate_of_them_and_data_that_is_known_before_both(
    tmp_path: Path,
) -> None:
    store = RunStore(tmp_path / "workspace")
    review = assess(store, review_of(store, "recidivism_planted"), (Evidence.SHARE,))
    run_of(store, review, "", kind="count")
    run_of(store, review, "", kind="estimate", n_samples=500, distribution=Distribution.UNIFORM)
    found = findings_of(store, review)
    counted = next(card for card in found.cards if card.title.startswith("Counted one by one"))
    (share,) = [card for card in found.cards if card.key.startswith("share|data")]
    assert share.level is Level.PROVED
    assert share.figure is not None
    assert share.figure.low == share.figure.high
    assert answer(found)[0].startswith(share.sentence.split(": ")[0])
    found = replace(found, cards=tuple(card for card in found.cards if card is not share))
    first, *rest = answer(found)
    assert first == counted.sentence
    assert not any("Counted one by one" in sentence for sentence in rest)
    found = replace(found, cards=tuple(card for card in found.cards if card is not counted))
    assert "drawn evenly from the domain" in answer(found)[0]


def test_a_scan_of_everybody_knows_the_share_and_a_part_of_one_estimates_it(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "workspace")
    review = review_of(store, "recidivism_planted")
    whole = run_of(store, review, "data-scan", budget=Budget())
    (card,) = [card for card in findings_of(store, review).cards if card.key.startswith("share|data")]
    scanned = kinds.results_of(store, whole.id)
    assert scanned.scan is not None
    assert scanned.affected is not None
    assert card.figure is not None
    n_people = scanned.scan.n_people
    domain = Domain(whole.config.schema, whole.config.scope)
    data = make_dataset(read_table(store.file(whole.config.data_id).path), whole.config.schema)
    people = data.rows[domain.contains(data.rows)]
    affected = np.isin(domain.keys(people), domain.keys(store.pairs(whole.id).first))
    assert (n_people, scanned.affected.n_affected) == (len(affected), affected.sum())
    assert card.figure.low == card.figure.value == card.figure.high == affected.mean()
    whom = findings_of(store, review).cards[0]
    assert (whom.subject, whom.figure, whom.n) == (Subject.WHOM, card.figure, n_people)
    assert card.level is Level.PROVED
    part = run_of(store, review, "data-scan", budget=Budget(8 * 500))
    told = kinds.results_of(store, part.id).affected
    assert told is not None
    assert 0 < told.n_tried < n_people
    (card, *_) = share_cards([], [Judged(part, kinds.results_of(store, part.id))])
    assert card.figure is not None
    assert card.figure.low < card.figure.value < card.figure.high
    assert card.figure.low <= affected.mean() <= card.figure.high
    assert (card.level, card.n) == (Level.ESTIMATED, told.n_tried)


def test_rates_alone_are_no_look_for_people(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "workspace")
    review = assess(store, review_of(store, "marketing_ignores_protected", ("sex",)), (Evidence.FIGURES,))
    first, second, *_ = answer(findings_of(store, review))
    assert first == "Nobody has looked for people who are decided otherwise."
    assert second.startswith("Groups by ")
    waiting = store.create_run(config_of(review, "random"), review.id)
    first, *_ = answer(findings_of(store, review))
    assert first == "No look for people who are decided otherwise has ended; some are on the way."
    store.request_cancel(waiting)
    assert answer(findings_of(store, review))[0] == "Nobody has looked for people who are decided otherwise."
    review = assess(store, review, (Evidence.SCAN,))
    assert answer(findings_of(store, review))[0] == "Nobody was found who is decided otherwise, in 1 look that ended."


# --- retrained models ---------------------------------------------------------------------------


def test_of_retrained_models_that_wait_the_best_is_told_by_name_and_of_discarded_ones_none(tmp_path: Path) -> None:
    made = retrained_runs(tmp_path)
    store = RunStore(tmp_path)
    runs = store.runs(made.review.id)
    (card,) = [card for card in findings_of(store, made.review).cards if card.subject is Subject.RETRAINED]
    assert card.title == "The model retrained by All variants (improved) waits for a decision"
    assert (card.run_ids, card.facts) == ((made.variants.id,), ())
    results = kinds.results_of(store, made.variants.id)
    assert results.after is not None
    assert card.figure is not None
    assert card.figure.value == results.after.data.share
    settings = {**made.variants.config.settings, "strategy": "majority"}
    other = replace(made.variants, config=replace(made.variants.config, settings=settings))
    assert results.before is not None
    worse = replace(results, after=replace(results.after, data=results.before.data))
    told = gather._retrained_cards(store, Sorted((Judged(other, worse), Judged(made.variants, results)), (), (), ()))
    assert [card.run_ids for card in told] == [(made.variants.id,)]
    assert told[0].facts == (
        f"Others that wait, and their shares: Majority labels ({share(results.before.data.share)}).",
    )
    discard_version(store, made.review.id, made.variants.id)
    assert not [card for card in findings_of(store, made.review, runs).cards if card.subject is Subject.RETRAINED]
