"""Whether the bytes of a file are text at all, and in which encoding.

Whatever is no table is refused in one sentence before anything is parsed: an archive is never unpacked, a page never
rendered.
"""

from __future__ import annotations

import re

import numpy as np

from fairness_engine.errors import DataError

MAX_BYTES = 600_000_000
PARQUET = b"PAR1"
"""What a Parquet file begins with."""

_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive", "Save the sheet as CSV, or unpack the archive"),
    (b"PK\x05\x06", "an empty zip archive", "Unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Office document", "Save the sheet as CSV"),
    (b"\x1f\x8b", "a gzip archive", "Unpack it"),
    (b"BZh", "a bzip2 archive", "Unpack it"),
    (b"\xfd7zXZ", "an xz archive", "Unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it"),
    (b"Rar!", "a RAR archive", "Unpack it"),
    (b"%PDF", "a PDF document", "Export the table as CSV"),
    (b"PARE", "an encrypted Parquet file", "Write it without encryption"),
    (b"\x89HDF", "an HDF5 file (perhaps a model)", "Drop a model on the Model page, and a CSV here"),
    (b"\x89PNG", "a picture", "Export the table as CSV"),
    (b"\xff\xd8\xff", "a picture", "Export the table as CSV"),
    (b"SQLite format 3\0", "a database", "Export the table as CSV"),
    (b"\x80\x04\x95", "a Python pickle", "Export the table as CSV"),
)
_MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|table|svg)\b", re.IGNORECASE)
_JSON = re.compile(rb'\s*(\{\s*"|\{\s*\}|\[\s*[\[{])')
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_MORE_MARKS = re.compile(rb"(?:\xef\xbb\xbf)+")


def refuse_size(n_bytes: int, name: str) -> None:
    """Refuse a file that is too large.

    Raises:
        DataError: above ``MAX_BYTES``.
    """
    if n_bytes > MAX_BYTES:
        raise DataError(
            f"A table must be a file of at most {MAX_BYTES // 1_000_000} MB, '{name}' has {n_bytes / 1e6:.0f} MB. "
            "Take a sample of its rows, or leave columns out."
        )


def refuse_other_formats(data: bytes, name: str) -> None:
    """Refuse what is named like a table but is none, by its first bytes; nothing is unpacked.

    Raises:
        DataError: too large, an archive, a document, a page, JSON.
    """
    refuse_size(len(data), name)
    for signature, what, remedy in _SIGNATURES:
        if data.startswith(signature):
            raise DataError(f"'{name}' must be a CSV or Parquet file, but is {what}. {remedy} and try again.")
    head = data[:1024].removeprefix(b"\xef\xbb\xbf")
    if _MARKUP.match(head):
        raise DataError(
            f"'{name}' must be a CSV or Parquet file, but is a web page (HTML or XML). Download the table itself."
        )
    if _JSON.match(head):
        raise DataError(
            f"'{name}' must be a CSV or Parquet file, but is JSON. Export the table as CSV; a schema goes to its own "
            "place."
        )


def decode(data: bytes, name: str) -> tuple[bytes, str, str | None]:
    """The same text in UTF-8 without a byte order mark, or the two that a file may have after two programs.

    Returns:
        The text, the name of the encoding found, and a sentence where the encoding is a guess.

    Raises:
        DataError: no text at all, damaged text, or bytes that are no text.
    """
    encoding, skipped, doubt = _find_encoding(data)
    if encoding == "utf-8":
        body = data[skipped:]
    else:
        try:
            body = data[skipped:].decode(encoding).encode("utf-8")
        except UnicodeError:
            raise DataError(
                f"'{name}' says that it is {encoding} text, but is damaged. Save it again as UTF-8."
            ) from None
    if marks := _MORE_MARKS.match(body):
        body = body[marks.end() :]
    if not body.strip():
        raise DataError(f"'{name}' is empty: a CSV file needs a line of column names and at least one row.")
    position = body.find(b"\0")
    if position >= 0:
        line = body.count(b"\n", 0, position) + 1
        raise DataError(
            f"'{name}' must be text, but line {line} holds a NUL byte. Export the table again as CSV in UTF-8."
        )
    return body, encoding, doubt


def _find_encoding(data: bytes) -> tuple[str, int, str | None]:
    """Encoding, bytes of its mark, and a sentence of doubt."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding, len(mark), None
    sample = np.frombuffer(data[: min(4096, len(data) // 2 * 2)], dtype=np.uint8) == 0
    if sample.size:
        at_even, at_odd = (float(sample[start::2].mean()) for start in (0, 1))
        if at_odd > 0.4 and at_even < 0.05:
            return "utf-16-le", 0, None
        if at_even > 0.4 and at_odd < 0.05:
            return "utf-16-be", 0, None
    return _find_byte_encoding(data)


def _find_byte_encoding(data: bytes) -> tuple[str, int, str | None]:
    if data.isascii():
        return "utf-8", 0, None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = _one_byte_encoding(data)
        line = data.count(b"\n", 0, error.start) + 1
        doubt = (
            f"The file is not UTF-8 (first in line {line}); it was read as {encoding}. "
            "If letters with accents look wrong, save it again as UTF-8."
        )
        return encoding, 0, doubt
    return "utf-8", 0, None


def _one_byte_encoding(data: bytes) -> str:
    """Latin-1 unless a byte stands for a printable sign in Windows-1252 only (curly quotes, the euro sign)."""
    values = np.unique(np.frombuffer(data, dtype=np.uint8))
    if not ((values >= 0x80) & (values < 0xA0)).any():
        return "latin-1"
    return "latin-1" if np.isin(values, [0x81, 0x8D, 0x8F, 0x90, 0x9D]).any() else "cp1252"
