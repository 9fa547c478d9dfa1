"""What the parent and the model's process say to each other: lines of JSON.

The parent sends requests ``{"id": 3, "do": "scores", ...}``; ``cancel`` is heard while another request is at work. The
child sends one greeting ``{"hello": {protection: bool}}``, then for each request any number of events
(``events.to_line``) and one reply: ``{"reply": 3, ...}``, or ``{"reply": 3, "error": "ModelError", "message": "..."}``
with ``recipe`` and ``inputs`` where the error has them. The child may hold a hostile model: the parent believes nothing
about a line but its length.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine import codec, errors
from fairness_engine.arrays import pack_array, unpack_array
from fairness_engine.errors import EvenhandError, ProcessError, breach, one_sentence
from fairness_engine.pairs import NOT_MEASURED, Pairs

MAX_LINE_BYTES = 64_000_000
"""Longer lines end the conversation."""
MAX_EVENT_BYTES = 8_000_000
"""Larger batches of pairs are sent as several events."""
MAX_TREE_BYTES = 45_000_000
"""A partition tree with its certificates is one event; as text it is a third longer."""
_MAX_RECIPE = 2000
_MAX_INPUTS = 20_000
_INPUT_KEYS = ("name", "column", "category", "how")


def read_object(line: str) -> dict[str, Any]:
    """A line as one JSON object.

    Raises:
        ProcessError: it is none.
    """
    try:
        return codec.read_object(line)
    except ValueError:
        raise breach("it sent a line that is neither an event nor a reply") from None


def pack_pairs(pairs: Pairs) -> dict[str, Any]:
    """Pairs as JSON."""
    return {field.name: pack_array(getattr(pairs, field.name)) for field in fields(Pairs)}


def unpack_pairs(content: Any, n_columns: int) -> Pairs:
    """Pairs back from JSON, shapes and types checked.

    Raises:
        ProcessError: it is nothing of the kind.
    """
    try:
        pairs = Pairs(**{field.name: unpack_array(content[field.name]) for field in fields(Pairs)})
    except (ValueError, KeyError, TypeError):
        raise breach("it sent pairs that cannot be read") from None
    check_pairs(pairs, n_columns)
    return pairs


def check_pairs(pairs: Pairs, n_columns: int) -> None:
    """See that pairs have the columns and the types they must.

    Raises:
        ProcessError: they do not.
    """
    n = len(pairs)
    numbers = (pairs.first, pairs.second, pairs.score_first, pairs.score_second, pairs.gaps)
    codes = (pairs.decision_first, pairs.decision_second, pairs.evaluation)
    is_right = (
        pairs.first.shape == pairs.second.shape == (n, n_columns)
        and all(array.dtype == np.float64 and bool(np.isfinite(array).all()) for array in numbers)
        and all(array.dtype == np.int64 for array in codes)
        and all(array.shape == (n,) for array in (*numbers[2:], *codes))
        and len(pairs.distance) == n
        and is_measured_or_not(pairs.distance, pairs.n_unseen)
    )
    if not is_right:
        raise breach("it sent pairs of the wrong shape")


def is_measured_or_not(distance: NDArray[Any], n_unseen: NDArray[Any]) -> bool:
    """Whether both people of every pair have a distance of 0 to 1 and a count of 0 or more, or neither has; and the
    types are right.
    """
    if distance.dtype != np.float64 or n_unseen.dtype != np.int64 or distance.ndim != 2 or distance.shape[1] != 2:
        return False
    is_measured = ~np.isnan(distance)
    figures = distance[is_measured]
    return bool(
        distance.shape == n_unseen.shape
        and np.array_equal(is_measured[:, 0], is_measured[:, 1])
        and ((figures >= 0) & (figures <= 1)).all()
        and np.array_equal(is_measured, n_unseen >= 0)
        and (n_unseen[~is_measured] == NOT_MEASURED).all()
    )


def failure(error: EvenhandError) -> dict[str, Any]:
    """An error raised on purpose as the fields of a reply."""
    reply: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
    if error.recipe:
        reply["recipe"] = error.recipe
    if error.inputs:
        reply["inputs"] = [dict(line) for line in error.inputs[:_MAX_INPUTS]]
    return reply


def raise_failure(reply: dict[str, Any]) -> None:
    """Raise what a reply reports, in its own class; nothing happens for a reply without an error."""
    if "error" not in reply:
        return
    found = getattr(errors, str(reply["error"]), None)
    message = reply.get("message")
    if not isinstance(message, str) or not message.strip():
        message = "The model's process reported an error without a message."
    message = one_sentence(message)
    if isinstance(found, type) and issubclass(found, EvenhandError) and found is not errors.StaleReviewError:
        raise found(message, recipe=str(reply.get("recipe", ""))[:_MAX_RECIPE], inputs=_lines(reply.get("inputs")))
    raise ProcessError(message)


def _lines(inputs: Any) -> list[dict[str, str | None]]:
    """The table of a model's inputs, as far as it is one."""
    lines = [line for line in inputs[:_MAX_INPUTS] if isinstance(line, dict)] if isinstance(inputs, list) else []
    return [{key: None if line.get(key) is None else str(line[key])[:200] for key in _INPUT_KEYS} for line in lines]
