"""The command ``report``: what runs found, as a document that can be signed."""

from __future__ import annotations

import argparse
from typing import Any

from fairness_engine.cli.output import Outcome, ProgressDisplay
from fairness_engine.cli.request import existing_store
from fairness_engine.errors import EvenhandError, RunError, SettingError, cut
from fairness_engine.findings.finding import Finding
from fairness_engine.report.content import Author, Report
from fairness_engine.report.making import Wanted, figures_run, make_report, review_of_runs, write_report
from fairness_engine.report.presets import find_preset
from fairness_engine.report.tables import MissingTable
from fairness_engine.runs.queue import run_in_foreground
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import THIN_SPACE

REPORT_KEYS = ("files", "preset", "as_of", "review", "run_ids", "answer", "findings", "n_findings", "missing", "notes")


def report(options: argparse.Namespace) -> Outcome:
    """Write a report of a review, or of runs.

    Raises:
        SettingError: no preset of that name, or neither or both of ``--review`` and ``--run``.
        RunError: there is no such review or run, or the runs do not belong together.
    """
    preset = find_preset(options.preset)
    if bool(options.review) == bool(options.run):
        raise SettingError("A report is of a review (--review ID) or of runs (--run ID ...): name one of them.")
    store = existing_store(options, f"no review '{cut(options.review)}'" if options.review else "no run to tell of")
    review, runs = _subject(store, options)
    notes: list[str] = []
    own = figures_run(store, review, preset, runs)
    if own is not None:
        try:
            run_id = store.create_run(own, review.id or None)
            counted = run_in_foreground(store, run_id, ProgressDisplay(is_quiet=options.quiet))
            runs = None if runs is None else [*runs, counted]
            if counted.state.value != "finished":
                notes.append(f"Groups could not be counted: {counted.message or counted.state.value}")
        except EvenhandError as error:
            notes.append(f"Groups could not be counted: {error}")
    author = Author(options.prepared_by or "", options.organisation or "", options.purpose or "")
    wanted = Wanted(preset, author, not options.without_people, _person(store, options))
    made, html = make_report(store, review, wanted, runs)
    files: dict[str, str] = {}
    unwritten = None
    try:
        files = write_report(store, options.out, made, html)
    except EvenhandError as error:
        unwritten = error
    result = _with_commas(_fields(made, files, notes))
    return Outcome(result, _text(made, result, str(options.out)), unwritten=unwritten)


def _subject(store: RunStore, options: argparse.Namespace) -> tuple[Review, list[RunRecord] | None]:
    if options.review:
        return store.review(options.review), None
    return review_of_runs(store, [_run_id(store, text) for text in options.run])


def _run_id(store: RunStore, text: str) -> str:
    """The whole of an id, of which the beginning will do."""
    found = [run.id for run in store.runs() if run.id.startswith(text)]
    if len(found) != 1:
        raise RunError(f"--run must be the id of a run, or its beginning, got '{text}', which fits {len(found)}.")
    return found[0]


def _with_commas(content: Any) -> Any:
    """The same with counts as the command line writes them: not every terminal has a thin space."""
    if isinstance(content, str):
        return content.replace(THIN_SPACE, ",")
    if isinstance(content, dict):
        return {name: _with_commas(value) for name, value in content.items()}
    return [_with_commas(item) for item in content] if isinstance(content, list) else content


def _person(store: RunStore, options: argparse.Namespace) -> tuple[str, int] | None:
    if not options.person:
        return None
    run_id, _, number = options.person.partition(":")
    if not number.isdecimal():
        raise SettingError(f"--person must be a run and the number of a pair, such as 3f2a:17, got '{options.person}'.")
    return _run_id(store, run_id), int(number)


def _fields(made: Report, files: dict[str, str], notes: list[str]) -> dict[str, Any]:
    missing = [{"table": table.title, "why": table.why} for table in made.tables if isinstance(table, MissingTable)]
    return {
        "files": files,
        "preset": made.preset.name,
        "as_of": made.preset.as_of,
        "review": made.review.id or None,
        "run_ids": [run.id for run in made.runs],
        "answer": made.answer,
        "findings": [_finding(made, card) for card in made.cards],
        "n_findings": len(made.cards),
        "missing": missing,
        "notes": notes,
    }


def _finding(made: Report, card: Finding) -> dict[str, Any]:
    decision = made.decisions.get(card.key)
    figure = card.figure
    return {
        "title": card.title,
        "level": card.level.value,
        "subject": card.subject.value,
        "sentence": card.sentence,
        "facts": list(card.facts),
        "n": card.n,
        "population": card.population,
        "figure": None if figure is None else {"value": figure.value, "low": figure.low, "high": figure.high},
        "run_ids": list(card.run_ids),
        "decision": None if decision is None else decision.kind.value,
    }


def _text(made: Report, result: dict[str, Any], folder: str) -> str:
    lines = [*result["answer"], ""]
    lines += [f"{table['table']}: {table['why']}" for table in result["missing"]]
    lines += result["notes"]
    if result["files"]:
        lines.append(f"{len(result['files'])} files written to {folder}, with the tables of '{made.preset.title}'.")
    return "\n".join(lines)
