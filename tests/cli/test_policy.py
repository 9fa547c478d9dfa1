"""Policies: what they say, and that whatever else a file holds is one sentence with its line, soon."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairness_engine.cli.gate import Severity
from fairness_engine.cli.policy import MAX_BYTES, MAX_DEPTH, MAX_GATES, MAX_TEXT, open_policy, read_policy
from fairness_engine.errors import SettingError

COMMANDS = ("estimate", "certify", "runs verify")
HEAD = "version: 1\nname: Ours\n"
GATE = "    - name: few\n      fail_if: estimate.high > 0.01\n      why: A reason.\n"
WHOLE = f"{HEAD}gates:\n  estimate:\n{GATE}"


def refused(text: str | bytes, name: str = "p.yaml") -> str:
    """The sentence that a file gets."""
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(SettingError) as caught:
        read_policy(content, name, COMMANDS)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_policy_is_read() -> None:
    text = f"""# who decided this
{HEAD}source: "Standard 4, section 2"
gates:
  estimate:
{GATE}    - name: "sure: <enough>"
      fail_if: >-
        estimate.high > 0.01
        and n >= 1000
      why: Few draws
        say little.
      severity: warning
  runs verify:
    - {{name: any, fail_if: n_pairs == 0, why: Nothing to look at., severity: error}}
  certify: []
"""
    policy = read_policy(text.encode("utf-8-sig"), "p.yaml", COMMANDS)
    assert (policy.name, policy.source) == ("Ours", "Standard 4, section 2")
    few, sure = policy.gates["estimate"]
    assert (few.name, few.text, few.why, few.severity) == (
        "few",
        "estimate.high > 0.01",
        "A reason.",
        Severity.ERROR,
    )
    assert (sure.title, sure.text, sure.severity) == (
        "sure: <enough>",
        "estimate.high > 0.01 and n >= 1000",
        Severity.WARNING,
    )
    assert sure.why == "Few draws say little."
    assert sure.fails({"high": 0.5, "n": 1000}, "estimate")
    assert not sure.fails({"high": 0.5, "n": 999}, "estimate")
    assert policy.gates["certify"] == ()
    assert [gate.name for gate in policy.gates["runs verify"]] == ["any"]


def test_the_place_of_a_gate_is_said_when_it_cannot_be_decided() -> None:
    (gate,) = read_policy(WHOLE.encode(), "p.yaml", COMMANDS).gates["estimate"]
    where = "The gate 'few' in line 6 of 'p.yaml'"
    with pytest.raises(SettingError, match=f"{where} needs numbers, but 'estimate.high' is nothing"):
        gate.fails({"high": None}, "estimate")
    with pytest.raises(SettingError, match=f"{where} must name something in the JSON of 'estimate'"):
        gate.check_names(("share",), "estimate")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must have version, name and gates, but is empty"),
        ("# nothing\n", "is empty"),
        ("- a", "In line 1 of the policy 'p.yaml', the top level must be a mapping, got a list"),
        ("just words", "line 1 .* must be a mapping, got text 'just words'"),
        (WHOLE.replace("version: 1\n", ""), "must have the key 'version', got name, gates alone"),
        (HEAD, "must have the key 'gates'"),
        (WHOLE.replace("version: 1", "version: 2"), "line 1 .* 'version' must be 1, got a whole number '2'"),
        (WHOLE.replace("version: 1", "version: '1'"), "'version' must be 1, got text '1'"),
        (WHOLE.replace("version: 1", "version: 1.0"), "'version' must be 1, got a number"),
        (WHOLE.replace("version: 1", "version: !!int [1]"), "'version' must be 1, got"),
        (WHOLE + "owner: me\n", "line 8 .* must have no keys but version, name, gates, source, got text 'owner'"),
        (WHOLE.replace("name: Ours", "name: no"), "line 2 .* 'name' must be text .* got true or false 'no'"),
        (WHOLE.replace("name: Ours", "name: 2026-01-01"), "'name' must be text .* got a date"),
        (WHOLE.replace("name: Ours", "name: 7"), "'name' must be text .* got a whole number '7'"),
        (WHOLE.replace("name: Ours", "name:"), "'name' must be text .* got nothing"),
        (WHOLE.replace("name: Ours", "name: [a]"), "'name' must be text .* got a list"),
        (WHOLE.replace("name: Ours", "name: !!str [a]"), "'name' must be text"),
        (WHOLE.replace("name: Ours", "name: ' '"), "'name' must not be empty"),
        (WHOLE.replace("name: Ours", 'name: "\\x07\\u200b"'), "'name' must not be empty"),
        (WHOLE.replace("name: Ours", 'name: "a\\nb"'), "'name' must be one line"),
        (WHOLE.replace("name: Ours", f"name: {'a' * (MAX_TEXT + 1)}"), "at most 500 characters, got 501 characters"),
        (WHOLE.replace("name: Ours", "name: Ours\nname: Ours"), "line 3 .* have each key once, got text 'name' twice"),
        (WHOLE.replace("name: Ours", "source: 4\nname: Ours"), "'source' must be text .* got a whole number '4'"),
        (
            WHOLE.replace("name: Ours", "1: a\nname: Ours"),
            "a key of the top level must be text, got a whole number '1'",
        ),
        (WHOLE.replace("name: Ours", "[a]: a\nname: Ours"), "a key of the top level must be text, got a list"),
        (WHOLE.replace("name: Ours", "<<: {name: Ours}"), "a key of the top level must be text, got .*merge"),
        (f"{HEAD}gates: []\n", "'gates' must be a mapping, got a list"),
        (f"{HEAD}gates: !!map x\n", "'gates' must be a mapping"),
        (f"{HEAD}gates:\n", "'gates' must be a mapping, got nothing"),
        (
            WHOLE.replace("estimate:", "estimte:"),
            "line 4 .* must be a command .estimate, certify, runs verify., got text 'es",
        ),
        (WHOLE.replace("  estimate:", "  runs:"), "must be a command"),
        (f"{HEAD}gates:\n  estimate: high > 0.01\n", "line 4 .* 'gates.estimate' must be a list of gates, got text"),
        (f"{HEAD}gates:\n  estimate: !!seq ab\n", "'gates.estimate' must be a list of gates"),
        (f"{HEAD}gates:\n  estimate: [high > 0.01]\n", "line 4 .* a gate of 'estimate' must be a mapping, got text"),
        (WHOLE.replace("      why: A reason.\n", ""), "line 5 .* must have the key 'why', got name, fail_if alone"),
        (WHOLE.replace("why:", "because:"), "line 7 .* must have no keys but name, fail_if, why, severity"),
        (
            WHOLE + "      severity: high\n",
            "line 8 .* the severity of a gate of 'estimate' must be error or warning, got",
        ),
        (WHOLE + "      severity: [error]\n", "must be error or warning, got a list"),
        (WHOLE + "      severity: !!int error\n", "must be error or warning, got"),
        (WHOLE.replace("estimate.high > 0.01", "0.01"), "line 6 .* 'fail_if' of a gate of 'estimate' must be text"),
        (WHOLE.replace("estimate.high > 0.01", "high"), "The gate 'few' in line 6 of 'p.yaml' needs comparisons"),
        (WHOLE.replace("estimate.high > 0.01", "__import__('os').system('x') > 0"), "needs comparisons"),
        (WHOLE + GATE, "line 8 .* the names of the gates of 'estimate' must differ, got 'few' twice"),
        (f"{HEAD}gates:\n  certify:\n    - {{name: a, fail_if: nonsense, why: b}}\n", "needs comparisons"),
        (f"{WHOLE}---\n{WHOLE}", "must be YAML, but is not .*another document in line 8"),
        ("a: [", "must be YAML, but is not"),
        ("\tkey: x", "must be YAML, but is not .* in line 1"),
        ("name: \x07", "must be YAML, but is not"),
        (b"\xff\xfe\x00", "must be text in UTF-8"),
        (WHOLE.encode("utf-16"), "must be text in UTF-8"),
    ],
)
def test_what_is_no_policy_is_one_sentence_with_its_place(text: str | bytes, said: str) -> None:
    assert re.search(said, refused(text))


def test_the_name_of_the_file_is_quoted_in_part() -> None:
    assert len(refused("- a", "n" * 10_000)) < 300


BOMB = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else 'x'] * 9)}]" for i in range(20))
"""20 lines that stand for 9 to the power of 20 texts."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "line 1 .* written out, got a reference"),
        ("a: &a [*a]", "written out"),
        ("a: *b", "written out"),
        ("&a " * 30_000, "written out"),
        ("[" * 90_000, "at most 6 levels deep"),
        ("{a: " * 20_000, "at most 6 levels deep"),
        ("- " * 45_000, "at most 6 levels deep"),
        ("? " * 45_000, "at most 6 levels deep"),
        ("{" * 90_000, "at most 6 levels deep"),
        ("'" * 99_999, "must be YAML"),
        ("%" * 90_000, "must be YAML"),
        ("\n" * 99_999, "is empty"),
        ("a\n" * 49_999, "must be a mapping"),
        ("x: " + "y" * 90_000, "must have no keys but"),
        ("!!python/object/apply:os.system ['touch marker']", "must be a mapping, got something of the kind"),
        ("!!python/name:os.system", "must be a mapping, got something of the kind"),
        (HEAD.replace("Ours", "!!python/object/new:os.system [x]") + "gates: {}", "'name' must be text"),
        ("#" * (MAX_BYTES + 1), "at most 100 kB, but 'p.yaml' has more"),
    ],
)
def test_hostile_files_are_refused(text: str, said: str) -> None:
    assert re.search(said, refused(text))


def test_there_are_not_too_many_gates() -> None:
    gates = [f"    - {{name: g{i}, fail_if: n > {i}, why: w}}" for i in range(MAX_GATES)]
    text = "\n".join([f"{HEAD}gates:\n  estimate:", *gates]) + "\n"
    assert len(read_policy(text.encode(), "p.yaml", COMMANDS).gates["estimate"]) == MAX_GATES
    assert "at most 200 gates" in refused(f"{text}  certify:\n{GATE}")


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, Path("/dev/zero")):
        with pytest.raises(SettingError, match="--policy must name a file of YAML, but there is none at"):
            open_policy(path, COMMANDS)
    large = tmp_path / "large"
    large.write_bytes(b"#" * 10 * MAX_BYTES)
    with pytest.raises(SettingError, match="but 'large' has more"):
        open_policy(large, COMMANDS)
    (tmp_path / "p.yaml").write_text(WHOLE)
    assert open_policy(tmp_path / "p.yaml", COMMANDS).name == "Ours"


def test_the_page_shows_a_policy_and_names_its_keys_and_limits() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (gate,) = read_policy(example.encode(), "page", COMMANDS).gates["estimate"]
    assert gate.severity is Severity.ERROR
    section = page.split("## A policy\n")[1].split("\n## ")[0]
    for key in ("version", "name", "source", "gates", "fail_if", "why", "severity"):
        assert re.search(rf"^\| `{key}`", section, flags=re.MULTILINE), key
    limits = f"{MAX_BYTES // 1000} kB, {MAX_GATES} gates, {MAX_TEXT} characters in a text and six levels"
    assert MAX_DEPTH == 6
    assert limits in section
