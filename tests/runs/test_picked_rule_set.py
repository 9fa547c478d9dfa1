"""A rule set that a person picked goes from its run to the retraining, or is refused in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fairness_engine.errors import RunError, SettingError
from fairness_engine.groups.rule_sets.result import RuleResult, write_rules
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.retraining.settings import RetrainSettings, RuleSetOfRun
from fairness_engine.runs import kinds
from fairness_engine.runs.case_selection import picked_rule_set
from fairness_engine.runs.writers.rule_sets import RULES_FILE
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from handmade import small_schema
from tests.groups.rule_cases import small_run

SCHEMA = small_schema()
CONFIG = kinds.RETRAIN.config("data", "model", SCHEMA, Scope(("sex",)))


@pytest.fixture(scope="module")
def result() -> RuleResult:
    return small_run(error=0.0, least_samples=10).result


@pytest.fixture
def stored(tmp_path: Path, result: RuleResult) -> tuple[RunStore, str]:
    store = RunStore(tmp_path)
    run_id = store.create_run(kinds.RULES.config("data", "model", SCHEMA, Scope(("sex", "age"))))
    store.run_folder(run_id).mkdir(parents=True, exist_ok=True)
    write_rules(store.run_folder(run_id) / RULES_FILE, result)
    return store, run_id


def asking(run_id: str, position: int) -> RunConfig:
    settings = RetrainSettings(rule_set=RuleSetOfRun(run_id, position))
    return replace(CONFIG, settings=settings.to_json())


def test_the_rule_set_of_the_position_arrives(stored: tuple[RunStore, str], result: RuleResult) -> None:
    store, run_id = stored
    for position in (0, len(result.scored) - 1):
        packed = picked_rule_set(store, asking(run_id, position))
        assert packed is not None
        assert RuleGroup.from_json(packed).rules_json() == result.rule_set_json(position)["rules"]


def test_no_rule_set_was_picked(stored: tuple[RunStore, str]) -> None:
    assert picked_rule_set(stored[0], CONFIG) is None


def test_a_position_beyond_the_last_is_refused(stored: tuple[RunStore, str], result: RuleResult) -> None:
    store, run_id = stored
    with pytest.raises(RunError, match=f"has {len(result.scored):,} rule sets"):
        picked_rule_set(store, asking(run_id, len(result.scored)))


def test_data_without_the_attribute_is_refused(stored: tuple[RunStore, str]) -> None:
    store, run_id = stored
    others = tuple(column for column in SCHEMA.columns if column.name not in ("sex", "age"))
    other = replace(asking(run_id, 0), schema=replace(SCHEMA, columns=others, protected=()))
    with pytest.raises(RunError, match="columns that the model's data has"):
        picked_rule_set(store, other)


def test_settings_keep_it_and_refuse_what_is_none() -> None:
    settings = RetrainSettings(rule_set=RuleSetOfRun("abc", 4))
    assert settings.to_json()["rule_set"] == ["abc", 4]
    assert RetrainSettings.from_json(settings.to_json()) == settings
    assert RetrainSettings.from_json({}).rule_set is None
    for wrong in (["abc"], ["abc", -1], ["abc", "1"], "abc", ["abc", True]):
        with pytest.raises(SettingError, match="rule_set"):
            RetrainSettings.from_json({"rule_set": wrong})
