"""Proofs in the model's process: the events of a certification's run, and the questions about what can be proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification import warm_up
from fairness_engine.certification.assessors import ignores_protected, make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.partition.validation import space_to_json
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.clock import Clock
from fairness_engine.errors import InputError
from fairness_engine.events import Event, TreeReady
from fairness_engine.measures.plausibility.background import with_plausibility
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.store.run_config import RunConfig

_BLOCK_ROWS = 1 << 15
"""Rows that are decided at once: with many variants a batch of people is much larger."""


def certification_events(
    model: Model,
    domain: Domain,
    rows: FloatArray,
    config: RunConfig,
    learn: Callable[[], Plausibility],
    clock: Clock,
) -> Iterator[Event]:
    """The events of a certification: its trees with what their digits stand for, its pairs with their plausibility.

    Proofs need nothing of what a search needs: a model that is blind to the protected attributes is certified at once.

    Args:
        model, domain, rows: what is assessed, where, and the data.
        config: of the run.
        learn: makes what measures plausibility.
        clock: of the run.

    Raises:
        InputError: the model, or the scope, cannot be certified.
    """
    warm_up.warm_up()
    settings = CertifySettings.from_json(config.settings)
    events = run_certification(model, domain, rows, settings, config.seed, clock)
    # its pairs come at its end and are few: they are measured however long it took
    for event in with_plausibility(events, learn, clock.anew(math.inf)):
        if isinstance(event, TreeReady):
            yield replace(event, space=space_to_json(make_lattice(domain)))
        else:
            yield event


def why_not_certifiable(model: Model, domain: Domain) -> str | None:
    """Why nothing can be proved of a model over a domain, in a sentence or two; ``None`` when it can be certified."""
    try:
        space = make_lattice(domain)
        if not ignores_protected(model, domain):
            make_assessor(model, space, Mode.COUNTING)
    except InputError as error:
        return str(error)
    return None


def extreme_decisions(model: Model, domain: Domain, people: FloatArray) -> tuple[IntArray, IntArray]:
    """The least and the greatest class that the variants of people ``(n, n_columns)`` get, ``(n,)`` each."""
    least, most = np.empty((2, len(people)), np.int64)
    size = max(1, _BLOCK_ROWS // domain.n_variants)
    for begin in range(0, len(people), size):
        variants = domain.variants(people[begin : begin + size]).reshape(-1, domain.n_columns)
        decided = model.decide(model.scores(variants)).reshape(-1, domain.n_variants)
        least[begin : begin + size] = decided.min(axis=1)
        most[begin : begin + size] = decided.max(axis=1)
    return least, most
