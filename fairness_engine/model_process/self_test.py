"""Tries the walls of this machine from inside a model's process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fairness_engine.errors import ProcessError
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.sandbox.landlock import abi_version
from fairness_engine.model_process.sandbox.probes import DONE, ENDED, PROBES, REFUSED, Probe

_SECONDS = 60.0


class Verdict(StrEnum):
    """What is said of one probe."""

    HELD = "held"
    FELL = "did not hold"
    NOT_OFFERED = "not offered here"
    NOT_TRIED = "could not be tried"


@dataclass(frozen=True)
class Tried:
    """One probe, and what came of it.

    Args:
        probe: what was tried.
        verdict: what that says of the wall, or of the work behind all of them.
        why: where it did not hold, is not offered, or could not be tried.
    """

    probe: Probe
    verdict: Verdict
    why: str = ""


def try_walls(workspace: Path, newest_landlock: int | None = None, probes: Sequence[Probe] = PROBES) -> list[Tried]:
    """Raise the walls around processes of a model, as for a run, and try every probe in one.

    Args:
        workspace: of their scratch folders.
        newest_landlock: as in ``walls.enter``.
        probes: which are tried.

    Returns:
        In the order of ``probes``.

    Raises:
        ProcessError: a process cannot be started, or ended where it should not.
    """
    together = [probe for probe in probes if not probe.ends]
    outcomes: dict[str, str] = {}
    why_down: dict[str, str] = {}
    for group in [together, *([probe] for probe in probes if probe.ends)]:
        outcomes |= _outcomes(workspace, group, newest_landlock, why_down)
    return list(_judged(probes, outcomes, why_down))


def _outcomes(
    workspace: Path, group: list[Probe], newest_landlock: int | None, why_down: dict[str, str]
) -> dict[str, str]:
    """What came of some probes in one process; ``why_down`` gets which walls it lacks."""
    with tempfile.TemporaryDirectory(prefix="evenhand-walls-") as folder:
        outside = Path(folder).resolve()
        for name in ("secret", "allowed"):
            (outside / f"{name}.txt").write_text(name)
        process = ModelProcess(
            workspace,
            [outside / "allowed.txt"],
            None,
            newest_landlock=newest_landlock,
        )
        try:
            process.greet()
            why_down |= process.why_down
            names = [probe.name for probe in group if probe.wall not in process.why_down]
            reply = process.ask("try_walls", _SECONDS, outside=str(outside), names=names)
            return dict(reply["outcomes"])
        except ProcessError:
            if not process.took_too_much:
                raise
            return {probe.name: ENDED for probe in group}
        finally:
            process.close()


def _judged(probes: Sequence[Probe], outcomes: dict[str, str], why_down: dict[str, str]) -> Iterator[Tried]:
    for probe in probes:
        outcome = outcomes.get(probe.name, "")
        if probe.wall in why_down:
            yield Tried(probe, Verdict.NOT_OFFERED, why_down[probe.wall])
        elif not probe.wall:
            works = outcome == DONE
            yield Tried(probe, Verdict.HELD if works else Verdict.FELL, "" if works else f"it failed ({outcome})")
        elif outcome == REFUSED or (outcome == ENDED and probe.ends):
            yield Tried(probe, Verdict.HELD)
        elif outcome == DONE:
            yield Tried(probe, Verdict.FELL, "it was done")
        else:
            yield Tried(probe, Verdict.NOT_TRIED, f"it met another error ({outcome})")


def machine() -> dict[str, str | int]:
    """What the walls of this machine depend on."""
    return {
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "processor": os.uname().machine,
        "landlock": abi_version(),
        "account": "root" if os.geteuid() == 0 else "an ordinary account",
    }
