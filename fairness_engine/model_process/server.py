"""The model's process: opens the data and the model, answers requests, never touches the run store.

``python -m fairness_engine.model_process.server --scratch DIR --compiled DIR --readable FILE ... [--parent PID]``, or
``--warm NAME`` (names of ``compiled_loops.WARM_UPS``) to compile loops into the shared cache before any upload is near.
The fork server becomes this program without a new interpreter. See ``protocol.py`` for what is said.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import stat
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fairness_engine.clock import Clock
from fairness_engine.errors import EvenhandError, FitError, ModelError, ProcessError
from fairness_engine.model_process.sandbox import walls
from fairness_engine.model_process.starting.compiled_loops import WARM_UPS, Loops, copy_compiled
from fairness_engine.model_process.starting.start import LIBRARIES

if TYPE_CHECKING:
    from fairness_engine.events import Event, TreeReady
    from fairness_engine.model_process.blocks import BlockSender
    from fairness_engine.model_process.session import ModelSession
    from fairness_engine.model_process.text_session import TextSession
    from fairness_engine.store.run_config import RunConfig

Request = dict[str, Any]
UNCONFINED = (
    "Pickle and joblib files run code of their author on load and are refused on this system although they were "
    "allowed: without Landlock (Linux 5.13 and later) that code could read and write whatever this account can. "
    "Save the model as .skops, .onnx or .keras."
)
_WARM_UP_NICENESS = 5
"""Compiling takes all cores for a minute: whoever looks at a page meanwhile comes first."""
_PROOFS_NICENESS = 10
"""Most people search before they certify: what searches need is not to wait for proofs."""


class RequestServer:
    """Answers requests, one after the other.

    Args:
        send: writes one line to the parent.
        at_end: called when the parent is gone, while a request may be at work.
        is_confined: to its files, so that it may open what runs code.
    """

    def __init__(self, send: Callable[[str], None], at_end: Callable[[], None], *, is_confined: bool = True) -> None:
        self._is_confined = is_confined
        self._send = send
        self._at_end = at_end
        self._opened: ModelSession | TextSession | None = None
        self._cancel = threading.Event()
        self._blocks: BlockSender | None = None

    def listen(self, requests: BinaryIO) -> Iterator[Request]:
        """Requests of a stream, in order, until it ends; ``cancel`` takes effect at once, on its own thread.

        The end of the stream means that the parent is gone: the work at hand is cancelled.
        """
        waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        threading.Thread(target=self._hear, args=(requests, waiting), daemon=True).start()
        while (request := waiting.get())["do"] != "end":
            yield request

    def _hear(self, requests: BinaryIO, waiting: queue.SimpleQueue[Request]) -> None:
        for line in requests:
            request = json.loads(line)
            if request["do"] == "cancel":
                self._cancel.set()
            elif request["do"] in ("block_done", "blocks_ready"):
                if self._blocks is not None:  # else of a run that has ended
                    self._blocks.take(request)
            else:
                waiting.put(request)
        self._cancel.set()
        waiting.put({"do": "end"})
        self._at_end()

    def answer(self, request: Request) -> None:
        """Do what a request asks; whatever goes wrong becomes its reply."""
        from fairness_engine.model_process.protocol import failure

        try:
            reply = self._do(request)
        except EvenhandError as error:
            reply = failure(error)
        except MemoryError:
            traceback.print_exc()
            gigabytes = walls.MAX_MEMORY_BYTES // walls.GIGABYTE
            reply = failure(
                ProcessError(f"The model and the data need more than the {gigabytes} GB allowed. Use less data.")
            )
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - a model may raise anything; the log keeps it
            traceback.print_exc()
            kind = type(error).__name__
            reply = failure(
                ProcessError(f"The model's process met an error it did not expect ({kind}); the log has it.")
            )
        self._send(json.dumps({"reply": request["id"], **reply}))

    def _do(self, request: Request) -> dict[str, Any]:
        if request["do"] == "open":
            from fairness_engine.model_process.session import open_all
            from fairness_engine.models.formats import FileFormat, detect_format

            file = request.get("model")
            if file is not None and request.get("unsafe_formats") and not self._is_confined:
                is_unsafe = detect_format(Path(file["path"]), file["name"]) is FileFormat.PICKLE
                if is_unsafe:
                    raise ModelError(UNCONFINED)
            self._opened = open_all(request)
            return {**self._opened.summary(), "libraries": [name for name in LIBRARIES if name in sys.modules]}
        if request["do"] == "try_walls":
            from fairness_engine.model_process.sandbox import probes

            ground = probes.Ground(Path.cwd(), Path(request["outside"]))
            return {"outcomes": probes.outcomes(ground, request["names"])}
        if request["do"] == "read_table":
            from fairness_engine.data.csv.described import write_table

            return write_table(request["table"])
        if self._opened is None:
            raise ProcessError("Nothing was opened yet.")
        if request["do"] == "run":
            return self._run(self._opened, request)
        content = {name: value for name, value in request.items() if name not in ("id", "do")}
        return answer(self._opened, request["do"], content)

    def _run(self, opened: ModelSession | TextSession, request: Request) -> dict[str, Any]:
        from fairness_engine.events import to_line
        from fairness_engine.store.run_config import RunConfig

        config = RunConfig.from_json(request["config"])
        opened = opened.given(request)
        clock = Clock(config.budget.max_seconds or math.inf, self._cancel.is_set)
        for event in self._events(opened, config, clock, request):
            for small in split(event):
                self._send(to_line(small))
        return {"learned": opened.learned}

    def _events(
        self, opened: ModelSession | TextSession, config: RunConfig, clock: Clock, request: Request
    ) -> Iterator[Event]:
        """The events of a run, in which other processes share (``is_shared``) or not; what they answered before may be
        ``known``, in a file.
        """
        from fairness_engine.events import to_line
        from fairness_engine.model_process.session import ModelSession

        def report(between: Event) -> None:
            self._send(to_line(between))

        if not request.get("is_shared") or not isinstance(opened, ModelSession):
            yield from opened.run(config, clock, report)
            return
        from fairness_engine.model_process.blocks import BlockSender, read_known
        from fairness_engine.models.shared import BATCH_SECONDS

        known = read_known(Path(request["known"])) if request.get("known") else None
        self._blocks = BlockSender(self._send, self._cancel.is_set, known)
        clock = Clock(clock.max_seconds, clock.is_cancelled, batch_seconds=BATCH_SECONDS)
        try:
            yield from opened.run(config, clock, report, self._blocks)
        finally:
            self._blocks = None


def answer(opened: ModelSession | TextSession, question: str, content: dict[str, Any]) -> dict[str, Any]:
    """What was opened answers under the name of the question, see ``questions``.

    Raises:
        FitError: it is not asked of tables, or not of texts.
        ProcessError: there is no such question.
    """
    from fairness_engine.model_process import session, text_session

    known = (session.ANSWERS, text_session.ANSWERS)
    if not any(question in answers for answers in known):
        raise ProcessError(f"There is no request '{question}'.")
    answers = known[isinstance(opened, text_session.TextSession)]
    if question not in answers:
        raise FitError(
            "Rows of a table and texts are asked about in different ways, and this review is of the other kind."
        )
    return answers[question](opened, **content)


def split(event: Event) -> Iterator[Event]:
    """The event itself, or a large batch of pairs as several; a tree with as many certificates as a line can hold."""
    from fairness_engine.events import PairsFound, TreeReady
    from fairness_engine.model_process.protocol import MAX_EVENT_BYTES

    if isinstance(event, TreeReady):
        yield _fitted(event)
        return
    if not isinstance(event, PairsFound):
        yield event
        return
    bytes_a_pair = 2 * 8 * 4 // 3 * (event.pairs.first.shape[1] + 4)
    size = max(1, MAX_EVENT_BYTES // bytes_a_pair)
    for start in range(0, len(event.pairs), size):
        yield PairsFound(event.pairs[start : start + size])


def _fitted(tree: TreeReady) -> TreeReady:
    """The tree with the first certificates, which are those of the largest boxes, that fit into a line."""
    from fairness_engine.model_process.protocol import MAX_TREE_BYTES

    room = MAX_TREE_BYTES - sum(array.nbytes for array in tree.arrays.values())
    n_boxes = len(tree.certificates.get("leaf", ()))
    by_box = {name: array for name, array in tree.certificates.items() if name != "starts"}
    bytes_a_box = max(1, sum(array.nbytes for array in by_box.values()) // max(1, n_boxes))
    n = min(n_boxes, max(0, room) // bytes_a_box)
    return replace(tree, certificates=tree.certificates | {name: array[:n] for name, array in by_box.items()})


def _leave_soon() -> None:
    """End the process in a second, whatever it is doing."""
    timer = threading.Timer(1.0, os._exit, args=(0,))
    timer.daemon = True
    timer.start()


def _take_stdout() -> Callable[[str], None]:
    """Keep the real standard output for replies; whatever libraries print goes to the log."""
    sys.stdout.flush()
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    lock = threading.Lock()

    def send(line: str) -> None:
        left = memoryview(line.encode() + b"\n")
        with lock:
            while left:
                left = left[replies.write(left) or 0 :]

    return send


def warm_up(loops: str) -> None:
    """Compile or load the loops that runs of this kind need, or a half of them."""
    from fairness_engine.certification import warm_up as proofs
    from fairness_engine.measures.plausibility import kernels as plausibility_kernels
    from fairness_engine.models.dense import kernels as dense_kernels
    from fairness_engine.models.trees import kernels as tree_kernels
    from fairness_engine.oracle import kernels
    from fairness_engine.search.techniques.directed import population
    from fairness_engine.search.techniques.gradient import kernels as gradient_kernels
    from fairness_engine.search.techniques.sg import kernels as symbolic_kernels

    if loops == "models":
        dense_kernels.warm_up()
        tree_kernels.warm_up()
        return
    if loops == "networks":
        proofs.warm_up(proofs.NETWORKS)
        return
    for module in (kernels, plausibility_kernels):
        module.warm_up()
    if loops == "other-proofs":
        proofs.warm_up(proofs.OTHERS)
    else:
        for module in (population, gradient_kernels, symbolic_kernels):
            module.warm_up()


def leave_out_charts() -> None:
    """Let no library load matplotlib, which Keras and shap take where they find it: here nothing is drawn, and in each
    process's empty home it would look through all fonts of the system, for six seconds of a processor."""
    sys.modules["matplotlib"] = None  # type: ignore[assignment]


def load_session() -> None:
    """Import what opening and most runs need, before there is anything to open."""
    from fairness_engine.model_process import session, text_session, work

    del session, text_session, work


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the parent closes its end."""
    parser = argparse.ArgumentParser(prog="fairness_engine.model_process.server")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--readable", type=Path, action="append", default=[])
    parser.add_argument("--compiled", type=Path)
    parser.add_argument("--parent", type=int)
    parser.add_argument("--newest-landlock", type=int)
    parser.add_argument("--warm", choices=sorted(name for names in WARM_UPS.values() for name in names))
    options = parser.parse_args(arguments)
    if options.warm:
        os.nice(_PROOFS_NICENESS if options.warm in WARM_UPS[Loops.CERTIFICATIONS] else _WARM_UP_NICENESS)
        warm_up(options.warm)
        return 0
    leave_out_charts()
    if "numba" not in sys.modules:  # it insists on a folder that it can write, and none may write the one of all
        copy_compiled(options.compiled, options.scratch / "numba")
    send = _take_stdout()
    raised = walls.enter(
        options.scratch,
        [*options.readable, options.compiled],
        options.parent,
        watcher=0 if stat.S_ISSOCK(os.fstat(0).st_mode) else None,
        newest_landlock=options.newest_landlock,
    )
    send(json.dumps({"hello": raised}))
    child = RequestServer(send, _leave_soon, is_confined=raised["files"] is True)
    for request in child.listen(sys.stdin.buffer):
        child.answer(request)
    return 0


if __name__ == "__main__":
    sys.exit(main())
