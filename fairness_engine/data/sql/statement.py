"""What is asked of a database: one query, typed or in a file.

It is the database that lets nothing be changed (``database.py``). What is refused here is refused before anybody is
asked, with a sentence that says why.
"""

from __future__ import annotations

import re
from pathlib import Path

from fairness_engine.errors import DataError, cut

MAX_LETTERS = 20_000
"""Of a query: it is kept with every run that is made from its rows."""
_BEGINNINGS = ("SELECT", "WITH", "VALUES", "TABLE")
_EXAMPLE = "SELECT * FROM people"
_COMMENT = r"--[^\n]*|/\*.*?\*/"
_QUOTED = r"""(?<!\w)[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
_NO_STATEMENT = re.compile(rf"(?P<comment>{_COMMENT})|{_QUOTED}", re.DOTALL)
"""What may hold a semicolon that ends nothing, and words that ask for nothing."""
_FIRST_WORD = re.compile(r"[\s(]*(\w+)(?=[\s('\"*])")


def read_query(given: str) -> str:
    """The query that a person gave: SQL, or the name of a file that holds it.

    Raises:
        DataError: there is no such file, it is no text, or what it holds is no query.
    """
    path = _file_at(given)
    if path is None:
        is_name = _first_word(given) not in _BEGINNINGS and (
            len(given.split()) == 1 or given.strip().lower().endswith(".sql")
        )
        if is_name:
            raise DataError(
                f"The query must be SQL, or name a file that holds it, but there is no file at '{cut(given)}'. Correct "
                "the name, or write the query itself."
            )
        return one_query(given)
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_LETTERS + 1)
    except OSError as error:
        raise DataError(
            f"The file of the query must be one that can be read, got '{cut(given)}': {error.strerror}. Name another."
        ) from None
    except ValueError:
        raise DataError(
            f"The file of the query must be text in UTF-8, but '{cut(given)}' is not. Save it again as UTF-8."
        ) from None
    return one_query(text)


def one_query(text: str) -> str:
    """The text of a query, checked.

    Raises:
        DataError: it is empty or too long, it holds several statements, or a statement that is no query.
    """
    if len(text) > MAX_LETTERS:
        raise DataError(
            f"A query may have at most {MAX_LETTERS:,} letters, got more. Make a view of it in the database, and "
            "read that."
        )
    if "\0" in text or not _is_unicode(text):
        raise DataError("The query must be text in UTF-8, but holds bytes that are none. Save it again as UTF-8.")
    statements = [part for part in _without_quoted(text).split(";") if part.strip()]
    if not statements:
        raise DataError(f"The query must be a statement that reads rows, got none. Write it like {_EXAMPLE}.")
    if len(statements) > 1:
        raise DataError(
            f"The query must be one statement, got {len(statements)}, parted by semicolons. Leave all but one out."
        )
    first = _first_word(text)
    if first not in _BEGINNINGS:
        raise DataError(
            f"The query must only read, and begin with {' or '.join(_BEGINNINGS)}, got "
            f"'{cut(' '.join(text.split()), 40)}'. Write it like {_EXAMPLE}."
        )
    return text.strip()


def _file_at(given: str) -> Path | None:
    path = Path(given)
    try:
        return path if path.exists() and not path.is_dir() else None
    except (OSError, ValueError):  # too long for a name, or no name at all
        return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_quoted(text: str) -> str:
    """The text without comments, and with nothing in its quotes."""
    return _NO_STATEMENT.sub(lambda found: " " if found["comment"] else "''", text)


def _first_word(text: str) -> str:
    """In capitals; empty where a text does not begin as SQL does."""
    found = _FIRST_WORD.match(_without_quoted(text[: MAX_LETTERS + 1]))
    return found[1].upper() if found else ""
