"""All searches for individual discrimination side by side, and the bars set for them.

``python -m benchmarks.searches`` with ``EVENHAND_SHARED`` set writes ``benchmarks/searches.md``. A part of it is
printed only: ``--only adult-age,bars``, ``--techniques maft,directed``, ``--seeds 2``, ``--quick``. The papers' own
experiments on parts of a technique are kept by themselves as well: ``--only ablation,slopes``. Every pair of every run
is judged again by an evaluation that shares nothing with the engine's (``search_cases.py``).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.search_ablation import ablation_part
from benchmarks.search_bars import BARRED, LARGE, MAX_SECONDS, bars_part
from benchmarks.search_cases import CASES, Case
from benchmarks.search_runs import N_PLAUSIBLE, Bench, spread
from benchmarks.search_slopes import slopes_part
from benchmarks.table import keep, keep_sections, markdown
from fairness_engine.errors import EvenhandError
from fairness_engine.events import ResultReady
from fairness_engine.measures.exact_count import can_count, run_exact
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.kernels import warm_up as warm_up_kernels
from fairness_engine.search.registry import TECHNIQUES

BUDGETS = (10_000, 100_000, 1_000_000)
FOREST_BUDGETS = (10_000, 100_000, 500_000)
QUICK_BUDGETS = (10_000, 100_000)
OWN_PARTS: dict[str, Callable[[int], str]] = {"ablation": ablation_part, "slopes": lambda _: slopes_part()}
"""Sections that no other one is compared with, by name: each is given the number of seeds."""
_TITLE = "Searches for individual discrimination"


# --- one case -------------------------------------------------------------------------------


def case_part(bench: Bench, names: Sequence[str], budgets: Sequence[int]) -> str:
    """The section of a case: every technique that can run on its model, and the exact count where there is one."""
    case = bench.case
    exact, said = _exact(case)
    rows = []
    left_out = []
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
    by_budget = [bench.runs(technique, Budget(budget, MAX_SECONDS)) for budget in budgets]
    found = [spread([run.n_found for run in runs], "{:,.0f}", runs) for runs in by_budget]
    last = by_budget[-1]
    figures = [
        spread([1000 * run.n_found / run.evaluations for run in last], "{:.1f}"),
        spread([run.n_found / run.seconds for run in last], "{:,.0f}"),
        spread([100 * run.n_found / run.n_tried for run in last], "{:.1f} %"),
        spread([run.diversity for run in last], "{:.0f}"),
        spread([None if run.plausible is None else 100 * run.plausible for run in last], "{:.0f} %"),
        spread([run.evaluations / run.seconds for run in last], "{:,.0f}"),
        f"{100 * statistics.median(run.evaluations / run.seconds for run in last) / bench.bare:.0f} %",
    ]
    if exact:
        figures.append(spread([100 * run.n_found / exact for run in last], "{:.1f} %"))
    return (technique.title, *found, *figures)


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
        f"Counted exactly: {n:,} of {count['n_individuals']:,} individuals ({count['share']:.2%}), {n_rows:,.0f} rows "
        f"in {seconds:.1f} s."
    )


# --- the program ----------------------------------------------------------------------------

_NOTE = (
    "IDIs are individuals (unique on what is not protected) proved by a pair that the model decided differently a "
    "second time; rows are all rows passed to the model, probes for guidance included. Medians of {n} seeds, the "
    "range in brackets; the figures behind the counts are those of the largest budget, each budget is a run of its "
    "own. Diversity: leaves of one surrogate tree that 1,000 of the finds lie in (docs/techniques.md). Plausible: of "
    "{plausible:,} of the pairs at most. † a run ended by the limit of {seconds:g} s. Data scan ends with the "
    "data."
)


def main() -> None:
    """Measure what was asked for; the whole is kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.searches")
    parser.add_argument("--only", default="", help=f"some of bars, {', '.join([*CASES, *OWN_PARTS])}")
    parser.add_argument("--techniques", default="", help=f"some of {', '.join(TECHNIQUES)}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small budgets only")
    options = parser.parse_args()
    parts = [part for part in options.only.split(",") if part] or ["bars", *CASES, *OWN_PARTS]
    names = [name for name in options.techniques.split(",") if name] or list(TECHNIQUES)
    unknown = sorted((set(parts) - {"bars", *CASES, *OWN_PARTS}) | (set(names) - set(TECHNIQUES)))
    if unknown:
        raise SystemExit(f"There is no '{unknown[0]}' here.")
    warm_up_kernels()
    started = time.perf_counter()
    benches: dict[str, Bench] = {}
    texts = [_part(part, names, options.seeds, benches, is_quick=options.quick) for part in parts]
    note = _NOTE.format(n=options.seeds, plausible=N_PLAUSIBLE, seconds=MAX_SECONDS)
    is_usual = not (options.techniques or options.quick or options.seeds != 5)
    if is_usual and set(parts) <= set(OWN_PARTS):
        keep_sections("searches", _TITLE, texts)
        return
    texts = [note, *texts, f"Measured in {(time.perf_counter() - started) / 60:.0f} minutes."]
    if is_usual and not options.only:
        keep("searches", _TITLE, texts)
    else:
        print("\n\n".join(texts))


def _part(name: str, techniques: Sequence[str], n_seeds: int, benches: dict[str, Bench], *, is_quick: bool) -> str:
    if name in OWN_PARTS:
        return OWN_PARTS[name](n_seeds)
    needed = BARRED if name == "bars" else (name,)
    for case in needed:
        if case not in benches:
            benches[case] = Bench(CASES[case](), n_seeds)
    if name == "bars":
        return bars_part([benches[case] for case in needed], techniques, is_quick=is_quick)
    return case_part(benches[name], techniques, _budgets(benches[name].case, is_quick=is_quick))


def _budgets(case: Case, *, is_quick: bool) -> tuple[int, ...]:
    if is_quick:
        return QUICK_BUDGETS
    if case.is_compiled:
        return FOREST_BUDGETS
    return (*BUDGETS, LARGE) if case.name in BARRED else BUDGETS


if __name__ == "__main__":
    main()
