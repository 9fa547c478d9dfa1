"""Versions of models: which retraining made which model of which."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Engine, Row, select, update

from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import Patience, put, repeatable
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.records import Version, VersionState, to_time


class VersionTable:
    """The part of the run store that keeps the lineage of models."""

    engine: Engine
    patience: Patience
    stand: Stand

    @repeatable
    def set_version(self, run_id: str, model_id: str, parent_id: str) -> None:
        """Note the model that a retraining made; a later one of the same run replaces it."""
        values = {"model_id": model_id, "parent_id": parent_id, "created": time.time()}
        with self.engine.begin() as connection:
            put(connection, tables.versions, {"run_id": run_id}, values, only_new={"state": VersionState.NEW.value})

    def version(self, run_id: str) -> Version | None:
        """The model that a retraining made; ``None`` where it made none."""
        found = self._versions(tables.versions.c.run_id == run_id)
        return found[0] if found else None

    def version_of_model(self, model_id: str) -> list[Version]:
        """The retrainings that made a model file, the newest last; empty for one that was uploaded."""
        return self._versions(tables.versions.c.model_id == model_id)

    @while_unchanged
    def versions(self, review_id: str) -> list[Version]:
        """All models that retrainings of a review made, the oldest first."""
        runs = select(tables.runs.c.id).where(tables.runs.c.review_id == review_id)
        return self._versions(tables.versions.c.run_id.in_(runs))

    def set_version_state(self, run_id: str, state: VersionState) -> None:
        """Say what became of a version.

        Raises:
            RunError: the run made none.
        """
        table = tables.versions
        with self.engine.begin() as connection:
            changed = connection.execute(
                update(table).where(table.c.run_id == run_id).values(state=state.value)
            ).rowcount
        if not changed:
            raise RunError(
                "This retraining made no model, so there is none to keep. Choose another strategy or tolerance."
            )

    @repeatable
    def _versions(self, condition: Any) -> list[Version]:
        query = select(tables.versions).where(condition).order_by(tables.versions.c.created)
        with self.engine.connect() as connection:
            return [_version(row) for row in connection.execute(query)]


def _version(row: Row[Any]) -> Version:
    return Version(row.run_id, row.model_id, row.parent_id, VersionState(row.state), to_time(row.created))
