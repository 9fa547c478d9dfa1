"""Runs of a bundle, entered into a store again, so that they can be looked at as those of a workspace are. What no
worker would have written is refused before anything reads it.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairness_engine.audit.verification import Check, look
from fairness_engine.certification.partition.partition_tree import read_tree
from fairness_engine.certification.partition.validation import check_space, stored_certificates
from fairness_engine.errors import EvenhandError, RunError, cut
from fairness_engine.groups.rule_sets.result import read_checked, read_rules
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.model_process.tables import read_stored
from fairness_engine.models.formats import MAX_MODEL_BYTES
from fairness_engine.oracle.domain import Domain
from fairness_engine.report.bundle.contents import (
    PAIRS_CSV,
    PAIRS_PARQUET,
    BundledRun,
    Contents,
    data_path,
    model_path,
)
from fairness_engine.report.bundle.people import PeopleOfData
from fairness_engine.report.bundle.run_content import PartEntry, put_run
from fairness_engine.report.bundle.run_files import limit_of, rule_set_lines
from fairness_engine.report.bundle.tables import Batch, PeopleTables, pair_numbers
from fairness_engine.runs.kinds import kind_of
from fairness_engine.runs.writers.pairs_csv import BATCH, case_ids
from fairness_engine.runs.writers.proofs import TREE_FILE
from fairness_engine.runs.writers.rule_sets import RULES_FILE, asked_attributes, stored_rules
from fairness_engine.runs.writers.tested import TESTED_FILE, read_tested
from fairness_engine.store.store import RunStore

_MAX_INPUT_BYTES = MAX_MODEL_BYTES
"""Of a file of data or of a model: neither may be larger where it is added."""
_MAX_ARRAY_BYTES = 2 << 30
"""Of all arrays of a file together, once they are unpacked."""
_BYTES_A_CELL = 24
"""Of a table of pairs, once it is unpacked: a number has 8."""
_SPARE_BYTES = 1 << 20


@dataclass(frozen=True)
class Missing:
    """A file that a run was made from, or made, and that nobody has given: what it is, and its name."""

    role: str
    name: str
    sha256: str

    @property
    def said(self) -> str:
        """Why something cannot be looked at."""
        return (
            f"the {self.role} file '{self.name}' is not in the bundle: give it with "
            f"--{'data' if self.role == 'data' else 'model'} (SHA-256 {self.sha256})"
        )


def rebuild(
    store: RunStore, bundled: BundledRun, contents: Contents, folder: Path, given: Mapping[str, Path]
) -> list[Missing]:
    """Enter a run, its files and what it stored into an empty store; returns what is not there of the files.

    Args:
        store: a workspace of its own.
        bundled: the run.
        contents, folder: of the bundle.
        given: files from elsewhere, by their SHA-256.

    Raises:
        RunError: it cannot be: what is kept of it is none that a run leaves.
    """
    content = bundled.run
    put_run(store, content)
    run = store.run(content.id)
    own = store.make_run_folder(run.id)
    names = [part.file for part in content.parts] + [TREE_FILE, RULES_FILE, TESTED_FILE]
    for name in names:
        path = bundled.stored(name)
        if contents.has(path):
            _check_stored(folder / path, name, bundled)
            shutil.copyfile(folder / path, own / name)
    missing = []
    sides = (("data", content.data, data_path), ("model", content.model, model_path))
    for role, entry, path_of in (*sides, ("new model", content.made_model, model_path)):
        if entry is None:
            continue
        source = folder / path_of(entry) if contents.has(path_of(entry)) else given.get(entry.sha256)
        if source is None:
            missing.append(Missing(role, entry.name, entry.sha256))
        elif source.stat().st_size > _MAX_INPUT_BYTES:
            raise RunError(f"The file '{entry.name}' may have at most {_MAX_INPUT_BYTES / 1e6:.0f} MB.")
        elif store.add_file(source, entry.name, entry.role).id != entry.id:
            raise RunError(f"The file '{entry.name}' of the bundle is not what the run was made from.")
    return missing


# --- what a run stored --------------------------------------------------------------------------


def _check_stored(path: Path, name: str, bundled: BundledRun) -> None:
    """See that a file is one that a run of this kind leaves, before its content is taken for that.

    Raises:
        RunError: it is none.
    """
    try:
        if name == TREE_FILE:
            check_arrays(path)
            tree, space = read_tree(path)
            check_space(space, tree.n_digits.tolist(), Domain(bundled.config.schema, bundled.config.scope))
            stored_certificates(path, tree)
        elif name == RULES_FILE:
            check_arrays(path)
            result = read_rules(path)
            settings = RuleSettings.from_json(bundled.config.settings)
            read_checked(result.to_arrays(), result.to_json(), settings, asked_attributes(bundled.config))
        elif name == TESTED_FILE:
            check_arrays(path)
            read_tested(path, bundled.config)
        else:
            part = next(part for part in bundled.run.parts if part.file == name)
            check_pairs_file(path, part, len(bundled.config.schema.inputs))
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, zipfile.BadZipFile) as error:
        raise RunError(
            f"The stored file '{name}' must be one that a run of its kind leaves, got: {cut(str(error), 150)}."
        ) from None


def check_arrays(path: Path) -> None:
    """See that a file holds plain arrays that are as large as they say, and not too large.

    Raises:
        ValueError, OSError, zipfile.BadZipFile: it does not.
    """
    if path.stat().st_size > _MAX_ARRAY_BYTES:
        raise ValueError("size")
    with zipfile.ZipFile(path) as archive:
        n_bytes = 0
        for member in archive.infolist():
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                shape, _, kind = read_header[version](file)
                wanted = kind.itemsize * int(np.prod([float(n) for n in shape]))
                if kind.hasobject or wanted + file.tell() != member.file_size:
                    raise ValueError("arrays")
            n_bytes += member.file_size
        if n_bytes > _MAX_ARRAY_BYTES:
            raise ValueError("size")


def check_pairs_file(path: Path, part: PartEntry, n_columns: int) -> None:
    """See that a file is a plain table of numbers, of as many pairs as it should have and no larger than that takes.

    Raises:
        ValueError, OSError: it is none.
    """
    try:
        meta = pq.read_metadata(path)
        columns = [meta.schema.column(i) for i in range(len(meta.schema))]
    except pa.ArrowException as error:
        raise ValueError(str(error)[:60]) from None
    is_plain = all(
        column.physical_type in ("DOUBLE", "INT64", "INT32", "FLOAT") and column.max_repetition_level == 0
        for column in columns
    )
    if not is_plain or meta.num_rows != part.n_pairs or len(columns) > 2 * n_columns + 16:
        raise ValueError("columns or rows")
    n_bytes = sum(meta.row_group(i).total_byte_size for i in range(min(meta.num_row_groups, part.n_pairs + 1)))
    most = part.n_pairs * len(columns) * _BYTES_A_CELL + _SPARE_BYTES
    if max(n_bytes, path.stat().st_size) > most:
        raise ValueError("size")


# --- what readers see of it ---------------------------------------------------------------------


def check_told(
    store: RunStore, bundled: BundledRun, contents: Contents, folder: Path, work: Path, *, has_data: bool
) -> Iterator[Check]:
    """Whether tables and summaries of a run say what it stored.

    Args:
        store: where it was entered again.
        bundled, contents, folder: the run, and the bundle that it is of.
        work: an empty folder for what is made again.
        has_data: whether the data is at hand.
    """
    if bundled.rule_sets is not None or contents.has(bundled.stored(RULES_FILE)):
        yield look("rule sets as told", lambda: _rule_sets(store, bundled))
    if kind_of(bundled.config).has_pairs:
        people = _people_of_data(store, bundled) if has_data else None
        yield look("tables of pairs", lambda: _tables(store, bundled, contents, folder, work, people))
        if people is not None:
            yield look("people of the data", lambda: _people(store, bundled, contents, people))


def _people_of_data(store: RunStore, bundled: BundledRun) -> PeopleOfData | None:
    """Those of a run's data; ``None`` where it cannot be read."""
    with suppress(EvenhandError, OSError):
        file = store.file(bundled.config.data_id)
        return PeopleOfData(read_stored(store.workspace, file.path, file.name), bundled.config)
    return None


def _rule_sets(store: RunStore, bundled: BundledRun) -> tuple[bool, str]:
    """The highest rule sets are told as they were scored."""
    holds = rule_set_lines(stored_rules(store, bundled.run.id)) == bundled.rule_sets
    return holds, "as they were scored" if holds else "otherwise than they were scored"


def _tables(
    store: RunStore, bundled: BundledRun, contents: Contents, folder: Path, work: Path, people: PeopleOfData | None
) -> tuple[bool, str]:
    """Both tables, made again of the stored pairs, are the same: the CSV file to the byte, the Parquet file in what it
    holds, since another version of its library writes it otherwise.
    """
    with_rows = contents.about.with_rows
    if with_rows and people is None and bundled.n_of_data is not None:
        raise RunError("They tell who stands in the data, which is not at hand.")
    told_people = people if with_rows and bundled.n_of_data is not None else None
    ids = case_ids(store, bundled.run.id, bundled.config.schema) if told_people is not None else None
    tables = PeopleTables(bundled.config.schema, limit_of(bundled), told_people, ids, with_rows=with_rows)
    own = folder / bundled.folder
    n_pairs = store.n_pairs(bundled.run.id)
    numbers = pair_numbers(own / PAIRS_CSV) if bundled.withheld.n_pairs else list(range(1, n_pairs + 1))
    if len(numbers) != n_pairs or n_pairs + bundled.withheld.n_pairs != bundled.n_pairs:
        return False, f"{n_pairs:,} pairs are stored, {len(numbers):,} are told"
    work.mkdir()
    tables.write(work, _batches(store, bundled.run.id, numbers))
    wrong = []
    if (work / PAIRS_CSV).read_bytes() != (own / PAIRS_CSV).read_bytes():
        wrong.append(PAIRS_CSV)
    if not _same_table(work / PAIRS_PARQUET, own / PAIRS_PARQUET):
        wrong.append(PAIRS_PARQUET)
    said = f"{n_pairs:,} pairs are told as they were stored"
    return not wrong, f"other than what was stored: {', '.join(wrong)}" if wrong else said


def _same_table(made: Path, told: Path) -> bool:
    """Whether two Parquet files hold the same; of the one that was told no more is read than the other has."""
    ours = pq.read_metadata(made)
    try:
        theirs = pq.read_metadata(told)
        if (ours.num_rows, ours.schema.names) != (theirs.num_rows, theirs.schema.names):
            return False
        groups = (theirs.row_group(i).total_byte_size for i in range(theirs.num_row_groups))
        if sum(groups) > 4 * made.stat().st_size + ours.num_rows * _BYTES_A_CELL * len(ours.schema) + _SPARE_BYTES:
            return False
        return bool(pq.read_table(told).equals(pq.read_table(made)))
    except pa.ArrowException as error:
        raise ValueError(str(error)[:60]) from None


def _batches(store: RunStore, run_id: str, numbers: list[int]) -> Iterator[Batch]:
    for start in range(0, len(numbers), BATCH):
        yield store.pairs(run_id, BATCH, start), numbers[start : start + BATCH]


def _people(store: RunStore, bundled: BundledRun, contents: Contents, people: PeopleOfData) -> tuple[bool, str]:
    """As many pairs are of people of the data as was said, and none is there where none should be."""
    n_pairs = store.n_pairs(bundled.run.id)
    batches = _batches(store, bundled.run.id, list(range(n_pairs)))
    n_there = sum(int(people.holds_alike(pairs.first).sum()) for pairs, _ in batches)
    if bundled.n_of_data is None:
        raise RunError("When the bundle was made the data could not be read, so nothing is said of them.")
    expected = bundled.n_of_data if contents.about.with_rows else 0
    holds = n_there == expected
    return (
        holds,
        f"{n_there:,} of {n_pairs:,} pairs here are of people of the data{'' if holds else ', other than said'}",
    )
