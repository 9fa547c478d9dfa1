"""Answers a page's small questions about a model (``questions.py``): keeps the processes that know.

One model's process is kept for each data set, model, schema and scope that was asked about, at most three, each stopped
when it was not asked for five minutes. The process of the page itself never opens an upload.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairness_engine.errors import ProcessError, RunError
from fairness_engine.model_process.process import MAX_LOG_BYTES, ModelProcess
from fairness_engine.model_process.questions import A, Question, Target
from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled
from fairness_engine.model_process.starting.start import libraries_taken, load_soon
from fairness_engine.store.environment import unsafe_formats_allowed
from fairness_engine.store.store import RunStore

LOAD_SECONDS = 60.0
_Key = tuple[str, str, str, str]


class _Opened:
    """One open process; ``lock`` is held while it is asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: ModelProcess | None = None
        self.used = time.monotonic()

    def stop(self) -> None:
        process = self.process
        self.process = None
        if process is not None:
            process.close()


class Evaluator:
    """The processes that answer questions; safe to use from several threads.

    Args:
        store: where the files are.
        idle_seconds: a process that was not asked for so long is stopped.
        max_open: how many are kept at most; the one unused for longest goes first.
    """

    def __init__(self, store: RunStore, *, idle_seconds: float = 300.0, max_open: int = 3) -> None:
        self._store = store
        self._idle_seconds = idle_seconds
        self._max_open = max_open
        self._opened: OrderedDict[_Key, _Opened] = OrderedDict()
        self._guard = threading.Lock()
        self._sweeper: threading.Thread | None = None
        self._closed = threading.Event()
        self._protections: dict[str, bool] = {}
        self._why_down: dict[str, str] = {}

    @property
    def protections(self) -> dict[str, bool]:
        """Which walls of ``sandbox.PROTECTIONS`` were up around the last process started; empty before the first."""
        return dict(self._protections)

    @property
    def why_down(self) -> dict[str, str]:
        """Of each of ``protections`` that was not up."""
        return {name: why for name, why in self._why_down.items() if not self._protections[name]}

    @property
    def n_open(self) -> int:
        """How many processes are kept."""
        with self._guard:
            return len(self._opened)

    def ask(self, target: Target, question: Question[A]) -> A:
        """The answer to a question about data and a model.

        Raises:
            InputError: the data or the model cannot be used, or not for this.
            RunError: the question cannot be asked.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        answers: list[Any] = []
        for part in question.parts(target):
            reply = self._ask(target, part)
            load_soon(libraries_taken(reply))  # a run that the question prepares may be next
            answers.append(part.answer(reply, target))
        return question.join(answers)

    # --- processes ------------------------------------------------------------------------

    def _ask(self, target: Target, question: Question[Any]) -> dict[str, Any]:
        scope = target.scope
        request = {"schema": target.schema.to_json(), "scope": scope.to_json() if scope else None}
        key = (target.data_id, target.model_id, json.dumps(request["schema"]), json.dumps(request["scope"]))
        # a process that was started before its loops were compiled would do it for itself, for a minute
        loops = frozenset({Loops.MODELS, *question.loops})
        prepare_compiled(self._store.workspace, self._log(), *loops)
        content = question.content()
        with self._borrowed(key) as opened:
            kept = opened.process
            if kept is not None and kept.is_alive and loops <= kept.loops:
                try:
                    return kept.ask(question.name, question.seconds, **content)
                except ProcessError:
                    opened.stop()
                    if not kept.has_ended_by_itself:
                        raise
            opened.stop()
            try:
                opened.process = self._open(target, request, loops)
                return opened.process.ask(question.name, question.seconds, **content)
            except ProcessError:
                opened.stop()  # the next question starts afresh
                raise

    @contextlib.contextmanager
    def _borrowed(self, key: _Key) -> Iterator[_Opened]:
        """The process of a key, for one thread at a time; others that are too many are stopped."""
        with self._guard:
            if self._closed.is_set():
                raise RunError("The evaluator was closed.")
            opened = self._opened.setdefault(key, _Opened())
            self._opened.move_to_end(key)
            dropped = [self._opened.pop(old) for old in list(self._opened)[: -self._max_open]]
            self._start_sweeper()
        for old in dropped:
            with old.lock:
                old.stop()
        with opened.lock:
            try:
                yield opened
            finally:
                opened.used = time.monotonic()
                if not self._is_kept(key, opened):
                    opened.stop()

    def _is_kept(self, key: _Key, opened: _Opened) -> bool:
        """False when it was dropped while it worked, or has no process."""
        with self._guard:
            if self._opened.get(key) is not opened:
                return False
            if opened.process is None:
                del self._opened[key]
            return opened.process is not None

    def _open(self, target: Target, request: dict[str, Any], loops: frozenset[Loops]) -> ModelProcess:
        store = self._store
        data = store.file(target.data_id)
        model = store.file(target.model_id) if target.model_id else None
        files = [data.path, *([model.path] if model is not None else [])]
        process = ModelProcess(
            store.workspace,
            files,
            self._log(),
            loops=loops,
            libraries=store.libraries(target.model_id),
        )
        try:
            process.greet()
            self._protections = dict(process.protections)
            self._why_down = process.why_down
            opened = process.ask(
                "open",
                LOAD_SECONDS,
                data={"path": str(data.path), "name": data.name},
                model={"path": str(model.path), "name": model.name} if model is not None else None,
                unsafe_formats=unsafe_formats_allowed(),
                needs_variants=False,  # what asks for them says so itself
                **request,
            )
        except BaseException:
            process.close()
            raise
        if model is not None:
            libraries = libraries_taken(opened)
            store.note_libraries(model.id, libraries)
            load_soon(libraries)  # a run of this model may be next
        return process

    def _log(self) -> Path:
        log = self._store.workspace / "evaluator.log"
        with contextlib.suppress(OSError):
            if log.stat().st_size > MAX_LOG_BYTES:
                log.unlink()
        return log

    # --- ending ---------------------------------------------------------------------------

    def _start_sweeper(self) -> None:
        if self._sweeper is None:
            self._sweeper = threading.Thread(target=self._sweep, name="evaluator-sweeper", daemon=True)
            self._sweeper.start()

    def _sweep(self) -> None:
        """Stop what was not asked for long, until closed."""
        while not self._closed.wait(min(5.0, self._idle_seconds / 4)):
            with self._guard:
                limit = time.monotonic() - self._idle_seconds
                idle = [key for key, o in self._opened.items() if o.used < limit and not o.lock.locked()]
                dropped = [self._opened.pop(key) for key in idle]
            for opened in dropped:
                with opened.lock:
                    opened.stop()

    def close(self) -> None:
        """Stop every process; questions at work fail. Nothing can be asked afterwards."""
        self._closed.set()
        with self._guard:
            dropped = list(self._opened.values())
            self._opened.clear()
        for opened in dropped:
            process = opened.process
            if process is not None:
                process.kill()
            with opened.lock:
                opened.stop()
