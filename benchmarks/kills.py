"""Kills at random moments of all kinds of runs, and what is left: ``python -m benchmarks.kills`` (an hour) keeps the
table, ``--kills 6`` makes a few and prints it.

Each kill is SIGKILL: to the command, the app, the worker, the model's process, or all of them at once, which is as near
to a power cut as a program can come. The moment is drawn evenly over what the same run takes undisturbed. Then:

* the database is whole, and what was stored before is there, byte for byte;
* each run is in the state that it should be in, none works for ever;
* its pairs are the first ones of the undisturbed run, no fewer than were seen stored before the kill, and ``runs
  verify`` contradicts nothing;
* the same run with the same seed, in the same workspace, ends as the undisturbed one did;
* no half file and no process stays behind.

A crashed run may have stored something that cannot be checked without what would have come next (shares without their
tree); it is counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from benchmarks.table import keep, markdown
from fairness_engine.audit.verification import CheckVerdict
from fairness_engine.cli.commands.verify import verify
from fairness_engine.errors import EvenhandError
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.pairs import Pairs
from fairness_engine.runs import kinds, queue
from fairness_engine.store.environment import NO_FORK_VARIABLE
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.seal import check_seal
from fairness_engine.store.store import RunStore
from worker_cases import DATA, model_processes

ROOT = Path(__file__).resolve().parents[1]
_LONGEST_SECONDS = 600.0
_MOMENTS = (-0.2, 1.1)
"""Kills are drawn evenly: some come before the run begins, some when it has just ended."""
_POLL_SECONDS = 0.02
_TIMES = ("seconds", "rows_per_second", "took", "trace", "created")
"""What two equal runs differ in, wherever it stands in a result."""
_OF_READING = ("state", "positive", "positive_by", "inputs_by")
"""What of the reading of a model no clock decides: its figures are of as many rows as take a moment."""


@dataclass(frozen=True)
class Case:
    """A command that makes runs.

    Args:
        kind: under which the table counts it.
        name: what is special about it.
        arguments: of the command line; data, schema and model are names of the samples.
        weight: how many of 228 kills it gets.
    """

    kind: str
    name: str
    arguments: tuple[str, ...]
    weight: int


def _case(kind: str, name: str, command: str, data: str, model: str, more: str, weight: int) -> Case:
    samples = ROOT / "sample_data"
    files = ["--data", str(samples / f"{data}.csv"), "--schema", str(samples / f"{data}.schema.json")]
    if model:
        files += ["--model", str(ROOT / "sample_models" / model)]
    return Case(kind, name, (command, *files, *more.split(), "--seed", "3"), weight)


_TREE = "census_income_tree.skops"
_SEX = "--protected sex"
_BOTH = "--protected sex,race"
_RETRAIN = "--reference control --tolerance 0.3 --rounds 1 --set n_draws=500"
_AFRESH = f"{_RETRAIN} --measure-seconds 0"
CASES = (
    _case(
        "search", "random", "search", "census_income", _TREE, f"--technique random {_BOTH} --max-evaluations 60000", 8
    ),
    _case(
        "search",
        "AEQUITAS",
        "search",
        "census_income",
        _TREE,
        f"--technique aequitas {_BOTH} --max-evaluations 60000",
        8,
    ),
    _case(
        "search",
        "Directed",
        "search",
        "marketing",
        "marketing_planted.onnx",
        "--technique directed --max-evaluations 40000",
        8,
    ),
    _case("search", "SG", "search", "census_income", _TREE, f"--technique sg {_SEX} --max-evaluations 1000", 8),
    _case(
        "search", "MAFT+", "search", "credit", "credit_planted.onnx", "--technique maft-plus --max-evaluations 20000", 8
    ),
    _case("search", "ADF", "search", "credit", "credit_network.keras", "--technique adf --max-evaluations 5000", 8),
    _case(
        "certification", "a tree", "certify", "census_income", _TREE, f"{_SEX} --max-boxes 20000 --max-seconds 600", 16
    ),
    _case(
        "certification",
        "a network",
        "certify",
        "census_income",
        "census_income_mlp.skops",
        f"{_SEX} --max-boxes 500 --max-seconds 600",
        16,
    ),
    _case(
        "certification",
        "a forest",
        "certify",
        "marketing",
        "marketing_forest.skops",
        f"{_SEX} --max-boxes 100 --max-seconds 600",
        16,
    ),
    _case("retraining", "variants", "retrain", "census_income", _TREE, f"--strategy variants {_SEX} {_AFRESH}", 16),
    _case(
        "retraining",
        "a network",
        "retrain",
        "credit",
        "credit_network.keras",
        f"--strategy variants {_SEX} {_AFRESH} --set max_epochs=2",
        12,
    ),
    _case("retraining", "rule sets", "retrain", "census_income", _TREE, f"--strategy rules {_SEX} {_AFRESH}", 12),
    _case(
        "retraining",
        "with what follows",
        "retrain",
        "census_income",
        _TREE,
        f"--strategy variants {_SEX} {_RETRAIN} --measure-seconds 1",
        8,
    ),
    _case(
        "comparison",
        "three techniques",
        "compare",
        "census_income",
        _TREE,
        f"--techniques aequitas --seeds 1 {_SEX} --max-evaluations 10000",
        14,
    ),
    _case("rule sets", "of a model", "rules", "census_income", _TREE, _BOTH, 14),
    _case("groups", "of the data's labels", "rules", "census_income", "", _BOTH, 14),
    _case("estimate", "uniform", "estimate", "census_income", _TREE, f"{_SEX} --samples 200000", 12),
    _case("exact count", "of a forest", "count", "recidivism", "recidivism_planted.skops", "--protected race", 12),
    _case("texts", "terms", "rules", "comments", "comments_linear.skops", "--text-column comment", 10),
    _case(
        "texts",
        "retraining",
        "retrain",
        "comments",
        "comments_linear.skops",
        f"--text-column comment --strategy variants {_AFRESH}",
        10,
    ),
)
"""Sizes are such that a run takes a few seconds, and no clock decides what it finds."""


# --- what is there ------------------------------------------------------------------------------


def plain(content: Any) -> Any:
    """A result without what the clock decides."""
    if isinstance(content, dict):
        return {name: plain(value) for name, value in content.items() if name not in _TIMES}
    return [plain(value) for value in content] if isinstance(content, list) else content


def hash_of(*contents: Any) -> str:
    return hashlib.sha256(repr(contents).encode()).hexdigest()


def hash_of_pairs(pairs: Pairs) -> str:
    names = ("first", "second", "score_first", "score_second", "decision_first", "decision_second")
    return hash_of([getattr(pairs, name).tobytes() for name in names])


def hash_of_archive(path: Path) -> str:
    """Of the arrays in an ``.npz``; its own bytes tell when it was written."""
    if not path.is_file():
        return ""
    with np.load(path, allow_pickle=False) as held:
        return hash_of([(name, hash_of_arrays(held[name])) for name in sorted(held.files)])


def hash_of_arrays(array: np.ndarray[Any, Any]) -> str:
    with contextlib.suppress(ValueError, UnicodeDecodeError, AttributeError):
        return hash_of(plain(json.loads(array.tobytes())))  # texts, with the seconds that something took
    return hash_of(array.tobytes())


def outcome(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What a run that ended came to, part by part; equal for equal runs."""
    folder = store.run_folder(run.id)
    version = store.version(run.id)
    results = {name: plain(content) for name, content in store.results(run.id).items() if name != "measured"}
    if "reading" in results:
        results["reading"] = {name: results["reading"].get(name) for name in _OF_READING}
    return {
        "state": run.state.value,
        "reason": run.stop_reason and run.stop_reason.value,
        "counts": (run.evaluations, run.n_tried, run.n_found, run.n_rejected),
        "pairs": hash_of_pairs(store.pairs(run.id)),
        **{f"result {name}": hash_of(content) for name, content in results.items() if name not in _TIMES},
        "tree": hash_of_archive(folder / "tree.npz"),
        "rules": hash_of_archive(folder / "rules.npz"),
        "tested": hash_of_archive(folder / "tested.npz"),
        "model": version is not None,
    }


def question(config: RunConfig) -> str:
    """What two equal runs share."""
    content = replace(config, comparison=None).to_json()
    return hash_of(json.dumps(content, sort_keys=True))


def is_by_the_clock(config: RunConfig) -> bool:
    """Whether seconds end the run: what follows a retraining certifies both models for as long."""
    return kinds.CERTIFY.has(config) and not kinds.CERTIFY.settings(config).max_boxes


@dataclass
class Witness:
    """What was stored before a kill and must be there after it: everything that any table holds of runs that ended,
    and a review with a note.
    """

    store: RunStore
    review_id: str = ""
    seals: dict[str, str] = field(default_factory=dict)

    def note(self, run_ids: Sequence[str]) -> None:
        """Remember runs that ended, and pin something of the first."""
        if not self.review_id:
            self.review_id = self.store.create_review("Before the kills").id
            self.store.set_pin(self.review_id, run_ids[0], 0, "seen before")
        for run_id in run_ids:
            self.seals[run_id] = check_seal(self.store, run_id).seal

    def lost(self) -> list[str]:
        """What is not as it was."""
        wrong = []
        for run_id, seal in self.seals.items():
            check = check_seal(self.store, run_id)
            if not check.seal or check.seal != seal or check.changed:
                wrong.append(f"run {run_id}: {check.changed or 'another seal'}")
        if [pin.note for pin in self.store.pins(self.review_id)] != ["seen before"]:
            wrong.append("the note is gone")
        return wrong


def left_over(store: RunStore) -> list[str]:
    """Files that no line of the database names, in folders where each should have one, and folders of processes."""
    workspace = store.workspace
    known = {part.file for run in store.runs() for part in store.parts(run.id)}
    known |= {"run.log", "tree.npz", "rules.npz", "tested.npz"}
    files = [path for path in workspace.glob("runs/*/*") if path.name not in known]
    files += [path for path in workspace.glob("files/*") if not path.is_dir()]
    files += [path for name in ("surrogates", "libraries") for path in workspace.glob(f"{name}/tmp*")]
    return [str(path.relative_to(workspace)) for path in files]


# --- one kill -----------------------------------------------------------------------------------


@dataclass
class Found:
    """What a kill came to: what went wrong, in words, by what it is about."""

    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    states: Counter[str] = field(default_factory=Counter)
    killed: tuple[str, ...] = ()


class Kills:
    """One workspace, and the undisturbed runs of every case in it."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.store = RunStore(self.workspace)
        self.witness = Witness(self.store)
        self.baseline: dict[str, dict[str, Any]] = {}
        self.pairs: dict[str, Pairs] = {}
        self.seconds: dict[Case, float] = {}
        self.working: dict[Case, float] = {}
        self.first: dict[Case, RunConfig] = {}
        self.n_equal = 0
        self.left: set[str] = set()

    def undisturbed(self, case: Case) -> None:
        """Run a case, so that it is known what it comes to and how long it takes."""
        before = self._ids()
        began = time.monotonic()
        status = self._command(case, is_alone=False).wait(_LONGEST_SECONDS)
        runs = self._settle(before)
        if status not in (0, 1) or not runs or any(run.state is not RunState.FINISHED for run in runs):
            raise SystemExit(f"{case.kind}, {case.name}: {status}, {[(run.state, run.message) for run in runs]}")
        self.seconds[case] = time.monotonic() - began
        began_at = [run.started.timestamp() for run in runs if run.started]
        self.working[case] = max(run.finished.timestamp() for run in runs if run.finished) - min(began_at)
        for run in runs:
            self.baseline[question(run.config)] = outcome(self.store, run)
            self.pairs[question(run.config)] = self.store.pairs(run.id)
        self.first[case] = runs[0].config
        self.witness.note([run.id for run in runs])

    def kill(self, case: Case, way: str, target: str, moment: float) -> Found:
        """Start a case, kill something, and look at what is there.

        Args:
            way: how it is started: by a command that is forked, by one that is not, by an app, or directly.
            target: who is killed.
            moment: as a share of what it takes undisturbed, -0.2 to 1.1: from the start of the command where it is
                negative, else from that of the first run's work, which begins later where the machine is busy.
        """
        found = Found()
        before = self._ids()
        starter = self._start(case, way)
        delay = abs(moment) * (self.seconds if moment < 0 else self.working)[case]
        seen: dict[str, int] = {}
        until = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < until:
            ids = self._ids() - before
            if delay and (moment < 0 or any(self.store.run(run_id).started for run_id in ids)):
                until = time.monotonic() + delay
                delay = 0.0
            seen |= {run_id: self.store.n_pairs(run_id) for run_id in ids}
            time.sleep(_POLL_SECONDS)
        found.killed = self._kill(target, starter, before)
        if target in ("worker", "model's process") and starter is not None:
            self._end(starter, way)
        try:
            runs = self._settle(before)
        except TimeoutError as error:
            found.wrong["states"].append(str(error))
            runs = []
        self._end(starter, way)
        self._look(runs, seen, found)
        self._again(runs, found)
        return found

    def _look(self, runs: list[RunRecord], seen: dict[str, int], found: Found) -> None:
        """See that nothing was lost and that nothing is said that is not so."""
        self.store.close()
        store = RunStore(self.workspace)
        with contextlib.closing(sqlite3.connect(self.workspace / "evenhand.db")) as opened:
            if opened.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                found.wrong["database"].append("it is damaged")
            if opened.execute("PRAGMA foreign_key_check").fetchall():
                found.wrong["database"].append("it has lines that belong to nothing")
        found.wrong["lost"] += self.witness.lost()
        for run in runs:
            found.states[run.state.value] += 1
            asked = question(run.config)
            pairs = store.pairs(run.id)
            whole = self.pairs.get(asked)
            if len(pairs) < seen.get(run.id, 0) or len(pairs) != run.n_found * kinds.kind_of(run.config).has_pairs:
                found.wrong["lost"].append(f"{len(pairs)} pairs, {seen.get(run.id)} seen, {run.n_found} counted")
            if whole is not None and not is_by_the_clock(run.config):
                if hash_of_pairs(pairs) != hash_of_pairs(whole[: len(pairs)]):
                    found.wrong["lost"].append("pairs are not the first ones of the undisturbed run")
                if run.state is RunState.FINISHED and (other := differences(self.baseline[asked], outcome(store, run))):
                    found.wrong["unequal"].append(f"finished, but {other}")
            if run.state not in (RunState.FINISHED, RunState.CRASHED):
                found.wrong["states"].append(f"{run.state.value}: {run.message}")
            if (run.message is None) == (run.state is RunState.CRASHED) or len(run.message or "") > 300:
                found.wrong["states"].append(f"{run.state.value} with the message {run.message}")
            for check in verify(store, run).result["checks"]:
                if check["verdict"] != CheckVerdict.HOLDS:
                    is_no = check["verdict"] == CheckVerdict.CONTRADICTED or run.state is RunState.FINISHED
                    words = f"{run.state.value}, {check['name']}: {check['said']}"
                    found.wrong["verify" if is_no else "unchecked"].append(words)
        store.close()

    def _again(self, runs: list[RunRecord], found: Found) -> None:
        """Make again what did not end, which comes to the same; where all did, the next run works."""
        for path in (DATA, ROOT / "sample_models" / _TREE):
            self.store.add_file(path, path.name, FileRole.DATA)
        ended = [run for run in runs if run.state is not RunState.FINISHED]
        for config in [run.config for run in ended] or [self.first[CASES[0]]]:
            before = self._ids()
            run_id = self.store.create_run(replace(config, comparison=None))
            run = queue.run_in_foreground(self.store, run_id, lambda _: None)
            if run.state is not RunState.FINISHED:
                found.wrong["next run"].append(f"{run.state.value}: {run.message}")
                continue
            asked = question(config)
            if asked in self.baseline and not is_by_the_clock(config):
                self.n_equal += 1
                if other := differences(self.baseline[asked], outcome(self.store, run)):
                    found.wrong["unequal"].append(other)
            self._settle(before)
        found.wrong["left"] += [path for path in left_over(self.store) if path not in self.left]
        self.left |= set(found.wrong["left"])
        if orphans := [pid for pid in every_model_process(self.workspace) if not _is_page(pid)]:
            found.wrong["left"].append(f"model's processes {orphans}")

    # --- who is started and killed ----------------------------------------------------------

    def _command(self, case: Case, *, is_alone: bool) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **({NO_FORK_VARIABLE: "1"} if is_alone else {})}
        command = [sys.executable, "-m", "evenhand", *case.arguments, "--workspace", str(self.workspace), "--quiet"]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _start(self, case: Case, way: str) -> subprocess.Popen[bytes] | None:
        if way.startswith("command"):
            return self._command(case, is_alone=way == "command alone")
        run_id = self.store.create_run(replace(self.first[case], comparison=None))
        if way == "directly":
            queue.launch(self.store, run_id)
            return None
        command = [sys.executable, "-m", "benchmarks.kills", "--app", str(self.workspace), run_id]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)

    def _kill(self, target: str, starter: subprocess.Popen[bytes] | None, before: set[str]) -> tuple[str, ...]:
        """Kill who is meant, as far as they are there; who was."""
        wanted: list[tuple[str, int]] = []
        working = [run for run_id in self._ids() - before if (run := self.store.run(run_id)).state is RunState.RUNNING]
        for run in working:
            if run.worker_pid is not None and target in ("worker", "everything"):
                wanted.append(("worker", run.worker_pid))
            if run.worker_pid is not None and target in ("model's process", "everything"):
                wanted += [("model's process", pid) for pid in model_processes(self.workspace, run.worker_pid)]
        if starter is not None and target in ("starter", "everything"):
            wanted += [("starter", pid) for pid in (starter.pid, *children(starter.pid))]
        killed = []
        for name, pid in wanted:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(name)
        return tuple(killed)

    def _end(self, starter: subprocess.Popen[bytes] | None, way: str) -> None:
        if starter is None:
            return
        if way == "app":
            starter.kill()
        try:
            starter.wait(_LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            starter.kill()
            starter.wait()

    def _ids(self) -> set[str]:
        with self.store.engine.connect() as connection:
            return {row[0] for row in connection.exec_driver_sql("SELECT id FROM runs")}

    def _settle(self, before: set[str]) -> list[RunRecord]:
        """The new runs when none waits or works any more.

        Raises:
            TimeoutError: some do, for ever.
        """
        deadline = time.monotonic() + _LONGEST_SECONDS
        while True:
            queue.start_queued(self.store)
            runs = [self.store.run(run_id) for run_id in self._ids() - before]
            if not any(run.is_active for run in runs):
                return sorted(runs, key=lambda run: run.created)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{[run.state.value for run in runs]} after {_LONGEST_SECONDS:g} seconds")
            time.sleep(0.05)


def differences(one: dict[str, Any], other: dict[str, Any]) -> str:
    """The parts in which two outcomes differ; empty for none."""
    return ", ".join(name for name in {**one, **other} if one.get(name) != other.get(name))


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    with contextlib.suppress(OSError):
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def every_model_process(workspace: Path) -> list[int]:
    """Model's processes of any owner."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink().is_relative_to(workspace / "scratch"):
                    found.append(int(entry.name))
    return found


def _is_page(pid: int) -> bool:
    """Whether a process belongs to this one's own questions."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cwd").readlink().name.startswith(f"{os.getpid()}-")
    return True


# --- all of them --------------------------------------------------------------------------------


_WAYS = {
    "command": ("starter", "worker", "model's process", "everything"),
    "command alone": ("starter", "worker", "model's process", "everything"),
    "app": ("starter", "worker", "everything"),
    "directly": ("worker", "model's process", "everything"),
}
_SHARES = (0.35, 0.15, 0.15, 0.35)
"""How often a run is started in each way."""


def plan(n_kills: int, seed: int) -> Iterator[tuple[Case, str, str, float]]:
    """Which kills: in every case as many as its weight says, by turns, the rest drawn."""
    rng = np.random.default_rng(seed)
    total = sum(case.weight for case in CASES)
    turns = [
        (turn / case.weight, case) for case in CASES for turn in range(max(1, round(case.weight * n_kills / total)))
    ]
    for _, case in sorted(turns, key=lambda turn: turn[0])[:n_kills] if n_kills < len(turns) else turns:
        way = str(rng.choice(list(_WAYS), p=_SHARES))
        yield case, way, str(rng.choice(_WAYS[way])), float(rng.uniform(*_MOMENTS))


def app(workspace: Path, run_id: str) -> None:
    """What the app is for a run: it starts it, and looks at it now and then."""
    store = RunStore(workspace)
    get_ready(workspace)
    queue.launch(store, run_id)
    for _ in itertools.count():
        queue.refresh(store, run_id)
        time.sleep(0.2)


_WRONG = {
    "database": "databases damaged",
    "lost": "lost of what was stored",
    "states": "wrong states",
    "verify": "contradicted by `runs verify`",
    "unequal": "unequal results",
    "next run": "next run fails",
    "left": "left behind",
    "unchecked": "broke off, not to be checked",
}
Line = dict[str, Any]
"""A kill: ``kind``, ``case``, ``way``, ``target``, ``moment``, ``killed``, ``states``, ``n_again`` and ``wrong``."""


def table(first: str, by: str, lines: list[Line]) -> str:
    """Counts by what a line says of one thing, and of all."""
    rows = []
    for name in (*dict.fromkeys(line[by] for line in lines), "**all**"):
        of_name = [line for line in lines if name in (line[by], "**all**")]
        at_work = sum("crashed" in line["states"] for line in of_name)
        wrong = [sum(len(line["wrong"].get(what, ())) for line in of_name) for what in _WRONG]
        rows.append([name, *(f"{n:,}" for n in (len(of_name), at_work, *wrong))])
    return markdown((first, "kills", "met it at work", *_WRONG.values()), rows)


def show(lines: list[Line], *, is_kept: bool, seed: int) -> None:
    """The tables, kept or only printed."""
    parts = [
        f"{len(lines)} kills with seed {seed}; what is counted is said in `benchmarks/kills.py`. "
        f"{sum(line['n_again'] for line in lines)} runs were made again and compared, part by part, with the "
        "undisturbed one.",
        "## By kind of run\n\n" + table("kind", "kind", lines),
        "## By what was run\n\n" + table("run", "case", lines),
        "## By who was killed\n\n" + table("killed", "target", lines),
        "## By how it was started\n\n" + table("started by", "way", lines),
    ]
    if is_kept:
        keep("kills", "Kills at random moments", parts)
    else:
        print("\n\n".join(parts))


def make(planned: list[tuple[Case, str, str, float]], folder: Path, record: Path | None) -> list[Line]:
    """Make kills, one after the other in one workspace; each is noted as soon as it was looked at."""
    kills = Kills(folder)
    get_ready(kills.workspace, stands_by=True)
    for case in dict.fromkeys((CASES[0], *(case for case, *_ in planned))):
        kills.undisturbed(case)
        print(f"{case.kind}, {case.name}: {kills.seconds[case]:.1f} s", flush=True)
    lines: list[Line] = []
    for case, way, target, moment in planned:
        n_before = kills.n_equal
        try:
            found = kills.kill(case, way, target, moment)
        except (EvenhandError, OSError, subprocess.SubprocessError) as error:
            found = Found()
            found.wrong["states"].append(f"could not be looked at: {error}")
        line = {"kind": case.kind, "case": f"{case.kind}: {case.name}", "way": way, "target": target, "moment": moment}
        line |= {"killed": found.killed, "states": found.states, "n_again": kills.n_equal - n_before}
        line |= {"wrong": {name: words for name, words in found.wrong.items() if words}}
        lines.append(json.loads(json.dumps(line)))
        print(len(lines), json.dumps(line), flush=True)
        if record is not None:
            with record.open("a") as file:
                file.write(json.dumps(line) + "\n")
    kills.store.close()
    return lines


def main() -> None:
    """As many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=228)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", default="", metavar="KIND,KIND", help="of these kinds; several programs share the work"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="note each kill there, too")
    parser.add_argument("--tables", type=Path, nargs="+", metavar="FILE", help="make the tables of what was noted")
    parser.add_argument("--app", nargs=2, metavar=("WORKSPACE", "RUN_ID"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.app:
        app(Path(options.app[0]), options.app[1])
    if options.tables:
        lines = [json.loads(text) for path in options.tables for text in path.read_text().splitlines()]
    else:
        planned = list(plan(options.kills, options.seed))
        kinds_wanted = options.only.split(",") if options.only else [case.kind for case in CASES]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            lines = make([one for one in planned if one[0].kind in kinds_wanted], Path(folder), options.record)
    show(lines, is_kept=len(lines) >= 200, seed=options.seed)


if __name__ == "__main__":
    main()
