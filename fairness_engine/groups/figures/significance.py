"""What is read beside a ratio of selection rates: Fisher's exact test, and how many decisions would turn a verdict.

Both are conventions of practice in the United States, and no part of the four-fifths figure itself.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from fairness_engine.groups.figures.report import FOUR_FIFTHS, GroupRates, GroupTable, Rate

_SLACK = 1e-9


@lru_cache(maxsize=10_000)
def fisher_p(n_hits: int, n: int, n_hits_other: int, n_other: int) -> float:
    """Two-sided p-value of Fisher's exact test that two groups are selected alike: of all tables with the same sums the
    share of those that are no more likely than this one.

    Beside ``scipy.stats``, which has it too, for that takes seconds to be loaded: the first page with figures waits.

    Args:
        n_hits, n: selected, and all, of one group.
        n_hits_other, n_other: the same of the other.
    """
    n_selected = n_hits + n_hits_other
    least = max(0, n_selected - n_other)
    hits = np.arange(least, min(n, n_selected), dtype=float)
    more = np.log((n - hits) * (n_selected - hits)) - np.log((hits + 1) * (n_other - n_selected + hits + 1))
    of_tables = np.concatenate([[0.0], np.cumsum(more)])
    likely = np.exp(of_tables - of_tables.max())
    no_more_likely = of_tables <= of_tables[n_hits - least] + _SLACK
    return float(likely[no_more_likely].sum() / likely.sum())


def n_to_flip(group: Rate, best: Rate, ratio: float = FOUR_FIFTHS) -> int:
    """How many decisions about a group would have to be different for its impact ratio to reach ``ratio``, or, where it
    does, to fall below; those about the most favoured group stay as they are.

    Args:
        group, best: selection rates with their counts; of the most favoured group somebody is selected.
    """
    needed = math.ceil(ratio * best.share * group.n - _SLACK)
    return needed - group.n_hits if group.n_hits < needed else group.n_hits - needed + 1


def against_best(table: GroupTable, group: GroupRates) -> tuple[float, int] | None:
    """Fisher's p-value of a group against the most favoured one, and the decisions that would turn its side of four
    fifths; ``None`` for that group itself, and where there is none.
    """
    best = table.most_favoured
    if best is None or group is best or not group.n_rows:
        return None
    one, other = group.selection, best.selection
    return fisher_p(one.n_hits, one.n, other.n_hits, other.n), n_to_flip(one, other)
