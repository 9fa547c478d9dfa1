"""Commands as anybody gives them, for tests that import nothing of the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Told:
    """What a command said.

    Args:
        status: it left with.
        result: the object on standard output.
        errors: standard error.
    """

    status: int
    result: dict[str, Any]
    errors: str


_LOOP = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from fairness_engine.__main__ import main
for line in sys.stdin:
    print(int(main(json.loads(line))), file=answers, flush=True)
"""


class Commands:
    """One process that does one command after another: libraries are loaded once. Close it after use.

    Args:
        folder: for results and errors.
    """

    def __init__(self, folder: Path) -> None:
        self._result = folder / "result.json"
        self._errors = folder / "errors.txt"
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.open("a"),
            text=True,
            cwd=ROOT,
        )

    def run(self, *arguments: str) -> Told:
        """Run a command to its end; without a result where it was refused."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._result.unlink(missing_ok=True)
        os.truncate(self._errors, 0)
        command = [*arguments, "--json", str(self._result), "--quiet"]
        print(json.dumps(command), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        result = json.loads(self._result.read_text()) if self._result.is_file() else {}
        return Told(status, result, self._errors.read_text().strip("\0"))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
