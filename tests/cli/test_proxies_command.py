"""The command ``proxies``, run as a person would, and its plain figures counted again with pandas alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from test_commands import INPUTS, ROOT, SCHEMA, Commands

from fairness_engine.cli.commands.proxies import PROXIES_KEYS
from fairness_engine.cli.output import COMMON_KEYS
from fairness_engine.data.schema import Schema
from fairness_engine.runs import kinds
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.thorough

SAMPLES = ROOT / "sample_data"
MODELS = ROOT / "sample_models"
CENSUS = ["--data", str(SAMPLES / "census_income.csv"), "--schema", str(SCHEMA)]
IGNORING = ["--model", str(MODELS / "census_income_ignores_protected.keras"), "--protected", "sex,race"]
CREDIT = ["--data", str(SAMPLES / "credit.csv"), "--schema", str(SAMPLES / "credit.schema.json")]
OTHERS = {name for name in Schema.read(SCHEMA).names if name != "sex"}
QUICK = ("--rows", "600", "--explained", "20")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(workspace, capsys)


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, ...], dict[str, Any]]:
    return {}


@pytest.fixture
def once(command: Commands, answers: dict[tuple[str, ...], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """What a command printed that several tests look at: it is run for the first of them."""

    def ask(*arguments: str) -> dict[str, Any]:
        if arguments not in answers:
            answers[arguments] = command.json(*arguments)
        return answers[arguments]

    return ask


def figures(result: Mapping[str, Any]) -> dict[str, Any]:
    """What must not depend on the clock or the run."""
    return {name: result[name] for name in (*PROXIES_KEYS, "evaluations", "stop_reason", "seed")}


# --- the figures ----------------------------------------------------------------------------------


def test_a_model_that_ignores_sex_leans_on_its_proxies_and_leaves_nothing(
    once: Callable[..., dict[str, Any]],
) -> None:
    result = once("proxies", *CENSUS, *IGNORING)
    assert set(result) == {*COMMON_KEYS, *PROXIES_KEYS}
    assert (result["source"], result["column"], result["n_rows"]) == ("model", None, 5_000)
    sex, race = result["proxies"]
    assert (sex["protected"], race["protected"]) == ("sex", "race")
    assert {one["column"] for one in sex["columns"]} == OTHERS
    assert set(sex["strongest"]) == {"hours_per_week", "occupation"}
    assert race["columns"][0]["column"] == race["strongest"][0] == "education_years"
    assert sex["together"]["auc"] > sex["columns"][0]["auc"]
    assert (sex["shap_share"], race["shap_share"]) == (0.0, 0.0)
    shares = sum(one["shap_share"] for one in sex["columns"])
    assert shares == pytest.approx(1, abs=1e-6)
    assert all(one["shap_share"] > 0.1 for one in sex["columns"][:2])
    (difference,) = sex["differences"]
    assert (difference["group"], difference["reference"], difference["why"]) == ("Female", "Male", None)
    assert difference["raw"]["high"] < -0.04
    for one in (difference, *race["differences"]):
        assert one["held"]["value"] == 0
        assert one["held"]["low"] < 0 < one["held"]["high"]
    assert result["shap"] == {"n_people": 200, "n_background": 100, "n_permutations": 5}
    assert result["evaluations"] > 5_000
    assert (result["n_tried"], result["n_found"]) == (16, 4)


def test_raw_differences_and_the_kind_of_area_can_be_counted_again_by_anybody(command: Commands) -> None:
    result = command.json("proxies", *CENSUS, "--protected", "sex")
    table = pd.read_csv(SAMPLES / "census_income.csv")
    label = Schema.read(SCHEMA).label
    favourable = table[label].astype(str) == str(Schema.read(SCHEMA).favourable)
    assert (result["source"], result["column"], result["evaluations"]) == ("labels", label, 0)
    (sex,) = result["proxies"]
    is_woman = table["sex"].astype(str).isin({"Female", "0"})
    (difference,) = sex["differences"]
    raw = favourable[is_woman].mean() - favourable[~is_woman].mean()
    assert difference["raw"]["value"] == pytest.approx(raw)
    assert (difference["n_group"], difference["n_reference"]) == (is_woman.sum(), (~is_woman).sum())
    hours = next(one for one in sex["columns"] if one["column"] == "hours_per_week")
    assert hours["auc"] == pytest.approx(roc_auc_score(~is_woman, table["hours_per_week"]), abs=0.02)
    assert {one["shap_share"] for one in sex["columns"]} == {None}
    assert (result["shap"], "no model" in result["why_no_shap"]) == (None, True)
    assert difference["held"]["high"] < 0  # the planted penalty
    assert difference["raw"]["value"] < difference["held"]["value"]


def test_a_number_is_told_by_r_squared(once: Callable[..., dict[str, Any]]) -> None:
    result = once("proxies", *CREDIT, "--protected", "age,sex")
    age, sex = result["proxies"]
    assert age["measure"] == "r2"
    assert set(age["strongest"]) == {"employment_years", "housing"}
    assert age["together"]["r2"] > age["columns"][0]["r2"] > 0.25
    assert len(age["differences"]) == 5
    assert {one["reference"] for one in age["differences"]} == {"everybody else"}
    assert (sex["measure"], sex["strongest"]) == ("auc", [])
    assert sex["differences"][0]["held_strongest"] is None
    assert "none is held alone" in sex["differences"][0]["why_strongest"]


def test_predictions_are_compared_instead_of_the_label(command: Commands, tmp_path: Path) -> None:
    table = pd.read_csv(SAMPLES / "credit.csv")
    rng = np.random.default_rng(0)
    table["by_hand"] = np.where((table["sex"] == "male") | (rng.random(len(table)) < 0.6), "granted", "denied")
    table.loc[:99, "by_hand"] = ""
    file = tmp_path / "credit.csv"
    table.to_csv(file, index=False)
    asked = ("--data", str(file), *CREDIT[2:], "--protected", "sex", "--predictions", "by_hand")
    result = command.json("proxies", *asked)
    assert result["column"] == "by_hand"
    assert result["n_rows"] == len(table) - 100
    assert result["notes"] == ["100 rows hold no outcome in 'by_hand' and are left out."]
    (difference,) = result["proxies"][0]["differences"]
    for figure in (difference["raw"], difference["held"]):
        assert figure["value"] == pytest.approx(-0.4, abs=0.03)
        assert figure["high"] < -0.3


def test_the_same_seed_gives_the_same_and_another_another(
    command: Commands, once: Callable[..., dict[str, Any]]
) -> None:
    asked = ("proxies", *CENSUS, "--protected", "sex", *QUICK)
    first = once(*asked, "--seed", "3")
    assert figures(first) == figures(command.json(*asked, "--seed", "3"))
    other = command.json(*asked, "--seed", "4")
    assert other["proxies"][0]["together"] != first["proxies"][0]["together"]
    assert first["n_rows"] == 600


def test_limits_leave_rows_out_and_other_options_are_noted(command: Commands) -> None:
    limited = command.json(
        "proxies", *CENSUS, "--protected", "sex", "--limit", "age=30:39", "--values", "sex=Female,Male"
    )
    age = pd.read_csv(SAMPLES / "census_income.csv")["age"]
    assert limited["n_rows"] == age.between(30, 39).sum()
    assert "--values, --gap and --fixed have no effect on proxies" in command.err


def test_a_linked_column_is_named(command: Commands) -> None:
    link = ("--link", "sex:occupation=Clerical/Engineering")
    result = command.json("proxies", *CENSUS, "--protected", "sex", *link, *QUICK)
    (sex,) = result["proxies"]
    assert [one["column"] for one in sex["columns"] if one["is_linked"]] == ["occupation"]
    assert "occupation" not in sex["strongest"]


def test_the_text_lists_what_is_clear_and_says_how_to_read_it(command: Commands) -> None:
    model = (*IGNORING[:2], "--protected", "sex")
    assert command("proxies", *CENSUS, *model, "--rows", "1500", "--explained", "20") == 0
    assert "Proxies in 1,500 rows, by what the model decides." in command.out
    assert "sex: all other columns together tell it with AUC 0." in command.out
    assert "% of the SHAP values" in command.out
    assert "columns tell no more than chance may." in command.out
    assert "Female against Male: -" in command.out
    assert "with all other columns held +0.0 points" in command.out
    assert "SHAP shares are of 20 people of the data." in command.out
    assert "intervals that hold for all of them together" in command.out
    assert command("proxies", *CENSUS, *model, *QUICK[:2], "--explained", "0") == 0
    assert "Nobody was to be explained." in command.out
    assert command("proxies", *CREDIT, "--protected", "age", *QUICK) == 0
    assert "tell it with R squared 0." in command.out
    assert "SHAP" not in command.out


def test_gates_reach_into_the_figures(command: Commands) -> None:
    asked = ("proxies", *CENSUS, "--protected", "sex", *QUICK)
    assert command(*asked, "--fail-if", "proxies.0.columns.0.low > 0.5") == 1
    assert command(*asked, "--fail-if", "proxies.0.differences.0.held.high > 0.9") == 0


@pytest.mark.shared
def test_on_adult_relationship_tells_sex_and_little_is_left(command: Commands, shared: Path) -> None:
    """Its twin on a sample is ``test_raw_differences_and_the_kind_of_area_can_be_counted_again_by_anybody``."""
    asked = (
        "--data",
        str(shared / "data" / "raw" / "adult" / "data.csv"),
        "--protected",
        "sex",
        "--favourable",
        ">50K",
    )
    (sex,) = command.json("proxies", *asked, "--rows", "6000")["proxies"]
    assert [one["column"] for one in sex["columns"][:3]] == ["relationship", "marital-status", "occupation"]
    assert 0.9 < sex["together"]["auc"] < 0.95
    (difference,) = sex["differences"]
    assert difference["raw"]["value"] == pytest.approx(-0.195, abs=0.03)
    assert difference["raw"]["high"] < difference["held"]["low"]


# --- ends before the end, and a second look -------------------------------------------------------


def test_a_run_out_of_time_keeps_what_is_done_and_cannot_be_made_again(command: Commands) -> None:
    result = command.json("proxies", *CENSUS, *IGNORING, "--max-seconds", "0.001")
    assert (result["proxies"], result["n_rows"], result["stop_reason"]) == ([], None, "time budget spent")
    assert command("proxies", *CENSUS, *IGNORING, "--max-seconds", "0.001") == 0
    assert "No attribute was done; time budget spent." in command.out
    held = command.json("runs", "verify", result["run_id"])
    assert held["failed"] == 0


def test_verify_makes_every_figure_again_and_notices_what_was_changed(command: Commands, workspace: Path) -> None:
    run_id = command.json("proxies", *CENSUS, *IGNORING[:2], "--protected", "sex", *QUICK)["run_id"]
    held = command.json("runs", "verify", run_id)
    (check,) = [one for one in held["checks"] if one["name"] == "all proxies"]
    assert (check["verdict"], held["failed"], held["not_checked"]) == ("holds", 0, [])
    assert "8 columns looked at again from seed 0" in check["said"]
    store = RunStore(workspace)
    stored = store.results(run_id)["proxies"]
    stored["attributes"][0]["together"]["low"] -= 1e-6
    store.set_result(run_id, "proxies", stored)
    broken = command.json("runs", "verify", run_id, status=1)
    assert [one["name"] for one in broken["checks"] if one["verdict"] == "contradicted"] == ["seal", "all proxies"]


def test_runs_list_and_show_know_them(command: Commands, once: Callable[..., dict[str, Any]]) -> None:
    run_id = once("proxies", *CENSUS, "--protected", "sex", *QUICK, "--seed", "3")["run_id"]
    shown = command.json("runs", "show", run_id)
    assert shown["config"]["model_id"] == ""
    assert kinds.typed("proxies", shown["results"]["proxies"]).n_rows == 600
    assert command("runs", "show", run_id) == 0
    assert "together" not in command.out
    assert command("runs", "list") == 0
    assert f"{run_id}" in command.out


# --- bad input ------------------------------------------------------------------------------------


def written(folder: Path, table: pd.DataFrame) -> list[str]:
    """The options that name a table."""
    table.to_csv(folder / "table.csv", index=False)
    return ["--data", str(folder / "table.csv"), "--protected", "sex"]


COLUMNS: list[dict[str, Any]] = [
    {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
    {"name": "points", "kind": "integer", "min": 0, "max": 50},
    {"name": "granted", "kind": "categorical", "categories": ["no", "yes"]},
]


def small(n: int) -> pd.DataFrame:
    """A table of so many rows."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "points": rng.integers(0, 50, n), "granted": rng.choice(["no", "yes"], n)}
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (small(300)[["sex", "granted"]], "A proxy is another column that tells 'sex', and the data has no other input"),
        (small(300).assign(sex="f"), "'sex'"),
        (small(40), "Two groups of 'sex' must have at least 30 rows each, got 2"),
    ],
    ids=["no other column", "one value", "few rows"],
)
def test_data_that_has_no_proxies_is_one_sentence_and_status_2(
    command: Commands, tmp_path: Path, table: pd.DataFrame, said: str
) -> None:
    schema = {
        "version": 1,
        "label": "granted",
        "favourable": "yes",
        "protected": ["sex"],
        "columns": [column for column in COLUMNS if column["name"] in table.columns],
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    asked = [*written(tmp_path, table), "--schema", str(tmp_path / "schema.json")]
    assert command("proxies", *asked, "--quiet") == 2
    assert said in command.err
    assert command.err.count("\n") == 1
    assert command.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*CENSUS, "--protected", ""], "Name the protected attributes"),
        ([*CENSUS, "--protected", "height"], "'height' must be a column"),
        ([*CENSUS, "--protected", "sex", "--rows", "10"], "'n_rows' must be a whole number from 200 to 200,000"),
        ([*CENSUS, "--protected", "sex", "--explained", "-1"], "'n_explained' must be"),
        ([*CENSUS, "--protected", "sex", "--predictions", "none"], "must have a column 'none'"),
        ([*INPUTS, "--protected", "sex", "--predictions", "race"], "without a model"),
        ([*CENSUS, "--protected", "sex", "--limit", "age=200:300"], "age"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_status_2(command: Commands, arguments: list[str], said: str) -> None:
    assert command("proxies", *arguments, "--quiet") == 2
    assert said in command.err
    assert "Traceback" not in command.err
    assert command.out == ""


def test_texts_have_no_proxies(command: Commands) -> None:
    comments = ["--data", str(SAMPLES / "comments.csv"), "--schema", str(SAMPLES / "comments.schema.json")]
    model = ["--model", str(MODELS / "comments_linear.skops")]
    assert command("proxies", *comments, *model, "--protected", "comment", "--quiet") == 2
    assert command.err.strip()
    assert "Traceback" not in command.err
