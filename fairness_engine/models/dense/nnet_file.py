"""Reader of ``.nnet`` text files, the format of ReluVal and its descendants: a dense ReLU network with a linear output.

Lines: comments with ``//``; layers, inputs, outputs, widest layer; the width of every layer; a flag; then bounds, means
and ranges of the inputs; then for every layer its weights, a line a unit, and its biases, a line a unit.

The bounds in the header are ignored, the schema's count; means and ranges are ignored too, as the tools that read
networks of tables do: they are those of another application and do not scale these inputs.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import ModelError
from fairness_engine.models.dense.chain import DenseChain
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork

_MAX_WIDTH = 20_000
_MAX_LAYERS = 200
_NUMBERS = re.compile(r"[0-9A-Za-z.,+\-\s]*", re.ASCII)
"""What numbers are written with; Python takes `1_0` and the digits of other scripts too, other readers do not."""
_MAX_DIGITS = 12
_N_IGNORED = 5
"""Lines between the widths and the weights: a flag, minima, maxima, means, ranges."""


def read_nnet(path: Path) -> DenseNetwork:
    """Read a ``.nnet`` file; its output is a logit.

    Raises:
        ModelError: it is damaged, cut short, or declares more than it holds.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        raise ModelError("A .nnet file must be text, got something else. Upload it again.") from None
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//")]
    if len(lines) < 2 + _N_IGNORED:
        raise ModelError("The .nnet file is cut short: its header is incomplete. Upload it again.")
    widths = _widths(lines[0], lines[1])
    body = lines[2 + _N_IGNORED :]
    n_expected = 2 * sum(widths[1:])
    if len(body) > n_expected:
        raise ModelError(
            f"The .nnet file must end with the last bias, but {len(body) - n_expected} lines stand behind it. Export "
            "the model again."
        )
    if len(body) < n_expected:
        raise ModelError(
            f"The .nnet file is cut short: layers of {', '.join(map(str, widths[1:9]))} units need {n_expected} lines "
            f"of weights and biases, got {len(body)}. Upload it again."
        )
    return _network(widths, body)


def _network(widths: list[int], body: list[str]) -> DenseNetwork:
    chain = DenseChain(widths[0])
    at = 0
    for i, (n_in, n_out) in enumerate(pairwise(widths)):
        weights = np.stack([_numbers(line, n_in) for line in body[at : at + n_out]], axis=1)
        biases = np.concatenate([_numbers(line, 1) for line in body[at + n_out : at + 2 * n_out]])
        at += 2 * n_out
        chain.multiply(weights, biases)
        if i < len(widths) - 2:
            chain.activate(Activation.RELU)
    return chain.finish()


def _widths(header: str, line: str) -> list[int]:
    """Inputs and units of every layer, as both header lines say."""
    try:
        n_layers, n_inputs, n_outputs = (_size(value) for value in header.split(",")[:3])
        widths = [_size(value) for value in line.split(",") if value.strip()]
    except ValueError:
        raise ModelError("The .nnet file must begin with the sizes of its layers, but it is damaged.") from None
    if not 1 <= n_layers <= _MAX_LAYERS or any(not 1 <= width <= _MAX_WIDTH for width in widths):
        raise ModelError(
            f"The .nnet file declares {n_layers} layers of {widths[:8]} units; at most {_MAX_LAYERS} layers of "
            f"{_MAX_WIDTH:,} units are allowed."
        )
    if len(widths) != n_layers + 1 or widths[0] != n_inputs or widths[-1] != n_outputs:
        raise ModelError("The sizes of layers in the .nnet file contradict one another. Export the model again.")
    return widths


def _size(value: str) -> int:
    digits = value.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise ValueError
    return int(digits)


def _numbers(line: str, n_expected: int) -> FloatArray:
    try:
        if not _NUMBERS.fullmatch(line):
            raise ValueError
        values = np.array([float(value) for value in line.split(",") if value.strip()])
    except ValueError:
        raise ModelError(f"The .nnet file must hold numbers, got '{line[:40]}'. Export the model again.") from None
    n_finite = int(np.isfinite(values).sum())
    if n_finite != n_expected or n_finite != len(values):
        raise ModelError(
            f"A line of the .nnet file must hold {n_expected} finite numbers, got {n_finite} in '{line[:40]}'. "
            "Export the model again."
        )
    return values
