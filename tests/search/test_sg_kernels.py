"""Loops are compiled before a run for the very arrays that a run hands them, else the run would wait for the
compiler.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SearchStopped
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.search.techniques.sg import kernels
from fairness_engine.search.techniques.sg.sg import Sg
from fairness_engine.search.techniques.sg.sg_shared import SgShared
from handmade import biased_score, function_model, small_domain

_LOOPS = (
    kernels.draw_rows,
    kernels.encode_lattice,
    kernels.grow_branch,
    kernels.count_children,
    kernels.fill_children,
)


def domain_with_reals() -> Domain:
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0),
    )
    return Domain(Schema(columns=columns), Scope(("sex",)))


@pytest.mark.parametrize("technique", [Sg(wave=4), SgShared(wave=64)])
@pytest.mark.parametrize("domain", [small_domain(), small_domain(fixed=("job",)), domain_with_reals()])
def test_a_search_needs_no_loop_that_the_warm_up_did_not_compile(technique: Any, domain: Domain) -> None:
    kernels.warm_up()
    compiled = [len(loop.signatures) for loop in _LOOPS]
    score = biased_score if domain.n_columns == 5 else lambda rows: np.abs(rows[:, 1] - 0.3 * rows[:, 0])
    oracle = Oracle(function_model(score), domain, Budget(5000))
    with contextlib.suppress(SearchStopped):
        list(technique.search(oracle, domain.sample(50, np.random.default_rng(0)), np.random.default_rng(1)))
    assert oracle.n_found > 0
    assert [len(loop.signatures) for loop in _LOOPS] == compiled
