"""What is written into a bundle, and what is not."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import bundle_cases
import run_cases
from bundle_cases import EXTRA, KINDS, SAMPLE_DATA, read
from fairness_engine.errors import RunError, SettingError
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.report.bundle.writing import write_bundle
from fairness_engine.runs.writers.pairs_csv import write_pairs_csv
from fairness_engine.store.records import FileRole
from fairness_engine.store.store import RunStore


def people(folder: Path, run_id: str) -> list[dict[str, str]]:
    """The lines of a run's table of pairs."""
    with (folder / "runs" / run_id / "pairs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def inputs(row: dict[str, Any], *without: str) -> tuple[str, ...]:
    """A person of the census sample, as texts; without some columns."""
    own = {"pair", "side", "score", "decision", "is_plausible", "severity", "id", "is_in_data", "income", *without}
    return tuple(str(value) for name, value in sorted(row.items()) if name not in own)


def files(folder: Path) -> dict[str, Path]:
    """All files of a bundle by their path from there."""
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def data() -> list[dict[str, Any]]:
    return pd.read_csv(SAMPLE_DATA, dtype=str).to_dict("records")


def run_of(folder: Path, kind: str) -> tuple[str, dict[str, Any]]:
    """Id and ``run.json`` of the run of a kind, which stands at its place among the runs."""
    run_id = read(folder, "review.json")["runs"][KINDS.index(kind)]
    return run_id, read(folder, f"runs/{run_id}/run.json")


# --- the same bytes -----------------------------------------------------------------------------


@pytest.mark.parametrize("with_rows", [True, False])
def test_the_same_review_gives_the_same_bytes_and_the_hashes_that_are_told(
    with_rows: bool, whole: Path, without_rows: Path, tmp_path: Path
) -> None:
    first = whole if with_rows else without_rows
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    runs = [store.run(made.runs[kind]) for kind in reversed(KINDS)]
    told = write_bundle(store, made.review, [*runs, runs[0]], tmp_path / "b", with_rows=with_rows, extra=EXTRA)
    found = {
        path.relative_to(tmp_path / "b").as_posix(): path for path in (tmp_path / "b").rglob("*") if path.is_file()
    }
    assert told == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}
    assert list(told) == sorted(told)
    before = files(first)
    assert set(found) == set(before)
    assert [name for name, path in found.items() if path.read_bytes() != before[name].read_bytes()] == []


def test_no_date_is_the_present_one_and_no_name_is_this_machines(whole: Path) -> None:
    runs = [run_of(whole, kind)[1]["run"] for kind in KINDS]
    last = max(run["finished"] for run in runs)
    root = next(entity for entity in read(whole, "ro-crate-metadata.json")["@graph"] if entity["@id"] == "./")
    assert root["datePublished"] == pd.Timestamp(last, unit="s", tz="UTC").isoformat(timespec="seconds")
    texts = [path.read_text() for path in whole.rglob("*.json")]
    assert not any(f'"{platform.node()}"' in text for text in texts)


# --- what is there ------------------------------------------------------------------------------


def test_each_run_has_its_question_its_results_and_its_seal(whole: Path, tmp_path: Path) -> None:
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    for kind in KINDS:
        run_id, content = run_of(whole, kind)
        run = store.run(made.runs[kind])
        assert run_id == run.id
        assert content["run"]["config"] == json.loads(json.dumps(run.config.to_json()))
        assert content["run"]["results"] == store.results(run.id)
        assert content["run"]["n_found"] == run.n_found
        assert content["run"]["seal"][-1]["chain"]
        assert content["withheld"] == {"n_pairs": 0, "parts": [], "why": []}
    assert (whole / "runs" / made.runs["certify"] / "stored" / "tree.npz").is_file()
    assert (whole / "runs" / made.runs["rules"] / "stored" / "rules.npz").is_file()
    assert (whole / "runs" / made.runs["labels"] / "stored" / "rules.npz").is_file()


def test_the_data_the_models_and_what_was_added_are_there_to_the_byte(whole: Path) -> None:
    sha256 = hashlib.sha256(SAMPLE_DATA.read_bytes()).hexdigest()
    assert (whole / "data" / f"{sha256[:16]}.csv").read_bytes() == SAMPLE_DATA.read_bytes()
    models = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (whole / "models").iterdir()}
    _, retrained = run_of(whole, "retrain")
    assert models == {file["sha256"] for file in retrained["run"]["files"] if file["role"] == "model"}
    assert len(models) == 2
    assert (whole / "tables" / "a table.csv").read_bytes() == EXTRA["tables/a table.csv"]


def test_both_tables_of_pairs_say_what_the_command_line_says(whole: Path, tmp_path: Path) -> None:
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    for kind in ("search", "scan", "certify"):
        run = store.run(made.runs[kind])
        n_pairs = write_pairs_csv(tmp_path / f"{kind}.csv", store, run.id, run.config.schema)
        assert n_pairs == run.n_found > 0
        theirs = pd.read_csv(tmp_path / f"{kind}.csv")
        ours = pd.read_csv(whole / "runs" / run.id / "pairs.csv")
        parquet = pq.read_table(whole / "runs" / run.id / "pairs.parquet").to_pandas()
        assert list(ours.columns) == [*theirs.columns, "is_in_data"] == list(parquet.columns)
        pd.testing.assert_frame_equal(ours[theirs.columns], theirs)
        pd.testing.assert_frame_equal(parquet.astype(ours.dtypes.to_dict()), ours)


def test_a_search_that_found_nobody_has_empty_tables(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "workspace")
    review = run_cases.review_of(store, model=bundle_cases.MODEL, scope=Scope(("race",)))
    run = run_cases.run_of(store, review, "random", budget=Budget(400))
    assert run.n_found == 0
    told = write_bundle(store, None, [run], tmp_path / "bundle", with_rows=True, extra={})
    assert people(tmp_path / "bundle", run.id) == []
    assert pq.read_metadata(tmp_path / "bundle" / "runs" / run.id / "pairs.parquet").num_rows == 0
    assert [name.rsplit("/", 1)[1] for name in told if "stored" in name] == ["tested.npz"]
    card = read(tmp_path / "bundle", "model-card.cdx.json")["metadata"]["component"]["modelCard"]
    assert "none was found within the budget" in card["considerations"]["technicalLimitations"][0]
    assert "fairnessAssessments" not in card["considerations"]


# --- personal data ------------------------------------------------------------------------------


def test_who_stands_in_the_data_is_told_as_a_reader_of_the_file_finds_it(
    whole: Path, data: list[dict[str, Any]]
) -> None:
    known = {inputs(row) for row in data}
    n_there = 0
    for kind in ("search", "scan", "certify"):
        run_id, content = run_of(whole, kind)
        lines = people(whole, run_id)
        assert [line["is_in_data"] for line in lines] == [str(inputs(line) in known).lower() for line in lines]
        n_there += sum(line["is_in_data"] == "true" for line in lines)
        alike = {inputs(row, "sex") for row in data}
        of_data = {line["pair"] for line in lines if inputs(line, "sex") in alike}
        assert content["n_of_data"] == len(of_data)
        assert content["n_pairs"] == len(lines) // 2
    assert n_there >= content["n_of_data"]
    scan, _ = run_of(whole, "scan")
    assert all(
        "true" in (a["is_in_data"], b["is_in_data"]) for a, b in zip(*[iter(people(whole, scan))] * 2, strict=True)
    )


def test_without_rows_nobody_of_the_data_is_in_any_file(without_rows: Path, data: list[dict[str, Any]]) -> None:
    assert not (without_rows / "models").exists()
    assert [path.suffix for path in (without_rows / "data").iterdir()] == [".json"] * 2
    alike = {inputs(row, "sex") for row in data}
    for kind in ("search", "scan", "certify"):
        run_id, content = run_of(without_rows, kind)
        lines = people(without_rows, run_id)
        assert "is_in_data" not in (lines[0] if lines else {})
        assert not [line for line in lines if inputs(line, "sex") in alike]
        assert content["withheld"]["n_pairs"] == content["n_of_data"]
        assert len(lines) == 2 * (content["n_pairs"] - content["n_of_data"])
        rows = [pq.read_table(path) for path in (without_rows / "runs" / run_id / "stored").glob("*.parquet")]
        assert sum(map(len, rows)) == len(lines) // 2
        assert not (without_rows / "runs" / run_id / "stored" / "tested.npz").exists()
        if kind != "certify":
            assert "sample of whom the search tested is left out" in content["withheld"]["why"][-1]
    _, scan = run_of(without_rows, "scan")
    assert scan["n_of_data"] == scan["n_pairs"] > 0, "a scan finds people of the data only"
    assert (
        f"{scan['n_pairs']:,} of {scan['n_pairs']:,} pairs are of people who stand in the data"
        in scan["withheld"]["why"][0]
    )
    root = next(each for each in read(without_rows, "ro-crate-metadata.json")["@graph"] if each["@id"] == "./")
    assert scan["withheld"]["why"][0] in root["description"]


def test_pairs_that_stay_keep_their_numbers(whole: Path, without_rows: Path) -> None:
    """A directed search comes upon people of the data among others."""
    _, content = run_of(without_rows, "search")
    assert 0 < content["withheld"]["n_pairs"] < content["n_pairs"]
    for kind in ("search", "certify"):
        run_id, _ = run_of(whole, kind)
        before = {(line["pair"], line["side"]): line for line in people(whole, run_id)}
        for line in people(without_rows, run_id):
            assert {**line, "is_in_data": ""} == {**before[line["pair"], line["side"]], "is_in_data": ""}


def test_data_that_is_gone_leaves_all_pairs_out_where_no_row_may_be_told(tmp_path: Path) -> None:
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    run = store.run(made.runs["search"])
    store.file(run.config.data_id).path.unlink()
    write_bundle(store, made.review, [run], tmp_path / "without", with_rows=False, extra={})
    content = read(tmp_path / "without", f"runs/{run.id}/run.json")
    assert (content["n_of_data"], content["withheld"]["n_pairs"]) == (None, run.n_found)
    assert people(tmp_path / "without", run.id) == []
    write_bundle(store, made.review, [run], tmp_path / "with", with_rows=True, extra={})
    lines = people(tmp_path / "with", run.id)
    assert len(lines) == 2 * run.n_found
    assert {line["is_in_data"] for line in lines} == {""}
    graph = read(tmp_path / "with", "ro-crate-metadata.json")["@graph"]
    [absent] = [each for each in graph if each["@id"] == f"#file-{run.config.data_id}"]
    assert "does not have the file any more" in absent["description"]


def test_ids_of_cases_are_told_with_rows_alone(tmp_path: Path) -> None:
    frame = pd.read_csv(SAMPLE_DATA).head(400)
    frame.insert(0, "case", [f"C-{i:04d}" for i in range(len(frame))])
    store = RunStore(tmp_path / "workspace")
    review = run_cases.review_of(store, model=bundle_cases.MODEL, scope=Scope(("sex",)))
    data = store.add_file(frame.to_csv(index=False).encode(), "cases.csv", FileRole.DATA)
    assert review.schema is not None
    review = store.save_review(replace(review, data_id=data.id, schema=replace(review.schema, case_id="case")))
    run = run_cases.run_of(store, review, "data-scan", budget=Budget(2_000))
    assert run.n_found > 0
    write_bundle(store, review, [run], tmp_path / "with", with_rows=True, extra={})
    assert any(line["id"].startswith("C-") for line in people(tmp_path / "with", run.id))
    write_bundle(store, review, [run], tmp_path / "without", with_rows=False, extra={})
    texts = [path.read_bytes() for path in (tmp_path / "without").rglob("*") if path.is_file()]
    assert not any(b"C-0" in text for text in texts)


# --- refusals -----------------------------------------------------------------------------------


@pytest.fixture
def one(tmp_path: Path) -> tuple[RunStore, Any]:
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    return store, store.run(made.runs["estimate"])


@pytest.mark.parametrize(
    "path",
    [
        *("../report.html", "/report.html", "a/../b", "", ".", "a//b", "a/./b", "a\\b", "C:x", "a\nb"),
        *("data/x.csv", "runs/x", "models/m", "review.json", "ro-crate-metadata.json", "attestation.intoto.json"),
    ],
)
def test_a_further_file_lies_in_the_bundle(path: str, one: tuple[RunStore, Any], tmp_path: Path) -> None:
    store, run = one
    with pytest.raises(SettingError, match="needs a path inside it"):
        write_bundle(store, None, [run], tmp_path / "bundle", with_rows=False, extra={path: b""})
    assert not (tmp_path / "bundle").exists()


def test_a_folder_that_holds_files_is_left_alone(one: tuple[RunStore, Any], tmp_path: Path) -> None:
    store, run = one
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "mine.txt").write_text("mine")
    with pytest.raises(SettingError, match="new or empty folder"):
        write_bundle(store, None, [run], tmp_path / "bundle", with_rows=False, extra={})
    assert [path.name for path in (tmp_path / "bundle").iterdir()] == ["mine.txt"]
    with pytest.raises(SettingError, match="a folder that can be written"):
        write_bundle(store, None, [run], tmp_path / "bundle" / "mine.txt", with_rows=False, extra={})


def test_no_run_and_a_run_at_work_are_refused(one: tuple[RunStore, Any], tmp_path: Path) -> None:
    store, run = one
    with pytest.raises(SettingError, match="at least one run"):
        write_bundle(store, None, [], tmp_path / "bundle", with_rows=False, extra={})
    waiting = store.run(store.create_run(run.config))
    with pytest.raises(RunError, match="must have ended before it is handed on"):
        write_bundle(store, None, [waiting], tmp_path / "bundle", with_rows=False, extra={})


def test_a_model_that_was_swapped_in_the_workspace_is_not_handed_on(tmp_path: Path) -> None:
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    run = store.run(made.runs["search"])
    path = store.file(run.config.model_id).path
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(RunError, match="is not what it was when it was added"):
        write_bundle(store, made.review, [run], tmp_path / "bundle", with_rows=True, extra={})


def test_numbers_of_documents_are_those_of_the_store(whole: Path, tmp_path: Path) -> None:
    """Every figure of the model card stands in a result of its run, digit by digit."""
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    runs = made.runs
    numbers = {each: {store.run(each).n_found, *_numbers(store.results(each))} for each in runs.values()}
    for kind in ("rules", "labels"):
        with np.load(store.run_folder(runs[kind]) / "rules.npz") as stored:
            n_inside, n_outside = np.maximum(stored["n_inside"], 1), np.maximum(stored["n_outside"], 1)
            shares = np.abs(stored["favourable_inside"] / n_inside - stored["favourable_outside"] / n_outside)
            numbers[runs[kind]] |= {*shares.tolist(), *stored["low"].tolist(), *stored["high"].tolist()}
    card = read(whole, "model-card.cdx.json")
    cards = [each["modelCard"] for each in (card["metadata"]["component"], *card["components"]) if "modelCard" in each]
    metrics = [metric for each in cards for metric in each["quantitativeAnalysis"]["performanceMetrics"]]
    told_of = {metric["slice"].rsplit("run ", 1)[1] for metric in metrics}
    assert told_of == set(runs.values()) - {runs["labels"]}
    for metric in metrics:
        run_id = metric["slice"].rsplit("run ", 1)[1]
        interval = metric.get("confidenceInterval", {})
        for told in (metric["value"], *interval.values()):
            assert float(told) in numbers[run_id], (metric, run_id)


def _numbers(content: Any) -> list[float]:
    if isinstance(content, dict):
        return [number for each in content.values() for number in _numbers(each)]
    if isinstance(content, list):
        return [number for each in content for number in _numbers(each)]
    return [content] if isinstance(content, int | float) else []
