"""Models of several inputs, each of its own type, made by real Keras and real skl2onnx: rows reach them as their author
gave them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.schema import Column, Kind, Layout, ModelInput, Schema
from fairness_engine.errors import FitError
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import LabelsEncoder
from fairness_engine.models.inputs.names import input_matches
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import open_model

COUNTRIES = ("Türkei", "Österreich", "Polen")


def words(name: str, *categories: str) -> Column:
    return Column(name, Kind.CATEGORICAL, codes=categories, labels=categories)


def loan_schema(model_input: ModelInput = ModelInput.AUTO, **layout: Any) -> Schema:
    columns = (
        words("Geschlecht", "m", "w"),
        words("Staatsangehörigkeit", *COUNTRIES),
        Column("Laufzeit (Monate)", Kind.INTEGER, minimum=6, maximum=120),
        Column("Einkommen", Kind.REAL, minimum=500.0, maximum=9000.0),
    )
    return Schema(columns, "bewilligt", "ja", ("Geschlecht",), model_input, layout=Layout(**layout))


ROWS = sample_rows(loan_schema(), 300, np.random.default_rng(8))
FRAME = LabelsEncoder(loan_schema()).encode(ROWS)


@pytest.fixture(scope="module")
def keras() -> Any:
    import keras

    return keras


@pytest.fixture
def saved(tmp_path: Path, keras: Any) -> Callable[[Any], Path]:
    def save(model: Any) -> Path:
        model.save(tmp_path / "m.keras")
        return tmp_path / "m.keras"

    return save


def asked(model: Any, inputs: dict[str, Any]) -> np.ndarray:
    """What Keras itself gives for inputs by name."""
    import tensorflow as tf

    return np.asarray(model({name: tf.constant(value) for name, value in inputs.items()}, training=False))


def head(keras: Any, inputs: list[Any], parts: list[Any]) -> Any:
    keras.utils.set_random_seed(3)
    hidden = keras.layers.Dense(4, activation="tanh")(keras.layers.Concatenate()(parts))
    return keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))


def embedded(keras: Any, value: Any, n_codes: int) -> Any:
    return keras.layers.Flatten()(keras.layers.Embedding(n_codes, 2)(value))


def codes_model(keras: Any, n_codes: tuple[int, int] = (2, 3), names: tuple[str, ...] | None = None) -> Any:
    names = names or ("Geschlecht", "Staatsangeh_rigkeit", "Laufzeit_Monate", "Einkommen")
    inputs = [
        keras.Input((1,), dtype=kind, name=name)
        for name, kind in zip(names, ("int32", "int32", "int64", "float32"), strict=True)
    ]
    cast = keras.layers.Rescaling(1 / 120)
    parts = [
        embedded(keras, inputs[0], n_codes[0]),
        embedded(keras, inputs[1], n_codes[1]),
        cast(inputs[2]),
        keras.layers.Rescaling(1e-4)(inputs[3]),
    ]
    return head(keras, inputs, parts)


def code_inputs(names: list[str]) -> dict[str, np.ndarray]:
    kinds = (np.int32, np.int32, np.int64, np.float32)
    return {name: ROWS[:, [i]].astype(kind) for i, (name, kind) in enumerate(zip(names, kinds, strict=True))}


@pytest.mark.parametrize("way", [ModelInput.AUTO, ModelInput.CODES, ModelInput.LABELS])
def test_embeddings_of_whole_numbers_get_codes_in_the_order_of_the_schema(
    keras: Any, saved: Callable[[Any], Path], way: ModelInput
) -> None:
    network = codes_model(keras)
    model = open_model(saved(network), loan_schema(way))
    names = [value.name for value in network.inputs]
    assert np.allclose(model.scores(ROWS), asked(network, code_inputs(names)), atol=1e-6)
    assert [line.how for line in input_matches(model.encoder)] == ["exact", "normalised", "normalised", "exact"]
    note = " ".join(model.notes)
    assert "'Geschlecht': 'm' is 0, 'w' is 1, and so for Staatsangehörigkeit" in note
    assert "does not say which code each had" in note
    assert np.array_equal(model.encoder.plain(ROWS[:5])["Staatsangeh_rigkeit"], ROWS[:5, 1])
    with pytest.raises(FitError, match="takes whole numbers, but a cell of 'Geschlecht' is missing"):
        model.scores(np.array([[np.nan, 0, 6, 700]]))


def test_a_table_too_small_for_the_categories_is_refused_and_a_larger_one_is_said(
    keras: Any, saved: Callable[[Any], Path]
) -> None:
    with pytest.raises(
        FitError,
        match="'Staatsangeh_rigkeit' takes the codes 0 to 1, but column 'Staatsangehörigkeit' has 3 categories",
    ):
        open_model(saved(codes_model(keras, (2, 2))), loan_schema())
    network = codes_model(keras, (2, 4))
    model = open_model(saved(network), loan_schema())
    assert (
        "has 4 codes, but column 'Staatsangehörigkeit' has 3 categories: if its codes begin at 1, set the shift"
        in " ".join(model.notes)
    )
    from_one = open_model(saved(network), loan_schema(scaling={"Staatsangeh_rigkeit": (-1.0, 1.0)}))
    inputs = code_inputs([value.name for value in network.inputs])
    inputs["Staatsangeh_rigkeit"] = inputs["Staatsangeh_rigkeit"] + 1
    assert np.allclose(from_one.scores(ROWS), asked(network, inputs), atol=1e-6)
    with pytest.raises(FitError, match="takes the codes 0 to 2"):
        open_model(saved(codes_model(keras)), loan_schema(scaling={"Staatsangeh_rigkeit": (-1.0, 1.0)}))


def test_codes_of_the_file_are_given_where_the_table_has_them(keras: Any, saved: Callable[[Any], Path]) -> None:
    columns = list(loan_schema().columns)
    columns[1] = Column("Staatsangehörigkeit", Kind.CATEGORICAL, codes=(7, 1, 4), labels=COUNTRIES)
    network = codes_model(keras, (2, 8))
    model = open_model(saved(network), replace(loan_schema(), columns=tuple(columns)))
    inputs = code_inputs([value.name for value in network.inputs])
    inputs["Staatsangeh_rigkeit"] = np.array([7, 1, 4], np.int32)[inputs["Staatsangeh_rigkeit"]]
    assert np.allclose(model.scores(ROWS), asked(network, inputs), atol=1e-6)


def test_numbered_inputs_are_taken_in_order_and_other_names_are_asked_about(
    keras: Any, saved: Callable[[Any], Path]
) -> None:
    network = codes_model(keras, names=("input_7", "input_8", "input_9", "input_10"))
    model = open_model(saved(network), loan_schema())
    assert np.allclose(
        model.scores(ROWS), asked(network, code_inputs([value.name for value in network.inputs])), atol=1e-6
    )
    assert {line.how for line in input_matches(model.encoder)} == {"position"}
    other = saved(codes_model(keras, names=("sex", "country", "months", "Einkommen")))
    with pytest.raises(FitError, match="takes 3 inputs that are no columns of the data") as caught:
        open_model(other, loan_schema())
    assert [line["column"] for line in caught.value.inputs] == ["", "", "", "Einkommen"]
    said = {"sex": "Geschlecht", "country": "Staatsangehörigkeit", "months": "Laufzeit (Monate)"}
    assert len(input_matches(open_model(other, loan_schema(names=said)).encoder)) == 4


def test_numbers_that_an_input_cannot_take_are_refused(keras: Any, saved: Callable[[Any], Path]) -> None:
    names = ("Einkommen", "Staatsangehörigkeit", "Laufzeit (Monate)", "Geschlecht")
    with pytest.raises(FitError, match="'Einkommen' takes whole numbers, but column 'Einkommen' holds decimals"):
        open_model(saved(codes_model(keras, names=names)), loan_schema())
    names = ("Laufzeit (Monate)", "Staatsangehörigkeit", "Geschlecht", "Einkommen")
    with pytest.raises(FitError, match=r"takes the codes 0 to 1, but column 'Laufzeit \(Monate\)' goes from 6 to 120"):
        open_model(saved(codes_model(keras, names=names)), loan_schema())


# --- lookups ------------------------------------------------------------------------------------


def lookup_model(keras: Any, sexes: list[str], countries: list[str], is_wide: bool = True) -> Any:
    layers = keras.layers
    sex = keras.Input((1,), dtype="string", name="geschlecht")
    country = keras.Input((1,), dtype="string", name="staatsangehoerigkeit")
    numbers = keras.Input((2,), name="numeric") if is_wide else keras.Input((1,), name="Einkommen")
    one_hot = layers.StringLookup(vocabulary=sexes, output_mode="one_hot")(sex)
    code = layers.StringLookup(vocabulary=countries)(country)
    return head(
        keras,
        [sex, country, numbers],
        [one_hot, embedded(keras, code, len(countries) + 1), layers.Rescaling(1e-3)(numbers)],
    )


@pytest.mark.parametrize("way", [ModelInput.AUTO, ModelInput.CODES, ModelInput.LABELS])
def test_words_are_given_as_the_models_vocabulary_spells_them_beside_a_block_of_numbers(
    keras: Any, saved: Callable[[Any], Path], way: ModelInput
) -> None:
    network = lookup_model(keras, [" m", "w "], list(COUNTRIES))
    model = open_model(saved(network), loan_schema(way))
    given = {
        "geschlecht": FRAME[["Geschlecht"]].replace({"m": " m", "w": "w "}).to_numpy(dtype=str),
        "staatsangehoerigkeit": FRAME[["Staatsangehörigkeit"]].to_numpy(dtype=str),
        "numeric": ROWS[:, 2:].astype(np.float32),
    }
    assert np.allclose(model.scores(ROWS), asked(network, given), atol=1e-6)
    assert model.encoder.names[2:] == ("numeric[Laufzeit (Monate)]", "numeric[Einkommen]")
    assert not model.notes


def test_labels_are_looked_up_where_the_vocabulary_knows_those(keras: Any, saved: Callable[[Any], Path]) -> None:
    columns = list(loan_schema().columns)
    columns[0] = Column("Geschlecht", Kind.CATEGORICAL, codes=(0, 1), labels=("m", "w"))
    network = lookup_model(keras, ["w", "m"], list(COUNTRIES))
    model = open_model(saved(network), replace(loan_schema(), columns=tuple(columns)))
    assert np.allclose(model.scores(ROWS), open_model(saved(network), loan_schema()).scores(ROWS))


def test_words_that_the_model_does_not_know_are_said_or_refused(keras: Any, saved: Callable[[Any], Path]) -> None:
    model = open_model(saved(lookup_model(keras, ["m", "w"], ["Polen", "Türkei"])), loan_schema())
    assert "does not know 1 of the categories of 'Staatsangehörigkeit', for example 'Österreich'" in " ".join(
        model.notes
    )
    with pytest.raises(
        FitError,
        match=r"'geschlecht' looks up male, female, but none of these is a category of column 'Geschlecht' \(m, w\)",
    ):
        open_model(saved(lookup_model(keras, ["male", "female"], list(COUNTRIES))), loan_schema())


def test_a_column_left_over_is_no_fault_where_every_input_has_a_name(keras: Any, saved: Callable[[Any], Path]) -> None:
    model = open_model(saved(lookup_model(keras, ["m", "w"], list(COUNTRIES), is_wide=False)), loan_schema())
    assert model.taken(loan_schema().names) == {"Geschlecht", "Staatsangehörigkeit", "Einkommen"}


def test_other_layers_that_look_up(keras: Any, saved: Callable[[Any], Path]) -> None:
    layers = keras.layers
    sex = keras.Input((1,), dtype="string", name="Geschlecht")
    country = keras.Input((1,), dtype="int64", name="Staatsangehörigkeit")
    months = keras.Input((1,), dtype="int64", name="Laufzeit (Monate)")
    income = keras.Input((1,), name="Einkommen")
    parts = [
        embedded(keras, layers.Hashing(5)(sex), 5),
        layers.CategoryEncoding(3, output_mode="one_hot")(country),
        embedded(keras, layers.IntegerLookup(vocabulary=list(range(6, 121)))(months), 116),
        embedded(keras, layers.Discretization([1000.0, 3000.0])(income), 3),
    ]
    network = head(keras, [sex, country, months, income], parts)
    model = open_model(saved(network), loan_schema())
    given = code_inputs(["", "Staatsangehörigkeit", "Laufzeit (Monate)", "Einkommen"])
    given.pop("")
    given["Geschlecht"] = FRAME[["Geschlecht"]].to_numpy(dtype=str)
    given["Staatsangehörigkeit"] = given["Staatsangehörigkeit"].astype(np.int64)
    assert np.allclose(model.scores(ROWS), asked(network, given), atol=1e-6)


def test_codes_that_a_lookup_of_whole_numbers_has(keras: Any, saved: Callable[[Any], Path]) -> None:
    layers = keras.layers
    code = keras.Input((1,), dtype="int64", name="plz")
    income = keras.Input((1,), name="Einkommen")
    network = head(
        keras,
        [code, income],
        [layers.IntegerLookup(vocabulary=[1067, 10115, 99084], output_mode="one_hot")(code), income],
    )
    schema = Schema((words("PLZ", "01067", "10115", "20095"), loan_schema().column("Einkommen")))
    model = open_model(saved(network), schema)
    assert model.encoder.plain(np.array([[0, 1.0], [1, 1.0]]))["plz"].tolist() == [1067, 10115]
    assert "does not know 1 of the categories of 'PLZ', for example '20095'" in " ".join(model.notes)


# --- blocks -------------------------------------------------------------------------------------


def block_model(keras: Any, *widths: tuple[str, int, str]) -> Any:
    inputs = [keras.Input((width,), dtype=kind, name=name) for name, width, kind in widths]
    parts = [keras.layers.Rescaling(1e-3)(value) for value in inputs]
    return head(keras, inputs, parts)


def test_blocks_of_numbers_codes_and_one_hot_columns(keras: Any, saved: Callable[[Any], Path]) -> None:
    one_hot = np.concatenate([np.eye(2)[ROWS[:, 0].astype(int)], np.eye(3)[ROWS[:, 1].astype(int)]], axis=1).astype(
        np.float32
    )
    numbers = ROWS[:, 2:].astype(np.float32)
    codes = ROWS[:, :2].astype(np.int32)
    for other, values in ((("cats", 5, "float32"), one_hot), (("embedded", 2, "int32"), codes)):
        network = block_model(keras, ("numeric", 2, "float32"), other)
        model = open_model(saved(network), loan_schema())  # of two blocks of two, whole numbers cannot be Einkommen
        assert np.allclose(model.scores(ROWS), asked(network, {"numeric": numbers, other[0]: values}), atol=1e-6)
    network = block_model(
        keras, ("Geschlecht", 2, "float32"), ("staatsangehorigkeit", 3, "float32"), ("rest", 2, "float32")
    )
    given = {"Geschlecht": one_hot[:, :2], "staatsangehorigkeit": one_hot[:, 2:], "rest": numbers}
    assert np.allclose(open_model(saved(network), loan_schema()).scores(ROWS), asked(network, given), atol=1e-6)


def test_blocks_that_nobody_can_know_are_refused_with_the_cure(keras: Any, saved: Callable[[Any], Path]) -> None:
    with pytest.raises(
        FitError, match="'numeric' 3 numbers and 'cats' 4 numbers a row, while 4 columns are left"
    ) as caught:
        open_model(saved(block_model(keras, ("numeric", 3, "float32"), ("cats", 4, "float32"))), loan_schema())
    assert "Mark columns that the model does not take as 'ignored'" in str(caught.value)
    with pytest.raises(FitError, match="It cannot be known"):  # either block may be the numbers
        open_model(saved(block_model(keras, ("left", 2, "float32"), ("right", 2, "float32"))), loan_schema())
    with pytest.raises(
        FitError, match="'staatsangehorigkeit' takes 4 numbers a row, but column 'Staatsangehörigkeit' has 3 categories"
    ):
        open_model(
            saved(block_model(keras, ("Geschlecht", 2, "float32"), ("staatsangehorigkeit", 4, "float32"))),
            loan_schema(),
        )


# --- ONNX ---------------------------------------------------------------------------------------


def exported(pipeline: Any, path: Path, types: list[Any], **options: Any) -> Path:
    from skl2onnx import convert_sklearn

    own = {id(pipeline): options} if options else None
    path.write_bytes(convert_sklearn(pipeline, initial_types=types, options=own).SerializeToString())
    return path


def loan_pipeline(final: Any, frame: pd.DataFrame = FRAME) -> Any:
    good = FRAME["Einkommen"] / 3000 + (FRAME["Geschlecht"] == "m") + (FRAME["Staatsangehörigkeit"] == "Polen")
    steps = ColumnTransformer(
        [
            ("c", OneHotEncoder(handle_unknown="ignore"), ["Geschlecht", "Staatsangehörigkeit"]),
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["Laufzeit (Monate)", "Einkommen"]),
        ]
    )
    return make_pipeline(steps, final).fit(frame, np.where(good > good.median(), "ja", "nein"))


def column_types() -> list[Any]:
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    kinds = (StringTensorType, StringTensorType, FloatTensorType, FloatTensorType)
    return [(name, kind([None, 1])) for name, kind in zip(FRAME.columns, kinds, strict=True)]


def agrees(model: Model, pipeline: Any) -> bool:
    return bool((model.decide(model.scores(ROWS)) == (pipeline.predict(FRAME) == model.classes[1])).mean() > 0.995)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
@pytest.mark.parametrize(
    "final", [LogisticRegression(), RandomForestClassifier(5, random_state=0)], ids=lambda final: type(final).__name__
)
def test_a_pipeline_of_words_and_numbers_exported_by_sklearn_onnx(tmp_path: Path, final: Any, zipmap: Any) -> None:
    pipeline = loan_pipeline(final)
    path = exported(pipeline, tmp_path / "m.onnx", column_types(), zipmap=zipmap)
    model = open_model(path, loan_schema(), classes=("nein", "ja"))
    assert agrees(model, pipeline)
    assert model.predictor.output is Output.PROBABILITY
    assert np.allclose(model.scores(ROWS)[:, 0], pipeline.predict_proba(FRAME)[:, 0], atol=1e-5)
    table = {line.name: (line.column, line.how) for line in input_matches(model.encoder)}
    assert table["Laufzeit__Monate_"] == ("Laufzeit (Monate)", "normalised")
    assert not model.notes
    rows = ROWS[:20].copy()
    rows[::2, 3] = np.nan  # a missing cell is for the model's own imputer
    frame = FRAME[:20].assign(Einkommen=rows[:, 3])
    assert np.allclose(model.scores(rows)[:, 0], pipeline.predict_proba(frame)[:, 0], atol=1e-5)


def test_blocks_of_words_and_numbers_exported_by_sklearn_onnx(tmp_path: Path) -> None:
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    steps = ColumnTransformer([("c", OneHotEncoder(), [0, 1]), ("n", StandardScaler(), [2, 3])])
    pipeline = make_pipeline(steps, LogisticRegression()).fit(FRAME, loan_pipeline(LogisticRegression()).predict(FRAME))
    types = [("cat", StringTensorType([None, 2])), ("num", FloatTensorType([None, 2]))]
    model = open_model(exported(pipeline, tmp_path / "m.onnx", types), loan_schema(), classes=("nein", "ja"))
    assert agrees(model, pipeline)
    assert model.encoder.names[0] == "cat[Geschlecht]"


def test_categories_that_an_exported_encoder_does_not_know_are_said(tmp_path: Path) -> None:
    pipeline = loan_pipeline(LogisticRegression(), FRAME.replace({"Türkei": "Polen"}))
    model = open_model(exported(pipeline, tmp_path / "m.onnx", column_types()), loan_schema(), classes=("nein", "ja"))
    assert "does not know 1 of the categories of 'Staatsangehörigkeit', for example 'Türkei'" in " ".join(model.notes)


def test_an_encoder_that_refuses_unknown_words_is_tried_with_words_that_it_knows(tmp_path: Path) -> None:
    pipeline = loan_pipeline(DecisionTreeClassifier(max_depth=3))
    pipeline.steps[0][1].transformers_[0][1].handle_unknown = "error"
    model = open_model(exported(pipeline, tmp_path / "m.onnx", column_types()), loan_schema(), classes=("nein", "ja"))
    assert agrees(model, pipeline)


@pytest.mark.parametrize(
    "final",
    [LogisticRegression(), SGDClassifier(loss="log_loss", random_state=0), BaggingClassifier(n_estimators=3)],
    ids=lambda final: type(final).__name__,
)
@pytest.mark.parametrize("names", [("ja", "nein"), (1, 2)])
def test_a_model_that_gives_labels_alone_is_read_by_the_names_of_its_classes(
    tmp_path: Path, final: Any, names: tuple[Any, Any]
) -> None:
    import onnx

    pipeline = loan_pipeline(final)
    labels = np.where(pipeline.predict(FRAME) == "ja", *names)
    pipeline = pipeline.fit(FRAME, labels)
    path = exported(pipeline, tmp_path / "m.onnx", column_types(), zipmap=False)
    graph = onnx.load(path)
    del graph.graph.output[1:]
    path.write_bytes(graph.SerializeToString())
    own = tuple(str(name) for name in names)
    model = open_model(path, loan_schema(), classes=own[::-1])
    assert model.predictor.output is Output.LABEL
    decided = model.decide(model.scores(ROWS))
    assert len(np.unique(decided)) == 2
    assert (np.array(own[::-1])[decided] == pipeline.predict(FRAME).astype(str)).mean() > 0.995
