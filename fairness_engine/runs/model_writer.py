"""A retrained model's file, from the model's process to the store. Its bytes are kept and never read here."""

from __future__ import annotations

from pathlib import PurePath

from fairness_engine.errors import ProcessError
from fairness_engine.events import ModelPart
from fairness_engine.models.formats import MAX_MODEL_BYTES
from fairness_engine.runs.config import RunConfig
from fairness_engine.runs.records import FileRole
from fairness_engine.runs.store import RunStore

_PROTOCOL = "The model's process broke its protocol: "
_SUFFIXES = (".keras", ".skops")


class ModelWriter:
    """Keeps the models of one retraining: each that is whole becomes the run's version. One writer a run."""

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._store, self._run_id, self._config = store, run_id, config
        self._parts: list[bytes] = []
        self._version = 0

    def add(self, part: ModelPart) -> None:
        """Take the next part; the last one stores the file.

        Raises:
            ProcessError: it is no part that could come next.
            RunError: the workspace cannot be written.
        """
        if not self._can_follow(part):
            raise ProcessError(_PROTOCOL + "it sent a part of a model that cannot be.")
        if part.index == 0:
            self._parts, self._version = [], part.version
        self._parts.append(part.content)
        if part.index == part.n_parts - 1:
            self._keep(part)

    def _can_follow(self, part: ModelPart) -> bool:
        numbers = (part.index, part.n_parts, part.version)
        if any(isinstance(n, bool) or not isinstance(n, int) for n in numbers) or part.suffix not in _SUFFIXES:
            return False
        is_first = part.index == 0 and not self._parts and part.version > self._version
        is_next = part.index == len(self._parts) > 0 and part.version == self._version
        n_bytes = sum(map(len, self._parts)) + len(part.content)
        return (is_first or is_next) and part.index < part.n_parts and 0 < n_bytes <= MAX_MODEL_BYTES

    def _keep(self, part: ModelPart) -> None:
        original = self._store.file(self._config.model_id)
        name = f"{PurePath(original.name).stem}-{self._config.settings['strategy']}{part.suffix}"
        kept = self._store.add_file(b"".join(self._parts), name, FileRole.MODEL)
        self._parts = []
        self._store.set_version(self._run_id, kept.id, original.id)
