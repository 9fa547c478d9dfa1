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
from fairness_engine.data.dataset import Dataset
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
_BY_NAME = ", categories numbered by name"

_Numberings = Callable[[str], Mapping[str, tuple[str, ...]]]
"""The usual numberings of a column's categories, by their words."""
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


def ways_of(model: Model, dataset: Dataset) -> list[Way]:
    """Every usual order of the inputs and numbering of categories with every usual scaling; equal ones once, the
    plainest first.

    Args:
        model: of a file.
        dataset: scalings are by the mean and deviation of its rows, or their range.
    """
    schema = dataset.schema
    rows = dataset.rows
    found: dict[bytes, Way] = {}
    measured: _Measured = {}
    for order, layout in _layouts(model, dataset):
        whole = replace(schema, layout=layout, model_input=ModelInput.AUTO if layout.order else schema.model_input)
        with suppress(InputError):
            for scaling, pairs in _scalings(model, whole, dataset, measured):
                way = Way(order, scaling, replace(whole, layout=replace(layout, scaling=pairs)))
                inputs = plain_encoder(model, way.schema).plain(rows[:_N_COMPARED])
                found.setdefault(inputs.to_csv().encode() if hasattr(inputs, "to_csv") else inputs.tobytes(), way)
    return list(found.values())


def is_by_data(model: Model, dataset: Dataset) -> bool:
    """Whether the scaling of the layout is one that was taken from the data's rows: near that of the training, and
    seldom equal.
    """
    schema = dataset.schema
    said = schema.layout.scaling
    if not said:
        return False
    with suppress(InputError):
        bare = replace(schema, layout=replace(schema.layout, scaling={}))
        return any(
            name_pairs and all(name in name_pairs and _is_near(pair, name_pairs[name]) for name, pair in said.items())
            for _, name_pairs in _scalings(model, bare, dataset, {})
        )
    return False


def guessed_codes(model: Model, dataset: Dataset) -> tuple[str, ...]:
    """The columns of texts that the model takes as numbers which nobody has said; a numbering taken from the data is a
    guess too, where nobody says that it is none.
    """
    asked = getattr(plain_encoder(model, dataset.schema), "by_place", ())
    return _guessed(asked, dataset.schema.layout, _numberings(dataset))


def _guessed(asked: tuple[str, ...], layout: Layout, numbered: _Numberings) -> tuple[str, ...]:
    """As ``guessed_codes``, of the columns whose texts the model takes as numbers."""
    said = layout.codes
    is_guess = layout.codes_guessed
    if is_guess is None:
        codings = _codings(asked, numbered).values()
        is_guess = any(all(said.get(name) == coding.get(name) for name in asked) for coding in codings)
    return asked if is_guess else tuple(name for name in asked if name not in said)


def _is_near(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) <= _SAME * max(1.0, abs(b)) for a, b in zip(one, other, strict=True))


# --- orders ---------------------------------------------------------------------------------------


def _layouts(model: Model, dataset: Dataset) -> Iterator[tuple[str, Layout]]:
    """Layouts without scaling, in words: orders, each with the usual numberings of categories."""
    schema = dataset.schema
    encoder = plain_encoder(model, schema)
    numbered = _numberings(dataset)
    orders: list[tuple[str, tuple[str, ...]]] = [(AS_NAMED, schema.layout.order)]
    if by_position(model, schema) == set(encoder.names):
        orders = list(_orders(schema, len(encoder.names)))
    for order, own in orders:
        layout = Layout(names=schema.layout.names, order=own)
        with suppress(InputError):
            taken = plain_encoder(model, replace(schema, layout=layout))
            asked: tuple[str, ...] = getattr(taken, "by_place", ())
            if asked and not _guessed(asked, schema.layout, numbered):
                # Whoever knows the numbers is not offered others.
                yield order, replace(layout, codes=schema.layout.codes, codes_guessed=schema.layout.codes_guessed)
                continue
            for words, codes in _codings(asked, numbered).items():
                yield order + words, replace(layout, codes=codes, codes_guessed=True if codes else None)


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


def _numberings(dataset: Dataset) -> _Numberings:
    """The categories of a column as they first appear in the rows, and from the commonest; where rows have missing
    cells, also by all rows, and with what the file writes for a missing cell as one of the categories. Each column is
    counted once.
    """
    more = dataset.incomplete
    in_file = None if more is None else np.argsort(np.concatenate([dataset.kept, more.kept]))

    @cache
    def numbered(name: str) -> Mapping[str, tuple[str, ...]]:
        at = dataset.schema.index(name)
        column = dataset.schema.column(name)
        rows = dataset.rows[:, at]
        found = _by_rows(column.labels, rows)
        if more is None or in_file is None:
            return found
        cells = np.concatenate([rows, more.rows[:, at]])[in_file]
        is_missing = np.isnan(cells)
        found |= {f"{words} in all rows": own for words, own in _by_rows(column.labels, cells[~is_missing]).items()}
        labels = (*column.labels, *column.missing)
        if len(column.missing) == 1:
            cells[is_missing] = len(column.labels)
        in_file_by_label = dict(zip(column.labels, map(str, column.codes), strict=True))
        with_missing = {_BY_NAME: tuple(sorted(labels, key=lambda label: in_file_by_label.get(label, label)))}
        with_missing |= _by_rows(labels, cells[~np.isnan(cells)])
        return found | {f"{words}, missing ones among them": own for words, own in with_missing.items()}

    return numbered


def _by_rows(labels: Sequence[str], cells: FloatArray) -> dict[str, tuple[str, ...]]:
    """Categories as they first appear in the cells ``(n_rows,)`` of a column, and from the commonest."""
    seen, first, counts = np.unique(positions_of(cells), return_index=True, return_counts=True)
    unseen = [label for i, label in enumerate(labels) if i not in set(seen.tolist())]
    return {
        ", categories numbered as they first appear": (*(labels[seen[i]] for i in np.argsort(first)), *unseen),
        ", categories numbered from the commonest": (*(labels[seen[i]] for i in np.lexsort((first, -counts))), *unseen),
    }


def _codings(columns: Sequence[str], numbered: _Numberings) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """The usual numberings of the categories of some columns, by their words, equal ones once; the schema's is the
    first, of which nothing has to be said.
    """
    found: dict[str, Mapping[str, tuple[str, ...]]] = {"": {}}
    known: list[Mapping[str, tuple[str, ...]]] = []
    for words in numbered(columns[0]) if columns else ():
        coding = {name: numbered(name)[words] for name in columns}
        if coding not in known:
            known.append(coding)
            found[words] = coding
    return found


def _scalings(
    model: Model, schema: Schema, dataset: Dataset, measured: _Measured
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Scalings of inputs that a model may have been trained on, ``(shift, scale)`` by the input's name; none is the
    first.

    Args:
        schema: the dataset's, in another layout.
        measured: of other orders of the same inputs; what is missing is added.
    """
    yield PLAIN, {}
    encoder = plain_encoder(model, schema)
    numbers = number_inputs(encoder, schema)
    is_frame = hasattr(encoder.plain(dataset.rows[:1]), "to_csv")
    names = [name for name in encoder.names if not is_frame or name in numbers]
    if not names:
        return
    coding = tuple(sorted(schema.layout.codes.items()))
    if any((name, coding) not in measured for name in names):
        inputs = encoder.plain(dataset.rows)
        values = np.asarray(inputs[names] if is_frame else inputs, dtype=np.float64)
        if not is_frame:
            values = np.concatenate([values, _with_numbered_missing(encoder, schema, dataset)])
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


def _with_numbered_missing(encoder: Encoder, schema: Schema, dataset: Dataset) -> FloatArray:
    """Inputs of the rows that miss nothing but cells with a number of their own, as the training would have had them
    ``(n_rows, n_inputs)``.
    """
    places = {}
    for column in schema.inputs:
        said = schema.layout.codes.get(column.name, ())
        own = [place for place, text in enumerate(said) if text in column.missing]
        if len(own) == 1:
            places[column.name] = float(own[0])
    more = dataset.incomplete
    if more is None or not places:
        return np.empty((0, len(encoder.names)))
    others = [i for i, column in enumerate(schema.inputs) if column.name not in places]
    rows = more.rows[~np.isnan(more.rows[:, others]).any(axis=1)]
    inputs = np.array(encoder.plain(np.nan_to_num(rows)), dtype=np.float64)
    for j, match in enumerate(input_matches(encoder)):
        if match.column in places:
            inputs[np.isnan(rows[:, schema.index(match.column)]), j] = places[match.column]
    return inputs


def number_inputs(encoder: Encoder, schema: Schema) -> frozenset[str]:
    """Names of the inputs that are a column of numbers."""
    return frozenset(
        match.name
        for match in input_matches(encoder)
        if match.column in schema.names
        and match.category is None
        and schema.column(match.column).kind is not Kind.CATEGORICAL
    )
