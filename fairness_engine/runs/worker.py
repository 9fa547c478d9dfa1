"""The worker: one process a run. It owns the store's side of the run and never opens an upload itself.

``python -m fairness_engine.runs.worker --workspace DIR RUN_ID`` claims the run, starts the model's process, folds its
events into the store and ends the run in exactly one final state. It asks every 0.1 s whether someone cancelled.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fairness_engine.errors import EvenhandError, ProcessError, StopReason, breach
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.questions import WhyNotCertifiable
from fairness_engine.model_process.sandbox import walls
from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled
from fairness_engine.model_process.starting.start import is_ready, libraries_taken
from fairness_engine.runs.follow_ups import start_measuring
from fairness_engine.runs.kept_model import KeptModel, how_opened
from fairness_engine.runs.kinds import kind_of, results_of
from fairness_engine.runs.queue import start_queued, take_due
from fairness_engine.runs.recorder import RunRecorder
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.database.transactions import PATIENCE_SECONDS, Patience
from fairness_engine.store.environment import cluster_address, database_url
from fairness_engine.store.records import RunRecord, RunState, StoredFile
from fairness_engine.store.store import RunStore

if TYPE_CHECKING:
    from types import FrameType

    from fairness_engine.cluster.kept_blocks import KeptBlocks
    from fairness_engine.cluster.shared_run import SharedRun

LOAD_SECONDS = 60.0
"""How long data and model may take to open."""
MAX_RUN_SECONDS = 24 * 3600.0
_POLL_SECONDS = 0.05
_MOST_CANCEL_SECONDS = 10.0
"""After a cancel, of a process that goes on saying things."""
_CANCEL_POLL_SECONDS = 0.1
_SIGN_OF_LIFE_SECONDS = 10.0
_END_SECONDS = 60.0
_END_PAUSE_SECONDS = 1.0
"""How long, and how often, the end of a run is written again where it cannot be."""
_MAX_NAMED_BYTES = 1 << 12


class Worker:
    """Works one claimed run to its end.

    Args:
        store, run: what to do and where to keep it.
        is_told_to_end: becomes true when this process got a signal to end.
        kept: what a run before may have left open, and this one may leave.
    """

    def __init__(self, store: RunStore, run: RunRecord, is_told_to_end: Callable[[], bool], kept: KeptModel) -> None:
        self._store = store
        self._run = run
        self._kind = kind_of(run.config)
        self._is_told_to_end = is_told_to_end
        self._kept = kept
        self._recorder = RunRecorder(store, run)
        self._log = store.run_folder(run.id) / "run.log"
        self._cancelled_at: float | None = None
        self._next_cancel_poll = 0.0
        self._next_sign_of_life = 0.0
        self._sharing: SharedRun | None = None

    def work(self) -> RunState:
        """Run; returns the final state. Nothing is raised: the state, the message and the log say what happened."""
        try:
            state = self._work()
            message = None
        except ProcessError as error:
            state = RunState.CRASHED
            message = str(error)
        except EvenhandError as error:
            state = RunState.FAILED
            message = str(error)
        except Exception as error:  # noqa: BLE001 - the run must end in a final state; the log keeps the rest
            self._note(traceback.format_exc())
            state = RunState.CRASHED
            message = f"The run ended by an unexpected error ({type(error).__name__})."
        if self._cancelled_at is not None and self._recorder.stop_reason in (None, StopReason.CANCELLED):
            state = RunState.CANCELLED
            message = None
        return self._end(state, message)

    def _end(self, state: RunState, message: str | None) -> RunState:
        try:
            self._recorder.close()
        except (EvenhandError, OSError) as error:
            self._note(traceback.format_exc())
            state = RunState.FAILED
            message = str(error)
        reason = StopReason.CANCELLED if state is RunState.CANCELLED else self._recorder.stop_reason
        if message:
            self._note(message)
        self._finish(state, reason, message)
        return state

    def _finish(self, state: RunState, reason: StopReason | None, message: str | None) -> None:
        """Write the end, again and again for a while where the disk is full or the database locked. A run whose end
        cannot be written counts as crashed once this process has gone.
        """
        deadline = time.monotonic() + _END_SECONDS
        while True:
            try:
                self._store.finish(self._run.id, state, reason=reason, message=message, counts=self._recorder.counts)
                return
            except (EvenhandError, OSError) as error:
                if time.monotonic() > deadline:
                    self._note(f"The end of the run cannot be written ({state.value}). {error}")
                    return
            time.sleep(_END_PAUSE_SECONDS)

    def _work(self) -> RunState:
        config = self._run.config
        store = self._store
        data = store.file(config.data_id)
        model = store.file(config.model_id) if config.model_id else None
        if not self._prepare():
            return RunState.CANCELLED
        if self._is_whole_elsewhere():
            return self._work_elsewhere(data, model)
        process = self._kept.take(config)
        is_open = process is not None
        if process is None:
            process = self._start_process(data, model)
        has_ended = False
        try:
            if is_open:
                process.log_to(self._log)
                store.set_result(self._run.id, "protections", process.protections)
            else:
                self._open(process, data, model)
            if self._cancelled_at is None:
                most = (config.budget.max_seconds or MAX_RUN_SECONDS) + self._kind.grace_seconds
                given = self._kind.given(store, config)
                if self._shares:
                    self._sharing = self._shared_run(data, model, process.tell, self._kept_blocks)
                    given |= {"is_shared": True, "known": self._known_blocks}
                store.set_phase(self._run.id, self._kind.first_phase)
                worked = process.send("run", config=config.to_json(), **given)
                self._follow(process, worked, self._kind.silence_seconds, time.monotonic() + most)
                self._conclude()
                has_ended = self._cancelled_at is None
        finally:
            self._leave(process, has_ended)
        self._follow_up()
        return RunState.FINISHED

    def _leave(self, process: ModelProcess, has_ended: bool) -> None:
        """Let go of what the run was worked with, or leave it to others where it has ended."""
        if self._sharing is not None:
            self._sharing.close()
        if self._kept_blocks is not None and has_ended:
            self._kept_blocks.forget()
        elif self._kept_blocks is not None:
            self._kept_blocks.close()
        if has_ended:
            self._kept.keep(process, self._run.config)
        else:
            process.close()

    def _start_process(self, data: StoredFile, model: StoredFile | None) -> ModelProcess:
        files = [data.path, *([model.path] if model is not None else [])]
        files += [Path(self._known_blocks)] if self._known_blocks else []
        libraries = self._store.libraries(self._run.config.model_id)
        if model is not None:
            libraries = tuple({*libraries, *self._kind.libraries(self._run.config, model)})
        return ModelProcess(self._store.workspace, files, self._log, loops=self._loops(), libraries=libraries)

    def _open(self, process: ModelProcess, data: StoredFile, model: StoredFile | None) -> None:
        """Have data and model opened, unless cancelled meanwhile."""
        process.greet()
        self._store.set_result(self._run.id, "protections", process.protections)
        self._store.set_phase(self._run.id, "opening data and model")
        request = {
            "data": {"path": str(data.path), "name": data.name},
            "model": {"path": str(model.path), "name": model.name} if model is not None else None,
        }
        opened = process.send("open", **request, **how_opened(self._run.config))
        self._follow(process, opened, LOAD_SECONDS, time.monotonic() + LOAD_SECONDS)
        if model is not None and self._cancelled_at is None:
            self._store.note_libraries(model.id, libraries_taken(self._recorder.reply))

    def _follow_up(self) -> None:
        """Queue the runs that measure the model that a run made, before it is shown as ended.

        Where a person cancelled it in the app they are wanted too: the best model so far is the result. A command line
        that was interrupted wants nothing more.
        """
        run = self._run
        is_ended = self._is_told_to_end() or (self._cancelled_at is not None and run.review_id is None)
        if is_ended or self._store.version(run.id) is None:
            return
        self._store.set_phase(run.id, "queuing what measures both models")
        evaluator = Evaluator(self._store)
        try:
            start_measuring(self._store, run.id, lambda config: evaluator.ask(config, WhyNotCertifiable()))
        except (
            EvenhandError
        ) as error:  # the model is there and measured: that its other measures are not is no failure of it
            self._note(str(error))
        finally:
            evaluator.close()

    def _conclude(self) -> None:
        """Keep what a run that said all has learned, and write what is not written.

        Raises:
            ProcessError: it did not say its end.
        """
        if self._cancelled_at is None and self._recorder.stop_reason is None:
            raise breach("it ended without its last event")
        learned = self._recorder.reply.get("learned")
        if isinstance(learned, dict):
            self._kind.keep(self._store, self._run.config, learned)
        self._recorder.write()  # what follows up reads it

    # --- a cluster ------------------------------------------------------------------------

    def _shared_run(
        self,
        data: StoredFile,
        model: StoredFile | None,
        tell: Callable[[str], None] | None,
        kept: KeptBlocks | None = None,
    ) -> SharedRun:
        from fairness_engine.cluster.shared_run import SharedRun

        files = {"data": data} if model is None else {"data": data, "model": model}
        how = how_opened(self._run.config)
        return SharedRun(self._store, self._run, self._cluster, files, how, self._loops(), tell, kept)

    @property
    def _shares(self) -> bool:
        """Whether others may answer blocks of the run."""
        config = self._run.config
        return bool(self._cluster) and bool(config.model_id) and not config.text_column and self._kind.shares

    @cached_property
    def _kept_blocks(self) -> KeptBlocks | None:
        """What others answer, until the run has ended. Of several runs it would cost more than it saves."""
        if not self._shares or self._run.config.comparison is not None:
            return None
        from fairness_engine.cluster.kept_blocks import KeptBlocks

        return KeptBlocks(self._store, self._run)

    @property
    def _known_blocks(self) -> str:
        """Where answers are that a run of the same question left; empty where none are."""
        kept = self._kept_blocks
        return str(kept.path) if kept is not None and kept.n_known else ""

    @cached_property
    def _cluster(self) -> str:
        """Address of the cluster that may help; empty where there is none, or this machine was chosen."""
        told = results_of(self._store, self._run.id).cluster
        return "" if told is not None and told.is_here else cluster_address()

    def _is_whole_elsewhere(self) -> bool:
        """Runs of which several are wanted go to the cluster whole: each is one process's work, for which none is
        started here.
        """
        is_one_of_many = self._run.config.comparison is not None or self._kind.goes_whole
        return bool(self._cluster) and not self._cluster.isdigit() and is_one_of_many

    def _work_elsewhere(self, data: StoredFile, model: StoredFile | None) -> RunState:
        """Have the whole run worked by a process of the cluster, and fold what it said."""
        config = self._run.config
        store = self._store
        store.set_phase(self._run.id, "waiting for a process of the cluster")
        self._sharing = self._shared_run(data, model, None)
        try:
            request = {"config": config.to_json(), **self._kind.given(store, config)}
            answer = self._sharing.work_whole(request, lambda: self._is_cancel_wanted(time.monotonic()))
        finally:
            self._sharing.close()
        if answer is not None:
            store.set_result(self._run.id, "protections", answer.protections)
            for line in answer.reply.split("\n"):
                self._recorder.take(line)
                self._recorder.write_when_due()
            self._conclude()
        self._follow_up()
        return RunState.FINISHED

    def _prepare(self) -> bool:
        """Compile the loops that the run needs when it is the first here; false when cancelled meanwhile."""
        arguments = (self._store.workspace, self._log, *self._loops())
        compiling = threading.Thread(target=prepare_compiled, args=arguments, daemon=True)
        compiling.start()
        compiling.join(_CANCEL_POLL_SECONDS)
        if compiling.is_alive():
            self._store.set_phase(self._run.id, "getting ready, once after an installation: a minute or two")
        while compiling.is_alive():
            compiling.join(_CANCEL_POLL_SECONDS)
            if self._is_cancel_wanted(time.monotonic()):
                return False
        return True

    def _loops(self) -> tuple[Loops, ...]:
        """Those that the run needs; of texts no rows are searched."""
        others = () if self._run.config.text_column else self._kind.loops
        return (Loops.MODELS, *others)

    def _follow(self, process: ModelProcess, request: int, silence: float, deadline: float) -> None:
        """Fold what the process says until the reply to a request, or until cancelled.

        Raises:
            EvenhandError: what the reply reports.
            ProcessError: the process ended, fell silent, took too long or lied.
        """
        began = heard = time.monotonic()
        waited = self._store.patience.waited_seconds
        while not self._recorder.is_done(request):
            line = process.receive(_POLL_SECONDS)
            if self._store.patience.waited_seconds > waited:  # nobody listened to it while the database was away
                heard = time.monotonic()
                deadline += self._store.patience.waited_seconds - waited
                waited = self._store.patience.waited_seconds
            now = time.monotonic()
            if line is not None:
                heard = now
                if self._sharing is None or not self._sharing.takes(line):
                    self._recorder.take(line)
            if self._sharing is not None:
                heard = max(heard, self._sharing.look())
            self._recorder.write_when_due()
            if self._is_cancelled(process, now, heard):
                return
            if now - heard > silence:
                raise ProcessError(f"The model gave no answer for {now - heard:.0f} seconds and was stopped.")
            if now > deadline:
                raise ProcessError(f"The model was not done after {now - began:.0f} seconds and was stopped.")

    def _is_cancelled(self, process: ModelProcess, now: float, heard: float) -> bool:
        """Pass a cancel on; true when the process had its time to stop by itself. What it said before is read to its
        last event, which counts everything of one moment, however much of it waits here.
        """
        if self._cancelled_at is None and self._is_cancel_wanted(now):
            process.send("cancel")
        if self._cancelled_at is None:
            return False
        patience = self._kind.cancel_seconds
        is_silent = now - max(heard, self._cancelled_at) > patience
        return is_silent or now - self._cancelled_at > max(patience, _MOST_CANCEL_SECONDS)

    def _is_cancel_wanted(self, now: float) -> bool:
        """Ask the store now and then, and leave a sign of life there."""
        if now >= self._next_sign_of_life:
            self._next_sign_of_life = now + _SIGN_OF_LIFE_SECONDS
            self._store.note_heard(self._run.id)
        if now < self._next_cancel_poll:
            return False
        self._next_cancel_poll = now + _CANCEL_POLL_SECONDS
        if self._is_told_to_end() or self._store.is_cancel_requested(self._run.id):
            self._cancelled_at = now
        return self._cancelled_at is not None

    def _note(self, text: str) -> None:
        with contextlib.suppress(OSError), self._log.open("a", encoding="utf-8") as log:  # the disk may be full
            log.write(text.rstrip("\n") + "\n")


def work(
    store: RunStore, run_id: str, is_told_to_end: Callable[[], bool], kept: KeptModel | None = None
) -> RunState | None:
    """Claim a run and work it to its end; ``None`` when someone else has it.

    Args:
        store, run_id, is_told_to_end, kept: as ``Worker`` takes them; nothing stays open where nothing is to keep it.
    """
    pid = os.getpid()
    if not store.claim(run_id, host_name(), pid, process_start_time(pid) or ""):
        return None
    with contextlib.closing(KeptModel()) as own:
        try:
            worker = Worker(store, store.run(run_id), is_told_to_end, own if kept is None else kept)
        except EvenhandError as error:  # its question was changed since it was asked
            store.finish(run_id, RunState.FAILED, message=str(error))
            return RunState.FAILED
        return worker.work()


def _log_to(store: RunStore, run_id: str) -> None:
    """Let what this process prints go to the log of a run."""
    with contextlib.suppress(OSError), (store.make_run_folder(run_id) / "run.log").open("ab") as log:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)


def _named_runs(is_told_to_end: Callable[[], bool]) -> Iterator[str]:
    """Runs that whoever started this program names, a line each, on standard input, a socket, until they close it;
    before each they are told that the last one has ended.
    """
    unread = b""
    while _says_done():
        while b"\n" not in unread:
            try:
                read = os.read(0, _MAX_NAMED_BYTES) if is_ready(0, _CANCEL_POLL_SECONDS) else None
            except ConnectionResetError:  # whoever named them is gone, with an answer unread
                return
            if read == b"" or is_told_to_end():
                return
            unread += read or b""
        line, _, unread = unread.partition(b"\n")
        yield line.decode()


def _says_done() -> bool:
    """Whether somebody is there to hear that a run has ended."""
    with contextlib.suppress(OSError):
        return os.write(0, b"\n") > 0
    return False


def _waiting_runs(store: RunStore, kept: KeptModel) -> Iterator[str]:
    """Runs whose turn it is, and that ask what is open already."""
    while (run_id := take_due(store, kept.fits)) is not None:
        start_queued(store)
        yield run_id


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; leaves with 0 when the run ended in a final state."""
    parser = argparse.ArgumentParser(prog="fairness_engine.runs.worker", description="Work one queued run.")
    parser.add_argument("run_id")
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--more", action="store_true", help="go on with runs that are named on standard input")
    options = parser.parse_args(arguments)
    told: list[int] = []

    def note_signal(number: int, _: FrameType | None) -> None:
        told.append(number)

    signal.signal(signal.SIGTERM, note_signal)
    signal.signal(signal.SIGINT, note_signal)
    walls.limit_own_memory()
    patience = Patience(PATIENCE_SECONDS, lambda said: print(said, file=sys.stderr, flush=True))  # into the run's log
    patience.is_over = lambda: bool(told)
    store = RunStore(options.workspace, database_url(), patience)
    kept = KeptModel()
    try:
        work(store, options.run_id, patience.is_over, kept)
        for run_id in _named_runs(patience.is_over) if options.more else _waiting_runs(store, kept):
            _log_to(store, run_id)
            work(store, run_id, patience.is_over, kept)
    finally:
        kept.close()
        if not told:  # whatever became of this run, those that wait go on
            start_queued(store)
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
