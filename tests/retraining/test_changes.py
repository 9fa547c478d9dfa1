"""Who is decided differently: groups counted by hand, intersections, ranges of numbers, figures of fairlearn, and the
cases.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import many_variants
from fairness_engine.codec import encode
from fairness_engine.groups.figures.report import FigureSettings, report_from_json
from fairness_engine.models.model import Model
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.evaluation.changes import changes
from fairness_engine.retraining.evaluation.measure import UNLIMITED, Examined, Meter
from fairness_engine.retraining.evaluation.protected_groups import ProtectedGroups, group_numbers, large_groups
from fairness_engine.retraining.evaluation.split import Split, split_rows
from fairness_engine.retraining.results import Changes
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.trainer import Binding
from retraining_cases import sample_subject, subject_of

PROTECTED = ("sex", "age")


@pytest.fixture(scope="module")
def subject() -> RetrainingTask:
    return sample_subject("census_income_tree.skops", *PROTECTED)


@pytest.fixture(scope="module")
def parts(subject: RetrainingTask) -> Split:
    return split_rows(subject.dataset, 0.2, 0.15)


@pytest.fixture(scope="module")
def other(subject: RetrainingTask, parts: Split) -> Model:
    """A smaller tree of the same rows."""
    data = subject.dataset
    assert data.labels is not None
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(
        data.rows[parts.train], data.labels[parts.train]
    )
    return Binding(data.schema, data.classes, subject.model.favourable, None).of_fitted(tree)


@pytest.fixture(scope="module")
def examined(subject: RetrainingTask, parts: Split, other: Model) -> tuple[Meter, Examined, Examined]:
    data = subject.dataset
    assert data.labels is not None
    people = subject.domain.sample(300, np.random.default_rng(0), data.rows)
    meter = Meter(subject.domain, people, data.rows[parts.test], data.labels[parts.test])
    return meter, meter.examine(subject.model), meter.examine(other)


@pytest.fixture(scope="module")
def found(subject: RetrainingTask, parts: Split, other: Model, examined: tuple[Meter, Examined, Examined]) -> Changes:
    oracle = Oracle(subject.model, subject.domain, UNLIMITED)
    oracle.probe(subject.dataset.rows[parts.train[:400]])
    cases = oracle.take_found()
    assert len(cases) > 20
    meter, *both = examined
    return changes(subject, (subject.model, other), (both[0], both[1]), parts, meter, cases)


def test_groups_are_counted_as_by_hand(subject: RetrainingTask, parts: Split, other: Model, found: Changes) -> None:
    rows = subject.dataset.rows[parts.test]
    good = subject.model.favourable
    was, now = (model.decide(model.scores(rows)) == good for model in (subject.model, other))
    women = rows[:, subject.dataset.schema.index("sex")] == subject.dataset.schema.column("sex").labels.index("Female")
    group = next(one for one in found.groups if one.labels == ("Female",))
    assert (group.n, group.n_before, group.n_after) == (women.sum(), was[women].sum(), now[women].sum())
    assert (group.n_better, group.n_worse) == ((women & now & ~was).sum(), (women & was & ~now).sum())
    assert group.n_better + group.n_worse > 0


def test_numbers_are_cut_into_ranges_and_intersections_are_large_enough(found: Changes, parts: Split) -> None:
    by_age = [one for one in found.groups if one.names == ("age",)]
    assert 3 < len(by_age) <= 12
    assert all(" to " in one.labels[0] for one in by_age)
    assert sum(one.n for one in by_age) == len(parts.test)
    both = [one for one in found.groups if one.names == PROTECTED]
    assert both
    assert all(one.n >= 0.02 * len(parts.test) for one in both)
    assert all(len(one.labels) == 2 for one in both)


def test_accuracy_and_shares_change_as_the_figures_say(
    found: Changes, examined: tuple[Meter, Examined, Examined]
) -> None:
    _, before, after = examined
    gap = after.measured.quality.accuracy.value - before.measured.quality.accuracy.value
    assert found.accuracy.value == pytest.approx(gap)
    assert found.uniform.value == pytest.approx(after.measured.uniform.share - before.measured.uniform.share)
    assert found.data.value == pytest.approx(after.measured.data.share - before.measured.data.share)
    assert found.accuracy.n_gained - found.accuracy.n_lost == round(gap * found.accuracy.n)


def test_cases_are_fixed_when_the_new_model_decides_all_variants_alike(found: Changes) -> None:
    assert 0 < found.n_fixed < found.n_cases


def test_a_model_against_itself_changes_nothing(
    subject: RetrainingTask, parts: Split, examined: tuple[Meter, Examined, Examined]
) -> None:
    meter, before, _ = examined
    oracle = Oracle(subject.model, subject.domain, UNLIMITED)
    oracle.probe(subject.dataset.rows[parts.train[:200]])
    cases = oracle.take_found()
    same = changes(subject, (subject.model, subject.model), (before, before), parts, meter, cases)
    assert all(one.n_better == one.n_worse == 0 for one in same.groups)
    assert (same.accuracy.n_gained, same.accuracy.n_lost, same.n_fixed) == (0, 0, 0)


def test_group_figures_are_those_that_pages_read(found: Changes, parts: Split) -> None:
    settings = FigureSettings((("sex",), ("age",), PROTECTED))
    for when in ("before", "after"):
        report = report_from_json(found.figures[when], settings)
        assert report.n_rows == len(parts.test)
        sex = report.tables[0]
        counted = {group.labels: group for group in found.groups if group.names == ("sex",)}
        for group in sex.groups:
            expected = counted[group.labels]
            assert group.selection.n_hits == (expected.n_before if when == "before" else expected.n_after)


def test_hundreds_of_groups_make_no_long_result(tmp_path: Path) -> None:
    many = subject_of(
        many_variants.write_model(tmp_path, "linear"), many_variants.loan_data(12_000), many_variants.HUNDREDS
    )
    rows = many.dataset.rows
    labels = many.dataset.labels
    parts = split_rows(many.dataset, 0.2, 0.15)
    assert labels is not None
    meter = Meter(many.domain, rows[:5], rows[parts.test[:5]], labels[parts.test[:5]])
    examined = replace(meter.examine(many.model), decided=many.model.decide(many.model.scores(rows[parts.test])))
    same = changes(many, (many.model, many.model), (examined, examined), parts, meter, Pairs.empty(6))
    groups = ProtectedGroups(many.dataset.schema, many_variants.PROTECTED)
    assert len(np.unique(groups.codes(rows[parts.test]), axis=0)) > 300
    assert len(json.dumps(encode(same))) < 100_000
    tables = [tuple(table["attributes"]) for table in same.figures["before"]["tables"]]
    assert tables == [(name,) for name in many_variants.PROTECTED], "the intersection has too many groups to be read"


def test_everything_travels_as_plain_json(found: Changes) -> None:
    content = encode(found)
    assert set(content) == {"groups", "n_cases", "n_fixed", "accuracy", "uniform", "data", "figures"}
    assert type(content["groups"][0]["n"]) is int
    assert set(content["accuracy"]) == {"value", "low", "high", "n_gained", "n_lost", "n"}


def test_small_groups_are_one_and_strangers_belong_to_none(subject: RetrainingTask) -> None:
    groups = ProtectedGroups(subject.dataset.schema, PROTECTED)
    codes = groups.codes(subject.dataset.rows)
    assert subject.dataset.labels is not None
    known, number = large_groups(codes, subject.dataset.labels, 60)
    assert 1 < len(known) < len(np.unique(codes, axis=0))
    for i, code in enumerate(known, start=1):
        here = (codes == code).all(axis=1)
        assert (number[here] == i).all()
        assert np.bincount(subject.dataset.labels[here], minlength=2).min() >= 60
    assert np.array_equal(group_numbers(codes, known), number)
    assert (group_numbers(known[:1] + np.array([[0, 50]]), known) == 0).all()
    assert len(groups.texts(known[0])) == 2
    assert replace(groups, names=("sex",)).codes(subject.dataset.rows).shape == (len(codes), 1)
