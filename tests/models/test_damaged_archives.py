"""Archives that no library wrote: each is refused in one sentence, and honest large ones open."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from small_models import numbers_schema

from fairness_engine.errors import InputError, ModelError
from fairness_engine.models.formats import detect_format, read_members
from fairness_engine.models.open import open_model
from memory import takes_at_most

pytestmark = pytest.mark.thorough

ROWS = np.random.default_rng(8).integers(0, 10, (100, 4)).astype(np.float64)
LABELS = (ROWS[:, 0] > 4).astype(int)
TREE = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, LABELS)


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize("suffix", [".skops", ".keras"])
def test_a_member_without_a_name_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json" if suffix == ".skops" else "config.json", "{}")
        archive.writestr(zipfile.ZipInfo("x"), b"")
    path.write_bytes(path.read_bytes().replace(b"\x01\x00\x00\x00x", b"\x00\x00\x00\x00x"))
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    content[at + 28 : at + 30] = b"\x00\x00"  # no name; the one byte that it had is the extra field's
    content[at + 30 : at + 32] = b"\x01\x00"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"holds '', which does not belong|damaged or cut short"):
        open_model(path, numbers_schema())


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }}\n",
        b"'''\n",
        b"(" * 5000,
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4,), }\n",
        b"{'descr': [('a', 3)], 'fortran_order': False, 'shape': (2,), }\n",
        b"{'descr': '<f8,', 'fortran_order': 3, 'shape': None, }\n",
        b"\xff\xfe\x00\n",
        b"",
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_headers_of_arrays_that_are_no_headers_are_refused(tmp_path: Path, header: bytes, is_packed: bool) -> None:
    path = tmp_path / "m.skops"
    skops.io.dump(TREE, path)
    content = npy(header)
    if is_packed:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("data.npy", content)
        content = packed.getvalue()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x.npz" if is_packed else "x.npy", content)
    with pytest.raises(ModelError, match=r"no array of numbers|declares more numbers"):
        open_model(path, numbers_schema())


def test_a_forest_of_five_thousand_trees_is_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    skops.io.dump(RandomForestClassifier(1_200, max_depth=1, random_state=0).fit(ROWS, LABELS), path)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) > 5_000
    model = open_model(path, numbers_schema())
    assert model.predictor.kind == "forest of 1200 trees"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(5_000 * 5 + 2):
            archive.writestr(f"{140598584992336 + i}.npy", b"x")
    assert len(read_members(path, lambda name: name.endswith(".npy"))) == 25_002


@pytest.mark.parametrize("is_large", [False, True])
def test_a_directory_of_a_million_members_is_not_read(tmp_path: Path, is_large: bool) -> None:
    path = tmp_path / "m.skops"
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    n = 700_000
    n_bytes = n * len(entry)
    with path.open("wb") as file:
        file.write(entry * n)
        if is_large:
            file.write(struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, n, n, n_bytes, 0))
            file.write(struct.pack("<4sLQL", b"PK\x06\x07", 0, n_bytes, 1))
        file.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 100 if is_large else n_bytes, 0, 0))
    with (
        takes_at_most(1_000_000),
        pytest.raises(ModelError, match="at most 50,000 members, but its directory is made for more"),
    ):
        read_members(path, lambda name: True)
    path.write_bytes(b"PK" + path.read_bytes())
    with takes_at_most(1_000_000), pytest.raises(ModelError, match="at most 50,000 members"):
        detect_format(path, path.name)


@pytest.mark.parametrize("held", [None, 3, "text", [], {}, np.zeros(3)], ids=lambda value: type(value).__name__)
def test_files_that_hold_no_estimator_are_refused(tmp_path: Path, held: Any) -> None:
    joblib.dump(held, tmp_path / "m.joblib")
    skops.io.dump(held, tmp_path / "m.skops")
    for name in ("m.joblib", "m.skops"):
        with pytest.raises(ModelError, match="must hold a scikit-learn classifier"):
            open_model(tmp_path / name, numbers_schema(), unsafe_formats=True)


@pytest.mark.parametrize("attribute", ["decision_function_shape", "kernel", "n_features_in_", "classes_", "_gamma"])
def test_an_estimator_without_one_of_its_settings_is_refused(tmp_path: Path, attribute: str) -> None:
    for is_inner in (False, True):
        machine = SVC().fit(ROWS, LABELS)
        fitted = make_pipeline(StandardScaler(), SVC()).fit(ROWS, LABELS) if is_inner else machine
        machine = fitted.steps[1][1] if is_inner else machine
        delattr(machine, attribute)
        skops.io.dump(fitted, tmp_path / "m.skops")
        with pytest.raises(InputError) as caught:
            open_model(tmp_path / "m.skops", numbers_schema())
        assert len(str(caught.value)) <= 300
