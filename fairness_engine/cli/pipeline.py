"""What a command means for a pipeline: its gates, read before the work and decided after it, the status to leave with,
and the file of test cases.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairness_engine.cli.gate import Gate, Severity, read_gate
from fairness_engine.cli.junit import Case, End, Subject, write_junit
from fairness_engine.cli.output import ExitStatus, Outcome, say, sentence_of
from fairness_engine.errors import SettingError

_WHOLE = "the command comes to its end"
_WHY = {
    ExitStatus.CANCELLED: "The command was cancelled; what was found until then is kept.",
    ExitStatus.CRASHED: "The command crashed; what was found until then is kept.",
    ExitStatus.BAD_INPUT: "The command was refused.",
}


def typed(options: argparse.Namespace) -> str:
    """A command as a person types it: ``estimate``, ``runs verify``."""
    return " ".join([options.command, *([options.action] if hasattr(options, "action") else [])])


@dataclass(frozen=True)
class Pipeline:
    """What was asked of a command beside its result.

    Args:
        command: as it is typed.
        prefix: what may come first in a gate's names.
        gates: of ``--fail-if`` and of the policy.
        junit: where the test cases go.
        properties: what the file of test cases says of the policy.
    """

    command: str
    prefix: str
    gates: tuple[Gate, ...] = ()
    junit: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_asked(self) -> bool:
        """Whether somebody relies on the status, or on the test cases."""
        return bool(self.gates) or self.junit is not None

    def conclude(self, outcome: Outcome) -> ExitStatus:
        """Decide the gates, say which failed, write the test cases; returns the status to leave with.

        A command that did not end well has no figures that gates could be asked of: they are not looked at.

        Raises:
            SettingError: the test cases cannot be written.
        """
        status = outcome.status
        cases = list(outcome.cases)
        if status in _WHY:
            cases.append(Case(_WHOLE, End.BROKEN, outcome.why or _WHY[status], subject=Subject.COMMAND))
        if status is ExitStatus.DONE:
            decided = [self._decide(gate, outcome.result) for gate in self.gates]
            cases += decided
            ends = {case.end for case in decided}
            if End.BROKEN in ends:
                status = ExitStatus.BAD_INPUT
            elif End.FAILED in ends:
                status = ExitStatus.GATE_FAILED
        else:
            cases += self._not_asked()
        if self.junit is not None:
            seconds = float(outcome.result.get("seconds") or 0.0)
            whole = Case(_WHOLE, subject=Subject.COMMAND)  # a file without a case is an error to some readers
            write_junit(self.junit, self.command, cases or [whole], seconds, self.properties)
        return status

    def break_off(self, sentence: str) -> None:
        """Write that the command did not come to its end, where test cases were asked for; says so when that fails."""
        if self.junit is None:
            return
        try:
            broken = Case(_WHOLE, End.BROKEN, sentence, subject=Subject.COMMAND)
            write_junit(self.junit, self.command, [broken, *self._not_asked()], 0.0, self.properties)
        except SettingError as error:
            if sentence_of(error) != sentence:  # else that is what the command breaks off for
                say(sentence_of(error))

    def _not_asked(self) -> list[Case]:
        why = "Not looked at: the command has another status than 0 already."
        return [Case(gate.title, End.SKIPPED, why, _more(gate)) for gate in self.gates]

    def _decide(self, gate: Gate, result: Mapping[str, Any]) -> Case:
        """What a gate came to, which is said where it is no pass."""
        is_warning = gate.severity is Severity.WARNING
        try:
            decided = gate.decide(result, self.prefix)
        except SettingError as error:
            sentence = sentence_of(error)
            say(f"Warning: {sentence}" if is_warning else sentence)
            return Case(gate.title, End.SKIPPED if is_warning else End.BROKEN, sentence, _more(gate))
        said = f"{decided.said}."
        if decided.fails:
            heading = "Warning" if is_warning else "Gate failed"
            say(" ".join(filter(None, [f"{heading}: {gate.title.removesuffix('.')}.", said, gate.why])))
        if decided.fails and not is_warning:
            return Case(gate.title, End.FAILED, said, _more(gate))
        return Case(gate.title, End.PASSED, f"Warning: {said}" if decided.fails else said, _more(gate))


def _more(gate: Gate) -> tuple[str, ...]:
    """What else the test case of a policy's gate says."""
    return (f"Fails if: {gate.text}", f"Why: {gate.why}") if gate.name else ()


def make_pipeline(
    options: argparse.Namespace, known: tuple[str, ...], parts: Mapping[str, Any], commands: Collection[str]
) -> Pipeline:
    """Read the gates that the options name, and refuse those that cannot be decided.

    Args:
        known: names of the command's JSON.
        parts: what is known of objects in it, see ``Gate.check_names``.
        commands: that a policy may name, as they are typed.

    Raises:
        SettingError: no gate, no policy, or a name that the JSON will not have.
    """
    command = typed(options)
    gates = [read_gate(text) for text in options.fail_if]
    properties: dict[str, str] = {}
    if options.policy is not None:
        from fairness_engine.cli.policy import open_policy

        policy = open_policy(options.policy, commands)
        gates += policy.gates.get(command, ())
        properties = {"policy": policy.name, "source": policy.source}
        if not policy.gates.get(command):
            say(f"Note: the policy '{policy.name}' has no gate for '{command}'.")
    for gate in gates:
        gate.check_names(known, options.command, parts)
    return Pipeline(command, options.command, tuple(gates), options.junit, properties)
