"""Commands in a pipeline: gates from options and from a policy, the status, and the test cases, on the sample data."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_commands import ROOT, Commands

from fairness_engine.cli.gate import read_gate
from fairness_engine.cli.main import COMMANDS, _json_names
from fairness_engine.cli.parser import ACTIONS
from fairness_engine.cli.pipeline import Pipeline
from fairness_engine.cli.policy import open_policy
from fairness_engine.data.catalogue import find_sample
from fairness_engine.store.store import RunStore
from junit_rules import ReadSuite, read_junit

_SAMPLE = find_sample("recidivism")
PLANTED = ["--data", str(_SAMPLE.data), "--schema", str(_SAMPLE.schema), "--protected", "race,sex", "--quiet"]
LABELS = ["rules", *PLANTED]
PLANTED += ["--model", str(_SAMPLE.model("recidivism_planted").path)]
ESTIMATE = ["estimate", *PLANTED, "--samples", "2000"]
POLICY = """version: 1
name: Models <of> ours & "yours"
source: Standard 4
gates:
  estimate:
    - name: "few: <b>&amp; \\e[31m'red'"
      fail_if: estimate.high > 0.01
      why: Few is what we want.
    - name: enough draws
      fail_if: n < 1000
      why: Else it says little.
    - name: nobody
      fail_if: share > 0 and n >= 1000 or estimate.high > 2
      why: We would like to know.
      severity: warning
    - name: known answers agree
      fail_if: reading.max_difference > 0.001
      why: They were not given.
      severity: warning
  certify:
    - name: of another command
      fail_if: no_such_name_in_its_json > 1
      why: It is only read.
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(workspace, capsys)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return tmp_path / "cases.xml"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def test_every_gate_is_a_test_case_with_its_figures(command: Commands, cases: Path, policy: Path) -> None:
    gates = ("--fail-if", "estimate.low > 0.9", "--fail-if", "0.01 < share", "--policy", str(policy))
    assert command(*ESTIMATE, *gates, "--junit", str(cases), "--json", str(cases.with_suffix(".json"))) == 1
    result = json.loads(cases.with_suffix(".json").read_text())
    suite = read_junit(cases)
    few = "few: <b>&amp; [31m'red'"
    assert suite.name == "evenhand.estimate"
    assert suite.seconds == round(result["seconds"], 3)
    assert suite.properties == {"policy": 'Models <of> ours & "yours"', "source": "Standard 4"}
    assert suite.ends() == {
        "estimate.low > 0.9": "passed",
        "0.01 < share": "failure",
        few: "failure",
        "enough draws": "passed",
        "nobody": "passed",
        "known answers agree": "skipped",
    }
    assert suite["estimate.low > 0.9"].text == f"estimate.low must be at most 0.9, got {result['low']:.6g}."
    assert suite["0.01 < share"].message == f"share must be at most 0.01, got {result['share']:.6g}."
    high = f"estimate.high must be at most 0.01, got {result['high']:.6g}."
    assert suite[few].message == high
    assert suite[few].text == f"{high}\nFails if: estimate.high > 0.01\nWhy: Few is what we want."
    assert suite["nobody"].text.startswith("Warning: share must be at most 0, got ")
    assert "'reading.max_difference' is nothing in the result" in suite["known answers agree"].message
    said = command.err.splitlines()
    assert said[0] == f"Gate failed: 0.01 < share. share must be at most 0.01, got {result['share']:.6g}."
    assert said[1] == f"Gate failed: few: <b>&amp; ?[31m'red'. {high} Few is what we want."
    assert said[2].startswith("Warning: nobody. share must be at most 0, got ")
    assert said[2].endswith("; or n must be below 1000, got 2000. We would like to know.")
    assert said[3].startswith("Warning: The gate 'known answers agree' in line 17 of 'policy.yaml' needs numbers, but")
    assert len(said) == 4


def test_cases_are_written_when_all_pass_and_standard_output_stays_clean(
    command: Commands, cases: Path, policy: Path
) -> None:
    policy.write_text(POLICY.replace("estimate.high > 0.01", "estimate.high > 0.9"))
    result = command.json(*ESTIMATE, "--policy", str(policy), "--junit", str(cases))
    assert result["n"] == 2000
    ends = read_junit(cases).ends()
    assert set(ends.values()) == {"passed", "skipped"}
    assert ends["known answers agree"] == "skipped"


def test_a_gate_on_nothing_is_an_error_and_hides_no_other(command: Commands, cases: Path) -> None:
    gates = ("--fail-if", "reading.max_difference > 1", "--fail-if", "share > 0", "--fail-if", "n < 5")
    assert command(*ESTIMATE, *gates, "--junit", str(cases)) == 2
    assert read_junit(cases).ends() == {
        "reading.max_difference > 1": "error",
        "share > 0": "failure",
        "n < 5": "passed",
    }
    first, second = command.err.splitlines()
    assert first.startswith("--fail-if needs numbers, but 'reading.max_difference' is nothing in the result.")
    assert second.startswith("Gate failed: share > 0. share must be at most 0, got ")


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes_but_for_the_seconds(
    command: Commands, tmp_path: Path, policy: Path
) -> None:
    files = [tmp_path / f"{i}.xml" for i in range(2)]
    for file in files:
        assert command(*ESTIMATE, "--seed", "3", "--policy", str(policy), "--junit", str(file)) == 1
    first, second = (re.sub(rb' time="[\d.]+"', b"", file.read_bytes()) for file in files)
    assert first == second


def test_a_command_without_gates_writes_one_case(command: Commands, cases: Path, policy: Path) -> None:
    assert command("runs", "list", "--junit", str(cases)) == 0
    assert read_junit(cases).ends() == {"the command comes to its end": "passed"}
    assert command("runs", "list", "--policy", str(policy), "--junit", str(cases)) == 0
    assert "has no gate for 'runs list'" in command.err
    suite = read_junit(cases)
    assert (suite.name, suite.properties["source"]) == ("evenhand.runs.list", "Standard 4")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("estimate.high > 0.01", "estimate.hihg > 0.01"), r"The gate 'few.*' in line 7 of 'policy.yaml' must name"),
        (("n < 1000", "plausible.hihg > 1"), r"'enough draws' in line 10 .* in 'plausible' of the JSON of 'estimate'"),
        (("n < 1000", "n_found > 1"), r"'enough draws' in line 10 .* in the JSON of 'estimate'"),
        (("n < 1000", "n <"), "'enough draws' in line 10 of 'policy.yaml' needs comparisons"),
        (("no_such_name_in_its_json > 1", "no such name"), "'of another command' in line 22 .* needs comparisons"),
        (
            ("  certify:", "  certif:"),
            r"line 20 .* must be a command \(inspect, .*, runs walls\), got text 'certif'",
        ),
        (("source: Standard 4", "owner: me"), "line 3 .* must have no keys but"),
    ],
)
def test_a_wrong_policy_is_refused_before_any_work(
    command: Commands, cases: Path, policy: Path, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    command.workspace = tmp_path / "unused"
    policy.write_text(POLICY.replace(*change))
    assert command(*ESTIMATE, "--policy", str(policy), "--junit", str(cases)) == 2
    (sentence,) = command.err.splitlines()
    assert re.search(said, sentence)
    assert command.out == ""
    assert not command.workspace.exists()
    (case,) = read_junit(cases).cases
    assert (case.end, case.message) == ("error", sentence.replace("?[31m", "[31m"))  # removed there, shown here


@pytest.mark.parametrize("target", ["-", ".", "nowhere/cases.xml"])
def test_what_cannot_be_written_is_refused_before_any_work(command: Commands, tmp_path: Path, target: str) -> None:
    command.workspace = tmp_path / "unused"
    for more in ((), ("--json", "-")):
        assert command(*ESTIMATE, *more, "--junit", target) == 2
        assert command.err.startswith("--junit must name a file")
        assert command.out == ""
        assert not command.workspace.exists()


def test_a_command_that_is_refused_writes_its_sentence(command: Commands, cases: Path) -> None:
    file = cases.with_suffix(".json")
    assert command("estimate", *PLANTED, "--protected", "zz", "--fail-if", "n < 5", "--junit", str(cases)) == 2
    suite = read_junit(cases)
    assert suite.ends() == {"the command comes to its end": "error", "n < 5": "skipped"}
    assert suite.cases[0].message == command.err.strip()
    file.mkdir()
    assert command(*ESTIMATE, "--fail-if", "n < 5", "--junit", str(cases), "--json", str(file)) == 2
    assert read_junit(cases).cases[0].message == command.err.strip()
    answers = cases.with_name("answers.csv")
    answers.write_text("score\n" + "0.123\n" * 4000)
    asked = ("inspect", *PLANTED, "--known-answers", str(answers), "--fail-if", "rows < 5", "--junit", str(cases))
    assert command(*asked) == 2
    suite = read_junit(cases)
    assert suite.ends() == {"the command comes to its end": "error", "rows < 5": "skipped"}
    assert suite.cases[0].text in command.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(("more", "n_sentences"), [((), 1), (("--protected", "zz"), 2)])
def test_cases_that_cannot_be_written_are_said(command: Commands, more: tuple[str, ...], n_sentences: int) -> None:
    """Where something else is wrong as well, both are said."""
    assert command(*ESTIMATE, *more, "--junit", "/dev/full") == 2
    assert "--junit must name a file that can be written, got '/dev/full'" in command.err.splitlines()[0]
    assert len(command.err.splitlines()) == n_sentences


@pytest.mark.thorough
def test_checks_of_a_second_look_are_test_cases(command: Commands, cases: Path, policy: Path) -> None:
    policy.write_text(
        "version: 1\nname: Looks\ngates:\n  runs verify:\n"
        "    - {name: there is a pair, fail_if: n_pairs == 0, why: Else there is nothing to look at.}\n"
    )
    run_id = command.json("search", *PLANTED, "--max-evaluations", "3000")["run_id"]
    asked = ("runs", "verify", run_id, "--policy", str(policy), "--junit", str(cases))
    assert command(*asked) == 0
    suite = read_junit(cases)
    assert suite.name == "evenhand.runs.verify"
    looks = ("pairs", "files", "seal", "totals", "people to watch")
    assert suite.ends() == dict.fromkeys((*looks, "there is a pair"), "passed")
    store = RunStore(command.workspace)
    (stored,) = store.run_folder(run_id).glob("*.parquet")
    stored.write_bytes(stored.read_bytes()[:-100])
    store.close()
    assert command(*asked) == 1
    suite = read_junit(cases)
    said = dict(re.findall(r"^([\w ]+) (holds|contradicted|not checked): ", command.out, flags=re.MULTILINE))
    ends = {"holds": "passed", "contradicted": "failure", "not checked": "skipped"}
    assert suite.ends() == {**{name: ends[verdict] for name, verdict in said.items()}, "there is a pair": "skipped"}
    assert {"failure", "skipped"} <= set(suite.ends().values())
    assert suite["pairs"].end == "skipped"
    assert f"pairs not checked: {suite['pairs'].message}" in command.out


# --- whoever reads leaves ------------------------------------------------------------------------


def left_alone(workspace: Path, cases: Path, *arguments: str, closed: int) -> tuple[int, ReadSuite]:
    """The status and the cases of a command whose standard output (1) or error (2) nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, ("stdout", "stderr")[closed - 1]: writing}
    words = [*arguments, "--workspace", str(workspace), "--junit", str(cases)]
    done = subprocess.run(
        [sys.executable, "-m", "fairness_engine", *words], cwd=ROOT, timeout=180, check=False, **streams
    )
    os.close(writing)
    return done.returncode, read_junit(cases)


def test_gates_are_looked_at_when_nobody_reads_the_result(workspace: Path, cases: Path) -> None:
    gate = ("--fail-if", "n_rule_sets > 0", "--top", "0", "--json", "-")
    status, suite = left_alone(workspace, cases, *LABELS, *gate, closed=1)
    assert (status, suite.ends()) == (1, {"n_rule_sets > 0": "failure"})


def test_a_gate_that_nobody_was_told_of_is_no_pass(workspace: Path, cases: Path) -> None:
    loud = [word for word in ESTIMATE if word != "--quiet"]
    status, suite = left_alone(workspace, cases, *loud, "--fail-if", "n < 5", closed=2)
    assert status == 3
    assert suite.ends() == {"the command comes to its end": "error", "n < 5": "skipped"}


# --- what is known of the JSON -------------------------------------------------------------------

NARROW = ["--limit", "earlier_offences=0:3", "--limit", "juvenile_offences=0:1"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", *PLANTED],
        ["search", *PLANTED, "--max-evaluations", "4000", "--technique", "data-scan"],
        ["search", *PLANTED, "--max-evaluations", "4000", "--technique", "sg"],
        ["compare", *PLANTED, "--techniques", "random", "--seeds", "1", "--max-evaluations", "2000"],
        ESTIMATE,
        ["count", *PLANTED, *NARROW],
        ["certify", *PLANTED, "--max-seconds", "5"],
        LABELS,
        ["rules", *PLANTED],
        ["retrain", *PLANTED, "--rounds", "1", "--set", "n_draws=500", "--tolerance", "0.2", "--measure-seconds", "1"],
        ["runs", "list"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_name_of_a_result_is_refused(command: Commands, arguments: list[str]) -> None:
    """What is known of the JSON beforehand leaves nothing out that a gate may ask for."""
    result = command.json(*arguments)
    options = argparse.Namespace(command=arguments[0], action=arguments[1])
    known, parts = _json_names(options)
    names = [name for name in names_in(result) if re.fullmatch(r"[A-Za-z_][\w-]*(\.[\w-]+)*", name)]
    assert len(names) > 0
    for name in names:
        if name != "suggested_links":
            read_gate(f"{name} > 0").check_names(known, arguments[0], parts)


def names_in(value: Any, prefix: str = "") -> list[str]:
    """All names of a result, with those inside its objects."""
    found = [prefix] if prefix else []
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for name, part in inner:
        found += names_in(part, f"{prefix}.{name}" if prefix else str(name))
    return found


def test_all_gates_of_the_sample_policy_can_be_asked() -> None:
    names = [*(name for name in COMMANDS if name != "runs"), *(f"runs {action}" for action in ACTIONS)]
    policy = open_policy(ROOT / "docs" / "examples" / "policy.yaml", names)
    assert len(policy.gates) >= 6
    for command, gates in policy.gates.items():
        known, parts = _json_names(argparse.Namespace(command=command))
        for gate in gates:
            gate.check_names(known, command, parts)
    assert Pipeline("estimate", "estimate", policy.gates["estimate"]).is_asked
