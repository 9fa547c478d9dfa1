"""Scored rule sets, from the model's process to disk. Nothing is believed: arrays must be rule sets of this run's attributes."""

from __future__ import annotations

import numpy as np

from fairness_engine.errors import ProcessError, RunError
from fairness_engine.events import RulesScored
from fairness_engine.rules.scored import RuleResult
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
        result = RuleResult.from_parts(event.arrays, event.space)
        _check(result)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise ProcessError(_PROTOCOL + "it sent rule sets that cannot be.") from None
    try:
        write_rules(store.run_folder(run_id) / RULES_FILE, result)
    except OSError as error:
        raise RunError(f"The rule sets cannot be written to the workspace: {error.strerror or error}.") from None


def _check(result: RuleResult) -> None:
    scored, attributes = result.scored, result.attributes
    n = len(scored)
    is_shaped = scored.rules.shape == (n, len(attributes)) and 0 < n <= 2 * MAX_RULE_SETS
    if not is_shaped or not isinstance(result.n_rows, int):
        raise ValueError("shape")
    for name, array in scored.to_arrays().items():
        if name != "rules" and array.shape != (n,):
            raise ValueError(name)
        if not np.isfinite(array).all():
            raise ValueError(name)
    n_rules = np.array([attribute.n_rules for attribute in attributes])
    if (scored.rules < -1).any() or (scored.rules >= n_rules).any():
        raise ValueError("rules")
