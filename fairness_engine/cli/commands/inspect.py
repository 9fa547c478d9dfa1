"""The command ``inspect``: what is in the data and the model, and do they belong together."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairness_engine.cli.output import ExitStatus, Outcome, counted, say
from fairness_engine.cli.request import Request, assess, guessed_favourable, read_scope, with_text
from fairness_engine.data.corrections import change_kind
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import why_left_out
from fairness_engine.data.links.spelling import links_to_json
from fairness_engine.data.missing import find_spellings, say_proposed
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.data.summary import describe_columns
from fairness_engine.data.table import Table
from fairness_engine.data.texts import make_texts
from fairness_engine.errors import DataError, EvenhandError, InputError, SettingError
from fairness_engine.measures.plausibility.link_candidates import find_links
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Fit, Held, WhyNotCertifiable
from fairness_engine.model_process.tables import read_stored
from fairness_engine.models.fit.known_answers import KnownAnswers, answers_in_column, answers_in_file
from fairness_engine.models.fit.reading_state import KnownBy, Reading, State
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.run_config import installed_versions

INSPECT_KEYS = (
    "rows",
    "columns",
    "rows_used",
    "problems",
    "missing",
    "id",
    "column_summaries",
    "model",
    "fit",
    "certifiable",
)
_BY = {
    KnownBy.FILE: "as its file says",
    KnownBy.PERSON: "as was said",
    KnownBy.NOBODY: "taken for it: the second outcome; --positive says another",
}
_MODEL_FIELDS = ("format", "kind", "n_inputs", "layers")
_FIT_FIELDS = ("accuracy", "majority_share", "auc", "output", "uses_protected", "is_deterministic")
INSPECT_PARTS = {"model": _MODEL_FIELDS}


def inspect(options: argparse.Namespace) -> Outcome:
    """Describe the table, and the model beside it when one is given."""
    started = time.perf_counter()
    assessed = assess(options, needs_table=True)
    table = assessed.table
    schema = assessed.schema
    if table is None:  # pragma: no cover - asked for above
        raise DataError("The table was not read.")
    if options.out_schema is not None:  # before what may be refused, since that is corrected in it
        _write_schema(options.out_schema, table, schema)
    dataset = make_dataset(table, schema)
    column = options.text_column
    texts = make_texts(table, with_text(schema, column), column) if column else None
    used = dataset if texts is None else texts
    problems = list(dict.fromkeys((*table.problems, *used.problems, *_on_guesses(assessed, options))))
    model, fit, warnings, reason = _fit(assessed, options)
    reading = fit.pop("reading") or None if fit else None
    result = {
        "seed": options.seed,
        "seconds": time.perf_counter() - started,
        "evaluations": 0,
        "stop_reason": None,
        "run_id": None,
        "versions": installed_versions(),
        "rows": table.n_rows,
        "columns": len(table.columns),
        "rows_used": len(dataset.rows) if texts is None else len(texts),
        "problems": [*problems, *warnings],
        "missing": {name: dict(spellings) for name, spellings in dataset.missing.items()},
        "id": schema.case_id,
        "column_summaries": [
            {"name": summary.name, "kind": str(summary.kind)} for summary in describe_columns(table, schema)
        ],
        "model": model,
        "fit": fit,
        "certifiable": reason,
        "reading": reading,
        "positive": reading.get("positive") if reading else None,
        "links": links_to_json(schema.links, schema),
        "data_query": assessed.data_query,
    }
    if options.suggest_links:
        result["suggested_links"] = _suggested(dataset)
    if reading is not None and reading["state"] == State.REFUSED:
        why = " ".join(reading["advice"])
        say(why)
        return Outcome(result, _text(result), ExitStatus.BAD_INPUT, why)
    return Outcome(result, _text(result))


def _write_schema(path: Path, table: Table, schema: Schema) -> None:
    """The schema as a file, with what each ignored column would be as an input."""
    for column in schema.columns:
        if column.kind is not Kind.IGNORED or column.was is not None or column.name not in table.columns:
            continue
        for kind in (Kind.INTEGER, Kind.REAL, Kind.CATEGORICAL):
            with suppress(EvenhandError):
                schema = change_kind(table, change_kind(table, schema, column.name, kind), column.name, Kind.IGNORED)
                break
    try:
        schema.write(path)
    except OSError as error:
        raise SettingError(f"'{path}' cannot be written: {error.strerror}. Name another file.") from None


def _suggested(dataset: Dataset) -> list[dict[str, Any]]:
    """Links that the data suggests, as ``links`` has them, with how many rows speak against each."""
    schema = dataset.schema
    if not schema.protected:
        raise SettingError(
            "Links belong to protected attributes: name these with --protected; the inputs are: "
            f"{', '.join(schema.names[:12])}."
        )
    return [
        {**links_to_json([each.link], schema)[0], "seen": each.n_seen, "expected": round(each.n_expected, 1)}
        for each in find_links(dataset.rows, schema)
    ]


def _on_guesses(assessed: Request, options: argparse.Namespace) -> list[str]:
    """One sentence for each thing that was guessed of the table and may be otherwise; nothing of a schema that was
    given.
    """
    table = assessed.table
    schema = assessed.schema
    if table is None or options.schema:
        return []
    said = [
        f"Column '{name}' is left out: "
        f"{reason}{'; it is taken for the id of the cases' if name == schema.case_id else ''}."
        for name, reason in why_left_out(table, schema).items()
        if name != options.text_column
    ]
    said += say_proposed(find_spellings(table, schema))
    return [*said, *guessed_favourable(schema, options)]


def _fit(
    assessed: Request, options: argparse.Namespace
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, list[str], str | None]:
    """The fit card in two parts, its warnings, and why nothing can be proved of the model; from a process of its
    own.
    """
    if assessed.model is None:
        return None, None, [], None
    schema = assessed.schema
    scope = None
    reason = None
    column = options.text_column
    if column:
        schema = with_text(schema, column)
        scope = Scope(protected=(column,), threshold=options.threshold)
    elif schema.protected:
        try:
            scope = read_scope(options, schema, assessed.table)
        except InputError as error:
            reason = str(error)
    asked = Held(assessed.data.id, assessed.model.id, schema, scope)
    # the card is of the model as it is; where the scope sets no threshold, one process answers both questions
    of_card = asked if column or options.threshold is None else replace(asked, scope=None)
    answers = known_answers(assessed, options)
    evaluator = Evaluator(assessed.store)
    try:
        card = evaluator.ask(of_card, Fit(answers)).to_json()
        if scope is not None and not column:
            reason = _why_not_certifiable(asked, evaluator)
    finally:
        evaluator.close()
    rest = {name: value for name, value in card.items() if name not in (*_MODEL_FIELDS, *_FIT_FIELDS)}
    model = {name: card.get(name) for name in _MODEL_FIELDS}
    fit = {name: card.get(name) for name in _FIT_FIELDS} | rest
    return model, fit, list(card.get("warnings", ())), reason


def known_answers(assessed: Request, options: argparse.Namespace) -> KnownAnswers | None:
    """What ``--known-answers`` names: a file, or a column of the data; ``None`` where it is not given.

    Raises:
        DataError: it is neither, or holds no answers of the data's rows.
    """
    named = options.known_answers
    if not named:
        return None
    if assessed.table is None:  # pragma: no cover - asked for above
        raise DataError("The table was not read.")
    if Path(named).is_file():
        return answers_in_file(
            read_stored(assessed.store.workspace, Path(named), Path(named).name), assessed.table, assessed.schema
        )
    if named in assessed.table.columns:
        return answers_in_column(assessed.table, assessed.schema, named)
    raise DataError(
        f"--known-answers must name a CSV or Parquet file or a column of --data, but there is neither at {named}."
    )


def _why_not_certifiable(asked: Held, evaluator: Evaluator) -> str | None:
    """Why nothing can be proved of the model in this scope; ``None`` when it can."""
    try:
        return evaluator.ask(asked, WhyNotCertifiable())
    except InputError as error:
        return str(error)


def _on_reading(content: dict[str, Any]) -> list[str]:
    """How far the reading is confirmed, and whose score the model's is."""
    reading = Reading.from_json(content)
    lines = [f"Reading: {reading.in_words()}."]
    if reading.max_difference is not None:
        lines[0] = (
            f"Reading: {reading.in_words()} (largest difference {reading.max_difference:.2g} over "
            f"{reading.n_compared:,} rows)."
        )
    if reading.positive is not None:
        lines.append(f"Its score is that of '{reading.positive}' ({_BY[reading.positive_by]}).")
    return lines


def _spelled(told: dict[str, Any]) -> str:
    return " / ".join(told["values"])


def _text(result: dict[str, Any]) -> str:
    columns = counted(result["columns"], "column", "columns")
    used = counted(result["rows_used"], "row", "rows")
    lines = [f"{counted(result['rows'], 'row', 'rows')}, {columns}; {used} can be used."]
    lines += [f"- {problem}" for problem in result["problems"]]
    if result["model"]:
        model = result["model"]
        fit = result["fit"]
        lines.append(f"Model: {model['format']}, {model['kind']}, {model['n_inputs']} inputs.")
        if result["reading"]:
            lines += _on_reading(result["reading"])
        if fit["accuracy"] is not None:
            lines.append(f"Accuracy {fit['accuracy']:.3f}; always the commonest class: {fit['majority_share']:.3f}.")
        unused = [name for name, uses in (fit["uses_protected"] or {}).items() if not uses]
        lines += [f"The model does not use '{name}': a search would find nothing by construction." for name in unused]
    lines += [f"{told['column']} goes with {told['protected']}: {_spelled(told)}." for told in result["links"]]
    if "suggested_links" in result:
        found = result["suggested_links"]
        lines += [
            f"Suggested: --link '{told['protected']}:{told['column']}={'/'.join(told['values'])}' ({told['seen']:,} "
            f"rows have it otherwise, where {told['expected']:,.0f} would by chance)."
            for told in found
        ]
        lines += [] if found else ["The data suggests no link with a protected attribute of two values."]
    if result["certifiable"]:
        lines.append(result["certifiable"])
    return "\n".join(lines)
