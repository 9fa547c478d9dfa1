"""What is read beside a ratio of selection rates: Fisher's exact test, and how many decisions would turn a verdict.

Both are conventions of practice in the United States, and no part of the four-fifths figure itself.
"""

from __future__ import annotations

import math
from functools import lru_cache

from fairness_engine.groups.figures.report import FOUR_FIFTHS, GroupRates, GroupTable, Rate

_SLACK = 1e-9


@lru_cache(maxsize=10_000)
def fisher_p(n_hits: int, n: int, n_hits_other: int, n_other: int) -> float:
    """Two-sided p-value of Fisher's exact test that two groups are selected alike.

    Args:
        n_hits, n: selected, and all, of one group.
        n_hits_other, n_other: the same of the other.
    """
    from scipy.stats import fisher_exact

    table = [[n_hits, n - n_hits], [n_hits_other, n_other - n_hits_other]]
    return float(min(1.0, fisher_exact(table).pvalue))


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
