"""The sample data and models that come with Evenhand, each with planted discrimination and a known answer.

Reads ``sample_data/catalogue.json`` and ``sample_models/catalogue.json`` beside this package; opens no model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from fairness_engine.errors import DataError
from fairness_engine.schema import ModelInput, Schema

ROOT = Path(__file__).resolve().parent.parent
DATA_FOLDER = ROOT / "sample_data"
MODELS_FOLDER = ROOT / "sample_models"


@dataclass(frozen=True)
class SampleModel:
    """One model that comes with a sample.

    Args:
        name: of the file, without its suffix.
        title, description: for screens; the description is one sentence.
        path: the model file.
        model_input: how the model takes a row.
        classes: what class 0 and class 1 mean, in the words of the label's column.
        is_exact: True when the model is the planted decision rule itself, or a part of it, so that the shares of the
            truth file are the model's own; False when it was trained on the data.
        protected: the protected attributes to start with.
        known: what is known to be found, in one sentence.
    """

    name: str
    title: str
    description: str
    path: Path
    model_input: ModelInput
    classes: tuple[str, ...]
    is_exact: bool
    protected: tuple[str, ...]
    known: str


@dataclass(frozen=True)
class Sample:
    """One data set that comes with Evenhand, and its models.

    Args:
        name: of the files.
        title, description: for the Start page; the description is one sentence.
        data, schema, truth: the CSV file, its schema file, and what is planted in it.
        protected: the recommended protected attributes; empty for text.
        known: what is known to be found, in one sentence.
        models: the models made for it, the one to show first in front.
        text_column: the column that a text model takes, or ``None``.
    """

    name: str
    title: str
    description: str
    data: Path
    schema: Path
    truth: Path
    protected: tuple[str, ...]
    known: str
    models: tuple[SampleModel, ...]
    text_column: str | None = None

    def read_truth(self) -> dict[str, Any]:
        """What is planted, in words and exact numbers.

        ``planted`` are the effects, ``shares`` the exact shares of discriminatory individuals under the planted rule
        by set of protected attributes, ``no_effect`` the protected attributes that change no decision.
        """
        truth: dict[str, Any] = json.loads(self.truth.read_text(encoding="utf-8"))
        return truth

    def schema_for(self, model: SampleModel) -> Schema:
        """The schema with the model's way to take a row and its recommended protected attributes."""
        schema = Schema.read(self.schema)
        return replace(schema, model_input=model.model_input, protected=model.protected)

    def model(self, name: str) -> SampleModel:
        """The model of that name.

        Raises:
            DataError: there is no such model.
        """
        return _named(name, self.models, f"model of sample '{self.name}'")


def list_samples() -> tuple[Sample, ...]:
    """Every sample, in the order of the catalogue."""
    models = _read(MODELS_FOLDER)["models"]
    return tuple(_sample(entry, models.get(entry["name"], [])) for entry in _read(DATA_FOLDER)["samples"])


def find_sample(name: str) -> Sample:
    """The sample of that name.

    Raises:
        DataError: there is no such sample.
    """
    return _named(name, list_samples(), "sample")


Item = TypeVar("Item", Sample, SampleModel)


def _named(name: str, items: tuple[Item, ...], noun: str) -> Item:
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items)
    raise DataError(f"There is no {noun} named '{name}'; there are: {known}.")


def _read(folder: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    except OSError:
        raise DataError(
            f"The samples need {folder.name}/catalogue.json, which is not there. Run 'python -m {folder.name}.make'."
        ) from None
    return content


def _sample(entry: Mapping[str, Any], models: list[Mapping[str, Any]]) -> Sample:
    return Sample(
        name=entry["name"],
        title=entry["title"],
        description=entry["description"],
        data=DATA_FOLDER / entry["data"],
        schema=DATA_FOLDER / entry["schema"],
        truth=DATA_FOLDER / entry["truth"],
        protected=tuple(entry["protected"]),
        known=entry["known"],
        models=tuple(_model(model) for model in models),
        text_column=entry.get("text_column"),
    )


def _model(entry: Mapping[str, Any]) -> SampleModel:
    return SampleModel(
        name=entry["name"],
        title=entry["title"],
        description=entry["description"],
        path=MODELS_FOLDER / entry["file"],
        model_input=ModelInput(entry["model_input"]),
        classes=tuple(entry["classes"]),
        is_exact=entry["is_exact"],
        protected=tuple(entry["protected"]),
        known=entry["known"],
    )
