"""A second look at a retrained model: its file is opened again, and must decide the held-out rows as was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.dataset import Dataset, make_dataset, read_table
from fairness_engine.domain import Domain
from fairness_engine.errors import RunError
from fairness_engine.intervals import share_interval
from fairness_engine.mitigation.parts import split_rows
from fairness_engine.mitigation.settings import RetrainSettings
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.store import RunStore

N_DRAWS = 5_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FigureCheck:
    """One figure, looked at again.

    Args:
        name: ``accuracy``, ``data`` or ``uniform``.
        stored, low, high: as the run has it.
        again, n: what the opened file gives, on how many rows or draws.
        holds: whether that agrees: accuracy exactly; a share of the same rows within its interval; that of new draws when its own
            interval overlaps the stored one.
    """

    name: str
    stored: float
    low: float
    high: float
    again: float
    n: int
    holds: bool


@dataclass(frozen=True)
class ModelCheck:
    """What became of the figures of a retrained model."""

    figures: tuple[FigureCheck, ...]

    @property
    def n_contradictions(self) -> int:
        """How many do not hold."""
        return sum(not each.holds for each in self.figures)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"n_contradictions": self.n_contradictions, "figures": [dict(vars(each)) for each in self.figures]}


def check_model(store: RunStore, run: RunRecord, evaluator: Evaluator, seed: int = 0) -> ModelCheck:
    """Open the model that a retraining made, and measure it again: the same test rows, new draws.

    In a scope with a gap of scores the shares are left out: nobody's variants are decided then, their scores are compared.

    Args:
        run: a retraining that made a model and measured it.
        evaluator: opens the file.
        seed: of the draws.

    Raises:
        RunError: it made none, or was ended before it was measured.
        InputError: data or model cannot be used any more.
        ProcessError: the model's process ended, or gave no answer in time.
    """
    version, after = store.version(run.id), store.results(run.id).get("after")
    if version is None or after is None:
        raise RunError("This retraining has no model that was measured, so there is nothing to verify. Retrain again.")
    config = run.config
    key = (config.data_id, version.model_id, config.schema, config.scope)
    dataset, rows = _test_rows(store, run)
    assert dataset.labels is not None, "checked when the rows were split"
    _, decided = evaluator.scores(*key, dataset.rows[rows])
    accuracy = float((decided == dataset.labels[rows]).mean())
    stored = after["quality"]["accuracy"]
    is_same = abs(accuracy - stored["value"]) <= _ROUNDING
    figures = [FigureCheck("accuracy", stored["value"], stored["low"], stored["high"], accuracy, len(rows), is_same)]
    if not config.scope.score_gap:
        domain = Domain(config.schema, config.scope)
        held = dataset.rows[rows]
        people = {
            "data": held[domain.contains(held)],
            "uniform": domain.sample(N_DRAWS, np.random.default_rng(seed)),
        }
        for name, those in people.items():
            least, most = evaluator.decisions(*key, those)
            figures.append(_share_again(name, after[name], least != most))
    return ModelCheck(tuple(figures))


def _test_rows(store: RunStore, run: RunRecord) -> tuple[Dataset, Any]:
    """The data, and the positions of the rows that were held out."""
    config, settings = run.config, RetrainSettings.from_json(run.config.settings)
    file = store.file(config.data_id)
    dataset = make_dataset(read_table(file.path, name=file.name), config.schema.with_protected(config.scope.protected))
    return dataset, split_rows(dataset, settings.test_share, settings.validation_share).test


def _share_again(name: str, stored: Mapping[str, Any], is_hit: Any) -> FigureCheck:
    n, n_hits = len(is_hit), int(np.sum(is_hit))
    again = n_hits / n if n else 0.0
    low, high = (again, again) if name == "data" else share_interval(n_hits, n)
    holds = low <= stored["high"] + _ROUNDING and high >= stored["low"] - _ROUNDING
    return FigureCheck(name, stored["share"], stored["low"], stored["high"], again, n, bool(holds))
