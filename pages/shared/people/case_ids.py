"""The way back to a case: the id of a person who stands in the data, where the data has a column of ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.data.dataset import CaseIds, joined
from fairness_engine.errors import EvenhandError
from fairness_engine.oracle.domain import Domain
from pages.shared.app import session
from pages.shared.app.kept import kept
from pages.shared.review import dataset as data_files

if TYPE_CHECKING:
    from fairness_engine.arrays import FloatArray
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import Review, RunRecord


@dataclass(frozen=True)
class Index:
    """Who stands in the data.

    Args:
        people: by everything a model may take.
        alike: by everything but protected attributes; of what is linked to these, by its role.
        domain: of the pairs.
    """

    people: CaseIds
    alike: CaseIds
    domain: Domain

    @property
    def name(self) -> str:
        """Of the column of ids."""
        return self.people.name

    def by_side(self, couple: FloatArray) -> Mapping[int, str]:
        """What to say of person A and B ``(2, n_columns)``, by side, where they stand in the data."""
        return {side: said(self.name, ids) for side, ids in enumerate(self.people.of(couple)) if ids}

    def cells(self, first: FloatArray, second: FloatArray) -> list[str]:
        """Ids for a table of pairs ``(n_pairs, n_columns)`` each; behind ``≈`` where only protected attributes differ
        from the data's.
        """
        found = zip(self.people.of(first), self.people.of(second), self.alike.of(self.domain.roles(first)), strict=True)
        return [joined((*a, *b)) or (f"≈ {joined(like)}" if like else "") for a, b, like in found]

    def of_both(self, couple: FloatArray) -> str:
        """What to say where neither stands in the data but somebody does who differs in protected attributes only; else
        nothing.
        """
        ids = () if any(self.people.of(couple)) else self.alike.of(self.domain.roles(couple[:1]))[0]
        return f"Alike in everything but protected attributes, and {said(self.name, ids)}." if ids else ""


def said(name: str, ids: tuple[str, ...]) -> str:
    """Where a person stands in the data: ``in the data: Antrags-ID A-1234 and 3 more``."""
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return f"in the data: {name} {ids[0]}{more}"


def index_of(run: RunRecord) -> Index | None:
    """The ids of the data of a run; ``None`` where its data has no column of ids, or cannot be read any more."""
    review = session.current_review()
    config = run.config
    if review is None:
        return None
    return index_under(review, config.data_id, config.schema, Domain(config.schema, config.scope))


def index_under(review: Review, data_id: str, schema: Schema, domain: Domain) -> Index | None:
    """``index_of`` data under a schema, read once a session."""
    if schema.case_id is None:
        return None

    def make() -> Index | None:
        try:
            dataset = data_files.dataset_of(replace(review, data_id=data_id, schema=schema))
        except EvenhandError:
            return None
        others = np.setdiff1d(np.arange(len(schema.inputs)), domain.protected).tolist()
        if dataset.ids is None:
            return None
        in_roles = replace(dataset, rows=domain.roles(dataset.rows))
        return Index(CaseIds(dataset), CaseIds(in_roles, others), domain)

    return kept("case_ids", (data_id, schema, tuple(domain.protected.tolist()), domain.scope.links), make)
