"""The files that a command writes: refused before any work where one would take the place of another."""

from __future__ import annotations

import argparse
import contextlib
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
        if any(one.exists() and not (one.is_file() or one.is_dir()) for one in (self.path, other.path)):
            return False
        own = Path(os.path.realpath(self.path))
        others = Path(os.path.realpath(other.path))
        if own.is_relative_to(others) or others.is_relative_to(own):
            return True
        return own.exists() and others.exists() and own.samefile(others)  # two links, or two ways to spell a name


def check_junit(options: argparse.Namespace) -> None:
    """Refuse, before any work is done, a file of test cases that must not be written.

    It comes before the other files, whose refusal is written into it.

    Raises:
        SettingError: it is standard output, which is for the result, nothing that can be written, or what
            ``check_written`` refuses.
    """
    if options.junit is None:
        return
    if str(options.junit) == _STANDARD_OUTPUT:
        raise SettingError("--junit must name a file, got '-': standard output is for the result. Name a file.")
    folder = options.junit.absolute().parent
    if options.junit.is_dir() or not folder.is_dir() or not (options.junit.exists() or os.access(folder, os.W_OK)):
        raise SettingError(
            f"--junit must name a file in a folder that is there and can be written, got '{options.junit}'."
        )
    _check(_File("--junit", options.junit), options)


def check_written(options: argparse.Namespace) -> None:
    """Refuse, before any work is done, files that must not be written.

    Raises:
        SettingError: the command reads one of them, or writes another one there.
    """
    for file in _written(options):
        _check(file, options)


def _check(file: _File, options: argparse.Namespace) -> None:
    for read in _read(options):
        is_new = read.path.is_dir() and not file.path.exists()  # a further file in a bundle takes nobody's place
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


def _read(options: argparse.Namespace) -> Iterator[_File]:
    from fairness_engine.store.database.sqlite_file import DATABASE

    for name, option in _READ.items():
        given = getattr(options, name, None) or ()
        for path in given if isinstance(given, list | tuple) else [given]:
            with contextlib.suppress(OSError):  # a query that is too long to be a name
                if Path(path).exists():
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
    if getattr(options, "out_model", None) is not None:
        yield _File("--out-model", options.out_model)
        yield _File("--out-model", options.out_model.with_name(options.out_model.name + ".md"))
    if getattr(options, "out", None) is not None:
        from fairness_engine.report.bundle.contents import BUNDLE
        from fairness_engine.report.making import COLUMNS, HTML, TABLES

        for name in (HTML, COLUMNS, TABLES, BUNDLE):
            yield _File("--out", options.out / name)
