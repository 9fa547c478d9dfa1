"""Who is in a review beside its owner, and as what."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select

from fairness_engine.errors import RoleError, RunError, SettingError
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import put
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.people.roles import NOBODY, Role, name_of, typed_name
from fairness_engine.store.records import to_time

MAX_MEMBERS = 200

_MEMBERS = tables.review_members


@dataclass(frozen=True)
class Member:
    """A person whom the owner of a review added.

    Args:
        person: as ``roles.name_of`` gives it.
        added_by: by whom.
    """

    person: str
    role: Role
    added: datetime
    added_by: str


class MemberTable:
    """The part of the run store that knows who may do what."""

    engine: Engine
    stand: Stand

    @while_unchanged
    def role(self, review_id: str, person: str) -> Role | None:
        """What a person is in a review; ``None`` for nobody in it. A review that nobody signed in for is changed by
        whoever has its link.

        Raises:
            RunError: there is no such review.
        """
        reviews = tables.reviews.c
        with self.engine.connect() as connection:
            owner = connection.scalar(select(reviews.owner).where((reviews.id == review_id) & ~reviews.is_deleted))
            if owner is None:
                raise RunError("There is no such review in this workspace. Open one from the Start page.")
            if owner == person:
                return Role.OWNER
            if owner in NOBODY:
                return Role.REVIEWER
            if person in NOBODY:
                return None
            held = connection.scalar(select(_MEMBERS.c.role).where(_is(review_id, name_of(person))))
        return None if held is None else Role(held)

    def members(self, review_id: str) -> list[Member]:
        """Everybody in a review beside its owner, as they were added."""
        query = select(_MEMBERS).where(_MEMBERS.c.review_id == review_id).order_by(_MEMBERS.c.added, _MEMBERS.c.person)
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
        return [Member(row.person, Role(row.role), to_time(row.added), row.added_by) for row in rows]

    def set_member(self, review_id: str, person: str, role: Role, added_by: str) -> None:
        """Add a person to a review, or give a member another role.

        Args:
            person: the name that the person signs in with, as typed.
            role: reviewer or reader.
            added_by: the owner's name.

        Raises:
            SettingError: a name that is nobody's or the owner's own, or too many people.
            RunError: there is no such review.
            RoleError: the review has no owner who signed in.
        """
        name = typed_name(person)
        if Role(role) is Role.OWNER:
            raise SettingError("A review has one owner, who made it, got another. Add a reviewer or a reader.")
        reviews = tables.reviews.c
        with self.engine.begin() as connection:
            owner = connection.scalar(select(reviews.owner).where((reviews.id == review_id) & ~reviews.is_deleted))
            if owner is None:
                raise RunError("There is no such review in this workspace. Open one from the Start page.")
            if owner in NOBODY:
                raise RoleError("People are added to the review of a person who signed in; nobody did for this one.")
            if name == name_of(owner):
                raise SettingError("The owner of a review is in it already. Add somebody else.")
            others = (_MEMBERS.c.review_id == review_id) & (_MEMBERS.c.person != name)
            if (connection.scalar(select(func.count()).where(others)) or 0) >= MAX_MEMBERS:
                raise SettingError(f"A review has at most {MAX_MEMBERS} people, got one more. Remove one first.")
            key = {"review_id": review_id, "person": name}
            new = {"added": time.time(), "added_by": added_by}
            put(connection, _MEMBERS, key, {"role": Role(role).value}, only_new=new)

    def remove_member(self, review_id: str, person: str) -> None:
        """Take a person out of a review; nothing happens when they are not in it. Their runs, notes and decisions
        stay.
        """
        with self.engine.begin() as connection:
            connection.execute(delete(_MEMBERS).where(_is(review_id, name_of(person))))

    def leave_review(self, review_id: str, person: str) -> None:
        """What ``remove_member`` does, by the person themselves."""
        self.remove_member(review_id, person)


def is_open_to(person: str) -> ColumnElement[bool]:
    """The condition on a line of ``reviews`` that a person made it or was added to it."""
    mine = tables.reviews.c.owner == person
    if person in NOBODY:
        return mine
    added = select(_MEMBERS.c.review_id).where(_MEMBERS.c.person == name_of(person))
    return mine | tables.reviews.c.id.in_(added)


def roles_of(connection: Connection, person: str) -> dict[str, Role]:
    """What a person is in each review that they were added to, by its id."""
    if person in NOBODY:
        return {}
    query = select(_MEMBERS.c.review_id, _MEMBERS.c.role).where(_MEMBERS.c.person == name_of(person))
    return {review_id: Role(role) for review_id, role in connection.execute(query)}


def forget_members(connection: Connection, review_id: str) -> None:
    """Take everybody out of a review that is being deleted."""
    connection.execute(delete(_MEMBERS).where(_MEMBERS.c.review_id == review_id))


def _is(review_id: str, name: str) -> ColumnElement[bool]:
    return (_MEMBERS.c.review_id == review_id) & (_MEMBERS.c.person == name)
