"""What a model, or a proof, is known to answer, item by item: however the work is cut, nothing need be asked twice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray

_OF_ALL = ("columns", "values")
"""What is asked about all items of a block alike; every other array has a row an item."""
_BEGIN = np.array([[0x243F6A8885A308D3], [0x13198A2E03707344]], np.uint64)
_FACTORS = np.array([[0x9E3779B97F4A7C15], [0xD6E8FEB86659FD93]], np.uint64)
_SHIFT = np.uint64(32)

Arrays = Mapping[str, NDArray[Any]]
_Question = tuple[str, ...]
_Part = tuple[NDArray[np.uint64], Sequence[NDArray[Any]]]


class KnownItems:
    """Answers by what was asked. An item is recognised by 128 bits of its numbers."""

    def __init__(self) -> None:
        self._added: dict[_Question, list[_Part]] = {}
        self._sorted: dict[_Question, _Part] = {}

    def add(self, name: str, settings: Mapping[str, Any], asked: Arrays, answers: Sequence[NDArray[Any]]) -> None:
        """What a block came to; see ``models.shared.Blocks``.

        Args:
            answers: with a row an item each.

        Raises:
            ValueError: they have not.
        """
        keys = _keys(asked)
        if any(len(each) != keys.shape[1] for each in answers):
            raise ValueError("items")
        self._added.setdefault(_question(name, settings, asked), []).append((keys, answers))

    def find(self, name: str, settings: Mapping[str, Any], asked: Arrays) -> tuple[BoolArray, list[NDArray[Any]]]:
        """Which items are known ``(n_items,)``, and what they come to; of the others the arrays say nothing. No arrays
        where nothing was asked in this way.
        """
        question = _question(name, settings, asked)
        parts = self._added.get(question)
        if parts is None:
            return np.zeros(0, np.bool_), []
        if question not in self._sorted:
            self._sorted[question] = _in_order(parts)
        held, answers = self._sorted[question]
        keys = _keys(asked)
        order = np.argsort(keys[0])  # looked up one after the other they are found five times sooner
        at = np.empty(len(order), np.int64)
        at[order] = np.minimum(np.searchsorted(held[0], keys[0][order]), held.shape[1] - 1)
        return (held[:, at] == keys).all(axis=0), [array[at] for array in answers]

    def __bool__(self) -> bool:
        return bool(self._added)


def _in_order(parts: Sequence[_Part]) -> _Part:
    keys = np.concatenate([keys for keys, _ in parts], axis=1)
    order = np.argsort(keys[0], kind="stable")
    arrays = [np.concatenate(each)[order] for each in zip(*(answers for _, answers in parts), strict=True)]
    return keys[:, order], arrays


def _question(name: str, settings: Mapping[str, Any], asked: Arrays) -> _Question:
    of_all = [_words(asked[each]).tobytes().hex() for each in _OF_ALL if each in asked]
    return name, json.dumps(settings, sort_keys=True), *sorted(asked), *of_all


def _keys(asked: Arrays) -> NDArray[np.uint64]:
    """Two numbers of 64 bits an item ``(2, n_items)``, each of which mixes all that is asked of it."""
    tables = [_words(array) for name, array in sorted(asked.items()) if name not in _OF_ALL]
    keys = np.repeat(_BEGIN, len(tables[0]), axis=1)
    for table in tables:
        for column in table.T:
            keys ^= column
            keys *= _FACTORS
            keys ^= keys >> _SHIFT
    return keys


def _words(array: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits of its numbers, as they travel ``(n_items, n)``."""
    numbers = np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind in "iub" else np.float64)
    return numbers.reshape(len(numbers), -1).view(np.uint64)
