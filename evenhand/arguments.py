"""What callers give, as the types that the engine takes: one table of all arguments by name.

The command line and the app give the engine the right types, and it looks at ranges and at what is known of data and
model. A script gives whole numbers as floats, numpy's numbers and anything else.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from fairness_engine.errors import SettingError, one_sentence, shown
from fairness_engine.settings import SettingInfo

P = ParamSpec("P")
A = TypeVar("A")


def checked(function: Callable[P, A]) -> Callable[P, A]:
    """A public function whose arguments are read as ``_READERS`` says; those that are left at their default stay.

    Raises:
        SettingError: an argument that is not of its type; from the function that is returned.
    """
    signature = inspect.signature(function)
    read = [
        (name, signature.parameters[name].default, _READERS[name]) for name in signature.parameters.keys() & _READERS
    ]

    @functools.wraps(function)
    def reading(*args: P.args, **own: P.kwargs) -> A:
        given = signature.bind(*args, **own)
        for name, default, reader in read:
            if name in given.arguments and given.arguments[name] is not default:
                given.arguments[name] = reader(name, given.arguments[name])
        return function(*given.args, **given.kwargs)

    return reading


def _whole(name: str, value: Any) -> Any:
    return SettingInfo(0, "", name).read(value)


def _whole_from_zero(name: str, value: Any) -> Any:
    return SettingInfo(0, "", name, minimum=0).read(value)


def _number(name: str, value: Any) -> Any:
    return SettingInfo(0.0, "", name).read(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refusal(name, "text", value)
    return str(value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Texts, or one."""
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(text, str) for text in texts):
        raise _refusal(name, "a text or a list of texts", value)
    return tuple(map(str, texts))


def _value(name: str, value: Any) -> Any:
    """A text or a number, in Python's own type."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str | int | float):
        raise _refusal(name, "a text or a number", value)
    return value


def _path(name: str, value: Any) -> Any:
    if not isinstance(value, str | os.PathLike):
        raise _refusal(name, "the path of a file", value)
    return value


def _kinds(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in (*value, *value.values())):
        raise _refusal(name, "a kind by column, such as {'code': 'categorical'}", value)
    return dict(value)


def _limits(name: str, value: Any) -> dict[str, tuple[float, float]]:
    ranges = {}
    try:
        for attribute, (low, high) in value.items():
            ranges[_text(name, attribute)] = (_number(name, low), _number(name, high))
    except (AttributeError, TypeError, ValueError, SettingError):
        raise _refusal(name, "two numbers by attribute, such as {'age': (20, 60)}", value) from None
    return ranges


def _values(name: str, value: Any) -> dict[str, tuple[Any, ...]]:
    values = {}
    try:
        for attribute, own in value.items():
            values[_text(name, attribute)] = tuple(
                _value(name, one) for one in ((own,) if isinstance(own, str) else own)
            )
    except (AttributeError, TypeError, SettingError):
        raise _refusal(name, "lists of texts or numbers by attribute, such as {'age': [20, 40]}", value) from None
    return values


def _refusal(name: str, what: str, value: Any) -> SettingError:
    return SettingError(f"The setting '{name}' must be {what}, got {one_sentence(shown(value))}.")


_READERS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("seed", "samples", "start_rows", "max_evaluations", "max_found", "max_variants"), _whole),
    "top": _whole_from_zero,
    **dict.fromkeys(("max_seconds", "threshold"), _number),
    **dict.fromkeys(("technique", "distribution", "predictions", "label", "name"), _text),
    **dict.fromkeys(("protected", "fixed", "links", "missing"), _names),
    **dict.fromkeys(("positive", "favourable"), _value),
    "schema": _path,
    "kinds": _kinds,
    "limits": _limits,
    "values": _values,
}
