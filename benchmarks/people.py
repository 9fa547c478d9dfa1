"""Who is found: how many pairs are of two people who could exist, and how much they look like the data.

``python -m benchmarks.people`` with ``EVENHAND_SHARED`` set writes ``benchmarks/people.md``. Pairs are judged by the
exact measure (docs/techniques.md, *Plausibility*), the same for every technique.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.search_cases import CASES, Case
from benchmarks.search_runs import Bench
from benchmarks.table import keep, markdown
from fairness_engine.errors import EvenhandError
from fairness_engine.events import PairsFound, Stopped
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.oracle.budget import Budget
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES

_CASES = ("adult-age", "adult-sex", "adult-forest")
N_ROWS = 2_000_000
MAX_SECONDS = 60.0
N_JUDGED = 10_000
"""Pairs of a run that are judged, drawn evenly."""
_HEADER = (
    "technique",
    "IDIs",
    "per 1,000 rows",
    "of two plausible people",
    "such pairs per 1,000 rows",
    "of one",
    "naturalness",
    "stopped by",
)
_NOTE = (
    "Budget {rows:,} rows evaluated or {seconds:g} s, seed 0, settings as they come. {judged:,} pairs of a run at most "
    "are judged. A data scan ends with the data. *Of two plausible people*: each of the two is near the data and has "
    "no values that practically never occur together, protected ones included. *Naturalness*: LIMI's, of both people "
    "of the pairs against the data; compare it with the data scan's, whose people are real but for protected values."
)


def line(case: Case, plausibility: Plausibility, name: str) -> list[str]:
    """What one technique finds."""
    technique = Bench.prepared(case, name)
    batches = []
    stopped = None
    for event in run_search(technique, case.model, case.domain, case.rows, Budget(N_ROWS, MAX_SECONDS), 0):
        if isinstance(event, PairsFound):
            batches.append(event.pairs)
        stopped = event
    if not isinstance(stopped, Stopped):
        raise TypeError(stopped)
    pairs = Pairs.concatenate(batches, case.domain.n_columns)
    if not len(pairs):
        return [technique.title, "0", *["–"] * (len(_HEADER) - 3), stopped.reason.value]
    drawn = pairs[np.random.default_rng(0).permutation(len(pairs))[:N_JUDGED]]
    each = np.stack([plausibility.are_plausible(people) for people in (drawn.first, drawn.second)]).sum(axis=0)
    natural = plausibility.naturalness(np.concatenate([drawn.first, drawn.second]))
    rate = 1000 * len(pairs) / stopped.evaluations
    return [
        technique.title,
        f"{len(pairs):,}",
        f"{rate:,.1f}",
        f"{100 * (each == 2).mean():.1f} %",
        f"{rate * (each == 2).mean():,.1f}",
        f"{100 * (each == 1).mean():.1f} %",
        f"{100 * (natural or 0.0):.1f} %",
        stopped.reason.value,
    ]


def speed(case: Case, plausibility: Plausibility) -> str:
    """How fast people are judged, beside how fast the model decides."""
    people = case.domain.sample(20_000, np.random.default_rng(1), case.rows)
    near = case.domain.variants(case.rows[:10_000])[:, :2].reshape(-1, case.domain.n_columns)
    rates = []
    for each in (near, people):
        started = time.perf_counter()
        plausibility.measure(each)
        rates.append(len(each) / (time.perf_counter() - started))
    started = time.perf_counter()
    Plausibility.learn(case.rows, case.domain, np.random.default_rng(0))
    seconds = time.perf_counter() - started
    return (
        f"Judged: {rates[0]:,.0f} real people with other protected values a second, {rates[1]:,.0f} uniform ones, on "
        f"one core; what is needed for it is learned from {len(case.rows):,} rows in {seconds:.2f} s."
    )


def part(name: str, techniques: Sequence[str]) -> str:
    """The section of a case."""
    case = CASES[name]()
    plausibility = Plausibility.learn(case.rows, case.domain, np.random.default_rng(0))
    rows = []
    left_out = []
    for each in techniques:
        try:
            rows.append(line(case, plausibility, each))
        except EvenhandError as error:
            left_out.append(f"{TECHNIQUES[each].title}: {error}")
            continue
        print(name, rows[-1], flush=True)
    parts = [f"## {case.title}", markdown(_HEADER, rows), speed(case, plausibility)]
    return "\n\n".join([*parts, *left_out])


def main() -> None:
    """All cases; the table is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=_CASES, default=_CASES)
    parser.add_argument("--techniques", nargs="+", choices=tuple(TECHNIQUES), default=tuple(TECHNIQUES))
    options = parser.parse_args()
    note = _NOTE.format(rows=N_ROWS, seconds=MAX_SECONDS, judged=N_JUDGED)
    parts = [note, *(part(name, options.techniques) for name in options.only)]
    if options.only == _CASES and options.techniques == tuple(TECHNIQUES):
        keep("people", "People who could exist", parts)
    else:
        print("\n\n".join(parts))


if __name__ == "__main__":
    main()
