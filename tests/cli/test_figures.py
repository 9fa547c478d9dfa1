"""The command ``figures``: every count again from the file, with pandas and the model, and what is refused."""

from __future__ import annotations

import html
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy.stats import beta, hypergeom
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from test_commands import DATA, INPUTS, MODEL, SCHEMA, Commands

from fairness_engine.cli.commands.figures import FIGURES_KEYS
from fairness_engine.cli.output import COMMON_KEYS
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.models.open import open_model
from fairness_engine.report.presets import FOLDER, preset_names


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(workspace, capsys)


def decided() -> pd.DataFrame:
    """The file's people with the model's decision and score, by code of our own."""
    frame = pd.read_csv(DATA)
    dataset = make_dataset(read_table(Path(DATA)), Schema.read(Path(SCHEMA)))
    model = open_model(Path(MODEL), dataset.schema, classes=dataset.classes, favourable=dataset.favourable_class)
    scores = model.scores(dataset.rows)[:, 0]
    labels = {name: column.labels for name, column in ((c.name, c) for c in dataset.schema.inputs)}
    columns = {
        name: [labels[name][int(code)] for code in dataset.rows[:, dataset.schema.index(name)]] for name in GROUPS
    }
    assert len(frame) == len(scores)
    return pd.DataFrame({**columns, "score": scores, "selected": scores > model.threshold})


GROUPS = ("sex", "race")


def test_every_count_is_that_of_the_file(command: Commands) -> None:
    result = command.json("figures", *INPUTS, "--protected", "sex,race")
    assert set(result) == {*COMMON_KEYS, *FIGURES_KEYS, "state"}
    people = decided()
    median = people.score.median()
    assert result["median_score"] == pytest.approx(median)
    assert [table["attributes"] for table in result["tables"]] == [["sex"], ["race"], ["sex", "race"]]
    for table in result["tables"]:
        assert len(table["groups"]) == people.groupby(table["attributes"]).ngroups
        rates = []
        for group in table["groups"]:
            own = people[(people[table["attributes"]] == group["labels"]).all(axis=1)]
            assert group["rows"] == len(own)
            assert group["selected"]["n_hits"] == own.selected.sum()
            assert group["scoring"] == pytest.approx(
                {**group["scoring"], "n_hits": (own.score > median).sum(), "n": len(own)}
            )
            rates.append(own.selected.mean())
        for group, rate in zip(table["groups"], rates, strict=True):
            assert group["impact_ratio"]["value"] == pytest.approx(rate / max(rates))
        check_tests(table)


def check_tests(table: dict[str, Any]) -> None:
    """Fisher's p by summing the hypergeometric probabilities; the flips by trying one after another."""
    best = max(table["groups"], key=lambda group: group["selected"]["share"])["selected"]
    for group in table["groups"]:
        own = group["selected"]
        if own == best:
            assert group["fisher_p"] is None
            continue
        n_hits, n = own["n_hits"], own["n"]
        drawn = hypergeom(n + best["n"], n_hits + best["n_hits"], n)
        chances = drawn.pmf(np.arange(n + 1))
        assert group["fisher_p"] == pytest.approx(chances[chances <= chances[n_hits] * (1 + 1e-7)].sum(), abs=1e-12)
        reaches = n_hits / n >= 0.8 * best["share"]
        turned = (k for k in range(n + 1) if ((n_hits + (-k if reaches else k)) / n >= 0.8 * best["share"]) != reaches)
        assert group["n_to_flip"] == next(turned)


def test_tables_can_be_chosen_and_the_label_can_decide(command: Commands) -> None:
    data = ("--data", str(DATA), "--schema", str(SCHEMA), "--protected", "sex,race")
    result = command.json("figures", *data, "--by", "race", "--by", "race,sex")
    assert [table["attributes"] for table in result["tables"]] == [["race"], ["race", "sex"]]
    assert (result["source"], result["column"], result["median_score"]) == ("labels", "income", None)
    frame = pd.read_csv(DATA)
    counts = sorted(frame.groupby("race").size())
    assert sorted(group["rows"] for group in result["tables"][0]["groups"]) == counts
    assert all(group["scoring"] is None for table in result["tables"] for group in table["groups"])


def test_rows_of_which_one_of_several_attributes_is_unknown_are_counted_once_each(
    command: Commands, tmp_path: Path
) -> None:
    rng = np.random.default_rng(6)
    people = pd.DataFrame({"dept": rng.choice(["HR", "IT"], 400), "site": rng.choice(["a", "b", "c"], 400)})
    people["hired"] = rng.choice(["yes", "no"], 400)
    people.loc[rng.random(400) < 0.1, "dept"] = None
    people.loc[rng.random(400) < 0.15, "site"] = None
    people["byhand"] = people.hired.where(rng.random(400) > 0.05)
    people.to_csv(tmp_path / "people.csv", index=False)
    data = ("--data", str(tmp_path / "people.csv"), "--favourable", "yes", "--label", "hired")
    asked = (*data, "--protected", "dept,site", "--by", "dept,site")
    (table,) = command.json("figures", *asked)["tables"]
    is_unknown = people.dept.isna() | people.site.isna()
    assert table["n_unknown"] == is_unknown.sum() > max(people.dept.isna().sum(), people.site.isna().sum())
    assert sum(group["rows"] for group in table["groups"]) + table["n_unknown"] == 400
    told = command.json("figures", *asked, "--predictions", "byhand")
    has_none = people.byhand.isna()
    assert f"{has_none.sum()} rows hold no outcome in 'byhand' and are left out." in told["notes"]
    assert told["tables"][0]["n_unknown"] == (is_unknown & ~has_none).sum()


def test_a_table_that_is_asked_for_twice_is_made_once(command: Commands) -> None:
    asked = ("figures", *INPUTS, "--protected", "sex,race", "--by", "race,sex")
    once = command.json(*asked)["tables"]
    assert command.json(*asked, "--by", "sex,race", "--by", "race,sex")["tables"] == once
    assert command("figures", *INPUTS, "--by", "sex,sex", "--quiet") == 2
    assert "needs different attributes, got sex, sex. Name each once." in command.err
    assert command("figures", *INPUTS, "--by", "sex", "--bins", "1", "--quiet") == 2
    assert "must be at least 2, got '1'" in command.err


def test_what_is_compared_of_rows_by_their_label_is_said(command: Commands, tmp_path: Path) -> None:
    people = pd.DataFrame({"site": ["a"] * 90 + ["b"] * 90 + ["c"] * 3 + [None] * 20, "hired": "yes", "byhand": "yes"})
    people.loc[people.index % 3 == 0, "hired"] = "no"
    people.loc[people.index % 2 == 0, "byhand"] = "no"
    people.loc[90:170, "byhand"] = "yes"
    file = tmp_path / "sites.csv"
    people.to_csv(file, index=False)
    data = ("--data", str(file), "--protected", "site", "--favourable", "yes", "--label", "hired")
    result = command.json("figures", *data, "--predictions", "byhand")
    assert command("figures", *data, "--predictions", "byhand", "--quiet") == 0
    known = people[people.site.isin(["a", "b"])]
    rates = known.assign(yes=known.byhand == "yes").groupby(["site", "hired"]).yes.mean()
    furthest = (rates["a"] - rates["b"]).abs().max()
    odds = result["tables"][0]["odds_difference"]
    assert odds["value"] == pytest.approx(furthest)
    said = f"true or false positive rates differ by up to {furthest:.2f} ({odds['low']:.2f} to {odds['high']:.2f})"
    assert said in command.out
    assert "; left out, under 2 % of the rows of known group" in command.out, "3 of 183"
    people.loc[people.site == "b", "hired"] = "yes"
    people.to_csv(file, index=False)
    assert command("figures", *data, "--predictions", "byhand", "--quiet") == 0
    assert "rates are not compared: a group has no row with one of the labels" in command.out


def people_of(path: Path, groups: dict[str, tuple[int, int]]) -> tuple[str, ...]:
    """A file of people of some genders, of whom so many of so many are hired; the options that name it."""
    lines = [(name, "yes" if i < n_hired else "no") for name, (n_hired, n) in groups.items() for i in range(n)]
    people = pd.DataFrame(lines, columns=["gender", "hired"])
    people["age"] = 20 + np.arange(len(people)) % 40
    people.to_csv(path, index=False)
    return ("--data", str(path), "--protected", "gender", "--label", "hired", "--favourable", "yes")


def reported(command: Commands, run_id: str, preset: str, folder: Path) -> tuple[dict[str, Any], str]:
    """A report of a run: its JSON, and the words of the document."""
    result = command.json("report", "--run", run_id, "--preset", preset, "--out", str(folder), "--quiet")
    page = re.sub(r"<style.*?</style>|<[^>]+>", " ", (folder / "report.html").read_text(), flags=re.DOTALL)
    return result, " ".join(html.unescape(page).split())


SOME = {"diverse": (3, 26), "female": (380, 760), "male": (473, 814)}


def test_whom_a_preset_leaves_out_is_told_and_makes_no_finding(command: Commands, tmp_path: Path) -> None:
    """26 of 1,600 people, under 2 %, led the answer of every report and made the figures end with "flag"."""
    data = people_of(tmp_path / "people.csv", SOME)
    result = command.json("figures", *data)
    (table,) = result["tables"]
    small, *others = table["groups"]
    assert (table["verdict"], table["most_favoured"]) == ("not enough evidence", ["male"])
    assert (small["labels"], small["rows"], small["is_compared"]) == (["diverse"], 26, False)
    assert small["verdict"] == "left out"
    assert small["impact_ratio"]["value"] == pytest.approx((3 / 26) / (473 / 814))
    assert small["impact_ratio"]["high"] < 0.8
    assert [group["verdict"] for group in others] == ["not enough evidence", "pass"]
    assert command("figures", *data, "--quiet") == 0
    half = 0.05 / 3 / 2
    low, high = (
        beta.ppf(half, 3, 24) / beta.ppf(1 - half, 474, 341),
        beta.ppf(1 - half, 4, 23) / beta.ppf(half, 473, 342),
    )
    ratio = f"impact ratio 0.20 ({low:.2f} to {high:.2f})"
    assert f"  diverse: 3 of 26 (12 %); {ratio}; left out, under 2 % of the rows\n" in command.out
    for preset in preset_names():
        told, page = reported(command, result["run_id"], preset, tmp_path / preset)
        assert (told["findings"], told["n_findings"]) == ([], 0), preset
        answer = " ".join(told["answer"])
        assert "iverse" not in answer, preset
        assert "no impact ratio of a group that is compared lies below four fifths for certain" in answer
        assert "1 group is too small to be compared." in answer
        assert "diverse (3 of 26)" in page, preset
        assert "under 2 % of the rows" in page, preset
        assert "Not settled: diverse" not in page, preset


def test_an_own_preset_says_who_is_compared(command: Commands, tmp_path: Path) -> None:
    """The ratio was to the largest of the groups that the preset compares, its interval and verdict to that of those of
    2 %: 0.93, "0.46-0.68", flag."""
    run_id = command.json("figures", *people_of(tmp_path / "people.csv", SOME | {"diverse": (58, 60)}))["run_id"]
    for share, is_compared in ((0.05, False), (0.01, True)):
        preset = {**json.loads((FOLDER / "four-fifths.json").read_text()), "name": "own"}
        file = tmp_path / f"own{is_compared}.json"
        file.write_text(json.dumps({**preset, "least_share": {"value": share, "source": "our handbook"}}))
        told, page = reported(command, run_id, str(file), tmp_path / str(is_compared))
        (name,) = [name for name in told["files"] if name.startswith("tables/")]
        lines = pd.read_csv(tmp_path / str(is_compared) / name, index_col="group")
        best = 58 / 60 if is_compared else 473 / 814
        assert lines.ratio["female"] == pytest.approx(380 / 760 / best)
        assert lines.is_compared.to_dict() == {"diverse": is_compared, "female": True, "male": True}
        titles = [finding["title"] for finding in told["findings"]]
        assert titles == (["Impact ratio 0.52: female against diverse"] if is_compared else [])
        if not is_compared:
            alpha = 0.05 / 3
            low, most = (beta.ppf(alpha / 2, 380, 381), beta.ppf(1 - alpha / 2, 474, 341))
            assert f"{380 / 760 / best:.2f} {low / most:.2f}-1.00 not enough evidence" in page
            assert "with under 5 % of the rows: diverse (60). Source: our handbook" in page


def test_beside_a_finding_it_is_told_who_is_left_out(command: Commands, tmp_path: Path) -> None:
    groups = {"diverse": (0, 26), "female": (200, 760), "male": (473, 814), "unsaid": (120, 400)}
    run_id = command.json("figures", *people_of(tmp_path / "people.csv", groups))["run_id"]
    told, _ = reported(command, run_id, "four-fifths", tmp_path / "report")
    (finding,) = told["findings"]
    assert finding["title"] == "Impact ratio 0.45: female against male"
    assert "2 of 3 groups that are compared lie below it for certain." in finding["facts"]
    assert "Not compared, with under 2 % of the rows, and how many get it: diverse (0 of 26)." in finding["facts"]


def test_the_label_can_be_named(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "granted": rng.choice(["no", "yes"], 300)})
    frame["y"] = rng.integers(1, 7, 300)
    file = tmp_path / "named.csv"
    frame.to_csv(file, index=False)
    data = ("--data", str(file), "--protected", "sex")
    assert command.json("figures", *data)["column"] == "y", "taken for the label, by its name"
    result = command.json("figures", *data, "--label", "granted")
    assert result["column"] == "granted"
    assert "'yes' of 'granted' is taken for the outcome that is good for the person" in command.err
    counted = {tuple(group["labels"]): group["selected"]["n_hits"] for group in result["tables"][0]["groups"]}
    assert counted == {(sex,): int(((frame.sex == sex) & (frame.granted == "yes")).sum()) for sex in ("f", "m")}
    written = tmp_path / "S.json"
    assert command("inspect", *data, "--label", "", "--out-schema", str(written)) == 0
    assert Schema.read(written).label is None
    assert command.json("figures", *data, "--schema", str(written), "--label", "granted")["tables"] == result["tables"]
    assert command("figures", *data, "--label", "approved") == 2
    assert "'approved'" in command.err


def test_outcomes_that_differ_by_capitals_are_said_beside_the_figures(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.integers(20, 60, 300)})
    frame["outcome"] = rng.choice(["no", "yes", "Yes", "YES"], 300)
    frame.to_csv(tmp_path / "spelled.csv", index=False)
    asked = ("--data", str(tmp_path / "spelled.csv"), "--favourable", "yes", "--protected", "sex")
    result = command.json("figures", *asked)
    (said,) = [note for note in result["notes"] if "capitals" in note]
    assert "'YES' and 'Yes' (and 1 more spelling)" in said
    counted = {tuple(group["labels"]): group["selected"]["n_hits"] for group in result["tables"][0]["groups"]}
    assert counted == {(sex,): int(((frame.sex == sex) & (frame.outcome == "yes")).sum()) for sex in ("f", "m")}


@pytest.mark.thorough
def test_a_run_of_figures_holds_when_it_is_looked_at_again(command: Commands) -> None:
    run_id = command.json("figures", *INPUTS, "--protected", "sex")["run_id"]
    result = command.json("runs", "verify", run_id)
    assert {check["name"]: check["verdict"] for check in result["checks"]}["the figures"] == "holds"
    assert result["failed"] == 0


@pytest.mark.thorough
def test_more_attributes_than_can_be_read_together_are_left_out_and_named(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"group_{i}" for i in range(3)]
    frame = pd.DataFrame({name: rng.integers(0, 40, 5000).astype(str) for name in names})
    frame = frame.apply(lambda column: "g" + column)
    frame["hired"] = rng.choice(["yes", "no"], 5000)
    path = tmp_path / "many.csv"
    frame.to_csv(path, index=False)
    result = command.json("figures", "--data", str(path), "--protected", ",".join(names), "--favourable", "yes")
    assert [len(table["attributes"]) for table in result["tables"]] == [1, 1, 1]
    (note,) = result["notes"]
    assert all(" and ".join(pair) in note for pair in combinations(names, 2))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--by", "shoe_size"), "shoe_size"),
        (("--by", "sex", "--by", "sex,sex"), "different attributes"),
        (("--predictions", "income"), "--predictions"),
    ],
)
def test_what_cannot_be_is_refused(command: Commands, options: tuple[str, ...], said: str) -> None:
    assert command("figures", *INPUTS, "--protected", "sex", *options) == 2
    assert said in command.err
    assert "Traceback" not in command.err


@pytest.mark.thorough
def test_rows_of_unknown_group_are_counted_inside_the_limits(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 70, 500),
            "dept": rng.choice(["HR", "IT", "Ops"], 500),
            "hired": rng.choice(["yes", "no"], 500),
        }
    )
    people.loc[rng.random(500) < 0.2, "dept"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    inside = people[people.age.between(30, 50)]
    options = [
        "--data",
        str(tmp_path / "people.csv"),
        "--protected",
        "dept",
        "--favourable",
        "yes",
        "--limit",
        "age=30:50",
    ]
    (table,) = command.json("figures", *options)["tables"]
    assert table["n_unknown"] == inside.dept.isna().sum() < people.dept.isna().sum()
    assert sum(group["rows"] for group in table["groups"]) == inside.dept.notna().sum()
    (whole,) = command.json("figures", *options[:-2])["tables"]
    assert whole["n_unknown"] == people.dept.isna().sum()


def test_rows_of_unknown_group_are_among_the_rows_that_count(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"dept": rng.choice(["HR", "IT", "Ops"], 400), "hired": rng.choice(["yes", "no"], 400)})
    people.loc[rng.random(400) < 0.2, "dept"] = None
    people.loc[rng.random(400) < 0.1, "hired"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    labelled = people[people.hired.notna()]
    assert labelled.dept.isna().sum() < people.dept.isna().sum()
    said = command.json("figures", "--data", str(tmp_path / "people.csv"), "--protected", "dept", "--favourable", "yes")
    (table,) = said["tables"]
    assert table["n_unknown"] == labelled.dept.isna().sum()
    assert sum(group["rows"] for group in table["groups"]) + table["n_unknown"] == len(labelled)
    assert f"{len(people) - len(labelled)} of the file's 400 rows do not count" in " ".join(said["notes"])


@pytest.mark.thorough
def test_without_a_label_one_of_the_models_outcomes_is_named(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "age": rng.integers(20, 60, 400)})
    decided = np.where(people.age + 12 * (people.sex == "m") + rng.normal(0, 6, 400) > 48, "fit", "unfit")
    codes = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(codes, LogisticRegression(max_iter=500)).fit(people, decided)
    skops.io.dump(model, tmp_path / "model.skops")
    people.to_csv(tmp_path / "people.csv", index=False)
    options = ["--data", str(tmp_path / "people.csv"), "--model", str(tmp_path / "model.skops"), "--protected", "sex"]
    is_accepted = pd.Series(model.predict(people) == "fit").groupby(people.sex).sum()

    def selected(*more: str) -> tuple[dict[str, int], str]:
        result = command.json("figures", *options, *more)
        (table,) = result["tables"]
        return {group["labels"][0]: group["selected"]["n_hits"] for group in table["groups"]}, " ".join(result["notes"])

    named, said = selected("--favourable", "fit")
    assert (named, "Nobody said" in said) == (is_accepted.to_dict(), False)
    taken, said = selected()
    assert taken == (people.sex.value_counts() - is_accepted).to_dict()
    assert "Nobody said which outcome is good for the person: 'unfit' counts as favourable." in said
    for kind in ("rules", "search"):
        assert "'unfit' counts as favourable" in " ".join(command.json(kind, *options)["notes"])
    usual = make_pipeline(codes, LogisticRegression(max_iter=500))
    usual.fit(people, np.where(decided == "fit", "accepted", "rejected"))
    skops.io.dump(usual, tmp_path / "model.skops")
    guessed, said = selected()
    assert guessed == named
    assert "Nobody said which outcome is good for the person: 'accepted' counts as favourable." in said
    skops.io.dump(model, tmp_path / "model.skops")
    assert command("figures", *options, "--favourable", "granted") == 2
    assert "must be one of the model's (fit, unfit), since the data has no label, got 'granted'" in command.err
