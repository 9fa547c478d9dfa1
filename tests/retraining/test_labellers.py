"""Who labels people of whom no outcome is known: their own variants, or a committee."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model, Output
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining import labellers
from fairness_engine.retraining.evaluation.split import split_rows
from fairness_engine.retraining.labellers import Committee, MajorityOfVariants

SCHEMA = Schema(
    (
        Column("race", Kind.INTEGER, minimum=0, maximum=2),
        Column("hours", Kind.INTEGER, minimum=0, maximum=20),
    ),
    protected=("race",),
)
DOMAIN = Domain(SCHEMA, Scope(("race",)))


class Table:
    """Scores told by race (down) and whether hours are above 10 (across)."""

    kind = "table"
    n_inputs = 2
    output = Output.PROBABILITY

    def __init__(self, scores: list[list[list[float]]]) -> None:
        self._scores = np.array(scores)
        self.n_scores = self._scores.shape[-1]

    def predict(self, inputs: FloatArray) -> FloatArray:
        found: FloatArray = self._scores[inputs[:, 0].astype(int), (inputs[:, 1] > 10).astype(int)]
        return found

    def margins(self, inputs: FloatArray, threshold: float) -> FloatArray:
        return self.predict(inputs) - threshold


def labeller(scores: list[list[list[float]]], n_classes: int = 2) -> MajorityOfVariants:
    model = Model(Table(scores), CodesEncoder(SCHEMA), classes=tuple(str(i) for i in range(n_classes)))
    return MajorityOfVariants(model, DOMAIN)


PEOPLE = np.array([[0.0, 5], [2, 5], [1, 15], [2, 15]])


def test_a_person_gets_the_class_of_most_variants_whatever_the_own_race() -> None:
    found = labeller([[[0.9], [0.1]], [[0.6], [0.2]], [[0.0], [1.0]]]).label(PEOPLE)
    assert found.tolist() == [1, 1, 0, 0]  # two of three above the threshold; one of three


def test_of_three_classes_a_tie_goes_to_the_highest_mean_score() -> None:
    tie = [[0.5, 0.3, 0.2], [0.0, 0.9, 0.1], [0.2, 0.3, 0.5]]  # one vote each; class 1 has the mean 0.5
    found = labeller([[scores, scores] for scores in tie], 3).label(PEOPLE)
    assert found.tolist() == [1, 1, 1, 1]


def test_a_tie_of_two_variants_goes_to_their_mean_score() -> None:
    narrow = Domain(SCHEMA, Scope(("race",), limits={"race": (0, 1)}))
    model = Model(Table([[[0.4], [0.1]], [[0.9], [0.6]], [[0.0], [0.0]]]), CodesEncoder(SCHEMA))
    found = MajorityOfVariants(model, narrow).label(PEOPLE[:3])
    assert found.tolist() == [1, 1, 0]  # means 0.65 and 0.35


def test_many_people_are_labelled_as_few_are() -> None:
    many = np.repeat(PEOPLE, 1_500, axis=0)
    who = labeller([[[0.9], [0.1]], [[0.6], [0.2]], [[0.0], [1.0]]])
    assert (who.label(many) == np.repeat(who.label(PEOPLE), 1_500)).all()


def dataset(n: int = 400) -> Dataset:
    """Outcomes told by hours, and for race 2 by chance."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 21, n)]).astype(float)
    labels = np.where(rows[:, 0] == 2, rng.integers(0, 2, n), (rows[:, 1] > 10).astype(int))
    return Dataset(SCHEMA, rows, labels, ("no", "yes"), np.arange(n), 0, (), "", 1)


def test_a_committee_learns_from_the_data_and_labels_persons_not_variants() -> None:
    data = dataset()
    parts = split_rows(data, 0.2, 0.15)
    committee = Committee(data, parts, DOMAIN, seed=3)
    people = DOMAIN.sample(300, np.random.default_rng(1), data.rows)
    found = committee.label(people)
    clear = np.abs(people[:, 1] - 10.5) > 3
    assert (found == (people[:, 1] > 10))[clear].mean() > 0.95
    exchanged = people.copy()
    exchanged[:, 0] = (exchanged[:, 0] + 1) % 3
    assert (committee.label(exchanged) == found).all()
    assert (Committee(data, parts, DOMAIN, seed=3).label(people) == found).all()
    assert committee.label(people[:0]).shape == (0,)


def test_a_committee_works_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset(200)
    committee = Committee(data, split_rows(data, 0.2, 0.15), DOMAIN, seed=0)
    people = DOMAIN.sample(100, np.random.default_rng(1), data.rows)
    whole = committee.label(people)
    monkeypatch.setattr(labellers, "_BLOCK_PEOPLE", 33)
    assert (committee.label(people) == whole).all()
