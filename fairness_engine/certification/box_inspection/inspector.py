"""One box assessed for itself, in the model's process: what is proved, what was drawn, and why it is so."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.assessor import Assessor, Certificates
from fairness_engine.certification.assessors import ignores_protected, make_assessor
from fairness_engine.certification.box_inspection.details import MAX_DRAWN, SEED, BoxDetails
from fairness_engine.certification.box_inspection.reasons import BoxContext, reasons_of
from fairness_engine.certification.partition.enumeration import most_points
from fairness_engine.certification.partition.lattice import Lattice, Weights, make_lattice
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.errors import SettingError
from fairness_engine.models.model import Model, Output
from fairness_engine.oracle.confirmation import CandidatePairs, PairConfirmer
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.variants import widest_gap
from fairness_engine.pairs import Pairs

_MAX_ROWS = 100_000
"""Rows that are evaluated for a click: with many variants fewer individuals are drawn."""
_LEAST_DRAWN = 100
_MAX_PEOPLE = 200
"""Rows of the data in a box whose scores are looked at."""
_BLOCK_ROWS = 1 << 15


def units_of(assessor: Assessor | None) -> tuple[str, int]:
    """What a model is made of that can be settled in a box, in words for several, and how many there are."""
    assessor = getattr(assessor, "plain", assessor)
    network = getattr(assessor, "network", None)
    if network is not None:
        return "neurons", sum(network.widths)
    ensemble = getattr(assessor, "ensemble", None)
    return "trees", 0 if ensemble is None else len(ensemble.nodes.roots)


class BoxInspector:
    """Assesses boxes of one space; what all of them need is made once.

    Args:
        model, domain: what is assessed, and where.
        rows: of the data ``(n_rows, n_columns)``.
        settings: of the certification whose boxes these are.

    Raises:
        ModelError: models of its kind cannot be certified.
        SettingError: the scope asks for what no proof is made for.
    """

    def __init__(self, model: Model, domain: Domain, rows: FloatArray, settings: CertifySettings) -> None:
        self.model = model
        self.domain = domain
        self.space: Lattice = make_lattice(domain, settings.weights, rows)
        self._plain = self.space if settings.weights is Weights.UNIFORM else make_lattice(domain)
        is_blind = ignores_protected(model, domain)
        self._assessor: Assessor | None = None if is_blind else make_assessor(model, self.space, settings.mode)
        self._unit, self._n_units = units_of(self._assessor)
        self._names = tuple(self.domain.schema.inputs[column].name for column in self.space.columns.tolist())
        self._rows = rows[domain.contains(rows)] if len(rows) else rows

    @cached_property
    def _people(self) -> IntArray:
        """The digits of the rows of the data in the domain."""
        return self.space.digits(self._rows)

    def inspect(self, low: IntArray, high: IntArray) -> BoxDetails:
        """Assess one box, digits ``(D,)`` each, both ends included.

        Raises:
            SettingError: it is no box of this space.
        """
        self._check(low, high)
        space = self.space
        n_points = float(self.space.n_points(low[None], high[None])[0])
        weight = float(space.weigh(low[None], high[None])[0])
        is_evaluated = n_points <= most_points(self.model)
        digits = self._everybody(low, high) if is_evaluated else self._drawn(low, high, weight)
        rows = self._rows_of(digits, is_evaluated)
        unfair, first = self._decide(rows)
        if is_evaluated:
            falsified = min(weight, float(space.weigh(digits[unfair], digits[unfair]).sum()))
            certified = weight - falsified
        else:
            certified, falsified = self._proved(low, high, weight)
        people = self._people_in(low, high)
        proof = self._explain(low, high)
        total = space.total
        details = BoxDetails(
            weight=weight / total,
            certified=certified / total,
            falsified=falsified / total,
            n_points=int(n_points) if np.isfinite(n_points) else None,
            n_people=len(people),
            is_evaluated=is_evaluated,
            thresholds=proof.thresholds[0],
            bounds=proof.bounds[0],
            score_bounds=self._score_bounds(proof.bounds[0]),
            blame=np.maximum(np.nan_to_num(proof.blame[0]), 0.0),
            n_unstable=int(proof.n_unstable[0]),
            n_units=self._n_units,
            n_drawn=len(rows),
            n_unfair=int(unfair.sum()),
            counterexample=first,
            reasons=(),
        )
        context = BoxContext(
            self.model, self.domain, self._names, self._unit, self._scores(people), self._assessor is None
        )
        return replace(details, reasons=reasons_of(details, context))

    def _check(self, low: IntArray, high: IntArray) -> None:
        d = len(self.space.columns)
        is_box = low.shape == high.shape == (d,) and (low >= 0).all() and (high < self.space.n_digits).all()
        if not is_box or (low > high).any():
            raise SettingError(
                "A box must lie inside the space of the certification, got another. Open it from the map again."
            )

    # --- people ---------------------------------------------------------------------------

    def _everybody(self, low: IntArray, high: IntArray) -> IntArray:
        """The digits of all individuals of a small box ``(n, D)``."""
        sizes = (high - low + 1).tolist()
        return low + np.array(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), np.int64).T.reshape(
            -1, len(sizes)
        )

    def _drawn(self, low: IntArray, high: IntArray, weight: float) -> IntArray:
        """Individuals of a box by weight, or evenly where it weighs nothing ``(n, D)``."""
        n = min(MAX_DRAWN, max(_LEAST_DRAWN, _MAX_ROWS // self.domain.n_variants))
        space = self.space if weight > 0 else self._plain
        return space.draw(np.tile(low, (n, 1)), np.tile(high, (n, 1)), np.random.default_rng(SEED))

    def _rows_of(self, digits: IntArray, is_evaluated: bool) -> FloatArray:
        """Rows of individuals; of a cell, any value."""
        rows = self.space.rows(digits)
        space = self.space
        cells = np.flatnonzero(space.is_cell)
        if len(cells) and not is_evaluated:
            shifts = np.random.default_rng(1).random((len(rows), len(cells))) - 0.5
            rows[:, space.columns[cells]] += shifts * space.steps[cells]
        return rows

    def _people_in(self, low: IntArray, high: IntArray) -> FloatArray:
        """The rows of the data in a box."""
        return self._rows[((self._people >= low) & (self._people <= high)).all(axis=1)]

    def _decide(self, rows: FloatArray) -> tuple[BoolArray, Pairs]:
        """Whether two variants of an individual are decided differently ``(n,)``, and the first such as a pair."""
        domain = self.domain
        model = self.model
        k = self.domain.n_variants
        size = max(1, _BLOCK_ROWS // k)
        unfair = np.zeros(len(rows), np.bool_)
        for begin in range(0, len(rows), size):
            variants = domain.variants(rows[begin : begin + size]).reshape(-1, domain.n_columns)
            decided = model.decide(model.scores(variants)).reshape(-1, k)
            unfair[begin : begin + size] = decided.min(axis=1) != decided.max(axis=1)
        first = rows[unfair][:1]
        if not len(first):
            return unfair, Pairs.empty(domain.n_columns)
        scores = model.scores(domain.variants(first).reshape(-1, domain.n_columns))
        _, lowest, highest = widest_gap(model, scores, k, 0.0)
        replayer = PairConfirmer(model, domain)
        replayer.add(CandidatePairs(first, lowest, highest, np.zeros(1, np.int64)))
        return unfair, replayer.replay()

    def _scores(self, people: FloatArray) -> FloatArray:
        """Scores of rows of the data as they are ``(n, n_scores)``."""
        if not len(people):
            return np.empty((0, self.model.predictor.n_scores))
        return self.model.scores(people[:_MAX_PEOPLE])

    # --- proofs ---------------------------------------------------------------------------

    def _proved(self, low: IntArray, high: IntArray, weight: float) -> tuple[float, float]:
        if self._assessor is None:
            return weight, 0.0
        found = self._assessor.assess(low[None], high[None])
        certified = min(weight, max(0.0, float(found.certified[0])))
        return certified, min(weight - certified, max(0.0, float(found.falsified[0])))

    def _explain(self, low: IntArray, high: IntArray) -> Certificates:
        if self._assessor is not None:
            told = self._assessor.explain(low[None], high[None])
            network = getattr(self._assessor, "network", None)
            if network is None or told.bounds.shape[1] == self.domain.n_variants:
                return told
            return replace(
                told, bounds=told.bounds[:, network.variants]
            )  # variants that are the same to it were bounded once
        d = len(low)
        nothing = np.full((1, self.domain.n_variants, 2), np.nan)
        none = np.empty((1, 3, 0)), np.zeros(d + 1, np.int64), np.full((1, 4), np.nan)
        return Certificates(*none, nothing, np.zeros((1, d)), np.zeros(1, np.int64))

    def _score_bounds(self, bounds: FloatArray) -> FloatArray:
        """Bounds of the margin as bounds of the score, where it is a probability ``(K, 2)``."""
        convert = getattr(self.model.predictor, "scores_of", None)
        if self.model.predictor.output is not Output.PROBABILITY or not self.model.is_binary:
            return np.full_like(bounds, np.nan)
        if convert is None:  # trees: their margin is the score less the threshold
            return bounds + self.model.threshold
        scores: FloatArray = convert(bounds.reshape(-1, 1), self.model.threshold)
        return scores.reshape(bounds.shape)
