"""Pickle and joblib files: they run code on load, so they are refused unless the operator switched them on."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from fairness_engine.errors import ModelError
from fairness_engine.models.refused_formats import PICKLE_RECIPE, filled
from fairness_engine.models.skops_file import version_notes

REFUSAL = (
    "Pickle and joblib files run code of their author on load and are refused. Save the model as .skops, .onnx or .keras; or, for files "
    "you trust, start the app with --allow-unsafe-models, or give the command --unsafe-formats."
)


def read_pickle(path: Path, unsafe_formats: bool, name: str = "model.pkl") -> tuple[Any, tuple[str, ...]]:
    """The object in a pickle or joblib file, and notes for the user.

    Args:
        path: the file.
        unsafe_formats: the operator allows files that run code on load.
        name: as uploaded.

    Raises:
        ModelError: not allowed, or it cannot be loaded.
    """
    if not unsafe_formats:
        raise ModelError(REFUSAL, recipe=filled(PICKLE_RECIPE, name))
    import joblib  # type: ignore[import-untyped]  # joblib ships no types

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator = joblib.load(path)
    except Exception as error:  # noqa: BLE001 - the file's own code may raise anything
        raise ModelError(
            f"The file could not be loaded ({type(error).__name__}: {str(error)[:120]}). It may be damaged, or need a library "
            "that is not installed."
        ) from None
    note = "The file's format can run code of its author on load; it was read because the operator switched that on."
    return estimator, (note, *version_notes(caught))
