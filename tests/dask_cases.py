"""A cluster of this machine whose processes can be killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import held_blocks
from worker_cases import ROOT

PATIENCE_SECONDS = 300.0


class Dask:
    """A scheduler and its workers, each a process of its own.

    Attributes:
        hold: while this file is there, each worker answers its first two blocks and no other.
        ends: while this one is there, each worker's model is ended as it is opened.
    """

    def __init__(self, folder: Path, n_workers: int) -> None:
        from distributed import Client  # whoever has none skips the tests

        self.folder = folder
        self.hold = folder / "hold"
        self.ends = folder / held_blocks.ENDS
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(n_workers)]
        with Client(self.address, timeout=PATIENCE_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=PATIENCE_SECONDS)  # a run could be over before they are there

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start("dask_scheduler", "--host", self.address, "--no-dashboard", "--no-show")

    def start_worker(self, folder: Path | None = None) -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder or self.folder))
        return self._start("dask_worker", self.address, *options, "--preload", held_blocks.__file__)

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        environment[held_blocks.HOLD_VARIABLE] = str(self.hold)
        with (self.folder / "dask.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)

    def close(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
