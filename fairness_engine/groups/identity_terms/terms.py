"""Identity terms by category: the project's own list, and a user's in its place.

Reference: paper 001 (TestSGD), Table 1, after Dixon et al. 2018: 48 terms in 4 categories.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from fairness_engine.errors import SettingError

Terms = tuple[tuple[str, tuple[str, ...]], ...]
"""Categories in order, each with its terms."""

MAX_BYTES = 1_000_000
MAX_CATEGORIES = 20
MAX_TERMS = 1_000
"""In all categories together."""
MAX_TERM = 100
"""Letters of a term, or of a category's name."""
MAX_LETTERS = 10_000
"""Of all terms together: they travel with every run."""
_FILE = "identity_terms.json"
_HEADER = ("category", "term")
_GAP = re.compile(r"[\s\-\u2010\u2011]+")


@cache
def default_terms() -> Terms:
    """The 48 terms of the paper: gender, race, religion, age."""
    content = resources.files("fairness_engine.groups.identity_terms").joinpath(_FILE).read_text(encoding="utf-8")
    return _from_json(content, _FILE)


def read_terms(content: bytes, name: str) -> Terms:
    """Read a file of terms.

    Args:
        content: JSON ``{category: [term, ...]}``, or CSV with the columns ``category`` and ``term``; UTF-8.
        name: of the file, for messages, and for its suffix: ``.csv`` is read as CSV.

    Raises:
        SettingError: it is none, or ``check_terms`` refuses what it says.
    """
    if len(content) > MAX_BYTES:
        raise SettingError(
            f"A file of identity terms may have at most {MAX_BYTES / 1e6:.0f} MB, but '{name}' has "
            f"{len(content) / 1e6:,.1f} MB. Shorten the list."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingError(
            f"The file of identity terms '{name}' must be text in UTF-8, but is not. Save it as UTF-8."
        ) from None
    is_table = name.lower().endswith(".csv")
    return _from_csv(text, name) if is_table else _from_json(text, name)


def terms_json(terms: Terms) -> str:
    """The text of a file of terms; ``read_terms`` reads it back."""
    return json.dumps({category: list(words) for category, words in terms}, indent=1, ensure_ascii=False) + "\n"


def check_terms(categories: Iterable[tuple[str, Iterable[str]]]) -> Terms:
    """Terms that can be looked for, with the spaces around and between their words made plain.

    Raises:
        SettingError: an empty term or category, a term twice (also in two categories, in another case or with a hyphen
            for a space), a category of one term, a term that does not begin and end with a letter or digit, or too
            many.
    """
    terms = tuple((_plain(category), tuple(_plain(term) for term in words)) for category, words in categories)
    _check_categories(terms)
    for category, words in terms:
        for term in words:
            _check_term(category, term)
        if len(words) < 2:
            raise SettingError(
                f"A category needs at least two terms to compare, but '{category}' has {len(words)}. Add terms, or "
                "leave it out."
            )
    _check_twice(terms)
    n_terms = sum(len(words) for _, words in terms)
    n_letters = sum(len(word) for category, words in terms for word in (category, *words))
    if n_terms > MAX_TERMS or n_letters > MAX_LETTERS:
        raise SettingError(
            f"At most {MAX_TERMS:,} identity terms of {MAX_LETTERS:,} letters together are allowed, got {n_terms:,} of "
            f"{n_letters:,}. Shorten the list."
        )
    return terms


def same_term(term: str) -> str:
    """What a term has in common with its other spellings: case, composed letters, and hyphens or spaces between
    words.
    """
    return _GAP.sub(" ", unicodedata.normalize("NFC", term).casefold())


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _check_categories(terms: Terms) -> None:
    if not terms:
        raise SettingError("Identity terms need at least one category, got none. Name a category and its terms.")
    if len(terms) > MAX_CATEGORIES:
        raise SettingError(
            f"At most {MAX_CATEGORIES} categories of terms are allowed, got {len(terms)}. Join or leave out some."
        )
    for category, _ in terms:
        if not category or len(category) > MAX_TERM:
            raise SettingError(
                f"Every category of terms needs a name of 1 to {MAX_TERM} letters, got '{category[:40]}'. Name it."
            )
    names = Counter(category.casefold() for category, _ in terms)
    twice = next((category for category, _ in terms if names[category.casefold()] > 1), None)
    if twice is not None:
        raise SettingError(f"Categories of terms must differ, got '{twice}' twice. Join them or rename one.")


def _check_term(category: str, term: str) -> None:
    if not term:
        raise SettingError(f"Identity terms must not be empty, but '{category}' holds an empty one. Remove it.")
    if len(term) > MAX_TERM:
        raise SettingError(
            f"An identity term may have at most {MAX_TERM} letters, but '{category}' holds one of {len(term)}. "
            "Shorten it."
        )
    is_word = term[0].isalnum() and (term[-1].isalnum() or unicodedata.category(term[-1]).startswith("M"))
    if not (is_word and term.isprintable()):
        raise SettingError(
            "An identity term must begin and end with a letter or a digit, because whole words are looked for, got "
            f"'{term[:40]}' in '{category}'. Correct it."
        )


def _check_twice(terms: Terms) -> None:
    where: dict[str, str] = {}
    for category, words in terms:
        for term in words:
            before = where.setdefault(same_term(term), category)
            if before is not category or [same_term(word) for word in words].count(same_term(term)) > 1:
                place = f"in '{before}' and in '{category}'" if before is not category else f"twice in '{category}'"
                raise SettingError(f"Each identity term may be listed once, but '{term}' is {place}. Remove one.")


def _from_json(text: str, name: str) -> Terms:
    try:
        content = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        raise SettingError(
            f'The file of identity terms \'{name}\' must be JSON like {{"religion": ["christian", "muslim"]}}, but '
            "cannot be "
            "read as JSON. Correct it."
        ) from None
    is_listed = isinstance(content, _Pairs) and all(
        isinstance(words, list) and all(isinstance(word, str) for word in words) for _, words in content
    )
    if not is_listed:
        raise SettingError(
            f"The file of identity terms '{name}' must map each category to a list of terms, like "
            '{"religion": ["christian", "muslim"]}. Correct it.'
        )
    return check_terms(content)


class _Pairs(list[Any]):
    """The members of a JSON object in order, so that a category named twice is seen."""


def _from_csv(text: str, name: str) -> Terms:
    try:
        lines = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(text)) if any(map(str.strip, line))]
    except csv.Error as error:
        raise SettingError(f"The file of identity terms '{name}' must be CSV, but is damaged ({error}).") from None
    if not lines or tuple(cell.lower() for cell in lines[0]) != _HEADER:
        raise SettingError(
            f"The file of identity terms '{name}' must begin with the line 'category,term', got "
            f"'{_in_part(lines[0]) if lines else ''}'. Add it."
        )
    wrong = next((line for line in lines[1:] if len(line) != len(_HEADER)), None)
    if wrong is not None:
        raise SettingError(
            f"Every line of '{name}' must hold a category and a term, got '{_in_part(wrong)}'. Correct it."
        )
    found: dict[str, list[str]] = {}
    for category, term in lines[1:]:
        found.setdefault(category, []).append(term)
    return check_terms(found.items())


def _in_part(cells: list[str]) -> str:
    """A line for a message: a cell between quotes may hold several."""
    return " ".join(",".join(cells).split())[:60]


def read_setting(value: Any) -> Terms:
    """Terms as a setting: a mapping of JSON, or as they are.

    Raises:
        SettingError: they are none.
    """
    try:
        pairs = value.items() if isinstance(value, Mapping) else value
        terms = tuple((str(category), tuple(map(str, words))) for category, words in pairs)
    except (TypeError, ValueError):
        raise SettingError(f"The setting 'terms' must be identity terms by category, got {value!r}.") from None
    return check_terms(terms) if terms else ()


def write_setting(terms: Terms) -> dict[str, list[str]]:
    """Terms as JSON."""
    return {category: list(words) for category, words in terms}
