"""A retraining that raises discrimination ends in no file and a status that a pipeline hears; chance is called
chance.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skops.io
from commands import Commands
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from junit_rules import read_junit

N = 4000
NO_MORE = "the new model discriminates no more than the one before"


def people(seed: int) -> NDArray[np.int64]:
    """Sex, a column that goes along with it, and another one."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, N)
    return np.stack([sex, rng.integers(0, 10, N) + 3 * sex, rng.integers(0, 20, N)], axis=1)


def write(folder: Path, rows: NDArray[np.int64], outcomes: NDArray[np.bool_]) -> tuple[str, ...]:
    """The data, a model that hardly looks at sex, and the options that name them."""
    lines = [
        f"{'fm'[sex]},{place},{points},{'yes' if ok else 'no'}"
        for (sex, place, points), ok in zip(rows, outcomes, strict=True)
    ]
    (folder / "data.csv").write_text("\n".join(["sex,place,points,approved", *lines]) + "\n")
    model = LogisticRegression().fit(rows, outcomes)
    model.coef_ = np.array([[0.02, 0.9, 0.45]])
    model.intercept_ = np.array([-9.9])
    skops.io.dump(model, folder / "model.skops")
    same = ("--data", str(folder / "data.csv"), "--model", str(folder / "model.skops"), "--protected", "sex")
    same = (*same, "--favourable", "yes", "--workspace", str(folder / "workspace"), "--tolerance", "0.2")
    return (*same, "--rounds", "2", "--measure-seconds", "0")


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The group of all women is treated worse by way of ``place``; to mend that by more women's samples, the model
    turns to sex.
    """
    rows = people(0)
    noise = np.random.default_rng(1).normal(0, 3, N)
    outcomes = rows[:, 2] + 2 * rows[:, 1] - 6 * rows[:, 0] * (rows[:, 1] > 6) + noise > 22
    return (*write(tmp_path_factory.mktemp("raising"), rows, outcomes), "--strategy", "rules")


def test_a_model_that_discriminates_more_is_not_written(
    raising: tuple[str, ...], command: Commands, tmp_path: Path
) -> None:
    target = tmp_path / "better.skops"
    cases = tmp_path / "cases.xml"
    gate = ("--fail-if", "improved == false", "--junit", str(cases))
    told = command.run("retrain", *raising, "--out-model", str(target), *gate)
    before, after = (told.result[side]["estimate"] for side in ("before", "after"))
    assert after["low"] > before["high"], "the case of this test: a group is treated better, and single people worse"
    assert (told.status, told.result["raised"], told.result["out_model"]) == (1, True, None)
    assert "--keep-anyway" in told.errors
    assert list(tmp_path.iterdir()) == [cases]
    assert read_junit(cases).ends() == {NO_MORE: "failure", "improved == false": "skipped"}
    assert read_junit(cases)[NO_MORE].message.startswith(f"{told.result['verdict'].capitalize()}: ")


def test_whoever_wants_it_anyway_gets_it(raising: tuple[str, ...], command: Commands, tmp_path: Path) -> None:
    target = tmp_path / "better.skops"
    cases = tmp_path / "cases.xml"
    told = command.run("retrain", *raising, "--out-model", str(target), "--keep-anyway", "--junit", str(cases))
    assert read_junit(cases).ends() == {NO_MORE: "skipped"}
    assert (told.status, told.result["raised"], told.result["out_model"]) == (0, True, str(target))
    assert target.is_file()


def test_a_model_of_chance_is_called_so_before_anything_else(command: Commands, tmp_path: Path) -> None:
    """On shuffled labels a retraining was "improved", without a word that there was nothing to improve."""
    outcomes = np.random.default_rng(2).random(N) < 0.5
    told = command.run(
        "retrain",
        *write(tmp_path, people(3), outcomes),
        "--strategy",
        "variants",
        "--out-model",
        str(tmp_path / "new.skops"),
    )
    assert told.result["chance"].startswith("The model is no better than chance on the test rows: AUC 0.")
    card = told.result["card"]
    assert card.index("no better than chance") < card.index("**Result:")
