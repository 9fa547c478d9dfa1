"""The pairs that a person picked for a retraining, from the runs that found them to the model's process."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.errors import RunError
from fairness_engine.events import Pairs
from fairness_engine.mitigation.settings import RetrainSettings
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
