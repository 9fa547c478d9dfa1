"""docs/python.md and README.md say what is so: every public name is documented, and every example runs."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand
from fairness_engine.data.catalogue import find_sample

MAX_NAMES = 12
MAX_LINES = 10


def blocks(path: Path) -> list[str]:
    """The examples in Python of a page."""
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def table(page: str) -> dict[str, str]:
    """What the page says of each public name."""
    section = page.split("\n## Public names\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))


def test_public_names_are_few_listed_and_documented(root: Path) -> None:
    assert len(evenhand.__all__) <= MAX_NAMES
    assert sorted(evenhand.__all__) == list(evenhand.__all__)
    described = table((root / "docs" / "python.md").read_text(encoding="utf-8"))
    assert set(described) == set(evenhand.__all__)
    for name in set(evenhand.__all__) - {"__version__"}:
        public = getattr(evenhand, name)
        assert inspect.getdoc(public), name
        for own, member in inspect.getmembers(public):
            if not own.startswith("_") and inspect.isclass(public) and own in vars(public):
                assert not inspect.isroutine(member) or inspect.getdoc(member), f"{name}.{own}"
    for name in ("Search", "Estimate", "Count", "Certification", "Groups"):
        for field in vars(getattr(evenhand, name))["__annotations__"]:
            said = described[name] + (inspect.getdoc(getattr(evenhand, name)) or "")
            assert field.startswith("_") or field in said, f"{name}.{field}"


def test_the_package_loads_what_is_asked_for() -> None:
    """The program ``evenhand`` is in it, and hands most commands on to a process that has loaded all."""
    asked = "import sys, evenhand; print('numpy' in sys.modules, sorted({*evenhand.__all__} - {*dir(evenhand)})); "
    found = "from evenhand import *; print(Error is evenhand.Error, Review.__name__, hasattr(evenhand, 'nothing'))"
    done = subprocess.run([sys.executable, "-c", asked + found], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False []", "True Review False"]


def test_every_argument_is_described() -> None:
    for public in (evenhand.read_data, evenhand.read_sample, *(getattr(evenhand.Review, name) for name in QUESTIONS)):
        text = inspect.getdoc(public) or ""
        for name in inspect.signature(public).parameters:
            assert name == "self" or re.search(rf"\b{name}\b", text.split("Args:")[-1]), f"{public.__name__}: {name}"
    scope = inspect.getdoc(evenhand.Review) or ""
    for name in inspect.signature(evenhand.Review).parameters:
        assert re.search(rf"^    {name}: ", scope, re.MULTILINE), name


QUESTIONS = ("search", "estimate", "count", "certify", "groups")


def test_the_ten_lines_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = blocks(root / "docs" / "python.md")[0]
    assert sum(bool(line.strip()) for line in lines.splitlines()) <= MAX_LINES
    exec(compile(lines, "docs/python.md", "exec"), {})
    said = capsys.readouterr().out
    assert "found; evaluation budget spent" in said
    for part in ("decision", "Estimate(", "Count(", "Certification(", "inside"):
        assert part in said


@pytest.mark.thorough
def test_the_example_of_the_readme_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = find_sample("census_income")
    shutil.copy(sample.data, tmp_path / "people.csv")
    shutil.copy(sample.model("census_income_dense").path, tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(root / "README.md")
    names: dict[str, object] = {}
    exec(compile(example.replace("max_seconds=10", "max_seconds=1"), "README.md", "exec"), names)
    assert isinstance(names["review"], evenhand.Review)


def test_the_example_of_the_package_says_what_it_says() -> None:
    assert doctest.testmod(evenhand) == (0, 5)


def test_importing_it_is_light(root: Path) -> None:
    heavy = ("pandas", "streamlit", "tensorflow", "sklearn", "numba", "sqlalchemy")
    program = f"import sys, evenhand; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
