"""A first description of a table: what each column holds, which one is the label, what the favourable outcome is.

Every guess is made to be corrected; ``corrections.py`` gives the corrected schema.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from fairness_engine.kinds import MAX_CLASSES, category_column, infer_column, plain_column
from fairness_engine.schema import Column, Kind, Schema, Value
from fairness_engine.table import Table

_SURE_LABEL_NAMES = ("label", "target", "outcome", "decision", "y", "income", "two_year_recid")
_LABEL_NAMES = (
    *_SURE_LABEL_NAMES,
    *("class", "result", "approved", "accepted", "hired", "admitted", "credit", "credit_risk", "default"),
    *("loan_status", "pass_bar"),
)
_GOOD = (
    *(">50k", "yes", "good", "approved", "approve", "accepted", "accept", "granted", "hired", "admitted", "passed"),
    *(
        "pass",
        "paid",
        "nontoxic",
        "kept",
        "low",
        "absent",
        "fully paid",
        "healthy",
        "positive",
        "true",
        "y",
        "high",
        "1",
    ),
)
_GOOD_WHEN_LABEL_IS_BAD = ("no", "absent", "low", "none", "false", "good", "nontoxic", "negative", "n", "0")
_BAD_LABEL = re.compile(
    r"recid|default|fraud|crime|disease|death|died|churn|arrest|reject|denied|toxic|violen|attrition|bankrupt|(?<!credit_)risk",
    re.IGNORECASE,
)
_ID_NAME = re.compile(
    r"(?i:(^|[_\W])(id|ids|uuid|guid|index|key|nr|no|number|row|rownum|ssn)$)|^column 1$|[a-z]Id$|[a-z]ID$"
)
_SPLIT_NAME = re.compile(r"^(split|set|subset|part|partition|fold|is_train|train_test)$", re.IGNORECASE)
_PROTECTED = (
    re.compile(r"^(sex|gender|female|male)$"),
    re.compile(r"^(race|racial|racepct.*|ethnic.*)$"),
    re.compile(r"^(age|ages|birth|birthyear|dob)$"),
    re.compile(
        r"^(religion|faith|disab.*|handicap.*|nation.*|country|foreign.*|born|marital|marriage|pregnan.*|orientation)$"
    ),
)


def infer_schema(table: Table) -> Schema:
    """Describe every column of a table from its cells alone.

    The kinds: whole numbers are *integer* (with two values only: *categorical*), other numbers *real*, a limited number of
    texts *categorical*, free text *text*; constants, row numbers, names of the parts of a data set and columns that are empty
    in half of the rows are *ignored*, unless nothing else is left. Ranges are the data's.

    Raises:
        SchemaError: no column is left that a model could take.
    """
    columns = tuple(
        infer_column(
            name,
            table.cells(name),
            is_id=_ID_NAME.search(name) is not None,
            is_split=_SPLIT_NAME.search(name) is not None,
        )
        for name in table.columns
    )
    if not any(column.is_input for column in columns):
        columns = tuple(
            plain_column(column.name, table.cells(column.name)) if column.kind is Kind.IGNORED else column
            for column in columns
        )
    label = _guess_label(table, columns)
    if label is None:
        return Schema(columns)
    classes = category_column(label, table.cells(label), MAX_CLASSES, "")
    return with_label(Schema(tuple(classes if column.name == label else column for column in columns)), label)


def with_label(schema: Schema, label: str) -> Schema:
    """The schema with one of its categorical columns as the label, and a guess of the favourable outcome."""
    outcome = next(column for column in schema.columns if column.name == label)
    return replace(schema, label=label, favourable=guess_favourable(outcome))


def guess_favourable(label: Column) -> Value:
    """The outcome that is likely good for the person: by usual words, else 1, else the last one."""
    words = _GOOD_WHEN_LABEL_IS_BAD if _BAD_LABEL.search(label.name) else _GOOD
    by_text = {str(code).strip().rstrip(".").lower(): code for code in reversed(label.codes)}
    return next((by_text[word] for word in words if word in by_text), label.codes[-1])


def suggest_protected(schema: Schema) -> tuple[str, ...]:
    """Inputs whose names speak of an attribute that law commonly protects; sex first, then race, then age, then others."""
    ranked = [(_protected_rank(name), position, name) for position, name in enumerate(schema.names)]
    return tuple(name for rank, _, name in sorted(ranked) if rank < len(_PROTECTED))


def _protected_rank(name: str) -> int:
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    ranks = [rank for rank, pattern in enumerate(_PROTECTED) for word in words if pattern.match(word)]
    return min(ranks, default=len(_PROTECTED))


def _guess_label(table: Table, columns: tuple[Column, ...]) -> str | None:
    """By a usual name, best in the last place; else the last columns with few outcomes, two before more.

    ``None`` where a column called *label* has one outcome only: another column is not the label for that.
    """
    few = {column.name: n for column in columns if 2 <= (n := _n_outcomes(table, column)) <= 20}
    plain = {column.name: column.name.lower().replace("-", "_").replace(" ", "_") for column in columns}
    is_spoilt = any(plain[column.name] in _SURE_LABEL_NAMES[:4] and column.name not in few for column in columns)
    has_texts = any(column.kind is Kind.TEXT for column in columns)
    if is_spoilt or sum(column.is_input for column in columns) < (1 if has_texts else 2):
        return None
    last = [column.name for column in columns[-3:] if column.name in few]
    ranked = [
        [name for name in last[-1:] if plain[name] in _LABEL_NAMES],
        [name for known in _SURE_LABEL_NAMES for name in few if plain[name] == known][:1],
        [name for name in last if few[name] == 2],
        [name for name in few if plain[name] in _LABEL_NAMES],
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
