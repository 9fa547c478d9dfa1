"""A second look at a retrained model of texts, and the one before it: the twin of ``models.py``.

Which texts test, and how a term takes the place of another, is shared with what measured them; the decisions are asked
for anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.audit.model_figures import ROUNDING, FigureCheck, ModelCheck
from fairness_engine.data.texts import make_texts
from fairness_engine.errors import breach
from fairness_engine.groups.identity_terms.terms import default_terms
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.measures.results import Share
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import MAX_TEXT_CHARACTERS, Summary, Target, TextScores
from fairness_engine.model_process.tables import read_stored
from fairness_engine.models.model import Model, Output
from fairness_engine.models.text_model import TextModel
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.retraining.results import Interval, WorstRuleSet
from fairness_engine.retraining.settings import MEASURE_STREAM, RetrainSettings
from fairness_engine.retraining.texts.book import on_rows
from fairness_engine.retraining.texts.groups import TextGroupMeter
from fairness_engine.retraining.texts.measure import by_term, text_meter
from fairness_engine.retraining.texts.subject import TextData, text_data, text_parts
from fairness_engine.runs.kinds import RETRAIN, results_of
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore

_PART_CHARACTERS = MAX_TEXT_CHARACTERS // 5
"""In one question: a slow model must answer within a minute."""


def check_text_models(store: RunStore, run: RunRecord, model_id: str, evaluator: Evaluator) -> ModelCheck:
    """Open both models of a retraining on texts, and measure them again: the same test texts with every term, the same
    random swaps.

    The score of the worst rule set, and who got better and worse by term, are among the figures by group: both must
    come out the same.

    Args:
        run: a retraining that made a model and measured it.
        model_id: of the new model.
        evaluator: opens the files.

    Raises:
        InputError: data or model cannot be used any more.
        ProcessError: the model's process ended, or gave no answer in time.
    """
    config = run.config
    results = results_of(store, run.id)
    assert results.before is not None, "seen by check_models"
    assert results.after is not None, "seen by check_models"
    settings = RETRAIN.settings(config)
    data = _data(store, run, settings)
    test = text_parts(data, settings).test
    figures: list[FigureCheck] = []
    models = []
    favourable = []
    for side, identity, told in (("before", config.model_id, results.before), ("after", model_id, results.after)):
        model = _opened(evaluator, replace(config, model_id=identity), data)
        draws = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=(MEASURE_STREAM,)))
        examined = text_meter(data, test, told.uniform.n, draws).examine(model)
        found = examined.measured
        figures += [
            _again(
                "accuracy",
                side,
                told.quality.accuracy,
                told.quality.accuracy.value,
                found.quality.accuracy.value,
                len(test),
            ),
            _again("data", side, told.data, told.data.share, found.data.share, found.data.n),
            _again("uniform", side, told.uniform, told.uniform.share, found.uniform.share, found.uniform.n),
        ]
        models.append(model)
        favourable.append(examined.decided == model.favourable)
    if results.changes is None:  # one that broke off before it compared the terms claims nothing of them
        holds = run.state is not RunState.FINISHED
    else:
        holds = results.changes.groups == list(by_term(data, test, *favourable))
    worst = results.worst_rule_set
    return ModelCheck(tuple(figures), holds and (worst is None or _is_worst_the_same(data, test, worst, models)))


def _again(name: str, side: str, stored: Interval | Share, value: float, again: float, n: int) -> FigureCheck:
    """A stored figure beside that of today: of the same texts and the same swaps, so it must be the same."""
    holds = abs(again - value) <= ROUNDING and stored.low - ROUNDING <= again <= stored.high + ROUNDING
    return FigureCheck(name, side, value, stored.low, stored.high, again, n, holds)


def _data(store: RunStore, run: RunRecord, settings: RetrainSettings) -> TextData:
    config = run.config
    (column,) = run.config.scope.protected
    file = store.file(config.data_id)
    texts = make_texts(read_stored(store.workspace, file.path, file.name), config.schema, column)
    picked = () if settings.rule_set is None else stored_rules(store, settings.rule_set.run_id).attributes
    terms = settings.terms or tuple((one.name, one.labels) for one in picked) or default_terms()
    return text_data(texts, config.schema, terms, file.sha256)


def _opened(evaluator: Evaluator, target: Target, data: TextData) -> Model:
    """A model that asks the process that holds it, as one on rows of the book."""
    said = evaluator.ask(target, Summary())
    try:
        threshold = float(said["threshold"])
        favourable = int(said["favourable"])
        classes = tuple(map(str, said["classes"]))
    except (KeyError, TypeError, ValueError):
        raise breach("it sent no summary") from None
    asked = _Asked(evaluator, target, 1 if said.get("is_binary") else len(classes))
    return on_rows(TextModel(asked, threshold, classes, favourable), data.book)


class _Asked:
    """A predictor of texts in another process; each different text is asked about once."""

    kind = "asked"
    n_inputs: int | None = 1
    output = Output.LOGIT

    def __init__(self, evaluator: Evaluator, target: Target, n_scores: int) -> None:
        self._evaluator = evaluator
        self._target = target
        self.n_scores = n_scores
        self._known: dict[str, FloatArray] = {}

    def predict(self, inputs: Sequence[str]) -> FloatArray:
        """Scores ``(n_texts, n_scores)``."""
        part: list[str] = []
        for text in dict.fromkeys(inputs):
            if text in self._known:
                continue
            if part and sum(map(len, part)) + len(text) > _PART_CHARACTERS:
                self._ask(part)
                part = []
            part.append(text)
        if part:
            self._ask(part)
        return np.array([self._known[text] for text in inputs]).reshape(len(inputs), self.n_scores)

    def margins(self, inputs: Sequence[str], threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores

    def _ask(self, texts: list[str]) -> None:
        self._known.update(zip(texts, self._evaluator.ask(self._target, TextScores(texts))[0], strict=True))


def _is_worst_the_same(data: TextData, test: Any, worst: WorstRuleSet, models: list[Model]) -> bool:
    """Whether the rule set that was looked at has the stored shares inside and outside with both models."""
    rules = {rule["column"]: rule["term"] for rule in worst.rules}
    if not rules or worst.before is None:
        return True
    attributes = data.space.attributes
    chosen = tuple(one.labels.index(rules[one.name]) if one.name in rules else NO_RULE for one in attributes)
    group = RuleGroup(attributes, chosen)
    n_combinations = int(np.prod([one.n_values for one in attributes if one.name in rules]))
    most = worst.before.n_inside * n_combinations  # as many templates as were looked at, drawn by the same seed
    meter = TextGroupMeter(data, test, most)
    for stored, model in zip((worst.before, worst.after), models, strict=True):
        again = meter.score(model, group)
        if stored is None or any(
            abs(getattr(again, name) - getattr(stored, name)) > ROUNDING for name in ("score", "inside", "outside")
        ):
            return False
    return True
