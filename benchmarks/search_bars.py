"""What was asked of the searches on Adult, what they do, and whether that is enough."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.aequitas import bare_rate
from benchmarks.search_runs import Bench, spread
from benchmarks.table import markdown
from fairness_engine.oracle.budget import Budget

BARRED = ("adult-age", "adult-sex")
"""Cases that the bars are of."""
LARGE = 2_000_000
"""Rows evaluated, of the bars and of the largest figures of these cases."""
MAX_SECONDS = 5.0
"""Limit of one run; SG, which is bound by LIME and its trees, meets it."""
SG_SECONDS = 10.0


def bars_part(benches: Sequence[Bench], names: Sequence[str], *, is_quick: bool) -> str:
    """What was asked of the searches, what they do, and whether that is enough."""
    rows: list[tuple[str, ...]] = []
    for bench in benches:
        if "maft" in names:
            rows += _maft_bars(bench)
        if "sg" in names and bench.case.name == "adult-age":
            rows += _sg_bar(bench)
        for name in names if not is_quick else ():
            rows += _large_bars(bench, name)
    return "\n\n".join(["## The bars", markdown(_BAR_HEADER, rows), *(bench.confirmation() for bench in benches)])


_BAR_HEADER = ("what", "on", "here, median (range)", "authors", "bar", "ratio", "met")
_PER_THOUSAND = {"adult-age": (200, 55), "adult-sex": (350, 38)}
"""Least IDIs per 1,000 rows, and MAFT's own."""
_AUTHORS = {"adult-age": (4659, 74), "adult-sex": (1359, 39)}
"""IDIs and IDIs per second of MAFT's own program, 100 starts x 100 steps, on this kind of machine."""


def _maft_bars(bench: Bench) -> list[tuple[str, ...]]:
    wanted, rate = _AUTHORS[bench.case.name]
    runs = bench.runs(bench.make("maft", n_starts=100, n_steps=100, n_rounds=1), Budget(None, 60.0))
    found = [run.n_found for run in runs]
    speed = [run.n_found / run.seconds for run in runs]
    median = statistics.median(found)
    fast = statistics.median(speed)
    spent = spread([run.evaluations for run in runs], "{:,.0f}")
    large = bench.runs(bench.make("maft", n_starts=1000, n_steps=1000, n_rounds=1), Budget(None, 60.0))
    seconds = [run.seconds for run in large]
    counts = (
        spread(found, "{:,.0f}"),
        f"{wanted:,}",
        "within 15 %",
        median / wanted,
        abs(median / wanted - 1) <= 0.15,
    )
    speeds = (spread(speed, "{:,.0f}"), f"{rate}", ">= 1,000 x", fast / rate, fast >= 1000 * rate)
    times = (spread(seconds, "{:.2f}"), "", "< 3", None, statistics.median(seconds) < 3)
    return [
        _bar("MAFT 100 x 100: IDIs", bench, *counts),
        _bar(f"MAFT 100 x 100: IDIs/s ({spent} rows)", bench, *speeds),
        _bar("MAFT 1,000 x 1,000: seconds", bench, *times),
    ]


def _sg_bar(bench: Bench) -> list[tuple[str, ...]]:
    technique = bench.make("sg", n_samples=5000)
    speed = [run.n_found / run.seconds for run in bench.runs(technique, Budget(None, SG_SECONDS))]
    fast = statistics.median(speed)
    what = f"SG, 5,000 LIME samples: IDIs/s, {SG_SECONDS:g} s a run"
    return [_bar(what, bench, spread(speed, "{:.1f}"), "6.6", ">= 60", fast / 6.6, fast >= 60)]


def _large_bars(bench: Bench, name: str) -> list[tuple[str, ...]]:
    """At 2,000,000 rows: IDIs per 1,000 rows of those that have a bar for it, and the rows per second beside the bare
    model's.
    """
    if name in ("data-scan", "sg"):
        return []  # the one ends with the data before, the other meets its limit of seconds
    technique = bench.make(name)
    bare = bare_rate(bench.case.model, bench.case.domain)
    runs = bench.runs(technique, Budget(LARGE, MAX_SECONDS))
    kept = [100 * run.evaluations / run.seconds / bare for run in runs]
    what = f"{technique.title}, {LARGE:,} rows"
    shown = spread(kept, "{:.0f} %"), "", ">= 50 %", None, statistics.median(kept) >= 50
    rows = [_bar(f"{what}: rows/s of the bare model's {bare:,.0f}", bench, *shown)]
    least, maft = _PER_THOUSAND[bench.case.name]
    if name == "directed":
        per = [1000 * run.n_found / run.evaluations for run in runs]
        median = statistics.median(per)
        asked = spread(per, "{:.1f}"), f"MAFT {maft}", f">= {least}", median / maft, median >= least
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
