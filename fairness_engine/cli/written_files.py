"""The files that a command writes: refused before any work where one could not be written, or would take the place of
another.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairness_engine.errors import SettingError
from fairness_engine.store.environment import database_url, default_workspace

_STANDARD_OUTPUT = "-"
_READ = {
    "data": "--data",
    "data_query": "--data-query",
    "schema": "--schema",
    "model": "--model",
    "known_answers": "--known-answers",
    "terms": "--terms",
    "policy": "--policy",
    "preset": "--preset",
    "run_id": "ID|BUNDLE",
}
"""What a command reads by a path, and how messages call it. Some may be something else: a query, a column, an id."""


@dataclass(frozen=True)
class _File:
    """A file, or a folder with all in it.

    Args:
        option: that names it.
    """

    option: str
    path: Path

    def is_in_the_way(self, other: _File) -> bool:
        """Whether both are one, by whatever names, or one lies in the other; a terminal or a pipe is no file."""
        if any(_is_there(one) and not (one.is_file() or one.is_dir()) for one in (self.path, other.path)):
            return False
        own = Path(os.path.realpath(self.path))
        others = Path(os.path.realpath(other.path))
        if own.is_relative_to(others) or others.is_relative_to(own):
            return True
        return _is_there(own) and _is_there(others) and own.samefile(others)  # two links, or two ways to spell a name


def check_junit(options: argparse.Namespace) -> None:
    """Refuse, before any work is done, a file of test cases that must not be written.

    It comes before the other files, whose refusal is written into it.

    Raises:
        SettingError: it is standard output, which is for the result, or ``check_written`` would refuse it.
    """
    if options.junit is None:
        return
    if str(options.junit) == _STANDARD_OUTPUT:
        raise SettingError("--junit must name a file, got '-': standard output is for the result. Name a file.")
    _check(_File("--junit", options.junit), options)


def check_written(options: argparse.Namespace) -> None:
    """Refuse, before any work is done, files that must not be written.

    Raises:
        SettingError: one cannot be written, the command reads it, or it writes another one there.
    """
    for file in _written(options):
        _check(file, options)


def _check(file: _File, options: argparse.Namespace) -> None:
    is_report = file.option == "--out"  # whose folders are made
    if is_report and not _can_be_made(options.out):
        raise SettingError(
            f"--out must name a folder that can be written, or made, got '{options.out}'. Name another folder."
        )
    if is_report and _has_bundle(options.out):
        raise SettingError(
            f"--out must name a folder without the evidence of another report, got '{options.out}'. Name another."
        )
    if not is_report and not _can_be_written(file.path):
        raise SettingError(
            f"{file.option} must name a file in a folder that is there and can be written, got '{file.path}'. Make the "
            "folder, or name another file."
        )
    for read in _read(options):
        is_new = read.path.is_dir() and not _is_there(file.path)  # a further file in a bundle takes nobody's place
        if file.is_in_the_way(read) and not is_new:
            raise SettingError(
                f"{file.option} must not write over what the command reads, but '{file.path}' is what {read.option} "
                "names. Name another file."
            )
    for other in _written(options):
        if other.option != file.option and file.is_in_the_way(other):
            raise SettingError(
                f"{file.option} and {other.option} must name two files, got '{file.path}' twice. Name another."
            )


def _is_there(path: str | Path) -> bool:
    """Also said of what is too long to be a name."""
    return os.access(path, os.F_OK)


def _can_be_written(path: Path) -> bool:
    folder = path.absolute().parent
    is_place = os.access(folder, os.W_OK) or os.access(path, os.W_OK)
    return is_place and folder.is_dir() and not (_is_there(path) and path.is_dir())


def _has_bundle(folder: Path) -> bool:
    from fairness_engine.report.bundle.contents import BUNDLE

    bundle = folder / BUNDLE
    return _is_there(bundle) and not (bundle.is_dir() and next(bundle.iterdir(), None) is None)


def _can_be_made(folder: Path) -> bool:
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if _is_there(place))
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def _read(options: argparse.Namespace) -> Iterator[_File]:
    from fairness_engine.store.database.sqlite_file import DATABASE

    for name, option in _READ.items():
        given = getattr(options, name, None) or ()
        for path in given if isinstance(given, list | tuple) else [given]:
            if _is_there(path):
                yield _File(option, Path(path))
    for option, url in (("--data-url", getattr(options, "data_url", None)), ("--database", database_url())):
        kind, _, path = (url or "").partition("?")[0].partition(":///")
        if kind.startswith("sqlite"):
            yield _File(option, Path(path))
    yield _File("--workspace", (options.workspace or default_workspace()) / DATABASE)


def _written(options: argparse.Namespace) -> Iterator[_File]:
    """What a command writes where a person wants it; standard output is no file."""
    if options.json not in (None, _STANDARD_OUTPUT):
        yield _File("--json", Path(options.json))
    if options.junit is not None:
        yield _File("--junit", options.junit)
    if getattr(options, "pairs", None) is not None:
        yield _File("--pairs", options.pairs)
    if getattr(options, "out_schema", None) is not None:
        yield _File("--out-schema", options.out_schema)
    if getattr(options, "out_model", None) is not None:
        yield _File("--out-model", options.out_model)
        yield _File("--out-model", Path(f"{options.out_model}.md"))
    if getattr(options, "out", None) is not None:
        from fairness_engine.report.bundle.contents import BUNDLE
        from fairness_engine.report.making import COLUMNS, HTML, TABLES

        for name in (HTML, COLUMNS, TABLES, BUNDLE):
            yield _File("--out", options.out / name)
