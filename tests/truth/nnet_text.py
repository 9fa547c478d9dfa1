"""The text format of ReLU networks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray


def write_nnet(path: Path, weights: Sequence[NDArray[Any]], biases: Sequence[NDArray[Any]]) -> Path:
    """Write a ReLU network: weights ``(n_in, n_out)`` and biases ``(n_out,)`` of its layers, without scaling."""
    sizes = [weights[0].shape[0], *[w.shape[1] for w in weights]]
    lines = [f"{len(weights)},{sizes[0]},{sizes[-1]},{max(sizes)},", ",".join(map(str, sizes)) + ",", "0"]
    lines += ["0," * sizes[0], "0," * sizes[0], "0," * (sizes[0] + 1), "1," * (sizes[0] + 1)]
    for weight, bias in zip(weights, biases, strict=True):
        lines += [",".join(map(str, unit)) + "," for unit in weight.T.tolist()]
        lines += [f"{value}," for value in bias.tolist()]
    path.write_text("\n".join(lines) + "\n")
    return path
