"""Prints what every technique finds on five sample models, a hash a line; runs in a process of its own, with the
kernels it is told.

``python -m search.digests [MODEL ...]``
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass

import numpy as np

from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.errors import EvenhandError
from fairness_engine.events import PairsFound
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from groups.rule_cases import SampleCase, sample_case

MODELS = {
    "census_income_network": ("census_income", ("sex",)),
    "recidivism_mlp": ("recidivism", ("race", "sex")),
    "census_income_svm": ("census_income", ("sex", "race")),
    "census_income_forest": ("census_income", ("sex",)),
    "census_income_pipeline": ("census_income", ("sex",)),
}
SETTINGS = {"sg": {"n_samples": 200}, "sg-shared": {"n_samples": 1000}}
N_EVALUATIONS = 20_000
N_EVALUATIONS_SLOW = 2_000


@dataclass(frozen=True)
class Searched:
    """A sample model, and the people who are searched."""

    name: str
    case: SampleCase
    domain: Domain

    @classmethod
    def of(cls, name: str) -> Searched:
        """One of ``MODELS``."""
        sample, protected = MODELS[name]
        case = sample_case(sample, name, protected)
        return cls(name, case, Domain(case.dataset.schema, Scope(protected)))

    def pairs(self, technique: str, clock: Clock = NO_LIMIT) -> Pairs | None:
        """What a technique finds, or ``None``: it needs a gradient."""
        is_slow = self.name.endswith("svm") or technique == "sg"
        budget = Budget(N_EVALUATIONS_SLOW if is_slow else N_EVALUATIONS)
        chosen = TECHNIQUES[technique].from_json(SETTINGS.get(technique, {}))
        try:
            events = list(run_search(chosen, self.case.model, self.domain, self.case.dataset.rows, budget, 1, clock))
        except EvenhandError:
            return None
        return Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], self.domain.n_columns)


def main(names: list[str]) -> None:
    """A line ``model technique hash number-of-pairs`` for each that can be searched so."""
    for name in names or MODELS:
        searched = Searched.of(name)
        for technique in sorted(TECHNIQUES):
            pairs = searched.pairs(technique)
            if pairs is not None:
                values = b"".join(np.ascontiguousarray(values).tobytes() for values in vars(pairs).values())
                print(name, technique, hashlib.sha256(values).hexdigest(), len(pairs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
