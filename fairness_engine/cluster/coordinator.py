"""The side of a cluster that a run's worker is on: blocks go out, answers come back, and what is lost is asked again.

Every block is a function of its content, so it does not matter which process answers, nor how often it was begun. A
process that dies or hangs, a scheduler that is lost and one that forgets a block cost time and nothing else: where
nobody is left who could answer, blocks are handed back to who asked. A block that ends two model's processes is set
aside: it would end the next ones too.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import queue
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairness_engine.cluster.counts import ClusterCounts
from fairness_engine.cluster.here import in_time, start_here
from fairness_engine.cluster.host import Answer, HeldFiles, answer_block, cancel_run, forget_files, open_files, work_run
from fairness_engine.errors import EvenhandError, RunError

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")
_MAX_ENDED = 2
"""Model's processes that a block may end before it is set aside."""
_MAX_LOST = 20
"""Processes of the cluster that may be lost with a block: others may be killing them."""
_STUCK_SECONDS = 60.0
"""When nothing was answered for so long, what is out is asked again, of others."""
_NOBODY_SECONDS = 10.0
"""When no process is there for so long, what is out is handed back."""
_TALK_SECONDS = 15.0
"""A scheduler that says nothing for so long is lost."""
_CONNECT_SECONDS = 15.0
_RECONNECT_SECONDS = 600.0
"""How long a lost scheduler may take to come back."""
_TICK_SECONDS = 0.5
_TLS = "tls://"
_KEYS = tuple(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"))
_CLOSE_SECONDS = 1.0
"""Who does not answer is not waited for."""


@dataclass
class _Pending:
    """A block that is out."""

    ask: str
    n_asked: int = 0
    n_ended: int = 0
    n_lost: int = 0
    future: Future[Answer] | None = None


class Coordinator:
    """The blocks of one run.

    Args:
        address: how many processes to start here, or the address of a scheduler.
        held: what they are to open.
        folder: for what a cluster of this machine needs.
        answer: takes the number of a block and its answer; called by a thread of this object.
        ready: is told how many processes there are; before that, nobody can be asked.
        is_whole: the run is worked whole, by one of them: ``ask`` wants the run itself, once.
        tell: is given lines of progress of a whole run.
    """

    def __init__(
        self,
        address: str,
        held: HeldFiles,
        folder: Path,
        answer: Callable[[int, Answer], None],
        ready: Callable[[int], None],
        *,
        is_whole: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.counts = ClusterCounts()
        self.failure: EvenhandError | None = None
        """Why no more blocks can be done."""
        self._address = address
        self._held = held
        self._folder = folder
        self._answer = answer
        self._ready = ready
        self._is_whole = is_whole
        self._tell = tell
        self._name = f"evenhand-{secrets.token_hex(8)}"
        self._n_here = int(address) if address.isdigit() else 0
        self._members: dict[str, bool | None] = {}
        """Processes of the cluster: whether they could open the files; ``None`` while they are at it."""
        self._width = 0
        self._n_opened = itertools.count(1)
        self._nobody_since = math.inf
        """Since when no process has the files open, after one had."""
        self._is_over = False
        """Whether the cluster is given up."""
        self._pending: dict[int, _Pending] = {}
        self._came: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._heard = time.monotonic()
        self._next_look = 0.0
        self._cluster: Any = None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what it has to say of lost workers is no news
        self._client: Client | None = None
        self._thread = threading.Thread(target=self._collect, daemon=True, name="blocks")
        self._thread.start()

    @property
    def heard(self) -> float:
        """When a block was last answered, or asked again (``time.monotonic``)."""
        return self._heard

    def ask(self, number: int, text: str) -> None:
        """Have a block answered."""
        with self._lock:
            self._pending[number] = _Pending(text)
        if self._is_over:
            self._hand_back()
        else:
            self._submit(number)

    def cancel(self) -> None:
        """Let a whole run end with what it has."""
        self._tell_all(cancel_run)

    def close(self) -> None:
        """Ask no more, and end what works on it."""
        self._is_closed = True
        self._came.put(lambda: None)
        self._tell_all(forget_files)
        if self._client is not None:
            with contextlib.suppress(Exception):  # it may be gone
                self._client.close(timeout=_CLOSE_SECONDS)
        self._thread.join(_CLOSE_SECONDS)
        self._end_cluster()

    def _tell_all(self, function: Callable[[str], Awaitable[None]]) -> None:
        """Have every process of the cluster do something; one that hangs is not waited for."""
        client = self._client
        if client is None:
            return

        def tell() -> None:
            with contextlib.suppress(Exception):  # it may be gone
                client.run(function, self._held.key, nanny=False, on_error="ignore", wait=False)

        telling = threading.Thread(target=tell, daemon=True, name="telling")
        telling.start()
        telling.join(_CLOSE_SECONDS)

    # --- the cluster ----------------------------------------------------------------------

    def _connect(self) -> Client:
        try:
            self._check_keys()
            where = self._start_here() if self._n_here else self._address
            client = _client_of(where)
            client.wait_for_workers(self._n_here or 1, timeout=_CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError, ImportError, RuntimeError) as error:
            self._end_cluster()
            raise RunError(
                f"The cluster at '{self._address}' must answer and have processes that work, got: {error}. "
                "Start its scheduler and workers."
            ) from None
        self.counts.dashboard = client.dashboard_link if self._cluster is None else ""
        return client

    def _check_keys(self) -> None:
        """See that keys are there for a scheduler that wants them; Dask's client would end with an error of another
        kind, and look for its scheduler for another half minute.

        Raises:
            RunError: there are none, or they cannot be read.
        """
        from distributed.security import Security

        if not self._address.startswith(_TLS):
            return
        got = "none"
        try:
            if Security().get_connection_args("client")["ssl_context"] is not None:
                return
        except OSError as error:
            got = str(error)
        raise RunError(
            f"The cluster at '{self._address}' must be reached with its keys, got: {got}. Name their files, by whole "
            f"paths, in {', '.join(_KEYS[:-1])} and {_KEYS[-1]}."
        )

    def _start_here(self) -> Any:
        self._end_cluster()
        self._cluster = start_here(self._n_here, self._folder)[0]
        return self._cluster

    def _end_cluster(self) -> None:
        if self._cluster is not None:
            with contextlib.suppress(Exception):
                self._cluster.close(timeout=_CLOSE_SECONDS)
            self._cluster = None

    @property
    def _is_connected(self) -> bool:
        return self._client is not None and self._client.status in ("running", "newly-created")

    def _invite(self, client: Client) -> None:
        """Have the files opened by whoever came since the last look.

        Raises:
            TimeoutError: the scheduler hangs.
        """
        try:
            assert client.scheduler is not None, "it has one until it is closed"
            found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_TALK_SECONDS)
        except TimeoutError:
            raise
        except Exception:  # noqa: BLE001 - the next look finds out that it is lost
            return
        there = found["workers"]
        if self._is_whole:  # whoever works it opens the files
            self._members = {name: self._members.get(name, True) for name in there}
        else:
            for name in there:
                if name not in self._members:
                    self._open(client, name)
            self._members = {name: self._members[name] for name in there}
        self._tell_width()

    def _open(self, client: Client, name: str) -> None:
        key = f"{self._name}-open-{next(self._n_opened)}"
        self._members[name] = None
        with contextlib.suppress(Exception):  # the next look finds out that the scheduler is lost
            future = client.submit(open_files, self._held, workers=[name], key=key, pure=False)
            future.add_done_callback(lambda done: self._came.put(lambda: self._opened(name, done)))

    def _opened(self, name: str, future: Future[bool]) -> None:
        if name in self._members:
            with contextlib.suppress(TimeoutError):
                self._members[name] = self._result(future, _CONNECT_SECONDS) is True
            self._tell_width()

    def _tell_width(self) -> None:
        width = sum(is_open is True for is_open in self._members.values())
        self.counts.n_workers = width
        self.counts.n_unable = sum(is_open is False for is_open in self._members.values())
        if width == self._width:
            return
        was_nobody = not self._width
        self._width = width
        self._nobody_since = math.inf if width else time.monotonic()
        if not self._is_whole:
            self._ready(width)
            if was_nobody:
                self._ask_all_again()

    @staticmethod
    def _result(future: Future[T], seconds: float) -> T | None:
        """What came of a task; ``None`` where who had it is lost, whatever that is called.

        Raises:
            TimeoutError: nothing, so soon.
        """
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            raise
        except Exception:  # noqa: BLE001
            return None

    def _reconnect(self) -> None:
        """Find the scheduler again, or start what was started here anew; what is out is asked again, or handed back
        where that takes its time.

        Raises:
            RunError: it does not come back.
        """
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=_CLOSE_SECONDS)
        self._members = {}
        self._tell_width()
        deadline = time.monotonic() + _RECONNECT_SECONDS
        while not self._is_closed:
            try:
                self._client = self._connect()
                break
            except RunError:
                if time.monotonic() > deadline:
                    raise
                self._hand_back_when_due()
                time.sleep(_TICK_SECONDS)
        if self._is_whole:
            self._ask_all_again()

    # --- blocks ---------------------------------------------------------------------------

    def _submit(self, number: int) -> None:
        with self._lock:
            block = self._pending.get(number)
            if block is None:
                return
            block.n_asked += 1
            key = f"{self._name}-{number}-{block.n_asked}"
        with contextlib.suppress(Exception):  # the thread that listens notices that the scheduler is lost
            assert self._client is not None, "nobody asks before it is there"
            opened = [name for name, is_open in list(self._members.items()) if is_open]
            if not opened and not self._is_whole:
                return  # it is asked once somebody is there, or handed back
            first = {"workers": opened, "allow_other_workers": True} if opened else {}
            task = work_run if self._is_whole else answer_block
            future = self._client.submit(task, self._held, block.ask, key=key, pure=False, **first)
            block.future = future
            future.add_done_callback(lambda done: self._came.put(lambda: self._take(number, done)))

    def _again(self, number: int) -> None:
        self.counts.n_repeated += 1
        self._submit(number)

    def _collect(self) -> None:
        """Find the cluster, then pass answers on until this object is closed."""
        try:
            self._client = self._connect()
            if self._is_whole:
                self._client.subscribe_topic(self._held.key, lambda event: self._tell(str(event[1])))
                self._ready(1)
            while not self._is_closed:
                if time.monotonic() >= self._next_look:
                    self._look()
                with contextlib.suppress(queue.Empty):
                    self._came.get(timeout=_TICK_SECONDS)()
        except RunError as error:
            self._give_up(error)
        except EvenhandError as error:
            self.failure = error
        except OSError:  # whom the answers are for is gone
            return
        except Exception as error:  # noqa: BLE001 - no error of Dask's may leave a run waiting
            self._give_up(RunError(f"The cluster at '{self._address}' failed ({type(error).__name__})."))

    def _give_up(self, error: RunError) -> None:
        """There is no cluster; a run that is not worked there whole does without."""
        if self._is_whole:
            self.failure = error
            return
        self.counts.why = f"{error} The run is worked without it."
        self._is_over = True
        self._members = {}
        with contextlib.suppress(EvenhandError, OSError):  # whom the answers are for is gone
            self._tell_width()
            self._hand_back()

    def _look(self) -> None:
        """See that the scheduler is there, who came or went, and that blocks move."""
        self._next_look = time.monotonic() + _TICK_SECONDS
        if self._is_closed:
            return
        try:
            if not self._is_connected:
                self._reconnect()
            if self._client is not None:
                self._invite(self._client)
                if self._pending and not self._is_whole and time.monotonic() - self._heard > _STUCK_SECONDS:
                    self._distrust(self._client)
                    self._ask_all_again()
        except TimeoutError:
            self._reconnect()
        self._hand_back_when_due()

    def _distrust(self, client: Client) -> None:
        """Whoever has blocks and says nothing is not asked until it says something.

        Raises:
            TimeoutError: the scheduler hangs.
        """
        try:
            assert client.scheduler is not None, "it has one until it is closed"
            at_work = client.sync(client.scheduler.processing, workers=None, callback_timeout=_TALK_SECONDS)
        except TimeoutError:
            raise
        except Exception:  # noqa: BLE001 - the next look finds out that it is lost
            return
        for name, keys in at_work.items():
            if self._members.get(name) and any(str(key).startswith(self._name) for key in keys):
                self._open(client, name)
        self._tell_width()

    def _hand_back_when_due(self) -> None:
        """Nobody is left who could answer."""
        if not self._is_whole and time.monotonic() - self._nobody_since > _NOBODY_SECONDS:
            self._hand_back()

    def _hand_back(self) -> None:
        for number in list(self._pending):
            self.counts.n_repeated += 1
            self._done(number, Answer(is_back=True), is_answered=False)

    def _ask_all_again(self) -> None:
        self._heard = time.monotonic()
        for number in list(self._pending):
            self._again(number)

    def _take(self, number: int, future: Future[Answer]) -> None:
        block = self._pending.get(number)
        if block is None or self._is_closed:
            return
        answer = None
        if future.status == "finished":
            with contextlib.suppress(TimeoutError):
                answer = self._result(future, _CONNECT_SECONDS)
        if answer is None and future is not block.future:
            return  # it was asked again since
        if answer is None:
            self._lost(number, block)
        elif answer.reply:
            self._done(number, answer)
        elif answer.unable:
            self._unable(number, answer)
        else:
            self._ended(number, block, answer.why)

    def _lost(self, number: int, block: _Pending) -> None:
        """The process that had it is gone, or the scheduler that knew of it."""
        if not self._is_connected:
            self._next_look = 0.0
            return
        block.n_lost += 1
        if block.n_lost > _MAX_LOST:
            self._set_aside(number, "The processes of the cluster that work on it are lost again and again.")
        else:
            self._again(number)

    def _unable(self, number: int, answer: Answer) -> None:
        """Who was asked could not open the files, which is no fault of the block."""
        if answer.unable in self._members:
            self._members[answer.unable] = False
        self._tell_width()
        if self._is_whole and not self._width:
            self._done(number, answer, is_answered=False)
        else:
            self._again(number)

    def _ended(self, number: int, block: _Pending, why: str) -> None:
        """It ended the model's process."""
        block.n_ended += 1
        if block.n_ended >= _MAX_ENDED:
            self._set_aside(number, why)
        else:
            self._again(number)

    def _set_aside(self, number: int, why: str) -> None:
        self.counts.n_set_aside += 1
        self._done(number, Answer(why=why), is_answered=False)

    def _done(self, number: int, answer: Answer, *, is_answered: bool = True) -> None:
        with self._lock:
            if self._pending.pop(number, None) is None:
                return
        self._heard = time.monotonic()
        self.counts.n_done += is_answered
        self._answer(number, answer)


def _client_of(where: Any) -> Client:
    """A client of a scheduler.

    Raises:
        OSError: it does not answer.
    """
    from distributed import Client

    def connect() -> Client:
        return Client(where, timeout=_CONNECT_SECONDS, set_as_default=False)

    return in_time(connect, _CONNECT_SECONDS + _CLOSE_SECONDS, lambda late: late.close(timeout=_CLOSE_SECONDS))
