"""What a cluster answered stays until its run has ended, for the next run of the same question, and for no other."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.cluster import kept_blocks
from fairness_engine.cluster.kept_blocks import KeptBlocks, are_kept
from fairness_engine.oracle.budget import Budget
from fairness_engine.store.alive import host_name
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from worker_cases import census_config


class Case:
    """Runs of one question in a store; what they keep is made up."""

    def __init__(self, folder: Path) -> None:
        self.store = RunStore(folder)

    def begin(self, review_id: str | None = None, **changes: Any) -> KeptBlocks:
        self.run_id = self.store.create_run(census_config(self.store, **changes), review_id)
        assert self.store.claim(self.run_id, host_name(), os.getpid(), "")
        self.store.make_run_folder(self.run_id)
        return KeptBlocks(self.store, self.store.run(self.run_id))

    def break_off(self, *replies: str, state: RunState = RunState.CRASHED, **changes: Any) -> KeptBlocks:
        kept = self.begin(**changes)
        for reply in replies:
            kept.keep("asked", reply)
        kept.close()
        self.store.finish(self.run_id, state)
        return kept

    def n_known(self, **changes: Any) -> int:
        """What a run takes over; it breaks off without an answer."""
        return self.break_off(**changes).n_known


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


@pytest.mark.parametrize("state", [RunState.CRASHED, RunState.FAILED, RunState.CANCELLED])
def test_the_next_run_of_the_question_takes_over_what_one_that_broke_off_left(case: Case, state: RunState) -> None:
    first = case.break_off("one", "two", state=state)
    with closing(case.begin(budget=Budget(7))) as kept:
        assert kept.path.read_text() == "asked\tone\nasked\ttwo\n"
        assert kept.n_known == 2
        kept.keep("asked", "three")
    assert not first.path.exists()
    case.store.finish(case.run_id, RunState.CRASHED)
    assert case.n_known() == 3


def test_runs_of_other_questions_and_other_reviews_find_nothing(case: Case) -> None:
    review = case.store.create_review("Another")
    case.break_off("one")
    assert case.n_known(seed=2) == 0
    assert case.n_known(review_id=review.id) == 0
    assert case.n_known() == 1


def test_a_run_that_has_ended_or_is_at_work_leaves_nothing(case: Case) -> None:
    kept = case.begin()
    kept.keep("asked", "one")
    assert case.n_known() == 0
    kept.forget()
    kept.keep("asked", "two")  # a block that came too late
    assert not kept.path.exists()


def test_a_line_that_was_being_written_is_left_out(case: Case) -> None:
    kept = case.break_off("one", "two")
    os.truncate(kept.path, kept.path.stat().st_size - 2)
    with closing(case.begin()) as again:
        assert again.n_known == 1
        again.keep("asked", "three")
    assert again.path.read_text() == "asked\tone\nasked\tthree\n"


def test_no_more_is_kept_than_there_is_room_for(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_blocks, "_MAX_BYTES", 20)
    case.break_off("one", "two", "a long one")
    assert case.n_known() == 2


@contextmanager
def files_up_to(n_bytes: int) -> Iterator[None]:
    """No file of this process may be longer, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_gets_its_room_back(case: Case) -> None:
    kept = case.begin()
    kept.keep("asked", "one")
    with files_up_to(1_000):
        kept.keep("asked", "x" * 2_000)
        assert not kept.path.exists()
        kept.keep("asked", "two")
    assert not kept.path.exists()


def test_a_folder_that_cannot_be_written_keeps_nothing(case: Case) -> None:
    kept = case.break_off("one")
    kept.path.unlink()
    kept.path.mkdir()
    (kept.path / "no file").touch()
    assert case.n_known() == 0


def test_what_nobody_asked_again_for_a_week_goes(case: Case) -> None:
    kept = case.break_off("one")
    broken_off = case.store.run(case.run_id)
    week = 7 * 24 * 3600
    for age, is_there in ((week - 600, True), (week + 600, False)):
        os.utime(kept.path, (time.time() - age,) * 2)
        assert are_kept(case.store, broken_off) == is_there
        assert case.n_known(seed=2) == 0  # another run looks
        assert kept.path.exists() == is_there
