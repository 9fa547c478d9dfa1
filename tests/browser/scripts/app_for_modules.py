"""The app as `python -m evenhand app` starts it, which goes on to the workspace that it is told: tests of one module
after the other need not start it anew, each in a workspace of its own.

Its standard input is a socket: a path comes in, `ready` goes out.
"""

import os
import socket
import threading
from pathlib import Path

from evenhand import launcher
from fairness_engine.store.environment import WORKSPACE_VARIABLE
from pages.shared.app.frame import LOG


def go_on(told: socket.socket) -> None:
    """Take one workspace after the other; what pages keep, they keep by workspace or by the names of what is in it."""
    while path := told.recv(4096):
        os.environ[WORKSPACE_VARIABLE] = str(launcher.prepare_workspace(Path(path.decode())))
        LOG.handlers.clear()  # the log lies in the workspace
        told.sendall(b"ready")


if __name__ == "__main__":
    threading.Thread(target=go_on, args=(socket.socket(fileno=0),), daemon=True).start()
    raise SystemExit(launcher.main())
