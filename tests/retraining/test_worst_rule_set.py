"""The worst rule set: found where it may be looked at, scored where nobody looked, with intervals over people."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv

from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.errors import SearchStopped, StopReason
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges, Scope
from fairness_engine.retraining.evaluation.rule_group import GroupMeter, RuleGroup, group_score
from fairness_engine.retraining.evaluation.split import Split, split_rows
from fairness_engine.retraining.evaluation.worst_rule_set import WorstGroups
from fairness_engine.retraining.settings import RetrainSettings
from handmade import function_model
from retraining_cases import data_of, sample_subject

SETTINGS = RetrainSettings()
PROTECTED = ("race", "sex")


@pytest.fixture(scope="module")
def planted() -> Any:
    return sample_subject("recidivism_planted.skops", *PROTECTED)


@pytest.fixture(scope="module")
def parts(planted: Any) -> Split:
    return split_rows(planted.dataset, SETTINGS.test_share, SETTINGS.validation_share)


@pytest.fixture(scope="module")
def groups(planted: Any, parts: Split) -> WorstGroups:
    return WorstGroups(planted, parts, SETTINGS, 1)


def rules_of(said: list[dict[str, Any]]) -> dict[str, Any]:
    return {one["column"]: one.get("values") or [one["low"], one["high"]] for one in said}


def plain_shares(model: Model, ranges: Ranges, rows: np.ndarray) -> np.ndarray:
    """The favourable share of the neighbours of each row, one neighbour at a time."""
    shares = []
    for row in rows:
        hits = []
        for column in ranges.movable:
            for step in (-ranges.unit[column], ranges.unit[column]):
                moved = row.copy()
                moved[column] = np.clip(row[column] + step, ranges.low[column], ranges.high[column])
                hits.append(int(model.decide(model.scores(moved[None]))[0]) == model.favourable)
        shares.append(np.mean(hits))
    return np.array(shares)


# --- what is found, and where --------------------------------------------------------------------


def test_the_planted_group_is_the_worst(groups: WorstGroups) -> None:
    assert rules_of(groups.target.rules_json()) == find_sample("recidivism").read_truth()["planted"][0]["where"]
    assert groups.target.words == "men, African-American"


def test_the_score_is_of_all_neighbours_of_the_test_rows(planted: Any, parts: Split, groups: WorstGroups) -> None:
    few = replace(parts, test=parts.test[::8])
    found = WorstGroups(planted, few, SETTINGS, 1).score(planted.model, groups.target)
    rows = planted.dataset.rows[few.test]
    inside = groups.target.inside(planted.dataset.schema, rows)
    shares = plain_shares(planted.model, planted.domain, rows)
    assert (found.n_inside, found.n_outside) == (inside.sum(), (~inside).sum())
    assert found.inside == pytest.approx(shares[inside].mean())
    assert found.outside == pytest.approx(shares[~inside].mean())
    assert found.low <= found.score <= found.high


def test_the_search_looks_at_no_test_row(planted: Any, parts: Split, groups: WorstGroups) -> None:
    """Test rows that are all the same person change nothing of what is found, or of what chooses."""
    rows = planted.dataset.rows.copy()
    rows[parts.test] = rows[parts.test][0]
    changed = WorstGroups(replace(planted, dataset=replace(planted.dataset, rows=rows)), parts, SETTINGS, 1)
    assert changed.target == groups.target
    assert changed.gap(planted.model) == groups.gap(planted.model)
    assert changed.score(planted.model, groups.target) != groups.score(planted.model, groups.target)


def test_before_and_after_are_of_the_same_rule_set_and_the_next_worst_is_found_anew(planted: Any, parts: Split) -> None:
    sex = planted.dataset.schema.index("sex")
    by_sex = function_model(lambda rows: np.where(rows[:, sex] == 0, 0.9, 0.1))
    after = replace(by_sex, classes=planted.model.classes, favourable=planted.model.favourable)
    found = WorstGroups(planted, parts, SETTINGS, 1).result(after)
    assert rules_of(found.rules) == {"sex": ["Male"], "race": ["African-American"]}
    assert found.before.score > 0.3
    assert found.text.startswith("men, African-American: ")
    assert set(rules_of(found.worst_after.rules)) == {"sex"}
    assert found.worst_after.score == pytest.approx(1.0)
    assert found.after.score != found.before.score


def test_without_a_new_model_only_before_is_told(groups: WorstGroups) -> None:
    found = groups.result()
    assert found.after is None
    assert found.worst_after is None
    assert found.before.low > 0.2
    assert not found.reason


def test_a_picked_rule_set_is_looked_at_instead_of_the_worst(planted: Any, parts: Split, groups: WorstGroups) -> None:
    women = RuleGroup(groups.target.attributes, (-1, 0))
    again = RuleGroup.from_json(women.to_json())
    found = WorstGroups(replace(planted, group=again), parts, SETTINGS, 1).result()
    assert found.is_picked
    assert [one["column"] for one in found.rules] == ["sex"]


def test_a_scope_without_a_rule_set_says_why(planted: Any, parts: Split) -> None:
    found = WorstGroups(planted, parts, replace(SETTINGS, support=0.5), 1).result()
    assert found.before is not None  # men are more than half
    data = data_of("recidivism", ("race",))
    one_value = Ranges(data.schema, Scope(("race",), limits={"race": (0.0, 0.0)}))
    alone = SimpleNamespace(model=planted.model, domain=one_value, dataset=data, group=None)
    found = WorstGroups(alone, parts, SETTINGS, 1).result()
    assert found.before is None
    assert found.rules == []
    assert "nobody to compare" in found.reason or "No row" in found.reason


def test_a_cancel_ends_it(planted: Any, parts: Split) -> None:
    with pytest.raises(SearchStopped) as stopped:
        WorstGroups(planted, parts, SETTINGS, 1, Clock(is_cancelled=lambda: True)).result()
    assert stopped.value.reason is StopReason.CANCELLED


def test_chance_is_the_seeds_alone_where_rows_are_drawn(planted: Any, parts: Split, groups: WorstGroups) -> None:
    rows = planted.dataset.rows
    few = [GroupMeter(planted.domain, rows, 2_000, seed) for seed in (1, 1, 2)]
    first, again, other = (meter.score(planted.model, groups.target) for meter in few)
    assert first == again
    assert first != other
    assert first.n_inside + first.n_outside < len(rows)
    assert few[0].evaluations <= 2_000


# --- intervals ------------------------------------------------------------------------------------


def test_neighbours_that_are_decided_like_their_row_count_as_one() -> None:
    """With every neighbour alike a side is so many decisions as it has rows, about: the exact interval of a share."""
    inside = np.repeat([1.0, 0.0], [30, 70])
    outside = np.repeat([1.0, 0.0], [150, 50])
    found = group_score(inside, outside)
    low = betaincinv(150, 51, 0.0125) - betaincinv(31, 70, 1 - 0.0125)
    assert found.low == pytest.approx(low, abs=0.01)
    assert found.score == pytest.approx(0.45)


@pytest.mark.parametrize("spread", [0.15, 0.5, 4.0])
@pytest.mark.parametrize("n", [25, 300])
def test_the_interval_holds_the_true_score_at_least_95_times_in_100(spread: float, n: int) -> None:
    """People whose neighbours are nearly alike, half alike, and independent; ten neighbours each."""
    rng = np.random.default_rng(5)
    held = 0
    n_trials = 250
    for _ in range(n_trials):
        sides = [
            rng.binomial(10, rng.beta(p * spread, (1 - p) * spread, size)) / 10 for p, size in ((0.6, n), (0.3, 3 * n))
        ]
        found = group_score(*sides)
        held += found.low <= 0.3 <= found.high
    assert held >= 0.95 * n_trials - 2.5 * np.sqrt(0.0475 * n_trials)


def test_nobody_on_a_side_is_said_to_tell_nothing() -> None:
    found = group_score(np.empty(0), np.ones(20))
    assert (found.score, found.low, found.high, found.n_inside) == (0.0, 0.0, 1.0, 0)


def test_one_person_on_a_side_tells_next_to_nothing() -> None:
    found = group_score(np.array([1.0]), np.zeros(500))
    assert found.low < 0.02
    assert found.high == pytest.approx(1.0)
