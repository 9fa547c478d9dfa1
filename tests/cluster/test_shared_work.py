"""A run whose rows and boxes are worked on elsewhere says what it says alone; every block passes through JSON here, and
nothing is too small to be shared out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.arrays import pack_columns, unpack_columns
from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.links.link import Link
from fairness_engine.errors import ModelError
from fairness_engine.events import PairsFound, ResultReady, Stopped, TreeReady
from fairness_engine.model_process.blocks import answer_block, read_known
from fairness_engine.model_process.session import ModelSession, open_all
from fairness_engine.models import shared
from fairness_engine.models.known_items import Arrays, KnownItems
from fairness_engine.models.shared import Answered, Sharing
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.kinds import KINDS
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.store.run_config import RunConfig


class Others:
    """Three processes, in the place of which the same files are asked here; some blocks end whoever asks them, and
    every so many are handed back. What they answer is kept in a file, but for every third.
    """

    width = 3

    def __init__(
        self, opened: ModelSession, ends: Mapping[str, Sequence[int]] | None = None, hands_back: int = 0
    ) -> None:
        self.opened = opened
        self.ends = ends or {}
        self.hands_back = hands_back
        self.known = KnownItems()
        self.keeps: Path | None = None
        self.n_blocks: dict[str, int] = {}
        self.n_asked = 0

    def work(self, name: str, asked: Sequence[Arrays], settings: Mapping[str, Any]) -> list[Answered | None]:
        found: list[Answered | None] = []
        for arrays in asked:
            self.n_blocks[name] = self.n_blocks.get(name, 0) + 1
            self.n_asked += len(next(iter(arrays.values())))
            if self.n_blocks[name] in self.ends.get(name, ()):
                found.append(None)
                continue
            if self.hands_back and sum(self.n_blocks.values()) % self.hands_back == 0:
                found.append(Answered([], 0.0, is_back=True))
                continue
            sent = json.loads(json.dumps({key: pack_columns(array) for key, array in arrays.items()}))
            told = json.loads(json.dumps(dict(settings)))
            reply = json.loads(json.dumps(answer_block(self.opened, name, told, sent)))
            found.append(Answered([unpack_columns(packed) for packed in reply["arrays"]], reply["seconds"]))
            if self.keeps is not None and sum(self.n_blocks.values()) % 3:
                with self.keeps.open("a") as file:
                    ask = {"name": name, "settings": told, "arrays": sent}
                    file.write(f"{json.dumps(ask)}\t{json.dumps(reply)}\n")
        return found


@pytest.fixture(autouse=True)
def everything_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_LEAST_SAVED_SECONDS", -1e9)
    monkeypatch.setattr(shared, "_LEAST_BLOCK_SECONDS", 1e-5)
    monkeypatch.setattr(shared, "_FIRST_ITEMS", 1)
    monkeypatch.setattr(shared, "_TRIED_SECONDS", 0.0)


def opened_with(model: str, scope: Scope) -> ModelSession:
    sample = find_sample(model.rsplit("_", 1)[0] if model.startswith("credit") else "census_income")
    file = sample.model(model)
    request = {
        "data": {"path": str(sample.data), "name": sample.data.name},
        "model": {"path": str(file.path), "name": file.path.name},
        "schema": sample.schema_for(file).to_json(),
        "scope": scope.to_json(),
    }
    opened = open_all(request)
    assert isinstance(opened, ModelSession)
    return opened


def told(opened: ModelSession, config: RunConfig, others: Others | None) -> tuple[list[Any], list[Any]]:
    """What a run finds, and what it says at its end, without what depends on the clock."""
    found = []
    said = []
    for event in opened.run(config, Clock(), blocks=others):
        match event:
            case PairsFound(pairs):
                found.append(pairs)
            case ResultReady(name, content) if name in KINDS[config.kind].findings:
                said.append((name, without_time(content)))
            case TreeReady():
                said.append({name: array.tolist() for name, array in event.arrays.items() if name != "n_people"})
            case Stopped():
                said.append(replace(event, seconds=0.0))
    rows = [(pairs.first.tolist(), pairs.second.tolist(), pairs.evaluation.tolist()) for pairs in found]
    return [line for batch in rows for line in zip(*batch, strict=True)], said


def without_time(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: without_time(value) for name, value in content.items() if name != "seconds"}
    return content


def config_of(kind: str, opened: ModelSession, **values: Any) -> RunConfig:
    assert opened.scope is not None
    return KINDS[kind].config("data", "model", opened.dataset.schema, opened.scope, **values)


def is_alike(opened: ModelSession, config: RunConfig) -> Others:
    others = Others(opened)
    alone = told(opened, config, None)
    together = told(opened, config, others)
    assert together[0] == alone[0]
    assert together[1] == alone[1]
    return others


SEX = Scope(("sex",))
BOTH = Scope(("sex", "race"))
FEW = replace(SEX, limits={"age": (30, 34), "hours_per_week": (38, 40), "education_years": (9, 12)})


@pytest.mark.parametrize("technique", sorted(TECHNIQUES))
@pytest.mark.parametrize("model", ["census_income_network", "census_income_forest"])
def test_every_technique_finds_what_it_finds_alone(technique: str, model: str) -> None:
    opened = opened_with(model, BOTH)
    if TECHNIQUES[technique].needs_gradient and not opened.model.has_gradient:
        pytest.skip("a forest has no gradient")
    budget = Budget(2_000 if technique.startswith("sg") else 10_000)
    others = is_alike(opened, config_of("search", opened, technique=technique, budget=budget, seed=3))
    assert sum(others.n_blocks.values()) > 10


def test_rows_of_roles_are_asked_about_as_roles() -> None:
    link = Link("sex", "occupation", ("Female", "Male"), (("Clerical", "Engineering"),))
    opened = opened_with("census_income_network", Scope(("sex",), links=(link,)))
    others = is_alike(opened, config_of("search", opened, technique="random", budget=Budget(10_000), seed=3))
    assert others.n_blocks


def test_a_score_gap_is_compared_by_scores() -> None:
    opened = opened_with("census_income_network", Scope(("sex",), score_gap=0.05))
    others = is_alike(opened, config_of("search", opened, technique="aequitas", budget=Budget(10_000), seed=3))
    assert others.n_blocks.get("scores")


@pytest.mark.parametrize("distribution", ["uniform", "data"])
def test_an_estimate_is_the_same(distribution: str) -> None:
    opened = opened_with("census_income_forest", BOTH)
    config = config_of("estimate", opened, n_samples=5_000, distribution=distribution)
    assert is_alike(opened, config).n_blocks


def test_a_count_is_the_same() -> None:
    opened = opened_with("census_income_forest", FEW)
    assert is_alike(opened, config_of("count", opened)).n_blocks


@pytest.mark.parametrize("model", ["census_income_network", "census_income_forest", "census_income_mlp"])
def test_a_certification_proves_the_same(model: str) -> None:
    opened = opened_with(model, SEX)
    settings = {"max_boxes": 1_500}
    others = is_alike(opened, config_of("certify", opened, settings=settings))
    assert others.n_blocks.get("assess")


def test_boxes_of_a_block_that_is_set_aside_stay_undecided() -> None:
    opened = opened_with("census_income_forest", SEX)
    config = config_of("certify", opened, settings={"max_boxes": 1_500})
    whole = told(opened, config, None)[1]
    lacking = told(opened, config, Others(opened, ends={"assess": range(2, 10**6)}))[1]
    proved, less = (
        dict([line for line in said if isinstance(line, tuple)])["certification"] for said in (whole, lacking)
    )
    assert less["undecided"] > proved["undecided"] > 0
    assert less["certified"] + less["falsified"] + less["undecided"] == pytest.approx(1)


def test_a_search_ends_with_a_sentence_where_a_block_ends_all_who_try_it() -> None:
    opened = opened_with("census_income_forest", BOTH)
    config = config_of("search", opened, technique="random", budget=Budget(10_000), seed=3)
    with pytest.raises(ModelError, match="answer every row, but ended each process"):
        told(opened, config, Others(opened, ends={"variant_margins": range(2, 10**6)}))


@pytest.mark.parametrize("hands_back", [1, 2])
@pytest.mark.parametrize("kind", ["search", "certify"])
def test_blocks_that_are_handed_back_are_worked_here(kind: str, hands_back: int) -> None:
    opened = opened_with("census_income_forest", BOTH)
    search = {"technique": "directed", "budget": Budget(10_000), "seed": 3}
    config = config_of(kind, opened, **(search if kind == "search" else {"settings": {"max_boxes": 1_500}}))
    others = Others(opened, hands_back=hands_back)
    assert told(opened, config, others) == told(opened, config, None)
    assert sum(others.n_blocks.values()) > 4


@pytest.mark.parametrize(
    ("kind", "model", "values"),
    [
        *(("search", "census_income_network", {"technique": name}) for name in ("random", "aequitas", "maft", "sg")),
        ("search", "census_income_forest", {"technique": "directed"}),
        ("estimate", "census_income_forest", {"n_samples": 5_000}),
        ("count", "census_income_forest", {}),
        ("certify", "census_income_network", {}),
        ("certify", "census_income_tree", {}),
    ],
)
def test_what_was_answered_before_is_not_asked_again_however_it_is_cut(
    kind: str, model: str, values: dict[str, Any], tmp_path: Path
) -> None:
    opened = opened_with(model, FEW if kind == "count" else SEX)
    if kind == "search":
        values = {**values, "budget": Budget(2_000 if values["technique"] == "sg" else 10_000), "seed": 3}
    settings = {"settings": {"max_boxes": 400}} if kind == "certify" else {}
    config = config_of(kind, opened, **values, **settings)
    first = Others(opened)
    first.keeps = tmp_path / "kept"
    found = told(opened, config, first)
    with first.keeps.open("a") as file:  # the last line is torn, and others are none
        file.write('{"name": "scores"}\t{}\nnothing\n{"name": ')
    again = Others(opened)
    again.known = read_known(first.keeps)
    n_known = sum(len(keys[0]) for parts in again.known._added.values() for keys, _ in parts)
    again.width = 5  # cuts it otherwise
    assert told(opened, config, again) == found
    assert 0 < again.n_asked < first.n_asked - n_known // 2


def test_an_item_is_known_by_all_that_was_asked_of_it() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(400, 6)).astype(float)
    steps = rng.normal(size=(400, 2))
    columns = np.array([1, 4])
    known = KnownItems()
    known.add("nearby_scores", {}, {"rows": rows[:200], "columns": columns, "steps": steps[:200]}, [steps[:200, 0]])
    known.add("nearby_scores", {}, {"rows": rows[300:], "columns": columns, "steps": steps[300:]}, [steps[300:, 0]])
    order = rng.permutation(400)
    is_known, (found,) = known.find(
        "nearby_scores", {}, {"rows": rows[order], "columns": columns, "steps": steps[order]}
    )
    assert is_known.tolist() == ((order < 200) | (order >= 300)).tolist()
    assert (found[is_known] == steps[order, 0][is_known]).all()
    for name, settings, asked in (
        ("nearby_scores", {}, {"rows": rows, "columns": columns[::-1], "steps": steps}),
        ("nearby_scores", {"of_roles": True}, {"rows": rows, "columns": columns, "steps": steps}),
        ("scores", {}, {"rows": rows}),
        ("nearby_scores", {}, {"rows": steps, "columns": columns, "steps": rows}),
    ):
        assert not known.find(name, settings, asked)[0].any()
    assert not known.find("nearby_scores", {}, {"rows": rows, "columns": columns, "steps": -steps})[0].any()
    with pytest.raises(ValueError, match="items"):
        known.add("scores", {}, {"rows": rows}, [steps[:3]])


def test_variants_may_be_of_another_number_each_time() -> None:
    opened = opened_with("census_income_forest", SEX)
    model = shared.share(opened.model, Sharing(Others(opened)))
    rows = opened.dataset.rows[:200]
    columns = np.array([opened.dataset.schema.names.index("sex")])
    for values in ([[0.0]], [[0.0], [1.0]], [[1.0]]):
        asked = rows, columns, np.array(values)
        assert np.array_equal(model.variant_margins(*asked), opened.model.variant_margins(*asked))


def test_what_was_made_of_the_model_is_asked_here() -> None:
    opened = opened_with("census_income_network", SEX)
    others = Others(opened)
    model = shared.share(opened.model, Sharing(others))
    stricter = replace(model, threshold=0.9)
    rows = opened.dataset.rows[:100]
    assert np.array_equal(stricter.margins(rows), replace(opened.model, threshold=0.9).margins(rows))
    assert not others.n_blocks
    model.margins(rows)
    model.margins(rows)
    assert others.n_blocks == {"margins": others.n_blocks["margins"]}
