"""Tables of groups as a preset asks for them, and the same as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace

from fairness_engine.data.schema import Schema
from fairness_engine.findings.groups import group_name
from fairness_engine.groups.figures.report import FigureVerdict, GroupRates, GroupReport, GroupTable, Rate
from fairness_engine.groups.figures.significance import against_best
from fairness_engine.report.presets import Preset, TableAsked, TableColumn
from fairness_engine.report.presets import Rate as Asked
from fairness_engine.telling.wording import count, counted, listed, share

_RATE_TITLES = {Asked.SELECTION: "Selection rate", Asked.SCORING: "Scoring rate"}
_HIT_TITLES = {Asked.SELECTION: "Selected", Asked.SCORING: "Above the median score"}
_LEAST_P = 0.001


@dataclass(frozen=True)
class PrintedTable:
    """A table, ready to be printed.

    Args:
        title: of it.
        rate: what is compared.
        heads: of the columns, the group first.
        rows: texts, a line a group.
        notes: under it: who is unknown, who is left out and why, what is missing.
        groups: the groups with their rates, for a picture; parallel to ``rows``.
        values: for CSV: heads and exact numbers.
        best: the highest rate of a group that is large enough, which ratios are held against.
        in_annex: not what is asked for, but more of the same.
    """

    title: str
    rate: Asked
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    groups: tuple[tuple[str, Rate], ...] = ()
    values: tuple[tuple[str | float | None, ...], ...] = ()
    best: float = 0.0
    in_annex: bool = False

    @property
    def name(self) -> str:
        """Of its CSV file."""
        words = "".join(letter.lower() if letter.isalnum() else " " for letter in self.title).split()
        return f"{'-'.join(words)[:60]}-{self.rate.value}"

    def csv(self) -> str:
        """The same with exact numbers."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows(self.values)
        return out.getvalue()


@dataclass(frozen=True)
class MissingTable:
    """A table that a preset asks for and that cannot be had, and why."""

    title: str
    why: str


def columns_of(preset: Preset, schema: Schema) -> dict[str, str]:
    """Which column of the data is meant by each role; a role of which there is none is left out."""
    names = {_plain(name): name for name in schema.names}
    found = {}
    for role, asked in preset.roles.items():
        column = next((names[_plain(name)] for name in asked.columns if _plain(name) in names), None)
        if column is not None:
            found[role] = column
    return found


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def attribute_sets(preset: Preset, schema: Schema) -> list[tuple[str, ...]]:
    """What the tables of a preset are by, as columns of the data; those of its own roles alone."""
    columns = columns_of(preset, schema)
    asked = [tuple(columns[role] for role in table.by if role in columns) for table in preset.tables if table.by]
    return list(dict.fromkeys(names for names in asked if names))


def print_tables(preset: Preset, schema: Schema, report: GroupReport | None) -> list[PrintedTable | MissingTable]:
    """All tables that a preset asks for, of figures whose groups are compared from its least share on."""
    if report is None:
        return [MissingTable(table.title, "The groups of the data were not counted.") for table in preset.tables]
    columns = columns_of(preset, schema)
    printed: list[PrintedTable | MissingTable] = []
    for asked in preset.tables:
        printed += _asked(preset, asked, columns, report) if asked.by else _every(preset, report)
    return printed


def _every(preset: Preset, report: GroupReport) -> list[PrintedTable | MissingTable]:
    """Combinations of attributes have many small groups: they stand in the annex, and those that are too small for a
    ratio in the CSV alone."""
    pairs = ((table, rate) for table in report.tables for rate in preset.rates if _has(table, rate))
    return [
        _print(preset, f"By {listed(table.attributes)}", table, rate, in_annex=len(table.attributes) > 1)
        for table, rate in pairs
    ]


def _asked(
    preset: Preset, asked: TableAsked, columns: dict[str, str], report: GroupReport
) -> list[PrintedTable | MissingTable]:
    missing = [role for role in asked.by if role not in columns]
    if missing:
        role = preset.roles[missing[0]]
        why = f"The data has no column for {role.title.lower()} (looked for: {', '.join(role.columns)})."
        return [MissingTable(asked.title, why)]
    wanted = tuple(columns[role] for role in asked.by)
    table = next((table for table in report.tables if set(table.attributes) == set(wanted)), None)
    if table is None:
        return [MissingTable(asked.title, "These groups are too many to be read, or were not counted.")]
    table = _in_order(table, wanted)
    return [_print(preset, asked.title, table, rate) for rate in preset.rates if _has(table, rate)]


def _in_order(table: GroupTable, names: tuple[str, ...]) -> GroupTable:
    """The same with its attributes in another order."""
    places = [table.attributes.index(name) for name in names]
    groups = (replace(group, labels=tuple(group.labels[place] for place in places)) for group in table.groups)
    return replace(table, attributes=names, groups=tuple(groups))


def _has(table: GroupTable, rate: Asked) -> bool:
    return all(_rate(group, rate) is not None for group in table.groups)


def _rate(group: GroupRates, rate: Asked) -> Rate | None:
    return group.selection if rate is Asked.SELECTION else group.scoring


def _print(preset: Preset, title: str, table: GroupTable, asked: Asked, *, in_annex: bool = False) -> PrintedTable:
    line = _Line(table, asked)
    columns = [column for column in preset.columns if column is not TableColumn.SELECTED or asked is Asked.SELECTION]
    columns = columns if asked is Asked.SELECTION else [c for c in columns if c in _OF_SCORING]
    heads = ("Group", *(_head(column, asked) for column in columns))
    printed = table.compared if in_annex else table.groups
    rows = tuple((line.name(group), *(_CELLS[column](line, group) for column in columns)) for group in printed)
    values = (
        ("group", "n", "hits", "rate", "rate_low", "rate_high", "ratio", "is_compared"),
        *(line.values(group) for group in table.groups),
    )
    groups = tuple((line.name(group), rate) for group in printed if (rate := _rate(group, asked)) is not None)
    notes = tuple(_notes(preset, table, in_annex=in_annex))
    return PrintedTable(title, asked, heads, rows, notes, groups, values, line.best, in_annex)


_OF_SCORING = (TableColumn.N, TableColumn.SELECTED, TableColumn.RATE, TableColumn.INTERVAL, TableColumn.IMPACT_RATIO)


def _head(column: TableColumn, asked: Asked) -> str:
    return {
        TableColumn.N: "Number",
        TableColumn.SELECTED: _HIT_TITLES[asked],
        TableColumn.RATE: _RATE_TITLES[asked],
        TableColumn.INTERVAL: "95 % interval",
        TableColumn.IMPACT_RATIO: "Impact ratio",
        TableColumn.RATIO_INTERVAL: "Joint interval",
        TableColumn.VERDICT: "Four fifths",
        TableColumn.FISHER_P: "Fisher's p",
        TableColumn.N_TO_FLIP: "Decisions to flip",
    }[column]


def _notes(preset: Preset, table: GroupTable, *, in_annex: bool) -> list[str]:
    notes = []
    names = listed(list(table.attributes))
    if table.n_unknown:
        notes.append(f"{counted(table.n_unknown, 'person', 'people')} of unknown {names} are in none of these groups.")
    else:
        notes.append(f"Nobody's {names} is unknown.")
    small = table.small
    least = f"{100 * preset.least_share.value:g} %"
    if small and in_annex:
        rows = counted(sum(group.n_rows for group in small), "row")
        notes.append(f"{counted(len(small), 'group')} with under {least} of the rows each, {rows}: in the CSV alone.")
    elif small:
        who = listed([f"{group_name(table, group)} ({count(group.n_rows)})" for group in small], 12)
        notes.append(
            f"Left out of the ratios, with under {least} of the rows: {who}. Source: {preset.least_share.source}."
        )
    return notes


@dataclass(frozen=True)
class _Line:
    """How the cells of a group are written."""

    table: GroupTable
    asked: Asked

    def name(self, group: GroupRates) -> str:
        return group_name(self.table, group)

    def rate(self, group: GroupRates) -> Rate:
        rate = _rate(group, self.asked)
        assert rate is not None, "asked of tables that have it"
        return rate

    @property
    def best(self) -> float:
        """The highest rate of a group that is large enough."""
        shares = [self.rate(group).share for group in self.table.compared]
        return max(shares, default=0.0)

    def ratio(self, group: GroupRates) -> float | None:
        """``None`` of a group that is left out, or where nobody has the outcome."""
        if not group.is_compared or self.best == 0:
            return None
        return self.rate(group).share / self.best

    def values(self, group: GroupRates) -> tuple[str | float | None, ...]:
        rate = self.rate(group)
        told = (rate.n, rate.n_hits, rate.share, rate.low, rate.high, self.ratio(group))
        return (self.name(group), *told, int(group.is_compared))


def _interval(line: _Line, group: GroupRates) -> str:
    rate = line.rate(group)
    return f"{100 * rate.low:.1f}-{100 * rate.high:.1f} %"


def _ratio(line: _Line, group: GroupRates) -> str:
    ratio = line.ratio(group)
    return FigureVerdict.LEFT_OUT.value if not group.is_compared else "none" if ratio is None else f"{ratio:.2f}"


def _ratio_interval(_: _Line, group: GroupRates) -> str:
    impact = group.impact
    return "" if impact is None or not group.is_compared else f"{impact.low:.2f}-{impact.high:.2f}"


def _verdict(line: _Line, group: GroupRates) -> str:
    return "highest rate" if group is line.table.most_favoured else group.verdict.value


def _fisher(line: _Line, group: GroupRates) -> str:
    tested = against_best(line.table, group) if group.is_compared else None
    return "" if tested is None else f"< {_LEAST_P:g}" if tested[0] < _LEAST_P else f"{tested[0]:.3f}"


def _flips(line: _Line, group: GroupRates) -> str:
    tested = against_best(line.table, group) if group.is_compared else None
    return "" if tested is None else count(tested[1])


_CELLS: dict[TableColumn, Callable[[_Line, GroupRates], str]] = {
    TableColumn.N: lambda line, group: count(line.rate(group).n),
    TableColumn.SELECTED: lambda line, group: count(line.rate(group).n_hits),
    TableColumn.RATE: lambda line, group: share(line.rate(group).share),
    TableColumn.INTERVAL: _interval,
    TableColumn.IMPACT_RATIO: _ratio,
    TableColumn.RATIO_INTERVAL: _ratio_interval,
    TableColumn.VERDICT: _verdict,
    TableColumn.FISHER_P: _fisher,
    TableColumn.N_TO_FLIP: _flips,
}
