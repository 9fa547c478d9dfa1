"""The ready workflow, hooks and policy of docs/examples do what they say: each step and each hook is run as it stands,
on a model that ignores the protected attributes and on one that was planted.

What needs the network is skipped by name: actions, and the installation, for which this tree stands in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairness_engine.data.catalogue import find_sample
from junit_rules import ReadSuite, read_junit

pytestmark = pytest.mark.thorough

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
ROOT = EXAMPLES.parents[1]
WORKFLOW: dict[str, Any] = yaml.safe_load((EXAMPLES / "evenhand.yml").read_text())
(JOB,) = WORKFLOW["jobs"].values()
STEPS: list[dict[str, Any]] = JOB["steps"]
HOOKS: list[dict[str, Any]] = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
INSTALLATION = "Install Evenhand"
MODELS = {"ignores": "census_income_ignores_protected", "planted": "census_income_planted"}
PROVED = "Nobody is proved to be decided by a protected attribute"
ESTIMATED = "At most one individual in a hundred is decided by a protected attribute"
FAILING = {"Estimate": ESTIMATED, "Certify": PROVED, "evenhand-estimate": ESTIMATED, "evenhand-certify": PROVED}
"""The steps and the hooks that stop for the planted model, and the gate of each that fails."""


@dataclass(frozen=True)
class Desk:
    """A repository of a user: the data, a model and the policy where the examples have them, and what may be called.

    Args:
        statuses: of what was run there, by its name.
    """

    folder: Path
    environment: dict[str, str]
    statuses: dict[str, int]

    def run(self, name: str, script: str) -> int:
        """Run a script as GitHub's runner runs it; returns its status."""
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert "Traceback" not in done.stderr
        self.statuses[name] = done.returncode
        return done.returncode

    def cases(self, file: str) -> ReadSuite:
        """Test cases that were written here."""
        return read_junit(self.folder / file)


def make_desk(folder: Path, model: str) -> Desk:
    """A desk with a sample model and this tree's command ``evenhand`` on its path."""
    sample = find_sample("census_income")
    for name, source in {
        "data/people.csv": sample.data,
        "data/people.schema.json": sample.schema,
        "models/model.keras": sample.model(MODELS[model]).path,
        "policy.yaml": EXAMPLES / "policy.yaml",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    programs = folder.parent / f"{folder.name}-programs"
    programs.mkdir()
    for name, words in {"evenhand": "-m evenhand ", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (programs / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVENHAND_", "GIT_"))}
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **JOB["env"]}
    return Desk(folder, kept | own, {})


@pytest.fixture(scope="module", params=MODELS)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk for the steps of the workflow, which leave files for one another."""
    return make_desk(tmp_path_factory.mktemp(request.param), request.param)


def is_planted(desk: Desk) -> bool:
    return desk.folder.name.startswith("planted")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["name"])
def test_a_step_of_the_workflow(desk: Desk, step: dict[str, Any]) -> None:
    if "uses" in step:
        pytest.skip(f"needs the network: the action {step['uses']}")
    if step["name"] == INSTALLATION:
        pytest.skip("needs the network: this tree is called instead of what the step installs")
    name = step["name"]
    status = desk.run(name, step["run"])
    file = next(word for word in step["run"].split() if word.endswith(".xml"))
    suite = desk.cases(file)
    gate = FAILING.get(name)
    assert status == int(is_planted(desk) and gate is not None), suite
    assert [case.name for case in suite.cases if case.end == "failure"] == ([gate] if status else [])
    assert "error" not in suite.ends().values()
    assert gate is None or gate in suite.ends()


def test_the_workflow_names_its_steps_and_what_it_cannot_run_here() -> None:
    assert [step["uses"].split("@")[0] for step in STEPS if "uses" in step] == [
        "actions/checkout",
        "actions/checkout",
        "actions/setup-python",
        "mikepenz/action-junit-report",
        "actions/upload-artifact",
    ]
    assert [step["name"] for step in STEPS if "pip install" in step.get("run", "")] == [INSTALLATION]
    later = STEPS[[step["name"] for step in STEPS].index("Inspect") + 1 :]
    goes_on = "${{ !cancelled() && steps.installed.outcome == 'success' }}"
    assert {step["if"] for step in later} == {goes_on}, "all gates are seen, whichever fails"
    assert not any("${{" in step.get("run", "") for step in STEPS), "a shell runs it as it stands"
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_the_reports_are_where_the_workflow_looks_for_them() -> None:
    written = [
        word for step in STEPS for word in step.get("run", "").split() if word.endswith((".xml", ".json", ".csv"))
    ]
    assert {str(Path(name).parent) for name in written} == {"reports"}
    shown, kept = (step["with"] for step in STEPS[-2:])
    assert (shown["report_paths"], kept["path"]) == ("reports/*.xml", "reports")


@pytest.fixture(scope="module", params=MODELS)
def hooked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk for the hooks."""
    return make_desk(tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_an_entry_of_a_hook(hooked: Desk, hook: dict[str, Any]) -> None:
    status = hooked.run(hook["id"], hook["entry"])
    suite = hooked.cases(f"{hook['id']}.xml")
    gate = FAILING[hook["id"]]
    assert status == int(is_planted(hooked)), suite
    assert [case.name for case in suite.cases if case.end == "failure"] == ([gate] if status else [])
    assert suite[gate].end == ("failure" if status else "passed")


def test_pre_commit_refuses_the_planted_model(tmp_path: Path) -> None:
    """The whole: a repository, its hooks, and the program that calls them."""
    desk = make_desk(tmp_path / "planted", "planted")
    shutil.copy(EXAMPLES / "pre-commit-config.yaml", desk.folder / ".pre-commit-config.yaml")
    desk.environment["PRE_COMMIT_HOME"] = str(tmp_path / "cache")
    assert desk.run("git", "git init -q . && git add data models policy.yaml .pre-commit-config.yaml") == 0
    refused = [f'"{sys.executable}" -m pre_commit run --all-files {hook["id"]}' for hook in HOOKS]
    assert [desk.run("pre-commit", script) for script in refused] == [1, 1]
    assert desk.cases("evenhand-certify.xml")[PROVED].end == "failure"
    shutil.copy(find_sample("census_income").model(MODELS["ignores"]).path, desk.folder / "models" / "model.keras")
    assert desk.run("git", "git add models") == 0
    assert [desk.run("pre-commit", script) for script in refused] == [0, 0]
