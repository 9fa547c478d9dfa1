"""A policy: thresholds of an organisation in a file of YAML, each a gate with a name and a reason.

::

    version: 1
    name: Models that decide on people
    source: Model risk standard 4.2
    gates:
      estimate:
        - name: Few people are decided by a protected attribute
          fail_if: estimate.high > 0.01
          why: Above one in a hundred the committee wants to see the model first.
          severity: error

The file may come from anybody: it is read as nodes of YAML's safe loader, from which nothing is made but texts and one
number. References (``&`` and ``*``), which can make a small file a huge one, are refused, and so is what is large or
deep. Every complaint says the line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from fairness_engine.cli.gate import Gate, Severity, read_gate
from fairness_engine.errors import SettingError, cut

VERSION = 1
MAX_BYTES = 100_000
MAX_GATES = 200
"""Of all commands together."""
MAX_TEXT = 500
"""Characters of a name, a gate, a reason or a source."""
MAX_DEPTH = 6
"""Two more than a policy has, so that what is wrong in them is said of what is there."""
_TEXT = "tag:yaml.org,2002:str"
_WHOLE_NUMBER = "tag:yaml.org,2002:int"
_MAPPING = "tag:yaml.org,2002:map"
_LIST = "tag:yaml.org,2002:seq"
_KINDS = {
    _TEXT: "text",
    _WHOLE_NUMBER: "a whole number",
    _MAPPING: "a mapping",
    _LIST: "a list",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:bool": "true or false",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:timestamp": "a date",
}


@dataclass(frozen=True)
class Policy:
    """A policy.

    Args:
        name, source: what it is called, and where it comes from; the latter may be empty.
        gates: of each command that it says something of.
    """

    name: str
    source: str
    gates: Mapping[str, tuple[Gate, ...]]


def open_policy(path: Path, commands: Collection[str]) -> Policy:
    """Read the file that ``--policy`` names.

    Args:
        commands: as they are typed, such as ``runs verify``.

    Raises:
        SettingError: there is none, or it is no policy.
    """
    if not path.is_file():
        raise SettingError(f"--policy must name a file of YAML, but there is none at {path}.")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SettingError(f"--policy must name a file that can be read, got '{path}': {error.strerror}.") from None
    return read_policy(content, path.name, commands)


def read_policy(content: bytes, name: str, commands: Collection[str]) -> Policy:
    """Read a policy.

    Args:
        content: YAML in UTF-8.
        name: of the file, for messages.
        commands: those that it may name.

    Raises:
        SettingError: it is none; what is wrong, and in which line.
    """
    if len(content) > MAX_BYTES:
        raise SettingError(f"A policy may have at most {MAX_BYTES // 1000} kB, but '{cut(name)}' has more. Shorten it.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingError(f"The policy '{cut(name)}' must be text in UTF-8, but is not. Save it as UTF-8.") from None
    return _Reader(cut(name), commands).read(text)


class _Reader:
    """Reads one file.

    Args:
        name: of the file, for messages.
        commands: those that it may name.
    """

    def __init__(self, name: str, commands: Collection[str]) -> None:
        self._name = name
        self._commands = commands
        self._n_gates = 0

    def read(self, text: str) -> Policy:
        """The policy of the file's text.

        Raises:
            SettingError: it is none.
        """
        try:
            self._check_size(text)
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" ({getattr(error, 'problem', None)} in line {mark.line + 1})" if mark else ""
            raise SettingError(f"The policy '{self._name}' must be YAML, but is not{where}. Correct it.") from None
        if root is None:
            raise SettingError(f"The policy '{self._name}' must have version, name and gates, but is empty.")
        fields = self._fields(root, "the top level", ("version", "name", "gates"), ("source",))
        version = fields["version"]
        if not _is(version, _WHOLE_NUMBER) or version.value != str(VERSION):
            self._refuse(version, "'version'", f"be {VERSION}", _shown(version))
        source = self._text(fields["source"], "'source'") if "source" in fields else ""
        sections = self._mapping(fields["gates"], "'gates'")
        unknown = next((key for key in sections if key.value not in self._commands), None)
        if unknown is not None:
            self._refuse(unknown, "a key of 'gates'", f"be a command ({', '.join(self._commands)})", _shown(unknown))
        gates = {key.value: self._gates(key.value, listed) for key, listed in sections.items()}
        return Policy(self._text(fields["name"], "'name'"), source, gates)

    def _check_size(self, text: str) -> None:
        """Refuse references and depth before anything is made of the text."""
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if getattr(event, "anchor", None) is not None:
                self._refuse(event, "what is said twice", "be written out", "a reference (& or *)")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                self._refuse(event, "lists and mappings", f"lie at most {MAX_DEPTH} levels deep", "more")

    def _gates(self, command: str, node: Any) -> tuple[Gate, ...]:
        """The gates of a command."""
        what = f"'gates.{command}'"
        if not _is(node, _LIST):
            self._refuse(node, what, "be a list of gates", _shown(node))
        self._n_gates += len(node.value)
        if self._n_gates > MAX_GATES:
            self._refuse(node, "the policy", f"have at most {MAX_GATES} gates", "more")
        gates = [self._gate(each, f"a gate of '{command}'") for each in node.value]
        seen: set[str] = set()
        for each, gate in zip(node.value, gates, strict=True):
            if gate.name in seen:
                self._refuse(each, f"the names of the gates of '{command}'", "differ", f"'{cut(gate.name)}' twice")
            seen.add(gate.name)
        return tuple(gates)

    def _gate(self, node: Any, what: str) -> Gate:
        fields = self._fields(node, what, ("name", "fail_if", "why"), ("severity",))
        name = self._text(fields["name"], f"the name of {what}")
        asked = fields["fail_if"]
        where = f"The gate '{cut(name)}' in line {_line(asked)} of '{self._name}'"
        severity = fields.get("severity")
        known = [each.value for each in Severity]
        if severity is not None and not (_is(severity, _TEXT) and severity.value in known):
            self._refuse(severity, f"the severity of {what}", f"be {' or '.join(known)}", _shown(severity))
        return read_gate(
            self._text(asked, f"'fail_if' of {what}"),
            where,
            name=name,
            why=self._text(fields["why"], f"'why' of {what}"),
            severity=Severity.ERROR if severity is None else Severity(severity.value),
        )

    def _fields(self, node: Any, what: str, needed: Collection[str], optional: Collection[str]) -> dict[str, Any]:
        """The values of a mapping whose keys are known."""
        fields = self._mapping(node, what)
        known = (*needed, *optional)
        unknown = next((key for key in fields if key.value not in known), None)
        if unknown is not None:
            self._refuse(unknown, what, f"have no keys but {', '.join(known)}", _shown(unknown))
        found = {key.value: value for key, value in fields.items()}
        missing = next((name for name in needed if name not in found), None)
        if missing is not None:
            self._refuse(node, what, f"have the key '{missing}'", f"{', '.join(found) or 'none'} alone")
        return found

    def _mapping(self, node: Any, what: str) -> dict[Any, Any]:
        """The nodes of a mapping whose keys are texts, each there once."""
        if not _is(node, _MAPPING):
            self._refuse(node, what, "be a mapping", _shown(node))
        seen: set[str] = set()
        for key, _ in node.value:
            if not _is(key, _TEXT):
                self._refuse(key, f"a key of {what}", "be text", _shown(key))
            if key.value in seen:
                self._refuse(key, what, "have each key once", f"{_shown(key)} twice")
            seen.add(key.value)
        return dict(node.value)

    def _text(self, node: Any, what: str) -> str:
        """A text on one line, of which something can be seen."""
        if not _is(node, _TEXT):
            self._refuse(node, what, "be text (in quotes where it looks like something else)", _shown(node))
        text = str(node.value).strip()
        if not any(character.isprintable() and not character.isspace() for character in text):
            self._refuse(node, what, "not be empty", "nothing that can be seen")
        if len(text.splitlines()) > 1 or len(text) > MAX_TEXT:
            self._refuse(node, what, f"be one line of at most {MAX_TEXT} characters", f"{len(text):,} characters")
        return text

    def _refuse(self, place: Any, what: str, must: str, got: str) -> NoReturn:
        """Complain.

        Args:
            place: a node or an event: where.
        """
        raise SettingError(f"In line {_line(place)} of the policy '{self._name}', {what} must {must}, got {got}.")


def _is(node: Any, tag: str) -> bool:
    """Whether a node is of a kind: a file may call a text a list."""
    shape = {_MAPPING: yaml.MappingNode, _LIST: yaml.SequenceNode}.get(tag, yaml.ScalarNode)
    return node.tag == tag and isinstance(node, shape)


def _line(place: Any) -> int:
    """From 1."""
    return int(place.start_mark.line) + 1


def _shown(node: Any) -> str:
    """What is there instead."""
    kind = _KINDS.get(node.tag, f"something of the kind '{cut(node.tag)}'")
    return f"{kind} '{cut(node.value)}'" if isinstance(node.value, str) and node.value else kind
