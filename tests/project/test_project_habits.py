"""What the project promises about itself: commands, words, arrows."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from pages.shared.app import navigation

TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/techniques.md",
    "docs/papers.md",
    "docs/python.md",
    "docs/command-line.md",
    "docs/pipelines.md",
)
TOPS = ("evenhand", "fairness_engine", "pages")
UNPROVABLE = ("fair model", "debiased", "bias-free", "unbiased model")


def test_the_readme_begins_with_the_two_commands(root: Path) -> None:
    beginning = (root / "README.md").read_text().splitlines()[:6]
    assert [line.split("#")[0].strip() for line in beginning if line.startswith("make")] == ["make run", "make test"]


def test_commands_named_in_the_texts_exist(root: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    for text in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"`make ([a-z-]+)", (root / text).read_text()))
        assert named <= targets, text


def test_continuous_integration_runs_what_make_test_does_a_share_and_a_second_python(root: Path) -> None:
    entry = root / ".ci" / "run"
    assert os.access(entry, os.X_OK)
    lines = [line.strip() for line in entry.read_text().splitlines()]
    checks = "make -k -j 2 -O check loops || status=1"
    tests = "make pytest || status=1"
    with_a_share = tests.replace("pytest", 'pytest THOROUGH="$share"')
    assert lines.index(checks) < lines.index(with_a_share)
    (recipe,) = re.findall(r"^test: .*\n\t(.*)", (root / "Makefile").read_text(), re.MULTILINE)
    whole = recipe.replace("$(MAKE) --no-print-directory", "make")
    assert f"{checks}; {tests}" in whole, "what `make test` runs"
    assert any(line.startswith("OPENBLAS_CORETYPE=") and " elsewhere " in line for line in lines)
    assert lines[-1] == 'exit "$status"'


def test_a_thorough_test_is_in_one_share_and_in_all(request: pytest.FixtureRequest, root: Path) -> None:
    in_share = request.config.pluginmanager.get_plugin(str(root / "tests" / "conftest.py"))._in_share
    (n_shares,) = map(int, re.findall(r'share="\$.*/(\d+)"', (root / ".ci" / "run").read_text()))
    files = {path for folder in ("browser", "cluster", "truth") for path in (root / "tests" / folder).glob("test_*.py")}
    shares = [in_share(files, f"{number}/{n_shares}") for number in range(n_shares)]
    assert frozenset().union(*shares) == files
    assert sum(map(len, shares)) == len(files)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert in_share(files, "all") == files
    assert not in_share(files, "none")


def test_every_share_and_the_second_python_have_their_turn(root: Path) -> None:
    lines = (root / ".ci" / "run").read_text()
    (n_turns,) = map(int, re.findall(r"echo 0\) % (\d+)\)\)", lines))
    ((formula, n_shares),) = re.findall(r'share="\$\(\((.*)\)\)/(\d+)"', lines)
    ((of_second, n_thirds),) = re.findall(r'elsewhere THOROUGH="\$\(\((.*)\)\)/(\d+)"', lines)
    turns = f"for turn in $(seq 0 {n_turns - 1}); do"
    shares = f"{turns} [ $((turn % 4)) = 0 ] || echo $(({formula})); done"
    thirds = f"{turns} [ $((turn % 4)) != 0 ] || echo $(({of_second})); done"
    for script, n in ((shares, n_shares), (thirds, n_thirds)):
        drawn = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()
        assert set(map(int, drawn)) == set(range(int(n)))


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_promises_what_cannot_be_proved(root: Path, text: str) -> None:
    content = (root / text).read_text().lower()
    assert [word for word in UNPROVABLE if word in content] == []


def test_links_between_the_texts_lead_somewhere(root: Path) -> None:
    for text in TEXTS:
        for target in re.findall(r"\]\(([^)#]+)\)", (root / text).read_text()):
            if not target.startswith("http"):
                assert (root / text).parent.joinpath(target).exists(), f"{text} -> {target}"


# --- the house ----------------------------------------------------------------------------------

MAX_MODULES = 13
MAX_LOOSE = 9
MAX_PREFIX = 2
MAX_PACKED = 0.005
"""Of all assignments, those that write unrelated values into one line."""


def modules(root: Path) -> dict[Path, list[Path]]:
    """The modules of the front door, the engine and the app by folder."""
    found: dict[Path, list[Path]] = {}
    for top in TOPS:
        for path in sorted((root / top).rglob("*.py")):
            if path.name != "__init__.py":
                found.setdefault(path.parent.relative_to(root), []).append(path)
    return found


def test_folders_hold_what_a_reader_takes_in(root: Path) -> None:
    counts = {str(folder): len(files) for folder, files in modules(root).items()}
    assert {folder: n for folder, n in counts.items() if n > MAX_MODULES} == {}
    assert counts["fairness_engine"] <= MAX_LOOSE


def test_a_prefix_that_files_share_is_a_folder(root: Path) -> None:
    for folder, files in modules(root).items():
        prefixes = [path.stem.split("_")[0] for path in files]
        assert {name for name in prefixes if prefixes.count(name) > MAX_PREFIX} == set(), folder


def test_each_word_of_the_menu_has_a_folder(root: Path) -> None:
    folders = {path.name for path in (root / "pages").iterdir() if (path / "page.py").is_file()}
    assert folders == {place.title.lower() for place in navigation.PLACES}
    assert all((root / place.path).is_file() for place in navigation.PLACES)


@dataclass(frozen=True)
class Facts:
    """What is looked for in a module.

    Args:
        n_assignments: in all.
        packed: lines of those that write unrelated values into one.
        imported: anywhere, but for types: modules, and names that may be modules.
    """

    n_assignments: int
    packed: tuple[int, ...]
    imported: frozenset[str]

    @classmethod
    @cache
    def of(cls, path: Path) -> Facts:
        """Those of a file: parsed once, and the trees of all modules are not kept."""
        n_assignments = 0
        packed: list[int] = []
        imported: set[str] = set()
        for node, is_for_types in walked(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign):
                n_assignments += 1
                packed += [node.lineno] if is_packed(node) else []
            elif isinstance(node, ast.Import) and not is_for_types:
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not is_for_types:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        return cls(n_assignments, tuple(packed), frozenset(imported))


def walked(node: ast.AST, is_for_types: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """The statements of a module, and whether they are there for types alone."""
    yield node, is_for_types
    is_guarded = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, part, None) or ():
            yield from walked(inner, is_for_types or (is_guarded and part == "body"))


def is_packed(node: ast.Assign) -> bool:
    is_tuple = isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    return is_tuple and sorted(ast.unparse(node.targets[0])) != sorted(ast.unparse(node.value))  # no swap


def test_one_statement_a_line(root: Path) -> None:
    facts = {path: Facts.of(path) for files in modules(root).values() for path in files}
    packed = [f"{path.relative_to(root)}:{line}" for path, found in facts.items() for line in found.packed]
    assert len(packed) < MAX_PACKED * sum(found.n_assignments for found in facts.values()), packed


def test_no_module_needs_one_that_needs_it(root: Path) -> None:
    """Imports inside functions count: they only hide a circle. Those for types alone do not."""
    known = {".".join(path.relative_to(root).with_suffix("").parts): path for f in modules(root).values() for path in f}
    needs = {name: Facts.of(path).imported & known.keys() - {name} for name, path in known.items()}
    for name in known:
        reached: set[str] = set()
        waiting = list(needs[name])
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting += needs[one]
        assert name not in reached, f"{name} is in a circle"


def test_every_room_is_on_the_map(root: Path) -> None:
    """``docs/architecture.md`` says each room of the engine and each folder of the app, and names no file that is not
    there.
    """
    text = (root / "docs" / "architecture.md").read_text()
    rooms = [path.name for path in (root / "fairness_engine").iterdir() if (path / "__init__.py").is_file()]
    assert [room for room in rooms if f"`{room}/`" not in text] == []
    names = {path.name for top in TOPS for path in (root / top).rglob("*.py")}
    assert set(re.findall(r"`(?:[a-z_]+/)*([a-z_]+\.py)`", text)) - names == {"app.py"} & set(
        re.findall(r"`(app\.py)`", text)
    )


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
