"""Small questions to the model, each asked once in a browser session and then remembered.

Streamlit's own caches cannot say whether an answer is there without asking, which cards need: a question may be slow,
so that it is asked on a click, and its answer stays.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import RunError
from fairness_engine.model_process.questions import Held
from pages.shared.app import session

if TYPE_CHECKING:
    from fairness_engine.model_process.questions import Question, Target
    from fairness_engine.store.records import Review

_MAX_REMEMBERED = 200
A = TypeVar("A")


def ask(target: Target, question: Question[A], waiting: str = "") -> A:
    """The answer, which is remembered; of too many the oldest goes.

    Args:
        target, question: as the evaluator takes them.
        waiting: said while it is looked for; empty for what takes a moment.

    Raises:
        EvenhandError: the model's process cannot answer; why is in the message.
    """
    memory = _memory()
    key = _key(target, question)
    if key not in memory:
        with st.spinner(waiting) if waiting else contextlib.nullcontext():
            answer = session.ask(target, question)
        while len(memory) >= _MAX_REMEMBERED:
            memory.pop(next(iter(memory)))
        memory[key] = answer
    found: A = memory[key]
    return found


def remembered(target: Target, question: Question[A]) -> A | None:
    """The answer when this was asked before in this browser session."""
    found: A | None = _memory().get(_key(target, question))
    return found


def of_review(review: Review, what: str) -> Held:
    """A complete review as what questions are asked of.

    Args:
        review: the open one; without a model where a column of the data decides.
        what: is asked, at the beginning of a sentence.

    Raises:
        RunError: it is not complete.
    """
    if not (review.data_id and review.schema and review.scope):
        raise RunError(f"{what} data, a model and a scope. Complete the review first.")
    return Held(review.data_id, review.model_id or "", review.schema, review.scope)


def _key(target: Target, question: Question[Any]) -> str:
    scope = target.scope
    of = [target.data_id, target.model_id, target.schema.to_json(), scope.to_json() if scope else None]
    return json.dumps([of, question.name, question.content()])


def _memory() -> dict[str, Any]:
    memory: dict[str, Any] = st.session_state.setdefault("answers", {})
    return memory


@dataclass(frozen=True)
class Answer:
    """Scores as the pairs have them (of class 1, or of the decided class) and decisions, ``(n_rows,)`` each."""

    scores: FloatArray
    decisions: IntArray

    @classmethod
    def of(cls, found: tuple[FloatArray, IntArray]) -> Answer:
        """From scores ``(n_rows, n_scores)`` and decisions ``(n_rows,)``."""
        scores, decisions = found
        return cls(scores[:, 0] if scores.shape[1] == 1 else scores.max(axis=1), decisions)
