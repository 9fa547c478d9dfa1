"""A certification from its question to its last event: refine while there is time, then say what of the rest can be
said.

Paper 004 (FairQuant), Algorithms 1-4.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.certification.assessors import ignores_protected, make_assessor
from fairness_engine.certification.counterexamples import counterexamples, falsified_rows
from fairness_engine.certification.fairquant.rule import FairQuantRule
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.export import export_certificates, export_tree
from fairness_engine.certification.partition.lattice import Lattice, make_lattice
from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.refinement import ProvedShares, Refinement
from fairness_engine.certification.partition.undecided import data_rows_proved, draw_undecided
from fairness_engine.certification.results import Certification, DataRows, UndecidedShare
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.certification.shared import SharedAssessor, SharedEnumerator, Undivided
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.errors import StopReason
from fairness_engine.events import Event, PairsFound, Progress, ResultReady, SharesProved, Stopped, TreeReady
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs

_REPORT_SECONDS = 0.25
_DRAW_SECONDS = 0.6
_PAIR_SECONDS = 0.4
_LOOK_UP_SECONDS = 0.3
_EXPLAIN_SECONDS = 0.5
"""What drawing undecided individuals, trying people for counterexamples, looking up the data's rows, and explaining
boxes for the stored tree may each take."""
_SECONDS_A_PATIENCE = 12.0
_MAX_PATIENCE = 5.0
"""A run that was ended by the clock after so many seconds takes these times once, after twice as many twice, up to five
times.
"""
_PATIENCE = 50.0
_LEAST_PATIENCE = 10.0
"""So many times longer each where refinement was not ended by the clock: such a run is to say the same every time."""
_HURRIED_SECONDS = 0.1
_WORTH_SECONDS = _DRAW_SECONDS + _PAIR_SECONDS + _LOOK_UP_SECONDS + _EXPLAIN_SECONDS


@dataclass(frozen=True)
class _Question:
    """What a run was asked."""

    model: Model
    domain: Domain
    rows: FloatArray
    settings: CertifySettings
    seed: int


@dataclass(frozen=True)
class _End:
    """How refinement ended."""

    reason: StopReason
    standing: ProvedShares
    seconds: float


def run_certification(
    model: Model,
    domain: Domain,
    rows: FloatArray,
    settings: CertifySettings,
    seed: int,
    clock: Clock = NO_LIMIT,
) -> Iterator[Event]:
    """Prove what can be proved of a model over a domain.

    Args:
        model, domain: what is assessed, and where.
        rows: of the data ``(n_rows, n_columns)``: people of the partition tree's boxes, and the weights of
            ``Weights.DATA``.
        settings: how.
        seed: of the samples; with ``Mode.COUNTING`` nothing that is proved depends on it.
        clock: its seconds begin here; refinement stops when it is over, what follows takes a second or two more. It is
            asked at least every tenth of a second, or between two boxes where one takes longer.

    Yields:
        ``SharesProved`` and ``Progress`` (boxes as evaluations) at most four times a second; ``PairsFound`` with
        counterexamples; one ``ResultReady`` named ``certification``; one ``TreeReady``; one ``Stopped``, last.

    Raises:
        ModelError: models of its kind cannot be certified.
        SettingError: the scope asks for what no proof is made for.
    """
    clock = clock.anew()
    asked = _Question(model, domain, rows, settings, seed)
    space = make_lattice(domain, settings.weights, rows)
    if ignores_protected(model, domain):
        yield from _by_construction(asked, space, clock.seconds)
        return
    assessor = make_assessor(model, space, settings.mode)
    points = BoxEnumerator(model, domain, space)
    threads = ThreadPool()
    hands = None
    network = getattr(assessor, "network", None)
    rule = FairQuantRule(settings, points, network, seed) if settings.mode is Mode.CLASSIC else None
    sharing = getattr(model, "sharing", None)
    if sharing is not None:
        hands = Undivided(sharing.blocks, threads)
        assessor = SharedAssessor(assessor, sharing, settings, threads)
        points = SharedEnumerator(points, sharing, settings, threads)
    try:
        refinement = Refinement(assessor, points, rule, threads, hands)
        end = yield from _refine(refinement, settings, clock)
        yield from _conclude(asked, refinement, rule, end, clock)
    finally:
        threads.close()


def _refine(refinement: Refinement, settings: CertifySettings, clock: Clock) -> Generator[Event, None, _End]:
    """Work until something ends it; returns how it ended."""
    total = refinement.assessor.space.total
    last = -math.inf
    while True:
        now = clock.seconds
        if now - last >= _REPORT_SECONDS:
            last = now
            yield from _report(refinement.standing, total, now, 0)
        reason = _why_stop(refinement, settings, clock)
        if reason is None and not refinement.step(clock.seconds_left, settings.max_boxes):
            reason = StopReason.EXHAUSTED
        if reason is not None:
            refinement.stop()
            return _End(reason, refinement.recount(), clock.seconds)


def _why_stop(refinement: Refinement, settings: CertifySettings, clock: Clock) -> StopReason | None:
    reason = clock.why_over
    if reason is not StopReason.CANCELLED and refinement.is_between_rounds:
        standing = refinement.standing
        is_there = standing.undecided / refinement.assessor.space.total <= settings.target
        if is_there or not standing.n_open:
            return StopReason.EXHAUSTED
        if settings.max_boxes and standing.n_boxes + 2 > settings.max_boxes:
            return StopReason.EVALUATIONS
        if refinement.is_full:
            return StopReason.MEMORY
    return reason


def _report(standing: ProvedShares, total: float, seconds: float, n_found: int) -> Iterator[Event]:
    yield SharesProved(
        seconds, standing.certified / total, standing.falsified / total, standing.n_boxes, standing.n_open
    )
    yield Progress(standing.n_boxes, seconds, standing.n_boxes, n_found, "certifying")


# --- the end ------------------------------------------------------------------------------------


def _patience(end: _End, max_seconds: float) -> float:
    if end.reason is not StopReason.SECONDS:
        # what is left of the time that was given, and some more: who asked for ten seconds does not wait for forty
        return min(_PATIENCE, max(_LEAST_PATIENCE, (max_seconds - end.seconds) / _WORTH_SECONDS))
    # a longer run may think longer about what it left open
    return min(max(1.0, end.seconds / _SECONDS_A_PATIENCE), _MAX_PATIENCE)


def time_for(rest: Clock, seconds: float) -> Clock:
    """The clock of something that may take so long; little after a cancel, which ends it no sooner."""
    return Clock(_HURRIED_SECONDS) if rest.is_cancelled() else rest.anew(seconds)


def _conclude(
    asked: _Question,
    refinement: Refinement,
    rule: FairQuantRule | None,
    end: _End,
    clock: Clock,
) -> Iterator[Event]:
    """The last shares, pairs, the result and the tree; in a hurry when the run was cancelled, or is meanwhile."""
    was_cancelled = end.reason is StopReason.CANCELLED
    rest = Clock(is_cancelled=(lambda: True) if was_cancelled else clock.is_cancelled)
    patience = _patience(end, clock.max_seconds)
    estimate = None
    pairs = Pairs.empty(asked.domain.n_columns)
    n = end.standing.n_boxes
    if not was_cancelled:
        yield Progress(n, end.seconds, n, 0, "estimating what is undecided")
        estimate, pairs = _drawn(asked, refinement, rule, rest, patience)
    if len(pairs):
        yield PairsFound(pairs)
    yield from _report(end.standing, refinement.assessor.space.total, end.seconds, len(pairs))
    assessor = refinement.assessor
    result = Certification(
        **_shares(asked, end.standing, assessor.space.total),
        depth=refinement.parents()[1],
        n_counterexamples=len(pairs),
        seconds=end.seconds,
        kind=assessor.kind,
        method=assessor.method,
        is_by_construction=False,
        estimate=estimate,
        data_rows=data_rows_proved(refinement, asked.rows, time_for(rest, patience * _LOOK_UP_SECONDS)),
    )
    yield ResultReady("certification", encode(result))
    tree, order = export_tree(refinement, asked.rows)
    certificates = export_certificates(refinement, tree, order, time_for(rest, patience * _EXPLAIN_SECONDS))
    yield TreeReady(tree.to_arrays(), certificates.to_arrays())
    yield Stopped(end.reason, n, end.seconds, n, len(pairs))


def _drawn(
    asked: _Question, refinement: Refinement, rule: FairQuantRule | None, rest: Clock, patience: float
) -> tuple[UndecidedShare | None, Pairs]:
    """The estimate of the undecided, and counterexamples: of falsified boxes, of the draws, of the paper's samples."""
    of_undecided, of_falsified = (np.random.default_rng(each) for each in np.random.SeedSequence(asked.seed).spawn(2))
    draws = draw_undecided(refinement, asked.settings.n_samples, of_undecided, time_for(rest, patience * _DRAW_SECONDS))
    rows = [falsified_rows(refinement, of_falsified), draws.unfair]
    if rule is not None:
        rows.append(refinement.assessor.space.rows(rule.counterexamples))
    estimate = draws.share() if draws.n else None
    until = time_for(rest, patience * _PAIR_SECONDS)
    return estimate, counterexamples(refinement, np.concatenate(rows), until, insists=not rest.is_cancelled())


def _shares(asked: _Question, standing: ProvedShares, total: float) -> dict[str, Any]:
    """What is proved, as shares of all individuals, of how many, in how many boxes, and how that was asked."""
    n = asked.domain.n_individuals
    return {
        "n_individuals": n if np.isfinite(n) else None,
        "certified": standing.certified / total,
        "falsified": standing.falsified / total,
        "undecided": standing.undecided / total,
        "boxes": standing.n_boxes,
        "n_open": standing.n_open,
        "n_leaves": (standing.n_boxes + 1) // 2,
        "mode": str(asked.settings.mode),
        "weights": str(asked.settings.weights),
    }


# --- nothing to refine --------------------------------------------------------------------------


def _by_construction(asked: _Question, space: Lattice, seconds: float) -> Iterator[Event]:
    """The model takes no protected attribute: everybody is certified, whatever kind of model it is."""
    inside = asked.rows[asked.domain.contains(asked.rows)] if len(asked.rows) else asked.rows
    n_inside = len(inside)
    standing = ProvedShares(space.total, 0.0, 0.0, 1, 0)
    yield from _report(standing, space.total, seconds, 0)
    names = ", ".join(asked.domain.scope.protected)
    result = Certification(
        **_shares(asked, standing, space.total),
        depth=0,
        n_counterexamples=0,
        seconds=seconds,
        kind=asked.model.predictor.kind,
        method=f"by construction: what the model takes does not depend on {names}",
        is_by_construction=True,
        data_rows=DataRows(n_inside, n_inside, 0, 0) if n_inside else None,
    )
    yield ResultReady("certification", encode(result))
    yield TreeReady(_one_leaf(space, n_inside).to_arrays(), {})
    yield Stopped(StopReason.EXHAUSTED, 1, seconds, 1, 0)


def _one_leaf(space: Lattice, n_people: int) -> PartitionTree:
    none = np.array([-1])
    nothing = np.zeros(1)
    zero = np.zeros(1, np.int64)
    return PartitionTree(none, zero, none, np.ones(1), np.ones(1), nothing, np.array([n_people]), zero, space.n_digits)
