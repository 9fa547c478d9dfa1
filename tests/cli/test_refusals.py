"""What cannot be searched ends with status 2 and one sentence before anything is searched; what is weaker is noted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.__main__ import main
from fairness_engine.data.schema import Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from models.small_models import write_legacy_h5

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "sample_data" / "census_income.csv"
SCHEMA = ROOT / "sample_data" / "census_income.schema.json"
FOREST = ROOT / "sample_models" / "census_income_forest.skops"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


def search(workspace: Path, model: Path, *options: str) -> int:
    files = ["--data", str(DATA), "--schema", str(SCHEMA), "--model", str(model), "--workspace", str(workspace)]
    return main(["search", *files, "--protected", "sex", "--max-evaluations", "2000", "--quiet", *options])


def network(folder: Path, weight: float, bias: float) -> Path:
    """A sigmoid of a weighted sum of all columns."""
    n_columns = len(Schema.read(SCHEMA).inputs)
    path = folder / "network.h5"
    layer = Layer(np.full((n_columns, 1), weight), np.array([bias]), Activation.SIGMOID)
    write_legacy_h5(path, DenseNetwork([layer]))
    return path


def refused(workspace: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence on standard error, which is also the newest run's; nothing was evaluated for it."""
    out, err = capsys.readouterr()
    assert out == ""
    run = max(RunStore(workspace).runs(), key=lambda run: run.created)
    assert run.state is RunState.FAILED
    assert run.evaluations == 0
    assert run.message is not None
    assert run.message in err
    assert err.count("\n") == 1
    return run.message


def test_one_score_for_everybody(workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search(workspace, network(tmp_path, 0.0, 1.0), "--technique", "random") == 2
    assert "the same score (0.7311)" in refused(workspace, capsys)


def test_a_true_gradient_of_a_forest(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search(workspace, FOREST, "--technique", "eidig") == 2
    assert "EIDIG follows the true gradient" in refused(workspace, capsys)


def test_nothing_to_move(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [column.name for column in Schema.read(SCHEMA).inputs if column.name != "sex"]
    assert search(workspace, FOREST, "--technique", "aequitas", "--fixed", ",".join(others)) == 2
    assert "AEQUITAS moves attributes, but none is left" in refused(workspace, capsys)


def test_one_decision_for_everybody_is_a_note_of_a_run_that_ends_well(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search(workspace, network(tmp_path, 1e-6, 3.0), "--technique", "random", "--json", "-") == 0
    out, err = capsys.readouterr()
    (note,) = json.loads(out)["notes"]
    assert "though their scores differ" in note
    assert f"Note: {note}" in err


def test_a_search_that_tried_nobody_says_so_and_passes_no_gate(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ("--technique", "random", "--max-evaluations", "1")
    assert search(workspace, FOREST, *few) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Nobody was tried, 0 evaluations")
    assert "pairs measured" not in out
    assert err.startswith("Note: Nobody was tried before the search ended, so it shows nothing of the model.")
    assert search(workspace, FOREST, *few, "--json", "-", "--fail-if", "n_found > 0") == 2
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert (result["n_tried"], result["n_found"], result["success_rate"]) == (0, None, None)
    assert f"Note: {result['notes'][-1]}" in err
    assert "'n_found' is nothing in the result" in err
