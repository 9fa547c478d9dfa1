"""A model's process that misbehaves in a retraining; see ``lying_child.py``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from fairness_engine.errors import StopReason
from fairness_engine.events import ResultReady, Stopped, to_line
from retrain_events import figures, part, retrained


def misbehave_in_retraining(mode: str, say: Callable[[str], None]) -> None:
    """Say what a retraining must not say, or end as none should."""
    if mode == "follow-up runs of its own":
        say(to_line(ResultReady("measured", {"before": {}, "after": {}})))
        return
    if mode == "a part after the end":
        say(to_line(Stopped(StopReason.EXHAUSTED, 1, 0.1, 1, 1)))
        say(to_line(part()))
        return
    if mode == "bytes that are none":
        say(to_line(part()).replace("bW9kZWw=", "not base64"))
        return
    say(to_line(ResultReady("before", figures())))
    say(to_line(part(b"good")))
    say(to_line(part(b"half", 0, 2, version=2)))
    if mode == "dies":
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == "ignores cancel":
        time.sleep(60)
    elif mode == "ends":
        say(to_line(ResultReady("retrained", retrained(tolerance=0.01, seed=1))))
        say(to_line(Stopped(StopReason.EXHAUSTED, 1, 0.1, 1, 1)))
