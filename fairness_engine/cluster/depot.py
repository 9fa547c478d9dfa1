"""Where the processes of a cluster find the files of a run, by what they hold: a folder, or any place of fsspec."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import fsspec

from fairness_engine.errors import RunError

_CHUNK_BYTES = 1 << 20


class Depot:
    """Files by their SHA-256.

    Args:
        url: of a folder: a path, or what fsspec knows (``s3://bucket/folder``).
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def put(self, path: Path, sha256: str) -> None:
        """See that a file is there.

        Raises:
            RunError: it cannot be written.
        """
        place = self._place(sha256)
        try:
            files, found = fsspec.core.url_to_fs(place)
            if files.exists(found):
                return
            files.makedirs(files._parent(found), exist_ok=True)
            files.put_file(str(path), found)
        except (OSError, ImportError, ValueError) as error:
            raise RunError(
                f"The files of a run must reach the cluster through {self.url}, got: {error}. Correct EVENHAND_DEPOT."
            ) from None

    def fetch(self, sha256: str, folder: Path) -> Path:
        """The file with this content: where it is, if that is a folder of this machine; else a copy in ``folder``.

        Raises:
            RunError: it is not there, or another.
        """
        place = self._place(sha256)
        if "://" not in place and Path(place).is_file():
            return Path(place)
        copy = folder / sha256
        if copy.is_file():
            return copy
        part = folder / f"{sha256}.{os.getpid()}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with fsspec.open(place, "rb") as source, part.open("wb") as target:
                shutil.copyfileobj(source, target, _CHUNK_BYTES)
            if _sha256(part) != sha256:
                raise RunError(f"A file of {self.url} must hold what its name says, but {sha256[:12]} does not.")
            part.replace(copy)
        except (OSError, ImportError, ValueError) as error:
            raise RunError(
                f"The files of a run must be found in {self.url}, got: {error}. Set EVENHAND_DEPOT to a place that "
                "every machine of the cluster reaches."
            ) from None
        finally:
            part.unlink(missing_ok=True)
        return copy

    def _place(self, sha256: str) -> str:
        return f"{self.url}/{sha256[:2]}/{sha256}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
