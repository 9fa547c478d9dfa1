"""A server of PostgreSQL of the tests' own: Debian's programs, in a temporary folder, on a port of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

USER = "evenhand"
PASSWORD = "open-sesame-4711"
"""No other text of the tests holds it, so that it can be looked for where it must not be."""
_SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
fsync = off
full_page_writes = off
max_connections = 200
"""


@dataclass(frozen=True)
class Cluster:
    """A server at work.

    Args:
        programs: folder of PostgreSQL's programs.
        folder: of its data.
        port: of 127.0.0.1.
        account: that runs it; ``None`` for this process's own, for root must not.
    """

    programs: Path
    folder: Path
    port: int
    account: str | None

    def do(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs."""
        group = "" if self.account is None else self.account
        account = {} if self.account is None else {"user": self.account, "group": group, "extra_groups": [group]}
        log = (self.folder.parent / "log").open("ab")
        with log:
            command = [str(self.programs / program), "-D", str(self.folder), *arguments]
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd="/", stdin=subprocess.DEVNULL, **account)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.do("pg_ctl", "start", "-w", "-l", str(self.folder / "server.log"))

    def stop(self, mode: str = "fast") -> None:
        """Stop it: connections are ended (``fast``), or it falls as by a crash (``immediate``)."""
        self.do("pg_ctl", "stop", "-w", "-m", mode)

    def url(self, name: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{name}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a new, empty database, which goes with the test."""
        name = f"t{secrets.token_hex(6)}"
        self.tell(f"CREATE DATABASE {name} ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' TEMPLATE template0")
        yield self.url(name)
        self.tell(f"DROP DATABASE {name} WITH (FORCE)")

    def tell(self, statement: str) -> None:
        """Work one statement."""
        engine = create_engine(self.url(), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))
        engine.dispose()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A server of its own; it is gone with the block."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not here: its programs (initdb) were not found; on Debian: apt install postgresql")
    pytest.importorskip("psycopg")
    account = "postgres" if os.geteuid() == 0 else None
    outer = Path(tempfile.mkdtemp(prefix="evenhand-pg-"))
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Cluster(programs, outer / "data", port, account)
    secret = outer / "password"
    secret.write_text(PASSWORD)
    if account is not None:
        for path in (outer, secret):
            shutil.chown(path, account, account)
    made.do("initdb", "--no-sync", "-A", "scram-sha-256", "-U", USER, f"--pwfile={secret}", "-E", "UTF8")
    settings = _SETTINGS.format(port=port, folder=outer)
    with (made.folder / "postgresql.conf").open("a") as file:
        file.write(settings)
    made.start()
    try:
        yield made
    finally:
        made.stop("immediate")
        shutil.rmtree(outer, ignore_errors=True)


def _programs() -> Path | None:
    """Where they are: on the path, else where Debian puts them, the newest version first."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(found, key=lambda path: float(path.parts[-3]), reverse=True)
    return newest[0].parent if newest else None
