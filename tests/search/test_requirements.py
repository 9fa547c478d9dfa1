"""What is refused, or noted, before a search begins."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from fairness_engine.errors import FitError, ModelError, SettingError
from fairness_engine.models.model import Model, Output
from fairness_engine.search import requirements
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.technique import Technique
from handmade import biased_score, function_model, network_model, small_domain

DATA = small_domain().sample(400, np.random.default_rng(2))
NONE = np.empty((0, 5))


class Follower(Technique):
    """A technique that needs the true gradient."""

    title: ClassVar[str] = "Follower"
    needs_gradient: ClassVar[bool] = True


class Estimator(Technique):
    """A technique that estimates gradients from scores."""

    title: ClassVar[str] = "Estimator"
    estimates_gradient: ClassVar[bool] = True


def check(function: Any, rows: np.ndarray = DATA, technique: Any = None, **scope: Any) -> tuple[str, ...]:
    domain = small_domain(**scope)
    return requirements.check(function_model(function), domain, rows, technique)


def with_inputs(model: Model, *names: str) -> Model:
    model.encoder.names = names  # type: ignore[misc] - the handmade encoder has no names of its own
    return model


@pytest.mark.parametrize("rows", [DATA, NONE], ids=["data", "no data"])
@pytest.mark.parametrize("technique", [None, *TECHNIQUES.values()])
def test_a_model_that_can_be_searched_passes_in_few_evaluations(rows: np.ndarray, technique: Any) -> None:
    model = network_model()
    counted = function_model(lambda inputs: model.scores(inputs)[:, 0])
    assert requirements.check(model, small_domain(), rows, technique) == ()
    assert requirements.check(counted, small_domain(), rows) == ()
    assert 0 < counted.predictor.n_rows_asked <= 500


def test_the_same_people_are_tried_every_time() -> None:
    asked: list[np.ndarray] = []

    def score(rows: np.ndarray) -> np.ndarray:
        asked.append(rows.copy())
        return biased_score(rows)

    check(score)
    n_batches = len(asked)
    check(score)
    assert len(asked) == 2 * n_batches
    assert all(np.array_equal(a, b) for a, b in zip(asked, asked[n_batches:], strict=False))


def test_a_model_that_takes_no_protected_attribute_is_refused() -> None:
    model = with_inputs(function_model(biased_score), "age", "hours")
    with pytest.raises(FitError, match="must take a protected attribute, but sex is not among its inputs"):
        requirements.check(model, small_domain(), DATA)
    assert model.predictor.n_rows_asked == 0


def test_one_of_several_protected_attributes_that_is_not_taken_is_noted_with_what_it_costs() -> None:
    model = with_inputs(function_model(biased_score), "sex", "age", "hours", "wealth")
    (note,) = requirements.check(model, small_domain(("sex", "job")), DATA)
    assert "does not take 'job'" in note
    assert "costs 3 times" in note


@pytest.mark.parametrize("n_scores", [1, 3])
def test_one_score_for_everybody_is_refused(n_scores: int) -> None:
    model = function_model(lambda rows: np.full((len(rows), n_scores), 0.25), n_scores)
    with pytest.raises(FitError, match=r"the same score.*inputs are scaled"):
        requirements.check(model, small_domain(), DATA)
    (note,) = requirements.check(model, small_domain(), DATA, refuses_one_score=False)
    assert "the same score" in note
    assert ". Check that its inputs" in note
    assert (note,) == requirements.notes_on_proofs(model, small_domain(), DATA)
    (note,) = requirements.notes_on_proofs(model, small_domain(limits={"hours": (2.0, 4.0)}), DATA)
    assert ". Widen the limits, or check that its inputs" in note


def test_a_rare_difference_of_scores_is_met_before_a_model_is_called_constant() -> None:
    """One person in 300 is scored otherwise: the first few hundred may all look alike."""

    def rare(rows: np.ndarray) -> np.ndarray:
        return np.where((rows[:, 2] == 24) & (rows[:, 3] == 5) & (rows[:, 4] == 1) & (rows[:, 1] == 0), 0.2, 0.8)

    assert check(rare, NONE) == ()


def test_a_slow_constant_model_that_was_hardly_tried_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "_MAX_SECONDS", 0.0)
    assert check(lambda rows: np.full(len(rows), 0.25)) == ()


def test_one_decision_with_scores_that_differ_is_noted_and_allowed() -> None:
    (note,) = check(lambda rows: 0.1 + 0.1 * rows[:, 4])
    assert "for '0', though their scores differ" in note
    assert check(lambda rows: 0.1 + 0.1 * rows[:, 4], score_gap=0.05) == ()


def test_scores_that_are_no_numbers_are_refused_when_all_and_noted_when_some() -> None:
    with pytest.raises(FitError, match="must give numbers, but gave none"):
        check(lambda rows: np.full(len(rows), np.nan))
    (note,) = check(lambda rows: np.where(rows[:, 0] == 0, np.nan, rows[:, 4]))
    assert "no number (NaN) for" in note
    with pytest.raises(FitError, match="must give numbers"):
        check(lambda rows: np.full(len(rows), np.inf))


def test_a_technique_that_follows_the_gradient_refuses_a_model_without_one() -> None:
    with pytest.raises(ModelError, match=r"Follower follows the true gradient.*\(function\) has none. Choose MAFT"):
        check(biased_score, technique=Follower)
    assert requirements.check(network_model(), small_domain(), DATA, Follower) == ()


def test_labels_without_scores_are_noted_for_a_technique_that_estimates_gradients() -> None:
    model = function_model(lambda rows: (biased_score(rows) > 0.5).astype(float))
    model.predictor.output = Output.LABEL
    (note,) = requirements.check(model, small_domain(), DATA, Estimator)
    assert "Estimator sees a slope only where one step changes the label" in note
    assert requirements.check(model, small_domain(), DATA, TECHNIQUES["aequitas"]) == ()
    assert len(requirements.check(model, small_domain(), DATA, TECHNIQUES["maft"])) == 1


def test_where_nothing_can_be_moved_only_techniques_that_move_nothing_work() -> None:
    domain = small_domain(fixed=("job", "age", "hours", "wealth"))
    for technique in TECHNIQUES.values():
        if not technique.moves_rows:
            assert requirements.check(network_model(), domain, DATA, technique) == ()
        else:
            with pytest.raises(SettingError, match=r"moves attributes, but none is left.*choose the data scan"):
                requirements.check(network_model(), domain, DATA, technique)


def test_rows_outside_the_domain_are_not_tried() -> None:
    asked: list[np.ndarray] = []

    def score(rows: np.ndarray) -> np.ndarray:
        asked.append(rows.copy())
        return biased_score(rows)

    check(score, limits={"hours": (0.0, 4.0)})
    assert np.concatenate(asked)[:, 3].max() <= 4


# --- from the fit card --------------------------------------------------------------------------

CARD = {
    "kind": "forest of 10 trees",
    "output": {"kind": "probability", "min": 0.1, "max": 0.9},
    "uses_protected": {"sex": True, "race": True},
    "has_gradient": False,
}


def test_the_card_refuses_what_the_check_refuses() -> None:
    assert requirements.why_not(Estimator, CARD, ("sex",)) is None
    assert "has none. Choose MAFT" in (requirements.why_not(Follower, CARD, ("sex",)) or "")
    blind = {**CARD, "uses_protected": {"sex": False, "race": False}}
    assert "does not take sex and race, so a search" in (requirements.why_not(Estimator, blind, ("sex", "race")) or "")
    constant = {**blind, "output": {"kind": "probability", "min": 0.5, "max": 0.5}}
    assert "everybody the same score (0.5)" in (requirements.why_not(Estimator, constant, ("sex",)) or "")
    labels = {**CARD, "output": {"kind": "label", "min": 0.0, "max": 1.0}}
    assert "labels only" in (requirements.why_not(Follower, labels, ("sex",)) or "")


def test_the_card_notes_an_unused_attribute_and_labels() -> None:
    used = {**CARD, "uses_protected": {"sex": True, "race": False}}
    (note,) = requirements.notes_of(Estimator, used, ("sex", "race"))
    assert "No score changed with 'race'" in note
    assert requirements.notes_of(Estimator, CARD, ("sex", "race")) == ()
    labels = {**CARD, "output": {"kind": "label"}}
    assert "Estimator sees a slope" in requirements.notes_of(Estimator, labels, ("sex",))[0]


def test_an_old_card_that_does_not_tell_of_gradients_leaves_it_to_the_check() -> None:
    old = {name: value for name, value in CARD.items() if name != "has_gradient"}
    assert requirements.why_not(Follower, old, ("sex",)) is None
    assert requirements.why_not(Follower, {}, ("sex",)) is None
