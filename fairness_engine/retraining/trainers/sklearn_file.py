"""A trained estimator becomes a ``.skops`` file: without what only training needed, opened again, and compared."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from fairness_engine.errors import ModelError
from fairness_engine.models.formats import MAX_MODEL_BYTES
from fairness_engine.models.model import Model
from fairness_engine.retraining.trainers.keras import reopened
from fairness_engine.retraining.trainers.trainer import Binding

_LEFTOVERS: dict[str, tuple[str, ...]] = {
    "MLPClassifier": ("_optimizer", "_random_state", "_best_coefs", "_best_intercepts"),
    "GradientBoostingClassifier": ("_rng",),
    "HistGradientBoostingClassifier": ("_feature_subsample_rng",),
    "RandomForestClassifier": ("_sample_weight",),
    "ExtraTreesClassifier": ("_sample_weight",),
    "BaggingClassifier": ("_sample_weight",),
}
"""What only a training needs, by class: the state of an optimizer and of chance, and what is said of single rows of the
data.
"""
_N_COMPARED = 500
_MAX_DEPTH = 12


def without_leftovers(estimator: Any, depth: int = 0) -> Any:
    """The estimator, and all that it is made of, without what only training needed; changed in place."""
    if depth > _MAX_DEPTH:
        return estimator
    if isinstance(estimator, list | tuple):
        for part in estimator:
            without_leftovers(part, depth + 1)
    elif hasattr(estimator, "get_params") and hasattr(estimator, "__dict__"):
        for name in _LEFTOVERS.get(type(estimator).__name__, ()):
            estimator.__dict__.pop(name, None)
        for part in vars(estimator).values():
            without_leftovers(part, depth + 1)
    elif type(estimator).__name__ == "_CalibratedClassifier":
        without_leftovers(estimator.estimator, depth + 1)
    return estimator


def content_of(estimator: Any, model: Model, binding: Binding) -> bytes:
    """The bytes of the file.

    Args:
        estimator: fitted.
        model: the same, as it was measured.
        binding: how it belongs to the data.

    Raises:
        ModelError: too large, of types that model files may not hold, or opened again it decides otherwise.
    """
    import skops.io

    try:
        content = _renumbered(bytes(skops.io.dumps(estimator, compression=zipfile.ZIP_DEFLATED)))
    except Exception as error:  # noqa: BLE001 - a class of the user's may hold anything
        raise ModelError(
            f"The trained '{type(estimator).__name__}' must fit into a .skops file, but cannot be written "
            f"({type(error).__name__}). Build it from scikit-learn's own classes."
        ) from None
    if len(content) > MAX_MODEL_BYTES:
        raise ModelError(
            f"A model file may have at most {MAX_MODEL_BYTES / 1e6:.0f} MB, but the retrained "
            f"'{type(estimator).__name__}' has "
            f"{len(content) / 1e6:,.0f} MB. Limit its size, for example the depth of its trees."
        )
    _compare(content, model, binding)
    return content


def _renumbered(content: bytes) -> bytes:
    """The archive with numbers from 1 on in place of the addresses in memory that skops calls parts and members by, and
    without its date: the same estimator gives the same bytes.
    """
    numbers: dict[str, str] = {}
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        schema = json.loads(archive.read("schema.json"))
        waiting: list[Any] = [schema]
        while waiting:
            node = waiting.pop()
            if isinstance(node, list):
                waiting += reversed(node)
                continue
            if not isinstance(node, dict):
                continue
            if isinstance(node.get("__id__"), int):
                node["__id__"] = int(numbers.setdefault(str(node["__id__"]), str(len(numbers) + 1)))
            if isinstance(node.get("file"), str):
                stem, dot, suffix = node["file"].partition(".")
                node["file"] = numbers.setdefault(stem, str(len(numbers) + 1)) + dot + suffix
            waiting += reversed(node.values())
        members = {"schema.json": json.dumps(schema, indent=2).encode()}
        for name in archive.namelist():
            stem, dot, suffix = name.partition(".")
            if name != "schema.json":
                members[numbers.get(stem, stem) + dot + suffix] = archive.read(name)
        for name in sorted(members):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, members[name])
    return written.getvalue()


def _compare(content: bytes, model: Model, binding: Binding) -> None:
    """What leaves must be what was measured."""
    again = reopened(content, ".skops", binding)
    rows = binding.rows(_N_COMPARED)
    if (again.decide(again.scores(rows)) != model.decide(model.scores(rows))).any():
        raise ModelError(
            "The retrained model must decide alike once it is written and opened again, but does not. Choose a "
            "surrogate."
        )
