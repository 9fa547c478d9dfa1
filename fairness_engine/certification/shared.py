"""Boxes that other processes decide: they are shared out in blocks, and each is decided as it would be here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

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
    """

    def __init__(self, assessor: Assessor, sharing: Sharing, settings: CertifySettings) -> None:
        self._assessor = assessor
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

        def here(part: slice) -> list[FloatArray | IntArray]:
            found = self._assessor.assess(low[part], high[part])
            cut = np.full(len(found.column), -1) if found.cut is None else found.cut
            return [found.certified, found.falsified, np.asarray(found.column, np.int64), np.asarray(cut, np.int64)]

        found = self._sharing.work(
            "assess", len(low), here, lambda part: {"low": low[part], "high": high[part]}, can_lack=True
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
    """

    def __init__(self, points: BoxEnumerator, sharing: Sharing, settings: CertifySettings) -> None:
        super().__init__(points.model, points.domain, points.space)
        self._sharing = of_certification(sharing, settings)

    def evaluate(self, low: IntArray, high: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See ``BoxEnumerator``."""
        whole: Callable[..., tuple[FloatArray, FloatArray]] = super().evaluate
        certified, falsified = self._sharing.work(
            "evaluate",
            len(low),
            lambda part: whole(low[part], high[part], weights[part]),
            lambda part: {"low": low[part], "high": high[part], "weights": weights[part]},
            can_lack=True,
        )
        return np.nan_to_num(certified), np.nan_to_num(falsified)


class Undivided:
    """A batch of boxes is handed on whole, to who shares it out; threads of this process work until there is somebody.

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
        return self._blocks.width or self._threads.n

    @property
    def wave_seconds(self) -> float:
        """See ``ThreadPool``."""
        return BATCH_SECONDS if self._blocks.width else self._threads.wave_seconds

    def map_ranges(self, work: Callable[[int, int], None], n_items: int) -> None:
        """See ``ThreadPool``."""
        if self._blocks.width:
            work(0, n_items)
        else:
            self._threads.map_ranges(work, n_items)


def of_certification(sharing: Sharing, settings: CertifySettings) -> Sharing:
    """How the boxes of a certification are shared out."""
    return replace(sharing, settings={**sharing.settings, "certify": settings.to_json()})
