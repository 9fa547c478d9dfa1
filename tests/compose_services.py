"""The services of ``compose.yaml`` on this machine, without containers: each is the program of its command with the
environment of its service, begun when what it waits for is there, and asked by its own health check.

Other than in the file are: names of hosts (this machine), ports (free ones) and folders (of the test). What the images
of others bring is stood in for: the database by PostgreSQL's programs of this machine (``own_cluster.py``), the store
and its client by ``object_store.py``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, closing, suppress
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

import own_cluster
from worker_cases import wait_for

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = ROOT / "compose.yaml"
CONTAINERFILE = ROOT / "Containerfile"
GIVEN = {"EVENHAND_NAME": "evenhand.example.org", "EVENHAND_PASSWORD": own_cluster.PASSWORD}
"""What a person gives with ``docker compose up``."""
PORTS = {"app": (8501,), "database": (5432,), "files": (9000,), "scheduler": (8786, 8787)}
HERE = "127.0.0.1"
THIS_MACHINE_ALONE = {"scheduler": ["--host", HERE], "worker": ["--host", HERE]}
"""In a container they listen on the network of the services, which nobody else reaches."""
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::\?[^}]*)?\}")
_ADDRESS = re.compile(rf"(?:\b(?:{'|'.join(PORTS)})|127\.0\.0\.1)?:(\d{{4}})\b")
_STOP_SECONDS = 20.0


class Services:
    """The services, from their start to their end.

    Args:
        folder: for all that they write.
        database: a server without a database of theirs.
        s3_python: of the environment of ``requirements-servers.txt``.
    """

    def __init__(self, folder: Path, database: own_cluster.Cluster, s3_python: str) -> None:
        self.folder = folder
        self.services: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
        with ExitStack() as held:  # all at once, so that they are different ones
            known = (port for ports in PORTS.values() for port in ports if port != PORTS["database"][0])
            self.ports = {port: _free_port(held) for port in known} | {PORTS["database"][0]: database.port}
        self._database = database
        self._s3_python = s3_python
        self._programs = self._write_programs()
        self.processes: dict[str, list[subprocess.Popen[bytes]]] = {}

    # --- what is told ---------------------------------------------------------------------

    def told(self, text: str) -> str:
        """A text of the file as its service reads it, with places of this machine."""
        text = _VARIABLE.sub(lambda found: "$" if found[0] == "$$" else GIVEN[found[1]], text)
        text = _ADDRESS.sub(lambda found: f"{HERE}:{self.ports[int(found[1])]}", text)
        if text.isdigit() and int(text) in self.ports:
            return str(self.ports[int(text)])
        if text == "0.0.0.0":
            return HERE
        return str(self.folder / text[1:]) if text.startswith("/") else text

    def command(self, name: str) -> list[str]:
        """What a service runs."""
        service = self.services[name]
        if name == "files":
            return [self._s3_python, str(ROOT / "tests" / "object_store.py"), "serve", str(self.ports[9000])]
        words = [self.told(word) for word in service.get("entrypoint", []) + service.get("command", [])]
        return words + THIS_MACHINE_ALONE.get(name, [])

    def environment(self, name: str) -> dict[str, str]:
        """What a service finds: what its image says, what its service says, and how this machine finds programs."""
        service = self.services[name]
        written = {key: self.told(value) for key, value in service.get("environment", {}).items()}
        of_image = {key: self.told(value) for key, value in _image_environment().items()} if "build" in service else {}
        runtime = self.folder / "run" / name  # a fork server that stands by is found by its own service alone
        runtime.mkdir(parents=True, exist_ok=True)
        return self.here() | of_image | written | {"XDG_RUNTIME_DIR": str(runtime)}

    def here(self) -> dict[str, str]:
        """What every program of this machine needs, and nothing of the file: loops and fork server are all tests'."""
        path = (str(self._programs), str(Path(sys.executable).parent), str(self._database.programs), "/usr/bin", "/bin")
        kept = ("NUMBA_CACHE_DIR", "XDG_RUNTIME_DIR")
        return {name: os.environ[name] for name in kept if name in os.environ} | {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
            "PGPORT": str(self.ports[5432]),  # of programs that are told none
            "MC_CONFIG_DIR": str(self.folder / "mc"),
            "MC_HOST_local": f"http://{HERE}:{self.ports[9000]}",
        }

    # --- their life -----------------------------------------------------------------------

    def up(self) -> None:
        """Start each when what it waits for is there."""
        needs = {name: service.get("depends_on", {}) for name, service in self.services.items()}
        for name in TopologicalSorter(needs).static_order():
            for needed, how in needs[name].items():
                self._wait(needed, how["condition"])
            self.start(name)
        for name in self.services:
            if self.health_check(name):
                self._wait(name, "service_healthy")

    def start(self, name: str) -> None:
        """Start a service, as often as it says."""
        if name == "database":
            self._make_database()
            return
        n_copies = self.services[name].get("deploy", {}).get("replicas", 1)
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = [
                subprocess.Popen(
                    self.command(name),
                    env=self.environment(name),
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
                for _ in range(n_copies)
            ]

    def health_check(self, name: str) -> list[str]:
        """What is asked whether a service is well: by the file, else by its image; empty for nothing."""
        service = self.services[name]
        written = service.get("healthcheck", {"test": _image_health_check()} if "build" in service else {})
        if written.get("disable") or "test" not in written:
            return []
        how, *words = written["test"]
        assert how == "CMD"
        return [self.told(word) for word in words]

    def is_healthy(self, name: str) -> bool:
        """Ask a service as its health check does."""
        asked = subprocess.run(
            self.health_check(name), env=self.environment(name), cwd=self.folder, capture_output=True, check=False
        )
        return asked.returncode == 0

    def log(self, name: str) -> str:
        """What a service said."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End all of them, those that wait for others first."""
        for processes in reversed(self.processes.values()):
            for process in processes:
                process.terminate()
        for processes in self.processes.values():
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_SECONDS)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # what it left
                process.wait()

    def at_work(self) -> list[str]:
        """Command lines of the processes that work in the folder, or name it."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if (entry / "cwd").readlink().is_relative_to(self.folder) or str(self.folder) in line:
                        found.append(line)
        return found

    def _wait(self, name: str, condition: str) -> None:
        """Wait as ``depends_on`` says."""
        if condition == "service_completed_successfully":
            assert [process.wait(60) for process in self.processes[name]] == [0], self.log(name)
        else:
            assert condition == "service_healthy"
            wait_for(lambda: self._is_alive(name) and self.is_healthy(name))

    def _is_alive(self, name: str) -> bool:
        for process in self.processes.get(name, []):
            assert process.poll() is None, self.log(name)
        return True

    def _make_database(self) -> None:
        """What the image does with its variables."""
        told = self.environment("database")
        assert (told["POSTGRES_USER"], told["POSTGRES_PASSWORD"]) == (own_cluster.USER, own_cluster.PASSWORD)
        self._database.tell(f"CREATE DATABASE {told['POSTGRES_DB']}")

    def _write_programs(self) -> Path:
        """Programs that the images have, where the path begins."""
        folder = self.folder / "bin"
        folder.mkdir()
        store = [self._s3_python, str(ROOT / "tests" / "object_store.py"), "mc"]
        for name, words in {"evenhand": [sys.executable, "-m", "evenhand"], "mc": store}.items():
            (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
            (folder / name).chmod(0o755)
        return folder


def _image_environment() -> dict[str, str]:
    """What the Containerfile sets, but for the path."""
    (line,) = re.findall(r"^ENV (.+)$", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: value for name, _, value in (word.partition("=") for word in line.split()) if name != "PATH"}


def _image_health_check() -> list[str]:
    """The check of the Containerfile, in the words of a compose file."""
    (line,) = re.findall(r"^HEALTHCHECK .*CMD (\[.+\])$", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    return ["CMD", *json.loads(line)]


def _free_port(held: ExitStack) -> int:
    free = held.enter_context(closing(socket.socket()))
    free.bind((HERE, 0))
    port: int = free.getsockname()[1]
    return port
