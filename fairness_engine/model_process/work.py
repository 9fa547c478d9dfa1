"""How each kind of run is worked in the model's process: the twin of ``runs.kinds``, which is the trusted half's.

A function takes what was opened, the configuration, the run's clock, whose seconds begin with what they limit, and what
takes the progress of a step that is at work between two events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import Clock
from fairness_engine.codec import decode, encode
from fairness_engine.errors import FitError
from fairness_engine.events import Event, ResultReady
from fairness_engine.oracle.domain import Distribution, Domain, Ranges
from fairness_engine.search.results import ScanCounts
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.data_scan import DATA_SCAN, scan_order

if TYPE_CHECKING:
    from fairness_engine.model_process.session import ModelSession
    from fairness_engine.model_process.text_session import TextSession
    from fairness_engine.store.run_config import RunConfig

_STARTS_STREAM = 1
"""The stream of a run's seed that draws start rows; the search itself uses the seed's own."""

Report = Callable[[Event], None]


def _search(opened: ModelSession, config: RunConfig, clock: Clock, _: Report) -> Iterator[Event]:
    from fairness_engine.explanation.affected import with_affected
    from fairness_engine.measures.diversity import with_discovery, with_diversity
    from fairness_engine.measures.plausibility.background import with_plausibility
    from fairness_engine.measures.severity import with_severity
    from fairness_engine.search.driver import run_search
    from fairness_engine.search.registry import technique_named

    kind = technique_named(config.technique)
    yield from _prepare(opened, kind)
    technique = kind.from_json(config.settings)
    rows = opened.dataset.rows
    starts = start_rows(rows, config.max_starts, config.seed)
    # of a comparison, learnt before the search's clock begins: beside it, the first run of a process would be slowed
    known = opened.plausibility if technique.finds_plausible_only or config.comparison is not None else None
    nearness = known if technique.finds_plausible_only else None
    asked = (technique, opened.model, opened.domain, starts, config.budget, config.seed)
    events = run_search(*asked, clock.anew(), nearness)
    events = (_with_left_out(opened, event, len(starts)) for event in events)
    events = with_diversity(with_discovery(events), opened.learn_surrogate, clock)
    events = with_plausibility(events, lambda: opened.plausibility, clock)
    events = with_severity(events, lambda: opened.plausibility, opened.model, opened.domain, clock)
    scanned = _scanned(opened.domain, starts, config.seed) if config.technique == DATA_SCAN else None
    yield from with_affected(events, opened.model, opened.domain, scanned, clock)


def _scanned(domain: Domain, starts: FloatArray, seed: int) -> FloatArray:
    """Who a scan tests, in its order."""
    from fairness_engine.search.driver import rng_of

    people = starts[domain.contains(starts)]
    return people[scan_order(len(people), rng_of(seed))]


def _with_left_out(opened: ModelSession, event: Event, n_starts: int) -> Event:
    """What a scan of the data tested, beside how many of the file's rows it did not get to see."""
    if not isinstance(event, ResultReady) or event.name != "scan":
        return event
    tested = decode(ScanCounts, event.content)
    counts = replace(
        tested,
        n_outside=n_starts - tested.n_people,
        n_not_drawn=len(opened.dataset.rows) - n_starts,
        n_dropped=opened.dataset.n_dropped,
    )
    return ResultReady("scan", encode(counts))


def _estimate(opened: ModelSession, config: RunConfig, clock: Clock, _: Report) -> Iterator[Event]:
    from fairness_engine.measures.share import run_estimate

    settings = (config.distribution.value, config.n_samples, config.seed)
    is_of_data = config.distribution is Distribution.DATA
    more = opened.dataset.incomplete
    answers = None
    if is_of_data and more is not None:
        answers = opened.incomplete_favourable
    incomplete_rows = None if more is None or answers is None else more.rows[answers[1]]
    n_counted = len(opened.dataset.rows) + (0 if incomplete_rows is None else len(incomplete_rows))
    yield from _prepare(opened, note=opened.dataset.say_left_out(n_counted) if is_of_data else "")
    yield from run_estimate(
        opened.model,
        opened.domain,
        opened.dataset.rows,
        *settings,
        clock,
        incomplete_rows=incomplete_rows,
        learn=lambda: opened.plausibility,
    )


def _count(opened: ModelSession, config: RunConfig, clock: Clock, _: Report) -> Iterator[Event]:
    from fairness_engine.measures.exact_count import run_exact

    yield from _prepare(opened)
    yield from run_exact(opened.model, opened.domain, clock, lambda: opened.plausibility, config.seed)


def _prepare(opened: ModelSession, technique: type[Technique] | None = None, note: str = "") -> Iterator[Event]:
    """Look at the model, and compile or load the loops that compare variants.

    Args:
        note: one more sentence on what the run is of.

    Raises:
        InputError: it cannot be searched, or not with this technique; see ``requirements.check``.
    """
    from fairness_engine.oracle import kernels
    from fairness_engine.search import requirements

    held = (opened.model, opened.domain, opened.dataset.rows)
    notes = requirements.check(*held, technique, refuses_one_score=technique is not None)
    if notes or note:
        yield ResultReady("notes", {"notes": [text for text in (*notes, note) if text]})
    kernels.warm_up()
    if technique is not None:
        technique.warm_up()


def _certify(opened: ModelSession, config: RunConfig, clock: Clock, _: Report) -> Iterator[Event]:
    from fairness_engine.certification.assessors import ignores_protected
    from fairness_engine.model_process.working.certification import certification_events
    from fairness_engine.search import requirements

    held = (opened.model, opened.domain, opened.dataset.rows)
    notes = () if ignores_protected(opened.model, opened.domain) else requirements.notes_on_proofs(*held)
    if notes:
        yield ResultReady("notes", {"notes": list(notes)})
    yield from certification_events(*held, config, lambda: opened.plausibility, clock)


def _rules(opened: ModelSession, config: RunConfig, clock: Clock, report: Report) -> Iterator[Event]:
    from fairness_engine.data.recorded import Source, say_unknown
    from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
    from fairness_engine.groups.rule_sets.settings import RuleSettings

    schema = opened.dataset.schema
    rows = opened.dataset.rows
    settings = RuleSettings.from_json(config.settings)
    subject = AssessedData(rows, None, opened.model)
    notes = [opened.dataset.say_left_out(len(rows))]
    if settings.source is Source.LABELS:
        recorded = opened.recorded(settings.predictions)
        notes.append(say_unknown(recorded.column, recorded.is_known))
        subject = AssessedData(rows[recorded.is_known], recorded.favourable[recorded.is_known], None)
    if any(notes):
        yield ResultReady("notes", {"notes": [note for note in notes if note]})
    scope = replace(config.scope, links=())  # the rows are rows of roles
    ranges = Ranges(schema, scope, opened.model.taken(schema.names))
    yield from run_rules(subject, ranges, settings, config.seed, clock, report)


def _figures(opened: ModelSession, config: RunConfig, clock: Clock, _: Report) -> Iterator[Event]:
    from fairness_engine.model_process.working.group_figures import figures_events

    yield from figures_events(opened.of_people or opened, config, clock)  # groups are of people, not of roles


def _proxies(opened: ModelSession, config: RunConfig, clock: Clock, report: Report) -> Iterator[Event]:
    from fairness_engine.model_process.working.proxies import proxies_events

    yield from proxies_events(opened.of_people or opened, config, clock, report)


def _retrain(opened: ModelSession, config: RunConfig, clock: Clock, report: Report) -> Iterator[Event]:
    from fairness_engine.model_process.working.retraining import retraining_events

    yield from retraining_events(opened, config, clock, report)


OF_TABLES: dict[str, Callable[[ModelSession, RunConfig, Clock, Report], Iterator[Event]]] = {
    "search": _search,
    "estimate": _estimate,
    "count": _count,
    "certify": _certify,
    "rules": _rules,
    "figures": _figures,
    "proxies": _proxies,
    "retrain": _retrain,
}
"""By the name of the kind."""


# --- texts --------------------------------------------------------------------------------------


def work_texts(opened: TextSession, config: RunConfig, clock: Clock, report: Report) -> Iterator[Event]:
    """The events of a run on texts.

    Raises:
        FitError: a kind of run that needs a table.
    """
    if config.kind not in _OF_TEXTS:
        raise FitError(
            f"A run of the kind '{config.kind}' compares rows of a table, but '{opened.texts_of_data.column}' holds "
            "texts. Compare identity terms instead (rule sets), or retrain the model."
        )
    yield from _OF_TEXTS[config.kind](opened, config, clock, report)


def _text_rules(opened: TextSession, config: RunConfig, clock: Clock, _: Report) -> Iterator[Event]:
    from fairness_engine.groups.identity_terms.driver import AssessedTexts, run_text_rules
    from fairness_engine.groups.rule_sets.settings import RuleSettings

    settings = RuleSettings.from_json({**config.settings, "text_column": opened.texts_of_data.column})
    subject = AssessedTexts(opened.texts_of_data.texts, opened.model)
    yield from run_text_rules(subject, settings, config.seed, clock)


def _retrain_texts(opened: TextSession, config: RunConfig, clock: Clock, report: Report) -> Iterator[Event]:
    from fairness_engine.model_process.working.retraining_texts import text_retraining_events

    yield from text_retraining_events(opened, config, clock, report)


_OF_TEXTS: dict[str, Callable[[TextSession, RunConfig, Clock, Report], Iterator[Event]]] = {
    "rules": _text_rules,
    "retrain": _retrain_texts,
}


def start_rows(rows: FloatArray, max_starts: int | None, seed: int) -> FloatArray:
    """At most ``max_starts`` rows of the data, drawn by the seed, in the data's order; all when ``None``."""
    if max_starts is None or max_starts >= len(rows):
        return rows
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STARTS_STREAM,)))
    return rows[np.sort(rng.choice(len(rows), size=max_starts, replace=False))]
