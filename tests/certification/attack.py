"""Tries to refute a stored proof: by people drawn at random, by whole enumeration, and by people looked for near its
limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from certification.independent import Judge, People
from certification.stored_proof import Proof

SMALL = 64
"""Boxes of so many people are evaluated by the engine, so every one of them is counted again here."""
_BATCH = 1 << 16
_Z = 5.0
"""Deviations of an interval that chance leaves once in a million times."""


@dataclass
class Report:
    """What was tried, and what was wrong."""

    n_certified: int = 0
    n_falsified: int = 0
    n_wrong: int = 0
    n_float32: int = 0
    least_margin: float = math.inf
    wrong: list[str] = field(default_factory=list)

    def __add__(self, other: Report) -> Report:
        return Report(
            self.n_certified + other.n_certified,
            self.n_falsified + other.n_falsified,
            self.n_wrong + other.n_wrong,
            self.n_float32 + other.n_float32,
            min(self.least_margin, other.least_margin),
            [*self.wrong, *other.wrong][:10],
        )


class Attack:
    """An attack on one proof.

    Args:
        proof: what is claimed.
        people: digits to rows.
        judge: the truth.
        seed: of everything drawn.
    """

    def __init__(self, proof: Proof, people: People, judge: Judge, seed: int = 0) -> None:
        self.proof = proof
        self.people = people
        self.judge = judge
        self.rng = np.random.default_rng(seed)

    # --- truth ------------------------------------------------------------------------------

    def are_unfair(self, digits: np.ndarray) -> np.ndarray:
        """Whether two variants of a person are decided differently ``(n,)``."""
        decisions = self.judge.decide(self._rows(digits)).reshape(len(digits), len(self.people.variants))
        return (decisions != decisions[:, :1]).any(axis=1)

    def _rows(self, digits: np.ndarray) -> np.ndarray:
        return self.people.variant_rows(digits, self.rng)

    def judge_claims(self, boxes: np.ndarray, digits: np.ndarray) -> Report:
        """Every claim that is made about people ``(n, D)`` of boxes ``(n,)``, against the truth."""
        alike, differ = (slack > 0 for slack in self.proof.slack(boxes, digits))
        claimed = np.flatnonzero(alike | differ)
        rows = self._rows(digits[claimed])
        k = len(self.people.variants)
        margins = None if self.judge.margins is None else self.judge.margins(rows)
        decisions = (self.judge.decide(rows) if margins is None else margins > 0).reshape(len(claimed), k)
        unfair = (decisions != decisions[:, :1]).any(axis=1)
        bad = (unfair & alike[claimed]) | (~unfair & differ[claimed])
        report = Report(int(alike.sum()), int(differ.sum()), int(bad.sum()))
        report.wrong = [f"box {boxes[i]}: {digits[i].tolist()}" for i in claimed[bad][:10]]
        if margins is not None and len(rows):
            report.least_margin = float(np.abs(margins).min())
            report.n_float32 = self._n_changed_by_float32(rows, margins.reshape(len(claimed), k), unfair)
        return report

    def _n_changed_by_float32(self, rows: np.ndarray, margins: np.ndarray, unfair: np.ndarray) -> int:
        """How many people float32 would judge otherwise; only those near the threshold can be."""
        least = np.abs(margins).min(axis=1)
        k = margins.shape[1]
        near = np.flatnonzero(least < 0.01 * np.abs(margins).max())
        if self.judge.decide_float32 is None or not len(near):
            return 0
        near_rows = rows.reshape(len(margins), k, -1)[near].reshape(len(near) * k, -1)
        single = self.judge.decide_float32(near_rows).reshape(len(near), k)
        return int(((single != single[:, :1]).any(axis=1) != unfair[near]).sum())

    # --- people drawn -----------------------------------------------------------------------

    def uniform(self, n: int) -> tuple[int, Report, np.ndarray]:
        """Uniform people of the whole: how many are unfair, the claims about them, and how many are claimed alike and
        different.
        """
        n_unfair = 0
        report = Report()
        n_claimed = np.zeros(2, int)
        for size in _sizes(n):
            digits = (self.rng.random((size, len(self.proof.n_digits))) * self.proof.n_digits).astype(int)
            n_unfair += int(self.are_unfair(digits).sum())
            found = self.judge_claims(self.proof.find(digits), digits)
            report += found
            n_claimed += found.n_certified, found.n_falsified
        return n_unfair, report, n_claimed

    def in_regions(self, n: int, *, falsified: bool, n_largest: int | None = None) -> Report:
        """About ``n`` people inside what is claimed, of all leaves by what is claimed of them, or of the largest alone
        evenly.
        """
        proof = self.proof
        report = Report()
        n_tried = 0
        shares = (proof.falsified if falsified else proof.certified)[proof.leaf]
        shares = np.where(proof.has_certificate(proof.leaf), shares, 0.0)
        if n_largest:
            kept = np.argsort(-shares, kind="stable")[:n_largest]
            shares = np.where(np.isin(np.arange(len(shares)), kept) & (shares > 0), 1.0, 0.0)
        if not shares.sum():
            return report
        while (n_done := report.n_falsified if falsified else report.n_certified) < n and n_tried < 20 * n + _BATCH:
            size = min(_BATCH, max(256, 2 * (n - n_done)))
            boxes = self.rng.choice(proof.leaf, size, p=shares / shares.sum())
            digits = self._inside(boxes)
            inside = proof.slack(boxes, digits)[int(falsified)] > 0
            digits[~inside] = proof.steered(boxes[~inside], digits[~inside], self.rng, falsified=falsified)
            inside = proof.slack(boxes, digits)[int(falsified)] > 0
            report += self.judge_claims(boxes[inside], digits[inside])
            n_tried += size
        return report

    def _inside(self, boxes: np.ndarray) -> np.ndarray:
        low = self.proof.low[boxes]
        high = self.proof.high[boxes]
        return low + (self.rng.random(low.shape) * (high - low + 1)).astype(int)

    def corners(self, n: int) -> Report:
        """``n`` random corners of random leaves that something is claimed of."""
        proof = self.proof
        known = proof.leaf[proof.has_certificate(proof.leaf)]
        known = known[(proof.certified + proof.falsified)[known] > 0]
        if not len(known):
            return Report()
        boxes = self.rng.choice(known, n)
        takes_low = self.rng.random((n, len(proof.n_digits))) < 0.5
        return self.judge_claims(boxes, np.where(takes_low, proof.low[boxes], proof.high[boxes]))

    # --- people looked for ------------------------------------------------------------------

    def descend(self, n: int, n_steps: int, *, falsified: bool) -> Report:
        """``n`` people who move, one attribute a step, towards the limit of what is claimed (one half) or of the
        decision.
        """
        proof = self.proof
        shares = np.sqrt(
            (proof.falsified if falsified else proof.certified)[proof.leaf]
        )  # small regions get their turn
        shares = np.where(proof.has_certificate(proof.leaf), shares, 0.0)
        if not shares.sum():
            return Report()
        boxes = self.rng.choice(proof.leaf, 20 * n, p=shares / shares.sum())
        digits = proof.steered(boxes, self._inside(boxes), self.rng, falsified=falsified)
        inside = np.flatnonzero(proof.slack(boxes, digits)[int(falsified)] > 0)[:n]
        boxes = boxes[inside]
        digits = digits[inside]
        report = self.judge_claims(boxes, digits)
        height = self._height(boxes, digits, falsified)
        for _ in range(n_steps):
            moved = self._moved(boxes, digits)
            claimed = proof.slack(boxes, moved)[int(falsified)] > 0
            report += self.judge_claims(boxes[claimed], moved[claimed])
            there = self._height(boxes, moved, falsified)
            better = claimed & (there <= height)
            digits[better] = moved[better]
            height[better] = there[better]
        return report

    def _moved(self, boxes: np.ndarray, digits: np.ndarray) -> np.ndarray:
        """Everybody with one attribute changed: by one, to an end of the box, or to anything in it."""
        n = len(digits)
        out = digits.copy()
        lines = np.arange(len(digits))
        column = self.rng.integers(digits.shape[1], size=n)
        low = self.proof.low[boxes, column]
        high = self.proof.high[boxes, column]
        now = digits[lines, column]
        anywhere = low + (self.rng.random(n) * (high - low + 1)).astype(int)
        kind = self.rng.integers(5, size=n)
        out[lines, column] = np.clip(np.choose(kind, [now - 1, now + 1, low, high, anywhere]), low, high)
        return out

    def _height(self, boxes: np.ndarray, digits: np.ndarray, falsified: bool) -> np.ndarray:
        """How far people are from what they move to: the limit of the claim for even lines, of the decision for odd
        ones.
        """
        slack = self.proof.slack(boxes, digits)[int(falsified)]
        if self.judge.margins is None or not len(digits):
            return slack
        margins = self.judge.margins(self._rows(digits)).reshape(len(digits), len(self.people.variants))
        least = margins.min(axis=1)
        most = margins.max(axis=1)
        apart = np.minimum(most, -least)
        lead = apart if falsified else -apart
        return np.where(np.arange(len(digits)) % 2, lead, slack)

    # --- shares -----------------------------------------------------------------------------

    def small_boxes(self, n_most: int) -> tuple[int, list[str]]:
        """Enumerates up to ``n_most`` leaves of at most ``SMALL`` people: how many, and those whose shares cannot
        be.
        """
        proof = self.proof
        wrong = []
        small = proof.leaf[(proof.n_points(proof.leaf) <= SMALL) & (proof.n_merged[proof.leaf] == 0)]
        for box in small[:n_most]:
            weight = proof.weight[box]
            share = float(self.are_unfair(self.everybody(int(box))).mean())
            least = proof.falsified[box]
            most = weight - proof.certified[box]
            if not least - 1e-9 * weight <= share * weight <= most + 1e-9 * weight:
                wrong.append(f"box {box}: unfair {share * weight} by enumeration, not {least} to {most}")
        return min(len(small), n_most), wrong

    def everybody(self, box: int = 0) -> np.ndarray:
        """The people of a box as digits ``(n, D)``."""
        low = self.proof.low[box]
        high = self.proof.high[box]
        axes = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def counted_too_much(self, max_points: float, n_most: int) -> list[str]:
        """Leaves of up to ``max_points`` people whose shares are more than their certificates hold for, by
        enumeration.
        """
        proof = self.proof
        wrong = []
        held = proof.has_certificate(proof.leaf) & (proof.n_merged[proof.leaf] == 0)
        sizes = proof.n_points(proof.leaf)
        for box in proof.leaf[held & (sizes > SMALL) & (sizes <= max_points)][:n_most]:
            digits = self.everybody(int(box))
            slacks = proof.slack(np.full(len(digits), box), digits)
            for slack, share, word in zip(
                slacks, (proof.certified, proof.falsified), ("certified", "falsified"), strict=True
            ):
                claimed = float((slack > 0).mean()) * proof.weight[box]
                if share[box] > claimed * (1 + 1e-9) + 1e-300:
                    wrong.append(f"box {box}: {word} {share[box]}, its certificate holds for {claimed}")
        return wrong


def interval(n_hits: int, n: int, z: float = _Z) -> tuple[float, float]:
    """Wilson's interval of a share."""
    share = n_hits / n
    spread = z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _sizes(n: int) -> Iterator[int]:
    for start in range(0, n, _BATCH):
        yield min(_BATCH, n - start)
