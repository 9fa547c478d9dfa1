"""Runs in the store: created, claimed by one worker, followed, ended in exactly one final state."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Row, Select, Update, and_, bindparam, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from fairness_engine.errors import EvenhandError, RunError, StopReason
from fairness_engine.events import Progress
from fairness_engine.pairs import Pairs
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import (
    Patience,
    durable_transaction,
    put,
    repeatable,
    wait_for_the_queue,
)
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.records import RunRecord, RunState, UnreadableRun, to_optional_time, to_time
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.seal import hashes_of_files, write_seal
from fairness_engine.store.whole_files import is_incoming

if TYPE_CHECKING:
    import pandas as pd


_READ_ATTEMPTS = 5
_MAX_KNOWN = 10_000
_KNOWN: dict[tuple[Path, str], tuple[Row[Any], RunRecord]] = {}
"""Runs as last read, with the line they were read from, by workspace and id: a page asks for dozens of runs at every
click, their configurations never change, and of most of them nothing does."""
_MAX_NAMED = 500
"""Ids that one question to the database names."""
_PLAIN = [column for column in tables.runs.c if column.name != "config"]
_ALL = select(*_PLAIN).order_by(tables.runs.c.created.desc())
_OF_REVIEW = _ALL.where(tables.runs.c.review_id == bindparam("review_id"))


class RunTable:
    """The part of the run store that keeps runs, their progress, pairs and results."""

    engine: Engine
    workspace: Path
    patience: Patience
    stand: Stand

    def create_run(self, config: RunConfig, review_id: str | None = None, person: str | None = None) -> str:
        """Put a run in the queue; returns its id. ``runs.queue`` starts it.

        Args:
            person: who starts it, whose share of the queue and of the disk it takes; ``None`` is the review's owner.

        Raises:
            RunError: there is no such review.
        """
        run_id = secrets.token_hex(10)
        values = {"review_id": review_id, "config": config.to_json(), "state": RunState.QUEUED.value, "person": person}
        self._enter(run_id, values | {"created": time.time()})
        return run_id

    @repeatable
    def _enter(self, run_id: str, values: Mapping[str, Any]) -> None:
        try:
            with self.engine.begin() as connection:
                put(connection, tables.runs, {"id": run_id}, {}, only_new=values)
        except IntegrityError:
            raise RunError("A run needs a review of this workspace. Open the review again.") from None

    def run(self, run_id: str) -> RunRecord:
        """A run by its id.

        Raises:
            RunError: there is none.
        """
        found, unreadable = self._records(select(*_PLAIN).where(tables.runs.c.id == run_id))
        if unreadable:
            raise RunError(unreadable[0].reason)
        if not found:
            raise RunError(f"There is no run '{run_id}' in this workspace. 'runs list' shows those there are.")
        return found[0]

    def runs(self, review_id: str | None = None) -> list[RunRecord]:
        """All runs that can be read, or those of a review, the newest first."""
        return self.all_runs(review_id)[0]

    def all_runs(self, review_id: str | None = None) -> tuple[list[RunRecord], list[UnreadableRun]]:
        """The runs that can be read, as ``runs``, and the others, as ``unreadable_runs``."""
        readable, unreadable = self._all_runs(review_id)
        return list(readable), list(unreadable)

    @while_unchanged
    def _all_runs(self, review_id: str | None) -> tuple[list[RunRecord], list[UnreadableRun]]:
        return self._records(_ALL) if review_id is None else self._records(_OF_REVIEW, {"review_id": review_id})

    @while_unchanged
    @repeatable
    def last_runs(self, review_ids: Collection[str]) -> dict[str, RunRecord | UnreadableRun]:
        """The newest run of each of some reviews, by the review; without those that have none."""
        here = tables.runs.c
        newest = (
            select(here.review_id, func.max(here.created).label("created"))
            .where(here.review_id.in_(review_ids))
            .group_by(here.review_id)
            .subquery()
        )
        is_newest = (here.review_id == newest.c.review_id) & (here.created == newest.c.created)
        readable, unreadable = self._records(select(*_PLAIN).join(newest, is_newest))
        found: list[RunRecord | UnreadableRun] = [*unreadable, *readable]
        return {run.review_id: run for run in found if run.review_id is not None}

    @while_unchanged
    @repeatable
    def most_pairs(self, review_ids: Collection[str]) -> dict[str, int]:
        """How much the run with the most pairs found, of each of some reviews in which one has pairs."""
        here = tables.runs.c
        has_pairs = select(tables.parts.c.run_id).where(tables.parts.c.run_id == here.id).exists()
        query = (
            select(here.review_id, func.max(here.n_found))
            .where(here.review_id.in_(review_ids) & has_pairs)
            .group_by(here.review_id)
        )
        with self.engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def unreadable_runs(self, review_id: str | None = None) -> list[UnreadableRun]:
        """The others, the newest first."""
        return self.all_runs(review_id)[1]

    def runs_in(self, *states: RunState) -> list[RunRecord]:
        """All runs that can be read in one of these states, the oldest first."""
        return self._records(_oldest_in(states))[0]

    def end_unreadable(self) -> None:
        """End the runs that wait or work and cannot be read: nobody could work them, or see them at work."""
        for run in self._records(_oldest_in((RunState.QUEUED, RunState.RUNNING)))[1]:
            self.give_up(run.id, run.reason)
            self.finish(run.id, RunState.CRASHED, message=run.reason)

    @repeatable
    def _records(
        self, query: Select[Any], values: Mapping[str, Any] | None = None
    ) -> tuple[list[RunRecord], list[UnreadableRun]]:
        """The runs of a query over ``_PLAIN`` that can be read, and those that cannot; what was read before is not
        read again.
        """
        with self.engine.connect() as connection:
            rows = connection.execute(query, values).all()
            known = {row.id: _KNOWN[key] for row in rows if (key := (self.workspace, row.id)) in _KNOWN}
            contents = _contents(connection, [row.id for row in rows if row.id not in known])
        if len(_KNOWN) + len(contents) > _MAX_KNOWN:
            _KNOWN.clear()
        readable = []
        unreadable = []
        for row in rows:
            line, record = known.get(row.id, (None, None))
            try:
                if record is None or line != row:
                    config = RunConfig.from_json(contents[row.id]) if record is None else record.config
                    record = _record(row, config)
                    _KNOWN[self.workspace, row.id] = (row, record)
                readable.append(record)
            except EvenhandError as error:
                unreadable.append(UnreadableRun(row.id, row.review_id, str(error)))
        return readable, unreadable

    @repeatable
    def progress(self, run_id: str) -> pd.DataFrame:
        """The curve of a run: evaluations, seconds, n_tried, n_found, phase; one line a report, in order."""
        import pandas as pd  # the worker starts sooner without it

        names = ["evaluations", "seconds", "n_tried", "n_found", "phase"]
        table = tables.progress
        query = select(*(table.c[name] for name in names)).where(table.c.run_id == run_id).order_by(table.c.id)
        with self.engine.connect() as connection:
            return pd.DataFrame([tuple(row) for row in connection.execute(query)], columns=names)

    @repeatable
    def results(self, run_id: str) -> dict[str, Any]:
        """What a run found beside pairs, by name, as plain JSON; ``runs.kinds`` has their types."""
        table = tables.results
        with self.engine.connect() as connection:
            rows = connection.execute(select(table.c.name, table.c.content).where(table.c.run_id == run_id))
            return {row.name: row.content for row in rows}

    @repeatable
    def request_cancel(self, run_id: str) -> None:
        """Ask a run to stop and keep what it found; one that still waits is cancelled at once.

        Nothing happens to a run that has ended.
        """
        if not self._end_waiting(run_id, RunState.CANCELLED, {"stop_reason": StopReason.CANCELLED.value}):
            with self.engine.begin() as connection:
                connection.execute(_while_running(run_id).values(is_cancel_requested=True))

    # --- pairs ----------------------------------------------------------------------------

    @while_unchanged
    @repeatable
    def n_pairs(self, run_id: str) -> int:
        """How many pairs are stored."""
        query = select(func.coalesce(func.sum(tables.parts.c.n_pairs), 0)).where(tables.parts.c.run_id == run_id)
        with self.engine.connect() as connection:
            return int(connection.scalar(query) or 0)

    def pairs(self, run_id: str, limit: int | None = None, offset: int = 0) -> Pairs:
        """Stored pairs in the order of discovery, from ``offset`` on, at most ``limit``.

        Raises:
            RunError: there is no such run, or its files are damaged or gone.
        """
        config = self.run(run_id).config
        for _ in range(_READ_ATTEMPTS):
            try:
                return self._read_pairs(run_id, config, limit, offset)
            except FileNotFoundError:  # merged since it was listed: list again
                continue
        raise RunError("The stored pairs of this run cannot be found in the workspace folder. Run again.")

    def _read_pairs(self, run_id: str, config: RunConfig, limit: int | None, offset: int) -> Pairs:
        from fairness_engine.store.pairs_file import read_pairs  # the worker starts sooner without it

        end = None if limit is None else offset + limit
        batches = []
        for part in self.parts(run_id):
            if part.start + part.n_pairs <= offset or (end is not None and part.start >= end):
                continue
            pairs = read_pairs(self.run_folder(run_id) / part.file, config)
            batches.append(pairs[max(offset - part.start, 0) : None if end is None else end - part.start])
        return Pairs.concatenate(batches, len(config.schema.inputs))

    @repeatable
    def parts(self, run_id: str) -> list[Row[tuple[int, int, str]]]:
        """The files of a run's pairs: ``start``, ``n_pairs``, ``file``, in order."""
        table = tables.parts
        query = select(table.c.start, table.c.n_pairs, table.c.file)
        with self.engine.connect() as connection:
            return list(connection.execute(query.where(table.c.run_id == run_id).order_by(table.c.start)))

    def run_folder(self, run_id: str) -> Path:
        """Where a run's log and Parquet files lie."""
        return self.workspace / "runs" / run_id

    def make_run_folder(self, run_id: str) -> Path:
        """See that a run has its folder; the workspace itself, which may have been moved away, is not made anew.

        Raises:
            RunError: it cannot be made.
        """
        folder = self.run_folder(run_id)
        try:
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"The workspace must be a folder that can be written, got: {error.strerror or error}. "
                "Make room on the disk, or start again with the folder's new place."
            ) from None
        return folder

    def clear_run(self, run_id: str) -> None:
        """Take away what a worker that was killed left in its run's folder: half files, and whole ones that it did not
        come to enter; nothing is raised. The last thread of a killed worker may still hold a half file, so no lock is
        asked for.
        """
        folder = self.run_folder(run_id)
        entered = {part.file for part in self.parts(run_id)}
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                is_half = path.suffix in (".part", ".tmp") or is_incoming(path.name)
                if is_half or (path.suffix == ".parquet" and path.name not in entered):
                    path.unlink(missing_ok=True)

    # --- for the launcher and the worker --------------------------------------------------

    def reserve(self, run_id: str, max_at_work: int | None) -> bool:
        """Take the right to start a waiting run's worker; true for exactly one of those who try.

        Args:
            max_at_work: refuse when that many runs work or are being started; ``None`` for no limit.
        """
        return self._reserve(run_id, max_at_work, time.time())

    @repeatable
    def _reserve(self, run_id: str, max_at_work: int | None, now: float) -> bool:
        """Reserve a run at a moment; one that was reserved then was so by this very call."""
        here = (tables.runs.c.id == run_id) & (tables.runs.c.state == RunState.QUEUED.value)
        here &= tables.runs.c.reserved.is_(None) | (tables.runs.c.reserved == now)
        if max_at_work is not None:
            other = tables.runs.alias("other")
            is_at_work = (other.c.state == RunState.RUNNING.value) | (
                (other.c.state == RunState.QUEUED.value) & other.c.reserved.is_not(None)
            )
            is_at_work &= other.c.id != run_id
            n_at_work = select(func.count().label("n")).select_from(other).where(is_at_work).subquery()
            here &= select(n_at_work.c.n).scalar_subquery() < max_at_work
        with self.engine.begin() as connection:
            if max_at_work is not None:
                wait_for_the_queue(connection)
            return connection.execute(update(tables.runs).where(here).values(reserved=now)).rowcount == 1

    def give_up(self, run_id: str, message: str) -> None:
        """End a run whose worker was started and never claimed it."""
        self._end_waiting(run_id, RunState.CRASHED, {"message": message})

    @repeatable
    def _end_waiting(self, run_id: str, state: RunState, values: Mapping[str, Any]) -> bool:
        """End a run that nobody works yet, sealed as any other; whether there was one."""
        waiting = (tables.runs.c.id == run_id) & (tables.runs.c.state == RunState.QUEUED.value)
        ended = update(tables.runs).where(waiting).values(state=state.value, finished=time.time(), **values)
        with self.engine.begin() as connection:
            is_ended = connection.execute(ended).rowcount == 1
            if is_ended:
                write_seal(connection, run_id, [])
        return is_ended

    def claim(self, run_id: str, host: str, pid: int, born: str) -> bool:
        """Take a queued run; true for exactly one of those who try."""
        now = time.time()
        values = {"state": RunState.RUNNING.value, "started": now, "heard": now, "phase": "starting"}
        return self._claim(run_id, values | {"worker_host": host, "worker_pid": pid, "worker_born": born})

    @repeatable
    def _claim(self, run_id: str, values: Mapping[str, Any]) -> bool:
        """Claim a run; one that has all these values was claimed by this very call."""
        here = tables.runs.c
        is_mine = and_(*(here[name] == values[name] for name in ("state", "started", "worker_host", "worker_pid")))
        can_be_mine = (here.id == run_id) & ((here.state == RunState.QUEUED.value) | is_mine)
        with self.engine.begin() as connection:
            return connection.execute(update(tables.runs).where(can_be_mine).values(**values)).rowcount == 1

    @repeatable
    def server_started(self) -> datetime | None:
        """Since when the database's server is there: before, nobody could be heard of; ``None`` without one."""
        if self.engine.dialect.name == "sqlite":
            return None
        with self.engine.connect() as connection:
            return to_time(float(connection.scalar(text("SELECT extract(epoch FROM pg_postmaster_start_time())"))))

    @repeatable
    def note_heard(self, run_id: str) -> None:
        """The worker is there."""
        with self.engine.begin() as connection:
            connection.execute(_while_running(run_id).values(heard=time.time()))

    @repeatable
    def is_cancel_requested(self, run_id: str) -> bool:
        """True once someone asked the run to stop."""
        query = select(tables.runs.c.is_cancel_requested).where(tables.runs.c.id == run_id)
        with self.engine.connect() as connection:
            return bool(connection.scalar(query))

    def add_progress(self, run_id: str, progress: Progress) -> None:
        """Append a line to the curve and show it as the run's state."""
        values = {name: getattr(progress, name) for name in ("evaluations", "seconds", "n_tried", "n_found")}
        values["phase"] = progress.phase[:200]
        n_tries = itertools.count()

        def add() -> None:
            with self.engine.begin() as connection:
                if next(n_tries) and _is_last_line(connection, run_id, values):
                    return  # it was committed, and the answer lost
                if connection.execute(_while_running(run_id).values(**values)).rowcount:
                    connection.execute(insert(tables.progress).values(run_id=run_id, **values))

        self.patience.keep_trying(add)

    @repeatable
    def set_phase(self, run_id: str, phase: str) -> None:
        """Say what a run is doing before its first progress."""
        with self.engine.begin() as connection:
            connection.execute(_while_running(run_id).values(phase=phase[:200]))

    @repeatable
    def set_result(self, run_id: str, name: str, content: Any) -> None:
        """Store, or replace, one result of a run."""
        with self.engine.begin() as connection:
            put(connection, tables.results, {"run_id": run_id, "name": name}, {"content": content})

    @repeatable
    def finish(
        self,
        run_id: str,
        state: RunState,
        *,
        reason: StopReason | None = None,
        message: str | None = None,
        counts: Mapping[str, Any] | None = None,
    ) -> bool:
        """End a run; false when it had ended before (the first end stands).

        Args:
            state: one of the final states.
            reason: why a search stopped.
            message: for the person at the screen, of a run that failed or crashed.
            counts: last values of evaluations, seconds, n_tried, n_found, n_rejected.
        """
        values: dict[str, Any] = {"state": state.value, "stop_reason": reason and reason.value, "message": message}
        values |= {"phase": "", "finished": time.time(), **(counts or {})}
        files = hashes_of_files(self, run_id)
        with durable_transaction(self.engine) as connection:
            is_first = connection.execute(_while_running(run_id).values(**values)).rowcount == 1
            if is_first:
                write_seal(connection, run_id, files)
        return is_first


def _oldest_in(states: Collection[RunState]) -> Select[Any]:
    here = tables.runs.c
    return select(*_PLAIN).where(here.state.in_([state.value for state in states])).order_by(here.created, here.id)


def _contents(connection: Connection, run_ids: Sequence[str]) -> dict[str, Any]:
    """The configurations of runs as they are stored; ``None`` for one that is no JSON."""
    contents: dict[str, Any] = {}
    query = select(tables.runs.c.id, tables.runs.c.config)
    for start in range(0, len(run_ids), _MAX_NAMED):
        named = run_ids[start : start + _MAX_NAMED]
        try:
            contents |= {row.id: row.config for row in connection.execute(query.where(tables.runs.c.id.in_(named)))}
        except RunError:  # of one of them
            for run_id in named:
                try:
                    contents |= {run_id: connection.execute(query.where(tables.runs.c.id == run_id)).one().config}
                except RunError:
                    contents[run_id] = None
    return contents


def _while_running(run_id: str) -> Update:
    return update(tables.runs).where((tables.runs.c.id == run_id) & (tables.runs.c.state == RunState.RUNNING.value))


def _is_last_line(connection: Connection, run_id: str, values: Mapping[str, Any]) -> bool:
    """Whether the curve of a run ends with these values."""
    table = tables.progress
    last = select(table).where(table.c.run_id == run_id).order_by(table.c.id.desc()).limit(1)
    line = connection.execute(last).one_or_none()
    return line is not None and all(line._mapping[name] == value for name, value in values.items())


def _record(row: Row[Any], config: RunConfig) -> RunRecord:
    same = {
        name: getattr(row, name)
        for name in (
            *("id", "review_id", "message", "evaluations", "seconds", "n_tried", "n_found", "n_rejected"),
            *("phase", "is_cancel_requested", "worker_host", "worker_pid", "worker_born", "person"),
        )
    }
    try:
        state = RunState(row.state)
        stop_reason = StopReason(row.stop_reason) if row.stop_reason else None
    except ValueError as error:
        raise RunError(
            f"The state of run '{row.id}' must be as it was written, but it was changed ({error}). Run it anew."
        ) from None
    return RunRecord(
        config=config,
        state=state,
        stop_reason=stop_reason,
        created=to_time(row.created),
        started=to_optional_time(row.started),
        finished=to_optional_time(row.finished),
        reserved=to_optional_time(row.reserved),
        heard=to_optional_time(row.heard),
        **same,
    )
