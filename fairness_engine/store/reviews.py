"""Reviews, and the identity terms that go with them."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, bindparam, delete, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from fairness_engine.data.schema import Schema
from fairness_engine.errors import InputError, RunError, StaleReviewError
from fairness_engine.oracle.domain import Scope
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import put
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.people.members import forget_members, is_open_to, roles_of
from fairness_engine.store.people.roles import LOCAL_OWNER, Role
from fairness_engine.store.records import AnswersSource, Review, ReviewLine, ReviewTerms, to_time

_MAX_NAME = 200
_MAX_KNOWN = 1_000
_KNOWN: dict[str, Review] = {}
"""Reviews as last read, by their id, which is random and never given twice: a page asks for the same one several times
at every click, and only a change of it makes another."""
_KEPT = (tables.reviews.c.id == bindparam("review_id")) & ~tables.reviews.c.is_deleted
_CHANGED = select(tables.reviews.c.changed, tables.reviews.c.revision).where(_KEPT)
_WHOLE = select(tables.reviews).where(_KEPT)


_STATES = tables.review_states
_MAX_STATES = 20
"""Changes of a review that can be taken back."""


class ReviewTable:
    """The part of the run store that keeps reviews."""

    engine: Engine
    workspace: Path
    stand: Stand

    def create_review(self, name: str, owner: str = LOCAL_OWNER) -> Review:
        """A new, empty review with an id that cannot be guessed."""
        with self.engine.begin() as connection:
            review_id = _insert(connection, name, owner)
        return self.review(review_id)

    @while_unchanged
    def review(self, review_id: str) -> Review:
        """A review by its id.

        Raises:
            RunError: there is none, or it was deleted.
        """
        this = {"review_id": review_id}
        with self.engine.connect() as connection:
            stand = connection.execute(_CHANGED, this).one_or_none()
            known = _KNOWN.get(review_id)
            if (
                known is not None
                and stand is not None
                and (known.changed, known.revision) == (to_time(stand[0]), stand[1])
            ):
                return known
            row = connection.execute(_WHOLE, this).one_or_none()
        if row is None:
            raise RunError("There is no such review in this workspace. Open one from the Start page.")
        if len(_KNOWN) >= _MAX_KNOWN:
            _KNOWN.clear()
        _KNOWN[review_id] = review = _review(row)
        return review

    def reviews(self, owner: str = LOCAL_OWNER) -> list[Review]:
        """All reviews that a person made or was added to, the last changed first; one whose columns cannot be read is
        listed without them, so that the others can be opened and it be deleted.
        """
        table = tables.reviews
        query = select(table).where(is_open_to(owner) & ~table.c.is_deleted).order_by(table.c.changed.desc())
        with self.engine.connect() as connection:
            return [_review(row, must_be_readable=False) for row in connection.execute(query)]

    @while_unchanged
    def review_lines(self, owner: str = LOCAL_OWNER) -> list[ReviewLine]:
        """What a list says of the reviews that a person made or was added to, archived ones too, the last changed
        first.
        """
        here = tables.reviews.c
        data = tables.files.alias("data")
        model = tables.files.alias("model")
        query = (
            select(here.id, here.name, here.changed, data.c.name, model.c.name, here.is_archived, here.owner)
            .select_from(
                tables.reviews.outerjoin(data, data.c.id == here.data_id).outerjoin(model, model.c.id == here.model_id)
            )
            .where(is_open_to(owner) & ~here.is_deleted)
            .order_by(here.changed.desc())
        )
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
            roles = roles_of(connection, owner)
        return [
            ReviewLine(
                row[0], row[1], to_time(row[2]), row[3], row[4], bool(row[5]), row[6], roles.get(row[0], Role.OWNER)
            )
            for row in rows
        ]

    def unused_name(self, name: str, owner: str = LOCAL_OWNER) -> str:
        """A name that no review in a person's list has: as given, or with a number behind it, ``Loans (2)``."""
        taken = {line.name for line in self.review_lines(owner)}
        if _title(name) not in taken:
            return _title(name)
        plain = re.sub(r" \(\d+\)$", "", _title(name))
        numbered = (f"{plain[: _MAX_NAME - 8]} ({number})" for number in itertools.count(2))
        return next(each for each in numbered if each not in taken)

    def duplicate_review(self, review_id: str, owner: str | None = None) -> Review:
        """A review that asks the same: data, columns, model, scope and fit, with the review's own terms, known answers
        and named groups. Its runs stay where they are, and with them what was pinned, decided and said.

        It belongs to whoever copied it, and nobody else is in it: the people of a review were let into that one, and
        who leads the copy says who sees what it will find. Its files count for its owner as if uploaded. A person
        keeps a copy when they are taken out of the review it was made of, so that a reader makes none
        (``people.guard``).

        Args:
            owner: of the copy; ``None`` is the owner of the review.

        Raises:
            RunError: there is no such review, or its columns cannot be read.
        """
        held = self.review(review_id)
        owner = held.owner if owner is None else owner
        name = self.unused_name(held.name, owner)
        answers = self.answers(review_id)
        with self.engine.begin() as connection:
            copied_id = _insert(connection, name, owner, **_content(held))
            if owner not in (held.owner, LOCAL_OWNER):
                _note_files(connection, owner, held, answers)
            for table in (tables.review_terms, tables.review_answers, tables.cohorts):
                kept = [column for column in table.c if column.name not in ("id", "review_id")]
                theirs = select(literal(copied_id), *kept).where(table.c.review_id == review_id)
                names = ["review_id", *(column.name for column in kept)]
                connection.execute(insert(table).from_select(names, theirs))
        return self.review(copied_id)

    def archive_review(self, review_id: str, *, is_archived: bool = True) -> None:
        """Put a review aside, or take it back. Nothing of it changes, and its link opens it."""
        self._change(review_id, {"is_archived": is_archived})

    def save_review(self, review: Review) -> Review:
        """Store what changed (files, schema, scope, fit, stage); returns it as stored. What was there before can be had
        again by ``undo_review``. A name is given by ``rename_review``.

        Raises:
            RunError: there is no such review.
            StaleReviewError: it was changed since this one was read; nothing is stored.
        """
        held = self.review(review.id)
        values = _content(review)
        if _content(held) == values:
            return held
        with self.engine.begin() as connection:
            if held.revision != review.revision or not _replace(connection, held, values):
                connection.rollback()
                raise _stale(review, self.review(review.id))
            left = {"changed": time.time(), "content": _content(held)}
            connection.execute(insert(_STATES).values(review_id=review.id, revision=held.revision, **left))
            kept = select(_STATES.c.revision).where(_STATES.c.review_id == review.id)
            kept = kept.order_by(_STATES.c.revision.desc()).limit(_MAX_STATES)
            earlier = (_STATES.c.review_id == review.id) & _STATES.c.revision.not_in(connection.scalars(kept).all())
            connection.execute(delete(_STATES).where(earlier))
        return self.review(review.id)

    def states_before(self, review_id: str) -> list[tuple[Review, datetime]]:
        """What a review was before each of its last changes that were not undone, the newest first, and when it was
        left.
        """
        query = select(_STATES).where(_STATES.c.review_id == review_id).order_by(_STATES.c.revision.desc())
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
        review = self.review(review_id)
        known = [(row, content) for row in rows if (content := _readable(row.content)) is not None]
        return [(replace(review, revision=row.revision, **content), to_time(row.changed)) for row, content in known]

    def undo_review(self, review: Review, revision: int | None = None) -> Review:
        """Take changes back: files, schema, scope and confirmed fit are what they were; returns the review as stored.

        Args:
            review: as it stands.
            revision: of the state to go back to, one of ``states_before``; ``None`` takes the last change back.

        Raises:
            RunError: there is no such review, or no such state.
            StaleReviewError: it was changed since this one was read; nothing is taken back.
        """
        of_review = _STATES.c.review_id == review.id
        query = select(_STATES).where(of_review).order_by(_STATES.c.revision.desc()).limit(1)
        with self.engine.begin() as connection:
            row = connection.execute(
                query if revision is None else query.where(_STATES.c.revision == revision)
            ).one_or_none()
            if row is None:
                raise RunError("This review has no such change to take back: it was taken back, or is too long ago.")
            if not _replace(connection, review, row.content):
                connection.rollback()
                raise _stale(review, self.review(review.id))
            connection.execute(delete(_STATES).where(of_review & (_STATES.c.revision >= row.revision)))
        return self.review(review.id)

    def rename_review(self, review_id: str, name: str) -> None:
        """Give a review another name."""
        self._change(review_id, {"name": _title(name), "changed": time.time()})

    def delete_review(self, review_id: str) -> None:
        """Take a review off the list, of everybody who was in it. Its runs and files stay in the workspace."""
        self._change(review_id, {"is_deleted": True})

    def _change(self, review_id: str, values: dict[str, Any]) -> None:
        kept = (tables.reviews.c.id == review_id) & ~tables.reviews.c.is_deleted
        with self.engine.begin() as connection:
            changed = connection.execute(update(tables.reviews).where(kept).values(**values)).rowcount
            if values.get("is_deleted"):
                forget_members(connection, review_id)
        if not changed:
            raise RunError("There is no such review in this workspace. Open one from the Start page.")

    # --- terms ----------------------------------------------------------------------------

    def set_terms(self, review_id: str, terms: ReviewTerms | None) -> None:
        """Keep a review's own identity terms; ``None`` goes back to the project's list.

        Raises:
            RunError: there is no such review.
        """
        self._keep_content(tables.review_terms, review_id, None if terms is None else terms.to_json())

    def terms(self, review_id: str) -> ReviewTerms | None:
        """A review's own identity terms; ``None`` where it has none."""
        content = self._content(tables.review_terms, review_id)
        return None if content is None else ReviewTerms.from_json(content)

    # --- known answers --------------------------------------------------------------------

    def set_answers(self, review_id: str, source: AnswersSource | None) -> None:
        """Keep where a review's known answers are; ``None`` takes them away.

        Raises:
            RunError: there is no such review.
        """
        content = None if source is None else {"file_id": source.file_id, "column": source.column}
        self._keep_content(tables.review_answers, review_id, content)

    def answers(self, review_id: str) -> AnswersSource | None:
        """Where a review's known answers are; ``None`` where it has none."""
        content = self._content(tables.review_answers, review_id)
        return None if content is None else AnswersSource(content.get("file_id"), content.get("column"))

    def _keep_content(self, table: Table, review_id: str, content: dict[str, Any] | None) -> None:
        """Replace what a table beside the reviews holds of one of them; ``None`` takes it away."""
        try:
            with self.engine.begin() as connection:
                if content is None:
                    connection.execute(delete(table).where(table.c.review_id == review_id))
                else:
                    put(connection, table, {"review_id": review_id}, {"content": content})
        except IntegrityError:
            raise RunError("There is no such review in this workspace. Open one from the Start page.") from None

    def _content(self, table: Table, review_id: str) -> Any:
        """What a table beside the reviews holds of one of them; ``None`` for nothing."""
        with self.engine.connect() as connection:
            return connection.scalar(select(table.c.content).where(table.c.review_id == review_id))


def _insert(connection: Connection, name: str, owner: str, **content: Any) -> str:
    """A new line; returns its id.

    Raises:
        RunError: the owner's name is too long.
    """
    if len(owner) > _MAX_NAME:  # a part of it may be somebody else's
        raise RunError(f"The owner of a review must be a name of at most {_MAX_NAME} characters, got {len(owner)}.")
    review_id = secrets.token_hex(10)
    now = time.time()
    values = {"name": _title(name), "owner": owner, "created": now, "changed": now, **content}
    connection.execute(insert(tables.reviews).values(id=review_id, **values))
    return review_id


def _note_files(connection: Connection, owner: str, copied: Review, answers: AnswersSource | None) -> None:
    """Note the files of a review as brought by whoever copied it."""
    for file_id in {copied.data_id, copied.model_id, None if answers is None else answers.file_id} - {None}:
        put(connection, tables.uploads, {"owner": owner, "file_id": file_id}, {}, only_new={"created": time.time()})


def _title(name: str) -> str:
    shown = "".join(character for character in name if character.isprintable()).strip()
    return shown[:_MAX_NAME] or "Untitled review"


def _content(review: Review) -> dict[str, Any]:
    """What of a review is saved and taken back, as the columns hold it."""
    return {
        "data_id": review.data_id,
        "model_id": review.model_id,
        "schema": review.schema and review.schema.to_json(),
        "scope": review.scope and review.scope.to_json(),
        "fit": review.fit,
        "stage": review.stage,
    }


def _replace(connection: Connection, before: Review, values: Mapping[str, Any]) -> bool:
    """Put something else in the place of one revision of a review; false when it is not the last one any more."""
    here = (tables.reviews.c.id == before.id) & ~tables.reviews.c.is_deleted
    here &= tables.reviews.c.revision == before.revision
    changed = update(tables.reviews).where(here).values(**values, changed=time.time(), revision=before.revision + 1)
    return connection.execute(changed).rowcount == 1


def _stale(wanted: Review, held: Review) -> StaleReviewError:
    return StaleReviewError(
        f"This review was changed at {held.changed.astimezone():%H:%M}, from another tab or program, after it was read "
        "here. Nothing was saved: read it again, then change it.",
        wanted,
        held,
    )


def _review(row: Row[Any], *, must_be_readable: bool = True) -> Review:
    content = _readable(row._mapping)
    if content is None:
        if must_be_readable:
            raise RunError(
                f"The columns and the scope of the review '{row.name[:60]}' must be as they were written, but cannot "
                "be read. Start a new review with its files."
            )
        content = {**dict.fromkeys(("data_id", "model_id", "fit", "schema", "scope")), "stage": ""}
    return Review(
        id=row.id,
        name=row.name,
        owner=row.owner,
        created=to_time(row.created),
        changed=to_time(row.changed),
        revision=row.revision,
        **content,
    )


def _readable(content: Mapping[Any, Any]) -> dict[str, Any] | None:
    """What ``_content`` wrote, as the fields of a review; ``None`` where it cannot be."""
    try:
        return {
            **{name: content[name] for name in ("data_id", "model_id", "fit", "stage")},
            "schema": Schema.from_json(content["schema"]) if content["schema"] else None,
            "scope": Scope.from_json(content["scope"]) if content["scope"] else None,
        }
    except (AttributeError, KeyError, TypeError, ValueError, InputError):
        return None
