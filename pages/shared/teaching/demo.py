"""Which demo the open review is of: known by the content of its files, whatever they or the review are called."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

from fairness_engine.data.catalogue import list_samples
from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Scope
from pages.shared.app import session

if TYPE_CHECKING:
    from pathlib import Path

    from fairness_engine.data.catalogue import Sample, SampleModel
    from fairness_engine.store.records import Review


@cache
def demos() -> tuple[Sample, ...]:
    """The samples that have a model."""
    return tuple(sample for sample in list_samples() if sample.models)


def scope_of(sample: Sample, model: SampleModel) -> Scope:
    """What a demo asks."""
    return Scope(model.protected if sample.text_column is None else (sample.text_column,))


def demo_of(review: Review) -> tuple[Sample, SampleModel | None] | None:
    """The sample that a review is of, and the model whose figures are known; that one is ``None`` for another model, as
    after a retraining, or where something else is asked. ``None`` for data of somebody's own.
    """
    data = _hash_in_store(review.data_id)
    sample = next((sample for sample in demos() if data == _hash_of(sample.data)), None)
    if sample is None:
        return None
    file = _hash_in_store(review.model_id)
    model = next((model for model in sample.models if file == _hash_of(model.path)), None)
    if model is not None and review.scope != scope_of(sample, model):
        model = None
    return sample, model


def _hash_in_store(file_id: str | None) -> str | None:
    try:
        return None if file_id is None else session.store().file(file_id).sha256
    except RunError:
        return None


@cache
def _hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
