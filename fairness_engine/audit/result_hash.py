"""One hash over what a run found: the same for every run of the same question, however long it took and whoever worked
on it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from fairness_engine.runs.kinds import kind_of
from fairness_engine.runs.writers.rule_sets import RULES_FILE
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

_BATCH = 100_000
_OF_TIME = frozenset({"seconds"})
_OF_EXAMPLES = frozenset({"n_counterexamples", "estimate", "data_rows"})
"""What a certification looks for once its proof is done, for some seconds."""


def result_hash(store: RunStore, run: RunRecord) -> str:
    """SHA-256 over a run's counts, its pairs in the order of discovery, its rule sets and what its kind calls findings.

    What depends on the clock is left out: seconds, measures that are given up when they take too long, and what a
    certification shows beside its proof: examples, and an estimate of what it left undecided.

    Raises:
        RunError: what it stored is damaged.
    """
    kind = kind_of(run.config)
    found = hashlib.sha256()
    results = store.results(run.id)
    of_time = _OF_TIME | (_OF_EXAMPLES if kind.gives_examples else frozenset())
    told = {name: _without(results[name], of_time) for name in kind.findings if name in results}
    counts = [run.evaluations, run.n_tried, *([] if kind.gives_examples else [run.n_found, run.n_rejected])]
    found.update(json.dumps([kind.name, counts, told], sort_keys=True).encode())
    has_pairs = kind.has_pairs and not kind.gives_examples
    for start in range(0, store.n_pairs(run.id) if has_pairs else 0, _BATCH):
        pairs = store.pairs(run.id, _BATCH, start)
        for array in (pairs.first, pairs.second, pairs.decision_first, pairs.decision_second):
            found.update(np.ascontiguousarray(array).tobytes())
    rules = store.run_folder(run.id) / RULES_FILE
    if rules.is_file():
        with np.load(rules, allow_pickle=False) as arrays:
            for name in sorted(arrays.files):
                found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def _without(content: Any, names: frozenset[str]) -> Any:
    if isinstance(content, dict):
        return {name: _without(value, names) for name, value in content.items() if name not in names}
    if isinstance(content, list):
        return [_without(value, names) for value in content]
    return content
