"""How the finds of a search came in, by rows evaluated; finer than progress reports, which a fast search makes few of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairness_engine.events import Event, FloatArray, IntArray, PairsFound, ResultReady, Stopped

POINTS_A_DECADE = 40
_MAX_DECADES = 12


def with_discovery(events: Iterator[Event]) -> Iterator[Event]:
    """The events of a search, and before the last one the result ``discovery``.

    Yields:
        what ``events`` yields, and ``ResultReady`` with ``evaluations`` (ascending, about ``POINTS_A_DECADE`` a decade, the last is
        where the search ended) and ``n_found`` up to each.
    """
    grid = np.unique(np.rint(np.geomspace(1, 10.0**_MAX_DECADES, POINTS_A_DECADE * _MAX_DECADES + 1)))
    counts = np.zeros(len(grid) + 1, dtype=np.int64)
    for event in events:
        if isinstance(event, PairsFound):
            counts += _by_point(grid, event.pairs.evaluation)
        if isinstance(event, Stopped):
            inside = grid[grid < event.evaluations]
            points = [*inside.tolist(), event.evaluations]
            found = [*np.cumsum(counts)[: len(inside)].tolist(), int(counts.sum())]
            yield ResultReady("discovery", {"evaluations": [int(x) for x in points], "n_found": found})
        yield event


def _by_point(grid: FloatArray, evaluations: IntArray) -> IntArray:
    """How many pairs belong to each point of the grid: the first that is not below their evaluations."""
    return np.bincount(np.searchsorted(grid, evaluations), minlength=len(grid) + 1)
