"""Differences between the groups of an attribute, as they are and with other columns held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import Clock
from fairness_engine.intervals import difference_interval
from fairness_engine.measures.proxies.holding import Held, Left, asked, partialled_out
from fairness_engine.measures.proxies.learners import Inputs
from fairness_engine.measures.proxies.results import REST, Figure, GroupDifference
from fairness_engine.measures.proxies.telling import Attribute

_NONE_HELD = "No other column tells it clearly by itself, so none is held alone."

Ask = Callable[[FloatArray], BoolArray]
"""Whether the model decides for people, given as rows of roles without a missing cell ``(n_people, n_columns)``."""


@dataclass(frozen=True)
class Decided:
    """Rows that have a group, and what was decided on them.

    Args:
        attribute: of the rows.
        place: of its column in a row.
        roles: the rows, linked columns as the roles that they stand for ``(n_rows, n_columns)``.
        favourable: whether it was decided for the person ``(n_rows,)``.
        ask: the model; ``None`` where a column of the data decides.
    """

    attribute: Attribute
    place: int
    roles: FloatArray
    favourable: BoolArray
    ask: Ask | None


def differences(
    decided: Decided, others: Inputs, strongest: tuple[str, ...], rng: np.random.Generator, clock: Clock
) -> list[GroupDifference]:
    """Every difference: of two groups the less favoured is compared with the other, of more each with everybody else.

    Args:
        decided: the rows.
        others: all other columns, which are held.
        strongest: names of those that are held alone, too; there may be none.
        rng: the source of chance.
        clock: asked before anything is fitted, and before the model is.

    Raises:
        SearchStopped: cancelled, or out of time.
    """
    groups = decided.attribute.groups
    favourable = decided.favourable
    labels = decided.attribute.labels
    compared = list(range(len(labels)))
    if len(labels) == 2:
        shares = [favourable[groups == group].mean() for group in compared]
        compared = [1 if shares[1] < shares[0] else 0]
    held = Held(groups, favourable, others)
    if decided.ask is None:
        whole = partialled_out(held, compared, rng, clock)
    else:
        whole = asked(held, compared, *_put_into_groups(decided, decided.ask, rng), rng, clock)
    alone = [Left(None, _NONE_HELD, 1.0)] * len(compared)
    if strongest:
        alone = partialled_out(Held(groups, favourable, others.only(strongest)), compared, rng, clock)
    found = []
    for group, left, by_strongest in zip(compared, whole, alone, strict=True):
        is_inside = groups == group
        (n_hits, n), (other_hits, other_n) = (
            (int(favourable[side].sum()), int(side.sum())) for side in (is_inside, ~is_inside)
        )
        raw = Figure(n_hits / n - other_hits / other_n, *difference_interval(n_hits, n, other_hits, other_n))
        found.append(
            GroupDifference(
                group=labels[group],
                reference=labels[1 - group] if len(labels) == 2 else REST,
                n_group=n,
                n_reference=other_n,
                raw=raw,
                held=left.figure,
                why=left.why,
                overlap=left.overlap,
                held_strongest=by_strongest.figure,
                why_strongest=by_strongest.why,
            )
        )
    return found


def _put_into_groups(decided: Decided, ask: Ask, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    """What the model decides of people in each group, 1 for the person ``(n_asked, n_groups)``, and of which rows:
    those that miss no cell ``(n_rows,)``.

    Who is put into a group of several values gets that of somebody who is in it, drawn.
    """
    attribute = decided.attribute
    is_asked = np.asarray(~np.isnan(decided.roles).any(axis=1))
    rows = decided.roles[is_asked]
    own = attribute.groups[is_asked]
    decisions = np.empty((len(rows), len(attribute.labels)))
    for group in range(len(attribute.labels)):
        is_own = own == group
        moved = rows[~is_own].copy()
        moved[:, decided.place] = rng.choice(attribute.values[attribute.groups == group], len(moved))
        decisions[is_own, group] = decided.favourable[is_asked][is_own]
        decisions[~is_own, group] = ask(moved)
    return decisions, is_asked
