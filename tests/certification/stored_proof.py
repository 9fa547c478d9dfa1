"""A stored partition tree with its certificates, read without the engine.

It takes nothing but the format (``certification/partition/partition_tree.py``, ``Certificates`` in
``certification/assessor.py``).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


class Proof:
    """A stored partition tree with its certificates.

    Attributes:
        low, high: boxes in digits ``(n, D)``, both ends included.
        leaf: indices of the boxes that were not split.
        names: of the columns.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        self.more = json.loads(held["more"].tobytes())
        self.names: list[str] = self.more["columns"]
        self.column = held["column"]
        self.cut = held["cut"]
        self.right = held["right"]
        self.weight = held["weight"]
        self.certified = held["certified"]
        self.falsified = held["falsified"]
        self.n_merged = held["n_merged"]
        self.n_digits = held["n_digits"]
        self.low, self.high = self._boxes()
        self.leaf = np.flatnonzero(self.column < 0)
        self._row = np.full(len(self.column), -1)
        self._row[held["certificate_leaf"]] = np.arange(len(held["certificate_leaf"]))
        # a last line that claims nothing, for boxes without a certificate (their row is -1)
        forms = held["certificate_coefficients"]
        limits = held["certificate_thresholds"]
        self._coefficients = np.concatenate([forms, np.zeros((1, *forms.shape[1:]))])
        self._thresholds = np.concatenate([limits, [[np.inf, -np.inf, np.inf, -np.inf]]])
        self._starts = held["certificate_starts"]

    def _boxes(self) -> tuple[np.ndarray, np.ndarray]:
        low = np.zeros((len(self.column), len(self.n_digits)), int)
        high = np.zeros((0, 0), int)
        high = np.tile(self.n_digits - 1, (len(self.column), 1))
        for box, column in enumerate(self.column):
            if column >= 0:
                left = box + 1
                right = self.right[box]
                low[[left, right]] = low[box]
                high[[left, right]] = high[box]
                high[left, column] = self.cut[box]
                low[right, column] = self.cut[box] + 1
        return low, high

    def n_points(self, boxes: np.ndarray) -> np.ndarray:
        """How many digits boxes hold ``(n,)``."""
        return np.prod((self.high[boxes] - self.low[boxes] + 1).astype(float), axis=1)

    def has_certificate(self, boxes: np.ndarray) -> np.ndarray:
        """Whether what is proved of boxes can be checked person by person ``(n,)``."""
        return self._row[boxes] >= 0

    def find(self, digits: np.ndarray) -> np.ndarray:
        """The leaf that each person ``(n, D)`` lies in."""
        at = np.zeros(len(digits), int)
        while (moving := np.flatnonzero(self.column[at] >= 0)).size:
            box = at[moving]
            goes_left = digits[moving, self.column[box]] <= self.cut[box]
            at[moving] = np.where(goes_left, box + 1, self.right[box])
        return at

    def _sums(self, boxes: np.ndarray, digits: np.ndarray) -> np.ndarray:
        """The three forms of each box at people ``(n, 3)``."""
        row = self._row[boxes]
        sums = np.zeros((len(boxes), 3))
        if self._coefficients.shape[2]:
            for i in range(digits.shape[1]):
                is_table = self._starts[i + 1] - self._starts[i] > 1
                place = self._starts[i] + (digits[:, i] if is_table else 0)
                sums += self._coefficients[row, :, place] * (1.0 if is_table else digits[:, i, None])
        return sums

    def slack(self, boxes: np.ndarray, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much people are inside what is certified, and inside what is falsified; above 0 is a claim ``(n,)``
        each.
        """
        row = self._row[boxes]
        sums = self._sums(boxes, digits)
        limits = self._thresholds[row]
        alike = np.maximum(sums[:, 0] - limits[:, 0], limits[:, 1] - sums[:, 1])
        differ = np.minimum(sums[:, 2] - limits[:, 2], limits[:, 3] - sums[:, 2])
        return alike, differ

    def steered(
        self, boxes: np.ndarray, digits: np.ndarray, rng: np.random.Generator, *, falsified: bool
    ) -> np.ndarray:
        """People with one attribute changed so that their box claims something of them, where one such change is
        enough.
        """
        row = self._row[boxes]
        n = len(boxes)
        lines = np.arange(len(boxes))
        out = digits.copy()
        places = np.diff(self._starts)
        if not self._coefficients.shape[2] or not (places == 1).any():
            return out
        form = np.full(n, 2) if falsified else rng.integers(2, size=n)
        column = rng.choice(np.flatnonzero(places == 1), n)
        slope = self._coefficients[row, form, self._starts[column]]
        rest = self._sums(boxes, digits)[lines, form] - slope * digits[lines, column]
        limits = self._thresholds[row]
        least = np.choose(form, [limits[:, 0], np.full(n, -np.inf), limits[:, 2]])
        most = np.choose(form, [np.full(n, np.inf), limits[:, 1], limits[:, 3]])
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.sort([(least - rest) / slope, (most - rest) / slope], axis=0)
        first = np.ceil(np.maximum(ends[0], self.low[boxes, column]))
        last = np.floor(np.minimum(ends[1], self.high[boxes, column]))
        found = (slope != 0) & (first <= last)
        drawn = first[found] + np.floor(rng.random(int(found.sum())) * (last - first + 1)[found])
        out[lines[found], column[found]] = drawn.astype(int)
        return out
