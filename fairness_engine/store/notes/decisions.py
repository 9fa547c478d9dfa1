"""What people decided and said about findings. Nothing is changed or taken away: the last decision holds, and the
others are its history.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import date
from typing import Any

from sqlalchemy import Engine, Row, Table, insert, select
from sqlalchemy.exc import IntegrityError

from fairness_engine.errors import RunError, SettingError
from fairness_engine.store import tables
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.records import Comment, Decision, DecisionKind, to_time

MAX_TEXT = 5_000
MAX_NAME = 200


class DecisionTable:
    """The part of the run store that keeps decisions and comments."""

    engine: Engine
    stand: Stand

    def add_decision(
        self,
        review_id: str,
        finding: str,
        kind: DecisionKind,
        reason: str,
        name: str,
        statement: str,
        run_ids: Sequence[str] = (),
        expires: date | None = None,
    ) -> None:
        """Note what a person decided.

        Args:
            finding: key of it.
            reason, name: why, and who; neither may be empty.
            statement, run_ids: the finding as it reads now, and its evidence.
            expires: the last day on which it holds.

        Raises:
            SettingError: no reason or no name, or one that is too long.
            RunError: there is no such review.
        """
        values = {
            "finding": finding,
            "decision": DecisionKind(kind).value,
            "reason": _text("reason", reason, MAX_TEXT),
            "name": _text("name", name, MAX_NAME),
            "expires": None if expires is None else expires.isoformat(),
            "statement": statement[:MAX_TEXT],
            "run_ids": list(run_ids),
        }
        self._add(tables.decisions, review_id, values)

    @while_unchanged
    def decisions(self, review_id: str) -> list[Decision]:
        """All decisions of a review, the oldest first."""
        return [_decision(row) for row in self._lines(tables.decisions, review_id)]

    def standing_decisions(self, review_id: str) -> dict[str, Decision]:
        """The last decision about each finding, by its key."""
        return {decision.finding: decision for decision in self.decisions(review_id)}

    def add_comment(self, review_id: str, finding: str, name: str, text: str) -> None:
        """Note what a person says of a finding.

        Raises:
            SettingError: no text or no name, or one that is too long.
            RunError: there is no such review.
        """
        values = {"finding": finding, "name": _text("name", name, MAX_NAME), "text": _text("comment", text, MAX_TEXT)}
        self._add(tables.comments, review_id, values)

    @while_unchanged
    def comments(self, review_id: str) -> list[Comment]:
        """All comments of a review, the oldest first."""
        rows = self._lines(tables.comments, review_id)
        return [Comment(row.review_id, row.finding, row.name, row.text, to_time(row.created)) for row in rows]

    def _add(self, table: Table, review_id: str, values: dict[str, Any]) -> None:
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(table).values(review_id=review_id, created=time.time(), **values))
        except IntegrityError:
            raise RunError("A decision needs a review of this workspace. Open the review again.") from None

    def _lines(self, table: Table, review_id: str) -> Sequence[Row[Any]]:
        query = select(table).where(table.c.review_id == review_id).order_by(table.c.id)
        with self.engine.connect() as connection:
            return connection.execute(query).all()


def _text(what: str, text: str, most: int) -> str:
    text = text.strip()
    if not 0 < len(text) <= most:
        got = f"{len(text):,} characters" if text else "none"
        raise SettingError(f"The {what} must be a text of at most {most:,} characters, got {got}. Write it down.")
    return text


def _decision(row: Row[Any]) -> Decision:
    try:
        expires = None if row.expires is None else date.fromisoformat(row.expires)
        kind = DecisionKind(row.decision)
    except ValueError:
        raise RunError(
            f"A decision in the run store must be as it was written, got '{row.decision}' until '{row.expires}': the "
            "store was changed or is damaged. Restore a copy."
        ) from None
    told = (row.reason, row.name, expires, row.statement, tuple(map(str, row.run_ids)))
    return Decision(row.review_id, row.finding, kind, *told, to_time(row.created))
