"""Groups of people that a review keeps under a name, to be chosen on every page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, Row, delete, insert, select
from sqlalchemy.exc import IntegrityError

from fairness_engine.codec import decode, encode
from fairness_engine.errors import RunError, SettingError
from fairness_engine.store import tables
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.records import Cohort, to_time
from fairness_engine.telling.rules import Rule, Rules

MAX_COHORTS = 100
MAX_NAME = 200


class CohortTable:
    """The part of the run store that keeps cohorts."""

    engine: Engine
    stand: Stand

    def add_cohort(self, review_id: str, name: str, rules: Sequence[Rule], source: str) -> Cohort:
        """Keep a group under a name.

        Args:
            name: not empty, and no other's of this review.
            rules: one a column, one at least.
            source: where it was made, in words.

        Raises:
            SettingError: no name or no rule, a name that is there, or too many of them.
            RunError: there is no such review.
        """
        name = name.strip()
        known = self.cohorts(review_id)
        if not 0 < len(name) <= MAX_NAME:
            raise SettingError(f"A group needs a name of at most {MAX_NAME} characters, got {len(name)}. Name it.")
        if not rules:
            raise SettingError("A group needs a condition on a column, got none. Everybody is no group.")
        if any(cohort.name == name for cohort in known):
            raise SettingError(f"A group needs a name of its own, but '{name[:60]}' is there. Choose another.")
        if len(known) >= MAX_COHORTS:
            raise SettingError(f"A review keeps at most {MAX_COHORTS} groups, got one more. Remove one first.")
        values = {"name": name, "rules": encode(list(rules)), "source": source[:MAX_NAME]}
        try:
            with self.engine.begin() as connection:
                line = insert(tables.cohorts).values(review_id=review_id, created=time.time(), **values)
                key = connection.execute(line).inserted_primary_key
        except IntegrityError:
            raise RunError("A group needs a review of this workspace. Open the review again.") from None
        assert key is not None, "the table has a key"
        return next(cohort for cohort in self.cohorts(review_id) if cohort.id == key[0])

    def remove_cohort(self, review_id: str, cohort_id: int) -> None:
        """Take a group away; nothing happens when there is none."""
        table = tables.cohorts
        with self.engine.begin() as connection:
            connection.execute(delete(table).where((table.c.review_id == review_id) & (table.c.id == cohort_id)))

    @while_unchanged
    def cohorts(self, review_id: str) -> list[Cohort]:
        """All groups of a review, the oldest first."""
        table = tables.cohorts
        query = select(table).where(table.c.review_id == review_id).order_by(table.c.id)
        with self.engine.connect() as connection:
            return [_cohort(row) for row in connection.execute(query)]


def _cohort(row: Row[Any]) -> Cohort:
    try:
        rules = decode(Rules, row.rules)
    except ValueError as error:
        raise RunError(
            f"A group in the run store must be as it was written, got {error}: the store was changed or is damaged. "
            "Restore a copy."
        ) from None
    return Cohort(row.id, row.review_id, row.name, tuple(rules), row.source, to_time(row.created))
