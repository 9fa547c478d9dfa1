"""Identity terms in texts: found as whole words in any case, and swapped with the case kept.

Longest first ("african american" before "african"), words of a term parted by spaces or hyphens, a plural is another
word, a hyphen or an apostrophe ends a word ("anti-gay", "gay's"). A place in a text belongs to one term only, whatever
the categories are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.terms import Terms, same_term

_MARKED = (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0))
"""Where Unicode has marks: the planes between have none."""
_BETWEEN_WORDS = r"[\s\-\u2010\u2011]+"


class Case(IntEnum):
    """How a word is written."""

    AS_LISTED = 0
    TITLE = 1
    UPPER = 2


@dataclass(frozen=True)
class Found:
    """One place in a text that holds a term.

    Args:
        start, end: of its letters in the text.
        category, term: as listed.
        case: how it is written there.
    """

    start: int
    end: int
    category: str
    term: str
    case: Case


@dataclass(frozen=True)
class Swapped:
    """A text with terms put in.

    Args:
        text: the whole of it.
        spans: first letter and end of each term put in, in order.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TermCounts:
    """How many texts hold terms.

    Args:
        n_any: texts with any term.
        by_category: texts with a term of each category.
        by_term: texts with each term, by category.
    """

    n_any: int
    by_category: Mapping[str, int]
    by_term: Mapping[str, Mapping[str, int]]


class TermFinder:
    """Looks for the terms of all categories at once.

    Args:
        terms: checked (``terms.check_terms``).

    Attributes:
        listed: category and term of every term, the longest first.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        listed = [(category, term) for category, words in terms for term in words]
        self.listed = sorted(listed, key=lambda each: -len(each[1]))
        self._forms = {
            category: {same_term(term): tuple(write(term, case) for case in Case) for term in words}
            for category, words in terms
        }
        self._of_any, self._of_ascii, self._term_of = _patterns([term for _, term in self.listed])

    def places(self, text: str) -> list[tuple[int, int, int, Case]]:
        """First letter, end, position in ``listed`` and case of every term, from left to right; they do not overlap."""
        pattern = self._of_ascii if text.isascii() else self._of_any
        return [
            (*match.span(), self._term_of[(match.lastindex or 1) - 1], case_of(match.group()))
            for match in pattern.finditer(text)
        ]

    def find(self, text: str) -> list[Found]:
        """The places of all terms, from left to right; they do not overlap."""
        return [Found(start, end, *self.listed[i], case) for start, end, i, case in self.places(text)]

    def swap(self, text: str, terms: Mapping[str, str]) -> Swapped:
        """The text with every term of some categories replaced.

        Args:
            text: any.
            terms: by category, the term to put in; other categories are left.

        Raises:
            SettingError: no such category or term.
        """
        forms = {category: self._written(category, term) for category, term in terms.items()}
        parts = []
        spans = []
        done = 0
        length = 0
        for place in self.find(text):
            if place.category in forms:
                word = forms[place.category][place.case]
                length += place.start - done
                parts += [text[done : place.start], word]
                spans.append((length, length + len(word)))
                length = length + len(word)
                done = place.end
        return Swapped("".join([*parts, text[done:]]), tuple(spans))

    def _written(self, category: str, term: str) -> tuple[str, ...]:
        try:
            return self._forms[category][same_term(term)]
        except KeyError:
            raise SettingError(
                f"'{term}' must be a term of the category '{category}', but is none. Take one from the list."
            ) from None


def count_terms(texts: Iterable[str], terms: Terms) -> TermCounts:
    """How many texts hold any term, one of each category, and each term."""
    finder = TermFinder(terms)
    n_any = 0
    by_category = {category: 0 for category, _ in terms}
    by_term = {category: dict.fromkeys(words, 0) for category, words in terms}
    for text in texts:
        held = {(place.category, place.term) for place in finder.find(text)}
        n_any += bool(held)
        for category in {category for category, _ in held}:
            by_category[category] += 1
        for category, term in held:
            by_term[category][term] += 1
    return TermCounts(n_any, by_category, by_term)


@lru_cache(4096)
def case_of(word: str) -> Case:
    """How a word found in a text is written; a single capital letter counts as a capitalised word."""
    letters = [letter for letter in word if letter.isupper() or letter.islower()]
    if len(letters) > 1 and word.isupper():
        return Case.UPPER
    return Case.TITLE if letters and letters[0].isupper() and word[0] == letters[0] else Case.AS_LISTED


def write(term: str, case: Case) -> str:
    """A listed term in a case; each word of it is capitalised. Where the list has capitals, they stay ("LGBT")."""
    if case is Case.UPPER:
        return term.upper()
    if case is Case.TITLE:
        return re.sub(r"(?<!\S)\S", lambda first: first.group().upper(), term)
    return term


def _patterns(terms: list[str]) -> tuple[re.Pattern[str], re.Pattern[str], list[int]]:
    """One alternation of all terms for any text, the same for plain ASCII, and the position of the term that each group
    stands for.

    Terms are told apart by their first letter before anything else, in a class of its two cases that Python's engine
    looks up without trying what follows; among those of one letter the longest comes first.
    """
    by_letter: dict[str, list[tuple[int, str]]] = {}
    for position, term in enumerate(terms):
        for form in _forms_of(term):
            by_letter.setdefault(form[0].lower(), []).append((position, form))
    branches = []
    for letter, listed in by_letter.items():
        cases = "".join(re.escape(each) for each in _cases(letter))
        rests = "|".join(f"({_rest(form)})" for _, form in listed)
        branches.append(f"(?-i:[{cases}])(?:{rests})")
    marks = _marks()
    either = f"(?:{'|'.join(branches)})"
    of_any = re.compile(rf"\b(?<![{marks}]){either}(?![\w{marks}])", re.IGNORECASE)
    # plain ASCII has no marks, and looking for them takes half of the time
    of_ascii = re.compile(rf"\b{either}(?!\w)", re.IGNORECASE)
    return of_any, of_ascii, [position for listed in by_letter.values() for position, _ in listed]


def _cases(letter: str) -> list[str]:
    """A letter in either case, where that is one letter."""
    return sorted({each for each in (letter, letter.upper(), letter.title()) if len(each) == 1})


def _forms_of(term: str) -> tuple[str, ...]:
    """A term with its accents composed and taken apart: texts hold either."""
    return tuple(dict.fromkeys((unicodedata.normalize("NFC", term), unicodedata.normalize("NFD", term))))


def _rest(form: str) -> str:
    """What follows the first letter of a term."""
    return _BETWEEN_WORDS.join(re.escape(word) for word in re.split(_BETWEEN_WORDS, form[1:]))


@cache
def _marks() -> str:
    """The letters' marks of Unicode as ranges of a character class: Python's ``\\w`` lacks them, so a word would end
    before one.
    """
    points = [point for point in _MARKED if unicodedata.category(chr(point)) in ("Mn", "Mc", "Me")]
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
