"""The command ``retrain``, run as a person would, on the sample data: one retraining with all that follows serves most
tests.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_commands import DATA, MODEL, ROOT, SCHEMA, Commands

import run_cases
from fairness_engine.__main__ import main
from fairness_engine.cli.commands.retrain import (
    RETRAIN_KEYS,
    SIDE_KEYS,
    _interval,
    retrain_fields,
    retrain_text,
    wait_for_measuring,
)
from fairness_engine.cli.gate import read_gate
from fairness_engine.cli.output import COMMON_KEYS, ExitStatus
from fairness_engine.data.catalogue import find_sample
from fairness_engine.errors import SettingError
from fairness_engine.runs import kinds
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore

_SAMPLE = find_sample("recidivism")
TREE = ["--data", str(_SAMPLE.data), "--schema", str(_SAMPLE.schema), "--protected", "race,sex"]
TREE += ["--model", str(_SAMPLE.model("recidivism_planted").path)]
QUICK = ["--rounds", "2", "--set", "n_draws=2000", "--quiet"]
CENSUS = ["--data", str(DATA), "--schema", str(SCHEMA), "--protected", "sex"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("retrain")


@pytest.fixture(scope="module")
def result(folder: Path) -> dict[str, Any]:
    """A planted decision tree, retrained and measured."""
    out = ["--out-model", str(folder / "new.skops"), "--json", str(folder / "result.json")]
    more = ["--tolerance", "0.2", "--measure-seconds", "2", "--workspace", str(folder / "workspace"), *QUICK]
    assert main(["retrain", *TREE, *more, *out]) == 0
    content: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return content


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(folder / "workspace", capsys)


def test_the_json_has_both_models_by_the_same_names(result: dict[str, Any]) -> None:
    assert set(result) == {*COMMON_KEYS, *RETRAIN_KEYS}
    before = result["before"]
    after = result["after"]
    assert set(before) == set(after) == set(SIDE_KEYS)
    assert (result["improved"], result["verdict"], result["iterations"]) == (True, "improved", 2)
    assert before["accuracy"] - after["accuracy"] <= 0.2
    assert after["estimate"]["high"] < before["estimate"]["low"]
    assert after["worst_rule_set"]["rules"] == before["worst_rule_set"]["rules"]
    assert after["certified"] > before["certified"] > 0.5
    assert before["certified"] + before["falsified"] + before["undecided"] == pytest.approx(1)
    assert after["n_found"] < before["n_found"]
    pairs = result["pairs"]
    assert pairs["n_fixed"] + pairs["n_still"] == pairs["n_before"] <= before["n_found"]
    assert pairs["n_new"] + pairs["n_known"] == pairs["n_after"] == after["n_found"]
    assert pairs["n_fixed"] > pairs["n_still"]


def test_estimates_and_proofs_agree(result: dict[str, Any]) -> None:
    """The certification knows the exact share of a tree; the retraining's estimate of it must hold it."""
    for side in (result["before"], result["after"]):
        assert side["undecided"] == pytest.approx(0)
        assert side["estimate"]["low"] - 0.01 <= side["falsified"] <= side["estimate"]["high"] + 0.01


def test_the_runs_that_followed_are_there_and_alike(result: dict[str, Any], folder: Path) -> None:
    store = RunStore(folder / "workspace")
    for name in ("search", "certify", "rules"):
        before, after = (store.run(result["measured"][side][name]) for side in ("before", "after"))
        assert before.state is after.state is RunState.FINISHED
        assert before.config.seed == after.config.seed != result["seed"]
        assert before.config.settings == after.config.settings


def test_the_model_comes_out_with_its_card_and_opens(result: dict[str, Any], folder: Path, command: Commands) -> None:
    file = folder / "new.skops"
    assert result["out_model"] == str(file)
    assert (folder / "new.skops.md").read_text().strip() == result["card"].strip()
    assert not list(folder.glob(".incoming-*"))
    inspected = command.json("inspect", *TREE[:4], "--model", str(file))
    assert inspected["model"]["format"] == "scikit-learn (.skops)"


def test_verify_opens_the_model_again(result: dict[str, Any], command: Commands) -> None:
    verified = command.json("runs", "verify", result["run_id"])
    assert verified["model"]["n_contradictions"] == 0
    shown = command.json("runs", "show", result["run_id"])
    assert shown["version"]["lineage"] == ["recidivism_planted.skops"]
    assert Path(shown["version"]["file"]).is_file()


def test_the_words(result: dict[str, Any]) -> None:
    text = retrain_text(result)
    assert text.startswith("Improved: ")
    for part in ("before", "after", "accuracy", "certified", "are fixed", "2 rounds in", "Model written to"):
        assert part in text


def test_the_ends_of_a_narrow_interval_are_told_apart() -> None:
    assert _interval({"share": 0.10945, "low": 0.10515, "high": 0.11386}) == "10.9 % (10.5 % to 11.4 %)"


def test_nothing_within_the_tolerance_is_said_and_can_fail_a_pipeline(command: Commands, folder: Path) -> None:
    gate = ("--fail-if", "improved == false or after.estimate.high > 0.5")
    out = ("--out-model", str(folder / "none.skops"), "--json", str(folder / "none.json"))
    assert command("retrain", *TREE, *QUICK, "--tolerance", "0", *gate, *out) == 1
    content = json.loads((folder / "none.json").read_text())
    assert (content["improved"], content["verdict"], content["out_model"]) == (False, "no improvement", None)
    assert content["before"]["accuracy"] > 0.5
    assert set(content["after"].values()) == {None}
    assert content["measured"] is content["pairs"] is None
    assert not (folder / "none.skops").exists()
    assert "No model was written" in command.err
    assert command.out.startswith("No improvement: ")


def test_a_gate_stops_at_what_decides_it() -> None:
    values = {"improved": False, "after": {"estimate": None}}
    assert read_gate("improved == false or after.estimate.high > 0.5").fails(values, "retrain")
    assert not read_gate("improved == true and after.estimate.high > 0.5").fails(values, "retrain")
    with pytest.raises(SettingError, match=r"after\.estimate\.high"):
        read_gate("improved == true or after.estimate.high > 0.5").fails(values, "retrain")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*TREE, "--out-model", "new.keras"], "--out-model must end in .skops"),
        ([*CENSUS, "--model", str(MODEL), "--out-model", "new.skops"], "--out-model must end in .keras"),
        ([*TREE, "--surrogate", "forest", "--out-model", "new.h5"], "--out-model must end in .skops"),
        ([*TREE, "--strategy", "threshold", "--out-model", "new.skops"], "makes a model file"),
        ([*TREE, "--out-model", "/nowhere/new.skops"], "a folder that is there"),
        ([*TREE, "--tolerance", "2"], "from 0 to 1, got '2'"),
        ([*TREE, "--strategy", "magic"], "invalid choice: 'magic'"),
        ([*TREE, "--technique", "magic"], "must be one of random"),
        ([*TREE, "--set", "tolerance=0.1"], "'tolerance' is --tolerance"),
        ([*TREE, "--set", "n_draws=many"], "'n_draws' must be a whole number from 500"),
        ([*TREE, "--set", "test_share=0.5", "--set", "validation_share=0.45"], "must leave a tenth of the rows"),
        ([*TREE, "--set", "depth=3"], "no setting 'depth'"),
        ([*TREE, "--cases", "ffff"], "no run 'ffff'"),
        ([*TREE, "--rule-set", "ffff"], "must be like 3f2a:1"),
        ([*TREE, "--measure-seconds", "-1"], "from 0 to 3,600"),
        ([*TREE, "--fail-if", "better == true"], "must name something in the JSON of 'retrain'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_trained(
    command: Commands, arguments: list[str], said: str
) -> None:
    assert command("retrain", *arguments) == 2
    assert said in command.err
    assert command.err.count("\n") == 1


def test_a_model_without_a_training_offers_surrogates_by_name(command: Commands) -> None:
    onnx = ROOT / "sample_models" / "census_income_dense.onnx"
    assert command("retrain", *CENSUS, "--model", str(onnx), *QUICK) == 2
    for name in ("'network'", "'forest'", "'tree'", "'linear'", "'mlp'"):
        assert name in command.err


def test_an_interrupt_of_what_follows_leaves_runs_that_were_there_before(tmp_path: Path) -> None:
    """A run on the original that another retraining waits for is at work; this process claims to work on it."""
    store = RunStore(tmp_path / "workspace")
    config = run_cases.config_of(run_cases.review_of(store), "random")
    others = store.create_run(replace(config, comparison="another"))
    assert store.claim(others, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    also_others, own = (store.create_run(replace(config, comparison=text)) for text in ("another", "this"))
    measured = {"before": {"search": others, "rules": also_others}, "after": {"search": own, "rules": None}}
    default = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        while signal.getsignal(signal.SIGINT) is default:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    status = wait_for_measuring(store, "this", measured, argparse.Namespace(quiet=True))
    interrupting.join()
    assert status is ExitStatus.CANCELLED
    assert store.run(others).state is RunState.RUNNING
    assert not store.run(others).is_cancel_requested
    assert store.run(also_others).state is RunState.QUEUED
    assert store.run(own).state is RunState.CANCELLED


def test_a_run_that_scored_no_rule_set_in_its_time_leaves_a_gap(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "workspace")
    review = run_cases.review_of(store)
    rules, retraining = (
        store.create_run(run_cases.config_of(review, "", kind=kind, settings=settings))
        for kind, settings in ((kinds.RULES.name, {}), (kinds.RETRAIN.name, {"strategy": "variants"}))
    )
    assert store.claim(rules, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    store.finish(rules, RunState.FINISHED)
    store.set_result(retraining, "measured", {"before": {"rules": rules}, "after": {}})
    assert retrain_fields(store, store.run(retraining))["before"]["top_score"] is None


# --- texts ----------------------------------------------------------------------------------------

_COMMENTS = find_sample("comments")
TEXTS = ["--data", str(_COMMENTS.data), "--schema", str(_COMMENTS.schema), "--text-column", "comment"]
TEXTS += ["--model", str(_COMMENTS.model("comments_linear").path)]


@pytest.mark.thorough
def test_a_model_of_texts_is_retrained_with_the_same_json(command: Commands, tmp_path: Path) -> None:
    out = tmp_path / "new.skops"
    more = ["--reference", "control", "--measure-seconds", "0", "--out-model", str(out)]
    result = command.json("retrain", *TEXTS, *QUICK, *more)
    assert set(result) == {*COMMON_KEYS, *RETRAIN_KEYS}
    assert set(result["before"]) == set(SIDE_KEYS)
    assert (result["strategy"], result["improved"], result["raised"]) == ("rules", True, False)
    assert result["before"]["estimate"]["distribution"] == "swaps"
    worst = [result[side]["worst_rule_set"] for side in ("before", "after")]
    assert worst[1]["score"] <= 0.5 * worst[0]["score"]
    assert result["before"]["accuracy"] - result["after"]["accuracy"] <= result["tolerance"] + 1e-9
    assert out.is_file()
    assert "terms in the texts of 'comment'" in result["card"]
    assert "random swaps that change the decision" in retrain_text(result)


def test_what_there_is_none_of_for_texts_is_refused(command: Commands, tmp_path: Path) -> None:
    terms = tmp_path / "terms.json"
    terms.write_text('{"kind": ["red", "blue"]}')
    assert command("retrain", *CENSUS, "--model", str(MODEL), "--terms", str(terms)) == 2
    assert "--text-column" in command.err
    assert command("retrain", *TEXTS, "--protected", "topic") == 2
    assert "leave one out" in command.err
    assert command("retrain", *TEXTS, "--strategy", "majority", "--quiet") == 2
    assert "Of texts the strategies are" in command.err
