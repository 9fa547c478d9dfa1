"""SG: symbolic generation of test inputs from local explanations (paper 003, Algorithms 1-5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.events import Event, Step
from fairness_engine.search.start_rows import StartRows
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.sg.constraints import ConstraintSolver
from fairness_engine.search.techniques.sg.neighbourhood import Neighbourhood
from fairness_engine.search.techniques.sg.origins import (
    PHASES,
    Origin,
    OriginCounts,
    Undirected,
    directed_setting,
    has_undirected,
    start_source_setting,
    steps_and_split,
    undirected_setting,
)
from fairness_engine.search.techniques.sg.queue import Generated, InputQueue, Rank, directed, undirected
from fairness_engine.search.techniques.sg.trees import Confidence, Explainer, PathGrower, samples_within
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle

_MAX_BARREN = 1000
"""Uniform waves in a row without a new individual after which the domain counts as searched."""


@dataclass(frozen=True)
class Sg(Technique):
    """Negates the predicates of a person's path through a decision tree of LIME's neighbourhood, and solves for new
    people.

    Algorithm 5. Start rows come from the data's K-means clusters in turn (Algorithm 3). Each input is tested (Algorithm
    4); LIME's neighbourhood of it is labelled by the model, and a decision tree of the neighbourhood gives its path
    (Algorithm 2). Directed search, only from a discriminatory input: every non-protected predicate with a confidence
    under T2 is negated, the others kept. Undirected search: from the root, each non-protected predicate is negated
    under those before it, until one has a confidence under T1. z3 solves each new set of constraints. The queue takes
    directed inputs first, then start rows, then undirected ones.

    Departs from the paper: inputs of one rank are taken ``wave`` at a time (1 is the printed order); an input that is
    not discriminatory is explained when the queue has come to undirected inputs (``explains_late``), because its path
    is of no use before, and then a wave at a time; when the queue is empty, uniform rows follow until the budget is
    spent. The neighbourhood is smaller where 5,000 samples would be more than a hundredth of the evaluation budget, or
    more than a tenth of what it costs to test the whole space. Columns without a constraint keep their value; the paper
    lets them take any.

    ``start_source``, ``is_directed`` and ``undirected`` are the paper's ablation: uniform start rows (Tables 4 and 5),
    no directed search (Table 6), undirected search first without directed (Table 7), and neither, which tests start
    rows alone (Table 4).

    Reference: Agarwal, Lohia, Nagar, Dey and Saha, "Automated test generation to detect individual discrimination in AI
    models" (2019), Algorithms 1-5.
    """

    name: ClassVar[str] = "sg"
    title: ClassVar[str] = "SG"
    summary: ClassVar[str] = (
        "Explains a person by a local decision tree and negates its predicates. Thorough, and costly in rows."
    )
    reference: ClassVar[str] = "Agarwal et al. 2019, Algorithms 1-5"

    n_samples: int = setting(
        5000,
        "Rows of one neighbourhood, each evaluated; fewer where the budget or the space is small.",
        label="LIME samples",
        minimum=10,
        maximum=100_000,
        unit="rows",
    )
    directed_below: float = setting(
        0.2,
        "T2: directed search negates predicates with a confidence under this.",
        label="Directed threshold",
        minimum=0.0,
        maximum=1.0,
    )
    undirected_above: float = setting(
        0.3,
        "T1: undirected search stops at the first predicate with a confidence under this.",
        label="Undirected threshold",
        minimum=0.0,
        maximum=1.0,
    )
    confidence: str = setting(
        "path",
        "Share of the neighbourhood that follows the person as far as the predicate, or of its node's rows that go "
        "the person's way.",
        label="Confidence of a predicate",
        choices=("path", "node"),
    )
    is_local: bool = setting(
        True, "Weigh a neighbourhood by LIME's kernel; without it near and far rows count alike.", label="Local trees"
    )
    max_depth: int = setting(
        0, "Predicates of a path at most; 0 grows the tree until its leaves are pure.", minimum=0, maximum=500
    )
    n_clusters: int = setting(4, "K-means clusters that the start rows come from in turn.", minimum=1, maximum=1000)
    wave: int = setting(32, "Inputs of one rank tested together; 1 is the paper's order.", minimum=1, maximum=1024)
    explains_late: bool = setting(
        True,
        "Explain people who are not discriminatory when undirected search needs them; without it each at once, as "
        "printed.",
        label="Explain when needed",
    )
    n_inputs: int = setting(
        0,
        "The paper's limit of people tested; 0 goes on until the budget is spent.",
        label="Limit of inputs",
        minimum=0,
        maximum=10_000_000,
    )
    start_source: str = start_source_setting()
    is_directed: bool = directed_setting()
    undirected: str = undirected_setting()

    @staticmethod
    def warm_up() -> None:
        """Compile or load this technique's loops and libraries; their first import takes a second or more."""
        import lime.lime_tabular  # noqa: F401
        import z3  # noqa: F401

        from fairness_engine.search.techniques.sg import kernels

        kernels.warm_up()

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Waves of inputs until the budget, the limit or the domain is used up; then the split by where finds came
        from.
        """
        yield from steps_and_split(_Work(self, oracle, start_rows, rng))


class _Work:
    """One run of Algorithm 5: its queue, and what it has visited."""

    def __init__(self, settings: Sg, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> None:
        self.split = OriginCounts()
        self._settings = settings
        self._oracle = oracle
        self._rng = rng
        self._start_source = Origin(settings.start_source)
        is_uniform = self._start_source is Origin.UNIFORM
        self._starts = StartRows(oracle.domain, start_rows, settings.n_clusters, rng, is_uniform=is_uniform)
        self._n_starts_left = len(start_rows)
        self._n_barren = 0
        self._movable = frozenset(oracle.domain.movable.tolist())
        self._queue = InputQueue()
        self._solver = ConstraintSolver(oracle.domain)
        self._visited: dict[Rank, set[int]] = {Rank.DIRECTED: set(), Rank.UNDIRECTED: set()}
        self._unexplained: deque[tuple[FloatArray, int]] = deque()
        neighbourhood = Neighbourhood(start_rows, oracle.domain, rng)
        seed = int(rng.integers(2**63))
        n_classes = max(2, oracle.model.predictor.n_scores)
        confidence = Confidence(settings.confidence)
        grower = PathGrower(oracle.domain, n_classes, confidence, settings.max_depth)
        n_samples = samples_within(oracle, settings.n_samples)
        self._explainer = Explainer(oracle, neighbourhood, n_samples, grower, settings.is_local, seed)

    @property
    def is_done(self) -> bool:
        """True when the limit is reached, or nothing is left to try."""
        limit = self._settings.n_inputs
        is_limited = limit > 0 and self._oracle.n_tried >= limit
        return is_limited or self._oracle.is_exhausted or self._n_barren > _MAX_BARREN

    def take_step(self) -> Step:
        """Test inputs of the highest rank that is waiting, or explain people whose paths are needed now."""
        is_first = self._settings.undirected == Undirected.FIRST
        if is_first and (step := self._take_undirected()):
            return step
        if self._queue.has(Rank.DIRECTED):
            return self._test(self._solved(Rank.DIRECTED), Origin.DIRECTED)
        if self._n_starts_left:
            n = min(self._n_wanted, self._n_starts_left)
            self._n_starts_left -= n
            return self._test(self._starts.take(n), self._start_source)
        return self._take_undirected() or self._test(self._starts.take(self._n_wanted), Origin.UNIFORM)

    def _take_undirected(self) -> Step | None:
        """Test undirected inputs, or explain people for want of some; ``None`` when nobody is left to explain."""
        if self._queue.has(Rank.UNDIRECTED):
            return self._test(self._solved(Rank.UNDIRECTED), Origin.UNDIRECTED)
        if self._unexplained:
            n = min(self._settings.wave, len(self._unexplained))
            people, numbers = zip(*(self._unexplained.popleft() for _ in range(n)), strict=True)
            self._explain(np.array(people), np.zeros(n, dtype=bool), numbers)
            return Step("explaining people")
        return None

    @property
    def _n_wanted(self) -> int:
        """Inputs of the next wave: as many as the limit leaves."""
        settings = self._settings
        return min(settings.wave, settings.n_inputs - self._oracle.n_tried) if settings.n_inputs else settings.wave

    def _solved(self, rank: Rank) -> FloatArray:
        """The next inputs of a rank ``(n, n_columns)``; constraints that contradict one another have none."""
        rows: list[FloatArray] = []
        while self._queue.has(rank) and len(rows) < self._n_wanted:
            generated = self._queue.take(rank)
            row = self._solver.solve(generated.predicates, generated.person, self._rng)
            if row is not None:
                rows.append(row)
        return np.array(rows).reshape(len(rows), self._oracle.domain.n_columns)

    def _test(self, rows: FloatArray, source: Origin) -> Step:
        """Algorithm 4 for a wave; people met for the first time are explained, wait until they are needed, or never
        are.
        """
        n_tried = self._oracle.n_tried
        with self.split.counting(self._oracle, source):
            probe = self._oracle.probe(rows)
        if source is Origin.UNIFORM:
            self._n_barren = 0 if len(probe.fresh) else self._n_barren + 1
        people = rows[probe.fresh]
        is_found = probe.is_discriminatory[probe.fresh]
        numbers = np.arange(n_tried, n_tried + len(people))
        settings = self._settings
        now = is_found & settings.is_directed
        if has_undirected(settings):
            now |= not settings.explains_late
            self._unexplained.extend(zip(people[~now], numbers[~now].tolist(), strict=True))
        self._explain(people[now], is_found[now], numbers[now].tolist())
        return Step(PHASES[source])

    def _explain(self, people: FloatArray, is_found: NDArray[np.bool_], numbers: Sequence[int]) -> None:
        """Lines 7-36: constraint sets of people's paths that were not generated before, into the queue."""
        settings = self._settings
        for person, was_found, path in zip(people, is_found, self._explainer.explain(people, numbers), strict=True):
            if was_found and settings.is_directed:
                self._add(directed(person, path, self._movable, settings.directed_below))
            if has_undirected(settings):
                self._add(undirected(person, path, self._movable, settings.undirected_above))

    def _add(self, generated: Iterator[Generated]) -> None:
        for one in generated:
            key = hash(self._solver.key(one.predicates))
            visited = self._visited[one.rank]
            if key not in visited:
                visited.add(key)
                self._queue.add(one)
