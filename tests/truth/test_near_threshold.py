"""People at the threshold are counted: shares by the command, against truths that import nothing of the engine.

Whole-number scorecards and networks put many people exactly on the threshold, and large numbers bring others so near
that float32 cannot tell; all of them were left out of estimates and searches, and a share of 46.9 % was reported as 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import skops.io
from commands import Commands
from nnet_text import write_nnet
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Table = NDArray[np.int64]
Decide = Callable[[Table], NDArray[np.bool_]]


@dataclass(frozen=True)
class Case:
    """A model file, its data, and what the model's author would compute."""

    name: str
    columns: dict[str, tuple[int, int]]
    make: Callable[[Path, Table], tuple[Path, Decide]]
    """From a folder and rows to learn from, to a file and the decisions of rows."""


def whole_network(folder: Path, _: Table) -> tuple[Path, Decide]:
    rng = np.random.default_rng(3)
    weights = [rng.integers(-3, 4, (4, 6)), rng.integers(-3, 4, (6, 1))]
    weights[0][0] = [1, 0, 0, 1, 0, 0]  # a point more in two of six sums
    biases = [rng.integers(-9, 10, 6), np.array([1])]

    def decide(rows: Table) -> NDArray[np.bool_]:
        hidden = np.maximum(rows @ weights[0] + biases[0], 0)
        return np.asarray((hidden @ weights[1] + biases[1])[:, 0] > 0)

    return write_nnet(folder / "whole.nnet", weights, biases), decide


def ties(folder: Path, _: Table) -> tuple[Path, Decide]:
    """The protected attribute decides exactly at the threshold, and only there."""
    weights = np.array([[1], [2], [-1], [-3]])
    bias = np.array([0])
    return write_nnet(folder / "ties.nnet", [weights], [bias]), lambda rows: np.asarray(
        (rows @ weights + bias)[:, 0] > 0
    )


def cancelling(folder: Path, _: Table) -> tuple[Path, Decide]:
    """Sums that float32 cannot hold: large terms that cancel, and a protected attribute worth 1."""
    weights = np.array([[1], [33_554_433], [-33_554_433], [1]])
    bias = np.array([-2])
    return write_nnet(folder / "cancel.nnet", [weights], [bias]), lambda rows: np.asarray(
        (rows @ weights + bias)[:, 0] > 0
    )


def scorecard(folder: Path, rows: Table) -> tuple[Path, Decide]:
    """A logistic regression whose points were rounded to whole numbers, as scorecards are."""
    model = LogisticRegression().fit(rows, np.arange(len(rows)) % 2)
    points = np.array([1, 3, -2, -5])
    base = 1
    model.coef_ = points[None].astype(float)
    model.intercept_ = np.array([float(base)])
    path = folder / "scorecard.skops"
    skops.io.dump(model, path)
    return path, lambda rows: np.asarray(rows @ points + base > 0)


def tiny(folder: Path, rows: Table) -> tuple[Path, Decide]:
    """The scorecard in units of 2 to the -60: a probability of such a logit is rounded to 1/2, and ``predict`` looks at
    the logit.
    """
    path, decide = scorecard(folder, rows)
    model = LogisticRegression().fit(rows, np.arange(len(rows)) % 2)
    model.coef_ = np.array([[1.0, 3, -2, -5]]) * 2.0**-60
    model.intercept_ = np.array([2.0**-60])
    skops.io.dump(model, path)
    assert np.array_equal(model.predict(rows) == 1, decide(rows))
    return path, decide


def rare(folder: Path, _: Table) -> tuple[Path, Decide]:
    """One sum of all decides differently: people whom draws hardly meet."""
    weights = np.array([[1], [2], [40], [800]])
    bias = np.array([-5 * 2 - 7 * 40 - 3 * 800])
    return write_nnet(folder / "rare.nnet", [weights], [bias]), lambda rows: np.asarray(
        (rows @ weights + bias)[:, 0] > 0
    )


def tenths(folder: Path, rows: Table) -> tuple[Path, Decide]:
    """Points of a tenth each: many sums are 0 but for the last digit, and whole numbers say on which side they should
    be.
    """
    model = LogisticRegression().fit(rows, np.arange(len(rows)) % 2)
    points = np.array([1, 2, -3, 1])
    model.coef_ = points[None] / 10
    model.intercept_ = np.array([0.0])
    path = folder / "tenths.skops"
    skops.io.dump(model, path)
    return path, lambda rows: np.asarray(rows @ points > 0)


def fitted(folder: Path, rows: Table) -> tuple[Path, Decide]:
    """A scaler and a logistic regression, fitted; scikit-learn's own ``predict`` is the truth."""
    centred = rows - rows.mean(axis=0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, centred @ (1 / centred.std(axis=0)) > 0)
    path = folder / "fitted.skops"
    skops.io.dump(model, path)
    return path, lambda rows: np.asarray(model.predict(rows))


SMALL = {"g": (0, 1), "a": (0, 15), "b": (0, 15), "c": (0, 11)}
CASES = [
    Case("whole-number network", SMALL, whole_network),
    Case("ties", SMALL, ties),
    Case("cancelling sums", {"g": (0, 1), "a": (0, 3), "b": (0, 3), "c": (0, 3)}, cancelling),
    Case("scorecard", SMALL, scorecard),
    Case("logits below 1e-17", SMALL, tiny),
    Case("date as a number", {"g": (0, 3), "day": (20240101, 20241231), "b": (0, 5), "c": (0, 5)}, fitted),
    Case("a column beyond 2**24", {"g": (0, 3), "a": (16_777_200, 16_777_231), "b": (0, 15), "c": (0, 11)}, fitted),
]


def everybody(columns: dict[str, tuple[int, int]]) -> Table:
    """All people, the values of the protected attribute, which comes first, slowest."""
    return np.array(list(itertools.product(*[range(low, high + 1) for low, high in columns.values()])), dtype=np.int64)


def true_share(case: Case, decide: Decide) -> float:
    low, high = case.columns["g"]
    decided = decide(everybody(case.columns)).reshape(high - low + 1, -1)
    return float((decided.min(axis=0) != decided.max(axis=0)).mean())


def question(case: Case, folder: Path) -> tuple[float, list[str]]:
    """The true share, and what every command is told."""
    rng = np.random.default_rng(1)
    ends = np.array(list(case.columns.values()))
    rows = np.concatenate([ends.T, rng.integers(ends[:, 0], ends[:, 1] + 1, (1500, len(ends)))])
    model, decide = case.make(folder, rows)
    data = folder / "data.csv"
    lines = [",".join([*case.columns, "approved"])]
    lines += [
        ",".join([*map(str, row), "yes" if yes else "no"]) for row, yes in zip(rows.tolist(), decide(rows), strict=True)
    ]
    data.write_text("\n".join(lines) + "\n")
    same = ["--data", str(data), "--model", str(model), "--protected", "g", "--workspace", str(folder / "workspace")]
    return true_share(case, decide), [*same, "--favourable", "yes"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whoever_lies_at_the_threshold_is_counted(case: Case, command: Commands, tmp_path: Path) -> None:
    truth, same = question(case, tmp_path)
    assert 0.01 < truth < 0.99
    n = 5000
    estimate = command.run("estimate", *same, "--samples", str(n)).result
    error = math.sqrt(truth * (1 - truth) / n)
    assert abs(estimate["share"] - truth) < 5 * error
    search = command.run("search", *same, "--technique", "random", "--max-evaluations", str(4 * n)).result
    rate = search["n_found"] / search["n_tried"]
    assert abs(rate - truth) < 5 * error


CERTIFIED = [
    *(case for case in CASES if case.make is not fitted),
    Case("rare", {"g": (0, 1), "a": (0, 19), "b": (0, 19), "c": (0, 9)}, rare),
]


@pytest.mark.parametrize("case", CERTIFIED, ids=lambda case: case.name)
def test_what_is_certified_is_the_truth_and_what_is_falsified_has_examples(
    case: Case, command: Commands, tmp_path: Path
) -> None:
    truth, same = question(case, tmp_path)
    certified = command.run("certify", *same, "--max-seconds", "20").result
    assert certified["falsified"] - 1e-9 <= truth <= certified["falsified"] + certified["undecided"] + 1e-9
    assert certified["undecided"] == 0
    assert certified["falsified"] > 0
    assert certified["n_found"] > 0


def test_sums_that_are_0_but_for_the_last_digit_are_certified_and_said(command: Commands, tmp_path: Path) -> None:
    truth, same = question(Case("tenths", SMALL, tenths), tmp_path)
    told = command.run("certify", *same, "--max-seconds", "20")
    assert told.result["undecided"] == 0
    assert told.result["n_found"] > 0
    assert abs(told.result["falsified"] - truth) < 0.1, "ties may fall on either side, and nobody else"
    counted = command.run("count", *same).result
    assert counted["share"] == pytest.approx(told.result["falsified"], abs=1e-12)
    warnings = command.run("inspect", *same).result["fit"]["warnings"]
    assert any("0 but for the last digit" in warning for warning in warnings), warnings
