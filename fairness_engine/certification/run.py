"""A certification from its question to its last event: refine while there is time, then estimate what stayed undecided.

Paper 004 (FairQuant), Algorithms 1-4.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fairness_engine.certification.refine import Refinement, Standing
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.certification.space import make_space
from fairness_engine.certification.subject import make_assessor
from fairness_engine.domain import Domain
from fairness_engine.events import (
    Event,
    FloatArray,
    Progress,
    ResultReady,
    SharesProved,
    Stopped,
    StopReason,
    TreeReady,
)
from fairness_engine.models.model import Model

_REPORT_SECONDS = 0.25


def run_certification(
    model: Model,
    domain: Domain,
    rows: FloatArray,
    settings: CertifySettings,
    seed: int,
    max_seconds: float = math.inf,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Prove what can be proved of a model over a domain.

    Args:
        model, domain: what is assessed, and where.
        rows: of the data ``(n_rows, n_columns)``: people of the partition tree's boxes, and the weights of ``Weights.DATA``.
        settings: how.
        seed: of the samples; nothing that is proved depends on it.
        max_seconds: refinement stops after it.
        is_cancelled: asked between rounds.

    Yields:
        ``SharesProved`` and ``Progress`` (boxes as evaluations) at most four times a second; ``PairsFound`` with counterexamples;
        one ``ResultReady`` named ``certification``; one ``TreeReady``; one ``Stopped``, last.

    Raises:
        ModelError: models of its kind cannot be certified.
        SettingError: the scope asks for what no proof is made for.
    """
    started = time.perf_counter()
    space = make_space(domain, settings.weights, rows)
    assessor = make_assessor(model, space, settings.mode)
    refinement = Refinement(assessor)
    last, reason = -math.inf, None
    while reason is None:
        standing, now = refinement.standing, time.perf_counter() - started
        if now - last >= _REPORT_SECONDS:
            last = now
            yield _shares(standing, space.total, now)
            yield Progress(standing.n_boxes, now, standing.n_boxes, 0, "certifying")
        reason = _why_stop(standing, space.total, settings, now, max_seconds, is_cancelled)
        if reason is None and not refinement.step():
            reason = StopReason.EXHAUSTED
    standing, seconds = refinement.standing, time.perf_counter() - started
    proved = _shares(standing, space.total, seconds)
    yield proved
    yield Progress(standing.n_boxes, seconds, standing.n_boxes, 0, "certifying")
    yield ResultReady("certification", _result(domain, settings, proved, assessor.kind, assessor.method))
    yield TreeReady(refinement.tree(rows).to_arrays(), {})
    yield Stopped(reason, standing.n_boxes, seconds, standing.n_boxes, 0)


def _why_stop(
    standing: Standing,
    total: float,
    settings: CertifySettings,
    seconds: float,
    max_seconds: float,
    is_cancelled: Callable[[], bool],
) -> StopReason | None:
    if is_cancelled():
        return StopReason.CANCELLED
    if 1 - (standing.certified + standing.falsified) / total <= settings.target or not standing.n_open:
        return StopReason.EXHAUSTED
    if settings.max_boxes and standing.n_boxes >= settings.max_boxes:
        return StopReason.EVALUATIONS
    return StopReason.SECONDS if seconds >= max_seconds else None


def _shares(standing: Standing, total: float, seconds: float) -> SharesProved:
    certified, falsified = standing.certified / total, standing.falsified / total
    return SharesProved(seconds, certified, falsified, standing.n_boxes, standing.n_open)


def _result(domain: Domain, settings: CertifySettings, proved: SharesProved, kind: str, method: str) -> dict[str, Any]:
    n = domain.n_individuals
    return {
        "n_individuals": n if np.isfinite(n) else None,
        "certified": proved.certified,
        "falsified": proved.falsified,
        "undecided": max(0.0, 1 - proved.certified - proved.falsified),
        "estimate": None,
        "boxes": proved.n_boxes,
        "n_open": proved.n_open,
        "mode": str(settings.mode),
        "weights": str(settings.weights),
        "kind": kind,
        "method": method,
        "is_by_construction": False,
    }
