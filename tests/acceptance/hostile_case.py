"""What a case of the acceptance suite is, and the honest files that each of them damages or stands beside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

COLUMNS: list[dict[str, Any]] = [
    {"name": "sex", "kind": "categorical", "codes": {"0": "F", "1": "M"}},
    {"name": "age", "kind": "integer", "min": 20, "max": 60},
    {"name": "job", "kind": "categorical", "codes": {"0": "clerk", "1": "nurse", "2": "judge"}},
    {"name": "wealth", "kind": "real", "min": 0.0, "max": 5.0},
    {"name": "hired", "kind": "categorical", "categories": ["no", "yes"]},
]
SCHEMA: dict[str, Any] = {"columns": COLUMNS, "label": "hired", "favourable": "yes", "protected": ["sex"]}
N_INPUTS = 4


@dataclass(frozen=True)
class Place:
    """Where a case makes its files."""

    folder: Path

    @property
    def data(self) -> Path:
        """The table; honest unless the case writes another."""
        return self.folder / "people.csv"

    @property
    def schema(self) -> Path:
        """The schema file, likewise."""
        return self.folder / "people.schema.json"

    @property
    def model(self) -> Path:
        """The model, likewise; a case may use another name."""
        return self.folder / "model.h5"

    @property
    def workspace(self) -> Path:
        """The workspace of the command."""
        return self.folder / "workspace"

    @property
    def marker(self) -> Path:
        """What code of a file would write, if it ran and could."""
        return self.folder / "marker"


Maker = Callable[[Place], Path | None]
"""Makes what is wrong; the model's path, where it has another name than usual."""


@dataclass(frozen=True)
class Case:
    """One thing that is wrong, and what must be said of it."""

    name: str
    make: Maker
    says: str
    """A pattern that the one sentence holds."""

    status: int = 2
    command: str = "inspect"
    options: tuple[str, ...] = ()
    is_given: bool = True
    """Whether data, schema and model are named to the command."""

    def __str__(self) -> str:
        return self.name


def write_data(path: Path) -> None:
    """200 honest people."""
    rng = np.random.default_rng(4)
    sex = rng.integers(0, 2, 200)
    job = rng.integers(0, 3, 200)
    age = rng.integers(20, 61, 200)
    wealth = rng.uniform(0, 5, 200).round(2)
    hired = np.where(age + 10 * sex + 4 * wealth > 55, "yes", "no")
    lines = [f"{s},{a},{j},{w},{h}" for s, a, j, w, h in zip(sex, age, job, wealth, hired, strict=True)]
    path.write_text("\n".join(["sex,age,job,wealth,hired", *lines]) + "\n")


def write_schema(path: Path, **changes: Any) -> None:
    """The honest schema with some keys changed."""
    path.write_text(json.dumps(SCHEMA | changes))


def write_model(path: Path) -> None:
    """A network of one unit in Keras's HDF5, honest."""
    config = {
        "class_name": "Sequential",
        "config": {
            "name": "s",
            "layers": [
                {
                    "class_name": "Dense",
                    "config": {
                        "name": "dense",
                        "units": 1,
                        "activation": "sigmoid",
                        "use_bias": True,
                        "dtype": "float32",
                        "batch_input_shape": [None, N_INPUTS],
                    },
                }
            ],
        },
    }
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        weights = file.create_group("model_weights")
        weights.attrs["layer_names"] = np.array(["dense"], dtype="S20")
        group = weights.create_group("dense")
        group.attrs["weight_names"] = np.array(["dense/kernel:0", "dense/bias:0"], dtype="S40")
        group["dense/kernel:0"] = np.array([[1.0], [0.1], [0.0], [0.4]], np.float32)
        group["dense/bias:0"] = np.array([-5.5], np.float32)


def prepare(folder: Path) -> Place:
    """A folder with honest data, schema and model."""
    place = Place(folder)
    write_data(place.data)
    write_schema(place.schema)
    write_model(place.model)
    return place
