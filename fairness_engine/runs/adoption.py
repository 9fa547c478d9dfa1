"""Going on with a retrained model, or without it. The original stays in the store either way, and so do all runs on
it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairness_engine.errors import RunError
from fairness_engine.store.records import Review, Version, VersionState
from fairness_engine.store.store import RunStore


def keep_version(store: RunStore, review_id: str, run_id: str, fit: dict[str, Any] | None) -> Review:
    """Let a review go on with the model that a retraining made.

    Versions that are not among the ancestors of the new model are no longer the ones that the review goes on with:
    those that were kept are discarded, which removes nothing.

    Args:
        review_id: whose retraining it was.
        run_id: of the retraining.
        fit: the new model's fit card as JSON; ``None`` where it is to be asked for when it is shown.

    Returns:
        the review as stored.

    Raises:
        RunError: no such review, the run is of another, or of other data, or made no model.
    """
    review = store.review(review_id)
    version = _version(store, review_id, run_id)
    if store.run(run_id).config.data_id != review.data_id:
        raise RunError(
            "A model can be kept on the data it was trained on, but the review has other data. Retrain on it."
        )
    ancestors = {version.model_id, *lineage(store, version.model_id)}
    for other in store.versions(review_id):
        if other.state is VersionState.KEPT and other.model_id not in ancestors:
            store.set_version_state(other.run_id, VersionState.DISCARDED)
    store.set_version_state(run_id, VersionState.KEPT)
    return store.save_review(replace(review, model_id=version.model_id, fit=fit))


def discard_version(store: RunStore, review_id: str, run_id: str, fit: dict[str, Any] | None = None) -> Review:
    """Let a review go on without the model that a retraining made. One that goes on with it, goes back to the model it
    was made of.

    Args:
        fit: the fit card of the model it goes back to, as JSON.

    Returns:
        the review as stored.

    Raises:
        RunError: no such review, the run is of another, or made no model.
    """
    review = store.review(review_id)
    version = _version(store, review_id, run_id)
    store.set_version_state(run_id, VersionState.DISCARDED)
    if review.model_id != version.model_id:
        return review
    return store.save_review(replace(review, model_id=version.parent_id, fit=fit))


def undo_change(store: RunStore, review: Review, revision: int) -> Review:
    """Take changes of a review back, as ``RunStore.undo_review`` does; versions are kept or discarded as the model that
    it has again says.

    Args:
        review: as it stands.
        revision: of the state to go back to.

    Returns:
        the review as stored.

    Raises:
        RunError: no such review or state.
        StaleReviewError: the review was changed since it was read.
    """
    restored = store.undo_review(review, revision)
    if restored.model_id is not None and restored.model_id != review.model_id:
        goes_on_with = {restored.model_id, *lineage(store, restored.model_id)}
        for version in store.versions(review.id):
            if version.model_id == restored.model_id:
                store.set_version_state(version.run_id, VersionState.KEPT)
            elif version.state is VersionState.KEPT and version.model_id not in goes_on_with:
                store.set_version_state(version.run_id, VersionState.DISCARDED)
    return restored


def lineage(store: RunStore, model_id: str) -> list[str]:
    """The models that one was made of, its parent first and the uploaded one last; empty for an uploaded one."""
    found: list[str] = []
    made_by = store.version_of_model(model_id)
    while made_by and made_by[-1].parent_id not in (model_id, *found):
        found.append(made_by[-1].parent_id)
        made_by = store.version_of_model(found[-1])
    return found


def _version(store: RunStore, review_id: str, run_id: str) -> Version:
    if store.run(run_id).review_id != review_id:
        raise RunError(
            "A model can be kept in the review that it was retrained in, got a run of another. Open that one."
        )
    version = store.version(run_id)
    if version is None:
        raise RunError("This retraining made no model, so there is none to keep. Choose another strategy or tolerance.")
    return version
