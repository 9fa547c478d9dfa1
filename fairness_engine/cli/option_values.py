"""How the command line reads its options and their values; what cannot be read is one sentence."""

from __future__ import annotations

import argparse
import csv
import difflib
import math
import re
import sys
from typing import Any, NoReturn

from fairness_engine.errors import SettingError

_PASSWORD = re.compile(r"(\w://[^\s/:@]*:)\S*@")
"""In the address of a database, which a complaint would repeat where the name of an option is mistyped."""


_QUOTED_NAME = re.compile(r'\s*"((?:[^"]|"")+)"\s*=(.*)', re.DOTALL)
"""An assignment to a name in quotation marks, which may hold an equals sign."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence, of an option that there is none of before one that is missing."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As ``argparse`` does.

        Raises:
            SettingError: an option that there is none of, or what ``error`` is told.
        """
        given = sys.argv[1:] if args is None else list(args)
        options = self._option_string_actions
        for text in given:
            name = text.partition("=")[0]
            if name == "--" or (self._subparsers is not None and not name.startswith("-")):
                break  # what follows is no option, or a command's own
            if name.startswith("--") and name not in options:
                alike = difflib.get_close_matches(name, options, 1, 0.75)
                if alike:
                    self.error(f"unrecognized arguments: {name}. Did you mean {alike[0]}?")
                if self._subparsers is None:
                    self.error(f"unrecognized arguments: {name}")
        found: tuple[Any, list[str]] = super().parse_known_args(given, namespace)
        return found

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage.

        Raises:
            SettingError: always.
        """
        said = _PASSWORD.sub(r"\1***@", f"{message[:1].upper()}{message[1:]}")
        end = "" if said.endswith((".", "?")) else "."
        raise SettingError(f"{said}{end} '{self.prog} --help' lists the options.")


class Named(argparse.Action):
    """An option that is repeated, once a name: of two with the same name the first would be lost."""

    def __call__(
        self, _: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        """Add one.

        Raises:
            SettingError: the name is there already.
        """
        given = getattr(namespace, self.dest)
        name = values[0]
        if name in dict(given):
            raise SettingError(
                f"{option_string} must say all of '{name}' at once, but names it twice. Join the two, or leave one out."
            )
        setattr(namespace, self.dest, [*given, values])


def names(text: str) -> tuple[str, ...]:
    """Names, separated by commas; one with a comma in it stands in quotation marks, as in a CSV file."""
    try:
        (found,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        found = text.split(",")
    return tuple(name.strip() for name in found if name.strip())


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got '{text}'")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be greater than 0, got '{text}'")
    return value


def count(text: str) -> int:
    """A whole number of 1 or more."""
    return _whole(text, 1)


def ranges(text: str) -> int:
    """A whole number of 2 or more."""
    return _whole(text, 2)


def count_from_zero(text: str) -> int:
    """A whole number of 0 or more."""
    return _whole(text, 0)


def days(text: str) -> int:
    """A whole number of days of 0 or more, with or without a ``d``."""
    return count_from_zero(text.strip().lower().removesuffix("d"))


def _whole(text: str, least: int) -> int:
    """A whole number; 1e6 and 1_000_000 are fine."""
    try:
        value = int(text)
        number(text)  # what no float holds is nowhere of use
    except ValueError:
        exact = number(text)
        value = int(exact)
        if value != exact:
            raise argparse.ArgumentTypeError(f"must be a whole number, got '{text}'") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, got '{text}'")
    return value


def _assignment(text: str, example: str) -> tuple[str, str]:
    quoted = _QUOTED_NAME.match(text)
    name, sign, value = text.partition("=")
    if quoted:
        name = quoted[1].replace('""', '"')
        value = quoted[2]
    if not sign or not name.strip() or not value.strip():
        raise argparse.ArgumentTypeError(f"must be like {example}, got '{text}'")
    return name.strip(), value.strip()


def setting(text: str) -> tuple[str, str]:
    """A setting of a technique, ``NAME=VALUE``."""
    return _assignment(text, "n_steps=500")


def setting_of(text: str) -> tuple[str, str]:
    """A setting of one technique among several, ``TECHNIQUE.NAME=VALUE``."""
    return _assignment(text, "maft.n_starts=100")


def place(text: str) -> tuple[str, int]:
    """A place in the list of a run, ``ID:RANK``, from 1 on."""
    run_id, sign, rank = text.partition(":")
    if not sign or not run_id:
        raise argparse.ArgumentTypeError(f"must be like 3f2a:1, got '{text}'")
    return run_id, count(rank)


def limit(text: str) -> tuple[str, tuple[float, float]]:
    """A range of an attribute, ``NAME=LOW:HIGH``."""
    name, value = _assignment(text, "age=20:60")
    low, sign, high = value.partition(":")
    if not sign:
        raise argparse.ArgumentTypeError(f"must be like age=20:60, got '{text}'")
    try:
        return name, (number(low), number(high))
    except argparse.ArgumentTypeError as error:
        by_place = "of a category, its place among the values, 0 for the first"
        raise argparse.ArgumentTypeError(f"{error}; {by_place}") from None


def values(text: str) -> tuple[str, tuple[str, ...]]:
    """Values of an attribute, ``NAME=V,V``, as they were typed: what they mean, the column says."""
    name, value = _assignment(text, "age=20,40,60")
    return name, names(value)
