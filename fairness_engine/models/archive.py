"""Zip archives that hold a model: members are checked by the archive's directory before one byte is unpacked."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from fairness_engine.errors import ModelError

MAX_UNPACKED_BYTES = 400_000_000
_MAX_MEMBERS = 5_000
_MAX_RATIO = 200
_FREE_BYTES = 10_000_000
"""Members below this size may be compressed as well as they can."""
_ENCRYPTED = 0x1
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
"""What ``zipfile`` raises on a damaged archive."""


def read_members(path: Path, is_expected: Callable[[str], bool]) -> dict[str, bytes]:
    """Unpack a small archive into memory.

    Args:
        path: the archive.
        is_expected: whether a member of that name belongs to the format.

    Raises:
        ModelError: it is cut short, holds a member that the format does not know, or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            _check_members(members, is_expected)
            return {info.filename: _read(archive, info) for info in members}
    except DAMAGE as error:
        raise ModelError(
            f"The model file must be a whole zip archive, but it is damaged or cut short ({error}). Save or upload it again."
        ) from None


def member_names(path: Path) -> frozenset[str]:
    """The names of an archive's members; empty when the file is no zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist()[:_MAX_MEMBERS])
    except DAMAGE:
        return frozenset()


def _check_members(members: list[zipfile.ZipInfo], is_expected: Callable[[str], bool]) -> None:
    names = [info.filename for info in members]
    if len(names) > _MAX_MEMBERS or len(set(names)) != len(names):
        raise ModelError(
            f"The model file must hold each member once and at most {_MAX_MEMBERS}, got {len(names)}. Save it again."
        )
    for info in members:
        parts = PurePosixPath(info.filename).parts
        if info.filename.startswith("/") or ".." in parts or "\\" in info.filename or ":" in info.filename:
            raise ModelError(
                f"The model file names a member outside itself ('{info.filename[:80]}') and is refused. "
                "Ask where it comes from."
            )
        if not is_expected(info.filename):
            raise ModelError(
                f"The model file holds '{info.filename[:80]}', which does not belong to its format, and is refused. "
                "Save the model again with its own library."
            )
        if info.flag_bits & _ENCRYPTED:
            raise ModelError("The model file is encrypted. Save it without a password.")
        if info.file_size > _FREE_BYTES and info.file_size > _MAX_RATIO * max(1, info.compress_size):
            raise ModelError(
                f"'{info.filename}' unpacks from {info.compress_size:,} to {info.file_size:,} bytes, which no real model "
                "does; the file is refused. Ask where it comes from."
            )
    total = sum(info.file_size for info in members)
    if total > MAX_UNPACKED_BYTES:
        raise ModelError(
            f"The model may unpack to at most {MAX_UNPACKED_BYTES / 1e6:.0f} MB, got {total / 1e6:,.0f} MB. "
            "Use a smaller model."
        )


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        content = member.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ModelError(f"'{info.filename}' has not the size that the archive's directory says. Save the model again.")
    return content
