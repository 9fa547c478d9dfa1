"""A first description of a table: what each column holds, which one is the label, what the favourable outcome is.

Every guess is made to be corrected; ``corrections.py`` gives the corrected schema. The words it goes by are in
``words.json``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.csv.numbers import MISSING_IN_NUMBERS, SURELY_MISSING, Texts, are_among, has_leading_zeros
from fairness_engine.data.schema import Column, Kind, Schema, Value
from fairness_engine.data.table import Cells, Table
from fairness_engine.data.words import (
    fold,
    folded,
    missing_numbers,
    names_one_of,
    protected_words,
    spellings,
    words,
    words_of,
)
from fairness_engine.errors import SchemaError

_SPOILS_THE_SEARCH = ("label", "target", "outcome", "decision")


def infer_schema(table: Table, guesses: Sequence[Guess] | None = None) -> Schema:
    """Describe every column of a table from its cells and its name alone.

    The kinds: whole numbers are *integer* (with two values only: *categorical*), other numbers *real*, a limited number
    of texts *categorical*, free text *text*; constants, ids, dates, row numbers, names of the parts of a data set and
    columns that are missing in half of the rows are *ignored* (``why_left_out`` says why), unless nothing else is left.
    Ranges are the data's, and so are the spellings of missing cells. The first column that names each row's case is the
    id.

    Args:
        table: what to describe.
        guesses: of all its columns, where they were made already.

    Raises:
        SchemaError: no column is left that a model could take.
    """
    guesses = guess_columns(table) if guesses is None else guesses
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


def guess_columns(table: Table) -> list[Guess]:
    """What each column of a table is taken for, by its cells and its name."""
    return [guess_column(name, table.cells(name)) for name in table.columns]


def why_left_out(table: Table, schema: Schema) -> dict[str, str]:
    """Why the cells of a column speak against giving it to a model, in a few words, by column: those that no model
    takes as it is.

    A column that somebody chose to leave out, or that the schema does not name, has no entry.
    """
    kinds = {column.name: column.kind for column in schema.columns if column.name != schema.label}
    left_out = [name for name in table.columns if kinds.get(name) in (Kind.IGNORED, Kind.TEXT)]
    known = table.reasons
    reasons = {
        name: guess_column(name, table.cells(name)).reason if known is None else known.get(name, "")
        for name in left_out
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _best_id(table: Table, guesses: Sequence[Guess]) -> str | None:
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
    """Inputs whose names speak of an attribute that law commonly protects; sex first, then origin, then age, then
    others.
    """
    ranks = protected_words()
    ranked = [
        (next((rank for rank, terms in enumerate(ranks) if names_one_of(name, terms)), len(ranks)), position, name)
        for position, name in enumerate(schema.names)
    ]
    return tuple(name for rank, _, name in sorted(ranked) if rank < len(ranks))


def _guess_label(table: Table, columns: tuple[Column, ...]) -> str | None:
    """By a usual name, best in the last place; else the last columns with few outcomes, two before more, but none that
    is called sex, origin or age.

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
    personal = protected_words()[:3]
    last = [column.name for column in columns[-3:] if column.name in few]
    impersonal = [name for name in last if not any(names_one_of(name, terms) for terms in personal)]
    surest = sorted((name for name in few if plain[name] in sure), key=lambda name: sure[plain[name]])
    ranked = [
        [name for name in last[-1:] if plain[name] in usual],
        surest[:1],
        [name for name in impersonal if few[name] == 2],
        [name for name in few if plain[name] in usual],
        impersonal,
    ]
    return next((names[-1] for names in ranked if names), None)


def _n_outcomes(table: Table, column: Column) -> int:
    if column.kind is Kind.CATEGORICAL:
        return len(column.codes)
    if column.kind is Kind.INTEGER:
        numbers = table.cells(column.name).numbers
        return len(np.unique(numbers[np.isfinite(numbers)]))
    return 0


MAX_CATEGORIES = 1_000
MAX_CLASSES = 50

_ALWAYS_MISSING = "?"
_EXACT_INTEGERS = 2.0**53
"""Above it a float cannot tell neighbouring whole numbers apart."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_MIN_RUN = 10
_ALWAYS_FEW = 20
_MIN_UNIQUE = 20
"""Fewer different values are no sign of an id by themselves."""
_NEARLY = 0.95
_MOSTLY = 0.5
_MAX_LOOKED_AT = 5_000
"""Distinct texts that are looked at for dates and ids."""


# --- missing cells ------------------------------------------------------------------------


def is_missing(cells: Cells, *, as_number: bool, chosen: Collection[str] = ()) -> BoolArray:
    """Which texts stand for an empty cell ``(n_distinct,)``.

    In numbers: whatever is no number and a usual word for it. In labels: the sure ones among these, unless fewer than
    two other texts were left (``+`` and ``-`` are two outcomes, not one and its absence); ``?`` always.

    Args:
        cells: of the column.
        as_number: the column holds numbers.
        chosen: more texts that do, for this column.
    """
    picked = np.isin(cells.texts, list(chosen)) if chosen else np.zeros(len(cells.texts), dtype=bool)
    if as_number:
        return picked | (np.isnan(cells.numbers) & are_among(cells.texts, MISSING_IN_NUMBERS))
    sure = are_among(cells.texts, SURELY_MISSING)
    if sure.any() and (~sure & ~picked).sum() < 2:
        sure = np.asarray(cells.texts == _ALWAYS_MISSING, dtype=bool)
    return picked | sure


def missing_texts(cells: Cells, *, as_number: bool, chosen: Collection[str] = ()) -> tuple[str, ...]:
    """The texts of ``is_missing``, and those chosen that the cells do not hold, in order."""
    found = cells.texts[is_missing(cells, as_number=as_number, chosen=chosen)]
    return tuple(sorted({*found.tolist(), *chosen}))


def may_be_missing(cells: Cells, *, as_number: bool) -> BoolArray:
    """Which texts may well stand for an empty cell ``(n_distinct,)``.

    In labels: words such as *unknown*, and the sure ones too. In numbers: 999, -1 and their like where they stand apart
    from the rest: above it by more than it spans, or negative where nothing else is.
    """
    if not as_number:
        return are_among(cells.texts, MISSING_IN_NUMBERS)
    codes = missing_numbers()
    is_code = np.isin(cells.numbers, codes)
    rest = cells.numbers[~is_code & np.isfinite(cells.numbers)]
    if not is_code.any() or not len(rest):
        return np.zeros_like(is_code)
    low = float(rest.min())
    high = float(rest.max())
    with np.errstate(invalid="ignore"):
        is_far_above = cells.numbers > high + (high - low)
        is_below_zero = (cells.numbers < 0) & (low >= 0)
    return is_code & (is_far_above | is_below_zero)


# --- numbers or labels --------------------------------------------------------------------


def is_slip(cells: Cells, chosen: Collection[str] = ()) -> BoolArray:
    """Which texts are neither a number nor missing, if the column holds numbers ``(n_distinct,)``."""
    return np.isnan(cells.numbers) & ~is_missing(cells, as_number=True, chosen=chosen)


def is_numeric(cells: Cells) -> bool:
    """Numbers throughout, or but for a few slips that contain no digit or stand among many numbers."""
    is_number = np.isfinite(cells.numbers)
    if not is_number.any() or has_leading_zeros(cells.texts[is_number]) or _are_merged(cells):
        return False
    slips = is_slip(cells)
    if not slips.any():
        return True
    n_slips = int(slips.sum())
    n_numbers = int(is_number.sum())
    is_rare = n_numbers >= 8 * n_slips and cells.counts[slips].sum() <= 0.1 * cells.counts.sum()
    # "3+" or ">50" beside 0, 1, 2 is a category; a slip of the pen has no digit.
    has_digit = any(any(sign.isdigit() for sign in text) for text in cells.texts[slips][:100])
    return bool(is_rare and (not has_digit or n_numbers > MAX_CLASSES))


def codes_of(cells: Cells, chosen: Collection[str] = ()) -> tuple[Value, ...]:
    """The distinct values of a column in order: numbers where all cells are, else texts.

    Texts are in the order of ``sorted``, as the encoders of scikit-learn and pandas number them.
    """
    if _holds_number_codes(cells, chosen):
        is_code = np.isfinite(cells.numbers) & ~is_missing(cells, as_number=True, chosen=chosen)
        return _number_codes(np.unique(cells.numbers[is_code]))
    return tuple(sorted(cells.texts[~is_missing(cells, as_number=False, chosen=chosen)]))


def _holds_number_codes(cells: Cells, chosen: Collection[str]) -> bool:
    is_number = np.isfinite(cells.numbers)
    is_whole_column = is_number.any() and not is_slip(cells, chosen).any()
    return bool(is_whole_column and not has_leading_zeros(cells.texts[is_number]) and not _are_merged(cells))


def _are_merged(cells: Cells) -> bool:
    """Whether some of few whole numbers are the same to a float, though they differ: codes that are no amounts."""
    is_large = np.abs(cells.numbers) >= _EXACT_INTEGERS
    if not is_large.any() or len(cells.texts) > MAX_CATEGORIES:
        return False
    whole = {int(text) for text in cells.texts[is_large].tolist() if _WHOLE.fullmatch(text)}
    return len({float(number) for number in whole}) < len(whole)


def _number_codes(distinct: FloatArray) -> tuple[Value, ...]:
    return tuple(int(number) if number == np.floor(number) else float(number) for number in distinct)


def category_column(name: str, cells: Cells, most: int, remedy: str, chosen: Collection[str] = ()) -> Column:
    """A categorical column with every value of the data as a category.

    Args:
        name: of the column.
        cells: of the column.
        most: categories that it may have.
        remedy: what to do when it has more.
        chosen: texts that stand for an empty cell.

    Raises:
        SchemaError: no value, or more than ``most``.
    """
    codes = codes_of(cells, chosen)
    if not 1 <= len(codes) <= most:
        raise SchemaError(
            f"Column '{name}' must hold 1 to {most} different values for this, got {len(codes)}. {remedy}."
        )
    missing = missing_texts(cells, as_number=_holds_number_codes(cells, chosen), chosen=chosen)
    return replace(_categorical(name, codes), missing=missing)


def _categorical(name: str, codes: tuple[Value, ...]) -> Column:
    return Column(name, Kind.CATEGORICAL, codes=codes, labels=tuple(str(code) for code in codes))


def _has_width(numbers: FloatArray) -> bool:
    """Whether the range of numbers has a width: that from -1e308 to 1e308 has none that a float holds."""
    return math.isfinite(float(numbers.max()) - float(numbers.min()))


def number_column(name: str, kind: Kind, numbers: FloatArray) -> Column:
    """An integer or real column whose range is that of the numbers."""
    return Column(name, kind, minimum=float(numbers.min()), maximum=float(numbers.max()))


# --- a column from its cells ----------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """What a column is taken for.

    Args:
        column: its description.
        reason: why a model does not take it, in a few words; empty for an input.
        is_id: it names the case of each row.
    """

    column: Column
    reason: str = ""
    is_id: bool = False


def guess_column(name: str, cells: Cells) -> Guess:
    """The kind and domain of a column by its cells and its name, and why it is left out if it is."""
    as_number = is_numeric(cells)
    n_filled = int(cells.counts[~is_missing(cells, as_number=as_number)].sum())
    if n_filled <= len(cells.index) / 2:
        said = f"missing in {len(cells.index) - n_filled:,} of {len(cells.index):,} rows"
        return _left_out(name, "empty" if not n_filled else said)
    if _holds_dates(name, cells):
        return _left_out(name, f"dates, {len(cells.texts):,} different")
    guess = _guess_number(name, cells) if as_number else _guess_text(name, cells)
    missing = missing_texts(cells, as_number=as_number) if guess.column.is_input else ()
    return replace(guess, column=replace(guess.column, missing=missing))


def plain_column(name: str, cells: Cells) -> Column:
    """A column as an input whatever speaks against it: for a table in which nothing else is one."""
    if is_numeric(cells):
        numbers = cells.numbers[np.isfinite(cells.numbers)]
        if not _has_width(numbers):
            return Column(name, Kind.IGNORED)
        is_whole = bool((numbers == np.floor(numbers)).all()) and np.abs(numbers).max() <= _EXACT_INTEGERS
        return number_column(name, Kind.INTEGER if is_whole else Kind.REAL, numbers)
    codes = codes_of(cells)
    return _categorical(name, codes) if 1 <= len(codes) <= MAX_CATEGORIES else Column(name, Kind.IGNORED)


def _left_out(name: str, reason: str, *, is_id: bool = False) -> Guess:
    return Guess(Column(name, Kind.IGNORED), reason, is_id)


def _guess_number(name: str, cells: Cells) -> Guess:
    numbers = cells.numbers[np.isfinite(cells.numbers)]
    distinct = np.unique(numbers)
    if len(distinct) == 1:
        return _left_out(name, f"one value only: {cells.texts[0][:40]}")
    is_whole = bool((distinct == np.floor(distinct)).all())
    if len(distinct) == 2 and is_whole:
        return Guess(_categorical(name, _number_codes(distinct)))
    if not _has_width(distinct):
        return _left_out(name, "numbers too far from one another for a range")
    is_unique = len(cells.texts) == len(cells.index)
    is_run = len(distinct) >= _MIN_RUN and bool((np.diff(numbers) > 0).all())
    is_exact = np.abs(distinct).max() <= _EXACT_INTEGERS
    if is_whole and _is_called_id(name) and (is_unique or _is_nearly_unique(cells, _MOSTLY)):
        return _left_out(
            name, f"ids, {len(distinct):,} different", is_id=_is_nearly_unique(cells, _NEARLY) or is_unique
        )
    if is_whole and is_unique and (is_run or not is_exact):
        return _left_out(
            name, "whole numbers that rise from row to row" if is_run else "a different long number in every row"
        )
    return Guess(number_column(name, Kind.INTEGER if is_whole and is_exact else Kind.REAL, distinct))


def _guess_text(name: str, cells: Cells) -> Guess:
    texts: Texts = cells.texts[~is_missing(cells, as_number=False)]
    n_rows = int(cells.counts.sum())
    n_texts = len(texts)
    if n_texts <= 1:
        return _left_out(name, f"one value only: {texts[0][:40]}" if n_texts else "empty")
    if n_texts <= 4 and fold(name).replace("_", " ") in words("split"):
        return _left_out(name, "says which part of the data a row belongs to")
    is_few = n_texts <= _ALWAYS_FEW or n_texts <= min(0.1 * n_rows, MAX_CATEGORIES)
    has_words = np.mean([text.count(" ") for text in texts[:1000]]) >= 1
    if n_texts < n_rows and is_few and not (n_texts > 0.8 * n_rows and has_words):
        return Guess(_categorical(name, tuple(sorted(texts))))
    has_digits = np.mean([any(sign.isdigit() for sign in text) for text in texts[:_MAX_LOOKED_AT]]) >= _NEARLY
    if has_digits and np.mean([bool(_AMOUNT.fullmatch(text)) for text in texts[:_MAX_LOOKED_AT]]) >= _NEARLY:
        return _left_out(name, f"numbers that cannot be read as such, like '{texts[0][:40]}': write digits only")
    return _guess_text_of_many(name, cells, texts, has_digits=bool(has_digits), has_words=bool(has_words))


def _guess_text_of_many(name: str, cells: Cells, texts: Texts, *, has_digits: bool, has_words: bool) -> Guess:
    """An id, or free text."""
    n_rows = int(cells.counts.sum())
    n_texts = len(texts)
    is_code = has_digits and not has_words and _is_nearly_unique(cells, _NEARLY)
    if is_code or (_is_called_id(name) and not has_words and _is_nearly_unique(cells, _MOSTLY)):
        return _left_out(name, f"ids, {n_texts:,} different", is_id=is_code or _is_nearly_unique(cells, _NEARLY))
    if n_texts == n_rows and not has_words:
        is_id = _is_called_id(name)
        return _left_out(name, f"ids, {n_texts:,} different" if is_id else "a different text in every row", is_id=is_id)
    return Guess(Column(name, Kind.TEXT), f"free text, {n_texts:,} different")


def _is_nearly_unique(cells: Cells, share: float) -> bool:
    n_filled = int(cells.counts.sum())
    return len(cells.texts) >= max(_MIN_UNIQUE, share * n_filled)


def _is_called_id(name: str) -> bool:
    """Whether a name speaks of a row's number or key: by its last word, or its first as in *numéro de dossier*."""
    spoken = words_of(name)
    before = (*words("id", "fr"), *words("id", "es"), *words("id", "it"))
    return fold(name) == "column 1" or (
        bool(spoken) and (names_one_of(spoken[-1], words("id")) or names_one_of(spoken[0], before))
    )


_AMOUNT = re.compile(
    r"(?!\d+(\.\d+){3}$)[-+(]?\W? ?(?=[\d.,' ]*[.,$€£¥₹%(])[\d.,' ]*\d[\d.,' ]* ?\W?\)?|[$€£¥₹] ?\d[\d.,' ]*"
)
"""An amount with a currency's sign, in parentheses, or with points and commas that can be read in two ways; no address
of a machine."""

# --- dates --------------------------------------------------------------------------------

_DAY = r"(0?[1-9]|[12]\d|3[01])"
_MONTH = r"(0?[1-9]|1[0-2])"
_TIME = r"([T ,]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?Z| ?[+-]\d{2}:?\d{2})?)?"
_LETTERS = r"[^\W\d_]{3,10}"
_WRITTEN = tuple(
    re.compile(way + _TIME)
    for way in (
        rf"\d{{4}}[-/.]{_MONTH}[-/.]{_DAY}",
        rf"{_DAY}\. ?{_MONTH}\. ?(\d{{4}}|\d{{2}})",
        rf"({_MONTH}[-/]{_DAY}|{_DAY}[-/]{_MONTH})[-/](\d{{4}}|\d{{2}})",
        rf"{_DAY}\.?[- ](de )?{_LETTERS}\.?[- ,]+(de )?\d{{4}}",
        rf"{_LETTERS}\.? {_DAY},? \d{{4}}",
    )
)
_COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_N_TRIED = 20
"""Texts that are tried first: most columns hold no date, and that is soon seen."""


def _holds_dates(name: str, cells: Cells) -> bool:
    """Whether nearly all cells are dates in one of the usual ways; ``20220131`` where the name speaks of a date."""
    ways = (*_WRITTEN, _COMPACT) if names_one_of(name, words("date")) else _WRITTEN
    return any(_are_written(cells, way, _N_TRIED) and _are_written(cells, way, _MAX_LOOKED_AT) for way in ways)


def _are_written(cells: Cells, way: re.Pattern[str], most: int) -> bool:
    """Whether nearly all of the first distinct texts, by the rows that hold them, are written in a way."""
    counts = cells.counts[:most]
    is_written = np.array([way.fullmatch(text) is not None for text in cells.texts[:most]], dtype=bool)
    return bool(len(counts)) and bool(counts[is_written].sum() >= _NEARLY * counts.sum())
