"""SHAP values and groups through the evaluator: the model's own process, with its walls up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.explanation.where import leaf_of
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import FindWhere, Held, Scores, Shap
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import census_config


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def evaluator(store: RunStore) -> Iterator[Evaluator]:
    evaluator = Evaluator(store)
    yield evaluator
    evaluator.close()


@pytest.fixture(scope="module")
def config(store: RunStore) -> RunConfig:
    return census_config(store)


def test_shap_values_explain_the_scores_that_the_evaluator_gives(evaluator: Evaluator, config: RunConfig) -> None:
    domain = Domain(config.schema, config.scope)
    key = (config.data_id, config.model_id, config.schema, config.scope)
    people = domain.variants(domain.sample(1, np.random.default_rng(3)))[0]
    found = evaluator.ask(Held(*key), Shap(people))
    scores, _ = evaluator.ask(Held(*key), Scores(people))
    assert found.scores == pytest.approx(scores[:, 0], abs=1e-12)
    assert found.is_exact
    assert found.contributions.sum(axis=1) == pytest.approx(found.scores - found.base, abs=1e-6)
    assert found.difference.sum() == pytest.approx(scores[1, 0] - scores[0, 0], abs=1e-6)
    assert np.array_equal(evaluator.ask(Held(*key), Shap(people)).contributions, found.contributions)
    assert evaluator.protections.get("network") is True, "the walls were up"


@pytest.mark.parametrize("distribution", [Distribution.DATA, Distribution.UNIFORM])
def test_groups_hold_what_an_independent_test_of_new_rows_finds(
    evaluator: Evaluator, config: RunConfig, distribution: Distribution
) -> None:
    domain = Domain(config.schema, config.scope)
    key = (config.data_id, config.model_id, config.schema, config.scope)
    found = evaluator.ask(Held(*key), FindWhere(distribution, 4))
    assert found.distribution is distribution
    assert found.root.n_hits
    assert (leaf_of(found.nodes, found.examples.first) >= 0).all()
    rows = domain.sample(4000, np.random.default_rng(17))
    if distribution is Distribution.UNIFORM:
        _, decisions = evaluator.ask(Held(*key), Scores(domain.variants(rows).reshape(-1, domain.n_columns)))
        is_hit = np.ptp(decisions.reshape(len(rows), -1), axis=1) > 0
        leaves = leaf_of(found.nodes, rows)
        for i in found.leaves:
            inside = leaves == i
            node = found.nodes[i]
            assert node.share == pytest.approx(is_hit[inside].mean(), abs=4 * np.sqrt(0.25 / max(inside.sum(), 1)))


def test_a_model_whose_decisions_never_change_has_no_groups(evaluator: Evaluator, store: RunStore) -> None:
    sample = find_sample("census_income")
    model = sample.model("census_income_ignores_protected")
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    file = store.add_file(model.path, model.path.name, FileRole.MODEL)
    schema = sample.schema_for(model)
    found = evaluator.ask(Held(data.id, file.id, schema, Scope(model.protected)), FindWhere(Distribution.DATA, 3))
    assert found.root.n_hits == 0
    assert len(found.nodes) == 1
    assert not len(found.examples)
