"""MAFT: a gradient search that estimates its slopes from scores, for any model (paper 002, Algorithms 2-4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.search.technique import only_plausible_setting
from fairness_engine.search.techniques.gradient.gradients import EstimatedSlopes, Gradients, MovableColumns
from fairness_engine.search.techniques.gradient.search import (
    LocalWalks,
    MomentumSearch,
    ScoredPeople,
    TakenSlopes,
    find_pairs,
)
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


@dataclass(frozen=True)
class Maft(MomentumSearch):
    """Descend towards discriminatory people by estimated gradients, then walk around each along flat attributes.

    Slopes (Algorithm 2): the score of the predicted class where one attribute is moved by ``h``, less the score of the
    row itself, divided by the move. A row and its probes are evaluated together. Global (Algorithm 3) and local
    (Algorithm 4): see ``GradientSearch``, with momentum ``decay`` and slopes taken anew after ``update_interval``
    successes in a row.

    Departs from the paper: a probe at the upper end of an attribute steps backwards, so that no probe leaves the
    domain; several classes use the score of the predicted one; a model that gives labels only is followed by its
    one-hot labels (section 4.3), whose slopes are mostly 0: then a start row does not move, and all attributes are
    equally likely.

    Reference: Wang et al., "MAFT: Efficient model-agnostic fairness testing for deep neural networks via zero-order
    gradient search" (ICSE 2024), section 3.
    """

    name: ClassVar[str] = "maft"
    title: ClassVar[str] = "MAFT"
    summary: ClassVar[str] = (
        "Follows estimated gradients of the score. For models that give scores; no access to their inside."
    )
    reference: ClassVar[str] = "Wang et al. 2024, Algorithms 2-4"
    estimates_gradient: ClassVar[bool] = True

    h: float = setting(
        1.0,
        "How far a probe moves an attribute, in units; parts of a unit where the model takes plain numbers.",
        label="Perturbation size",
        minimum=1e-10,
        maximum=1e6,
        unit="units",
    )

    def slopes(self, oracle: Oracle, terrain: MovableColumns) -> Gradients:
        """Estimated ones, Algorithm 2."""
        return EstimatedSlopes(oracle, terrain, self.h)


_FIRST_PLACES = 1 << 15


@dataclass(frozen=True)
class MaftPlus(Maft):
    """MAFT with four changes, each of which spares evaluations; the descent and the choice of a move are MAFT's.

    * The probes of both people of a pair are themselves two variants of one person: where they disagree, that person is
    found. * Slopes are taken only where no chain took them before; a chain that comes back keeps those it has. * A
    chain keeps the pair of variants that it began with, so that a move is tested with two evaluations, not all
    variants. * A miss leaves the chain where it is; MAFT goes back to the start, where everybody is soon known.

    Reference: as ``Maft``, of which Algorithm 2 and Algorithm 3 are unchanged.
    """

    name: ClassVar[str] = "maft-plus"
    title: ClassVar[str] = "MAFT+"
    summary: ClassVar[str] = (
        "MAFT that also counts the people it tried for their slope: several times the pairs for the same rows."
    )
    reference: ClassVar[str] = "after Wang et al. 2024"
    descent_share: ClassVar[float] = 0.04

    only_plausible: bool = only_plausible_setting()

    def slopes(self, oracle: Oracle, terrain: MovableColumns) -> TellingSlopes:
        """Estimated ones, whose probes are people of the domain and tell of them."""
        return TellingSlopes(oracle, terrain, self.h)

    def chains(self, oracle: Oracle, terrain: MovableColumns, slopes: Gradients, origins: ScoredPeople) -> LocalWalks:
        """Walks that keep their pair and their place."""
        return KeepingChains(oracle, terrain, cast("TellingSlopes", slopes), origins, self.interval, self.local_step)


class TellingSlopes(EstimatedSlopes):
    """Estimated slopes whose probes are noted as tests of two variants, and that know where they were taken.

    Args:
        oracle, terrain, h: as ``EstimatedSlopes``.
    """

    def __init__(self, oracle: Oracle, terrain: MovableColumns, h: float) -> None:
        from fairness_engine.oracle.visited import (
            VisitedIndividuals,  # numba is loaded when a search begins, not by the app
        )

        super().__init__(oracle, terrain, h, is_whole=True)
        self._places = VisitedIndividuals(_FIRST_PLACES)

    def learn(self, rows: FloatArray, own: IntArray, other: IntArray, steps: FloatArray, near: FloatArray) -> None:
        """Tell the oracle what the probes say of people that were not known."""
        from fairness_engine.search.techniques.gradient import (
            kernels,  # numba is loaded when a search begins, not by the app
        )

        n_probes = steps.size
        probes = kernels.moved_rows(rows, self._terrain.columns, steps)
        scores = near.reshape(2, n_probes, -1).transpose(1, 0, 2)
        pairs = np.repeat(own, steps.shape[1]), np.repeat(other, steps.shape[1])
        could = self._oracle.worth_comparing(probes, *pairs)
        self._oracle.note_pairs(probes[could], pairs[0][could], pairs[1][could], scores[could])

    def new_places(self, rows: FloatArray) -> IntArray:
        """Positions of the rows where no slopes were taken yet, each individual once; they count as taken from now
        on.
        """
        _, fresh, _ = self._places.look_up(self._oracle.domain.keys(rows), takes_partly=False)
        return fresh


class KeepingChains(LocalWalks):
    """Chains that keep their pair of variants, and stay where they are after a miss.

    Args:
        oracle, terrain, slopes, origins, interval, n_units: as ``LocalWalks``.
    """

    def __init__(
        self,
        oracle: Oracle,
        terrain: MovableColumns,
        slopes: TellingSlopes,
        origins: ScoredPeople,
        interval: int,
        n_units: int,
    ) -> None:
        super().__init__(oracle, terrain, slopes, origins, interval, n_units)
        self._places = slopes
        self._other: IntArray | None = None

    def _refresh(self, uniforms: FloatArray) -> None:
        """Slopes of the chains that are due and stand where none were taken; the pair is found in the first step."""
        if self._other is None:
            self._other = find_pairs(self._oracle, self._origins, uniforms)
        due = np.flatnonzero(self._n_since >= self._interval)
        due = due[self._places.new_places(self._rows[due])]
        if len(due):
            rows = self._rows[due]
            own = self._own[due]
            other = self._other[due]
            here, there = self._places(rows, own, other, None)
            self._weigh(here, there, due)
            self._oracle.show(TakenSlopes(rows, own, other, here, there))

    def _test(self, columns: IntArray, values: FloatArray) -> BoolArray:
        """Whether each moved row is discriminatory, by the chain's own pair ``(n_chains,)``."""
        moved = self._rows.copy()
        moved[np.arange(len(moved)), columns] = values
        other = cast("IntArray", self._other)
        could = self._oracle.worth_comparing(moved, self._own, other)
        is_found = np.zeros(len(moved), dtype=bool)
        before = self._rows[could]
        probe = self._oracle.probe_pairs(moved[could], self._own[could], other[could], lambda chosen: before[chosen])
        is_found[could] = probe.is_discriminatory
        return is_found

    def _settle(self, is_found: BoolArray, columns: IntArray, values: FloatArray) -> None:
        """A find is where the chain goes on; a miss changes nothing."""
        found = np.flatnonzero(is_found)
        self._rows[found, columns[found]] = values[found]
