"""A retrained model on its way into the store: whole models become versions, and nothing that a hostile process sends
does harm.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairness_engine.errors import ProcessError
from fairness_engine.events import from_line, to_line
from fairness_engine.models.formats import PART_BYTES, model_parts
from fairness_engine.runs import kinds
from fairness_engine.runs.writers import models
from fairness_engine.runs.writers.models import ModelWriter
from fairness_engine.store.records import VersionState
from fairness_engine.store.store import RunStore
from retrain_events import part
from worker_cases import census_config


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "workspace")


def new_run(store: RunStore, **settings: Any) -> tuple[str, ModelWriter]:
    config = census_config(store, kind=kinds.RETRAIN.name, technique="", settings={"max_rounds": 4, **settings})
    run_id = store.create_run(config)
    store.run_folder(run_id).mkdir(parents=True)
    return run_id, ModelWriter(store, run_id, config)


def test_a_model_of_several_parts_becomes_the_version(store: RunStore) -> None:
    run_id, writer = new_run(store, strategy="majority")
    content = bytes(range(256)) * (PART_BYTES // 200)
    sent = list(model_parts(content, ".keras", 2))
    assert len(sent) == 2
    for each in sent:
        assert store.version(run_id) is None
        again = from_line(to_line(each))
        assert again == each
        writer.add(each)
    version = store.version(run_id)
    assert version is not None
    model = store.file(version.model_id)
    assert model.path.read_bytes() == content
    assert model.name == "census_income_network-majority.keras"
    assert (version.parent_id, version.state) == (store.run(run_id).config.model_id, VersionState.NEW)
    assert list(store.run_folder(run_id).iterdir()) == []


def test_a_later_model_takes_the_place_and_the_earlier_file_stays(store: RunStore) -> None:
    run_id, writer = new_run(store)
    writer.add(part(b"first"))
    first = store.version(run_id)
    writer.add(part(b"second", version=3))
    second = store.version(run_id)
    assert first is not None
    assert second is not None
    assert store.file(second.model_id).path.read_bytes() == b"second"
    assert store.file(first.model_id).path.read_bytes() == b"first"
    assert [each.model_id for each in store.version_of_model(second.model_id)] == [second.model_id]
    assert store.version_of_model(first.model_id) == []


def test_half_a_model_leaves_the_one_before(store: RunStore) -> None:
    run_id, writer = new_run(store)
    writer.add(part(b"whole"))
    whole = store.version(run_id)
    writer.add(part(b"half of", 0, 2, version=2))
    writer.close()
    assert store.version(run_id) == whole
    assert list(store.run_folder(run_id).iterdir()) == []


START = part(b"a", 0, 3)


@pytest.mark.parametrize(
    "parts",
    [
        [part(b"b", 1, 2)],
        [START, part(b"c", 2, 3)],
        [START, START],
        [START, part(b"b", 1, 2)],
        [START, part(b"b", 1, 3, version=2)],
        [START, part(b"b", 1, 3, suffix=".keras")],
        [part(b"a"), part(b"b", 1, 1)],
        [part(b"a"), part(b"b")],
        [part(b"a", version=2), part(b"b", version=1)],
        [part(b"a", version=6)],
        [part(b"a", version=0)],
        [part(b"a", version=True)],
        [part(b"a", index=False)],
        [part(b"a", n_parts="1")],
        [part(b"a", index=-1)],
        [part(b"a", n_parts=0)],
        [part(b"a", n_parts=10**9)],
        [part(b"")],
        [part(b"a" * (PART_BYTES + 1))],
        [part(b"a", suffix=".pkl")],
        [part(b"a", suffix="/../../evil.keras")],
        [part(b"a", suffix=5)],
    ],
)
def test_what_cannot_be_a_part_is_refused(store: RunStore, parts: list[Any]) -> None:
    _, writer = new_run(store)
    for each in parts[:-1]:
        writer.add(each)
    with pytest.raises(ProcessError, match="a part of a model that cannot be"):
        writer.add(parts[-1])


def test_a_model_that_grows_too_large_is_refused(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MAX_MODEL_BYTES", 10)
    run_id, writer = new_run(store)
    writer.add(part(b"123456", 0, 2))
    with pytest.raises(ProcessError, match="cannot be"):
        writer.add(part(b"789ab", 1, 2))
    assert store.version(run_id) is None
