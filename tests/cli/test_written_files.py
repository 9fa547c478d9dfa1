"""No file that a command writes takes the place of one that it reads, or of another; one that cannot be written costs
no result.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from test_commands import DATA, MODEL, SCHEMA, Commands

from fairness_engine.cli.parser import make_parser
from fairness_engine.cli.written_files import check_junit, check_written
from fairness_engine.errors import SettingError

QUICK = ["--technique", "random", "--max-evaluations", "200", "--quiet"]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path / "unused", capsys)


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    """Copies of the sample files, which may be lost."""
    for file, name in ((DATA, "d.csv"), (SCHEMA, "s.json"), (MODEL, "m.keras")):
        shutil.copy(file, tmp_path / name)
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    (tmp_path / "link.csv").symlink_to("d.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "d.csv")
    (tmp_path / "sub").mkdir()
    return [f"--data={tmp_path}/d.csv", f"--schema={tmp_path}/s.json", f"--model={tmp_path}/m.keras"]


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        (
            "search",
            ["--pairs=d.csv"],
            "--pairs must not write over what the command reads, but '*/d.csv' is what --data",
        ),
        ("search", ["--pairs=sub/../d.csv"], "is what --data names"),
        ("search", ["--pairs=link.csv"], "is what --data names"),
        ("search", ["--pairs=hard.csv"], "is what --data names"),
        ("search", ["--json=m.keras"], "--json must not write over * is what --model names"),
        ("search", ["--json=s.json"], "is what --schema names"),
        ("search", ["--policy=policy.yaml", "--json=policy.yaml"], "is what --policy names"),
        ("search", ["--junit=d.csv"], "--junit must not write over * is what --data names"),
        ("search", ["--pairs=a.out", "--json=a.out"], "--json and --pairs must name two files, got '*/a.out' twice"),
        ("search", ["--pairs=a.out", "--json=a.json", "--junit=a.out"], "--junit and --pairs must name two files"),
        ("certify", ["--pairs=d.csv"], "is what --data names"),
        ("inspect", ["--known-answers=hard.csv", "--json=hard.csv"], "must not write over"),
        ("inspect", ["--out-schema=s.json"], "--out-schema must not write over * is what --schema names"),
        ("retrain", ["--out-model=m.keras"], "--out-model must not write over * is what --model names"),
        ("search", ["--json=nowhere/a.json"], "--json must name a file in a folder that is there and can be written"),
        ("search", ["--json=sub"], "--json must name a file in a folder that is there and can be written"),
        ("search", ["--pairs=nowhere/a.csv"], "--pairs must name a file in a folder that is there"),
        ("certify", ["--pairs=d.csv/a.csv"], "--pairs must name a file in a folder that is there"),
        ("retrain", ["--out-model=nowhere/a.keras"], "--out-model must name a file in a folder that is there"),
        ("retrain", ["--out-model=n.keras", "--json=n.keras.md"], "--json and --out-model must name two files"),
    ],
)
def test_no_file_is_written_over_another(
    command: Commands, inputs: list[str], tmp_path: Path, name: str, written: list[str], said: str
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    options = [f"{option}={tmp_path / path}" for option, path in (each.split("=") for each in written)]
    assert command(name, *inputs, "--protected", "sex", *(QUICK if name == "search" else []), *options) == 2
    assert command.out == ""
    (sentence,) = command.err.splitlines()
    parts = [part.replace("*", "") for part in said.split("*")]
    assert all(part in sentence for part in parts), sentence
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert not command.workspace.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("report --run 1 --out {0}/out --json {0}/out/report.html", "--json and --out must name two files"),
        ("report --run 1 --out {0}/new --json {0}/new", "--json and --out must name two files"),
        ("report --run 1 --out {0}/out --preset {0}/out/schema.json", "--out must not write over .* is what --preset"),
        ("report --run 1 --out {0}/out --preset {0}/out/tables/own.json", "--out must not write over"),
        ("report --run 1 --out {0}/out --json {0}/out/result.json", None),
        ("report --run 1 --out {0}/d.csv", "--out must name a folder that can be written, or made"),
        ("report --run 1 --out {0}/d.csv/more/out", "--out must name a folder"),
        ("report --run 1 --out {0}/more/out", None),
        ("report --run 1 --out {0}/used", "--out must name a folder without the evidence of another report"),
        ("runs verify {0}/out --json {0}/out/schema.json", "--json must not write over"),
        ("runs verify {0}/out --json {0}/out/new.json", None),
        ("runs verify {0}/out --data {0}/d.csv --json {0}/d.csv", "is what --data names"),
        ("runs list --json {0}/evenhand.db --workspace {0}", "is what --workspace names"),
        ("runs list --json {0}/own.db --database sqlite:///{0}/own.db", "is what --database names"),
        ("inspect --data-query q --data-url sqlite:///{0}/d.csv --json {0}/d.csv", "is what --data-url names"),
        ("inspect --data-query {0}/d.csv --json {0}/d.csv", "is what --data-query names"),
        ("runs list --json - --junit {0}/-", None),
        ("runs list --json /dev/null --junit /dev/null", None),
        ("search --data d --model m --json - --pairs -", None),
    ],
)
def test_every_file_of_every_command_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str | None
) -> None:
    monkeypatch.setenv("EVENHAND_DATABASE_URL", f"sqlite:///{tmp_path}/own.db")
    (tmp_path / "out" / "tables").mkdir(parents=True)
    (tmp_path / "used" / "bundle").mkdir(parents=True)
    for name in ("d.csv", "own.db", "out/schema.json", "out/tables/own.json", "used/bundle/review.json"):
        (tmp_path / name).write_text("{}")
    options = make_parser().parse_args(words.format(tmp_path).split())
    if said is None:
        check_junit(options)
        check_written(options)
        return
    with pytest.raises(SettingError, match=said):
        check_written(options)


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("option", ["--pairs", "--json"])
@pytest.mark.parametrize("target", ["/dev/full", "a" * 300])
def test_a_result_is_printed_also_where_its_file_cannot_be_written(
    command: Commands, inputs: list[str], option: str, target: str
) -> None:
    assert command("search", *inputs, "--protected", "sex", *QUICK, option, target) == 2
    assert f"{option} must name a file that can be written, got '{target[:60]}" in command.err
    assert " discriminatory individuals among " in command.out
    assert "pairs written" not in command.out
