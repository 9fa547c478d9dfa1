"""The words by which a table's columns and cells are guessed, in six languages: one table, ``words.json``.

Upper case, accents and the way umlauts are written make no difference: ``Staatsangehörigkeit``,
``staatsangehoerigkeit`` and ``STAATSANGEHORIGKEIT`` are one word.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "ø": "oe"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def fold(text: str) -> str:
    """A text without upper case, accents and spaces at its ends."""
    return _without_accents(text).casefold().strip()


def _without_accents(text: str) -> str:
    signs = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(sign for sign in signs if not unicodedata.combining(sign))


def names_one_of(name: str, terms: Iterable[str]) -> bool:
    """Whether a column's name has one of the terms among its words; a star stands for any letters, several words must
    follow each other.
    """
    words = words_of(name)
    return any(_stands_in(words, form) for term in terms for form in _forms(term))


def words_of(name: str) -> tuple[str, ...]:
    """The words of a column's name: ``AgeInYears``, ``age_in_years`` and ``Age (in years)`` have the same."""
    return tuple(word.lower() for word in _WORD.findall(_without_accents(name)))


@cache
def _forms(term: str) -> frozenset[tuple[str, ...]]:
    """A term as words, its umlauts written either way."""
    return frozenset(tuple(fold(form).split()) for form in (term, term.translate(_UMLAUTS)))


def _stands_in(words: tuple[str, ...], term: tuple[str, ...]) -> bool:
    return any(
        all(fnmatchcase(word, part) for word, part in zip(words[start:], term, strict=False))
        for start in range(len(words) - len(term) + 1)
    )


@cache
def folded(terms: tuple[str, ...]) -> dict[str, int]:
    """Where each term stands, by each way in which it may be written."""
    places: dict[str, int] = {}
    for place, term in enumerate(terms):
        for form in (term, term.translate(_UMLAUTS)):
            places.setdefault(fold(form), place)
    return places


@cache
def spellings(*path: str) -> frozenset[str]:
    """The words under a key of the table in lower case, with and without their accents: to look many texts up at
    once.
    """
    return frozenset(form for term in words(*path) for form in (term.lower(), *folded((term,))))


@cache
def words(*path: str) -> tuple[str, ...]:
    """The words under a key of the table, of all languages, in its order: ``words("label", "sure")``."""
    return _flat(_at(path))


@cache
def protected_words() -> tuple[tuple[str, ...], ...]:
    """Words for protected attributes, one tuple a rank: sex, origin, age, and all others."""
    return tuple(_flat(rank) for rank in _at(("protected",)))


@cache
def missing_numbers() -> tuple[float, ...]:
    """Numbers that surveys and systems write for a missing cell."""
    return tuple(float(number) for number in _at(("missing", "numbers")))


def _at(path: tuple[str, ...]) -> Any:
    found: Any = _table()
    for key in path:
        found = found[key]
    return found


@cache
def _table() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return content


def _flat(entry: Mapping[str, list[str]] | list[str]) -> tuple[str, ...]:
    lists = entry.values() if isinstance(entry, Mapping) else [entry]
    return tuple(dict.fromkeys(word for words in lists for word in words))
