"""Retrainings in this process: a sample, one of its models, the real driver, trainers and strategies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.events import Event, ModelPart, ResultReady, Stopped
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.factory import make_trainer
from fairness_engine.retraining.trainers.trainer import Binding


@cache
def data_of(name: str, protected: tuple[str, ...]) -> Dataset:
    """The rows of a sample."""
    sample = find_sample(name)
    schema = Schema.read(sample.data.with_name(f"{name}.schema.json")).with_protected(protected)
    return make_dataset(read_table(sample.data), schema)


def subject_of(
    model: Path, dataset: Dataset, scope: Scope, settings: RetrainSettings | None = None, **changes: Any
) -> RetrainingTask:
    """What is retrained: a model file bound to rows."""
    schema = dataset.schema
    favourable = 1 if dataset.favourable_class is None else dataset.favourable_class
    opened = open_model(
        model, schema, classes=dataset.classes, favourable=favourable, threshold=scope.threshold, unsafe_formats=False
    )
    binding = Binding(schema, dataset.classes, favourable, scope.threshold)
    trainer = make_trainer(model, model.name, opened, binding, settings or RetrainSettings(), unsafe_formats=False)
    return replace(
        RetrainingTask(opened, Domain(schema, scope, opened.taken(schema.names)), dataset, trainer), **changes
    )


def sample_subject(
    model: str, *protected: str, settings: RetrainSettings | None = None, **limits: Any
) -> RetrainingTask:
    """A model of the samples, named by its file: ``census_income_tree.skops``."""
    name = next(name for name in ("census_income", "credit", "marketing", "recidivism") if model.startswith(name))
    path = Path(__file__).resolve().parent.parent / "sample_models" / model
    return subject_of(path, data_of(name, protected), Scope(protected, **limits), settings)


@dataclass(frozen=True)
class Retrained:
    """What a retraining said."""

    events: list[Event]

    def result(self, name: str) -> dict[str, Any]:
        """The last result of this name."""
        return next(e.content for e in reversed(self.events) if isinstance(e, ResultReady) and e.name == name)

    @property
    def results(self) -> list[str]:
        """Names of results, in the order in which each first came."""
        return list(dict.fromkeys(e.name for e in self.events if isinstance(e, ResultReady)))

    @property
    def parts(self) -> list[ModelPart]:
        """Parts of files, in order."""
        return [event for event in self.events if isinstance(event, ModelPart)]

    @property
    def file(self) -> bytes:
        """The last file that was sent."""
        last = max(part.version for part in self.parts)
        return b"".join(part.content for part in self.parts if part.version == last)

    @property
    def stopped(self) -> Stopped:
        """The last event."""
        last = self.events[-1]
        assert isinstance(last, Stopped)
        return last

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The rounds, the control among them."""
        rounds: list[dict[str, Any]] = self.result("training")["rounds"]
        return rounds


def retrain(
    subject: RetrainingTask,
    settings: RetrainSettings,
    seed: int = 3,
    max_seconds: float = math.inf,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Retrained:
    """Run it to its end."""
    return Retrained(list(run_retraining(subject, settings, seed, Clock(max_seconds, is_cancelled))))


def three_outcomes(folder: Path) -> RetrainingTask:
    """People of two groups, one of which is moved down by a step; three outcomes; a tree that learned it."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 600), rng.integers(0, 30, 600), rng.integers(0, 10, 600)]).astype(float)
    labels = np.clip((rows[:, 1] - 4 * rows[:, 0] + rng.integers(-1, 2, 600)) // 10, 0, 2).astype(np.int64)
    schema = Schema(
        (
            Column("group", Kind.CATEGORICAL, codes=(0, 1), labels=("a", "b")),
            Column("points", Kind.INTEGER, minimum=0, maximum=29),
            Column("other", Kind.INTEGER, minimum=0, maximum=9),
            Column("grade", Kind.CATEGORICAL, codes=(0, 1, 2), labels=("low", "middle", "high")),
        ),
        label="grade",
        favourable=2,
        protected=("group",),
    )
    data = Dataset(schema, rows, labels, ("low", "middle", "high"), np.arange(600), 0, (), "0" * 64, 2)
    path = folder / "three.skops"
    skops.io.dump(DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(rows, labels), path)
    return subject_of(path, data, Scope(("group",)))
