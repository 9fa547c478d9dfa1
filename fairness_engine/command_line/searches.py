"""The commands that start a run: ``search``, ``estimate`` and ``count``."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairness_engine.budget import Budget
from fairness_engine.command_line.display import Describe, ProgressDisplay, say
from fairness_engine.command_line.outcome import Outcome, end_status, run_fields
from fairness_engine.command_line.pairs_csv import write_pairs_csv
from fairness_engine.command_line.request import Assessed, assess, read_scope
from fairness_engine.domain import Domain
from fairness_engine.errors import DataError, ModelError, RunError, SettingError
from fairness_engine.events import StopReason
from fairness_engine.runs.config import RunConfig, RunKind
from fairness_engine.runs.launch import run_in_foreground
from fairness_engine.runs.store import RunRecord, RunState, RunStore
from fairness_engine.search.data_scan import DATA_SCAN, scan_budget, scan_text
from fairness_engine.search.registry import technique_named
from fairness_engine.search.technique import make_technique, settings_of

if TYPE_CHECKING:
    from types import FrameType

SEARCH_KEYS = (
    "technique",
    "settings",
    "n_tried",
    "n_found",
    "n_rejected",
    "success_rate",
    "evaluations_per_second",
    "curve",
    "diversity",
    "plausibility",
    "group_score",
    "split",
    "scan",
    "notes",
)
COUNT_KEYS = ("n_discriminatory", "n_individuals", "share")
ESTIMATE_KEYS = ("share", "low", "high", "n", "n_hits", "distribution", "curve")


def search(options: argparse.Namespace) -> Outcome:
    """Search for discriminatory pairs."""
    kind = technique_named(options.technique)
    settings = asdict(make_technique(kind, _settings(options, kind)))
    is_scan = kind.name == DATA_SCAN
    assessed = assess(options, needs_table=is_scan)
    budget = _whole_data(assessed, options) if is_scan and not _has_limit(options) else read_budget(options)
    config = make_config(
        assessed,
        options,
        RunKind.SEARCH,
        technique=kind.name,
        settings=settings,
        budget=budget,
        max_starts=options.start_rows,
    )
    run = run_one(assessed, config, options)
    n_pairs = write_pairs_csv(options.pairs, assessed.store, run.id, assessed.schema) if options.pairs else None
    result = {**run_fields(run, assessed.store), "technique": kind.name, "settings": settings, **_counts(assessed, run)}
    text = (
        f"{run.n_found:,} discriminatory individuals among {run.n_tried:,} tried ({result['success_rate']:.2%}), "
        f"{run.evaluations:,} evaluations in {run.seconds:.1f} s; {_why(run)}. Run {run.id}."
    )
    if result["scan"] is not None:
        text += "\n" + scan_text(result["scan"])
    if n_pairs is not None:
        text += f"\n{n_pairs:,} pairs written to {options.pairs}."
    return Outcome(result, text, end_status(run))


def estimate(options: argparse.Namespace) -> Outcome:
    """Estimate the share of discriminatory individuals."""
    assessed = assess(options)
    budget = Budget(max_seconds=options.max_seconds) if options.max_seconds else Budget()
    config = make_config(
        assessed, options, RunKind.ESTIMATE, budget=budget, n_samples=options.samples, distribution=options.distribution
    )
    run = run_one(assessed, config, options)
    found = assessed.store.results(run.id)
    share = found.get("share", {"share": None, "low": 0.0, "high": 1.0, "n": 0, "n_hits": 0})
    result = {
        **run_fields(run, assessed.store),
        **share,
        "distribution": options.distribution,
        "curve": found.get("share_curve", []),
    }
    text = "Nothing was drawn."
    if share["n"]:
        text = (
            f"{share['share']:.3%} of the {options.distribution} rows are discriminatory "
            f"(95 % interval {share['low']:.3%} to {share['high']:.3%}; {share['n_hits']:,} of {share['n']:,}); {_why(run)}. Run {run.id}."
        )
    return Outcome(result, text, end_status(run))


def count(options: argparse.Namespace) -> Outcome:
    """Count all discriminatory individuals of a space that is small enough."""
    assessed = assess(options)
    budget = Budget(None, options.max_seconds) if options.max_seconds else Budget()
    run = run_one(assessed, make_config(assessed, options, RunKind.COUNT, budget=budget), options)
    found = assessed.store.results(run.id).get("count", dict.fromkeys(COUNT_KEYS))
    text = f"The count was ended after {run.n_tried:,} individuals, which gives no share; {_why(run)}. Run {run.id}."
    if found["share"] is not None:
        text = (
            f"{found['n_discriminatory']:,} of {found['n_individuals']:,} individuals are discriminatory ({found['share']:.3%}, "
            f"counted, not estimated); {run.evaluations:,} evaluations in {run.seconds:.1f} s. Run {run.id}."
        )
    return Outcome({**run_fields(run, assessed.store), **found}, text, end_status(run))


def _why(run: RunRecord) -> str:
    if run.config.kind is RunKind.ESTIMATE and run.stop_reason is StopReason.EXHAUSTED:
        return "all drawn"
    return run.stop_reason.value if run.stop_reason else run.state.value


def _settings(options: argparse.Namespace, kind: type[Any]) -> dict[str, Any]:
    settings = dict(options.set)
    names = {info.name for info in settings_of(kind)}
    for option, name, value in (("--starts", "n_starts", options.starts), ("--steps", "n_steps", options.steps)):
        if value is None:
            continue
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise SettingError(f"{option} needs a technique with the setting '{name}', but '{kind.name}' has: {known}.")
        settings[name] = value
    return settings


def _has_limit(options: argparse.Namespace) -> bool:
    return any(value is not None for value in (options.max_evaluations, options.max_seconds, options.max_found))


def read_budget(options: argparse.Namespace) -> Budget:
    """The limits that were given; the default when none was."""
    given = (options.max_evaluations, options.max_seconds, options.max_found)
    return Budget(*given) if _has_limit(options) else Budget()


def _whole_data(assessed: Assessed, options: argparse.Namespace) -> Budget:
    """The default of a scan: what testing every row of the file takes."""
    if assessed.table is None:  # pragma: no cover - asked for
        raise DataError("The table was not read.")
    return scan_budget(assessed.table.n_rows, Domain(assessed.schema, read_scope(options, assessed.schema)))


def make_config(assessed: Assessed, options: argparse.Namespace, kind: RunKind, **own: Any) -> RunConfig:
    """A run of what the options assess; ``own`` are further fields of it, the scope among them where it was read already.

    Raises:
        InputError: no model, or a scope that cannot be.
    """
    if assessed.model is None:
        raise ModelError("A model is needed: name it with --model.")
    if "scope" not in own:
        own["scope"] = read_scope(options, assessed.schema, assessed.table)
    own = {"seed": options.seed, **own}
    return RunConfig(kind, assessed.data.id, assessed.model.id, assessed.schema, **own)


def run_one(
    assessed: Assessed, config: RunConfig, options: argparse.Namespace, describe: Describe | None = None
) -> RunRecord:
    """Run to the end; an interrupt cancels and keeps what was found.

    Args:
        describe: makes the line of progress; ``None`` counts evaluations and finds.

    Raises:
        RunError: data and model cannot be used; the sentence is the run's.
    """
    store = assessed.store
    run = follow(store, store.create_run(config), options, describe)
    if run.state is RunState.FAILED:
        raise RunError(run.message or "The run failed; its log may say why.")
    if run.state is RunState.CRASHED:
        say(run.message or "The run crashed; its log may say why.")
    results = store.results(run.id)
    for note in (*results.get("reading", {}).get("advice", ()), *_notes(results)):
        say(f"Note: {note}")
    return run


def follow(
    store: RunStore, run_id: str, options: argparse.Namespace, describe: Describe | None = None, *, is_own: bool = True
) -> RunRecord:
    """Start a run that waits, unless it was started already, and show it to its end; an interrupt cancels it, if it is this command's own."""
    with _interrupts() as interrupts:
        display = ProgressDisplay(is_quiet=options.quiet, describe=describe)
        return run_in_foreground(store, run_id, display, lambda: bool(interrupts), is_own=is_own)


def _notes(results: Mapping[str, Any]) -> list[str]:
    """What makes a run weaker than it could be, said before it began."""
    return list(results.get("notes", {}).get("notes", ()))


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collects interrupts instead of raising them; the run ends in its own way then."""
    received: list[int] = []

    def receive(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _counts(assessed: Assessed, run: RunRecord) -> dict[str, Any]:
    curve = assessed.store.progress(run.id)[["evaluations", "seconds", "n_found"]]
    results = assessed.store.results(run.id)
    return {
        "n_tried": run.n_tried,
        "n_found": run.n_found,
        "n_rejected": run.n_rejected,
        "success_rate": run.n_found / run.n_tried if run.n_tried else 0.0,
        "evaluations_per_second": run.evaluations / run.seconds if run.seconds else 0.0,
        "curve": [[int(e), float(s), int(n)] for e, s, n in curve.itertuples(index=False)],
        "diversity": results.get("diversity"),
        "plausibility": results.get("plausibility"),
        "group_score": results.get("group_score"),
        "split": results.get("split"),
        "scan": results.get("scan"),
        "notes": _notes(results),
    }
