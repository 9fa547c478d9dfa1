"""The partition tree as it is stored and shown: every box of the refinement, or its largest ones."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import RunError
from fairness_engine.store.whole_files import whole_file

MAX_BOXES = 120_000
"""Boxes of a stored tree; finer ones are merged into the box they were split from."""


@dataclass(frozen=True)
class PartitionTree:
    """Boxes in pre-order: a box, its left part with everything in it, its right part.

    Args:
        column: which column was split, its position in the space; -1 for a leaf ``(n,)``.
        cut: the left part has digits up to it, the right one those above; 0 for a leaf ``(n,)``.
        right: where the right part stands; the left one follows its box; -1 for a leaf ``(n,)``.
        weight: share of all individuals, by the run's weights ``(n,)``.
        certified, falsified: shares of all individuals proved in the box ``(n,)``; the rest of its weight is undecided.
        n_people: rows of the data in the box ``(n,)``.
        n_merged: boxes below a leaf that were merged into it for storage; 0 elsewhere ``(n,)``.
        n_digits: digits of every column of the space ``(D,)``.
    """

    column: IntArray
    cut: IntArray
    right: IntArray
    weight: FloatArray
    certified: FloatArray
    falsified: FloatArray
    n_people: IntArray
    n_merged: IntArray
    n_digits: IntArray

    def __len__(self) -> int:
        return len(self.column)

    @property
    def is_leaf(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether a box was not split (or its parts were merged) ``(n,)``."""
        return self.column < 0

    @property
    def undecided(self) -> FloatArray:
        """Shares of all individuals that stay undecided ``(n,)``."""
        return np.maximum(self.weight - self.certified - self.falsified, 0.0)

    def parents(self) -> IntArray:
        """The box that each was split from; -1 for the whole ``(n,)``."""
        parents = np.full(len(self), -1, dtype=np.int64)
        inner = np.flatnonzero(~self.is_leaf)
        parents[inner + 1] = inner
        parents[self.right[inner]] = inner
        return parents

    def box(self, index: int) -> tuple[IntArray, IntArray]:
        """Digits ``(D,)`` each, both ends included, of one box."""
        low = np.zeros(len(self.n_digits), np.int64)
        high = self.n_digits - 1
        parents = self.parents()
        at = index
        path = [at]
        while (at := int(parents[at])) >= 0:
            path.append(at)
        for above, below in zip(path[:0:-1], path[-2::-1], strict=True):
            column = int(self.column[above])
            cut = int(self.cut[above])
            if below == above + 1:
                high[column] = min(high[column], cut)
            else:
                low[column] = max(low[column], cut + 1)
        return low, high

    def boxes(self) -> tuple[IntArray, IntArray]:
        """Digits ``(n, D)`` each of every box."""
        n = len(self)
        low = np.zeros((n, len(self.n_digits)), np.int64)
        high = np.tile(self.n_digits - 1, (n, 1))
        for inner in self._levels():
            column = self.column[inner]
            cut = self.cut[inner]
            left = inner + 1
            right = self.right[inner]
            low[left] = low[inner]
            low[right] = low[inner]
            high[left] = high[inner]
            high[right] = high[inner]
            high[left, column] = cut
            low[right, column] = cut + 1
        return low, high

    def _levels(self) -> Iterator[IntArray]:
        """The boxes that were split, those of one depth together, from the whole down."""
        level = np.zeros(1, np.int64)
        while len(level := level[self.column[level] >= 0]):
            yield level
            level = np.concatenate([level + 1, self.right[level]])

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """The arrays by name, for ``TreeReady``."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray | IntArray]) -> PartitionTree:
        """Read what ``to_arrays`` gave, and check it.

        Raises:
            ValueError: it is no tree; what was wrong is in the message.
        """
        names = [f.name for f in fields(cls)]
        if set(arrays) != set(names):
            raise ValueError("names")
        tree = cls(*(arrays[name] for name in names))  # type: ignore[arg-type] # check looks at them
        tree.check()
        return tree

    def check(self) -> None:
        """Refuse arrays that are no tree.

        Raises:
            ValueError: they are none; what was wrong is in the message.
        """
        n = len(self.column)
        if n < 1 or any(getattr(self, f.name).shape != (n,) for f in fields(self)[:-1]):
            raise ValueError("lengths")
        inner = ~self.is_leaf
        where = np.arange(n)
        if (self.column >= len(self.n_digits)).any() or (self.right[inner] <= where[inner] + 1).any():
            raise ValueError("order")
        if (self.right[inner] >= n).any() or (where[inner] + 1 >= n).any():
            raise ValueError("ends")
        if self.column.min() < -1 or (self.right[~inner] != -1).any():
            raise ValueError("leaves")
        counts = np.bincount(np.concatenate([where[inner] + 1, self.right[inner]]), minlength=n)
        if counts[0] != 0 or (counts[1:] != 1).any():
            raise ValueError("parents")
        sizes = np.ones(n, np.int64)
        for level in list(self._levels())[::-1]:
            sizes[level] = 1 + sizes[level + 1] + sizes[self.right[level]]
        if (self.right[inner] != where[inner] + 1 + sizes[where[inner] + 1]).any():
            raise ValueError("pre-order")
        low, high = self.boxes()
        if (low > high).any() or (self.n_people < 0).any() or (self.n_merged < 0).any():
            raise ValueError("boxes")
        shares = np.stack([self.weight, self.certified, self.falsified])
        if not np.isfinite(shares).all() or shares.min() < 0 or (shares[1] + shares[2] > shares[0] + 1e-9).any():
            raise ValueError("shares")


_NAMES = frozenset(f.name for f in fields(PartitionTree))


@dataclass(frozen=True)
class LeafCertificates:
    """What was proved of leaves of a tree; see ``assessor.Certificates``.

    Args:
        leaf: which boxes of the tree ``(m,)``; all leaves where they fit, else those of the largest weight.
        coefficients: ``(m, 3, n_places)``.
        starts: ``(D + 1,)``.
        thresholds: ``(m, 4)``.
    """

    leaf: IntArray
    coefficients: FloatArray
    starts: IntArray
    thresholds: FloatArray

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """The arrays by name, for ``TreeReady``."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def write_tree(path: Path, tree: PartitionTree, certificates: LeafCertificates, more: dict[str, Any]) -> None:
    """Write a tree as an ``.npz`` of plain arrays, ``more`` as JSON beside it; it appears when it is whole.

    Raises:
        OSError: the folder cannot be written.
    """
    text = np.frombuffer(json.dumps(more).encode(), dtype=np.uint8)
    proved = {f"certificate_{name}": array for name, array in certificates.to_arrays().items()}
    with whole_file(path) as file:
        np.savez_compressed(file, more=text, **tree.to_arrays(), **proved)  # type: ignore[arg-type] # numpy's stubs


def read_tree(path: Path) -> tuple[PartitionTree, dict[str, Any]]:
    """Read what ``write_tree`` wrote, without the certificates.

    Raises:
        RunError: it is gone or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            tree = PartitionTree.from_arrays({name: file[name] for name in file.files if name in _NAMES})
            more = json.loads(file["more"].tobytes())
    except (OSError, KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
        raise RunError(
            f"The stored partition tree is damaged or gone ({type(error).__name__}). Certify again."
        ) from None
    return tree, more
