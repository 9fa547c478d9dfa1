"""Every kind of run and question with 450 and with 5,040 protected combinations: each ends, and what it says is short
enough to be kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import many_variants
from fairness_engine.arrays import pack_array
from fairness_engine.clock import NO_LIMIT
from fairness_engine.errors import InputError, StopReason
from fairness_engine.events import Event, PairsFound, ResultReady, Stopped, to_line
from fairness_engine.model_process.protocol import MAX_LINE_BYTES, pack_pairs, unpack_pairs
from fairness_engine.model_process.session import ModelSession, open_all
from fairness_engine.oracle import kernels
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.oracle.variants import _widest_of_extremes, _widest_of_pairs
from fairness_engine.pairs import Pairs
from fairness_engine.runs import kinds, recorder
from fairness_engine.runs.kinds import RunKind
from fairness_engine.search.registry import TECHNIQUES

pytestmark = pytest.mark.thorough

SCOPES = {450: many_variants.HUNDREDS, 5_040: many_variants.THOUSANDS}
BLACK_BOX = [name for name, kind in TECHNIQUES.items() if not kind.needs_gradient]


@cache
def opened(folder: Path, kind: str, n_variants: int, n_rows: int = 2_500) -> ModelSession:
    """So many of the applications, a model of all, and a scope of so many combinations."""
    data = folder / "loans.csv"
    lines = many_variants.loan_csv().splitlines(keepends=True)
    data.write_bytes(b"".join(lines[: 1 + n_rows]))
    model = many_variants.write_model(folder, kind)
    request = {
        "data": {"path": str(data), "name": data.name},
        "model": {"path": str(model), "name": model.name},
        "schema": many_variants.loan_schema().to_json(),
        "scope": SCOPES[n_variants].to_json(),
    }
    found = open_all(request)
    assert isinstance(found, ModelSession)
    assert found.domain.n_variants == n_variants
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loans")


def run(held: ModelSession, kind: RunKind[Any], **own: Any) -> list[Event]:
    """A run to its end; what it says can be kept."""
    assert held.scope is not None
    config = kind.config("data", "model", many_variants.loan_schema(), held.scope, **own)
    events = list(held.run(config, NO_LIMIT))
    assert isinstance(events[-1], Stopped)
    assert max(len(to_line(event)) for event in events) < MAX_LINE_BYTES
    for event in events:
        if isinstance(event, ResultReady):
            assert len(json.dumps(event.content)) < recorder._MAX_RESULT_CHARACTERS / 10, event.name
    return events


def pairs_of(events: list[Event]) -> Pairs:
    return Pairs.concatenate([event.pairs for event in events if isinstance(event, PairsFound)], 6)


@pytest.mark.parametrize(
    ("name", "n_variants"), [*((name, 5_040) for name in BLACK_BOX), ("aequitas", 450), ("directed", 450)]
)
def test_searches(folder: Path, name: str, n_variants: int) -> None:
    held = opened(folder, "tree", n_variants)
    settings = {"sg": {"n_samples": 100}, "sg-shared": {"n_samples": 300}}.get(name, {})
    events = run(held, kinds.SEARCH, technique=name, settings=settings, budget=Budget(30_000, 60.0))
    assert events[-1].reason in (StopReason.EVALUATIONS, StopReason.EXHAUSTED)
    pairs = pairs_of(events)
    assert len(pairs)
    assert held.domain.are_variants(pairs.first[:50]).all()
    assert (pairs.decision_first != pairs.decision_second).all()


@pytest.mark.parametrize("n_variants", SCOPES)
def test_an_estimate(folder: Path, n_variants: int) -> None:
    held = opened(folder, "tree", n_variants)
    events = run(held, kinds.ESTIMATE, n_samples=40, distribution="data")
    assert events[-1].n_tried == 40
    assert events[-1].evaluations == 40 * n_variants


@pytest.mark.parametrize("n_variants", SCOPES)
@pytest.mark.parametrize("kind", ["tree", "linear"])
def test_a_certification(folder: Path, kind: str, n_variants: int) -> None:
    settings = {"max_boxes": 30, "n_samples": 0}
    events = run(opened(folder, kind, n_variants), kinds.CERTIFY, settings=settings, budget=Budget(None, 60.0))
    (found,) = [event.content for event in events if isinstance(event, ResultReady) and event.name == "certification"]
    assert found["certified"] + found["falsified"] + found["undecided"] == pytest.approx(1)


def test_rule_sets(folder: Path) -> None:
    events = run(opened(folder, "tree", 5_040), kinds.RULES, settings={"max_attributes": 2}, budget=Budget(None, 60.0))
    assert events[-1].n_found > 100


@pytest.mark.parametrize("n_variants", SCOPES)
def test_a_retraining(folder: Path, n_variants: int) -> None:
    settings = {"strategy": "variants", "n_draws": 500, "max_rounds": 1, "tolerance": 0.3}
    held = opened(folder, "linear", n_variants, n_rows=400)  # each is asked about as every combination, many times
    events = run(held, kinds.RETRAIN, settings=settings, budget=Budget(None, 15.0))
    names = {event.name for event in events if isinstance(event, ResultReady)}
    assert {"before", "training", "retrained", "card"} <= names


@pytest.mark.parametrize("n_variants", SCOPES)
def test_questions_of_pages(folder: Path, n_variants: int) -> None:
    held = opened(folder, "tree", n_variants)
    where = held.where({"distribution": "data", "max_depth": 2})
    assert len(json.dumps(where)) < 100_000
    both = [["Geschlecht"], list(many_variants.PROTECTED)]
    assert held.group_figures({"attribute_sets": both})["figures"]["n_rows"] == len(held.dataset.rows)
    assert held.certifiable() == {"reason": None}
    pair = unpack_pairs(where["examples"], 6)[np.array([0])]
    plain = unpack_pairs(held.simplify(pack_pairs(pair))["pair"], 6)
    assert held.domain.are_variants(np.concatenate([plain.first, plain.second])).all()
    assert held.shap(pack_array(np.concatenate([pair.first, pair.second])))["shap"]["n_background"] > 0
    assert set(held.decisions(pack_array(held.dataset.rows[:20]))) == {"least", "most"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda held: run(held, kinds.COUNT), "at most 1,000,000,000 rows"),
        (lambda held: held.gradients(), "a network that takes every column as one number"),
    ],
)
def test_what_cannot_be_done_is_refused_before_it_starts(
    folder: Path, ask: Callable[[ModelSession], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ask(opened(folder, "tree", 5_040))


# --- the widest gap, without comparing each with each -------------------------------------------


@pytest.mark.parametrize("n_scores", [1, 2, 4])
@pytest.mark.parametrize("n_variants", [2, 5, 60])
@pytest.mark.parametrize("has_decisions", [False, True])
def test_the_extremes_are_as_far_apart_as_any_two(n_scores: int, n_variants: int, has_decisions: bool) -> None:
    rng = np.random.default_rng(n_scores * n_variants)
    for digits in (1, 12):  # with many ties, and with none
        values = np.round(rng.random((300, n_variants, n_scores)), digits)
        values[:20] = values[:20, :1]  # nothing differs
        decided = values.argmax(axis=2) if n_scores > 1 else (values[:, :, 0] > 0.5).astype(np.int64)
        decisions = decided if has_decisions else None
        pairs = _widest_of_pairs(values, decisions)
        extremes = _widest_of_extremes(values, decisions)
        assert np.array_equal(pairs[0], extremes[0])
        rows = np.arange(300)
        gaps = np.abs(values[rows, extremes[1]] - values[rows, extremes[2]]).max(axis=1)
        found = extremes[0] >= 0
        assert np.array_equal(gaps[found], extremes[0][found])
        assert (extremes[1] <= extremes[2]).all()
        if digits == 12:
            assert np.array_equal(np.stack(pairs[1:]), np.stack(extremes[1:]))
        if has_decisions:
            assert (decided[rows, extremes[1]] != decided[rows, extremes[2]])[found].all()


def test_a_score_gap_over_thousands_of_variants(folder: Path) -> None:
    held = opened(folder, "linear", 5_040)
    gapped = ModelSession(held.dataset, held.model, Scope.from_json({**SCOPES[5_040].to_json(), "score_gap": 0.2}))
    kernels.warm_up()
    events = run(gapped, kinds.SEARCH, technique="data-scan", budget=Budget(200_000, 60.0))
    pairs = pairs_of(events)
    assert len(pairs)
    assert (np.abs(pairs.score_first - pairs.score_second) > 0.2).all()
