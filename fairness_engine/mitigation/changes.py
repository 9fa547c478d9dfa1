"""Who is decided differently by the new model: group by group, and what became of the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.events import Pairs
from fairness_engine.mitigation.measure import Meter
from fairness_engine.mitigation.parts import Parts
from fairness_engine.models.model import Model

if TYPE_CHECKING:
    from fairness_engine.mitigation.run import Subject


@dataclass(frozen=True)
class GroupChange:
    """One group of held-out rows.

    Args:
        names: attributes.
        labels: what people read, one text an attribute.
        n: rows.
        n_before, n_after: decided for the person by each model.
        n_better, n_worse: rows that got the favourable decision, and that lost it.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    n: int
    n_before: int
    n_after: int
    n_better: int
    n_worse: int


@dataclass(frozen=True)
class Changes:
    """What changed.

    Args:
        groups: of every protected attribute.
        n_cases, n_fixed: pairs used as cases, and those whose person is decided alike now.
    """

    groups: tuple[GroupChange, ...]
    n_cases: int
    n_fixed: int

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text."""
        groups = [{**vars(one), "names": list(one.names), "labels": list(one.labels)} for one in self.groups]
        return {"groups": groups, "n_cases": self.n_cases, "n_fixed": self.n_fixed}


def changes(subject: Subject, model: Model, parts: Parts, meter: Meter, cases: Pairs) -> Changes:
    """Compare the decisions of both models on the held-out rows, and replay the cases through the new one."""
    rows = subject.dataset.rows[parts.test]
    before, after = (one.decide(one.scores(rows)) == one.favourable for one in (subject.model, model))
    groups: list[GroupChange] = []
    schema = subject.dataset.schema
    for name, index in zip(subject.domain.scope.protected, subject.domain.protected, strict=True):
        column = schema.column(name)
        for value in np.unique(rows[:, index]):
            here = rows[:, index] == value
            was, now = before[here], after[here]
            counts = (len(was), was.sum(), now.sum(), (~was & now).sum(), (was & ~now).sum())
            groups.append(GroupChange((name,), (column.text(value),), *map(int, counts)))
    n_fixed = int((~meter.verdicts(model, cases.first)).sum()) if len(cases) else 0
    return Changes(tuple(groups), len(cases), n_fixed)
