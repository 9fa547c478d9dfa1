"""The commands, run as a person would, on the sample data."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.__main__ import main
from fairness_engine.cli.commands import compare
from fairness_engine.cli.commands.search import run_one
from fairness_engine.cli.output import COMMON_KEYS, ProgressDisplay, progress_text
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Schema
from fairness_engine.events import Progress
from fairness_engine.model_process import self_test
from fairness_engine.model_process.sandbox.walls import PROTECTIONS
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from junit_rules import read_junit
from loan_cases import loan_frame, write_messy_csv

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "sample_data" / "census_income.csv"
SCHEMA = ROOT / "sample_data" / "census_income.schema.json"
MODEL = ROOT / "sample_models" / "census_income_network.keras"
OTHERS = ",".join(name for name in Schema.read(SCHEMA).names if name not in ("sex",))
INPUTS = ["--data", str(DATA), "--schema", str(SCHEMA), "--model", str(MODEL)]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


class Commands:
    """Runs commands in this process and keeps what they printed."""

    def __init__(self, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace = workspace
        self.capsys = capsys
        self.err = self.out = ""

    def __call__(self, *arguments: str) -> int:
        status = main([*arguments, "--workspace", str(self.workspace)])
        self.out, self.err = self.capsys.readouterr()
        return status

    def json(self, *arguments: str, status: int = 0) -> dict[str, Any]:
        assert self(*arguments, "--json", "-") == status, self.err
        assert self.out.count("\n") == 1
        content: dict[str, Any] = json.loads(self.out)
        return content


@pytest.fixture
def command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(workspace, capsys)


def test_search_prints_one_json_object_and_writes_its_pairs(command: Commands, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    budget = ("--max-evaluations", "3e4", "--seed", "4", "--protected", "sex", "--pairs", str(file))
    result = command.json("search", *INPUTS, *budget, "--technique", "aequitas", "--starts", "500", "--steps", "20")
    assert set(COMMON_KEYS) <= set(result)
    assert (result["technique"], result["seed"]) == ("aequitas", 4)
    assert (result["settings"]["n_starts"], result["settings"]["n_steps"]) == (500, 20)
    assert result["stop_reason"] == "evaluation budget spent"
    assert result["success_rate"] == result["n_found"] / result["n_tried"] > 0
    assert result["evaluations_per_second"] > 0
    diversity = result["diversity"]
    assert diversity["n_pairs"] == result["n_found"]
    assert 0 < diversity["n_leaves_hit"] <= diversity["n_leaves"]
    plausibility = result["plausibility"]
    assert plausibility["n_measured"] == result["n_found"]
    assert 0 < plausibility["n_implausible"] <= plausibility["n_far"] + plausibility["n_with_unseen"]
    assert 0 < plausibility["limit"] < 1
    assert result["curve"][-1] == [result["evaluations"], pytest.approx(result["seconds"], abs=0.5), result["n_found"]]
    assert "found" in command.err
    check_pairs_file(file, result["n_found"])


def check_pairs_file(file: Path, n_pairs: int) -> None:
    schema = Schema.read(SCHEMA)
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert list(rows[0]) == ["pair", "side", *schema.names, "score", "decision", "is_plausible", "severity"]
    assert {row["is_plausible"] for row in rows} == {"true", "false"}
    assert len(rows) == 2 * n_pairs
    for number, (a, b) in enumerate(zip(rows[::2], rows[1::2], strict=True), start=1):
        assert (a["pair"], a["side"], b["pair"], b["side"]) == (str(number), "a", str(number), "b")
        assert a["decision"] != b["decision"]
        assert (float(a["score"]) > 0.5) == (a["decision"] == "1")
        assert {name for name in schema.names if a[name] != b[name]} == {"sex"}
        for column in schema.inputs:
            assert a[column.name] in {str(code) for code in column.codes} or column.minimum <= float(a[column.name])


def test_the_same_seed_gives_the_same_file(command: Commands, tmp_path: Path) -> None:
    options = ("--protected", "sex,race", "--technique", "random", "--max-evaluations", "20000", "--quiet")
    files = [tmp_path / f"{i}.csv" for i in range(3)]
    for file, seed in zip(files, ("1", "1", "2"), strict=True):
        assert command("search", *INPUTS, *options, "--seed", seed, "--pairs", str(file)) == 0
        assert command.err == ""
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_estimate_and_its_gate(command: Commands, tmp_path: Path) -> None:
    file = tmp_path / "share.json"
    options = ("--samples", "2000", "--distribution", "perturbed", "--json", str(file))
    assert command("estimate", *INPUTS, *options, "--fail-if", "estimate.high > 0.000001") == 1
    assert "Gate failed: estimate.high > 0.000001." in command.err
    result = json.loads(file.read_text())
    assert (result["n"], result["distribution"]) == (2000, "perturbed")
    assert 0 <= result["low"] <= result["share"] <= result["high"]
    assert "of the perturbed rows are discriminatory" in command.out
    assert command("estimate", *INPUTS, "--samples", "500", "--max-seconds", "60", "--fail-if", "high > 0.99") == 0


def test_an_estimate_that_tested_every_row_names_no_interval(command: Commands) -> None:
    few = ("--protected", "sex", "--limit", "age=20:25")
    assert command("estimate", *INPUTS, *few, "--distribution", "data", "--samples", "50") == 0
    assert "(95 % interval" in command.out
    assert command("estimate", *INPUTS, *few, "--distribution", "data") == 0
    assert "of the data rows are discriminatory (all of them tested; " in command.out


def test_count_is_the_truth_of_the_sample(command: Commands) -> None:
    sample = find_sample("recidivism")
    model = sample.model("recidivism_planted")
    truth = next(share for share in sample.read_truth()["shares"] if share["protected"] == ["race", "sex"])
    inputs = ["--data", str(sample.data), "--schema", str(sample.schema), "--model", str(model.path)]
    gate = ("--protected", "race,sex", "--fail-if", "count.share > 0.9")
    result = command.json("count", *inputs, *gate)
    assert set(COMMON_KEYS) <= set(result)
    assert {name: result[name] for name in ("n_discriminatory", "n_individuals")} == {
        name: truth[name] for name in ("n_discriminatory", "n_individuals")
    }
    assert result["share"] == result["n_discriminatory"] / result["n_individuals"]
    assert command("count", *inputs, *gate[:2], "--fail-if", "share > 0") == 1
    assert f"{truth['n_discriminatory']:,} of {truth['n_individuals']:,} individuals" in command.out


@pytest.mark.thorough
def test_a_count_that_is_ended_early_gives_no_share(command: Commands) -> None:
    narrow = ("--protected", "sex", "--limit", "age=20:40", "--limit", "hours_per_week=30:40")
    result = command.json("count", *INPUTS, *narrow, "--max-seconds", "0.001")
    assert (result["share"], result["n_discriminatory"]) == (None, None)
    assert result["stop_reason"] == "time budget spent"
    assert command("count", *INPUTS, *narrow, "--max-seconds", "0.001") == 0
    assert "gives no share" in command.out


def test_a_space_that_cannot_be_counted_is_said_so(command: Commands) -> None:
    assert command("count", *INPUTS, "--protected", "sex", "--fixed", "workclass") == 2
    assert "workclass must not vary" in command.err


@pytest.mark.thorough
def test_compare_puts_techniques_side_by_side(command: Commands, workspace: Path) -> None:
    narrow = ("--protected", "sex", "--limit", "age=40:41", "--limit", "hours_per_week=30:31")
    options = (
        "--techniques",
        "aequitas",
        "--set",
        "aequitas.strategy=random",
        "--seeds",
        "2",
        "--max-evaluations",
        "3000",
    )
    result = command.json("compare", *INPUTS, *narrow, *options, "--seed", "7", "--count")
    assert set(COMMON_KEYS) <= set(result)
    lines = {line["technique"]: line for line in result["techniques"]}
    assert list(lines) == ["random", "data-scan", "aequitas"]
    assert lines["aequitas"]["settings"]["strategy"] == "random"
    store = RunStore(workspace)
    runs = [store.run(run_id) for line in lines.values() for run_id in line["run_ids"]]
    assert {run.config.seed for run in runs} == {7, 8}
    assert {run.config.comparison for run in runs} == {result["comparison"]}
    found = sorted(run.n_found for run in runs if run.config.technique == "aequitas")
    assert lines["aequitas"]["n_found"] == {"median": sum(found) / 2, "low": found[0], "high": found[1], "n": 2}
    assert lines["random"]["by_evaluations"][-1][0] == 3000
    (count,) = [
        run for run in store.runs() if run.config.kind == "count" and run.config.comparison == result["comparison"]
    ]
    assert result["n_exact"] == count.n_found > 0
    assert lines["random"]["share_of_all"]["median"] == lines["random"]["n_found"]["median"] / count.n_found
    assert result["evaluations"] == sum(run.evaluations for run in runs) + count.evaluations
    store.close()


def test_compare_prints_a_table_and_leaves_out_what_cannot_run(command: Commands) -> None:
    options = ("--protected", "sex", "--seeds", "1", "--max-evaluations", "2000", "--quiet", "--fixed", OTHERS)
    assert command("compare", *INPUTS, *options, "--techniques", "aequitas") == 0
    header, *lines = command.out.splitlines()
    assert header.split()[:3] == ["technique", "runs", "found"]
    assert [line.split("  ")[0] for line in lines] == ["Random", "Data scan"]
    assert command.err.startswith("aequitas: ")
    assert "nobody was tried" not in command.err


def test_an_interrupt_between_two_runs_of_a_comparison_ends_it(
    command: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came when a run had just ended, and was forgotten."""

    def interrupted(*arguments: Any, **options: Any) -> RunRecord:
        run = run_one(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)
        return run

    monkeypatch.setattr(compare, "run_one", interrupted)
    few = ("--protected", "sex", "--seeds", "2", "--max-evaluations", "2000", "--quiet", "--techniques", "random")
    assert command("compare", *INPUTS, *few) == 130
    assert [line.split()[:2] for line in command.out.splitlines()[1:]] == [["Random", "1"]]
    assert "interrupted after 1 of 4 runs" in command.err


def test_a_comparison_that_tried_nobody_says_so(command: Commands) -> None:
    few = ("--protected", "sex", "--seeds", "1", "--max-evaluations", "1", "--quiet", "--techniques", "random")
    assert command("compare", *INPUTS, *few) == 0
    assert command.err.startswith("Note: nobody was tried by Random and Data scan before the runs ended")


def test_inspect_says_what_is_there(command: Commands) -> None:
    result = command.json("inspect", *INPUTS)
    assert (result["rows"], result["columns"], result["rows_used"]) == (5000, 10, 5000)
    assert set(result["model"]) == {"format", "kind", "n_inputs", "layers"}
    fit = result["fit"]
    assert fit["uses_protected"] == {"sex": True, "race": True}
    assert fit["is_deterministic"] is True
    assert fit["majority_share"] <= fit["accuracy"] <= 1
    assert 0.5 < fit["auc"] <= 1
    assert set(fit["output"]) >= {"min", "max", "kind"}
    assert command("inspect", *INPUTS, "--fail-if", "fit.accuracy < 0.5") == 0
    assert "5,000 rows, 10 columns" in command.out


@pytest.mark.thorough
def test_what_a_scope_asks_changes_nothing_of_the_fit_card(command: Commands) -> None:
    """The card is of the model as it is, whatever the threshold, and also where the scope cannot be."""
    plain = command.json("inspect", *INPUTS)
    moved = command.json("inspect", *INPUTS, "--threshold", "0.9")
    without_scope = command.json("inspect", *INPUTS, "--fixed", "sex")
    assert plain["certifiable"] is None
    assert "sex" in without_scope["certifiable"]
    for other in (moved, without_scope):
        for fit in (plain["fit"], other["fit"]):
            fit.pop("rows_per_second", None)
        assert (other["model"], other["fit"]) == (plain["model"], plain["fit"])


def test_inspect_says_what_it_took_for_missing_what_it_left_out_and_what_it_guessed(
    command: Commands, tmp_path: Path
) -> None:
    file = tmp_path / "anträge.csv"
    write_messy_csv(loan_frame(2_000, seed=3), file, has_proposed=True)
    result = command.json("inspect", "--data", str(file))
    assert set(result["missing"]["Wohneigentum"]) == {"", "-", "NA"}
    assert result["id"] == "Antrags-ID"
    said = "\n".join(result["problems"])
    assert "Column 'Antragsdatum' is left out: dates" in said
    assert "Column 'Antrags-ID' is left out: ids, 2,000 different; it is taken for the id of the cases." in said
    assert "'unbekannt' stands in" in said
    assert "'ja' of 'bewilligt' is taken for the outcome that is good for the person, which nobody confirmed" in said
    marked = command.json(
        "inspect", "--data", str(file), "--missing", "unbekannt,999", "--favourable", "nein", "--id", "PLZ"
    )
    assert set(marked["missing"]["Laufzeit (Monate)"]) == {"999"}
    assert marked["rows_used"] < result["rows_used"]
    assert marked["id"] == "PLZ"
    assert "'nein' of 'bewilligt'" not in "\n".join(marked["problems"])
    assert command("inspect", "--data", str(file), "--favourable", "vielleicht") == 2
    assert "--favourable must be an outcome of 'bewilligt' (ja, nein), got 'vielleicht'." in command.err


def test_inspect_needs_neither_model_nor_schema(command: Commands) -> None:
    result = command.json("inspect", "--data", str(DATA))
    assert (result["model"], result["fit"]) == (None, None)
    kinds = {summary["name"]: summary["kind"] for summary in result["column_summaries"]}
    assert (kinds["age"], kinds["sex"]) == ("integer", "categorical")


def test_a_scope_can_be_narrowed(command: Commands, workspace: Path) -> None:
    narrow = (
        "--limit",
        "age=30:40",
        "--fixed",
        "workclass",
        "--threshold",
        "0.4",
        "--gap",
        "0.05",
        "--start-rows",
        "50",
    )
    result = command.json(
        "search", *INPUTS, *narrow, "--protected", "sex", "--max-evaluations", "8000", "--technique", "data-scan"
    )
    store = RunStore(workspace)
    scope = store.run(result["run_id"]).config.scope
    assert (scope.limits, scope.fixed, scope.threshold, scope.score_gap) == (
        {"age": (30.0, 40.0)},
        ("workclass",),
        0.4,
        0.05,
    )
    pairs = store.pairs(result["run_id"])
    assert ((pairs.first[:, 0] >= 30) & (pairs.first[:, 0] <= 40)).all()
    assert result["n_tried"] <= 50
    store.close()


def test_a_scan_tests_all_of_the_data_whatever_that_takes(command: Commands) -> None:
    """The default of 200,000 evaluations ended it after 1,098 of 5,000 people."""
    options = ("--protected", "age,sex", "--technique", "data-scan")
    result = command.json("search", *INPUTS, *options)
    assert result["evaluations"] > 200_000
    assert result["scan"] == {"n_tested": 5000, "n_people": 5000, "n_outside": 0, "n_not_drawn": 0, "n_dropped": 0}
    assert result["stop_reason"] == "every start and step done"
    assert command("search", *INPUTS, "--limit", "age=30:40", "--protected", "sex", *options[2:]) == 0
    assert "people of the data." in command.out
    assert "lie outside the limits of the scope" in command.out
    assert command("search", *INPUTS, "--max-evaluations", "1000", "--protected", "sex", *options[2:]) == 0
    assert "Tested 5" in command.out
    assert "Nothing is known of the other 4," in command.out


def test_a_protected_number_takes_values(command: Commands) -> None:
    options = ("--protected", "age", "--values", "age=20,40,60", "--max-evaluations", "3000", "--technique", "random")
    assert command.json("search", *INPUTS, *options)["n_tried"] == 1000


def test_runs_are_listed_shown_verified_and_found_by_their_beginning(command: Commands) -> None:
    run_id = command.json("search", *INPUTS, "--protected", "sex", "--max-evaluations", "9000")["run_id"]
    listed = {run["run_id"]: run for run in command.json("runs", "list")["runs"]}
    assert listed[run_id]["scope"]["protected"] == ["sex"]
    assert command("runs", "list") == 0
    (line,) = [line for line in command.out.splitlines() if run_id in line]
    assert line.endswith("found  sex")
    shown = command.json("runs", "show", run_id[:10])
    assert (shown["run_id"], shown["config"]["technique"]) == (run_id, "aequitas")
    verified = command.json("runs", "verify", run_id)
    assert verified["n_confirmed"] == verified["n_pairs"] == shown["n_found"] > 0
    assert verified["mismatches"] == []
    assert command("runs", "cancel", run_id) == 0
    assert "is finished" in command.out
    assert command("runs", "show", "nothing") == 2
    assert "no run 'nothing'" in command.err


@pytest.mark.thorough
def test_old_runs_are_named_and_removed_when_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Commands(tmp_path, capsys)
    run_id = command.json("search", *INPUTS, "--protected", "sex", "--max-evaluations", "2000")["run_id"]
    named = command.json("runs", "clean", "--older-than", "30d")
    assert (named["removed"], named["runs"], named["n_bytes"]) == (False, [], 0)
    named = command.json("runs", "clean", "--older-than", "0d")
    assert run_id in {run["run_id"] for run in named["runs"]}
    assert named["removed"] is False
    assert run_id in {run["run_id"] for run in command.json("runs", "list")["runs"]}
    removed = command.json("runs", "clean", "--older-than", "0", "--remove")
    assert removed["n_bytes"] == named["n_bytes"] > 0
    assert command.json("runs", "list")["runs"] == []
    assert command("runs", "clean", "--older-than", "soon") == 2
    assert "soon" in command.err
    assert command("runs", "clean") == 2


def test_the_walls_of_this_machine_are_tried_and_named(command: Commands) -> None:
    found = command.json("runs", "walls", "--newest-landlock", "0")
    assert found["machine"]["kernel"].startswith(os.uname().sysname)
    assert {row["wall"] for row in found["walls"]} == {*PROTECTIONS, None}
    of_files = [row for row in found["walls"] if row["wall"] == "files"]
    assert {row["verdict"] for row in of_files} == {"not offered here"}
    assert all("Landlock" in row["why"] for row in of_files)
    assert {row["verdict"] for row in found["walls"] if row["wall"] is None} == {"held"}, "work goes on"


def test_a_wall_that_does_not_hold_is_a_status(command: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    fallen = [self_test.Tried(probe, self_test.Verdict.FELL, "it was done") for probe in self_test.PROBES[:2]]
    monkeypatch.setattr("fairness_engine.cli.commands.runs.try_walls", lambda workspace, newest: fallen)
    assert command("runs", "walls") == 1
    assert "take 9 GB: it was done" in command.out
    assert command.out.endswith("2 did not hold.\n")
    cases = command.workspace / "walls.xml"
    assert command("runs", "walls", "--junit", str(cases)) == 1
    assert [case.end for case in read_junit(cases).cases] == ["failure", "failure"]


def test_verify_finds_pairs_that_do_not_hold(command: Commands, workspace: Path) -> None:
    run_id = command.json("search", *INPUTS, "--protected", "sex", "--max-evaluations", "9000", "--seed", "9")["run_id"]
    store = RunStore(workspace)
    config = store.run(run_id).config
    (file,) = store.run_folder(run_id).glob("*.parquet")
    pairs = store.pairs(run_id)
    from fairness_engine.store.pairs_file import write_pairs

    pairs.second[0] = pairs.first[0]
    pairs.score_first[1] += 0.01
    pairs.decision_first[2] = 1 - pairs.decision_first[2]
    pairs.first[3, 0] = pairs.second[3, 0] = 1000.0
    pairs.gaps[4] += 0.01
    write_pairs(file, pairs, config)
    result = command.json("runs", "verify", run_id, status=1)
    assert result["n_mismatches"] == len(result["mismatches"]) == 5
    assert [wrong["pair"] for wrong in result["mismatches"]] == [1, 2, 3, 4, 5]
    reasons = [wrong["reason"] for wrong in result["mismatches"]]
    assert "alike" in reasons[0]
    assert "score differs" in reasons[1]
    assert "decision differs" in reasons[2]
    assert "outside the domain" in reasons[3]
    assert "gap differs" in reasons[4]
    assert command("runs", "verify", run_id) == 1
    assert "pair 1: the model now treats both persons alike" in command.out
    store.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["search", "--data", "x.csv"], "required: --model"),
        (["search", *INPUTS, "--nonsense"], "Unrecognized arguments: --nonsense. 'python -m"),
        (["search", "--data", "x.csv", "--modle", "m"], "Unrecognized arguments: --modle. Did you mean --model? 'py"),
        (["runs", "list", "--jsn=x"], "Unrecognized arguments: --jsn. Did you mean --json?"),
        (["--hlp", "search"], "Unrecognized arguments: --hlp. Did you mean --help?"),
        (["search", *INPUTS, "--technique", "guess"], "must be one of random, data-scan, aequitas"),
        (["compare", *INPUTS], "required: --techniques"),
        (["compare", *INPUTS, "--techniques", "guess"], "must be one of random, data-scan, aequitas"),
        (
            ["compare", *INPUTS, "--techniques", "random", "--set", "n_steps=3"],
            "must begin with one of random, data-scan and a dot",
        ),
        (
            ["compare", *INPUTS, "--techniques", "random", "--set", "maft.h=3"],
            "must begin with one of random, data-scan and a dot",
        ),
        (["search", *INPUTS, "--set", "n_steps"], "must be like n_steps=500"),
        (["search", *INPUTS, "--set", "speed=3"], "has no setting 'speed'"),
        (["search", *INPUTS, "--set", "n_steps=many"], "'n_steps' must be a whole number"),
        (["search", *INPUTS, "--technique", "random", "--steps", "3"], "needs a technique with the setting 'n_steps'"),
        (["search", *INPUTS, "--max-evaluations", "0"], "must be at least 1"),
        (["search", *INPUTS, "--max-evaluations", "1.5"], "must be a whole number"),
        (["search", *INPUTS, "--max-seconds", "-1"], "must be greater than 0"),
        (["search", *INPUTS, "--max-seconds", "nan"], "must be a finite number"),
        (["search", *INPUTS, "--protected", "gender"], "'gender' must be a column"),
        (["search", *INPUTS, "--protected", ""], "Name the protected attributes with --protected"),
        (["search", *INPUTS, "--limit", "age=3"], "must be like age=20:60"),
        (["search", *INPUTS, "--limit", "race=Asian:Other"], "of a category, its place among the values"),
        (["search", *INPUTS, "--limit", "age=1:500"], "limits of 'age' must lie within"),
        (["search", *INPUTS, "--fail-if", "n_fuond > 3"], "must name something in the JSON of 'search'"),
        (["search", *INPUTS, "--fail-if", "import os"], "needs comparisons"),
        (["search", "--data", "none.csv", "--model", str(MODEL)], "there is none at none.csv"),
        (["search", "--data", str(DATA), "--model", "none.keras"], "there is none at none.keras"),
        (["search", "--data", "n" * 3000, "--model", str(MODEL)], "must name a CSV or Parquet file, but there is none"),
        (
            ["search", "--data", "/", "--model", str(MODEL)],
            "--data must name a CSV or Parquet file, but there is none at /: it is a folder",
        ),
        (
            ["search", "--data", str(DATA), "--model", "/dev/null"],
            "there is none at /dev/null: it is a pipe or a device",
        ),
        (["search", *INPUTS[:2], "--schema", "none.json", *INPUTS[4:]], "none.json cannot be read"),
        (["compare", *INPUTS, "--techniques", ""], "--techniques must name one at least, got none"),
        (["compare", *INPUTS, "--techniques", "maft", "--seeds", "100000000"], "--seeds must be at most 1,000"),
        (["search", "--data", str(DATA), "--schema", str(SCHEMA), "--model", str(SCHEMA)], "model"),
        (["estimate", *INPUTS, "--distribution", "normal"], "invalid choice: 'normal'"),
        (["inspect", *INPUTS, "--json", "/no/such/folder/x.json"], "--json must name a file in a folder that is there"),
        (["runs", "verify"], "required: ID"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(command: Commands, arguments: list[str], said: str) -> None:
    status = main(arguments) if not arguments or arguments == ["dance"] else command(*arguments)
    out, err = command.capsys.readouterr() if not command.err else (command.out, command.err)
    assert status == 2
    assert said in err
    assert "Traceback" not in err
    lines = [line for line in err.splitlines() if ": " not in line[:25]]
    assert len(lines) <= 2
    assert out == ""


def test_a_command_in_a_pipe_keeps_standard_output_clean(workspace: Path) -> None:
    command = [sys.executable, "-m", "fairness_engine", "search", *INPUTS, "--protected", "sex", "--max-found", "5"]
    done = subprocess.run(
        [*command, "--workspace", str(workspace), "--json", "-"], capture_output=True, cwd=ROOT, timeout=120, check=True
    )
    assert json.loads(done.stdout)["n_found"] == 5
    assert done.stderr


@pytest.fixture
def endless(workspace: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A search that ends only when told to; at the latest with its test, also when that fails."""
    budget = ["--protected", "sex", "--max-evaluations", "1000000000000", "--workspace", str(workspace), "--json", "-"]
    budget += ["--fail-if", "n_found > 0", "--junit", str(workspace / "cases.xml")]
    command = [sys.executable, "-m", "fairness_engine", "search", *INPUTS, *budget]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
    )
    yield process
    process.kill()
    store = RunStore(workspace)
    for run in store.runs():
        store.request_cancel(run.id)  # the worker outlives the command
    store.close()


def wait_for_found(store: RunStore) -> str:
    deadline = time.monotonic() + 180  # the first run of a workspace compiles the loops of the searches
    while time.monotonic() < deadline:
        for run in store.runs_in(RunState.RUNNING):
            if store.n_pairs(run.id):
                return run.id
        time.sleep(0.02)
    raise AssertionError("nothing was found")


def test_an_interrupt_is_status_130_and_keeps_what_was_found(workspace: Path, endless: subprocess.Popen[bytes]) -> None:
    store = RunStore(workspace)
    run_id = wait_for_found(store)
    os.kill(endless.pid, signal.SIGINT)
    out, _ = endless.communicate(timeout=60)
    assert endless.returncode == 130
    result = json.loads(out)
    assert (result["state"], result["run_id"]) == ("cancelled", run_id)
    assert store.n_pairs(run_id) == result["n_found"] > 0
    suite = read_junit(workspace / "cases.xml")
    assert suite.ends() == {"the command comes to its end": "error", "n_found > 0": "skipped"}
    assert "was cancelled" in suite.cases[0].message


def test_a_killed_worker_is_status_3_and_keeps_what_was_found(
    workspace: Path, endless: subprocess.Popen[bytes]
) -> None:
    store = RunStore(workspace)
    run_id = wait_for_found(store)
    os.kill(store.run(run_id).worker_pid or 0, signal.SIGKILL)
    out, _ = endless.communicate(timeout=60)
    assert endless.returncode == 3
    assert json.loads(out)["state"] == "crashed"
    assert store.n_pairs(run_id) > 0
    suite = read_junit(workspace / "cases.xml")
    assert suite.ends() == {"the command comes to its end": "error", "n_found > 0": "skipped"}
    assert suite.cases[0].message == store.run(run_id).message


def test_a_run_is_cancelled_from_another_command(
    workspace: Path, endless: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = wait_for_found(RunStore(workspace))
    assert main(["runs", "cancel", run_id, "--workspace", str(workspace)]) == 0
    assert "is cancelled" in capsys.readouterr().out
    endless.communicate(timeout=60)
    assert endless.returncode == 130


def test_a_shortened_id_must_be_of_one_run(command: Commands, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "w")
    from fairness_engine.cli.commands.runs import find_run
    from fairness_engine.errors import RunError
    from fairness_engine.oracle.domain import Scope

    config = RunConfig("search", "d", "m", Schema.read(SCHEMA), Scope(("sex",)), technique="random")
    ids = [store.create_run(config) for _ in range(20)]
    twice = next(run_id[0] for run_id in ids if sum(other[0] == run_id[0] for other in ids) > 1)
    with pytest.raises(RunError, match="Several runs begin with"):
        find_run(store, twice)


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    values = {"technique": "random", "budget": Budget(max_evaluations=1000)}
    run_id = store.create_run(RunConfig("search", "d", "m", Schema.read(SCHEMA), Scope(("sex",)), **values))
    store.claim(run_id, "here", 1, "t")
    working = store.run(run_id)
    store.add_progress(run_id, Progress(500, 1.0, 250, 3, "walking"))
    half = store.run(run_id)
    store.finish(run_id, RunState.FINISHED)
    done = store.run(run_id)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, expected in (
        (Terminal(), ["starting", "[##########..........]  50% 500 evaluations, 250 tried, 3 found", "100%"]),
        (io.StringIO(), [f"{run_id}: starting", f"{run_id}: 500 evaluations, 250 tried, 3 found, 1.0 s, finished"]),
    ):
        display = ProgressDisplay(is_quiet=False, stream=stream)
        for run in (working, working, half, done, done):
            display(run)
        for text in expected:
            assert text in stream.getvalue()
    quiet = io.StringIO()
    ProgressDisplay(is_quiet=True, stream=quiet)(done)
    assert quiet.getvalue() == ""


def test_progress_says_which_of_several_runs_it_is_of_and_has_no_bar_without_an_end(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    values = {"technique": "random", "budget": Budget(max_found=9)}
    run_id = store.create_run(RunConfig("search", "d", "m", Schema.read(SCHEMA), Scope(("sex",)), **values))
    assert progress_text(store.run(run_id), has_bar=True, name="random, seed 4") == f"{run_id}: random, seed 4: queued"
    store.claim(run_id, "here", 1, "t")
    store.add_progress(run_id, Progress(500, 1.0, 250, 3, "walking"))
    run = store.run(run_id)
    counts = "random, seed 4: 500 evaluations, 250 tried, 3 found, 1.0 s, walking"
    assert progress_text(run, has_bar=False, name="random, seed 4") == f"{run_id}: {counts}"
    assert progress_text(run, has_bar=True, name="random, seed 4") == f"[##########....................]  33% {counts}"
    endless = replace(run, config=RunConfig("retrain", "d", "m", run.config.schema, run.config.scope))
    assert "[" not in progress_text(endless, has_bar=True)
    groups = replace(run, config=RunConfig("rules", "d", "m", run.config.schema, run.config.scope))
    assert "tried" not in progress_text(groups, has_bar=False), "rule sets are scored, all of them"


def test_a_parquet_file_is_found_by_a_path_from_here(
    command: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd.read_csv(DATA).head(200).to_parquet(tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    assert command.json("inspect", "--data", "people.parquet")["rows"] == 200


def test_no_two_columns_of_written_pairs_have_one_name(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"score": rng.normal(size=400), "sex": rng.choice(["f", "m"], 400)})
    hired = np.where(people.score + (people.sex == "m") > 0, "yes", "no")
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression())
    skops.io.dump(model.fit(people, hired), tmp_path / "m.skops")
    people.assign(hired=hired).to_csv(tmp_path / "people.csv", index=False)
    options = ["--data", str(tmp_path / "people.csv"), "--model", str(tmp_path / "m.skops"), "--favourable", "yes"]
    options += ["--protected", "sex", "--technique", "random", "--max-evaluations", "400"]
    assert command("search", *options, "--pairs", str(tmp_path / "pairs.csv")) == 0
    pairs = pd.read_csv(tmp_path / "pairs.csv")
    header = (tmp_path / "pairs.csv").read_text().splitlines()[0].split(",")
    assert header == list(pairs.columns)
    assert header[:6] == ["pair", "side", "score", "sex", "score_", "decision"]
    assert np.allclose(pairs["score_"], model.predict_proba(pairs[["score", "sex"]])[:, 1])


@pytest.mark.parametrize(
    ("columns", "half"), [(120, "[" + 15 * "#"), (80, "[####"), (40, "50% 500 evaluations, 250 tried, 3 found")]
)
def test_progress_is_written_over_on_a_terminal_of_any_width(tmp_path: Path, columns: int, half: str) -> None:
    """A line that wraps was left behind at every change; and a run that was cancelled half-way had a full bar."""
    store = RunStore(tmp_path)
    values = {"technique": "random", "budget": Budget(max_evaluations=1000)}
    run_id = store.create_run(RunConfig("search", "d", "m", Schema.read(SCHEMA), Scope(("sex",)), **values))
    store.claim(run_id, "here", 1, "t")
    store.add_progress(run_id, Progress(500, 1.0, 250, 3, "walking on and on"))
    working = store.run(run_id)
    store.finish(run_id, RunState.CANCELLED, counts={"evaluations": 500})
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(theirs, "w") as terminal:
        display = ProgressDisplay(is_quiet=False, stream=terminal)
        display(working)
        first = os.read(ours, 10_000).decode().removeprefix("\r")
        display(store.run(run_id))
        last = os.read(ours, 10_000).decode()
    os.close(ours)
    assert first.startswith(half)
    assert len(first) < columns
    assert "50%" in last
    assert "cancelled" in last


def test_what_json_lacks_becomes_null(capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    from fairness_engine.cli.output import write_result

    write_result({"a": float("nan"), "b": (np.float64(0.5), np.arange(2)), "c": {"d": np.inf}}, "", "-")
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [0.5, [0, 1]], "c": {"d": None}}


def test_names_from_a_file_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from fairness_engine.cli.output import say, write_result

    say("column '\x1b[31mred'")
    write_result({}, "a\x07b\nc", None)
    assert capsys.readouterr() == ("a?b\nc\n", "column '?[31mred'\n")


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 3, "more memory"),
        (ZeroDivisionError("so"), 3, "(ZeroDivisionError: so)"),
    ],
)
def test_whatever_happens_there_is_no_traceback(
    raised: BaseException,
    status: int,
    said: str,
    command: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(options: object) -> None:
        raise raised

    monkeypatch.delenv("EVENHAND_TRACEBACK", raising=False)
    monkeypatch.setattr("fairness_engine.cli.commands.runs.runs", fail)
    cases = command.workspace / "whatever.xml"
    assert command("runs", "list", "--junit", str(cases)) == status
    assert said in command.err
    assert "Traceback" not in command.err
    (case,) = read_junit(cases).cases
    assert (case.end, said in case.message) == ("error", True)


def test_a_reader_that_leaves_ends_the_command_quietly(workspace: Path) -> None:
    shell = f"{sys.executable} -m fairness_engine inspect --data {DATA} --workspace {workspace} --json - | true"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, cwd=ROOT, timeout=60, check=True)
    assert b"Traceback" not in done.stderr


def test_values_that_never_go_together_are_left_out_on_request_and_named(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 600)
    status = np.where(rng.random(600) < 0.5, "single", np.where(sex == "f", "wife", "husband"))
    lines = [f"{s},{t},{i % 50},{('no', 'yes')[i % 3 // 2]}" for i, (s, t) in enumerate(zip(sex, status, strict=True))]
    data = tmp_path / "people.csv"
    model = tmp_path / "tree.skops"
    data.write_text("\n".join(["sex,status,points,hired", *lines]) + "\n", encoding="utf-8")
    rows = np.column_stack([sex == "m", np.searchsorted(["husband", "single", "wife"], status), np.arange(600) % 50])
    outcome = rows[:, 2] + 20 * (rows[:, 0] == 1) * (rows[:, 1] == 2) + 9 * (rows[:, 1] == 1) > 25
    skops.io.dump(DecisionTreeClassifier(random_state=0).fit(rows, outcome), model)
    asked = ("count", "--data", str(data), "--model", str(model), "--protected", "sex,status")
    whole = command.json(*asked)
    fewer = command.json(*asked, "--leave-out-impossible")
    assert "sex m and status wife; sex f and status husband" in command.err
    assert whole["left_out"] == []
    assert fewer["left_out"] == [{"sex": "m", "status": "wife"}, {"sex": "f", "status": "husband"}]
    assert fewer["evaluations"] == whole["evaluations"] * 4 / 6
    again = command.json("runs", "show", fewer["run_id"])["config"]["scope"]
    assert again["excluded"] == [[1.0, 2.0], [0.0, 0.0]], "it is repeated by what is stored, not by the option"
    chosen = command.json(*asked, "--values", "status=wife,single")
    assert chosen["evaluations"] == whole["evaluations"] * 4 / 6
    assert command(*asked, "--values", "status=widow,single") == 2
    assert "'status' must be among its categories (husband, single, wife), got 'widow'" in command.err
    assert command(*asked, "--values", "points=1,x") == 2
    assert command(*asked, "--max-variants", "5") == 2
    assert "6 combinations (sex 2 x status 3), more than 5" in command.err


@pytest.fixture(scope="module")
def couples(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Data and a model of people whose status says their sex, and the options that name them."""
    folder = tmp_path_factory.mktemp("couples")
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 2_000)
    status = np.where(rng.random(2_000) < 0.5, "single", np.where(sex == "f", "wife", "husband"))
    points = rng.integers(0, 50, 2_000)
    outcome = np.where(points + 9 * (sex == "m") + 6 * (status == "husband") > 30, "yes", "no")
    people = pd.DataFrame({"sex": sex, "status": status, "points": points, "hired": outcome})
    people.to_csv(folder / "people.csv", index=False)
    encoder = make_column_transformer((OneHotEncoder(), ["sex", "status"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=6, random_state=0))
    skops.io.dump(model.fit(people.drop(columns="hired"), outcome), folder / "tree.skops")
    files = ["--data", str(folder / "people.csv"), "--model", str(folder / "tree.skops")]
    return [*files, "--protected", "sex", "--favourable", "yes"]


@pytest.mark.thorough
def test_only_plausible_people_on_request(command: Commands, couples: list[str]) -> None:
    limit = ("--max-evaluations", "3000")
    found = command.json("search", *couples, "--technique", "directed", "--only-plausible", *limit)
    assert found["settings"]["only_plausible"] is True
    assert found["plausibility"]["n_plausible"] == found["plausibility"]["n_measured"] == found["n_found"] > 0
    plain = command.json("search", *couples, "--technique", "directed", *limit)
    assert plain["plausibility"]["n_plausible"] < plain["n_found"]
    assert command("search", *couples, "--technique", "aequitas", "--only-plausible") == 2
    assert "--only-plausible is for directed, maft-plus, sg-shared, got 'aequitas'" in command.err
    compared = command.json("compare", *couples, "--techniques", "directed", "--seeds", "1", "--only-plausible", *limit)
    assert {line["technique"] for line in compared["techniques"]} == {"random", "data-scan", "directed"}
    assert command("compare", *couples, "--techniques", "aequitas", "--seeds", "1", "--only-plausible", *limit) == 2
    assert "--only-plausible needs a technique that can keep to such people" in command.err


LINKED = [{"protected": "sex", "column": "status", "values": ["wife", "husband"]}]


@pytest.mark.thorough
def test_links_are_suggested_and_in_force(command: Commands, couples: list[str], tmp_path: Path) -> None:
    told = command.json("inspect", *couples, "--suggest-links")
    (suggested,) = told["suggested_links"]
    assert {name: suggested[name] for name in LINKED[0]} == LINKED[0]
    assert suggested["seen"] == 0
    assert suggested["expected"] == pytest.approx(500, rel=0.2)
    assert told["links"] == []
    pairs = tmp_path / "pairs.csv"
    plain = command.json("search", *couples, "--technique", "data-scan", "--pairs", str(pairs))
    assert plain["links"] == []
    assert set(pd.read_csv(pairs).groupby("pair").status.nunique()) == {1}
    linked = ("--link", "sex:status=wife/husband")
    found = command.json("search", *couples, "--technique", "data-scan", "--pairs", str(pairs), *linked)
    assert found["links"] == LINKED
    assert found["plausibility"]["n_plausible"] == found["n_found"] > 0
    assert plain["plausibility"]["n_plausible"] < plain["n_found"]
    by_pair = pd.read_csv(pairs).groupby("pair").status.agg(frozenset)
    assert set(by_pair) == {frozenset({"wife", "husband"}), frozenset({"single"})}
    again = command.json("runs", "verify", found["run_id"])
    assert (again["confirmed"], again["failed"], again["not_checked"]) == (again["checked"], 0, [])


def test_columns_are_written_as_they_are_read_to_be_corrected(command: Commands, tmp_path: Path) -> None:
    """A model may take a column that is left out: the file says what it would be, also where the model is refused."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "points": rng.integers(0, 50, 300), "country": "DE"})
    people["year"] = 2024
    hired = np.where(people.points + 5 * (people.sex == "m") > 25, "yes", "no")
    kinds = make_column_transformer((OneHotEncoder(), ["sex", "country"]), remainder="passthrough")
    skops.io.dump(make_pipeline(kinds, DecisionTreeClassifier()).fit(people, hired), tmp_path / "m.skops")
    people.assign(hired=hired).to_csv(tmp_path / "d.csv", index=False)
    files = ("--data", str(tmp_path / "d.csv"), "--model", str(tmp_path / "m.skops"), "--protected", "sex")
    path = tmp_path / "s.json"
    assert command("inspect", *files, "--out-schema", str(path)) == 2
    assert "'country', which is not among the inputs" in command.err
    assert "inspect --out-schema" in command.err
    content = json.loads(path.read_text())
    left_out = {each["name"]: each for each in content["columns"] if each["kind"] == "ignored"}
    assert left_out["country"] == {"name": "country", "kind": "ignored", "was": "categorical", "categories": ["DE"]}
    assert left_out["year"] == {"name": "year", "kind": "ignored", "was": "integer", "min": 2024, "max": 2024}
    for each in left_out.values():
        each["kind"] = each.pop("was")
    path.write_text(json.dumps(content))
    assert command.json("count", *files, "--schema", str(path))["share"] > 0


@pytest.mark.thorough
def test_a_schema_file_takes_the_suggestion_as_it_is_printed(
    command: Commands, couples: list[str], tmp_path: Path
) -> None:
    told = command.json("inspect", *couples, "--suggest-links")
    columns = [
        {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
        {"name": "status", "kind": "categorical", "categories": ["husband", "single", "wife"]},
        {"name": "points", "kind": "integer", "min": 0, "max": 49},
    ]
    schema = tmp_path / "schema.json"
    content = {"label": "hired", "favourable": "yes", "columns": columns, "links": told["suggested_links"]}
    schema.write_text(json.dumps(content))
    by_file = command.json("count", *couples, "--schema", str(schema))
    by_option = command.json("count", *couples, "--link", "sex:status=wife/husband")
    plain = command.json("count", *couples)
    assert by_file["links"] == by_option["links"] == LINKED
    assert by_file["n_discriminatory"] == by_option["n_discriminatory"] != plain["n_discriminatory"]
    assert by_file["n_individuals"] == plain["n_individuals"]
    other = command.json("count", *couples[:4], "--protected", "status", "--schema", str(schema))
    assert other["links"] == [], "a link belongs to a protected attribute"
    assert "left out" not in command.err
    both = command.json("count", *couples[:4], "--protected", "sex,status", "--schema", str(schema))
    assert both["links"] == []
    assert "The link of 'status' with 'sex' is left out: 'status' is protected itself." in command.err


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("sex:status=wife/single,husband/single", "two different people would become one"),
        ("sex:status=wife/bride", "got 'bride'. Check the spelling"),
        ("status:sex=f/m", "got 2 (f / m)"),
        ("sex=status", "must be written like"),
    ],
)
def test_a_link_that_cannot_be_is_one_sentence(command: Commands, couples: list[str], link: str, says: str) -> None:
    assert command("count", *couples, "--link", link) == 2
    assert says in command.err
    assert "Traceback" not in command.err


def test_linked_attributes_that_are_both_protected_are_refused(command: Commands, couples: list[str]) -> None:
    asked = [*couples[:4], "--favourable", "yes", "--protected", "sex,status", "--link", "sex:status=wife/husband"]
    assert command("count", *asked) == 2
    assert "'status' is protected itself" in command.err


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", ["aequitas", "without"])
def test_a_retraining_with_a_link_is_recomputed_and_says_so(
    command: Commands, couples: list[str], tmp_path: Path, strategy: str
) -> None:
    """The recomputation counts people by husbands who become wives; the test rows are those of a run without links."""
    asked = ("retrain", *couples, "--strategy", strategy, "--rounds", "1", "--tolerance", "0.3")
    linked = command.json(*asked, "--link", "sex:status=wife/husband", "--measure-seconds", "1")
    plain = command.json(*asked, "--measure-seconds", "0")
    assert linked["links"] == LINKED
    assert linked["before"]["accuracy"] == plain["before"]["accuracy"], "the same rows were held out"
    again = command.json("runs", "verify", linked["run_id"])
    assert (again["failed"], again["not_checked"]) == (0, []), again
    shown = command.json("runs", "show", linked["run_id"])
    assert "status goes with sex: wife / husband" in shown["results"]["card"]["text"]
    if strategy == "without":
        assert linked["after"]["certified"] == 1.0, "the new model takes neither sex nor status"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs", "show", "abc"], "There is no run 'abc': there is no workspace at "),
        (["runs", "verify", "abc"], "There is no run 'abc': there is no workspace at "),
        (["runs", "verify", "."], "a bundle by its folder"),
        (["runs", "cancel", "abc"], "There is no run 'abc': there is no workspace at "),
        (["runs", "clean", "--older-than", "3"], "There is nothing to clean: there is no workspace at "),
        (["report", "--run", "abc", "--out", "r"], "There is no run to tell of: there is no workspace at "),
        (["report", "--review", "abc", "--out", "r"], "There is no review 'abc': there is no workspace at "),
    ],
)
def test_what_only_looks_makes_no_workspace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    missing = tmp_path / "mistyped"
    assert main([*arguments, "--workspace", str(missing)]) == 2
    assert said in capsys.readouterr().err
    assert main(["runs", "list", "--workspace", str(missing), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == []
    assert not missing.exists()
