"""A certification from end to end: what it says, in which order, and what ends it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import numpy as np
import pytest

from certification.refinement_cases import OpenAssessor, large_domain, threshold_model
from fairness_engine.certification import driver as run
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.partition import refine_kernels
from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.validation import read_certificates, read_tree_arrays
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import ModelError, SettingError, StopReason
from fairness_engine.events import (
    Event,
    PairsFound,
    Progress,
    ResultReady,
    SharesProved,
    Stopped,
    TreeReady,
    from_line,
    to_line,
)
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain, Scope
from handmade import function_model, linear_network, network_model, small_domain, small_network
from result_lies import is_possible


def certified(
    model: Model, domain: Domain, settings: CertifySettings | None = None, max_seconds: float = 60.0, seed: int = 0
) -> tuple[dict, list[Event]]:
    rows = domain.sample(300, np.random.default_rng(9))
    events = list(run_certification(model, domain, rows, settings or CertifySettings(), seed, Clock(max_seconds)))
    return result_of(events), events


def result_of(events: list[Event]) -> dict:
    (result,) = [event.content for event in events if isinstance(event, ResultReady)]
    return result


def exact_share(model: Model, domain: Domain) -> float:
    (result,) = [event.content for event in run_exact(model, domain) if isinstance(event, ResultReady)]
    return result["share"]


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine what follows refinement may not be done in its time; here it takes what it takes."""
    for name in ("_DRAW_SECONDS", "_PAIR_SECONDS", "_LOOK_UP_SECONDS", "_EXPLAIN_SECONDS"):
        monkeypatch.setattr(run, name, 60.0)


@pytest.mark.parametrize("protected", [("sex",), ("sex", "job"), ("age",)])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_small_space_is_decided_exactly(protected: tuple[str, ...], mode: Mode) -> None:
    domain = small_domain(protected)
    model = network_model(domain, small_network(domain, seed=2))
    settings = CertifySettings(mode=mode, check_depth=1000, max_depth=1000)
    result, events = certified(model, domain, settings)
    share = exact_share(model, domain)
    assert result["falsified"] == pytest.approx(share, abs=1e-12)
    assert result["certified"] == pytest.approx(1 - share, abs=1e-12)
    assert (result["undecided"], result["n_open"], result["estimate"]) == (0.0, 0, None)
    assert result["data_rows"]["undecided"] == 0
    assert isinstance(events[-1], Stopped)
    assert events[-1].reason is StopReason.EXHAUSTED


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("weights", list(Weights))
@pytest.mark.parametrize("mode", list(Mode))
def test_events_come_in_order_and_stand_up_to_every_check(weights: Weights, mode: Mode) -> None:
    domain = small_domain()
    model = network_model(domain)
    settings = CertifySettings(mode, weights, max_boxes=9, check_depth=2, max_depth=3, n_samples=500)
    result, events = certified(model, domain, settings)
    kinds = [type(event) for event in events]
    assert kinds[:2] == [SharesProved, Progress]
    assert kinds[-6:] == [PairsFound, SharesProved, Progress, ResultReady, TreeReady, Stopped]
    assert is_possible("certification", result)
    assert [to_line(from_line(to_line(event))) for event in events] == [to_line(event) for event in events]
    proved, found = (
        next(event for event in events[::-1] if isinstance(event, kind)) for kind in (SharesProved, PairsFound)
    )
    assert (proved.certified, proved.falsified) == (result["certified"], result["falsified"])
    assert proved.n_boxes == result["boxes"] == events[-1].evaluations
    assert len(found.pairs) == result["n_counterexamples"] == events[-1].n_found
    tree = next(event for event in events if isinstance(event, TreeReady))
    partition = read_tree_arrays(tree.arrays)
    read_certificates(tree.certificates, partition)
    assert len(partition) == result["boxes"] == 2 * result["n_leaves"] - 1
    assert partition.certified[0] == pytest.approx(result["certified"])
    assert partition.n_people[0] == result["data_rows"]["n"] == 300
    estimate = result["estimate"]
    assert 500 <= estimate["n"] <= 500 * 50
    of_draws = estimate["n_unfair"] / estimate["n"] * estimate["drawn_from"] - estimate["falsified_there"]
    assert estimate["unfair_share_of_undecided"] == pytest.approx(min(1, max(0, of_draws / result["undecided"])))
    assert estimate["low"] <= estimate["unfair_share_of_undecided"] <= estimate["high"]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("mode", list(Mode))
def test_the_same_seed_says_the_same(mode: Mode) -> None:
    domain = small_domain()
    model = network_model(domain)
    settings = CertifySettings(mode, max_boxes=21, check_depth=1, n_samples=300)
    first, second, other = (certified(model, domain, settings, seed=seed)[0] for seed in (1, 1, 2))
    seconds = [each.pop("seconds") for each in (first, second, other)]
    assert min(seconds) > 0
    assert first == second
    if mode is Mode.COUNTING:
        assert (first["certified"], first["falsified"]) == (other["certified"], other["falsified"])
        assert first["estimate"] != other["estimate"]


def test_it_ends_at_its_target_and_no_later() -> None:
    domain = small_domain()
    model = network_model(domain)
    result, events = certified(model, domain, CertifySettings(target=0.5))
    further, _ = certified(model, domain, CertifySettings())
    assert 0 < result["undecided"] <= 0.5
    assert result["n_open"] > 0
    assert further["undecided"] == further["n_open"] == 0
    assert events[-1].reason is StopReason.EXHAUSTED


@pytest.mark.parametrize("max_boxes", [1, 2, 3, 10, 11])
def test_it_ends_at_its_last_box(max_boxes: int) -> None:
    domain = small_domain()
    result, events = certified(network_model(domain), domain, CertifySettings(max_boxes=max_boxes))
    assert result["boxes"] == max_boxes - 1 + max_boxes % 2
    assert events[-1].reason is StopReason.EVALUATIONS


def endless(monkeypatch: pytest.MonkeyPatch, seconds_a_box: float = 0.0) -> tuple[Model, Domain]:
    """A model and a domain that nothing is ever proved of."""

    class Slow(OpenAssessor):
        def assess(self, low, high):
            time.sleep(seconds_a_box * len(low))
            return super().assess(low, high)

    monkeypatch.setattr(run, "make_assessor", lambda model, space, mode: Slow(space))
    return threshold_model(), large_domain()


@pytest.mark.parametrize("seconds_a_box", [0.0, 0.001, 0.05])
def test_it_ends_when_it_is_cancelled_or_its_time_is_up(monkeypatch: pytest.MonkeyPatch, seconds_a_box: float) -> None:
    model, domain = endless(monkeypatch, seconds_a_box)
    asked = iter([False] * 5 + [True])
    events = list(
        run_certification(
            model, domain, np.empty((0, 4)), CertifySettings(), 0, Clock(is_cancelled=lambda: next(asked))
        )
    )
    assert events[-1].reason is StopReason.CANCELLED
    assert result_of(events)["estimate"] is None
    assert result_of(events)["n_open"] > 0
    _, events = certified(model, domain, max_seconds=0.2)
    assert events[-1].reason is StopReason.SECONDS
    assert events[-1].seconds >= 0.2


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("n_more", [0, 5])
def test_a_cancel_is_heard_while_the_undecided_are_estimated(n_more: int) -> None:
    domain = small_domain()
    settings = CertifySettings(max_boxes=9, n_samples=100_000)
    n_asked: int | None = None  # since the estimate began

    def is_cancelled() -> bool:
        nonlocal n_asked
        n_asked = None if n_asked is None else n_asked + 1
        return n_asked is not None and n_asked > n_more

    events = []
    rows = domain.sample(300, np.random.default_rng(9))
    for event in run_certification(network_model(domain), domain, rows, settings, 0, Clock(is_cancelled=is_cancelled)):
        events.append(event)
        if isinstance(event, Progress) and event.phase == "estimating what is undecided":
            n_asked = 0
    estimate = result_of(events)["estimate"]
    assert (estimate is not None and 0 < estimate["n"] < settings.n_samples) or not n_more
    assert [type(event) for event in events[-3:]] == [ResultReady, TreeReady, Stopped]
    assert events[-1].reason is StopReason.EVALUATIONS, "refinement had ended by itself"


@pytest.mark.thorough
def test_work_of_fifty_milliseconds_a_box_is_ended_between_a_few_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    n_asked = 0

    def is_cancelled() -> bool:
        nonlocal n_asked
        n_asked += 1
        return False

    model, domain = endless(monkeypatch, 0.05)
    settings = CertifySettings(max_boxes=101)
    events = list(run_certification(model, domain, np.empty((0, 4)), settings, 0, Clock(is_cancelled=is_cancelled)))
    assert events[-1].reason is StopReason.EVALUATIONS
    assert n_asked > 8  # the first wave is a guess of thirty splits or so a thread, the others know better


def test_it_ends_before_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    model, domain = endless(monkeypatch)
    monkeypatch.setattr(refine_kernels, "MAX_BYTES", 3_000_000)
    result, events = certified(model, domain)
    assert events[-1].reason is StopReason.MEMORY
    assert result["boxes"] > 100
    assert result["undecided"] == pytest.approx(1.0)


def test_shares_are_told_four_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    model, domain = endless(monkeypatch)
    _, events = certified(model, domain, max_seconds=0.6)
    told = [event for event in events if isinstance(event, SharesProved)]
    assert 2 <= len(told) <= 0.6 * 4 + 2
    seconds = [event.seconds for event in told]
    assert all(later - earlier >= 0.25 for earlier, later in itertools.pairwise(seconds[:-1]))
    assert [event.n_boxes for event in told] == sorted(event.n_boxes for event in told)


def test_a_model_blind_to_the_protected_attribute_is_certified_at_once_whatever_it_is() -> None:
    domain = small_domain()
    model = function_model(lambda rows: rows[:, 4])
    model.predictor.names = ("age", "wealth")
    result, events = certified(model, domain)
    assert (result["certified"], result["undecided"], result["boxes"]) == (1.0, 0.0, 1)
    assert result["is_by_construction"]
    assert "sex" in result["method"]
    assert result["data_rows"] == {"n": 300, "certified": 300, "falsified": 0, "undecided": 0}
    assert is_possible("certification", result)
    tree = next(event for event in events if isinstance(event, TreeReady))
    assert len(read_tree_arrays(tree.arrays)) == 1
    assert events[-1].reason is StopReason.EXHAUSTED


@pytest.mark.parametrize("bias", [-0.5, 5.0])
@pytest.mark.parametrize("mode", list(Mode))
def test_one_individual_is_evaluated(bias: float, mode: Mode) -> None:
    sex = Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))
    for others in ((), (Column("year", Kind.INTEGER, minimum=1994, maximum=1994),)):
        domain = Domain(Schema((sex, *others), label="y", protected=("sex",)), Scope(("sex",)))
        model = network_model(domain, linear_network(1.0, *(0.0 for _ in others), bias=bias))
        result, events = certified(model, domain, CertifySettings(mode=mode))
        assert result["n_individuals"] == result["boxes"] == 1
        assert (result["certified"], result["falsified"]) == ((1.0, 0.0) if bias > 0 else (0.0, 1.0))
        assert len([event for event in events if isinstance(event, PairsFound)]) == (bias < 0)
        tree = next(event for event in events if isinstance(event, TreeReady))
        PartitionTree.from_arrays(tree.arrays)


def test_what_cannot_be_certified_is_refused_before_anything_is_said() -> None:
    domain = small_domain()
    with pytest.raises(ModelError, match="cannot be certified"):
        next(_events(function_model(lambda rows: rows[:, 0] / 2 + 0.2), domain))
    gap = small_domain(score_gap=0.1)
    with pytest.raises(SettingError, match="score gap"):
        next(_events(network_model(gap), gap))


def _events(model: Model, domain: Domain) -> Iterator[Event]:
    return run_certification(model, domain, np.empty((0, domain.n_columns)), CertifySettings(), 0)


def test_what_follows_takes_no_longer_than_the_time_that_was_given_or_some_seconds() -> None:
    """Refinement that ended by itself after a third of a second left half a minute of drawing to who had asked for ten
    seconds.
    """
    from fairness_engine.certification import driver as run
    from fairness_engine.errors import StopReason

    ended = run._End(StopReason.EXHAUSTED, None, 0.3)  # type: ignore[arg-type]
    assert run._patience(ended, 10.0) * run._WORTH_SECONDS <= 20.0
    assert run._patience(ended, 600.0) == run._patience(ended, float("inf")) == run._PATIENCE
