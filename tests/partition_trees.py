"""Partition trees for tests of what shows them: made by a seeded splitter, over columns with names."""

from __future__ import annotations

import numpy as np

from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.phrases import BoxColumn
from fairness_engine.data.schema import Column, Kind

N_DIGITS = (74, 8, 99, 5, 16, 42, 1 << 16)


def columns(names: tuple[str, ...] | None = None, labels: tuple[str, ...] | None = None) -> tuple[BoxColumn, ...]:
    """Seven columns: age, job, hours, region, education, country, income; other names or labels of jobs where given."""
    names = names or ("age", "job", "hours per week", "region", "education", "country", "income")
    jobs = labels or ("sales", "clerk", "farmer", "teacher", "nurse", "driver", "cook", "manager")
    regions = ("north", "east", "south", "west", "abroad")
    kinds = (
        Column(names[0], Kind.INTEGER, minimum=17, maximum=90),
        Column(names[1], Kind.CATEGORICAL, codes=tuple(range(8)), labels=jobs),
        Column(names[2], Kind.INTEGER, minimum=1, maximum=99),
        Column(names[3], Kind.CATEGORICAL, codes=tuple(range(5)), labels=regions),
        Column(names[4], Kind.INTEGER, minimum=1, maximum=16),
        Column(names[5], Kind.CATEGORICAL, codes=tuple(range(42)), labels=tuple(f"country {i}" for i in range(42))),
        Column(names[6], Kind.REAL, minimum=0.0, maximum=1000.0),
    )
    steps = [1.0] * 6 + [1000 / N_DIGITS[6]]
    return tuple(
        BoxColumn(column, column.low, step, i == 6, n)
        for i, (column, step, n) in enumerate(zip(kinds, steps, N_DIGITS, strict=True))
    )


def split_tree(n_leaves: int, seed: int = 0, n_people: int = 30_000) -> PartitionTree:
    """A tree of so many leaves, split finely around the zero of a random linear score, as a refinement does.

    Far from it boxes are certified whole, near it they are partly certified, partly falsified, partly undecided.
    """
    rng = np.random.default_rng(seed)
    slope = rng.normal(size=len(N_DIGITS)) / np.array(N_DIGITS)
    digits = np.array(N_DIGITS)
    rows: list[tuple[int, int, int, float, float, float, int]] = []
    waiting = [(np.zeros(len(digits), np.int64), digits - 1, n_leaves, 1.0, n_people, -1)]
    while waiting:
        low, high, leaves, weight, people, above = waiting.pop()
        at = len(rows)
        if above >= 0:
            rows[above] = (*rows[above][:2], at, *rows[above][3:])
        reach = np.abs(slope) * (high - low)
        column = int(np.argmax(reach * rng.uniform(0.5, 1.0, len(reach))))
        middle = float(slope @ ((low + high) / 2 - (digits - 1) / 2))
        if leaves < 2 or high[column] == low[column]:
            rows.append((-1, 0, -1, weight, *_proved(rng, weight, middle, float(reach.sum())), people))
            continue
        cut = int((low[column] + high[column]) // 2)
        part = (cut + 1 - low[column]) / (high[column] + 1 - low[column])
        left_high = high.copy()
        right_low = low.copy()
        left_high[column] = cut
        right_low[column] = cut + 1
        near = [
            1 / (1 + 20 * abs(float(slope @ ((a + b) / 2 - (digits - 1) / 2))) / (reach.sum() + 1e-9))
            for a, b in ((low, left_high), (right_low, high))
        ]
        n_left = min(max(1, round(leaves * near[0] / sum(near))), leaves - 1)
        people_left = int(rng.binomial(people, part**0.7))  # they are no even sample of the domain
        rows.append((column, cut, -1, weight, 0.0, 0.0, people))
        waiting.append((right_low, high, leaves - n_left, weight * (1 - part), people - people_left, at))
        waiting.append((low, left_high, n_left, weight * part, people_left, -1))
    return _summed(rows)


def _proved(rng: np.random.Generator, weight: float, middle: float, reach: float) -> tuple[float, float]:
    if abs(middle) > reach / 2:
        return weight, 0.0
    if rng.random() < 0.1:
        return 0.0, weight
    parts = rng.dirichlet((2.0, 1.0, 1.5))
    return weight * float(parts[0]), weight * float(parts[1])


def _summed(rows: list[tuple[int, int, int, float, float, float, int]]) -> PartitionTree:
    column, cut, right = (np.array([row[k] for row in rows], dtype=np.int64) for k in range(3))
    weight, certified, falsified = (np.array([row[k] for row in rows]) for k in range(3, 6))
    people = np.array([row[6] for row in rows], dtype=np.int64)
    for i in range(len(rows) - 1, -1, -1):
        if column[i] >= 0:
            for sums in (weight, certified, falsified):
                sums[i] = sums[i + 1] + sums[right[i]]
    merged = np.zeros(len(rows), np.int64)
    tree = PartitionTree(column, cut, right, weight, certified, falsified, people, merged, np.array(N_DIGITS))
    tree.check()
    return tree


def one_box(weight: float = 1.0, certified: float = 0.25, falsified: float = 0.5, people: int = 3) -> PartitionTree:
    """Everybody in one box."""
    whole = np.array([-1]), np.array([0]), np.array([-1])
    shares = np.array([weight]), np.array([certified]), np.array([falsified])
    return PartitionTree(*whole, *shares, np.array([people]), np.array([7]), np.array(N_DIGITS))


HOSTILE = (
    '</script><img src=x onerror="window.taken = 1">',
    "<b>bold</b>",
    "'; alert(1); '",
    "new\nline\ttab",
    "\u202eright to left",
    "a" * 400,
    "{{7*7}} ${7*7} `x`",
    "\N{GRINNING FACE} \x00",
)
"""Labels that try to be more than text."""


def hostile_columns() -> tuple[BoxColumn, ...]:
    """The same columns with names and labels that try to be more than text."""
    return columns((HOSTILE[0], HOSTILE[1], HOSTILE[2], "region", HOSTILE[5], "country", HOSTILE[6]), HOSTILE)
