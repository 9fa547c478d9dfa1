"""What was planted in the samples: each strategy lowers it, within the tolerance, by more than chance.

The samples' *outcomes* discriminate, so that accuracy counts against every mitigation: a model that ignores the planted
effect is wrong about the people who suffer it. That costs a linear model little, which cannot say who they are but by
sex, and models that know them well some three to five points: the tolerance is two points for the first and six and a
half for the others. The sample models know three quarters of the rows, hence the test rows too: the tolerance counts
from the control, the same kind of model trained on the training rows alone. ``benchmarks/retraining.md`` has all
strategies on seven models.
"""

from __future__ import annotations

import pytest

from fairness_engine.retraining.settings import RetrainSettings, Strategy
from retraining_cases import Retrained, retrain, sample_subject

pytestmark = pytest.mark.thorough

TOLERANCE = 0.065
LINEAR = ("census_income_pipeline.skops", "sex")
LINEAR_TOLERANCE = 0.02
CENSUS = ("census_income_tree.skops", "sex")
RECIDIVISM = ("recidivism_planted.skops", "race", "sex")


def _run(case: tuple[str, ...], strategy: str, **changes: object) -> Retrained:
    named = {"strategy": strategy, "tolerance": TOLERANCE, "reference": "control", "n_draws": 3_000, "n_cases": 2_000}
    return retrain(sample_subject(case[0], *case[1:]), RetrainSettings.from_json({**named, **changes}))


def _keeps_the_tolerance(found: Retrained, tolerance: float = TOLERANCE) -> bool:
    """On the test rows, from the control."""
    control, after = (found.result(name)["quality"]["accuracy"]["value"] for name in ("control", "after"))
    return bool(after >= control - tolerance)


@pytest.mark.parametrize("strategy", Strategy)
def test_every_strategy_lowers_what_was_planted(strategy: Strategy) -> None:
    found = _run(LINEAR, strategy, tolerance=LINEAR_TOLERANCE, max_rounds=4)
    before, after = (found.result(name) for name in ("before", "after"))
    assert after["uniform"]["high"] < before["uniform"]["low"]
    assert after["data"]["share"] < before["data"]["share"]
    assert _keeps_the_tolerance(found, LINEAR_TOLERANCE)
    is_of_groups = strategy is Strategy.RULES  # judged by its rule set, whose intervals touch
    assert found.result("retrained")["verdict"] == ("no improvement" if is_of_groups else "improved")


@pytest.mark.parametrize(
    ("case", "strategy"),
    [(CENSUS, "variants"), (CENSUS, "aequitas"), (RECIDIVISM, "majority"), (CENSUS, "without")],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_fewer_individuals_are_discriminatory(case: tuple[str, ...], strategy: str) -> None:
    found = _run(case, strategy)
    before, after = (found.result(name)["uniform"] for name in ("before", "after"))
    assert after["high"] < before["low"]
    assert found.result("after")["data"]["share"] <= found.result("before")["data"]["share"]
    assert found.result("retrained")["verdict"] == "improved"
    assert _keeps_the_tolerance(found)


@pytest.mark.parametrize(
    ("case", "strategy"),
    [(RECIDIVISM, "rules"), (CENSUS, "threshold"), (CENSUS, "reduction")],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_the_worst_group_is_less_apart(case: tuple[str, ...], strategy: str) -> None:
    """What these aim at. That they may leave more pairs behind is said by the verdict, which is about individuals
    too.
    """
    found = _run(case, strategy)
    worst = found.result("worst_rule_set")
    assert worst["after"]["high"] < worst["before"]["low"]
    assert _keeps_the_tolerance(found)
    rose = found.result("changes")["uniform"]["low"] > 0
    assert not rose or found.result("retrained")["verdict"] != "improved"


def test_reweighing_brings_groups_nearer_and_does_not_claim_more() -> None:
    found = _run(CENSUS, "reweigh")
    figures = found.result("changes")["figures"]
    before, after = (figures[when]["tables"][0]["figures"][0][0] for when in ("before", "after"))
    assert after < before - 0.02
    assert found.result("retrained")["verdict"] != "improved" or found.result("changes")["uniform"]["high"] < 0
