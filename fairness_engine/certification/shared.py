"""Boxes that other processes decide: they are shared out in blocks, and each is decided as it would be here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Assessor, Certificates
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.models.shared import BATCH_SECONDS, Blocks, Sharing


class SharedAssessor:
    """Decides boxes as another assessor does; many at once are decided by several processes.

    A box of a block that ended every process that tried it stays undecided, and is not split.

    Args:
        assessor: decides here.
        sharing: of the model.
        settings: of the certification.
        threads: that decide here.
    """

    def __init__(self, assessor: Assessor, sharing: Sharing, settings: CertifySettings, threads: ThreadPool) -> None:
        self._assessor = assessor
        self._threads = threads
        self._sharing = of_certification(sharing, settings)
        self.space = assessor.space
        self.kind = assessor.kind
        self.method = assessor.method
        self.is_exact = assessor.is_exact

    def __getattr__(self, name: str) -> Any:
        """What a family of assessors has beside the contract."""
        return getattr(self._assessor, name)

    @property
    def n_set_aside(self) -> int:
        """Boxes that nobody decided."""
        return self._sharing.n_set_aside

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """See ``Assessor``."""

        def decide(part: slice) -> list[NDArray[Any]]:
            found = self._assessor.assess(low[part], high[part])
            cut = np.full(len(found.column), -1) if found.cut is None else found.cut
            return [found.certified, found.falsified, np.asarray(found.column, np.int64), np.asarray(cut, np.int64)]

        found = self._sharing.work(
            "assess",
            len(low),
            lambda part: _by_threads(self._threads, decide, part),
            lambda part: {"low": low[part], "high": high[part]},
            can_lack=True,
        )
        certified, falsified, column, cut = found
        # a lattice's floor mid and no cut at all are both -1, which the refinement takes as the floor mid
        return Assessed(np.nan_to_num(certified), np.nan_to_num(falsified), column, cut)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """See ``Assessor``."""
        return self._assessor.explain(low, high)


class SharedEnumerator(BoxEnumerator):
    """Evaluates small boxes; many at once are evaluated by several processes.

    Args:
        points: evaluates here.
        sharing: of the model.
        settings: of the certification.
        threads: that evaluate here.
    """

    def __init__(self, points: BoxEnumerator, sharing: Sharing, settings: CertifySettings, threads: ThreadPool) -> None:
        model = points.model
        super().__init__(getattr(model, "original", None) or model, points.domain, points.space)
        self._threads = threads
        self._sharing = of_certification(sharing, settings)

    def evaluate(self, low: IntArray, high: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See ``BoxEnumerator``."""
        whole: Callable[..., tuple[FloatArray, FloatArray]] = super().evaluate

        def evaluate(part: slice) -> list[NDArray[Any]]:
            return list(whole(low[part], high[part], weights[part]))

        certified, falsified = self._sharing.work(
            "evaluate",
            len(low),
            lambda part: _by_threads(self._threads, evaluate, part),
            lambda part: {"low": low[part], "high": high[part], "weights": weights[part]},
            can_lack=True,
        )
        return np.nan_to_num(certified), np.nan_to_num(falsified)


class Undivided:
    """A batch of boxes is handed on whole, to who shares it out or has it done by threads of this process.

    Args:
        blocks: who decides boxes.
        threads: of this process.
    """

    def __init__(self, blocks: Blocks, threads: ThreadPool) -> None:
        self._blocks = blocks
        self._threads = threads

    @property
    def n(self) -> int:
        """Who works side by side."""
        return max(self._blocks.width, self._threads.n)

    @property
    def wave_seconds(self) -> float:
        """See ``ThreadPool``."""
        return BATCH_SECONDS / 2 if self._blocks.width else self._threads.wave_seconds

    def map_ranges(self, work: Callable[[int, int], None], n_items: int) -> None:
        """See ``ThreadPool``; the threads come in where the boxes are decided, and cannot wait for themselves."""
        work(0, n_items)


def _by_threads(
    threads: ThreadPool, work: Callable[[slice], Sequence[NDArray[Any]]], part: slice
) -> list[NDArray[Any]]:
    """What some work gives of a part, which threads of this process do side by side."""
    found: dict[int, Sequence[NDArray[Any]]] = {}

    def do(begin: int, end: int) -> None:
        found[begin] = work(slice(part.start + begin, part.start + end))

    threads.map_ranges(do, part.stop - part.start)
    if not found:
        return list(work(part))
    return [np.concatenate(arrays) for arrays in zip(*(found[begin] for begin in sorted(found)), strict=True)]


def of_certification(sharing: Sharing, settings: CertifySettings) -> Sharing:
    """How the boxes of a certification are shared out."""
    return replace(sharing, settings={**sharing.settings, "certify": settings.to_json()})
