"""The commands that start a run: ``search``, ``estimate`` and ``count``."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fairness_engine.cli.output import Describe, Outcome, ProgressDisplay, outcome_of, run_fields, say
from fairness_engine.cli.request import Request, assess, read_scope
from fairness_engine.codec import decode
from fairness_engine.errors import DataError, EvenhandError, ModelError, RunError, SettingError, StopReason
from fairness_engine.explanation.results import Affected
from fairness_engine.measures.results import Diversity, PlausibleCounts, Severity, Share
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs import kinds
from fairness_engine.runs.kinds import RunKind
from fairness_engine.runs.queue import ForegroundWorker
from fairness_engine.runs.writers.pairs_csv import write_pairs_csv
from fairness_engine.search.registry import TECHNIQUES, technique_named
from fairness_engine.search.results import ScanCounts
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.data_scan import DATA_SCAN, scan_budget, scan_text
from fairness_engine.settings import settings_of
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

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
    "severity",
    "affected",
    "group_score",
    "split",
    "scan",
    "notes",
)
SEARCH_PARTS = {
    "affected": Affected,
    "diversity": Diversity,
    "plausibility": (*(field.name for field in fields(PlausibleCounts)), "n_plausible"),
    "severity": Severity,
    "group_score": kinds.GroupShares,
    "scan": ScanCounts,
}
_NOBODY_TRIED = (
    "Nobody was tried before the search ended, so it shows nothing of the model. Allow more evaluations or seconds."
)
COUNT_KEYS = ("n_discriminatory", "n_individuals", "share", "plausible")
ESTIMATE_KEYS = ("share", "low", "high", "n", "n_hits", "distribution", "plausible", "curve")
COUNT_PARTS = ESTIMATE_PARTS = {"plausible": Share}


def search(options: argparse.Namespace) -> Outcome:
    """Search for discriminatory pairs."""
    kind = technique_named(options.technique)
    settings = kind.from_json(_settings(options, kind)).to_json()
    is_scan = kind.name == DATA_SCAN
    assessed = assess(options, needs_table=is_scan)
    budget = _whole_data(assessed, options) if is_scan and not _has_limit(options) else read_budget(options)
    config = make_config(
        assessed,
        options,
        kinds.SEARCH,
        technique=kind.name,
        settings=settings,
        budget=budget,
        max_starts=options.start_rows,
    )
    run = run_one(assessed, config, options)
    written, unwritten = write_pairs(options, assessed, run)
    result = {**run_fields(run, assessed.store), **search_fields(assessed.store, run)}
    rate = run.found_by(run.n_tried)
    text = f"{run.n_found:,} discriminatory individuals among {run.n_tried:,} tried"
    text += "" if rate is None else f" ({rate:.2%})"
    if not run.n_tried and not run.n_found:
        text = "Nobody was tried"
        result |= {"n_found": None, "notes": [*result["notes"], _NOBODY_TRIED]}
        say(f"Note: {_NOBODY_TRIED}")
    text += f", {run.evaluations:,} evaluations in {run.seconds:.1f} s; {_why(run)}. Run {run.id}."
    if result["plausibility"] is not None and run.n_found:
        text += f"\n{_plausible_text(result['plausibility'])}"
    if result["scan"] is not None:
        text += "\n" + scan_text(decode(ScanCounts, result["scan"]))
    return outcome_of(run, result, text + written, unwritten)


def write_pairs(options: argparse.Namespace, assessed: Request, run: RunRecord) -> tuple[str, EvenhandError | None]:
    """Write what ``--pairs`` asks for: a line of the result that says so, and why it could not be done, which is to be
    said once the result is.
    """
    if options.pairs is None:
        return "", None
    try:
        n_pairs = write_pairs_csv(options.pairs, assessed.store, run.id, assessed.schema)
    except EvenhandError as error:
        return "", error
    return f"\n{n_pairs:,} pairs written to {options.pairs}.", None


def estimate(options: argparse.Namespace) -> Outcome:
    """Estimate the share of discriminatory individuals."""
    assessed = assess(options)
    budget = Budget(max_seconds=options.max_seconds) if options.max_seconds else Budget()
    config = make_config(
        assessed,
        options,
        kinds.ESTIMATE,
        budget=budget,
        n_samples=options.samples,
        distribution=options.distribution,
    )
    run = run_one(assessed, config, options)
    result = {**run_fields(run, assessed.store), **estimate_fields(assessed.store, run)}
    text = "Nothing was drawn."
    if result["n"]:
        text = (
            f"{result['share']:.3%} of the {options.distribution} rows are discriminatory "
            f"({_spread(result)}; {result['n_hits']:,} of {result['n']:,}); "
            f"{_why(run)}. Run {run.id}."
        )
    if result["plausible"]:
        part = result["plausible"]
        text += (
            f"\nOf two plausible people: {part['share']:.3%} ({_spread(part)}; {part['n_hits']:,} of {part['n']:,}"
            f"{' judged' if part['n'] < result['n'] else ''})."
        )
    return outcome_of(run, result, text)


def _spread(part: Mapping[str, Any]) -> str:
    """The interval of a share in words; it has no width where nobody was left to draw."""
    if part["low"] == part["high"]:
        return "all of them tested"
    return f"95 % interval {part['low']:.3%} to {part['high']:.3%}"


def estimate_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of an estimate; nothing is known where nothing was drawn."""
    found = store.results(run.id)
    share = found.get("share", {"share": None, "low": 0.0, "high": 1.0, "n": 0, "n_hits": 0})
    plausible = found.get("plausible_share")
    curve = found.get("share_curve", [])
    return {**share, "distribution": run.config.distribution.value, "plausible": plausible, "curve": curve}


def count(options: argparse.Namespace) -> Outcome:
    """Count all discriminatory individuals of a space that is small enough."""
    assessed = assess(options)
    budget = Budget(None, options.max_seconds) if options.max_seconds else Budget()
    run = run_one(assessed, make_config(assessed, options, kinds.COUNT, budget=budget), options)
    found = count_fields(assessed.store, run)
    text = f"The count was ended after {run.n_tried:,} individuals, which gives no share; {_why(run)}. Run {run.id}."
    if found["share"] is not None:
        text = (
            f"{found['n_discriminatory']:,} of {found['n_individuals']:,} individuals are discriminatory "
            f"({found['share']:.3%}, "
            f"counted, not estimated); {run.evaluations:,} evaluations in {run.seconds:.1f} s. Run {run.id}."
        )
    if found["plausible"]:
        part = found["plausible"]
        text += f"\nOf two plausible people: {part['share']:.3%} of these"
        if part["n"] < found["n_discriminatory"]:
            text += f" ({_spread(part)})"
        text += f"; {part['n_hits']:,} of {part['n']:,}."
    return outcome_of(run, {**run_fields(run, assessed.store), **found}, text)


def count_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of a count; nulls where it was ended early."""
    return {**dict.fromkeys(COUNT_KEYS), **store.results(run.id).get("count", {})}


def _why(run: RunRecord) -> str:
    if kinds.ESTIMATE.has(run.config) and run.stop_reason is StopReason.EXHAUSTED:
        return "all drawn"
    return run.stop_reason.value if run.stop_reason else run.state.value


def _settings(options: argparse.Namespace, kind: type[Any]) -> dict[str, Any]:
    settings = dict(options.set)
    if options.only_plausible:
        if not can_be_plausible_only(kind):
            raise SettingError(f"--only-plausible is for {_listed_plausible()}, got '{kind.name}'. Leave it out.")
        settings["only_plausible"] = "true"
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


def can_be_plausible_only(kind: type[Technique]) -> bool:
    """Whether a technique has the setting ``only_plausible``."""
    return "only_plausible" in {info.name for info in settings_of(kind)}


def _listed_plausible() -> str:
    return ", ".join(name for name, kind in TECHNIQUES.items() if can_be_plausible_only(kind))


def _whole_data(assessed: Request, options: argparse.Namespace) -> Budget:
    """The default of a scan: what testing every row of the file takes."""
    if assessed.table is None:  # pragma: no cover - asked for
        raise DataError("The table was not read.")
    scope = read_scope(options, assessed.schema, assessed.table)
    return scan_budget(assessed.table.n_rows, Domain(assessed.schema, scope))


def make_config(assessed: Request, options: argparse.Namespace, kind: RunKind[Any], **own: Any) -> RunConfig:
    """A run of what the options assess; ``own`` are further fields of it, the scope among them where it was read
    already.

    Raises:
        InputError: no model, or a scope that cannot be.
    """
    if assessed.model is None:
        raise ModelError("A model is needed: name it with --model.")
    if "scope" not in own:
        own["scope"] = read_scope(options, assessed.schema, assessed.table)
    own = {"seed": options.seed, "data_query": assessed.data_query, **own}
    return kind.config(assessed.data.id, assessed.model.id, assessed.schema, **own)


def run_one(
    assessed: Request,
    config: RunConfig,
    options: argparse.Namespace,
    describe: Describe | None = None,
    worker: ForegroundWorker | None = None,
) -> RunRecord:
    """Run to the end; an interrupt cancels and keeps what was found.

    Args:
        describe: makes the line of progress; ``None`` counts evaluations and finds.
        worker: of several runs; this one's own, where none is given.

    Raises:
        RunError: data and model cannot be used; the sentence is the run's.
    """
    store = assessed.store
    run = follow(store, store.create_run(config), options, describe, worker=worker)
    if run.state is RunState.FAILED:
        raise RunError(run.message or "The run failed; its log may say why.")
    if run.state is RunState.CRASHED:
        say(run.message or "The run crashed; its log may say why.")
    results = store.results(run.id)
    why = results.get("cluster", {}).get("why")
    for note in (*results.get("reading", {}).get("advice", ()), *_notes(results), *([why] if why else [])):
        say(f"Note: {note}")
    return run


def follow(
    store: RunStore,
    run_id: str,
    options: argparse.Namespace,
    describe: Describe | None = None,
    *,
    is_own: bool = True,
    worker: ForegroundWorker | None = None,
) -> RunRecord:
    """Start a run that waits, unless it was started already, and show it to its end; an interrupt cancels it, if it is
    this command's own.
    """
    with interrupts_noted() as interrupts, contextlib.ExitStack() as opened:
        display = ProgressDisplay(is_quiet=options.quiet, describe=describe)
        store.patience.is_over = lambda: bool(interrupts)
        if worker is None:
            worker = opened.enter_context(contextlib.closing(ForegroundWorker(store)))
        return worker.run(run_id, display, lambda: bool(interrupts), is_own=is_own)


def _notes(results: Mapping[str, Any]) -> list[str]:
    """What makes a run weaker than it could be, said before it began."""
    return list(results.get("notes", {}).get("notes", ()))


@contextlib.contextmanager
def interrupts_noted() -> Iterator[list[int]]:
    """Collects interrupts instead of raising them; the run ends in its own way then. Within another block, that one
    hears of them, too: no further run is begun.
    """
    notes = _Interrupts()
    for number in (signal.SIGINT, signal.SIGTERM):
        notes.before[number] = signal.getsignal(number)
        signal.signal(number, notes)
    try:
        yield notes.received
    finally:
        for heard, handler in notes.before.items():
            signal.signal(heard, handler)


class _Interrupts:
    """Hears interrupts, and hands them on to the one before it."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self.before: dict[int, Any] = {}

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)
        outer = self.before.get(number)
        if isinstance(outer, _Interrupts):
            outer(number, frame)


def search_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of a search."""
    curve = store.progress(run.id)[["evaluations", "seconds", "n_found"]]
    results = store.results(run.id)
    return {
        "technique": run.config.technique,
        "settings": dict(run.config.settings),
        "n_tried": run.n_tried,
        "n_found": run.n_found,
        "n_rejected": run.n_rejected,
        "success_rate": run.found_by(run.n_tried),
        "evaluations_per_second": run.evaluations / run.seconds if run.seconds else 0.0,
        "curve": [[int(e), float(s), int(n)] for e, s, n in curve.itertuples(index=False)],
        "diversity": results.get("diversity"),
        "plausibility": _plausibility(results.get("plausibility")),
        "severity": results.get("severity"),
        "affected": results.get("affected"),
        "group_score": results.get("group_score"),
        "split": results.get("split"),
        "scan": results.get("scan"),
        "notes": _notes(results),
    }


def _plausibility(stored: Any) -> dict[str, Any] | None:
    """What a run stored of the plausibility of its pairs, and how many are of two plausible people."""
    return None if stored is None else {**stored, "n_plausible": decode(PlausibleCounts, stored).n_plausible}


def _plausible_text(measured: Mapping[str, Any]) -> str:
    """How many of the pairs that were measured are of two people who could exist, in a sentence."""
    n = measured["n_measured"]
    share = f" ({measured['n_plausible'] / n:.1%})" if n else ""
    return f"Two plausible people: {measured['n_plausible']:,} of {n:,} pairs measured{share}."
