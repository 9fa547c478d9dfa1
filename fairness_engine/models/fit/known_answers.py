"""Known answers: what a model gave in its own environment, from a small file or a column of the data, matched with rows
of the table.

Whether the model gives the same here is judged in ``models/fit/reading.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray, pack_array, unpack_array
from fairness_engine.data.encoding import positions_of
from fairness_engine.data.label import find_outcome
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import Cells, Table
from fairness_engine.errors import DataError

_SCORE_NAME = re.compile(
    r"^(model[_ ]?)?(scores?|prob(a|s|abilit(y|ies))?|p|p1|p_?hat|y_?(score|prob|proba|pred_proba)|logits?"
    r"|wahrscheinlichkeit|probabilit[ée]|probabilidad|kans|probabilit[àa])$",
    re.IGNORECASE,
)
_DECISION_NAME = re.compile(
    r"^(model[_ ]?)?(decisions?|predict(ed|ion|ions)?|y_?(pred|hat)|class|outcome"
    r"|entscheidung|vorhersage|d[ée]cision|pr[ée]diction|decisi[óo]n|beslissing|decisione)$",
    re.IGNORECASE,
)
LEAST_TOLERANCE = 1e-4
"""Other processors and libraries round otherwise: 32-bit networks were seen to differ by 5e-6."""
_HALF = 0.51


@dataclass(frozen=True)
class KnownAnswers:
    """What the model answered in its own environment.

    Args:
        rows: rows of the table in ascending order ``(n_answers,)``.
        scores: NaN where none is given ``(n_answers,)``.
        classes: index of the outcome that was decided, -1 where none is given ``(n_answers,)``.
        tolerance: by how much a score may differ: what was rounded off when it was written, at least
            ``LEAST_TOLERANCE``.
    """

    rows: IntArray
    scores: FloatArray
    classes: IntArray
    tolerance: float

    def to_json(self) -> dict[str, Any]:
        """Packed arrays and a number; ``from_json`` reads it back."""
        packed: dict[str, Any] = {name: pack_array(getattr(self, name)) for name in ("rows", "scores", "classes")}
        return packed | {"tolerance": self.tolerance}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> KnownAnswers:
        """Read what ``to_json`` wrote."""
        rows, scores, classes = (unpack_array(content[name]) for name in ("rows", "scores", "classes"))
        return cls(rows, scores, classes, float(content["tolerance"]))


def answers_in_file(answers: Table, data: Table, schema: Schema) -> KnownAnswers:
    """Known answers of a file of their own: a column of scores, or of decisions, and one that names the case.

    Without a column that names cases, its rows are those of the data in the same order, all or the first ones.

    Raises:
        DataError: no column holds answers, cases are not found, or there are more rows than in the data.
    """
    key = _key_column(answers, data, schema)
    score, decision = _answer_columns(answers, schema, key)
    rows = _rows_of(answers, data, key)
    scores = np.full(answers.n_rows, np.nan) if score is None else _numbers(answers.cells(score), score)
    classes = np.full(answers.n_rows, -1) if decision is None else _classes(answers.cells(decision), data, schema)
    tolerance = LEAST_TOLERANCE if score is None else _tolerance(answers.cells(score).texts)
    return _kept(rows, scores, classes, tolerance)


def answers_in_column(data: Table, schema: Schema, name: str) -> KnownAnswers:
    """Known answers of a column of the data: scores, or outcomes as the label has them.

    Raises:
        DataError: there is no such column, or it holds neither.
    """
    cells = data.cells(name)
    rows = np.arange(data.n_rows)
    if np.isfinite(cells.numbers).all() and len(cells.texts) and not _are_outcomes(cells, data, schema):
        return _kept(rows, _numbers(cells, name), np.full(data.n_rows, -1), _tolerance(cells.texts))
    return _kept(rows, np.full(data.n_rows, np.nan), _classes(cells, data, schema), LEAST_TOLERANCE)


def _kept(rows: IntArray, scores: FloatArray, classes: IntArray, tolerance: float) -> KnownAnswers:
    """Answers in the order of the table's rows; those that say nothing, or name no row, are left out."""
    is_said = (np.isfinite(scores) | (classes >= 0)) & (rows >= 0)
    if not is_said.any():
        raise DataError("Known answers must hold a score or a decision of at least one row of the data, got none.")
    order = np.flatnonzero(is_said)[np.argsort(rows[is_said], kind="stable")]
    return KnownAnswers(rows[order].astype(np.int64), scores[order], classes[order].astype(np.int64), tolerance)


def _key_column(answers: Table, data: Table, schema: Schema) -> str | None:
    """The column that both tables name cases with; ``None`` where rows are matched by their order."""
    if schema.case_id is not None and schema.case_id in answers.columns and schema.case_id in data.columns:
        return schema.case_id
    shared = [name for name in answers.columns if name in data.columns and name != schema.label]
    return next((name for name in shared if _is_unique(answers.cells(name)) and _is_unique(data.cells(name))), None)


def _is_unique(cells: Cells) -> bool:
    return len(cells.texts) == len(cells.index)


def _answer_columns(answers: Table, schema: Schema, key: str | None) -> tuple[str | None, str | None]:
    """The columns of scores and of decisions: by their usual names, else the only one that is not the case's."""
    rest = [name for name in answers.columns if name != key]
    score = next((name for name in rest if _SCORE_NAME.match(name)), None)
    decision = next((name for name in rest if _DECISION_NAME.match(name) or name == schema.label), None)
    if score is None and decision is None and len(rest) == 1:
        holds_numbers = np.isfinite(answers.cells(rest[0]).numbers).any()
        return (rest[0], None) if holds_numbers else (None, rest[0])
    if score is None and decision is None:
        raise DataError(
            f"Known answers must have a column 'score' (or 'decision'), got: {', '.join(answers.columns[:8])}. Name "
            "it so in the first line."
        )
    return score, decision


def _rows_of(answers: Table, data: Table, key: str | None) -> IntArray:
    """The row of the data of every answer, -1 where there is none ``(n_answers,)``."""
    if key is None:
        if answers.n_rows > data.n_rows:
            raise DataError(
                f"Known answers must be those of the data's {data.n_rows:,} rows, in their order, got "
                f"{answers.n_rows:,}. Add the column that names the case, or leave the others out."
            )
        return np.arange(answers.n_rows)
    known = data.cells(key)
    asked = answers.cells(key)
    place = {text: i for i, text in enumerate(known.texts)}
    first_row = np.full(len(known.texts) + 1, -1)
    first_row[known.index[::-1]] = np.arange(len(known.index))[::-1]
    first_row[-1] = -1
    positions = np.array([place.get(text, -1) for text in asked.texts] + [-1], dtype=np.int64)
    rows: IntArray = first_row[positions[asked.index]]
    if (rows < 0).all():
        raise DataError(
            f"Known answers must name cases of the data by '{key}', got "
            f"'{asked.texts[0] if len(asked.texts) else ''}', which no row has. Check the spelling."
        )
    return rows


def _numbers(cells: Cells, name: str) -> FloatArray:
    wrong = ~np.isfinite(cells.numbers) & (cells.counts > 0)
    if wrong.all():
        raise DataError(
            f"The known answers in '{name}' must be numbers, got '{cells.texts[0][:40] if len(cells.texts) else ''}'."
        )
    numbers: FloatArray = np.append(np.where(wrong, np.nan, cells.numbers), np.nan)[cells.index]
    return numbers


def _are_outcomes(cells: Cells, data: Table, schema: Schema) -> bool:
    outcome = find_outcome(data, schema)
    return outcome is not None and bool((positions_of(cells, outcome)[0] >= 0).all())


def _classes(cells: Cells, data: Table, schema: Schema) -> IntArray:
    """The outcome that every row was given, as an index into the data's outcomes, -1 for none ``(n_rows,)``."""
    outcome = find_outcome(data, schema)
    if outcome is None:
        raise DataError("Known decisions need a label whose outcomes they are. Choose the label, or bring scores.")
    positions, missing, wrong = positions_of(cells, outcome)
    if wrong.any():
        shown = ", ".join(f"'{label}'" for label in outcome.labels[:6])
        got = cells.texts[int(np.argmax(wrong))][:40]
        raise DataError(f"Known decisions must be outcomes of the label ({shown}), got '{got}'. Correct the cell.")
    classes: IntArray = np.append(np.where(missing, -1, positions), -1)[cells.index].astype(np.int64)
    return classes


def _tolerance(texts: Iterable[str]) -> float:
    """Half a unit of the last digit that scores are written with, at least ``LEAST_TOLERANCE``."""
    n_digits = 0
    for text in texts:
        mantissa, _, exponent = text.lower().replace(",", ".").partition("e")
        decimals = len(mantissa.partition(".")[2]) - (int(exponent) if exponent.lstrip("+-").isdigit() else 0)
        n_digits = max(n_digits, decimals)
    return max(LEAST_TOLERANCE, _HALF * 10.0**-n_digits)
