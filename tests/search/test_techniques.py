"""The contract, over all techniques of the registry; a new entry is picked up by itself.

Each technique searches a function of the rows (unless it needs a gradient) and a dense network on the same spaces.
Brute force over small spaces, and an evaluation of every pair that shares no code with the search, are the judges.
"""

from __future__ import annotations

import math
import time
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fairness_engine.clock import BATCH_SECONDS, Clock
from fairness_engine.codec import decode
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SettingError, StopReason
from fairness_engine.events import Event, GroupScored, PairsFound, Progress, ResultReady, Stopped, from_line, to_line
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import prepare_estimator
from fairness_engine.oracle import oracle
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search import driver
from fairness_engine.search.registry import TECHNIQUES, technique_named
from fairness_engine.search.results import ScanCounts
from fairness_engine.search.techniques.data_scan import scan_text
from fairness_engine.settings import settings_of
from handmade import (
    all_individuals,
    biased_score,
    function_model,
    linear_network,
    network_model,
    small_domain,
    small_network,
    small_schema,
    true_keys,
)

pytestmark = pytest.mark.thorough

ALL = sorted(TECHNIQUES)
SETTINGS: dict[str, dict[str, Any]] = {
    "aequitas": {"n_steps": 100},
    "sg": {"n_samples": 100},
    "sg-shared": {"n_samples": 500},
}
"""Settings that keep a technique quick here; what is not named runs with its defaults."""
PATIENCE_SECONDS = 300.0
"""A search that takes longer than this is stuck; it is cancelled, and its test fails."""


def needs_gradient(name: str) -> bool:
    return TECHNIQUES[name].needs_gradient


CASES = [
    pytest.param(name, kind, id=f"{name}-{kind}")
    for name in ALL
    for kind in ("function", "network")
    if kind == "network" or not needs_gradient(name)
]
BLACK_BOX = [name for name in ALL if not needs_gradient(name)]
SAMPLING = [name for name in ALL if name != "data-scan"]


def model_of(kind: str, domain: Domain | None = None, function: Any = biased_score) -> Model:
    return network_model(domain) if kind == "network" else function_model(function)


def run(
    name: str,
    model: Model,
    budget: Budget,
    seed: int = 0,
    domain: Domain | None = None,
    rows: np.ndarray | None = None,
    is_cancelled: Any = None,
    batch_seconds: float = BATCH_SECONDS,
) -> list[Event]:
    """All events of a search from 300 rows of the domain."""
    domain = domain or small_domain()
    starts = domain.sample(300, np.random.default_rng(99)) if rows is None else rows
    technique = TECHNIQUES[name].from_json(SETTINGS.get(name, {}))
    deadline = time.monotonic() + PATIENCE_SECONDS
    is_stuck = is_cancelled or (lambda: time.monotonic() > deadline)
    clock = Clock(is_cancelled=is_stuck, batch_seconds=batch_seconds)
    events = list(driver.run_search(technique, model, domain, starts, budget, seed, clock))
    if is_cancelled is None:
        assert events[-1].reason is not StopReason.CANCELLED, "the search is stuck"
    return events


def pairs_of(events: list[Event]) -> Pairs:
    found = [event.pairs for event in events if isinstance(event, PairsFound)]
    return Pairs.concatenate(found, found[0].first.shape[1] if found else 5)


def stopped(events: list[Event]) -> Stopped:
    """The last event, which is the only one of its kind and agrees with all that was said before it."""
    assert [isinstance(event, Stopped) for event in events].count(True) == 1
    last = events[-1]
    assert isinstance(last, Stopped)
    progress = [event for event in events if isinstance(event, Progress)][-1]
    assert (progress.evaluations, progress.n_tried, progress.n_found) == (last.evaluations, last.n_tried, last.n_found)
    assert last.n_found == len(pairs_of(events)) <= last.n_tried
    return last


def forward(network: DenseNetwork, rows: np.ndarray) -> np.ndarray:
    """Scores of a network, layer by layer in float64."""
    values = rows
    for layer in network.layers:
        values = values @ layer.weights + layer.biases
        if layer.activation is Activation.RELU:
            values = np.maximum(values, 0)
        elif layer.activation is Activation.SIGMOID:
            values = 1 / (1 + np.exp(-values))
        elif layer.activation is Activation.SOFTMAX:
            values = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    return values


def independent_scores(model: Model, rows: np.ndarray) -> np.ndarray:
    """Scores ``(n_rows, n_scores)`` without the code that a search goes through."""
    if isinstance(model.predictor, DenseNetwork):
        return forward(model.predictor, rows)
    function = getattr(model.predictor, "function", None)
    scores = model.scores(rows) if function is None else np.asarray(function(rows), dtype=float)
    return scores.reshape(len(rows), model.predictor.n_scores)


def check_pairs(pairs: Pairs, model: Model, domain: Domain) -> None:
    """Every pair is real, lies in the domain, differs in protected columns only, and nobody is there twice."""
    others = np.setdiff1d(np.arange(domain.n_columns), domain.protected)
    assert np.array_equal(pairs.first[:, others], pairs.second[:, others])
    variants = {tuple(values) for values in domain.variant_values}
    decisions = []
    scores = []
    for rows, shown, decided in (
        (pairs.first, pairs.score_first, pairs.decision_first),
        (pairs.second, pairs.score_second, pairs.decision_second),
    ):
        assert domain.contains(rows).all()
        assert {tuple(values) for values in rows[:, domain.protected]} <= variants
        own = independent_scores(model, rows)
        scores.append(own)
        decisions.append(model.decide(own))
        assert np.allclose(own[:, 0] if model.is_binary else own.max(axis=1), shown, rtol=0, atol=1e-9)
        assert np.array_equal(decisions[-1], decided)
    gap = domain.scope.score_gap
    if gap > 0:
        assert (np.abs(scores[0] - scores[1]).max(axis=1) > gap).all()
    else:
        assert (decisions[0] != decisions[1]).all()
    keys = [int(key) for key in domain.keys(pairs.first)]
    assert len(set(keys)) == len(keys)
    if domain.n_individuals < 20_000:
        assert set(keys) <= true_keys(model, domain)


# --- how a run ends -----------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 2, 7, 100, 2001])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_budget_is_never_exceeded_and_the_last_event_is_the_only_stopped(name: str, kind: str, budget: int) -> None:
    last = stopped(run(name, model_of(kind), Budget(budget)))
    assert last.evaluations <= budget
    assert last.reason in (StopReason.EVALUATIONS, StopReason.EXHAUSTED)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_model_is_asked_for_no_more_rows_than_the_evaluations_and_the_replays(name: str, kind: str) -> None:
    """Beside those, whoever lies near the threshold is asked about once more."""
    model = model_of(kind)
    last = stopped(run(name, model, Budget(3000)))
    assert last.evaluations > 100
    n_again = model.predictor.n_rows_asked - last.evaluations - 2 * (last.n_found + last.n_rejected)
    assert 0 <= n_again <= (30 if model.rounding else 0)


@pytest.mark.parametrize("wanted", [1, 20])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_no_more_are_found_than_wanted(name: str, kind: str, wanted: int) -> None:
    last = stopped(run(name, model_of(kind), Budget(20_000, max_found=wanted)))
    assert last.n_found == wanted
    assert last.reason is StopReason.FOUND


def wide_domain() -> Domain:
    columns = [Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))]
    columns += [Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=99) for i in range(4)]
    return Domain(Schema(columns=tuple(columns)), Scope(("sex",)))


def slow_model(name: str, domain: Domain, seconds_a_row: float) -> Model:
    """Takes its time over every row; half of all people are discriminatory."""
    if needs_gradient(name):
        network = small_network(domain)
        model = network_model(domain, network)
        network.seconds_a_row = seconds_a_row
        return model

    def slow(rows: np.ndarray) -> np.ndarray:
        time.sleep(seconds_a_row * len(rows))
        return np.where((rows[:, 0] == 0) & (rows[:, 1] < 50), 0.1, 0.9)

    return function_model(slow)


@pytest.mark.parametrize("name", ALL)
def test_a_cancelled_search_of_a_slow_model_asks_for_little_more(name: str) -> None:
    """At 20 microseconds a row, what is asked for after the cancel takes less than half a second."""
    seconds_a_row = 2e-5
    rows_before = 30_000
    domain = wide_domain()
    model = slow_model(name, domain, seconds_a_row)
    rows = domain.sample(200_000, np.random.default_rng(1))
    is_cancelled = lambda: model.predictor.n_rows_asked > rows_before  # noqa: E731
    events = run(name, model, Budget(10**8), domain=domain, rows=rows, is_cancelled=is_cancelled)
    last = stopped(events)
    assert last.reason is StopReason.CANCELLED
    assert model.predictor.n_rows_asked < rows_before + 0.5 / seconds_a_row  # replays included
    assert last.n_found > 0


@pytest.mark.parametrize("name", ALL)
def test_a_budget_of_seconds_ends_the_search_of_a_slow_model(name: str) -> None:
    """At 100 microseconds a row, no more rows fit into the seconds and half a second more."""
    seconds_a_row = 1e-4
    max_seconds = 0.4
    domain = wide_domain()
    model = slow_model(name, domain, seconds_a_row)
    rows = domain.sample(20_000, np.random.default_rng(1))
    last = stopped(run(name, model, Budget(None, max_seconds), domain=domain, rows=rows))
    assert last.reason is StopReason.SECONDS
    assert last.seconds >= max_seconds
    assert model.predictor.n_rows_asked < (max_seconds + 0.5) / seconds_a_row


# --- the same again -----------------------------------------------------------------------------


@pytest.fixture
def steady_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report after every step, and a sample at the end only: none follows the machine's speed."""
    monkeypatch.setattr(driver, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(driver, "SAMPLE_SECONDS", math.inf)


def timeless(event: Event) -> str:
    values = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "seconds"}
    if isinstance(event, PairsFound):
        return to_line(event)
    return f"{type(event).__name__} {values}"


@pytest.mark.usefixtures("steady_reports")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_same_seed_gives_the_same_events_and_another_seed_others(name: str, kind: str) -> None:
    first, second, other = (
        run(name, model_of(kind), Budget(3000), seed=seed, batch_seconds=math.inf) for seed in (4, 4, 5)
    )
    assert len(pairs_of(first))
    assert [timeless(event) for event in first] == [timeless(event) for event in second]
    assert [timeless(event) for event in first] != [timeless(event) for event in other]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_same_pairs_whatever_the_size_of_the_blocks(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks follow the model's speed, so a machine that stumbles must not change a result."""
    whole = pairs_of(run(name, model_of(kind), Budget(3000), seed=4))
    monkeypatch.setattr(oracle, "_FIRST_BATCH", 50)
    monkeypatch.setattr(oracle, "_MAX_BATCH", 50)
    parts = pairs_of(run(name, model_of(kind), Budget(3000), seed=4))
    assert len(whole)
    for field in ("first", "second", "score_first", "score_second", "decision_first", "decision_second"):
        assert np.array_equal(getattr(whole, field), getattr(parts, field)), field


@pytest.mark.parametrize("name", ALL)
def test_every_event_survives_its_line(name: str) -> None:
    for event in run(name, model_of("network"), Budget(2000)):
        assert "\n" not in to_line(event)
        back = from_line(to_line(event))
        assert type(back) is type(event)
        assert to_line(back) == to_line(event)


# --- every pair is real -------------------------------------------------------------------------


def continuous_domain() -> Domain:
    schema = small_schema()
    wealth = Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0)
    return Domain(Schema((*schema.columns[:4], wealth), protected=("sex",)), Scope(("sex",)))


def huge_domain() -> Domain:
    """10^60 individuals, far more than a key of 64 bits can tell apart exactly."""
    columns = [small_schema().column("sex"), small_schema().column("job")]
    columns += [Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=99_999) for i in range(12)]
    return Domain(Schema(tuple(columns)), Scope(("sex",)))


BINS = {"age": (21.0, 25.0, 28.0)}
DOMAINS: dict[str, Any] = {
    "one protected": small_domain,
    "three protected": lambda: small_domain(("sex", "job", "age")),
    "every age": lambda: small_domain(("age",)),
    "ages in bins": lambda: small_domain(("age",), bins=BINS),
    "sex and ages in bins": lambda: small_domain(("sex", "age"), bins=BINS),
    "fixed": lambda: small_domain(fixed=("job", "wealth")),
    "limits": lambda: small_domain(limits={"hours": (2.0, 6.0), "wealth": (0.25, 0.75)}),
    "score gap": lambda: small_domain(score_gap=0.15),
    "score gap, three protected": lambda: small_domain(("sex", "job", "age"), score_gap=0.15),
    "one column moves": lambda: small_domain(fixed=("job", "age", "wealth")),
    "continuous": continuous_domain,
    "huge": huge_domain,
}


def half_of_women(rows: np.ndarray) -> np.ndarray:
    """Women in the lower half of the third column are refused."""
    return np.where((rows[:, 0] == 0) & (rows[:, 2] < 50_000), 0.1, 0.9)


@pytest.mark.parametrize("space", DOMAINS)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_pair_is_real(name: str, kind: str, space: str) -> None:
    domain = DOMAINS[space]()
    whole = domain if space == "huge" else small_domain()
    rows = whole.sample(300, np.random.default_rng(7))  # also outside limits, and with ages that are no bin
    model = model_of(kind, domain, half_of_women if space == "huge" else biased_score)
    events = run(name, model, Budget(2000), domain=domain, rows=rows)
    last = stopped(events)
    pairs = pairs_of(events)
    assert last.n_found > 0
    check_pairs(pairs, model, domain)
    if domain.scope.fixed:
        kept = {tuple(values) for values in rows[:, domain.fixed]}
        assert {tuple(values) for values in pairs.first[:, domain.fixed]} <= kept


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_more_than_two_classes(name: str, kind: str) -> None:
    domain = small_domain(("sex", "job"))

    def three(rows: np.ndarray) -> np.ndarray:
        low = biased_score(rows)
        return np.stack([low, 0.1 * rows[:, 1] + 0.45, 1 - low], axis=1)

    model = network_model(domain, small_network(domain, 3)) if kind == "network" else function_model(three, 3)
    pairs = pairs_of(run(name, model, Budget(2000), domain=domain))
    assert len(pairs)
    check_pairs(pairs, model, domain)
    assert len(np.unique(np.concatenate([pairs.decision_first, pairs.decision_second]))) == 3


@pytest.mark.parametrize("name", BLACK_BOX)
def test_a_model_that_gives_labels_only(name: str) -> None:
    model = function_model(lambda rows: (biased_score(rows) > 0.5).astype(float))
    model.predictor.output = Output.LABEL
    pairs = pairs_of(run(name, model, Budget(6000)))
    assert len(pairs)
    check_pairs(pairs, model, small_domain())


@pytest.fixture(scope="module")
def forest() -> Model:
    domain = small_domain()
    rows = domain.sample(600, np.random.default_rng(1))
    estimator = RandomForestClassifier(8, max_depth=6, random_state=0).fit(rows, (biased_score(rows) > 0.5).astype(int))
    prepared = prepare_estimator(estimator)
    predictor, encoder, _ = bind_estimator(prepared, domain.schema)
    return bind(predictor, encoder, domain.schema, own_classes=prepared.classes_)


@pytest.mark.parametrize("name", BLACK_BOX)
def test_a_random_forest(name: str, forest: Model) -> None:
    pairs = pairs_of(run(name, forest, Budget(6000)))
    assert len(pairs)
    check_pairs(pairs, forest, small_domain())


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_without_rows_to_start_from(name: str, kind: str) -> None:
    model = model_of(kind)
    events = run(name, model, Budget(6000), rows=np.empty((0, 5)))
    stopped(events)
    assert (len(pairs_of(events)) > 0) == (name in SAMPLING), "only the data scan has nobody to ask about"
    check_pairs(pairs_of(events), model, small_domain())


# --- models at the edge -------------------------------------------------------------------------


def edge_model(kind: str, weights: tuple[float, ...], bias: float) -> Model:
    """A sigmoid of a weighted sum of the columns, as a network or as a function."""
    network = linear_network(*weights, bias=bias)
    return network_model(None, network) if kind == "network" else function_model(lambda rows: forward(network, rows))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_constant_model_is_searched_without_a_pair_and_without_getting_stuck(name: str, kind: str) -> None:
    last = stopped(run(name, edge_model(kind, (0, 0, 0, 0, 0), 1.0), Budget(10_000)))
    assert last.n_found == 0
    assert last.n_tried > 0


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_model_without_discrimination_yields_no_pair(name: str, kind: str) -> None:
    events = run(name, edge_model(kind, (0, 0.5, 0.3, -0.7, 2.0), -6.0), Budget(3000))
    assert stopped(events).n_found == 0


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_model_with_nothing_but_discrimination_is_searched_to_the_end(name: str, kind: str) -> None:
    last = stopped(run(name, edge_model(kind, (8.0, 0, 0, 0, 0), -4.0), Budget(10**6)))
    assert last.n_found == last.n_tried > 0
    assert last.reason is StopReason.EXHAUSTED


# --- what a technique says of itself ------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_technique_says_what_it_is(name: str) -> None:
    technique = technique_named(name)
    assert technique.name == name
    assert technique.title and technique.summary and technique.reference  # noqa: PT018 - one claim: all are there
    for info in settings_of(technique):
        assert info.help
        assert info.read(str(info.default)) == info.default


def test_random_reports_the_group_score_of_themis() -> None:
    model = function_model(biased_score)
    domain = small_domain()
    scored = [e for e in run("random", model, Budget(10**6)) if isinstance(e, GroupScored)]
    assert len(scored) == 1
    rows = all_individuals(domain)
    shares = [
        float((model.scores(domain.with_variant(rows, np.full(len(rows), v)))[:, 0] > 0.5).mean()) for v in (0, 1)
    ]
    assert scored[0].shares == pytest.approx(shares)
    assert scored[0].score == pytest.approx(max(shares) - min(shares))
    assert scored[0].groups == ("F", "M")


def test_the_data_scan_tests_every_row_of_the_data_once() -> None:
    events = run("data-scan", function_model(biased_score), Budget(10**6))
    rows = small_domain().sample(300, np.random.default_rng(99))
    assert events[-1].n_tried == len(np.unique(small_domain().keys(rows)))


@pytest.mark.parametrize(("max_evaluations", "batch"), [(10**6, 4096), (101, 4096), (101, 7), (200, 100)])
def test_the_data_scan_says_how_many_people_it_tested(max_evaluations: int, batch: int) -> None:
    """It ended with "the budget is spent" and said nowhere how many of the data's people that were."""
    domain = small_domain()
    rows = small_domain().sample(300, np.random.default_rng(99))
    scan = TECHNIQUES["data-scan"](batch=batch)
    events = list(driver.run_search(scan, function_model(biased_score), domain, rows, Budget(max_evaluations), 5))
    (said,) = [event.content for event in events if isinstance(event, ResultReady) and event.name == "scan"]
    order = np.random.default_rng(np.random.SeedSequence(5)).permutation(len(rows))
    keys = domain.keys(rows[order])
    is_tested = np.isin(keys, list(dict.fromkeys(keys.tolist()))[: max_evaluations // domain.n_variants])
    expected = int(np.argmin(is_tested)) if not is_tested.all() else len(rows)  # of those behind only twins were
    assert decode(ScanCounts, said) == ScanCounts(expected, 300)
    assert (expected == 300) is (events[-1].reason is StopReason.EXHAUSTED)


@pytest.mark.parametrize("technique", ["random", "data-scan", "maft", "directed", "sg", "aequitas"])
@pytest.mark.parametrize("max_found", [1, 9])
def test_the_share_found_does_not_hang_on_how_many_are_tested_at_once(technique: str, max_found: int) -> None:
    """Of a batch with 99 finds 20 were wanted, and counted among all 512 who were tested."""
    domain = small_domain()
    rows = domain.sample(300, np.random.default_rng(99))
    model = function_model(biased_score)
    found = list(driver.run_search(TECHNIQUES[technique](), model, domain, rows, Budget(max_found=max_found), 5))
    end = found[-1]
    assert isinstance(end, Stopped)
    pairs = pairs_of(found)
    assert (end.n_found, len(pairs), end.reason) == (max_found, max_found, StopReason.FOUND)
    assert end.evaluations == pairs.evaluation[-1]
    whole = list(driver.run_search(TECHNIQUES[technique](), model, domain, rows, Budget(end.evaluations), 5))[-1]
    assert isinstance(whole, Stopped)
    if technique in ("random", "data-scan"):
        assert (end.n_tried, end.n_found) == (whole.n_tried, whole.n_found)
        assert end.evaluations == end.n_tried * domain.n_variants


def test_a_scan_in_words() -> None:
    whole = ScanCounts(18309, 18309)
    assert scan_text(whole) == "Tested 18,309 of 18,309 people of the data."
    cut = scan_text(replace(whole, n_tested=1041, n_dropped=805, n_outside=3))
    assert "Tested 1,041 of 18,309 people of the data. Nothing is known of the other 17,268" in cut
    assert "805 hold a missing or unknown value, 3 lie outside the limits of the scope." in cut


def test_start_rows_outside_the_domain_are_left_out() -> None:
    domain = small_domain(limits={"hours": (0.0, 4.0)})
    rows = small_domain().sample(400, np.random.default_rng(99))
    events = list(driver.run_search(TECHNIQUES["data-scan"](), function_model(biased_score), domain, rows, Budget(), 0))
    pairs = pairs_of(events)
    assert len(pairs)
    assert pairs.first[:, 3].max() <= 4


def test_settings_are_read_and_refused_in_a_sentence() -> None:
    aequitas = technique_named("aequitas")
    made = aequitas.from_json({"strategy": "random", "n_steps": "50", "step_direction": "0.5"})
    assert (made.strategy, made.n_steps, made.step_direction) == ("random", 50, 0.5)
    for values, message in (
        ({"speed": 1}, "no setting 'speed'"),
        ({"strategy": "best"}, "one of 'random'"),
        ({"n_steps": "many"}, "whole number"),
        ({"n_steps": 2.5}, "whole number"),
        ({"n_steps": 0}, "from 1 to"),
        ({"floor": "nan"}, "must be a number"),
        ({"step_direction": 3}, "from 0"),
    ):
        with pytest.raises(SettingError, match=message):
            aequitas.from_json(values)
    with pytest.raises(SettingError, match="must be one of"):
        technique_named("best")
