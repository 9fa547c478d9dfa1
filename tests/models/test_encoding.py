"""Encoders, the choice between them, and which class is which outcome."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from small_models import mixed_schema, numbers_schema, random_network

from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import FitError
from fairness_engine.models.classes import match_classes
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import (
    CodesEncoder,
    FoldedEncoder,
    LabelsEncoder,
    choose_encoder,
)
from fairness_engine.models.encoders.one_hot import OneHotEncoder, one_hot_features
from fairness_engine.models.inputs.spelling import normal
from fairness_engine.models.model import Output
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.voting import Rearranged

ROWS = np.array([[0, 30, 2, 1.5], [1, 55, 0, 0.25]])  # F 30 judge, M 55 clerk


def coded_schema(codes: tuple[int, ...] = (3, 4, 5)) -> Schema:
    """A protected code, a category of the given codes and a number."""
    return Schema(
        (
            Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
            Column("job", Kind.CATEGORICAL, codes=codes, labels=("clerk", "nurse", "judge")),
            Column("age", Kind.INTEGER, minimum=20, maximum=60),
        ),
        protected=("sex",),
    )


def test_rows_whose_codes_are_positions_are_handed_on_as_they_are():
    encoder = CodesEncoder(numbers_schema())
    rows = np.ones((5, 4))
    assert encoder.encode(rows) is rows
    assert encoder.block_rows is None
    assert CodesEncoder(mixed_schema()).encode(ROWS) is ROWS


def test_codes_replace_positions():
    encoder = CodesEncoder(coded_schema((10, 30, 20)), [2, 1, 0])
    assert encoder.names == ("age", "job", "sex")
    rows = np.array([[1, 2, 33.0], [0, 1, 21.0]])
    assert np.array_equal(encoder.encode(rows), [[33, 20, 1], [21, 30, 0]])
    assert np.array_equal(rows[0], [1, 2, 33])
    assert encoder.affine() is None
    assert CodesEncoder(coded_schema((10, 30, 20))).affine() is None


def test_evenly_spaced_codes_are_folded_into_a_network():
    schema = coded_schema((3, 5, 7))
    network = random_network((3, 5, 1))
    model = bind(network, CodesEncoder(schema), schema)
    rows = sample_rows(schema, 200, np.random.default_rng(0))
    codes = rows.copy()
    codes[:, 1] = 3 + 2 * codes[:, 1]
    assert isinstance(model.encoder, FoldedEncoder)
    assert model.encoder.encode(rows) is rows
    assert np.array_equal(model.encoder.plain(rows), codes)
    assert np.allclose(model.scores(rows), network.predict(codes), atol=1e-12)
    uneven = coded_schema((3, 4, 9))
    model = bind(network, CodesEncoder(uneven), uneven)
    assert isinstance(model.encoder, CodesEncoder)
    codes[:, 1] = np.array([3, 4, 9])[rows[:, 1].astype(int)]
    assert np.allclose(model.scores(rows), network.predict(codes), atol=1e-12)


def test_labels_are_the_files_own_values_and_columns():
    frame = LabelsEncoder(mixed_schema(), [2, 0, 1]).encode(ROWS)
    expected = pd.DataFrame({"job": ["judge", "clerk"], "sex": ["F", "M"], "age": [30, 55]})
    assert list(frame.columns) == ["job", "sex", "age"]
    assert frame.to_dict("list") == expected.to_dict("list")
    assert frame["job"].dtype == object
    assert frame["age"].dtype == np.int64
    codes = LabelsEncoder(coded_schema()).encode(np.array([[0, 2, 21.0]]))
    assert codes.to_dict("list") == {"sex": [0], "job": [5], "age": [21]}
    assert LabelsEncoder(mixed_schema()).encode(ROWS)["wealth"].tolist() == [1.5, 0.25]


def test_one_hot_columns_follow_the_schema():
    schema = mixed_schema()
    encoder = OneHotEncoder(schema, one_hot_features(schema))
    assert encoder.names == ("sex_F", "sex_M", "age", "job_clerk", "job_nurse", "job_judge", "wealth")
    assert np.array_equal(encoder.encode(ROWS), [[1, 0, 30, 0, 0, 1, 1.5], [0, 1, 55, 1, 0, 0, 0.25]])


def test_the_columns_that_a_one_hot_model_takes_are_not_those_named_alike_alone():
    """'age' is called as its column is, 'sex_F' is not: the model takes both."""
    schema = mixed_schema()
    features = one_hot_features(schema)
    whole = OneHotEncoder(schema, features)
    model = bind(random_network((len(features), 3, 1)), whole, schema)
    assert model.taken(schema.names) == {"sex", "age", "job", "wealth"}
    part = OneHotEncoder(schema, [feature for feature in features if feature.name in ("sex_F", "age", "job_nurse")])
    model = bind(random_network((3, 3, 1)), part, schema)
    assert model.taken(schema.names) == {"sex", "age", "job"}


def test_the_width_tells_columns_from_one_hot():
    assert isinstance(choose_encoder(mixed_schema(), 4), CodesEncoder)
    assert isinstance(choose_encoder(mixed_schema(), 7), OneHotEncoder)
    assert isinstance(choose_encoder(mixed_schema(), None), CodesEncoder)
    assert isinstance(choose_encoder(mixed_schema(), 4, takes_frame=True), LabelsEncoder)
    with pytest.raises(
        FitError, match=r"takes 9 inputs, but there are 4 input columns of the data \(or 7 one-hot ones\)"
    ):
        choose_encoder(mixed_schema(), 9)


def test_the_schema_has_the_last_word():
    assert isinstance(choose_encoder(mixed_schema(ModelInput.LABELS), None), LabelsEncoder)
    assert isinstance(choose_encoder(mixed_schema(ModelInput.ONE_HOT), None), OneHotEncoder)
    assert isinstance(choose_encoder(mixed_schema(ModelInput.CODES), 4, ("age", "sex"), False), CodesEncoder)
    with pytest.raises(FitError, match="takes 4 inputs, but there are 7 one-hot columns"):
        choose_encoder(mixed_schema(ModelInput.ONE_HOT), 4)
    with pytest.raises(FitError, match="takes 7 inputs, but there are 4 input columns"):
        choose_encoder(mixed_schema(ModelInput.CODES), 7)


def test_names_the_model_carries_decide_and_order():
    codes = choose_encoder(mixed_schema(), 2, ("wealth", "age"))
    assert np.array_equal(codes.encode(ROWS), [[1.5, 30], [0.25, 55]])
    names = ("job=judge", "age", "sex_M", "job=clerk")  # a category without an input, as with drop-first
    one_hot = choose_encoder(mixed_schema(), 4, names)
    assert np.array_equal(one_hot.encode(ROWS), [[1, 30, 0, 0], [0, 55, 1, 1]])
    with pytest.raises(FitError, match="an input 'height', which is no column of the data"):
        choose_encoder(mixed_schema(), 2, ("age", "height"))
    with pytest.raises(FitError, match="takes 'job' as one number, but its categories are text"):
        choose_encoder(mixed_schema(), 2, ("job", "sex_M"))
    numbers = choose_encoder(coded_schema(), 2, ("job", "sex_M"))
    assert np.array_equal(numbers.encode(np.array([[1, 2, 30.0]])), [[5, 1]])


def test_uniform_rows_lie_in_the_domain():
    schema = Schema((*mixed_schema().inputs, Column("step", Kind.REAL, minimum=0.0, maximum=1.0, step=0.25)))
    rows = sample_rows(schema, 2000, np.random.default_rng(0))
    assert set(np.unique(rows[:, 0])) == {0, 1}
    assert set(np.unique(rows[:, 4])) == {0, 0.25, 0.5, 0.75, 1}
    assert (rows[:, 1] == np.rint(rows[:, 1])).all()
    assert rows[:, 1].min() == 20
    assert rows[:, 1].max() == 60
    assert len(np.unique(rows[:, 3])) > 1900


# --- classes ------------------------------------------------------------------------------


def labelled(codes: tuple[object, ...], labels: tuple[str, ...]) -> Schema:
    label = Column("hired", Kind.CATEGORICAL, codes=codes, labels=labels)
    return Schema((*numbers_schema().columns, label), label="hired")


@pytest.mark.parametrize(
    ("own", "classes", "order"),
    [
        (["no", "yes"], ("no", "yes"), None),
        (["no", "yes"], ("yes", "no"), (1, 0)),
        ([" <=50K", " >50K"], ("<=50K", ">50K."), None),
        ([False, True], ("False", "True"), None),
        ([0, 1], ("0", "1"), None),
        ([1.0, 0.0], ("0", "1"), (1, 0)),
        ([0, 1], ("bad", "good"), None),
        ([-1, 1], ("bad", "good"), None),
        (None, ("bad", "good"), None),
        (None, ("1", "0"), (1, 0)),
        (["a", "b", "c"], ("c", "a", "b"), (2, 0, 1)),
    ],
)
def test_classes_are_matched_by_name_then_by_position(
    own: list[object], classes: tuple[str, ...], order: tuple[int, ...]
):
    match = match_classes(len(classes), own, classes, numbers_schema())
    assert (match.classes, match.order, match.notes) == (classes, order, ())


def test_classes_are_matched_by_the_codes_of_the_label():
    assert match_classes(2, [1, 2], ("bad", "good"), labelled((2, 1), ("bad", "good"))).order == (1, 0)
    assert match_classes(2, None, ("good", "bad"), labelled((1, 0), ("good", "bad"))).order == (1, 0)
    assert match_classes(2, ["n", "y"], ("good", "bad"), labelled(("y", "n"), ("good", "bad"))).order == (1, 0)


def test_classes_that_do_not_match_are_said():
    match = match_classes(2, ["cat", "dog"], ("no", "yes"), numbers_schema())
    assert "classes are cat, dog, the data's outcomes no, yes" in match.notes[0]
    match = match_classes(3, None, ("no", "yes"), numbers_schema())
    assert match.classes == ("0", "1", "2")
    assert "decides between 3 classes, but the data has 2 outcomes" in match.notes[0]
    assert match_classes(2, ["cat", "dog"], None, numbers_schema()).classes == ("cat", "dog")


def test_one_spelling_of_a_value():
    assert [normal(value) for value in (" a ", 1, 1.0, "1.50", True)] == ["a", "1", "1", "1.5", "True"]


def test_a_predictor_with_its_classes_turned_decides_the_same():
    schema = numbers_schema()
    rows = sample_rows(schema, 500, np.random.default_rng(0))
    relu = DenseNetwork([Layer(np.array([[1.0], [-1.0], [0.0], [0.0]]), np.zeros(1), Activation.RELU)])
    for network in (relu, random_network((4, 3, 3), Activation.SOFTMAX), random_network((4, 3, 1))):
        n = max(2, network.n_scores)
        names = tuple(str(i) for i in range(n))
        plain = bind(network, CodesEncoder(schema), schema)
        turned = bind(network, CodesEncoder(schema), schema, classes=names[::-1], own_classes=names)
        before = plain.decide(plain.scores(rows))
        after = turned.decide(turned.scores(rows))
        assert (after == n - 1 - before).all()
        if n == 2:
            margins = turned.margins(rows)[:, 0]
            assert ((margins > 0) == (after == 1))[np.abs(margins) > turned.rounding].all()
        else:
            assert (turned.margins(rows).argmax(axis=1) == after).all()


def test_turning_classes_keeps_ties():
    class Half:
        kind = "constant"
        n_inputs = 4
        n_scores = 1
        output = Output.PROBABILITY

        def predict(self, inputs: np.ndarray) -> np.ndarray:
            return np.full((len(inputs), 1), 0.5)

        def margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
            return self.predict(inputs) - threshold

    turned = Rearranged(Half(), (1, 0))
    assert (turned.predict(np.ones((2, 4))) > 0.5).all()
    assert (turned.margins(np.ones((2, 4)), 0.5) > 0).all()
