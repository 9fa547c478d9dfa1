"""The usual ways in which a model without names for its inputs was given a table: their orders, and scaling outside the model.

Which of them fits is judged by what the model answers (``reading.py``); here they are listed only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairness_engine.events import FloatArray
from fairness_engine.models.encoding import choose_encoder
from fairness_engine.models.one_hot import OneHotFeature, one_hot_sets
from fairness_engine.schema import Kind, Layout, ModelInput, Schema

PLAIN = "as they are"
_N_COMPARED = 200
"""Rows on which two ways must give the same to be one: scaling changes nothing about numbers that are scaled already."""


@dataclass(frozen=True)
class Way:
    """One way of giving a model its inputs.

    Args:
        order, scaling: in words.
        schema: the data's, with the layout that means this way.
    """

    order: str
    scaling: str
    schema: Schema

    def inputs(self, rows: FloatArray) -> FloatArray:
        """What the model receives ``(n_rows, n_inputs)`` for rows of the engine."""
        n_inputs = len(self.schema.layout.order)
        encoded: FloatArray = np.asarray(choose_encoder(self.schema, n_inputs).encode(rows), dtype=np.float64)
        return encoded

    def in_words(self) -> str:
        """The way in a few words."""
        return self.order if self.scaling == PLAIN else f"{self.order}, {self.scaling}"


def ways_of(schema: Schema, n_inputs: int, rows: FloatArray) -> list[Way]:
    """Every usual order of the inputs with every usual scaling; equal ones once, the schema's own order unscaled first.

    Args:
        schema: what the rows are.
        n_inputs: of the model.
        rows: of the data ``(n_rows, n_columns)``: scalings are by their mean and deviation, or their range.
    """
    plain = replace(schema, model_input=ModelInput.AUTO)
    found: dict[bytes, Way] = {}
    for order, names in _orders(schema, n_inputs):
        whole = replace(plain, layout=Layout(order=names))
        for scaling, pairs in _scalings(whole, names, rows):
            way = Way(order, scaling, replace(plain, layout=Layout(order=names, scaling=pairs)))
            found.setdefault(way.inputs(rows[:_N_COMPARED]).tobytes(), way)
    return list(found.values())


def _orders(schema: Schema, n_inputs: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    columns = [OneHotFeature(column.name, i) for i, column in enumerate(schema.inputs)]
    sets = [columns, *one_hot_sets(schema)]
    for features in sets:
        if len(features) != n_inputs:
            continue
        numbers = [feature for feature in features if _is_number(schema, feature)]
        rest = [feature for feature in features if not _is_number(schema, feature)]
        by_block = sorted(features, key=lambda feature: schema.inputs[feature.column].name)
        yield "in the order of the columns", _names(features)
        yield "numbers first, then categories", _names([*numbers, *rest])
        yield "categories first, then numbers", _names([*rest, *numbers])
        yield "columns in alphabetical order", _names(by_block)
        yield "inputs in alphabetical order", tuple(sorted(_names(features)))
        yield (
            "numbers first, then categories, both in alphabetical order",
            (*sorted(_names(numbers)), *sorted(_names(rest))),
        )
        yield (
            "categories first, then numbers, both in alphabetical order",
            (*sorted(_names(rest)), *sorted(_names(numbers))),
        )
        yield "in the reverse order of the columns", _names(features[::-1])


def _is_number(schema: Schema, feature: OneHotFeature) -> bool:
    return schema.inputs[feature.column].kind is not Kind.CATEGORICAL


def _names(features: Sequence[OneHotFeature]) -> tuple[str, ...]:
    return tuple(feature.name for feature in features)


def _scalings(schema: Schema, names: tuple[str, ...], rows: FloatArray) -> Iterator[tuple[str, dict[str, Any]]]:
    """Scalings of inputs that a model of this order may have been trained on, ``(shift, scale)`` by the input's name."""
    yield PLAIN, {}
    inputs = np.asarray(choose_encoder(schema, len(names)).encode(rows), dtype=np.float64)
    numbers = {column.name for column in schema.inputs if column.kind is not Kind.CATEGORICAL}
    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    low, span = inputs.min(axis=0), np.ptp(inputs, axis=0)
    for words, shift, scale in (
        ("scaled to mean 0 and deviation 1", mean, deviation),
        ("scaled to 0 to 1", low, span),
    ):
        pairs = {
            name: (float(shift[i]), float(scale[i]) if scale[i] > 0 else 1.0)  # as scikit-learn scales a constant
            for i, name in enumerate(names)
        }
        yield f"numbers {words}", {name: pairs[name] for name in names if name in numbers}
        yield f"all inputs {words}", pairs
