"""The rules of JUnit XML, as GitHub's actions, GitLab and Jenkins read it, and what a file of test cases says.

Written down here because the format has no standard: elements, attributes and their order are those of the schema of
Jenkins' xUnit plug-in; that schema itself is not part of the project.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

_ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message", "type"},
    "system-out": set(),
}
"""All attributes, each of them always there: none that says when or where, or which run it was."""
_INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
_SECONDS = re.compile(r"\d+\.\d{3}")


@dataclass(frozen=True)
class ReadCase:
    """A test case as a reader sees it: ``end`` is ``passed`` or the element; ``text`` is what stands in it."""

    name: str
    end: str
    message: str
    text: str


@dataclass(frozen=True)
class ReadSuite:
    """A suite as a reader sees it."""

    name: str
    cases: tuple[ReadCase, ...]
    properties: dict[str, str]
    seconds: float

    def ends(self) -> dict[str, str]:
        """What each case came to, by its name."""
        return {case.name: case.end for case in self.cases}

    def __getitem__(self, name: str) -> ReadCase:
        return next(case for case in self.cases if case.name == name)


def read_junit(source: Path | bytes) -> ReadSuite:
    """A file of test cases, which must keep all rules."""
    content = source if isinstance(source, bytes) else source.read_bytes()
    assert content.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n")
    assert content.endswith(b"</testsuites>\n")
    text = content.decode("utf-8")
    assert {character for character in text if unicodedata.category(character) in ("Cc", "Cs")} <= {"\n", "\t"}
    root = ElementTree.fromstring(content)
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == _ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= _INSIDE.get(element.tag, set())
        assert all(_SECONDS.fullmatch(value) for name, value in element.attrib.items() if name == "time")
        assert not any("\n" in value for value in element.attrib.values())
    (suite,) = root
    counted = ("tests", "failures", "errors", "time")
    assert [root.get(name) for name in counted] == [suite.get(name) for name in counted]
    assert [child.tag for child in suite].index("testcase") == len(suite.findall("properties")) <= 1
    cases = tuple(_read_case(element, str(suite.get("name"))) for element in suite.findall("testcase"))
    ends = [case.end for case in cases]
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    assert int(str(suite.get("tests"))) == len(cases) > 0
    assert {name: int(str(suite.get(name))) for name in counts} == {
        name: ends.count(end) for name, end in counts.items()
    }
    properties = {str(one.get("name")): str(one.get("value")) for one in suite.iter("property")}
    return ReadSuite(str(suite.get("name")), cases, properties, float(str(suite.get("time"))))


def _read_case(element: ElementTree.Element, classname: str) -> ReadCase:
    assert element.get("classname") == classname
    assert str(element.get("name")).strip()
    assert len(element) <= 1, "it ended in one way"
    if not len(element):
        return ReadCase(str(element.get("name")), "passed", "", "")
    (told,) = element
    text = told.text or ""
    end = "passed" if told.tag == "system-out" else told.tag
    assert end == "passed" or str(told.get("message")).strip()
    assert text.strip()
    return ReadCase(str(element.get("name")), end, str(told.get("message", "")), text)
