"""A bundle that came from elsewhere: a changed byte is noticed wherever it is, and what is hostile is one sentence."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_cases import read
from fairness_engine.audit.verification import CheckVerdict
from fairness_engine.errors import RunError
from fairness_engine.report.bundle import opening
from fairness_engine.report.bundle.opening import open_bundle

CRATE = "ro-crate-metadata.json"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A bundle that a test may change."""
    shutil.copytree(whole, tmp_path / "bundle")
    return tmp_path / "bundle"


def verdicts(folder: Path) -> dict[str, CheckVerdict]:
    return {check.name: check.verdict for check in open_bundle(folder).checks}


def test_an_untouched_bundle_holds(whole: Path, without_rows: Path) -> None:
    for folder in (whole, without_rows):
        assert verdicts(folder) == {"files of the bundle": CheckVerdict.HOLDS, "documents": CheckVerdict.HOLDS}
        contents = open_bundle(folder).contents
        assert contents is not None
        assert len(contents.runs) == 8


@pytest.mark.thorough
def test_a_changed_byte_anywhere_is_noticed(copy: Path) -> None:
    """Every file, at its beginning, in the middle and at its end; also those that no hash of another file covers."""
    paths = [path for path in sorted(copy.rglob("*")) if path.is_file()]
    assert len(paths) > 30
    for path in paths:
        content = path.read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            path.write_bytes(bytes(changed))
            try:
                found = set(verdicts(copy).values())
            except RunError:
                continue
            finally:
                path.write_bytes(content)
            assert CheckVerdict.CONTRADICTED in found, (path, place)


def test_a_file_too_many_and_one_too_few_are_noticed(copy: Path) -> None:
    (copy / "more.txt").write_text("more")
    [check] = [check for check in open_bundle(copy).checks if check.verdict is CheckVerdict.CONTRADICTED][:1]
    assert check.said == "'more.txt' is not listed"
    (copy / "more.txt").unlink()
    (copy / "report.html").unlink()
    assert "'report.html' is listed and not there" in open_bundle(copy).checks[0].said
    (copy / "attestation.intoto.json").unlink()
    assert "'attestation.intoto.json' is not there" in open_bundle(copy).checks[0].said


def test_documents_of_another_version_are_not_compared(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "__version__", "99.0")
    checks = {check.name: check for check in open_bundle(copy).checks}
    assert checks["documents"].verdict is CheckVerdict.NOT_CHECKED
    assert checks["documents"].said == "Evenhand 0.1.0 wrote them, and this is 99.0"


def test_a_run_that_cannot_be_read_hides_no_other(copy: Path) -> None:
    run_id = read(copy, "review.json")["runs"][2]
    (copy / "runs" / run_id / "run.json").write_text('{"run": {}}')
    opened = open_bundle(copy)
    assert opened.contents is not None
    assert len(opened.contents.runs) == 7
    found = {check.name: check for check in opened.checks}
    assert found[f"run {run_id[:8]}"].verdict is CheckVerdict.NOT_CHECKED
    assert found["documents"].said == "a run that they are made of cannot be read"


# --- what nobody would write --------------------------------------------------------------------


def entity(folder: Path, change: Callable[[dict[str, Any]], Any], identity: str = "report.html") -> None:
    """Change an entity of the crate."""
    content = read(folder, CRATE)
    change(next(each for each in content["@graph"] if each["@id"] == identity))
    (folder / CRATE).write_text(json.dumps(content))


def add(folder: Path, identity: str) -> None:
    """List one more file."""
    content = read(folder, CRATE)
    content["@graph"].append({"@type": "File", "@id": identity, "sha256": "0" * 64})
    (folder / CRATE).write_text(json.dumps(content))


def linked(folder: Path, target: str, path: str = "report.html") -> None:
    (folder / path).unlink(missing_ok=True)
    (folder / path).symlink_to(target)


def swap_folder(folder: Path) -> None:
    shutil.rmtree(folder / "tables")
    (folder / "tables").symlink_to("/etc")


HOSTILE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a name that leads out": (lambda f: add(f, "../outside.txt"), "below its folder"),
    "such a name in disguise": (lambda f: add(f, "%2e%2e/outside.txt"), "below its folder"),
    "a name from the root": (lambda f: add(f, "/etc/passwd"), "below its folder"),
    "a name of another system": (lambda f: add(f, "..\\outside.txt"), "below its folder"),
    "an address of a file": (lambda f: add(f, "file:///etc/passwd"), "below its folder"),
    "an address of the web": (lambda f: add(f, "https://example.org/x.csv"), "below its folder"),
    "a name with an end": (lambda f: add(f, "a%00b"), "below its folder"),
    "a file listed twice": (lambda f: add(f, "report.html"), "once"),
    "a hash that is none": (lambda f: entity(f, lambda e: e.update(sha256="abc")), "SHA-256"),
    "a hash that is a list": (lambda f: entity(f, lambda e: e.update(sha256=["a"])), "SHA-256"),
    "a link to a file": (lambda f: linked(f, "/etc/passwd"), "no links"),
    "a link to itself": (lambda f: linked(f, "report.html"), "no links"),
    "a link that leads nowhere": (lambda f: linked(f, "nowhere", "more"), "no links"),
    "a link to a folder": (swap_folder, "no links"),
    "a pipe": (lambda f: os.mkfifo(f / "pipe"), "no links"),
    "metadata that is no JSON": (lambda f: (f / CRATE).write_text("<html>"), "one JSON object"),
    "metadata that is a list": (lambda f: (f / CRATE).write_text("[]"), "one JSON object"),
    "metadata that is no text": (lambda f: (f / CRATE).write_bytes(b"\xff\xfe\x00"), "one JSON object"),
    "deep metadata": (lambda f: (f / CRATE).write_text('{"@graph":' + "[" * 200_000), "one JSON object"),
    "a number of many digits": (
        lambda f: (f / CRATE).write_text('{"@graph":[' + "9" * 9_000 + "]}"),
        "one JSON object",
    ),
    "metadata of many values": (lambda f: (f / CRATE).write_text('{"@graph":[' + "0," * 2_100_000 + "0]}"), "JSON"),
    "metadata without a graph": (lambda f: (f / CRATE).write_text('{"@graph":{}}'), "'@graph'"),
    "a graph of numbers": (lambda f: (f / CRATE).write_text('{"@graph":[1]}'), "'@graph'"),
    "no metadata": (lambda f: (f / CRATE).unlink(), "got a folder without it"),
    "a name that steers a terminal": (lambda f: (f / "a\x1b[2Jb").write_text(""), "plain"),
    "a name of half a letter": (lambda f: Path(os.fsdecode(os.fsencode(f) + b"/\xff")).write_text(""), "plain"),
    "a folder far down": (lambda f: (f / "/".join("abcdefghijk")).mkdir(parents=True), "deep"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_nobody_would_write_is_refused_in_a_sentence(what: str, copy: Path) -> None:
    do, said = HOSTILE[what]
    do(copy)
    with pytest.raises(RunError, match=said) as refused:
        open_bundle(copy)
    assert len(str(refused.value)) < 400
    assert str(refused.value).isprintable()


def test_more_and_larger_files_than_a_bundle_has_are_refused(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (copy / "report.html").open("r+b") as file:
        file.truncate(opening.MAX_BYTES + 1)  # it takes no room on the disk
    with pytest.raises(RunError, match="at most 20,000 files of 16 GB"):
        open_bundle(copy)
    os.truncate(copy / "report.html", 10)
    monkeypatch.setattr(opening, "MAX_FILES", 20)
    with pytest.raises(RunError, match="at most 20 files"):
        open_bundle(copy)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"version": 2}',
        '{"version": 1, "evenhand": "0.1.0", "with_rows": true, "runs": ["../../../../tmp/x"]}',
        '{"version": 1, "evenhand": "0.1.0", "with_rows": true, "runs": ["' + "a" * 20 + '\\n"]}',
        '{"version": 1, "evenhand": "0.1.0", "with_rows": "yes", "runs": []}',
        '{"version": 1, "evenhand": "0.1.0", "with_rows": true, "runs": ' + json.dumps(["a" * 20] * 2) + "}",
    ],
)
def test_a_review_that_cannot_be_is_said(content: str, copy: Path) -> None:
    (copy / "review.json").write_text(content)
    opened = open_bundle(copy)
    assert opened.contents is None
    assert [check.name for check in opened.checks] == ["files of the bundle", "the review"]
    assert opened.checks[0].verdict is CheckVerdict.CONTRADICTED
    assert opened.checks[1].verdict is CheckVerdict.NOT_CHECKED


def changed(run: dict[str, Any], *keys: Any, to: Any) -> None:
    content: Any = run
    for key in keys[:-1]:
        content = content[key]
    content[keys[-1]] = to


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("run", "id"), "../../../../tmp/evil"),
        (("run", "id"), "0" * 20),
        (("run", "parts"), [{"start": 0, "n_pairs": 1, "file": "../../../evil.parquet"}]),
        (("run", "parts"), [{"start": 0, "n_pairs": -1, "file": "pairs-00001.parquet"}]),
        (("run", "files", 0, "id"), "../x"),
        (("run", "files", 0, "name"), "another name.csv"),
        (("run", "files", 0, "sha256"), "0" * 64),
        (("run", "n_found"), 10**4000),
        (("run", "n_found"), 2**62),
        (("run", "seconds"), -1.0),
        (("run", "created"), "yesterday"),
        (("run", "state"), "splendid"),
        (("run", "config", "kind"), 7),
        (("run", "config", "schema"), []),
        (("run", "config", "seed"), -1),
        (("run", "results", "plausibility"), {"limit": 7.0}),
        (("n_of_data",), 10**9),
        (("version",), 2),
    ],
)
def test_a_run_that_cannot_be_is_said(keys: tuple[Any, ...], to: Any, copy: Path) -> None:
    run_id = read(copy, "review.json")["runs"][0]
    content = read(copy, f"runs/{run_id}/run.json")
    changed(content, *keys, to=to)
    (copy / "runs" / run_id / "run.json").write_text(json.dumps(content))
    found = {check.name: check for check in open_bundle(copy).checks}
    assert found["files of the bundle"].verdict is CheckVerdict.CONTRADICTED
    assert found[f"run {run_id[:8]}"].verdict is CheckVerdict.NOT_CHECKED
