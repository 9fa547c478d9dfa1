"""Thousands of damaged files of every format that is opened: each is answered, or refused in one short sentence.

``python -m benchmarks.damaged_files`` writes ``benchmarks/damaged_files.md``; with ``--only onnx skops`` the lines of
these formats. ``--files 200`` looks at fewer and writes nothing; ``--keep FOLDER`` gets every file that was neither.
Models are opened behind the walls, in processes that the fork server makes, many files in each; what the program reads
by itself (tables, columns, terms, answers, pairs) is read in forked children. A crash costs one child, and the library
that met it is named.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import argparse
import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]  # joblib ships no types
import numpy as np

from benchmarks import damage, damaged_originals
from benchmarks.damage import Change, pick
from benchmarks.damaged_originals import Original
from benchmarks.table import FOLDER, keep, markdown
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.missing import find_spellings
from fairness_engine.data.schema import Schema
from fairness_engine.data.summary import describe_columns
from fairness_engine.data.table import read_table
from fairness_engine.errors import EvenhandError, InputError, ProcessError
from fairness_engine.groups.identity_terms.terms import read_terms
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.questions import Fit, Held, Question, Scores, TextScores
from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.models.fit.known_answers import answers_in_file
from fairness_engine.models.open import open_model
from fairness_engine.models.open_text import open_text_model
from fairness_engine.store.pairs_file import read_pairs

ROOT = Path(__file__).resolve().parent.parent
MAX_SENTENCE = 300
_SECONDS = 60.0
_FILES_A_PROCESS = 500
_KEPT_FROM = 5_000
"""Files of a format from which its line is written down."""
_FIT_EVERY = 40
"""A fit card is asked for of one file in so many that open."""
HEADER = (
    *("format", "files", "opened, answered", "refused in a sentence", "longest sentence"),
    *("unexpected errors: program", "child", "crashes of the child", "hangs"),
)


@dataclass(frozen=True)
class Outcome:
    """What became of a file.

    Args:
        kind: ``opened``, ``refused``, ``unexpected`` (of the trusted program), ``child``, ``crash`` or ``hang``.
        said: the sentence, or the error.
    """

    kind: str
    said: str = ""


@dataclass(frozen=True)
class Format:
    """A format: its honest files, how they are damaged, and what reads them.

    Args:
        originals: makes the honest files.
        changes: ways to damage them.
        read: reads a file in this program; ``None`` for a model, which is opened in a process of its own.
        texts: of a model of texts.
        libraries: that its models need, of ``start.LIBRARIES``.
    """

    originals: Callable[[], list[Original]]
    changes: Sequence[Change]
    read: Callable[[Path], Any] | None = None
    texts: bool = False
    libraries: tuple[str, ...] = ()


@dataclass
class Tally:
    """Outcomes of one format."""

    kinds: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)

    def add(self, path: Path, outcome: Outcome) -> None:
        kind = outcome.kind
        if kind == "refused" and not is_sentence(outcome.said):
            kind = "unexpected"
        self.kinds[kind] += 1
        if kind == "refused":
            self.longest = max(self.longest, len(outcome.said))
        elif kind != "opened":
            self.faults.append((path.name, f"{kind}: {outcome.said}"))


def is_sentence(said: str) -> bool:
    """Short, on one line, and ended."""
    return 0 < len(said) <= MAX_SENTENCE and "\n" not in said and said.endswith((".", "?"))


def damaged(original: Original, changes: Sequence[Change], rng: np.random.Generator) -> bytes:
    """The content with one kind of fault; where a structure cannot be read back, with another one."""
    for change in (pick(rng, changes), damage.flip):
        with contextlib.suppress(Exception):
            return change(original.content, rng)
    return original.content


# --- what the program reads itself --------------------------------------------------------


def read_data(path: Path) -> None:
    """What the Data page does with a file."""
    table = read_table(path)
    schema = infer_schema(table)
    find_spellings(table, schema)
    describe_columns(table, schema)
    make_dataset(table, schema)


def read_schema(path: Path) -> None:
    """A schema file, written and read once more."""
    schema = Schema.read(path)
    Schema.from_json(json.loads(json.dumps(schema.to_json())))
    with contextlib.suppress(InputError):  # of other columns
        make_dataset(read_table(damaged_originals.DATA, "data.csv"), schema)


def read_answers(path: Path) -> None:
    """Known answers of a file."""
    data = read_table(damaged_originals.DATA, "data.csv")
    answers_in_file(read_table(path), data, damaged_originals.SCHEMA)


def read_identity_terms(path: Path) -> None:
    """A list of terms."""
    read_terms(path.read_bytes(), path.name)


def read_stored_pairs(path: Path) -> None:
    """Pairs of a run."""
    read_pairs(path, damaged_originals.pairs_config())


_ARCHIVE = (damage.flip, damage.cut_short, damage.of_members)
_SKOPS = (*_ARCHIVE, *(damage.inside({".npy": damage.of_npy, "schema.json": damage.of_json}),) * 5)
_KERAS = (*_ARCHIVE, *(damage.inside({".h5": damage.of_hdf5, "config.json": damage.of_json}),) * 5)
_BYTES = (damage.flip, damage.cut_short)
FORMATS = {
    "skops": Format(damaged_originals.of_skops, _SKOPS),
    "skops of texts": Format(damaged_originals.of_skops_texts, _SKOPS, texts=True),
    "onnx": Format(damaged_originals.of_onnx, (*_BYTES, *(damage.of_onnx,) * 5)),
    "keras": Format(lambda: _keras(".keras"), _KERAS, libraries=("keras",)),
    "h5": Format(lambda: _keras(".h5"), (*_BYTES, *(damage.of_hdf5,) * 5), libraries=("keras",)),
    "keras of texts": Format(damaged_originals.of_keras_texts, _KERAS, texts=True, libraries=("keras",)),
    "nnet": Format(damaged_originals.of_nnet, (*_BYTES, *(damage.retype,) * 5)),
    "pickle": Format(
        lambda: damaged_originals.of_pickles(".pkl", damage.dump_pickle),
        (*_BYTES, *(damage.of_objects(damage.dump_pickle),) * 5),
    ),
    "joblib": Format(damaged_originals.of_joblib, (*_BYTES, *(damage.of_objects(joblib.dump),) * 5)),
    "csv": Format(damaged_originals.of_csv, (*_BYTES, *(damage.retype,) * 5), read_data),
    "parquet": Format(damaged_originals.of_pairs, (*_BYTES, *(damage.of_parquet,) * 2), read_stored_pairs),
    "schema": Format(
        lambda: damaged_originals.of_schemas(ROOT), (*_BYTES, *(damage.of_json,) * 6, damage.retype), read_schema
    ),
    "terms": Format(damaged_originals.of_terms, (*_BYTES, *(damage.retype,) * 5), read_identity_terms),
    "known answers": Format(damaged_originals.of_answers, (*_BYTES, *(damage.retype,) * 5), read_answers),
}


def _keras(suffix: str) -> list[Original]:
    """Chains that are read without Keras twenty times as often as what Keras evaluates itself, which takes a second."""
    files = [each for each in damaged_originals.of_keras() if each.name.endswith(suffix)]
    return [*[each for each in files if "branched" not in each.name] * 10, *files]


def read_here(paths: Sequence[Path], read: Callable[[Path], Any]) -> Iterator[Outcome]:
    """Outcomes of files that this program reads itself, in forked children, each until it ends."""
    done = 0
    while done < len(paths):
        their_end, our_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(their_end)
            _read_all(paths[done:], read, our_end)
        os.close(our_end)
        with os.fdopen(their_end, "rb", buffering=0) as lines:
            left = b""
            while True:
                line, left = _line(lines, left, _SECONDS)
                if line is None:
                    break
                yield Outcome(*json.loads(line))
                done += 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if done < len(paths):
            yield Outcome("hang" if code == -signal.SIGKILL else "crash", f"status {code}")
            done += 1


def _line(lines: Any, left: bytes, seconds: float) -> tuple[bytes | None, bytes]:
    from fairness_engine.model_process.starting.start import is_ready

    while b"\n" not in left:
        if not is_ready(lines.fileno(), seconds):
            return None, left
        chunk = lines.read(1 << 16)
        if not chunk:
            return None, left
        left += chunk
    line, _, left = left.partition(b"\n")
    return line, left


def _read_all(paths: Sequence[Path], read: Callable[[Path], Any], to: int) -> None:
    """In the child: one line a file."""
    warnings.simplefilter("ignore")
    for path in paths:
        try:
            read(path)
            outcome = ["opened", ""]
        except EvenhandError as error:
            outcome = ["refused", str(error)]
        except BaseException as error:  # noqa: BLE001 - what is unexpected is counted
            outcome = ["unexpected", f"{type(error).__name__}: {str(error)[:200]}"]
        os.write(to, json.dumps(outcome).encode() + b"\n")
    os._exit(0)


# --- models -------------------------------------------------------------------------------

_ENDED = re.compile(r"ended before its work was done")
_SILENT = re.compile(r"gave no answer|does not listen")


class Opener:
    """Opens models behind the walls, as a page does, many in one process.

    Args:
        folder: where files, data and the workspace lie.
        kind: of the models.
    """

    def __init__(self, folder: Path, kind: Format) -> None:
        self._folder = folder
        self._kind = kind
        self._process: ModelProcess | None = None
        self._n_opened = 0
        self._data = folder / "data.csv"
        schema = damaged_originals.TEXT_SCHEMA if kind.texts else damaged_originals.SCHEMA
        scope = damaged_originals.TEXT_SCOPE if kind.texts else damaged_originals.SCOPE
        self._target = Held("data", "model", schema, scope)
        self._data.write_bytes(damaged_originals.TEXT_DATA if kind.texts else damaged_originals.DATA)
        rows = np.random.default_rng(0).integers(0, 10, (50, 4)).astype(np.float64)
        self._question: Question[Any] = TextScores(damaged_originals.TEXTS) if kind.texts else Scores(rows)

    def open(self, path: Path) -> Outcome:
        """What becomes of one file."""
        try:
            process = self._ready()
            self._n_opened += 1
            process.ask(
                "open",
                _SECONDS,
                data={"path": str(self._data), "name": "data.csv"},
                model={"path": str(path), "name": path.name},
                unsafe_formats=True,
                needs_variants=False,
                schema=self._target.schema.to_json(),
                scope=None if self._target.scope is None else self._target.scope.to_json(),
            )
            questions: list[Question[Any]] = [self._question]
            if self._n_opened % _FIT_EVERY == 0:
                questions.append(Fit())
            for question in questions:
                reply = process.ask(question.name, _SECONDS, **question.content())
                question.read(reply, self._target)
            if self._n_opened % _FILES_A_PROCESS == 0:
                self.close()
        except InputError as error:
            return Outcome("refused", str(error))
        except ProcessError as error:
            said = str(error)
            if _ENDED.search(said) or _SILENT.search(said):
                self.close()
                return Outcome("crash" if _ENDED.search(said) else "hang", said)
            return Outcome("refused" if "need more than" in said else "child", said)
        except Exception as error:  # noqa: BLE001 - what is unexpected is counted
            self.close()
            return Outcome("unexpected", f"{type(error).__name__}: {str(error)[:200]}")
        return Outcome("opened")

    def _ready(self) -> ModelProcess:
        if self._process is None:
            self._process = ModelProcess(
                self._folder / "workspace",
                [self._folder / "files", self._data],
                self._folder / "child.log",
                loops=[Loops.MODELS],
                libraries=self._kind.libraries,
            )
            self._process.greet()
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


def library_at_fault(path: Path, *, texts: bool) -> str:
    """The library whose code was at work when a file crashed a process, and how it ended."""
    call = f"damaged_files.open_alone(pathlib.Path({str(path)!r}), texts={texts})"
    program = f"import pathlib; from benchmarks import damaged_files; {call}"
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", program]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=2 * _SECONDS, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return "no end"
    found = re.findall(
        r'File ".*?/(?:site-packages/(\w+)|(fairness_engine))/', done.stderr.partition("Fatal Python")[2]
    )
    name = next((library or own for library, own in found), "unknown")
    return f"{name} (status {done.returncode})"


def open_alone(path: Path, *, texts: bool) -> None:
    """Open a model file in this very process, without walls."""
    with contextlib.suppress(EvenhandError):
        if texts:
            open_text_model(path, damaged_originals.TEXT_SCHEMA, unsafe_formats=True)
        else:
            open_model(path, damaged_originals.SCHEMA, unsafe_formats=True)


# --- the table ----------------------------------------------------------------------------


def try_format(name: str, n_files: int, folder: Path, kept: Path | None, seed: int = 0) -> tuple[Tally, Counter[str]]:
    """Damage, read, count.

    Args:
        folder: for the files; emptied of each one that was answered or refused.
        kept: gets every other file; ``None`` keeps none.

    Returns:
        The tally, and how often each library crashed.
    """
    kind = FORMATS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    originals = kind.originals()
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    blamed: Counter[str] = Counter()
    opener = Opener(folder, kind) if kind.read is None else None
    for start in range(0, n_files, _FILES_A_PROCESS):
        paths = []
        for i in range(start, min(n_files, start + _FILES_A_PROCESS)):
            original = pick(rng, originals)
            path = files / f"{i}-{original.name.replace(' ', '-')}"
            path.write_bytes(damaged(original, kind.changes, rng))
            paths.append(path)
        outcomes = read_here(paths, kind.read) if kind.read is not None else map(opener.open, paths)  # type: ignore[union-attr]
        for path, outcome in zip(paths, outcomes, strict=True):
            tally.add(path, outcome)
            if outcome.kind == "crash" and opener is not None:
                blamed[library_at_fault(path, texts=kind.texts)] += 1
            if kept is not None and tally.faults and tally.faults[-1][0] == path.name:
                (kept / name).mkdir(parents=True, exist_ok=True)
                (kept / name / path.name).write_bytes(path.read_bytes())
            path.unlink()
    if opener is not None:
        opener.close()
    return tally, blamed


def row(name: str, tally: Tally, blamed: Counter[str]) -> tuple[str, ...]:
    """A line of the table."""
    kinds = tally.kinds
    crashes = str(kinds["crash"])
    if blamed:
        crashes += ": " + ", ".join(f"{library} {n}" for library, n in blamed.most_common())
    counts = (kinds["opened"], kinds["refused"], tally.longest, kinds["unexpected"], kinds["child"])
    return (name, f"{kinds.total():,}", *(f"{n:,}" for n in counts), crashes, str(kinds["hang"]))


SAID = """Every file is a small honest one with one to three faults of a kind: bytes; a piece that is missing or
doubled; members of the archive; fields of JSON; fields of protobuf; values, types and shapes of arrays; tokens and
lines of texts; parts of objects. A model that opens is asked for scores, every fortieth for its fit card. *Program* is
what the app or the command line itself met unexpectedly, *child* the process behind the walls. A sentence has at most
300 characters. *parquet* are the pairs that a run stored; a table of data under that name is refused."""


def main() -> int:
    """Try all formats and keep the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.damaged_files")
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--only", nargs="+", choices=tuple(FORMATS))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    n_faults = 0
    for name in options.only or FORMATS:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            workspace = Path(folder) / "workspace"
            prepare_compiled(workspace, None, Loops.MODELS)
            get_ready(workspace)
            tally, blamed = try_format(name, options.files, Path(folder), options.keep, options.seed)
        line = row(name, tally, blamed)
        n_faults += len(tally.faults)
        print(f"{' | '.join(line)} | {time.monotonic() - started:.0f} s", flush=True)
        for fault, n in Counter(said for _, said in tally.faults).most_common(30):
            print(f"    {n} x {fault[:400]}", flush=True)
        if options.files >= _KEPT_FROM:
            keep_line(name, line)
    return int(n_faults > 0)


def keep_line(name: str, line: tuple[str, ...]) -> None:
    """Put the line of one format into the table; those of the others stay."""
    path = FOLDER / "damaged_files.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    held = [text[2:-2].split(" | ") for text in before.splitlines() if text.startswith("| ")]
    lines: dict[str, Sequence[str]] = {cells[0]: cells for cells in held} | {name: line}
    rows = [lines[each] for each in FORMATS if each in lines]
    keep("damaged_files", "Damaged files of every format", [SAID, markdown(HEADER, rows)])


if __name__ == "__main__":
    sys.exit(main())
