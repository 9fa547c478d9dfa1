"""All techniques by the name that the command line and the run store use. Importing this is cheap."""

from __future__ import annotations

from fairness_engine.errors import SettingError
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.aequitas import Aequitas
from fairness_engine.search.techniques.data_scan import DataScan
from fairness_engine.search.techniques.directed.directed import Directed
from fairness_engine.search.techniques.gradient.adf import Adf
from fairness_engine.search.techniques.gradient.eidig import Eidig
from fairness_engine.search.techniques.gradient.maft import Maft, MaftPlus
from fairness_engine.search.techniques.random_search import RandomSearch
from fairness_engine.search.techniques.sg.sg import Sg
from fairness_engine.search.techniques.sg.sg_shared import SgShared

TECHNIQUES: dict[str, type[Technique]] = {
    technique.name: technique
    for technique in (RandomSearch, DataScan, Aequitas, Directed, Maft, MaftPlus, Adf, Eidig, Sg, SgShared)
}
BASELINES = (RandomSearch.name, DataScan.name)
"""What every comparison holds: luck, and people who exist. A search that does not beat them shows nothing."""


def technique_named(name: str) -> type[Technique]:
    """The technique of that name.

    Raises:
        SettingError: there is none.
    """
    if name not in TECHNIQUES:
        raise SettingError(f"The technique must be one of {', '.join(TECHNIQUES)}, got '{name}'.")
    return TECHNIQUES[name]
