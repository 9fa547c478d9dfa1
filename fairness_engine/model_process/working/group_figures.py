"""The answers to questions for group figures: who decides on which rows and the figures of that, and what a model would
decide at other thresholds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import Batches, Clock
from fairness_engine.data.dataset import Dataset
from fairness_engine.data.recorded import Source, recorded_labels, say_unknown
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, ResultReady, Stopped
from fairness_engine.groups.figures.figures import GroupDecisions, group_figures
from fairness_engine.groups.figures.report import FigureSettings, report_to_json
from fairness_engine.groups.figures.threshold_counts import ScoredRows, count_thresholds
from fairness_engine.groups.figures.thresholds import ThresholdSettings, counts_to_json
from fairness_engine.groups.rule_sets.sampling import Decider
from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered
from fairness_engine.models.fit.probing import finite
from fairness_engine.models.model import Model, Output, is_there
from fairness_engine.store.run_config import RunConfig

if TYPE_CHECKING:
    from fairness_engine.model_process.session import ModelSession

_DECIDE_SECONDS = 45.0
"""Half of what a page waits for."""
_FIRST_BATCH = 512
_MAX_BATCH = 1 << 17


def answer(opened: ModelSession, content: Mapping[str, Any]) -> dict[str, Any]:
    """The group figures that are asked for, as JSON.

    Args:
        opened: data, and a model or none.
        content: a ``FigureSettings`` as JSON.

    Raises:
        SettingError: a setting is out of its range, nothing decides, or the model is too slow.
        SchemaError: an attribute is no input.
    """
    settings = FigureSettings.from_json(content)
    dataset, decided = _decided(opened, settings)
    return report_to_json(group_figures(dataset, opened.scope, decided, settings))


def figures_events(opened: ModelSession, config: RunConfig, clock: Clock) -> Iterator[Event]:
    """A run of group figures, with scores where a model gives some. Choices of attributes that make too many groups to
    be read are left out, and named.

    Raises:
        SettingError: as ``answer``.
    """
    started = time.perf_counter()
    settings = FigureSettings.from_json(config.settings)
    dataset, decided = _decided(opened, settings)
    decided = replace(decided, scores=_scores(opened, decided, dataset))
    kept: list[tuple[str, ...]] = []
    left_out = []
    for names in settings.attribute_sets:
        try:
            group_figures(dataset, opened.scope, decided, replace(settings, attribute_sets=(names,)))
        except SettingError:
            if len(names) == 1:
                raise
            left_out.append(" and ".join(names))
        else:
            kept.append(names)
    notes = [opened.dataset.say_left_out(len(dataset.rows)), say_unknown(decided.column, decided.is_known)]
    if left_out:
        notes.append(f"Left out, for they make too many groups to be read: {', '.join(left_out)}.")
    if any(notes):
        yield ResultReady("notes", {"notes": [note for note in notes if note]})
    report = group_figures(dataset, opened.scope, decided, replace(settings, attribute_sets=tuple(kept)))
    yield ResultReady("figures", {"report": report_to_json(report)})
    reason = StopReason.CANCELLED if clock.is_cancelled() else StopReason.EXHAUSTED
    n_rows = len(dataset.rows)
    yield Stopped(reason, n_rows if settings.source is Source.MODEL else 0, time.perf_counter() - started, n_rows, 0)


def _scores(opened: ModelSession, decided: GroupDecisions, dataset: Dataset) -> FloatArray | None:
    """Of the rows that are decided, for the favourable outcome ``(n_rows,)``; ``None`` where a column decides."""
    if decided.column or not is_there(opened.model):
        return None
    n_complete = len(opened.dataset.rows)
    scores = opened.model.scores(dataset.rows[:n_complete])
    if len(dataset.rows) > n_complete:
        scores = np.concatenate([scores, incomplete_scores(opened.model, dataset.rows[n_complete:])])
    return opened.model.favourable_scores(scores)


def _decided(opened: ModelSession, settings: FigureSettings) -> tuple[Dataset, GroupDecisions]:
    """Decisions on the data's rows, and the label beside them where it is not what decides.

    Rows that miss a cell count too, where they have a decision: a model's only if it takes such rows, and a column's
    always.
    """
    if settings.source is Source.MODEL:
        dataset = opened.dataset
        favourable = opened.favourable
        more = opened.incomplete_favourable
        if more is not None:
            decided, is_answered = more
            dataset = dataset.with_incomplete(is_answered)
            favourable = np.append(favourable, decided[is_answered])
        return dataset, GroupDecisions(favourable, actual_outcomes(dataset), np.ones(len(dataset.rows), dtype=bool))
    dataset = opened.dataset
    if dataset.incomplete is not None:
        dataset = dataset.with_incomplete(np.ones(len(dataset.incomplete), dtype=bool))
    recorded = opened.recorded(settings.predictions, dataset)
    is_label = recorded.column == dataset.schema.label
    actual = None if is_label else actual_outcomes(dataset)
    return dataset, GroupDecisions(recorded.favourable, actual, recorded.is_known, recorded.column)


def actual_outcomes(dataset: Dataset) -> BoolArray | None:
    """Whether each row's label is the favourable outcome ``(n_rows,)``; ``None`` without a label."""
    if dataset.labels is None or dataset.favourable_class is None:
        return None
    return recorded_labels(dataset).favourable


def decide_rows(model: Model, dataset: Dataset) -> BoolArray:
    """Whether a model decides for each person of the data ``(n_rows,)``.

    Raises:
        SettingError: it is too slow.
    """
    decider = Decider(model, Clock(_DECIDE_SECONDS))
    try:
        return decider.favourable(dataset.rows)
    except SearchStopped:
        raise SettingError(
            f"The model must decide the data's {len(dataset.rows):,} rows within {_DECIDE_SECONDS:g} seconds, got "
            f"{decider.evaluations:,}. Look for rule sets, which need fewer, or use less data."
        ) from None


# --- other thresholds ---------------------------------------------------------------------------


def answer_thresholds(opened: ModelSession, content: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that are asked for, as JSON.

    Args:
        opened: data and a model.
        content: a ``ThresholdSettings`` as JSON.

    Raises:
        SettingError: a setting is out of its range, or the model has no threshold to move, or is too slow.
        FitError: it gives no number for some row.
        SchemaError: the attribute is no input.
    """
    settings = ThresholdSettings.from_json(content)
    model = opened.model
    refuse_without_threshold(model)
    dataset, scores = opened.scored
    output = model.predictor.output
    scored = ScoredRows(
        scores,
        actual_outcomes(dataset),
        model.favourable,
        model.threshold,
        model.threshold_of_file,
        is_share=output is Output.PROBABILITY,
        noise=float(getattr(model.predictor, "rounding", 0.0)),
    )
    return counts_to_json(count_thresholds(dataset, opened.scope, scored, settings))


def refuse_without_threshold(model: Model) -> None:
    """See that a model has a threshold to move.

    Raises:
        SettingError: there is none.
    """
    if not is_there(model):
        raise SettingError("Another threshold needs a model with a score, got none. Add one under Model.")
    if not model.is_binary or model.predictor.output is Output.LABEL:
        what = f"{len(model.classes)} classes" if not model.is_binary else "decisions without a score"
        raise SettingError(
            f"Another threshold needs a model of two classes that gives a score, got one of {what}. Look at group "
            "figures instead."
        )


def score_rows(model: Model, dataset: Dataset) -> tuple[Dataset, FloatArray]:
    """The people of the data and their scores of class 1 ``(n_rows,)``; those who miss a cell are among them where the
    model takes them.

    Raises:
        SettingError: it is too slow.
        FitError: it gives no number for some row.
    """
    clock = Clock(_DECIDE_SECONDS)
    scores = np.empty(len(dataset.rows))
    n_done = 0
    try:
        for part in Batches(clock, _FIRST_BATCH, _MAX_BATCH).over(len(dataset.rows)):
            scores[part] = finite(model.scores(dataset.rows[part]))[:, 0]
            n_done = part.stop
    except SearchStopped:
        raise SettingError(
            f"The model must score the data's {len(dataset.rows):,} rows within {_DECIDE_SECONDS:g} seconds, got "
            f"{n_done:,}. Use less data."
        ) from None
    more = dataset.incomplete
    if more is None or model.incomplete is None:
        return dataset, scores
    found = incomplete_scores(model, more.rows)
    answered = is_answered(found)
    return dataset.with_incomplete(answered), np.concatenate([scores, found[answered, 0]])
