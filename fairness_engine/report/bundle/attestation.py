"""The attestation: what was tested, by which runs, and how each came out, as an in-toto Statement v1 with the predicate
*test result* v0.1 (github.com/in-toto/attestation). It is unsigned: no key is ever in Evenhand.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from fairness_engine.report.bundle.contents import BundledFile, Contents, data_path, model_path
from fairness_engine.report.bundle.figures import Came, outcome, title

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"


class Result(StrEnum):
    """How a test came out, in the predicate's words."""

    PASSED = "PASSED"
    WARNED = "WARNED"
    FAILED = "FAILED"


_RESULTS = {
    Came.SHOWN: Result.FAILED,
    Came.WORSE: Result.FAILED,
    Came.NONE_THERE: Result.PASSED,
    Came.NONE_FOUND: Result.PASSED,
    Came.IMPROVED: Result.PASSED,
    Came.NOTHING_CLAIMED: Result.WARNED,
    Came.NOT_IMPROVED: Result.WARNED,
}
"""A run that shows discrimination has failed; one that passed found none within its budget, which proves nothing."""


def attestation(contents: Contents, files: Sequence[BundledFile]) -> dict[str, Any]:
    """The content of ``attestation.intoto.json``.

    Args:
        contents: of the bundle.
        files: all that it holds but the attestation itself.
    """
    subjects = [_subject(file.path, file.sha256) for file in sorted(files, key=lambda file: file.path)]
    for role, entries, path_of in (("data", contents.data, data_path), ("model", contents.models, model_path)):
        absent = {entry.sha256: entry for entry in entries if not contents.has(path_of(entry))}
        subjects += [_subject(f"{role}: {entry.name}", entry.sha256) for entry in absent.values()]
    tests: dict[Result, list[str]] = {result: [] for result in Result}
    for run in contents.runs:
        tests[_RESULTS[outcome(run)]].append(f"{title(run)}, run {run.run.id}")
    worst = next((each for each in reversed(Result) if tests[each]), Result.WARNED)
    return {
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {
            "result": worst.value,
            "configuration": [
                _subject(file.path, file.sha256)
                for file in (contents.files.get(run.file) for run in contents.runs)
                if file is not None
            ],
            "passedTests": tests[Result.PASSED],
            "warnedTests": tests[Result.WARNED],
            "failedTests": tests[Result.FAILED],
        },
    }


def _subject(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}
