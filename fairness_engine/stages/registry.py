"""The stages that there are, and their recordings: kept, so that the app shows one without running anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairness_engine.errors import SettingError
from fairness_engine.search.registry import TECHNIQUES

STAGES = {name: technique.title for name, technique in TECHNIQUES.items()} | {
    "certification": "FairQuant",
    "testsgd": "TestSGD",
    "retraining": "Retraining",
}
"""Titles by name, in the order in which they are offered."""
MODELS = {"two": "Two attributes", "three": "Three attributes"}
_FOLDER = Path(__file__).with_name("recordings")


def models_of(stage: str) -> tuple[str, ...]:
    """On which small models a stage was recorded."""
    return ("two",) if stage in ("testsgd", "retraining") else tuple(MODELS)


def recording_path(stage: str, model: str) -> Path:
    """Where a recording is kept."""
    return _FOLDER / f"{stage}-{model}.json"


def read_recording(stage: str, model: str) -> dict[str, Any]:
    """A stage as ``Stage.to_json`` gave it.

    Raises:
        SettingError: there is none of that name.
    """
    if stage not in STAGES or model not in models_of(stage):
        raise SettingError(f"A stage must be one of {', '.join(STAGES)}, got '{stage}' on '{model}'.")
    recording: dict[str, Any] = json.loads(recording_path(stage, model).read_text(encoding="utf-8"))
    return recording
