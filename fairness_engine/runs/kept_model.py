"""The model's process that a worker keeps from one run of a comparison to the next: opening data and model takes longer
than many a search.
"""

from __future__ import annotations

import json
from typing import Any

from fairness_engine.model_process.process import ModelProcess
from fairness_engine.runs.kinds import kind_of
from fairness_engine.store.environment import unsafe_formats_allowed
from fairness_engine.store.run_config import RunConfig

_MAX_RUNS = 100
"""A process is allowed a day of a processor, and what libraries lose of its memory adds up."""


class KeptModel:
    """At most one process, which has opened something and is at work on nothing."""

    def __init__(self) -> None:
        self._process: ModelProcess | None = None
        self._opened = ""
        self._n_runs = 0

    def keep(self, process: ModelProcess, config: RunConfig) -> None:
        """Keep what has worked a run, if that is one of several."""
        self._process = process
        self._opened = _opened(config)
        self._n_runs += 1
        if config.comparison is None or self._n_runs >= _MAX_RUNS:
            self.close()

    def fits(self, config: RunConfig) -> bool:
        """Whether it has opened what a run asks, in the same way."""
        process = self._process
        if process is None or not process.is_alive or self._opened != _opened(config):
            return False
        return set(kind_of(config).loops) <= process.loops

    def take(self, config: RunConfig) -> ModelProcess | None:
        """The process for a run, which is the caller's then; ``None``, and it is ended, where it does not fit."""
        if not self.fits(config):
            self.close()
            return None
        process = self._process
        self._process = None
        return process

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.close()
        self._process = None
        self._n_runs = 0


def how_opened(config: RunConfig) -> dict[str, Any]:
    """What is said of data and model when they are opened, beside where they are."""
    return {
        "schema": config.schema.to_json(),
        "scope": config.scope.to_json(),
        "unsafe_formats": unsafe_formats_allowed(),
        "needs_variants": kind_of(config).compares_variants,
    }


def _opened(config: RunConfig) -> str:
    files = [config.comparison, config.data_id, config.model_id, config.text_column]
    return json.dumps([*files, how_opened(config)], sort_keys=True)
