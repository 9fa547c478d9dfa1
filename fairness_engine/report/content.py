"""All that a report says, gathered from the store: nothing of it is computed anew but what tables add up."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from fairness_engine.data.schema import Column
from fairness_engine.errors import EvenhandError, RunError
from fairness_engine.findings.evidence import Evidence, Sorted, sort_runs
from fairness_engine.findings.finding import LIMITS, MEANINGS, Finding, Findings, Tried
from fairness_engine.findings.gather import favourable_name, findings_of
from fairness_engine.findings.groups import left_out
from fairness_engine.findings.summary import answer
from fairness_engine.groups.figures.figures import with_least_share
from fairness_engine.groups.figures.report import GroupReport
from fairness_engine.model_process.sandbox.walls import PROTECTIONS
from fairness_engine.models.fit.decisions import decisions_under
from fairness_engine.report.commands import command_of
from fairness_engine.report.numbers import Number, numbers_of
from fairness_engine.report.presets import Part, Preset
from fairness_engine.report.tables import MissingTable, PrintedTable, attribute_sets, print_tables
from fairness_engine.runs import kinds
from fairness_engine.store.records import Comment, Decision, Review, RunRecord, StoredFile
from fairness_engine.store.seal import seal_of
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import count, counted, duration, listed, number, proved_shares, share, size, when

MAX_PEOPLE = 2
"""Pairs that are printed in full."""
MAX_FULL = 6
"""Findings that are told in full before the annex."""
MAX_TRIED = 30


@dataclass(frozen=True)
class PrintedPair:
    """Two people of a pair.

    Args:
        title: which pair of which run.
        heads: of both: decision and score.
        rows: attribute, both values, and whether they differ.
        notes: what else is known of them.
    """

    title: str
    heads: tuple[str, str]
    rows: tuple[tuple[str, str, str, bool], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrintedRun:
    """A run as the annex lists it."""

    id: str
    title: str
    state: str
    when: str
    seed: int
    spent: str
    settings: str
    command: str
    seal: str
    versions: str


@dataclass(frozen=True)
class PrintedFile:
    """A file of the review."""

    role: str
    name: str
    size: str
    sha256: str
    is_there: bool


@dataclass(frozen=True)
class Author:
    """Who the report is by, as they say themselves; each may be empty."""

    prepared_by: str = ""
    organisation: str = ""
    purpose: str = ""


@dataclass(frozen=True)
class Report:
    """A report, ready to be written.

    Args:
        preset: which law or standard it follows.
        made: when.
        with_people: whether people are printed; some may be real.
        n_retrained: retrainings, whatever they came to.
    """

    preset: Preset
    review: Review
    author: Author
    made: datetime
    with_people: bool
    findings: Findings
    answer: list[str]
    question: str
    decisions: dict[str, Decision]
    history: list[Decision]
    comments: list[Comment]
    tables: list[PrintedTable | MissingTable]
    people: list[PrintedPair]
    proof: tuple[float, float, float, tuple[str, str, str]] | None
    numbers: list[Number]
    runs: list[PrintedRun]
    files: list[PrintedFile]
    columns: list[tuple[str, ...]]
    balance: list[tuple[str, str, str, str]]
    n_retrained: int = 0
    protections: list[tuple[str, str]] = field(default_factory=list)
    limits: tuple[str, ...] = LIMITS
    meanings: dict[str, str] = field(default_factory=lambda: {level.value: text for level, text in MEANINGS.items()})

    @property
    def title(self) -> str:
        """Of the document."""
        return self.review.name or "Review"

    @property
    def cards(self) -> tuple[Finding, ...]:
        """The findings."""
        return self.findings.cards

    @property
    def asked_tables(self) -> list[PrintedTable | MissingTable]:
        """What the preset asks for."""
        return [table for table in self.tables if isinstance(table, MissingTable) or not table.in_annex]

    @property
    def annex_tables(self) -> list[PrintedTable]:
        """More of the same."""
        return [table for table in self.tables if isinstance(table, PrintedTable) and table.in_annex]

    @property
    def first_cards(self) -> tuple[Finding, ...]:
        """Those that are told in full before the annex."""
        return self.cards[:MAX_FULL]

    @property
    def other_cards(self) -> tuple[Finding, ...]:
        """Those that the annex tells."""
        return self.cards[MAX_FULL:]

    @property
    def tried(self) -> tuple[Tried, ...]:
        """What found nothing."""
        return self.findings.tried[:MAX_TRIED]

    @property
    def levels(self) -> set[str]:
        """Of evidence, that the findings have."""
        return {card.level.value for card in self.cards}

    @property
    def versions(self) -> str:
        """Of all runs, where they are the same; empty where they are not."""
        known = {run.versions for run in self.runs}
        return known.pop() if len(known) == 1 else ""

    @property
    def compared(self) -> list[str]:
        """Which values of protected attributes are compared, where it is not all of them."""
        assert self.review.schema is not None, "checked by whoever gathers"
        assert self.review.scope is not None, "checked by whoever gathers"
        texts = {name: self.review.schema.column(name).text for name in self.review.scope.bins}
        return [
            f"Values of {name} that are compared: {listed([texts[name](value) for value in values], most=12)}."
            for name, values in self.review.scope.bins.items()
        ]

    @property
    def cut(self) -> str:
        """Where the model decides, when that is not where its file does by itself; else empty."""
        fit = self.review.fit or {}
        threshold = self.review.scope.threshold if self.review.scope is not None else None
        if threshold is None:
            return ""
        names = decisions_under(fit, self.review.schema)
        own = f"; the model's file by itself decides at {fit['threshold']:g}" if "threshold" in fit else ""
        return f"Decided is “{names.name(1)}” where the score for it is above {threshold:g}, as was set{own}."

    @property
    def mitigation(self) -> list[Finding]:
        """What retraining came to."""
        return [card for card in self.cards if card.subject.value == "retrained"]


def gather(
    store: RunStore,
    review: Review,
    preset: Preset,
    made: datetime,
    author: Author | None = None,
    *,
    with_people: bool = True,
    runs: list[RunRecord] | None = None,
    person: tuple[str, int] | None = None,
) -> Report:
    """Read a report from the store.

    Args:
        store, review: whose.
        preset: which tables and chapters.
        made: when.
        author: who it is by.
        with_people: whether pairs are printed.
        runs: only these; all of the review, if none are given.
        person: run and number of the pair that a sheet for one person is about; the most severe, if none is given.

    Raises:
        RunError: the review has no data, columns or scope, or the pair is not there.
    """
    if review.schema is None or review.scope is None or review.data_id is None:
        raise RunError("A report needs a review with data and a scope, got one without. Complete the review first.")
    runs = store.runs(review.id) if runs is None else runs
    known = sort_runs(store, review, runs)
    found = findings_of(store, review, runs, preset.least_share.value)
    figures = figures_of(known, preset, review)
    files = [_file(store, "data", review.data_id)] + (
        [_file(store, "model", review.model_id)] if review.model_id else []
    )
    return Report(
        preset,
        review,
        author or Author(),
        made,
        with_people,
        found,
        answer(found),
        _question(review),
        store.standing_decisions(review.id),
        store.decisions(review.id),
        store.comments(review.id),
        print_tables(preset, review.schema, figures),
        _people(store, review, known, preset, person) if with_people else [],
        _proof(known),
        numbers_of(store, list(known.current)),
        [_run(store, one, files) for one in known.current],
        files,
        [_column(column, review) for column in review.schema.inputs],
        _balance(figures),
        len(known.of(kinds.RETRAIN)),
        list(PROTECTIONS.items()),
        (*LIMITS, *_rows_that_miss_cells(figures), *_left_out(figures, preset)),
    )


def figures_of(known: Sorted, preset: Preset, review: Review) -> GroupReport | None:
    """The group figures that a preset's tables are made of: the newest that have all of its attributes, else the
    newest; groups are compared from its least share on."""
    reports = [one.results.figures.read() for one in known.of(kinds.FIGURES) if one.results.figures is not None]
    assert review.schema is not None, "asked of a review with columns"
    wanted = {frozenset(names) for names in attribute_sets(preset, review.schema)}
    whole = [report for report in reports if wanted <= {frozenset(table.attributes) for table in report.tables}]
    chosen = next(iter(whole or reports), None)
    return None if chosen is None else with_least_share(chosen, preset.least_share.value)


def lacks_figures(
    store: RunStore, review: Review, preset: Preset, runs: list[RunRecord] | None = None
) -> tuple[tuple[str, ...], ...]:
    """What groups have to be counted before a preset's tables can be printed, as columns; empty where all are.

    Args:
        store, review, preset: whose.
        runs: only these; all of the review, if none are given.
    """
    known = sort_runs(store, review, runs)
    assert review.schema is not None, "asked of a review with columns"
    assert review.scope is not None, "asked of a review with a scope"
    report = figures_of(known, preset, review)
    there = {frozenset(table.attributes) for table in report.tables} if report is not None else set()
    wanted = attribute_sets(preset, review.schema)
    if not wanted and preset.tables and report is None and not review.is_of_texts:
        wanted = [(name,) for name in review.scope.protected]
    return tuple(names for names in wanted if frozenset(names) not in there)


def _question(review: Review) -> str:
    assert review.scope is not None, "checked"
    names = listed(list(review.scope.protected), most=6)
    favourable = favourable_name(review.schema)
    if review.is_of_texts:
        return (
            f"Does the model decide texts of '{names}' otherwise when nothing but a term of identity changes, and "
            f"do texts with some terms get {favourable} less often than with others?"
        )
    if review.model_id is None:
        return f"Do the recorded decisions give {favourable} to some groups by {names} less often than to others?"
    *others, last = review.scope.protected
    any_of = f"{', '.join(others)} or {last}" if others else last
    linked = [link.column for link in review.scope.links]
    more = f" (and {listed(linked)} with it)" if linked else ""
    return (
        f"Does the model decide people otherwise when nothing but {any_of}{more} changes, and do groups by {names} get "
        f"{favourable} less often than others?"
    )


def _file(store: RunStore, role: str, file_id: str) -> PrintedFile:
    try:
        stored: StoredFile = store.file(file_id)
    except EvenhandError:
        return PrintedFile(role, "no entry", "", "", is_there=False)
    return PrintedFile(role, stored.name, size(stored.n_bytes), stored.sha256, stored.path.is_file())


def _run(store: RunStore, one: Evidence, files: list[PrintedFile]) -> PrintedRun:
    run = one.run
    config = one.run.config
    names = {file.role: file.name for file in files}
    reason = f", {run.stop_reason.value}" if run.stop_reason is not None else ""
    versions = listed([f"{name} {version}" for name, version in sorted(config.versions.items())], most=40)
    spent = f"{counted(run.evaluations, 'row')} evaluated in {duration(run.seconds)}"
    return PrintedRun(
        run.id,
        kinds.kind_of(config).name if not config.technique else f"search, {config.technique}",
        f"{run.state.value}{reason}",
        when(run.finished or run.created),
        config.seed,
        spent,
        listed([f"{name} {value}" for name, value in sorted(config.settings.items()) if value != ""], most=30),
        command_of(config, names.get("data", "data.csv"), names.get("model", "") if config.model_id else ""),
        seal_of(store, run.id),
        versions,
    )


def _column(column: Column, review: Review) -> tuple[str, ...]:
    assert review.schema is not None, "checked"
    assert review.scope is not None, "checked"
    role = "protected" if column.name in review.scope.protected else "input"
    if column.name in (review.fit or {}).get("not_taken", ()):
        role += ", not taken"
    linked = [link.protected for link in review.scope.links if link.column == column.name]
    role = f"linked to {linked[0]}" if linked else role
    values = (
        f"{counted(len(column.labels), 'category', 'categories')}: {listed(list(column.labels), most=8)}"
        if column.codes
        else f"{column.text(column.low)} to {column.text(column.high)}"
        + (f" in steps of {number(column.step)}" if column.step is not None else "")
    )
    return column.name, column.kind.value, values, role


def _balance(figures: GroupReport | None) -> list[tuple[str, str, str, str]]:
    """How the rows are shared out among the groups of each attribute: attribute, group, rows, share."""
    lines = []
    for table in figures.tables if figures is not None else ():
        if len(table.attributes) == 1:
            name = table.attributes[0]
            n = sum(group.n_rows for group in table.groups)
            for group in table.groups:
                lines.append((name, group.labels[0], count(group.n_rows), share(group.n_rows / n)))
            lines.append((name, "unknown", count(table.n_unknown), ""))
    return lines


def _rows_that_miss_cells(figures: GroupReport | None) -> list[str]:
    """Why the runs of one report speak of different numbers of rows; nothing where they do not."""
    if figures is None or not figures.n_incomplete:
        return []
    n = figures.n_incomplete
    n_rows = figures.n_rows
    return [
        f"Of {counted(n_rows, 'row')} {count(n)} {'misses' if n == 1 else 'miss'} a cell. Rates by group, estimates "
        f"and proxies speak of them too; searches, rule sets and proofs of the {count(n_rows - n)} complete ones."
    ]


def _left_out(figures: GroupReport | None, preset: Preset) -> list[str]:
    """Which groups are not compared, where no part of the preset says it by itself."""
    said = [] if figures is None or preset.has(Part.TABLES) or preset.has(Part.TRIED) else left_out(figures.tables)
    if not said:
        return []
    least = preset.least_share
    return [
        f"Groups with under {100 * least.value:g} % of the rows are not compared; they are, with how many of them get "
        f"the favourable outcome: {'; '.join(said)}. Source: {least.source}."
    ]


def _proof(known: Sorted) -> tuple[float, float, float, tuple[str, str, str]] | None:
    for one in known.of(kinds.CERTIFY):
        found = one.results.certification
        if found is not None:
            shares = (found.certified, found.falsified, found.undecided)
            return (*shares, proved_shares(*shares))
    return None


# --- people -------------------------------------------------------------------------------------


def _people(
    store: RunStore, review: Review, known: Sorted, preset: Preset, person: tuple[str, int] | None
) -> list[PrintedPair]:
    """Pairs that are printed: the ones for whom it matters most, of the search that found most."""
    if person is not None:
        one = next((one for one in known.current if one.run.id == person[0]), None)
        if one is None or not 1 <= person[1] <= store.n_pairs(person[0]):
            raise RunError(f"The pair {person[1]} of the run {person[0]} is not there. Choose a pair of this review.")
        return [_pair(store, review, one, person[1])]
    searches = sorted(known.of(kinds.SEARCH), key=lambda one: -one.run.n_found)
    best = next((one for one in searches if one.results.severity is not None and one.results.severity.top), None)
    if best is None or best.results.severity is None:
        return []
    most = 1 if preset.has(Part.PERSON) else MAX_PEOPLE
    return [_pair(store, review, best, each.pair) for each in best.results.severity.top[:most]]


def _pair(store: RunStore, review: Review, one: Evidence, number: int) -> PrintedPair:
    config = one.run.config
    pairs = store.pairs(one.run.id, 1, number - 1)
    rows: tuple[Any, Any] = (pairs.first[0], pairs.second[0])
    decisions = (int(pairs.decision_first[0]), int(pairs.decision_second[0]))
    scores = (float(np.ravel(pairs.score_first[0])[0]), float(np.ravel(pairs.score_second[0])[0]))
    names = decisions_under(review.fit or {}, config.schema)
    heads = tuple(
        f"{names.name(decision)}, score {names.score(score, decision)}"
        for decision, score in zip(decisions, scores, strict=True)
    )
    columns = list(enumerate(config.schema.inputs))
    changing = {name: place for place, name in enumerate(config.scope.changing)}
    columns.sort(key=lambda column: (changing.get(column[1].name, len(changing)), column[0]))
    lines = tuple(
        (column.name, column.text(float(rows[0][i])), column.text(float(rows[1][i])), rows[0][i] != rows[1][i])
        for i, column in columns
    )
    notes = []
    severity = one.results.severity
    severe = next((each for each in severity.top if each.pair == number), None) if severity is not None else None
    if severe is not None:
        notes.append(
            f"{severe.variants_unlike} of {severe.n_variants} variants of this person are decided unlike the others; "
            f"{counted(severe.similar_rows, 'person', 'people')} of the data "
            f"{'is' if severe.similar_rows == 1 else 'are'} like them."
        )
    return PrintedPair(f"Pair {count(number)} of run {one.run.id}", (heads[0], heads[1]), lines, tuple(notes))
