"""One box assessed for itself: against its people one by one, and what is believed of the answer."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.certification.box_inspection.details import MAX_DRAWN, BoxDetails
from fairness_engine.certification.box_inspection.inspector import BoxInspector
from fairness_engine.certification.box_inspection.reasons import BoxContext, reasons_of
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from handmade import function_model


@cache
def opened(name: str, protected: tuple[str, ...] = ("sex",)) -> tuple[Model, Domain, np.ndarray]:
    sample = find_sample("census_income")
    schema = Schema.read(sample.schema).with_protected(protected)
    dataset = make_dataset(read_table(sample.data, name=sample.data.name), schema)
    path: Path = sample.model(name).path
    model = open_model(path, dataset.schema, classes=dataset.classes, favourable=1, name=path.name)
    return model, Domain(dataset.schema, Scope(protected)), dataset.rows


def inspector(name: str, protected: tuple[str, ...] = ("sex",), **settings: Any) -> BoxInspector:
    return BoxInspector(*opened(name, protected), CertifySettings(**settings))


def random_box(n_digits: np.ndarray, width: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A box about so wide, as a part of each column."""
    low = rng.integers(0, n_digits)
    return low, np.minimum(low + (rng.random(len(low)) * width * n_digits).astype(np.int64), n_digits - 1)


def decided(model: Model, domain: Domain, rows: np.ndarray) -> np.ndarray:
    """The decision of every variant ``(n, K)``."""
    return model.decide(model.scores(domain.variants(rows).reshape(-1, domain.n_columns))).reshape(len(rows), -1)


@pytest.mark.parametrize(
    ("name", "protected"),
    [
        ("census_income_network", ("sex",)),
        ("census_income_network", ("age",)),
        ("census_income_tree", ("sex", "race")),
        ("census_income_forest", ("sex",)),
        ("census_income_pipeline", ("race",)),
    ],
)
def test_what_is_said_of_a_box_is_true_of_its_people(name: str, protected: tuple[str, ...]) -> None:
    model, domain, _ = opened(name, protected)
    asked = inspector(name, protected)
    rng = np.random.default_rng(4)
    space = asked.space
    for width in (0.05, 0.15, 0.4, 1.0):
        low, high = random_box(space.n_digits, width, rng)
        box = asked.inspect(low, high)
        digits = rng.integers(low, high + 1, size=(200, len(low)))
        rows = space.rows(digits)
        decisions = decided(model, domain, rows)
        is_unfair = decisions.min(axis=1) != decisions.max(axis=1)
        assert box.weight == pytest.approx(np.prod(high - low + 1) / space.total)
        assert 0 <= box.certified + box.falsified <= box.weight * (1 + 1e-9)
        if box.certified == box.weight:
            assert not is_unfair.any()
        if box.falsified == box.weight:
            assert is_unfair.all()
        assert box.n_points == np.prod(high - low + 1)
        scores = model.scores(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(len(rows), -1)
        assert (scores >= box.score_bounds[:, 0] - 1e-7).all()
        assert (scores <= box.score_bounds[:, 1] + 1e-7).all()
        assert (box.n_unfair > 0) == (len(box.counterexample) == 1)
        assert box.n_unstable <= box.n_units or box.n_units == 0
        assert box.reasons


def test_small_boxes_are_their_people() -> None:
    model, domain, rows = opened("census_income_planted")
    asked = inspector("census_income_planted")
    rng = np.random.default_rng(1)
    seen = set()
    for person in rng.permutation(len(rows))[:60]:
        low = asked.space.digits(rows[person : person + 1])[0]
        high = np.minimum(low + np.array([1, 0, 1, 1, 2, 0, 0, 1]), asked.space.n_digits - 1)
        box = asked.inspect(low, high)
        everybody = (
            np.array(np.meshgrid(*[np.arange(a, b + 1) for a, b in zip(low, high, strict=True)])).reshape(8, -1).T
        )
        decisions = decided(model, domain, asked.space.rows(everybody))
        n_unfair = int((decisions.min(axis=1) != decisions.max(axis=1)).sum())
        assert box.is_evaluated
        assert (box.n_drawn, box.n_unfair) == (len(everybody), n_unfair)
        assert box.falsified * asked.space.total == pytest.approx(n_unfair)
        assert box.undecided == pytest.approx(0, abs=1e-15)
        assert box.n_people >= 1
        seen.add(n_unfair > 0)
    assert seen == {False, True}


def test_the_counterexample_lies_in_the_box_and_holds() -> None:
    model, domain, _ = opened("census_income_network")
    asked = inspector("census_income_network")
    low, high = (ends[0] for ends in asked.space.whole())
    box = asked.inspect(low, high)
    pair = box.counterexample
    assert 0 < box.n_unfair < box.n_drawn == MAX_DRAWN
    assert (pair.first != pair.second).any()
    assert (pair.first[:, domain.free] == pair.second[:, domain.free]).all()
    assert model.decide(model.scores(pair.first)) != model.decide(model.scores(pair.second))
    assert asked.inspect(low, high).reasons == box.reasons  # the same people are drawn again
    assert box.n_people == 5000
    assert f"of {MAX_DRAWN:,} individuals drawn from it, {box.n_unfair:,} are discriminated against" in box.reasons[0]
    assert any("neither always on nor always off" in reason for reason in box.reasons)


def test_weights_of_the_data_and_boxes_that_weigh_nothing() -> None:
    asked = inspector("census_income_network", weights="data")
    low, high = (ends[0] for ends in asked.space.whole())
    assert asked.inspect(low, high).weight == pytest.approx(1)
    nobody = next(i for i, mass in enumerate(asked.space.masses) if (mass == 0).any())
    low[nobody] = high[nobody] = int(np.flatnonzero(asked.space.masses[nobody] == 0)[0])
    box = asked.inspect(low, high)
    assert (box.weight, box.n_people) == (0.0, 0)
    assert box.n_drawn > 0


def test_a_model_that_is_blind_needs_no_bounds() -> None:
    asked = inspector("census_income_ignores_protected", ("sex",))
    low, high = (ends[0] for ends in asked.space.whole())
    box = asked.inspect(low, high)
    assert box.certified == box.weight
    assert box.n_unfair == 0


def continuous_inspector(function: Any) -> BoxInspector:
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
            Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0),
        ),
        label="y",
        favourable=1,
        protected=("sex",),
    )
    return BoxInspector(function_model(function), Domain(schema, Scope(("sex",))), np.empty((0, 2)), CertifySettings())


def test_what_cannot_be_certified_or_is_no_box_is_refused() -> None:
    with pytest.raises(ModelError, match="cannot be certified"):
        continuous_inspector(lambda rows: rows[:, 1])
    with pytest.raises(ModelError, match="cannot be certified"):
        inspector("census_income_svm")
    asked = inspector("census_income_network")
    low, high = (ends[0] for ends in asked.space.whole())
    for bad in ((low[:3], high[:3]), (high, low), (low - 1, high), (low, high + 1)):
        with pytest.raises(SettingError, match="must lie inside the space"):
            asked.inspect(*bad)


# --- the answer on its way ----------------------------------------------------------------------


def a_box() -> tuple[BoxDetails, Domain, int]:
    asked = inspector("census_income_network")
    low, high = (ends[0] for ends in asked.space.whole())
    return asked.inspect(low, high), asked.domain, len(low)


def test_an_answer_comes_back_as_it_was_sent() -> None:
    box, domain, d = a_box()
    back = BoxDetails.from_json(json.loads(json.dumps(box.to_json())), box.counterexample, domain, d)
    for name in BoxDetails.__dataclass_fields__:
        if name != "counterexample":
            assert np.array_equal(
                getattr(back, name), getattr(box, name), equal_nan=name in ("bounds", "score_bounds")
            ), name


@pytest.mark.parametrize(
    "changes",
    [
        {"weight": 1.5},
        {"certified": -0.1},
        {"certified": 0.9, "falsified": 0.2},
        {"falsified": "all"},
        {"weight": float("nan")},
        {"n_people": -1},
        {"n_points": 2.5},
        {"n_drawn": 1},
        {"n_unfair": 0},
        {"n_unstable": True},
        {"is_evaluated": 1},
        {"reasons": ["x" * 1000]},
        {"reasons": ["x"] * 100},
        {"reasons": [3]},
        {"reasons": None},
        {"thresholds": None},
        {"bounds": {"dtype": "float64", "shape": [0], "base64": ""}},
        {"blame": {"dtype": "int64", "shape": [0], "base64": ""}},
    ],
)
def test_an_answer_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    box, domain, d = a_box()
    with pytest.raises((ValueError, KeyError, TypeError)):
        BoxDetails.from_json({**box.to_json(), **changes}, box.counterexample, domain, d)


def test_a_counterexample_without_an_unfair_person_is_refused() -> None:
    box, domain, d = a_box()
    with pytest.raises(ValueError, match="counterexample"):
        BoxDetails.from_json(box.to_json(), Pairs.empty(9), domain, d)


# --- words --------------------------------------------------------------------------------------


def context(**changes: Any) -> BoxContext:
    model, domain, _ = opened("census_income_network")
    names = tuple(name for name in domain.schema.names if name != "sex")
    values = {"model": model, "domain": domain, "names": names, "unit": "neurons", "is_blind": False}
    return BoxContext(**{"people_scores": np.empty((0, 1)), **values, **changes})


def words(box: BoxDetails, **changes: Any) -> str:
    return " ".join(reasons_of(box, context(**changes)))


def test_reasons_in_words() -> None:
    box, _, _ = a_box()
    blame = np.array([3.0, 0, 0, 0, 0, 0, 0, 4.0])
    one = replace(box, blame=blame, n_unstable=12, n_units=32)
    assert (
        "12 of 32 neurons are neither always on nor always off here; 'hours_per_week' and 'age' keep them open."
        in words(one)
    )
    assert "'hours_per_week' keeps them open" in words(replace(one, blame=blame * [0.1, *[1] * 7]))
    assert "not settled here" in words(one, unit="trees")
    assert "nothing open but the threshold" in words(replace(one, n_unstable=0))
    assert "None of 2,000 individuals drawn from it is discriminated against" in words(replace(box, n_unfair=0))
    assert "All of 2,000 individuals drawn from it are discriminated against" in words(replace(box, n_unfair=2000))
    assert "25 % is certified and 50 % is falsified" in words(replace(box, certified=0.25, falsified=0.5))
    assert "59 % is certified" in words(replace(box, certified=0.5999, falsified=0.0)), "rounded down, as on the page"
    assert "99.9999 % is certified" in words(replace(box, certified=1 - 1e-7, falsified=0.0))
    assert words(box, is_blind=True) == "The model does not take 'sex': everybody is decided alike."


def test_reasons_of_decided_boxes_in_words() -> None:
    box, _, _ = a_box()
    assert "everybody in it is decided alike whatever their 'sex'" in words(replace(box, certified=1.0))
    assert "for everybody in it two values of 'sex' are decided differently" in words(replace(box, falsified=1.0))
    assert "75 % of it is decided alike" in words(replace(box, certified=0.75, falsified=0.25))
    small = replace(box, is_evaluated=True, n_drawn=24, n_unfair=3)
    assert "Its 24 individuals were evaluated one by one: 3 are discriminated against." in words(small)
    assert "one is discriminated" in words(replace(small, n_unfair=1))
    assert "nobody is discriminated" in words(replace(small, n_unfair=0))
    assert "all are discriminated" in words(replace(small, n_unfair=24))
    assert "one individual, who was evaluated: decided alike" in words(replace(small, n_drawn=1, n_unfair=0))


def test_scores_in_words_are_told_from_the_threshold() -> None:
    box, _, _ = a_box()
    near = replace(box, score_bounds=np.array([[0.1, 0.4999996], [0.50000004, 0.9]]))
    assert "from 0.100 to 0.4999996 for Female, from 0.50000004 to 0.900 for Male; the threshold is 0.5" in words(near)
    margins = replace(box, score_bounds=np.full((2, 2), np.nan), bounds=np.array([[-1.5, 0.25], [0.5, 2.0]]))
    assert "The margin for '>50K' lies from −1.500 to 0.250 for Female" in words(margins)
    unknown = replace(margins, bounds=np.full((2, 2), np.nan))
    assert "lies from" not in words(unknown)


def test_scores_in_words_are_of_the_favourable_outcome_whichever_class_that_is() -> None:
    """Scores of class 1 were told as they are, beside a page that speaks of the favourable outcome."""
    box, _, _ = a_box()
    model, _, _ = opened("census_income_network")
    turned = replace(model, favourable=0, threshold=0.3)
    scores = replace(box, score_bounds=np.array([[0.1, 0.2], [0.4, 0.9]]), n_people=1)
    told = words(scores, model=turned, people_scores=np.array([[0.25]]))
    assert "The score for '<=50K' lies from 0.800 to 0.900 for Female, from 0.100 to 0.600 for Male" in told
    assert "the threshold is 0.7" in told
    assert "with the score for '<=50K' 0.750" in told
    margins = replace(box, score_bounds=np.full((2, 2), np.nan), bounds=np.array([[-1.5, 0.25], [0.5, 2.0]]))
    assert "The margin for '<=50K' lies from −0.250 to 1.500 for Female" in words(margins, model=turned)


def test_rows_of_the_data_in_words() -> None:
    box, _, _ = a_box()
    told = words(replace(box, n_people=3), people_scores=np.array([[0.45], [0.5], [0.53]]))
    assert "3 rows of the data lie in it with scores for '>50K' within 0.050 of the threshold 0.5." in told
    told = words(replace(box, n_people=2), people_scores=np.array([[0.1], [0.9]]))
    assert "scores for '>50K' from 0.100 to 0.900; the threshold is 0.5" in told
    assert "One row of the data lies in it, with the score for '>50K' 0.100" in words(
        replace(box, n_people=1), people_scores=np.array([[0.1]])
    )


def test_many_values_are_counted_in_words() -> None:
    asked = inspector("census_income_network", ("age",))
    low, high = (ends[0] for ends in asked.space.whole())
    box = asked.inspect(low, high)
    k = asked.domain.n_variants
    assert (
        f"For {k} of {k} values of 'age' the score for '>50K' may lie on either side of the threshold." in box.reasons
    )
    half = np.tile([[0.6, 0.9], [0.1, 0.4]], (k // 2, 1))
    parted = replace(box, score_bounds=half[:k])
    model, domain, _ = opened("census_income_network", ("age",))
    told = " ".join(reasons_of(parted, context(model=model, domain=domain)))
    assert f"above the threshold for {k // 2} of {k} values of 'age', and not for the others" in told
