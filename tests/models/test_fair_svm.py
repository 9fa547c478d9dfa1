"""The linear machine under Zafar's covariance constraint: its optimum, its constraint, its file and its proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.events import ResultReady
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.fair_svm import FairLinearSVC, Problem, solve
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from sample_data.make import TABLES
from sample_models.makers import training_rows

SCHEMA = Schema(
    (
        Column("sex", Kind.INTEGER, minimum=0, maximum=1),
        Column("hours", Kind.INTEGER, minimum=0, maximum=9),
        Column("grade", Kind.INTEGER, minimum=0, maximum=9),
    ),
    protected=("sex",),
)


def people(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose second column goes with the first, and outcomes that go with both."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    hours = np.clip(rng.integers(0, 7, n) + 3 * sex, 0, 9)
    grade = rng.integers(0, 10, n)
    outcome = (hours + grade + 2 * sex + rng.normal(0, 2, n) > 10).astype(int)
    return np.column_stack([sex, hours, grade]).astype(float), outcome


def covariance(machine: FairLinearSVC, rows: np.ndarray) -> float:
    return float(np.cov(rows[:, 0], machine.decision_function(rows), bias=True)[0, 1])


def problem_of(rows: np.ndarray, outcome: np.ndarray, bound: float) -> Problem:
    form = ((rows[:, 0] - rows[:, 0].mean()) @ rows / len(rows))[None]
    return Problem(rows, np.where(outcome, 1.0, -1.0), np.full(len(rows), 0.7), form, np.array([bound]))


@pytest.mark.parametrize("bound", [0.01, 0.2, 50.0])
def test_the_optimum_is_that_of_a_general_solver(bound: float) -> None:
    problem = problem_of(*people(40), bound)
    n, width = problem.rows.shape
    found = solve(problem)

    def hinge_room(v: np.ndarray) -> Any:
        return problem.signs * (problem.rows @ v[:width] + v[width]) + v[width + 1 :] - 1

    reference = minimize(
        lambda v: v[:width] @ v[:width] / 2 + problem.costs @ v[width + 1 :],
        np.append(np.zeros(width + 1), np.full(n, 2.0)),
        method="SLSQP",
        bounds=[(None, None)] * (width + 1) + [(0, None)] * n,
        constraints=[
            {"type": "ineq", "fun": hinge_room},
            {"type": "ineq", "fun": lambda v: bound - problem.forms @ v[:width]},
            {"type": "ineq", "fun": lambda v: bound + problem.forms @ v[:width]},
        ],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert problem.objective(found.weights, found.intercept) == pytest.approx(reference.fun, rel=1e-6)
    assert found.weights == pytest.approx(reference.x[:width], abs=1e-3)


@pytest.mark.parametrize("bound", [0.01, 50.0])
def test_the_optimum_fulfils_the_conditions_of_karush_kuhn_and_tucker(bound: float) -> None:
    problem = problem_of(*people(400), bound)
    found = solve(problem)
    pull = problem.rows.T @ (found.multipliers * problem.signs)
    left = pull - found.weights  # what is left of the gradient is along the constraint's form, or nothing
    form = problem.forms[0]
    along = left @ form / (form @ form)
    assert left == pytest.approx(along * form, abs=1e-3)
    assert (found.multipliers * problem.signs).sum() == pytest.approx(0, abs=1e-4)
    reached = float(form @ found.weights)
    assert abs(reached) <= bound * (1 + 1e-6)
    if abs(reached) < bound * 0.99:
        assert along == pytest.approx(0, abs=1e-3)
    else:
        assert along * np.sign(reached) > 0.1
    margins = problem.signs * (problem.rows @ found.weights + found.intercept)
    assert found.multipliers[margins > 1 + 1e-3] == pytest.approx(0, abs=1e-4)
    assert found.multipliers[margins < 1 - 1e-3] == pytest.approx(0.7, abs=1e-4)


def test_without_a_tight_bound_it_is_the_machine_of_scikit_learn() -> None:
    rows, outcome = people(300)
    fair = FairLinearSVC(covariance_bound=1e6).fit(rows, outcome)
    plain = SVC(kernel="linear", tol=1e-8).fit(rows, outcome)
    assert fair.coef_ == pytest.approx(plain.coef_, abs=1e-3)
    assert fair.intercept_ == pytest.approx(plain.intercept_, abs=1e-3)
    assert (fair.predict(rows) == plain.predict(rows)).all()


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.3])
def test_the_bound_holds_and_costs_accuracy(bound: float) -> None:
    rows, outcome = people(2_000)
    free = FairLinearSVC(covariance_bound=1e6).fit(rows, outcome)
    bounded = FairLinearSVC(covariance_bound=bound)
    bounded.fit(rows, outcome)
    assert abs(covariance(free, rows)) > 0.5
    assert covariance(bounded, rows) == pytest.approx(bound, abs=1e-7)
    assert bounded.covariance_ == pytest.approx([bound], abs=1e-7)
    assert bounded.score(rows, outcome) < free.score(rows, outcome)
    assert bounded.gap_ <= 1e-8


def test_groups_alike_on_average_do_not_mean_individuals_alike() -> None:
    """What AEQUITAS found: the machine uses the protected column to make up for what goes with it."""
    rows, outcome = people(2_000)
    machine = FairLinearSVC(covariance_bound=0.0).fit(rows, outcome)
    exchanged = rows.copy()
    exchanged[:, 0] = 1 - exchanged[:, 0]
    assert machine.coef_[0, 0] < -0.5
    assert (machine.predict(rows) != machine.predict(exchanged)).mean() > 0.05


def test_several_protected_columns_are_bounded_by_name() -> None:
    rows, outcome = people(500)
    frame = pd.DataFrame(rows, columns=["sex", "hours", "grade"])
    machine = FairLinearSVC(("sex", "grade"), 0.02).fit(frame, outcome)
    assert np.abs(machine.covariance_) == pytest.approx([0.02, 0.02], abs=1e-6)
    by_position = FairLinearSVC((0, 2), 0.02).fit(rows, outcome)
    assert machine.coef_ == pytest.approx(by_position.coef_)


def test_weights_count_as_repetitions_do() -> None:
    rows, outcome = people(200)
    times = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = FairLinearSVC(covariance_bound=0.1).fit(rows, outcome, sample_weight=times)
    repeated = FairLinearSVC(covariance_bound=0.1).fit(np.repeat(rows, times, axis=0), np.repeat(outcome, times))
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-5)


def test_a_constant_protected_column_bounds_nothing() -> None:
    rows, outcome = people(200)
    rows[:, 0] = 1.0
    bounded, free = (FairLinearSVC(covariance_bound=bound).fit(rows, outcome) for bound in (0.0, 1e6))
    assert bounded.coef_ == pytest.approx(free.coef_, abs=1e-5)


def test_it_is_an_estimator_of_scikit_learn() -> None:
    results = check_estimator(FairLinearSVC(), on_fail=None, on_skip=None)
    assert len(results) > 40
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []


def test_it_can_be_cloned_searched_over_and_gives_the_same_again() -> None:
    rows, outcome = people(300)
    first = FairLinearSVC(covariance_bound=0.1).fit(rows, outcome)
    assert (clone(first).fit(rows, outcome).coef_ == first.coef_).all()
    search = GridSearchCV(FairLinearSVC(), {"covariance_bound": [0.0, 1.0]}, cv=3).fit(rows, outcome)
    assert search.best_params_ == {"covariance_bound": 1.0}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"covariance_bound": -1.0}, "'covariance_bound' must be a number of at least 0"),
        ({"C": 0.0}, "'C' must be a number above 0"),
        ({"tol": float("nan")}, "'tol' must be a number above 0"),
        ({"max_iter": 0}, "'max_iter' must be at least 1"),
        ({"protected": ()}, "'protected' must name at least one column"),
        ({"protected": (3,)}, "must be a position below 3, got 3"),
        ({"protected": ("age",)}, "must be one of the rows' columns, got 'age'"),
    ],
)
def test_settings_out_of_their_range_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FairLinearSVC(**settings).fit(*people(50))


def test_one_class_and_three_are_refused() -> None:
    rows, _ = people(30)
    with pytest.raises(ValueError, match="got 1 class"):
        FairLinearSVC().fit(rows, np.zeros(30))
    with pytest.raises(ValueError, match="got 3 classes"):
        FairLinearSVC().fit(rows, np.arange(30) % 3)
    with pytest.raises(ValueError, match="only one class has some"):
        FairLinearSVC().fit(rows, np.arange(30) % 2, sample_weight=(np.arange(30) % 2).astype(float))


def test_too_few_steps_are_said() -> None:
    with pytest.warns(ConvergenceWarning, match="not reached within 2 steps"):
        machine = FairLinearSVC(covariance_bound=0.1, max_iter=2).fit(*people(200))
    assert machine.gap_ > 1e-8


@pytest.mark.parametrize("is_scaled", [False, True], ids=["plain", "scaled"])
def test_its_file_opens_as_a_linear_model_and_can_be_proved(tmp_path: Path, is_scaled: bool) -> None:
    rows, outcome = people(500)
    machine = FairLinearSVC(covariance_bound=0.0)
    estimator = make_pipeline(StandardScaler(), machine) if is_scaled else machine
    estimator.fit(rows, outcome)
    skops.io.dump(estimator, tmp_path / "fair.skops")
    model = open_model(tmp_path / "fair.skops", SCHEMA)
    assert isinstance(model.predictor, DenseNetwork)
    everyone = np.stack(np.meshgrid(*([0, 1], *[range(10)] * 2), indexing="ij"), axis=-1).reshape(-1, 3).astype(float)
    assert (model.decide(model.scores(everyone)) == estimator.predict(everyone)).all()
    domain = Domain(SCHEMA, Scope(("sex",)))
    decided = estimator.predict(everyone).reshape(2, 100)
    events = run_certification(model, domain, rows, CertifySettings(), seed=0, clock=Clock(20))
    (summary,) = [event.content for event in events if isinstance(event, ResultReady) and event.name == "certification"]
    assert summary["falsified"] == pytest.approx((decided[0] != decided[1]).mean(), abs=1e-9)
    assert summary["undecided"] == 0


def test_the_sample_model_balances_groups_and_still_discriminates_individuals() -> None:
    sample = find_sample("census_income")
    chosen = sample.model("census_income_fair_svm")
    model = open_model(chosen.path, sample.schema_for(chosen), classes=chosen.classes)
    table = next(table for table in TABLES if table.name == "census_income")
    rows, _ = training_rows(table)
    sex = [column.name for column in table.rule.schema.inputs].index("sex")
    scores = model.scores(rows)[:, 0]
    assert np.cov(rows[:, sex], scores, bias=True)[0, 1] == pytest.approx(0, abs=1e-6)
    exchanged = rows.copy()
    exchanged[:, sex] = 1 - exchanged[:, sex]
    assert (model.decide(model.scores(rows)) != model.decide(model.scores(exchanged))).mean() > 0.05
