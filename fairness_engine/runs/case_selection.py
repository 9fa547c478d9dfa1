"""The pairs and the rule set that a person picked for a retraining, from the runs that found them to the model's
process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.errors import RunError
from fairness_engine.groups.rule_sets.attributes import TERM
from fairness_engine.groups.rule_sets.membership import unknown_attributes
from fairness_engine.model_process.protocol import pack_pairs
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.settings import CasesOfRun, RetrainSettings
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

MAX_PICKED = 50_000
_MAX_CELLS = 5_000_000
"""With many columns fewer pairs are taken: they travel in one line."""


def picked_content(store: RunStore, config: RunConfig) -> dict[str, Any]:
    """What the model's process is told of what a person picked: ``cases`` and ``rule_set``, null where there is none.

    Raises:
        RunError: see ``picked_cases`` and ``picked_rule_set``.
    """
    return {"cases": picked_cases(store, config), "rule_set": picked_rule_set(store, config)}


def picked_cases(store: RunStore, config: RunConfig) -> dict[str, Any] | None:
    """The pairs that a retraining's settings name, packed; ``None`` where they name none.

    Raises:
        RunError: a run that is not here, of other data, another model or another scope, or without pairs.
    """
    wanted = RetrainSettings.from_json(config.settings).cases
    if not wanted:
        return None
    batches = [_picked(store, config, one) for one in wanted]
    pairs = Pairs.concatenate(batches, len(config.schema.inputs))
    if not len(pairs):
        raise RunError(
            "The cases must be pairs that a run found, got runs without any. Pick others, or let a search find them."
        )
    most = min(MAX_PICKED, _MAX_CELLS // max(1, len(config.schema.inputs)))
    if len(pairs) > most:
        chosen = np.random.default_rng(config.seed).choice(len(pairs), most, replace=False)
        pairs = pairs[np.sort(chosen)]
    return pack_pairs(pairs)


def _picked(store: RunStore, config: RunConfig, one: CasesOfRun) -> Pairs:
    """The pairs of one run.

    Raises:
        RunError: it is of other data, another model or another scope, or has not so many.
    """
    of_run = store.run(one.run_id).config
    same = (of_run.data_id, of_run.model_id, of_run.schema.names) == (
        config.data_id,
        config.model_id,
        config.schema.names,
    )
    if not same:
        raise RunError(
            "The cases must be pairs of the same data and model, got a run of others. Search this model first."
        )
    if not set(of_run.scope.protected) <= set(config.scope.protected):
        raise RunError(
            f"The cases must differ in protected attributes of this scope ({', '.join(config.scope.protected)}), got a "
            f"run on {', '.join(of_run.scope.protected)}. Search in this scope first."
        )
    if of_run.scope.links != config.scope.links:
        raise RunError(
            "The cases must have the links of this scope, got a run with others: its people would not be pairs here. "
            "Search in this scope first."
        )
    pairs = store.pairs(one.run_id)
    wrong = [index for index in one.indices if not 0 <= index < len(pairs)]
    if wrong:
        raise RunError(f"The run has {len(pairs):,} pairs, but pair {wrong[0] + 1:,} was picked. Pick again.")
    return pairs[np.array(one.indices, dtype=np.int64)] if one.indices else pairs


def picked_rule_set(store: RunStore, config: RunConfig) -> dict[str, Any] | None:
    """The rule set that a retraining's settings name, as ``retraining.evaluation.rule_group.RuleGroup.to_json`` has
    it; ``None`` where they name none.

    That module is not imported: it loads SciPy, which the worker has no use for.

    Raises:
        RunError: a run that is not here or has no such rule set, or one on attributes that this data has not.
    """
    wanted = RetrainSettings.from_json(config.settings).rule_set
    if wanted is None:
        return None
    result = stored_rules(store, wanted.run_id)
    if wanted.position >= len(result.scored):
        raise RunError(
            f"The run has {len(result.scored):,} rule sets, but number {wanted.position + 1:,} was picked. Pick again."
        )
    attributes = result.attributes
    rules = result.scored.rules[wanted.position].tolist()
    is_of_texts = any(attribute.kind == TERM for attribute in attributes)
    if config.text_column:
        if not is_of_texts:
            raise RunError(
                "A rule set must be one of terms, since the model takes texts, got one of a table. Pick another."
            )
        return {"attributes": [attribute.to_json() for attribute in attributes], "rules": rules}
    unknown = unknown_attributes(attributes, rules, config.schema)
    if unknown or is_of_texts:
        name = unknown[0] if unknown else "terms of texts"
        raise RunError(
            f"A rule set must be on columns that the model's data has, got one on {name}. Pick one of a run on this "
            "data."
        )
    return {"attributes": [attribute.to_json() for attribute in attributes], "rules": rules}
