"""Small questions to the model: scores of edited people, the plainest form of a pair. Asked once, then remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.events import FloatArray, IntArray, Pairs
from pages.components import state

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord

_MAX_REMEMBERED = 200


@dataclass(frozen=True)
class Answer:
    """Scores as the pairs have them (of class 1, or of the decided class) and decisions, ``(n_rows,)`` each."""

    scores: FloatArray
    decisions: IntArray


def remembered(run: RunRecord, rows: FloatArray) -> Answer | None:
    """The answer for these rows when they were asked about before in this browser session."""
    answer: Answer | None = _memory().get((run.id, rows.tobytes()))
    return answer


def ask(run: RunRecord, rows: FloatArray) -> Answer:
    """What the model of a run says about rows of the engine ``(n_rows, n_columns)``.

    Raises:
        EvenhandError: the model's process cannot answer; why is in the message.
    """
    known = remembered(run, rows)
    if known is not None:
        return known
    config = run.config
    scores, decisions = state.evaluator().scores(config.data_id, config.model_id, config.schema, config.scope, rows)
    shown = scores[:, 0] if scores.shape[1] == 1 else scores.max(axis=1)
    answer = Answer(np.asarray(shown, dtype=np.float64), np.asarray(decisions, dtype=np.int64))
    memory = _memory()
    while len(memory) >= _MAX_REMEMBERED:
        memory.pop(next(iter(memory)))
    memory[(run.id, rows.tobytes())] = answer
    return answer


def simplify(run: RunRecord, pair: Pairs) -> Pairs:
    """The plainest form of one pair.

    Raises:
        EvenhandError: the pair no longer holds, or the model's process cannot answer.
    """
    config = run.config
    return state.evaluator().simplify(config.data_id, config.model_id, config.schema, config.scope, pair)


def _memory() -> dict[tuple[str, bytes], Answer]:
    memory: dict[tuple[str, bytes], Answer] = st.session_state.setdefault("answers", {})
    return memory
