"""The command ``rules``, run as a person would, and its figures counted again with pandas alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_commands import INPUTS, ROOT, Commands

from fairness_engine.cli.commands import rules
from fairness_engine.cli.commands.rules import RULES_KEYS
from fairness_engine.cli.output import COMMON_KEYS
from fairness_engine.groups.rule_sets.result import read_rules, write_rules
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.runs.writers.rule_sets import RULES_FILE, stored_rules
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.store import RunStore

SAMPLES = ROOT / "sample_data"
MODELS = ROOT / "sample_models"
MARKETING = SAMPLES / "marketing.csv"
TABLE = ["--data", str(MARKETING), "--schema", str(SAMPLES / "marketing.schema.json"), "--protected", "age,sex,born_in"]
NETWORK = ["--model", str(MODELS / "marketing_network.keras")]
COMMENTS = ["--data", str(SAMPLES / "comments.csv"), "--schema", str(SAMPLES / "comments.schema.json")]
TEXTS = [*COMMENTS, "--model", str(MODELS / "comments_linear.skops"), "--text-column", "comment"]
CONTRACT = {"rules", "support", "score", "inside", "outside", "n_inside", "n_outside", "low", "high"}
SAMPLED = ("--error", "0.2", "--least-samples", "100")
"""So few samples that the neighbours of the sample data outnumber them."""


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


def inside(table: pd.DataFrame, rule_set: Mapping[str, Any]) -> pd.Series[bool]:
    """Who is in a group, by what the JSON says and nothing else."""
    found = pd.Series(data=True, index=table.index)
    for rule in rule_set["rules"]:
        cells = table[rule["column"]]
        if "values" in rule:
            found &= cells.isin(rule["values"])
        else:
            high = cells <= rule["high"] if rule.get("includes_high", True) else cells < rule["high"]
            found &= (cells >= rule["low"]) & high
    return found


def figures(result: Mapping[str, Any]) -> dict[str, Any]:
    """What must not depend on the clock or the run."""
    return {name: result[name] for name in (*RULES_KEYS, "evaluations", "stop_reason", "seed")}


def share_of_all(result: Mapping[str, Any]) -> float:
    """The favourable share of inside and outside together."""
    first = result["rule_sets"][0]
    hits = first["inside"] * first["n_inside"] + first["outside"] * first["n_outside"]
    return float(hits / (first["n_inside"] + first["n_outside"]))


# --- the figures ----------------------------------------------------------------------------------


def test_rules_print_one_json_object_as_the_contract_has_it(once: Callable[..., dict[str, Any]]) -> None:
    result = once("rules", *TABLE, *NETWORK)
    assert set(result) == {*COMMON_KEYS, *RULES_KEYS}
    assert len(result["rule_sets"]) == 10
    assert result["n_rule_sets"] >= result["n_shown"] > 10
    scores = [rule_set["score"] for rule_set in result["rule_sets"]]
    assert scores == sorted(scores, reverse=True)
    assert result["top_score"] >= scores[0]
    for rule_set in result["rule_sets"]:
        assert set(rule_set) > CONTRACT
        assert rule_set["score"] == pytest.approx(abs(rule_set["inside"] - rule_set["outside"]))
        assert 0 <= rule_set["low"] <= rule_set["score"] <= rule_set["high"] <= 1
        assert rule_set["direction"] == ("harmed" if rule_set["inside"] < rule_set["outside"] else "favoured")
        assert rule_set["support"] >= 0.05
        assert rule_set["folded_under"] is None
    assert (result["source"], result["column"]) == ("model", None)


@pytest.mark.thorough
def test_what_the_labels_say_can_be_counted_again_by_anybody(command: Commands) -> None:
    result = command.json("rules", *TABLE, "--top", "0", "--edges", "round")
    table = pd.read_csv(MARKETING)
    favourable = table["offer"] == "yes"
    assert (result["source"], result["column"], result["rows"]) == ("labels", "offer", len(table))
    assert (result["evaluations"], len(result["rule_sets"])) == (0, result["n_rule_sets"])
    assert result["top_score"] == max(rule_set["score"] for rule_set in result["rule_sets"])  # whatever is folded
    assert result["top_low"] == max(rule_set["low"] for rule_set in result["rule_sets"])
    for rule_set in result["rule_sets"]:
        chosen = inside(table, rule_set)
        assert rule_set["rows"] == rule_set["n_inside"] == chosen.sum()
        assert rule_set["n_outside"] == (~chosen).sum()
        assert rule_set["support"] == pytest.approx(chosen.mean())
        assert rule_set["inside"] == pytest.approx(favourable[chosen].mean())
        assert rule_set["outside"] == pytest.approx(favourable[~chosen].mean())
        assert rule_set["sampled"] == "rows"


def test_labels_of_codes_are_those_of_the_schema(command: Commands) -> None:
    result = command.json("rules", *INPUTS, "--protected", "race,sex")
    table = pd.read_csv(SAMPLES / "census_income.csv")
    for column in json.loads((SAMPLES / "census_income.schema.json").read_text())["columns"]:
        if column["kind"] == "categorical" and "codes" in column:
            table[column["name"]] = table[column["name"]].astype(str).map(column["codes"])
    assert len(result["rule_sets"]) > 3
    for rule_set in result["rule_sets"]:
        assert rule_set["support"] == pytest.approx(inside(table, rule_set).mean())


def test_a_guessed_outcome_is_said_until_somebody_answers(command: Commands) -> None:
    asked = ["rules", "--data", str(MARKETING), "--protected", "sex,age", "--edges", "round"]
    said = "'yes' of 'offer' is taken for the outcome that is good for the person, which nobody confirmed."
    assert command(*asked) == 0
    assert f"Note: {said}" in command.err
    assert command(*asked, "--favourable", "no") == 0
    assert "nobody confirmed" not in command.err


def test_a_column_of_predictions_takes_the_place_of_a_model(command: Commands, tmp_path: Path) -> None:
    table = pd.read_csv(MARKETING)
    table["guess"] = np.where(table["age"] < 40, "no", "yes")
    table.loc[:9, "guess"] = None
    table.to_csv(tmp_path / "guessed.csv", index=False)
    asked = ["--data", str(tmp_path / "guessed.csv"), *TABLE[2:], "--predictions", "guess", "--edges", "round"]
    result = command.json("rules", *asked)
    assert (result["column"], result["rows"]) == ("guess", len(table) - 10)
    assert "Note: 10 rows hold no outcome in 'guess' and are left out." in command.err
    first = result["rule_sets"][0]
    assert first["rules"] in ([{"column": "age", "low": 18, "high": 39}], [{"column": "age", "low": 40, "high": 80}])
    assert (first["score"], first["low"] > 0.9) == (1.0, True)


def test_rows_that_do_not_count_are_said(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "age": rng.integers(20, 60, 400).astype(float)})
    people["hired"] = rng.choice(["yes", "no"], 400)
    people.loc[rng.random(400) < 0.1, "age"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    options = ["--data", str(tmp_path / "people.csv"), "--protected", "sex", "--favourable", "yes"]
    (note,) = command.json("rules", *options)["notes"]
    assert note.startswith(f"{people.age.isna().sum()} of the file's 400 rows do not count")
    people.dropna().to_csv(tmp_path / "people.csv", index=False)
    assert command.json("rules", *options)["notes"] == []


def test_numbers_without_an_end_of_values_need_none(command: Commands, tmp_path: Path) -> None:
    """Continuous protected attributes, as the shares of a neighbourhood are."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"share": rng.random(800), "rent": rng.normal(size=800), "job": rng.choice(["a", "b"], 800)})
    table["paid"] = np.where((table["share"] > 0.6) & (rng.random(800) < 0.9), "no", "yes")
    table.to_csv(tmp_path / "shares.csv", index=False)
    asked = ["--data", str(tmp_path / "shares.csv"), "--protected", "share,rent"]
    schema = {"version": 1, "label": "paid", "favourable": "yes", "protected": [], "columns": []}
    ends = {name: {"min": float(table[name].min()), "max": float(table[name].max())} for name in ("share", "rent")}
    schema["columns"] = [{"name": name, "kind": "real", **ends[name]} for name in ends]
    schema["columns"] += [{"name": "job", "kind": "categorical", "categories": ["a", "b"]}]
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    result = command.json(
        "rules", *asked, "--schema", str(tmp_path / "schema.json"), "--top", "0", "--max-attributes", "1"
    )
    for rule_set in result["rule_sets"]:
        assert rule_set["rows"] == inside(table, rule_set).sum()
    top = result["rule_sets"][0]["rules"][0]
    assert top["column"] == "share"
    assert result["top_low"] > 0.5


@pytest.mark.thorough
def test_the_scope_narrows_what_is_looked_at(command: Commands, once: Callable[..., dict[str, Any]]) -> None:
    whole = once("rules", *TABLE, *NETWORK)
    narrow = command.json("rules", *TABLE, *NETWORK, "--limit", "age=30:49", "--error", "0")
    table = pd.read_csv(MARKETING)
    assert narrow["rows"] == table["age"].between(30, 49).sum() < whole["rows"]
    assert {rule["low"] for rs in narrow["rule_sets"] for rule in rs["rules"] if rule["column"] == "age"} <= {
        *range(30, 50)
    }
    assert narrow["rule_sets"][0]["sampled"] == whole["rule_sets"][0]["sampled"] == "exact"
    still = ",".join(name for name in table.columns if name not in ("age", "sex", "born_in", "offer"))
    fixed = command.json("rules", *TABLE, *NETWORK, "--fixed", still, "--threshold", "0.9", "--error", "0")
    assert fixed["rows"] <= fixed["evaluations"] < 2 * fixed["rows"] < whole["evaluations"]
    assert share_of_all(fixed) < share_of_all(whole) - 0.05


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_and_another_seed_another(command: Commands) -> None:
    """In JSON, and every array that is stored of all rule sets."""
    first, again = (command.json("rules", *TABLE, *NETWORK, *SAMPLED, "--seed", "3") for _ in range(2))
    assert figures(first) == figures(again)
    store = RunStore(command.workspace)
    stored, stored_again = (stored_rules(store, result["run_id"]).to_arrays() for result in (first, again))
    assert all(np.array_equal(array, stored_again[name]) for name, array in stored.items())
    assert {rule_set["sampled"] for rule_set in first["rule_sets"]} <= {"shared", "own", "fresh"}
    other = command.json("rules", *TABLE, *NETWORK, *SAMPLED, "--seed", "4")
    assert figures(first) != figures(other)


@pytest.mark.thorough
def test_lists_leave_near_duplicates_out_unless_asked_for(
    command: Commands, once: Callable[..., dict[str, Any]]
) -> None:
    short = once("rules", *TABLE, *NETWORK)
    everything = command.json("rules", *TABLE, *NETWORK, "--top", "0")["rule_sets"]
    assert [rule_set["rank"] for rule_set in everything] == list(range(1, short["n_rule_sets"] + 1))
    folded = [rule_set for rule_set in everything if rule_set["folded_under"] is not None]
    assert len(folded) == short["n_folded"] > 0
    assert sum(rule_set["n_folded"] for rule_set in everything) == len(folded)
    assert {everything[rule_set["folded_under"] - 1]["folded_under"] for rule_set in folded} == {None}
    ranks = [rule_set["rank"] for rule_set in short["rule_sets"]]
    shown = [rule_set for rule_set in everything if rule_set["folded_under"] is None]
    assert ranks == [rule_set["rank"] for rule_set in shown[:10]]
    listed = command.json("rules", *TABLE, *NETWORK, "--top", "30", "--folded")["rule_sets"]
    assert any(rule_set["folded_under"] is not None for rule_set in listed)
    assert listed == everything[:30]


# --- words and gates ------------------------------------------------------------------------------


@pytest.mark.thorough
def test_people_read_sentences_and_what_they_rest_on(command: Commands) -> None:
    assert command("rules", *TABLE, "--top", "2") == 0
    assert "by what the column 'offer' decides" in command.out
    assert "favourable, everyone else" in command.out
    assert "if the rows are a random sample" in command.out
    assert command("rules", *TABLE, *NETWORK, "--error", "0", "--top", "2") == 0
    assert "these scores are exact for this data" in command.out
    assert command("rules", *TABLE, *NETWORK, *SAMPLED, "--values", "age=20,40") == 0
    assert "intervals hold for all" in command.out
    assert "have no effect on rule sets" in command.err


@pytest.mark.thorough
def test_gates_reach_into_the_list(command: Commands) -> None:
    assert command("rules", *TABLE, "--fail-if", "rule_sets.0.score > 0.2", "--fail-if", "top_low > 0.9") == 1
    assert "Gate failed: rule_sets.0.score > 0.2." in command.err
    assert "top_low" not in command.err
    assert command("rules", *TABLE, "--fail-if", "rule_sets.99.score > 0.1") == 2
    assert "--fail-if must name something" in command.err


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*TABLE[:4], "--protected", ""], "Name the protected attributes"),
        ([*TABLE, "--support", "0.99"], "holds 9"),
        ([*TABLE[:4], "--protected", "height"], "'height' must be a column"),
        ([*TABLE, "--support", "0"], "'support' must be a number above 0"),
        ([*TABLE, "--support", "1"], "'support' must be a number above 0"),
        ([*TABLE, "--support", "2"], "above 0 and below 1, got '2'"),
        ([*TABLE, "--confidence", "0.1"], "'confidence' must be"),
        ([*TABLE, "--bins", "1"], "'bins' must be a whole number from 2 to 100, got '1'"),
        ([*TABLE, "--edges", "odd"], "invalid choice: 'odd'"),
        ([*TABLE, "--limit", "age=20:20"], "'age' has one value only"),
        ([*TABLE, *NETWORK, "--predictions", "offer"], "without a model"),
        ([*TABLE, "--predictions", "job"], "must be outcomes like those of 'offer'"),
        ([*TABLE, "--predictions", "none"], "must have a column 'none'"),
        ([*TABLE, "--terms", "terms.json"], "name their column with --text-column"),
        ([*TABLE, "--top", "-1"], "must be at least 0"),
        ([*COMMENTS, "--text-column", "comment"], "name it with --model"),
        ([*TEXTS, "--protected", "topic"], "leave one out"),
        ([*TEXTS[:-1], "moderation"], "is the label"),
        ([*TEXTS[:-1], "nothing"], "must have a column 'nothing'"),
        ([*TEXTS, "--terms", "no such file"], "must name a file of identity terms"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_status_2(command: Commands, arguments: list[str], said: str) -> None:
    assert command("rules", *arguments, "--quiet") == 2
    assert said in command.err
    assert "Traceback" not in command.err
    assert command.out == ""


@pytest.mark.parametrize("name", ["rules", "figures"])
def test_why_a_column_was_left_out_is_said(command: Commands, tmp_path: Path, name: str) -> None:
    data = tmp_path / "people.csv"
    names = "".join(f"{i},kind no {i % 350},{'yes' if i % 3 else 'no'}\n" for i in range(1_000))
    data.write_text(f"age,sex,hired\n{names}")
    assert command(name, "--data", str(data), "--protected", "sex", "--quiet") == 2
    assert command.err == (
        "--protected must name columns that the model takes, but 'sex' is left out: free text, 350 different. Say in a "
        "schema file (--schema) of what kind it is, or name another column.\n"
    )


def test_a_group_that_everybody_is_in_has_nobody_to_be_compared_with(command: Commands, tmp_path: Path) -> None:
    table = pd.read_csv(MARKETING)
    table[table["sex"] == "female"].to_csv(tmp_path / "women.csv", index=False)
    asked = ["--data", str(tmp_path / "women.csv"), *TABLE[2:4], "--protected", "sex"]
    assert command("rules", *asked) == 2
    assert command.err.strip()
    assert command.out == ""


def test_labels_that_nobody_named_are_asked_for(command: Commands, tmp_path: Path) -> None:
    schema = json.loads((SAMPLES / "marketing.schema.json").read_text())
    for changes, said in (
        ({"label": None, "favourable": None}, "has no label"),
        ({"favourable": None}, "must be the favourable one"),
    ):
        (tmp_path / "schema.json").write_text(json.dumps({**schema, **changes}))
        asked = [*TABLE[:2], "--schema", str(tmp_path / "schema.json"), *TABLE[4:]]
        assert command("rules", *asked) == 2
        assert said in command.err


# --- texts ----------------------------------------------------------------------------------------


def test_texts_are_compared_by_their_terms(command: Commands) -> None:
    result = command.json("rules", *TEXTS, "--top", "2")
    assert [rule_set["rules"][0]["term"] for rule_set in result["rule_sets"]] == ["gay", "muslim"]
    assert {rule_set["direction"] for rule_set in result["rule_sets"]} == {"harmed"}
    assert result["sentences"]["pairs"]
    assert result["rows"] == len(pd.read_csv(SAMPLES / "comments.csv"))
    assert command("rules", *TEXTS, "--top", "1", "--limit", "age=1:2") == 0
    assert "“gay”" in command.out
    assert "no effect on texts" in command.err


def test_inspect_reads_a_model_of_texts(command: Commands) -> None:
    fit = command.json("inspect", *TEXTS)["fit"]
    assert fit["accuracy"] > fit["majority_share"]
    assert command("inspect", *TEXTS[:-2]) == 2
    assert "reads text" in command.err


def test_too_many_rule_sets_are_said(command: Commands, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"share{i}": rng.random(300) for i in range(5)} | {"paid": rng.choice(["no", "yes"], 300)})
    table.to_csv(tmp_path / "t.csv", index=False)
    columns = [{"name": name, "kind": "real", "min": 0.0, "max": 1.0} for name in table.columns[:5]]
    schema = {
        "version": 1,
        "label": "paid",
        "favourable": "yes",
        "protected": list(table.columns[:5]),
        "columns": columns,
    }
    (tmp_path / "s.json").write_text(json.dumps(schema))
    asked = [
        "--data",
        str(tmp_path / "t.csv"),
        "--schema",
        str(tmp_path / "s.json"),
        "--support",
        "0.02",
        "--bins",
        "20",
    ]
    assert command("rules", *asked) == 0
    assert "Those on more than 1 attribute were left out" in command.out or "on more than 2 attributes" in command.out


@pytest.mark.thorough
def test_terms_of_ones_own_and_terms_that_never_occur(command: Commands, tmp_path: Path) -> None:
    terms = tmp_path / "terms.json"
    terms.write_text(json.dumps({"faith": ["Muslim", "Christian"]}))
    result = command.json("rules", *TEXTS, "--terms", str(terms))
    assert result["n_rule_sets"] == 2
    held = command.json("runs", "verify", result["run_id"])["rules"]
    assert (held["n_checked"], held["n_contradictions"]) == (2, 0)
    assert abs(held["rule_sets"][0]["again"] - held["rule_sets"][0]["score"]) < 0.05
    for content, said in (({"tools": ["sprocket", "flange"]}, "occurs in"), ({"tools": ["flange", ""]}, "empty")):
        terms.write_text(json.dumps(content))
        assert command("rules", *TEXTS, "--terms", str(terms), "--quiet") == 2
        assert said in command.err


# --- a second look --------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("model", [NETWORK, []])
def test_verify_scores_again_and_notices_what_was_changed(command: Commands, workspace: Path, model: list[str]) -> None:
    run_id = command.json("rules", *TABLE, *model, "--limit", "age=20:75")["run_id"]
    held = command.json("runs", "verify", run_id)["rules"]
    assert (held["n_contradictions"], held["n_checked"]) == (0, 20 if model else 1000)
    path = RunStore(workspace).run_folder(run_id) / RULES_FILE
    result = read_rules(path)
    for name in ("favourable_inside", "favourable_outside"):
        counts = getattr(result.scored, f"n_{name.removeprefix('favourable_')}")
        getattr(result.scored, name)[:] = counts - getattr(result.scored, name)
    low = result.scored.low > 0
    write_rules(path, result)
    broken = command.json("runs", "verify", run_id, status=1)["rules"]
    assert broken["n_contradictions"] >= min(held["n_checked"], int(low.sum())) / 2
    assert command("runs", "verify", run_id) == 1
    assert "rule set 1: stored" in command.out


def test_runs_list_and_show_know_runs_without_a_model(command: Commands) -> None:
    run_id = command.json("rules", *TABLE)["run_id"]
    shown = command.json("runs", "show", run_id)
    assert shown["config"]["model_id"] == ""
    assert shown["results"]["rules"]["n_rule_sets"] > 100
    assert command("runs", "list") == 0
    assert run_id in command.out
    store = RunStore(command.workspace)
    waiting = store.create_run(store.run(run_id).config)
    assert command.json("runs", "verify", waiting)["rules"] is None
    assert command("runs", "verify", waiting) == 0
    assert "has not begun" in command.out
    assert store.claim(waiting, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    assert command("runs", "verify", waiting) == 2
    assert f"run {waiting} is at work. Wait for its end, or cancel it" in command.err


@pytest.mark.parametrize(
    ("asked", "reached", "n", "said"),
    [
        (0, 3, 4, "more than 3 attributes were left out: --max-attributes asks for them."),
        (0, 2, 8, "more than 2 attributes were left out: they would be too many."),
        (4, 3, 4, "more than 3 attributes were left out: they would be too many."),
        (0, 3, 8, ""),
        (0, 4, 4, ""),
    ],
)
def test_what_is_left_out_is_said_with_how_to_have_it(asked: int, reached: int, n: int, said: str) -> None:
    settings = RuleSettings(max_attributes=asked).to_json()
    result = {"settings": settings, "summary": {"max_attributes": reached}, "attributes": [None] * n}
    counts = {"n_rule_sets": 10, "rows": 100, "n_folded": 0, "n_rests": 0, "source": "model"}
    heading = rules._heading({**result, **counts})
    assert ("left out" in heading) == bool(said)
    assert "as another, or nearly all that are not of it, and folded" in rules._heading(
        {**result, **counts, "n_folded": 1}
    )
    assert said in heading


def test_inspect_counts_the_texts_that_rules_ask_about(command: Commands, tmp_path: Path) -> None:
    table = pd.read_csv(COMMENTS[1])
    table.loc[[3, 7], "comment"] = None
    table.to_csv(tmp_path / "comments.csv", index=False)
    texts = ["--data", str(tmp_path / "comments.csv"), *TEXTS[2:]]
    told = command.json("inspect", *texts)
    assert (told["rows"], told["rows_used"]) == (len(table), len(table) - 2)
    assert f"2 of {len(table):,} rows have no text in 'comment' and are left out." in told["problems"]
