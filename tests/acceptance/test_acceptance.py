"""What is wrong is said in one sentence, with its status; nothing of it runs, and what is right still works beside it.

A line of a table is a case: add one for whatever somebody finds. `Case.says` is a pattern of the sentence.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acceptance import hostile_behaviour, hostile_commands, hostile_models, hostile_schemas, hostile_tables
from acceptance.hostile_case import Case, Place, prepare
from fairness_engine.__main__ import main

MAX_CHARACTERS = 300
ROOMS = {
    "table": hostile_tables.CASES,
    "schema": hostile_schemas.CASES,
    "model": hostile_models.CASES,
    "behaviour": hostile_behaviour.CASES,
    "command": hostile_commands.CASES,
}


def files(place: Place, model: Path) -> list[str]:
    """The options that name them."""
    return ["--data", str(place.data), "--schema", str(place.schema), "--model", str(model)]


def sentences(err: str) -> list[str]:
    """What standard error says, less how to write the command and the lines of code that follow a refusal."""
    lines = [line for line in err.splitlines() if line.strip()]
    n_said = next((i for i, line in enumerate(lines) if line.startswith("# ")), len(lines))
    return [line for line in lines[:n_said] if not line.startswith(("usage:", " ", "Note:", "Run "))]


@pytest.fixture(scope="module")
def innocent(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Honest files, and a workspace that works."""
    return prepare(tmp_path_factory.mktemp("innocent"))


@pytest.mark.parametrize(("room", "case"), [(room, case) for room in ROOMS for case in ROOMS[room]], ids=str)
def test_what_is_wrong_is_said_and_what_is_right_works(
    room: str, case: Case, tmp_path: Path, innocent: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place = prepare(tmp_path)
    model = case.make(place) or place.model
    given = files(place, model) if case.is_given else []
    try:
        status = main([case.command, *case.options, *given, "--workspace", str(place.workspace)])
    except SystemExit as ended:  # of the reader of options
        status = int(ended.code or 0)
    err = capsys.readouterr().err
    said = sentences(err)
    assert (status, len(said)) == (case.status, 1), err[:2000]
    assert re.search(case.says, said[0]), said[0][:2000]
    assert len(said[0]) <= MAX_CHARACTERS, f"{len(said[0])}: {said[0][:2000]}"
    assert said[0].isprintable()
    assert "Traceback" not in err
    assert not place.marker.exists(), "code of the file has run, and reached further than its process"
    where = (place if room == "behaviour" else innocent).workspace  # who comes after a misbehaving model must be served
    honest = ["inspect", *files(innocent, innocent.model), "--workspace", str(where), "--quiet"]
    assert main(honest) == 0, capsys.readouterr().err
