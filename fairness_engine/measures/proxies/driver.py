"""The driver of a run of proxies: attribute after attribute, and at last which columns the model leans on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.data.schema import Schema
from fairness_engine.errors import FitError, SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, Stopped
from fairness_engine.measures.proxies.differences import Ask, Decided, differences
from fairness_engine.measures.proxies.learners import Inputs
from fairness_engine.measures.proxies.results import (
    MAX_COLUMNS,
    N_STRONGEST,
    AttributeProxies,
    Proxies,
    ShapShares,
)
from fairness_engine.measures.proxies.telling import NOBODY, Attribute, Telling
from fairness_engine.oracle.domain import Scope

STOPPED = "The run ended before the model was explained."


@dataclass(frozen=True)
class DecidedRows:
    """Rows of the data that were decided.

    Args:
        people: rows of the engine, NaN where a cell is missing ``(n_rows, n_columns)``.
        roles: the same with linked columns as the roles that they stand for ``(n_rows, n_columns)``.
        favourable: whether it was decided for the person ``(n_rows,)``.
        evaluations: rows that the model was asked for until then.
        ask: the model; ``None`` where there is none.
        explain: which columns the model leans on, given what is told how many more rows it was asked for; ``None``
            where there is no model, or nobody asked.
        why_not_explained: in a sentence; empty where ``explain`` is there.
    """

    people: FloatArray
    roles: FloatArray
    favourable: BoolArray
    evaluations: int = 0
    ask: Ask | None = None
    explain: Callable[[Callable[[int], None]], ShapShares] | None = None
    why_not_explained: str = ""


def check_proxies(schema: Schema, scope: Scope) -> None:
    """Can there be proxies?

    Raises:
        SettingError: there is no other column, or there are too many.
    """
    n_others = len(schema.inputs) - 1
    n_looks = n_others * len(scope.protected)
    if not n_others:
        raise SettingError(
            f"A proxy is another column that tells '{scope.protected[0]}', and the data has no other input. Add a "
            "column under Data, or look at other data."
        )
    if n_looks > MAX_COLUMNS:
        raise SettingError(
            f"Proxies are looked for in at most {MAX_COLUMNS:,} columns, counted once for each protected attribute, "
            f"got {n_looks:,}. Choose fewer attributes, or 'ignored' as the type of columns that are of no interest."
        )


def run_proxies(
    decided: DecidedRows,
    schema: Schema,
    scope: Scope,
    seed: int,
    clock: Clock = NO_LIMIT,
    report: Callable[[Event], None] = lambda _: None,
) -> Iterator[Event]:
    """Look for the proxies of every protected attribute.

    Args:
        decided: the rows.
        schema, scope: what the columns are, and which of them are protected; see ``check_proxies``.
        seed: the only source of chance; figures of an attribute do not depend on which others are protected.
        clock: of the run. A run that it ends keeps the attributes that are done.
        report: told how far an explanation is.

    Yields:
        ``Progress`` before every step, the result ``proxies`` (a ``Proxies``) once unless no attribute was done, and
        one ``Stopped``, last.

    Raises:
        SettingError: an attribute has one value only, or too few rows; see ``Attribute.of``.
    """
    attributes = [Attribute.of(schema.column(name), decided.people[:, schema.index(name)]) for name in scope.protected]
    n_columns = len(schema.inputs) - 1
    work = _Work(decided, schema, scope, seed, clock, n_columns * len(attributes))
    done: list[AttributeProxies] = []
    shap: ShapShares | None = None
    why = STOPPED
    reason = StopReason.EXHAUSTED
    counts = (0, 0)
    n_explained = 0

    def evaluations() -> int:
        return decided.evaluations + work.n_asked + n_explained

    def told(n: int) -> None:
        nonlocal n_explained
        n_explained = n
        report(Progress(evaluations(), clock.seconds, *counts, "explaining the model"))

    try:
        for attribute in attributes:
            for phase in work.steps(attribute, done):
                yield Progress(evaluations(), clock.seconds, *counts, phase)
            counts = (len(done) * n_columns, sum(one.is_clear for each in done for one in each.columns))
        why = decided.why_not_explained
        if decided.explain is not None:
            yield Progress(evaluations(), clock.seconds, *counts, "explaining the model")
            shap, why = _explained(decided.explain, told)
    except SearchStopped as stop:
        reason = stop.reason
        why = decided.why_not_explained or STOPPED
    if done:
        n_incomplete = int(np.isnan(decided.people).any(axis=1).sum())
        yield ResultReady("proxies", encode(Proxies(done, len(decided.people), n_incomplete, shap, why)))
    yield Stopped(reason, evaluations(), clock.seconds, *counts)


def _explained(
    explain: Callable[[Callable[[int], None]], ShapShares], told: Callable[[int], None]
) -> tuple[ShapShares | None, str]:
    """The shares, or why there are none: a model that fails on made-up rows leaves the rest of the run what it is."""
    try:
        return explain(told), ""
    except FitError as error:
        return None, str(error)


class _Work:
    """What is the same for all attributes of a run.

    Attributes:
        n_asked: rows that the model was asked for with another value of an attribute.
    """

    def __init__(
        self, decided: DecidedRows, schema: Schema, scope: Scope, seed: int, clock: Clock, n_looks: int
    ) -> None:
        self._decided = decided
        self._people = Inputs.of(decided.people, schema)
        self._roles = Inputs.of(decided.roles, schema)
        self._places = {name: schema.index(name) for name in scope.protected}
        self._links = scope.links
        self._seed = seed
        self._clock = clock
        self._n_looks = n_looks
        self.n_asked = 0

    def _ask(self, rows: FloatArray) -> BoolArray:
        assert self._decided.ask is not None, "asked where there is a model"
        self._clock.check()
        decisions = self._decided.ask(rows)
        self.n_asked += len(rows)
        return decisions

    def steps(self, attribute: Attribute, done: list[AttributeProxies]) -> Iterator[str]:
        """Work an attribute, which is added to those that are done; yields what comes next.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        name = attribute.name
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(self._places[name],)))
        is_there = attribute.groups != NOBODY
        held = self._roles.at(is_there).without(name)
        mine = attribute.at(is_there)
        linked = frozenset(link.column for link in self._links if link.protected == name)
        telling = Telling(mine, self._people.at(is_there).without(name), linked, self._n_looks, rng)
        yield f"telling {name} by each column"
        columns = telling.columns(self._clock)
        yield f"telling {name} by all columns"
        self._clock.check()
        together = telling.together(held)
        strongest = [one.column for one in columns if one.is_clear and not one.is_linked][:N_STRONGEST]
        yield f"holding what tells {name}"
        ask = None if self._decided.ask is None else self._ask
        rows = (self._places[name], self._decided.roles[is_there], self._decided.favourable[is_there])
        left = differences(Decided(mine, *rows, ask), held, tuple(strongest), rng, self._clock)
        counts = (int(is_there.sum()), telling.n_held_out, int((~is_there).sum()))
        done.append(AttributeProxies(name, attribute.measure, together, columns, strongest, left, *counts))
