"""What is of PostgreSQL alone: what it refuses and SQLite does not, a server that goes away, and its password."""

from __future__ import annotations

import contextlib
import itertools
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from fairness_engine.__main__ import main
from fairness_engine.errors import RunError, StoreAwayError
from fairness_engine.events import Progress
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store.database import opening
from fairness_engine.store.database.transactions import Patience
from fairness_engine.store.environment import DATABASE_VARIABLE
from fairness_engine.store.records import DecisionKind, FileRole, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from own_cluster import PASSWORD, Cluster
from store_cases import SCHEMA

pytestmark = pytest.mark.thorough

STAND_IN = "\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def team(tmp_path: Path, postgresql: Cluster) -> Iterator[RunStore]:
    """A store on PostgreSQL."""
    with postgresql.database() as url, contextlib.closing(RunStore(tmp_path / "workspace", url)) as store:
        yield store


def a_config(store: RunStore, **changes: object) -> RunConfig:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    return kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random", **changes)


# --- what both databases keep alike -------------------------------------------------------------


def test_text_of_people_is_kept_whatever_is_in_it(store: RunStore) -> None:
    review = store.create_review("r" * 300, "person\0")
    assert review.name == "r" * 200
    assert store.reviews("person\0") == store.reviews(f"person{STAND_IN}") == [review]
    said = "a\0b \N{SNOWMAN} 'x' \"y\" \\u0000 %s :name"
    store.add_comment(review.id, "key\0", "n\0", said)
    store.add_decision(review.id, "k" * 300, DecisionKind.STOP, said, "n" * 200, said * 1000)
    (comment,) = store.comments(review.id)
    assert (comment.finding, comment.name) == (f"key{STAND_IN}", f"n{STAND_IN}")
    assert comment.text == said.replace("\0", STAND_IN)
    (decision,) = store.decisions(review.id)
    assert (len(decision.finding), len(decision.name), len(decision.statement)) == (300, 200, 5_000)
    run_id = store.create_run(a_config(store), review.id)
    store.claim(run_id, "here", 1, "t")
    store.set_phase(run_id, "p\0" * 300)
    store.add_progress(run_id, Progress(1, 1.0, 1, 1, "q\0" * 300))
    store.set_result(run_id, "share", {"said": said, "half": "\ud800", "\0": [1.0, 1e300, 5e-324, 2**70]})
    assert store.results(run_id)["share"] == {"said": said, "half": "\ud800", "\0": [1.0, 1e300, 5e-324, 2**70]}
    store.finish(run_id, RunState.FAILED, message=said * 1000)
    assert store.run(run_id).message == said.replace("\0", STAND_IN) * 1000


@pytest.mark.parametrize("unknown", ["\0", "x" * 1_000, "%", "' OR 1=1 --"])
def test_what_an_address_names_and_is_not_there_is_one_sentence(store: RunStore, unknown: str) -> None:
    for ask in (store.run, store.review, store.file):
        with pytest.raises(RunError, match="There is no"):
            ask(unknown)


def test_a_number_that_is_none_is_one_sentence(store: RunStore) -> None:
    run_id = store.create_run(a_config(store))
    with pytest.raises(RunError, match="must be finite numbers"):
        store.set_result(run_id, "share", {"share": float("nan")})
    assert store.results(run_id) == {}


def test_whose_a_review_is_has_an_end(store: RunStore) -> None:
    with pytest.raises(RunError, match="at most 200 characters, got 201"):
        store.create_review("Loans", "p" * 201)


# --- a server that is not there, or goes away ---------------------------------------------------


def test_a_server_that_went_away_is_one_sentence_until_it_is_back(team: RunStore, postgresql: Cluster) -> None:
    review = team.create_review("Loans")
    for mode in ("fast", "immediate"):
        postgresql.stop(mode)
        try:
            for ask in (team.reviews, lambda: team.create_review("other"), lambda: RunStore(team.workspace, team.url)):
                with pytest.raises(
                    StoreAwayError, match=r"must answer, got: connection.*What was stored is there"
                ) as it:
                    ask()
                assert "\n" not in str(it.value)
                assert len(str(it.value)) <= 400
        finally:
            postgresql.start()
        assert team.reviews() == [review], "connections that were open before are made anew"


def test_what_is_patient_waits_and_says_so_and_writes_once(team: RunStore, postgresql: Cluster) -> None:
    said: list[str] = []
    run_id = team.create_run(a_config(team))
    team.claim(run_id, "here", 1, "t")
    team.patience = Patience(60.0, said.append)
    postgresql.stop()
    back = threading.Timer(1.5, postgresql.start)
    back.start()
    team.add_progress(run_id, Progress(1, 1.0, 1, 1))
    back.join()
    assert len(team.progress(run_id)) == 1
    assert [sentence.split(",")[0][:45] for sentence in said] == [
        "The database of the run store must answer",
        "The database of the run store answers again",
    ]
    assert team.patience.waited_seconds > 1.0


def test_patience_has_an_end(team: RunStore, postgresql: Cluster) -> None:
    team.patience = Patience(0.5)
    postgresql.stop()
    try:
        began = time.monotonic()
        with pytest.raises(StoreAwayError):
            team.runs()
        assert time.monotonic() - began >= 0.5
        team.patience = Patience(600.0)
        asked = itertools.count()
        team.patience.is_over = lambda: next(asked) == 3  # as by an interrupt
        with pytest.raises(StoreAwayError):
            team.runs()
        assert next(asked) == 4, "it was asked again until then, and not after"
    finally:
        postgresql.start()
    assert team.runs() == []


def test_a_driver_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as where it is not
    with pytest.raises(RunError, match=r"psycopg.* pip install 'evenhand\[team\]'"):
        RunStore(tmp_path, "postgresql://name@127.0.0.1/x")


@pytest.mark.parametrize("is_committed", [False, True])
def test_what_is_cut_off_at_its_commit_is_there_once(
    team: RunStore, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    """The server is gone before the commit, or between it and its answer: nobody can tell which."""
    config = a_config(team)
    team.patience = Patience(30.0)
    commit = team.engine.dialect.do_commit
    n_cut = 0

    def cut(connection: object) -> None:
        nonlocal n_cut
        n_cut += 1
        if n_cut % 2:
            if is_committed:
                commit(connection)
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")  # the answer is that it has gone
        commit(connection)

    monkeypatch.setattr(team.engine.dialect, "do_commit", cut)
    run_id = team.create_run(config)
    assert team.reserve(run_id, 1)
    assert team.claim(run_id, "here", 1, "t")
    for i in range(3):
        team.add_progress(run_id, Progress(i, 1.0, i, i))
    team.set_result(run_id, "share", {"share": 1})
    team.set_version(run_id, config.model_id, config.model_id)
    file = team.add_file(b"other", "other.csv", FileRole.DATA)
    team.finish(run_id, RunState.FINISHED)
    assert n_cut >= 18, "each was cut off once"
    monkeypatch.undo()
    assert [run.id for run in team.runs()] == [run_id]
    assert list(team.progress(run_id)["evaluations"]) == [0, 1, 2]
    assert (team.run(run_id).state, team.results(run_id)) == (RunState.FINISHED, {"share": {"share": 1}})
    assert team.file(file.id).name == "other.csv"


def test_more_who_ask_at_once_than_there_are_connections_wait_their_turn(
    team: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                team.create_review("x")
        except RunError as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(team.reviews()) == 800
    monkeypatch.setattr(team.engine.pool, "_timeout", 0.1)
    with contextlib.ExitStack() as taken:
        for _ in range(20):
            taken.enter_context(team.engine.connect())
        with pytest.raises(StoreAwayError, match="all 20 connections"):
            team.reviews()


# --- what it must be, and the password ----------------------------------------------------------


def test_another_encoding_is_refused(tmp_path: Path, postgresql: Cluster) -> None:
    postgresql.tell("CREATE DATABASE latin ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with pytest.raises(RunError, match="must have the encoding UTF8, got SQL_ASCII"):
        RunStore(tmp_path, postgresql.url("latin"))
    postgresql.tell("DROP DATABASE latin WITH (FORCE)")


def test_an_account_that_may_make_no_tables_is_told_so(tmp_path: Path, postgresql: Cluster) -> None:
    with postgresql.database() as url:
        postgresql.tell("CREATE ROLE reader LOGIN PASSWORD 'reader'")
        reader = url.replace(f"evenhand:{PASSWORD}", "reader:reader")
        with pytest.raises(RunError, match=r"permission denied .* the right to make tables"):
            RunStore(tmp_path, reader)
    postgresql.tell("DROP ROLE reader")


def test_an_account_that_owns_its_database_alone_suffices(tmp_path: Path, postgresql: Cluster) -> None:
    """As ``docs/deployment.md`` sets it up."""
    postgresql.tell("CREATE ROLE member LOGIN PASSWORD 'p@ss:w/rd%'")
    postgresql.tell("CREATE DATABASE members OWNER member ENCODING 'UTF8' TEMPLATE template0")
    url = postgresql.url("members").replace(f"evenhand:{PASSWORD}", "member:p%40ss%3Aw%2Frd%25")
    with contextlib.closing(RunStore(tmp_path, url)) as store:
        run_id = store.create_run(a_config(store))
        assert store.reserve(run_id, 1)
        assert store.claim(run_id, "elsewhere", 1, "t")
        assert store.server_started() is not None
        assert store.finish(run_id, RunState.FINISHED)
    postgresql.tell("DROP DATABASE members WITH (FORCE)")
    postgresql.tell("DROP ROLE member")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wrong_addresses(url: str) -> dict[str, str]:
    """What may be wrong with an address, the password in it whole or with signs that belong to addresses."""
    start, rest = url.split(PASSWORD)
    port = rest.split(":")[1].split("/")[0]
    return {
        "no server": url.replace(port, str(free_port())),
        "no such host": f"{start}{PASSWORD}@no-such-host.invalid/x",
        "no such database": f"{start}{PASSWORD}{rest}x",
        "another password": f"{start}x{PASSWORD}x{rest}",
        "a port that is none": f"{start}{PASSWORD}@127.0.0.1:port/x",
        "@ in it": f"{start}open@{PASSWORD}{rest}",
        "@ and : in it": f"{start}open@{PASSWORD}:{PASSWORD}{rest}",
        "@ and / in it": f"{start}open@{PASSWORD}/{PASSWORD}{rest}",
        "@ and ? in it": f"{start}open@{PASSWORD}?{PASSWORD}{rest}",
        "no server after it": f"{start}{PASSWORD}",
        "another driver": url.replace("postgresql", "postgresql+psycopg2"),
        "no such driver": url.replace("postgresql", "postgresql+nothing"),
        "another database": url.replace("postgresql", "mysql"),
        "an option there is none of": f"{url}?nothing={PASSWORD}",
        "no address": PASSWORD,
    }


@pytest.mark.parametrize("case", wrong_addresses(f"postgresql://u:{PASSWORD}@127.0.0.1:1/x"))
def test_no_error_repeats_a_password(
    tmp_path: Path,
    team: RunStore,
    case: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = wrong_addresses(team.url or "")[case]
    with pytest.raises(RunError) as refused:
        RunStore(tmp_path / "other", url)
    chain: BaseException | None = refused.value
    while chain is not None:
        assert PASSWORD not in f"{chain} {chain!r}" or not str(chain).startswith("The ")
        chain = None if chain.__suppress_context__ else chain.__context__
    monkeypatch.setenv(DATABASE_VARIABLE, url)
    assert main(["runs", "list", "--workspace", str(tmp_path / "other")]) == 2
    said = "".join(capsys.readouterr())
    assert PASSWORD not in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("where", [f"name:{PASSWORD}@127.0.0.1/x", f"127.0.0.1/x?password={PASSWORD}"])
def test_an_option_that_a_list_of_processes_would_show_takes_no_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    assert main(["runs", "list", "--workspace", str(tmp_path), "--database", f"postgresql://{where}"]) == 2
    said = capsys.readouterr().err
    assert "--database must hold no password" in said
    assert PASSWORD not in said


def test_an_engine_says_no_password(team: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSWORD in (team.url or "")
    assert PASSWORD not in f"{team.engine!r} {team.engine.url} {team.engine.pool!r}"
    error = RuntimeError(f"failed for {PASSWORD}")
    assert opening._reason(error, PASSWORD) == "failed for ***"


def test_the_server_knows_who_asks(team: RunStore, postgresql: Cluster) -> None:
    engine = create_engine(postgresql.url())
    with engine.connect() as connection:
        names = connection.scalars(text("SELECT DISTINCT application_name FROM pg_stat_activity")).all()
    engine.dispose()
    assert "evenhand" in names
