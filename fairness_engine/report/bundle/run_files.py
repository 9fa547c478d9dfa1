"""The files of one run in a bundle: what the store knew of it, its pairs as tables, and the parts that it stored, as
they are, so that the evidence can be looked at again elsewhere.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairness_engine.arrays import BoolArray
from fairness_engine.codec import encode
from fairness_engine.data.table import Table
from fairness_engine.errors import EvenhandError
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.model_process.tables import read_stored
from fairness_engine.oracle.domain import Domain
from fairness_engine.report.bundle.contents import (
    PAIRS_CSV,
    BundledRun,
    RuleSetLine,
    RuleSetLines,
    Withheld,
    json_bytes,
    kept_parts,
)
from fairness_engine.report.bundle.people import PeopleOfData, tells_people
from fairness_engine.report.bundle.run_content import RunContent, run_content
from fairness_engine.report.bundle.tables import Batch, PeopleTables
from fairness_engine.runs.kinds import kind_of
from fairness_engine.runs.writers.pairs_csv import BATCH, case_ids
from fairness_engine.runs.writers.proofs import TREE_FILE, stored_tree, stored_tree_file
from fairness_engine.runs.writers.rule_sets import RULES_FILE, stored_rules
from fairness_engine.runs.writers.tested import TESTED_FILE, read_tested, stored_tested_file
from fairness_engine.store.pairs_file import read_pairs, write_pairs
from fairness_engine.store.records import RunRecord
from fairness_engine.store.seal import LIST_OF_PAIRS, part_of_file, part_of_result
from fairness_engine.store.store import RunStore

N_RULE_SETS = 10
"""The highest rule sets of a run that documents name."""
_OF_TEXTS = "sentences"
"""The result that quotes texts of the data."""
_WHY_PAIRS = (
    "{n:,} of {all:,} pairs are of people who stand in the data, whatever their protected values, and are left out: "
    "the bundle was asked to hold no rows of the data."
)
_WHY_ALL_PAIRS = (
    "All {all:,} pairs are left out: the data cannot be read any more, so that nobody can say which of their people "
    "stand in it, and the bundle was asked to hold no rows of the data."
)
_WHY_TREE = (
    "The partition tree is left out: some of its boxes hold one individual alone and rows of the data, and the bundle "
    "was asked to hold no rows of the data."
)
_WHY_TESTED = (
    "The sample of whom the search tested is left out: people who stand in the data are among them, and the bundle was "
    "asked to hold no rows of the data."
)
_WHY_TEXTS = "Sentences of the data are left out: the bundle was asked to hold no rows of the data."


class RunWriter:
    """Writes runs into a bundle; the data is read once for runs that follow one another.

    Args:
        store: where the runs are.
        folder: of the bundle.
        with_rows: whether people of the data may be written.
    """

    def __init__(self, store: RunStore, folder: Path, *, with_rows: bool) -> None:
        self._store = store
        self._folder = folder
        self._with_rows = with_rows
        self._table: tuple[str, Table | None] = ("", None)

    def write(self, run: RunRecord) -> BundledRun:
        """Write the files of a run but for the model that it made.

        Raises:
            RunError: it has not ended, or what is stored of it is damaged.
            OSError: the folder cannot be written.
        """
        content = run_content(self._store, run.id)
        bundled = BundledRun(content)
        (self._folder / bundled.folder / "stored").mkdir(parents=True)
        if kind_of(run.config).has_pairs:
            bundled = self._write_pairs(run, content)
        bundled = self._write_tested(run, self._write_tree(run, bundled))
        rules = self._store.run_folder(run.id) / RULES_FILE
        if rules.is_file():
            shutil.copyfile(rules, self._folder / bundled.stored(RULES_FILE))
            bundled = replace(bundled, rule_sets=rule_set_lines(stored_rules(self._store, run.id)))
        if not self._with_rows and _OF_TEXTS in content.results:
            results = {name: found for name, found in bundled.run.results.items() if name != _OF_TEXTS}
            kept = replace(bundled.run, results=results)
            bundled = replace(bundled, run=kept, withheld=_more(bundled, [part_of_result(_OF_TEXTS)], _WHY_TEXTS))
        (self._folder / bundled.file).write_bytes(json_bytes(encode(bundled)))
        return bundled

    # --- pairs ----------------------------------------------------------------------------

    def _write_pairs(self, run: RunRecord, content: RunContent) -> BundledRun:
        """Store the pairs as they are, or those that are of nobody in the data; and both tables of them."""
        people = self._people(run)
        named = BundledRun(content)
        source = self._store.run_folder(run.id)
        n_pairs = n_of_data = 0
        chosen: list[BoolArray] = []
        for part in content.parts:
            pairs = read_pairs(source / part.file, run.config)
            is_of_data = np.ones(len(pairs), dtype=bool) if people is None else people.holds_alike(pairs.first)
            n_pairs += len(pairs)
            n_of_data += int(is_of_data.sum())
            chosen.append(is_of_data)
        bundled = BundledRun(content, n_pairs, None if people is None else n_of_data)
        if self._with_rows or not n_of_data:
            for part in content.parts:
                shutil.copyfile(source / part.file, self._folder / named.stored(part.file))
            is_kept = [np.ones(len(each), dtype=bool) for each in chosen]
        else:
            is_kept = [~each for each in chosen]
            bundled = self._withhold(run, bundled, is_kept)
        told_people = people if self._with_rows else None
        ids = case_ids(self._store, run.id, run.config.schema) if told_people is not None else None
        tables = PeopleTables(run.config.schema, limit_of(bundled), told_people, ids, with_rows=self._with_rows)
        tables.write(self._folder / bundled.folder, self._numbered(run, content, is_kept))
        for part in bundled.run.parts:  # a store's files are its owner's alone
            shutil.copymode(self._folder / bundled.folder / PAIRS_CSV, self._folder / bundled.stored(part.file))
        return bundled

    def _numbered(self, run: RunRecord, content: RunContent, is_kept: Sequence[BoolArray]) -> Iterator[Batch]:
        """The pairs that are kept with their numbers, some after the others."""
        for part, kept in zip(content.parts, is_kept, strict=True):
            pairs = read_pairs(self._store.run_folder(run.id) / part.file, run.config)
            chosen = np.flatnonzero(kept)
            for start in range(0, len(chosen), BATCH):
                some = chosen[start : start + BATCH]
                yield pairs[some], (some + part.start + 1).tolist()

    def _withhold(self, run: RunRecord, bundled: BundledRun, is_kept: Sequence[BoolArray]) -> BundledRun:
        """Store the pairs that may be told as files of their own."""
        old = bundled.run.parts
        new = kept_parts([int(kept.sum()) for kept in is_kept if kept.any()])
        names = iter(part.file for part in new)
        for part, kept in zip(old, is_kept, strict=True):
            if kept.any():
                pairs = read_pairs(self._store.run_folder(run.id) / part.file, run.config)[kept]
                write_pairs(self._folder / bundled.stored(next(names)), pairs, run.config)
        files = [part_of_file(part.file) for part in (*old, *new)]
        n = bundled.n_pairs - sum(part.n_pairs for part in new)
        why = _WHY_ALL_PAIRS if bundled.n_of_data is None else _WHY_PAIRS
        withheld = Withheld(n, sorted({LIST_OF_PAIRS, *files}), [why.format(n=n, all=bundled.n_pairs)])
        return replace(bundled, run=replace(bundled.run, parts=new), withheld=withheld)

    def _people(self, run: RunRecord) -> PeopleOfData | None:
        """The people of a run's data; ``None`` where it cannot be read."""
        data_id = run.config.data_id
        with suppress(EvenhandError, OSError):
            if self._table[0] != data_id:
                self._table = (data_id, None)
                file = self._store.file(data_id)
                self._table = (data_id, read_stored(self._store.workspace, file.path, file.name))
            table = self._table[1]
            return None if table is None else PeopleOfData(table, run.config)
        return None

    def _write_tested(self, run: RunRecord, bundled: BundledRun) -> BundledRun:
        tested = stored_tested_file(self._store, run.id)
        if tested is None:
            return bundled
        if not self._with_rows:
            people = self._people(run)
            kept = read_tested(tested, run.config)
            rows = Domain(run.config.schema, run.config.scope).spelled(np.concatenate([kept.rows, kept.origins]))
            if people is None or people.holds_alike(rows).any():
                return replace(bundled, withheld=_more(bundled, [part_of_file(TESTED_FILE)], _WHY_TESTED))
        shutil.copyfile(tested, self._folder / bundled.stored(TESTED_FILE))
        return bundled

    # --- proofs ---------------------------------------------------------------------------

    def _write_tree(self, run: RunRecord, bundled: BundledRun) -> BundledRun:
        tree = stored_tree_file(self._store, run.id)
        if tree is None:
            return bundled
        if not self._with_rows and tells_people(stored_tree(self._store, run.id)[0]):
            return replace(bundled, withheld=_more(bundled, [part_of_file(TREE_FILE)], _WHY_TREE))
        shutil.copyfile(tree, self._folder / bundled.stored(TREE_FILE))
        return bundled


def _more(bundled: BundledRun, parts: list[str], why: str) -> Withheld:
    """What is withheld, with something more."""
    held = bundled.withheld
    return Withheld(held.n_pairs, sorted({*held.parts, *parts}), [*held.why, why])


def limit_of(bundled: BundledRun) -> float:
    """The largest distance of a plausible person of a run; NaN where nothing was measured."""
    measured = bundled.results.plausibility
    return math.nan if measured is None else measured.limit


def rule_set_lines(result: RuleResult) -> RuleSetLines:
    """The highest rule sets of a run, near duplicates left out."""
    scored = result.scored
    shown = [i for i in range(len(scored)) if scored.head[i] in (i, -1)][:N_RULE_SETS]
    lines = []
    for position in shown:
        told = result.rule_set_json(position)
        figures = {name: told[name] for name in ("inside", "outside", "score", "low", "high", "n_inside", "n_outside")}
        lines.append(RuleSetLine(group_text(result, position), bool(scored.is_harmed[position]), **figures))
    return RuleSetLines(int((scored.low > 0).sum()), lines)
