"""Prints what every technique finds on five sample models, a hash a line; runs in a process of its own, with the
kernels it is told.

``python -m search.digests [MODEL ...]``
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from fairness_engine.errors import EvenhandError
from fairness_engine.events import PairsFound
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from groups.rule_cases import sample_case

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


def main(names: list[str]) -> None:
    """A line ``model technique hash number-of-pairs`` for each that can be searched so."""
    for name in names or MODELS:
        sample, protected = MODELS[name]
        case = sample_case(sample, name, protected)
        domain = Domain(case.dataset.schema, Scope(protected))
        for technique in sorted(TECHNIQUES):
            budget = Budget(N_EVALUATIONS_SLOW if name.endswith("svm") or technique == "sg" else N_EVALUATIONS)
            chosen = TECHNIQUES[technique].from_json(SETTINGS.get(technique, {}))
            try:
                events = list(run_search(chosen, case.model, domain, case.dataset.rows, budget, 1))
            except EvenhandError:
                continue  # it needs a gradient
            pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], domain.n_columns)
            seen = hashlib.sha256(b"".join(np.ascontiguousarray(values).tobytes() for values in vars(pairs).values()))
            print(name, technique, seen.hexdigest(), len(pairs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
