"""A search as it is played again: everybody once, where they are, in order, and counted as the run counts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.explanation.where import Node, Where
from fairness_engine.explanation.where_tree import Condition
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.oracle.tested import TestedPeople
from fairness_engine.oracle.tested_sample import TestedSample
from fairness_engine.pairs import Pairs
from pages.run import replay

SCHEMA = Schema(
    (
        Column("sex", Kind.CATEGORICAL, ("0", "1"), ("woman", "man")),
        Column("job", Kind.CATEGORICAL, ("a", "b", "c"), ("clerk", "nurse", "smith")),
        Column("age", Kind.INTEGER, minimum=20, maximum=60),
        Column("income", Kind.INTEGER, minimum=0, maximum=90_000),
        Column("rate", Kind.REAL, minimum=0.0, maximum=1.0),
        Column("constant", Kind.INTEGER, minimum=3, maximum=3),
    ),
)
JOB, AGE, INCOME, RATE = 1, 2, 3, 4


@pytest.fixture
def domain() -> Domain:
    return Domain(SCHEMA.with_protected(("sex",)), Scope(("sex",)))


def searched(domain: Domain, n: int) -> tuple[TestedPeople, np.ndarray, np.ndarray]:
    """A search that found smiths, most of them old, and its rows and verdicts."""
    rng = np.random.default_rng(4)
    rows = domain.sample(n, rng)
    is_found = (rows[:, JOB] == 2) & (rows[:, AGE] > 30)
    sample = TestedSample(domain.n_columns)
    for start in range(0, n, 100):
        part = slice(start, start + 100)
        before = rows[part].copy()
        before[:, AGE] = np.clip(before[:, AGE] - 1, 20, 60)
        sample.add(rows[part], is_found[part], np.flatnonzero(is_found[part]), before.__getitem__)
        sample.name("first half" if start < n // 2 else "second half")
    return sample.people(2 * n, n, int(is_found.sum())), rows, is_found


def dots(recording: dict[str, Any]) -> list[list[Any]]:
    return [dot for step in recording["steps"] for dot in step.get("dots", [])]


def test_everybody_is_there_once_in_order_and_in_their_own_cell(domain: Domain) -> None:
    people, rows, is_found = searched(domain, 1_000)
    recording = replay.recording_of(people, domain, (JOB, AGE))
    drawn = dots(recording)
    assert [round(x) for _, x, _, _ in drawn] == rows[:, JOB].tolist()
    assert [round(y) for _, _, y, _ in drawn] == rows[:, AGE].tolist()
    assert [kind == "found" for *_, kind in drawn] == is_found.tolist()
    assert recording["axes"] == [["job", 0.0, 2.0, {"labels": ["clerk", "nurse", "smith"]}], ["age", 20.0, 60.0]]


def test_figures_end_with_the_runs_own(domain: Domain) -> None:
    people, _, is_found = searched(domain, 20_000)
    assert people.strides.tolist() != [1, 1]
    steps = replay.recording_of(people, domain, (JOB, AGE))["steps"]
    n_found = int(is_found.sum())
    assert steps[0]["progress"] == [0, 0]
    assert steps[-1]["progress"] == [20_000, n_found]
    assert steps[-1]["figures"] == {"Tested": "20\u202f000", "Found": f"{n_found:,}".replace(",", "\u202f")}
    assert all(step["figures"]["Found"].startswith("about ") for step in steps[1:-1])
    assert 2 < len(steps) <= replay.MOST_STEPS + 1
    for step in steps[1:]:
        tests, found = step["progress"]
        assert abs(found - is_found[:tests].sum()) <= people.strides[1]
    assert [step["phase"] for step in steps[1:]] == ["first half"] * 30 + ["second half"] * 30


def test_where_many_are_found_they_and_the_others_are_drawn_at_one_rate(domain: Domain) -> None:
    rng = np.random.default_rng(1)
    n = 40_000
    rows = domain.sample(n, rng)
    is_found = rng.random(n) < 0.8
    sample = TestedSample(domain.n_columns)
    sample.add(rows, is_found, np.flatnonzero(is_found), lambda at: rows[at])
    kept = sample.people(2 * n, n, int(is_found.sum()))
    assert kept.strides[0] < kept.strides[1]
    drawn = dots(replay.recording_of(kept, domain, (JOB, AGE)))
    share = sum(kind == "found" for *_, kind in drawn) / len(drawn)
    assert abs(share - 0.8) < 0.04
    thinned = replay.at_one_rate(kept)
    assert np.array_equal(thinned.origins, thinned.rows), "whoever stays keeps where they came from"
    rare = sample_of(domain, is_found=~is_found, rows=rows)
    assert replay.at_one_rate(rare) is rare, "of rare finds none is left out"


def sample_of(domain: Domain, is_found: np.ndarray, rows: np.ndarray) -> TestedPeople:
    sample = TestedSample(domain.n_columns)
    sample.add(rows, is_found, np.flatnonzero(is_found))
    return sample.people(2 * len(rows), len(rows), int(is_found.sum()))


def test_moves_are_drawn_that_are_seen_on_these_attributes(domain: Domain) -> None:
    people, rows, is_found = searched(domain, 100)
    steps = replay.recording_of(people, domain, (JOB, AGE))["steps"]
    arrows = [arrow for step in steps for arrow in step.get("arrows", [])]
    moved = rows[:, AGE] > 20  # nobody came from below 20
    assert len(arrows) == moved.sum()
    assert all(round(end - begin) == 1 and x == end_x for _, x, begin, end_x, end, _ in arrows)
    assert [kind == "hit" for *_, kind in arrows] == is_found[moved].tolist()
    others = replay.recording_of(people, domain, (JOB, INCOME))["steps"]
    assert not [arrow for step in others for arrow in step.get("arrows", [])]


def test_long_ranges_and_real_numbers_lie_along_a_line(domain: Domain) -> None:
    people, rows, _ = searched(domain, 50)
    recording = replay.recording_of(people, domain, (INCOME, RATE))
    assert [axis[3] for axis in recording["axes"]] == [{"hasCells": False}] * 2
    assert np.allclose([[x, y] for _, x, y, _ in dots(recording)], rows[:, [INCOME, RATE]], atol=0.006)


def test_the_attributes_in_which_people_found_differ_come_first(domain: Domain) -> None:
    people, _, _ = searched(domain, 4_000)
    columns = replay.most_telling(people, domain)
    assert columns[:2] == [JOB, AGE]
    assert sorted(columns) == [JOB, AGE, INCOME, RATE], "neither what is protected nor what cannot vary"
    nobody = TestedSample(domain.n_columns)
    nobody.add(domain.sample(10, np.random.default_rng(0)), np.zeros(10, bool), np.zeros(0, np.int64))
    assert sorted(replay.most_telling(nobody.people(20, 10, 0), domain)) == sorted(columns)


def test_groups_count_those_found_so_far(domain: Domain) -> None:
    people, rows, is_found = searched(domain, 1_000)
    young = Condition(AGE, 20.0, 45.0, ())
    old = Condition(AGE, 46.0, 60.0, ())
    nodes = tuple(
        Node(parent, conditions, parent == 0, 10, 5, 10, 5)
        for parent, conditions in ((-1, ()), (0, (young,)), (0, (old,)))
    )
    where = Where(Distribution.DATA, nodes, 0, 0.0, 10, Pairs.empty(domain.n_columns))
    steps = replay.recording_of(people, domain, (JOB, AGE), where)["steps"]
    for step in steps[1:]:
        tests, _ = step["progress"]
        so_far = rows[:tests][is_found[:tests]][:, AGE] <= 45
        counts = {label: int(text) for label, text, _, _ in step["panel"]}
        assert sorted(counts.values()) == sorted([int(so_far.sum()), int((~so_far).sum())])
    assert steps[-1]["panel_title"] == "Found in 2 of 2 groups"
    assert max(share for _, _, share, _ in steps[-1]["panel"]) == 1
