"""Blocks of a run that other model's processes work on: asked for here, answered there.

The process that a run is worked in sends lines ``{"block": 7, "ask": {...}}`` to its parent, which has each answered by
a process that opened the same files, and sends ``{"do": "block_done", "number": 7, "reply": {...}}`` back. A reply
without ``arrays`` says that the block was set aside, or with ``is_back`` that nobody is there to answer. It asks for
none before ``{"do": "blocks_ready", "width": 2}`` came: a run that is short is done before others have opened its
files.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import pack_columns, unpack_columns
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.errors import ProcessError, SearchStopped, StopReason
from fairness_engine.model_process.protocol import raise_failure
from fairness_engine.models.known_items import Arrays, KnownItems
from fairness_engine.models.model import Model
from fairness_engine.models.shared import Answered

if TYPE_CHECKING:
    from fairness_engine.model_process.session import ModelSession

_LISTEN_SECONDS = 0.1


class BlockSender:
    """Has blocks done by other processes, all of a call side by side.

    Args:
        send: writes one line to the parent.
        is_cancelled: the run is to end.
        known: what was answered before.
    """

    def __init__(
        self, send: Callable[[str], None], is_cancelled: Callable[[], bool], known: KnownItems | None = None
    ) -> None:
        self.width = 0
        self.known = KnownItems() if known is None else known
        self._send = send
        self._is_cancelled = is_cancelled
        self._lock = threading.Lock()
        self._replies: dict[int, queue.SimpleQueue[Mapping[str, Any]]] = {}
        self._n_sent = 0

    def take(self, request: Mapping[str, Any]) -> None:
        """A block is done, or so many processes are ready; called by the thread that listens."""
        if request["do"] == "blocks_ready":
            self.width = request["width"]
            return
        with self._lock:
            replies = self._replies.pop(request["number"], None)
        if replies is not None:  # else it is of a call that was given up
            replies.put(request)

    def work(self, name: str, asked: Sequence[Arrays], settings: Mapping[str, Any]) -> list[Answered | None]:
        """See ``models.shared.Blocks``; several threads may ask.

        Raises:
            SearchStopped: cancelled meanwhile.
            EvenhandError: what a process says of its block.
        """
        replies: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        with self._lock:
            numbers = range(self._n_sent + 1, self._n_sent + 1 + len(asked))
            self._n_sent += len(asked)
            self._replies |= dict.fromkeys(numbers, replies)
        try:
            return self._answers(name, settings, dict(zip(numbers, asked, strict=True)), replies)
        finally:
            with self._lock:
                for number in numbers:
                    self._replies.pop(number, None)

    def _answers(
        self,
        name: str,
        settings: Mapping[str, Any],
        asked: Mapping[int, Arrays],
        replies: queue.SimpleQueue[Mapping[str, Any]],
    ) -> list[Answered | None]:
        for number, arrays in asked.items():
            packed = {key: pack_columns(array) for key, array in arrays.items()}
            ask = json.dumps({"name": name, "settings": settings, "arrays": packed})
            self._send(f'{{"block": {number}, "ask": {ask}}}')
        found: dict[int, Answered | None] = {}
        while len(found) < len(asked):
            try:
                request = replies.get(timeout=_LISTEN_SECONDS)
            except queue.Empty:
                if self._is_cancelled():
                    raise SearchStopped(StopReason.CANCELLED) from None
                continue
            found[request["number"]] = _answered(request["reply"])
        return [found[number] for number in asked]


def _answered(reply: Mapping[str, Any]) -> Answered | None:
    raise_failure(dict(reply))
    if reply.get("is_back"):
        return Answered([], 0.0, is_back=True)
    if "arrays" not in reply:
        return None
    return Answered([unpack_columns(packed) for packed in reply["arrays"]], float(reply["seconds"]))


def read_known(path: Path) -> KnownItems:
    """What a run of the same question was answered before it broke off: lines of ``cluster.kept_blocks``; nothing where
    the file is gone.
    """
    known = KnownItems()
    with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8") as lines:
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # what is no answer is asked again
                asked, reply = map(json.loads, line.split("\t"))
                arrays = {name: unpack_columns(packed) for name, packed in asked["arrays"].items()}
                answers = [unpack_columns(packed) for packed in reply["arrays"]]
                known.add(asked["name"], asked["settings"], arrays, answers)
    return known


def answer_block(
    opened: ModelSession, name: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]
) -> dict[str, Any]:
    """What a block comes to; the arrays of the answer are packed, in the order in which whoever asks takes them.

    Args:
        opened: the same files.
        name: of a method of ``Model``, or ``assess`` or ``evaluate``.
        settings: ``of_roles``: whether rows are rows of roles; of a certification its settings, as ``certify``.
        arrays: what the block is of, packed.
    """
    session = opened.in_roles if settings.get("of_roles") else opened
    given = {key: unpack_columns(packed) for key, packed in arrays.items()}
    started = time.perf_counter()
    if "certify" in settings:
        found = _proved(session, name, settings["certify"], given)
    elif name in _OF_MODELS:
        answered = _OF_MODELS[name](session.model, given)
        found = list(answered) if isinstance(answered, tuple) else [answered]
    else:
        raise ProcessError(f"There is no block of '{name}'.")
    seconds = time.perf_counter() - started
    return {"arrays": [pack_columns(array) for array in found], "seconds": seconds}


def _variant_margins(model: Model, given: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """By row, as the results of a block are put together."""
    margins = model.variant_margins(given["rows"], given["columns"], given["values"])
    return margins.reshape(len(given["rows"]), len(given["values"]), -1)


_OF_MODELS: dict[str, Callable[[Model, Mapping[str, NDArray[Any]]], Any]] = {
    "scores": lambda model, given: model.scores(given["rows"]),
    "margins": lambda model, given: model.margins(given["rows"]),
    "fast_scores": lambda model, given: model.fast_scores(given["rows"]),
    "exact_margins": lambda model, given: model.exact_margins(given["rows"]),
    "variant_margins": _variant_margins,
    "nearby_scores": lambda model, given: model.nearby_scores(given["rows"], given["columns"], given["steps"]),
    "gradients": lambda model, given: model.gradients(given["rows"], given.get("classes")),
}


def _proved(
    opened: ModelSession, name: str, certify: Mapping[str, Any], given: Mapping[str, NDArray[Any]]
) -> list[NDArray[Any]]:
    """Boxes assessed, or evaluated individual by individual."""
    key = json.dumps(certify, sort_keys=True)
    if key not in opened.assessors:
        settings = CertifySettings.from_json(dict(certify))
        space = make_lattice(opened.domain, settings.weights, opened.dataset.rows)
        points = BoxEnumerator(opened.model, opened.domain, space)
        opened.assessors[key] = make_assessor(opened.model, space, settings.mode), points
    assessor, points = opened.assessors[key]
    if name == "evaluate":
        return list(points.evaluate(given["low"], given["high"], given["weights"]))
    found = assessor.assess(given["low"], given["high"])
    cut = np.full(len(found.column), -1) if found.cut is None else found.cut
    return [found.certified, found.falsified, np.asarray(found.column, np.int64), np.asarray(cut, np.int64)]
