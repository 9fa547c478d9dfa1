"""SG: symbolic generation of test inputs from local explanations (paper 003, Algorithms 1-5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.search.techniques.sg.constraints import ConstraintSolver
from fairness_engine.search.techniques.sg.neighbourhood import Neighbourhood
from fairness_engine.search.techniques.sg.queue import Generated, InputQueue, directed, undirected
from fairness_engine.search.techniques.sg.search import Origin, SymbolicSearch, SymbolicWork
from fairness_engine.search.techniques.sg.trees import Explainer, PathGrower, samples_within
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


@dataclass(frozen=True)
class Sg(SymbolicSearch):
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
    wave: int = setting(32, "Inputs of one rank tested together; 1 is the paper's order.", minimum=1, maximum=1024)
    is_local: bool = setting(
        True, "Weigh a neighbourhood by LIME's kernel; without it near and far rows count alike.", label="Local trees"
    )
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

    @staticmethod
    def warm_up() -> None:
        """Compile or load the loops and libraries; their first import takes a second or more."""
        import z3  # noqa: F401

        SymbolicSearch.warm_up()

    def begin(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> SymbolicWork:
        """One run of Algorithm 5."""
        return _Work(self, oracle, start_rows, rng)


@dataclass(frozen=True)
class Solved:
    """A set of constraints and its solution, ``None`` where it contradicts itself or the domain; to be shown."""

    generated: Generated
    row: FloatArray | None


class _Work(SymbolicWork):
    """One run of Algorithm 5: its queue, and what it has visited."""

    barren_of = frozenset({Origin.UNIFORM})

    def __init__(self, settings: Sg, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> None:
        super().__init__(settings, oracle, start_rows, rng)
        self._settings = settings
        self._movable = frozenset(oracle.domain.movable.tolist())
        self._queue = InputQueue()
        self._solver = ConstraintSolver(oracle.domain)
        self._visited: dict[Origin, set[int]] = {Origin.DIRECTED: set(), Origin.UNDIRECTED: set()}
        self._unexplained: deque[tuple[FloatArray, int]] = deque()
        neighbourhood = Neighbourhood(start_rows, oracle.domain, rng)
        seed = int(rng.integers(2**63))
        n_classes = max(2, oracle.model.predictor.n_scores)
        grower = PathGrower(oracle.domain, n_classes, settings.confidence, settings.max_depth)
        n_samples = samples_within(oracle, settings.n_samples)
        self._explainer = Explainer(oracle, neighbourhood, n_samples, grower, settings.is_local, seed)

    @property
    def is_done(self) -> bool:
        """True when the limit is reached, or nothing is left to try."""
        limit = self._settings.n_inputs
        return (limit > 0 and self._oracle.n_tried >= limit) or super().is_done

    @property
    def _n_wanted(self) -> int:
        """As many as the limit leaves."""
        settings = self._settings
        return min(settings.wave, settings.n_inputs - self._oracle.n_tried) if settings.n_inputs else settings.wave

    def _is_waiting(self, source: Origin) -> bool:
        return self._queue.has(source)

    def _take(self, source: Origin) -> FloatArray:
        """Constraints that contradict one another have no input."""
        rows: list[FloatArray] = []
        while self._queue.has(source) and len(rows) < self._n_wanted:
            generated = self._queue.take(source)
            row = self._solver.solve(generated.predicates, generated.person, self._rng)
            self._oracle.show(Solved(generated, row))
            if row is not None:
                rows.append(row)
        return np.array(rows).reshape(len(rows), self._oracle.domain.n_columns)

    def _explain_waiting(self) -> bool:
        n = min(self._settings.wave, len(self._unexplained))
        if n:
            people, numbers = zip(*(self._unexplained.popleft() for _ in range(n)), strict=True)
            self._explain(np.array(people), np.zeros(n, dtype=bool), numbers)
        return n > 0

    def _meet(self, people: FloatArray, is_found: BoolArray) -> None:
        """They are explained, wait until they are needed, or never are; their numbers are in the order of meeting."""
        numbers = np.arange(self._oracle.n_tried - len(people), self._oracle.n_tried)
        settings = self._settings
        now = is_found & settings.is_directed
        if self._has_undirected:
            now |= not settings.explains_late
            self._unexplained.extend(zip(people[~now], numbers[~now].tolist(), strict=True))
        self._explain(people[now], is_found[now], numbers[now].tolist())

    def _explain(self, people: FloatArray, is_found: BoolArray, numbers: Sequence[int]) -> None:
        """Lines 7-36: constraint sets of people's paths that were not generated before, into the queue."""
        settings = self._settings
        for person, was_found, path in zip(people, is_found, self._explainer.explain(people, numbers), strict=True):
            if was_found and settings.is_directed:
                self._add(directed(person, path, self._movable, settings.directed_below))
            if self._has_undirected:
                self._add(undirected(person, path, self._movable, settings.undirected_above))

    def _add(self, generated: Iterator[Generated]) -> None:
        for one in generated:
            key = hash(self._solver.key(one.predicates))
            visited = self._visited[one.rank]
            if key not in visited:
                visited.add(key)
                self._queue.add(one)
