"""A retrained model's file, from the model's process to the store. Its bytes are kept and never read here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fairness_engine.codec import hold
from fairness_engine.errors import RunError, breach
from fairness_engine.events import Event, ModelPart, Stopped
from fairness_engine.models.formats import MAX_MODEL_BYTES, PART_BYTES
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.runs.writers.writer import Writer
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

SUFFIXES = (".keras", ".skops")
"""Of files that leave a retraining: neither runs code when it is opened."""
_INCOMING = "model.part"
_MAX_PARTS = -(-MAX_MODEL_BYTES // PART_BYTES)


class ModelWriter(Writer):
    """Keeps the models of one retraining: each that is whole becomes the run's version. One writer a run.

    Parts wait on disk, so that a large model takes no memory here. A model that never became whole leaves nothing, and
    the one before stays the run's version.
    """

    takes = (ModelPart,)

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._store = store
        self._run_id = run_id
        self._config = config
        self._settings = RetrainSettings.from_json(config.settings)
        self._incoming = store.run_folder(run_id) / _INCOMING
        self._first: ModelPart | None = None
        self._n_parts = self._n_bytes = self._version = self._kept_version = 0
        self._most_versions = self._settings.max_rounds + 1  # the control is a round too

    def take(self, event: Event) -> bool:
        """See ``Writer``."""
        if isinstance(event, ModelPart):
            self.add(event)
        return False

    def add(self, part: ModelPart) -> None:
        """Take the next part; the last one stores the file.

        Raises:
            ProcessError: it is no part that could come next.
            RunError: the workspace cannot be written.
        """
        if not self._is_part(part) or not self._can_follow(part):
            raise breach("it sent a part of a model that cannot be")
        if part.index == 0:
            self._first = part
            self._version = part.version
            self._n_parts = self._n_bytes = 0
        try:
            with self._incoming.open("ab" if part.index else "wb") as file:
                file.write(part.content)
        except OSError as error:
            raise RunError(f"The model cannot be written to the workspace: {error.strerror or error}.") from None
        self._n_parts += 1
        self._n_bytes += len(part.content)
        if self._n_parts == part.n_parts:
            self._keep(part)

    def agree(self, told: Mapping[str, Any], _: Stopped | None) -> None:
        """See ``Writer``: who says that there is a model has sent it, and it was made as was asked for."""
        retrained = told.get("retrained")
        training = told.get("training")
        if training is not None:
            hold(len(training.rounds) <= self._most_versions, "rounds")
        if retrained is None:
            return
        asked = (self._settings.strategy, self._settings.tolerance, self._config.seed)
        hold((retrained.strategy, retrained.tolerance, retrained.seed) == asked, "what was asked for")
        hold(retrained.n_rounds <= self._most_versions >= retrained.round, "rounds")
        hold(not retrained.has_model or self._kept_version > 0, "a model that it never sent")

    def close(self) -> None:
        """Drop a model that did not become whole."""
        self._first = None
        self._incoming.unlink(missing_ok=True)

    def _is_part(self, part: ModelPart) -> bool:
        """Whether it is a part of any model that this run may make."""
        numbers = (part.index, part.n_parts, part.version)
        if any(isinstance(n, bool) or not isinstance(n, int) for n in numbers) or part.suffix not in SUFFIXES:
            return False
        is_place = 0 <= part.index < part.n_parts <= _MAX_PARTS and 0 < part.version <= self._most_versions
        return is_place and 0 < len(part.content) <= PART_BYTES

    def _can_follow(self, part: ModelPart) -> bool:
        """Whether it is the next part of the model that is coming, or the first of a later one."""
        if self._first is None:
            return part.index == 0 and part.version > self._version
        same = (self._first.n_parts, self._first.suffix, self._first.version)
        is_next = part.index == self._n_parts and (part.n_parts, part.suffix, part.version) == same
        return is_next and self._n_bytes + len(part.content) <= MAX_MODEL_BYTES

    def _keep(self, part: ModelPart) -> None:
        original = self._store.file(self._config.model_id)
        name = f"{PurePath(original.name).stem}-{self._settings.strategy}{part.suffix}"
        kept = self._store.add_file(self._incoming, name, FileRole.MODEL)
        self.close()
        self._store.set_version(self._run_id, kept.id, original.id)
        self._kept_version = part.version
