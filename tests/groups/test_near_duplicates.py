"""Near-duplicates: shown once, and nothing clearly higher hidden."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import Ran, categories, numbers, sample_case, small_run, space_of

from fairness_engine.groups.rule_sets import ranking
from fairness_engine.groups.rule_sets.mining import NO_RULE, GroupIndex, mine, rests
from fairness_engine.groups.rule_sets.ranking import LOSS, NESTED, OVERLAP, Groups, fold
from fairness_engine.groups.rule_sets.sampling import RowCounts
from fairness_engine.groups.rule_sets.scoring import count
from fairness_engine.groups.rule_sets.settings import RuleSettings


def groups_of(space: GroupIndex, decided: np.ndarray, support: float = 0.05) -> Groups:
    """Every frequent rule set of rows that were decided so, the highest score first."""
    mined = mine(space, RuleSettings(support=support))
    counts = count(space, mined.rules, RowCounts(np.ones(space.n_rows), decided.astype(float)))
    order = np.argsort(-counts.score, kind="stable")
    is_rest = (space.n_rows - mined.n_rows < support * space.n_rows)[order]
    is_harmed = (counts.inside < counts.outside)[order]
    return Groups(mined.rules[order], mined.n_rows[order], counts.score[order], is_harmed, is_rest)


def overlap(first: set[int], second: set[int], everyone: set[int]) -> float:
    """Of the side where two groups agree least."""
    sides = ((first, second), (everyone - first, everyone - second))
    return min(len(a & b) / len(a | b) for a, b in sides)


@st.composite
def decided_spaces(draw: st.DrawFn) -> tuple[GroupIndex, np.ndarray]:
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    attributes = [
        numbers(f"a{i}", n) if draw(st.booleans()) else categories(f"a{i}", min(n, 3)) for i, n in enumerate(sizes)
    ]
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(10, 120))
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [attribute.n_values for attribute in attributes], (n, len(sizes)))
    codes[:2] = [[0], [1]]  # never one value only
    decided = rng.random(n) < rng.random(attributes[0].n_values)[codes[:, 0]]
    return space_of(*attributes, codes=codes), decided


@settings(max_examples=60)
@given(decided_spaces())
def test_a_family_is_nearly_the_same_people_and_hides_nothing_clearly_higher(
    case: tuple[GroupIndex, np.ndarray],
) -> None:
    space, decided = case
    groups = groups_of(space, decided)
    head = fold(space, groups)
    everyone = set(range(space.n_rows))
    inside = [set(np.flatnonzero(line).tolist()) for line in space.inside(groups.rules)]
    assert (head >= 0).all()
    np.testing.assert_array_equal(head[head], head)
    for shown in set(head.tolist()):
        members = np.flatnonzero(head == shown)
        founder = int(members[0])
        assert groups.score[shown] >= (1 - LOSS) * groups.score[founder] - 1e-12
        for member in members.tolist():
            is_turned = groups.is_harmed[member] != groups.is_harmed[shown]
            people = everyone - inside[member] if is_turned else inside[member]
            shared = overlap(people, inside[shown], everyone)
            is_part = people <= inside[shown] or people >= inside[shown]
            assert shared > OVERLAP or (shared > NESTED and is_part)


@pytest.mark.thorough
@settings(max_examples=25)
@given(decided_spaces())
def test_folding_is_what_comparing_people_one_by_one_gives(case: tuple[GroupIndex, np.ndarray]) -> None:
    space, decided = case
    groups = groups_of(space, decided)
    np.testing.assert_array_equal(fold(space, groups), plain_fold(space, groups))


def plain_fold(space: GroupIndex, groups: Groups) -> list[int]:
    """The rule of ``fold`` with sets of people."""
    n = len(groups.rules)
    everyone = set(range(space.n_rows))
    inside = [set(np.flatnonzero(line).tolist()) for line in space.inside(groups.rules)]
    size = [int((line != NO_RULE).sum()) for line in groups.rules]
    head = [-1] * n

    def seen_from(i: int, j: int) -> set[int]:
        return inside[j] if groups.is_harmed[i] == groups.is_harmed[j] else everyone - inside[j]

    def said(j: int) -> int:  # how much a reader must read
        n = 0
        for attribute, rule in zip(space.attributes, groups.rules[j].tolist(), strict=True):
            values = attribute.values_of(rule).tolist() if rule != NO_RULE else []
            if attribute.is_number and values:
                n += (values[0] > 0) + (values[-1] < attribute.n_values - 1)
            elif values:
                n += min(len(values), attribute.n_values - len(values) + 1)
        return n

    def is_same(i: int, j: int) -> bool:
        return overlap(inside[i], seen_from(i, j), everyone) > OVERLAP

    def is_wider(i: int, j: int) -> bool:  # j does without a condition of i
        other = seen_from(i, j)
        return size[j] < size[i] and inside[i] <= other and overlap(inside[i], other, everyone) > NESTED

    def is_part(i: int, j: int) -> bool:  # j is on a part of the people of i, or of the others
        people = inside[i] if groups.is_harmed[i] == groups.is_harmed[j] else everyone - inside[i]
        return inside[j] <= people and overlap(inside[j], people, everyone) > NESTED

    for founder in range(n):
        if head[founder] >= 0:
            continue
        free = [j for j in range(n) if head[j] < 0]
        floor = (1 - LOSS) * groups.score[founder]
        near = [j for j in free if groups.score[j] >= floor and (is_same(founder, j) or is_wider(founder, j))]
        shown = min(
            {founder, *near},
            key=lambda j: (groups.is_rest[j], not groups.is_harmed[j], size[j], said(j), -groups.n_rows[j], j),
        )
        for j in free:
            if j in (founder, shown) or is_same(shown, j) or is_part(shown, j):
                head[j] = shown
    return head


def people(ran: Ran, position: int) -> list:
    return ran.result.rule_set_json(position)["rules"]


def heads_of(ran: Ran) -> list[int]:
    scored = ran.result.scored
    return [i for i in range(len(scored)) if scored.head[i] == i]


def test_women_and_men_are_one_finding_shown_as_the_harmed_one() -> None:
    for harmed in (0, 1):
        ran = small_run(
            lambda rows, harmed=harmed: np.where(rows[:, 0] == harmed, 0.1, 0.9), protected=("sex",), error=0
        )
        scored = ran.result.scored
        assert len(scored) == 2
        (shown,) = heads_of(ran)
        assert people(ran, shown) == [{"column": "sex", "values": ["FM"[harmed]]}]
        assert scored.is_harmed[shown]
        assert scored.head.tolist() == [shown, shown]
        assert ran.summary["n_shown"] == 1


def test_groups_of_the_same_rows_are_folded() -> None:
    """Nobody is 0 or 1 year: ranges that begin there hold the same people."""
    codes = [[2]] * 40 + [[3]] * 60 + [[4]] * 50
    space = space_of(numbers("age", 5), codes=codes)
    groups = groups_of(space, np.repeat([0, 1, 1], [40, 60, 50]))
    head = fold(space, groups)
    inside = space.inside(groups.rules)
    for first, second in itertools.combinations(range(len(groups.rules)), 2):
        if (inside[first] == inside[second]).all() or (inside[first] == ~inside[second]).all():
            assert head[first] == head[second]
    top = head[0]
    assert inside[top].tolist() == [True] * 40 + [False] * 110  # harmed; the widest range of the three that hold them
    assert space.attributes[0].values_of(int(groups.rules[top, 0])).tolist() == [0, 1, 2]


def test_a_condition_that_hardly_changes_who_is_meant_is_done_without() -> None:
    shares = {(0, 0): 30, (0, 1): 30, (0, 2): 30, (1, 0): 70, (1, 1): 70, (1, 2): 50}  # in each of six groups
    sizes = {0: 200, 1: 200, 2: 100}
    codes = [key for key in shares for _ in range(sizes[key[1]])]
    decided = np.array(
        [i < sizes[key[1]] * share // 100 for key, share in shares.items() for i in range(sizes[key[1]])]
    )
    space = space_of(categories("sex", 2), categories("race", 3), codes=codes)
    groups = groups_of(space, decided)
    head = fold(space, groups)
    assert (groups.rules[0] != NO_RULE).sum() == 2  # the highest has a condition on race
    assert groups.rules[head[0]].tolist() == [0, NO_RULE]  # and is shown as what it is: the first sex, harmed


def test_a_clearly_higher_part_of_a_group_is_not_folded_under_it() -> None:
    """Ten in eleven of a group are the same people, but the eleventh makes all the difference."""
    codes = np.repeat([[0], [1], [2]], [100, 40, 300], axis=0)
    space = space_of(numbers("age", 3), codes=codes)
    decided = np.concatenate([np.zeros(100), np.ones(40), np.arange(300) % 2])
    groups = groups_of(space, decided)
    head = fold(space, groups)
    narrow, wide = (next(i for i, line in enumerate(space.inside(groups.rules)) if line.sum() == n) for n in (100, 140))
    assert groups.score[narrow] > 1.5 * groups.score[wide]
    assert head[narrow] != head[wide]


def test_rests_are_marked_and_do_not_swallow_each_other() -> None:
    """All but the first and all but the last hold 97 of 100 alike, and speak of quite different people."""
    codes = np.repeat([[0], [1], [2]], [30, 940, 30], axis=0)
    space = space_of(categories("town", 3), codes=codes)
    decided = np.concatenate([np.zeros(30), np.arange(940) % 2, np.zeros(30)])
    groups = groups_of(space, decided)
    head = fold(space, groups)
    rests = [i for i, n in enumerate(groups.n_rows.tolist()) if n == 970]
    assert groups.is_rest[rests].all()
    assert len({head[i] for i in rests}) == 2


def test_rests_in_a_run() -> None:
    ran = sample_case("credit", "credit_planted", ("age", "sex")).run(edges="round")
    scored = ran.result.scored
    n_rows = ran.result.n_rows
    np.testing.assert_array_equal(scored.is_rest, n_rows - scored.n_rows < 0.05 * n_rows)
    assert 0 < scored.is_rest.sum() == ran.summary["n_rest"] < len(scored)


def test_with_a_large_support_a_fifth_of_all_people_is_no_rest() -> None:
    inside = np.array([699, 700, 850, 900, 901, 999])
    assert rests(RuleSettings(support=0.05), inside, 1000).tolist() == [False, False, False, False, False, True]
    assert rests(RuleSettings(support=0.7), inside, 1000).tolist() == [False, False, False, False, True, True]


def test_no_more_than_the_highest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    space = space_of(*(numbers(f"a{i}", 8) for i in range(2)), codes=rng.integers(0, 8, (500, 2)))
    groups = groups_of(space, rng.random(500) < 0.5)
    everything = fold(space, groups)
    monkeypatch.setattr(ranking, "LEAST_FOLDED", 100)
    monkeypatch.setattr(ranking, "_WORK", 0)
    head = fold(space, groups)
    assert (head[100:] == -1).all()
    assert (head[:100] >= 0).all()
    assert (head[:100] < 100).all()
    assert (everything >= 0).all()


def test_more_are_looked_at_where_people_differ_little() -> None:
    few, many = (
        space_of(*(numbers(f"a{i}", n) for i in range(2)), codes=list(itertools.product(range(n), range(n))))
        for n in (8, 50)
    )
    assert ranking.n_folded(few, 100) == 100
    assert ranking.n_folded(few, 100_000) == ranking.MOST_FOLDED
    assert ranking.n_folded(many, 100_000) == ranking.LEAST_FOLDED


def test_of_many_different_people_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of 500 of 4,000 takes nobody for the same who are half others."""
    rng = np.random.default_rng(2)
    space = space_of(*(numbers(f"a{i}", 8) for i in range(3)), codes=rng.integers(0, 8, (4000, 3)))
    groups = groups_of(space, rng.random(4000) < space.codes[:, 0] / 8, support=0.3)
    whole = fold(space, groups)
    monkeypatch.setattr(ranking, "MAX_PEOPLE", 500)
    head = fold(space, groups)
    np.testing.assert_array_equal(head[head[head >= 0]], head[head >= 0])
    inside = space.inside(groups.rules)
    everyone = set(range(4000))
    folded = [i for i in range(len(head)) if head[i] not in (-1, i)]
    assert len(folded) > 100
    for i in folded[:100]:
        people = inside[i] if groups.is_harmed[i] == groups.is_harmed[head[i]] else ~inside[i]
        shown = inside[head[i]]
        assert overlap(set(np.flatnonzero(people)), set(np.flatnonzero(shown)), everyone) > 0.5
    monkeypatch.setattr(ranking, "MAX_PEOPLE", 8**3)
    np.testing.assert_array_equal(fold(space, groups), whole)


def test_the_plainer_of_two_alike_is_shown() -> None:
    """Hardly anybody is of the third race: with it or without it are the same people, and the shorter one is shown."""
    codes = [(0, 0)] * 100 + [(0, 1)] * 95 + [(0, 2)] * 5 + [(1, 0)] * 100 + [(1, 1)] * 95 + [(1, 2)] * 5
    space = space_of(categories("sex", 2), categories("race", 4), codes=codes)
    decided = np.array([sex != 0 or race not in (0, 2) for sex, race in codes])
    groups = groups_of(space, decided)
    top = int(fold(space, groups)[0])
    rules = [space.attributes[i].rule_json(int(rule)) for i, rule in enumerate(groups.rules[top]) if rule != NO_RULE]
    assert rules == [{"column": "sex", "values": ["sex0"]}, {"column": "race", "values": ["race0"]}]


def test_many_rows_are_counted_as_exactly_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    space = space_of(*(numbers(f"a{i}", 5) for i in range(2)), codes=rng.integers(0, 5, (400, 2)))
    groups = groups_of(space, rng.random(400) < space.codes[:, 0] / 5)
    expected = fold(space, groups)
    monkeypatch.setattr(ranking, "_EXACT_FLOAT32", 0)
    np.testing.assert_array_equal(fold(space, groups), expected)
    monkeypatch.setattr(ranking, "_FEW_PEOPLE", 0)
    np.testing.assert_array_equal(fold(space, groups), expected)
