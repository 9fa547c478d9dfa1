"""What ``compose.yaml`` describes works, each service by itself and all together: started on this machine without
containers (``compose_services.py`` says how), by the commands, addresses and variables of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from compose_services import GIVEN, HERE, ROOT, Services
from fairness_engine.cluster.depot import Depot
from own_cluster import Cluster, cluster
from worker_cases import DATA, SCHEMA, wait_for

pytestmark = pytest.mark.thorough

pytest.importorskip("distributed", reason="evenhand[cluster] is not installed")

SERVERS_PYTHON = "EVENHAND_SERVERS_PYTHON"
MODEL = ROOT / "sample_models" / "census_income_forest.skops"
OPTIONS = ("--data", str(DATA), "--schema", str(SCHEMA), "--model", str(MODEL), "--protected", "sex,race")
SEARCH = ("search", *OPTIONS, "--technique", "random", "--max-evaluations", "100000", "--seed", "1")
COMPARE = ("compare", *OPTIONS, "--techniques", "random", "--max-evaluations", "20000", "--seeds", "1", "--seed", "1")
NAMED = ("app", "database", "files", "scheduler")
"""Services that say how they are."""


@pytest.fixture(scope="module")
def database() -> Iterator[Cluster]:
    """A server of PostgreSQL that nobody else stops and starts."""
    with cluster() as started:
        yield started


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Services]:
    """The services, of which none was started but the database's server; nothing of them is at work afterwards."""
    python = os.environ.get(SERVERS_PYTHON)
    if not python:
        pytest.skip(f"a server that speaks S3 is not here: {SERVERS_PYTHON} is not set (requirements-servers.txt)")
    services = Services(tmp_path_factory.mktemp("services"), request.getfixturevalue("database"), python)
    try:
        yield services
    finally:
        services.close()
    wait_for(lambda: not services.at_work())


@pytest.fixture(scope="module")
def unwell(before: Services) -> dict[str, bool]:
    """What health checks say while nothing is there; of the database, while its server has a socket alone, as that of
    the image has while it makes the database.
    """
    server = before._database
    server.stop()
    server.do("pg_ctl", "start", "-w", "-o", "-c listen_addresses=''", "-l", str(server.folder / "server.log"))
    said = {name: before.is_healthy(name) for name in NAMED}
    server.stop()
    server.start()
    return said


@pytest.fixture(scope="module")
def services(before: Services, unwell: dict[str, bool]) -> Services:
    """All of them at work."""
    before.up()
    return before


def command(services: Services, environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    """The JSON of a command of the engine."""
    words = [sys.executable, "-m", "fairness_engine", *arguments, "--json", "-", "--quiet"]
    done = subprocess.run(words, env=environment, cwd=services.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def through_all(services: Services, *arguments: str) -> dict[str, Any]:
    """As from within the app's container."""
    return command(services, services.environment("app"), *arguments)


def alone(services: Services, *arguments: str) -> dict[str, Any]:
    """Without any of the services."""
    return command(services, services.here(), *arguments, "--workspace", str(services.folder / "alone"))


def status_of(services: Services, host: str) -> int:
    """What the app answers to whoever calls it so."""
    request = urllib.request.Request(f"http://{HERE}:{services.ports[8501]}/", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as refused:
        return refused.code


@pytest.fixture(scope="module")
def found(services: Services) -> dict[str, Any]:
    """A search that database, store and cluster had a part in."""
    return through_all(services, *SEARCH)


def test_health_checks_say_no_while_nothing_is_there(unwell: dict[str, bool], before: Services) -> None:
    assert unwell == dict.fromkeys(NAMED, False)
    assert {name for name in before.services if before.health_check(name)} == set(NAMED)


def test_all_of_them_come_up_in_the_order_of_the_file_and_are_well(services: Services) -> None:
    assert {name: services.is_healthy(name) for name in NAMED} == dict.fromkeys(NAMED, True)
    assert [process.poll() for process in services.processes["bucket"]] == [0]
    assert [process.poll() for process in services.processes["worker"]] == [None, None]


def test_they_are_told_nothing_that_will_go(services: Services) -> None:
    assert [name for name in services.processes if "eprecat" in services.log(name)] == []


def test_the_app_answers_to_the_name_it_is_told(services: Services) -> None:
    assert status_of(services, GIVEN["EVENHAND_NAME"]) == 200
    assert status_of(services, "another.example.org") == 421


def test_a_search_through_all_of_it_finds_what_one_alone_finds(services: Services, found: dict[str, Any]) -> None:
    assert found["n_found"] > 0
    assert found["result_hash"] == alone(services, *SEARCH)["result_hash"]


def test_runs_that_go_to_a_worker_whole_find_what_they_find_alone(services: Services) -> None:
    compared = through_all(services, *COMPARE)
    assert compared["workers"] == 2
    assert compared["blocks"]["done"] == sum(len(each["run_ids"]) for each in compared["techniques"]) > 0
    assert compared["result_hash"] == alone(services, *COMPARE)["result_hash"]


def test_records_are_in_the_database_and_files_in_the_bucket(
    services: Services, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Path(services.environment("app")["EVENHAND_WORKSPACE"])
    assert workspace.is_dir()
    assert list(workspace.rglob("*.db")) == []
    engine = create_engine(services._database.url("evenhand").replace("postgresql", "postgresql+psycopg", 1))
    with engine.connect() as connection:
        ids = connection.execute(text("SELECT id FROM runs")).scalars().all()
    engine.dispose()
    assert found["run_id"] in ids
    for name, value in services.environment("worker").items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    depot = Depot(services.environment("app")["EVENHAND_DEPOT"])
    for file in (DATA, MODEL):
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        assert depot.fetch(sha256, services.folder / "fetched").read_bytes() == file.read_bytes()
