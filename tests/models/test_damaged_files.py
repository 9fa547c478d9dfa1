"""Some damaged files of every format, the same ones each time: each is answered, or refused in one short sentence.

Thousands are tried by ``benchmarks/damaged_files.py``. Every change here was made by it, of files that are read without
Keras, in this very process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from small_models import random_network, write_legacy_h5

from benchmarks import damage, damaged_files, damaged_originals
from benchmarks.damage import Change
from benchmarks.damaged_files import FORMATS, is_sentence
from benchmarks.damaged_originals import Original
from fairness_engine.errors import EvenhandError
from fairness_engine.models.keras.file import read_keras
from fairness_engine.models.open import open_model
from fairness_engine.models.open_text import open_text_model

N_FILES = 24
ROWS = np.random.default_rng(0).integers(0, 10, (20, 4)).astype(np.float64)


def use_model(path: Path) -> None:
    open_model(path, damaged_originals.SCHEMA, unsafe_formats=True).scores(ROWS)


def use_text_model(path: Path) -> None:
    open_text_model(path, damaged_originals.TEXT_SCHEMA).scores(list(damaged_originals.TEXTS))


def try_all(folder: Path, originals: list[Original], changes: Any, use: Callable[[Path], Any], seed: int) -> int:
    """How many were refused; the honest ones are not."""
    rng = np.random.default_rng(seed)
    refusals = []
    for i in range(N_FILES):
        original = damage.pick(rng, originals)
        path = folder / f"{i}-{original.name}"
        path.write_bytes(damaged_files.damaged(original, changes, rng))
        try:
            use(path)
        except EvenhandError as error:
            refusals.append(str(error))
    assert [said for said in refusals if not is_sentence(said)] == []
    return len(refusals)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["csv", "parquet", "schema", "terms", "known answers"])
def test_what_the_program_reads_itself(tmp_path: Path, name: str) -> None:
    kind = FORMATS[name]
    assert kind.read is not None
    assert try_all(tmp_path, kind.originals(), kind.changes, kind.read, 1) > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["skops", "onnx", "nnet"])
def test_models(tmp_path: Path, name: str) -> None:
    kind = FORMATS[name]
    assert try_all(tmp_path, kind.originals(), kind.changes, use_model, 2) > 0


@pytest.mark.filterwarnings("ignore")
def test_models_of_texts(tmp_path: Path) -> None:
    kind = FORMATS["skops of texts"]
    assert try_all(tmp_path, kind.originals(), kind.changes, use_text_model, 3) > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("suffix", "save"), [(".pkl", damage.dump_pickle), (".joblib", joblib.dump)])
def test_objects_in_pickles(tmp_path: Path, suffix: str, save: Any) -> None:
    changes: list[Change] = [damage.of_objects(save)]  # bytes are changed behind the walls only: a pickle is a program
    assert try_all(tmp_path, damaged_originals.of_pickles(suffix, save), changes, use_model, 4) > 0


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_networks_of_keras(root: Path, tmp_path: Path, suffix: str) -> None:
    if suffix == ".keras":
        content = (root / "sample_models" / "credit_network.keras").read_bytes()
    else:
        write_legacy_h5(tmp_path / "whole.h5", random_network((4, 3, 1)))
        content = (tmp_path / "whole.h5").read_bytes()
    kind = FORMATS[suffix[1:]]
    assert try_all(tmp_path, [Original(f"m{suffix}", content)], kind.changes, read_keras, 5) > 0


def test_a_sentence_is_short_and_ended() -> None:
    assert is_sentence("It is damaged. Save it again.")
    assert not any(map(is_sentence, ("", "two\nlines.", "no end", "x" * 300 + ".")))
