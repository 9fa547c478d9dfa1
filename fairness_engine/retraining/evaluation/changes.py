"""Who is decided differently by the new model: group by group, what became of the cases, and how accuracy and shares
changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import BoolArray, IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import InputError
from fairness_engine.groups.figures.figures import GroupDecisions, group_figures
from fairness_engine.groups.figures.report import LEAST_SHARE, MAX_GROUPS, FigureSettings, report_to_json
from fairness_engine.intervals import paired_interval
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Scope
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.evaluation.measure import Examined, Meter
from fairness_engine.retraining.evaluation.protected_groups import ProtectedGroups
from fairness_engine.retraining.evaluation.split import Split
from fairness_engine.retraining.results import Changes, GroupChange, PairedChange

if TYPE_CHECKING:
    from fairness_engine.retraining.subject import RetrainingTask


def paired_change(before: BoolArray, after: BoolArray, n_independent: int | None = None) -> PairedChange:
    """The change of the share of rows that count.

    Rows that stay what they were say nothing of a change, which is why the interval is narrower than what the two
    shares' own intervals leave open.

    Args:
        before, after: whether each row counts ``(n_rows,)``.
        n_independent: of how many independent units the rows are, where that is fewer: see ``share_interval``.
    """
    n = len(before)
    n_gained = int((after & ~before).sum())
    n_lost = int((before & ~after).sum())
    value = (n_gained - n_lost) / n if n else 0.0
    n_units = n if n_independent is None else min(n, n_independent)
    weight = n_units / n if n else 0.0
    low, high = paired_interval(weight * n_gained, weight * n_lost, n_units)
    return PairedChange(value, low, high, n_gained, n_lost, n)


_LEAST_ROWS = 10
"""Of an intersection that is named; smaller ones are counted with their attributes alone."""
_MOST_TOGETHER = 200
"""Groups of an intersection with figures: beyond, nearly all are too small to be compared, and nobody reads them."""


def changes(
    subject: RetrainingTask,
    models: tuple[Model, Model],
    examined: tuple[Examined, Examined],
    parts: Split,
    meter: Meter,
    cases: Pairs,
) -> Changes:
    """Compare the decisions of both models on the held-out rows, and replay the cases through the new one.

    Args:
        subject: scope and data.
        models, examined: before and after; examined by the same meter.
        parts: of the data.
        meter: that examined them.
        cases: pairs that the new model learned from.
    """
    assert subject.dataset.labels is not None, "checked when the rows were split"
    labels = subject.dataset.labels[parts.test]
    new = models[1]
    was_right, is_right = (one.decided == labels for one in examined)
    was, now = (one.decided == model.favourable for one, model in zip(examined, models, strict=True))
    n_fixed = int((~meter.verdicts(new, cases.first)).sum()) if len(cases) else 0
    groups, figures = by_group(
        held_out(subject.dataset, parts.test), subject.domain.scope, subject.model.favourable, was, now
    )
    return Changes(
        list(groups),
        len(cases),
        n_fixed,
        paired_change(was_right, is_right),
        paired_change(examined[0].uniform, examined[1].uniform),
        paired_change(examined[0].data, examined[1].data),
        figures,
    )


def by_group(
    held: Dataset, scope: Scope, favourable: int, was: BoolArray, now: BoolArray
) -> tuple[tuple[GroupChange, ...], dict[str, Any]]:
    """Who got better and worse in each group, and the group figures of both models.

    Args:
        held: the held-out rows with their outcomes.
        scope: its protected attributes make the groups.
        favourable: index of the favourable outcome.
        was, now: which rows each model decides for the person.

    Returns:
        ``groups`` and ``figures`` of ``Changes``.
    """
    groups = list(_group_changes(held, scope.protected, was, now))
    if len(groups) > MAX_GROUPS:
        least = sorted((group.n for group in groups), reverse=True)[MAX_GROUPS]
        groups = [group for group in groups if group.n > least]
    return tuple(groups), _figures(held, scope, favourable, was, now)


def held_out(data: Dataset, chosen: IntArray) -> Dataset:
    """The data's rows at these positions, as data of their own."""
    assert data.labels is not None, "checked when the rows were split"
    return replace(data, rows=data.rows[chosen], labels=data.labels[chosen], kept=data.kept[chosen], n_unknown={})


def _group_changes(held: Dataset, protected: tuple[str, ...], was: BoolArray, now: BoolArray) -> Iterator[GroupChange]:
    rows = held.rows
    least = max(_LEAST_ROWS, LEAST_SHARE * len(rows))
    for names in _attribute_sets(protected):
        groups = ProtectedGroups(held.schema, names)
        found, group = np.unique(groups.codes(rows), axis=0, return_inverse=True)
        for number, codes in enumerate(found.tolist()):
            here = group.ravel() == number
            if len(names) == 1 or here.sum() >= least:
                before = was[here]
                after = now[here]
                counts = (len(before), before.sum(), after.sum(), (~before & after).sum(), (before & ~after).sum())
                yield GroupChange(names, groups.texts(codes), *map(int, counts))


def _attribute_sets(protected: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Every attribute alone, and all together."""
    alone = tuple((name,) for name in protected)
    return (*alone, protected) if len(protected) > 1 else alone


def _figures(held: Dataset, scope: Scope, favourable: int, was: BoolArray, now: BoolArray) -> dict[str, Any]:
    """Group figures before and after, of the attribute sets that are few enough groups to be read."""
    actual = np.asarray(held.labels == favourable)
    sets = _sets_with_figures(held, scope.protected)
    if not sets:
        return {}
    try:
        reports = [
            group_figures(
                held,
                scope,
                GroupDecisions(decided, actual, np.ones(len(held.rows), dtype=bool)),
                FigureSettings(sets),
            )
            for decided in (was, now)
        ]
    except InputError:
        return {}
    before, after = map(report_to_json, reports)
    return {"before": before, "after": after}


def _sets_with_figures(held: Dataset, protected: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Attributes alone, as far as their groups are ``MAX_GROUPS`` together, and the intersection where it has few
    groups.
    """
    codes = ProtectedGroups(held.schema, protected).codes(held.rows)
    chosen: list[tuple[str, ...]] = []
    n_groups = 0
    for i, name in enumerate(protected):
        n_own = len(np.unique(codes[:, i]))
        if n_groups + n_own <= MAX_GROUPS:
            chosen.append((name,))
            n_groups += n_own
    n_together = len(np.unique(codes, axis=0))
    if len(protected) > 1 and n_together <= _MOST_TOGETHER and n_groups + n_together <= MAX_GROUPS:
        chosen.append(protected)
    return tuple(chosen)
