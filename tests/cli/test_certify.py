"""The command ``certify``, run as a person would, on the sample data and on a published network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from test_commands import DATA, INPUTS, MODEL, ROOT, SCHEMA, Commands, check_pairs_file

from fairness_engine.certification.partition.partition_tree import LeafCertificates, read_tree, write_tree
from fairness_engine.certification.partition.validation import stored_certificates
from fairness_engine.cli.commands.certify import CERTIFY_KEYS, certified_text, share_text
from fairness_engine.cli.output import COMMON_KEYS
from fairness_engine.data.catalogue import find_sample
from fairness_engine.runs.writers.proofs import stored_tree_file
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.thorough

SVM = ROOT / "sample_models" / "census_income_svm.skops"
FEW = ("--protected", "sex", "--max-boxes", "3000")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(workspace, capsys)


def proved(result: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on the clock or the run."""
    kept = {name: result[name] for name in CERTIFY_KEYS if name not in ("trace", "tree_file")}
    return {**kept, "data_rows": json.dumps(kept["data_rows"])}


@pytest.fixture(scope="module")
def first_answers() -> dict[str, Any]:
    """What the first certification said, for tests that ask the same again or look at its run."""
    return {}


@pytest.fixture
def first(command: Commands, first_answers: dict[str, Any], workspace: Path) -> dict[str, Any]:
    """A certification of few boxes with its counterexamples in pairs.csv: one run for all tests here."""
    if not first_answers:
        first_answers |= command.json("certify", *INPUTS, *FEW, "--pairs", str(workspace / "pairs.csv"))
        first_answers["err"] = command.err
    return first_answers


def test_certify_prints_one_json_object_and_writes_its_counterexamples(first: dict[str, Any], workspace: Path) -> None:
    result = {name: value for name, value in first.items() if name != "err"}
    assert set(result) == {*COMMON_KEYS, *CERTIFY_KEYS, "state"}
    shares = [result[name] for name in ("certified", "falsified", "undecided")]
    assert sum(shares) == pytest.approx(1)
    assert min(result["certified"], result["undecided"]) > 0
    assert result["stop_reason"] == "evaluation budget spent"
    assert 2990 < result["boxes"] <= 3000
    trace = result["trace"]
    assert trace[0][:1] != trace[-1][:1]
    assert trace[-1][1:] == pytest.approx(shares)
    estimate = result["estimate"]
    assert 0 <= estimate["low"] <= estimate["unfair_share_of_undecided"] <= estimate["high"] <= 1
    tree, _ = read_tree(Path(result["tree_file"]))
    assert float(tree.certified[0]) == pytest.approx(result["certified"])
    assert "% undecided" in first["err"]
    check_pairs_file(workspace / "pairs.csv", result["n_found"])
    assert result["n_found"] > 0


def test_the_same_question_gets_the_same_answer(command: Commands, first: dict[str, Any]) -> None:
    again = command.json("certify", *INPUTS, *FEW)
    assert proved(first) == proved(again)
    by_data = command.json("certify", *INPUTS, *FEW, "--weights", "data")
    assert by_data["weights"] == "data"
    assert command("certify", *INPUTS, *FEW, "--weights", "data") == 0
    assert "individuals, each weighted by how often its values occur in the data; " in command.out
    assert by_data["certified"] != first["certified"]


def test_what_is_proved_is_the_truth_where_nothing_stays_open(command: Commands, tmp_path: Path) -> None:
    """A decision tree whose discrimination was counted when the sample was made."""
    sample = find_sample("recidivism")
    truth = next(share for share in sample.read_truth()["shares"] if share["protected"] == ["race", "sex"])
    inputs = ["--data", str(sample.data), "--schema", str(sample.schema)]
    inputs += ["--model", str(sample.model("recidivism_planted").path), "--protected", "race,sex"]
    file = tmp_path / "answer.json"
    gates = ["undecided > 0", "estimate.high > 0", "falsified > 0.1"]
    asked = [*inputs, "--json", str(file), *(part for gate in gates for part in ("--fail-if", gate))]
    assert command("certify", *asked) == 1
    assert "Gate failed: falsified > 0.1." in command.err
    assert command.err.count("Gate failed") == 1
    result = json.loads(file.read_text())
    assert result["n_individuals"] == truth["n_individuals"]
    assert result["falsified"] * result["n_individuals"] == pytest.approx(truth["n_discriminatory"], abs=1e-6)
    assert result["certified"] + result["falsified"] == pytest.approx(1)
    nothing = {"unfair_share_of_undecided": 0.0, "low": 0.0, "high": 0.0, "n": 0, "n_unfair": 0}
    assert result["estimate"] == nothing | {"drawn_from": None, "falsified_there": None}
    assert "undecided 0 %" in command.out


def test_classic_mode_and_a_target_end_by_themselves(command: Commands) -> None:
    narrow = ("--protected", "sex", "--limit", "age=30:33", "--limit", "hours_per_week=38:42")
    classic = command.json("certify", *INPUTS, *narrow, "--mode", "classic", "--max-seconds", "600")
    assert (classic["mode"], classic["stop_reason"]) == ("classic", "every start and step done")
    reached = command.json("certify", *INPUTS, *narrow, "--target", "0.5", "--max-seconds", "600")
    assert 0 < reached["undecided"] <= 0.5


def test_a_threshold_under_which_all_are_decided_alike_is_said(command: Commands) -> None:
    tree = ROOT / "sample_models" / "census_income_tree.skops"
    table = ("--data", str(DATA), "--schema", str(SCHEMA), "--model", str(tree))
    result = command.json("certify", *table, *FEW, "--threshold", "1")
    assert (result["certified"], result["is_by_construction"]) == (1.0, False)
    (note,) = result["notes"]
    assert note.startswith("The model decided all of ")
    assert f"Note: {note}" in command.err


def test_a_model_without_the_attribute_is_certified_by_construction(command: Commands, tmp_path: Path) -> None:
    table = pd.read_csv(DATA)
    taken = ["age", "hours_per_week"]
    model = tmp_path / "blind.skops"
    is_rich = np.arange(len(table)) % 2
    skops.io.dump(LogisticRegression().fit(table[taken], is_rich), model)
    inputs = ["--data", str(DATA), "--schema", str(SCHEMA), "--model", str(model), "--protected", "sex"]
    file = tmp_path / "answer.json"
    assert command("certify", *inputs, "--json", str(file)) == 0
    result = json.loads(file.read_text())
    assert (result["certified"], result["is_by_construction"], result["state"]) == (1.0, True, "finished")
    assert result["tree_file"]
    assert "Certified 100 %" in command.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", str(SVM)], "cannot be certified"),
        (["--model", str(MODEL), "--gap", "0.1"], "score gap to 0"),
        (["--model", str(MODEL), "--fixed", "age"], "age must not vary"),
        (["--model", str(MODEL), "--mode", "quick"], "invalid choice: 'quick'"),
        (["--model", str(MODEL), "--weights", "none"], "invalid choice: 'none'"),
        (["--model", str(MODEL), "--target", "2"], "'target' must be a number from 0 to 1, got '2'"),
        (["--model", str(MODEL), "--max-seconds", "0"], "must be greater than 0"),
        (["--model", str(MODEL), "--max-boxes", "-1"], "must be a whole number of at least 0"),
        (["--model", str(MODEL), "--fail-if", "share > 0"], "must name something in the JSON of 'certify'"),
    ],
)
def test_what_cannot_be_certified_is_one_sentence_and_status_2(
    command: Commands, arguments: list[str], said: str
) -> None:
    assert command("certify", *INPUTS[:4], "--protected", "sex", *arguments) == 2
    assert said in command.err
    assert "Traceback" not in command.err
    assert command.out == ""


def test_inspect_says_whether_proofs_can_be_made(command: Commands, tmp_path: Path) -> None:
    assert command.json("inspect", *INPUTS)["certifiable"] is None
    file = tmp_path / "answer.json"
    assert command("inspect", *INPUTS[:4], "--model", str(SVM), "--json", str(file)) == 0
    reason = json.loads(file.read_text())["certifiable"]
    assert "cannot be certified" in reason
    assert reason in command.out


def test_verify_draws_people_where_something_is_proved(
    command: Commands, first: dict[str, Any], workspace: Path
) -> None:
    run_id = first["run_id"]
    held = command.json("runs", "verify", run_id)
    assert held["n_confirmed"] == held["n_pairs"] > 0
    assert held["proofs"]["n_certificates"] > 0
    assert held["proofs"]["n_points"] >= 1000
    assert held["proofs"]["n_contradictions"] == 0
    store = RunStore(workspace)
    path = stored_tree_file(store, run_id)
    assert path is not None
    tree, space = read_tree(path)
    certificates = stored_certificates(path, tree)
    everywhere = np.full_like(certificates.thresholds, np.inf) * [-1, -1, 1, -1]  # everybody is said to be of class 1
    write_tree(path, tree, LeafCertificates(**{**vars(certificates), "thresholds": everywhere}), space)
    broken = command.json("runs", "verify", run_id, status=1)
    assert broken["proofs"]["n_contradictions"] > 0
    assert command("runs", "verify", run_id) == 1
    assert "contradictions" in command.out
    shown = command.json("runs", "show", run_id)
    assert 2990 < shown["results"]["certification"]["boxes"] <= 3000
    store.close()


def test_an_interrupt_is_status_130_and_keeps_what_was_proved(workspace: Path) -> None:
    asked = ["--protected", "sex", "--max-seconds", "3000", "--workspace", str(workspace), "--json", "-"]
    process = subprocess.Popen(
        [sys.executable, "-m", "fairness_engine", "certify", *INPUTS, *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    store = RunStore(workspace)
    try:
        wait_for_proofs(store)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        for run in store.runs():
            store.request_cancel(run.id)
        store.close()
    assert process.returncode == 130
    result = json.loads(out)
    assert (result["state"], result["stop_reason"]) == ("cancelled", "cancelled")
    assert 0 < result["certified"] < 1
    assert result["boxes"] > 1000
    assert result["trace"][-1][1] == result["certified"]
    assert result["tree_file"] is not None


def wait_for_proofs(store: RunStore) -> None:
    deadline = time.monotonic() + 600  # the first run here compiles the loops
    while time.monotonic() < deadline:
        for run in store.runs():
            if run.is_active and store.results(run.id).get("proved", {}).get("certified", 0) > 0:
                return
        time.sleep(0.05)
    raise AssertionError("nothing was proved")


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.0523, "5.2 %"),
        (0.9477, "94.8 %"),
        (0.00012, "0.012 %"),
        (0.99988, "99.988 %"),
        (1 - 1e-9, "99.999999900 %"),
    ],
)
def test_shares_have_two_digits_and_are_never_rounded_to_all_or_nothing(share: float, text: str) -> None:
    assert share_text(share) == text


def test_a_certification_in_words() -> None:
    estimate = {"unfair_share_of_undecided": 0.31, "low": 0.29, "high": 0.33, "n": 2000, "n_unfair": 620}
    result = {
        **{
            "certified": 0.83,
            "falsified": 0.118,
            "undecided": 0.052,
            "n_individuals": 290_000_000,
            "weights": "uniform",
            "estimate": estimate,
        },
        **{
            "boxes": 12_345,
            "seconds": 60.04,
            "stop_reason": "time budget spent",
            "run_id": "3f2a",
            "state": "finished",
        },
        **{"is_by_construction": False, "n_found": 0, "method": ""},
    }
    assert certified_text(result) == (
        "Certified 83.0 %, falsified 11.8 %, undecided 5.2 % of 290,000,000 individuals; 12,345 boxes in 60.0 s; time "
        "budget spent. Run 3f2a.\nundecided: estimated 31 % unfair (95 % interval 29 % to 33 %)."
    )
    halves = {"certified": 0.545, "falsified": 0.455, "undecided": 0.0}
    assert certified_text({**result, **halves}).startswith("Certified 54.5 %, falsified 45.5 %, undecided 0 % of"), (
        "both were rounded up, to 101 %"
    )
    unknown = certified_text(
        {**result, "estimate": {**estimate, "unfair_share_of_undecided": None}, "n_individuals": None}
    )
    assert "of all individuals" in unknown
    assert "is not known" in unknown
    nothing_told = {**estimate, "unfair_share_of_undecided": 1.0, "low": 0.0, "high": 1.0}
    assert certified_text({**result, "undecided": 4e-5, "estimate": nothing_told}).endswith(
        "undecided: too little to estimate how much of it is unfair."
    )


# --- a published network ------------------------------------------------------------------------


def test_a_published_network_is_certified_for_every_age(command: Commands, shared: Path) -> None:
    """GC-1 of paper 004: German credit, every value of age."""
    peer = shared / "data" / "peer"
    inputs = ["--data", str(peer / "german__fairify_fairquant.csv")]
    inputs += ["--schema", str(peer / "german__fairify_fairquant.schema.json")]
    inputs += ["--model", str(shared / "models" / "fairify" / "GC-1.h5"), "--protected", "age", "--max-seconds", "20"]
    result = command.json("certify", *inputs, "--fail-if", "certified < 0.5")
    assert result["certified"] + result["falsified"] + result["undecided"] == pytest.approx(1)
    assert command.json("runs", "verify", result["run_id"])["proofs"]["n_contradictions"] == 0
