"""The run store: files by content, reviews, runs, pins."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import inspect, text, update

from fairness_engine.errors import RunError, SettingError, StaleReviewError, StopReason
from fairness_engine.events import Progress
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store import tables
from fairness_engine.store.people.roles import LOCAL_OWNER, Role
from fairness_engine.store.records import AnswersSource, FileRole, ReviewLine, ReviewTerms, RunState, UnreadableRun
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from store_cases import SCHEMA, say_version_one

YOUNG = Rule(column="age", low=18, high=25)
ROOT = Path(__file__).resolve().parents[2]


def a_config(store: RunStore, **changes: object) -> RunConfig:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    config = kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random")
    return replace(config, **changes)


def test_a_file_is_kept_once_by_content_under_a_name_that_is_no_path(store: RunStore, tmp_path: Path) -> None:
    first = store.add_file(b"1,2\n", "../../etc/passwd", FileRole.DATA)
    source = tmp_path / "again.csv"
    source.write_bytes(b"1,2\n")
    again = store.add_file(source, "C:\\temp\\other\x00.csv", FileRole.DATA)
    assert (first.name, again.name) == ("passwd", "other.csv")
    assert first.path == again.path
    assert first.path.read_bytes() == b"1,2\n"
    assert first.path.is_relative_to(store.workspace / "files")
    assert first.id != again.id
    assert store.add_file(b"1,2\n", "passwd", FileRole.DATA) == first
    assert [p.name for p in (store.workspace / "files").iterdir()] == [first.sha256[:2]]
    assert (store.workspace.stat().st_mode & 0o777) == 0o700


def test_a_file_that_is_kept_already_keeps_its_place_unless_it_is_damaged(store: RunStore) -> None:
    kept = store.add_file(b"1,2\n", "d.csv", FileRole.DATA).path
    inode = kept.stat().st_ino
    for name in ("d.csv", "another name.csv"):
        assert store.add_file(b"1,2\n", name, FileRole.DATA).path.stat().st_ino == inode
    for damaged in (b"1,", b"9,9\n"):
        kept.write_bytes(damaged)
        store.add_file(b"1,2\n", "d.csv", FileRole.DATA)
        assert kept.read_bytes() == b"1,2\n"
    assert [p.name for p in (store.workspace / "files").iterdir()] == [kept.name[:2]]


@pytest.mark.thorough
def test_processes_that_add_one_file_at_once_all_get_the_same_place(store: RunStore) -> None:
    program = (
        "import os, sys; from pathlib import Path; from fairness_engine.store.records import FileRole\n"
        "from fairness_engine.store.store import RunStore\n"
        "store = RunStore(Path(sys.argv[1]), os.environ.get('EVENHAND_DATABASE_URL'))\n"
        "content = bytes(range(256)) * 2000\n"
        "sys.stdin.readline()\n"
        "print(*{store.add_file(content, 'd.csv', FileRole.DATA).path.stat().st_ino for _ in range(100)})"
    )
    command = [sys.executable, "-c", program, str(store.workspace)]
    adding = [
        subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)
    ]
    for process in adding:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    assert len({inode for process in adding for inode in process.communicate(timeout=60)[0].split()}) == 1


def test_an_unknown_or_unreadable_file_is_one_sentence(store: RunStore, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no file 'x'"):
        store.file("x")
    with pytest.raises(RunError, match=r"'gone.csv' cannot be kept"):
        store.add_file(tmp_path / "gone.csv", "gone.csv", FileRole.DATA)


def test_a_review_comes_back_as_saved_and_can_be_deleted(store: RunStore) -> None:
    review = store.create_review("  Loans\n2026 ")
    assert review.name == "Loans2026"
    data = store.add_file(b"x", "d.csv", FileRole.DATA)
    scope = Scope(("sex",), threshold=0.4, limits={"age": (20.0, 30.0)}, bins={"sex": (0.0, 1.0)})
    saved = store.save_review(
        replace(review, data_id=data.id, schema=SCHEMA, scope=scope, fit={"auc": 0.7}, stage="scope")
    )
    assert RunStore(store.workspace, store.url).review(review.id) == saved
    assert saved.schema == SCHEMA
    assert saved.scope == scope
    store.rename_review(review.id, "")
    assert store.review(review.id).name == "Untitled review"
    assert [r.id for r in store.reviews()] == [review.id]
    assert store.reviews("someone else") == []
    store.delete_review(review.id)
    assert store.reviews() == []
    for refused in (store.review, store.delete_review):
        with pytest.raises(RunError, match="no such review"):
            refused(review.id)


def test_a_save_of_an_older_state_is_refused_and_says_so(store: RunStore) -> None:
    opened = store.create_review("Loans")
    first = store.save_review(replace(opened, scope=Scope(("sex",))))
    with pytest.raises(StaleReviewError, match=r"changed at \d\d:\d\d.*Nothing was saved") as refused:
        store.save_review(replace(opened, scope=Scope(("age",))))
    assert refused.value.held == store.review(opened.id) == first
    assert refused.value.wanted == replace(opened, scope=Scope(("age",)))
    assert store.save_review(replace(opened, scope=Scope(("sex",)))) == first, "the same once more is no other change"
    store.rename_review(opened.id, "Loans, spring")
    again = store.save_review(replace(first, scope=Scope(("age",))))
    assert (again.scope, again.name) == (Scope(("age",)), "Loans, spring")


def test_of_changes_made_at_once_one_is_saved_and_the_others_are_told(store: RunStore) -> None:
    program = (
        "import os, sys; from dataclasses import replace; from pathlib import Path\n"
        "from fairness_engine.errors import StaleReviewError; from fairness_engine.store.store import RunStore\n"
        "store, mark = RunStore(Path(sys.argv[1]), os.environ.get('EVENHAND_DATABASE_URL')), sys.argv[3]\n"
        "sys.stdin.readline()\n"
        "n_saved = 0\n"
        "while n_saved < 20:\n"
        "    review = store.review(sys.argv[2])\n"
        "    done = (review.fit or {}).get('done', [])\n"
        "    try:\n"
        "        store.save_review(replace(review, fit={'done': [*done, mark]}))\n"
        "        n_saved += 1\n"
        "    except StaleReviewError:\n"
        "        pass"
    )
    review = store.create_review("Loans")
    command = [sys.executable, "-c", program, str(store.workspace), review.id]
    pipes = {"cwd": ROOT, "text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    programs = [subprocess.Popen([*command, mark], **pipes) for mark in "ab"]
    for process in programs:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    for process in programs:
        process.communicate(timeout=60)
    kept = store.review(review.id)
    assert sorted(kept.fit["done"]) == ["a"] * 20 + ["b"] * 20, "no change was lost"
    assert kept.revision == 40


def test_threads_that_save_at_once_lose_nothing(store: RunStore) -> None:
    review = store.create_review("Loans")
    barrier = threading.Barrier(4)
    refused = []

    def change(mark: str) -> None:
        barrier.wait()
        try:
            store.save_review(replace(review, stage=mark))
        except StaleReviewError as error:
            refused.append(error.wanted.stage if error.wanted else "")

    threads = [threading.Thread(target=change, args=(mark,)) for mark in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted([*refused, store.review(review.id).stage]) == list("abcd")


def test_changes_are_taken_back_one_by_one_with_fit_and_scope(store: RunStore) -> None:
    empty = store.create_review("Loans")
    assert store.states_before(empty.id) == []
    with pytest.raises(RunError, match="no such change to take back"):
        store.undo_review(empty)
    whole = store.save_review(replace(empty, schema=SCHEMA, scope=Scope(("sex",)), fit={"auc": 0.7}))
    other = replace(SCHEMA, protected=())
    broken = store.save_review(replace(whole, schema=other, scope=None, fit=None))
    before = store.states_before(empty.id)
    assert [state.fit for state, _ in before] == [{"auc": 0.7}, None]
    with pytest.raises(StaleReviewError):
        store.undo_review(whole)
    undone = store.undo_review(broken)
    assert (undone.schema, undone.scope, undone.fit) == (SCHEMA, Scope(("sex",)), {"auc": 0.7})
    assert undone.revision == 3, "another tab with the change sees that it was taken back"
    assert store.undo_review(undone).schema is None
    review = store.review(empty.id)
    for number in range(30):
        review = store.save_review(replace(review, stage=str(number)))
    states = [state for state, _ in store.states_before(review.id)]
    assert [state.stage for state in states] == [str(number) for number in range(28, 8, -1)]
    back = store.undo_review(review, states[4].revision)
    assert back.stage == "24"
    assert len(store.states_before(review.id)) == 15
    with pytest.raises(RunError, match="no such change"):
        store.undo_review(back, states[4].revision)


def test_a_workspace_of_the_version_before_opens_with_its_reviews(store: RunStore) -> None:
    review = store.save_review(replace(store.create_review("Loans"), schema=SCHEMA, scope=Scope(("sex",))))
    with store.engine.begin() as connection:
        say_version_one(connection)
        connection.execute(text("DROP TABLE review_states"))
        connection.execute(text("ALTER TABLE reviews DROP COLUMN revision"))
    store.close()
    opened = RunStore(store.workspace, store.url)
    kept = opened.review(review.id)
    assert (kept.schema, kept.scope, kept.revision) == (SCHEMA, Scope(("sex",)), 0)
    changed = opened.save_review(replace(kept, stage="scope"))
    assert opened.undo_review(changed).stage == ""
    with opened.engine.begin() as connection:  # as that version writes
        values = {
            "id": "old",
            "owner": "local",
            "name": "n",
            "created": 1.0,
            "changed": 1.0,
            "stage": "",
            "is_deleted": False,
        }
        columns = ", ".join(values)
        places = ", ".join(f":{name}" for name in values)
        connection.execute(text(f"INSERT INTO reviews ({columns}) VALUES ({places})"), values)
    assert opened.review("old").revision == 0
    opened.close()


def test_a_run_is_claimed_once_and_ends_once(store: RunStore) -> None:
    config = a_config(store, settings={"n_local": 3}, budget=Budget(max_seconds=2.5), seed=7, comparison="c")
    run_id = store.create_run(config)
    waiting = store.run(run_id)
    assert waiting.config == config
    assert (waiting.state, waiting.is_active) == (RunState.QUEUED, True)
    assert store.claim(run_id, "here", 1, "t")
    assert not store.claim(run_id, "here", 2, "t")
    store.add_progress(run_id, Progress(10, 0.1, 5, 1, "global"))
    store.add_progress(run_id, Progress(20, 0.2, 9, 3, "local"))
    assert store.run(run_id).n_found == 3
    assert store.finish(run_id, RunState.FINISHED, reason=StopReason.FOUND, counts={"n_found": 4, "n_rejected": 1})
    assert not store.finish(run_id, RunState.CRASHED, message="late")
    store.add_progress(run_id, Progress(99, 9.0, 99, 99))
    ended = store.run(run_id)
    assert (ended.state, ended.stop_reason, ended.n_found) == (RunState.FINISHED, StopReason.FOUND, 4)
    assert (ended.n_rejected, ended.message) == (1, None)
    assert list(store.progress(run_id).itertuples(index=False, name=None)) == [
        (10, 0.1, 5, 1, "global"),
        (20, 0.2, 9, 3, "local"),
    ]
    assert ended.created <= ended.started <= ended.finished


def test_cancel_ends_a_waiting_run_and_asks_a_working_one(store: RunStore) -> None:
    waiting = store.create_run(a_config(store))
    working = store.create_run(a_config(store))
    store.claim(working, "here", 1, "t")
    store.request_cancel(waiting)
    store.request_cancel(working)
    assert (store.run(waiting).state, store.run(waiting).stop_reason) == (RunState.CANCELLED, StopReason.CANCELLED)
    assert (store.run(working).state, store.is_cancel_requested(working)) == (RunState.RUNNING, True)
    assert [r.id for r in store.runs_in(RunState.RUNNING)] == [working]


def test_runs_belong_to_reviews_and_pins_to_both(store: RunStore) -> None:
    review = store.create_review("r")
    mine = store.create_run(a_config(store), review.id)
    store.create_run(a_config(store))
    assert [r.id for r in store.runs(review.id)] == [mine]
    assert len(store.runs()) == 2
    store.set_pin(review.id, mine, 4, "odd")
    store.set_pin(review.id, mine, 2)
    store.set_pin(review.id, mine, 4, "very odd")
    assert [(p.pair_index, p.note) for p in store.pins(review.id)] == [(4, "very odd"), (2, "")]
    store.remove_pin(review.id, mine, 4)
    store.remove_pin(review.id, mine, 4)
    assert [p.pair_index for p in store.pins(review.id)] == [2]
    store.set_rule_pin(review.id, mine, 2, "men of a certain age")
    store.set_rule_pin(review.id, mine, 0)
    store.set_rule_pin(review.id, mine, 2, "tell legal")
    assert [(p.rule_index, p.note) for p in store.rule_pins(review.id)] == [(2, "tell legal"), (0, "")]
    assert [p.pair_index for p in store.pins(review.id)] == [2], "pairs are pinned for themselves"
    store.remove_rule_pin(review.id, mine, 2)
    assert [p.rule_index for p in store.rule_pins(review.id)] == [0]
    with pytest.raises(RunError, match="needs a review and a run"):
        store.set_pin(review.id, "nothing", 0)
    with pytest.raises(RunError, match="needs a review and a run"):
        store.set_rule_pin("nothing", mine, 0)
    with pytest.raises(RunError, match="needs a review"):
        store.create_run(a_config(store), "nothing")
    with pytest.raises(RunError, match="no run 'nothing'"):
        store.run("nothing")


def test_results_are_replaced_by_name(store: RunStore) -> None:
    run_id = store.create_run(a_config(store))
    store.set_result(run_id, "share", {"share": 0.1})
    store.set_result(run_id, "share", {"share": 0.2})
    store.set_result(run_id, "group_score", {"score": 0.3})
    assert store.results(run_id) == {"share": {"share": 0.2}, "group_score": {"score": 0.3}}


@pytest.mark.parametrize("changes", [{"seed": -1}, {"max_starts": 0}, {"n_samples": 0}])
def test_a_configuration_that_cannot_be_is_refused(store: RunStore, changes: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        a_config(store, **changes)


def test_a_search_needs_a_technique_and_its_own_settings(store: RunStore) -> None:
    config = a_config(store)
    asked = (config.data_id, config.model_id, config.schema, config.scope)
    with pytest.raises(SettingError, match="needs a technique"):
        kinds.SEARCH.config(*asked)
    with pytest.raises(SettingError, match="no setting 'speed'"):
        kinds.SEARCH.config(*asked, technique="random", settings={"speed": 3})


def test_a_workspace_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="must be a folder that can be written"):
        RunStore(tmp_path / "file")
    with pytest.raises(RunError, match="must name a database of PostgreSQL"):
        RunStore(tmp_path / "w", url="nonsense://")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "evenhand.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(RunError, match="must be a database"):
        RunStore(tmp_path / "broken")


def test_a_store_of_another_version_is_refused(store: RunStore) -> None:
    with store.engine.begin() as connection:
        connection.execute(update(tables.alembic_version).values(version_num="0099"))
    with pytest.raises(RunError, match=r"or earlier, got version 0099\. Use another workspace folder, or the"):
        RunStore(store.workspace, store.url)
    with store.engine.begin() as connection:
        say_version_one(connection)
        connection.execute(update(tables.meta).values(value="99"))
    with pytest.raises(RunError, match=r"or earlier, got version 99\. Use"):
        RunStore(store.workspace, store.url)


def test_the_records_may_live_in_another_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'team.db'}"
    store = RunStore(tmp_path / "workspace", url)
    run_id = store.create_run(a_config(store))
    assert RunStore(tmp_path / "workspace", url).run(run_id).state is RunState.QUEUED
    assert not (tmp_path / "workspace" / "evenhand.db").exists()
    store.close()


def test_no_more_runs_are_reserved_than_may_work(store: RunStore) -> None:
    ids = [store.create_run(a_config(store)) for _ in range(4)]
    assert [store.reserve(run_id, 2) for run_id in ids] == [True, True, False, False]
    store.claim(ids[0], "here", 1, "t")
    assert not store.reserve(ids[2], 2)
    store.finish(ids[0], RunState.FINISHED)
    assert store.reserve(ids[2], 2)
    assert not store.reserve(ids[3], 2)
    assert store.reserve(ids[3], None)


def test_many_threads_write_at_once(store: RunStore) -> None:
    run_ids = [store.create_run(a_config(store)) for _ in range(4)]
    for run_id in run_ids:
        store.claim(run_id, "here", 1, "t")

    def write(run_id: str) -> None:
        own = RunStore(store.workspace, store.url)
        for i in range(50):
            own.add_progress(run_id, Progress(i, float(i), i, i))
        own.close()

    threads = [threading.Thread(target=write, args=(run_id,)) for run_id in run_ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(store.progress(run_id)) for run_id in run_ids] == [50] * 4


def test_a_reviews_own_terms_are_kept_replaced_and_taken_away(store: RunStore) -> None:
    review = store.create_review("Comments")
    assert store.terms(review.id) is None
    terms = ReviewTerms((("faith", ("muslim", "jewish")), ("age", ("old", "young"))), ("age",), "mine.json")
    store.set_terms(review.id, terms)
    assert store.terms(review.id) == terms
    assert terms.chosen == (("age", ("old", "young")),)
    store.set_terms(review.id, replace(terms, compared=("faith", "age")))
    kept = store.terms(review.id)
    assert kept is not None
    assert kept.chosen == terms.terms, "in the order of the list"
    store.set_terms(review.id, None)
    assert store.terms(review.id) is None
    with pytest.raises(RunError, match="no such review"):
        store.set_terms("0" * 20, terms)


def test_a_copy_of_a_review_asks_the_same_and_has_no_runs(store: RunStore) -> None:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    review = store.create_review("Loans", "alice")
    content = {"data_id": data.id, "model_id": model.id, "schema": SCHEMA, "scope": Scope(("sex",)), "fit": {"auc": 1}}
    review = store.save_review(replace(review, **content))
    terms = ReviewTerms((("religion", ("Muslim",)),), ("religion",))
    store.set_terms(review.id, terms)
    store.set_answers(review.id, AnswersSource(file_id=data.id))
    store.add_cohort(review.id, "the young", [YOUNG], "Where")
    store.create_run(a_config(store), review.id)
    copied = store.duplicate_review(review.id)
    assert (copied.name, copied.owner, copied.revision) == ("Loans (2)", "alice", 0)
    assert {name: getattr(copied, name) for name in content} == content
    assert store.terms(copied.id) == terms
    assert store.answers(copied.id) == AnswersSource(file_id=data.id)
    assert [(group.name, group.rules) for group in store.cohorts(copied.id)] == [("the young", (YOUNG,))]
    assert store.runs(copied.id) == []
    assert len(store.runs(review.id)) == 1
    assert store.duplicate_review(copied.id).name == "Loans (3)"
    changed = store.save_review(replace(copied, stage="scope"))
    assert store.undo_review(changed).stage == ""
    assert store.review(review.id) == review, "the first is as it was"
    with pytest.raises(RunError, match="no such review"):
        store.duplicate_review("0" * 20)


def test_an_archived_review_is_marked_in_the_list_and_taken_back(store: RunStore) -> None:
    data = store.add_file(b"x", "d.csv", FileRole.DATA)
    review = store.create_review("Loans")
    review = store.save_review(replace(review, data_id=data.id, schema=SCHEMA))
    other = store.create_review("Others")
    store.create_review("Of somebody else", "alice")
    store.archive_review(review.id)
    lines = {line.id: line for line in store.review_lines()}
    assert list(lines) == [other.id, review.id], "the last changed first"
    assert lines[review.id] == ReviewLine(
        review.id, "Loans", review.changed, "d.csv", None, is_archived=True, owner=LOCAL_OWNER, role=Role.OWNER
    )
    assert not lines[other.id].is_archived
    assert store.review(review.id) == review, "it opens as before"
    store.archive_review(review.id, is_archived=False)
    assert not any(line.is_archived for line in store.review_lines())
    store.delete_review(other.id)
    with pytest.raises(RunError, match="no such review"):
        store.archive_review(other.id)
    assert [line.id for line in store.review_lines()] == [review.id]


def test_a_name_that_is_taken_gets_a_number(store: RunStore) -> None:
    assert store.unused_name("Loans") == "Loans"
    for expected in ("Loans", "Loans (2)", "Loans (3)"):
        assert store.create_review(store.unused_name("Loans")).name == expected
    assert store.unused_name("Loans (2)") == "Loans (4)"
    assert store.unused_name("Loans", "alice") == "Loans"
    longest = store.create_review("n" * 200).name
    assert len(store.unused_name(longest)) <= 200
    assert store.unused_name(longest) != longest


def test_the_newest_run_of_each_review_is_had_at_once(store: RunStore) -> None:
    with_runs, without, damaged = (store.create_review(name) for name in ("With", "Without", "Damaged"))
    store.create_run(a_config(store), with_runs.id)
    newest = store.create_run(a_config(store, seed=5), with_runs.id)
    broken = store.create_run(a_config(store), damaged.id)
    store.create_run(a_config(store), store.create_review("Of somebody else", "alice").id)
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET config = '{}' WHERE id = :id"), {"id": broken})
    last = store.last_runs([with_runs.id, without.id, damaged.id])
    assert sorted(last) == sorted([with_runs.id, damaged.id])
    assert without.id not in last
    assert last[with_runs.id] == store.run(newest)
    assert isinstance(last[damaged.id], UnreadableRun)
    assert store.most_pairs([with_runs.id, without.id]) == {}
    assert store.last_runs([]) == {}


@pytest.mark.thorough
def test_a_workspace_from_before_reviews_were_archived_opens(store: RunStore) -> None:
    review = store.create_review("Loans")
    with store.engine.begin() as connection:
        say_version_one(connection)
        connection.execute(text("ALTER TABLE reviews DROP COLUMN is_archived"))
        connection.execute(text("DROP INDEX runs_by_time"))
    store.close()
    opened = RunStore(store.workspace, store.url)
    assert [(line.id, line.is_archived) for line in opened.review_lines()] == [(review.id, False)]
    opened.archive_review(review.id)
    assert opened.review_lines()[0].is_archived
    assert "runs_by_time" in {index["name"] for index in inspect(opened.engine).get_indexes("runs")}
    opened.close()
