"""Texts and a model that takes strings, opened together in the model's process: the twin of ``session.Opened``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import pack_array
from fairness_engine.clock import Clock
from fairness_engine.data.label import favourable_or_second
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.data.texts import Texts, make_texts
from fairness_engine.errors import FitError, SettingError
from fairness_engine.events import Event
from fairness_engine.models.classes import favourable_of_model
from fairness_engine.models.fit.probing import finite
from fairness_engine.models.open_text import open_text_model
from fairness_engine.models.text_model import TextModel, score_texts
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.run_config import RunConfig

if TYPE_CHECKING:
    from fairness_engine.retraining.evaluation.rule_group import RuleGroup


def text_column(schema: Schema, scope: Scope | None) -> str | None:
    """The column of texts that a scope is about; ``None`` where it is about a table.

    Raises:
        FitError: a column of texts beside other protected attributes.
    """
    named = [name for name in (scope.protected if scope else ()) if schema.is_text(name)]
    if not named:
        return None
    if scope is not None and len(scope.protected) > 1:
        raise FitError(
            f"The texts of '{named[0]}' are assessed alone, got {', '.join(scope.protected)}. Leave the other "
            "attributes out."
        )
    return named[0]


@dataclass(frozen=True)
class TextSession:
    """What one process holds of a review of texts.

    Args:
        texts_of_data: of the column.
        model: takes them.
        schema, scope: of the review.
        data_path: where the data are.
        model_file: where the model's file is and what it was called, to train it again.
        group: the rule set that a person picked for a retraining.
    """

    texts_of_data: Texts
    model: TextModel
    schema: Schema
    scope: Scope
    data_path: Path
    model_file: tuple[Path, str]
    group: RuleGroup | None = None

    def run(self, config: RunConfig, clock: Clock, report: Callable[[Event], None] = lambda _: None) -> Iterator[Event]:
        """The events of a run of rule sets, or of a retraining.

        Raises:
            FitError: another kind of run, which needs a table.
            InputError: no term occurs, too few texts hold one, or the model cannot be trained.
        """
        from fairness_engine.model_process.work import work_texts

        yield from work_texts(self, config, clock, report)

    def given(self, request: Mapping[str, Any]) -> TextSession:
        """The same with the ``rule_set`` that a person picked, where a request brings one. Pairs are of tables."""
        from fairness_engine.retraining.evaluation.rule_group import RuleGroup

        rule_set = request.get("rule_set")
        return replace(self, group=None if rule_set is None else RuleGroup.from_json(rule_set))

    @property
    def learned(self) -> dict[str, Any]:
        """As ``ModelSession.learned``; of texts there is nothing."""
        return {}

    def trainable(self) -> dict[str, Any]:
        """Can the model be retrained on the texts, as JSON."""
        from fairness_engine.model_process.working.retraining_texts import text_trainable

        return {"trainable": text_trainable(self).to_json()}

    def fit(self, answers: Any = None) -> dict[str, Any]:
        """The fit card, as JSON. What is drawn for it does not depend on a run.

        Raises:
            SettingError: known answers were given.
        """
        if answers is not None:
            raise SettingError(
                "Known answers are compared for models of tables, got some for a model of texts. Leave them out."
            )
        from fairness_engine.models.fit.text_report import assess_text_fit

        return {"fit": assess_text_fit(self.model, self.texts_of_data, np.random.default_rng(0)).to_json()}

    def texts(self, texts: Sequence[str]) -> dict[str, Any]:
        """Scores ``(n_texts, n_scores)`` and decisions ``(n_texts,)`` of texts, packed."""
        scores = finite(score_texts(self.model, list(texts)))
        return {"scores": pack_array(scores), "decisions": pack_array(self.model.decide(scores))}

    def summary(self) -> dict[str, Any]:
        """What the reply to ``open`` says."""
        return {
            "n_rows": len(self.texts_of_data),
            "n_dropped": self.texts_of_data.n_empty,
            "problems": list(self.texts_of_data.problems),
            "classes": list(self.model.classes),
            "threshold": self.model.threshold,
            "is_binary": self.model.is_binary,
            "favourable": self.model.favourable,
        }


def open_texts(request: Mapping[str, Any], schema: Schema, scope: Scope, column: str) -> TextSession:
    """Read the texts and open the model that an ``open`` request names.

    Raises:
        InputError: either cannot be used, or they do not belong together.
    """
    data = request["data"]
    model_file = request.get("model")
    texts = make_texts(read_table(Path(data["path"]), name=data["name"]), schema, column)
    if model_file is None:
        raise FitError(
            f"The texts of '{column}' are swapped and decided anew, which needs a model of texts. Choose one under "
            "Model."
        )
    model = open_text_model(
        Path(model_file["path"]),
        schema,
        classes=texts.classes or None,
        favourable=favourable_or_second(schema, texts.classes, texts.favourable_class),
        threshold=scope.threshold,
        unsafe_formats=bool(request.get("unsafe_formats")),
        name=model_file["name"],
    )
    scope.check_scores(model.predictor.output, model.predictor.n_scores)
    model = model if texts.favourable_class is not None else _with_favourable(model, schema)
    return TextSession(
        texts, model, schema, scope, Path(data["path"]), (Path(model_file["path"]), str(model_file["name"]))
    )


def _with_favourable(model: TextModel, schema: Schema) -> TextModel:
    """The model with the outcome that the schema calls favourable, where no label says so; else a note on which one is
    taken.
    """
    favourable, note = favourable_of_model(model.classes, schema.favourable, model.favourable)
    return replace(model, favourable=favourable, notes=(*model.notes, note) if note else model.notes)


ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "summary": TextSession.summary,
    "fit": TextSession.fit,
    "texts": TextSession.texts,
    "trainable": TextSession.trainable,
}
"""By the name of the question, see ``questions``."""
