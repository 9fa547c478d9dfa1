"""The command ``compare``: several techniques, random and data scan always among them, over several seeds on one
budget.
"""

from __future__ import annotations

import argparse
import hashlib
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, fields, replace
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np

from fairness_engine.audit.result_hash import result_hash
from fairness_engine.cli.commands.search import (
    can_be_plausible_only,
    interrupts_noted,
    make_config,
    read_budget,
    run_one,
)
from fairness_engine.cli.output import (
    ExitStatus,
    Outcome,
    cluster_fields,
    end_status,
    left_out,
    outcome_of,
    progress_text,
    reading_fields,
    say,
)
from fairness_engine.cli.request import Request, assess, read_scope
from fairness_engine.data.links.spelling import links_to_json
from fairness_engine.errors import RunError, SettingError
from fairness_engine.runs import kinds
from fairness_engine.runs.comparison import Compared, Comparison, Curve, Spread, summarise
from fairness_engine.runs.queue import ForegroundWorker
from fairness_engine.search.registry import BASELINES, TECHNIQUES, technique_named
from fairness_engine.store.environment import cluster_address
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig, installed_versions
from fairness_engine.store.store import RunStore

_MAX_SEEDS = 1_000
_MOST_AT_ONCE = 64
"""Runs that are at work on a cluster at once; each waits here in a process of its own."""
COMPARE_KEYS = ("comparison", "techniques", "n_exact", "n_individuals")


def compare(options: argparse.Namespace) -> Outcome:
    """Run the searches one after the other, so that none slows another, and put them side by side."""
    techniques = _techniques(options)
    if options.seeds > _MAX_SEEDS:
        raise SettingError(f"--seeds must be at most {_MAX_SEEDS:,}, got {options.seeds:,}. Ask for fewer.")
    assessed = assess(options)
    budget = read_budget(options)
    name = secrets.token_hex(6)
    same = {"comparison": name, "budget": budget, "scope": read_scope(options, assessed.schema, assessed.table)}
    wanted = [
        make_config(
            assessed,
            options,
            kinds.SEARCH,
            technique=technique,
            settings=settings,
            seed=seed,
            max_starts=options.start_rows,
            **same,
        )
        for seed in range(options.seed, options.seed + options.seeds)
        for technique, settings in techniques.items()
    ]
    if options.count:
        wanted.insert(0, make_config(assessed, options, kinds.COUNT, **same))
    n_here = cluster_address()
    with interrupts_noted() as interrupts:
        if not n_here:
            runs = _run_all(assessed, options, wanted, interrupts)
        elif n_here.isdigit():
            from fairness_engine.cluster.here import cluster_here

            with cluster_here(int(n_here), assessed.store.workspace):
                runs = _run_side_by_side(assessed, wanted, int(n_here))
        else:
            runs = _run_side_by_side(assessed, wanted, _MOST_AT_ONCE)
    compared = summarise(assessed.store, runs)
    idle = [line.label for line in compared.techniques if line.n_done and line.success_rate is None]
    if idle:
        say(
            f"Note: nobody was tried by {' and '.join(idle)} before the runs ended, so they show nothing of the model. "
            "Allow more evaluations or seconds."
        )
    outcome = outcome_of(_worst(runs), _result(options, assessed.store, name, runs, compared), _text(compared))
    if interrupts and outcome.status is ExitStatus.DONE:
        why = f"It was interrupted after {len(runs)} of {len(wanted)} runs: the figures are of these."
        say(why)
        return replace(outcome, status=ExitStatus.CANCELLED, why=why)
    return outcome


def _techniques(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """All settings of each technique, by its name.

    Raises:
        SettingError: there is no such technique or setting, or a setting of a technique that is not compared.
    """
    if not options.techniques:
        raise SettingError(f"--techniques must name one at least, got none. Take some of {', '.join(TECHNIQUES)}.")
    names = tuple(dict.fromkeys((*BASELINES, *options.techniques)))
    given: dict[str, dict[str, str]] = {name: {} for name in names}
    for path, value in options.set:
        technique, _, setting = path.partition(".")
        if technique not in given or not setting:
            raise SettingError(f"--set must begin with one of {', '.join(names)} and a dot, got '{path}'.")
        given[technique][setting] = value
    able = [name for name in names if options.only_plausible and can_be_plausible_only(technique_named(name))]
    if options.only_plausible and not able:
        raise SettingError(
            f"--only-plausible needs a technique that can keep to such people, got {', '.join(options.techniques)}. "
            "Compare directed, maft-plus or sg-shared."
        )
    for name in able:
        given[name]["only_plausible"] = "true"
    return {name: technique_named(name).from_json(settings).to_json() for name, settings in given.items()}


def _run_all(
    assessed: Request, options: argparse.Namespace, wanted: Sequence[RunConfig], interrupts: Sequence[int]
) -> list[RunRecord]:
    """The runs that ended by themselves or were cancelled; a technique that cannot run here is said once and left
    out. After an interrupt none is begun, in whichever moment it came.

    Raises:
        KeyboardInterrupt: it came before the end of any search.
    """
    runs: list[RunRecord] = []
    refused: set[str] = set()
    with closing(ForegroundWorker(assessed.store)) as worker:
        for config in wanted:
            if interrupts:
                break
            if config.technique in refused:
                continue
            try:
                named = partial(progress_text, name=_name_of(config))
                run = run_one(assessed, config, options, named, worker)
            except RunError as error:
                say(f"{config.technique or config.kind}: {error}")
                refused.add(config.technique)
                continue
            runs.append(run)
            if run.state is RunState.CANCELLED:
                break
    if not any(kinds.SEARCH.has(run.config) for run in runs):
        if interrupts:
            raise KeyboardInterrupt
        raise RunError("None of the techniques could run on this data and this model.")
    return runs


def _name_of(config: RunConfig) -> str:
    """Which of the runs one is, for its progress."""
    return f"{config.technique}, seed {config.seed}" if config.technique else config.kind


def _run_side_by_side(assessed: Request, wanted: Sequence[RunConfig], n_at_once: int) -> list[RunRecord]:
    """As ``_run_all``, each by a process of the cluster; in the order of ``wanted``."""
    store = assessed.store

    free: SimpleQueue[ForegroundWorker] = SimpleQueue()

    def run(config: RunConfig) -> RunRecord:
        worker = free.get()
        try:
            return worker.run(store.create_run(config), lambda _: None, lambda: bool(interrupts))
        finally:
            free.put(worker)

    with interrupts_noted() as interrupts, ExitStack() as workers, ThreadPoolExecutor(n_at_once) as at_once:
        for _ in range(n_at_once):
            free.put(workers.enter_context(closing(ForegroundWorker(store))))
        ended = list(at_once.map(run, wanted))
    for run_that_failed in (each for each in ended if each.state is RunState.FAILED):
        say(f"{run_that_failed.config.technique or run_that_failed.config.kind}: {run_that_failed.message}")
    runs = [each for each in ended if each.state is not RunState.FAILED]
    if not any(kinds.SEARCH.has(each.config) for each in runs):
        raise RunError("None of the techniques could run on this data and this model.")
    return runs


def _worst(runs: Sequence[RunRecord]) -> RunRecord:
    """The first run that ended worst."""
    return max(runs, key=lambda run: end_status(run).value)


def _result(
    options: argparse.Namespace, store: RunStore, name: str, runs: Sequence[RunRecord], compared: Comparison
) -> dict[str, Any]:
    return {
        **reading_fields(store, runs[0]),
        "seed": options.seed,
        "seconds": sum(run.seconds for run in runs),
        "evaluations": sum(run.evaluations for run in runs),
        "stop_reason": None,
        "run_id": None,
        "result_hash": _hash_of(store, runs),
        **cluster_fields(store, runs),
        "versions": dict(installed_versions()),
        "state": _worst(runs).state.value,
        "left_out": left_out(runs[0].config),
        "links": links_to_json(runs[0].config.scope.links, runs[0].config.schema),
        "data_query": runs[0].config.data_query,
        "comparison": name,
        "techniques": [_line(line) for line in compared.techniques],
        "n_exact": compared.n_exact,
        "n_individuals": compared.n_individuals,
    }


def _hash_of(store: RunStore, runs: Sequence[RunRecord]) -> str:
    """Over what each of the runs found."""
    return hashlib.sha256("".join(result_hash(store, run) for run in runs).encode()).hexdigest()


def _line(line: Compared) -> dict[str, Any]:
    """One technique as JSON: figures with median, low, high and n, curves as [[x, median, low, high]]."""
    return {field.name: _plain(getattr(line, field.name)) for field in fields(line)}


def _plain(value: Any) -> Any:
    if isinstance(value, Spread):
        return asdict(value)
    if isinstance(value, Curve):
        return np.column_stack([value.x, value.median, value.low, value.high]).tolist()
    return value


_COLUMNS = {
    "found": ("n_found", "{:,.0f}"),
    "per 1,000 rows": ("per_1000_rows", "{:,.1f}"),
    "per second": ("per_second", "{:,.0f}"),
    "found of those tried": ("success_rate", "{:.2%}"),
    "diversity": ("diversity", "{:,.0f}"),
    "plausible": ("plausible_share", "{:.0%}"),
    "plausible per 1,000 rows": ("plausible_per_1000_rows", "{:,.1f}"),
    "of all": ("share_of_all", "{:.2%}"),
}


def _text(compared: Comparison) -> str:
    """A table: medians, and the range in brackets."""
    lines = [("technique", "runs", *_COLUMNS)]
    for line in compared.techniques:
        cells = [_cell(getattr(line, name), form) for name, form in _COLUMNS.values()]
        lines.append((line.label, str(line.n_runs), *cells))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join(text)


def _cell(spread: Spread | None, form: str) -> str:
    if spread is None:
        return "-"
    median, low, high = (form.format(value) for value in (spread.median, spread.low, spread.high))
    return median if low == high else f"{median} ({low} to {high})"
