"""Compile loops of this version beside something else: `make test` does it while style and types are checked.

    .venv/bin/python scripts/compile_loops.py [models] [searches] [certifications]

Without a name, all of them.

A second call, at the same time or later, does nothing again; the first runs, and the tests, wait for what is at work.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Compile; a failure is left to whoever needs the loops, who would compile for itself."""
    sys.path.insert(0, str(ROOT))
    from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled

    prepare_compiled(Path(tempfile.gettempdir()), None, *map(Loops, sys.argv[1:] or Loops))
    return 0


if __name__ == "__main__":
    sys.exit(main())
