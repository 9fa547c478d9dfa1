"""The usual ways in which a model was given a table, where its file does not say: the order of its inputs, scaling
outside it, numbers for categories.

Which of them fits is judged by what the model answers (``reading.py``); here they are listed only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Kind, Layout, ModelInput, Schema
from fairness_engine.errors import InputError
from fairness_engine.models.encoders.domain_values import positions_of
from fairness_engine.models.encoders.one_hot import OneHotFeature, one_hot_sets
from fairness_engine.models.inputs.names import How, input_matches
from fairness_engine.models.model import Encoder, Model

PLAIN = "as they are"
AS_NAMED = "as its file names them"
_N_COMPARED = 200
"""Rows on which two ways must give the same to be one: scaling changes nothing about numbers that are scaled
already.
"""
_SAME = 1e-9

_Numberings = Callable[[str], tuple[tuple[str, ...], tuple[str, ...]]]
_Measured = dict[object, tuple[float, float, float, float]]
"""Mean, deviation, least value and span of inputs over all rows, by their name and how categories are numbered."""


@dataclass(frozen=True)
class Way:
    """One way of giving a model its inputs.

    Args:
        order, scaling: in words; the order says how categories are numbered too, where they are.
        schema: the data's, with the layout that means this way.
    """

    order: str
    scaling: str
    schema: Schema

    def in_words(self) -> str:
        """The way in a few words."""
        return self.order if self.scaling == PLAIN else f"{self.order}, {self.scaling}"


def plain_encoder(model: Model, schema: Schema) -> Encoder:
    """What gives the inputs as the file takes them, for another schema than the model's."""
    assert model.reread is not None, "asked of a file"
    return model.reread(schema).encoder


def by_position(model: Model, schema: Schema) -> frozenset[str]:
    """Names of the inputs of which nothing but their place says what they are."""
    return frozenset(m.name for m in input_matches(plain_encoder(model, schema)) if m.how == How.POSITION.value)


def ways_of(model: Model, schema: Schema, rows: FloatArray) -> list[Way]:
    """Every usual order of the inputs and numbering of categories with every usual scaling; equal ones once, the
    plainest first.

    Args:
        model: of a file.
        schema: what the rows are.
        rows: of the data ``(n_rows, n_columns)``: scalings are by their mean and deviation, or their range.
    """
    found: dict[bytes, Way] = {}
    measured: _Measured = {}
    for order, layout in _layouts(model, schema, rows):
        whole = replace(schema, layout=layout, model_input=ModelInput.AUTO if layout.order else schema.model_input)
        with suppress(InputError):
            for scaling, pairs in _scalings(model, whole, rows, measured):
                way = Way(order, scaling, replace(whole, layout=replace(layout, scaling=pairs)))
                inputs = plain_encoder(model, way.schema).plain(rows[:_N_COMPARED])
                found.setdefault(inputs.to_csv().encode() if hasattr(inputs, "to_csv") else inputs.tobytes(), way)
    return list(found.values())


def is_by_data(model: Model, schema: Schema, rows: FloatArray) -> bool:
    """Whether the scaling of the layout is one that was taken from these rows: near that of the training, and seldom
    equal.
    """
    said = schema.layout.scaling
    if not said:
        return False
    with suppress(InputError):
        bare = replace(schema, layout=replace(schema.layout, scaling={}))
        return any(
            name_pairs and all(name in name_pairs and _is_near(pair, name_pairs[name]) for name, pair in said.items())
            for _, name_pairs in _scalings(model, bare, rows, {})
        )
    return False


def guessed_codes(model: Model, schema: Schema, rows: FloatArray) -> tuple[str, ...]:
    """The columns of texts that the model takes as numbers which nobody has said; a numbering taken from the data is a
    guess too.
    """
    return _guessed(getattr(plain_encoder(model, schema), "by_place", ()), schema, _numberings(schema, rows))


def _guessed(asked: tuple[str, ...], schema: Schema, numbered: _Numberings) -> tuple[str, ...]:
    """As ``guessed_codes``, of the columns whose texts the model takes as numbers."""
    said = schema.layout.codes
    if asked and any(
        all(said.get(name) == coding.get(name) for name in asked) for coding in _codings(asked, numbered).values()
    ):
        return asked
    return tuple(name for name in asked if name not in said)


def _is_near(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) <= _SAME * max(1.0, abs(b)) for a, b in zip(one, other, strict=True))


# --- orders ---------------------------------------------------------------------------------------


def _layouts(model: Model, schema: Schema, rows: FloatArray) -> Iterator[tuple[str, Layout]]:
    """Layouts without scaling, in words: orders, each with the usual numberings of categories."""
    encoder = plain_encoder(model, schema)
    names = schema.layout.names
    numbered = _numberings(schema, rows)
    orders: list[tuple[str, tuple[str, ...]]] = [(AS_NAMED, schema.layout.order)]
    if by_position(model, schema) == set(encoder.names):
        orders = list(_orders(schema, len(encoder.names)))
    for order, own in orders:
        layout = Layout(names=names, order=own)
        with suppress(InputError):
            taken = plain_encoder(model, replace(schema, layout=layout))
            asked: tuple[str, ...] = getattr(taken, "by_place", ())
            codings = _codings(asked, numbered)
            if asked and not _guessed(asked, schema, numbered):
                codings = {"": schema.layout.codes}  # whoever knows the numbers is not offered others
            for words, codes in codings.items():
                yield order + words, replace(layout, codes=codes)


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


# --- numbers for categories, and scalings --------------------------------------------------------


def _numberings(schema: Schema, rows: FloatArray) -> _Numberings:
    """The categories of a column as they first appear in the rows, and from the commonest; each column counted once."""

    @cache
    def numbered(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        labels = schema.column(name).labels
        seen, first, counts = np.unique(
            positions_of(rows[:, schema.index(name)]), return_index=True, return_counts=True
        )
        unseen = [label for i, label in enumerate(labels) if i not in set(seen.tolist())]
        by_appearance = (*(labels[seen[i]] for i in np.argsort(first)), *unseen)
        return by_appearance, (*(labels[seen[i]] for i in np.lexsort((first, -counts))), *unseen)

    return numbered


def _codings(columns: Sequence[str], numbered: _Numberings) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Numberings of the categories of some columns, by their words: the schema's (nothing), by first appearance, the
    commonest first.
    """
    found: dict[str, Mapping[str, tuple[str, ...]]] = {"": {}}
    if columns:
        found[", categories numbered as they first appear"] = {name: numbered(name)[0] for name in columns}
        found[", categories numbered from the commonest"] = {name: numbered(name)[1] for name in columns}
    return found


def _scalings(
    model: Model, schema: Schema, rows: FloatArray, measured: _Measured
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Scalings of inputs that a model may have been trained on, ``(shift, scale)`` by the input's name; none is the
    first.

    Args:
        measured: of other orders of the same inputs; what is missing is added.
    """
    yield PLAIN, {}
    encoder = plain_encoder(model, schema)
    numbers = number_inputs(encoder, schema)
    is_frame = hasattr(encoder.plain(rows[:1]), "to_csv")
    names = [name for name in encoder.names if not is_frame or name in numbers]
    if not names:
        return
    coding = tuple(sorted(schema.layout.codes.items()))
    if any((name, coding) not in measured for name in names):
        inputs = encoder.plain(rows)
        values = np.asarray(inputs[names] if is_frame else inputs, dtype=np.float64)
        figures = zip(values.mean(axis=0), values.std(axis=0), values.min(axis=0), np.ptp(values, axis=0), strict=True)
        measured |= {
            (name, coding): (float(mean), float(deviation), float(low), float(span))
            for name, (mean, deviation, low, span) in zip(names, figures, strict=True)
        }
    for words, shift, scale in (
        ("scaled to mean 0 and deviation 1", 0, 1),
        ("scaled to 0 to 1", 2, 3),
    ):
        pairs = {}
        for name in names:
            own = measured[name, coding]
            pairs[name] = (own[shift], own[scale] if own[scale] > 0 else 1.0)  # as scikit-learn scales a constant
        of_numbers = {name: pairs[name] for name in names if name in numbers}
        if of_numbers:
            yield f"numbers {words}", of_numbers
        if not is_frame:
            yield f"all inputs {words}", pairs


def number_inputs(encoder: Encoder, schema: Schema) -> frozenset[str]:
    """Names of the inputs that are a column of numbers."""
    return frozenset(
        match.name
        for match in input_matches(encoder)
        if match.column in schema.names
        and match.category is None
        and schema.column(match.column).kind is not Kind.CATEGORICAL
    )
