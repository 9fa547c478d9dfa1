"""The engine's compiled loops in this process: the same as those of the app and the command line, made once."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairness_engine.model_process.starting.compiled_loops import Loops

_VARIABLE = "NUMBA_CACHE_DIR"
_log = logging.getLogger("evenhand")


def prepare_loops(*loops: Loops) -> None:
    """Compile loops in programs of their own where this installation has not yet; a second call costs nothing.

    Numba's cache of this process becomes the engine's, unless somebody chose one: then numba compiles as it goes.
    """
    from fairness_engine.model_process.starting.compiled_loops import compiled_folder, prepare_compiled, ready_loops

    folder = compiled_folder(_cache())
    numba = sys.modules.get("numba")
    chosen = numba.config.CACHE_DIR if numba is not None else os.environ.get(_VARIABLE)
    if not chosen:
        os.environ[_VARIABLE] = str(folder)
        if numba is not None:
            numba.config.CACHE_DIR = str(folder)
    elif Path(chosen) != folder:
        return
    if not set(loops) <= ready_loops(_cache()):
        _log.info("Getting ready, once after an installation: a minute or two.")
        prepare_compiled(_cache(), None, *loops)


def _cache() -> Path:
    """Where loops are kept if not beside the libraries of this installation."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenhand"
