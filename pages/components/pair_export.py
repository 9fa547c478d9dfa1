"""Pairs as a CSV file in the command line's long format, with the plausibility beside it.

One line a person: ``pair``, ``side``, columns, ``score``, ``decision``, ``distance``, ``n_unseen``; the last two are empty where a
pair was not measured. Where the data has a column of ids, ``id`` and ``id_alike`` come last.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable

import numpy as np

from fairness_engine.dataset import export_text
from fairness_engine.domain import Domain
from fairness_engine.events import NOT_MEASURED, FloatArray, IntArray, Pairs
from fairness_engine.schema import Column
from pages.components.case_ids import Index, joined
from pages.components.decisions import Decisions

_PLAUSIBILITY = ("distance", "n_unseen")


def pairs_csv(
    domain: Domain, pairs: Pairs, positions: IntArray, decisions: Decisions | None = None, ids: Index | None = None
) -> bytes:
    """The pairs at ``positions`` as CSV in UTF-8.

    Args:
        domain: columns of the rows.
        pairs: all pairs of a run.
        positions: which of them, ``(n_chosen,)``; the number of a pair in the file is its number in the run, from 1.
        decisions: human names; with them values and decisions are written as people read them, and scores are for the favourable
            outcome, without them they are the model's codes, class numbers and scores of class 1.
        ids: of the data's people; with them the last columns have those of whoever stands in the data, and of those who are alike in
            everything but protected attributes.

    Texts that a spreadsheet would take for a formula are neutralised.
    """
    chosen = pairs[positions]
    columns = domain.schema.inputs
    sides = []
    for side, rows, scores, classes in (
        ("a", chosen.first, chosen.score_first, chosen.decision_first),
        ("b", chosen.second, chosen.score_second, chosen.decision_second),
    ):
        values = [_written(column, rows[:, i], is_human=decisions is not None) for i, column in enumerate(columns)]
        named = [export_text(decisions.name(code)) if decisions else code for code in classes.tolist()]
        numbers = (positions + 1).tolist()
        shown = decisions.shown(scores) if decisions else scores
        own = [numbers, [side] * len(numbers), *values, shown.tolist(), named, *_plausibility(chosen)]
        known = () if ids is None else (ids.people.of(rows), ids.alike.of(rows))
        cases = [[export_text(joined(found)) for found in each] for each in known]
        sides.append(list(zip(*own, *cases, strict=True)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    score = f"score for {decisions.scored()}" if decisions else "score"
    names = ["pair", "side", *(column.name for column in columns), score, "decision", *_PLAUSIBILITY]
    writer.writerow([export_text(name) for name in (*names, *([] if ids is None else ["id", "id_alike"]))])
    for first, second in zip(*sides, strict=True):
        writer.writerow(first)
        writer.writerow(second)
    return out.getvalue().encode("utf-8")


def _plausibility(pairs: Pairs) -> tuple[list[float | None], list[int | None]]:
    """Distance and number of unseen pairs of values of every pair."""
    distances = [None if math.isnan(value) else value for value in pairs.distance.tolist()]
    return distances, [None if n == NOT_MEASURED else n for n in pairs.n_unseen.tolist()]


def _written(column: Column, values: FloatArray, *, is_human: bool) -> list[object]:
    """A column's values as the file holds them."""
    write: Callable[[float], object] = column.text if is_human and column.codes else column.code
    distinct, places = np.unique(values, return_inverse=True)
    texts = [write(value) for value in distinct.tolist()]
    safe = [export_text(text) if isinstance(text, str) else text for text in texts]
    return [safe[place] for place in places.tolist()]
