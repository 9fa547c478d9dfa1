"""What a partition tree must be before it is stored, and what its digits stand for, so that it can be read without the
model.

The process that sends it may hold a hostile model.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.partition.partition_tree import MAX_BOXES, LeafCertificates, PartitionTree
from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Domain

_TOLERANCE = 1e-9
_SUM_TOLERANCE = 1e-6
"""Weights are sums of up to a million parts."""
_WHOLE_NUMBERS = {"column", "cut", "right", "n_people", "n_merged", "n_digits", "leaf", "starts"}
_Arrays = Mapping[str, FloatArray | IntArray]


def read_tree_arrays(arrays: _Arrays) -> PartitionTree:
    """A tree of ``PartitionTree.to_arrays``, checked.

    Raises:
        ValueError: it is none; what was wrong is in the message.
    """
    _check_types(arrays)
    if not all(array.ndim == 1 for array in arrays.values()) or len(arrays["column"]) > MAX_BOXES:
        raise ValueError("size")
    tree = PartitionTree.from_arrays(arrays)
    inner = np.flatnonzero(~tree.is_leaf)
    parts = tree.weight[inner + 1] + tree.weight[tree.right[inner]]
    if abs(tree.weight[0] - 1) > _SUM_TOLERANCE or (np.abs(parts - tree.weight[inner]) > _SUM_TOLERANCE).any():
        raise ValueError("weights")
    return tree


def read_certificates(arrays: _Arrays, tree: PartitionTree) -> LeafCertificates:
    """Certificates of ``LeafCertificates.to_arrays``, checked against their tree; none at all are none of every leaf.

    Raises:
        ValueError: they are none; what was wrong is in the message.
    """
    if not arrays:
        none = np.empty(0, np.int64)
        starts = np.zeros(len(tree.n_digits) + 1, np.int64)
        return LeafCertificates(none, np.empty((0, 3, 0)), starts, np.empty((0, 4)))
    if set(arrays) != {each.name for each in fields(LeafCertificates)}:
        raise ValueError("names of certificates")
    _check_types(arrays)
    found = LeafCertificates(**arrays)  # type: ignore[arg-type] # _check_types has seen to it
    n_leaves = len(found.leaf)
    d = len(tree.n_digits)
    places = np.diff(found.starts)
    shapes = (found.coefficients.shape[:2], found.thresholds.shape, found.starts.shape, found.leaf.shape)
    if shapes != ((n_leaves, 3), (n_leaves, 4), (d + 1,), (n_leaves,)) or found.coefficients.ndim != 3:
        raise ValueError("shapes of certificates")
    n_places = found.coefficients.shape[2]
    if n_places and (
        found.starts[0] != 0 or found.starts[-1] != n_places or ((places != 1) & (places != tree.n_digits)).any()
    ):
        raise ValueError("places of certificates")
    is_leaf_named = (
        n_leaves == len(np.unique(found.leaf)) and (found.leaf >= 0).all() and (found.leaf < len(tree)).all()
    )
    if not is_leaf_named or not tree.is_leaf[found.leaf].all():
        raise ValueError("leaves of certificates")
    if not np.isfinite(found.coefficients).all() or np.isnan(found.thresholds).any():
        raise ValueError("numbers of certificates")
    return found


def stored_certificates(path: Path, tree: PartitionTree) -> LeafCertificates:
    """The certificates of a file of ``write_tree``.

    Raises:
        RunError: it is gone or damaged.
    """
    prefix = "certificate_"
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [name for name in file.files if name.startswith(prefix)]
            return read_certificates({name.removeprefix(prefix): file[name] for name in names}, tree)
    except (OSError, KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
        raise RunError(f"The stored proofs are damaged or gone ({type(error).__name__}). Certify again.") from None


def _check_types(arrays: _Arrays) -> None:
    for name, array in arrays.items():
        if array.dtype != (np.int64 if name in _WHOLE_NUMBERS else np.float64):
            raise ValueError("types")


def space_to_json(space: Lattice) -> dict[str, Any]:
    """By name, a value a column of the space: ``columns`` (their names), ``is_cell``, ``steps``, ``low``.

    Digit ``k`` of a lattice column is the value ``low + k * step`` of the engine; of a continuous one, those from there
    up to the next step.
    """
    inputs = space.domain.schema.inputs
    return {
        "columns": [inputs[column].name for column in space.columns.tolist()],
        "is_cell": space.is_cell.tolist(),
        "steps": space.steps.tolist(),
        "low": space.domain.low[space.columns].tolist(),
    }


def check_space(content: Mapping[str, Any], n_digits: Sequence[int], domain: Domain) -> dict[str, Any]:
    """What ``space_to_json`` gave, compared with the domain; the other side may hold a hostile model.

    Args:
        content: what was sent.
        n_digits: of every column of the tree.
        domain: whose space it is; which of its columns the model takes need not be known.

    Raises:
        ValueError, KeyError, TypeError: it cannot be the space of this domain; what was wrong is in the message.
    """
    names = content["columns"]
    kept = {name: content[name] for name in ("columns", "is_cell", "steps", "low")}
    if not all(isinstance(part, list) and len(part) == len(n_digits) for part in kept.values()):
        raise ValueError("length of the space")
    if len(set(names)) != len(names) or not set(names).issubset(set(domain.schema.names) - set(domain.scope.protected)):
        raise ValueError("columns of the space")
    for i, name in enumerate(names):
        _check_column(domain.schema.index(name), n_digits[i], {key: part[i] for key, part in kept.items()}, domain)
    return kept


def _check_column(column: int, n_digits: int, said: Mapping[str, Any], domain: Domain) -> None:
    low = float(domain.low[column])
    high = float(domain.high[column])
    count = float(domain.n_values[column])
    if said["is_cell"] is not math.isinf(count) or (math.isfinite(count) and n_digits != count):
        raise ValueError("digits of a column")
    step = (high - low) / n_digits if said["is_cell"] else float(domain.unit[column])
    for got, must in ((said["low"], low), (said["steps"], step)):
        is_number = isinstance(got, int | float) and not isinstance(got, bool)
        if not is_number or not math.isclose(got, must, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            raise ValueError("values of a column")
