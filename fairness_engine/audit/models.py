"""A second look at a retrained model: its file is opened again, and must decide the held-out rows as was measured."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.audit.model_figures import ROUNDING, FigureCheck, ModelCheck
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.errors import RunError
from fairness_engine.intervals import share_interval
from fairness_engine.measures.results import Share
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Decisions, Scores, Summary, Target
from fairness_engine.model_process.tables import read_stored
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.evaluation.changes import by_group, held_out
from fairness_engine.retraining.evaluation.split import split_rows
from fairness_engine.retraining.results import Measured
from fairness_engine.runs.kinds import RETRAIN, results_of
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore

N_DRAWS = 5_000
_FALSE_ALARM = 1e-6
"""How likely it is at most that a share of new draws is said not to hold though its stored interval does."""


def check_model(store: RunStore, run: RunRecord, evaluator: Evaluator, seed: int = 0) -> ModelCheck:
    """Open both models of a retraining, and measure them again: the same test rows, the same groups, new draws.

    In a scope with a gap of scores the shares are left out: nobody's variants are decided then, their scores are
    compared.

    Args:
        run: a retraining that made a model and measured it.
        evaluator: opens the file.
        seed: of the draws.

    Raises:
        RunError: it made none, or was ended before it was measured.
        InputError: data or model cannot be used any more.
        ProcessError: the model's process ended, or gave no answer in time.
    """
    version = store.version(run.id)
    results = results_of(store, run.id)
    if version is None or results.before is None or results.after is None:
        raise RunError("This retraining has no model that was measured, so there is nothing to verify. Retrain again.")
    config = run.config
    if config.text_column:
        from fairness_engine.audit.text_models import check_text_models

        return check_text_models(store, run, version.model_id, evaluator)
    held = _test_rows(store, run)
    figures: list[FigureCheck] = []
    favourable: list[BoolArray] = []
    sides = (("before", config.model_id, results.before), ("after", version.model_id, results.after))
    for model, model_id, stored in sides:
        opened = _Opened(evaluator, replace(config, model_id=model_id))
        decided = opened.decided(held.rows)
        figures += _figures_again(model, stored, opened, decided, held, config.scope, seed)
        favourable.append(decided == opened.favourable)
    groups, of_groups = by_group(held, config.scope, opened.favourable, *favourable)
    changes = results.changes
    if changes is None:  # one that broke off before it compared the groups claims nothing of them
        return ModelCheck(tuple(figures), run.state is not RunState.FINISHED)
    figures_again = json.loads(json.dumps(of_groups))
    return ModelCheck(tuple(figures), changes.groups == list(groups) and changes.figures == figures_again)


class _Opened:
    """One of the two models, opened by the evaluator."""

    def __init__(self, evaluator: Evaluator, target: Target) -> None:
        self._evaluator = evaluator
        self._target = target
        self.favourable = int(evaluator.ask(target, Summary())["favourable"])

    def decided(self, rows: FloatArray) -> IntArray:
        """Index of the outcome of each row ``(n_rows,)``."""
        return self._evaluator.ask(self._target, Scores(rows))[1]

    def is_hit(self, rows: FloatArray) -> BoolArray:
        """Which of these people ``(n_rows,)`` are decided in two ways."""
        least, most = self._evaluator.ask(self._target, Decisions(rows))
        return np.asarray(least != most)


def _figures_again(
    model: str,
    stored: Measured,
    opened: _Opened,
    decided: IntArray,
    held: Dataset,
    scope: Scope,
    seed: int,
) -> list[FigureCheck]:
    said = stored.quality.accuracy
    accuracy = float((decided == held.labels).mean())
    is_same = abs(accuracy - said.value) <= ROUNDING
    figures = [FigureCheck("accuracy", model, said.value, said.low, said.high, accuracy, len(held.rows), is_same)]
    if scope.score_gap:
        return figures
    domain = Domain(held.schema, scope)
    people = (
        ("data", stored.data, held.rows[domain.contains(held.rows)]),
        ("uniform", stored.uniform, domain.sample(N_DRAWS, np.random.default_rng(seed))),
    )
    return figures + [_share_again(name, model, share, opened.is_hit(those)) for name, share, those in people]


def _test_rows(store: RunStore, run: RunRecord) -> Dataset:
    """The rows that were held out, with their outcomes."""
    config = run.config
    settings = RETRAIN.settings(run.config)
    file = store.file(config.data_id)
    dataset = make_dataset(
        read_stored(store.workspace, file.path, file.name), config.schema.with_protected(config.scope.protected)
    )
    return held_out(dataset, split_rows(dataset, settings.test_share, settings.validation_share).test)


def _share_again(name: str, model: str, stored: Share, is_hit: BoolArray) -> FigureCheck:
    n = len(is_hit)
    n_hits = int(np.sum(is_hit))
    again = n_hits / n if n else 0.0
    low, high = (again, again) if name == "data" else share_interval(n_hits, n, level=1 - _FALSE_ALARM)
    holds = low <= stored.high + ROUNDING and high >= stored.low - ROUNDING
    return FigureCheck(name, model, stored.share, stored.low, stored.high, again, n, bool(holds))
