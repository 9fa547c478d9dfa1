"""How often 95 % intervals of a share hold it, and how wide they are: the product's beside Wilson's, by exact sums and by simulation.

.venv/bin/python -m benchmarks.intervals
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from benchmarks.table import keep, markdown
from fairness_engine.intervals import Z_95, share_interval

N_DRAWS = (20, 50, 200, 1000, 5000, 20_000)
SHARES = (0.0001, 0.001, 0.003, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99, 0.9999)
N_ALL, N_SEEDS = 1000, 1000
Interval = Callable[[int, int], tuple[float, float]]


def wilson(n_hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval; one-sided without a hit, or without anything else, as the product had it."""
    if n_hits == 0:
        return 0.0, 1 - 0.05 ** (1 / n)
    if n_hits == n:
        return 0.05 ** (1 / n), 1.0
    share, z2 = n_hits / n, Z_95 * Z_95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def expected(interval: Interval, n: int, share: float) -> tuple[float, float]:
    """Coverage and mean width, summed over every number of hits that can come."""
    hits = np.arange(n + 1)
    chance = stats.binom.pmf(hits, n, share)
    coverage = width = 0.0
    for k in np.flatnonzero(chance > 1e-13).tolist():
        low, high = interval(k, n)
        coverage += chance[k] * (low <= share <= high)
        width += chance[k] * (high - low)
    return float(coverage), float(width)


def of_finitely_many(n: int, n_marked: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Coverage and mean width of the product's interval for draws without replacement, and the width as if they were independent."""
    held, width, width_independent = 0, 0.0, 0.0
    for n_hits in rng.hypergeometric(n_marked, N_ALL - n_marked, n, size=N_SEEDS).tolist():
        low, high = share_interval(n_hits, n, N_ALL)
        held += low <= n_marked / N_ALL <= high
        width += high - low
        ends = share_interval(n_hits, n)
        width_independent += ends[1] - ends[0]
    return held / N_SEEDS, width / N_SEEDS, width_independent / N_SEEDS


def main() -> None:
    """Write ``benchmarks/intervals.md``."""
    rows, least, least_wilson = [], 1.0, 1.0
    for n in N_DRAWS:
        for share in SHARES:
            (held, width), (held_wilson, width_wilson) = (expected(each, n, share) for each in (share_interval, wilson))
            least, least_wilson = min(least, held), min(least_wilson, held_wilson)
            rows.append(
                [f"{n:,}", f"{share:g}", f"{held:.3f}", f"{width:.3g}", f"{held_wilson:.3f}", f"{width_wilson:.3g}"]
            )
    header = ["draws", "share", "coverage", "mean width", "coverage, Wilson", "mean width, Wilson"]
    drawn, rng = [], np.random.default_rng(0)
    for n in (20, 50, 200, 500, 900, 1000):
        for n_marked in (1, 5, 50, 300, 500, 999):
            held, width, independent = of_finitely_many(n, n_marked, rng)
            drawn.append([f"{n:,}", f"{n_marked / N_ALL:g}", f"{held:.3f}", f"{width:.3g}", f"{independent:.3g}"])
    keep(
        "intervals",
        "Intervals of shares",
        [
            "Exact sums over all numbers of hits. Wilson's is what the product had before, with a one-sided bound where no draw hits.",
            markdown(header, rows),
            f"Least coverage: {least:.4f}; Wilson's: {least_wilson:.4f}.",
            f"Draws without replacement from {N_ALL:,}, {N_SEEDS:,} seeds each.",
            markdown(["draws", "share", "coverage", "mean width", "mean width, independent draws"], drawn),
        ],
    )
    print(f"least coverage {least:.4f}, Wilson's {least_wilson:.4f}")


if __name__ == "__main__":
    main()
