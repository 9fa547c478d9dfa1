"""Small questions to the model: scores of edited people, the plainest form of a pair. Asked once, then remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import RunError
from fairness_engine.pairs import Pairs
from fairness_engine.runs.kinds import CERTIFY
from pages.shared.app import session

if TYPE_CHECKING:
    from fairness_engine.certification.box_inspection.details import BoxDetails
    from fairness_engine.explanation.shap_values import PairValues
    from fairness_engine.explanation.where import Where
    from fairness_engine.groups.figures.report import FigureSettings, GroupReport
    from fairness_engine.measures.plausibility.plausibility import Assessed
    from fairness_engine.oracle.domain import Distribution
    from fairness_engine.retraining.trainable import Trainable
    from fairness_engine.store.records import Review, RunRecord

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
    scores, decisions = session.evaluator().scores(config.data_id, config.model_id, config.schema, config.scope, rows)
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
    return session.evaluator().simplify(config.data_id, config.model_id, config.schema, config.scope, pair)


def explained(run: RunRecord, people: FloatArray) -> PairValues | None:
    """The explanation of these two people when it was asked for before in this browser session."""
    found: PairValues | None = _kept("explanations").get((run.id, people.tobytes()))
    return found


def explain(run: RunRecord, people: FloatArray) -> PairValues:
    """SHAP values of two people, rows of the engine ``(2, n_columns)``.

    Raises:
        EvenhandError: the model is too slow, or its process cannot answer.
    """
    known = explained(run, people)
    if known is not None:
        return known
    config = run.config
    found = session.evaluator().shap(config.data_id, config.model_id, config.schema, config.scope, people)
    _keep("explanations", (run.id, people.tobytes()), found)
    return found


def plausible(run: RunRecord, person: FloatArray) -> Assessed:
    """Could this person exist, a row of the engine ``(n_columns,)``?

    Raises:
        EvenhandError: the model's process cannot answer.
    """
    key = (run.id, person.tobytes())
    known: Assessed | None = _kept("plausible").get(key)
    if known is None:
        config = run.config
        known = session.evaluator().plausible(config.data_id, config.model_id, config.schema, config.scope, person)
        _keep("plausible", key, known)
    return known


def where(review: Review, distribution: Distribution, max_depth: int) -> Where:
    """The groups in which a review's model discriminates; asked once for each model, scope, distribution and depth.

    Raises:
        EvenhandError: the model cannot be searched or is too slow, or its process cannot answer.
    """
    if not (review.data_id and review.model_id and review.schema and review.scope):
        raise RunError("Groups need data, a model and a scope. Complete the review first.")
    asked = (review.data_id, review.model_id, review.schema, review.scope)
    key = (repr(asked), distribution, max_depth)
    known: Where | None = _kept("groups").get(key)
    if known is None:
        known = session.evaluator().where(*asked, distribution, max_depth)
        _keep("groups", key, known)
    return known


def group_figures(review: Review, settings: FigureSettings) -> GroupReport:
    """Selection rates, impact ratios and equalised odds of a review's model, or of a column of its data; asked once for
    each.

    Raises:
        EvenhandError: too many groups, no row in the limits, or the model's process cannot answer.
    """
    if not (review.data_id and review.schema and review.scope):
        raise RunError("Group figures need data and a scope. Complete the review first.")
    asked = (review.data_id, review.model_id or "", review.schema, review.scope)
    key = (repr(asked), settings)
    known: GroupReport | None = _kept("group_figures").get(key)
    if known is None:
        known = session.evaluator().group_figures(*asked, settings)
        _keep("group_figures", key, known)
    return known


def box(run: RunRecord, low: IntArray, high: IntArray) -> BoxDetails:
    """What is known of one box of a certification, digits ``(D,)`` each, both ends included.

    Raises:
        EvenhandError: the model's process cannot answer.
    """

    key = (run.id, low.tobytes(), high.tobytes())
    known: BoxDetails | None = _kept("boxes").get(key)
    if known is None:
        config = run.config
        settings = CERTIFY.settings(config)
        asked = (config.data_id, config.model_id, config.schema, config.scope)
        known = session.evaluator().box(*asked, settings, low, high)
        _keep("boxes", key, known)
    return known


def why_not_certifiable(review: Review) -> str | None:
    """Why nothing can be proved of a review's model in its scope; ``None`` when it can be certified. Asked once for
    each.

    Raises:
        EvenhandError: the review is not complete, or the model's process cannot answer.
    """
    if not (review.data_id and review.model_id and review.schema and review.scope):
        raise RunError("A certification needs data, a model and a scope. Complete the review first.")
    reason: str | None = _asked_once("certifiable", review, session.evaluator().why_not_certifiable)
    return reason


def trainable(review: Review) -> Trainable:
    """Can a review's model be retrained on its data, and what may be trained instead; asked once for each.

    Raises:
        EvenhandError: the review is not complete, or the model's process cannot answer.
    """
    if not (review.data_id and review.model_id and review.schema and review.scope):
        raise RunError("A retraining needs data, a model and a scope. Complete the review first.")
    found: Trainable = _asked_once("trainable", review, session.evaluator().trainable)
    return found


def _asked_once(name: str, review: Review, ask: Callable[..., Any]) -> Any:
    """The answer about a complete review, kept for as long as its files, columns and scope stay."""
    asked = (review.data_id, review.model_id, review.schema, review.scope)
    memory = _kept(name)
    key = repr(asked)
    if key not in memory:
        _keep(name, key, ask(*asked))
    return memory[key]


def _keep(name: str, key: object, value: object) -> None:
    """Remember a value; of too many the oldest goes."""
    memory = _kept(name)
    while len(memory) >= _MAX_REMEMBERED:
        memory.pop(next(iter(memory)))
    memory[key] = value


def _kept(name: str) -> dict[Any, Any]:
    memory: dict[Any, Any] = st.session_state.setdefault(f"questions_{name}", {})
    return memory


def _memory() -> dict[tuple[str, bytes], Answer]:
    memory: dict[tuple[str, bytes], Answer] = st.session_state.setdefault("answers", {})
    return memory
