"""Seconds of what searches ask of networks, and of whole searches; beside another version of the project, in turns.

EVENHAND_SHARED=... .venv/bin/python -m benchmarks.network_rows --beside FOLDER

FOLDER holds a checkout of the other version; both run with this Python, each round in a process of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = ("maft-adult", "maft-german", "maft-heart", "AC-1", "AC-3", "AC-6", "GC-1", "BM-1")
SEARCHED = ("adult-age", "adult-sex", "german-sex")
WIDTHS = (256, 1000)
ROUNDS = 5
REPEATS = 5
Ask = Callable[[], object]


def seconds_of_all() -> dict[str, float]:
    """Median seconds of every question, of the version that this process imports."""
    figures = {}
    for name, ask in _questions():
        ask()
        figures[name] = statistics.median(_seconds(ask) for _ in range(REPEATS))
    return figures


def _seconds(ask: Ask) -> float:
    started = time.perf_counter()
    ask()
    return time.perf_counter() - started


def _questions() -> Iterator[tuple[str, Ask]]:
    from benchmarks.certification_cases import network_case
    from benchmarks.search_cases import CASES

    rng = np.random.default_rng(0)
    for name in NETWORKS:
        case = network_case(name)
        yield from _of_network(name, case.model, case.domain.sample(20_000, rng), np.asarray(case.domain.free))
    for width in WIDTHS:
        yield f"{width} units twice: margins of 4,000 rows", _wide(width, rng)
    for name in SEARCHED:
        yield from _of_searches(CASES[name]())


def _of_network(name: str, model: Any, rows: np.ndarray, columns: np.ndarray) -> Iterator[tuple[str, Ask]]:
    steps = np.ones((2_000, len(columns)))
    yield f"{name}: margins of 20,000 rows", lambda: model.margins(rows)
    yield f"{name}: margins of one row, 500 times", lambda: [model.margins(rows[i : i + 1]) for i in range(500)]
    yield f"{name}: gradients of 4,000 rows", lambda: model.gradients(rows[:4_000])
    yield f"{name}: scores around 2,000 rows", lambda: model.nearby_scores(rows[:2_000], columns, steps)


def _wide(width: int, rng: np.random.Generator) -> Ask:
    from fairness_engine.models.dense.layers import Activation
    from fairness_engine.models.dense.network import DenseNetwork, Layer

    sizes = (20, width, width, 1)
    layers = [
        Layer(rng.normal(size=(a, b)) / a**0.5, rng.normal(size=b), Activation.RELU if b > 1 else Activation.LINEAR)
        for a, b in itertools.pairwise(sizes)
    ]
    network = DenseNetwork(layers)
    inputs = rng.normal(size=(4_000, 20))
    return lambda: network.margins(inputs, 0.5)


def _of_searches(case: Any) -> Iterator[tuple[str, Ask]]:
    from fairness_engine.oracle.budget import Budget
    from fairness_engine.search.driver import run_search
    from fairness_engine.search.registry import TECHNIQUES

    budgets = {
        "maft": Budget(300_000),
        "eidig": Budget(300_000),
        "directed": Budget(300_000),
        "data-scan": Budget(),
        "random": Budget(1_000_000),
    }
    for name, budget in budgets.items():
        technique = TECHNIQUES[name]()
        technique.warm_up()

        def search(technique: Any = technique, budget: Any = budget) -> object:
            return list(run_search(technique, case.model, case.domain, case.rows, budget, 1))

        rows = f"{budget.max_evaluations:,.0f} rows" if budget.max_evaluations else "all rows"
        yield f"{case.title}: {name}, {rows}", search


def _in_turns(other: Path) -> dict[str, tuple[float, float]]:
    """Median seconds of this version and of the other, over rounds in which they take turns."""
    figures: dict[str, list[list[float]]] = {}
    for _ in range(ROUNDS):
        for side, folder in enumerate((ROOT, other)):
            environment = os.environ | {"PYTHONPATH": str(folder)}
            command = [sys.executable, str(Path(__file__).resolve()), "--alone"]
            done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True, text=True)
            for name, seconds in json.loads(done.stdout.splitlines()[-1]).items():
                figures.setdefault(name, [[], []])[side].append(seconds)
    return {name: (statistics.median(here), statistics.median(there)) for name, (here, there) in figures.items()}


def main() -> None:
    """Measure, and keep the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--beside", type=Path)
    options.add_argument("--alone", action="store_true")
    asked = options.parse_args()
    if asked.alone:
        print(json.dumps(seconds_of_all()))
        return
    from benchmarks.table import keep, markdown

    if asked.beside is None:
        options.error("--beside FOLDER: the other version")
    rows = [
        [name, f"{1000 * there:.2f}", f"{1000 * here:.2f}", f"{there / here:.2f} x"]
        for name, (here, there) in _in_turns(asked.beside.resolve()).items()
    ]
    about = (
        f"Medians of {ROUNDS} rounds in which both versions take turns, each the median of {REPEATS} times in one "
        "process; one thread of linear algebra."
    )
    table = markdown(("question", "before, ms", "after, ms", "times as fast"), rows)
    keep("network_rows", "What searches ask of networks, in sums of a fixed order and before", [about, table])


if __name__ == "__main__":
    main()
