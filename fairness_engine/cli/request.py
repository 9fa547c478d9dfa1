"""From options to files in the store, a schema and a scope."""

from __future__ import annotations

import argparse
import os
import signal
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fairness_engine.cli import option_values
from fairness_engine.cli.output import say
from fairness_engine.data.corrections import change_label, replace_column, set_case_id
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema, why_left_out
from fairness_engine.data.label import favourable_class, find_outcome
from fairness_engine.data.links.reading import joined, parse_link
from fairness_engine.data.missing import mark_missing
from fairness_engine.data.schema import Column, Kind, Schema, Value
from fairness_engine.data.table import Table
from fairness_engine.errors import DataError, ModelError, RunError, SettingError, cut
from fairness_engine.measures.plausibility.combinations import unseen_combinations
from fairness_engine.model_process.tables import read_stored
from fairness_engine.oracle.domain import Domain, Ranges, Scope
from fairness_engine.store.database.transactions import PATIENCE_SECONDS, Patience
from fairness_engine.store.environment import (
    DATA_VARIABLE,
    UNSAFE_FORMATS_VARIABLE,
    database_url,
    default_workspace,
    take_data_url,
)
from fairness_engine.store.records import FileRole, StoredFile
from fairness_engine.store.store import RunStore


@dataclass(frozen=True)
class Request:
    """What a command is about: files kept in the store, and what they mean.

    Args:
        table: the data, where it was read.
        data_query: where it came from, as ``RunConfig`` has it.
    """

    store: RunStore
    data: StoredFile
    model: StoredFile | None
    schema: Schema
    table: Table | None
    data_query: Mapping[str, str] | None = None


def note_formats(options: argparse.Namespace) -> None:
    """Allow formats that run code on load where the options say so."""
    if getattr(options, "unsafe_formats", False):
        os.environ[UNSAFE_FORMATS_VARIABLE] = "1"  # the worker and the model's process ask for it there


def open_store(options: argparse.Namespace) -> RunStore:
    """The run store that the options name."""
    note_formats(options)
    store = RunStore(workspace_of(options), database_url())
    store.patience = Patience(PATIENCE_SECONDS, say)  # once it is open: an address that is wrong is said at once
    return store


def existing_store(options: argparse.Namespace, what: str) -> RunStore:
    """The run store that the options name, by a command that only looks for something in it: it makes none.

    Args:
        what: what is looked for, as in "no run '3f2a'".

    Raises:
        RunError: it is not there.
    """
    if not has_store(options):
        raise RunError(
            f"There is {what}: there is no workspace at {workspace_of(options)} either. Name the one that is "
            "meant with --workspace or EVENHAND_WORKSPACE."
        )
    return open_store(options)


def has_store(options: argparse.Namespace) -> bool:
    """Whether the run store that the options name is there already."""
    return database_url() is not None or workspace_of(options).exists()


def workspace_of(options: argparse.Namespace) -> Path:
    """The folder of the run store that the options name."""
    return Path(options.workspace or default_workspace()).absolute()


def assess(options: argparse.Namespace, *, needs_table: bool = False) -> Request:
    """Check that the files are there, ask the database where the data is a query's, read or infer the schema, and keep
    data and model in the store.

    Raises:
        InputError: a file that is missing, or cannot be what it should; a query that cannot be answered.
    """
    if options.data is not None and (why := _why_no_file(options.data)):
        raise DataError(f"--data must name a CSV or Parquet file, but {why}.")
    if options.model is not None and (why := _why_no_file(options.model)):
        raise ModelError(f"--model must name a model file, but {why}.")
    model_path = Path(options.model) if options.model else None
    given = Schema.read(Path(options.schema)) if options.schema else None
    is_corrected = bool(options.missing) or any(
        value is not None for value in (options.label, options.id, options.favourable)
    )
    is_asked = needs_table or given is None or is_corrected or options.leave_out_impossible
    store = open_store(options)
    with _data_file(options) as source:
        table = read_stored(store.workspace, source.path, source.name) if is_asked else None
        for problem in table.problems if table is not None and options.command != "inspect" else ():
            say(f"Note: {problem}")
        schema = _corrected(options, given, table)
        data = store.add_file(source.path, source.name, FileRole.DATA)
    model = store.add_file(model_path, model_path.name, FileRole.MODEL) if model_path else None
    return Request(store, data, model, schema, table, source.query)


def _why_no_file(path: str) -> str:
    """What is there instead of a file; empty where one is."""
    if not path:
        return "got an empty text"
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):  # also of what is too long to be a name
        return f"there is none at {path}"
    if stat.S_ISREG(mode):
        return ""
    return f"there is none at {path}: it is a {'folder' if stat.S_ISDIR(mode) else 'pipe or a device'}"


@dataclass(frozen=True)
class _DataFile:
    """The data as it is to be read and kept.

    Args:
        query: where it came from, as ``RunConfig`` has it.
    """

    path: Path
    name: str
    query: Mapping[str, str] | None = None


@contextmanager
def _data_file(options: argparse.Namespace) -> Iterator[_DataFile]:
    """The file that ``--data`` names, or one with the rows of ``--data-query``, which is gone afterwards.

    Raises:
        SettingError: options of a query without one, or a query without a database.
        DataError: a query that cannot be answered.
    """
    address = take_data_url()
    if options.data_query is None:
        for option, value in (("--data-url", options.data_url), ("--data-name", options.data_name)):
            if value is not None:
                raise SettingError(f"{option} belongs to a query: name one with --data-query, or leave {option} out.")
        path = Path(options.data)
        yield _DataFile(path, path.name)
        return
    address = address if options.data_url is None else options.data_url
    if address is None:
        raise SettingError(
            "--data-query must be asked of a database, got none. Name it with --data-url, or with the variable "
            f"{DATA_VARIABLE} where its address holds a password."
        )
    from fairness_engine.data.sql.database import has_password, read_address
    from fairness_engine.data.sql.rows import DataQuery, keep_rows
    from fairness_engine.data.sql.statement import read_query

    query = DataQuery(read_query(options.data_query), read_address(address))
    if options.data_url is not None and has_password(query.address):
        say(f"Note: whoever lists the processes sees the password in --data-url; {DATA_VARIABLE} keeps it from them.")
    with _ended_by_interrupt(), tempfile.TemporaryDirectory(prefix="evenhand-query-") as folder:
        path = Path(folder) / "rows.parquet"
        n_rows = keep_rows(query, path)
        if not options.quiet:
            say(f"The query gave {n_rows:,} rows.")
        yield _DataFile(path, options.data_name or _NAME_OF_QUERY, query.to_json())


_NAME_OF_QUERY = "query"


@contextmanager
def _ended_by_interrupt() -> Iterator[None]:
    """Whatever asks the command to end does it as an interrupt does, so that people's rows do not stay behind."""
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _corrected(options: argparse.Namespace, schema: Schema | None, table: Table | None) -> Schema:
    """The schema that is given, or that the table suggests, with what the options say otherwise.

    Raises:
        InputError: no such column or outcome, or links that cannot be.
    """
    if schema is None:
        if table is None:  # pragma: no cover - read above
            raise DataError("The table was not read.")
        schema = infer_schema(table)
    if table is not None:
        schema = mark_missing(table, schema, options.missing)
        if options.label is not None and options.label != schema.label:
            schema = change_label(table, schema, options.label or None)
        schema = schema if options.id is None else set_case_id(table, schema, options.id)
        schema = schema if options.favourable is None else with_favourable(table, schema, options.favourable)
    if options.protected is not None:
        reasons = {} if table is None else why_left_out(table, schema)
        for name in options.protected:
            if name in reasons and name != schema.case_id:
                raise SettingError(
                    f"--protected must name columns that the model takes, but '{cut(name)}' is left out: "
                    f"{reasons[name]}. Say in a schema file (--schema) of what kind it is, or name another column."
                )
        schema = schema.with_protected(options.protected)
    if options.positive is not None:
        schema = replace(schema, positive=options.positive)
    if options.link:
        given = [parse_link(text, schema) for text in options.link]
        schema = replace(schema, links=joined([*schema.links, *given], schema))
    return schema


def guessed_favourable(schema: Schema, options: argparse.Namespace) -> list[str]:
    """What to say where nobody said which outcome is good for the person, and a guess stands in: one sentence, or
    none.
    """
    is_said = options.favourable is not None or (options.schema and options.label is None)
    if is_said or schema.label is None or schema.favourable is None:
        return []
    return [
        f"'{schema.favourable}' of '{schema.label}' is taken for the outcome that is good for the person, which nobody "
        "confirmed. Say it with --favourable, or with 'favourable' in a schema file."
    ]


def with_favourable(table: Table, schema: Schema, named: Value, option: str = "--favourable") -> Schema:
    """The schema with the favourable outcome that is named as the file or as people write it; where the data has no
    label it is one of the model's, which is not open yet.

    Args:
        option: what messages call it.

    Raises:
        InputError: the label has no such outcome.
    """
    outcome = find_outcome(table, schema)
    if outcome is None:
        return replace(schema, favourable=named)
    position = favourable_class(outcome, named)
    if position is None:
        known = ", ".join(outcome.labels[:12])
        raise SettingError(f"{option} must be an outcome of '{outcome.name}' ({known}), got '{named}'.")
    return replace(schema, favourable=outcome.codes[position])


def read_scope(
    options: argparse.Namespace, schema: Schema, table: Table | None = None, *, needs_variants: bool = True
) -> Scope:
    """The scope that the options describe, checked against the schema.

    Args:
        table: the data; without it no values are left out as impossible.
        needs_variants: people are compared who differ in protected values, so a number must not have too many.

    Raises:
        InputError: no protected attribute, a name that is no input, or a range that cannot be.
    """
    if not schema.protected:
        raise SettingError(
            f"Name the protected attributes with --protected; the inputs are: {', '.join(schema.names[:12])}."
        )
    for name, _ in options.values:
        if name not in schema.protected:
            raise SettingError(
                f"--values takes values of a protected attribute ({', '.join(schema.protected)}), got '{name}'. "
                "Protect it, or keep to some people with --limit."
            )
    scope = Scope(
        protected=schema.protected,
        threshold=options.threshold,
        score_gap=options.gap,
        fixed=options.fixed,
        limits=dict(options.limit),
        bins={name: values_of(schema, name, texts) for name, texts in options.values},
        max_variants=options.max_variants,
    )
    for link in schema.links:
        if link.protected in scope.protected and link.column in scope.protected:
            say(
                f"The link of '{link.column}' with '{link.protected}' is left out: '{link.column}' is protected itself."
            )
    scope = scope.with_links_of(schema)
    asked = [link for link in schema.links if any(text.startswith(f"{link.protected}:") for text in options.link)]
    scope = replace(scope, links=(*scope.links, *(link for link in asked if link not in scope.links)))
    if needs_variants and options.leave_out_impossible and table is not None:
        dataset = make_dataset(table, schema)
        found = unseen_combinations(dataset.rows, dataset.schema, scope)
        scope = replace(scope, excluded=tuple(each.combination for each in found))
        if found:
            named = "; ".join(each.text(schema, scope) for each in found[:_N_NAMED])
            more = f" and {len(found) - _N_NAMED:,} more" if len(found) > _N_NAMED else ""
            say(f"Left out what the data never holds together: {named}{more}.")
    (Domain if needs_variants else Ranges)(schema, scope)  # refuses what cannot be
    return scope


_N_NAMED = 5


def values_of(schema: Schema, name: str, texts: Sequence[str], option: str = "--values") -> tuple[float, ...]:
    """Values to compare, as they were typed: numbers, or categories as the file or people write them.

    Args:
        option: what messages call them.

    Raises:
        InputError: no such column, no number, or no such category.
    """
    column = schema.inputs[schema.index(name)]
    if column.kind is not Kind.CATEGORICAL:
        try:
            return tuple(option_values.number(text) for text in texts)
        except argparse.ArgumentTypeError as error:
            raise SettingError(f"{option} of '{name}' {error}.") from None
    places = {str(code): float(place) for place, code in enumerate(column.codes)}
    places |= {label: float(place) for place, label in enumerate(column.labels)}
    unknown = [text for text in texts if text not in places]
    if unknown:
        known = ", ".join(column.labels[:12]) + (" …" if len(column.labels) > 12 else "")
        raise SettingError(f"{option} of '{name}' must be among its categories ({known}), got '{unknown[0]}'.")
    return tuple(places[text] for text in texts)


def with_text(schema: Schema, name: str) -> Schema:
    """The schema with a column of texts, whatever it was taken for, and no protected attribute.

    Raises:
        SettingError: it is the label.
    """
    if name == schema.label:
        raise SettingError(f"'{name}' is the label. Name the column that holds the texts with --text-column.")
    return replace_column(replace(schema, protected=()), Column(name, Kind.TEXT))
