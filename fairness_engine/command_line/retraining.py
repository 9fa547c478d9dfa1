"""The command ``retrain``: train a model to discriminate less, measure both alike, and write the new one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairness_engine.budget import Budget
from fairness_engine.command_line.display import progress_text, say
from fairness_engine.command_line.model_out import check_out_model, write_model
from fairness_engine.command_line.outcome import ExitStatus, Outcome, end_status
from fairness_engine.command_line.request import assess, guessed_favourable
from fairness_engine.command_line.retrain_json import retrain_fields
from fairness_engine.command_line.retrain_options import read_settings
from fairness_engine.command_line.retrain_text import retrain_text
from fairness_engine.command_line.rule_options import text_scope
from fairness_engine.command_line.searches import follow, make_config, run_one
from fairness_engine.command_line.stored_runs import find_run
from fairness_engine.errors import EvenhandError, ModelError
from fairness_engine.runs.config import RunKind
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.pair_fates import pair_fates
from fairness_engine.runs.records import RunRecord, RunState
from fairness_engine.runs.store import RunStore
from fairness_engine.search.registry import technique_named

_UNLIMITED = 2**62
"""A retraining is limited by seconds and rounds alone; a budget wants one limit."""


def retrain(options: argparse.Namespace) -> Outcome:
    """Retrain a model, and say honestly what came of it.

    Raises:
        InputError: an option out of its range, no label, a model that cannot be trained, or a file that cannot be written.
        RunError: data and model cannot be used; runs of cases that are not here.
    """
    settings = read_settings(options)
    if settings.technique:
        technique_named(settings.technique)
    assessed = assess(options)
    settings = read_settings(options, *_named(options, assessed.store))
    if assessed.model is None:
        raise ModelError("A model is needed: name it with --model.")
    if options.out_model is not None:
        check_out_model(options.out_model, assessed.model, settings)
    for note in guessed_favourable(assessed.schema, options):
        say(f"Note: {note}")
    own: dict[str, Any] = {"budget": Budget(_UNLIMITED, options.max_seconds), "settings": settings.to_json()}
    if options.text_column:
        schema, own["scope"] = text_scope(options, assessed.schema)
        assessed = replace(assessed, schema=schema)
    config = make_config(assessed, options, RunKind.RETRAIN, **own)
    store = assessed.store
    run = run_one(assessed, config, options, _shown)
    is_refused = bool((store.results(run.id).get("retrained") or {}).get("is_raised")) and not options.keep_anyway
    out = None
    if is_refused:
        _say_refused(options)
    else:  # before anything else: an interrupt of what follows loses no model
        out = _write(options, store, run)
    status = end_status(run)
    pairs = None
    if status is ExitStatus.DONE and (measured := store.results(run.id).get("measured")):
        status = wait_for_measuring(store, run.id, measured, options)
        pairs = _pairs(store, measured) if status is ExitStatus.DONE else None
    if is_refused and status is ExitStatus.DONE:
        status = ExitStatus.GATE_FAILED
    result = {**retrain_fields(store, run), "pairs": pairs, "out_model": out}
    return Outcome(result, retrain_text(result), status)


def _named(options: argparse.Namespace, store: RunStore) -> tuple[tuple[str, ...], tuple[str, int] | None]:
    """The runs that ``--cases`` and ``--rule-set`` name, by their whole ids.

    Raises:
        RunError: there is none, or several.
    """
    run_ids = tuple(find_run(store, text).id for text in options.cases)
    if options.rule_set is None:
        return run_ids, None
    text, rank = options.rule_set
    return run_ids, (find_run(store, text).id, rank - 1)


def _shown(run: RunRecord, *, has_bar: bool) -> str:
    counts = f"{run.n_tried:,} rounds, {run.n_found:,} within the tolerance, {run.seconds:.1f} s"
    return progress_text(run, has_bar=has_bar, counts=counts)


def _write(options: argparse.Namespace, store: RunStore, run: RunRecord) -> str | None:
    """Write the last good model, however the run ended; says so when there is none."""
    if options.out_model is None:
        return None
    card = (store.results(run.id).get("card") or {}).get("text")
    path = write_model(options.out_model, store, run.id, card)
    if path is None:
        say("No model was written: the retraining made none. The original stays as it is.")
    elif path != options.out_model:
        say(f"The model is of another format than --out-model says: it was written to {path}.")
    return None if path is None else str(path)


def _say_refused(options: argparse.Namespace) -> None:
    """Say that the new model is not written."""
    written = "No model was written, and the status is 1" if options.out_model is not None else "The status is 1"
    say(f"The new model discriminates more than the one before. {written}: say --keep-anyway if that is what you want.")


def wait_for_measuring(
    store: RunStore, retraining_id: str, measured: Mapping[str, Any], options: argparse.Namespace
) -> ExitStatus:
    """Wait for the runs that measure both models; an interrupt cancels those that were made for it, and leaves those that were there before."""
    run_ids = [run_id for side in ("before", "after") for run_id in measured[side].values() if run_id]
    own = [run_id for run_id in run_ids if store.run(run_id).config.comparison == retraining_id]
    for run_id in run_ids:
        run = follow(store, run_id, options, is_own=run_id in own)
        if run.state is RunState.CANCELLED or not run.state.is_final:
            for waiting in own:
                store.request_cancel(waiting)  # nothing happens to those that have ended
            return ExitStatus.CANCELLED
        if run.message:
            say(f"{run.config.kind}: {run.message}")
    return ExitStatus.DONE


def _pairs(store: RunStore, measured: Mapping[str, Any]) -> dict[str, int] | None:
    """What became of the pairs; ``None`` where one of both searches could not be made."""
    run_ids = [measured[side].get("search") for side in ("before", "after")]
    if not all(run_id and store.run(run_id).state is RunState.FINISHED for run_id in run_ids):
        return None
    evaluator = Evaluator(store)
    try:
        return pair_fates(store, evaluator, *run_ids).to_json()
    except EvenhandError as error:
        say(str(error))
        return None
    finally:
        evaluator.close()
