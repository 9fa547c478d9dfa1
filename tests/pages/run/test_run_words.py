"""Runs in words: titles, states, endings, what is left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import run_cases
from fairness_engine.cluster.counts import ClusterCounts
from fairness_engine.errors import StopReason
from fairness_engine.measures.results import PlausibleCounts
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds
from fairness_engine.runs.queue import CRASH_MESSAGE
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import Distribution, RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.telling import wording
from pages.shared.runs import figures, phrases
from pages.shared.runs.kinds import view_of


@pytest.fixture
def config(store: RunStore) -> RunConfig:
    return run_cases.config_of(run_cases.review_of(store))


@pytest.fixture
def record(store: RunStore, config: RunConfig) -> RunRecord:
    """A queued run; tests replace what they are about."""
    return store.run(store.create_run(config, None))


def test_titles_name_technique_and_strategy(config: RunConfig) -> None:
    assert phrases.run_title(config) == "AEQUITAS, fully-directed"
    assert phrases.run_title(replace(config, settings={"strategy": "random"})) == "AEQUITAS, random"
    assert phrases.run_title(replace(config, technique="random")) == "Random"
    assert phrases.run_title(replace(config, technique="gone")) == "gone"
    estimate = replace(config, kind=kinds.ESTIMATE.name, distribution=Distribution.DATA)
    assert phrases.run_title(estimate) == "Estimate, the data's rows"


def test_a_run_waits_only_where_others_have_the_places(store: RunStore, record: RunRecord) -> None:
    assert phrases.state_text(record) == "◌ Waiting"
    assert "only a few runs work at once" in phrases.activity(record)
    assert store.reserve(record.id, max_at_work=1)
    starting = store.run(record.id)
    assert starting.state is RunState.QUEUED
    assert phrases.state_text(starting) == "▶ Starting"
    assert phrases.activity(starting) == "Starting"


def test_equal_titles_are_told_apart(config: RunConfig) -> None:
    random = replace(config, technique="random")
    names = phrases.distinct_titles([random, replace(random, seed=5), replace(random, seed=5), config])
    assert names == ["Random, seed 0", "Random, seed 5 (1)", "Random, seed 5 (2)", "AEQUITAS, fully-directed"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state": RunState.FINISHED, "stop_reason": StopReason.EVALUATIONS}, "The budget of rows is spent."),
        ({"state": RunState.FINISHED, "stop_reason": StopReason.SECONDS}, "The time is up."),
        (
            {"state": RunState.CANCELLED, "stop_reason": StopReason.CANCELLED, "n_found": 1},
            "You stopped it. The pair found up to then is kept.",
        ),
        (
            {"state": RunState.CRASHED, "message": CRASH_MESSAGE, "n_found": 0},
            "The process that worked on this run ended before the run did. Nothing was found up to then. Run it again.",
        ),
        (
            {"state": RunState.CRASHED, "message": "The model's process got the signal SIGKILL.", "n_found": 1200},
            "The model's process got the signal SIGKILL. The 1\u202f200 pairs found up to then are kept. Run it again.",
        ),
        (
            {"state": RunState.FAILED, "message": "The file is no model."},
            "The file is no model. Nothing was found up to then.",
        ),
    ],
)
def test_an_ending_says_what_happened_and_what_is_kept(
    record: RunRecord, changes: dict[str, Any], expected: str
) -> None:
    assert phrases.ending(replace(record, **changes)) == expected


def test_settings_that_are_not_the_techniques_own_are_told(config: RunConfig) -> None:
    assert phrases.settings_text(config) == "", "the strategy is in the name"
    alone = replace(
        config, technique="sg", settings={"is_directed": False, "start_source": "uniform", "n_samples": 100}
    )
    said = phrases.settings_text(alone)
    assert said == "LIME samples: 100 rows; Start rows: uniform; Directed search: off"
    assert phrases.settings_text(replace(alone, kind=kinds.ESTIMATE.name)) == ""
    assert phrases.settings_text(replace(alone, technique="gone")) == ""


def test_an_estimate_that_asked_everybody_says_so(record: RunRecord, config: RunConfig) -> None:
    drawn = replace(config, kind=kinds.ESTIMATE.name, distribution=Distribution.DATA, n_samples=20_000)
    ended = replace(record, config=drawn, state=RunState.FINISHED, stop_reason=StopReason.EXHAUSTED, n_tried=5_000)
    assert phrases.ending(ended).endswith(
        "rows of the data in the scope were asked, each once: there are no more to draw."
    )
    assert phrases.ending(replace(ended, n_tried=20_000)) == "All 20\u202f000 draws are made."


def test_a_retraining_that_failed_before_a_model_was_trained_says_so(record: RunRecord, config: RunConfig) -> None:
    failed = replace(record, config=replace(config, kind=kinds.RETRAIN.name), state=RunState.FAILED, message="No term.")
    assert phrases.ending(failed) == "No term. No model was trained by then. The original is as it was."
    assert "within the tolerance" in phrases.ending(replace(failed, n_tried=2))


def test_a_search_says_how_many_of_its_pairs_are_of_two_people_who_could_exist(record: RunRecord) -> None:
    ended = replace(record, state=RunState.FINISHED, n_tried=1_000, n_found=100)
    counts = PlausibleCounts(0.1, n_measured=100, n_far=60, n_implausible=60, n_one_person=45)
    assert phrases.plausible_pairs(ended, counts) == (
        "Two people who could exist: 40 of the pairs, 40 %; that is 4.0 % of those tried. One who could: 45."
    )
    some = replace(counts, n_measured=80, n_one_person=0)
    assert phrases.plausible_pairs(ended, some) == "Two people who could exist: 20 of 80 measured pairs, 25 %."
    older = replace(counts, n_one_person=None)
    assert phrases.plausible_pairs(ended, older) == "", "it looked at what both share"
    assert phrases.plausible_pairs(ended, None) == phrases.plausible_pairs(ended, PlausibleCounts(0.1)) == ""


def test_every_state_and_every_reason_has_words(record: RunRecord) -> None:
    for state in RunState:
        assert phrases.state_text(replace(record, state=state))
    for reason in StopReason:
        ended = replace(record, state=RunState.FINISHED, stop_reason=reason)
        assert phrases.ending(ended)


def test_only_random_draws_speak_for_the_domain(record: RunRecord, config: RunConfig) -> None:
    ended = replace(record, state=RunState.FINISHED, n_tried=3000, evaluations=24_000)
    assert "share among people drawn at random" not in phrases.none_found(ended, 0.001)
    random = replace(ended, config=replace(config, technique="random"))
    assert "drawn at random is below 0.12 %" in phrases.none_found(random, 0.00119)
    for said in (phrases.none_found(ended, 0.001), phrases.none_found(random, 0.001)):
        assert said.startswith(f"None found within the budget: {wording.count(3_000)} individuals tried")
        assert said.endswith("This does not show that there are none.")


def test_a_search_that_was_stopped_did_not_use_its_budget(record: RunRecord) -> None:
    stopped = replace(record, state=RunState.CANCELLED, stop_reason=StopReason.CANCELLED, n_tried=3)
    assert phrases.none_found(stopped, 0.5).startswith("None found before it was stopped: 3 individuals tried")


def at_work(record: RunRecord, budget: Budget, **counts: Any) -> RunRecord:
    config = replace(record.config, budget=budget)
    return replace(record, state=RunState.RUNNING, started=datetime.now(UTC), config=config, **counts)


def test_the_limit_that_is_nearest_tells_how_far_a_run_is(record: RunRecord) -> None:
    left = figures.what_is_left(at_work(record, Budget(1000, 100), evaluations=100, seconds=50.0))
    assert left.done == 0.5
    assert left.text == "900 rows left, at most 50 s, about 50 s to go"
    left = figures.what_is_left(at_work(record, Budget(1000, None, 10), evaluations=100, seconds=5.0, n_found=9))
    assert left.done == 0.9
    assert left.text.startswith("900 rows left, 1 find left")


def test_a_run_that_has_just_begun_promises_no_time(record: RunRecord) -> None:
    left = figures.what_is_left(at_work(record, Budget(10**9), evaluations=100, seconds=0.1))
    assert "to go" not in left.text
    assert figures.what_is_left(at_work(record, Budget(10**9))).done == 0


def test_a_success_rate_has_its_interval_and_a_dash_before_the_first_try(record: RunRecord) -> None:
    assert figures.success_rate(record) == "–"
    drawn = replace(record, config=replace(record.config, technique="random", settings={}))
    assert figures.success_rate(replace(drawn, n_tried=1000, n_found=250)) == "25 % (22-28)"
    assert figures.success_rate(replace(drawn, n_tried=1000, n_found=0)) == "below 0.37 %"
    killed = replace(drawn, n_tried=300, n_found=250, evaluations=900, state=RunState.CRASHED)
    assert figures.success_rate(killed) == "–", "it may have kept pairs before it counted whom it tried"
    assert figures.comparison_table([killed])["Per 1\u202f000 rows"].tolist() == ["–"]


def test_a_search_that_chooses_whom_to_try_gets_no_interval(record: RunRecord) -> None:
    assert record.config.technique != "random"
    assert figures.success_rate(replace(record, n_tried=1000, n_found=250)) == "25 %"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state": RunState.FINISHED, "stop_reason": StopReason.EXHAUSTED, "n_found": 766}, ""),
        (
            {"state": RunState.FINISHED, "stop_reason": StopReason.SECONDS, "n_found": 766},
            "The time is up: the scores are of the samples that there was time for.",
        ),
        (
            {"state": RunState.FINISHED, "stop_reason": StopReason.SECONDS, "n_found": 0},
            "The time was up before any group was scored. Look again with more seconds.",
        ),
        (
            {"state": RunState.CANCELLED, "stop_reason": StopReason.CANCELLED, "n_found": 766},
            "You stopped it. What was scored up to then is kept.",
        ),
        (
            {"state": RunState.CANCELLED, "stop_reason": StopReason.CANCELLED, "n_found": 0},
            "You stopped it. Nothing was scored up to then.",
        ),
    ],
)
def test_rule_sets_end_in_their_own_words(
    config: RunConfig, record: RunRecord, changes: dict[str, Any], expected: str
) -> None:
    rules = replace(config, kind=kinds.RULES.name, technique="", settings={"support": 0.025})
    assert phrases.run_title(rules) == "Rule sets, groups of 2.5 % or more"
    assert phrases.ending(replace(record, config=rules, **changes)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state": RunState.FINISHED, "stop_reason": StopReason.EXHAUSTED, "n_tried": 16, "n_found": 3}, ""),
        (
            {"state": RunState.FINISHED, "stop_reason": StopReason.SECONDS, "n_tried": 0},
            "The time was up before any attribute was done. Give it more seconds.",
        ),
        (
            {"state": RunState.CANCELLED, "stop_reason": StopReason.CANCELLED, "n_tried": 8},
            "You stopped it. What was looked at up to then is kept.",
        ),
    ],
)
def test_proxies_end_in_their_own_words(
    config: RunConfig, record: RunRecord, changes: dict[str, Any], expected: str
) -> None:
    proxies = replace(config, kind=kinds.PROXIES.name, technique="", settings={})
    ended = replace(record, config=proxies, **changes)
    assert phrases.run_title(proxies) == "Proxies"
    assert phrases.ending(ended) == expected
    said = (
        "16 pairs of a column and a protected attribute looked at; in 3 the column tells the attribute."
        if ended.n_tried == 16
        else None
    )
    assert said in (None, view_of(proxies).so_far(ended))


def test_rule_sets_are_left_by_their_seconds(config: RunConfig, record: RunRecord) -> None:
    rules = replace(config, kind=kinds.RULES.name, technique="", settings={}, budget=Budget(None, 40.0))
    left = figures.what_is_left(replace(record, config=rules, seconds=10.0))
    assert (left.done, left.text) == (0.25, "at most 30 s")


def test_a_cluster_says_who_shared_in_and_what_was_lost() -> None:
    counts = ClusterCounts(n_workers=2, n_done=1_280)
    done = "Cluster: 2 processes, 1\u202f280 blocks done"
    assert phrases.of_cluster(counts) == done
    assert phrases.of_cluster(replace(counts, n_known=40)) == f"{done}, 40 known from a run that broke off"
    assert phrases.of_cluster(counts, are_kept=True) == f"{done}, kept: the same run goes on from there"
    counts = replace(counts, n_unable=1, n_repeated=3, n_set_aside=1, dashboard="http://10.0.0.1:8787/status")
    assert phrases.of_cluster(counts) == (
        "Cluster: 2 processes, 1 could not open the model, 1\u202f280 blocks done, 3 asked again, 1 set aside "
        "· [Dask's page](http://10.0.0.1:8787/status)"
    )
    assert phrases.of_cluster(replace(counts, why="It is away")) == "Cluster: It is away"
