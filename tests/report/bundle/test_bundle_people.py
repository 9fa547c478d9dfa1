"""Who of a run's pairs stands in its data, by rows that were computed and by rows that were read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import bundle_cases
import run_cases
from bundle_cases import read
from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.links.reading import parse_link
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.pairs import Pairs
from fairness_engine.report.bundle.people import PeopleOfData, tells_people
from fairness_engine.report.bundle.tables import PeopleTables
from fairness_engine.report.bundle.writing import write_bundle
from fairness_engine.runs import queue
from fairness_engine.runs.kinds import RULES
from fairness_engine.runs.writers.proofs import stored_tree
from fairness_engine.store.records import FileRole, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

SCHEMA = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("f", "m")),
        Column("spouse", Kind.CATEGORICAL, codes=("none", "wife", "husband"), labels=("none", "wife", "husband")),
        Column("share", Kind.REAL, minimum=0.0, maximum=1.0, step=0.1),
        Column("wealth", Kind.REAL, minimum=0.0, maximum=1e6),
        Column("hired", Kind.CATEGORICAL, codes=("no", "yes"), labels=("no", "yes")),
    ),
    label="hired",
    favourable="yes",
    protected=("sex",),
)
ROWS = b"""sex,spouse,share,wealth,hired
f,none,0.3,12.5,yes
m,wife,0.7,99.25,no
f,husband,0.6,0.1,
m,none,,5,yes
"""


def people(schema: Schema = SCHEMA, **changes: object) -> PeopleOfData:
    scope = replace(Scope(("sex",)), **changes)
    return PeopleOfData(read_table(ROWS, "people.csv"), RunConfig("search", "", "m", schema, scope))


def row(sex: int, spouse: int, share: float, wealth: float) -> np.ndarray:
    return np.array([[sex, spouse, share, wealth]], dtype=float)


def test_a_person_stands_in_the_data_as_the_engine_computed_the_values() -> None:
    """0.1 * 3 is another number than 0.3, and the same step of the column."""
    found = people()
    assert found.holds(row(0, 0, 0.1 * 3, 12.5)) == [True]
    assert found.holds(row(0, 0, 0.3, 12.5 + 1e-9)) == [True]
    assert found.holds(row(0, 0, 0.3, 12.6)) == [False]
    assert found.holds(row(1, 0, 0.3, 12.5)) == [False]


def test_who_differs_in_protected_attributes_alone_tells_of_the_person() -> None:
    found = people()
    assert found.holds_alike(row(1, 0, 0.3, 12.5)) == [True]
    assert found.holds_alike(row(1, 0, 0.4, 12.5)) == [False]


def test_a_row_without_an_outcome_is_a_person_and_one_that_misses_a_cell_is_nobody_whole() -> None:
    found = people()
    assert found.holds(row(0, 2, 0.6, 0.1)) == [True]
    assert found.holds(row(1, 0, 0.0, 5.0)) == [False]


def test_what_is_linked_to_a_protected_attribute_changes_with_it() -> None:
    """The wife's twin is a husband; without the link he is somebody else."""
    twin = row(0, 2, 0.7, 99.25)
    assert people().holds_alike(twin) == [False]
    linked = people(links=(parse_link("sex:spouse=husband/wife", SCHEMA),))
    assert linked.holds_alike(twin) == [True]
    assert linked.holds(twin) == [False]


def test_limits_of_a_search_do_not_hide_anybody() -> None:
    found = people(limits={"share": (0.2, 0.5)})
    assert found.holds(row(0, 0, 0.3, 12.5)) == [True]


def tree(n_people: list[int], low: int) -> PartitionTree:
    """Two boxes of one column: its first digit, and the others."""
    n = np.array([0, 1, 2])
    shares = np.array([1.0, 0.5, 0.5])
    return PartitionTree(
        column=np.array([0, -1, -1]),
        cut=np.array([low, 0, 0]),
        right=np.array([2, -1, -1]),
        weight=shares,
        certified=0 * shares,
        falsified=0 * shares,
        n_people=np.array(n_people),
        n_merged=0 * n,
        n_digits=np.array([4]),
    )


def test_a_box_of_one_individual_that_holds_rows_tells_that_somebody_stands_there() -> None:
    assert tells_people(tree([3, 1, 2], low=0))
    assert not tells_people(tree([3, 0, 3], low=0))
    assert not tells_people(tree([3, 1, 2], low=1))


def test_a_proof_that_tells_people_stays_out_where_no_row_may_be_told(tmp_path: Path) -> None:
    """Of the people who are like the first row of the data: one individual, so that the whole tree is one box."""
    store = RunStore(tmp_path / "workspace")
    review = run_cases.review_of(store, model=bundle_cases.MODEL, scope=Scope(("sex",)))
    assert review.schema is not None
    first = make_dataset(read_table(bundle_cases.SAMPLE_DATA), review.schema).rows[0]
    limits = {name: (value, value) for name, value in zip(review.schema.names, first.tolist(), strict=True)}
    del limits["sex"]
    review = store.save_review(replace(review, scope=Scope(("sex",), limits=limits)))
    run = run_cases.run_of(store, review, "", kind="certify", settings={"n_samples": 0}, budget=Budget(None, 30.0))
    assert run.state is RunState.FINISHED, run.message
    write_bundle(store, review, [run], tmp_path / "without", with_rows=False, extra={})
    content = read(tmp_path / "without", f"runs/{run.id}/run.json")
    assert tells_people(stored_tree(store, run.id)[0])
    assert not (tmp_path / "without" / "runs" / run.id / "stored" / "tree.npz").exists()
    assert content["withheld"]["parts"] == ["the file 'tree.npz'"]
    assert "partition tree is left out" in content["withheld"]["why"][0]
    write_bundle(store, review, [run], tmp_path / "with", with_rows=True, extra={})
    assert (tmp_path / "with" / "runs" / run.id / "stored" / "tree.npz").is_file()


# --- tables -------------------------------------------------------------------------------------


def test_columns_that_are_called_like_those_of_the_table_stay_apart(tmp_path: Path) -> None:
    schema = Schema(
        (
            Column("score", Kind.CATEGORICAL, codes=(0, 1), labels=("low", "high")),
            Column("pair", Kind.CATEGORICAL, codes=("=1+1", "b"), labels=("=1+1", "b")),
            Column("half", Kind.CATEGORICAL, codes=(0.5, 1), labels=("half", "one")),
        ),
        protected=("score",),
    )
    pairs = Pairs(
        first=np.array([[0.0, 0.0, 0.0]]),
        second=np.array([[1.0, 0.0, 0.0]]),
        score_first=np.array([0.25]),
        score_second=np.array([0.75]),
        decision_first=np.array([0]),
        decision_second=np.array([1]),
        evaluation=np.array([2]),
    )
    PeopleTables(schema, float("nan"), None, None, with_rows=True).write(tmp_path, [(pairs, [7])])
    table = pq.read_table(tmp_path / "pairs.parquet")
    names = ["pair", "side", "score", "pair_", "half", "score_", "decision", "is_plausible", "severity", "is_in_data"]
    assert table.column_names == names
    told = table.to_pylist()[1]
    assert told == {
        **{"pair": 7, "side": "b", "score": 1, "pair_": "=1+1", "half": 0.5, "score_": 0.75, "decision": 1},
        **{"is_plausible": None, "severity": 0.5, "is_in_data": None},
    }
    assert (tmp_path / "pairs.csv").read_text().splitlines() == [
        "pair,side,score,pair_,half,score_,decision,is_plausible,severity,is_in_data",
        "7,a,0,'=1+1,0.5,0.25,0,,0.5,",
        "7,b,1,'=1+1,0.5,0.75,1,,0.5,",
    ]


# --- texts --------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("with_rows", [True, False])
def test_sentences_of_the_data_stay_out_where_no_row_may_be_told(with_rows: bool, tmp_path: Path) -> None:
    sample = find_sample("comments")
    model = sample.model("comments_linear")
    store = RunStore(tmp_path / "workspace")
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    kept = store.add_file(model.path, model.path.name, FileRole.MODEL)
    schema = replace(sample.schema_for(model), protected=())
    [column] = [column.name for column in schema.columns if column.kind is Kind.TEXT]
    config = RULES.config(data.id, kept.id, schema, Scope((column,)), budget=Budget(None, 60.0))
    run = queue.run_in_foreground(store, store.create_run(config), lambda _: None)
    assert run.state is RunState.FINISHED, run.message
    quoted = store.results(run.id)["sentences"]["pairs"][0]["first"]
    write_bundle(store, None, [run], tmp_path / "bundle", with_rows=with_rows, extra={})
    texts = [path.read_bytes() for path in (tmp_path / "bundle").rglob("*.json")]
    as_json = quoted.encode("unicode_escape") if not quoted.isascii() else quoted.encode()
    assert any(as_json in text or quoted.encode() in text for text in texts) is with_rows
    content = read(tmp_path / "bundle", f"runs/{run.id}/run.json")
    assert ("sentences" in content["run"]["results"]) is with_rows
    assert ("the result 'sentences'" in content["withheld"]["parts"]) is not with_rows
