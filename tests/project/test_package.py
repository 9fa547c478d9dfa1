"""The package: what the wheel holds, and that it works where it is installed, outside the checkout."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pandas as pd
import pytest

from evenhand.launcher import is_free
from fairness_engine import __version__

pytestmark = pytest.mark.thorough

PATIENCE_SECONDS = 180
APP = "evenhand/app/"
SAMPLES = ("fairness_engine/sample_data/", "fairness_engine/sample_models/")


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as a wheel, built by the backend that pyproject.toml names."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel in it, which sees the libraries of this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    libraries = Path(subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    (libraries / "libraries.pth").write_text(str(Path(pd.__file__).parents[1]))
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True)
    return folder / "bin"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Nothing of the checkout; loops are not compiled, for they would be compiled anew for this installation: what is
    asked is small.
    """
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "EVENHAND_WORKSPACE")}
    return kept | {"NUMBA_DISABLE_JIT": "1", "NUMBA_CACHE_DIR": str(tmp_path / "numba")}


def test_the_wheel_holds_the_engine_the_app_and_the_samples_under_two_names(root: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.split("/")[0] for name in names} == {
        "evenhand",
        "fairness_engine",
        f"evenhand-{__version__}.dist-info",
    }
    ours = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    for top, inside in (("evenhand", "evenhand"), ("fairness_engine", "fairness_engine"), ("pages", f"{APP}pages")):
        there = {f"{inside}{name.removeprefix(top)}" for name in ours if name.startswith(f"{top}/")}
        assert {name for name in there if (root / name).exists() or inside != top} <= names
    assert {f"{APP}app.py", f"{APP}.streamlit/config.toml"} <= names
    samples = {name.rsplit("/", 1)[-1] for name in names if name.startswith(SAMPLES)}
    assert {"catalogue.json", "credit.csv", "credit.schema.json", "credit_network.keras"} <= samples
    assert not any(name.endswith(".py") for name in samples), "what makes the samples stays in the checkout"
    assert not any("__pycache__" in name for name in names)


def test_dependencies_and_version_are_written_once(root: Path, wheel: Path, tmp_path: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert set(project["dynamic"]) == {"version", "dependencies", "optional-dependencies"}
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    found = PathDistribution(tmp_path / f"evenhand-{__version__}.dist-info")
    assert found.version == __version__
    wanted = [line.split("#")[0].strip() for line in (root / "requirements.txt").read_text().splitlines()]

    def plain(name: str) -> str:
        return re.split(r"[<>=]", name)[0].lower().replace("_", "-")

    always = [name for name in found.requires or () if "extra ==" not in name]
    assert {plain(name) for name in always} == {plain(name) for name in wanted if name}
    of_team = [plain(name).split("[")[0] for name in found.requires or () if "extra == 'team'" in name]
    assert "psycopg" in of_team


def test_a_store_of_an_earlier_version_is_migrated(
    installed: Path, root: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "evenhand.db") as database:
        database.executescript((root / "tests" / "store" / "version_1.sql").read_text(encoding="utf-8"))
    database.close()
    command = [str(installed / "python"), "-m", "fairness_engine", "runs", "list", "--workspace", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "finished" in done.stdout


SCRIPT = """
import evenhand
data, model = evenhand.read_sample("recidivism", "recidivism_planted")
schema = model.parent.parent / "sample_data" / "recidivism.schema.json"
few = evenhand.read_data(data.table.frame.head(300), schema=schema)
limits = {"earlier_offences": (0, 3), "juvenile_offences": (0, 1), "days_in_custody": (0, 3)}
review = evenhand.Review(few, model, protected=["race", "sex"], limits=limits)
found = review.search("random", max_evaluations=300, seed=1)
print(found.n_found, len(found.pairs), review.estimate(samples=60).n, review.count().n_individuals > 0)
print(len(review.groups(support=0.1).rule_sets) > 0, evenhand.__file__)
"""
"""Of few people: loops that are not compiled take a hundred times as long."""


def test_a_script_runs_outside_the_checkout(installed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    quiet = ("-W", "ignore:overflow:RuntimeWarning")  # of loops that are not compiled
    command = [str(installed / "python"), *quiet, "-c", SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    n_found, n_people, n_drawn, has_counted = first.split()
    assert int(n_people) == 2 * int(n_found) > 0
    assert (n_drawn, has_counted) == ("60", "True")
    assert second.startswith("True ")
    assert installed.parent.resolve() in Path(second.split()[1]).resolve().parents
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "numba"]), "it writes nothing where it is started"


def test_the_command_opens_a_model_behind_its_walls(
    installed: Path, environment: dict[str, str], tmp_path: Path
) -> None:

    def say(program: str, *arguments: str) -> str:
        command = [str(installed / program), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = say("evenhand", "--help")
    assert listed.startswith("usage: evenhand ")
    assert "open the app in a browser" in listed
    where = "from fairness_engine.data.catalogue import find_sample as find; print(find('credit').data)"
    data = Path(say("python", "-c", where).strip())
    model = data.parent.parent / "sample_models" / "credit_planted.onnx"
    people = tmp_path / "people.csv"
    people.write_text("\n".join(data.read_text().splitlines()[:121]) + "\n")
    schema = data.with_name("credit.schema.json")
    files = ("--data", str(people), "--schema", str(schema), "--model", str(model))
    options = (*files, "--workspace", str(tmp_path / "workspace"), "--json", "-")
    result = json.loads(say("evenhand", "inspect", *options))
    assert result["versions"]["evenhand"] == __version__
    assert result["fit"]["accuracy"] > result["fit"]["majority_share"]


def test_the_app_starts_from_the_package(installed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    port = next(port for port in range(8700, 8800) if is_free(port))
    command = [str(installed / "evenhand"), "app", "--port", str(port), "--no-browser"]
    with (tmp_path / "app.log").open("wb") as log:
        app = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "Evenhand is open at" not in (said := (tmp_path / "app.log").read_text()):
            assert app.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as page:
            assert page.status == 200
        assert (tmp_path / "workspace").is_dir(), "beside where it was started"
    finally:
        os.killpg(app.pid, signal.SIGKILL)
        app.wait()
