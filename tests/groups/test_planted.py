"""What is planted in the sample data is the top rule set of a model that holds or learnt it."""

from __future__ import annotations

from typing import Any

import pytest
from rule_cases import Ran, sample_case

from fairness_engine.data.catalogue import find_sample


def shown(ran: Ran) -> list[int]:
    """Positions of the rule sets that are shown: heads of families that speak of their own group."""
    scored = ran.result.scored
    return [i for i in range(len(scored)) if scored.head[i] == i and not scored.is_rest[i]]


def rules_of(ran: Ran, position: int) -> dict[str, Any]:
    """The rule on each column: categories, or the two ends of a range."""
    rules = ran.result.rule_set_json(position)["rules"]
    return {rule["column"]: rule.get("values") or [rule["low"], rule["high"]] for rule in rules}


def planted_in(sample: str, position: int = 0) -> dict[str, Any]:
    """Where a sample's truth file says its effect lies."""
    return dict(find_sample(sample).read_truth()["planted"][position]["where"])


ASKED = ({}, {"error": 0}, {"least_samples": 300, "error": 0.1})
"""As the command line asks, everything evaluated, and few samples."""


@pytest.mark.parametrize("settings", ASKED)
def test_marketing_men_of_40_to_59_born_in_africa_or_asia(settings: dict[str, Any]) -> None:
    ran = sample_case("marketing", "marketing_planted", ("age", "sex", "born_in")).run(edges="round", **settings)
    top = shown(ran)[0]
    scored = ran.result.scored
    if not settings:  # exact: the highest of all; by few samples others may come near, but none clearly above
        assert rules_of(ran, top) == planted_in("marketing")
    at = next(i for i in range(len(scored)) if rules_of(ran, i) == planted_in("marketing"))
    assert scored.head[at] == at
    assert shown(ran).index(at) <= 2
    assert scored.score[at] >= scored.low[top]
    assert scored.is_harmed[at]
    assert scored.n_rows[at] == 527


@pytest.mark.parametrize("settings", ASKED)
@pytest.mark.parametrize("protected", [("race", "sex"), ("race", "sex", "age_group")])
def test_recidivism_african_american_men(protected: tuple[str, ...], settings: dict[str, Any]) -> None:
    ran = sample_case("recidivism", "recidivism_planted", protected).run(**settings)
    top = shown(ran)[0]
    assert rules_of(ran, top) == planted_in("recidivism")
    assert ran.result.scored.is_harmed[top]
    assert ran.result.scored.low[top] > 0.3


@pytest.mark.parametrize("settings", ASKED)
@pytest.mark.parametrize("model", ["census_income_planted", "census_income_network"])
def test_census_women(model: str, settings: dict[str, Any]) -> None:
    """The plant's other conditions are on hours and education, which are not protected: what is seen are women."""
    ran = sample_case("census_income", model, ("sex", "race")).run(**settings)
    top = shown(ran)[0]
    assert rules_of(ran, top) == {"sex": planted_in("census_income")["sex"]}
    assert ran.result.scored.is_harmed[top]


@pytest.mark.parametrize("settings", ASKED)
@pytest.mark.parametrize("model", ["credit_planted", "credit_network"])
def test_credit_under_26(model: str, settings: dict[str, Any]) -> None:
    """Equal widths cut at 25: the range below is the nearest to "under 26" that there is."""
    ran = sample_case("credit", model, ("age", "sex")).run(**settings)
    top = shown(ran)[0]
    assert rules_of(ran, top) == {"age": [19, 24]}
    assert planted_in("credit")["age"] == [19, 25]
    assert ran.result.scored.is_harmed[top]


def test_the_labels_show_what_was_planted_in_them() -> None:
    marketing = sample_case("marketing", "marketing_planted", ("age", "sex", "born_in")).run_labels(edges="round")
    assert planted_in("marketing") in [rules_of(marketing, i) for i in shown(marketing)[:3]]
    recidivism = sample_case("recidivism", "recidivism_planted", ("race", "sex")).run_labels()
    assert rules_of(recidivism, shown(recidivism)[0]) == planted_in("recidivism")


def test_without_the_planted_effect_the_highest_score_is_far_lower() -> None:
    planted, without = (
        sample_case("census_income", f"census_income_{name}", ("sex", "race")).run(error=0).result.scored.score[0]
        for name in ("planted", "ignores_protected")
    )
    assert without < 0.75 * planted  # what is left acts through occupation, hours and education
