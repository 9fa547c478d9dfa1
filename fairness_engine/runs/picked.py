"""The pairs and the rule set that a person picked for a retraining, from the runs that found them to the model's process."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.errors import RunError
from fairness_engine.events import Pairs
from fairness_engine.mitigation.settings import RetrainSettings
from fairness_engine.rules.attributes import TERM
from fairness_engine.rules.membership import unknown_attributes
from fairness_engine.runs.config import RunConfig
from fairness_engine.runs.protocol import pack_pairs
from fairness_engine.runs.store import RunStore

MAX_PICKED = 50_000


def picked_cases(store: RunStore, config: RunConfig) -> dict[str, Any] | None:
    """The pairs that a retraining's settings name, packed; ``None`` where they name none.

    Raises:
        RunError: a run that is not here, or of other data, or another model.
    """
    wanted = RetrainSettings.from_json(config.settings).cases
    if not wanted:
        return None
    batches = []
    for one in wanted:
        of_run = store.run(one.run_id).config
        if (of_run.data_id, of_run.model_id, of_run.schema.names) != (
            config.data_id,
            config.model_id,
            config.schema.names,
        ):
            raise RunError(
                "The cases must be pairs of the same data and model, got a run of others. Search this model first."
            )
        pairs = store.pairs(one.run_id)
        if one.indices and max(one.indices) >= len(pairs):
            raise RunError(
                f"The run has {len(pairs):,} pairs, but pair {max(one.indices) + 1:,} was picked. Pick again."
            )
        batches.append(pairs[np.array(one.indices, dtype=np.int64)] if one.indices else pairs)
    pairs = Pairs.concatenate(batches, len(config.schema.inputs))
    if len(pairs) > MAX_PICKED:
        chosen = np.random.default_rng(config.seed).choice(len(pairs), MAX_PICKED, replace=False)
        pairs = pairs[np.sort(chosen)]
    return pack_pairs(pairs)


def picked_rule_set(store: RunStore, config: RunConfig) -> dict[str, Any] | None:
    """The rule set that a retraining's settings name, as ``mitigation.rule_group.RuleGroup.to_json`` has it; ``None`` where they name none.

    That module is not imported: it loads SciPy, which the worker has no use for.

    Raises:
        RunError: a run that is not here or has no such rule set, or one on attributes that this data has not.
    """
    wanted = RetrainSettings.from_json(config.settings).rule_set
    if wanted is None:
        return None
    result = store.rules(wanted.run_id)
    if wanted.position >= len(result.scored):
        raise RunError(
            f"The run has {len(result.scored):,} rule sets, but number {wanted.position + 1:,} was picked. Pick again."
        )
    attributes, rules = result.attributes, result.scored.rules[wanted.position].tolist()
    unknown = unknown_attributes(attributes, rules, config.schema)
    if unknown or any(attribute.kind == TERM for attribute in attributes):
        name = unknown[0] if unknown else "terms of texts"
        raise RunError(
            f"A rule set must be on columns that the model's data has, got one on {name}. Pick one of a run on this data."
        )
    return {"attributes": [attribute.to_json() for attribute in attributes], "rules": rules}
