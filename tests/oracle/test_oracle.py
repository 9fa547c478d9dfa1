from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.clock import Clock
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.oracle.visited import VisitedIndividuals
from handmade import FunctionPredictor, all_individuals, biased_score, function_model, small_domain, true_keys


def test_probing_everyone_finds_exactly_the_individuals_that_enumeration_finds() -> None:
    model = function_model(biased_score)
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(10**6))
    oracle.probe(all_individuals(domain))
    pairs = oracle.take_found()
    assert {int(k) for k in domain.keys(pairs.first)} == true_keys(model, domain)
    assert oracle.n_found == len(pairs) == len(true_keys(model, domain))
    assert oracle.is_exhausted
    assert oracle.evaluations == 2 * 1500


def test_known_individuals_cost_nothing_and_keep_their_verdict() -> None:
    model = function_model(biased_score)
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(10**6))
    rows = all_individuals(domain)
    first = oracle.probe(rows)
    spent = oracle.evaluations
    again = oracle.probe(np.concatenate([rows, rows]))
    assert oracle.evaluations == spent
    assert (again.is_discriminatory == np.tile(first.is_discriminatory, 2)).all()
    assert not len(again.fresh)


def test_duplicates_within_a_batch_are_tested_once_and_share_the_verdict() -> None:
    domain = small_domain()
    row = np.array([[0, 0, 22, 4, 0.75], [1, 0, 22, 4, 0.75], [0, 0, 29, 4, 0.75]])
    oracle = Oracle(function_model(biased_score), domain, Budget(10**6))
    probe = oracle.probe(row)
    assert probe.is_discriminatory.tolist() == [True, True, False]
    assert probe.fresh.tolist() == [0, 2]
    assert (oracle.n_tried, oracle.n_found, oracle.evaluations) == (2, 1, 4)


def test_the_table_of_the_known_grows_and_forgets_nobody() -> None:
    known = VisitedIndividuals(0)
    keys = np.random.default_rng(0).permutation(200_000).astype(np.uint64)
    for part in np.split(keys, 20):
        slots, fresh, n_new = known.look_up(part, takes_partly=False)
        assert len(fresh) == n_new == len(part)
        known.states[slots] = part % 2
    slots, fresh, n_new = known.look_up(keys, takes_partly=False)
    assert (known.n, len(fresh), n_new) == (len(keys), 0, 0)
    assert (known.states[slots] == keys % 2).all()


@pytest.mark.parametrize("n", [1, 2, 3, 99, 1000, 1501])
def test_the_evaluation_budget_is_never_exceeded_and_what_fitted_is_kept(n: int) -> None:
    model = function_model(biased_score)
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(max_evaluations=n))
    with pytest.raises(SearchStopped) as stop:
        oracle.probe(all_individuals(domain))
    assert stop.value.reason is StopReason.EVALUATIONS
    assert oracle.evaluations <= n
    assert oracle.evaluations > n - domain.n_variants
    assert oracle.n_tried == oracle.evaluations // 2
    assert len(oracle.take_found()) == oracle.n_found


def test_enough_found_stops_at_exactly_that_many() -> None:
    oracle = Oracle(function_model(biased_score), small_domain(), Budget(None, None, 7))
    with pytest.raises(SearchStopped) as stop:
        oracle.probe(all_individuals(small_domain()))
    assert stop.value.reason is StopReason.FOUND
    assert oracle.n_found == len(oracle.take_found()) == 7


def test_cancel_and_seconds_stop_before_the_next_block() -> None:
    with pytest.raises(SearchStopped) as stop:
        Oracle(function_model(biased_score), small_domain(), Budget(), Clock(is_cancelled=lambda: True)).probe(
            all_individuals(small_domain())
        )
    assert stop.value.reason is StopReason.CANCELLED
    with pytest.raises(SearchStopped) as stop:
        Oracle(function_model(biased_score), small_domain(), Budget(None, 1e-9)).probe(all_individuals(small_domain()))
    assert stop.value.reason is StopReason.SECONDS


def test_a_pair_that_the_replay_does_not_confirm_is_rejected() -> None:
    """A model whose quick margins disagree with its scores must not get a pair past the oracle."""
    model = function_model(lambda rows: np.full(len(rows), 0.9))
    domain = small_domain()
    model.predictor.margins = lambda rows, threshold: rows[:, :1] - 0.5
    oracle = Oracle(model, domain, Budget(10**6))
    oracle.probe(all_individuals(domain)[:100])
    assert len(oracle.take_found()) == 0
    assert (oracle.n_found, oracle.n_rejected) == (0, 100)


def test_rejected_pairs_do_not_count_towards_enough() -> None:
    """Women always get 0.1; quick margins claim a pair for everybody, the scores confirm it in half of the jobs."""
    model = function_model(lambda rows: np.where((rows[:, 0] == 0) & (rows[:, 1] == 0), 0.1, 0.9))
    model.predictor.margins = lambda rows, threshold: rows[:, :1] - 0.5
    oracle = Oracle(model, small_domain(), Budget(None, None, 50))
    with pytest.raises(SearchStopped):
        oracle.probe(np.random.default_rng(0).permutation(all_individuals(small_domain())))
    pairs = oracle.take_found()
    assert oracle.n_found == len(pairs) == 50
    assert oracle.n_rejected > 0
    assert (pairs.first[:, 1] == 0).all()


class Coarse(FunctionPredictor):
    """Its margins are too coarse to tell two scores apart; its scores are not."""

    def margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
        return np.round(super().margins(inputs, threshold), 6)


@pytest.mark.parametrize("is_one", [True, False])
def test_who_is_within_rounding_is_decided_by_the_scores(is_one: bool) -> None:
    """They were called not discriminatory, and shares of them were 0."""
    sign = 1 if is_one else 0
    model = function_model(lambda rows: 0.5 + 1e-9 * (rows[:, 0] - 0.5) * sign)
    domain = small_domain()
    coarse = Model(Coarse(model.predictor.function), model.encoder, rounding=1e-6)
    rows = all_individuals(domain)
    oracle = Oracle(coarse, domain, Budget(10**6))
    assert oracle.probe(rows).is_discriminatory.all() == is_one
    pairs = oracle.take_found()
    assert len(pairs) == (len(rows) if is_one else 0)
    ends = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64)
    in_part = Oracle(coarse, domain, Budget(10**6))
    assert in_part.probe_pairs(rows, *ends).is_discriminatory.all() == is_one
    measured = Oracle(coarse, domain, Budget(10**6)).measure(rows)
    assert measured.is_discriminatory.all() == is_one
    noted = Oracle(coarse, domain, Budget(10**6))
    assert noted.note_pairs(rows, *ends, np.full((len(rows), 2, 1), 0.5)).is_discriminatory.all() == is_one


def test_a_score_on_the_threshold_is_class_zero_for_exact_models() -> None:
    model = function_model(lambda rows: np.where(rows[:, 0] == 0, 0.5, 0.6))
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(10**6))
    assert oracle.probe(all_individuals(domain)).is_discriminatory.all()


def test_a_score_gap_compares_scores_even_where_decisions_agree() -> None:
    model = function_model(lambda rows: 0.6 + 0.1 * rows[:, 0] + 0.02 * rows[:, 1])
    assert not Oracle(model, small_domain(), Budget()).probe(all_individuals(small_domain())).is_discriminatory.any()
    domain = small_domain(score_gap=0.05)
    oracle = Oracle(model, domain, Budget())
    assert oracle.probe(all_individuals(domain)).is_discriminatory.all()
    pairs = oracle.take_found()
    assert np.abs(pairs.score_first - pairs.score_second).min() == pytest.approx(0.1)


def test_several_classes_compare_the_largest_score() -> None:
    def three(rows: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(rows), 3))
        scores[np.arange(len(rows)), (rows[:, 1] + rows[:, 0] * (rows[:, 3] > 4)).astype(int) % 3] = 1
        return scores

    model = function_model(three, 3)
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(10**6))
    oracle.probe(all_individuals(domain))
    pairs = oracle.take_found()
    assert {int(k) for k in domain.keys(pairs.first)} == true_keys(model, domain)
    assert (pairs.decision_first != pairs.decision_second).all()


def test_the_pair_is_the_row_as_it_stands_and_the_nearest_variant_that_is_decided_otherwise() -> None:
    model = function_model(lambda rows: (rows[:, 2] - 20) / 9)
    domain = small_domain(("age",))
    oracle = Oracle(model, domain, Budget())
    oracle.probe(all_individuals(domain)[:10])
    pairs = oracle.take_found()
    assert (pairs.first[:, 2] == 20).all()
    assert (pairs.second[:, 2] == 25).all()
    assert (pairs.first[:, domain.free] == pairs.second[:, domain.free]).all()


def test_independent_draws_are_all_paid() -> None:
    oracle = Oracle(function_model(biased_score), small_domain(), Budget(20))
    row = np.array([[0, 0, 22, 4, 0.75]])
    assert oracle.test(np.repeat(row, 5, axis=0)).all()
    assert (oracle.evaluations, oracle.n_tried) == (10, 5)
    with pytest.raises(SearchStopped):
        oracle.test(np.repeat(row, 50, axis=0))
    assert oracle.evaluations == 20


def test_the_table_of_known_individuals_grows_without_forgetting() -> None:
    domain = small_domain(("sex",))
    columns = all_individuals(domain)
    oracle = Oracle(function_model(biased_score), domain, Budget(None, 60.0))
    oracle._known = type(oracle._known)(0)
    oracle._known.table = np.zeros(4, dtype=np.uint64)
    oracle._known.states = np.full(4, -1, dtype=np.int8)
    for row in columns[:200]:
        oracle.probe(row[None])
    assert not len(oracle.probe(columns[:200]).fresh)
    assert oracle.n_tried == 200


@pytest.mark.parametrize("limits", [{"max_evaluations": 0}, {"max_seconds": -1.0}, {"max_evaluations": None}])
def test_a_budget_needs_a_positive_limit(limits: dict) -> None:
    with pytest.raises(SettingError):
        Budget(**limits)


def test_a_move_is_tested_as_the_moved_row_is() -> None:
    domain = small_domain()
    rng = np.random.default_rng(3)
    rows = domain.sample(500, rng)
    columns = np.full(500, 3, dtype=np.int64)
    values = rng.integers(0, 10, size=500).astype(float)
    moved = rows.copy()
    moved[:, 3] = values
    assert (domain.moved_keys(rows, columns, values) == domain.keys(moved)).all()
    by_move = Oracle(function_model(biased_score), domain, Budget()).probe_moves(rows, columns, values)
    by_row = Oracle(function_model(biased_score), domain, Budget()).probe(moved)
    assert (by_move.is_discriminatory == by_row.is_discriminatory).all()
    assert (by_move.fresh == by_row.fresh).all()


def three_jobs(rows: np.ndarray) -> np.ndarray:
    """Only judges of 25 and older are refused, whatever their sex."""
    return np.where((rows[:, 1] == 2) & (rows[:, 2] >= 25), 0.2, 0.8)


def test_a_pair_test_costs_two_evaluations_and_leaves_the_rest_open() -> None:
    domain = small_domain(("job",))
    oracle = Oracle(function_model(three_jobs), domain, Budget(10**6))
    rows = all_individuals(domain)[:600]
    zeros, ones, twos = (np.full(len(rows), i) for i in range(3))
    assert not oracle.probe_pairs(rows, zeros, ones).is_discriminatory.any()
    assert (oracle.evaluations, oracle.n_tried, oracle.n_partly) == (1200, 600, 600)
    assert not len(oracle.probe_pairs(rows, zeros, twos).fresh)
    probe = oracle.probe(rows)
    truth = rows[:, 2] >= 25
    assert (probe.is_discriminatory == truth).all()
    assert (oracle.evaluations, oracle.n_tried, oracle.n_partly) == (1200 + 1800, 600, 0)
    assert len(oracle.take_found()) == oracle.n_found == truth.sum()


def test_a_pair_test_finds_what_its_two_variants_show() -> None:
    domain = small_domain(("job",))
    oracle = Oracle(function_model(three_jobs), domain, Budget(10**6))
    rows = all_individuals(domain)
    zeros = np.zeros(len(rows), dtype=np.int64)
    twos = np.full(len(rows), 2)
    probe = oracle.probe_pairs(rows, zeros, twos)
    pairs = oracle.take_found()
    assert {int(k) for k in domain.keys(pairs.first)} == true_keys(oracle.model, domain)
    assert probe.is_discriminatory.sum() == len(pairs) == oracle.n_found
    assert oracle.n_rejected == 0


def test_evaluations_already_paid_are_noted_for_nothing() -> None:
    domain = small_domain(("job",))
    oracle = Oracle(function_model(three_jobs), domain, Budget(10**6))
    rows = domain.sample(300, np.random.default_rng(0))
    zeros = np.zeros(300, dtype=np.int64)
    twos = np.full(300, 2)
    scores = np.stack([oracle.scores(domain.with_variant(rows, i)) for i in (zeros, twos)], axis=1)
    spent = oracle.evaluations
    probe = oracle.note_pairs(rows, zeros, twos, scores)
    assert oracle.evaluations == spent == 600
    assert (probe.is_discriminatory == (rows[:, 2] >= 25)).all()
    assert len(oracle.take_found()) == oracle.n_found == len(np.unique(domain.keys(rows[rows[:, 2] >= 25])))


@pytest.mark.parametrize("score_gap", [0.0, 0.3])
def test_measuring_pays_for_everyone_and_agrees_with_probing(score_gap: float) -> None:
    domain = small_domain(("sex", "job"), score_gap=score_gap)
    rows = all_individuals(domain)
    measuring, probing = (Oracle(function_model(biased_score), domain, Budget(10**6)) for _ in range(2))
    measured = measuring.measure(np.concatenate([rows, rows]))
    probe = probing.probe(rows)
    assert (measured.is_discriminatory == np.tile(probe.is_discriminatory, 2)).all()
    assert measuring.evaluations == 2 * probing.evaluations
    assert (measuring.n_tried, measuring.n_found) == (probing.n_tried, probing.n_found)
    variants = domain.variants(rows).reshape(-1, domain.n_columns)
    assert (measured.scores[: len(rows)].ravel() == biased_score(variants)).all()
    first = measuring.take_found()
    second = probing.take_found()
    assert (first.first == second.first).all()
    assert (first.second == second.second).all()


def test_nearby_scores_are_those_of_the_moved_rows_and_each_is_paid() -> None:
    domain = small_domain()
    oracle = Oracle(function_model(biased_score), domain, Budget(10**6))
    rows = domain.sample(50, np.random.default_rng(1))
    rows[:, 3] = np.minimum(rows[:, 3], 8)
    columns = np.array([3, 4])
    steps = np.tile([1.0, 0.0], (50, 1))
    own, moved = oracle.nearby_scores(rows, columns, steps)
    assert oracle.evaluations == 150
    assert oracle.n_tried == 0
    assert (own[:, 0] == biased_score(rows)).all()
    further = rows.copy()
    further[:, 3] += 1
    assert (moved[:, 0, 0] == biased_score(further)).all()
    assert (moved[:, 1, 0] == own[:, 0]).all()


@pytest.mark.parametrize("ask", ["scores", "nearby", "measure", "pairs"])
def test_no_question_exceeds_the_budget(ask: str) -> None:
    domain = small_domain(("job",))
    oracle = Oracle(function_model(biased_score), domain, Budget(100))
    rows = all_individuals(domain)
    zeros = np.zeros(len(rows), dtype=np.int64)
    questions = {
        "scores": lambda: oracle.scores(rows),
        "nearby": lambda: oracle.nearby_scores(rows, np.array([3]), np.zeros((len(rows), 1))),
        "measure": lambda: oracle.measure(rows),
        "pairs": lambda: oracle.probe_pairs(rows, zeros, zeros + 1),
    }
    with pytest.raises(SearchStopped):
        questions[ask]()
    assert 97 <= oracle.evaluations <= 100
    oracle.take_found()
    assert oracle.model.predictor.n_rows_asked == oracle.evaluations + 2 * oracle.n_found


def test_a_pair_tested_in_turn_pays_for_the_second_variant_only_where_the_first_holds() -> None:
    """Women with 3 to 6 hours under 26 get class 0, and so do men without wealth: counted by hand."""
    model = function_model(biased_score)
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(10**6))
    rows = all_individuals(domain)
    zeros = np.zeros(len(rows), dtype=np.int64)
    pair = np.stack([zeros, zeros + 1], axis=1)
    leads = oracle.probe_alike(rows, pair, pair)  # a woman should be refused, a man accepted
    woman = biased_score(domain.with_variant(rows, zeros)) - 0.5
    man = biased_score(domain.with_variant(rows, zeros + 1)) - 0.5
    holds = woman <= 0
    assert oracle.evaluations == len(rows) + int(holds.sum())
    assert leads.leads[:, 0] == pytest.approx(-woman)
    assert np.isnan(leads.leads[~holds, 1]).all()
    assert leads.leads[holds, 1] == pytest.approx(man[holds])
    assert (leads.is_discriminatory == (holds & (man > 0))).all()
    assert (oracle.n_tried, oracle.n_partly) == (1500, int((~holds).sum()))
    assert not oracle.is_exhausted
    again = oracle.probe_alike(rows, pair[:, ::-1], pair[:, ::-1])
    assert not len(again.fresh)
    oracle.probe(rows)  # the others are tested in full, nobody is counted twice
    assert (oracle.n_tried, oracle.n_partly) == (1500, 0)
    assert oracle.is_exhausted
    pairs = oracle.take_found()
    assert model.predictor.n_rows_asked == oracle.evaluations + 2 * len(pairs)  # the replay of each
    assert {int(k) for k in domain.keys(pairs.first)} == true_keys(model, domain)
    assert len(pairs) == len(true_keys(model, domain))


def test_a_pair_tested_in_turn_with_more_variants_stays_open_for_the_others() -> None:
    domain = small_domain(("sex", "job"))
    oracle = Oracle(function_model(biased_score), domain, Budget(10**6))
    rows = all_individuals(domain)
    pair = np.tile([0, 1], (len(rows), 1))  # two jobs of women: never a difference
    assert not oracle.probe_alike(rows, pair, pair).is_discriminatory.any()
    assert (oracle.n_tried, oracle.n_partly) == (500, 500)
    assert oracle.probe(rows).is_discriminatory.sum() == len(true_keys(oracle.model, domain))
    assert (oracle.n_tried, oracle.n_partly) == (500, 0)


def test_a_score_gap_is_tested_with_both_variants_and_leads_say_by_how_much_it_is_exceeded() -> None:
    domain = small_domain(score_gap=0.15)
    oracle = Oracle(function_model(biased_score), domain, Budget(10**6))
    rows = all_individuals(domain)
    pair = np.tile([0, 1], (len(rows), 1))
    probe = oracle.probe_alike(rows, pair, pair)
    difference = np.abs(np.subtract(*(biased_score(domain.with_variant(rows, pair[:, i])) for i in (0, 1))))
    assert probe.leads == pytest.approx(np.column_stack([difference, difference]) - 0.15)
    assert (probe.is_discriminatory == (difference > 0.15)).all()
    assert oracle.evaluations == 2 * len(rows)
    widest = Oracle(function_model(biased_score), domain, Budget(10**6)).probe_widest(rows, 0.0)
    assert (widest.is_discriminatory == (difference > 0.15)).all()
    assert widest.leads[widest.is_discriminatory] == pytest.approx(probe.leads[widest.is_discriminatory])


@pytest.mark.parametrize("protected", [("sex",), ("sex", "job")])
def test_the_widest_pair_and_its_leads(protected: tuple[str, ...]) -> None:
    domain = small_domain(protected)
    oracle = Oracle(function_model(biased_score), domain, Budget(10**6))
    rows = all_individuals(domain)
    probe = oracle.probe_widest(rows)
    found = np.flatnonzero(probe.is_discriminatory)
    assert {int(k) for k in domain.keys(rows[found])} == true_keys(oracle.model, domain)
    for i in (0, 1):
        scores = biased_score(domain.with_variant(rows[found], probe.variants[found, i]))
        assert ((scores > 0.5) == probe.classes[found, i]).all()
        assert probe.leads[found, i] == pytest.approx(np.abs(scores - 0.5))
    assert np.isnan(np.delete(probe.leads, found, axis=0)).all()


def test_rows_out_of_reach_are_passed_over_after_one_evaluation_and_stay_open() -> None:
    model = function_model(biased_score)
    domain = small_domain(("sex", "job"))
    oracle = Oracle(model, domain, Budget(10**6))
    rows = all_individuals(domain)
    first = np.abs(biased_score(domain.with_variant(rows, np.zeros(len(rows), dtype=np.int64))) - 0.5)
    near = first <= 0.35
    assert 0 < near.sum() < len(rows)
    probe = oracle.probe_widest(rows, 0.35)
    assert oracle.evaluations == len(rows) + 5 * int(near.sum()) == model.predictor.n_rows_asked
    assert (oracle.n_tried, oracle.n_partly) == (500, int((~near).sum()))
    expected = np.isin(domain.keys(rows), np.array(sorted(true_keys(model, domain)), dtype=np.uint64))
    assert (probe.is_discriminatory == (near & expected)).all()
    assert (oracle.probe_widest(rows).is_discriminatory == expected).all()
    assert (oracle.n_tried, oracle.n_partly) == (500, 0)


def test_leads_of_several_classes_are_over_the_best_other_one() -> None:
    def scores(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, 3], rows[:, 2] - 18 + 2 * rows[:, 0], 4 + rows[:, 1] * rows[:, 0]]) / 10

    model = function_model(scores, n_scores=3)
    domain = small_domain()
    oracle = Oracle(model, domain, Budget(10**6))
    rows = all_individuals(domain)
    probe = oracle.probe_widest(rows)
    found = np.flatnonzero(probe.is_discriminatory)
    assert {int(k) for k in domain.keys(rows[found])} == true_keys(model, domain)
    again = Oracle(model, domain, Budget(10**6)).probe_alike(rows[found], probe.variants[found], probe.classes[found])
    for i in (0, 1):
        values = np.sort(scores(domain.with_variant(rows[found], probe.variants[found, i])), axis=1)
        assert probe.leads[found, i] == pytest.approx(values[:, 2] - values[:, 1])
    firm = (probe.leads[found] > 0).all(axis=1)
    assert firm.any()
    assert again.is_discriminatory[firm].all()
    assert again.leads[firm] == pytest.approx(probe.leads[found][firm])


def test_what_comes_behind_the_last_find_that_is_wanted_does_not_count() -> None:
    """Also after a batch of people of whom some had been tried in part."""
    model = function_model(biased_score)
    domain = small_domain(("sex", "age"))
    rows = all_individuals(domain)
    found = np.isin(domain.keys(rows), np.array(sorted(true_keys(model, domain)), dtype=np.uint64))
    order = np.concatenate([np.flatnonzero(~found)[:30], np.flatnonzero(found)[:9]])
    oracle = Oracle(model, domain, Budget(10**6, max_found=3))
    alike = rows[order[:20]]
    oracle.probe_pairs(alike[:10], np.zeros(10, np.int64), np.ones(10, np.int64))
    oracle.probe(alike)
    assert (oracle.n_tried, oracle.n_behind, oracle.n_found) == (20, 0, 0)
    people = rows[order[20:35]]  # ten who are alike, then five
    widest = Oracle(model, domain, Budget(10**6)).probe_widest(people)
    with pytest.raises(SearchStopped):
        oracle.probe_alike(people, widest.variants, widest.classes)
    assert oracle.n_found == 3
    assert oracle.evaluations == oracle.take_found().evaluation[-1]
    assert (oracle.n_tried, oracle.n_behind) == (20 + 13, 2)


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_the_gap_of_a_pair_of_several_classes_is_of_one_class(gap: float) -> None:
    """Its two scores are those of two classes: 0.84 of one and 0.86 of another lie far apart."""

    def scores(rows: np.ndarray) -> np.ndarray:
        wealth = rows[:, 3] / 10
        return np.column_stack([wealth * (1 - rows[:, 0]), wealth * rows[:, 0], 0.9 - wealth])

    model = function_model(scores, n_scores=3)
    domain = small_domain(score_gap=gap)
    oracle = Oracle(model, domain, Budget(10**6))
    oracle.probe(all_individuals(domain))
    pairs = oracle.take_found()
    expected = np.abs(scores(pairs.first) - scores(pairs.second)).max(axis=1)
    assert pairs.gaps == pytest.approx(expected)
    assert (pairs.gaps > gap).all()
    assert (pairs.gaps > np.abs(pairs.score_first - pairs.score_second) + 0.1).any()


def test_no_model_is_asked_for_no_rows() -> None:
    """Nobody within reach, and nobody whose first variant holds: an empty batch is more than some models can take."""

    def strict(rows: np.ndarray) -> np.ndarray:
        assert len(rows)
        return np.full(len(rows), 0.9)

    domain = small_domain()
    rows = all_individuals(domain)
    oracle = Oracle(function_model(strict), domain, Budget(10**6))
    assert not oracle.probe_widest(rows[:100], 0.1).is_discriminatory.any()
    refused_first = np.tile([0, 1], (100, 1))
    assert not oracle.probe_alike(rows[100:200], refused_first, refused_first).is_discriminatory.any()
    assert oracle.evaluations == 200


def test_a_find_carries_the_evaluations_up_to_its_own_row_whatever_the_blocks() -> None:
    domain = small_domain(("sex", "job"))
    rows = all_individuals(small_domain(("sex", "job")))
    whole, single = (Oracle(function_model(biased_score), domain, Budget(10**6)) for _ in range(2))
    whole.probe(rows)
    for row in rows:
        single.probe(row[None])
    first = whole.take_found()
    second = single.take_found()
    assert len(first)
    assert (first.evaluation == second.evaluation).all()
    assert (first.evaluation[1:] > first.evaluation[:-1]).all()
