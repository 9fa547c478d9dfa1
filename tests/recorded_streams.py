"""What a model's process says of real runs and questions, recorded line by line, and a worker that is told such lines.

The lines are made by the program of the model's process itself, in this process: nothing about them is made up.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, update

from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.data.schema import Schema
from fairness_engine.errors import EvenhandError, ProcessError, breach
from fairness_engine.events import PairsFound, from_line
from fairness_engine.groups.figures.report import FigureSettings
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.questions import (
    CanRetrain,
    CheckGradients,
    Decisions,
    FindWhere,
    Fit,
    GroupFigures,
    InspectBox,
    Plausible,
    Question,
    Scores,
    Shap,
    Simplify,
    Summary,
    WhyNotCertifiable,
)
from fairness_engine.model_process.server import RequestServer
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.runs import kinds, worker
from fairness_engine.runs.recorder import RunRecorder
from fairness_engine.store import tables
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

_SAMPLES = Path(__file__).resolve().parents[1]
_FEW = Budget(max_evaluations=4_000, max_found=12)


@dataclass(frozen=True)
class Recorded:
    """A run, and what its model's process says from the greeting to the last reply, a line each."""

    config: RunConfig
    lines: tuple[bytes, ...]


def _config(
    store: RunStore, kind: str, model: str, scope: Scope, sample: str = "census_income", **more: Any
) -> RunConfig:
    data = store.add_file(_SAMPLES / "sample_data" / f"{sample}.csv", f"{sample}.csv", FileRole.DATA)
    file = next((_SAMPLES / "sample_models").glob(f"{sample}_{model}.*"))
    model_id = store.add_file(file, file.name, FileRole.MODEL).id
    schema = Schema.read(_SAMPLES / "sample_data" / f"{sample}.schema.json")
    return kinds.KINDS[kind].config(data.id, model_id, schema, scope, **{"seed": 1, **more})


_SEX = Scope(("sex",))
_SEX_AND_RACE = Scope(("sex", "race"), limits={"age": (30, 40)})
_SMALL = Scope(
    ("sex",),
    limits={"age": (30, 33), "hours_per_week": (40, 41), "education_years": (9, 10)},
)
_QUICK = {"tolerance": 0.2, "max_rounds": 2, "n_draws": 500, "measure_seconds": 0}

KINDS: dict[str, Callable[[RunStore], RunConfig]] = {
    **{
        f"search: {technique}": lambda store, technique=technique: _config(
            store, "search", "network", _SEX, technique=technique, budget=_FEW
        )
        for technique in ("random", "data-scan", "aequitas", "directed", "adf", "eidig", "maft", "sg", "sg-shared")
    },
    "search: a tree": lambda store: _config(store, "search", "tree", _SEX, technique="random", budget=_FEW),
    "search: two attributes": lambda store: _config(
        store, "search", "planted", _SEX_AND_RACE, technique="random", budget=_FEW
    ),
    "search: score gap": lambda store: _config(
        store, "search", "network", replace(_SEX, score_gap=0.02), technique="random", budget=_FEW
    ),
    "estimate": lambda store: _config(store, "estimate", "tree", _SEX, n_samples=3_000),
    "estimate: data": lambda store: _config(
        store, "estimate", "network", _SEX, n_samples=1_000, distribution=Distribution.DATA
    ),
    "count": lambda store: _config(store, "count", "tree", _SMALL),
    "certify: network": lambda store: _config(
        store, "certify", "network", _SMALL, settings={"max_boxes": 300}, budget=Budget(None, 2.0)
    ),
    "certify: tree": lambda store: _config(
        store, "certify", "tree", _SEX, settings={"max_boxes": 60}, budget=Budget(None, 2.0)
    ),
    "rules": lambda store: _config(store, "rules", "tree", _SEX_AND_RACE),
    "rules: labels": lambda store: _config(
        store, "rules", "network", Scope(("sex", "race")), settings={"source": "labels"}
    ),
    "proxies": lambda store: _config(
        store, "proxies", "tree", Scope(("sex",)), settings={"n_rows": 400, "n_explained": 5}
    ),
    "proxies: labels": lambda store: _config(
        store, "proxies", "tree", Scope(("sex", "age")), settings={"n_rows": 400, "source": "labels"}
    ),
    "rules: texts": lambda store: _config(
        store,
        "rules",
        "linear",
        Scope(("comment",)),
        sample="comments",
        settings={"text_column": "comment", "terms": {"faith": ["Muslim", "Buddhist"], "topic": ["bridge", "library"]}},
    ),
    "retrain": lambda store: _config(
        store, "retrain", "tree", _SEX, settings={**_QUICK, "strategy": "variants"}, budget=Budget(None, 60.0)
    ),
    "retrain: baseline": lambda store: _config(
        store, "retrain", "tree", _SEX, settings={**_QUICK, "strategy": "threshold"}, budget=Budget(None, 60.0)
    ),
    "retrain: texts": lambda store: _config(
        store,
        "retrain",
        "linear",
        Scope(("comment",)),
        sample="comments",
        settings={**_QUICK, "strategy": "variants"},
        budget=Budget(None, 60.0),
    ),
}
"""Configurations by name: every kind of run, and every family of what is sent."""


def _opening(store: RunStore, config: RunConfig) -> dict[str, Any]:
    data = store.file(config.data_id)
    model = store.file(config.model_id) if config.model_id else None
    return {
        "id": 1,
        "do": "open",
        "data": {"path": str(data.path), "name": data.name},
        "model": {"path": str(model.path), "name": model.name} if model is not None else None,
        "schema": config.schema.to_json(),
        "scope": config.scope.to_json(),
        "needs_variants": kinds.kind_of(config).compares_variants,
    }


def record(store: RunStore, config: RunConfig) -> Recorded:
    """What the program of the model's process says of a run."""
    lines: list[str] = [json.dumps({"hello": {"memory": True}})]
    server = RequestServer(lines.append, lambda: None)
    server.answer(_opening(store, config))
    server.answer({"id": 2, "do": "run", "config": config.to_json()})
    return Recorded(config, tuple(line.encode() for line in lines))


class Told(ModelProcess):
    """A model's process that is not there: it says given bytes, however they are asked for, and then ends."""

    said: bytes = b""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.protections = {}
        self._buffer = bytearray(self.said)
        self._searched = 0
        self._last_id = 0

    def send(self, do: str, **content: Any) -> int:
        """Hear nothing."""
        self._last_id += do != "cancel"
        return self._last_id

    def receive(self, seconds: float) -> str | None:
        """The next line."""
        line = self._take_line()
        if line is None:
            raise ProcessError("The model's process ended before its work was done: it left with status 0.")
        return line

    def kill(self) -> None:
        """There is nothing to kill."""

    def close(self) -> None:
        """There is nothing to close."""


def tell(store: RunStore, config: RunConfig, said: bytes) -> RunRecord:
    """A run that was worked to its end by the real worker, whose model's process says this."""
    run_id = store.create_run(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "ModelProcess", Told)
        patch.setattr(worker, "prepare_compiled", lambda *_: None)
        patch.setattr(Told, "said", said)
        worker.work(store, run_id, lambda: False)
    return store.run(run_id)


class ToldAgain:
    """One run that is told one stream after the other: it is put back to its beginning each time, which takes a tenth
    of the time of a new run.

    Args:
        store, config: where, and what was asked.
    """

    def __init__(self, store: RunStore, config: RunConfig) -> None:
        self._store = store
        self._run = store.run(store.create_run(config))

    def tell(self, said: bytes) -> RunRecord:
        """The run once the trusted side has folded this into the store."""
        self._put_back()
        recorder = RunRecorder(self._store, self._run)
        Told.said = said
        process = Told()
        state = RunState.FINISHED
        message = None
        try:
            process.greet()
            for request in (1, 2):
                while not recorder.is_done(request):
                    recorder.take(process.receive(1.0) or "")
            if recorder.stop_reason is None:
                raise breach("it ended without its last event")
        except EvenhandError as error:
            state = RunState.CRASHED if isinstance(error, ProcessError) else RunState.FAILED
            message = str(error)
        recorder.close()
        found = {**recorder.counts, "state": state, "message": message, "stop_reason": recorder.stop_reason}
        self._put(found)
        return replace(self._run, **found)

    def _put(self, values: dict[str, Any]) -> None:
        with self._store.engine.begin() as connection:
            connection.execute(update(tables.runs).where(tables.runs.c.id == self._run.id).values(**values))

    def _put_back(self) -> None:
        shutil.rmtree(self._store.run_folder(self._run.id), ignore_errors=True)
        with self._store.engine.begin() as connection:
            for table in (tables.progress, tables.results, tables.parts, tables.versions):
                connection.execute(delete(table).where(table.c.run_id == self._run.id))
        counts = {"evaluations": 0, "seconds": 0.0, "n_tried": 0, "n_found": 0, "n_rejected": 0}
        self._run = replace(self._run, **counts)
        self._put({"state": RunState.RUNNING, **counts})


# --- questions of pages -------------------------------------------------------------------------


def questions(recorded: Recorded) -> dict[str, Question[Any]]:
    """A question of every kind that is asked about a table, by its name.

    Args:
        recorded: a search that found a pair.
    """
    config = recorded.config
    domain = Domain(config.schema, config.scope)
    rows = np.repeat(domain.low[None], 20, axis=0)
    rows[:, 0] += np.arange(20)
    events = (from_line(line.decode()) for line in recorded.lines if line.startswith(b'{"event":"PairsFound"'))
    pair = next(event.pairs[:1] for event in events if isinstance(event, PairsFound))
    low, high = (end[0] for end in make_lattice(domain).whole())
    asked: tuple[Question[Any], ...] = (
        Scores(rows),
        Decisions(rows),
        Summary(),
        Fit(),
        CanRetrain(),
        WhyNotCertifiable(),
        CheckGradients(),
        Plausible(rows[:2]),
        Shap(np.concatenate([pair.first, pair.second])),
        FindWhere(Distribution.UNIFORM, 3),
        GroupFigures(FigureSettings((("sex",), ("race",), ("sex", "race")))),
        InspectBox(CertifySettings(), low, high),
        Simplify(pair),
    )
    return {question.name: question for question in asked}


def record_answers(store: RunStore, config: RunConfig, asked: Iterable[Question[Any]]) -> dict[str, bytes]:
    """The line that the program of the model's process answers each question with, by its name."""
    lines: list[str] = []
    server = RequestServer(lines.append, lambda: None)
    server.answer(_opening(store, config))
    for question in asked:
        server.answer({"id": 1, "do": question.name, **question.content()})
    return {question.name: line.encode() for question, line in zip(asked, lines[1:], strict=True)}


def answer(config: RunConfig, question: Question[Any], said: bytes) -> Any:
    """What a page gets where the model's process says this.

    Raises:
        EvenhandError: no answer.
    """
    Told.said = said + b"\n"
    process = Told()
    return question.answer(process.ask(question.name, 1.0, **question.content()), config)
