"""A run of proxies in the model's process: the rows that are looked at, what is decided on them, and the run itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import Clock
from fairness_engine.data.recorded import Source, say_unknown
from fairness_engine.errors import SearchStopped, SettingError
from fairness_engine.events import Event, Progress, ResultReady, Stopped
from fairness_engine.groups.rule_sets.membership import lie_within
from fairness_engine.groups.rule_sets.sampling import Decider
from fairness_engine.measures.proxies.driver import DecidedRows, check_proxies, run_proxies
from fairness_engine.measures.proxies.results import ShapShares
from fairness_engine.measures.proxies.settings import ProxySettings
from fairness_engine.oracle.domain import Ranges

if TYPE_CHECKING:
    from fairness_engine.data.dataset import Dataset
    from fairness_engine.model_process.session import ModelSession
    from fairness_engine.store.run_config import RunConfig

_MAX_CELLS = 10_000_000
"""Rows times columns that are looked at; a wide table is drawn from more thinly."""
DECIDING = "deciding the rows"
_NO_MODEL = "A column of the data decides, and no model, so there is nothing that leans on columns."
_NOT_ASKED = "Nobody was to be explained."
_ALL_INCOMPLETE = "Every row that was drawn misses a cell, and only people without one can be explained."


def proxies_events(
    opened: ModelSession, config: RunConfig, clock: Clock, report: Callable[[Event], None]
) -> Iterator[Event]:
    """The events of a run of proxies.

    Rows that miss a cell count too, where they have a decision, as in group figures.

    Args:
        opened: data, and a model or none; its rows are rows of people.
        config: of the run.
        clock: of the run.
        report: takes the progress of a step that is at work between two events.

    Raises:
        SettingError: no other column, no row, an attribute that nothing could tell, or nothing that decides.
    """
    settings = ProxySettings.from_json(config.settings)
    schema = opened.dataset.schema
    check_proxies(schema, config.scope)
    ranges = Ranges(schema, config.scope)
    rng = np.random.default_rng(np.random.SeedSequence(config.seed))
    known = _known(opened, settings)
    rows = known.dataset.rows
    unknown = say_unknown(known.column, known.is_known)
    if unknown:
        yield ResultReady("notes", {"notes": [unknown]})
    chosen = np.flatnonzero(known.is_known & lie_within(ranges, ranges.filled(rows)))
    if not len(chosen):
        raise SettingError(
            "Proxies need a row of the data that lies in the ranges of the scope and has a decision, got none. Widen "
            "the limits."
        )
    most = min(settings.n_rows, _MAX_CELLS // len(schema.inputs))
    if len(chosen) > most:
        chosen = np.sort(rng.choice(chosen, most, replace=False))
    people = rows[chosen]
    favourable = known.favourable[chosen]
    decider = Decider(opened.model, clock.part(None), lambda n, seconds: report(Progress(n, seconds, 0, 0, DECIDING)))
    yield Progress(0, clock.seconds, 0, 0, DECIDING)
    is_asked = known.is_asked[chosen]
    try:
        favourable[is_asked] = decider.favourable(people[is_asked])
    except SearchStopped as stop:
        yield Stopped(stop.reason, decider.evaluations, clock.seconds, 0, 0)
        return
    explain, why = _explanation(opened, settings, people, clock, rng)

    def ask(roles: FloatArray) -> BoolArray:
        return Decider(opened.model, clock.part(None)).favourable(ranges.spelled(roles))

    is_of_model = settings.source is Source.MODEL
    decided = DecidedRows(
        people, ranges.roles(people), favourable, decider.evaluations, ask if is_of_model else None, explain, why
    )
    yield from run_proxies(decided, schema, config.scope, config.seed, clock, report)


@dataclass(frozen=True)
class _Known:
    """The data's rows, those that miss a cell behind the others, and what is known of their decisions.

    Args:
        dataset: ``n_rows`` rows.
        is_known: whether there is a decision, or will be ``(n_rows,)``.
        favourable: whether it is for the person, where the model need not be asked ``(n_rows,)``.
        is_asked: where it must be ``(n_rows,)``.
        column: that decides; empty for a model.
    """

    dataset: Dataset
    is_known: BoolArray
    favourable: BoolArray
    is_asked: BoolArray
    column: str = ""


def _known(opened: ModelSession, settings: ProxySettings) -> _Known:
    """Rows that miss a cell are those of a column, or those that the model answers.

    Raises:
        SettingError: see ``ModelSession.recorded``.
    """
    dataset = opened.dataset
    if settings.source is Source.LABELS:
        if dataset.incomplete is not None:
            dataset = dataset.with_incomplete(np.ones(len(dataset.incomplete), dtype=bool))
        recorded = opened.recorded(settings.predictions, dataset)
        nobody = np.zeros(len(dataset.rows), dtype=bool)
        return _Known(dataset, recorded.is_known, recorded.favourable, nobody, recorded.column)
    n_asked = len(dataset.rows)
    answered = np.zeros(0, dtype=bool)
    if opened.incomplete_favourable is not None:
        decided, is_answered = opened.incomplete_favourable
        dataset = dataset.with_incomplete(is_answered)
        answered = decided[is_answered]
    is_asked = np.arange(len(dataset.rows)) < n_asked
    favourable = np.append(np.zeros(n_asked, dtype=bool), answered)
    return _Known(dataset, np.ones(len(is_asked), dtype=bool), favourable, is_asked)


Explain = Callable[[Callable[[int], None]], ShapShares]


def _explanation(
    opened: ModelSession, settings: ProxySettings, people: FloatArray, clock: Clock, rng: np.random.Generator
) -> tuple[Explain | None, str]:
    """What explains the model on people drawn from the rows, or why nothing does."""
    from fairness_engine.explanation.shap_shares import shap_shares

    if settings.source is Source.LABELS:
        return None, _NO_MODEL
    complete = people[~np.isnan(people).any(axis=1)]
    n_explained = min(settings.n_explained, len(complete))
    if not n_explained:
        return None, _NOT_ASKED if len(complete) else _ALL_INCOMPLETE
    drawn = complete[rng.choice(len(complete), n_explained, replace=False)]
    names = opened.dataset.schema.names
    return partial(shap_shares, opened.model, drawn, opened.dataset.rows, names, clock), ""
