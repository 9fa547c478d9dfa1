"""Commands that are given while the app stands by: they are forked from its fork server, and nobody can tell."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from fairness_engine.model_process.starting import standby, start
from fairness_engine.model_process.starting.compiled_loops import compiled_folder, ready_loops
from fairness_engine.store.alive import process_start_time
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from worker_cases import wait_for

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the fork server takes Linux"),
]

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "sample_data" / "census_income.csv"
MODEL = ROOT / "sample_models" / "census_income_network.keras"
INPUTS = ["--data", str(DATA), "--schema", str(DATA.with_suffix(".schema.json")), "--model", str(MODEL)]
ENDLESS = ["search", *INPUTS, "--protected", "sex", "--max-evaluations", "1000000000000", "--json", "-"]
COMMAND = [sys.executable, "-m", "fairness_engine"]


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where an app's fork server stands by; the folder that ``XDG_RUNTIME_DIR`` names for its user."""
    runtime = tmp_path_factory.mktemp("r")
    program = (
        "import sys; from pathlib import Path; from fairness_engine.model_process.starting import start\n"
        "start.get_ready(Path(sys.argv[1]), stands_by=True); print(start._own.server.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(runtime)]
    with subprocess.Popen(
        command, cwd=ROOT, env=beside(runtime), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as stands:
        assert stands.stdout is not None
        server = int(stands.stdout.readline())
        yield runtime
        stands.communicate("")
    wait_for(lambda: process_start_time(server) is None)  # it has served those that came


def beside(runtime: Path) -> dict[str, str]:
    return {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}


def asked(
    runtime: Path, *arguments: str, program: Sequence[str] = COMMAND, **options: object
) -> subprocess.CompletedProcess[bytes]:
    """A command and what came of it."""
    settings = {"cwd": ROOT, "env": beside(runtime), "timeout": 120, "capture_output": True, **options}
    return subprocess.run([*program, *arguments], check=False, **settings)  # type: ignore[call-overload, no-any-return]


def forked_commands() -> list[int]:
    """Processes that are commands of their own, forked."""
    found = []
    for name in Path("/proc").glob("[0-9]*/comm"):
        try:
            if name.read_text() == "ev forked\n":
                found.append(int(name.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture
def endless(app: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], RunStore, int]]:
    """A search that ends only when told to, as it works; its store, and the process that does the command."""
    before = set(forked_commands())
    process = subprocess.Popen(
        [*COMMAND, *ENDLESS, "--workspace", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=beside(app),
        start_new_session=True,
    )
    store = RunStore(tmp_path)
    wait_for(lambda: any(store.n_pairs(run.id) for run in store.runs_in(RunState.RUNNING)), 120)
    mine = [pid for pid in forked_commands() if pid not in before and says(pid, str(tmp_path))]
    assert len(mine) == 1
    yield process, store, mine[0]
    process.kill()
    process.communicate()
    for run in store.runs():
        store.request_cancel(run.id)
    store.close()


def says(pid: int, text: str) -> bool:
    """Whether a process works on something of a test: its run, as its caller's words are no longer its own."""
    children = Path(f"/proc/{pid}/fd")
    return any(text in str(each.resolve()) for each in children.iterdir())


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["runs", "list"], 0),
        (["search", "--help"], 0),
        (["inspect", "--data", str(DATA), "--json", "-"], 0),
        (["inspect", "--data", "none.csv"], 2),
        (["dance"], 2),
        ([], 2),
        (["estimate", *INPUTS, "--protected", "sex", "--samples", "500", "--json", "-", "--quiet"], 0),
        (["estimate", *INPUTS, "--protected", "sex", "--samples", "500", "--fail-if", "n < 1000", "--quiet"], 1),
    ],
)
def test_what_a_command_says_is_the_same_alone_and_beside_the_app(
    arguments: list[str], status: int, app: Path, tmp_path: Path
) -> None:
    said = []
    for name, runtime in (("alone", tmp_path), ("beside", app)):
        workspace = str(tmp_path / name)
        own = [*arguments, "--workspace", workspace] if len(arguments) > 1 else arguments
        done = asked(runtime, *own)
        assert done.returncode == status, done.stderr
        out, errors = (each.replace(workspace.encode(), b"W") for each in (done.stdout, done.stderr))
        said.append((without_what_differs(out), errors))
    assert said[0] == said[1]


def without_what_differs(out: bytes) -> object:
    """What a command printed, without ids of runs and times."""
    if not out.startswith(b"{"):
        return [line for line in out.splitlines() if b"Run " not in line]
    told = json.loads(out)
    return {name: value for name, value in told.items() if name not in ("run_id", "seconds", "curve")}


def test_a_command_has_the_callers_folder_variables_and_streams(app: Path, tmp_path: Path) -> None:
    (tmp_path / "here.csv").write_bytes(b"a,b\n1,x\xc3\xbc\n2,y\n3,x\xc3\xbc\n")
    own = {**beside(app), "EVENHAND_WORKSPACE": str(tmp_path / "named"), "PYTHONIOENCODING": "latin-1"}
    done = asked(app, "inspect", "--data", "nöwhere.csv", cwd=tmp_path, env={**own, "PYTHONPATH": str(ROOT)})
    assert "nöwhere.csv".encode("latin-1") in done.stderr
    done = asked(app, "inspect", "--data", "here.csv", cwd=tmp_path, env={**own, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "named").is_dir()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reaches_the_command(
    number: signal.Signals, endless: tuple[subprocess.Popen[bytes], RunStore, int]
) -> None:
    process, store, _ = endless
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    result = json.loads(out)
    assert result["state"] == "cancelled"
    assert store.n_pairs(result["run_id"]) == result["n_found"] > 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_command_ends_with_whoever_gave_it(
    number: signal.Signals, endless: tuple[subprocess.Popen[bytes], RunStore, int]
) -> None:
    process, store, pid = endless
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == -number
    wait_for(lambda: process_start_time(pid) is None)
    assert len(store.runs_in(RunState.RUNNING)) == 1  # as alone: the run goes on, and can be looked at


def test_what_ends_the_command_ends_whoever_gave_it(endless: tuple[subprocess.Popen[bytes], RunStore, int]) -> None:
    process, _, pid = endless
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def test_a_command_pauses_with_whoever_gave_it(endless: tuple[subprocess.Popen[bytes], RunStore, int]) -> None:
    process, _, pid = endless
    os.kill(process.pid, signal.SIGTSTP)
    wait_for(lambda: state_of(process.pid) == state_of(pid) == "T")
    os.kill(process.pid, signal.SIGCONT)
    wait_for(lambda: "T" not in (state_of(process.pid), state_of(pid)))


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("is_ignored", [True, False])
def test_a_hang_up_that_is_ignored_stays_ignored(is_ignored: bool, app: Path, tmp_path: Path) -> None:
    words = ["search", *INPUTS, "--protected", "sex", "--max-found", "200000", "--json", "-"]
    command = [*(["nohup"] if is_ignored else []), *COMMAND, *words, "--workspace", str(tmp_path)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=beside(app), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    store = RunStore(tmp_path)
    wait_for(lambda: any(run.n_found for run in store.runs()))
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, bool(out)) == ((0, True) if is_ignored else (-signal.SIGHUP, False))
    for run in store.runs():
        store.request_cancel(run.id)
    store.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_result_that_cannot_be_written_is_told(app: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = asked(app, "runs", "list", "--workspace", str(tmp_path), capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 3
    assert b"Standard output must be writable" in done.stderr


def test_a_reader_that_leaves_ends_the_command_quietly(app: Path) -> None:
    shell = f"{sys.executable} -m fairness_engine inspect --data {DATA} --json - | true"
    done = asked(app, "-c", shell, program=["/bin/sh"])
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["runs", "list", "--json", "/dev/fd/5"], ["runs", "list", "--json", "/proc/self/fd/5"]],
)
def test_files_of_the_callers_process_are_its_own(arguments: list[str], app: Path, tmp_path: Path) -> None:
    own = [*arguments, "--workspace", str(tmp_path)]
    shell = f"exec 5> {tmp_path / 'out'}; {' '.join([*COMMAND, *own])}"
    done = asked(app, "-c", shell, program=["/bin/sh"])
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out").read_text())


def place_in(runtime: Path, change: Callable[[], object] = lambda: None, **variables: str) -> str:
    """Where a program would look for a fork server, after a change of what it passes on."""
    program = (
        "from pathlib import Path; from fairness_engine.model_process.starting import standby\n"
        "print(standby.place(Path('/none'), []))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**beside(runtime), **variables},
        preexec_fn=change,
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "change",
    [
        lambda: os.umask(0o077),
        lambda: os.nice(3),
        lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)) or resource.setrlimit(resource.RLIMIT_CPU, (90, 90)),
        lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    ],
    ids=["mask", "niceness", "limit", "processors"],
)
def test_only_who_passes_on_the_same_finds_a_fork_server(change: Callable[[], object], runtime: Path) -> None:
    assert place_in(runtime) == place_in(runtime)
    assert place_in(runtime, change) != place_in(runtime)


def test_other_libraries_are_another_place(runtime: Path) -> None:
    assert place_in(runtime, LD_LIBRARY_PATH="/elsewhere") != place_in(runtime)


def test_a_folder_that_others_can_look_into_is_no_place(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert standby.place(runtime, []) is not None
    folder = runtime / f"evenhand-{os.getuid()}"
    folder.chmod(0o755)
    assert standby.place(runtime, []) is None
    folder.rename(runtime / "moved")
    (runtime / "moved").chmod(0o700)
    folder.symlink_to(runtime / "moved")
    assert standby.place(runtime, []) is None


def test_a_socket_that_was_left_behind_is_nobodys(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    path = standby.place(compiled_folder(runtime), ready_loops(runtime))
    assert path is not None
    left = standby.listen(path)
    assert left is not None
    found = standby.connect(path)
    assert found is not None
    assert found[1] == os.getpid()
    accepted = standby.accept(left)
    assert accepted is not None
    for each in (left, accepted, found[0]):
        each.close()
    assert standby.connect(path) is None
    monkeypatch.setattr(start, "_own", start._OwnServers())
    assert not start.find_ready(runtime)
    other = standby.listen(path.with_name("other"))
    assert other is not None
    other.close()
    assert not path.exists()  # it was tidied away
