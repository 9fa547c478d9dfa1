"""A cluster of this machine that several runs use, one after the other or side by side."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from fairness_engine.errors import RunError
from fairness_engine.model_process.sandbox.walls import memory_for_others
from fairness_engine.store.environment import CLUSTER_VARIABLE

_TLS = "DASK_DISTRIBUTED__COMM__TLS__"
_START_SECONDS = 120.0
_CLOSE_SECONDS = 5.0
T = TypeVar("T")


def in_time(make: Callable[[], T], seconds: float, undo: Callable[[T], object]) -> T:
    """What is made within so long; for Dask's own limits do not hold wherever something hangs.

    Args:
        make: does it, in a thread of its own; what it raises is raised.
        undo: takes it away where it is made too late.

    Raises:
        TimeoutError: it takes longer.
    """
    made: Future[T] = Future()

    def do() -> None:
        try:
            made.set_result(make())
        except Exception as error:  # noqa: BLE001 - who waits for it raises it
            made.set_exception(error)

    threading.Thread(target=do, daemon=True, name="in time").start()
    try:
        return made.result(seconds)
    except TimeoutError as error:
        made.add_done_callback(lambda late: late.exception() or undo(late.result()))
        raise TimeoutError(str(error) or f"nothing for {seconds:.0f} seconds") from None


def start_here(n_workers: int, folder: Path) -> tuple[Any, Any]:
    """Processes of this machine, which only who has their keys can give work; and these keys.

    Raises:
        RunError: they cannot be started.
    """
    try:
        from distributed import LocalCluster
        from distributed.security import Security

        security = Security.temporary()  # for other people of this machine could reach them too

        def make() -> LocalCluster:
            return LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                security=security,
                memory_limit=0,
                local_directory=str(folder),
                silence_logs=logging.CRITICAL,
            )

        with memory_for_others():  # with the limits of the fork server that stands by they are served by it too
            started = in_time(make, _START_SECONDS, lambda late: late.close(timeout=_CLOSE_SECONDS))
    except (OSError, ImportError, RuntimeError) as error:
        raise RunError(
            f"The processes of a cluster must be startable here, got: {error}. Install evenhand[cluster], or run "
            "without --cluster."
        ) from None
    return started, security


@contextlib.contextmanager
def cluster_here(n_workers: int, folder: Path) -> Iterator[None]:
    """Processes of this machine; programs that are started meanwhile find them by their environment.

    Args:
        n_workers: how many.
        folder: for what they need.

    Raises:
        RunError: they cannot be started.
    """
    started, security = start_here(n_workers, folder)
    with tempfile.TemporaryDirectory(dir=folder) as keys:
        variables = {CLUSTER_VARIABLE: started.scheduler_address}
        parts = {"CA_FILE": "tls_ca_file", "CLIENT__KEY": "tls_client_key", "CLIENT__CERT": "tls_client_cert"}
        for name, part in parts.items():
            path = Path(keys) / name
            path.write_text(getattr(security, part))
            variables[_TLS + name] = str(path)
        before = dict(os.environ)
        os.environ.update(variables)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            with contextlib.suppress(Exception):
                started.close(timeout=_CLOSE_SECONDS)
