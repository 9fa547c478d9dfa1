"""Loaded by a process of a cluster before it begins: it answers its first two blocks, and holds the others for as long
as a file is there, so that a test can do something in the middle of a run, however fast the run is. While another file
is there, each of its model's processes is killed as it opens the model.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path
from typing import Any

from fairness_engine.cluster import host
from fairness_engine.model_process.process import ModelProcess

HOLD_VARIABLE = "EVENHAND_TESTS_HOLD"
ENDS = "ends"
"""The other file, beside the one that the variable names."""
N_ANSWERED = 2


def dask_setup(_: Any) -> None:
    """Put a process that waits in the place of the one that answers."""
    hold = Path(os.environ[HOLD_VARIABLE])
    answer_block = host.answer_block
    n_asked = itertools.count()

    def answer_when_let(held: host.HeldFiles, ask: str) -> host.Answer:
        if next(n_asked) >= N_ANSWERED:
            while hold.exists():
                time.sleep(0.02)
        return answer_block(held, ask)

    host.answer_block = answer_when_let

    ask = ModelProcess.ask

    def ask_or_end(process: ModelProcess, do: str, seconds: float, **content: Any) -> dict[str, Any]:
        if do == "open" and hold.with_name(ENDS).exists():
            os.kill(process.pid, signal.SIGKILL)
        return ask(process, do, seconds, **content)

    ModelProcess.ask = ask_or_end  # type: ignore[method-assign]
