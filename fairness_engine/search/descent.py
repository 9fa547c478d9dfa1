"""Global generation of the gradient searches (Algorithm 3 of MAFT's paper), for a batch of start rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.events import Event, FloatArray, Step
from fairness_engine.search.gradient_pairs import People, furthest, join
from fairness_engine.search.slopes import Slopes, Terrain
from fairness_engine.search.starts import nearest_variants

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle


def descend(
    oracle: Oracle, terrain: Terrain, slopes: Slopes, rows: FloatArray, max_iter: int, momentum: float, n_units: int
) -> Generator[Event, None, People]:
    """Move rows towards the boundary that two of their variants lie on either side of.

    All rows step together: test, take the variant whose scores are furthest, and move every column against both slopes where
    their signs agree. The last iterate is tested too, which the paper leaves out. A row that can never move again is given
    up: to stay would test the same row until ``max_iter``.

    Args:
        oracle, terrain, slopes: of the search.
        rows: start rows ``(n_rows, n_columns)``.
        max_iter: how often a row moves.
        momentum: how much of the slopes before is kept, the paper's decay.
        n_units: how far every column moves in one step.

    Returns:
        Those that became discriminatory, in the order of the starts.
    """
    from fairness_engine.search import gradient_kernels  # numba is loaded when a search begins, not by the app

    going, trends = np.arange(len(rows)), np.zeros((2, len(rows), len(terrain.columns)))
    people_rows, own = rows, nearest_variants(oracle.domain, rows)
    found, order = [], []
    for iteration in range(max_iter + 1):
        measured = oracle.measure(people_rows)
        people = People(people_rows, own, measured.scores)
        found.append(people[measured.is_discriminatory])
        order.append(going[measured.is_discriminatory])
        yield Step("global search")
        misses = np.flatnonzero(~measured.is_discriminatory)
        if iteration == max_iter or not len(misses) or not len(terrain.columns):
            break
        people, trends = people[misses], trends[:, misses]
        here, there = slopes(people.rows, people.own, furthest(people), people.scores)
        is_stuck = gradient_kernels.descend(
            people.rows,
            here,
            there,
            trends,
            momentum,
            terrain.columns,
            n_units * terrain.unit,
            terrain.low,
            terrain.top,
        )
        people_rows, own, going = people.rows[~is_stuck], people.own[~is_stuck], going[misses][~is_stuck]
        trends = trends[:, ~is_stuck]
        if not len(going):
            break
    return join(found)[np.argsort(np.concatenate(order), kind="stable")]
