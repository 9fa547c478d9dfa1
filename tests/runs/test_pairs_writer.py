"""Pairs on their way to disk: in order, merged, and never twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from fairness_engine.errors import ProcessError
from fairness_engine.pairs import Pairs
from fairness_engine.runs.writers import pairs as pairs_writer
from fairness_engine.runs.writers.pairs import PairsWriter
from fairness_engine.store.pairs_file import read_pairs, write_pairs
from fairness_engine.store.store import RunStore
from worker_cases import census_config

N_COLUMNS = 9
SEX = 6


def numbered(start: int, n: int) -> Pairs:
    """Pairs whose values tell their place."""
    first = np.tile(np.arange(start, start + n, dtype=np.float64)[:, None], (1, N_COLUMNS)) + np.arange(N_COLUMNS) / 16
    second = first.copy()
    second[:, SEX] += 1
    order = np.arange(start, start + n, dtype=np.int64)
    distance = np.stack([order / 11, order / 13], axis=1)
    n_unseen = np.stack([order % 3, order % 5], axis=1)
    return Pairs(first, second, order / 3, order / 7, order % 2, 1 - order % 2, order, distance, n_unseen, order / 2)


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[RunStore]:
    with closing(RunStore(tmp_path, database)) as store:
        yield store


def assert_all_there(store: RunStore, run_id: str, n: int) -> None:
    pairs = store.pairs(run_id)
    expected = numbered(0, n)
    assert store.n_pairs(run_id) == len(pairs) == n
    for name in Pairs.__dataclass_fields__:
        assert np.array_equal(getattr(pairs, name), getattr(expected, name)), name


def test_a_file_of_an_earlier_version_reads_as_not_measured(store: RunStore, tmp_path: Path) -> None:
    config = census_config(store)
    file = tmp_path / "pairs.parquet"
    write_pairs(file, numbered(0, 5), config)
    new = ["distance_a", "distance_b", "n_unseen_a", "n_unseen_b", "gap"]
    pq.write_table(pq.read_table(file).drop_columns(new), file)
    pairs = read_pairs(file, config)
    assert np.isnan(pairs.distance).all()
    assert pairs.n_unseen.tolist() == [[-1, -1]] * 5
    assert pairs.gaps.tolist() == np.abs(pairs.score_first - pairs.score_second).tolist()
    assert np.array_equal(pairs.first, numbered(0, 5).first)


def test_what_an_earlier_version_measured_of_both_people_stays(store: RunStore, tmp_path: Path) -> None:
    config = census_config(store)
    file = tmp_path / "pairs.parquet"
    write_pairs(file, numbered(0, 5), config)
    table = pq.read_table(file).drop_columns(["distance_b", "n_unseen_b"])
    old = {"distance_a": "distance", "n_unseen_a": "n_unseen"}
    pq.write_table(table.rename_columns([old.get(name, name) for name in table.column_names]), file)
    pairs = read_pairs(file, config)
    assert pairs.distance[:, 0].tolist() == numbered(0, 5).distance[:, 0].tolist()
    assert pairs.n_unseen[:, 0].tolist() == numbered(0, 5).n_unseen[:, 0].tolist()
    assert np.isnan(pairs.distance[:, 1]).all()
    assert (pairs.is_measured.all(), set(pairs.n_unseen[:, 1].tolist())) == (True, {-1})


def test_many_small_batches_come_back_in_order_from_few_files(store: RunStore) -> None:
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    for i in range(60):
        writer.add(numbered(10 * i, 10))
        writer.write()
        assert len(store.parts(run_id)) <= 16
    assert_all_there(store, run_id, 600)
    assert np.array_equal(store.pairs(run_id, limit=25, offset=595).evaluation, np.arange(595, 600))
    writer.close()
    assert len(store.parts(run_id)) == len(list(store.run_folder(run_id).iterdir())) == 1
    assert_all_there(store, run_id, 600)


def unmeasured(start: int, n: int) -> Pairs:
    """The same pairs as a search tells of them."""
    pairs = numbered(start, n)
    return replace(pairs, distance=np.full((n, 2), np.nan), n_unseen=np.full((n, 2), -1))


@pytest.mark.thorough
@pytest.mark.parametrize("large", [100, 10_000])
def test_what_is_measured_later_is_filled_in(store: RunStore, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(pairs_writer, "_MERGED_PAIRS", large)
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    everything = numbered(0, 600)
    n_measured = 0
    for i, n_more in enumerate([0, 0, 0, 25, 0, 30, 1, *[8] * 53]):
        writer.add(unmeasured(10 * i, 10))
        writer.measured(everything.distance[n_measured:][:n_more], everything.n_unseen[n_measured:][:n_more])
        n_measured += n_more
        writer.write()
    assert n_measured == 480
    known = store.pairs(run_id).is_measured
    assert 0 < known.sum() < 480, "the last ones are filled in when the run ends"
    writer.close()
    pairs = store.pairs(run_id)
    assert np.array_equal(pairs.distance[:480], everything.distance[:480])
    assert np.array_equal(pairs.n_unseen[:480], everything.n_unseen[:480])
    assert np.isnan(pairs.distance[480:]).all()
    assert np.array_equal(pairs.first, everything.first)
    assert len(store.parts(run_id)) == len(list(store.run_folder(run_id).iterdir())) <= 600 // large + 1


def test_more_measures_than_pairs_are_refused(store: RunStore) -> None:
    config = census_config(store)
    writer = PairsWriter(store, store.create_run(config), config)
    writer.add(unmeasured(0, 2))
    with pytest.raises(ProcessError, match="never sent"):
        writer.measured(np.zeros((3, 2)), np.zeros((3, 2), np.int64))


def test_large_files_are_left_alone(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_writer, "_MERGED_PAIRS", 100)
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    done = 0
    for n in (150, 10, 10, 150, *[9] * 40):
        writer.add(numbered(done, n))
        writer.write()
        done += n
    writer.close()
    assert store.parts(run_id)[0].n_pairs == 150
    assert len(store.parts(run_id)) < 12
    assert_all_there(store, run_id, done)


def test_much_at_once_does_not_wait(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_writer, "_FLUSH_PAIRS", 50)
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    writer.add(numbered(0, 40))
    assert store.n_pairs(run_id) == 0
    writer.add(Pairs.empty(N_COLUMNS))
    writer.add(numbered(40, 40))
    assert_all_there(store, run_id, 80)


def test_pairs_wait_no_longer_than_a_moment(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_writer, "FLUSH_SECONDS", 3600.0)
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    writer.add(numbered(0, 5))
    writer.write()
    writer.add(numbered(5, 5))
    writer.write_when_due()
    assert store.n_pairs(run_id) == 5
    monkeypatch.setattr(pairs_writer, "FLUSH_SECONDS", 0.0)
    writer.write_when_due()
    assert_all_there(store, run_id, 10)


def test_a_writer_killed_while_merging_leaves_nothing_twice(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    for i in range(5):
        writer.add(numbered(10 * i, 10))
        writer.write()

    class Killed(BaseException):
        pass

    def killed(*rest: object) -> None:
        raise Killed

    monkeypatch.setattr(pairs_writer, "delete", killed)  # after the merged file, before its line
    with pytest.raises(Killed):
        writer.close()
    assert len(list(store.run_folder(run_id).iterdir())) == 6
    assert_all_there(store, run_id, 50)


def test_a_reader_may_come_while_files_are_merged(store: RunStore) -> None:
    config = census_config(store)
    run_id = store.create_run(config)
    writer = PairsWriter(store, run_id, config)
    for i in range(4):
        writer.add(numbered(10 * i, 10))
        writer.write()
    listed = store.parts

    def list_then_merge(wanted: str) -> object:
        parts = listed(wanted)
        if len(parts) == 4:
            writer.close()  # the files just listed are gone now
        return parts

    store.parts = list_then_merge  # a rival at the worst moment
    assert_all_there(store, run_id, 40)


def test_wide_tables_work(tmp_path: Path) -> None:
    from fairness_engine.data.schema import Column, Kind, Schema
    from fairness_engine.oracle.domain import Scope

    store = RunStore(tmp_path)
    columns = tuple(Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=9) for i in range(2000))
    config = replace(census_config(store), schema=Schema(columns), scope=Scope(("c7",)))
    run_id = store.create_run(config)
    rows = np.random.default_rng(0).integers(0, 10, (50, 2000)).astype(float)
    second = rows.copy()
    second[:, 7] = 9 - second[:, 7]
    zeros = np.zeros(50)
    codes = np.zeros(50, np.int64)
    writer = PairsWriter(store, run_id, config)
    writer.add(Pairs(rows, second, zeros, zeros, codes, codes + 1, codes))
    writer.close()
    pairs = store.pairs(run_id)
    assert np.array_equal(pairs.first, rows)
    assert np.array_equal(pairs.second, second)
