"""What a search asked, in order: an oracle that keeps it, for who watches how a technique works."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.errors import SearchStopped
from fairness_engine.events import Step
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.oracle import Oracle, Probe, VariantScores
from fairness_engine.oracle.tested_sample import Origins
from fairness_engine.oracle.variants import VariantMargins
from fairness_engine.search.driver import rng_of
from fairness_engine.search.technique import Technique


@dataclass(frozen=True)
class PeopleTested:
    """People who were tested together, each for the first time.

    Args:
        rows: ``(n, n_columns)``; the protected values they hold do not matter.
        is_found: whether two variants get different decisions ``(n,)``.
        origins: where the moves to them began ``(n, n_columns)``; ``None`` where nobody moved.
    """

    rows: FloatArray
    is_found: BoolArray
    origins: FloatArray | None = None


@dataclass(frozen=True)
class PeopleMet:
    """Rows ``(n, n_columns)`` of which all variants were scored, whether or not they were tested before."""

    rows: FloatArray


@dataclass(frozen=True)
class Felt:
    """Rows ``(n, n_columns)`` that the model was asked about without testing anybody: the probes of a slope, the
    neighbours of a person.
    """

    rows: FloatArray


@dataclass(frozen=True)
class RecordedStep:
    """What happened between two steps of a technique.

    Args:
        phase: as the technique calls it.
        moments: in order: ``PeopleTested``, ``PeopleMet``, ``Felt``, and what the technique itself showed.
        evaluations, n_tried, n_found: of the search so far, at the end of the step.
    """

    phase: str
    moments: tuple[object, ...]
    evaluations: int
    n_tried: int
    n_found: int

    @property
    def n_felt(self) -> int:
        """Rows that were evaluated in it without testing anybody."""
        return sum(len(moment.rows) for moment in self.moments if isinstance(moment, Felt))

    def tested(self) -> list[PeopleTested]:
        """Whoever was tested in it, in order."""
        return [moment for moment in self.moments if isinstance(moment, PeopleTested)]


class RecordingOracle(Oracle):
    """An oracle that keeps what it is asked, and what is shown to it. For small models: everything is kept.

    Attributes:
        moments: since the last ``take``.
    """

    def __init__(self, model: Model, domain: Domain, budget: Budget) -> None:
        """As ``Oracle``."""
        super().__init__(model, domain, budget)
        self.moments: list[object] = []
        self._known_keys: set[int] = set()

    def take(self) -> tuple[object, ...]:
        """The moments since the last call."""
        taken = tuple(self.moments)
        self.moments = []
        return taken

    def show(self, shown: object) -> None:
        """Keep it as it is now: a technique goes on with the same arrays."""
        self.moments.append(copy.deepcopy(shown))

    def _note(self, rows: FloatArray, probe: Probe | VariantMargins, origins: Origins | None = None) -> None:
        fresh = probe.fresh
        if len(fresh):
            self._known_keys.update(self.domain.keys(rows[fresh]).tolist())
            came_from = None if origins is None else origins(fresh).copy()
            self.moments.append(PeopleTested(rows[fresh].copy(), probe.is_discriminatory[fresh].copy(), came_from))

    def probe(self, rows: FloatArray) -> Probe:
        """As ``Oracle.probe``."""
        probe = super().probe(rows)
        self._note(rows, probe)
        return probe

    def probe_moves(self, rows: FloatArray, columns: IntArray, values: FloatArray) -> Probe:
        """As ``Oracle.probe_moves``."""
        probe = super().probe_moves(rows, columns, values)
        moved = rows.copy()
        moved[np.arange(len(rows)), columns] = values
        self._note(moved, probe, lambda at: rows[at])
        return probe

    def probe_pairs(self, rows: FloatArray, first: IntArray, second: IntArray, origins: Origins | None = None) -> Probe:
        """As ``Oracle.probe_pairs``."""
        probe = super().probe_pairs(rows, first, second, origins)
        self._note(rows, probe, origins)
        return probe

    def probe_widest(self, rows: FloatArray, reach: float = math.inf) -> VariantMargins:
        """As ``Oracle.probe_widest``."""
        probe = super().probe_widest(rows, reach)
        self._note(rows, probe)
        return probe

    def probe_alike(
        self, rows: FloatArray, variants: IntArray, classes: IntArray, origins: Origins | None = None
    ) -> VariantMargins:
        """As ``Oracle.probe_alike``."""
        probe = super().probe_alike(rows, variants, classes, origins)
        self._note(rows, probe, origins)
        return probe

    def note_pairs(self, rows: FloatArray, first: IntArray, second: IntArray, scores: FloatArray) -> Probe:
        """As ``Oracle.note_pairs``."""
        probe = super().note_pairs(rows, first, second, scores)
        self._note(rows, probe)
        return probe

    def measure(self, rows: FloatArray, origins: Origins | None = None) -> VariantScores:
        """As ``Oracle.measure``."""
        measured = super().measure(rows, origins)
        keys, first = np.unique(self.domain.keys(rows), return_index=True)
        fresh = np.sort(first[[int(key) not in self._known_keys for key in keys]])
        self.moments.append(PeopleMet(rows.copy()))
        self._note(rows, Probe(measured.is_discriminatory, fresh), origins)
        return measured

    def scores(self, rows: FloatArray) -> FloatArray:
        """As ``Oracle.scores``."""
        self.moments.append(Felt(rows.copy()))
        return super().scores(rows)

    def nearby_scores(self, rows: FloatArray, columns: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As ``Oracle.nearby_scores``."""
        n_moves = len(columns)
        probes = np.repeat(rows, n_moves, axis=0)
        probes[np.arange(len(probes)), np.tile(columns, len(rows))] += steps.ravel()
        self.moments.append(Felt(probes))
        return super().nearby_scores(rows, columns, steps)


@dataclass(frozen=True)
class Recording:
    """A technique at work on a model, step by step."""

    technique: Technique
    model: Model
    domain: Domain
    start_rows: FloatArray
    budget: Budget
    seed: int

    def steps(self) -> Iterator[RecordedStep]:
        """Every step until the budget is spent or the technique is done; the same each time."""
        oracle = RecordingOracle(self.model, self.domain, self.budget)
        phase = ""
        try:
            for event in self.technique.search(oracle, self.start_rows, rng_of(self.seed)):
                if isinstance(event, Step):
                    phase = event.phase
                    yield self._step(oracle, phase)
        except SearchStopped:
            yield self._step(oracle, phase)

    @staticmethod
    def _step(oracle: RecordingOracle, phase: str) -> RecordedStep:
        return RecordedStep(phase, oracle.take(), oracle.evaluations, oracle.n_tried, oracle.n_found)
