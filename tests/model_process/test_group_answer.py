"""The question for group figures: whose decisions are counted, on which rows, and what is refused; in this process and
in the model's own.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.recorded import Source
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.groups.figures.report import FigureSettings, GroupReport, report_from_json
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import GroupFigures, Held, Scores
from fairness_engine.model_process.session import ModelSession
from fairness_engine.model_process.working import group_figures
from fairness_engine.models.model import no_model
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import ROOT, census_config

BY_SEX = FigureSettings((("sex",),))
VOTES = "vote"


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, Dataset]:
    """The sample with a column of predictions: the label, but for every seventh row, and empty in every eleventh."""
    sample = find_sample("census_income")
    schema = Schema.read(sample.schema)
    with sample.data.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    codes = sorted({line[str(schema.label)] for line in lines})
    for place, line in enumerate(lines):
        right = codes.index(line[str(schema.label)])
        line[VOTES] = "" if place % 11 == 0 else codes[1 - right if place % 7 == 0 else right]
    path = tmp_path_factory.mktemp("data") / "census.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    table = read_table(path)
    return table, make_dataset(table, schema)


def opened_without_model(census: tuple[Table, Dataset], scope: Scope | None = None) -> ModelSession:
    table, dataset = census
    return ModelSession(dataset, no_model(dataset.classes, dataset.favourable_class), scope or Scope(("sex",)), table)


def answered(opened: ModelSession, settings: FigureSettings) -> GroupReport:
    return report_from_json(opened.group_figures(settings.to_json())["figures"], settings)


def test_the_label_alone_has_rates_and_no_odds(census: tuple[Table, Dataset]) -> None:
    report = answered(opened_without_model(census), replace(BY_SEX, source=Source.LABELS))
    _, dataset = census
    assert dataset.labels is not None
    favourable = dataset.labels == dataset.favourable_class
    assert report.column == dataset.schema.label
    assert sum(group.selection.n_hits for group in report.tables[0].groups) == favourable.sum()
    assert all(group.true_positive is None for group in report.tables[0].groups)
    assert report.tables[0].odds_difference is None


def test_predictions_are_held_against_the_label(census: tuple[Table, Dataset]) -> None:
    """Every seventh is wrong and every eleventh says nothing, so rates are known to the row."""
    settings = replace(BY_SEX, source=Source.LABELS, predictions=VOTES)
    report = answered(opened_without_model(census), settings)
    _, dataset = census
    n = len(dataset.rows)
    place = dataset.kept
    says = place % 11 != 0
    is_wrong = place % 7 == 0
    assert (report.column, report.n_rows, report.n_left_out) == (VOTES, says.sum(), n - says.sum())
    assert dataset.labels is not None
    actual = dataset.labels == dataset.favourable_class
    sex = dataset.rows[:, dataset.schema.index("sex")].astype(int)
    for group in report.tables[0].groups:
        is_in = says & (sex == dataset.schema.column("sex").labels.index(group.labels[0]))
        assert group.true_positive is not None
        assert group.false_positive is not None
        assert (group.true_positive.n, group.true_positive.n_hits) == (
            (is_in & actual).sum(),
            (is_in & actual & ~is_wrong).sum(),
        )
        assert group.false_positive.n_hits == (is_in & ~actual & is_wrong).sum()


def test_limits_of_the_scope_hold(census: tuple[Table, Dataset]) -> None:
    scope = Scope(("sex",), limits={"age": (30.0, 39.0)})
    report = answered(opened_without_model(census, scope), replace(BY_SEX, source=Source.LABELS))
    age = census[1].rows[:, census[1].schema.index("age")]
    assert report.n_rows == ((age >= 30) & (age <= 39)).sum()


def test_without_a_model_its_decisions_are_refused(census: tuple[Table, Dataset]) -> None:
    with pytest.raises(ModelError, match="the review has none"):
        opened_without_model(census).group_figures(BY_SEX.to_json())


def test_a_model_that_is_too_slow_is_said_so(census: tuple[Table, Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_figures, "_DECIDE_SECONDS", -1.0)
    _, dataset = census
    with pytest.raises(SettingError, match=r"within -1 seconds, got 0\. Look for rule sets"):
        group_figures.decide_rows(no_model(dataset.classes, None), dataset)


# --- through the model's process ----------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def evaluator(store: RunStore) -> Iterator[Evaluator]:
    evaluator = Evaluator(store)
    yield evaluator
    evaluator.close()


def asked_of(config: RunConfig) -> tuple[str, str, Schema, Scope]:
    return config.data_id, config.model_id, config.schema, config.scope


def test_the_models_decisions_by_group(store: RunStore, evaluator: Evaluator) -> None:
    """The figures are those of the decisions that the same process gives row by row."""
    config = census_config(store)
    settings = FigureSettings((("sex",), ("race",), ("sex", "race")))
    report = evaluator.ask(Held(*asked_of(config)), GroupFigures(settings))
    dataset = make_dataset(read_table(store.file(config.data_id).path), config.schema)
    _, decisions = evaluator.ask(Held(*asked_of(config)), Scores(dataset.rows))
    sex = dataset.rows[:, config.schema.index("sex")].astype(int)
    labels = config.schema.column("sex").labels
    assert report.n_rows == len(dataset.rows)
    for group in report.tables[0].groups:
        is_in = sex == labels.index(group.labels[0])
        assert group.selection.n_hits == (decisions[is_in] == dataset.favourable_class).sum()
    assert report.tables[0].odds_difference is not None
    assert evaluator.ask(Held(*asked_of(config)), GroupFigures(settings)) == report


def test_a_review_without_a_model_is_answered_too(store: RunStore, evaluator: Evaluator) -> None:
    sample = find_sample("recidivism")
    data_id = store.add_file(sample.data, sample.data.name, FileRole.DATA).id
    schema = Schema.read(sample.schema)
    settings = FigureSettings((("race",), ("sex",)), Source.LABELS)
    report = evaluator.ask(Held(data_id, "", schema, Scope(("race", "sex"))), GroupFigures(settings))
    assert [table.attributes for table in report.tables] == [("race",), ("sex",)]
    assert report.column == schema.label


@pytest.mark.thorough
def test_whoever_asks_imports_neither_fairlearn_nor_scikit_learn() -> None:
    program = (
        "import sys, fairness_engine.model_process.pool, fairness_engine.groups.figures.report, "
        "pages.groups.figures.view, pages.groups.two_attributes.view, pages.groups.thresholds.view; "
        "print([name for name in ('fairlearn', 'sklearn', 'scipy', 'numba') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(ROOT))
    assert done.stdout.strip() == "[]"


def test_rates_are_plain_numbers(census: tuple[Table, Dataset]) -> None:
    """NumPy's would not become JSON."""
    content = opened_without_model(census).group_figures(replace(BY_SEX, source=Source.LABELS).to_json())
    flat: list[Any] = [content]
    while flat:
        each = flat.pop()
        assert not isinstance(each, np.generic)
        flat += list(each.values()) if isinstance(each, dict) else each if isinstance(each, list) else []
