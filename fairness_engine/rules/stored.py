"""Scored rule sets on disk: one NPZ file, without pickle."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from fairness_engine.errors import RunError
from fairness_engine.rules.scored import RuleResult

_SPACE = "space"


def write_rules(path: Path, result: RuleResult) -> None:
    """Write a result; the file appears whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    text = np.frombuffer(json.dumps(result.to_json()).encode(), dtype=np.uint8)
    partly = path.with_suffix(".part")
    with partly.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{_SPACE: text}, **result.to_arrays())
    partly.replace(path)


def read_rules(path: Path) -> RuleResult:
    """What ``write_rules`` wrote.

    Raises:
        RunError: the file is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        space = json.loads(arrays.pop(_SPACE).tobytes())
        return RuleResult.from_parts(arrays, space)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise RunError("The stored rule sets of this run are damaged. Run it again.") from None
