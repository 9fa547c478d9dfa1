"""The curve of discovery against the pairs themselves."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, ResultReady, Stopped
from fairness_engine.measures.diversity import with_discovery
from fairness_engine.oracle.budget import Budget
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.aequitas import Aequitas
from handmade import biased_score, function_model, small_domain


@pytest.mark.thorough
def test_each_point_counts_the_pairs_found_up_to_there() -> None:
    none = np.empty((0, 5))
    search = run_search(Aequitas(n_walkers=3), function_model(biased_score), small_domain(), none, Budget(2000), 1)
    *others, result, stopped = with_discovery(search)
    assert isinstance(result, ResultReady)
    assert isinstance(stopped, Stopped)
    assert not [event for event in others if isinstance(event, ResultReady)]
    pairs = Pairs.concatenate([event.pairs for event in others if isinstance(event, PairsFound)], 5)
    points = result.content["evaluations"]
    n_found = result.content["n_found"]
    assert points == sorted(set(points))
    assert (points[0], points[-1], n_found[-1]) == (1, stopped.evaluations, len(pairs))
    assert n_found == [int((pairs.evaluation <= x).sum()) for x in points]
    assert 50 < len(points) < 200
    assert len(set(n_found)) > 5


def test_a_search_that_found_nothing_has_a_flat_curve() -> None:
    stopped = Stopped(StopReason.CANCELLED, 100, 0.1, 50, 0)
    result, last = with_discovery(iter([stopped]))
    assert last is stopped
    assert isinstance(result, ResultReady)
    assert set(result.content["n_found"]) == {0}
    assert result.content["evaluations"][-1] == 100


def test_a_search_that_never_began_has_one_point() -> None:
    result, _ = with_discovery(iter([Stopped(StopReason.CANCELLED, 0, 0.0, 0, 0)]))
    assert result == ResultReady("discovery", {"evaluations": [0], "n_found": [0]})
