"""Models that are opened, because their kind was allowed, and then behave as no model should."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from acceptance.hostile_case import Case, Maker, Place

ALLOWED = ("--unsafe-formats",)


class Doing:
    """Pickles to a program that runs where the model is opened."""

    def __init__(self, program: str) -> None:
        self.program = program

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (self.program,)


def does(program: str) -> Maker:
    """A pickle that does this; `MARKER` in it is the marker's path."""

    def make(place: Place) -> Path:
        path = place.folder / "model.pkl"
        path.write_bytes(pickle.dumps(Doing(program.replace("MARKER", repr(str(place.marker))))))
        return path

    return make


def case(name: str, program: str, says: str, status: int = 2) -> Case:
    """Opened, for it is allowed, and then told in one sentence."""
    return Case(name, does(program), says, status, options=ALLOWED)


WALL = r"could not be loaded .PermissionError"
ERROR = "The file could not be loaded"
LEFT = "model's process ended before its work was done"
MET = "model's process met an error it did not expect"
NONE = "must hold a scikit-learn classifier, got 'NoneType'"
MARK = "\ntry:\n  open(MARKER, 'w').close()\nexcept OSError:\n  pass"

CASES = (
    case("nothing", "pass", "The model file must hold a scikit-learn classifier, got"),
    case("a file of elsewhere", "open(MARKER, 'w')", WALL, 2),
    case(
        "a file of elsewhere, and nothing said of it", MARK, "The model file must hold a scikit-learn classifier, got"
    ),
    case("a link", "import os; os.symlink('/etc/passwd', MARKER)", WALL),
    case("a folder", "import os; os.mkdir(MARKER)", WALL),
    case("a program", "import os; os.execv('/bin/sh', ['sh', '-c', 'touch ' + MARKER])", WALL),
    case("a program by subprocess", "import subprocess; subprocess.run(['touch', MARKER], check=True)", WALL),
    case("a process", "import os; os.fork()", WALL),
    case("a connection", "import socket; socket.create_connection(('127.0.0.1', 80), 1)", WALL),
    case("a signal to its parent", "import os, signal; os.kill(os.getppid(), signal.SIGKILL)", WALL),
    case("a signal to all", "import os, signal; os.kill(-1, signal.SIGTERM)", WALL),
    case("the password file", "open('/etc/shadow').read()", WALL),
    case("the workspace", "import os; os.listdir(MARKER[:-6] + 'workspace')", WALL),
    case("an end", "import sys; sys.exit(0)", MET, 3),
    case("an end at once", "import os; os._exit(0)", LEFT, 3),
    case("an end with a status", "import os; os._exit(77)", LEFT, 3),
    case("an interrupt", "raise KeyboardInterrupt", MET, 3),
    case("a crash", "import ctypes; ctypes.string_at(0)", LEFT, 3),
    case("an abort", "import os; os.abort()", LEFT, 3),
    case("an error with a long message", "raise ValueError('x' * 100_000)", ERROR),
    case("an error with lines", "raise ValueError('a\\nb\\x1b[31mc')", ERROR),
    case("an error without words", "raise ValueError", ERROR),
    case(
        "an error that cannot be written", "class E(Exception):\n  def __str__(self): raise ValueError\nraise E", MET, 3
    ),
    case(
        "an error of the workspace's own",
        "from fairness_engine.errors import ModelError\nraise ModelError('y' * 5000)",
        "The file could not be loaded",
    ),
    case("calls without end", "f = lambda f: f(f)\nf(f)", "could not be loaded .RecursionError"),
    case("all memory", "x = bytearray(1 << 40)", ERROR),
    case("noise on its line", "import os; os.write(1, b'noise\\n' * 1000)", NONE),
    case("a lie on its line", 'import os; os.write(1, b\'{"event": "Stopped"}\\n\')', NONE),
    case("a line without end", "import os\nfor _ in range(400): os.write(1, b'x' * 1_000_000)", NONE),
    case("noise among the errors", "import os\nfor _ in range(200): os.write(2, b'x' * 1_000_000)", NONE),
    case("its line closed", "import os; os.close(1)", NONE),
    case("its input closed", "import os; os.close(0)", NONE),
    case(
        "a deep tree of folders",
        "import os, time\nfor _ in range(3000):\n  os.mkdir('d'); os.chdir('d')\ntime.sleep(600)",
        "a folder that cannot be looked into",
        3,
    ),
)
"""Each ends `inspect` with one sentence; nothing of it reaches further than its own process."""
