"""The judge of the benchmark of rule sets: it reads groups and decides people as the engine does, without its code, and
finds its scores.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.rules_cases import Outcome, outcome_of
from benchmarks.rules_data import TABLES
from benchmarks.rules_literal import Literal, is_inside, own_network
from benchmarks.rules_paper import PAPER
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.groups.rule_sets.driver import AssessedData, make_space, run_rules
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Ranges, Scope

ROOT = Path(__file__).resolve().parents[2]
NETWORK = ROOT / "sample_models" / "marketing_network.keras"
PROTECTED = ("age", "sex", "born_in")
SETTINGS = RuleSettings(error=0.05, support=0.1)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    schema = Schema.read(ROOT / "sample_data" / "marketing.schema.json")
    return make_dataset(read_table(ROOT / "sample_data" / "marketing.csv"), schema.with_protected(PROTECTED))


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Model:
    return open_model(NETWORK, dataset.schema, classes=dataset.classes, favourable=dataset.favourable_class or 0)


@pytest.fixture(scope="module")
def run(dataset: Dataset, model: Model) -> Outcome:
    ranges = Ranges(dataset.schema, Scope(PROTECTED))
    return outcome_of(run_rules(AssessedData(dataset.rows, None, model), ranges, SETTINGS, seed=3))


def test_the_own_network_decides_as_the_engine(dataset: Dataset, model: Model) -> None:
    decide = own_network(NETWORK, model.favourable)
    ours = [decide(row) for row in dataset.rows]
    assert 0 < sum(ours) < len(ours)
    assert ours == (model.decide(model.scores(dataset.rows)) == model.favourable).tolist()


def test_groups_read_from_what_is_said_are_the_engines(dataset: Dataset, run: Outcome) -> None:
    space = make_space(Ranges(dataset.schema, Scope(PROTECTED)), dataset.rows, SETTINGS)
    rules = run.result.scored.rules
    assert len(rules) > 100
    for position, inside in enumerate(space.inside(rules)):
        said = run.result.rule_set_json(position)["rules"]
        assert (is_inside(dataset.schema, dataset.rows, said) == inside).all(), said


def test_the_literal_algorithm_finds_the_engines_scores(dataset: Dataset, model: Model, run: Outcome) -> None:
    literal = Literal(dataset.schema, PROTECTED, dataset.rows, own_network(NETWORK, model.favourable))
    scored = run.result.scored
    rng = np.random.default_rng(5)
    for position in range(0, len(scored), len(scored) // 8):
        found = literal.score(run.result.rule_set_json(position)["rules"], rng)
        low, high = found.interval(len(scored))
        assert low <= scored.high[position]
        assert high >= scored.low[position]
        assert found.n > SETTINGS.least_samples


@pytest.mark.parametrize("name", [*TABLES])
def test_no_network_is_given_what_tells_the_answer(name: str, shared: Path) -> None:
    source = TABLES[name]
    content = json.loads((shared / "data" / "raw" / name / "schema.json").read_text(encoding="utf-8"))
    dataset = source.dataset()
    assert not {*content.get("not_features", ()), content["label"]} & set(dataset.schema.names)
    assert set(source.protected) <= set(dataset.schema.names)
    assert len(dataset.rows) >= 0.9 * content["rows"]
    assert dataset.labels is not None
    assert np.bincount(dataset.labels).min() > 0.04 * len(dataset.rows)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", [*TABLES])
def test_the_papers_groups_are_found_in_the_data(name: str) -> None:
    dataset = TABLES[name].dataset()
    for group in PAPER[name].top:
        assert 0 < is_inside(dataset.schema, dataset.rows, group.rules).sum() < len(dataset.rows), group.words
