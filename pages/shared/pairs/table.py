"""Pairs as the lines of a table: what changed, both decisions, scores, when found, and the two people's attributes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from pages.shared.people.case_ids import Index

ARROW = " → "
MAX_SHOWN = 5000
"""Lines in the table; more would make the page slow and nobody reads them. Filters look at all pairs."""

CHANGE = "Change"
FIRST = "First"
SECOND = "Second"
GAP = "Score gap"
FOUND_AT = "Found at"
DISTANCE = "Distance to the data"


def column_texts(column: Column, values: FloatArray) -> np.ndarray:
    """The human labels of a column's values, an object array of the same length."""
    distinct, positions = np.unique(values, return_inverse=True)
    labels = np.array([column.text(value) for value in distinct.tolist()], dtype=object)
    return labels[positions] if len(labels) else np.empty(0, dtype=object)


def changing_columns(domain: Domain) -> list[int]:
    """Places of the columns in which the two people of a pair may differ: protected ones, and those linked to them."""
    linked = () if domain.spelling is None else domain.spelling.columns
    return [*domain.protected.tolist(), *linked]


def change_texts(domain: Domain, pairs: Pairs) -> np.ndarray:
    """What differs between the two people of every pair, such as ``Female → Male`` (object array).

    With more than one attribute that may differ each part begins with its name: ``sex: F → M, race: A → B``.
    """
    texts = np.full(len(pairs), "", dtype=object)
    changing = changing_columns(domain)
    is_named = len(changing) > 1
    for index in changing:
        column = domain.schema.inputs[index]
        differs = pairs.first[:, index] != pairs.second[:, index]
        before = column_texts(column, pairs.first[differs, index])
        after = column_texts(column, pairs.second[differs, index])
        part = before + ARROW + after if len(before) else before
        if is_named and len(part):
            part = f"{column.name}: " + part
        known = texts[differs]
        texts[differs] = np.where(known == "", part, known + ", " + part) if len(part) else known
    return texts


def differing(domain: Domain, pairs: Pairs) -> dict[str, np.ndarray]:
    """For each protected attribute, whether the two people of every pair differ in it."""
    return {
        domain.schema.inputs[index].name: pairs.first[:, index] != pairs.second[:, index]
        for index in domain.protected.tolist()
    }


def further(pairs: Pairs) -> FloatArray:
    """Distance to the data of the person of every pair who is further away ``(n_pairs,)``; NaN where it was not
    measured.
    """
    return np.fmax(pairs.distance[:, 0], pairs.distance[:, 1])


def decision_texts(decisions: Decisions, classes: IntArray) -> np.ndarray:
    """Symbol and name of every decision (object array)."""
    distinct, positions = np.unique(classes, return_inverse=True)
    labels = np.array([decisions.text(value) for value in distinct.tolist()], dtype=object)
    return labels[positions] if len(labels) else np.empty(0, dtype=object)


def pair_frame(
    domain: Domain, pairs: Pairs, decisions: Decisions, positions: IntArray, ids: Index | None = None
) -> pd.DataFrame:
    """The table of the pairs at ``positions``: one line a pair, human labels only.

    Attributes that are not protected are the same for both people and stand once. With ``ids``, a column of that name
    has those of the people who stand in the data, or behind ``≈`` of those who differ from the pair in protected
    attributes only.

    Returns:
        Columns ``Pair`` (number, from 1), ``Change``, ``First``, ``Second``, ``Score gap``, ``Distance to the data``
        (of the person who is further away, in percent, empty where it was not measured), ``Found at``, then the
        attributes that are not protected, under their own names (a space is added to a name that is taken).
    """
    shown = pairs[positions]
    lines: dict[str, object] = {
        "Pair": positions + 1,
        CHANGE: change_texts(domain, shown),
        FIRST: decision_texts(decisions, shown.decision_first),
        SECOND: decision_texts(decisions, shown.decision_second),
    }
    if ids is not None:
        lines[_free_name(ids.name, lines)] = ids.cells(shown.first, shown.second)
    lines |= {GAP: shown.gaps, DISTANCE: 100 * further(shown), FOUND_AT: shown.evaluation}
    for index in domain.free.tolist():
        column = domain.schema.inputs[index]
        name = _free_name(column.name, lines)
        values = shown.first[:, index]
        if column.codes:
            lines[name] = column_texts(column, values)
            other = shown.second[:, index]
            differs = values != other  # linked to a protected one
            if differs.any():
                lines[name] = np.where(differs, lines[name] + ARROW + column_texts(column, other), lines[name])
        else:
            lines[name] = values if column.step or not float(column.low).is_integer() else _whole(values)
    return pd.DataFrame(lines)


def _free_name(name: str, taken: dict[str, object]) -> str:
    while name in taken:
        name += " "
    return name


def _whole(values: FloatArray) -> np.ndarray:
    """Whole numbers where every value is whole, so that a table shows 37 and not 37.0."""
    return values.astype(np.int64) if np.all(values == np.rint(values)) else values
