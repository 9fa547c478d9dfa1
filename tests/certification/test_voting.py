"""Certification of votes: what is claimed of a box holds for everybody in it, and at the end it is what counting
everybody gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.certification.voting import VotesAssessor
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.events import ResultReady
from fairness_engine.measures.exact_count import decide_all, run_exact
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import choose_encoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import prepare_estimator
from fairness_engine.oracle.domain import Domain, Scope

SCHEMA = Schema(
    columns=(
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=20, maximum=29),
        Column("job", Kind.CATEGORICAL, codes=(3, 1, 7, 2), labels=("a", "b", "c", "d")),
        Column("wage", Kind.INTEGER, minimum=0, maximum=11),
        Column("years", Kind.INTEGER, minimum=0, maximum=8),
    ),
    label="y",
    favourable="1",
    protected=("sex",),
)
MEMBERS = [
    ("forest", RandomForestClassifier(5, max_depth=4, random_state=1)),
    ("tree", DecisionTreeClassifier(max_depth=6, random_state=2)),
    ("linear", LogisticRegression()),
]


def fitted(members: list[Any], weights: list[float] | None, seed: int) -> Model:
    rng = np.random.default_rng(seed)
    rows = sample_rows(SCHEMA, 400, rng)
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    y = z @ rng.normal(size=rows.shape[1]) + 0.7 * z[:, 0] * z[:, 3] > 0
    vote = VotingClassifier(members, voting="hard", weights=weights)
    vote.fit(choose_encoder(SCHEMA, None).encode(rows), y.astype(int))
    predictor, encoder, _ = bind_estimator(prepare_estimator(vote), SCHEMA)
    return bind(predictor, encoder, SCHEMA, classes=("0", "1"), own_classes=(0, 1))


CASES = [
    ([0, 1], None),  # of a tie it is class 0
    ([0, 1, 2], None),
    ([0, 1, 2], [1.0, 2.0, 1.5]),
    ([0, 1, 2], [0.1, 0.2, 0.3]),  # a tie that rounding decides
]


@pytest.mark.parametrize("protected", [("sex",), ("sex", "job")])
@pytest.mark.parametrize(("which", "weights"), CASES)
def test_the_proof_ends_at_the_exact_count(
    which: list[int], weights: list[float] | None, protected: tuple[str, ...]
) -> None:
    model = fitted([MEMBERS[i] for i in which], weights, 5)
    domain = Domain(SCHEMA.with_protected(protected), Scope(protected))
    assert isinstance(make_assessor(model, make_lattice(domain), Mode.COUNTING), VotesAssessor)
    events = list(run_certification(model, domain, np.empty((0, 5)), CertifySettings(n_samples=0), 0))
    result = next(event.content for event in events if isinstance(event, ResultReady))
    count = next(event.content for event in run_exact(model, domain) if isinstance(event, ResultReady))
    assert result["undecided"] == pytest.approx(0, abs=1e-12)
    assert result["falsified"] == pytest.approx(count["share"], abs=1e-12)
    assert count["share"] > 0


@pytest.mark.parametrize(("which", "weights"), CASES)
def test_what_is_claimed_of_a_box_holds_for_everybody_in_it(which: list[int], weights: list[float] | None) -> None:
    model = fitted([MEMBERS[i] for i in which], weights, 6)
    domain = Domain(SCHEMA.with_protected(("sex",)), Scope(("sex",)))
    space = make_lattice(domain)
    assessor = make_assessor(model, space, Mode.COUNTING)
    truth = np.concatenate([part for part, _ in decide_all(model, domain)]).reshape(space.n_digits)
    rng = np.random.default_rng(7)
    ends = np.sort(rng.integers(0, space.n_digits, size=(3000, 2, len(space.n_digits))), axis=1)
    low = ends[:, 0]
    high = np.minimum(ends[:, 1], ends[:, 0] + rng.integers(0, 4, size=ends[:, 0].shape))
    found = assessor.assess(low, high)
    told = assessor.explain(low, high)
    n_claims = 0
    for b in range(len(low)):
        people = truth[tuple(slice(begin, end + 1) for begin, end in zip(low[b], high[b], strict=True))]
        if found.certified[b]:
            assert not people.any()
            assert (told.thresholds[b, :2] == [-np.inf, -np.inf]).all() or (told.thresholds[b, :2] == np.inf).all()
        if found.falsified[b]:
            assert people.all()
            assert (told.thresholds[b, 2:] == [-np.inf, np.inf]).all()
        n_claims += bool(found.certified[b] or found.falsified[b])
    assert n_claims > 300
