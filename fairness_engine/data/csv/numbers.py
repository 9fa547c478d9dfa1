"""Numbers as people write them in a table: decimal comma, thousands, signs; never a guess.

Works on the distinct texts of a column, so that a column of a million cells costs what its distinct values cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.data.words import spellings

Texts = NDArray[np.object_]

SURELY_MISSING = spellings("missing", "sure")
"""What stands for an empty cell in every column, unless its schema lists it as a category; in lower case."""

MISSING_IN_NUMBERS = SURELY_MISSING | spellings("missing", "proposed")
"""What stands for an empty cell in a column of numbers: these are no numbers, whatever they mean. In a column of labels
``none`` or ``unknown`` may well be a category."""

_FEW = 100
MAX_JUDGED = 20_000
"""Distinct texts of a column that are looked at for its decimal sign."""

_PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_GROUPED = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$"
_SURELY_GROUPED = r"^[+-]?[1-9]\d{0,2}(,\d{3}){2,}(\.\d*)?$|^[+-]?[1-9]\d{0,2}(,\d{3})+\.\d*$"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_NUMBER_LIKE = r"^[+-]?[\d.,]+([eE][+-]?\d+)?$"
_DECIMAL_COMMA = r"^[+-]?(\d*,(\d{1,2}|\d{4,})|0,\d+|\d{4,},\d+|,\d+|\d{1,3}(\.\d{3})+,\d*)([eE][+-]?\d+)?$"
_DECIMAL_POINT = r"^[+-]?(\d*\.(\d{1,2}|\d{4,})|0\.\d+|\d{4,}\.\d+|\.\d+|\d{1,3}(,\d{3})+\.\d*)([eE][+-]?\d+)?$"
_PARTED = r"^[+-]?[1-9]\d{0,2}([ '\x{2019}\x{a0}\x{202f}\x{2009}]\d{3})+([.,]\d*)?$"
"""Thousands by a blank of any width or an apostrophe, which part nothing else in a number: ``1 825,23``."""
_PARTS = r"[ '\x{2019}\x{a0}\x{202f}\x{2009}]"
_MINUS = "\N{MINUS SIGN}"
_ONE_COMMA = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_ONE_POINT = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"
_BY_POINTS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})*$|^[+-]?0$"
_SURELY_BY_POINTS = r"^[+-]?[1-9]\d{0,2}(\.\d{3}){2,}$"


def parse_numbers(texts: Texts, decimal: str = ".") -> FloatArray:
    """The number in each text ``(n_texts,)``; NaN where there is none, infinite where it is too large for a float.

    Commas between thousands are read where the column proves that they are: ``1,234.5`` or ``1,234,567`` in it; blanks
    and apostrophes between thousands part nothing else.
    """
    numbers = np.full(len(texts), np.nan)
    if not len(texts):
        return numbers
    cells = pa.array(texts, pa.large_string())
    if decimal == ",":
        cells = pc.replace_substring(pc.replace_substring(pc.replace_substring(cells, ".", "\0"), ",", "."), "\0", ",")
    plain = _matches(cells, _PLAIN)
    numbers[plain] = _cast(cells, plain)
    if not plain.all():
        _parse_the_rest(cells, plain, numbers)
    return numbers


def _joined(cells: pa.Array) -> pa.Array:
    """Texts whose thousands are parted by blanks or apostrophes, without these; the minus of print as that of files."""
    cells = pc.replace_substring(cells, _MINUS, "-")
    is_parted = _matches(cells, _PARTED)
    if not is_parted.any():
        return cells
    return pc.if_else(pa.array(is_parted), pc.replace_substring_regex(cells, _PARTS, ""), cells)


def _parse_the_rest(cells: pa.Array, plain: NDArray[np.bool_], numbers: FloatArray) -> None:
    joined = _joined(cells)
    if not joined.equals(cells):
        cells = joined
        more = _matches(cells, _PLAIN) & ~plain
        numbers[more] = _cast(cells, more)
        plain = plain | more
    infinite = _matches(cells, _INFINITE)
    numbers[infinite] = np.where(_matches(cells, "^-")[infinite], -np.inf, np.inf)
    if _matches(cells, _SURELY_GROUPED).any():
        grouped = _matches(cells, _GROUPED) & ~plain
        numbers[grouped] = _cast(pc.replace_substring(cells, ",", ""), grouped)


def _cast(cells: pa.Array, which: NDArray[np.bool_]) -> FloatArray:
    chosen = cells if which.all() else cells.filter(pa.array(which))
    numbers: FloatArray = chosen.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def _matches(cells: pa.Array, pattern: str) -> NDArray[np.bool_]:
    matched: NDArray[np.bool_] = pc.match_substring_regex(cells, pattern).to_numpy(zero_copy_only=False)
    return matched


def find_decimal(columns: Iterable[tuple[str, pa.Array]]) -> tuple[str, list[str]]:
    """The decimal sign of a table, and a sentence for every column whose commas can be read in two ways.

    Args:
        columns: name and distinct texts of every column, ``MAX_JUDGED`` of them at most.
    """
    by_comma: list[str] = []
    by_point: list[str] = []
    unclear: list[tuple[str, str]] = []
    maybe_thousands: list[tuple[str, str]] = []
    for name, as_written in columns:
        texts = _joined(as_written)
        is_like = _matches(texts, _NUMBER_LIKE)
        others = texts.filter(pa.array(~is_like)).to_numpy(zero_copy_only=False)
        if not is_like.any() or not are_among(others, MISSING_IN_NUMBERS).all():
            continue
        cells = texts.filter(pa.array(is_like))
        has_point = _has(cells, _DECIMAL_POINT)
        has_comma = pc.any(pc.match_substring(cells, ",")).as_py() and _has(cells, _DECIMAL_COMMA)
        are_by_points = not has_point and not has_comma and bool(_matches(cells, _BY_POINTS).all())
        has_comma |= are_by_points and _has(cells, _SURELY_BY_POINTS)
        if has_comma != has_point:
            (by_comma if has_comma else by_point).append(name)
        elif not has_comma and not _matches(cells, _SURELY_GROUPED).any():
            grouped = cells.filter(pa.array(_matches(cells, _ONE_COMMA)))
            unclear += [(name, grouped[0].as_py())] if len(grouped) else []
            by_one = cells.filter(pa.array(_matches(cells, _ONE_POINT)))
            maybe_thousands += [(name, by_one[0].as_py())] if len(by_one) and are_by_points else []
    if by_comma and not by_point:
        return ",", []
    said = [
        f"Numbers of column '{name}' such as '{text}' are read with the point before decimals, all of three digits. If "
        "it stands between thousands, write them without it."
        for name, text in maybe_thousands
    ]
    return ".", said + _sentences(by_comma, by_point, unclear)


def _has(cells: pa.Array, pattern: str) -> bool:
    """Whether one of the texts matches; the first ones tell of most columns."""
    return bool(_matches(cells[:_FEW], pattern).any() or _matches(cells[_FEW:], pattern).any())


def _sentences(by_comma: Sequence[str], by_point: Sequence[str], unclear: Sequence[tuple[str, str]]) -> list[str]:
    said = [
        f"Column '{name}' holds numbers like '{text}', where the comma may stand for thousands or for decimals. "
        "Write them without it, or choose 'categorical' as the column's type."
        for name, text in unclear
    ]
    if by_comma and by_point:
        said.append(
            f"Column '{by_comma[0]}' is written with a decimal comma, or with points between thousands, and "
            f"'{by_point[0]}' with a decimal point; the point was taken. Write both in the same way."
        )
    return said


def are_among(texts: Texts, words: frozenset[str]) -> NDArray[np.bool_]:
    """Which texts are one of the words, which are in lower case ``(n_texts,)``."""
    if len(texts) <= _FEW and all(map(str.isascii, texts)):  # thousands of columns of few texts each
        return np.array([text.lower() in words for text in texts], dtype=bool)
    cells = pc.utf8_lower(pa.array(texts, pa.large_string()))
    found: NDArray[np.bool_] = pc.is_in(cells, _array_of(words)).to_numpy(zero_copy_only=False)
    return found


@cache
def _array_of(words: frozenset[str]) -> pa.Array:
    return pa.array(sorted(words), pa.large_string())


def has_leading_zeros(texts: Texts) -> bool:
    """True when a text is a code such as ``007`` or ``04109``: digits, and a zero in front that a number would lose."""
    return bool(len(texts)) and bool(_matches(pa.array(texts, pa.large_string()), r"^0\d+$").any())
