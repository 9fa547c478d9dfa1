"""What is not proved: an estimate of who is treated unfairly among the undecided, counterexamples as pairs, the data's rows.

Nothing here proves a share; it stands beside what is proved. Paper 004 samples undecided boxes for counterexamples (section VI-A).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.certification import refine_kernels as kernels
from fairness_engine.certification.certificates import explain_in_order, proved_by
from fairness_engine.certification.pace import HEARD_SECONDS, never, paced
from fairness_engine.certification.refine import Int32Array, Refinement
from fairness_engine.certification.space import BoolArray
from fairness_engine.certification.tree import LeafCertificates
from fairness_engine.events import FloatArray, IntArray, Pairs
from fairness_engine.intervals import share_interval
from fairness_engine.judge import Judge
from fairness_engine.replay import Candidates, Replayer

MAX_PAIRS = 10_000
_TRIES_A_BOX = 0.5
_MAX_TRIES = 1024
_DRAWS_A_SAMPLE = 6
"""Draws are given up after so many times the samples wanted: the certificates prove more than was counted from below."""
_FIRST_DRAWS, _FIRST_TRIED, _BLOCK_TRIES = 16, 64, 1 << 17
_FALSIFIED_BOXES = 4000
_FALSIFIED_TRIES = 32


@dataclass(frozen=True)
class UndecidedDraws:
    """Independent draws of individuals that no certificate decides: rows ``(n, n_columns)``, and whether each is unfair ``(n,)``."""

    rows: FloatArray
    is_unfair: BoolArray

    @classmethod
    def none(cls, refinement: Refinement) -> UndecidedDraws:
        """No draws."""
        return cls(np.empty((0, refinement.assessor.space.domain.n_columns)), np.empty(0, np.bool_))

    def to_json(self) -> dict[str, float | int]:
        """The unfair share of the undecided with its 95 % interval."""
        n, n_unfair = len(self.is_unfair), int(self.is_unfair.sum())
        low, high = share_interval(n_unfair, n)
        share = n_unfair / n if n else 0.0
        return {"unfair_share_of_undecided": share, "low": low, "high": high, "n": n, "n_unfair": n_unfair}


def draw_undecided(
    refinement: Refinement,
    n: int,
    rng: np.random.Generator,
    deadline: float,
    is_cancelled: Callable[[], bool] = never,
) -> UndecidedDraws:
    """Draw up to ``n`` individuals that no certificate decides, by weight, and evaluate them.

    A box is drawn in proportion to its undecided weight ``u``, then so many individuals of its whole weight ``w`` that ``w / (2 u)`` of
    them are drawn on average, and the first that the box's certificate leaves open is kept. A box that is less undecided than was
    counted from below thus gives fewer; what is kept is a draw by weight of all that is open.

    Args:
        refinement: at its end.
        n: how many are wanted; fewer where time ends, or nobody is left open.
        rng: the only source of chance.
        deadline: no more are drawn after it, in ``time.perf_counter`` seconds.
        is_cancelled: no more are drawn once it is true.
    """
    nodes, parents = refinement.nodes, refinement.parents()[0]
    leaves = np.flatnonzero(nodes.child < 0)
    undecided = np.maximum((nodes.weight - nodes.certified - nodes.falsified)[leaves], 0.0)
    leaves, undecided = leaves[undecided > 0], undecided[undecided > 0]
    if not len(leaves) or not n:
        return UndecidedDraws.none(refinement)
    sums, kept = np.cumsum(undecided), [UndecidedDraws.none(refinement)]
    n_kept = 0
    for part in paced(_DRAWS_A_SAMPLE * n, deadline, _FIRST_DRAWS, is_cancelled):
        at = np.searchsorted(sums, rng.random(part.stop - part.start) * sums[-1], side="right")
        at = np.minimum(at, len(sums) - 1)
        until = deadline, is_cancelled
        rows = _open_rows(refinement, leaves[at], undecided[at], parents, rng, *until)[: n - n_kept]
        kept.append(_evaluated(refinement, rows, is_cancelled))
        n_kept += len(rows)
        if n_kept == n:
            break
    rows, is_unfair = (np.concatenate([getattr(each, name) for each in kept]) for name in ("rows", "is_unfair"))
    return UndecidedDraws(rows, is_unfair)


def _evaluated(refinement: Refinement, rows: FloatArray, is_cancelled: Callable[[], bool]) -> UndecidedDraws:
    """Whether each draw is unfair; where a cancel comes meanwhile, the first ones that were evaluated before it."""
    parts = paced(len(rows), math.inf, _FIRST_TRIED, is_cancelled, HEARD_SECONDS)
    is_unfair = np.concatenate([np.empty(0, np.bool_), *(refinement.points.are_unfair(rows[part]) for part in parts)])
    return UndecidedDraws(rows[: len(is_unfair)], is_unfair)


def _open_rows(
    refinement: Refinement,
    boxes: IntArray,
    undecided: FloatArray,
    parents: Int32Array,
    rng: np.random.Generator,
    deadline: float,
    is_cancelled: Callable[[], bool],
) -> FloatArray:
    """For each drawn box the first of its individuals that its certificate leaves open, if there was one."""
    space, nodes = refinement.assessor.space, refinement.nodes
    n_tries = _tries(nodes.weight[boxes] / undecided, rng)
    different, which = np.unique(boxes[n_tries > 0], return_inverse=True)
    low, high = refinement.boxes(different, parents)
    is_proved_in = nodes.certified[different] + nodes.falsified[different] > 0  # elsewhere everybody is left open
    told = np.flatnonzero(is_proved_in)
    until = deadline, is_cancelled
    certificates = explain_in_order(refinement.assessor, refinement.hands, low[told], high[told], *until)
    if len(certificates.leaf) < len(told):  # what is missing for lack of time would bend the sample
        return np.empty((0, space.domain.n_columns))
    place = np.cumsum(is_proved_in) - 1
    draw = np.repeat(np.arange(len(which)), n_tries[n_tries > 0])
    owners, kept = [np.empty(0, np.int64)], [low[:0]]
    for begin in range(0, len(draw), _BLOCK_TRIES):
        block = draw[begin : begin + _BLOCK_TRIES]
        box = which[block]
        digits, is_open = space.draw(low[box], high[box], rng), np.ones(len(box), np.bool_)
        looked_up = np.flatnonzero(is_proved_in[box])
        certified, falsified = proved_by(certificates, place[box[looked_up]], digits[looked_up])
        is_open[looked_up] = ~(certified | falsified)
        owners.append(block[is_open])
        kept.append(digits[is_open])
    first = np.unique(np.concatenate(owners), return_index=True)[1]
    return rows_inside(refinement, np.concatenate(kept)[first], rng)


def _tries(wholes: FloatArray, rng: np.random.Generator) -> IntArray:
    """How many individuals to draw from boxes that weigh so many times what is undecided in them ``(n,)``."""
    wish = _TRIES_A_BOX * wholes
    n_tries = np.floor(wish) + (rng.random(len(wish)) < wish % 1)
    return np.asarray(np.minimum(n_tries, _MAX_TRIES), np.int64)


def rows_inside(refinement: Refinement, digits: IntArray, rng: np.random.Generator) -> FloatArray:
    """Rows of digits ``(n, D)``; a number of a continuous column lies anywhere in its cell."""
    space = refinement.assessor.space
    rows = space.rows(digits)
    cells = np.flatnonzero(space.is_cell)
    if len(cells):
        rows[:, space.columns[cells]] += space.steps[cells] * (rng.random((len(rows), len(cells))) - 0.5)
    return rows


# --- pairs --------------------------------------------------------------------------------------


def falsified_rows(refinement: Refinement, rng: np.random.Generator) -> FloatArray:
    """Individuals of boxes with a falsified part, drawn by weight: more from a box of which less is falsified."""
    nodes = refinement.nodes
    falsified = np.where(nodes.child < 0, nodes.falsified, 0.0)
    boxes = np.flatnonzero(falsified > 0)
    if len(boxes) > _FALSIFIED_BOXES:
        boxes = boxes[np.argpartition(-falsified[boxes], _FALSIFIED_BOXES)[:_FALSIFIED_BOXES]]
    boxes = boxes[np.argsort(-falsified[boxes], kind="stable")]
    wish = np.ceil(2 * nodes.weight[boxes] / falsified[boxes])
    draw = np.repeat(np.arange(len(boxes)), np.minimum(wish, _FALSIFIED_TRIES).astype(np.int64))
    low, high = refinement.boxes(boxes, refinement.parents()[0])
    return rows_inside(refinement, refinement.assessor.space.draw(low[draw], high[draw], rng), rng)


def counterexamples(
    refinement: Refinement, rows: FloatArray, deadline: float, is_cancelled: Callable[[], bool] = never
) -> Pairs:
    """The pairs among rows ``(n, n_columns)``, each replayed, nobody twice, at most ``MAX_PAIRS``, in the rows' order.

    No more rows are tried after the deadline, in ``time.perf_counter`` seconds, or once it is cancelled.
    """
    points = refinement.points
    model, domain = points.model, points.domain
    rows = rows[np.sort(np.unique(domain.keys(rows), return_index=True)[1])] if len(rows) else rows
    judge, replayer = Judge(model, domain), Replayer(model, domain)
    found: list[Pairs] = []
    n_left = MAX_PAIRS
    for part in paced(len(rows), deadline, _FIRST_TRIED, is_cancelled, HEARD_SECONDS):
        values = judge.values_of_all(rows[part])
        flags, lowest, highest = judge.verdicts(values)
        hits = np.flatnonzero(flags)[:n_left]
        spent, widest = np.full(len(hits), refinement.n_boxes, np.int64), (lowest[hits], highest[hits])
        plain = judge.plainest(rows[part][hits], values[hits], *widest)
        replayer.add(Candidates(rows[part][hits], *plain, spent, widest))
        found.append(replayer.replay())
        n_left -= len(found[-1])
        if not n_left:
            break
    return Pairs.concatenate(found, domain.n_columns)


# --- the data -----------------------------------------------------------------------------------


def data_rows_proved(
    refinement: Refinement, rows: FloatArray, deadline: float, is_cancelled: Callable[[], bool] = never
) -> dict[str, Any] | None:
    """How many rows of the data are people of whom something is proved; ``None`` where no row lies in the domain.

    Args:
        refinement: at its end.
        rows: ``(n_rows, n_columns)``; those outside the domain do not count.
        deadline: what was not looked up by then counts as undecided.
        is_cancelled: nothing more is looked up once it is true.
    """
    space, nodes = refinement.assessor.space, refinement.nodes
    rows = rows[space.domain.contains(rows)] if len(rows) else rows
    if not len(rows):
        return None
    digits = space.digits(rows)
    leaves = refinement.leaves_of(digits)
    is_settled = nodes.weight[leaves] - nodes.certified[leaves] - nodes.falsified[leaves] <= 0
    certified = is_settled & (nodes.falsified[leaves] == 0)
    falsified = is_settled & (nodes.certified[leaves] == 0) & ~certified
    is_mixed = ~certified & ~falsified & (nodes.certified[leaves] + nodes.falsified[leaves] > 0)
    evaluated = np.flatnonzero(is_mixed & (nodes.column[leaves] == kernels.EVALUATED))
    falsified[evaluated] = refinement.points.are_unfair(rows[evaluated])
    certified[evaluated] = ~falsified[evaluated]
    bounded = np.flatnonzero(is_mixed & (nodes.column[leaves] != kernels.EVALUATED))
    certificates, which = _of_leaves(refinement, leaves[bounded], deadline, is_cancelled)
    is_known = which < len(certificates.leaf)
    bounded, which = bounded[is_known], which[is_known]
    certified[bounded], falsified[bounded] = proved_by(certificates, which, digits[bounded])
    n, n_certified, n_falsified = len(rows), int(certified.sum()), int(falsified.sum())
    return {"n": n, "certified": n_certified, "falsified": n_falsified, "undecided": n - n_certified - n_falsified}


def _of_leaves(
    refinement: Refinement, leaves: IntArray, deadline: float, is_cancelled: Callable[[], bool]
) -> tuple[LeafCertificates, IntArray]:
    """Certificates of the boxes of individuals ``(n,)``, the most crowded first, and the place of each one's among them."""
    different, which, counts = np.unique(leaves, return_inverse=True, return_counts=True)
    crowded = np.argsort(-counts, kind="stable")
    place = np.empty(len(different), np.int64)
    place[crowded] = np.arange(len(different))
    low, high = refinement.boxes(different[crowded], refinement.parents()[0])
    until = deadline, is_cancelled
    return explain_in_order(refinement.assessor, refinement.hands, low, high, *until), place[which]
