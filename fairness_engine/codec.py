"""Plain JSON to typed values and back: frozen dataclasses whose annotations say what can be.

What comes from the model's process or from the store is decoded once, here, with every range checked; whoever has the
value reads its attributes. Rules between fields stand in ``__post_init__``, which raises ``ValueError``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

MAX_COUNT = 2**62
MAX_NUMBER = 1e300
TOLERANCE = 1e-9
"""Figures that belong together agree to this, since they are sums of others."""

Count = Annotated[int, Meta(ge=0, lt=MAX_COUNT)]
Proportion = Annotated[float, Meta(ge=0.0, le=1.0)]
Number = Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Amount = Annotated[float, Meta(ge=0.0, le=MAX_NUMBER)]
Class = Annotated[int, Meta(ge=0, lt=100_000)]
"""What a model decides."""
Text = Annotated[str, Meta(max_length=5_000)]
Word = Annotated[str, Meta(max_length=500)]

MAX_VALUES = 2_000_000
"""Of a line of JSON: a few bytes of brackets and commas take many times as much memory once they are read."""

T = TypeVar("T")


def read_object(line: str) -> dict[str, Any]:
    """A line as one JSON object.

    Raises:
        ValueError: it is none, or holds too many values, or text that no file and no page can hold.
    """
    if sum(line.count(sign) for sign in ",[{") > MAX_VALUES:
        raise ValueError("too many values")
    try:
        content = json.loads(line)
        if "\\u" in line:
            json.dumps(content, ensure_ascii=False).encode()  # halves of letters
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(content, dict):
        raise ValueError("no object")
    return content


def encode(value: Any) -> Any:
    """Plain lists, mappings, numbers and text; ``decode`` reads it back to an equal value."""
    return _with_lists(msgspec.to_builtins(value, enc_hook=_plain_number))


def decode(kind: type[T], content: Any) -> T:
    """A value of plain JSON.

    Args:
        kind: a dataclass, or any annotation.

    Raises:
        ValueError: it cannot be; what is wrong, and where, is in the message.
    """
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(type(value))


def _with_lists(content: Any) -> Any:
    """The same with lists for tuples, as JSON has them."""
    if isinstance(content, list | tuple):
        return [_with_lists(item) for item in content]
    if isinstance(content, dict):
        return {name: _with_lists(value) for name, value in content.items()}
    return content


def is_ascending(values: Sequence[int]) -> bool:
    """Whether none is below the one before."""
    return all(first <= second for first, second in itertools.pairwise(values))


def are_in_order(*values: float) -> bool:
    """Whether none is below the one before, but for the last bits."""
    return all(first <= second + TOLERANCE for first, second in itertools.pairwise(values))


def hold(holds: bool, what: str) -> None:
    """A rule between fields.

    Raises:
        ValueError: it does not hold.
    """
    if not holds:
        raise ValueError(what)
