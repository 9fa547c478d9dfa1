"""All searches for individual discrimination side by side, and the bars set for them.

``python -m benchmarks.searches`` with ``EVENHAND_SHARED`` set writes ``benchmarks/searches.md``. A part of it is printed only:
``--only adult-age,bars``, ``--techniques maft,directed``, ``--seeds 2``, ``--quick``. Every pair of every run is judged again by
an evaluation that shares nothing with the engine's (``search_cases.py``).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.aequitas import bare_rate
from benchmarks.search_cases import CASES, Case
from benchmarks.table import keep, markdown
from fairness_engine.budget import Budget
from fairness_engine.diversity import Surrogate, expected_leaves, fit_surrogate
from fairness_engine.errors import EvenhandError
from fairness_engine.events import Pairs, PairsFound, ResultReady, Stopped, StopReason
from fairness_engine.exact import can_count, run_exact
from fairness_engine.kernels import warm_up as warm_up_kernels
from fairness_engine.plausibility import Plausibility
from fairness_engine.search import requirements
from fairness_engine.search.registry import TECHNIQUES, warm_up
from fairness_engine.search.run import run_search

BUDGETS = (10_000, 100_000, 1_000_000, 2_000_000)
FOREST_BUDGETS = (10_000, 100_000, 500_000)
QUICK_BUDGETS = (10_000, 100_000)
MAX_SECONDS = 10.0
"""Limit of one run. Only SG meets it."""
_WARM_SEED = 1_000
N_PLAUSIBLE = 2_000
"""Pairs of a run whose plausibility is measured, drawn evenly."""


@dataclass(frozen=True)
class Outcome:
    """What one run came to, and what the independent evaluation says of its pairs."""

    evaluations: int
    seconds: float
    n_tried: int
    n_found: int
    is_cut: bool
    n_wrong: int
    diversity: float | None
    plausible: float | None


class Bench:
    """Runs searches on one case.

    Args:
        case: the question.
        n_seeds: every figure is of so many runs.
    """

    def __init__(self, case: Case, n_seeds: int) -> None:
        self.case = case
        self.n_seeds = n_seeds
        self.bare = bare_rate(case.model, case.domain)
        self.n_pairs = self.n_wrong = self.n_runs = 0
        surrogate = fit_surrogate(case.model, case.domain, case.rows)
        if surrogate is None:
            raise SystemExit(f"No surrogate tree of {case.name}.")
        self._surrogate: Surrogate = surrogate
        self._plausibility = Plausibility.learn(case.rows, case.domain, np.random.default_rng(0))

    def make(self, name: str, **settings: Any) -> Any:
        """A technique, after a short run of it: compiling and importing are not what is measured."""
        technique = TECHNIQUES[name](**settings)
        requirements.check(self.case.model, self.case.domain, self.case.rows, technique)
        warm_up(type(technique))
        for _ in run_search(technique, self.case.model, self.case.domain, self.case.rows, Budget(20_000), _WARM_SEED):
            pass
        return technique

    def runs(self, technique: Any, budget: Budget, *, is_described: bool = False) -> list[Outcome]:
        """The search with every seed. ``is_described``: measure diversity and plausibility as well."""
        return [self._run(technique, budget, seed, is_described) for seed in range(self.n_seeds)]

    def _run(self, technique: Any, budget: Budget, seed: int, is_described: bool) -> Outcome:
        case, batches = self.case, []
        started = time.perf_counter()
        for event in run_search(technique, case.model, case.domain, case.rows, budget, seed):
            if isinstance(event, PairsFound):
                batches.append(event.pairs)
        seconds = time.perf_counter() - started
        if not isinstance(event, Stopped):
            raise TypeError(event)
        pairs = Pairs.concatenate(batches, case.domain.n_columns)
        n_wrong = case.n_wrong(pairs) + abs(len(pairs) - event.n_found)
        self.n_runs, self.n_pairs, self.n_wrong = self.n_runs + 1, self.n_pairs + len(pairs), self.n_wrong + n_wrong
        described = self._describe(pairs) if is_described and len(pairs) else (None, None)
        is_cut = event.reason is StopReason.SECONDS
        return Outcome(event.evaluations, seconds, event.n_tried, event.n_found, is_cut, n_wrong, *described)

    def _describe(self, pairs: Pairs) -> tuple[float | None, float]:
        """Leaves that 1,000 finds lie in, and the share of plausible pairs."""
        _, counts = np.unique(self._surrogate.leaves(pairs.first), return_counts=True)
        drawn = np.random.default_rng(0).permutation(len(pairs))[:N_PLAUSIBLE]
        distance, n_unseen = self._plausibility.measure(pairs.first[drawn])
        is_plausible = (distance <= self._plausibility.limit) & (n_unseen <= 0)
        return expected_leaves(counts, 1000), float(is_plausible.mean())

    def confirmation(self) -> str:
        """The sentence about the independent evaluation."""
        return (
            f"{self.n_pairs:,} pairs of {self.n_runs:,} runs judged again by an evaluation of its own: **{self.n_wrong:,} wrong**. "
            f"The bare model decides {self.bare:,.0f} rows/s in one large batch."
        )


# --- one case -------------------------------------------------------------------------------


def case_part(case: Case, names: Sequence[str], n_seeds: int, budgets: Sequence[int]) -> str:
    """The section of a case: every technique that can run on its model, and the exact count where there is one."""
    bench = Bench(case, n_seeds)
    exact, said = _exact(case)
    rows, left_out = [], []
    for name in names:
        try:
            technique = bench.make(name)
        except EvenhandError as error:
            left_out.append(f"{TECHNIQUES[name].title}: {error}")
            continue
        rows.append(_row(bench, technique, budgets, exact))
        print(case.name, rows[-1], flush=True)
    header = ["technique", *(f"IDIs at {budget:,} rows" for budget in budgets), *_FIGURES]
    parts = [f"## {case.title}", markdown([*header, *(["of all there are"] if exact else [])], rows)]
    return "\n\n".join([*parts, " ".join([bench.confirmation(), said, *left_out]).strip()])


_FIGURES = ("per 1,000 rows", "per s", "found of those tried", "diversity", "plausible", "rows/s", "of the bare model")


def _row(bench: Bench, technique: Any, budgets: Sequence[int], exact: int | None) -> tuple[str, ...]:
    by_budget = [
        bench.runs(technique, Budget(budget, MAX_SECONDS), is_described=budget == budgets[-1]) for budget in budgets
    ]
    found = [_spread([run.n_found for run in runs], "{:,.0f}", runs) for runs in by_budget]
    last = by_budget[-1]
    figures = [
        _spread([1000 * run.n_found / run.evaluations for run in last], "{:.1f}"),
        _spread([run.n_found / run.seconds for run in last], "{:,.0f}"),
        _spread([100 * run.n_found / run.n_tried for run in last], "{:.1f} %"),
        _spread([run.diversity for run in last], "{:.0f}"),
        _spread([None if run.plausible is None else 100 * run.plausible for run in last], "{:.0f} %"),
        _spread([run.evaluations / run.seconds for run in last], "{:,.0f}"),
        f"{100 * statistics.median(run.evaluations / run.seconds for run in last) / bench.bare:.0f} %",
    ]
    if exact:
        figures.append(_spread([100 * run.n_found / exact for run in last], "{:.1f} %"))
    return (technique.title, *found, *figures)


def _spread(values: Sequence[float | None], form: str, runs: Sequence[Outcome] = ()) -> str:
    """Median and range; marked when a run was cut by the limit of seconds."""
    there = [value for value in values if value is not None]
    if not there:
        return "–"
    mark = " †" if any(run.is_cut for run in runs) else ""
    median, low, high = (form.format(value) for value in (statistics.median(there), min(there), max(there)))
    return f"{median}{mark}" if low == high else f"{median}{mark} ({low}–{high})"


def _exact(case: Case) -> tuple[int | None, str]:
    """How many discriminatory individuals there are, and a sentence about it."""
    n_rows = case.domain.n_individuals * case.domain.n_variants
    if not can_count(case.domain):
        return None, f"The space has {n_rows:.1e} rows, too many to be counted."
    started = time.perf_counter()
    (count,) = [event.content for event in run_exact(case.model, case.domain) if isinstance(event, ResultReady)]
    seconds = time.perf_counter() - started
    n = int(count["n_discriminatory"])
    return n, (
        f"Counted exactly: {n:,} of {count['n_individuals']:,} individuals ({count['share']:.2%}), {n_rows:,.0f} rows in {seconds:.1f} s."
    )


# --- the bars -------------------------------------------------------------------------------


def bars_part(names: Sequence[str], n_seeds: int, *, is_quick: bool) -> str:
    """What was asked of the searches, what they do, and whether that is enough."""
    rows: list[tuple[str, ...]] = []
    for case in ("adult-age", "adult-sex"):
        bench = Bench(CASES[case](), n_seeds)
        if "maft" in names:
            rows += _maft_bars(bench)
        if "sg" in names and case == "adult-age":
            rows += _sg_bar(bench)
        for name in names if not is_quick else ():
            rows += _large_bars(bench, name)
        rows.append((bench.confirmation(), bench.case.title, *[""] * 5))
    return "\n\n".join(["## The bars", markdown(_BAR_HEADER, rows)])


_BAR_HEADER = ("what", "on", "here, median (range)", "authors", "bar", "ratio", "met")
_PER_THOUSAND = {"adult-age": (200, 55), "adult-sex": (350, 38)}
"""Least IDIs per 1,000 rows, and MAFT's own."""
_AUTHORS = {"adult-age": (4659, 74), "adult-sex": (1359, 39)}
"""IDIs and IDIs per second of MAFT's own program, 100 starts x 100 steps, on this kind of machine."""


def _maft_bars(bench: Bench) -> list[tuple[str, ...]]:
    wanted, rate = _AUTHORS[bench.case.name]
    runs = bench.runs(bench.make("maft", n_starts=100, n_steps=100, n_rounds=1), Budget(10**9, 60.0))
    found, speed = [run.n_found for run in runs], [run.n_found / run.seconds for run in runs]
    median, fast = statistics.median(found), statistics.median(speed)
    spent = _spread([run.evaluations for run in runs], "{:,.0f}")
    large = bench.runs(bench.make("maft", n_starts=1000, n_steps=1000, n_rounds=1), Budget(10**9, 60.0))
    seconds = [run.seconds for run in large]
    counts = (
        _spread(found, "{:,.0f}"),
        f"{wanted:,}",
        "within 15 %",
        median / wanted,
        abs(median / wanted - 1) <= 0.15,
    )
    speeds = (_spread(speed, "{:,.0f}"), f"{rate}", ">= 1,000 x", fast / rate, fast >= 1000 * rate)
    times = (_spread(seconds, "{:.2f}"), "", "< 3", None, statistics.median(seconds) < 3)
    return [
        _bar("MAFT 100 x 100: IDIs", bench, *counts),
        _bar(f"MAFT 100 x 100: IDIs/s ({spent} rows)", bench, *speeds),
        _bar("MAFT 1,000 x 1,000: seconds", bench, *times),
    ]


def _sg_bar(bench: Bench) -> list[tuple[str, ...]]:
    technique = bench.make("sg", n_samples=5000)
    speed = [run.n_found / run.seconds for run in bench.runs(technique, Budget(None, MAX_SECONDS))]
    fast = statistics.median(speed)
    what = f"SG, 5,000 LIME samples: IDIs/s, {MAX_SECONDS:g} s a run"
    return [_bar(what, bench, _spread(speed, "{:.1f}"), "6.6", ">= 60", fast / 6.6, fast >= 60)]


def _large_bars(bench: Bench, name: str) -> list[tuple[str, ...]]:
    """At 2,000,000 rows: IDIs per 1,000 rows of those that have a bar for it, and the rows per second beside the bare model's."""
    if name in ("data-scan", "sg"):
        return []  # the one ends with the data before, the other is bound by LIME and its trees
    technique = bench.make(name)
    bare = bare_rate(bench.case.model, bench.case.domain)
    runs = bench.runs(technique, Budget(BUDGETS[-1], MAX_SECONDS))
    kept = [100 * run.evaluations / run.seconds / bare for run in runs]
    what = f"{technique.title}, {BUDGETS[-1]:,} rows"
    shown = _spread(kept, "{:.0f} %"), "", ">= 50 %", None, statistics.median(kept) >= 50
    rows = [_bar(f"{what}: rows/s of the bare model's {bare:,.0f}", bench, *shown)]
    least, maft = _PER_THOUSAND[bench.case.name]
    if name == "directed":
        per = [1000 * run.n_found / run.evaluations for run in runs]
        median = statistics.median(per)
        asked = _spread(per, "{:.1f}"), f"MAFT {maft}", f">= {least}", median / maft, median >= least
        rows.append(_bar(f"{what}: IDIs per 1,000 rows", bench, *asked))
    return rows


def _bar(
    what: str, bench: Bench, here: str, authors: str, bar: str, ratio: float | None, is_met: bool
) -> tuple[str, ...]:
    line = (
        what,
        bench.case.title,
        here,
        authors,
        bar,
        "" if ratio is None else f"{ratio:,.2f} x",
        "yes" if is_met else "**no**",
    )
    print(line, flush=True)
    return line


# --- the program ----------------------------------------------------------------------------

_NOTE = (
    "IDIs are individuals (unique on what is not protected) proved by a pair that the model decided differently a second time; rows are all rows "
    "passed to the model, probes for guidance included. Medians of {n} seeds, the range in brackets; the figures behind the counts are those of the "
    "largest budget, each budget is a run of its own. Diversity: leaves of one surrogate tree that 1,000 of the finds lie in (docs/techniques.md). "
    "Plausible: of {plausible:,} of the pairs at most. † a run ended by the limit of {seconds:g} s. Data scan ends with the data."
)


def main() -> None:
    """Measure what was asked for; the whole is kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.searches")
    parser.add_argument("--only", default="", help=f"some of bars, {', '.join(CASES)}")
    parser.add_argument("--techniques", default="", help=f"some of {', '.join(TECHNIQUES)}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small budgets only")
    options = parser.parse_args()
    parts = [part for part in options.only.split(",") if part] or ["bars", *CASES]
    names = [name for name in options.techniques.split(",") if name] or list(TECHNIQUES)
    unknown = sorted((set(parts) - {"bars", *CASES}) | (set(names) - set(TECHNIQUES)))
    if unknown:
        raise SystemExit(f"There is no '{unknown[0]}' here.")
    warm_up_kernels()
    started = time.perf_counter()
    texts = [_part(part, names, options.seeds, is_quick=options.quick) for part in parts]
    note = _NOTE.format(n=options.seeds, plausible=N_PLAUSIBLE, seconds=MAX_SECONDS)
    texts = [note, *texts, f"Measured in {(time.perf_counter() - started) / 60:.0f} minutes."]
    if options.only or options.techniques or options.quick or options.seeds != 5:
        print("\n\n".join(texts))
    else:
        keep("searches", "Searches for individual discrimination", texts)


def _part(name: str, techniques: Sequence[str], n_seeds: int, *, is_quick: bool) -> str:
    if name == "bars":
        return bars_part(techniques, n_seeds, is_quick=is_quick)
    case = CASES[name]()
    budgets = FOREST_BUDGETS if case.is_compiled else BUDGETS
    return case_part(case, techniques, n_seeds, QUICK_BUDGETS if is_quick else budgets)


if __name__ == "__main__":
    main()
