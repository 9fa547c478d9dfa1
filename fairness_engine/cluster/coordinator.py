"""The side of a cluster that a run's worker is on: blocks go out, answers come back, and what is lost is asked again.

Every block is a function of its content, so it does not matter which process answers, nor how often it was begun. A
process that dies, a scheduler that is lost and one that forgets a block cost time and nothing else. A block that ends
two model's processes is set aside: it would end the next ones too.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairness_engine.cluster.counts import ClusterCounts
from fairness_engine.cluster.host import Answer, HeldFiles, answer_block, forget_files
from fairness_engine.errors import EvenhandError, RunError

if TYPE_CHECKING:
    from distributed import Client, Future

_MAX_ENDED = 2
"""Model's processes that a block may end before it is set aside."""
_MAX_LOST = 20
"""Processes of the cluster that may be lost with a block: others may be killing them."""
_STUCK_SECONDS = 60.0
"""When nothing was answered for so long, what is out is asked again."""
_CONNECT_SECONDS = 15.0
_RECONNECT_SECONDS = 600.0
"""How long a lost scheduler may take to come back."""
_TICK_SECONDS = 0.5
_CLOSE_SECONDS = 5.0


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
        answer: takes the number of a block and the reply, a line of JSON; called by a thread of this object.

    Raises:
        RunError: there is no such cluster, or nobody works in it.
    """

    def __init__(self, address: str, held: HeldFiles, folder: Path, answer: Callable[[int, str], None]) -> None:
        self.counts = ClusterCounts()
        self.failure: EvenhandError | None = None
        """Why no more blocks can be done."""
        self._address = address
        self._held = held
        self._folder = folder
        self._answer = answer
        self._pending: dict[int, _Pending] = {}
        self._came: queue.SimpleQueue[tuple[int, Future[Answer]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._heard = time.monotonic()
        self._cluster: Any = None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what it has to say of lost workers is no news
        self._client = self._connect()
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
        self._submit(number)

    def close(self) -> None:
        """Ask no more, and end what works on it."""
        self._is_closed = True
        self._came.put(None)
        with contextlib.suppress(Exception):  # it may be gone
            self._client.run(forget_files, self._held.key, nanny=False, on_error="ignore", wait=False)
        with contextlib.suppress(Exception):
            self._client.close(timeout=_CLOSE_SECONDS)
        self._end_cluster()
        self._thread.join(_CLOSE_SECONDS)

    # --- the cluster ----------------------------------------------------------------------

    def _connect(self) -> Client:
        from distributed import Client

        try:
            where = self._start_here() if self._address.isdigit() else self._address
            client = Client(where, timeout=_CONNECT_SECONDS, set_as_default=False)
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError, ImportError, RuntimeError) as error:
            self._end_cluster()
            raise RunError(
                f"The cluster must answer and have processes that work, got from '{self._address}': {error}. "
                "Start its scheduler and workers, or run without it."
            ) from None
        self._count(client)
        self.counts.dashboard = client.dashboard_link if self._cluster is None else ""
        return client

    def _start_here(self) -> Any:
        from distributed import LocalCluster
        from distributed.security import Security

        self._end_cluster()
        self._cluster = LocalCluster(
            n_workers=int(self._address),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            security=Security.temporary(),  # other people of this machine must not give it work
            memory_limit=0,
            local_directory=str(self._folder),
            silence_logs=logging.CRITICAL,
        )
        return self._cluster

    def _end_cluster(self) -> None:
        if self._cluster is not None:
            with contextlib.suppress(Exception):
                self._cluster.close(timeout=_CLOSE_SECONDS)
            self._cluster = None

    def _count(self, client: Client) -> None:
        with contextlib.suppress(Exception):
            self.counts.n_workers = len(client.scheduler_info(n_workers=-1)["workers"])

    def _reconnect(self) -> None:
        """Find the scheduler again, or start what was started here anew; what is out is asked again.

        Raises:
            RunError: it does not come back.
        """
        with contextlib.suppress(Exception):
            self._client.close(timeout=1)
        deadline = time.monotonic() + _RECONNECT_SECONDS
        while not self._is_closed:
            try:
                self._client = self._connect()
                return
            except RunError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_TICK_SECONDS)

    # --- blocks ---------------------------------------------------------------------------

    def _submit(self, number: int) -> None:
        with self._lock:
            block = self._pending.get(number)
            if block is None:
                return
            block.n_asked += 1
            key = f"evenhand-{self._held.key[:12]}-{id(self)}-{number}-{block.n_asked}"
        with contextlib.suppress(Exception):  # the thread that listens notices that the scheduler is lost
            future = self._client.submit(answer_block, self._held, block.ask, key=key, pure=False)
            block.future = future
            future.add_done_callback(lambda done: self._came.put((number, done)))

    def _again(self, number: int) -> None:
        self.counts.n_repeated += 1
        self._submit(number)

    def _collect(self) -> None:
        """Pass answers on until this object is closed."""
        while not self._is_closed:
            try:
                came = self._came.get(timeout=_TICK_SECONDS)
                if came is not None:
                    self._take(*came)
            except queue.Empty:
                self._look()
            except EvenhandError as error:
                self.failure = error
                return
            except OSError:  # whom the answers are for is gone
                return

    def _look(self) -> None:
        """See that the scheduler is there, and that blocks move."""
        if self._is_closed or not self._pending:
            return
        is_lost = self._client.status not in ("running", "newly-created")
        if not is_lost and time.monotonic() - self._heard < _STUCK_SECONDS:
            return
        if is_lost:
            self._reconnect()
        self._heard = time.monotonic()
        self._count(self._client)
        for number in list(self._pending):
            self._again(number)

    def _take(self, number: int, future: Future[Answer]) -> None:
        block = self._pending.get(number)
        if block is None or self._is_closed:
            return
        try:
            answer = future.result(timeout=_CONNECT_SECONDS) if future.status == "finished" else None
        except Exception:  # noqa: BLE001 - the process that has it is lost, whatever it is called
            answer = None
        if answer is None:
            self._lost(number, block)
        elif answer.reply:
            self._done(number, answer.reply)
        else:
            self._ended(number, block)

    def _lost(self, number: int, block: _Pending) -> None:
        """The process that had it is gone, or the scheduler that knew of it."""
        if self._client.status not in ("running", "newly-created"):
            self._look()
            return
        block.n_lost += 1
        if block.n_lost > _MAX_LOST:
            self._set_aside(number)
        else:
            self._again(number)

    def _ended(self, number: int, block: _Pending) -> None:
        """It ended the model's process."""
        block.n_ended += 1
        if block.n_ended >= _MAX_ENDED:
            self._set_aside(number)
        else:
            self._again(number)

    def _set_aside(self, number: int) -> None:
        self.counts.n_set_aside += 1
        self._done(number, "{}", is_answered=False)

    def _done(self, number: int, reply: str, *, is_answered: bool = True) -> None:
        with self._lock:
            if self._pending.pop(number, None) is None:
                return
        self._heard = time.monotonic()
        self.counts.n_done += is_answered
        self._answer(number, reply)
