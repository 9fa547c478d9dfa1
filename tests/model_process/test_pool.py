"""The evaluator: small questions from several threads to kept processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.arrays import pack_array
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.errors import ModelError, ProcessError, RunError, SettingError
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.questions import (
    Decisions,
    Fit,
    Held,
    InspectBox,
    Scores,
    Simplify,
    Summary,
    WhyNotCertifiable,
)
from fairness_engine.model_process.sandbox.walls import PROTECTIONS
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.store.alive import process_start_time
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from proof_events import census_space
from worker_cases import ROOT, census_config, model_processes, wait_for

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def evaluator(store: RunStore) -> Iterator[Evaluator]:
    evaluator = Evaluator(store)
    yield evaluator
    evaluator.close()


@pytest.fixture
def config(store: RunStore) -> RunConfig:
    return census_config(store)


def some_rows(config: RunConfig, n: int = 50) -> np.ndarray:
    return Domain(config.schema, config.scope).sample(n, np.random.default_rng(0))


def ask(evaluator: Evaluator, config: RunConfig, n: int = 50) -> tuple[np.ndarray, np.ndarray]:
    return evaluator.ask(config, Scores(some_rows(config, n)))


def test_scores_are_the_models_own_from_one_kept_process(evaluator: Evaluator, config: RunConfig) -> None:
    scores, decisions = ask(evaluator, config)
    assert scores.shape == (50, 1)
    assert np.array_equal(decisions, (scores[:, 0] > 0.5).astype(int))
    again, _ = ask(evaluator, config)
    assert np.array_equal(scores, again)
    assert evaluator.n_open == 1
    assert set(evaluator.protections) <= set(PROTECTIONS)
    one, _ = evaluator.ask(config, Scores(some_rows(config)[0]))
    assert one.shape == (1, 1)


def test_many_rows_go_in_several_messages(
    evaluator: Evaluator, config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = ask(evaluator, config, 50)
    monkeypatch.setattr("fairness_engine.model_process.questions.MAX_EVENT_BYTES", 1000)
    parts, decisions = ask(evaluator, config, 50)
    assert np.allclose(whole, parts, atol=1e-12)
    assert decisions.shape == (50,)


def test_the_fit_card_and_the_summary(evaluator: Evaluator, config: RunConfig) -> None:
    card = evaluator.ask(Held(config.data_id, config.model_id, config.schema), Fit())
    assert 0.5 < card.accuracy <= 1
    assert evaluator.ask(Held(config.data_id, config.model_id, config.schema), Summary())["n_rows"] == 5000


def test_a_pair_becomes_plainer(evaluator: Evaluator, config: RunConfig) -> None:
    domain = Domain(config.schema, config.scope)
    rows = domain.sample(5000, np.random.default_rng(1))
    variants = domain.variants(rows)
    key = (config.data_id, config.model_id, config.schema, config.scope)
    _, decisions = evaluator.ask(Held(*key), Scores(variants.reshape(-1, domain.n_columns)))
    found = np.flatnonzero(decisions.reshape(-1, 2)[:, 0] != decisions.reshape(-1, 2)[:, 1])[0]
    first = variants[found, :1]
    second = variants[found, 1:]
    zeros = np.zeros(1)
    codes = decisions.reshape(-1, 2)[found]
    pair = Pairs(first, second, zeros, zeros, codes[:1], codes[1:], np.zeros(1, np.int64))
    plain = evaluator.ask(Held(*key), Simplify(pair))
    assert plain.decision_first[0] != plain.decision_second[0]
    same = replace(pair, second=pair.first)
    with pytest.raises(RunError):
        evaluator.ask(Held(*key), Simplify(same))


def test_bad_input_is_raised_in_its_own_class_and_leaves_no_process(
    evaluator: Evaluator, store: RunStore, config: RunConfig
) -> None:
    model = store.add_file(b"this is no model", "model.keras", FileRole.MODEL)
    with pytest.raises(ModelError):
        evaluator.ask(Held(config.data_id, model.id, config.schema), Fit())
    assert evaluator.n_open == 0
    with pytest.raises(RunError, match="must have 9 columns, got 2"):
        evaluator.ask(config, Scores(np.zeros((3, 2))))
    assert not list((store.workspace / "scratch").glob("*/*"))


@NEEDS_PROC
def test_a_killed_process_is_started_again(evaluator: Evaluator, store: RunStore, config: RunConfig) -> None:
    before, _ = ask(evaluator, config)
    (child,) = model_processes(store.workspace)
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: not model_processes(store.workspace))
    after, _ = ask(evaluator, config)
    assert np.array_equal(before, after)


@NEEDS_PROC
def test_a_process_outlives_the_thread_that_started_it_but_not_its_idle_time(
    store: RunStore, config: RunConfig
) -> None:
    evaluator = Evaluator(store, idle_seconds=0.4)
    asking = threading.Thread(target=ask, args=(evaluator, config))
    asking.start()
    asking.join()
    assert len(model_processes(store.workspace)) == 1
    wait_for(lambda: evaluator.n_open == 0 and not model_processes(store.workspace))
    ask(evaluator, config)
    evaluator.close()
    assert not model_processes(store.workspace)
    with pytest.raises(RunError, match="was closed"):
        ask(evaluator, config)


def killed_page(store: RunStore, asks: str, says: list[bytes], signals: list[int], **environment: str) -> int:
    """The model's process of a program that asks something, says so, and is killed then.

    Args:
        asks: the lines of the program.
        says: the lines that it prints before it waits.
        signals: that its model's process gets first.
        environment: of the program, beside this one's.
    """
    program = (
        "import sys, threading; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from worker_cases import census_config; from fairness_engine.model_process.pool import Evaluator\n"
        "from fairness_engine.model_process.questions import Summary\n"
        "from fairness_engine.store.store import RunStore\n"
        "store = RunStore(Path(sys.argv[1])); config = census_config(store); evaluator = Evaluator(store)\n"
        f"{asks}; input()\n"
    )
    folder = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", program, str(store.workspace), str(folder)]
    told = {**os.environ, **environment}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder.parent, env=told) as page:
        assert page.stdout is not None
        assert [page.stdout.readline() for _ in says] == says
        (child,) = model_processes(store.workspace, page.pid)
        for number in signals:
            os.kill(child, number)
        page.kill()
    return child


@NEEDS_PROC
def test_a_process_ends_when_its_program_is_killed(store: RunStore) -> None:
    child = killed_page(store, "evaluator.ask(config, Summary())\nprint('open', flush=True)", [b"open\n"], [])
    wait_for(lambda: process_start_time(child) is None)


@pytest.mark.thorough
@NEEDS_PROC
def test_a_process_that_does_not_leave_by_itself_ends_with_its_program_too(store: RunStore) -> None:
    """One that was started as a new interpreter, by a thread that has ended."""
    asks = (
        "for _ in range(2):\n"
        "    asks = threading.Thread(target=lambda: print(evaluator.ask(config, Summary()) is not None, flush=True))\n"
        "    asks.start(); asks.join()\n"
        "print(evaluator.protections['ends_with_parent'], flush=True)"
    )
    child = killed_page(store, asks, [b"True\n"] * 3, [signal.SIGSTOP], EVENHAND_NO_FORK="1")
    wait_for(lambda: process_start_time(child) is None)


@NEEDS_PROC
def test_no_more_than_so_many_processes_are_kept(store: RunStore, config: RunConfig) -> None:
    evaluator = Evaluator(store, max_open=2)
    for threshold in (0.3, 0.4, 0.5):
        ask(evaluator, replace(config, scope=Scope(("sex",), threshold=threshold)))
    assert evaluator.n_open == len(model_processes(store.workspace)) == 2
    evaluator.close()


def test_threads_share_a_process(evaluator: Evaluator, config: RunConfig) -> None:
    outcomes: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: outcomes.append(ask(evaluator, config)[0])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6
    assert all(np.array_equal(outcomes[0], other) for other in outcomes)
    assert evaluator.n_open == 1


def test_no_answer_in_time_ends_the_process(
    evaluator: Evaluator, config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairness_engine.model_process.pool.LOAD_SECONDS", 0.001)
    with pytest.raises(ProcessError, match="gave no answer within"):
        ask(evaluator, config)
    assert evaluator.n_open == 0


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"scores": 3, "decisions": 4},
        {"scores": pack_array(np.zeros(2)), "decisions": pack_array(np.zeros(2, np.int64))},
        {"scores": pack_array(np.zeros((3, 1))), "decisions": pack_array(np.zeros(2, np.int64))},
        {"scores": pack_array(np.full((2, 1), np.nan)), "decisions": pack_array(np.zeros(2, np.int64))},
        {"scores": pack_array(np.zeros((2, 1))), "decisions": pack_array(np.zeros(2))},
    ],
)
def test_scores_that_cannot_be_are_refused(reply: dict[str, object], config: RunConfig) -> None:
    with pytest.raises(ProcessError, match="broke its protocol"):
        Scores(np.zeros((2, 9))).answer(reply, config)


def test_a_long_log_is_begun_afresh(store: RunStore, config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairness_engine.model_process.pool.MAX_LOG_BYTES", 5)
    (store.workspace / "evaluator.log").write_text("0123456789")
    evaluator = Evaluator(store)
    ask(evaluator, config)
    evaluator.close()
    assert not (store.workspace / "evaluator.log").read_text().startswith("0123456789")


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"least": 3, "most": 4},
        {"least": pack_array(np.zeros(2)), "most": pack_array(np.zeros(2))},
        {"least": pack_array(np.zeros(3, np.int64)), "most": pack_array(np.zeros(2, np.int64))},
    ],
)
def test_decisions_that_cannot_be_are_refused(reply: dict[str, object], config: RunConfig) -> None:
    with pytest.raises(ProcessError, match="broke its protocol"):
        Decisions(np.zeros((2, 9))).answer(reply, config)


def test_decisions_of_all_variants(evaluator: Evaluator, config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(config, 300)
    domain = Domain(config.schema, config.scope)
    key = (config.data_id, config.model_id, config.schema, config.scope)
    _, decisions = evaluator.ask(Held(*key), Scores(domain.variants(rows).reshape(-1, domain.n_columns)))
    monkeypatch.setattr("fairness_engine.model_process.questions.MAX_EVENT_BYTES", 10_000)
    least, most = evaluator.ask(Held(*key), Decisions(rows))
    assert np.array_equal(least, decisions.reshape(300, -1).min(axis=1))
    assert np.array_equal(most, decisions.reshape(300, -1).max(axis=1))
    assert (least < most).any()
    assert all(len(part) == 0 for part in evaluator.ask(Held(*key), Decisions(rows[:0])))


def test_a_box_is_told_from_the_models_process(evaluator: Evaluator, config: RunConfig) -> None:
    key = (config.data_id, config.model_id, config.schema, config.scope)
    space = census_space()
    low, high = (ends[0] for ends in space.whole())
    box = evaluator.ask(Held(*key), InspectBox(CertifySettings(), low, high))
    assert (box.weight, box.n_people, box.n_points) == (1.0, 5000, space.total)
    assert len(box.counterexample) == 1
    assert "The box is mixed" in box.reasons[0]
    small = evaluator.ask(Held(*key), InspectBox(CertifySettings(mode="classic"), low, low))
    assert (small.is_evaluated, small.n_drawn) == (True, 1)
    with pytest.raises(SettingError, match="inside the space"):
        evaluator.ask(Held(*key), InspectBox(CertifySettings(), low, high + 1))
    assert evaluator.n_open == 1


def test_a_box_is_asked_of_a_process_that_has_the_compiled_loops(evaluator: Evaluator, config: RunConfig) -> None:
    low, high = (ends[0] for ends in census_space().whole())
    asked = (config.data_id, config.model_id, config.schema, config.scope)
    question = InspectBox(CertifySettings(), low, high)

    def process() -> ModelProcess:
        (opened,) = evaluator._opened.values()
        assert opened.process is not None
        return opened.process

    ask(evaluator, config)
    first = process()
    first.loops = frozenset({Loops.MODELS})  # as if it had been started before they were compiled
    ask(evaluator, config)
    assert process() is first, "scores need none of them"
    evaluator.ask(Held(*asked), question)
    second = process()
    assert second is not first
    evaluator.ask(Held(*asked), question)
    assert process() is second


def test_whether_a_model_can_be_certified(evaluator: Evaluator, config: RunConfig, store: RunStore) -> None:
    assert evaluator.ask(config, WhyNotCertifiable()) is None
    fixed = replace(config.scope, fixed=("age",))
    reason = evaluator.ask(Held(config.data_id, config.model_id, config.schema, fixed), WhyNotCertifiable())
    assert "age must not vary" in (reason or "")
    svm = ROOT / "sample_models" / "census_income_svm.skops"
    model = store.add_file(svm, svm.name, FileRole.MODEL)
    reason = evaluator.ask(Held(config.data_id, model.id, config.schema, config.scope), WhyNotCertifiable())
    assert "cannot be certified" in (reason or "")


def test_a_program_with_thousands_of_open_files_is_answered(evaluator: Evaluator, config: RunConfig) -> None:
    """As a server of many sessions has them; its soft limit is what the machine gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("this machine allows no thousands of open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert len(ask(evaluator, config)[0]) == 50
    finally:
        for file in held:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
