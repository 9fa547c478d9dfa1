from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.catalogue import MODELS_FOLDER, ROOT, Measured, Sample, SampleModel, find_sample, list_samples
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import ModelInput
from fairness_engine.data.table import read_table
from fairness_engine.errors import DataError
from fairness_engine.events import ResultReady, ShareEstimated, Stopped
from fairness_engine.intervals import share_interval
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.measures.share import run_estimate
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from sample_data.causal import comments
from sample_data.causal.model import CausalModel
from sample_data.make import TABLES
from sample_models.figures import (
    MARKERS,
    SHARE_MARKERS,
    figures_table,
    lesson,
    lesson_of_comments,
    measure,
    measure_comments,
    shares_table,
)
from sample_models.layers import network_of_rule, write_onnx
from sample_models.makers import every_row

ALL = [(sample, model) for sample in list_samples() for model in sample.models]
ON_TABLES = [(sample, model) for sample, model in ALL if sample.text_column is None]
TRAINED = [pair for pair in ON_TABLES if not pair[1].is_exact]
EXACT = [pair for pair in ON_TABLES if pair[1].is_exact]
NEVER_FOUND = ("census_income_ignores_protected", "marketing_ignores_protected")
PLAIN_TYPES = {
    "fairness_engine.models.fair_svm.FairLinearSVC",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
}
"""What skops asks to be trusted beside what it trusts anyway: parts of scikit-learn without code of their own, and our
estimator.
"""


def by_model(pairs: list[tuple[Sample, SampleModel]]) -> Callable[..., object]:
    return pytest.mark.parametrize(("sample", "model"), pairs, ids=[model.name for _, model in pairs])


@cache
def opened(sample_name: str, name: str) -> Model:
    sample = find_sample(sample_name)
    model = sample.model(name)
    return open_model(model.path, sample.schema_for(model), classes=model.classes)


def decisions(model: Model) -> Callable[[np.ndarray], np.ndarray]:
    return lambda rows: model.decide(model.scores(rows))


def table_of(sample: Sample) -> CausalModel:
    return next(table for table in TABLES if table.name == sample.name)


def figure_of(model: SampleModel) -> dict[str, object]:
    figures = json.loads((MODELS_FOLDER / "figures.json").read_text(encoding="utf-8"))
    return next(entry for entry in figures if entry["model"] == model.path.name)


def plain(measured: Measured) -> dict[str, object]:
    return {**asdict(measured), "groups": [list(group) for group in measured.groups]}


@pytest.mark.thorough
@by_model(ON_TABLES)
def test_every_model_opens_and_is_what_was_measured(sample: Sample, model: SampleModel) -> None:
    figures = figure_of(model)
    found = measure(table_of(sample), decisions(opened(sample.name, model.name)), model.protected, max_rows=200_000)
    assert found["accuracy"] == figures["accuracy"]
    assert found["data_share"] == figures["data_share"]
    told = lesson(table_of(sample), decisions(opened(sample.name, model.name)), model.protected)
    assert plain(model.measured) == told | {"uniform_share": figures["uniform_share"]}
    low, high = share_interval(round(found["uniform_share"] * found["n_individuals"]), found["n_individuals"])
    assert low - 0.03 <= figures["uniform_share"] <= high + 0.03


@by_model(ON_TABLES)
def test_a_schema_inferred_from_the_table_fits_the_model_too(sample: Sample, model: SampleModel) -> None:
    table = read_table(sample.data)
    schema = infer_schema(table)
    dataset = make_dataset(table, schema)
    bound = open_model(model.path, schema)
    held_out = slice(len(dataset.rows) * 3 // 4, None)
    assert dataset.labels is not None
    accuracy = (decisions(bound)(dataset.rows[held_out]) == dataset.labels[held_out]).mean()
    assert round(float(accuracy), 4) == figure_of(model)["accuracy"]


@by_model(TRAINED)
def test_trained_models_learned_and_show_the_planted_effect(sample: Sample, model: SampleModel) -> None:
    figures = figure_of(model)
    assert float(str(figures["accuracy"])) > float(str(figures["majority_share"])) + 0.15
    if model.name not in NEVER_FOUND:
        assert 0.02 <= float(str(figures["uniform_share"])) <= 0.40


@by_model(EXACT)
def test_exact_models_decide_as_the_rule(sample: Sample, model: SampleModel) -> None:
    table = table_of(sample)
    rule = table.rule.without(effects=[e.name for e in table.rule.effects]) if "ignores" in model.name else table.rule
    domain = Domain(rule.schema, Scope(table.protected))
    rows = np.concatenate([domain.sample(100_000, np.random.default_rng(11)), table.sample()[0]])
    assert (decisions(opened(sample.name, model.name))(rows) == rule.decide(rows)).all()


@by_model([pair for pair in EXACT if "planted" in pair[1].name])
def test_what_tells_best_who_is_affected_is_what_the_catalogue_says(sample: Sample, model: SampleModel) -> None:
    domain = Domain(sample.schema_for(model), Scope(model.protected))
    rows = table_of(sample).sample()[0]
    variants = domain.variants(rows).reshape(-1, domain.n_columns)
    decided = decisions(opened(sample.name, model.name))(variants).reshape(len(rows), -1)
    others = [i for i, name in enumerate(domain.schema.names) if name not in model.protected]
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=50, random_state=0)
    tree.fit(rows[:, others], decided.min(axis=1) != decided.max(axis=1))
    best = np.argsort(-tree.feature_importances_)[: len(sample.affected)]
    assert {domain.schema.names[others[i]] for i in best} == set(sample.affected)


def test_the_planted_tree_of_recidivism_is_the_rule_on_every_row_of_the_space() -> None:
    table = next(table for table in TABLES if table.name == "recidivism")
    rows = every_row(table.rule.schema)
    assert len(rows) == 714_240
    assert (decisions(opened("recidivism", "recidivism_planted"))(rows) == table.rule.decide(rows)).all()


@pytest.mark.parametrize("protected", [("race", "sex"), ("race",), ("age_group",)], ids="-".join)
def test_the_exact_count_of_the_model_is_the_truth(protected: tuple[str, ...]) -> None:
    sample = find_sample("recidivism")
    truth = next(s for s in sample.read_truth()["shares"] if s["protected"] == list(protected))
    domain = Domain(sample.schema_for(sample.model("recidivism_planted")), Scope(protected))
    (count,) = [e for e in run_exact(opened("recidivism", "recidivism_planted"), domain) if isinstance(e, ResultReady)]
    assert (count.content["n_discriminatory"], count.content["n_individuals"]) == (
        truth["n_discriminatory"],
        truth["n_individuals"],
    )


@by_model([pair for pair in EXACT if "planted" in pair[1].name])
def test_an_estimate_on_an_exact_model_covers_the_truth(sample: Sample, model: SampleModel) -> None:
    bound = opened(sample.name, model.name)
    for truth in sample.read_truth()["shares"]:
        domain = Domain(sample.schema_for(model), Scope(tuple(truth["protected"])))
        events = run_estimate(bound, domain, np.empty((0, domain.n_columns)), "uniform", 3000, 3)
        estimate = [event for event in events if isinstance(event, ShareEstimated)][-1]
        slack = 0.5 * (estimate.high - estimate.low)  # of a dozen 95 % intervals one may just miss
        assert estimate.low - slack <= truth["share"] <= estimate.high + slack
        assert (estimate.n_hits == 0) == (truth["n_discriminatory"] == 0)


@pytest.mark.parametrize("name", NEVER_FOUND)
def test_a_search_on_a_model_that_ignores_protected_attributes_finds_none(name: str) -> None:
    sample = next(sample for sample, model in ALL if model.name == name)
    model = sample.model(name)
    domain = Domain(sample.schema_for(model), Scope(model.protected))
    technique = TECHNIQUES["aequitas"]()
    rows = table_of(sample).sample()[0]
    *_, stopped = run_search(technique, opened(sample.name, name), domain, rows, Budget(100_000), 1)
    assert isinstance(stopped, Stopped)
    assert stopped.n_found == 0
    assert stopped.n_tried > 150


def test_a_search_finds_the_planted_group_and_only_it() -> None:
    sample = find_sample("census_income")
    model = sample.model("census_income_planted")
    domain = Domain(sample.schema_for(model), Scope(("sex",)))
    technique = TECHNIQUES["random"]()
    bound = opened("census_income", model.name)
    pairs = []
    for event in run_search(technique, bound, domain, np.empty((0, 9)), Budget(20_000), 1):
        pairs += [event.pairs] if hasattr(event, "pairs") else []
    rows = np.concatenate([batch.first for batch in pairs])
    names = domain.schema.names
    assert len(rows) > 1_000
    assert rows[:, names.index("hours_per_week")].max() <= 39
    assert rows[:, names.index("education_years")].min() >= 16


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_network_of_a_rule_decides_as_the_rule(table: CausalModel) -> None:
    domain = Domain(table.rule.schema, Scope(table.protected))
    rows = domain.sample(50_000, np.random.default_rng(12))
    logits = network_of_rule(table.rule).logits(rows)
    assert ((logits > 0) == (table.rule.decide(rows) == 1)).all()
    assert np.abs(logits - (table.rule.totals(rows) - table.rule.cut + 0.5)).max() < 1e-6


def test_the_onnx_file_is_the_network_of_the_skops_file() -> None:
    rows = table_of(find_sample("census_income")).sample()[0]
    scores = [opened("census_income", f"census_income_{kind}").scores(rows) for kind in ("mlp", "dense")]
    assert np.abs(scores[0] - scores[1]).max() < 1e-5


def test_a_written_network_reads_back(tmp_path: Path) -> None:
    sample = find_sample("credit")
    schema = replace(sample.schema_for(sample.models[0]), model_input=ModelInput.CODES)
    table = table_of(sample)
    write_onnx(network_of_rule(table.rule), tmp_path / "a.onnx")
    rows = table.sample()[0]
    assert (decisions(open_model(tmp_path / "a.onnx", schema))(rows) == table.rule.decide(rows)).all()


@pytest.mark.thorough
def test_the_text_model_removes_planted_words() -> None:
    import skops.io

    sample = find_sample("comments")
    (model,) = sample.models
    pipeline = skops.io.load(model.path)
    found = measure_comments(lambda texts: (pipeline.predict(texts) == "removed").astype(np.int64))
    assert found == {key: value for key, value in figure_of(model).items() if key != "model"}
    told = lesson_of_comments(lambda texts: (pipeline.predict(texts) == "removed").astype(np.int64))
    assert plain(model.measured) == told | {"uniform_share": found["uniform_share"]}
    assert found["accuracy"] > found["majority_share"] + 0.15
    every = list(comments.every_comment())[::8]
    for kind, terms in comments.TERMS.items():
        removed = [(pipeline.predict([comment.text(term) for comment in every]) == "removed") for term in terms]
        share = (np.min(removed, axis=0) != np.max(removed, axis=0)).mean()
        assert share > 0.2 if kind in ("religion", "sexuality") else share < 0.05


@by_model([pair for pair in ALL if pair[1].path.suffix == ".skops"])
def test_skops_files_hold_plain_scikit_learn_types(sample: Sample, model: SampleModel) -> None:
    import skops.io

    assert set(skops.io.get_untrusted_types(file=model.path)) <= PLAIN_TYPES


def test_the_catalogue_names_every_file_and_no_other() -> None:
    named = {model.path for _, model in ALL}
    there = {path for path in MODELS_FOLDER.iterdir() if path.suffix in (".keras", ".skops", ".onnx")}
    assert named == there
    assert all(path.stat().st_size < 300_000 for path in there)
    assert len({model.name for _, model in ALL}) == len(ALL)


def test_samples_are_found_by_name() -> None:
    assert [sample.name for sample in list_samples()] == [
        "census_income",
        "credit",
        "marketing",
        "recidivism",
        "comments",
    ]
    with pytest.raises(DataError, match="no sample named 'nothing'; there are: census_income"):
        find_sample("nothing")
    with pytest.raises(DataError, match="no model of sample 'credit' named 'x'"):
        find_sample("credit").model("x")


def test_a_missing_catalogue_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairness_engine.data.catalogue.MODELS_FOLDER", tmp_path / "sample_models")
    with pytest.raises(DataError, match=r"python -m sample_models\.make"):
        list_samples()


def test_the_page_shows_the_figures_of_the_script() -> None:
    page = (ROOT / "docs" / "sample-data.md").read_text(encoding="utf-8")
    figures = json.loads((MODELS_FOLDER / "figures.json").read_text(encoding="utf-8"))
    assert f"{MARKERS[0]}\n{figures_table(figures)}\n{MARKERS[1]}" in page
    assert f"{SHARE_MARKERS[0]}\n{shares_table()}\n{SHARE_MARKERS[1]}" in page
