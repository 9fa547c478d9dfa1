"""What the project promises about itself: commands, words, arrows."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md", "docs/techniques.md", "docs/papers.md")
UNPROVABLE = ("fair model", "debiased", "bias-free", "unbiased model")


def test_the_readme_begins_with_the_two_commands(root: Path) -> None:
    beginning = (root / "README.md").read_text().splitlines()[:6]
    assert [line.split("#")[0].strip() for line in beginning if line.startswith("make")] == ["make run", "make test"]


def test_commands_named_in_the_texts_exist(root: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    for text in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"`make ([a-z-]+)", (root / text).read_text()))
        assert named <= targets, text


def test_continuous_integration_runs_everything_and_a_second_python(root: Path) -> None:
    entry = root / ".ci" / "run"
    assert os.access(entry, os.X_OK)
    lines = entry.read_text().splitlines()
    assert "make test || status=1" in lines
    assert any(line.startswith("OPENBLAS_CORETYPE=") and " elsewhere " in line for line in lines)
    assert lines[-1] == 'exit "$status"'


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_promises_what_cannot_be_proved(root: Path, text: str) -> None:
    content = (root / text).read_text().lower()
    assert [word for word in UNPROVABLE if word in content] == []


def test_links_between_the_texts_lead_somewhere(root: Path) -> None:
    for text in TEXTS:
        for target in re.findall(r"\]\(([^)#]+)\)", (root / text).read_text()):
            if not target.startswith("http"):
                assert (root / text).parent.joinpath(target).exists(), f"{text} -> {target}"


def test_every_technique_is_under_the_contract_of_the_arrows(root: Path) -> None:
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    kept = next(set(contract["source_modules"]) for contract in contracts if contract["name"].startswith("A technique"))
    frame = {"__init__", "run", "registry"}
    folder = root / "fairness_engine" / "search"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}  # a package stands for all its modules
    modules = {path.stem for path in folder.glob("*.py")} - frame | packages
    assert kept == {f"fairness_engine.search.{module}" for module in modules}


def test_nothing_private_or_large_is_in_the_repository(root: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    files = [root / name for name in listed.stdout.decode().split("\0") if name]
    assert [str(file) for file in files if file.exists() and file.stat().st_size > 2_000_000] == []
    names = [str(file.relative_to(root)) for file in files]
    assert [
        name for name in names if name.startswith(("workspace/", "shared/")) or name.endswith((".pkl", ".joblib"))
    ] == []


def test_no_two_files_of_the_tests_share_a_name(root: Path) -> None:
    names = [path.name for path in (root / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == [], "the tests' folders are no packages"
