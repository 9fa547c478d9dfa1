"""Commands as anybody runs them, for tests that import nothing of the engine."""

from __future__ import annotations

import json
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


def run(*arguments: str) -> Told:
    """Run a command to its end."""
    command = [sys.executable, "-m", "fairness_engine", *arguments, "--json", "-", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout, done.stderr
    return Told(done.returncode, json.loads(done.stdout), done.stderr)
