"""What carried a decision: sentences that hold, a table that sums, a chart without markup, and the real model's
answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pair_cases
import pytest
import said
from said import OpenApp

import run_cases
from fairness_engine.errors import SettingError
from fairness_engine.explanation.shap_values import PairValues
from fairness_engine.model_process.questions import Shap
from pages.pairs import shap
from pages.shared.app import session
from pages.shared.review import questions
from run_cases import Finished

BASE = 0.4


def people(index: int = 0) -> np.ndarray:
    pairs = pair_cases.pairs()
    return np.stack([pairs.first[index], pairs.second[index]])


def explanation(contributions: list[list[float]]) -> PairValues:
    values = np.array(contributions)
    return PairValues(values, BASE + values.sum(axis=1), BASE, True, 100, 0, 0.1)


def test_the_sentence_splits_the_difference_into_what_differs_and_what_is_equal() -> None:
    found = explanation([[-0.1, 0, 0, 0.05, 0], [0.1, 0, 0, 0.25, -0.05]])
    text = shap.shap_sentence(found, pair_cases.domain(), people(), pair_cases.NAMES)
    assert text == (
        "The score for “granted” is 0.350 for person A and 0.700 for person B, 0.350 higher. Of this difference sex "
        "carries +0.200; attributes that are equal for both, and count differently for the two, +0.150, most of all "
        "age 30 with +0.200."
    )


def test_a_model_that_adds_up_is_said_to_carry_all_by_what_differs() -> None:
    found = explanation([[0.1, 0.2, 0, 0, 0.3], [-0.1, 0.1, 0, 0, 0.3]])
    text = shap.shap_sentence(found, pair_cases.domain(), people(2), pair_cases.NAMES)
    assert text.endswith("0.300 lower. sex and race carry all of it.")


def test_small_parts_of_equal_attributes_are_not_named() -> None:
    found = explanation([[0, 0, 0, 0, 0], [0.5, 0, 0.02, 0.02, 0.02]])
    text = shap.shap_sentence(found, pair_cases.domain(), people(), pair_cases.NAMES)
    assert text.endswith("count differently for the two, +0.060.")


def test_the_table_has_every_attribute_by_its_difference_and_the_sums() -> None:
    found = explanation([[-0.1, 0, 0.3, 0.05, 0], [0.1, 0, 0.3, 0.2, -0.05]])
    table = shap.shap_table(found, pair_cases.domain(), people())
    assert table["Attribute"].tolist() == ["sex", "age", "wealth", "job", "race", "Sum"]
    assert table.iloc[0, 1:3].tolist() == ["Female", "Male"]
    sums = table.iloc[-1, 3:].tolist()
    assert sums == pytest.approx([*(found.scores - BASE), found.scores[1] - found.scores[0]])
    assert table.iloc[:-1, 5].sum() == pytest.approx(sums[2])


def test_the_chart_draws_both_people_and_tells_what_differs_by_a_hatch() -> None:
    found = explanation([[-0.1, 0, 0.3, 0.05, 0], [0.1, 0, 0.3, 0.2, -0.05]])
    figure = shap.shap_chart(found, pair_cases.domain(), people(), "granted <b>")
    by_name = {trace.name: trace for trace in figure.data if trace.name}
    assert list(by_name["Person A"].x) == pytest.approx([-0.1, 0.05, 0, 0.3, 0])
    assert list(by_name["Person B"].x) == pytest.approx([0.1, 0.2, -0.05, 0.3, 0])
    assert by_name["Person A"].marker.symbol != by_name["Person B"].marker.symbol
    own = by_name["Differs between the two"]
    equal = by_name["Equal for both, counts differently"]
    assert own.x == (pytest.approx(0.2),)
    assert own.y[0] == by_name["Person A"].y[0]
    assert own.marker.pattern.shape == "/"
    assert not equal.marker.pattern.shape
    labels = [name.text for name in figure.layout.annotations]
    assert labels[0] == "sex: Female → Male"
    said = figure.layout.xaxis.title.text.replace("<br>", " ")
    assert "<" not in "".join(labels) + said, "the job's label is markup"


def test_of_many_attributes_the_rest_is_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shap, "MAX_SHOWN", 2)
    found = explanation([[-0.1, 0.1, 0.3, 0.05, 0.02], [0.1, 0.1, 0.3, 0.2, -0.05]])
    figure = shap.shap_chart(found, pair_cases.domain(), people(), "granted")
    assert [name.text for name in figure.layout.annotations] == ["sex: Female → Male", "age: 30", "3 others together"]
    person_b = next(trace for trace in figure.data if trace.name == "Person B")
    assert person_b.x[2] == pytest.approx(0.35)
    shown = sum(sum(trace.x) for trace in figure.data if trace.type == "bar")
    assert shown == pytest.approx(found.scores[1] - found.scores[0])


def test_estimates_are_called_estimates() -> None:
    found = explanation([[0.0] * 5, [0.1] * 5])
    assert shap.method_note(found, "granted").startswith("Exact SHAP values")
    sampled = replace(found, is_exact=False, n_permutations=12, n_background=25)
    note = shap.method_note(sampled, "granted")
    assert "12 random orders" in note
    assert "estimates" in note
    assert "25 rows of the data" in note


def test_a_number_that_rounds_to_nothing_has_no_sign() -> None:
    assert [shap.signed(value, 3) for value in (0.1, -0.1, 1e-5, -1e-5)] == ["+0.100", "−0.100", "0.000", "0.000"]


# --- on the page --------------------------------------------------------------------------------


@pytest.fixture
def finished(workspace: Path) -> Iterator[Finished]:
    """A workspace with runs that ended; the model's process is stopped afterwards."""
    yield run_cases.finished_runs(workspace)
    session.evaluator().close()


def test_a_click_explains_the_pair_and_the_values_sum_to_its_scores(open_app: OpenApp, finished: Finished) -> None:
    run = finished.searches[-1]
    app = open_app("pages/pairs/page.py", review=finished.review.id, run=run.id)
    app.button(key="explain").click().run(timeout=120)
    assert said.errors_of(app) == []
    assert "Of this difference" in said.text_of(app)
    assert "Exact SHAP values" in said.text_of(app)
    said.unfold(app, "shap_table")
    table = next(frame.value for frame in app.dataframe if "SHAP value of A" in frame.value)
    pair = session.store().pairs(run.id, limit=1, offset=int(app.query_params["pair"]) - 1)
    assert table.iloc[-1, 5] == pytest.approx(pair.score_second[0] - pair.score_first[0], abs=1e-6)
    assert not [button for button in app.button if button.key == "explain"], "it is answered, and remembered"


def test_a_model_that_is_too_slow_is_said_in_one_sentence(
    open_app: OpenApp, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = questions.ask

    def refuse(target: Any, question: Any, *waiting: str) -> Any:
        if isinstance(question, Shap):
            raise SettingError("SHAP values of this pair need at least 9\u202f000 rows of the model.")
        return ask(target, question, *waiting)

    monkeypatch.setattr(questions, "ask", refuse)
    app = open_app("pages/pairs/page.py", review=finished.review.id, run=finished.searches[-1].id)
    app.button(key="explain").click().run()
    assert said.errors_of(app) == ["SHAP values of this pair need at least 9\u202f000 rows of the model."]
