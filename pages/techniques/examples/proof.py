"""A proof small enough to check by hand: two attributes, one rule, a known answer; drawn as the map of a real one
is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.phrases import BoxColumn
from fairness_engine.data.schema import Column, Kind

RULE = "Credit is granted when income + years in the job + 3 for men is above 15."
ANSWER = (
    "Whoever reaches 16 or more without the 3 is granted credit either way, whoever reaches 12 or less is refused "
    "either way. With 13, 14 or 15 the decision hangs on sex: 30 of the 200 individuals, 15 %."
)
MAX_SPLITS = 60
_INCOME = range(1, 21)
_YEARS = range(10)
_LIMIT = 15
_BONUS = 3
_N = len(_INCOME) * len(_YEARS)

Corner = tuple[int, int]


@dataclass
class _Box:
    low: Corner
    high: Corner
    column: int = -1
    cut: int = 0
    parts: tuple[_Box, _Box] | None = None

    @property
    def n(self) -> int:
        return (self.high[0] - self.low[0] + 1) * (self.high[1] - self.low[1] + 1)

    def split(self) -> None:
        """In two halves, along the longer side."""
        sides = [high - low for low, high in zip(self.low, self.high, strict=True)]
        self.column = int(np.argmax(sides))
        self.cut = (self.low[self.column] + self.high[self.column]) // 2
        middle = list(self.high)
        after = list(self.low)
        middle[self.column] = self.cut
        after[self.column] = self.cut + 1
        self.parts = _Box(self.low, (middle[0], middle[1])), _Box((after[0], after[1]), self.high)

    def proved(self, *, is_counted: bool) -> tuple[int, int]:
        """How many individuals are certified and falsified: counted one by one, or all of them or none."""
        incomes = np.array(_INCOME)[self.low[0] : self.high[0] + 1, None]
        years = np.array(_YEARS)[None, self.low[1] : self.high[1] + 1]
        hangs = (incomes + years <= _LIMIT) & (incomes + years + _BONUS > _LIMIT)
        if is_counted or hangs.all():
            return int((~hangs).sum()), int(hangs.sum())
        lowest = incomes[0, 0] + years[0, 0]
        highest = incomes[-1, 0] + years[0, -1]
        is_alike = lowest > _LIMIT or highest + _BONUS <= _LIMIT
        return (self.n, 0) if is_alike else (0, 0)


def columns() -> tuple[BoxColumn, BoxColumn]:
    """The two attributes."""
    income = Column("income", Kind.INTEGER, minimum=_INCOME[0], maximum=_INCOME[-1])
    years = Column("years in the job", Kind.INTEGER, minimum=_YEARS[0], maximum=_YEARS[-1])
    return BoxColumn(income, income.low, 1.0, False, len(_INCOME)), BoxColumn(years, years.low, 1.0, False, len(_YEARS))


def example_tree(n_splits: int, *, is_counted: bool) -> PartitionTree:
    """The partition after so many splits, the box with most undecided individuals first.

    Args:
        n_splits: 0 and more; it ends sooner when nothing is undecided.
        is_counted: individuals of a box are counted by verdict; otherwise a box is decided whole or not at all.
    """
    whole = _Box((0, 0), (len(_INCOME) - 1, len(_YEARS) - 1))
    leaves = [whole]
    for _ in range(n_splits):
        box = max(leaves, key=lambda leaf: _undecided(leaf, is_counted=is_counted))
        if not _undecided(box, is_counted=is_counted):
            break
        box.split()
        leaves.remove(box)
        leaves += box.parts or ()
    return _as_tree(whole, is_counted=is_counted)


def _undecided(box: _Box, *, is_counted: bool) -> int:
    return box.n - sum(box.proved(is_counted=is_counted))


def _as_tree(whole: _Box, *, is_counted: bool) -> PartitionTree:
    order: list[_Box] = []
    waiting = [whole]
    while waiting:
        box = waiting.pop()
        order.append(box)
        waiting += (box.parts or ())[::-1]
    place = {id(box): i for i, box in enumerate(order)}
    right = np.array([place[id(box.parts[1])] if box.parts else -1 for box in order])
    proved = np.array([(0, 0) if box.parts else box.proved(is_counted=is_counted) for box in order], dtype=np.float64)
    for i in np.flatnonzero(right >= 0)[::-1]:  # parts stand behind the box they were split from
        proved[i] = proved[i + 1] + proved[right[i]]
    nobody = np.zeros(len(order), np.int64)
    return PartitionTree(
        np.array([box.column for box in order]),
        np.array([box.cut for box in order]),
        right,
        np.array([box.n for box in order]) / _N,
        proved[:, 0] / _N,
        proved[:, 1] / _N,
        nobody,
        nobody,
        np.array([len(_INCOME), len(_YEARS)]),
    )
