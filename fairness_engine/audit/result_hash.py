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


def result_hash(store: RunStore, run: RunRecord) -> str:
    """SHA-256 over a run's counts, its pairs in the order of discovery, its rule sets and what its kind calls findings.

    What depends on the clock is left out: seconds, and measures that are given up when they take too long.

    Raises:
        RunError: what it stored is damaged.
    """
    kind = kind_of(run.config)
    found = hashlib.sha256()
    results = store.results(run.id)
    told = {name: _timeless(results[name]) for name in kind.findings if name in results}
    counts = [run.evaluations, run.n_tried, run.n_found, run.n_rejected]
    found.update(json.dumps([kind.name, counts, told], sort_keys=True).encode())
    for start in range(0, store.n_pairs(run.id) if kind.has_pairs else 0, _BATCH):
        pairs = store.pairs(run.id, _BATCH, start)
        for array in (pairs.first, pairs.second, pairs.decision_first, pairs.decision_second):
            found.update(np.ascontiguousarray(array).tobytes())
    rules = store.run_folder(run.id) / RULES_FILE
    if rules.is_file():
        with np.load(rules, allow_pickle=False) as arrays:
            for name in sorted(arrays.files):
                found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def _timeless(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _timeless(value) for name, value in content.items() if name not in _OF_TIME}
    if isinstance(content, list):
        return [_timeless(value) for value in content]
    return content
