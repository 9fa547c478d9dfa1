"""Pairs and rule sets that a person kept, with a note."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, Row, Table, delete, select
from sqlalchemy.exc import IntegrityError

from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import put
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.records import Pin, RulePin, to_time


class PinTable:
    """The part of the run store that keeps pins."""

    engine: Engine
    stand: Stand

    def set_pin(self, review_id: str, run_id: str, pair_index: int, note: str = "") -> None:
        """Pin a pair, or change the note of a pinned one.

        Args:
            pair_index: position among the run's pairs, 0 or more, in the order of discovery.

        Raises:
            RunError: there is no such review or run.
        """
        self._set(tables.pins, {"review_id": review_id, "run_id": run_id, "pair_index": pair_index}, note)

    def remove_pin(self, review_id: str, run_id: str, pair_index: int) -> None:
        """Take a pin away; nothing happens when there is none."""
        self._remove(tables.pins, {"review_id": review_id, "run_id": run_id, "pair_index": pair_index})

    @while_unchanged
    def pins(self, review_id: str) -> list[Pin]:
        """All pins of a review, the oldest first."""
        rows = self._pins(tables.pins, review_id, "pair_index")
        return [Pin(row.review_id, row.run_id, row.pair_index, row.note, to_time(row.created)) for row in rows]

    def set_rule_pin(self, review_id: str, run_id: str, rule_index: int, note: str = "") -> None:
        """Pin a rule set, or change the note of a pinned one.

        Args:
            rule_index: position among the run's rule sets, 0 or more, the highest score first.

        Raises:
            RunError: there is no such review or run.
        """
        self._set(tables.rule_pins, {"review_id": review_id, "run_id": run_id, "rule_index": rule_index}, note)

    def remove_rule_pin(self, review_id: str, run_id: str, rule_index: int) -> None:
        """Take the pin of a rule set away; nothing happens when there is none."""
        self._remove(tables.rule_pins, {"review_id": review_id, "run_id": run_id, "rule_index": rule_index})

    @while_unchanged
    def rule_pins(self, review_id: str) -> list[RulePin]:
        """All pinned rule sets of a review, the oldest first."""
        rows = self._pins(tables.rule_pins, review_id, "rule_index")
        return [RulePin(row.review_id, row.run_id, row.rule_index, row.note, to_time(row.created)) for row in rows]

    def _set(self, table: Table, key: dict[str, Any], note: str) -> None:
        try:
            with self.engine.begin() as connection:
                put(connection, table, key, {"note": note}, only_new={"created": time.time()})
        except IntegrityError:
            raise RunError("A pin needs a review and a run of this workspace. Open the review again.") from None

    def _remove(self, table: Table, key: dict[str, Any]) -> None:
        with self.engine.begin() as connection:
            connection.execute(delete(table).where(_is(table, key)))

    def _pins(self, table: Table, review_id: str, index: str) -> Sequence[Row[Any]]:
        query = select(table).where(table.c.review_id == review_id).order_by(table.c.created, table.c[index])
        with self.engine.connect() as connection:
            return connection.execute(query).all()


def _is(table: Table, key: dict[str, Any]) -> Any:
    """The condition that a line has this key."""
    first, *others = (table.c[name] == value for name, value in key.items())
    for condition in others:
        first &= condition
    return first
