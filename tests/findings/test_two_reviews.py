"""Two reviews side by side: who is fixed and new against everybody counted by hand, intervals against simulation, a
retraining against what it measured itself, and why anything else is not compared.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.table import read_table
from fairness_engine.findings.finding import Evidence, Level
from fairness_engine.findings.two_reviews.change import Basis, Topic, Verdict
from fairness_engine.findings.two_reviews.compare import TwoReviews, compare_reviews, with_model
from fairness_engine.findings.two_reviews.people import fates_of, identities, scan_fates
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.runs import kinds
from fairness_engine.runs.pair_fates import pair_fates
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from findings_cases import SAMPLES, assess, review_of
from retrained_runs import retrained_runs
from two_reviews_cases import NAMES, both_assessed


def found_by_hand(name: str) -> tuple[Domain, np.ndarray, np.ndarray]:
    """A sample's people, and whom its model decides in two ways: all variants of everybody, one by one."""
    sample, chosen = SAMPLES[name]
    schema = sample.schema_for(chosen)
    data = make_dataset(read_table(sample.data), schema)
    domain = Domain(schema, Scope(chosen.protected))
    model = open_model(chosen.path, schema, classes=data.classes)
    rows = data.rows[domain.contains(data.rows)]
    decided = model.decide(model.scores(domain.variants(rows).reshape(-1, domain.n_columns)))
    decided = decided.reshape(len(rows), domain.n_variants)
    return domain, rows, (decided != decided[:, :1]).any(axis=1)


def test_fixed_and_new_are_those_of_everybody_counted_by_hand(tmp_path: Path) -> None:
    store, first, second = both_assessed(tmp_path / "workspace")
    found = compare_reviews(store, first, second)
    (people,) = found.people
    assert people.is_known
    fates = fates_of(store, people, None)
    domain, rows, is_found = found_by_hand(NAMES[0])
    _, _, is_found_after = found_by_hand(NAMES[1])
    keys = domain.keys(rows)
    before, after = ({int(key) for key in keys[each]} for each in (is_found, is_found_after))
    assert (fates.n_before, fates.n_after) == (len(before), len(after))
    assert fates.n_fixed == len(before - after) > 0
    assert fates.n_new == len(after - before) > 0
    fixed = store.pairs(people.run_ids[0]).first[~fates.is_still]
    assert {int(key) for key in domain.keys(fixed)} == before - after
    row = next(row for row in found.of(Topic.SHARE) if row.change.basis is Basis.PAIRED)
    n = len(np.unique(keys))
    assert (row.n_before, row.before.value, row.after.value) == (n, len(before) / n, len(after) / n)
    assert row.change.value == pytest.approx((len(after) - len(before)) / n)


def test_both_models_asked_say_the_same_as_two_scans(tmp_path: Path) -> None:
    store, first, second = both_assessed(tmp_path / "workspace")
    (people,) = compare_reviews(store, first, second).people
    evaluator = Evaluator(store)
    try:
        asked = pair_fates(store, evaluator, *people.run_ids)
        unknown = fates_of(store, replace(people, taken=None), evaluator)
    finally:
        evaluator.close()
    stored = scan_fates(store, people.run_ids, people.taken)
    for each in (asked, unknown):
        np.testing.assert_array_equal(each.is_still, stored.is_still)
        np.testing.assert_array_equal(each.is_new, stored.is_new)


@pytest.mark.parametrize("name", ["census_income_network", "credit_network", "marketing_forest"])
def test_people_are_told_apart_as_keys_do(name: str) -> None:
    sample, chosen = SAMPLES[name]
    schema = sample.schema_for(chosen)
    for taken in (None, schema.names[2:]):
        domain = Domain(schema, Scope(chosen.protected), taken)
        some = domain.sample(400, np.random.default_rng(3))
        rows = np.concatenate([some, domain.with_variant(some[:200], np.zeros(200, dtype=np.int64))])
        _, by_key = np.unique(domain.keys(rows), return_inverse=True)
        _, by_digits = np.unique(identities(domain, rows), axis=0, return_inverse=True)
        pairs = set(zip(by_key.tolist(), by_digits.ravel().tolist(), strict=True))
        assert len(pairs) == len(set(by_key.tolist())) == len(set(by_digits.ravel().tolist()))


def test_every_kind_of_evidence_is_lined_up_each_level_apart(tmp_path: Path) -> None:
    store, first, second = both_assessed(tmp_path / "workspace")
    found = compare_reviews(store, first, second)
    assert {row.topic for row in found.rows} == set(Topic) - {Topic.RETRAINING}
    assert found.missing == ()
    assert all(row.level is Level.PROVED for row in found.of(Topic.PROOFS))
    assert all(row.level is Level.RULE for row in found.of(Topic.RULES))
    for row in found.rows:
        assert row.change.low <= row.change.value <= row.change.high, row
        assert row.change.value == pytest.approx(row.after.value - row.before.value)
    share = next(row for row in found.rows if row.what == "Share of the data's people")
    assert (share.change.basis, share.verdict) == (Basis.EXACT, Verdict.WORSE)
    bounds = found.of(Topic.PROOFS)[0]
    assert bounds.change.low == pytest.approx(bounds.after.low - bounds.before.high)
    assert {row.verdict for row in found.of(Topic.PROOFS)[1:]} == {Verdict.NONE}
    content = json.loads(json.dumps(found.to_json()))
    assert content["retraining"] is None
    assert len(content["rows"]) == len(found.rows)
    assert found == compare_reviews(store, first, second)


def test_the_other_way_round_is_the_same_with_the_other_sign(tmp_path: Path) -> None:
    store, first, second = both_assessed(tmp_path / "workspace")
    there = {row.what: row for row in compare_reviews(store, first, second).rows if row.topic is not Topic.RULES}
    back = {row.what: row for row in compare_reviews(store, second, first).rows}
    assert len(there) > 20
    for what, row in there.items():
        assert back[what].change.low == pytest.approx(-row.change.high, abs=1e-12)
        assert back[what].change.high == pytest.approx(-row.change.low, abs=1e-12)


def test_accuracy_is_the_share_of_right_decisions_and_its_interval_holds_the_paired_one(tmp_path: Path) -> None:
    from fairness_engine.intervals import paired_interval

    store, first, second = both_assessed(tmp_path / "workspace")
    (row,) = compare_reviews(store, first, second).of(Topic.ACCURACY)
    right = []
    for name in NAMES:
        sample, chosen = SAMPLES[name]
        data = make_dataset(read_table(sample.data), sample.schema_for(chosen))
        model = open_model(chosen.path, data.schema, classes=data.classes)
        right.append(model.decide(model.scores(data.rows)) == data.labels)
    assert (row.before.value, row.after.value) == (right[0].mean(), right[1].mean())
    low, high = paired_interval(int((right[1] & ~right[0]).sum()), int((right[0] & ~right[1]).sum()), row.n_before)
    assert row.change.low <= low <= high <= row.change.high


# --- a retraining -------------------------------------------------------------------------------


def test_before_and_after_a_retraining_are_its_own_figures(tmp_path: Path) -> None:
    made = retrained_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    version = store.version(made.variants.id)
    assert version is not None
    review = store.review(made.review.id)
    found = compare_reviews(store, review, with_model(review, version.model_id))
    results = kinds.results_of(store, made.variants.id)
    assert found.retraining_id == made.variants.id
    assert results.before is not None and results.after is not None and results.changes is not None  # noqa: PT018
    accuracy, uniform, data, worst = found.of(Topic.RETRAINING)
    assert (accuracy.before.value, accuracy.after.value) == (
        results.before.quality.accuracy.value,
        results.after.quality.accuracy.value,
    )
    for row, before, after, change in (
        (uniform, results.before.uniform, results.after.uniform, results.changes.uniform),
        (data, results.before.data, results.after.data, results.changes.data),
    ):
        assert (row.before.value, row.before.low, row.before.high) == (before.share, before.low, before.high)
        assert (row.after.value, row.after.low, row.after.high) == (after.share, after.low, after.high)
        assert (row.change.value, row.change.low, row.change.high) == (change.value, change.low, change.high)
        assert row.change.basis is Basis.PAIRED
        assert row.verdict is Verdict.BETTER
    assert results.worst_rule_set is not None and results.worst_rule_set.before is not None  # noqa: PT018
    assert worst.before.value == results.worst_rule_set.before.score
    followed = results.measured
    assert followed is not None
    assert found.of(Topic.PROOFS)[0].run_ids == (followed.before["certify"], followed.after["certify"])
    assert found.people[0].run_ids == (followed.before["search"], followed.after["search"])
    assert compare_reviews(store, with_model(review, version.model_id), review).retraining_id == ""


# --- what is not compared -----------------------------------------------------------------------


def reasons(found: TwoReviews) -> dict[str, str]:
    return {one.what: one.why for one in found.missing}


@pytest.mark.thorough
def test_other_attributes_and_other_limits_are_said(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    wanted = (Evidence.SCAN, Evidence.SHARE)
    first = assess(store, review_of(store, "recidivism_planted"), wanted)
    of_sex = assess(store, review_of(store, "recidivism_mlp", ("sex",)), wanted)
    found = compare_reviews(store, first, of_sex)
    assert found.is_empty
    assert reasons(found)["Data scan"] == "The first compares race and sex, the second sex."
    assert reasons(found)["Share of the data's people"] == "The first compares race and sex, the second sex."
    limited = review_of(store, "recidivism_mlp")
    assert limited.scope is not None
    limits = replace(limited.scope, limits={"earlier_offences": (0.0, 3.0)})
    limited = assess(store, store.save_review(replace(limited, scope=limits)), wanted)
    found = compare_reviews(store, first, limited)
    assert set(reasons(found).values()) == {"The two have other limits in their scopes."}


@pytest.mark.thorough
def test_of_other_data_shares_are_compared_and_people_are_not(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    wanted = (Evidence.SCAN, Evidence.SHARE, Evidence.FIGURES)
    first = assess(store, review_of(store, "recidivism_planted"), wanted)
    lines = SAMPLES["recidivism_planted"][0].data.read_text().splitlines()
    newer = store.add_file("\n".join(lines[:1501]).encode(), "december.csv", FileRole.DATA)
    second = assess(store, store.save_review(replace(review_of(store, "recidivism_mlp"), data_id=newer.id)), wanted)
    found = compare_reviews(store, first, second)
    assert any("different data" in note for note in found.notes)
    assert reasons(found) == {
        "Data scan": "The two are of different data, so nobody can be told to be the same person."
    }
    assert {row.change.basis for row in found.rows} == {Basis.INDEPENDENT}
    share = found.of(Topic.SHARE)[0]
    assert "different data" in share.note
    assert (share.n_before, share.n_after) == (4000, 1500)


def test_a_group_that_is_too_small_in_one_has_its_rate_compared_and_no_ratio(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    first = assess(store, review_of(store, "recidivism_planted", ("race",)), (Evidence.FIGURES,))
    people = read_table(SAMPLES["recidivism_planted"][0].data).frame
    few = people.drop(people.index[people["race"] == "Other"][20:])
    newer = store.add_file(few.to_csv(index=False).encode(), "december.csv", FileRole.DATA)
    second = store.save_review(replace(review_of(store, "recidivism_mlp", ("race",)), data_id=newer.id))
    found = compare_reviews(store, first, assess(store, second, (Evidence.FIGURES,)))
    compared = {row.what for row in found.of(Topic.GROUPS)}
    assert "Other: selection rate" in compared
    assert "Other: impact ratio" not in compared
    assert "Hispanic: impact ratio" in compared
    assert reasons(found) == {"Impact ratios of Other": "Under 2 % of the rows in one of the two: left out of ratios."}


def test_a_review_without_runs_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    first = assess(store, review_of(store, "recidivism_planted"), (Evidence.SHARE,))
    second = review_of(store, "recidivism_mlp")
    found = compare_reviews(store, first, second)
    assert found.is_empty
    assert "The second review has no run that has ended yet. Look at it first." in found.notes
    assert reasons(found) == {"Share of the data's people": "Only the first review has a run of it."}


def test_the_same_run_is_no_difference(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    review: Review = assess(store, review_of(store, "recidivism_planted"), (Evidence.SHARE,))
    found = compare_reviews(store, review, review)
    assert found.rows == ()
    assert found.notes == ("Both have the same model.",)
