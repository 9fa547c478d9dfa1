"""Pairs as a CSV file in the command line's long format, with the plausibility beside it.

One line a person: ``pair``, ``side``, columns, ``score``, ``decision``, ``is_plausible``, ``severity`` (the gap of the
pair's scores), ``distance``, ``n_unseen``; what was not measured is empty. Where the data has a column of ids,
``id`` and ``id_alike`` come last.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.dataset import joined
from fairness_engine.data.schema import Column
from fairness_engine.data.table import export_text
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import NOT_MEASURED, Pairs
from fairness_engine.runs.writers.pairs_csv import different
from pages.shared import exports
from pages.shared.app import frame, wording
from pages.shared.people import case_ids
from pages.shared.people.case_ids import Index
from pages.shared.runs.results import results_of

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.store import RunStore

_MEASURED = ("is_plausible", "severity", "distance", "n_unseen")


def pairs_csv(
    domain: Domain,
    pairs: Pairs,
    positions: IntArray,
    decisions: Decisions | None = None,
    ids: Index | None = None,
    limit: float = math.nan,
) -> bytes:
    """The pairs at ``positions`` as CSV in UTF-8.

    Args:
        domain: columns of the rows.
        pairs: all pairs of a run.
        positions: which of them, ``(n_chosen,)``; the number of a pair in the file is its number in the run, from 1.
        decisions: human names; with them values and decisions are written as people read them, and scores are for the
            favourable outcome, without them they are the model's codes, class numbers and scores of class 1.
        ids: of the data's people; with them the last columns have those of whoever stands in the data, and of those who
            are alike in everything but protected attributes.
        limit: the largest distance of a plausible person.

    Texts that a spreadsheet would take for a formula are neutralised.
    """
    chosen = pairs[positions]
    columns = domain.schema.inputs
    sides = []
    plausible = chosen.plausible_texts(limit)
    for k, rows, scores, classes in (
        (0, chosen.first, chosen.score_first, chosen.decision_first),
        (1, chosen.second, chosen.score_second, chosen.decision_second),
    ):
        values = [_written(column, rows[:, i], is_human=decisions is not None) for i, column in enumerate(columns)]
        named = [export_text(decisions.name(code)) if decisions else code for code in classes.tolist()]
        numbers = (positions + 1).tolist()
        shown = decisions.shown(scores) if decisions else scores
        own = [numbers, ["ab"[k]] * len(numbers), *values, shown.tolist(), named]
        own += [plausible[k], chosen.gaps.tolist(), *_plausibility(chosen.distance[:, k], chosen.n_unseen[:, k])]
        known = () if ids is None else (ids.people.of(rows), ids.alike.of(rows))
        cases = [[export_text(joined(found)) for found in each] for each in known]
        sides.append(list(zip(*own, *cases, strict=True)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    score = f"score for {decisions.scored()}" if decisions else "score"
    names = ["pair", "side", *(column.name for column in columns), score, "decision", *_MEASURED]
    names += [] if ids is None else ["id", "id_alike"]
    writer.writerow([export_text(name) for name in different(names)])
    for first, second in zip(*sides, strict=True):
        writer.writerow(first)
        writer.writerow(second)
    return out.getvalue().encode("utf-8")


def _plausibility(distance: FloatArray, n_unseen: IntArray) -> tuple[list[float | None], list[int | None]]:
    """Distance and number of unseen pairs of values of every person."""
    distances = [None if math.isnan(value) else value for value in distance.tolist()]
    return distances, [None if n == NOT_MEASURED else n for n in n_unseen.tolist()]


def _written(column: Column, values: FloatArray, *, is_human: bool) -> list[object]:
    """A column's values as the file holds them."""
    write: Callable[[float], object] = column.text if is_human and column.codes else column.code
    distinct, places = np.unique(values, return_inverse=True)
    texts = [write(value) for value in distinct.tolist()]
    safe = [export_text(text) if isinstance(text, str) else text for text in texts]
    return [safe[place] for place in places.tolist()]


def draw(
    store: RunStore, run: RunRecord, domain: Domain, pairs: Pairs, positions: IntArray, names: Decisions, n_stored: int
) -> None:
    """Offer all pairs of a run, and those of the list when they are fewer.

    Args:
        pairs: those that were read.
        positions: of the list among them.
        n_stored: how many pairs the run has.
    """

    def ask_and_save() -> None:
        is_human = st.toggle(
            "Human labels",
            value=True,
            key="csv_labels",
            help="On: values as people read them, decisions by name, and the score for the favourable outcome. Off: "
            "the model's own codes, as the command line writes them. Either way with the distance to the data.",
            persist_state="session",
        )
        exports.ask_format("csv_pairs")
        used = names if is_human else None
        measured = results_of(run).plausibility
        limit = math.nan if measured is None else measured.limit
        ids = case_ids.index_of(run)

        def all_pairs() -> bytes:
            everything = store.pairs(run.id)
            return pairs_csv(domain, everything, np.arange(len(everything)), used, ids, limit)

        def listed_pairs() -> bytes:
            return pairs_csv(domain, pairs, positions, used, ids, limit)

        _button(f"All {wording.counted(n_stored, 'pair')}", "all", run, all_pairs)
        if len(positions) < n_stored:
            _button(f"The {wording.counted(len(positions), 'pair')} of the list", "matching", run, listed_pairs)

    frame.popup("Save as CSV", ask_and_save, f"csv_pairs_{run.id}", icon=":material/download:")


def _button(label: str, which: str, run: RunRecord, make: Callable[[], bytes]) -> None:
    """The file is made when the button is pressed, not at every rerun."""
    name = f"evenhand-pairs-{run.id[:8]}{'' if which == 'all' else '-filtered'}"
    exports.offer_csv(label, make, name, f"csv_{which}", run_ids=(run.id,), is_open=True)
