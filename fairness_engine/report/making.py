"""A report made whole: what is missing is counted, then everything is written into a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from fairness_engine.data.recorded import Source
from fairness_engine.errors import RunError, SettingError
from fairness_engine.groups.figures.report import FigureSettings
from fairness_engine.oracle.budget import Budget
from fairness_engine.report.bundle.contents import BUNDLE
from fairness_engine.report.bundle.writing import write_bundle
from fairness_engine.report.content import Author, Report, gather, lacks_figures
from fairness_engine.report.presets import Preset
from fairness_engine.report.tables import PrintedTable, attribute_sets
from fairness_engine.report.writing import write_html
from fairness_engine.runs import kinds
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.store.whole_files import exported_file

HTML = "report.html"
COLUMNS = "schema.json"
TABLES = "tables"
_UNLIMITED = 2**62


@dataclass(frozen=True)
class Wanted:
    """What a report is to say.

    Args:
        preset: which law or standard it follows.
        author: who it is by.
        with_people: whether people are printed.
        person: run and number of the pair of a sheet for one person.
    """

    preset: Preset
    author: Author = field(default_factory=Author)
    with_people: bool = True
    person: tuple[str, int] | None = None


def figures_run(
    store: RunStore, review: Review, preset: Preset, runs: list[RunRecord] | None = None
) -> RunConfig | None:
    """The run that counts the groups that a preset's tables are of, where nobody has; ``None`` where all are there, or
    there is nothing to count.
    """
    missing = lacks_figures(store, review, preset, runs)
    assert review.schema is not None, "checked by whoever gathers"
    assert review.scope is not None, "checked by whoever gathers"
    if not missing:
        return None
    fit = review.fit or {}
    is_of_column = review.model_id is None
    settings = {
        "source": (Source.LABELS if is_of_column else Source.MODEL).value,
        "predictions": str(fit.get("predictions") or "") if is_of_column else "",
    }
    asked = FigureSettings.of_all(review.scope.protected, **settings)
    chosen = replace(asked, attribute_sets=(*asked.attribute_sets, *attribute_sets(preset, review.schema)))
    held = (str(review.data_id), review.model_id or "", review.schema, review.scope)
    return kinds.FIGURES.config(*held, settings=chosen.to_json(), budget=Budget(_UNLIMITED))


def review_of_runs(store: RunStore, run_ids: Iterable[str]) -> tuple[Review, list[RunRecord]]:
    """A review that stands for runs that were made without one, and the runs.

    Raises:
        RunError: no run, or runs of different data, models or columns.
    """
    runs = [store.run(run_id) for run_id in run_ids]
    if not runs:
        raise RunError("A report needs a run, got none. Name one with --run, or a review with --review.")
    first = next((run for run in runs if run.config.model_id), runs[0])
    for run in runs:
        one, other = first.config, run.config
        is_same = one.data_id == other.data_id and one.schema.as_model_sees == other.schema.as_model_sees
        if not is_same or (other.model_id and other.model_id != one.model_id):
            raise RunError(
                f"The runs of a report must be of the same data, columns and model, but '{run.id}' is of others than "
                f"'{first.id}'. Make a report of each."
            )
    config = first.config
    names = [store.file(file_id).name for file_id in (config.model_id, config.data_id) if file_id]
    created = min(run.created for run in runs)
    review = Review(
        "",
        " on ".join(names),
        "",
        created,
        created,
        config.data_id,
        config.model_id or None,
        config.schema,
        config.scope,
    )
    return review, runs


def make_report(
    store: RunStore, review: Review, wanted: Wanted, runs: list[RunRecord] | None = None, made: datetime | None = None
) -> tuple[Report, str]:
    """The report, and the same as HTML."""
    report = gather(
        store,
        review,
        wanted.preset,
        made or datetime.now(UTC),
        wanted.author,
        with_people=wanted.with_people,
        runs=runs,
        person=wanted.person,
    )
    return report, write_html(report)


def write_report(store: RunStore, folder: Path, report: Report, html: str) -> dict[str, str]:
    """Write the report, its tables and, where a run speaks, the bundle with its evidence; returns the hash of each file
    by its path in the folder.

    Raises:
        SettingError: the folder cannot be written, or has a bundle.
        RunError: what is stored of a run is damaged.
    """
    files = report_files(report, html)
    bundled = write_evidence(store, folder / BUNDLE, report, files) if report.runs else {}
    return write_files(folder, files) | {f"{BUNDLE}/{path}": sha256 for path, sha256 in bundled.items()}


def write_evidence(store: RunStore, folder: Path, report: Report, files: dict[str, bytes]) -> dict[str, str]:
    """The bundle of a report: the runs that speak, and the report itself; see ``write_bundle``."""
    runs = [store.run(run.id) for run in report.runs]
    review = report.review if report.review.id else None
    return write_bundle(store, review, runs, folder, with_rows=report.with_people, extra=files)


def report_files(report: Report, html: str) -> dict[str, bytes]:
    """The report, the columns and the tables, by their paths."""
    files = {HTML: html.encode(), COLUMNS: _schema(report)}
    for table in report.tables:
        if isinstance(table, PrintedTable):
            files[f"{TABLES}/{table.name}.csv"] = table.csv().encode()
    return files


def _schema(report: Report) -> bytes:
    assert report.review.schema is not None, "gathered"
    return (json.dumps(report.review.schema.to_json(), indent=1, ensure_ascii=False) + "\n").encode()


def write_files(folder: Path, files: dict[str, bytes]) -> dict[str, str]:
    """Write files below a folder, each whole or not at all; returns the hash of each by its path.

    Raises:
        SettingError: the folder cannot be written.
    """
    try:
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with exported_file(target) as file:
                file.write(content)
    except OSError as error:
        raise SettingError(
            f"The report must go to a folder that can be written, got {folder}: {error.strerror or error}."
        ) from None
    return {path: sha256(content).hexdigest() for path, content in files.items()}
