"""Who is in a review, and what each may do to it: the store refuses, whatever a page offers."""

from __future__ import annotations

import contextlib
import inspect
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, text, update

from fairness_engine.errors import RoleError, RunError, SettingError
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, limits
from fairness_engine.runs.adoption import discard_version, keep_version, undo_change
from fairness_engine.runs.queue import start_queued
from fairness_engine.store import tables
from fairness_engine.store.environment import MAX_WAITING_VARIABLE
from fairness_engine.store.people import guard
from fairness_engine.store.people.guard import OF_NO_REVIEW, READS, PersonalStore, public_methods
from fairness_engine.store.people.members import MAX_MEMBERS
from fairness_engine.store.people.roles import LOCAL_OWNER, UNLISTED_OWNER, Role
from fairness_engine.store.records import (
    AnswersSource,
    DecisionKind,
    FileRole,
    Review,
    ReviewTerms,
    RunState,
    VersionState,
)
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from store_cases import SCHEMA

pytestmark = pytest.mark.thorough

ANN = "ann@example.org"
BEN = "ben@example.org"
CLEO = "cleo@example.org"
DAN = "dan@example.org"
READER_SENTENCE = f"You read this review; a reviewer or its owner changes it. Ask {ANN} to make you a reviewer."


class Team:
    """A review of Ann's with a search; Ben reviews it, Cleo reads it, Dan is not in it."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.review = store.create_review("Loans", ANN)
        store.set_member(self.review.id, BEN, Role.REVIEWER, ANN)
        store.set_member(self.review.id, CLEO, Role.READER, ANN)
        data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
        model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
        whole = replace(self.review, data_id=data.id, model_id=model.id, schema=SCHEMA, scope=Scope(("sex",)))
        self.review = store.save_review(whole)
        self.config: RunConfig = kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random")
        self.run_id = store.create_run(self.config, self.review.id)
        store.set_version(self.run_id, model.id, model.id)

    def of(self, person: str) -> PersonalStore:
        """The store as a page of theirs has it."""
        return PersonalStore(self.store, person)


@pytest.fixture
def team(store: RunStore) -> Team:
    return Team(store)


def lines(store: RunStore) -> dict[str, list[Any]]:
    """Everything in the database."""
    with store.engine.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table)).all()), key=repr)
            for table in tables.metadata.sorted_tables
        }


def arguments(team: Team, method: Callable[..., Any]) -> dict[str, Any]:
    """Something for each parameter that has no default: of a method that comes later, by its name and type."""
    known: dict[str, Any] = {
        "review_id": team.review.id,
        "run_id": team.run_id,
        "review": replace(team.review, stage="later"),
        "config": team.config,
        "role": Role.READER,
        "person": DAN,
        "added_by": CLEO,
        "owner": CLEO,
    }
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return {each.name: known.get(each.name) for each in parameters if each.default is each.empty or each.name in known}


WRITES = sorted(set(public_methods()) - READS - {"close"})


def test_the_lists_of_the_guard_name_what_there_is() -> None:
    methods = set(public_methods())
    assert methods >= READS | guard.OF_THE_OWNER | OF_NO_REVIEW
    assert not READS & (guard.OF_THE_OWNER | OF_NO_REVIEW)
    assert len(WRITES) > 30


@pytest.mark.parametrize("name", sorted(set(WRITES) - OF_NO_REVIEW - {"leave_review"}))
def test_a_reader_and_a_stranger_write_nothing(team: Team, name: str) -> None:
    """Every method that the store offers and that is not said to read, found by looking, so that none is forgotten."""
    before = lines(team.store)
    folders = sorted(team.store.workspace.rglob("*"))
    for person in (CLEO, DAN, UNLISTED_OWNER):
        given = arguments(team, getattr(RunStore, name)) | {"owner": person}
        given = {
            key: value for key, value in given.items() if key in inspect.signature(getattr(RunStore, name)).parameters
        }
        with pytest.raises(RoleError) as refused:
            getattr(team.of(person), name)(**given)
        if person == CLEO and name in guard.OF_THE_OWNER:
            assert str(refused.value).endswith(f"you are a reader. Ask {ANN} to do it.")
        elif person == CLEO and {"review_id", "review", "run_id"} & given.keys():
            assert str(refused.value) == READER_SENTENCE
    assert lines(team.store) == before
    assert sorted(team.store.workspace.rglob("*")) == folders


@pytest.mark.parametrize("name", sorted(READS))
def test_what_is_said_to_read_changes_no_line(team: Team, name: str) -> None:
    """On connections that refuse to write: one that is named among those that read by mistake is found."""
    reader = team.of(CLEO)
    before = lines(team.store)
    given = arguments(team, getattr(RunStore, name))
    given |= {key: "x" for key, value in given.items() if value is None}
    given |= {key: [team.review.id] for key in given if key == "review_ids"}
    call = (RunState.QUEUED,) if name == "runs_in" else ()
    given = {} if name == "runs_in" else given
    with contextlib.suppress(RunError):  # there is no such thing
        getattr(reader, name)(*call, **given)
    assert lines(team.store) == before


@pytest.mark.parametrize("table", tables.metadata.sorted_tables, ids=lambda table: table.name)
def test_nobody_writes_past_the_methods(team: Team, table: Any) -> None:
    before = lines(team.store)
    for person in (ANN, CLEO):
        values = {column.name: "1" for column in table.primary_key}
        for statement in (
            insert(table).values(values),
            update(table).values(values),
            delete(table),
            text(f"DELETE FROM {table.name}"),
            text(f"WITH gone AS (SELECT 1) DELETE FROM {table.name}"),
        ):
            with pytest.raises(RoleError, match="got a statement that writes"), team.of(person).engine.begin() as held:
                held.execute(statement)
    assert lines(team.store) == before
    with team.store.engine.begin() as connection:
        connection.execute(text("DELETE FROM seals"))  # the server's own connections are as they were


def test_a_method_that_comes_later_is_refused_to_a_reader(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody said to read asks for a role; where it names no review, nobody may do it."""

    def frame(self: RunStore, review_id: str) -> str:
        return f"framed {review_id}"

    def sweep_all(self: RunStore) -> None:
        raise AssertionError("was done")

    monkeypatch.setattr(RunStore, "frame", frame, raising=False)
    monkeypatch.setattr(RunStore, "sweep_all", sweep_all, raising=False)
    monkeypatch.setattr(PersonalStore, "frame", guard._asking_first("frame"), raising=False)
    monkeypatch.setattr(PersonalStore, "sweep_all", guard._asking_first("sweep_all"), raising=False)
    assert team.of(BEN).frame(team.review.id) == f"framed {team.review.id}"  # type: ignore[attr-defined]
    with pytest.raises(RoleError, match="You read this review"):
        team.of(CLEO).frame(team.review.id)  # type: ignore[attr-defined]
    with pytest.raises(RoleError, match="got no review"):
        team.of(ANN).sweep_all()  # type: ignore[attr-defined]
    assert {name for name in public_methods() if name not in READS} - {"frame", "sweep_all"} <= set(vars(PersonalStore))


def test_a_reviewer_does_all_but_what_is_the_owners(team: Team) -> None:
    held = team.of(BEN)
    review = team.review.id
    held.rename_review(review, "Credit")
    saved = held.save_review(replace(held.review(review), stage="data"))
    undo_change(held, saved, held.states_before(review)[0][0].revision)
    held.set_terms(review, ReviewTerms((("age", ("old", "young")),), ("age",)))
    held.set_answers(review, AnswersSource(None, "age"))
    held.set_pin(review, team.run_id, 0, "look")
    held.remove_pin(review, team.run_id, 0)
    held.add_decision(review, "key", DecisionKind.STOP, "why", "Ben", "said")
    held.add_comment(review, "key", "Ben", "said")
    cohort = held.add_cohort(review, "the young", [Rule(column="age", low=20, high=30)], "Where")
    held.remove_cohort(review, cohort.id)
    keep_version(held, review, team.run_id, None)
    discard_version(held, review, team.run_id)
    held.request_cancel(held.create_run(team.config, review))
    assert held.review(review).name == "Credit"
    for refused in (
        lambda: held.delete_review(review),
        lambda: held.archive_review(review),
        lambda: held.set_member(review, DAN, Role.READER, BEN),
        lambda: held.set_member(review, BEN, Role.REVIEWER, BEN),
        lambda: held.remove_member(review, CLEO),
    ):
        with pytest.raises(RoleError, match=rf"Its owner alone.*you are a reviewer. Ask {ANN} to do it."):
            refused()
    team.of(ANN).archive_review(review)
    team.of(ANN).delete_review(review)


def test_a_reader_keeps_a_review_of_their_own(team: Team) -> None:
    held = team.of(CLEO)
    mine = held.create_review("Mine", CLEO)
    file = held.add_file(b"x", "x.csv", FileRole.DATA)
    held.note_upload(CLEO, file.id)
    held.save_review(replace(mine, data_id=file.id))
    run_id = held.create_run(team.config, mine.id)
    held.request_cancel(run_id)
    with pytest.raises(RoleError, match="You read this review"):
        held.set_pin(mine.id, team.run_id, 0)  # a run of the other one
    held.delete_review(mine.id)
    with pytest.raises(RoleError, match="What a person makes is their own"):
        held.create_review("Ann's?", ANN)
    with pytest.raises(RoleError, match="What a person makes is their own"):
        held.note_upload(ANN, file.id)
    with pytest.raises(RunError, match="There is no such review"):
        held.create_run(team.config, mine.id)


def test_a_run_of_the_command_line_is_not_for_pages(team: Team) -> None:
    run_id = team.store.create_run(team.config)
    with pytest.raises(RoleError, match="got one of the command line"):
        team.of(ANN).request_cancel(run_id)
    assert team.store.run(run_id).state is RunState.QUEUED


@pytest.mark.parametrize("owner", [LOCAL_OWNER, UNLISTED_OWNER])
def test_a_review_that_nobody_signed_in_for_is_changed_by_whoever_has_its_link(store: RunStore, owner: str) -> None:
    review = store.create_review("Open", owner)
    for person in (ANN, UNLISTED_OWNER):
        PersonalStore(store, person).rename_review(review.id, f"by {person}")
        assert store.review(review.id).name == f"by {person}"
    with pytest.raises(RoleError, match="the review of a person who signed in"):
        store.set_member(review.id, BEN, Role.READER, owner)
    with pytest.raises(RoleError, match="Ask its owner to do it"):
        PersonalStore(store, ANN).delete_review(review.id)


# --- people -------------------------------------------------------------------------------------


def test_addresses_are_compared_without_case_and_blanks(team: Team) -> None:
    team.store.set_member(team.review.id, "  Dan@Example.ORG ", Role.READER, ANN)
    team.store.set_member(team.review.id, "DAN@example.org", Role.REVIEWER, ANN)
    assert [(each.person, each.role, each.added_by) for each in team.store.members(team.review.id)] == [
        (BEN, Role.REVIEWER, ANN),
        (CLEO, Role.READER, ANN),
        (DAN, Role.REVIEWER, ANN),
    ]
    for name in (DAN, "Dan@Example.Org"):
        assert team.store.role(team.review.id, name) is Role.REVIEWER
        assert [line.role for line in team.store.review_lines(name)] == [Role.REVIEWER]
    team.store.remove_member(team.review.id, "DAN@EXAMPLE.ORG")
    assert team.store.role(team.review.id, DAN) is None


def test_two_people_are_not_taken_for_one(team: Team) -> None:
    """A number of an identity provider may differ by case alone; a letter may look like another."""
    for added, other in (("auth0|Ab1", "auth0|aB1"), ("kate@example.org", "\N{KELVIN SIGN}ate@example.org"),
                         ("strasse@example.org", "stra\N{LATIN SMALL LETTER SHARP S}e@example.org")):  # fmt: skip
        team.store.set_member(team.review.id, added, Role.READER, ANN)
        assert team.store.role(team.review.id, added) is Role.READER
        assert team.store.role(team.review.id, other) is None
        assert team.store.reviews(other) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "local",
        " unlisted ",
        "a\nb@example.org",
        "a\0@example.org",
        "x" * 201,
        "\N{RIGHT-TO-LEFT OVERRIDE}a@b",
    ],
)
def test_a_name_that_is_nobodys_is_refused(team: Team, name: str) -> None:
    before = lines(team.store)
    with pytest.raises(SettingError, match="A person is named as they sign in"):
        team.store.set_member(team.review.id, name, Role.READER, ANN)
    assert lines(team.store) == before


def test_the_owner_is_in_it_already_and_alone(team: Team) -> None:
    with pytest.raises(SettingError, match="is in it already"):
        team.store.set_member(team.review.id, "ANN@example.org", Role.READER, ANN)
    with pytest.raises(SettingError, match="one owner"):
        team.store.set_member(team.review.id, DAN, Role.OWNER, ANN)
    assert team.store.role(team.review.id, ANN) is Role.OWNER


def test_people_of_a_review_have_an_end(team: Team) -> None:
    for number in range(MAX_MEMBERS - 2):
        team.store.set_member(team.review.id, f"p{number}@example.org", Role.READER, ANN)
    with pytest.raises(SettingError, match=f"at most {MAX_MEMBERS} people"):
        team.store.set_member(team.review.id, DAN, Role.READER, ANN)
    team.store.set_member(team.review.id, BEN, Role.READER, ANN)  # of those who are there, the role may change
    assert team.store.role(team.review.id, BEN) is Role.READER


def test_what_is_lost_is_lost_at_once(team: Team) -> None:
    held = team.of(BEN)
    team.store.set_member(team.review.id, BEN, Role.READER, ANN)
    with pytest.raises(RoleError, match="You read this review"):
        held.rename_review(team.review.id, "no")
    team.store.remove_member(team.review.id, BEN)
    with pytest.raises(RoleError, match="you are neither"):
        held.rename_review(team.review.id, "no")
    assert held.reviews(BEN) == []
    assert held.role(team.review.id, BEN) is None


def test_a_member_leaves_alone(team: Team) -> None:
    for person, other in ((CLEO, BEN), (BEN, CLEO)):
        with pytest.raises(RoleError, match="by themselves"):
            team.of(person).leave_review(team.review.id, other)
        team.of(person).leave_review(team.review.id, person.upper())
        assert team.store.role(team.review.id, person) is None
    assert team.store.members(team.review.id) == []


def test_a_list_says_whose_a_review_is_and_as_what_it_is_open(team: Team) -> None:
    mine = team.store.create_review("Mine", CLEO)
    listed = {line.id: (line.owner, line.role) for line in team.store.review_lines(CLEO)}
    assert listed == {mine.id: (CLEO, Role.OWNER), team.review.id: (ANN, Role.READER)}
    assert {review.id for review in team.store.reviews(CLEO)} == listed.keys()
    assert [line.role for line in team.store.review_lines(ANN)] == [Role.OWNER]
    assert team.store.review_lines(DAN) == team.store.reviews(DAN) == []


def test_a_deleted_review_is_nobodys(team: Team) -> None:
    team.store.delete_review(team.review.id)
    assert team.store.members(team.review.id) == []
    assert team.store.review_lines(BEN) == []
    with pytest.raises(RunError, match="There is no such review"):
        team.store.role(team.review.id, BEN)
    with pytest.raises(RunError, match="There is no such review"):
        team.of(BEN).request_cancel(team.run_id)


def test_a_copy_belongs_to_whoever_made_it_and_nobody_else_is_in_it(team: Team) -> None:
    copied: Review = team.of(BEN).duplicate_review(team.review.id)
    assert (copied.owner, copied.data_id, copied.model_id) == (BEN, team.review.data_id, team.review.model_id)
    assert team.store.members(copied.id) == []
    assert team.store.role(copied.id, ANN) is None
    assert limits.bytes_of(team.store, BEN) == len(b"age,sex\n20,1\n") + len(b"model")
    assert team.of(ANN).duplicate_review(team.review.id).owner == ANN
    team.store.remove_member(team.review.id, BEN)
    assert team.of(BEN).review_lines(BEN)[0].id == copied.id, "a copy stays"


# --- shares -------------------------------------------------------------------------------------


def test_a_run_is_of_whoever_started_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = team.of(BEN).create_run(team.config, team.review.id, ANN)
    assert team.store.run(run_id).person == BEN
    assert team.store.run(team.run_id).person is None
    assert {person: limits.n_active_of(team.store, person) for person in (ANN, BEN, CLEO)} == {ANN: 1, BEN: 1, CLEO: 0}
    assert limits.owners_of_active(team.store) == {
        team.run_id: (ANN, team.review.id),
        run_id: (BEN, team.review.id),
    }
    monkeypatch.setenv(MAX_WAITING_VARIABLE, "1")
    limits.check_waiting(team.store, CLEO, 1)
    with pytest.raises(RunError, match="At most 1 of your runs may wait"):
        limits.check_waiting(team.of(BEN), BEN, 1)
    folder = team.store.make_run_folder(run_id)
    (folder / "pairs.parquet").write_bytes(b"x" * 1_000)
    assert (limits.bytes_of(team.store, ANN), limits.bytes_of(team.store, BEN)) == (0, 1_000)


def test_the_queue_is_the_servers_work(team: Team) -> None:
    """No page starts a worker, or ends a run for one that is gone, with the store that it is handed."""
    with pytest.raises(RoleError):
        start_queued(team.of(ANN))
    assert team.store.run(team.run_id).reserved is None


# --- earlier stores -----------------------------------------------------------------------------


def test_a_workspace_of_the_version_before_opens(tmp_path: Path) -> None:
    """As the version before left it: without the table and the column, at its migration."""
    workspace = tmp_path / "w"
    store = RunStore(workspace)
    team = Team(store)
    store.set_version_state(team.run_id, VersionState.KEPT)
    store.close()
    with sqlite3.connect(workspace / "evenhand.db") as database:
        database.execute("DROP TABLE review_members")
        database.execute("ALTER TABLE runs DROP COLUMN person")
        database.execute("UPDATE alembic_version SET version_num = '0002'")
    database.close()
    store = RunStore(workspace)
    assert store.review_lines(ANN)[0].role is Role.OWNER
    assert (store.members(team.review.id), store.review_lines(BEN)) == ([], [])
    assert store.run(team.run_id).person is None
    assert limits.n_active_of(store, ANN) == 1
    store.set_member(team.review.id, BEN, Role.REVIEWER, ANN)
    assert store.review_lines(BEN)[0].role is Role.REVIEWER
    store.close()
    with sqlite3.connect(workspace / "evenhand.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '0004'")
    database.close()
    with pytest.raises(RunError, match="must be of version 0003 or earlier, got version 0004"):
        RunStore(workspace)
