"""Work that many processes begin at the same moment, each with a store of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["fairness_engine.store.store", "fairness_engine.runs.kinds", "psycopg"])
_SECONDS = 600.0
"""How long anything may take, however busy the machine is."""


def at_once(n: int, work: Callable[..., Any], workspace: Path, url: str | None, *arguments: Any) -> list[Any]:
    """What ``work(number, wait, workspace, url, *arguments)`` returns in each of ``n`` processes.

    Args:
        work: a function of a module; ``wait()`` lets it go on when all have come so far.
    """
    barrier = _CONTEXT.Barrier(n)
    answers = _CONTEXT.Queue()
    given = (workspace, url, *arguments)
    workers = [_CONTEXT.Process(target=_do, args=(work, barrier, answers, i, given), daemon=True) for i in range(n)]
    try:
        for worker in workers:
            worker.start()
        found = dict(answers.get(timeout=_SECONDS) for _ in workers)
        for worker in workers:
            worker.join(_SECONDS)
            assert worker.exitcode == 0
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.kill()
    return [found[number] for number in range(n)]


def _do(work: Callable[..., Any], barrier: Barrier, answers: Any, number: int, given: tuple[Any, ...]) -> None:
    try:
        answer = work(number, lambda: barrier.wait(_SECONDS), *given)
    except Exception as error:  # noqa: BLE001 - the test compares it with what was to come
        answer = f"{type(error).__name__}: {error}"
        barrier.abort()
    answers.put((number, answer))
