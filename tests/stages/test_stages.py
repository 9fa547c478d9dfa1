"""The stages: each recording is what the technique does today, and what it shows is true of the small model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from fairness_engine.errors import SettingError
from fairness_engine.events import PairsFound, Stopped
from fairness_engine.oracle.budget import Budget
from fairness_engine.retraining.settings import Strategy
from fairness_engine.search.driver import run_search
from fairness_engine.search.recording import PeopleTested, Recording
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.techniques.aequitas import Aequitas
from fairness_engine.search.techniques.random_search import RandomSearch
from fairness_engine.stages import retraining
from fairness_engine.stages.recording import record, to_text
from fairness_engine.stages.registry import MODELS, STAGES, models_of, read_recording, recording_path
from fairness_engine.stages.small_models import HIGHEST_INCOME, OLDEST, SMALL_MODELS, YOUNGEST, SmallModel

ALL = [(stage, model) for stage in STAGES for model in models_of(stage)]
SEARCHES = [each for each in ALL if each[0] in TECHNIQUES]
N_INCOMES = HIGHEST_INCOME + 1


@cache
def small(model: str) -> SmallModel:
    return SMALL_MODELS[model]()


def needed(model: str, *, is_woman: bool, age: int, missed: int) -> float:
    """The income that must be exceeded, as the stage tells the rule in words."""
    points = 0.5 * min(age - 20, 16)
    if model == "two":
        return 24.25 - points + (0.4 * max(0, 40 - age) if is_woman else 0)
    until = {0: 0, 1: 30, 2: 40}[missed]
    return 20.25 - points + 2 * missed + (0.6 * max(0, until - age) if is_woman else 0)


def letters_by_rule(model: str) -> Iterator[str]:
    """Who gets the loan by the rule in words, plane by plane."""
    for missed in range(len(small(model).planes)):
        plane = ""
        for age in range(YOUNGEST, OLDEST + 1):
            for income in range(N_INCOMES):
                woman = income > needed(model, is_woman=True, age=age, missed=missed)
                man = income > needed(model, is_woman=False, age=age, missed=missed)
                plane += {(False, False): "0", (True, True): "1", (False, True): "m", (True, False): "w"}[woman, man]
        yield plane


def letter(recording: dict[str, Any], plane: int, income: int, age: int) -> str:
    """What is decided of a person, as the recording says."""
    found: str = recording["truth"][plane][(age - YOUNGEST) * N_INCOMES + income]
    return found


@pytest.mark.parametrize("model", MODELS)
def test_the_small_model_decides_by_the_rule_that_is_told(model: str) -> None:
    assert read_recording("random", model)["truth"] == list(letters_by_rule(model))


@pytest.mark.parametrize(("stage", "model"), ALL)
def test_a_recording_is_what_the_technique_does(stage: str, model: str) -> None:
    made = record(stage, model)
    assert made.name == stage
    assert to_text(made) == recording_path(stage, model).read_text(encoding="utf-8"), (
        "python -m fairness_engine.stages.recording makes them anew"
    )


def test_a_retraining_shows_what_its_models_decide_and_none_hangs_on_the_last_bits() -> None:
    recording = read_recording("retraining", "two")
    one = small("two")
    made = [*retraining.made_by(one, Strategy.AEQUITAS), retraining.made_by(one, Strategy.VARIANTS)[1]]
    steps = recording["steps"][1:]
    assert len(steps) == len(made)
    rows = one.everybody
    for step, each in zip(steps, made, strict=True):
        (letters,) = step["decides"]
        by_sex = []
        for sex in (0.0, 1.0):
            people = rows.copy()
            people[:, 0] = sex
            scores = each.model.scores(people)[:, 0]
            assert np.abs(scores - 0.5).min() > 1e-6, "another machine may decide somebody otherwise"
            by_sex.append(scores > 0.5)
        women, men = by_sex
        assert [letter in "mw" for letter in letters] == (women != men).tolist()
        assert [letter == "1" for letter in letters] == (women & men).tolist()
        assert step["figures"]["Decided differently"] == f"{100 * (women != men).mean():.1f} %"
    assert recording["steps"][0]["decides"] == recording["truth"]


@pytest.mark.parametrize(("stage", "model"), SEARCHES)
def test_whoever_a_search_shows_as_found_is_decided_differently_and_nobody_else(stage: str, model: str) -> None:
    recording = read_recording(stage, model)
    found: set[tuple[int, int, int]] = set()
    tested: set[tuple[int, int, int]] = set()
    for step in recording["steps"]:
        for plane, income, age, kind in step.get("dots", []):
            if kind == "felt":
                continue
            assert (letter(recording, plane, income, age) in "mw") == (kind == "found")
            tested.add((plane, income, age))
            if kind == "found":
                found.add((plane, income, age))
        figures = {name: int(value.replace("\u202f", "")) for name, value in step["figures"].items()}
        assert figures["Found"] == len(found)
        assert len(tested) == figures["People tested"]
    assert found
    assert len(recording["steps"]) > 8


FROM_ANYWHERE = ("random", "aequitas")


@pytest.mark.parametrize(("stage", "model"), SEARCHES)
def test_the_first_picture_of_a_search_has_the_people_whom_it_may_begin_with(stage: str, model: str) -> None:
    first, *others = read_recording(stage, model)["steps"]
    of_the_data = {(small(model).plane_of(row), int(row[2]), int(row[1])) for row in small(model).people}
    if stage in FROM_ANYWHERE:
        assert first["waiting"] is True
    else:
        assert {tuple(place) for place in first["waiting"]} == of_the_data
        begun = next(step["dots"] for step in others if step.get("dots"))
        assert {tuple(place) for *place, kind in begun if kind != "felt"} <= of_the_data
    assert not any("waiting" in step or "dots" in first for step in others), "whoever was asked waits no more"


def test_groups_of_one_attribute_stand_beside_the_largest_of_two() -> None:
    says = next(step["says"] for step in read_recording("testsgd", "two")["steps"] if "first of all" in step["says"])
    told = re.search(r"difference of (\d+) points.*: women by (\d+) and people aged 29 or under by (\d+)\.", says)
    assert told is not None, says
    both, of_women, of_young = map(int, told.groups())
    assert both > max(of_women, of_young)
    rows = small("two").people
    granted = small("two").model.decide(small("two").model.scores(rows))
    for points, inside in ((of_women, rows[:, 0] == 0), (of_young, rows[:, 1] <= 29)):
        of_rows = 100 * (granted[~inside].mean() - granted[inside].mean())
        assert abs(points - of_rows) < 8, "of rows and their neighbours, beside the rows alone"


@pytest.mark.parametrize(("stage", "model"), SEARCHES)
def test_a_move_ends_at_somebody_who_was_tested_by_then(stage: str, model: str) -> None:
    tested: dict[tuple[int, int, int], str] = {}
    for step in read_recording(stage, model)["steps"]:
        for plane, income, age, kind in step.get("dots", []):
            tested[plane, income, age] = kind
        for plane, _, _, income, age, kind in step.get("arrows", []):
            if kind in ("hit", "miss"):
                assert (tested[plane, income, age] == "found") == (kind == "hit")


@pytest.mark.parametrize("model", MODELS)
def test_boxes_of_the_proof_share_out_the_planes_and_decide_what_is_true(model: str) -> None:
    recording = read_recording("certification", model)
    n_planes = len(recording["planes"])
    proved = 0
    for step in recording["steps"]:
        covered = np.zeros((n_planes, OLDEST - YOUNGEST + 1, N_INCOMES), np.int64)
        decided = 0
        for plane, low, high, youngest, oldest, kind in step["areas"]:
            if kind == "next":
                continue
            part = (plane, slice(youngest - YOUNGEST, oldest - YOUNGEST + 1), slice(low, high + 1))
            covered[part] += 1
            inside = {
                letter(recording, plane, income, age)
                for income in range(low, high + 1)
                for age in range(youngest, oldest + 1)
            }
            assert kind != "certified" or inside <= {"0", "1"}
            assert kind != "falsified" or inside <= {"m", "w"}
            decided += 0 if kind == "undecided" else covered[part].size
        assert (covered == 1).all()
        assert decided >= proved, "what is proved stays proved"
        proved = decided
    assert proved == covered.size


@pytest.mark.parametrize("model", MODELS)
def test_estimated_slopes_stand_beside_the_true_ones(model: str) -> None:
    """The panel of MAFT: true slopes are those of small differences, estimated ones those of a whole step."""
    recording = read_recording("maft", model)
    of_model = small(model)
    n_seen = 0
    for step in recording["steps"]:
        if not step.get("panel_title", "").startswith("Slopes"):
            continue
        plane, income, age = step["standing"][0]
        for label, text, _, _ in step["panel"]:
            name, sex = label.split(", as a ")
            column = of_model.domain.schema.names.index(name)
            row = np.array([[float(sex == "man"), age, income, *([plane] if model == "three" else [])]])
            sign = 1.0 if of_model.model.decide(of_model.model.scores(row))[0] == 1 else -1.0
            shown = float(text.split("true ")[1])
            above, below = row.copy(), row.copy()
            above[0, column] += 1e-4
            below[0, column] -= 1e-4
            slope = (of_model.model.scores(above) - of_model.model.scores(below))[0, 0] / 2e-4
            at_a_kink = abs(shown - sign * slope) > 2e-3  # a unit of the network begins there: either side is true
            kinks = {"age": age in (YOUNGEST, 30, 36, 40), "payments missed": plane == 0 or age in (30, 40)}
            assert not at_a_kink or kinks.get(name, False) or age in (30, 40), (label, text, sign * slope)
            n_seen += 1
    assert n_seen > 8


def test_groups_are_drawn_where_their_people_are() -> None:
    recording = read_recording("testsgd", "two")
    people = small("two").people
    for step in recording["steps"][1:]:
        inside = {
            (plane, age)
            for plane, low, high, youngest, oldest, _ in step["areas"]
            for age in range(youngest, oldest + 1)
            if (low, high) == (0, HIGHEST_INCOME)
        }
        share = np.mean([(int(row[0]), int(row[1])) in inside for row in people])
        of_the_data = next(text for label, text, _, _ in step["panel"] if label == "of the data")
        assert of_the_data == f"{100 * share:.0f} %"


# --- the recorder -----------------------------------------------------------------------------


@pytest.mark.parametrize("technique", [RandomSearch(batch=32), Aequitas(n_starts=60, n_steps=20)])
def test_a_recorded_search_does_what_a_search_does(technique: Any) -> None:
    of_model = small("two")
    budget = Budget(max_evaluations=700)
    events = list(run_search(technique, of_model.model, of_model.domain, of_model.people, budget, 5))
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    steps = list(Recording(technique, of_model.model, of_model.domain, of_model.people, budget, 5).steps())
    assert (steps[-1].evaluations, steps[-1].n_tried) == (stopped.evaluations, stopped.n_tried)
    found = {
        tuple(row[1:])
        for step in steps
        for tested in step.tested()
        for row, is_found in zip(tested.rows.tolist(), tested.is_found.tolist(), strict=True)
        if is_found
    }
    told = {tuple(row[1:]) for event in events if isinstance(event, PairsFound) for row in event.pairs.first.tolist()}
    assert found <= told, "the last batch, which the budget cuts short, is not recorded"
    assert len(told - found) < 32


def test_what_was_shown_is_kept_as_it_was() -> None:
    of_model = small("two")
    technique = Aequitas(n_starts=60, n_steps=20, n_rounds=1, step_attribute=0.1)
    budget = Budget(max_evaluations=2_000)
    recording = Recording(technique, of_model.model, of_model.domain, of_model.people, budget, 5)
    shares = [
        moment.attribute.tolist()
        for step in recording.steps()
        for moment in step.moments
        if not isinstance(moment, PeopleTested) and hasattr(moment, "attribute")
    ]
    assert len({json.dumps(each) for each in shares}) > 3


def test_a_stage_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(SettingError, match="A stage must be one of random, "):
        read_recording("maft", "five")
