"""Scored rule sets, from the model's process to disk. Nothing is believed: arrays must be rule sets of this run's attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.errors import ProcessError, RunError
from fairness_engine.events import RulesScored
from fairness_engine.rules.attributes import RuleAttribute
from fairness_engine.rules.scored import ScoredRuleSets
from fairness_engine.rules.settings import MAX_RULE_SETS
from fairness_engine.rules.stored import write_rules
from fairness_engine.runs.run_shelf import RULES_FILE
from fairness_engine.runs.store import RunStore

_PROTOCOL = "The model's process broke its protocol: "


def keep_rules(store: RunStore, run_id: str, event: RulesScored) -> None:
    """Check scored rule sets and write their file.

    Raises:
        ProcessError: they are none.
        RunError: the workspace cannot be written.
    """
    try:
        attributes = [RuleAttribute.from_json(content) for content in event.space["attributes"]]
        n_rows = event.space["n_rows"]
        scored = ScoredRuleSets.from_arrays(event.arrays)
        _check(scored, attributes, n_rows)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise ProcessError(_PROTOCOL + "it sent rule sets that cannot be.") from None
    try:
        write_rules(store.run_folder(run_id) / RULES_FILE, scored, event.space)
    except OSError as error:
        raise RunError(f"The rule sets cannot be written to the workspace: {error.strerror or error}.") from None


def _check(scored: ScoredRuleSets, attributes: list[RuleAttribute], n_rows: Any) -> None:
    n = len(scored)
    if scored.rules.shape != (n, len(attributes)) or not 0 < n <= 2 * MAX_RULE_SETS or not isinstance(n_rows, int):
        raise ValueError("shape")
    for name, array in scored.to_arrays().items():
        if name != "rules" and array.shape != (n,):
            raise ValueError(name)
        if not np.isfinite(array).all():
            raise ValueError(name)
    n_rules = np.array([attribute.n_rules for attribute in attributes])
    if (scored.rules < -1).any() or (scored.rules >= n_rules).any():
        raise ValueError("rules")
