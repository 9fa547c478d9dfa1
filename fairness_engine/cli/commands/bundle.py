"""``runs verify BUNDLE``: a bundle's files are hashed, its documents made again, and each of its runs is looked at as
one of a workspace is, in a workspace that is gone afterwards.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairness_engine.audit.verification import Check, CheckVerdict, LeftOut, check_kept, look
from fairness_engine.cli.commands.verify import Replay, check_fields, check_lines, check_status, run_line, verify
from fairness_engine.cli.output import Outcome
from fairness_engine.cli.request import note_formats
from fairness_engine.errors import DataError, EvenhandError, ModelError
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.report.bundle.contents import BundledRun, Contents
from fairness_engine.report.bundle.opening import open_bundle
from fairness_engine.report.bundle.rebuilding import Missing, check_told, rebuild
from fairness_engine.store.records import RunRecord
from fairness_engine.store.seal import file_hash
from fairness_engine.store.store import RunStore


def verify_bundle(options: argparse.Namespace) -> Outcome:
    """Look at everything of a bundle again.

    Raises:
        RunError: it is no bundle.
        InputError: a file that is given is not one that it names.
    """
    note_formats(options)
    folder = Path(options.run_id)
    opened = open_bundle(folder)
    checks = list(opened.checks)
    told: list[dict[str, Any]] = []
    if opened.contents is not None:
        given = _given(options, opened.contents)
        with tempfile.TemporaryDirectory(prefix="evenhand-verify-") as work:
            for bundled in opened.contents.runs:
                looks, figures = _look_at(bundled, opened.contents, folder, Path(work) / bundled.run.id, given)
                short = bundled.run.id[:8]
                checks += [replace(check, name=f"{check.name} of run {short}") for check in looks]
                told.append({"run_id": bundled.run.id, "kind": bundled.config.kind, **figures})
    result = {"runs": told, **check_fields(checks)}
    return Outcome(result, "\n".join(check_lines(checks)), check_status(checks))


def _given(options: argparse.Namespace, contents: Contents) -> dict[str, Path]:
    """The files that stand in for those that the bundle does not hold, by their SHA-256.

    Raises:
        DataError, ModelError: there is none of that name, or it is none that the bundle names.
    """
    given: dict[str, Path] = {}
    for option, paths, entries, error in (
        ("--data", options.data, contents.data, DataError),
        ("--model", options.model, contents.models, ModelError),
    ):
        for path in map(Path, paths):
            if not path.is_file():
                raise error(f"{option} must name a file, but there is none at {path}.")
            sha256 = file_hash(path)
            if sha256 not in {entry.sha256 for entry in entries}:
                names = ", ".join(entry.name for entry in entries) or "none"
                raise error(
                    f"{option} must be a file that the bundle was made from ({names}), to the byte, but '{path.name}' "
                    f"has other content (SHA-256 {sha256})."
                )
            given[sha256] = path
    return given


def _look_at(
    bundled: BundledRun, contents: Contents, folder: Path, work: Path, given: dict[str, Path]
) -> tuple[list[Check], dict[str, Any]]:
    """Enter a run into a store of its own and look at it; what came out, and what the JSON says of the run."""
    store = RunStore(work / "workspace")
    try:
        missing = rebuild(store, bundled, contents, folder, given)
        run = store.run(bundled.run.id)
        has_data = all(one.role != "data" for one in missing)
        checks = list(check_told(store, bundled, contents, folder, work / "tables", has_data=has_data))
        if bundled.withheld.n_pairs:
            checks.append(Check("pairs left out", CheckVerdict.NOT_CHECKED, " ".join(bundled.withheld.why)))
        needed = "; ".join(one.said for one in missing if one.role != "new model")
        left_out = bundled.withheld.left_out
        if needed:
            return [*checks, *_kept(store, run, left_out, needed)], run_line(store, run)
        outcome = verify(store, run, left_out)
        found = [Check(each["name"], CheckVerdict(each["verdict"]), each["said"]) for each in outcome.result["checks"]]
        figures = {name: outcome.result[name] for name in ("n_pairs", "n_confirmed", "seal")}
        return [*checks, *(_explained(check, missing) for check in found)], run_line(store, run) | figures
    except (EvenhandError, OSError) as error:
        return [Check("what is kept", CheckVerdict.NOT_CHECKED, str(error))], {}
    finally:
        store.close()


def _kept(store: RunStore, run: RunRecord, left_out: LeftOut, needed: str) -> Iterator[Check]:
    """What can be looked at without data or model: that the stored pairs can be read, the seal and the totals."""
    pairs = Replay(store, run, Evaluator(store))
    if pairs.n_stored:
        yield look("pairs as stored", lambda: (True, f"{sum(len(some) for _, some in pairs.read()):,} can be read"))
    yield from check_kept(store, run, pairs.keys, left_out)
    yield Check("files", CheckVerdict.NOT_CHECKED, needed)
    yield Check("what it found", CheckVerdict.NOT_CHECKED, "it takes the data, and the model where it had one")


def _explained(check: Check, missing: Sequence[Missing]) -> Check:
    """A look that was impossible since the model that a retraining made is not there, with that for a reason."""
    if check.verdict is CheckVerdict.NOT_CHECKED and check.name == "retrained model" and missing:
        return replace(check, said="; ".join(one.said for one in missing))
    return check
