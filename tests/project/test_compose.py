"""The services of ``compose.yaml`` find each other, know only what they need, and are told what Evenhand reads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from fairness_engine.store import environment

ROOT = Path(__file__).resolve().parents[2]
ADDRESSES = {"EVENHAND_DATABASE_URL": 5432, "EVENHAND_CLUSTER": 8786, "AWS_ENDPOINT_URL": 9000}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def test_the_file_is_what_the_schema_of_compose_files_asks_for() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    said = subprocess.run([*command, str(ROOT / "compose.yaml")], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_what_the_app_is_told_is_what_it_reads(services: dict[str, dict[str, Any]]) -> None:
    known = {value for name, value in vars(environment).items() if name.endswith("_VARIABLE")}
    told = {name for name in services["app"]["environment"] if name.startswith("EVENHAND_")}
    assert len(told) == 4
    assert told <= known


def test_every_address_is_of_a_service(services: dict[str, dict[str, Any]]) -> None:
    told = services["app"]["environment"] | services["worker"]["environment"]
    for name, port in ADDRESSES.items():
        address = urlsplit(told[name])
        assert address.hostname in services
        assert address.port == port
    assert services["worker"]["command"][2] == told["EVENHAND_CLUSTER"]
    assert services["scheduler"]["command"][3] == str(ADDRESSES["EVENHAND_CLUSTER"])


def test_workers_know_the_files_and_no_records(services: dict[str, dict[str, Any]]) -> None:
    of_app = services["app"]["environment"]
    of_worker = services["worker"]["environment"]
    assert of_worker == {name: value for name, value in of_app.items() if name.startswith("AWS_")}
    assert "environment" not in services["scheduler"]


def test_only_the_app_is_reached_from_outside_and_by_this_machine_alone(services: dict[str, dict[str, Any]]) -> None:
    assert {name: each["ports"] for name, each in services.items() if "ports" in each} == {
        "app": ["127.0.0.1:8501:8501"]
    }
    assert [name for name, each in services.items() if "outside" in each["networks"]] == ["app"]


def test_no_password_stands_in_it(services: dict[str, dict[str, Any]]) -> None:
    for each in services.values():
        for name, value in each.get("environment", {}).items():
            if re.search("PASSWORD|SECRET", name):
                assert value.startswith("${EVENHAND_PASSWORD:?"), name
            assert not urlsplit(str(value)).password
