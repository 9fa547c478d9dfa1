"""A page of texts and nothing else, by the same Streamlit on the same machine: what others take is told as a ratio to
it, so that tables of two machines, or of a quiet and a busy hour, can be compared.

Part of ``python -m benchmarks.app``.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg

from benchmarks.app_sessions import Visit

N_TEXTS = 50
MAX_SECONDS_TO_START = 60.0
_PAGE = f"""
import streamlit as st

for number in range({N_TEXTS}):
    st.markdown(f"Text {{number}}")
"""
_AS_THE_APP = ("server.fileWatcherType=none", "runner.postScriptGC=false", "runner.magicEnabled=false")
"""Settings of ``.streamlit/config.toml`` that take time where they are left."""


@dataclass(frozen=True)
class BareServer:
    """Where the page of texts is."""

    url: str
    pid: int


@contextlib.contextmanager
def bare_server() -> Iterator[BareServer]:
    """Serve the page of texts.

    Raises:
        TimeoutError: it does not answer.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.py"
        page.write_text(_PAGE, encoding="utf-8")
        settings = (f"server.port={port}", "server.headless=true", "browser.gatherUsageStats=false", *_AS_THE_APP)
        command = [sys.executable, "-m", "streamlit", "run", str(page), *(f"--{setting}" for setting in settings)]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                server = BareServer(f"http://127.0.0.1:{port}", process.pid)
                _wait_for(server)
                yield server
            finally:
                process.kill()


def _wait_for(server: BareServer) -> None:
    deadline = time.monotonic() + MAX_SECONDS_TO_START
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{server.url}/_stcore/health").close()
            return
        time.sleep(0.1)
    raise TimeoutError(f"A page of texts must answer within {MAX_SECONDS_TO_START:.0f} seconds, but did not.")


def bare_visit() -> Visit:
    """Opens the page, and asks for it again."""
    asked = BackMsg()
    asked.rerun_script.query_string = ""
    return Visit(f"{N_TEXTS} texts and nothing else", asked, asked)
