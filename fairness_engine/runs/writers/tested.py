"""A sample of whom a search has tested, from the model's process to disk, so that the search can be watched.

Nothing is believed: they must be people of the run's domain, in order, and no more than were tested.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.codec import Text, decode, hold
from fairness_engine.data.links.spelling import role_schema
from fairness_engine.errors import RunError, breach
from fairness_engine.events import Event, PeopleSampled, Stopped
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.tested import MAX_PHASES, TestedPeople, max_kept
from fairness_engine.runs.writers.writer import Writer
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.store.whole_files import whole_file

TESTED_FILE = "tested.npz"
_NAMES = tuple(each.name for each in fields(TestedPeople) if each.name != "phases")
_MATRICES = ("rows", "origins")


class TestedWriter(Writer):
    """Keeps the latest sample of one run. One writer a run."""

    __test__ = False
    takes = (PeopleSampled,)

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._path = store.run_folder(run_id) / TESTED_FILE
        self._config = config
        self._latest: TestedPeople | None = None
        self._is_new = False

    def take(self, event: Event) -> bool:
        """See ``Writer``."""
        if isinstance(event, PeopleSampled):
            self._latest = self._checked(event)
            self._is_new = True
        return True

    def _checked(self, event: PeopleSampled) -> TestedPeople:
        try:
            people = read_checked(event.arrays, event.phases, self._config)
            before = self._latest
            hold(before is None or bool((people.totals >= before.totals).all()), "a sample that runs backwards")
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise breach(f"it sent a sample of people that cannot be ({str(error)[:60]})") from None
        return people

    def agree(self, told: Mapping[str, Any], stopped: Stopped | None) -> None:  # noqa: ARG002
        """See ``Writer``: the last sample is of the whole search."""
        if stopped is None or self._latest is None:
            return
        _, *totals = self._latest.totals.tolist()
        said = [stopped.evaluations, stopped.n_tried, stopped.n_found]
        if totals != said:  # none stays that claims something else, whatever becomes of the run
            self._is_new = False
            self._path.unlink(missing_ok=True)
        hold(totals == said, "totals of the sample of people")

    def write(self) -> None:
        """See ``Writer``: after the pairs, so that whoever is shown as found is among them.

        Raises:
            RunError: the workspace cannot be written.
        """
        if self._latest is None or not self._is_new:
            return
        try:
            write_tested(self._path, self._latest)
        except OSError as error:
            raise RunError(
                f"Whom the search tested cannot be written to the workspace: {error.strerror or error}."
            ) from None
        self._is_new = False

    def close(self) -> None:
        """See ``Writer``."""
        self.write()


def searched_domain(config: RunConfig) -> Domain:
    """What the rows of a sample are rows of: of roles, where the scope links attributes."""
    return Domain(role_schema(config.schema, config.scope.links), config.scope)


def read_checked(
    arrays: Mapping[str, FloatArray | IntArray], phases: tuple[str, ...], config: RunConfig
) -> TestedPeople:
    """A sample of a run, every part as it must be.

    Raises:
        ValueError: it cannot be one.
        KeyError: a part is missing.
    """
    hold(set(arrays) == set(_NAMES), "its parts")
    domain = searched_domain(config)
    for name in _NAMES:
        is_matrix = name in _MATRICES
        hold(arrays[name].dtype == (np.float64 if is_matrix else np.int64), "types")
        hold(arrays[name].ndim == (2 if is_matrix else 1), "shapes")
    people = TestedPeople(**arrays, phases=phases)  # type: ignore[arg-type] # their types were looked at
    n = len(people.rows)
    hold(all(len(each) == n for each in (people.is_found, people.test, people.phase)), "shapes")
    hold(people.has_moved.shape == (n,) and people.strides.shape == (2,) and people.totals.shape == (4,), "shapes")
    for flags in (people.is_found, people.has_moved):
        hold(bool(np.isin(flags, (0, 1)).all()), "flags")
    n_found = int(people.is_found.sum())
    hold(max(n_found, n - n_found) <= max_kept(domain.n_columns), "how many they are")
    hold(len(people.origins) == int(people.has_moved.sum()), "where they moved from")
    for rows in (people.rows, people.origins):
        hold(rows.shape[1] == domain.n_columns and bool(np.isfinite(rows).all()), "rows")
        hold(bool(domain.contains(rows).all()), "people outside the domain")
    n_tests, evaluations, n_tried, all_found = people.totals.tolist()
    hold(all_found <= n_tried <= n_tests and evaluations >= 0, "totals")
    hold(n_found <= all_found and n <= n_tests, "how many were tested")
    hold(bool((np.diff(people.test, prepend=0) > 0).all()), "their order")
    hold(n == 0 or int(people.test[-1]) <= n_tests, "their order")
    hold(bool((people.strides >= 1).all()), "strides")
    hold(1 <= len(phases) <= MAX_PHASES, "phases")
    hold(bool(((people.phase >= 0) & (people.phase < len(phases))).all()), "phases")
    return people


def write_tested(path: Path, people: TestedPeople) -> None:
    """As an ``.npz`` of plain arrays, each of the smallest whole numbers that hold it; it appears when it is whole."""
    arrays = {name: _narrowed(each) for name, each in people.arrays.items()}
    arrays["phases"] = np.frombuffer(json.dumps(people.phases).encode(), dtype=np.uint8)
    with whole_file(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type] # numpy's stubs


def _narrowed(values: FloatArray | IntArray) -> NDArray[Any]:
    for kind in (np.int16, np.int32):
        limits = np.iinfo(kind)
        if not values.size or (limits.min <= values.min() and values.max() <= limits.max):
            narrow = values.astype(kind)
            if np.array_equal(narrow, values):
                return narrow
    return values


def stored_tested_file(store: RunStore, run_id: str) -> Path | None:
    """Where the sample of a search lies; ``None`` where none was stored (yet), as by versions before there were any."""
    path = store.run_folder(run_id) / TESTED_FILE
    return path if path.is_file() else None


def read_tested(path: Path, config: RunConfig) -> TestedPeople:
    """The sample of a search.

    Raises:
        RunError: it is gone or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {
                name: file[name].astype(np.float64 if name in _MATRICES else np.int64)
                for name in file.files
                if name != "phases"
            }
            phases = decode(tuple[Text, ...], json.loads(file["phases"].tobytes()))
        return read_checked(arrays, phases, config)
    except (OSError, KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
        raise RunError(
            f"What was kept to watch this search again is damaged or gone ({type(error).__name__}). Run it again."
        ) from None
