"""A model file that runs its author's code, where the operator allowed such files: it gets nowhere."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.errors import ModelError
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.sandbox import landlock
from fairness_engine.runs import queue
from fairness_engine.store.environment import UNSAFE_FORMATS_VARIABLE
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.store import RunStore
from worker_cases import census_config

_ATTACK = """
import os, socket, subprocess, sys, urllib.request
from pathlib import Path
target, secret = Path({target!r}), Path({secret!r})
done = []
def attempt(name, action):
    try:
        action()
    except BaseException:
        return
    done.append(name)
attempt("write", lambda: target.write_text("x"))
attempt("read", secret.read_text)
attempt("database", lambda: (secret.parent / "evenhand.db").read_bytes())
attempt("socket", lambda: socket.create_connection(("127.0.0.1", 1), 1))
attempt("url", lambda: urllib.request.urlopen("http://127.0.0.1:1"))
attempt("socket object", lambda: socket.socket())
attempt("exec", lambda: os.execv("/bin/sh", ["sh", "-c", "true"]))
attempt("spawn", lambda: subprocess.run(["/bin/sh", "-c", "true"]))
attempt("fork", os.fork)
attempt("kill", lambda: os.kill(os.getppid(), 9))
attempt("own library", lambda: Path(os.__file__).open("a"))
print('{{"event": "Stopped"}}', flush=True)
os.write(1, b"noise\\n")
raise RuntimeError("succeeded: " + ", ".join(done) + ".")
"""


class Hostile:
    """Pickles to a call of its own."""

    def __init__(self, program: str) -> None:
        self.program = program

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (self.program,)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace for both tests, so that the searches' loops are compiled once."""
    return tmp_path_factory.mktemp("workspace")


def run_hostile(workspace: Path, tmp_path: Path) -> tuple[RunStore, RunRecord]:
    store = RunStore(workspace)
    secret = store.workspace / "secret.txt"
    secret.write_text("secret")
    program = _ATTACK.format(target=str(tmp_path / "taken.txt"), secret=str(secret))
    model = store.add_file(pickle.dumps(Hostile(program)), "model.pkl", FileRole.MODEL)
    config = census_config(store)
    object.__setattr__(config, "model_id", model.id)
    return store, queue.run_in_foreground(store, store.create_run(config), lambda run: None)


@pytest.mark.skipif(
    landlock.abi_version() < 3 or os.uname().machine not in ("x86_64", "aarch64"),
    reason="this kernel has no Landlock of version 3, or the processor no filter",
)
def test_code_in_a_model_file_reaches_nothing(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNSAFE_FORMATS_VARIABLE, "1")
    store, run = run_hostile(workspace, tmp_path)
    assert run.state is RunState.FAILED
    assert "succeeded: ." in (run.message or "")
    assert not (tmp_path / "taken.txt").exists()
    assert "noise" in (store.run_folder(run.id) / "run.log").read_text()


def test_such_files_are_refused_where_nothing_keeps_their_code_from_files(tmp_path: Path) -> None:
    marker = tmp_path / "taken.txt"
    model = tmp_path / "model.pkl"
    model.write_bytes(pickle.dumps(Hostile(f"from pathlib import Path; Path({str(marker)!r}).touch()")))
    sample = find_sample("credit")
    data = sample.data
    process = ModelProcess(tmp_path, [data, model], None, newest_landlock=0)
    try:
        process.greet()
        with pytest.raises(ModelError, match="refused on this system although they were allowed: without Landlock"):
            process.ask(
                "open",
                60.0,
                data={"path": str(data), "name": data.name},
                model={"path": str(model), "name": model.name},
                schema=sample.schema_for(sample.models[0]).to_json(),
                scope=None,
                unsafe_formats=True,
            )
    finally:
        process.close()
    assert not marker.exists()


def test_such_files_are_refused_unless_allowed(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(UNSAFE_FORMATS_VARIABLE, raising=False)
    store, run = run_hostile(workspace, tmp_path)
    assert run.state is RunState.FAILED
    assert "refused" in (run.message or "")
    assert not (tmp_path / "taken.txt").exists()
    assert "noise" not in (store.run_folder(run.id) / "run.log").read_text()
