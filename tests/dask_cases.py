"""A cluster of this machine whose processes can be killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from worker_cases import ROOT


class Dask:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path, n_workers: int) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(n_workers)]

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start("dask_scheduler", "--host", self.address, "--no-dashboard", "--no-show")

    def start_worker(self, folder: Path | None = None) -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder or self.folder))
        return self._start("dask_worker", self.address, *options)

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        with (self.folder / "dask.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)

    def close(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
