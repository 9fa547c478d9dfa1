"""What it costs to keep a sample of whom a search tests, so that it can be watched afterwards.

``python -m benchmarks.watching`` with ``EVENHAND_SHARED`` set. Each search runs with and without the sample, one after
the other, many times: processor seconds of the whole search and of writing its file, and the file's size.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from benchmarks.search_cases import CASES
from benchmarks.search_runs import Bench
from benchmarks.table import keep, machine, markdown
from fairness_engine.events import PeopleSampled, to_line
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.oracle.tested import TestedPeople
from fairness_engine.oracle.tested_sample import TestedSample
from fairness_engine.runs.writers.tested import write_tested
from fairness_engine.search.driver import run_search

_SEARCHES = ("aequitas", "directed", "maft", "maft-plus", "sg", "sg-shared", "random")
_MOST = {"sg": 500_000}
"""Evaluations of the slow ones."""
_EVALUATIONS = 2_000_000


def _search(case, technique, budget: Budget, seed: int) -> tuple[float, TestedPeople | None]:
    latest = None
    began = time.process_time()
    for event in run_search(technique, case.model, case.domain, case.rows, budget, seed):
        if isinstance(event, PeopleSampled):
            to_line(event)
            latest = event
    spent = time.process_time() - began
    return spent, TestedPeople(**latest.arrays, phases=latest.phases) if latest else None


@contextlib.contextmanager
def _without_sample():
    with (
        patch.object(TestedSample, "add", lambda *_: None),
        patch.object(Oracle, "name_step", lambda *_: None),
        patch("fairness_engine.search.driver._sampled", lambda _: None),
    ):
        yield


def main() -> None:
    """Print the table and keep it in ``watching.md``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="adult-age", choices=CASES)
    parser.add_argument("--repeats", type=int, default=11)
    asked = parser.parse_args()
    case = CASES[asked.case]()
    lines = []
    for name in _SEARCHES:
        technique = Bench.prepared(case, name)
        budget = Budget(_MOST.get(name, _EVALUATIONS))
        with_sample = []
        without = []
        ratios = []
        people = None
        for seed in range(asked.repeats):
            spent = {}
            for keeps in (True, False) if seed % 2 else (False, True):  # neither is always the first
                with contextlib.nullcontext() if keeps else _without_sample():
                    spent[keeps], kept = _search(case, technique, budget, seed)
                people = kept or people
            with_sample.append(spent[True])
            without.append(spent[False])
            ratios.append(spent[True] / spent[False])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tested.npz"
            began = time.process_time()
            write_tested(path, people)
            writing = time.process_time() - began
            size = path.stat().st_size
        line = [
            name,
            f"{budget.max_evaluations:,}",
            f"{statistics.median(without):.3f}",
            f"{statistics.median(with_sample):.3f}",
            f"{100 * (statistics.median(ratios) - 1):+.1f} %",
            f"{len(people):,}",
            f"{1000 * writing:.0f}",
            f"{size / 1000:,.0f}",
        ]
        print(" | ".join(line), flush=True)
        lines.append(line)
    header = ["search", "rows evaluated", "s without", "s with", "cost", "people kept", "ms to write", "kB of file"]
    title = f"{case.title}; medians of {asked.repeats} runs, {machine()}."
    keep("watching", "What keeping a sample of a search costs", [title, markdown(header, lines)])


if __name__ == "__main__":
    main()
