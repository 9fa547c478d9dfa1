"""Test cases as JUnit XML: the rules of the format hold whatever a name holds, the same cases are the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.cli.junit import Case, End, Subject, junit_xml, write_junit
from fairness_engine.errors import SettingError
from junit_rules import read_junit

CASES = [
    Case("high > 0.01", End.FAILED, "high must be at most 0.01, got 0.03.", ("Fails if: high > 0.01",)),
    Case("auc < 0.5", End.BROKEN, "--fail-if needs numbers, but 'auc' is nothing in the result."),
    Case("seal", End.SKIPPED, "the run has none", subject=Subject.CHECK),
    Case("n < 100", End.PASSED, "n must be at least 100, got 200."),
    Case("files", subject=Subject.CHECK),
]
HOSTILE = {
    "<b>&amp;\"'</b>": "<b>&amp;\"'</b>",
    "]]> <![CDATA[": "]]> <![CDATA[",
    "red \x1b[31m\x07\x00bell": "red [31mbell",
    "del \x7f and \x9b31m": "del  and 31m".replace("  ", " "),
    "two\nlines\tand a tab\r\n": "two lines and a tab",
    "half \ud83d of a letter": "half of a letter",
    "\ufffeno letter\uffff": "no letter",
    "Zoë läuft 走る 🏃": "Zoë läuft 走る 🏃",
}


def test_every_end_has_its_element_and_its_counts() -> None:
    suite = read_junit(junit_xml("estimate", CASES, 1.23456))
    assert suite.name == "evenhand.estimate"
    assert list(suite.ends().values()) == ["failure", "error", "skipped", "passed", "passed"]
    assert suite.seconds == 1.235
    assert suite["high > 0.01"].message == "high must be at most 0.01, got 0.03."
    assert suite["high > 0.01"].text == "high must be at most 0.01, got 0.03.\nFails if: high > 0.01"
    assert suite["n < 100"].text == "n must be at least 100, got 200."


def test_an_action_is_a_class_of_its_own_and_the_policy_is_told() -> None:
    suite = read_junit(junit_xml("runs verify", CASES, 0.0, {"policy": "A & <B>\n\x07C", "source": ""}))
    assert suite.name == "evenhand.runs.verify"
    assert suite.properties == {"policy": "A & <B> C"}


def test_the_same_cases_are_the_same_bytes() -> None:
    assert junit_xml("search", CASES, 2.0, {"policy": "A"}) == junit_xml("search", CASES, 2.0, {"policy": "A"})


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_name_holds_is_text_and_nothing_else(name: str) -> None:
    for end in End:
        suite = read_junit(junit_xml("estimate", [Case(name, end, f"{name} is said", (name,))], 0.0))
        assert [case.name for case in suite.cases] == [HOSTILE[name]]
        assert HOSTILE[name].split()[0] in suite.cases[0].text


@pytest.mark.thorough
@given(st.text(min_size=1).map(lambda text: f"x{text}"), st.sampled_from(End))
def test_any_text_keeps_the_rules(text: str, end: End) -> None:
    read_junit(junit_xml("search", [Case(text, end, text, (text, text))], 1e6, {"policy": text}))


def test_a_message_is_one_line_of_bounded_length_and_the_text_is_whole() -> None:
    said = "first line\n" + "word " * 500
    case = read_junit(junit_xml("rules", [Case("long", End.FAILED, said)], 0.0)).cases[0]
    assert case.message.startswith("first line word word")
    assert len(case.message) == 300
    assert case.text == said


def test_a_file_is_replaced_whole_and_a_full_disk_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("x" * 100_000)
    write_junit(path, "count", CASES, 0.5)
    assert read_junit(path).seconds == 0.5
    assert list(tmp_path.iterdir()) == [path]
    if Path("/dev/full").exists():
        with pytest.raises(SettingError, match="--junit must name a file that can be written, got '/dev/full'"):
            write_junit(Path("/dev/full"), "count", CASES, 0.5)
