"""A first description of a table: what each column holds, which one is the label, what the favourable outcome is.

Every guess is made to be corrected; ``corrections.py`` gives the corrected schema. The words it goes by are in ``words.json``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairness_engine.kinds import MAX_CLASSES, Guess, category_column, guess_column, plain_column
from fairness_engine.schema import Column, Kind, Schema, Value
from fairness_engine.table import Table
from fairness_engine.words import fold, folded, names_one_of, protected_words, spellings, words

_SPOILS_THE_SEARCH = ("label", "target", "outcome", "decision")


def infer_schema(table: Table) -> Schema:
    """Describe every column of a table from its cells and its name alone.

    The kinds: whole numbers are *integer* (with two values only: *categorical*), other numbers *real*, a limited number of
    texts *categorical*, free text *text*; constants, ids, dates, row numbers, names of the parts of a data set and columns that are
    missing in half of the rows are *ignored* (``why_left_out`` says why), unless nothing else is left. Ranges are the data's, and so are
    the spellings of missing cells. The first column that names each row's case is the id.

    Raises:
        SchemaError: no column is left that a model could take.
    """
    guesses = [guess_column(name, table.cells(name)) for name in table.columns]
    columns = tuple(guess.column for guess in guesses)
    case_id = _best_id(table, guesses)
    if not any(column.is_input for column in columns):
        case_id = None
        columns = tuple(
            plain_column(column.name, table.cells(column.name)) if column.kind is Kind.IGNORED else column
            for column in columns
        )
    label = _guess_label(table, columns)
    if label is None:
        return Schema(columns, case_id=case_id)
    classes = category_column(label, table.cells(label), MAX_CLASSES, "")
    columns = tuple(classes if column.name == label else column for column in columns)
    return with_label(Schema(columns, case_id=case_id), label)


def why_left_out(table: Table, schema: Schema) -> dict[str, str]:
    """Why the cells of a column speak against giving it to a model, in a few words, by column: those that no model takes as it is.

    A column that somebody chose to leave out, or that the schema does not name, has no entry.
    """
    kinds = {column.name: column.kind for column in schema.columns if column.name != schema.label}
    left_out = [name for name in table.columns if kinds.get(name) in (Kind.IGNORED, Kind.TEXT)]
    reasons = {name: guess_column(name, table.cells(name)).reason for name in left_out}
    return {name: reason for name, reason in reasons.items() if reason}


def _best_id(table: Table, guesses: list[Guess]) -> str | None:
    """The column that names cases: all different before nearly so, then the first."""
    ids = [guess.column.name for guess in guesses if guess.is_id]
    unique = [name for name in ids if len(table.cells(name).texts) == table.n_rows]
    return next(iter([*unique, *ids]), None)


# --- the label and its outcomes -------------------------------------------------------------


def with_label(schema: Schema, label: str) -> Schema:
    """The schema with one of its categorical columns as the label, and a guess of the favourable outcome."""
    outcome = next(column for column in schema.columns if column.name == label)
    return replace(schema, label=label, favourable=guess_favourable(outcome))


def guess_favourable(label: Column) -> Value:
    """The outcome that is likely good for the person: by usual words, else 1, else the last one."""
    known = known_favourable(label)
    return label.codes[-1] if known is None else known


def known_favourable(label: Column) -> Value | None:
    """The outcome that usual words, or 1, call good for the person; ``None`` where none does.

    Where the label's name speaks of something bad (*default*, *abgelehnt*), it is the outcome that denies it.
    """
    places = folded(words("good_outcome_of_bad_label" if _is_bad(label.name) else "good_outcome"))
    ranked = [(places.get(fold(str(code)).rstrip("."), len(places)), code) for code in label.codes]
    place, code = min(ranked, key=lambda pair: pair[0])
    return code if place < len(places) else None


def _is_bad(name: str) -> bool:
    plain = _plain(name)
    for neutral in spellings("label", "neutral"):
        plain = plain.replace(neutral, "")
    return any(bad in plain for bad in spellings("label", "bad"))


def _plain(name: str) -> str:
    """A name for comparison with those of the table of words."""
    return fold(name).replace("_", " ").replace("-", " ")


def suggest_protected(schema: Schema) -> tuple[str, ...]:
    """Inputs whose names speak of an attribute that law commonly protects; sex first, then origin, then age, then others."""
    ranks = protected_words()
    ranked = [
        (next((rank for rank, terms in enumerate(ranks) if names_one_of(name, terms)), len(ranks)), position, name)
        for position, name in enumerate(schema.names)
    ]
    return tuple(name for rank, _, name in sorted(ranked) if rank < len(ranks))


def _guess_label(table: Table, columns: tuple[Column, ...]) -> str | None:
    """By a usual name, best in the last place; else the last columns with few outcomes, two before more.

    ``None`` where a column called *label* has one outcome only: another column is not the label for that.
    """
    few = {column.name: n for column in columns if 2 <= (n := _n_outcomes(table, column)) <= 20}
    plain = {column.name: _plain(column.name) for column in columns}
    is_spoilt = any(plain[column.name] in _SPOILS_THE_SEARCH and column.name not in few for column in columns)
    has_texts = any(column.kind is Kind.TEXT for column in columns)
    if is_spoilt or sum(column.is_input for column in columns) < (1 if has_texts else 2):
        return None
    sure = folded(words("label", "sure"))
    usual = {*sure, *folded(words("label", "usual"))}
    last = [column.name for column in columns[-3:] if column.name in few]
    surest = sorted((name for name in few if plain[name] in sure), key=lambda name: sure[plain[name]])
    ranked = [
        [name for name in last[-1:] if plain[name] in usual],
        surest[:1],
        [name for name in last if few[name] == 2],
        [name for name in few if plain[name] in usual],
        last,
    ]
    return next((names[-1] for names in ranked if names), None)


def _n_outcomes(table: Table, column: Column) -> int:
    if column.kind is Kind.CATEGORICAL:
        return len(column.codes)
    if column.kind is Kind.INTEGER:
        numbers = table.cells(column.name).numbers
        return len(np.unique(numbers[np.isfinite(numbers)]))
    return 0
