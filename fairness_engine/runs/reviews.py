"""Reviews, and the identity terms that go with them."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from fairness_engine.domain import Scope
from fairness_engine.errors import RunError
from fairness_engine.runs import tables
from fairness_engine.runs.records import Review, ReviewTerms, to_time
from fairness_engine.schema import Schema

LOCAL_OWNER = "local"
_MAX_NAME = 200
_MAX_KNOWN = 1_000
_KNOWN: dict[str, Review] = {}
"""Reviews as last read, by their id, which is random and never given twice: a page asks for the same one several times at every
click, and only a change of it makes another."""
_KEPT = (tables.reviews.c.id == bindparam("review_id")) & ~tables.reviews.c.is_deleted
_CHANGED = select(tables.reviews.c.changed).where(_KEPT)
_WHOLE = select(tables.reviews).where(_KEPT)


class ReviewShelf:
    """The part of the run store that keeps reviews."""

    engine: Engine
    workspace: Path

    def create_review(self, name: str, owner: str = LOCAL_OWNER) -> Review:
        """A new, empty review with an id that cannot be guessed."""
        review_id, now = secrets.token_hex(10), time.time()
        values = {"name": _title(name), "owner": owner, "created": now, "changed": now}
        with self.engine.begin() as connection:
            connection.execute(insert(tables.reviews).values(id=review_id, **values))
        return self.review(review_id)

    def review(self, review_id: str) -> Review:
        """A review by its id.

        Raises:
            RunError: there is none, or it was deleted.
        """
        this = {"review_id": review_id}
        with self.engine.connect() as connection:
            changed, known = connection.scalar(_CHANGED, this), _KNOWN.get(review_id)
            if known is not None and changed is not None and known.changed == to_time(changed):
                return known
            row = connection.execute(_WHOLE, this).one_or_none()
        if row is None:
            raise RunError("There is no such review in this workspace. Open one from the Start page.")
        if len(_KNOWN) >= _MAX_KNOWN:
            _KNOWN.clear()
        _KNOWN[review_id] = review = _review(row)
        return review

    def reviews(self, owner: str = LOCAL_OWNER) -> list[Review]:
        """All reviews of an owner, the last changed first."""
        table = tables.reviews
        query = select(table).where((table.c.owner == owner) & ~table.c.is_deleted).order_by(table.c.changed.desc())
        with self.engine.connect() as connection:
            return [_review(row) for row in connection.execute(query)]

    def save_review(self, review: Review) -> Review:
        """Store what changed (name, files, schema, scope, fit, stage); returns it as stored."""
        values = {
            "name": _title(review.name),
            "changed": time.time(),
            "data_id": review.data_id,
            "model_id": review.model_id,
            "schema": review.schema and review.schema.to_json(),
            "scope": review.scope and review.scope.to_json(),
            "fit": review.fit,
            "stage": review.stage,
        }
        self._change(review.id, values)
        return self.review(review.id)

    def rename_review(self, review_id: str, name: str) -> None:
        """Give a review another name."""
        self._change(review_id, {"name": _title(name), "changed": time.time()})

    def delete_review(self, review_id: str) -> None:
        """Take a review off the list. Its runs and files stay in the workspace."""
        self._change(review_id, {"is_deleted": True})

    def _change(self, review_id: str, values: dict[str, Any]) -> None:
        kept = (tables.reviews.c.id == review_id) & ~tables.reviews.c.is_deleted
        with self.engine.begin() as connection:
            changed = connection.execute(update(tables.reviews).where(kept).values(**values)).rowcount
        if not changed:
            raise RunError("There is no such review in this workspace. Open one from the Start page.")

    # --- terms ----------------------------------------------------------------------------

    def set_terms(self, review_id: str, terms: ReviewTerms | None) -> None:
        """Keep a review's own identity terms; ``None`` goes back to the project's list.

        Raises:
            RunError: there is no such review.
        """
        table = tables.review_terms
        try:
            with self.engine.begin() as connection:
                connection.execute(delete(table).where(table.c.review_id == review_id))
                if terms is not None:
                    connection.execute(insert(table).values(review_id=review_id, content=terms.to_json()))
        except IntegrityError:
            raise RunError("There is no such review in this workspace. Open one from the Start page.") from None

    def terms(self, review_id: str) -> ReviewTerms | None:
        """A review's own identity terms; ``None`` where it has none."""
        table = tables.review_terms
        with self.engine.connect() as connection:
            content = connection.scalar(select(table.c.content).where(table.c.review_id == review_id))
        return None if content is None else ReviewTerms.from_json(content)


def _title(name: str) -> str:
    shown = "".join(character for character in name if character.isprintable()).strip()
    return shown[:_MAX_NAME] or "Untitled review"


def _review(row: Row[Any]) -> Review:
    return Review(
        id=row.id,
        name=row.name,
        owner=row.owner,
        created=to_time(row.created),
        changed=to_time(row.changed),
        data_id=row.data_id,
        model_id=row.model_id,
        schema=Schema.from_json(row.schema) if row.schema else None,
        scope=Scope.from_json(row.scope) if row.scope else None,
        fit=row.fit,
        stage=row.stage,
    )
