"""Whether a model is read as its owner reads it: known answers, the labels, class 1, the order and the scaling of
inputs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Layout, Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import DataError, FitError, SchemaError
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.fit.input_ways import PLAIN, ways_of
from fairness_engine.models.fit.known_answers import KnownAnswers, answers_in_column, answers_in_file
from fairness_engine.models.fit.reading import _Judge, assess_reading
from fairness_engine.models.fit.reading_state import KnownBy, Reading, State
from fairness_engine.models.fit.report import assess_fit
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from reading_cases import N_ROWS, ORDERS, Net, people_csv


@pytest.fixture(scope="module")
def table() -> Table:
    return read_table(people_csv(), "people.csv")


@pytest.fixture(scope="module")
def schema(table: Table) -> Schema:
    return infer_schema(table).with_protected(("sex",))


def opened(path: Path, table: Table, schema: Schema) -> tuple[Model, Dataset]:
    dataset = make_dataset(table, schema)
    return open_model(path, schema, classes=dataset.classes, favourable=0), dataset


def read(path: Path, table: Table, schema: Schema, answers: KnownAnswers | None = None) -> Reading:
    model, dataset = opened(path, table, schema)
    return assess_reading(model, dataset, 1e6, np.random.default_rng(0), answers)


def known(dataset: Dataset, scores: Any) -> KnownAnswers:
    return KnownAnswers(dataset.kept, np.asarray(scores), np.full(len(scores), -1), 1e-4)


# --- by the labels ------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["", "numbers", "all"])
@pytest.mark.parametrize("order", list(ORDERS))
def test_no_order_of_the_inputs_is_misread_without_a_word(
    order: str, scaling: str, table: Table, schema: Schema, tmp_path: Path
) -> None:
    """Read in the schema's order: plausible only where that is the order; else said, with the order where it is a usual
    one.
    """
    net = Net(make_dataset(table, schema), order, scaling=scaling)
    path = net.write(tmp_path / "net.nnet")
    said = replace(schema, positive="ja")
    reading = read(path, table, said)
    is_plain = order in ("the schema's", "without first") and not scaling
    assert reading.state is (State.PLAUSIBLE if is_plain else State.UNCONFIRMED), reading
    assert bool(reading.advice) is not is_plain
    if order in ("shuffled", "women and men exchanged") or is_plain:
        return
    assert reading.better, reading
    mended = replace(said, layout=Layout.from_json(reading.better["layout"]))
    model, dataset = opened(path, table, mended)
    again = assess_reading(model, dataset, 1e6, np.random.default_rng(0))
    assert again.state is (State.UNCONFIRMED if scaling else State.PLAUSIBLE)  # training may have scaled by other rows
    assert ("scaled by the data's own rows" in "".join(again.advice)) is bool(scaling)
    assert again.inputs_by is KnownBy.PERSON
    np.testing.assert_allclose(model.scores(dataset.rows)[:, 0], net.answers(dataset), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", ["the schema's", "numbers first"])
def test_a_score_of_the_other_outcome_is_said_and_exchanged(
    order: str, table: Table, schema: Schema, tmp_path: Path
) -> None:
    """'ja' stands before 'nein' in the alphabet: a network of 'ja' would be taken for one of 'nein'."""
    net = Net(make_dataset(table, schema), order)
    path = net.write(tmp_path / "net.nnet")
    reading = read(path, table, schema)
    assert reading.positive == "nein"
    assert reading.positive_by is KnownBy.NOBODY
    assert reading.state is State.UNCONFIRMED
    assert reading.better["positive"] == "ja"
    assert "'ja'" in reading.advice[0]
    layout = Layout.from_json(reading.better.get("layout", {}))
    mended = replace(schema, positive="ja", layout=layout)
    model, dataset = opened(path, table, mended)
    assert model.classes == ("nein", "ja")
    right = model.decide(model.scores(dataset.rows)) == dataset.labels
    assert right.mean() > 0.7
    assert read(path, table, mended).state is State.PLAUSIBLE


def test_no_model_is_read_upside_down_where_another_order_fits_as_well_or_it_would_be_right_less_often(
    table: Table, schema: Schema, tmp_path: Path
) -> None:
    model, dataset = opened(
        Net(make_dataset(table, schema), "the schema's").write(tmp_path / "net.nnet"), table, schema
    )
    judge = _Judge(model, dataset, 1e6, np.random.default_rng(0), is_brief=True)
    facts = {"auc": 0.11, "auc_reversed": 0.89, "accuracy": 0.66, "accuracy_reversed": 0.34}
    way = {"order": "numbers first", "scaling": PLAIN, "auc": 0.91, "layout": {}, "model_input": "one-hot"}
    better, said = judge._on_inverted(facts, [way, {**way, "auc": 0.3}])
    assert better == way
    assert said.startswith("With its inputs numbers first the model would fit the labels far better: AUC 0.91")
    better, said = judge._on_inverted(facts, [{**way, "auc": 0.88}])
    assert better == {}
    assert "would be right on 34 % of the rows instead of 66 %: check the order" in said
    better, _ = judge._on_inverted({**facts, "accuracy": 0.2, "accuracy_reversed": 0.8}, [])
    assert better == {"positive": "ja"}


def test_a_model_that_is_mostly_wrong_is_not_plausible_however_well_its_scores_rank(
    table: Table, schema: Schema, tmp_path: Path
) -> None:
    said = replace(schema, positive="ja")
    model, dataset = opened(Net(make_dataset(table, said), "the schema's").write(tmp_path / "net.nnet"), table, said)
    assert assess_reading(model, dataset, 1e6, np.random.default_rng(0)).state is State.PLAUSIBLE
    assert dataset.labels is not None
    few = np.concatenate([np.flatnonzero(dataset.labels == 1), np.flatnonzero(dataset.labels == 0)[:300]])
    mostly = replace(dataset, rows=dataset.rows[few], labels=dataset.labels[few])
    nobody = replace(model, threshold=1e9)
    found = assess_reading(nobody, mostly, 1e6, np.random.default_rng(0))
    assert found.state is State.UNCONFIRMED
    assert "of the rows only, though its scores tell the outcomes apart" in found.advice[0]


def test_a_regression_on_0_and_1_is_not_decided_at_0_without_a_word(
    table: Table, schema: Schema, tmp_path: Path
) -> None:
    said = replace(schema, positive="ja")
    dataset = make_dataset(table, said)
    net = Net(dataset, "the schema's")
    inputs = np.column_stack([net.inputs(dataset), np.ones(N_ROWS)])
    found = np.linalg.lstsq(inputs, dataset.labels, rcond=None)[0]
    net.weights = found[:-1]
    net.bias = float(found[-1])
    model, _ = opened(net.write(tmp_path / "net.nnet"), table, said)
    rng = np.random.default_rng(0)
    reading = assess_reading(model, dataset, 1e6, rng)
    assert reading.state is State.UNCONFIRMED
    right = [np.mean((net.answers(dataset) > at) == dataset.labels) for at in (0, 0.5)]
    assert reading.accuracy == right[0]
    assert (
        f"right on {100 * right[0]:.0f} % of the rows; above 0.5 they would be on {100 * right[1]:.0f} %"
        in (reading.advice[0])
    )
    assert "--threshold 0.5" in reading.advice[0]
    decided = assess_reading(replace(model, threshold=0.5), dataset, 1e6, rng)
    assert (decided.state, decided.accuracy) == (State.PLAUSIBLE, right[1])


def test_class_1_that_was_said_changes_no_decision_but_whose_it_is(
    table: Table, schema: Schema, tmp_path: Path
) -> None:
    path = Net(make_dataset(table, schema), "the schema's").write(tmp_path / "net.nnet")
    one, dataset = opened(path, table, replace(schema, positive="ja"))
    other, _ = opened(path, table, replace(schema, positive="nein"))
    np.testing.assert_array_equal(one.scores(dataset.rows), other.scores(dataset.rows))
    assert (one.classes, other.classes) == (("nein", "ja"), ("ja", "nein"))


def test_class_1_must_be_an_outcome(table: Table, schema: Schema) -> None:
    with pytest.raises(DataError, match="class 1 must be one of 'ja', 'nein', got 'yes'"):
        make_dataset(table, replace(schema, positive="yes"))


def test_a_model_that_guesses_is_not_confirmed(table: Table, schema: Schema, tmp_path: Path) -> None:
    net = Net(make_dataset(table, schema), "the schema's")
    guess = np.random.default_rng(3).permutation(N_ROWS)
    shuffled = make_dataset(table, replace(schema, positive="ja"))
    model, _ = opened(net.write(tmp_path / "net.nnet"), table, replace(schema, positive="ja"))
    of_others = replace(shuffled, labels=shuffled.labels[guess])
    reading = assess_reading(model, of_others, 1e6, np.random.default_rng(0))
    assert reading.state is State.UNCONFIRMED
    assert "not clearly better than guessing" in reading.advice[0]


def test_without_labels_nothing_is_plausible(table: Table, schema: Schema, tmp_path: Path) -> None:
    path = Net(make_dataset(table, schema), "the schema's").write(tmp_path / "net.nnet")
    model, dataset = opened(path, table, schema)
    blind = replace(dataset, labels=None, classes=())
    reading = assess_reading(model, blind, 1e6, np.random.default_rng(0))
    assert reading.state is State.UNCONFIRMED
    assert "Bring known answers" in reading.advice[0]


# --- by known answers ---------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["", "numbers", "all"])
@pytest.mark.parametrize("order", list(ORDERS))
def test_known_answers_confirm_or_refute_every_order(
    order: str, scaling: str, table: Table, schema: Schema, tmp_path: Path
) -> None:
    said = replace(schema, positive="ja")
    dataset = make_dataset(table, said)
    net = Net(dataset, order, scaling=scaling)
    path = net.write(tmp_path / "net.nnet")
    answers = known(dataset, net.answers(dataset))
    reading = read(path, table, said, answers)
    if order in ("the schema's", "without first") and not scaling:
        assert reading.state is State.CONFIRMED
        assert reading.max_difference is not None
        assert reading.max_difference < 1e-6
        assert reading.n_compared == N_ROWS
        return
    assert reading.state is State.REFUSED
    assert reading.row == 1
    assert reading.given == pytest.approx(net.answers(dataset)[0])
    if order in ("shuffled", "women and men exchanged"):
        assert not reading.better
        return
    mended = replace(said, layout=Layout.from_json(reading.better["layout"]))
    assert read(path, table, mended, answers).state is State.CONFIRMED


def test_probabilities_are_known_answers_of_a_network_of_logits(table: Table, schema: Schema, tmp_path: Path) -> None:
    said = replace(schema, positive="ja")
    dataset = make_dataset(table, said)
    net = Net(dataset, "the schema's")
    shares = 1 / (1 + np.exp(-net.answers(dataset)))
    path = net.write(tmp_path / "net.nnet")
    assert read(path, table, said, known(dataset, shares)).state is State.CONFIRMED


def test_answers_of_either_outcome_confirm_and_the_labels_say_whose_the_score_is(
    table: Table, schema: Schema, tmp_path: Path
) -> None:
    """An author may have written down the share of 'nein' of a network of 'ja'."""
    said = replace(schema, positive="ja")
    dataset = make_dataset(table, said)
    net = Net(dataset, "the schema's")
    of_nein = known(dataset, 1 / (1 + np.exp(net.answers(dataset))))
    path = net.write(tmp_path / "net.nnet")
    assert read(path, table, said, of_nein).state is State.CONFIRMED
    wrong = read(path, table, replace(schema, positive="nein"), of_nein)
    assert (wrong.state, wrong.better) == (State.UNCONFIRMED, {"positive": "ja"})
    blind = replace(dataset, labels=None)
    model, _ = opened(path, table, said)
    assert assess_reading(model, blind, 1e6, np.random.default_rng(0), of_nein).state is State.UNCONFIRMED


def test_answers_that_agree_do_not_confirm_a_class_1_that_the_labels_contradict(
    table: Table, schema: Schema, tmp_path: Path
) -> None:
    """A column of the model's raw numbers is the same whatever they are taken for."""
    dataset = make_dataset(table, schema)
    net = Net(dataset, "the schema's")
    reading = read(net.write(tmp_path / "net.nnet"), table, schema, known(dataset, net.answers(dataset)))
    assert reading.state is State.REFUSED
    assert reading.better == {"positive": "ja"}
    assert "as scores of 'ja'" in reading.advice[0]
    assert (reading.given, reading.got) in (("ja", "nein"), ("nein", "ja"))


def test_one_wrong_answer_is_named_by_its_row(table: Table, schema: Schema, tmp_path: Path) -> None:
    said = replace(schema, positive="ja")
    dataset = make_dataset(table, said)
    net = Net(dataset, "the schema's")
    scores = net.answers(dataset)
    scores[41] += 0.01
    reading = read(net.write(tmp_path / "net.nnet"), table, said, known(dataset, scores))
    assert (reading.state, reading.row) == (State.REFUSED, 42)
    assert "in row 42" in reading.advice[0]
    assert reading.max_difference == pytest.approx(0.01, abs=1e-6)


def test_known_decisions_confirm_too(table: Table, schema: Schema, tmp_path: Path) -> None:
    said = replace(schema, positive="ja")
    dataset = make_dataset(table, said)
    net = Net(dataset, "the schema's")
    decided = (net.answers(dataset) > 0).astype(np.int64)
    nothing = np.full(N_ROWS, np.nan)
    answers = KnownAnswers(dataset.kept, nothing, decided, 1e-4)
    path = net.write(tmp_path / "net.nnet")
    assert read(path, table, said, answers).state is State.CONFIRMED
    decided[7] = 1 - decided[7]
    wrong = read(path, table, said, answers)
    assert (wrong.state, wrong.row) == (State.REFUSED, 8)
    assert {wrong.given, wrong.got} == {"ja", "nein"}


def test_codes_of_texts_are_said_by_the_layout_and_must_hold_every_category(schema: Schema) -> None:
    rows = np.array([[0.0, 30.0, 2.0, 12.0]])
    said = replace(schema, layout=Layout(codes={"job": ("none", "craft", "care", "bank")}))
    assert Schema.from_json(said.to_json()).layout == said.layout
    assert CodesEncoder(said).encode(rows).tolist() == [[0.0, 30.0, 1.0, 12.0]]
    for wrong in (("none", "craft", "care"), ("none", "craft", "care", "care")):
        with pytest.raises(FitError, match="must hold every category of 'job' once"):
            CodesEncoder(replace(schema, layout=Layout(codes={"job": wrong})))
    with pytest.raises(SchemaError, match="must map columns to lists"):
        Layout.from_json({"codes": {"job": "none"}})


# --- the file of answers ------------------------------------------------------------------


def test_answers_are_matched_by_id_in_any_order_and_by_the_order_of_rows(table: Table, schema: Schema) -> None:
    by_id = read_table(b"id,score\nC5,0.25\nC2,0.75\nC999999,0.5\n", "a.csv")
    found = answers_in_file(by_id, table, replace(schema, case_id="id"))
    assert found.rows.tolist() == [2, 5]
    assert found.scores.tolist() == [0.75, 0.25]
    assert found.tolerance == pytest.approx(0.0051)
    in_order = answers_in_file(read_table(b"score;x\n0,125;a\n0,5;b\n", "a.csv"), table, schema)
    assert in_order.rows.tolist() == [0, 1]
    assert in_order.scores.tolist() == [0.125, 0.5]


def test_scores_in_full_are_compared_closely(table: Table, schema: Schema) -> None:
    found = answers_in_file(read_table(b"score,x\n0.12345678,a\n1.5e-7,b\n", "a.csv"), table, schema)
    assert found.tolerance == 1e-4


def test_a_column_of_the_data_holds_answers(table: Table, schema: Schema) -> None:
    of_label = answers_in_column(table, schema, "granted")
    assert np.isnan(of_label.scores).all()
    assert set(of_label.classes) == {0, 1}
    numbers = answers_in_column(table, schema, "months")
    assert np.isfinite(numbers.scores).all()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b,c\n1,2,3\n", "must have a column 'score'"),
        (b"id,score\nX1,0.5\nX2,0.25\n", "which no row has"),
        (b"score,x\nhigh,1\nlow,2\n", "must be numbers, got 'high'"),
        (b"decision,x\nja,1\nperhaps,2\n", "must be outcomes of the label"),
    ],
)
def test_a_file_that_holds_no_answers_is_refused_in_a_sentence(
    content: bytes, said: str, table: Table, schema: Schema
) -> None:
    with pytest.raises(DataError, match=said):
        answers_in_file(read_table(content, "a.csv"), table, replace(schema, case_id="id"))


def test_more_answers_than_rows_are_refused(table: Table, schema: Schema) -> None:
    many = "score,x\n" + "0.5,a\n" * (N_ROWS + 1)
    with pytest.raises(DataError, match="3,001"):
        answers_in_file(read_table(many.encode(), "a.csv"), table, schema)


# --- what is handed on --------------------------------------------------------------------


def test_a_reading_travels_as_json_and_stands_on_the_fit_card(table: Table, schema: Schema, tmp_path: Path) -> None:
    path = Net(make_dataset(table, schema), "numbers first").write(tmp_path / "net.nnet")
    model, dataset = opened(path, table, schema)
    card = assess_fit(model, dataset, np.random.default_rng(0))
    reading = Reading.from_json(json.loads(json.dumps(card.reading)))
    assert reading.state is State.UNCONFIRMED
    assert reading.advice[0] in card.warnings
    assert reading.in_words() == "not confirmed"
    assert reading.ways[0]["auc"] > 0.7 or reading.ways[0]["auc"] < 0.3


def test_usual_ways_are_all_different(table: Table, schema: Schema, tmp_path: Path) -> None:
    model, dataset = opened(
        Net(make_dataset(table, schema), "the schema's").write(tmp_path / "net.nnet"), table, schema
    )
    ways = ways_of(model, dataset)
    assert model.reread is not None
    inputs = [model.reread(way.schema).encoder.encode(dataset.rows).tobytes() for way in ways]
    assert len(set(inputs)) == len(inputs) > 20
    assert ways[0].schema.layout.order == tuple(ORDERS["the schema's"].split())
