"""What certificates say of individuals, and certificates of many boxes."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.assessor import Assessor
from fairness_engine.certification.partition.partition_tree import LeafCertificates
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.errors import SearchStopped

_FIRST_BOXES = 4
_BLOCK_NUMBERS = 1 << 21
"""Coefficients that are copied out at once."""


def proved_by(certificates: LeafCertificates, which: IntArray, digits: IntArray) -> tuple[BoolArray, BoolArray]:
    """Which individuals their boxes' certificates certify, and which they falsify, ``(n,)`` each.

    Args:
        certificates: of some boxes.
        which: the certificate of each individual's box, its position ``(n,)``.
        digits: ``(n, D)``; inside their boxes.
    """
    size = max(1, _BLOCK_NUMBERS // max(1, 3 * certificates.coefficients.shape[2]))
    blocks = [slice(begin, begin + size) for begin in range(0, len(which), size)]
    parts = [_proved_block(certificates, which[block], digits[block]) for block in blocks]
    none = np.zeros(0, np.bool_)
    return np.concatenate([none, *(part[0] for part in parts)]), np.concatenate([none, *(part[1] for part in parts)])


def _proved_block(certificates: LeafCertificates, which: IntArray, digits: IntArray) -> tuple[BoolArray, BoolArray]:
    sums = np.zeros((len(which), 3))
    thresholds = certificates.thresholds[which]
    if certificates.coefficients.shape[2]:
        starts = certificates.starts
        for i in range(digits.shape[1]):
            if starts[i + 1] - starts[i] == 1:
                sums += certificates.coefficients[which, :, starts[i]] * digits[:, i, None]
            else:
                sums += certificates.coefficients[which, :, starts[i] + digits[:, i]]
    certified = (sums[:, 0] > thresholds[:, 0]) | (sums[:, 1] < thresholds[:, 1])
    falsified = (sums[:, 2] > thresholds[:, 2]) & (sums[:, 2] < thresholds[:, 3])
    return certified, falsified


def explain_in_order(
    assessor: Assessor,
    threads: ThreadPool,
    low: IntArray,
    high: IntArray,
    clock: Clock = NO_LIMIT,
    max_bytes: float = np.inf,
) -> LeafCertificates:
    """Certificates of boxes ``(n, D)``, of as many of the first ones as there is time and room for.

    Args:
        assessor: whose boxes.
        threads: the threads that work.
        low, high: the boxes.
        clock: no more are begun when it is over.
        max_bytes: of the certificates.
    """
    done = [_explained(assessor, threads, low[:0], high[:0])]
    n_most = float(len(low))
    with suppress(SearchStopped):
        for part in Batches(clock, _FIRST_BOXES).over(len(low)):
            if part.start >= n_most:
                break
            done.append(_explained(assessor, threads, low[part], high[part]))
            each = (done[-1].coefficients.nbytes + done[-1].thresholds.nbytes) / (part.stop - part.start) + 8
            n_most = min(n_most, max_bytes // each)
    # without a box the number of places is not known
    found = done[1:] or done
    n = int(min(n_most, sum(len(each.leaf) for each in found)))
    coefficients = np.concatenate([each.coefficients for each in found])[:n]
    thresholds = np.concatenate([each.thresholds for each in found])[:n]
    return LeafCertificates(np.arange(n), coefficients, found[-1].starts, thresholds)


def _explained(assessor: Assessor, threads: ThreadPool, low: IntArray, high: IntArray) -> LeafCertificates:
    found: dict[int, tuple[FloatArray, FloatArray, IntArray]] = {}

    def work(begin: int, end: int) -> None:
        part = assessor.explain(low[begin:end], high[begin:end])
        found[begin] = part.coefficients, part.thresholds, part.starts

    if not len(low):
        starts = np.zeros(len(assessor.space.columns) + 1, np.int64)
        return LeafCertificates(np.empty(0, np.int64), np.empty((0, 3, 0)), starts, np.empty((0, 4)))
    threads.map_ranges(work, len(low))
    parts = [found[begin] for begin in sorted(found)]
    coefficients, thresholds = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return LeafCertificates(np.arange(len(low)), coefficients, parts[0][2], thresholds)
