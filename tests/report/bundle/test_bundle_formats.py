"""Each document of a bundle held against its format by that format's own validator, or, where none can be installed
beside the project's tools, by what the specification says.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2 as results_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

import bundle_cases
from bundle_cases import SAMPLE_DATA, read
from everyday import the_first
from fairness_engine.report.bundle.writing import write_bundle
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore

ROOT = Path(__file__).resolve().parents[3]
CRATE_PYTHON = "EVENHAND_CRATE_PYTHON"
KNOWN = {
    "ro-crate-1.2_85.0": "nobody but whoever hands the bundle on can state a licence",
    "ro-crate-1.2_91.0": "a reviewer need not have an ORCID",
    "ro-crate-1.2_93.0": "no address of a person is known",
    "process-run-crate-0.5_5.1": "the rule looks at the class instead of its instances, and is broken by every crate",
}
"""Recommendations that a bundle does not follow, and why."""


@pytest.fixture(params=["whole", "without_rows"])
def bundle(request: pytest.FixtureRequest) -> Path:
    """Both kinds of bundles, one after the other."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


def broken(content: Any, change: Callable[[Any], Any]) -> Any:
    """A document with something wrong in it, so that its validator must say so."""
    changed = copy.deepcopy(content)
    change(changed)
    return changed


# --- Croissant ----------------------------------------------------------------------------------


@pytest.fixture
def croissant() -> Any:
    """The format's own library, which takes seconds to load."""
    import mlcroissant

    return mlcroissant


@pytest.mark.thorough
def test_the_data_card_is_croissant(croissant: Any, bundle: Path) -> None:
    card = croissant.Dataset(str(bundle / "data" / "croissant.json"))
    issues = card.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    assert card.metadata.ctx.is_v1_1()
    assert card.metadata.personal_sensitive_information == ["sex", "race"]
    assert "women" in card.metadata.data_biases[0]
    fields = {field.name: field for field in card.metadata.record_sets[0].fields}
    assert list(fields) == list(pd.read_csv(SAMPLE_DATA, nrows=1))


@pytest.mark.thorough
def test_the_data_card_opens_the_data_where_it_is_there(croissant: Any, whole: Path) -> None:
    card = croissant.Dataset(str(whole / "data" / "croissant.json"))
    told = [
        {
            name.removeprefix("rows/"): value.decode() if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        for row in islice(card.records("rows"), 20)
    ]
    assert told == pd.read_csv(SAMPLE_DATA, nrows=20).to_dict("records")


@pytest.mark.thorough
def test_a_data_card_without_a_hash_is_noticed(croissant: Any, whole: Path, tmp_path: Path) -> None:
    content = broken(read(whole, "data/croissant.json"), lambda card: card["distribution"][0].pop("sha256"))
    (tmp_path / "croissant.json").write_text(json.dumps(content))
    with pytest.raises(croissant.ValidationError):
        croissant.Dataset(str(tmp_path / "croissant.json"))


# --- CycloneDX ----------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_model_card_is_cyclonedx(bundle: Path) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_7)
    text = (bundle / "model-card.cdx.json").read_text()
    assert validator.validate_str(text) is None
    wrong = broken(json.loads(text), lambda card: card["metadata"]["component"]["modelCard"].update(score=1))
    assert validator.validate_str(json.dumps(wrong)) is not None


def test_the_model_card_says_for_whom_the_model_is_a_risk(whole: Path) -> None:
    card = read(whole, "model-card.cdx.json")
    first, second, data = card["metadata"]["component"], *card["components"]
    assert [first["type"], second["type"], data["type"]] == ["machine-learning-model"] * 2 + ["data"]
    assessed = first["modelCard"]["considerations"]["fairnessAssessments"]
    assert "differed in sex alone" in assessed[0]["groupAtRisk"]
    assert {"women"} == {each["groupAtRisk"] for each in assessed[1:]}
    assert all("Retraining by variants (sex)" in each["mitigationStrategy"] for each in assessed)
    assert all(each["harms"] for each in assessed)
    metrics = first["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    kinds = {re.search(r"\((.*)\)$", metric["type"]).group(1) for metric in metrics}
    assert kinds == {"found", "estimated", "counted", "proved", "rule, joint interval", "measured"}
    assert second["pedigree"]["ancestors"][0]["name"] == first["name"]
    assert "model before" not in json.dumps(second["modelCard"])
    assert "model after" not in json.dumps(first["modelCard"])


# --- in-toto ------------------------------------------------------------------------------------


def test_the_attestation_is_a_statement_of_test_results(bundle: Path) -> None:
    content = read(bundle, "attestation.intoto.json")
    statement = Statement.copy_from_pb(json_format.ParseDict(content, statement_pb2.Statement()))
    statement.validate()
    predicate = json_format.ParseDict(content["predicate"], results_pb2.TestResult())
    assert content["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert predicate.result == "FAILED"
    assert len(predicate.failed_tests) + len(predicate.passed_tests) + len(predicate.warned_tests) == 8
    assert all(re.fullmatch("[0-9a-f]{64}", subject["digest"]["sha256"]) for subject in content["subject"])
    names = [subject["name"] for subject in content["subject"]]
    assert len(set(names)) == len(names)
    files = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert files - set(names) == {"attestation.intoto.json"}
    data = {"data: census_income.csv", "model: census_income_tree.skops", "model: census_income_tree-variants.skops"}
    assert set(names) - files == (set() if (bundle / "models").exists() else data)


def test_an_attestation_without_subjects_or_of_other_fields_is_noticed(whole: Path) -> None:
    content = read(whole, "attestation.intoto.json")
    empty = json_format.ParseDict({**content, "subject": []}, statement_pb2.Statement())
    with pytest.raises(ValueError, match="At least one subject"):
        Statement.copy_from_pb(empty).validate()
    with pytest.raises(json_format.ParseError):
        json_format.ParseDict({**content["predicate"], "score": 1}, results_pb2.TestResult())


def test_a_run_passed_that_found_none_and_is_warned_of_that_broke_off(tmp_path: Path) -> None:
    made = bundle_cases.bundled_runs(tmp_path / "workspace")
    store = RunStore(tmp_path / "workspace")
    config = store.run(made.runs["estimate"]).config
    run_id = store.create_run(config, made.review.id)
    store.request_cancel(run_id)
    assert store.run(run_id).state is RunState.CANCELLED
    write_bundle(store, made.review, [store.run(run_id)], tmp_path / "bundle", with_rows=False, extra={})
    predicate = read(tmp_path / "bundle", "attestation.intoto.json")["predicate"]
    assert (predicate["result"], len(predicate["warnedTests"])) == ("WARNED", 1)
    [action] = actions(tmp_path / "bundle")
    assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert action["error"] == "The run was cancelled; what it had found is kept."
    check_crate(tmp_path / "bundle")


# --- RO-Crate -----------------------------------------------------------------------------------


def entities(bundle: Path) -> dict[str, dict[str, Any]]:
    """The entities of a crate by their id."""
    graph = read(bundle, "ro-crate-metadata.json")["@graph"]
    found = {entity["@id"]: entity for entity in graph}
    assert len(found) == len(graph), "an id twice"
    return found


def actions(bundle: Path) -> list[dict[str, Any]]:
    return [entity for entity in entities(bundle).values() if entity["@type"] == "CreateAction"]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def references(value: Any) -> list[str]:
    return [each["@id"] for each in listed(value) if isinstance(each, dict)]


def check_crate(bundle: Path) -> None:
    """What RO-Crate 1.3 and Process Run Crate 0.6 ask for, read from their texts: every *must*, and each *should* that
    somebody's program could rest on.
    """
    known = entities(bundle)
    descriptor = known["ro-crate-metadata.json"]
    assert descriptor["@type"] == "CreativeWork"
    assert (descriptor["about"], descriptor["conformsTo"]) == ({"@id": "./"}, {"@id": "https://w3id.org/ro/crate/1.3"})
    root = known["./"]
    assert root["@type"] == "Dataset"
    assert all(root[name] for name in ("name", "description"))
    datetime.fromisoformat(root["datePublished"])
    assert {"name", "description"} <= set(known[root["license"]["@id"]])
    profile = known[root["conformsTo"]["@id"]]
    assert profile["@id"] == "https://w3id.org/ro/wfrun/process/0.6"
    assert "CreativeWork" in listed(profile["@type"])
    for entity in known.values():
        for name, value in entity.items():
            if name not in ("conformsTo", "about") or entity is root:
                assert [each for each in references(value) if each not in known] == [], (entity["@id"], name)
        assert not any(isinstance(value, list) and len(value) < 2 for value in entity.values())
    check_files(bundle, known)
    for action in actions(bundle):
        check_action(action, known)
    assert set(references(root["mentions"])) == {action["@id"] for action in actions(bundle)}


def check_files(bundle: Path, known: dict[str, dict[str, Any]]) -> None:
    """Files are there and are part of the whole, or are named as not being there."""
    reached: set[str] = set()
    waiting = ["./"]
    while waiting:
        here = waiting.pop()
        reached.add(here)
        waiting += [each for each in references(known[here].get("hasPart", [])) if each not in reached]
    for identity, entity in known.items():
        kinds = listed(entity["@type"])
        if "File" in kinds or "Dataset" in kinds:
            assert identity in reached, identity
            assert {"name", "description"} <= set(entity)
        if "File" in kinds:
            assert {"encodingFormat", "contentSize"} <= set(entity)
            path = bundle / unquote(identity)
            if identity.startswith("#"):
                assert not (bundle / entity["localPath"]).exists()
                assert "Not in the bundle" in entity["description"]
            else:
                assert path.stat().st_size == int(entity["contentSize"])
        elif "Dataset" in kinds:
            assert identity.endswith("/")
            assert (bundle / unquote(identity)).is_dir()


def check_action(action: dict[str, Any], known: dict[str, dict[str, Any]]) -> None:
    """A tool was executed, by whom, when, on what, with what result."""
    tool = known[action["instrument"]["@id"]]
    assert tool["@type"] == "SoftwareApplication"
    assert re.match(r"[a-z]+:", tool["@id"]), "an absolute address"
    assert {"name", "url", "version"} <= set(tool)
    assert "softwareVersion" not in tool
    for library in references(tool["softwareRequirements"]):
        assert known[library]["@type"] == "SoftwareApplication"
        assert {"name", "url", "version"} <= set(known[library])
    assert known[action["agent"]["@id"]]["@type"] == "Person"
    assert action["name"]
    assert action["description"]
    started = datetime.fromisoformat(action.get("startTime", action["endTime"]))
    assert started <= datetime.fromisoformat(action["endTime"])
    assert started.tzinfo is not None
    is_failed = action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert is_failed or action["actionStatus"] == "http://schema.org/CompletedActionStatus"
    assert ("error" in action) == is_failed
    for name in ("object", "result"):
        assert all(known[each]["@type"] == "File" for each in references(action[name]))


def test_the_crate_follows_the_specification(bundle: Path) -> None:
    check_crate(bundle)
    assert len(actions(bundle)) == 8
    for action in actions(bundle):
        used = [entities(bundle)[each] for each in references(action["object"])]
        names = [entity.get("alternateName", entity["name"]) for entity in used]
        assert names[0] == "census_income.csv"
        assert all(re.fullmatch("[0-9a-f]{64}", entity["sha256"]) for entity in used)


def test_every_word_of_the_crate_is_one_of_its_vocabulary(bundle: Path) -> None:
    """The context of RO-Crate 1.3 as the package of its own project has it."""
    context = json.loads((resources.files("rocrate") / "data" / "ro-crate.jsonld").read_text())
    assert context["version"].startswith("1.3")
    words = set(context["@context"])
    for entity in entities(bundle).values():
        assert set(entity) - {"@id", "@type"} <= words
        assert set(listed(entity["@type"])) <= words


def test_the_crate_opens_in_its_own_library(bundle: Path) -> None:
    from rocrate.rocrate import ROCrate

    crate = ROCrate(str(bundle))
    assert crate.root_dataset["conformsTo"].id == "https://w3id.org/ro/wfrun/process/0.6"
    assert len(crate.get_by_type("CreateAction")) == 8


def test_a_crate_that_breaks_the_specification_is_noticed(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "bundle")
    content = read(whole, "ro-crate-metadata.json")
    wrongs: dict[str, Callable[[dict[str, dict[str, Any]]], Any]] = {
        "no licence": lambda e: e["./"].pop("license"),
        "no profile": lambda e: e["./"].pop("conformsTo"),
        "an action without its tool": lambda e: next(a for a in e.values() if a["@type"] == "CreateAction").pop(
            "instrument"
        ),
        "a file that is not there": lambda e: e["review.json"].update({"@id": "other.json"}),
        "a run that the root does not mention": lambda e: e["./"]["mentions"].pop(),
    }
    noticed = []
    for what, change in wrongs.items():
        changed = broken(content, lambda crate, do=change: do({each["@id"]: each for each in crate["@graph"]}))
        (tmp_path / "bundle" / "ro-crate-metadata.json").write_text(json.dumps(changed))
        try:
            check_crate(tmp_path / "bundle")
        except (AssertionError, KeyError, OSError):
            noticed.append(what)
    assert noticed == list(wrongs)


@pytest.mark.parametrize("bundle", the_first(1, ["whole", "without_rows"]), indirect=True)
def test_the_validator_of_the_format_finds_no_rule_broken(bundle: Path) -> None:
    """Where its environment is there: it cannot be installed beside import-linter (see requirements-crate.txt)."""
    python = os.environ.get(CRATE_PYTHON)
    if not python:
        pytest.skip(f"rocrate-validator is not here: {CRATE_PYTHON} names no environment of requirements-crate.txt")
    command = [python, str(ROOT / "scripts" / "check_crate.py"), str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert {rule for _, rule, _ in told} == set(KNOWN)
