"""Directed: grows from people already found, by moves that are predicted to keep both decisions of their pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.events import Event, Step
from fairness_engine.search.technique import Technique, only_plausible_setting
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle
    from fairness_engine.search.techniques.directed.population import Population

_MIN_ROWS = 8
_MAX_ROWS = 4096
"""Rows that one search for starts takes, the fewest and the most."""
_N_LOOKS = 8
"""The share for starts is spent in about so many looks for half the budget; without a budget, of what was evaluated so
far.
"""
_SHARE_REAL = 0.3
"""Least share for starts while people of the data are left, where those found must be people who could exist."""
_MAX_BARREN_NEAR = 60
"""The same where those found must be people who could exist: each looks at tens of thousands."""
_KEPT_NEAR = 64
"""People kept of a start, at least, where they must be people who could exist: those at the edge have few
neighbours.
"""
_MAX_DRAWS = 8
"""Times that people who could exist are drawn for one look."""
_ANOTHER_CHANGE = 0.3
"""How often another attribute of a person near the data is changed, each time."""
_MAX_BARREN = 1000
"""Searches for starts in a row that met known people only, after which the domain counts as searched."""


@dataclass(frozen=True)
class Directed(Technique):
    """People who are found discriminatory lie together: start from many of them, and step from each to its neighbours.

    A small share of the evaluations looks for starts: rows of the data first, then uniform rows. Once some are known, a
    row's first variant is evaluated alone, and the others only when its score is as near to the threshold as those of
    nearly all starts were. The rest grows. A start passes on its pair of protected values: a child is one move away
    (another category, or a number further by 1, 2, 4, ... units) from a person already found, and is tested with these
    two values only; the likelier one to change its decision first, and the second only if that one held. So an
    evaluation is seldom wasted on a person with no prospects: for each kind of move (this attribute, from this value to
    that, or that many units) the search keeps how much it moved the two scores so far, mean and deviation, and a child
    is proposed only where the parent's scores are predicted to stay on their sides; rows that are known are left out
    before the model is asked. Starts take turns, those with the fewest first, so that what is found stays spread over
    all of them.

    Labels alone are enough: a score then is 0 or 1, and the mean and deviation become success rates.

    Reference: a technique of this project, after MAFT's (Wang et al. 2024) and AEQUITAS's local searches.
    """

    name: ClassVar[str] = "directed"
    title: ClassVar[str] = "Directed"
    summary: ClassVar[str] = (
        "Grows from many people found at once. Usually the most pairs for the rows evaluated, with any model."
    )
    reference: ClassVar[str] = "this project; compare Udeshi et al. 2018 and Wang et al. 2024"

    least_look: ClassVar[int] = 512
    """Evaluations that one search for starts takes at least, were all its people tested in full."""

    share_starts: float = setting(
        0.1,
        "Share of the evaluations that looks for starts. More starts spread what is found, and cost pairs.",
        label="Share for starts",
        minimum=0.001,
        maximum=0.9,
    )
    max_shares: float = setting(
        10.0,
        "A start rests while it holds more than this many even shares of what was found.",
        label="Largest share of a start",
        minimum=1.0,
        maximum=1_000_000.0,
        unit="even shares",
    )
    caution: float = setting(
        2.0,
        "A move is safe when both scores are predicted to stay this many standard deviations on their sides of the "
        "threshold.",
        minimum=0.0,
        maximum=100.0,
        unit="deviations",
    )
    n_choices: int = setting(
        64,
        "Moves looked at, without asking the model, before the safest of them is made although it is not safe.",
        label="Moves looked at",
        minimum=1,
        maximum=1_000_000,
        unit="moves",
    )
    n_kept: int = setting(
        8,
        "People of a start from which it grows: the latest found.",
        label="People kept",
        minimum=1,
        maximum=10_000,
    )
    only_plausible: bool = only_plausible_setting()
    batch: int = setting(8192, "Most people tested in one step.", minimum=1, maximum=1_000_000, unit="rows")

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Look for starts and grow from them, by turns, until the budget is spent or everybody was tested."""
        from fairness_engine.search.techniques.directed.population import (
            Population,
        )  # numba is loaded when a search begins, not by the app

        is_near = oracle.nearness is not None
        n_kept = max(self.n_kept, _KEPT_NEAR) if is_near else self.n_kept
        growth = Population(oracle.domain, n_kept, self.max_shares, start_rows if is_near else None)
        source = _Source(oracle, start_rows, rng, self.least_look)
        n_barren = 0
        most_barren = _MAX_BARREN_NEAR if is_near else _MAX_BARREN
        while not oracle.is_exhausted and n_barren < most_barren:
            share = max(self.share_starts, _SHARE_REAL) if source.has_real_left else self.share_starts
            if growth.is_idle or source.evaluations < share * oracle.evaluations:
                is_new = source.look(growth, share)
                n_barren = 0 if is_new else n_barren + 1
                yield Step("looking for starts")
            else:
                growth.grow(oracle, self.batch, self.n_choices, self.caution, rng)
                yield Step("growing")

    @staticmethod
    def warm_up() -> None:
        """Compile or load the search's own loops."""
        from fairness_engine.search.techniques.directed.population import warm_up

        warm_up()


class _Source:
    """Where starts come from: the data in random order, then uniform rows.

    Attributes:
        evaluations: paid so far.
    """

    def __init__(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator, least_look: int) -> None:
        self.evaluations = 0
        self._oracle = oracle
        self._rng = rng
        self._data = start_rows
        self._order = rng.permutation(len(start_rows))
        self._n_used = 0
        self._n_least = max(_MIN_ROWS, least_look // oracle.domain.n_variants)
        self._n_idle = self._n_least
        self._is_thorough = False

    @property
    def has_real_left(self) -> bool:
        """Whether people of the data wait, where those found are to be such as could exist: all of these are looked at
        early, so that what grows from them is spread as they are.
        """
        return self._oracle.nearness is not None and self._n_used < len(self._order)

    def look(self, growth: Population, share: float) -> bool:
        """Test rows for starts, as many as the share allows; when nothing grows, more and more. Was anybody tested?"""
        oracle = self._oracle
        n_variants = self._oracle.domain.n_variants
        before = oracle.evaluations
        # of a known budget enough at once that the first finds are spread, too
        total = max(before, (oracle.budget.max_evaluations or 0) // 2)
        n = int(np.clip(share * total / (_N_LOOKS * n_variants), self._n_least, _MAX_ROWS))
        rows = self._next(max(n, self._n_idle) if growth.is_idle else n)
        self._n_idle = min(2 * self._n_idle, _MAX_ROWS) if growth.is_idle else self._n_least
        probe = oracle.probe_widest(rows, np.inf if self._is_thorough else growth.reach)
        growth.add(rows, probe)
        self.evaluations += oracle.evaluations - before
        # people passed over after one evaluation get a second chance when there is nobody else
        was_thorough = self._is_thorough
        self._is_thorough = not len(probe.fresh)
        return bool(len(probe.fresh)) or not was_thorough

    def _next(self, n: int) -> FloatArray:
        if self._oracle.nearness is not None:
            return self._plausible(n)
        chosen = self._order[self._n_used : self._n_used + n]
        self._n_used += len(chosen)
        if len(chosen) == n:
            return self._data[chosen]
        uniform = self._oracle.domain.sample(n - len(chosen), self._rng, self._data)
        return np.concatenate([self._data[chosen], uniform]) if len(chosen) else uniform

    def _plausible(self, n: int) -> FloatArray:
        """As many people who could exist with two variants: those of the data, then such as differ from one of them in
        a few attributes, by values of others; fewer, where hardly anybody could.
        """
        found = []
        n_found = 0
        for _ in range(_MAX_DRAWS):
            chosen = self._order[self._n_used : self._n_used + n]
            self._n_used += len(chosen)
            rows = self._data[chosen] if len(chosen) else self._near(n)
            rows = rows[self._oracle.worth_testing(rows)]
            found.append(rows)
            n_found += len(rows)
            if n_found >= n or not len(self._data):
                break
        return np.concatenate(found)

    def _near(self, n: int) -> FloatArray:
        """Rows of the data with one attribute, or a few, as other rows have them."""
        movable = self._oracle.domain.movable
        if not len(self._data):
            return self._data
        rows = self._data[self._rng.integers(len(self._data), size=n)]
        at = np.arange(n)
        while len(at):
            columns = movable[self._rng.integers(len(movable), size=len(at))]
            rows[at, columns] = self._data[self._rng.integers(len(self._data), size=len(at)), columns]
            at = at[self._rng.random(len(at)) < _ANOTHER_CHANGE]
        return rows
