"""Test cases of a pipeline and their file: JUnit XML, as GitHub's actions, GitLab and Jenkins read it.

The format has no standard. What is written here is what the schema of Jenkins' xUnit plug-in (``junit-10.xsd``) allows
and all three understand; a sentence stands in ``message`` and in the element's text, since GitLab shows the text alone.
The same cases in the same time are the same bytes: there are no dates, names of machines or ids of runs.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree

from fairness_engine.errors import SettingError, one_sentence
from fairness_engine.store.whole_files import exported_file

_PROGRAM = "evenhand"
_LINE_ENDS = "\n\t"


class End(StrEnum):
    """How a case ended; the values are the elements of the format, but for the first."""

    PASSED = "passed"
    FAILED = "failure"
    BROKEN = "error"
    SKIPPED = "skipped"


class Subject(StrEnum):
    """What a case is about."""

    GATE = "gate"
    CHECK = "check"
    COMMAND = "command"


@dataclass(frozen=True)
class Case:
    """One thing that decides whether a pipeline goes on.

    Args:
        name: what was asked.
        end: what came of it.
        said: in a sentence.
        more: further lines.
    """

    name: str
    end: End = End.PASSED
    said: str = ""
    more: tuple[str, ...] = ()
    subject: Subject = Subject.GATE


def write_junit(
    path: Path, command: str, cases: Sequence[Case], seconds: float, properties: Mapping[str, str] | None = None
) -> None:
    """Write the cases of a command; see ``junit_xml``.

    Raises:
        SettingError: the file cannot be written.
    """
    try:
        with exported_file(path) as file:
            file.write(junit_xml(command, cases, seconds, properties))
    except OSError as error:
        raise SettingError(f"--junit must name a file that can be written, got '{path}': {error.strerror}.") from None


def junit_xml(
    command: str, cases: Sequence[Case], seconds: float, properties: Mapping[str, str] | None = None
) -> bytes:
    """The cases of a command as a suite of a document.

    Args:
        command: as it is typed, such as ``runs verify``.
        seconds: of its run.
        properties: of the suite.
    """
    classname = f"{_PROGRAM}.{command.replace(' ', '.')}"
    n = Counter(case.end for case in cases)
    time = f"{seconds:.3f}"
    counts = {"tests": str(len(cases)), "failures": str(n[End.FAILED]), "errors": str(n[End.BROKEN])}
    root = ElementTree.Element("testsuites", {"name": _PROGRAM, **counts, "time": time})
    skipped = {"skipped": str(n[End.SKIPPED])}
    suite = ElementTree.SubElement(root, "testsuite", {"name": classname, **counts, **skipped, "time": time})
    told = {name: value for name, value in (properties or {}).items() if value}
    if told:
        listed = ElementTree.SubElement(suite, "properties")
        for name, value in told.items():
            ElementTree.SubElement(listed, "property", {"name": name, "value": _line(value)})
    for case in cases:
        _add_case(suite, classname, case)
    ElementTree.indent(root, " ")
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_case(suite: ElementTree.Element, classname: str, case: Case) -> None:
    """Add a case; what was said of one that passed is what it printed."""
    named = {"classname": classname, "name": _line(case.name), "time": "0.000"}
    element = ElementTree.SubElement(suite, "testcase", named)
    text = "\n".join(_clean(line) for line in (case.said, *case.more) if line)
    if case.end is not End.PASSED:
        message = {"message": one_sentence(_line(case.said)), "type": str(case.subject)}
        ElementTree.SubElement(element, case.end.value, message).text = text
    elif text:
        ElementTree.SubElement(element, "system-out").text = text


def _line(text: str) -> str:
    """For an attribute: one line."""
    return " ".join(_clean(text).split())


def _clean(text: str) -> str:
    """Without control characters, halves of letters and what else XML cannot hold."""
    return "".join(character for character in text if character in _LINE_ENDS or not _is_forbidden(character))


def _is_forbidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"
