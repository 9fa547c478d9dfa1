"""The run store as one person may use it: who may only read a review writes nothing of it, whatever a page offers.

Two things stand between, and neither knows the pages. Every method of the store that is not named among ``READS``
asks for the person's role in each review that its arguments name, before it is done; one that comes later is refused
to readers until somebody says that it only reads. And what the store hands to others, its ``engine``, refuses every
statement that is no question, so that one named there by mistake, or a function that goes past the methods, writes
nothing either.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import select

from fairness_engine.errors import RoleError
from fairness_engine.store import tables
from fairness_engine.store.database.opening import only_reading
from fairness_engine.store.people.roles import NOBODY, Role, name_of
from fairness_engine.store.records import Review
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

READS = frozenset(
    {
        *("all_runs", "answers", "cohorts", "comments", "decisions", "file", "is_cancel_requested", "last_runs"),
        *("libraries", "members", "most_pairs", "n_pairs", "note", "pairs", "parts", "pins", "progress", "results"),
        *("review", "review_lines", "reviews", "role", "rule_pins", "run", "run_folder", "runs", "runs_in"),
        *("server_started", "standing_decisions", "states_before", "terms", "unreadable_runs", "unused_name"),
        *("version", "version_of_model", "versions"),
    }
)
"""Methods that anybody may ask: pages look up themselves whether a review opens to a person."""
OF_THE_OWNER = frozenset({"archive_review", "delete_review", "remove_member", "set_member"})
"""What a reviewer may not do either."""
OF_NO_REVIEW = frozenset({"add_file", "create_review", "keep_note", "note_libraries", "note_upload"})
"""What is no part of a review yet: files, notes that make the next start faster, and a new review of one's own."""


class PersonalStore(RunStore):
    """The run store for one person at a page; what they may not do is refused in a sentence.

    Args:
        store: of this server, which writes.
        person: the name that they signed in with, or ``UNLISTED_OWNER``.
    """

    def __init__(self, store: RunStore, person: str) -> None:
        self.workspace = store.workspace
        self.url = store.url
        self.patience = store.patience
        self.engine = only_reading(store.engine)
        self.stand = store.stand
        self.person = person
        self._store = store

    def create_run(self, config: RunConfig, review_id: str | None = None, person: str | None = None) -> str:  # noqa: ARG002
        """As ``RunStore.create_run``: it is this person's, whoever's the run is that it follows."""
        self.check("create_run", {"review_id": review_id})
        return self._store.create_run(config, review_id, self.person)

    def duplicate_review(self, review_id: str, owner: str | None = None) -> Review:
        """As ``RunStore.duplicate_review``: the copy is this person's."""
        self.check("duplicate_review", {"review_id": review_id} | ({} if owner is None else {"owner": owner}))
        return self._store.duplicate_review(review_id, self.person)

    def leave_review(self, review_id: str, person: str) -> None:
        """As ``RunStore.leave_review``, of this person alone."""
        if name_of(person) != name_of(self.person):
            raise RoleError("A person leaves a review by themselves. Its owner takes others out of it.")
        self._store.leave_review(review_id, person)

    def close(self) -> None:
        """Nothing: the connections are the server's."""

    def check(self, method: str, given: Mapping[str, Any]) -> None:
        """Whether this person may do something to the reviews that it names.

        Args:
            method: its name.
            given: its arguments, those that are left at their defaults among them.

        Raises:
            RoleError: they may not.
            RunError: there is no such review or run.
        """
        if given.get("owner", self.person) != self.person:
            raise RoleError("What a person makes is their own, got another's name. Sign in with that one.")
        review_ids = dict.fromkeys(self._reviews_of(given))
        if not review_ids and method not in OF_NO_REVIEW:
            raise RoleError("A page changes reviews that are open to its reader, got no review. Open one from Start.")
        for review_id in review_ids:
            self.check_role(review_id, Role.OWNER if method in OF_THE_OWNER else Role.REVIEWER)

    def check_role(self, review_id: str, needed: Role = Role.REVIEWER) -> None:
        """Whether this person is in a review as what is needed, or more.

        Raises:
            RoleError: they are not.
            RunError: there is no such review.
        """
        role = self.role(review_id, self.person)
        if role is Role.OWNER or (role is Role.REVIEWER and needed is Role.REVIEWER):
            return
        if role is None:
            raise RoleError(
                "Its owner and its reviewers change a review, and you are neither. Ask whoever gave you its link to "
                "add you."
            )
        owner = self.review(review_id).owner
        whom = "its owner" if owner in NOBODY else owner
        if needed is Role.OWNER:
            raise RoleError(
                "Its owner alone archives or deletes a review and says who is in it; you are a "
                f"{role.value}. Ask {whom} to do it."
            )
        raise RoleError(f"You read this review; a reviewer or its owner changes it. Ask {whom} to make you a reviewer.")

    def _reviews_of(self, given: Mapping[str, Any]) -> Iterator[str]:
        for name, value in given.items():
            if isinstance(value, Review):
                yield value.id
            elif name.endswith("review_id") and value is not None:
                yield value
            elif name.endswith("run_id") and value is not None:
                yield self._review_of_run(value)

    def _review_of_run(self, run_id: str) -> str:
        runs = tables.runs.c
        with self.engine.connect() as connection:
            review_id = connection.scalar(select(runs.review_id).where(runs.id == run_id))
        if review_id is None:
            review_id = self.run(run_id).review_id  # which says where there is no such run
        if review_id is None:
            raise RoleError("A page changes runs of reviews, got one of the command line. Use 'runs' there.")
        return review_id


def _asking_first(name: str) -> Callable[..., Any]:
    """A method of the store that looks up the person's roles, then has the server's store do it."""
    method = getattr(RunStore, name)
    signature = inspect.signature(method)

    @functools.wraps(method)
    def ask_first(self: PersonalStore, /, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        self.check(name, given.arguments)
        return method(self._store, *args, **kwargs)

    return ask_first


def public_methods() -> list[str]:
    """The names of what the store offers."""
    return [name for name, _ in inspect.getmembers(RunStore, inspect.isfunction) if not name.startswith("_")]


for _name in public_methods():
    if _name not in READS and _name not in vars(PersonalStore):
        setattr(PersonalStore, _name, _asking_first(_name))
