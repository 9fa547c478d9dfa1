"""Where the processes of a cluster find the files of a run, by what they hold: a folder, or any place of fsspec."""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import cache
from pathlib import Path

import fsspec

from fairness_engine.errors import RunError, one_sentence

_MAX_REASON = 150


class Depot:
    """Files by their SHA-256.

    Args:
        url: of a folder: a path, or what fsspec knows (``s3://bucket/folder``).
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        if "://" in url:
            _know_object_stores()

    def put(self, path: Path, sha256: str) -> None:
        """See that a file is there.

        Raises:
            RunError: it cannot be written.
        """
        place = self._place(sha256)
        try:
            files, found = fsspec.core.url_to_fs(place)
            if not files.exists(found):
                files.makedirs(found.rpartition("/")[0], exist_ok=True)
                files.put_file(str(path), found)
        except (OSError, ImportError, ValueError) as error:
            raise RunError(
                f"The files of a run must reach the cluster through {self.url}, got: "
                f"{one_sentence(str(error), _MAX_REASON).rstrip('.')}. Correct EVENHAND_DEPOT."
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
            files, found = fsspec.core.url_to_fs(place)
            files.get_file(found, str(part))
            if _sha256(part) != sha256:
                raise RunError(f"A file of {self.url} must hold what its name says, but {sha256[:12]} does not.")
            part.replace(copy)
        except (OSError, ImportError, ValueError) as error:
            raise RunError(
                f"The files of a run must be found in {self.url}, got: "
                f"{one_sentence(str(error), _MAX_REASON).rstrip('.')}. "
                "Set EVENHAND_DEPOT to a place that every machine of the cluster reaches."
            ) from None
        finally:
            part.unlink(missing_ok=True)
        return copy

    def _place(self, sha256: str) -> str:
        return f"{self.url}/{sha256[:2]}/{sha256}"


@cache
def _know_object_stores() -> None:
    """Let fsspec open ``s3://`` and its like by one library; how to reach them stands in its own variables (AWS_…)."""
    with contextlib.suppress(ImportError):  # folders need none
        from obstore.fsspec import register

        register(["s3", "gs", "az"])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
