"""A certification's run in the store: what is kept of its proofs, and what is not believed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.certification.partition.partition_tree import PartitionTree, write_tree
from fairness_engine.certification.partition.validation import (
    check_space,
    read_certificates,
    read_tree_arrays,
    space_to_json,
    stored_certificates,
)
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.errors import ProcessError, RunError, SettingError
from fairness_engine.events import SharesProved, TreeReady
from fairness_engine.model_process.server import split
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds, worker
from fairness_engine.runs.writers import proofs
from fairness_engine.runs.writers.proofs import MAX_TRACE_POINTS, ProofsWriter, Trace, stored_tree, stored_tree_file
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from proof_events import CERTIFICATION, census_space, certificate_arrays, tree_arrays, tree_ready
from result_lies import is_possible
from worker_cases import ROOT, census_config, lying_run, put_in_the_lying_child

CERTIFY = {"kind": kinds.CERTIFY.name, "technique": "", "budget": Budget(None, 5.0)}


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "workspace")


def work(store: RunStore, mode: str) -> RunRecord:
    run_id = lying_run(store, f"proof: {mode}", **CERTIFY)
    worker.work(store, run_id, lambda: False)
    return store.run(run_id)


# --- settings -----------------------------------------------------------------------------------


def test_settings_are_whole_checked_and_come_back(store: RunStore) -> None:
    config = census_config(store, **CERTIFY, settings={"mode": "classic", "max_depth": 12})
    assert config.settings == CertifySettings(mode="classic", max_depth=12).to_json()
    assert RunConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("settings", [{"mode": "quick"}, {"depth": 3}, {"target": 2.0}, {"max_boxes": -1}])
def test_settings_that_cannot_be_are_refused_before_the_run(store: RunStore, settings: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        census_config(store, **CERTIFY, settings=settings)


# --- what is not believed -----------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("shares above one", "shares that cannot be"),
        ("shares of text", "a line that is no event"),
        ("more open than there are", "shares that cannot be"),
        ("time runs backwards", "shares that run backwards"),
        ("tree without a column", "a partition tree that cannot be"),
        ("tree of loops", "a partition tree that cannot be"),
        ("tree in numbers with a point", "cannot be (types)"),
        ("tree of leaves", "a partition tree that cannot be"),
        ("tree that weighs more", "cannot be (weights)"),
        ("tree proved beyond its weight", "a partition tree that cannot be"),
        ("tree with other names", "a partition tree that cannot be"),
        ("tree of another space", "cannot be (digits of a column)"),
        ("tree of nobody", "a partition tree that cannot be"),
        ("space of other columns", "cannot be (columns of the space)"),
        ("space of other values", "cannot be (values of a column)"),
        ("space of text", "cannot be (length of the space)"),
        ("certificates of inner boxes", "cannot be (leaves of certificates)"),
        ("certificates of nothing", "cannot be (leaves of certificates)"),
        ("certificates without numbers", "cannot be (numbers of certificates)"),
        ("certificates of another shape", "cannot be (shapes of certificates)"),
        ("certificates with other places", "cannot be (places of certificates)"),
        ("two trees", "a second partition tree"),
        ("certification that does not add up", "a result that cannot be (certification)"),
        ("count in a certification", "a result that nobody asked for"),
    ],
)
def test_proofs_that_cannot_be_end_the_run_as_crashed(
    store: RunStore, mode: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_the_lying_child(monkeypatch)
    run = work(store, mode)
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")


def test_a_crashed_certification_keeps_what_was_proved_and_its_tree(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_the_lying_child(monkeypatch)
    run = work(store, "proves and dies")
    assert run.state is RunState.CRASHED
    assert "killed" in (run.message or "")
    results = store.results(run.id)
    assert results["proved"] == {
        "seconds": 249.9,
        "certified": 0.2499,
        "falsified": 0.02499,
        "n_boxes": 24990,
        "n_open": 2499,
    }
    trace = results["trace"]
    assert trace[0] == [0.0, 0.0, 0.0, 1.0, 0]
    assert trace[-1] == [249.9, 0.2499, 0.02499, pytest.approx(0.72511), 24990]
    assert 500 <= len(trace) <= MAX_TRACE_POINTS
    assert trace == sorted(trace)
    tree, space = stored_tree(store, run.id)
    assert len(tree) == 3
    assert space == space_to_json(census_space())
    assert stored_tree_file(store, run.id) == store.run_folder(run.id) / "tree.npz"


def test_a_run_without_a_tree_says_so(store: RunStore) -> None:
    run_id = store.create_run(census_config(store, **CERTIFY))
    assert stored_tree_file(store, run_id) is None
    with pytest.raises(RunError, match="no partition tree"):
        stored_tree(store, run_id)


def test_a_damaged_tree_is_a_sentence(store: RunStore) -> None:
    run_id = store.create_run(census_config(store, **CERTIFY))
    store.run_folder(run_id).mkdir(parents=True)
    path = store.run_folder(run_id) / "tree.npz"
    path.write_bytes(b"PK no tree")
    with pytest.raises(RunError, match="damaged"):
        stored_tree(store, run_id)
    with pytest.raises(RunError, match="damaged"):
        stored_certificates(path, PartitionTree.from_arrays(tree_arrays()))


def test_a_full_disk_is_a_sentence(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(proofs, "write_tree", full)
    config = census_config(store, **CERTIFY)
    with pytest.raises(RunError, match="cannot be written to the workspace: No space left on device"):
        ProofsWriter(store, store.create_run(config), config).keep_tree(tree_ready())


# --- trace --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 999, 1000, 1001, 12_345])
def test_a_trace_of_any_length_is_even_and_keeps_its_ends(n: int) -> None:
    trace = Trace()
    for i in range(n):
        trace.add([float(i), 0.0, 0.0, 1.0, i])
    kept = [int(point[0]) for point in trace.to_json()]
    assert len(kept) == len(set(kept)) <= MAX_TRACE_POINTS
    assert kept[:1] + kept[-1:] == ([0, n - 1] if n else [])
    assert len(set(np.diff(kept[:-1]).tolist())) <= 1


def test_shares_that_only_wobble_are_kept(store: RunStore) -> None:
    """The last bits of sums depend on their order."""
    config = census_config(store, **CERTIFY)
    writer = ProofsWriter(store, store.create_run(config), config)
    writer.add(SharesProved(0.1, 0.7, 0.3 + 1e-12, 3, 0))
    writer.add(SharesProved(0.1, 0.7 - 1e-15, 0.3, 3, 0))
    with pytest.raises(ProcessError):
        writer.add(SharesProved(0.1, 0.7, 0.3001, 3, 0))


# --- the tree's parts ---------------------------------------------------------------------------


def test_a_tree_and_its_certificates_come_back_from_their_file(tmp_path: Path) -> None:
    tree = read_tree_arrays(tree_arrays())
    starts = np.arange(9, dtype=np.int64)
    coefficients = np.random.default_rng(0).normal(size=(2, 3, 8))
    thresholds = np.array([[1.0, -1.0, np.inf, -np.inf], [0.5, 0.5, -1.0, 1.0]])
    sent = certificate_arrays(leaf=np.array([2, 1]), coefficients=coefficients, starts=starts, thresholds=thresholds)
    path = tmp_path / "tree.npz"
    write_tree(path, tree, read_certificates(sent, tree), {})
    for name, array in stored_certificates(path, tree).to_arrays().items():
        assert np.array_equal(array, sent[name]), name


def test_no_certificates_are_none_of_every_leaf() -> None:
    assert len(read_certificates({}, read_tree_arrays(tree_arrays())).leaf) == 0


def test_a_space_is_compared_with_the_domain() -> None:
    space = census_space()
    content = space_to_json(space)
    assert check_space(content, space.n_digits.tolist(), space.domain) == content
    assert check_space({**content, "more": 1}, space.n_digits.tolist(), space.domain) == content
    for name, value in (("is_cell", [True] * 8), ("steps", [2.0] * 8), ("low", [True] * 8)):
        with pytest.raises(ValueError, match="of a column"):
            check_space({**content, name: value}, space.n_digits.tolist(), space.domain)


def test_a_tree_too_long_for_a_line_goes_with_its_first_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairness_engine.model_process.protocol.MAX_TREE_BYTES", 1_000)
    n = 50
    many = certificate_arrays(leaf=np.arange(n), coefficients=np.zeros((n, 3, 2)), thresholds=np.zeros((n, 4)))
    (sent,) = split(TreeReady(tree_arrays(), many, {}))
    assert isinstance(sent, TreeReady)
    kept = len(sent.certificates["leaf"])
    assert 0 < kept < n
    assert sent.certificates["leaf"].tolist() == list(range(kept))
    assert len(sent.certificates["coefficients"]) == len(sent.certificates["thresholds"]) == kept
    assert len(sent.certificates["starts"]) == len(many["starts"])
    (whole,) = split(tree_ready())
    assert len(whole.certificates["leaf"]) == 1


def test_what_the_app_reads_of_a_certification_needs_no_compiled_loops() -> None:
    names = (
        *("certification.partition.partition_tree", "certification.settings", "certification.partition.lattice"),
        *("certification.box_inspection.details", "certification.partition.validation"),
        *("store.store", "model_process.pool", "runs.worker"),
    )
    modules = ", ".join(f"fairness_engine.{name}" for name in names)
    program = f"import sys, {modules}; print(sorted({{'numba', 'sklearn', 'tensorflow', 'keras'}} & set(sys.modules)))"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.strip() == "[]"


# --- the last word ------------------------------------------------------------------------------


def test_a_last_word_as_it_should_be() -> None:
    assert is_possible("certification", CERTIFICATION)
    assert is_possible("certification", {**CERTIFICATION, "estimate": None, "data_rows": None, "n_individuals": None})


@pytest.mark.parametrize(
    "changes",
    [
        {"certified": 0.9},
        {"certified": -0.25, "undecided": 1.0},
        {"undecided": None},
        {"boxes": 1.5},
        {"n_open": -1},
        {"n_individuals": -1},
        {"kind": 5},
        {"method": "x" * 1000},
        {"is_by_construction": "yes"},
        {"depth": True},
        {"depth": None},
        {"seconds": -1.0},
        {"estimate": 0.5},
        {"estimate": {**CERTIFICATION["estimate"], "low": 0.7}},
        {"estimate": {**CERTIFICATION["estimate"], "high": 1.5}},
        {"estimate": {**CERTIFICATION["estimate"], "n_unfair": 101}},
        {"data_rows": [1, 2]},
        {"data_rows": {"n": 5, "certified": 3, "falsified": 0, "undecided": 1}},
    ],
)
def test_a_last_word_that_cannot_be(changes: dict[str, object]) -> None:
    assert not is_possible("certification", {**CERTIFICATION, **changes})
