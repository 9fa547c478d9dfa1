"""Where a model discriminates: the box of a model whose discrimination is known, honest shares, plain words."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import handmade
from fairness_engine import clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import ProcessError, SettingError
from fairness_engine.explanation import where
from fairness_engine.explanation.where import Where, WhereSettings, find_where, leaf_of, where_from_json, where_to_json
from fairness_engine.explanation.where_tree import Condition, all_hold, learn_groups, roundest, sentence
from fairness_engine.intervals import share_interval
from fairness_engine.oracle.domain import Distribution, Domain, Scope

NO_DATA = np.empty((0, 5))
UNIFORM = WhereSettings(Distribution.UNIFORM)


def is_in_box(rows: np.ndarray) -> np.ndarray:
    """Whom ``biased_score`` treats differently by sex: refused as women, hired as men."""
    return (rows[:, 3] >= 3) & (rows[:, 3] <= 6) & (rows[:, 2] < 26) & (rows[:, 4] > 0.5)


def biased() -> Where:
    return find_where(handmade.function_model(handmade.biased_score), handmade.small_domain(), NO_DATA, UNIFORM)


def test_the_leaf_with_share_1_is_exactly_the_box() -> None:
    found = biased()
    everybody = handmade.all_individuals(handmade.small_domain())
    leaves = leaf_of(found.nodes, everybody)
    certain = [i for i in found.leaves if found.nodes[i].share == 1]
    assert len(certain) == 1
    assert np.array_equal(leaves == certain[0], is_in_box(everybody))
    assert {i for i in found.leaves if found.nodes[i].n_hits} == set(certain)
    assert sentence(found.nodes[certain[0]].conditions, handmade.small_domain()) == (
        "age at most 25 and hours 3 to 6 and wealth at least 0.75"
    )


def test_its_figures_say_that_the_tree_is_right() -> None:
    found = biased()
    assert found.coverage[0] == 1
    assert found.coverage[1] == pytest.approx(0.6 * 0.4 * 0.4, abs=0.02), "the box's share of the space"
    leaves, one_answer = found.accuracy
    assert leaves == 1
    assert one_answer == pytest.approx(1 - 0.096, abs=0.02)
    assert found.root.n + found.root.n_learnt == 40_000 == found.n_wanted
    assert sum(found.nodes[i].n for i in found.leaves) == found.root.n
    assert found.evaluations == 2 + 2 * 40_000 + 2 * len(found.examples)


def test_the_leaves_part_all_rows_also_those_that_were_not_seen() -> None:
    found = biased()
    everybody = handmade.all_individuals(handmade.small_domain())
    held = np.stack([all_hold(found.nodes[i].conditions, everybody) for i in found.leaves])
    assert (held.sum(axis=0) == 1).all()


def test_examples_are_pairs_of_their_leaf() -> None:
    found = biased()
    domain = handmade.small_domain()
    assert 0 < len(found.examples) <= where.N_EXAMPLES
    assert is_in_box(found.examples.first).all()
    assert (found.examples.decision_first != found.examples.decision_second).all()
    differing = (found.examples.first != found.examples.second).any(axis=0)
    assert set(np.flatnonzero(differing)) <= set(domain.protected.tolist())


def test_rows_of_the_data_give_shares_of_the_data() -> None:
    domain = handmade.small_domain()
    everybody = handmade.all_individuals(domain)
    data = np.concatenate([everybody[is_in_box(everybody)]] * 5 + [everybody])
    found = find_where(handmade.function_model(handmade.biased_score), domain, data, WhereSettings())
    share = is_in_box(data).mean()
    assert found.distribution is Distribution.DATA
    assert found.root.n + found.root.n_learnt == len(data)
    both = (found.root.n_hits + found.root.n_learnt_hits) / len(data)
    assert both == pytest.approx(share, abs=1e-12)


def test_the_same_seed_gives_the_same_groups() -> None:
    assert biased().nodes == biased().nodes


def test_shares_are_of_rows_that_the_tree_did_not_see() -> None:
    """Verdicts that follow from nothing: the tree finds no groups, or such whose held-out share is everybody's."""
    domain = handmade.small_domain()
    rng = np.random.default_rng(0)
    noise = (
        rng.random((10, 10, 5, 3)) < 0.3
    )  # a table by age, hours, wealth and job: no condition tells it in a few words

    def score(rows: np.ndarray) -> np.ndarray:
        places = (
            (rows[:, 2] - 20).astype(int),
            rows[:, 3].astype(int),
            (4 * rows[:, 4]).astype(int),
            rows[:, 1].astype(int),
        )
        return np.where(noise[places] & (rows[:, 0] == 0), 0.1, 0.9)

    found = find_where(handmade.function_model(score), domain, NO_DATA, WhereSettings(Distribution.UNIFORM, 2))
    for i in found.leaves:
        node = found.nodes[i]
        true = noise_share(noise, node.conditions, domain)
        assert node.share == pytest.approx(true, abs=0.03)


def noise_share(noise: np.ndarray, conditions: tuple[Condition, ...], domain: Domain) -> float:
    """The share of a group among all individuals, by enumeration."""
    rows = handmade.all_individuals(domain)
    rows = rows[all_hold(conditions, rows)]
    places = (
        (rows[:, 2] - 20).astype(int),
        rows[:, 3].astype(int),
        (4 * rows[:, 4]).astype(int),
        rows[:, 1].astype(int),
    )
    return float(noise[places].mean())


@pytest.mark.parametrize(("score", "share"), [(lambda rows: rows[:, 4], 0), (lambda rows: rows[:, 0], 1)])
def test_nobody_or_everybody_is_one_leaf(score: Callable[[np.ndarray], np.ndarray], share: float) -> None:
    found = find_where(handmade.function_model(score), handmade.small_domain(), NO_DATA, UNIFORM)
    assert len(found.nodes) == 1
    assert found.root.share == share
    assert found.flagged == []
    assert found.root.interval == share_interval(share * 20_000, 20_000)


def test_chance_makes_no_groups() -> None:
    domain = handmade.small_domain()
    rng = np.random.default_rng(4)
    rows = domain.sample(4000, rng)
    assert len(learn_groups(domain, rows, rng.random(4000) < 0.2, 4)) <= 3


def test_a_set_of_labels_is_found_whatever_their_order() -> None:
    labels = tuple("abcdefgh")
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
            Column("town", Kind.CATEGORICAL, codes=tuple(range(8)), labels=labels),
            Column("size", Kind.REAL, minimum=0.0, maximum=10.0),
        )
    )
    domain = Domain(schema, Scope(("sex",)))
    bad = (1.0, 4.0, 7.0)

    def score(rows: np.ndarray) -> np.ndarray:
        return np.where((rows[:, 0] == 0) & np.isin(rows[:, 1], bad) & (rows[:, 2] > 2.5), 0.1, 0.9)

    found = find_where(handmade.function_model(score), domain, np.empty((0, 3)), UNIFORM)
    worst = found.nodes[found.leaves[0]]
    assert worst.share is not None
    assert worst.share > 0.995
    assert sentence(worst.conditions, domain) == "town is b, e or h and size above 2.5"
    rest = [sentence(found.nodes[i].conditions, domain) for i in found.leaves if not found.nodes[i].n_hits]
    assert "town is none of b, e and h" in rest


def test_one_label_is_asked_for_alone() -> None:
    def score(rows: np.ndarray) -> np.ndarray:
        return np.where((rows[:, 0] == 0) & (rows[:, 1] == 1), 0.1, 0.9)

    found = find_where(handmade.function_model(score), handmade.small_domain(), NO_DATA, UNIFORM)
    texts = [sentence(found.nodes[i].conditions, handmade.small_domain()) for i in found.leaves]
    assert texts == ["job is nurse", "job is not nurse"]


def test_groups_speak_of_what_the_model_takes_and_never_of_protected_attributes() -> None:
    domain = Domain(handmade.small_schema(), Scope(("sex",)), ("sex", "age", "hours"))
    found = find_where(handmade.function_model(handmade.biased_score), domain, NO_DATA, UNIFORM)
    assert {condition.column for node in found.nodes for condition in node.conditions} <= {2, 3}


def test_a_slow_model_is_asked_for_as_long_as_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def slow(rows: np.ndarray) -> np.ndarray:
        nonlocal now
        now += len(rows) / 1000  # 1,000 rows a second
        return handmade.biased_score(rows)

    for reads in ("perf_counter", "process_time"):
        monkeypatch.setattr(clock.time, reads, lambda: now)
    found = find_where(handmade.function_model(slow), handmade.small_domain(), NO_DATA, UNIFORM)
    assert 1_500 <= found.root.n + found.root.n_learnt <= 2_300, "4 s of 1,000 rows, two variants each"
    assert found.n_wanted == 40_000


@pytest.mark.thorough
def test_a_machine_that_stands_still_for_seconds_makes_the_answer_no_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = biased()
    stood_still = 0.0
    reads = time.perf_counter

    def paused(rows: np.ndarray) -> np.ndarray:
        nonlocal stood_still
        stood_still = 8.0 if len(rows) > 2 else 0.0  # in a batch of the sample; the first call is not counted at all
        return handmade.biased_score(rows)

    monkeypatch.setattr(clock.time, "perf_counter", lambda: reads() + stood_still)
    found = find_where(handmade.function_model(paused), handmade.small_domain(), NO_DATA, UNIFORM)
    assert stood_still
    assert found.nodes == expected.nodes


def test_too_few_rows_are_refused_in_a_sentence() -> None:
    model = handmade.function_model(handmade.biased_score)
    domain = handmade.small_domain()
    with pytest.raises(SettingError, match="At least 20 rows of the data must lie in the ranges of the scope, got 3"):
        find_where(model, domain, handmade.all_individuals(domain)[:3], WhereSettings())
    with pytest.raises(SettingError, match="must decide 40 rows within 1e-09 s"):
        find_where(model, domain, NO_DATA, WhereSettings(Distribution.UNIFORM, max_seconds=1e-9))


@pytest.mark.parametrize("settings", [{"max_depth": 0}, {"max_depth": 7}, {"distribution": Distribution.PERTURBED}])
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        WhereSettings(**settings)


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition(1, positions=(1,)), "job is nurse"),
        (Condition(1, positions=(0, 2)), "job is not nurse"),
        (Condition(2, 20, 25), "age at most 25"),
        (Condition(2, 26, 29), "age at least 26"),
        (Condition(2, 22, 25), "age 22 to 25"),
        (Condition(2, 22, 22), "age is 22"),
        (Condition(2, 20, 29), "age of any size"),
        (Condition(4, 0.25, 0.75), "wealth 0.25 to 0.75"),
    ],
)
def test_a_condition_reads_like_a_sentence(condition: Condition, expected: str) -> None:
    assert sentence((condition,), handmade.small_domain()) == expected


def test_a_continuous_range_names_its_threshold_once() -> None:
    schema = Schema(
        (Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")), Column("w", Kind.REAL, minimum=0, maximum=1))
    )
    domain = Domain(schema, Scope(("sex",)))
    above = float(np.nextafter(0.3, 1))
    assert sentence((Condition(1, 0.0, 0.3),), domain) == "w at most 0.3"
    assert sentence((Condition(1, above, 1.0),), domain) == "w above 0.3"
    assert sentence((Condition(1, above, 0.7),), domain) == "w above 0.3 and at most 0.7"


def test_many_labels_are_counted() -> None:
    column = Column("x", Kind.CATEGORICAL, codes=tuple(range(20)), labels=tuple(f"v{i}" for i in range(20)))
    assert Condition(0, positions=(0, 1, 2, 3, 4)).text(column, (0, 19), 3) == "x is v0, v1 or 3 more values"
    assert Condition(0, positions=tuple(range(2, 20))).text(column, (0, 19)) == "x is none of v0 and v1"


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [(25, 26, 25.5), (3, 7, 5), (5013, 5060, 5040), (0.1234, 0.1299, 0.127), (-3.0, 4.0, 0.5), (0.0, 1e-12, 5e-13),
        (1.0, np.nextafter(1, 2), 1.0)],
)  # fmt: skip
def test_a_cut_falls_on_a_round_number(below: float, above: float, expected: float) -> None:
    number = roundest(below, above)
    assert below <= number < above
    assert number == expected


# --- travel --------------------------------------------------------------------------------------


def test_what_was_found_travels_unchanged() -> None:
    found = biased()
    content = json.loads(json.dumps(where_to_json(found)))
    read = where_from_json(content, handmade.small_domain(), found.examples)
    assert (read.nodes, read.distribution, read.evaluations) == (found.nodes, found.distribution, found.evaluations)


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    content = copy.deepcopy(where_to_json(biased()))
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["nodes"], []),
        (["nodes"], 3),
        (["distribution"], "perturbed people"),
        (["seconds"], float("inf")),
        (["evaluations"], -1),
        (["nodes", 0, "parent"], 0),
        (["nodes", 1, "parent"], 5),
        (["nodes", 1, "counts"], [1, 2, 3]),
        (["nodes", 1, "counts"], [1, 2, 3, 4]),
        (["nodes", 1, "conditions", 0, "column"], 17),
        (["nodes", 1, "conditions", 0, "low"], float("nan")),
        (["nodes", 1, "conditions"], [{"column": 1, "positions": [3]}]),
        (["nodes", 1, "conditions"], [{"column": 1, "positions": []}]),
        (["nodes", 0, "is_leaf"], True),
    ],
)
def test_what_cannot_be_is_refused(path: list[Any], value: Any) -> None:
    with pytest.raises(ProcessError, match="broke its protocol"):
        where_from_json(changed(path, value), handmade.small_domain(), biased().examples)
