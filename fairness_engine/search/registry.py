"""All techniques by the name that the command line and the run store use. Importing this is cheap."""

from __future__ import annotations

from typing import Any

from fairness_engine.errors import SettingError
from fairness_engine.search.aequitas import Aequitas
from fairness_engine.search.data_scan import DataScan
from fairness_engine.search.random_search import RandomSearch

TECHNIQUES: dict[str, type[Any]] = {technique.name: technique for technique in (RandomSearch, DataScan, Aequitas)}


def technique_named(name: str) -> type[Any]:
    """The technique of that name.

    Raises:
        SettingError: there is none.
    """
    if name not in TECHNIQUES:
        raise SettingError(f"The technique must be one of {', '.join(TECHNIQUES)}, got '{name}'.")
    return TECHNIQUES[name]
