"""THEMIS's comparison: of the smallest groups, the one most often and the one least often decided for.

Reference: Galhotra, Brun and Meliou (2017), the group discrimination score; paper 001 (TestSGD), Table 8. A rule set is compared with
everybody else, these two groups with each other: the answers complete one another. There every combination counts, however few
people have it; here only those with ``LEAST_ROWS`` rows, since a share of three people says nothing of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.intervals import clopper_pearson
from fairness_engine.rules.attributes import RuleAttribute
from fairness_engine.rules.scored import RuleCells

LEAST_ROWS = 30
"""Rows of the data that a combination must have to be compared."""


def themis(
    attributes: tuple[RuleAttribute, ...], cells: RuleCells, confidence: float, *, is_exact: bool
) -> dict[str, Any] | None:
    """The two groups, the difference of their favourable shares, and intervals that hold jointly over all groups.

    Args:
        attributes: each group has one value of every one.
        cells: the different combinations of values in the data, with samples.
        confidence: of the intervals together.
        is_exact: every sample there is was evaluated: shares have no error.

    Returns:
        plain JSON ``{least_rows, n_groups, score, low, high, highest, lowest}``; the last two
        ``{rules, n_rows, share, n, low, high}``; ``None`` where fewer than two groups are large enough.
    """
    chosen = np.flatnonzero((cells.n_rows >= LEAST_ROWS) & (cells.drawn > 0))
    if len(chosen) < 2:
        return None
    n, hits = cells.drawn[chosen].astype(np.float64), cells.favourable[chosen].astype(np.float64)
    share = hits / n
    low, high = (share, share) if is_exact else clopper_pearson(hits, n, (1 - confidence) / len(chosen))
    most, least = int(share.argmax()), int(share.argmin())
    groups = {
        name: _group(attributes, cells, chosen[at], (share[at], low[at], high[at]))
        for name, at in (("highest", most), ("lowest", least))
    }
    ends = {"low": max(0.0, float(low[most] - high[least])), "high": float(high[most] - low[least])}
    score = float(share[most] - share[least])
    return {"least_rows": LEAST_ROWS, "n_groups": len(chosen), "score": score, **ends, **groups}


def _group(
    attributes: tuple[RuleAttribute, ...], cells: RuleCells, cell: int, shares: tuple[FloatArray, ...]
) -> dict[str, Any]:
    values: IntArray = cells.codes[cell]
    share, low, high = map(float, shares)
    rules = [attribute.values_json([int(value)]) for attribute, value in zip(attributes, values, strict=True)]
    n_rows, n = int(cells.n_rows[cell]), int(cells.drawn[cell])
    return {"rules": rules, "n_rows": n_rows, "share": share, "n": n, "low": low, "high": high}
