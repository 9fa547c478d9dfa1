"""What a column holds, judged by its cells: missing or not, numbers or labels, and the column that follows from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.errors import SchemaError
from fairness_engine.events import FloatArray
from fairness_engine.reading.number_text import MISSING_IN_NUMBERS, Texts, has_leading_zeros
from fairness_engine.schema import Column, Kind, Value
from fairness_engine.table import Cells

MAX_CATEGORIES = 1_000
MAX_CLASSES = 50

_MISSING_CATEGORY = "?"
_EXACT_INTEGERS = 2.0**53
"""Above it a float cannot tell neighbouring whole numbers apart."""
_MIN_RUN = 10
_ALWAYS_FEW = 20


def is_missing(cells: Cells, *, as_number: bool) -> NDArray[np.bool_]:
    """Which texts stand for an empty cell ``(n_distinct,)``: ``?``, and in a column of numbers also ``NA``, ``None``, ..."""
    if not as_number:
        return np.asarray(cells.texts == _MISSING_CATEGORY, dtype=bool)
    no_number = np.flatnonzero(np.isnan(cells.numbers))
    missing = np.zeros(len(cells.texts), dtype=bool)
    missing[no_number] = [text.lower() in MISSING_IN_NUMBERS for text in cells.texts[no_number]]
    return missing


def is_slip(cells: Cells) -> NDArray[np.bool_]:
    """Which texts are neither a number nor missing, if the column holds numbers ``(n_distinct,)``."""
    return np.isnan(cells.numbers) & ~is_missing(cells, as_number=True)


def is_numeric(cells: Cells) -> bool:
    """Numbers throughout, or but for a few slips that contain no digit or stand among many numbers."""
    is_number = np.isfinite(cells.numbers)
    if not is_number.any() or has_leading_zeros(cells.texts[is_number]):
        return False
    slips = is_slip(cells)
    if not slips.any():
        return True
    n_slips, n_numbers = int(slips.sum()), int(is_number.sum())
    is_rare = n_numbers >= 8 * n_slips and cells.counts[slips].sum() <= 0.1 * cells.counts.sum()
    # "3+" or ">50" beside 0, 1, 2 is a category; a slip of the pen has no digit.
    has_digit = any(any(sign.isdigit() for sign in text) for text in cells.texts[slips][:100])
    return bool(is_rare and (not has_digit or n_numbers > MAX_CLASSES))


def codes_of(cells: Cells) -> tuple[Value, ...]:
    """The distinct values of a column in order: numbers where all cells are, else texts.

    Texts are in the order of ``sorted``, as the encoders of scikit-learn and pandas number them.
    """
    is_number = np.isfinite(cells.numbers)
    if is_number.any() and not is_slip(cells).any() and not has_leading_zeros(cells.texts[is_number]):
        return _number_codes(np.unique(cells.numbers[is_number]))
    return tuple(sorted(cells.texts[~is_missing(cells, as_number=False)]))


def _number_codes(distinct: FloatArray) -> tuple[Value, ...]:
    return tuple(int(number) if number == np.floor(number) else float(number) for number in distinct)


def category_column(name: str, cells: Cells, most: int, remedy: str) -> Column:
    """A categorical column with every value of the data as a category.

    Raises:
        SchemaError: no value, or more than ``most``.
    """
    codes = codes_of(cells)
    if not 1 <= len(codes) <= most:
        raise SchemaError(
            f"Column '{name}' must hold 1 to {most} different values for this, got {len(codes)}. {remedy}."
        )
    return _categorical(name, codes)


def _categorical(name: str, codes: tuple[Value, ...]) -> Column:
    return Column(name, Kind.CATEGORICAL, codes=codes, labels=tuple(str(code) for code in codes))


def number_column(name: str, kind: Kind, numbers: FloatArray) -> Column:
    """An integer or real column whose range is that of the numbers."""
    return Column(name, kind, minimum=float(numbers.min()), maximum=float(numbers.max()))


def infer_column(name: str, cells: Cells, *, is_id: bool, is_split: bool) -> Column:
    """The kind and domain of a column, by its cells.

    Args:
        name: of the column.
        cells: of the column.
        is_id: its name speaks of a row's number or key.
        is_split: its name speaks of the part of the data that a row belongs to.
    """
    as_number = is_numeric(cells)
    n_filled = int(cells.counts[~is_missing(cells, as_number=as_number)].sum())
    if n_filled <= len(cells.index) / 2:
        return Column(name, Kind.IGNORED)
    if as_number:
        return _infer_number(name, cells, is_id=is_id)
    return _infer_text(name, cells, is_split=is_split)


def plain_column(name: str, cells: Cells) -> Column:
    """A column as an input whatever speaks against it: for a table in which nothing else is one."""
    if is_numeric(cells):
        numbers = cells.numbers[np.isfinite(cells.numbers)]
        is_whole = bool((numbers == np.floor(numbers)).all()) and np.abs(numbers).max() <= _EXACT_INTEGERS
        return number_column(name, Kind.INTEGER if is_whole else Kind.REAL, numbers)
    codes = codes_of(cells)
    return _categorical(name, codes) if 1 <= len(codes) <= MAX_CATEGORIES else Column(name, Kind.IGNORED)


def _infer_number(name: str, cells: Cells, *, is_id: bool) -> Column:
    numbers = cells.numbers[np.isfinite(cells.numbers)]
    distinct = np.unique(numbers)
    if len(distinct) == 1:
        return Column(name, Kind.IGNORED)
    is_whole = bool((distinct == np.floor(distinct)).all())
    if len(distinct) == 2 and is_whole:
        return _categorical(name, _number_codes(distinct))
    is_unique = len(cells.texts) == len(cells.index)
    is_run = len(distinct) >= _MIN_RUN and bool((np.diff(numbers) > 0).all())
    is_exact = np.abs(distinct).max() <= _EXACT_INTEGERS
    if is_whole and is_unique and (is_id or is_run or not is_exact):
        return Column(name, Kind.IGNORED)
    return number_column(name, Kind.INTEGER if is_whole and is_exact else Kind.REAL, distinct)


def _infer_text(name: str, cells: Cells, *, is_split: bool) -> Column:
    texts: Texts = cells.texts[~is_missing(cells, as_number=False)]
    n_rows, n_texts = int(cells.counts.sum()), len(texts)
    if n_texts <= 1 or (is_split and n_texts <= 4):
        return Column(name, Kind.IGNORED)
    is_few = n_texts <= _ALWAYS_FEW or n_texts <= min(0.1 * n_rows, MAX_CATEGORIES)
    has_words = np.mean([text.count(" ") for text in texts[:1000]]) >= 1
    if n_texts < n_rows and is_few and not (n_texts > 0.8 * n_rows and has_words):
        return _categorical(name, tuple(sorted(texts)))
    return Column(name, Kind.IGNORED if n_texts == n_rows and not has_words else Kind.TEXT)
