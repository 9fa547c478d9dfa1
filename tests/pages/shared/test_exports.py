"""Files that pages offer: they open in a spreadsheet of any country, and say where they come from."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import loan_cases
import run_cases
from fairness_engine.data.dataset import CaseIds, joined, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.runs.writers.pairs_csv import write_pairs_csv
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from pages.certification import result
from pages.pairs.export import pairs_csv
from pages.shared import exports
from pages.shared.app import session
from pages.shared.pairs.card import Couple, couple_html, person_at
from pages.shared.people import case_ids, group_rows
from run_cases import Finished

PAIRS = "pages/pairs/page.py"


@pytest.fixture
def finished(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Finished]:
    """Runs that ended, in a workspace whose store the pages' parts reach without an app."""
    found = run_cases.finished_runs(workspace)
    store = RunStore(workspace)
    monkeypatch.setattr(session, "store", lambda: store)
    yield found
    session.evaluator().close()


# --- tables for spreadsheets --------------------------------------------------------------------


def test_a_table_begins_with_the_mark_of_utf_8() -> None:
    """Without it a spreadsheet broke every umlaut."""
    table = exports.for_spreadsheet("Staatsangehörigkeit,Score\nTürkei,0.5\n".encode(), decimal_comma=False)
    assert table.startswith(b"\xef\xbb\xbf")
    assert pd.read_csv(io.BytesIO(table)).to_dict("list") == {"Staatsangehörigkeit": ["Türkei"], "Score": [0.5]}


def test_decimal_commas_come_with_semicolons_and_reach_numbers_only() -> None:
    written = b'name,score,day,note\n"a, b",-0.25,01.05,1.5.2\nc,1e-05,2026,"x;y"\nd,12.5,0.0,-3.75e-07\n'
    table = exports.for_spreadsheet(written, decimal_comma=True).decode("utf-8-sig")
    lines = list(csv.reader(io.StringIO(table), delimiter=";"))
    assert lines[1] == ["a, b", "-0,25", "01.05", "1.5.2"]
    assert lines[2] == ["c", "1e-05", "2026", "x;y"]
    assert lines[3] == ["d", "12,5", "0,0", "-3,75e-07"]
    numbers = pd.read_csv(io.StringIO(table), sep=";", decimal=",")["score"]
    assert numbers.tolist() == [-0.25, 1e-05, 12.5]


def test_a_file_comes_with_what_it_was_made_of(finished: Finished) -> None:
    """A file of pairs had no note of run, model, data or day."""
    review = finished.review
    run = finished.searches[0]
    store = session.store()
    facts = exports.facts_of(review, (run.id,))()
    data = store.file(run.config.data_id)
    model = store.file(run.config.model_id)
    assert facts["data_sha256"] == hashlib.sha256(data.path.read_bytes()).hexdigest()
    assert facts["model_sha256"] == hashlib.sha256(model.path.read_bytes()).hexdigest()
    assert (facts["review"], facts["review_id"], facts["run_id"]) == (review.name, review.id, run.id)
    assert (facts["seed"], facts["rows_left_out"], facts["reading_of_the_model"]) == (0, 0, "not confirmed")
    assert (
        facts["scope"]
        == "protected: sex (Female, Male: 2 values); race (White, Black, Asian, Other: 4 values); a pair has two "
        "decisions"
        or (facts["scope"].startswith("protected: ") and facts["scope"].endswith("a pair has two decisions"))
    )
    assert facts["evenhand_version"]
    assert facts["favourable_outcome"] == facts["scores_are_for"] == ">50K"
    bytes_ = exports.bundle(b"a,b\n1,0.5\n", facts, "evenhand-x", decimal_comma=True)
    with zipfile.ZipFile(io.BytesIO(bytes_)) as file:
        assert file.namelist() == ["evenhand-x.csv", "evenhand-x-provenance.csv"]
        assert file.read("evenhand-x.csv").decode("utf-8-sig") == "a;b\r\n1;0,5\r\n"
        lines = dict(csv.reader(io.StringIO(file.read("evenhand-x-provenance.csv").decode("utf-8-sig")), delimiter=";"))
    assert lines["run_id"] == run.id
    assert lines["review"] == review.name


def test_what_is_known_of_the_reading_and_of_the_scope_goes_with_the_file(finished: Finished) -> None:
    review = finished.review
    assert review.schema is not None
    scope = Scope(("sex",), threshold=0.4, score_gap=0.1, fixed=("workclass",), limits={"age": (20.0, 30.0)})
    fit = {**(review.fit or {}), "reading": {"state": "confirmed"}}
    facts = exports.facts_of(replace(review, scope=scope, fit=fit))()
    assert facts["reading_of_the_model"] == "confirmed"
    assert facts["threshold"] == 0.4
    assert "a pair has scores more than 0.1 apart; kept as in the data: workclass; age from 20 to 30" in facts["scope"]
    assert "run_id" not in facts
    assert "`confirmed`" in exports.markdown_facts(facts)
    other = exports.facts_of(replace(review, fit=fit, model_id=None), (finished.searches[0].id,))()
    assert other["reading_of_the_model"] == "not confirmed", (
        "what is confirmed of another model says nothing of the run's"
    )


def test_json_has_it_too(finished: Finished) -> None:
    run = finished.searches[0]
    content = json.loads(result.result_json(run, {}, {"review": "x"}))
    assert content["provenance"] == {"review": "x"}


# --- the pairs page -----------------------------------------------------------------------------


def test_pairs_are_saved_as_people_read_them_unless_codes_are_asked_for(open_app: OpenApp, finished: Finished) -> None:
    """The file said decision 0 for "ja", for codes were the default."""
    run = finished.searches[1]
    app = said.pop_up(open_app(PAIRS, review=finished.review.id, run=run.id), f"csv_pairs_{run.id}")
    assert said.errors_of(app) == []
    assert app.toggle(key="csv_labels").value is True
    app.toggle(key="csv_pairs_comma").set_value(True).run()
    assert said.errors_of(app) == []
    assert app.session_state["csv_decimal_comma"] is True


def test_the_score_of_a_saved_pair_is_of_the_favourable_outcome(finished: Finished) -> None:
    run = finished.searches[0]
    domain = Domain(run.config.schema, run.config.scope)
    pairs = session.store().pairs(run.id, limit=3)
    names = Decisions(("ja", "nein"), favourable=0)
    lines = list(csv.DictReader(io.StringIO(pairs_csv(domain, pairs, np.arange(3), names).decode())))
    assert float(lines[0]["score for ja"]) == pytest.approx(1 - pairs.score_first[0])
    assert {line["decision"] for line in lines} == {"ja", "nein"}
    codes = list(csv.DictReader(io.StringIO(pairs_csv(domain, pairs, np.arange(3)).decode())))
    assert float(codes[0]["score"]) == pairs.score_first[0]


# --- case ids -----------------------------------------------------------------------------------


def loans(path: Path, n_rows: int = 400) -> tuple[pd.DataFrame, Path]:
    frame = loan_cases.loan_frame(n_rows, 3)
    frame.to_csv(path, index=False)
    return frame, path


def test_people_of_the_data_are_found_by_what_they_hold(tmp_path: Path) -> None:
    frame, path = loans(tmp_path / "loans.csv")
    twice = pd.concat([frame, frame.iloc[[5]].assign(**{"Antrags-ID": "A-again"})])
    twice.to_csv(path, index=False)
    table = read_table(path)
    dataset = make_dataset(table, infer_schema(table))
    assert dataset.schema.case_id == "Antrags-ID"
    ids = CaseIds(dataset)
    own = [set(found) for found in ids.of(dataset.rows)]
    assert all(str(expected) in found for expected, found in zip(dataset.ids, own, strict=True))
    double = next(found for found in ids.of(dataset.rows) if "A-again" in found)
    assert double == (str(frame["Antrags-ID"].iloc[5]), "A-again")
    changed = dataset.rows.copy()
    changed[:, dataset.schema.index("Alter")] += 0.5
    assert ids.of(changed) == [()] * len(changed)
    sex = dataset.schema.index("Geschlecht")
    others = [i for i in range(len(dataset.schema.inputs)) if i != sex]
    turned = dataset.rows.copy()
    turned[:, sex] = (turned[:, sex] + 1) % 3
    assert all(ids_of for ids_of in CaseIds(dataset, others).of(turned))


def test_ids_in_words_and_in_cells() -> None:
    assert case_ids.said("Antrags-ID", ("A-1", "A-2", "A-3", "A-4")) == "in the data: Antrags-ID A-1 and 3 more"
    assert case_ids.said("Antrags-ID", ("A-1",)) == "in the data: Antrags-ID A-1"
    assert joined(["A-1", "A-2"]) == "A-1; A-2"
    assert joined([f"A-{i}" for i in range(12)]).endswith("A-9; and 2 more")


def with_ids(store: RunStore, finished: Finished) -> tuple[Review, RunRecord]:
    """The census review with a column of ids, and a scan of it."""
    review = finished.review
    frame = pd.read_csv(store.file(review.data_id).path)
    frame.insert(0, "case", [f"C-{i:05d}" for i in range(len(frame))])
    data = store.add_file(frame.to_csv(index=False).encode(), "census.csv", "data")
    assert review.schema is not None
    named = store.save_review(replace(review, data_id=data.id, schema=replace(review.schema, case_id="case")))
    return named, run_cases.run_of(store, named, "data-scan")


@pytest.mark.thorough
def test_a_pair_leads_back_to_the_case(open_app: OpenApp, finished: Finished, tmp_path: Path) -> None:
    """A pair said "this person is in the data", and not which case that is."""
    store = session.store()
    review, run = with_ids(store, finished)
    app: AppTest = open_app(PAIRS, review=review.id, run=run.id)
    assert said.errors_of(app) == []
    html = "".join(str(element.proto.body) for element in app.main.get("html"))
    assert "In the data: case C-" in html
    table = app.dataframe[0].value
    assert table["case"].str.startswith("C-").mean() > 0.5
    assert table["case"].str.startswith(("C-", "≈ C-")).all(), (
        "a scan's people are all of the data, protected attributes aside"
    )
    write_pairs_csv(tmp_path / "pairs.csv", store, run.id, run.config.schema)
    lines = pd.read_csv(tmp_path / "pairs.csv", keep_default_na=False)
    assert list(lines.columns)[-1] == "id"
    data = pd.read_csv(store.file(run.config.data_id).path).set_index("case")
    named = lines[lines["id"] != ""]
    assert len(named) > 0.4 * len(lines)
    names = [name for name in run.config.schema.names if name in data.columns]
    for line in named.head(50).to_dict("records"):
        for case in line["id"].split("; ")[:1]:
            assert all(str(data.loc[case, name]) == str(line[name]) for name in names)
    dataset = make_dataset(read_table(store.file(run.config.data_id).path), run.config.schema)
    assert list(group_rows.frame(dataset, np.arange(3), None, None)["case"]) == ["C-00000", "C-00001", "C-00002"]
    assert group_rows.rows_csv(dataset, np.arange(1)).decode().splitlines()[1].startswith("1,C-00000,")


def test_runs_from_before_ids_were_known_have_no_such_column(finished: Finished, tmp_path: Path) -> None:
    run = finished.searches[0]
    assert RunConfig.from_json(run.config.to_json()).schema.case_id is None
    write_pairs_csv(tmp_path / "pairs.csv", session.store(), run.id, run.config.schema)
    assert pd.read_csv(tmp_path / "pairs.csv").columns[-1] == "severity"


def test_an_id_on_the_card_is_escaped() -> None:
    import pair_cases

    pairs = pair_cases.pairs()
    people = [person_at(rows[0], 0.5, side) for side, rows in enumerate((pairs.first, pairs.second))]
    couple = Couple(
        pair_cases.domain(), *people, pair_cases.NAMES, cases={1: case_ids.said("id", (pair_cases.HOSTILE,))}
    )
    html = couple_html(couple)
    assert "In the data: id &lt;img" in html
    assert "<img" not in html
