"""What is found does not hang on how fast, or how busy, the machine is: batches are sized by seconds, results not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairness_engine.clock import Clock
from fairness_engine.search.registry import TECHNIQUES
from search.digests import Searched

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def network() -> Searched:
    """A model with a gradient and more than two variants."""
    return Searched.of("recidivism_mlp")


def at_pace(seconds: float) -> Clock:
    """One that goes on by so many seconds whenever it is looked at."""
    looks = itertools.count()
    return Clock(now=lambda: next(looks) * seconds)


@pytest.mark.parametrize("technique", sorted(TECHNIQUES))
def test_a_slow_machine_finds_the_same_to_the_bit(network: Searched, technique: str) -> None:
    quick = network.pairs(technique, at_pace(0.0))
    assert quick is not None
    assert len(quick) > 0
    slow = network.pairs(technique, at_pace(0.5))
    assert slow is not None
    for name, values in vars(quick).items():
        np.testing.assert_array_equal(values, vars(slow)[name], err_msg=name)
