"""The set-up script: what it prepares, what it notices, what it says when something is missing."""

from __future__ import annotations

import fcntl
import hashlib
import http.server
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

LOCKS = ("requirements.lock", "requirements-dev.lock")
SETUP_LOCK = "requirements-setup.lock"


def load(root: Path, name: str) -> ModuleType:
    """A script of scripts/, as a module."""
    specification = importlib.util.spec_from_file_location(f"script_{name}", root / "scripts" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def setup(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The set-up script, working on an empty project in a folder of its own."""
    monkeypatch.syspath_prepend(str(root / "scripts"))
    module = load(root, "setup")
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    for name, value in {
        "ROOT": tmp_path,
        "VENV": folder,
        "VENV_PYTHON": folder / "bin" / "python",
        "STAMP": folder / "setup-stamp.json",
        "LOG": folder / "setup.log",
        "BYTECODE_KEPT": folder / "bytecode-kept",
    }.items():
        monkeypatch.setattr(module, name, value)
    for lock in (*LOCKS, SETUP_LOCK):
        (tmp_path / lock).write_text("six==1.17.0 \\\n    --hash=sha256:00\n")
    return module


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """A package index on this machine that offers one wheel of pip, four bytes long."""
    pages = tmp_path / "index"
    (pages / "simple" / "pip").mkdir(parents=True)
    (pages / "pip-26.3-py3-none-any.whl").write_bytes(b"pip!")
    (pages / "simple" / "pip" / "index.html").write_text(
        '<a href="../../pip-26.2-py3-none-any.whl">old</a> <a href="../../pip-26.3-py3-none-any.whl#sha256=1">new</a>'
    )

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
            """Say nothing."""

    def handler(*args: object) -> Quiet:
        return Quiet(*args, directory=str(pages))  # the server passes its own three arguments

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
        server.shutdown()


def stamp_of(setup: ModuleType, *locks: str) -> dict[str, object]:
    return {**{lock: setup.lock_hash(lock) for lock in (*locks, SETUP_LOCK)}, "python": list(sys.version_info[:2])}


def test_without_a_stamp_nothing_is_ready(setup: ModuleType) -> None:
    assert not setup.is_ready("requirements.lock")


def test_a_stamp_of_this_lock_and_python_is_ready(setup: ModuleType) -> None:
    setup.STAMP.write_text(json.dumps(stamp_of(setup, "requirements.lock")))
    assert setup.is_ready("requirements.lock")
    assert not setup.is_ready("requirements-dev.lock")


def test_a_changed_lock_is_noticed(setup: ModuleType) -> None:
    setup.STAMP.write_text(json.dumps(stamp_of(setup, *LOCKS)))
    (setup.ROOT / "requirements.lock").write_text("six==1.17.1\n")
    assert not setup.is_ready("requirements.lock")
    assert setup.is_ready("requirements-dev.lock")


def test_another_installer_is_noticed(setup: ModuleType) -> None:
    setup.STAMP.write_text(json.dumps(stamp_of(setup, *LOCKS)))
    (setup.ROOT / SETUP_LOCK).write_text("six==1.17.1\n")
    assert not setup.is_ready("requirements.lock")


def test_another_python_is_noticed(setup: ModuleType) -> None:
    setup.STAMP.write_text(json.dumps({**stamp_of(setup, "requirements.lock"), "python": [3, 10]}))
    assert not setup.is_ready("requirements.lock")


def test_an_environment_whose_python_is_gone_is_noticed(setup: ModuleType) -> None:
    setup.STAMP.write_text(json.dumps(stamp_of(setup, "requirements.lock")))
    setup.VENV_PYTHON.unlink()
    setup.VENV_PYTHON.symlink_to("/nowhere/python3")
    assert not setup.is_ready("requirements.lock")


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "null"])
def test_a_damaged_stamp_is_as_good_as_none(setup: ModuleType, content: str) -> None:
    setup.STAMP.write_text(content)
    assert not setup.is_ready("requirements.lock")


def test_this_python_is_chosen_when_it_is_supported(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_PYTHON", raising=False)
    assert setup.choose_python() == sys.executable


def test_an_unsupported_python_is_refused_in_a_sentence(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\necho 3 9\n")
    old.chmod(0o755)
    monkeypatch.setenv("EVENHAND_PYTHON", str(old))
    with pytest.raises(setup.SetupError, match=r"needs Python 3\.11, 3\.12 or 3\.13, and found .*python3\.9"):
        setup.choose_python()


def test_a_python_that_does_not_run_is_refused(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_PYTHON", "/nowhere/python3.12")
    with pytest.raises(setup.SetupError, match=r"/nowhere/python3\.12"):
        setup.choose_python()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("WARNING: Retrying ... NewConnectionError('<pip...>: Failed to establish')\nERROR: No matching", "network"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "match its hash"),
        ("ERROR: No matching distribution found for numba==0.68.1", "PIP_INDEX_URL"),
        ("PermissionError: [Errno 13] Permission denied: '.venv'", "writable by you"),
        ("something\nERROR: a thing that nobody foresaw\n", "a thing that nobody foresaw"),
        ("", "no message"),
    ],
)
def test_a_failure_is_explained_in_a_sentence(setup: ModuleType, output: str, expected: str) -> None:
    sentence = setup.explain(output)
    assert expected in sentence
    assert "\n" not in sentence


def test_a_full_disk_is_said_before_anything_is_downloaded(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "MIN_FREE_BYTES", 2**62)
    with pytest.raises(setup.SetupError, match=r"needs about 5 GB of free disk space, and .* has \d+\.\d GB"):
        setup.prepare("requirements.lock")


def test_pip_is_fetched_from_the_configured_index(
    setup: ModuleType, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    monkeypatch.setattr(setup, "PIP_SHA256", hashlib.sha256(b"pip!").hexdigest())
    assert setup.fetch_pip(tmp_path).read_bytes() == b"pip!"


def test_a_pip_with_another_hash_is_not_used(
    setup: ModuleType, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    with pytest.raises(ValueError, match="does not have the expected hash"):
        setup.fetch_pip(tmp_path)
    assert not (tmp_path / setup.PIP_WHEEL).exists()


def test_the_index_is_read_from_the_file_that_pip_reads(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nindex-url = https://packages.example/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    assert setup.pip_setting("index-url") == "https://packages.example/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://other.example/simple")
    assert setup.pip_setting("index-url") == "https://other.example/simple"


def test_a_local_index_is_not_asked_through_settings_of_another_python(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example/simple")
    environment = setup.clean_environment()
    assert "PYTHONPATH" not in environment
    assert environment["PIP_INDEX_URL"] == "https://packages.example/simple"


# Installing by uv


@pytest.fixture
def own_environment(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with nothing in it, that finds pip and uv in the tests' own; what uv keeps is its own."""
    shutil.rmtree(setup.VENV)
    venv.create(setup.VENV, with_pip=False)
    (packages,) = (setup.VENV / "lib").glob("python3*/site-packages")
    (packages / "tools.pth").write_text(sysconfig.get_path("purelib"))
    (setup.VENV / "bin" / "uv").symlink_to(Path(sysconfig.get_path("scripts")) / "uv")
    monkeypatch.setenv("UV_CACHE_DIR", str(setup.ROOT / "kept"))
    return packages


@pytest.fixture
def lock_of_a_wheel(index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lock file of one package that the index offers, which pip is set to."""
    name = "tiny-1.0-py3-none-any.whl"
    about = "tiny-1.0.dist-info"
    wheel = tmp_path / "index" / name
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny.py", "WORD = 'installed'\n")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{about}/RECORD", f"tiny.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
    (tmp_path / "index" / "simple" / "tiny").mkdir()
    (tmp_path / "index" / "simple" / "tiny" / "index.html").write_text(f'<a href="../../{name}">{name}</a>')
    monkeypatch.setenv("PIP_INDEX_URL", index)
    lock = tmp_path / "tiny.lock"
    lock.write_text(f"tiny==1.0 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return lock


@pytest.mark.thorough
def test_uv_installs_from_the_index_that_pip_is_set_to(
    setup: ModuleType, own_environment: Path, lock_of_a_wheel: Path
) -> None:
    assert setup.uv_install(lock_of_a_wheel), setup.LOG.read_text()
    assert (own_environment / "tiny.py").read_text() == "WORD = 'installed'\n"


def test_uv_installs_nothing_with_another_hash_and_pip_says_so(
    setup: ModuleType, own_environment: Path, lock_of_a_wheel: Path
) -> None:
    lock_of_a_wheel.write_text("tiny==1.0 --hash=sha256:" + "0" * 64 + "\n")
    assert not setup.uv_install(lock_of_a_wheel)
    with pytest.raises(setup.SetupError, match="must match its hash"):
        setup.pip_install(lock_of_a_wheel)
    assert not (own_environment / "tiny.py").exists()


@pytest.mark.thorough
def test_where_uv_has_no_word_for_how_pip_is_set_up_pip_is_asked(
    setup: ModuleType, own_environment: Path, lock_of_a_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_PREFER_BINARY", "1")
    assert setup.environment_of_uv() is None
    assert not setup.uv_install(lock_of_a_wheel)
    setup.pip_install(lock_of_a_wheel)
    assert (own_environment / "tiny.py").exists()


def test_settings_of_pip_are_uvs_too_and_the_nearest_counts(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = tmp_path / "pip.conf"
    settings.write_text(
        "[global]\nindex-url = https://far.example/simple\nextra-index-url =\n  https://a.example\n  https://b.example\n"
        "find-links = /one /two\nconstraint = /nowhere.txt\n[install]\ncert = /company.pem\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_INDEX_URL", "https://near.example/simple")
    monkeypatch.setattr(setup, "VENV_PYTHON", Path(sys.executable))
    told = setup.environment_of_uv()
    assert told["UV_DEFAULT_INDEX"] == "https://near.example/simple"
    assert told["UV_INDEX"] == "https://a.example https://b.example"
    assert told["UV_FIND_LINKS"] == "/one,/two"
    assert told["SSL_CERT_FILE"] == "/company.pem"


def test_packages_are_compiled_once_and_by_one(setup: ModuleType, own_environment: Path) -> None:
    (own_environment / "tests").mkdir()
    for module in (own_environment / "tiny.py", own_environment / "tests" / "never.py"):
        module.write_text("WORD = 1\n")
    code = f"import sys; sys.path.insert(0, {str(Path(setup.__file__).parent)!r})\n"
    code += "import setup; from pathlib import Path\n"
    code += f"setup.VENV = Path({str(setup.VENV)!r}); setup.VENV_PYTHON = setup.VENV / 'bin' / 'python'\n"
    code += "setup.BYTECODE_KEPT = setup.VENV / 'bytecode-kept'; setup.keep_bytecode_of_packages()"
    command = [sys.executable, "-c", code]  # it yields to everybody, which no process of tests may
    kept = Path(importlib.util.cache_from_source(str(own_environment / "tiny.py")))
    with (setup.VENV / "pyvenv.cfg").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, check=True)
        assert not kept.exists()
    assert not setup.BYTECODE_KEPT.exists()
    subprocess.run(command, check=True)
    assert setup.BYTECODE_KEPT.exists()
    assert kept.exists()
    assert not (own_environment / "tests" / "__pycache__").exists()


# The lock files


def pinned(root: Path, lock: str) -> dict[str, str]:
    """Name (normalised) -> version of a lock file."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", (root / lock).read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def wanted(root: Path, requirements: str) -> set[str]:
    """The names in a readable requirements file."""
    found = re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)", (root / requirements).read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found}


def test_the_program_is_kept_as_bytecode(setup: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    module = tmp_path / "pages" / "data.py"
    module.write_text("WORD = 'old'\n")
    setup.keep_bytecode(tmp_path / "pages", tmp_path / "nowhere")  # what is not there is left out
    kept = Path(importlib.util.cache_from_source(str(module)))
    assert b"old" in kept.read_bytes()
    module.write_text("WORD = 'newer'\n")
    os.utime(module, (1e9, 1e9))  # another time than a moment ago, to the second
    setup.keep_bytecode(tmp_path / "pages")
    assert b"newer" in kept.read_bytes()


def test_compiling_that_was_killed_did_not_come_to_its_end(setup: ModuleType, tmp_path: Path) -> None:
    assert setup.keep_bytecode(tmp_path / "nowhere")
    setup.VENV_PYTHON.unlink()
    setup.VENV_PYTHON.write_text("#!/bin/sh\nkill -9 $$\n")
    setup.VENV_PYTHON.chmod(0o755)
    assert not setup.keep_bytecode(tmp_path / "nowhere")


def test_the_locks_hold_what_the_readable_files_ask_for(root: Path) -> None:
    run, dev = (pinned(root, lock) for lock in LOCKS)
    assert wanted(root, "requirements.txt") <= run.keys()
    assert wanted(root, "requirements-dev.txt") <= dev.keys()
    assert run.items() <= dev.items(), "the larger lock holds the smaller one, version by version"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_of_a_lock_has_a_hash(root: Path, lock: str) -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", (root / lock).read_text())[1:]
    assert len(entries) > 50
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_what_installs_and_builds_the_others_is_locked_too(root: Path, setup: ModuleType) -> None:
    tools = pinned(root, SETUP_LOCK)
    run = pinned(root, "requirements.lock")
    assert wanted(root, "requirements-setup.txt") <= tools.keys()
    assert {name: run.get(name, version) for name, version in tools.items()} == tools
    assert (root / SETUP_LOCK).read_text().count("--hash=sha256:") > len(tools)


def test_these_tests_run_with_the_locked_versions(root: Path) -> None:
    installed = {
        re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower(): package.version
        for package in importlib.metadata.distributions()
    }
    wrong = {
        name: installed.get(name) for name, version in pinned(root, LOCKS[1]).items() if installed.get(name) != version
    }
    assert wrong == {}, "run `make setup-dev`"
