"""Presets: those that come along say where everything is from, and what is none is refused in a sentence."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.errors import SettingError
from fairness_engine.report.presets import FOLDER, Part, find_preset, preset_names, read_preset

NAMES = ("plain", "adverse-outcome", "eu-ai-act", "four-fifths", "iso-12791", "nyc-local-law-144")


def test_there_are_six() -> None:
    assert tuple(preset_names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_says_where_it_is_from_and_as_of_when(name: str) -> None:
    preset = find_preset(name)
    assert preset.name == name
    assert date(2026, 1, 1) <= date.fromisoformat(preset.as_of) <= date(2027, 12, 31)
    assert bool(preset.law) == bool(preset.source) == (name != "plain")
    for threshold in preset.thresholds:
        assert "convention" in threshold.source or "CFR" in threshold.source
    parts = [part for _, parts in preset.chapters for part in parts]
    assert len(parts) == len(set(parts))
    assert {Part.ANSWER, Part.LIMITS, Part.DECISIONS} <= set(parts)
    assert "compliant" not in (FOLDER / f"{name}.json").read_text().lower()


def test_new_york_sets_no_least_ratio() -> None:
    preset = find_preset("nyc-local-law-144")
    assert preset.thresholds == []
    assert preset.least_share.value == 0.02
    assert [table.by for table in preset.tables] == [["sex"], ["race"], ["sex", "race"]]


def shipped(**changes: Any) -> bytes:
    content = json.loads((FOLDER / "plain.json").read_text())
    return json.dumps({**content, **changes}).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no json", "Expecting value"),
        (b"[]", "preset"),
        (b"\xff\xfe", "preset"),
        (b"[" * 100_000, "preset"),
        (shipped(version=2), "version"),
        (shipped(colour="red"), "'colour' is no key of a preset"),
        (shipped(chapters=[]), "chapters"),
        (shipped(chapters=[["A", ["nothing"]]]), "chapters"),
        (shipped(as_of="tomorrow"), "as_of"),
        (shipped(as_of="2026-13-01"), "month"),
        (shipped(tables=[{"title": "T", "by": ["sex"]}]), "'sex', which is none of the roles"),
        (shipped(thresholds=[{"name": "x", "value": 0.8, "source": ""}]), "source"),
        (shipped(least_share={"value": 2, "source": "convention"}), "least_share"),
        (shipped(columns=["shoe size"]), "columns"),
    ],
)
def test_what_is_no_preset_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(SettingError, match="must be a preset file") as error:
        read_preset(content, "own.json")
    assert said in str(error.value)
    assert "own.json" in str(error.value)


def test_one_of_ones_own_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_bytes(shipped(name="our-bank", title="Our bank's report"))
    assert find_preset(str(path)).title == "Our bank's report"
    with pytest.raises(SettingError, match="must be one of plain"):
        find_preset("nyc")
    path.write_bytes(b" " * 300_000)
    with pytest.raises(SettingError, match="at most"):
        find_preset(str(path))
