"""The five questions in this process say what the command line stores of the same run: figures, pairs, boxes,
groups.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand
from evenhand.results import Answer
from fairness_engine.__main__ import main
from fairness_engine.data.catalogue import find_sample
from fairness_engine.store.store import RunStore

SAMPLE = find_sample("recidivism")
MODEL = SAMPLE.model("recidivism_planted")
NETWORK = find_sample("credit").model("credit_network")
OF_THE_CLOCK = {"seconds", "evaluations_per_second", "curve", "trace", "tree_file"}
"""Of a run's figures, what another run of the same question says otherwise."""

Ask = Callable[[evenhand.Review], Answer]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


def on_the_command_line(workspace: Path, sample: str, model: str, *arguments: str) -> dict[str, Any]:
    known = find_sample(sample)
    schema = workspace / f"{model}.schema.json"
    schema.write_text(json.dumps(known.schema_for(known.model(model)).to_json()))
    files = ["--data", str(known.data), "--schema", str(schema), "--model", str(known.model(model).path)]
    command, *others = arguments
    output = workspace / "result.json"
    assert main([command, *files, *others, "--workspace", str(workspace), "--json", str(output), "--quiet"]) == 0
    content: dict[str, Any] = json.loads(output.read_text())
    return content


CASES: dict[str, tuple[tuple[str, str], tuple[str, ...], Ask]] = {
    "search": (
        ("recidivism", "recidivism_planted"),
        ("search", "--technique", "aequitas", "--max-evaluations", "4000", "--seed", "3", "--set", "n_starts=50"),
        lambda review: review.search("aequitas", max_evaluations=4000, seed=3, n_starts=50),
    ),
    "data scan": (
        ("recidivism", "recidivism_planted"),
        ("search", "--technique", "data-scan"),
        lambda review: review.search("data-scan"),
    ),
    "estimate": (
        ("recidivism", "recidivism_planted"),
        ("estimate", "--samples", "3000", "--distribution", "perturbed", "--seed", "5"),
        lambda review: review.estimate(samples=3000, distribution="perturbed", seed=5),
    ),
    "count": (("recidivism", "recidivism_planted"), ("count",), lambda review: review.count()),
    "certify": (
        ("credit", "credit_network"),
        ("certify", "--max-boxes", "600", "--max-seconds", "600", "--seed", "2"),
        lambda review: review.certify(max_boxes=600, max_seconds=600, seed=2),
    ),
    "groups": (
        ("credit", "credit_network"),
        ("rules", "--support", "0.1", "--seed", "4", "--top", "20"),
        lambda review: review.groups(support=0.1, seed=4, top=20),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_figures_are_those_of_the_command_line(name: str, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sample, model), arguments, ask = CASES[name]
    stored = on_the_command_line(workspace, sample, model, *arguments)
    capsys.readouterr()
    answer = ask(evenhand.Review(*evenhand.read_sample(sample, model)))
    assert capsys.readouterr() == ("", ""), "nothing is printed"
    figures = json.loads(json.dumps(answer.figures))
    assert {"search": 10, "data scan": 10, "estimate": 5, "count": 3, "certify": 10, "groups": 10}[name] <= len(figures)
    kept = figures.keys() - OF_THE_CLOCK
    assert {key: figures[key] for key in kept} == {key: stored[key] for key in kept}
    assert (answer.evaluations, answer.stop_reason) == (stored["evaluations"], stored["stop_reason"])
    if isinstance(answer, evenhand.Search | evenhand.Certification):
        check_pairs(answer.pairs, workspace, stored["run_id"])
    if isinstance(answer, evenhand.Certification):
        boxes = answer.boxes
        assert len(boxes) > 100
        for share in ("certified", "falsified", "undecided"):
            assert boxes[share].sum() == pytest.approx(stored[share], abs=1e-9)
        assert boxes["share"].is_monotonic_decreasing
    if isinstance(answer, evenhand.Groups):
        told = [(each["rows"], each["score"], each["low"], each["high"]) for each in stored["rule_sets"]]
        assert list(answer.rule_sets[["rows", "score", "low", "high"]].itertuples(index=False, name=None)) == told
        for words, line in zip(answer.rule_sets["group"], stored["rule_sets"], strict=True):
            assert line["text"].startswith(f"{words}: ")


def check_pairs(pairs: pd.DataFrame, workspace: Path, run_id: str) -> None:
    """The table holds the stored pairs: labels for positions, names for classes."""
    store = RunStore(workspace)
    stored = store.pairs(run_id)
    schema = store.run(run_id).config.schema
    store.close()
    assert len(pairs) == 2 * len(stored) > 0
    for side, rows, scores in (("a", stored.first, stored.score_first), ("b", stored.second, stored.score_second)):
        people = pairs.xs(side, level="side")
        assert people.index.tolist() == list(range(1, len(stored) + 1))
        for place, column in enumerate(schema.inputs):
            assert [column.text(value) for value in rows[:, place]] == [
                column.text(value) if column.kind == "real" else str(value) for value in people[column.name]
            ]
        assert np.array_equal(people["score"], scores)
    assert (pairs.xs("a", level="side")["decision"] != pairs.xs("b", level="side")["decision"]).all()


def test_the_same_seed_says_the_same() -> None:
    review = evenhand.Review(*evenhand.read_sample("recidivism"))
    one, again, other = (review.search("random", max_evaluations=2000, seed=seed).pairs for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, again)
    assert not one.equals(other)


def test_labels_without_a_model_are_compared_and_nothing_else_is_asked() -> None:
    data, _ = evenhand.read_sample("recidivism")
    review = evenhand.Review(data)
    groups = review.groups(support=0.1)
    assert (groups.figures["source"], groups.figures["column"]) == ("labels", data.label)
    assert len(groups.rule_sets) > 0
    with pytest.raises(evenhand.Error, match="A model is needed"):
        review.search()
