"""The bytes of a Keras network, the same for the same weights, and the model that they hold."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from fairness_engine.mitigation.trainer import Binding
from fairness_engine.models.model import Model

_SAVED = (1980, 1, 1, 0, 0, 0)
"""The date in the archive: a file's bytes are to depend on what it holds alone."""


def archive_of(network: Any) -> bytes:
    """The ``.keras`` archive of a network, without the date of its making."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        network.save(path)
        return _without_date(path)


def _without_date(path: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            data = old.read(name)
            if name == "metadata.json":
                known = json.loads(data)
                known.pop("date_saved", None)
                data = json.dumps(known, sort_keys=True).encode()
            new.writestr(zipfile.ZipInfo(name, _SAVED), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def reopened(content: bytes, suffix: str, binding: Binding) -> Model:
    """The model of a file's bytes, as the review opens it.

    Args:
        content: of the file.
        suffix: of its name, with the dot.
        binding: how it belongs to the data.
    """
    handle, path = tempfile.mkstemp(suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return binding.open(Path(path))
    finally:
        Path(path).unlink(missing_ok=True)
