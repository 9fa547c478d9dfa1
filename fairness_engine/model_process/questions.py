"""The questions that a page may ask a model's process, and what is believed of the answers.

How the processes are kept is the evaluator's affair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray, pack_array, unpack_array
from fairness_engine.data.schema import Schema
from fairness_engine.errors import RunError, breach
from fairness_engine.model_process.protocol import MAX_EVENT_BYTES, pack_pairs, unpack_pairs
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs

if TYPE_CHECKING:
    from fairness_engine.certification.box_inspection.details import BoxDetails
    from fairness_engine.certification.settings import CertifySettings
    from fairness_engine.explanation.shap_values import PairValues
    from fairness_engine.explanation.where import Where
    from fairness_engine.groups.figures.report import FigureSettings, GroupReport
    from fairness_engine.measures.gradient_agreement import GradientCheck
    from fairness_engine.measures.plausibility.plausibility import Assessed
    from fairness_engine.models.fit.known_answers import KnownAnswers
    from fairness_engine.models.fit.report import FitCard
    from fairness_engine.oracle.domain import Distribution
    from fairness_engine.retraining.trainable import Trainable

ANSWER_SECONDS = 60.0
FIT_SECONDS = 180.0
EXPLAIN_SECONDS = 90.0
PROOF_SECONDS = 180.0
"""Milliseconds, but for the first question of a new version, which may have to compile loops."""
_MAX_REASON = 2_000
MAX_TEXT_CHARACTERS = 1_000_000
"""Of all texts in one question."""


class Questions(ABC):
    """What can be asked of the data, the model, the schema and the scope that every question names."""

    @abstractmethod
    def _ask(
        self, what: tuple[str, str, Schema, Scope | None], do: str, seconds: float, **content: Any
    ) -> dict[str, Any]:
        """The reply to one question.

        Raises:
            InputError: the data or the model cannot be used.
            ProcessError: the model's process ended, or gave no answer in time.
        """

    def fit_card(
        self,
        data_id: str,
        model_id: str,
        schema: Schema,
        scope: Scope | None = None,
        answers: KnownAnswers | None = None,
    ) -> FitCard:
        """Do the model and the data belong together?

        Args:
            scope: of a review of texts, to say which column the model takes; not needed for a table.
            answers: that the model gave in its own environment.

        Raises:
            InputError: the data or the model cannot be used.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.models.fit.report import FitCard

        known = {} if answers is None else {"answers": answers.to_json()}
        reply = self._ask((data_id, model_id, schema, scope), "fit", FIT_SECONDS, **known)
        try:
            return FitCard.from_json(reply["fit"])
        except (KeyError, TypeError, ValueError):
            raise breach("it sent no fit card") from None

    def scores(
        self, data_id: str, model_id: str, schema: Schema, scope: Scope | None, rows: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Scores ``(n_rows, n_scores)`` and decisions ``(n_rows,)`` of rows of the engine ``(n_rows, n_columns)``.

        Raises:
            InputError: the data or the model cannot be used, or the model refuses a row.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        if rows.shape[1] != len(schema.inputs):
            raise RunError(f"Rows must have {len(schema.inputs)} columns, got {rows.shape[1]}.")
        size = max(1, MAX_EVENT_BYTES // (11 * rows.shape[1]))
        batches = []
        for start in range(0, max(len(rows), 1), size):
            packed = pack_array(rows[start : start + size])
            reply = self._ask((data_id, model_id, schema, scope), "scores", ANSWER_SECONDS, rows=packed)
            batches.append(_read_scores(reply, len(rows[start : start + size])))
        return np.concatenate([s for s, _ in batches]), np.concatenate([d for _, d in batches])

    def texts(
        self, data_id: str, model_id: str, schema: Schema, scope: Scope, texts: Sequence[str]
    ) -> tuple[FloatArray, IntArray]:
        """Scores ``(n_texts, n_scores)`` and decisions ``(n_texts,)`` that a model of texts gives.

        Args:
            scope: of a review of texts; its threshold holds.

        Raises:
            InputError: the data or the model cannot be used.
            RunError: too many texts, or too long ones, for one question.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        if sum(map(len, texts)) > MAX_TEXT_CHARACTERS:
            raise RunError(
                f"A question may hold {MAX_TEXT_CHARACTERS:,} characters of text. Use shorter texts, or fewer."
            )
        reply = self._ask((data_id, model_id, schema, scope), "texts", ANSWER_SECONDS, texts=list(texts))
        return _read_scores(reply, len(texts))

    def decisions(
        self, data_id: str, model_id: str, schema: Schema, scope: Scope, rows: FloatArray
    ) -> tuple[IntArray, IntArray]:
        """The least and the greatest class that the variants of rows ``(n_rows, n_columns)`` get, ``(n_rows,)`` each.

        Raises:
            ProcessError: the model's process ended, or gave no answer in time.
        """
        size = max(1, MAX_EVENT_BYTES // (11 * len(schema.inputs)))
        found = [np.empty((2, 0), np.int64)]
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            reply = self._ask((data_id, model_id, schema, scope), "decisions", EXPLAIN_SECONDS, rows=pack_array(part))
            found.append(_read_decisions(reply, len(part)))
        least, most = np.concatenate(found, axis=1)
        return least, most

    def simplify(self, data_id: str, model_id: str, schema: Schema, scope: Scope, pair: Pairs) -> Pairs:
        """The plainest form of one pair that is still discriminatory.

        Raises:
            RunError: the pair is not discriminatory under this model and scope.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        reply = self._ask((data_id, model_id, schema, scope), "simplify", ANSWER_SECONDS, pair=pack_pairs(pair))
        found = unpack_pairs(reply.get("pair"), len(schema.inputs))
        if len(found) != 1:
            raise breach(f"it sent {len(found)} pairs instead of one")
        return found

    def shap(self, data_id: str, model_id: str, schema: Schema, scope: Scope, people: FloatArray) -> PairValues:
        """SHAP values of both people of a pair, rows of the engine ``(2, n_columns)``.

        Raises:
            SettingError: the model is too slow for an answer within seconds.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.explanation.shap_values import PairValues

        asked = (data_id, model_id, schema, scope)
        reply = self._ask(asked, "shap", EXPLAIN_SECONDS, people=pack_array(people))
        return PairValues.from_json(reply.get("shap"), len(schema.inputs))

    def where(
        self, data_id: str, model_id: str, schema: Schema, scope: Scope, distribution: Distribution, max_depth: int
    ) -> Where:
        """The groups in which the model discriminates, among rows of the data or uniform ones.

        Raises:
            FitError: the model takes none of the protected attributes.
            SettingError: too few rows, or a model too slow for an answer within seconds.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.explanation.where import where_from_json

        settings = {"distribution": distribution.value, "max_depth": max_depth}
        reply = self._ask((data_id, model_id, schema, scope), "where", EXPLAIN_SECONDS, settings=settings)
        examples = unpack_pairs(reply.get("examples"), len(schema.inputs))
        return where_from_json(reply.get("where"), Domain(schema, scope), examples)

    def gradients(self, data_id: str, model_id: str, schema: Schema, scope: Scope) -> GradientCheck:
        """How estimated gradients compare with the true ones, on rows of the data.

        Raises:
            ModelError: the model has no gradient.
            SettingError: nothing may be moved, or no row of the data lies in the scope.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.measures.gradient_agreement import GradientCheck

        reply = self._ask((data_id, model_id, schema, scope), "gradients", EXPLAIN_SECONDS)
        return GradientCheck.from_json(reply.get("gradients"))

    def group_figures(
        self, data_id: str, model_id: str, schema: Schema, scope: Scope, settings: FigureSettings
    ) -> GroupReport:
        """Selection rates, impact ratios and equalised odds of groups of the data's rows.

        Args:
            model_id: empty where a column of the data decides.
            scope: its limits hold.

        Raises:
            SettingError: too many groups, nothing that decides, no row in the limits, or a model that is too slow.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.groups.figures.report import report_from_json

        asked = (data_id, model_id, schema, scope)
        reply = self._ask(asked, "group_figures", EXPLAIN_SECONDS, settings=settings.to_json())
        return report_from_json(reply.get("figures"), settings)

    def box(
        self,
        data_id: str,
        model_id: str,
        schema: Schema,
        scope: Scope,
        settings: CertifySettings,
        low: IntArray,
        high: IntArray,
    ) -> BoxDetails:
        """What is known of one box of a certification, and why it is undecided.

        Args:
            settings: of the certification.
            low, high: digits ``(D,)`` each, both ends included, as ``PartitionTree.box`` gives them.

        Raises:
            ModelError: the model cannot be certified.
            SettingError: the scope cannot, or it is no box of its space.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.certification.box_inspection.details import BoxDetails

        asked = (data_id, model_id, schema, scope)
        box = {"settings": settings.to_json(), "low": pack_array(low), "high": pack_array(high)}
        reply = self._ask(asked, "box", PROOF_SECONDS, **box)
        pairs = unpack_pairs(reply.get("counterexample"), len(schema.inputs))
        try:
            return BoxDetails.from_json(reply["box"], pairs, Domain(schema, scope), len(low))
        except (KeyError, TypeError, ValueError):
            raise breach("it sent no box") from None

    def why_not_certifiable(self, data_id: str, model_id: str, schema: Schema, scope: Scope) -> str | None:
        """Why nothing can be proved of the model in this scope, in a sentence or two; ``None`` when it can be
        certified.

        Raises:
            InputError: the data or the model cannot be used.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        reason = self._ask((data_id, model_id, schema, scope), "certifiable", PROOF_SECONDS).get("reason")
        if reason is not None and not (isinstance(reason, str) and len(reason) <= _MAX_REASON):
            raise breach("it sent a reason that is none")
        return reason

    def trainable(self, data_id: str, model_id: str, schema: Schema, scope: Scope) -> Trainable:
        """Can the model be retrained on the data, and what may be trained instead.

        Raises:
            InputError: the data or the model cannot be used.
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.retraining.trainable import Trainable

        return Trainable.from_json(
            self._ask((data_id, model_id, schema, scope), "trainable", FIT_SECONDS).get("trainable")
        )

    def plausible(self, data_id: str, model_id: str, schema: Schema, scope: Scope, row: FloatArray) -> Assessed:
        """Could this person exist? A row of the engine ``(n_columns,)``.

        Raises:
            ProcessError: the model's process ended, or gave no answer in time.
        """
        from fairness_engine.measures.plausibility.plausibility import Assessed

        asked = (data_id, model_id, schema, scope)
        reply = self._ask(asked, "plausible", ANSWER_SECONDS, row=pack_array(row[None]))
        try:
            return Assessed.from_json(reply["plausible"], len(schema.inputs))
        except (KeyError, TypeError, ValueError):
            raise breach("it sent no plausibility") from None

    def summary(self, data_id: str, model_id: str, schema: Schema, scope: Scope | None = None) -> dict[str, Any]:
        """Open data and model; ``n_rows``, ``n_dropped``, ``problems``, ``classes``, ``threshold``, ``is_binary``,
        ``favourable`` (a class) and ``taken`` (the columns that the model takes)."""
        return self._ask((data_id, model_id, schema, scope), "summary", ANSWER_SECONDS)


def _read_scores(reply: dict[str, Any], n_rows: int) -> tuple[FloatArray, IntArray]:
    try:
        scores = unpack_array(reply["scores"])
        decisions = unpack_array(reply["decisions"])
    except (KeyError, TypeError, ValueError):
        raise breach("it sent scores that cannot be read") from None
    is_right = scores.ndim == 2 and scores.dtype == np.float64 and decisions.dtype == np.int64
    if not is_right or len(scores) != n_rows or decisions.shape != (n_rows,) or not np.isfinite(scores).all():
        raise breach("it sent scores of the wrong shape")
    return scores, decisions


def _read_decisions(reply: dict[str, Any], n_rows: int) -> IntArray:
    try:
        parts = [unpack_array(reply[name]) for name in ("least", "most")]
    except (KeyError, TypeError, ValueError):
        raise breach("it sent decisions that cannot be read") from None
    if any(part.dtype != np.int64 or part.shape != (n_rows,) for part in parts):
        raise breach("it sent decisions of the wrong shape")
    return np.stack(parts)
