"""The command ``retrain``: train a model to discriminate less, measure both alike, and write the new one."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from fairness_engine.cli.commands.certify import certified_fields, share_text
from fairness_engine.cli.commands.rules import rules_fields
from fairness_engine.cli.commands.runs import find_run
from fairness_engine.cli.commands.search import follow, interrupts_noted, make_config, run_one
from fairness_engine.cli.junit import Case, End, Subject
from fairness_engine.cli.output import ExitStatus, Outcome, end_status, progress_text, run_fields, say
from fairness_engine.cli.parser import OF_TEXTS, named_terms, read_settings, text_scope
from fairness_engine.cli.request import assess, guessed_favourable
from fairness_engine.errors import EvenhandError, ModelError, SettingError
from fairness_engine.measures.results import Share
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.oracle.budget import Budget
from fairness_engine.retraining.results import Changes, GroupScore, Interval
from fairness_engine.retraining.settings import BASELINES, RetrainSettings, Strategy, Surrogate
from fairness_engine.runs import kinds
from fairness_engine.runs.pair_fates import pair_fates
from fairness_engine.runs.queue import ForegroundWorker
from fairness_engine.runs.writers.models import SUFFIXES
from fairness_engine.search.registry import technique_named
from fairness_engine.store.records import RunRecord, RunState, StoredFile
from fairness_engine.store.store import RunStore
from fairness_engine.store.whole_files import exported_file

SIDE_KEYS = (
    *("accuracy", "estimate", "certified", "worst_rule_set"),
    *(
        "accuracy_low",
        "accuracy_high",
        "f1",
        "auc",
        "estimate_of_rows",
        "falsified",
        "undecided",
        "top_score",
        "n_found",
    ),
)
RETRAIN_KEYS = (
    *(
        "chance",
        "before",
        "after",
        "iterations",
        "improved",
        "raised",
        "verdict",
        "why",
        "strategy",
        "settings",
        "tolerance",
        "changes",
    ),
    *("control", "rounds", "round", "n_added", "n_cases", "pairs", "measured", "notes", "out_model", "card"),
)
_SHARE = (*(field.name for field in fields(Share)), "distribution")
_SIDE_PARTS = dict.fromkeys(SIDE_KEYS) | {
    **dict.fromkeys(("f1", "auc"), Interval),
    **dict.fromkeys(("estimate", "estimate_of_rows"), _SHARE),
    "worst_rule_set": ("rules", "group", *(field.name for field in fields(GroupScore))),
}
RETRAIN_PARTS = {"before": _SIDE_PARTS, "after": _SIDE_PARTS, "changes": Changes}
_IMPROVED = "improved"
_NOT_MEASURED = "not measured"


def retrain_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of a retraining; what is not available is null.

    Args:
        store: with the run and the runs that measured both models, as far as they ended.
        run: a retraining.
    """
    results = store.results(run.id)
    told: Mapping[str, Any] = results.get("retrained") or {}
    verdict = told.get("verdict")
    training = results.get("training") or {}
    measured = results.get("measured")
    is_of_texts = bool(run.config.text_column)
    settings = kinds.RETRAIN.settings(run.config)
    return {
        **run_fields(run, store),
        "chance": told.get("chance") or None,
        "before": _side(store, results, "before", is_of_texts=is_of_texts),
        "after": _side(store, results, "after", is_of_texts=is_of_texts),
        "iterations": told.get("n_rounds", len(training.get("rounds", ()))),
        "improved": None if verdict in (None, _NOT_MEASURED) else verdict == _IMPROVED,
        "raised": told.get("is_raised"),
        "verdict": verdict,
        "why": told.get("why"),
        "strategy": str(settings.strategy),
        "settings": settings.to_json(),
        "tolerance": settings.tolerance,
        "changes": results.get("changes"),
        "control": results.get("control"),
        "rounds": training.get("rounds", []),
        "round": told.get("round"),
        "n_added": told.get("n_added"),
        "n_cases": told.get("n_cases"),
        "pairs": None,
        "measured": measured,
        "notes": [*(results.get("notes") or {}).get("notes", ()), *told.get("notes", ())],
        "out_model": None,
        "card": (results.get("card") or {}).get("text"),
    }


def _side(store: RunStore, results: Mapping[str, Any], side: str, *, is_of_texts: bool) -> dict[str, Any]:
    """One of both models."""
    found: dict[str, Any] = dict.fromkeys(SIDE_KEYS)
    figures = results.get(side)
    if figures is not None:
        quality = figures["quality"]
        found |= {name: quality[name] for name in ("accuracy", "f1", "auc")}
        found |= {f"accuracy_{end}": quality["accuracy"][end] for end in ("low", "high")}
        found["accuracy"] = quality["accuracy"]["value"]
        found["estimate"] = {**figures["uniform"], "distribution": "swaps" if is_of_texts else "uniform"}
        found["estimate_of_rows"] = {**figures["data"], "distribution": "data"}
    worst = results.get("worst_rule_set") or {}
    if worst.get(side) is not None:
        found["worst_rule_set"] = {"rules": worst["rules"], "group": worst["group"], **worst[side]}
    return found | _measured(store, (results.get("measured") or {}).get(side) or {})


def _measured(store: RunStore, run_ids: Mapping[str, str | None]) -> dict[str, Any]:
    """What the runs that followed say of a model."""
    ended: dict[str, RunRecord] = {}
    for name, run_id in run_ids.items():
        run = store.run(run_id) if run_id else None
        if run is not None and run.state is RunState.FINISHED:
            ended[name] = run
    found: dict[str, Any] = {}
    if "certify" in ended:
        proved = certified_fields(store, ended["certify"])
        found |= {name: proved[name] for name in ("certified", "falsified", "undecided")}
    if "search" in ended:
        found["n_found"] = ended["search"].n_found
    if "rules" in ended:
        found["top_score"] = rules_fields(store, ended["rules"], 1)["top_score"]
    return found


_NOTHING = "-"


def retrain_text(result: Mapping[str, Any]) -> str:
    """The verdict and its reason, both models side by side, and what became of the pairs."""
    verdict = result["verdict"] or result["state"]
    lines = [result["chance"]] if result["chance"] else []
    lines += [
        f"{verdict[0].upper()}{verdict[1:]}: {result['why']}"
        if result["why"]
        else f"{verdict[0].upper()}{verdict[1:]}."
    ]
    lines += _table(result["before"], result["after"])
    pairs = result["pairs"]
    if pairs is not None:
        lines.append(
            f"Found by another technique: of {pairs['n_before']:,} individuals of the original {pairs['n_fixed']:,} "
            "are fixed and "
            f"{pairs['n_still']:,} still there; of {pairs['n_after']:,} of the new model {pairs['n_new']:,} are new."
        )
    reasons = (result["measured"] or {}).get("reasons", {})
    lines += [f"Not measured ({name}): {reason}" for name, reason in reasons.items() if reason]
    return "\n".join([*lines, *(f"Note: {note}" for note in result["notes"]), _end(result)])


def _table(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Figures that at least one of both models has."""
    is_of_texts = (before.get("estimate") or {}).get("distribution") == "swaps"
    rows = [
        (
            _OF_TEXTS.get(title, title) if is_of_texts else title,
            *(_NOTHING if (value := _value(side, *path)) is None else read(value) for side in (before, after)),
        )
        for title, path, read in _ROWS
    ]
    rows = [row for row in rows if row[1:] != (_NOTHING, _NOTHING)]
    if not rows:
        return []
    lines = [("", "before", "after"), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


_DIGITS_OF_INTERVAL = 3
"""With fewer the ends of a narrow one would be said to be the share itself."""


def _interval(share: Mapping[str, Any]) -> str:
    told, low, high = (share_text(share[name], _DIGITS_OF_INTERVAL) for name in ("share", "low", "high"))
    return f"{told} ({low} to {high})"


def _score(worst: Mapping[str, Any]) -> str:
    return f"{100 * worst['score']:.1f} ({100 * worst['low']:.1f} to {100 * worst['high']:.1f})"


_ROWS = (
    ("accuracy", ("accuracy",), share_text),
    ("discriminatory individuals", ("estimate",), _interval),
    ("discriminatory test rows", ("estimate_of_rows",), _interval),
    ("worst rule set, points", ("worst_rule_set",), _score),
    ("certified", ("certified",), share_text),
    ("falsified", ("falsified",), share_text),
    ("highest rule set, points", ("top_score",), lambda score: f"{100 * score:.1f}"),
    ("individuals found by a search", ("n_found",), lambda n: f"{n:,}"),
)
"""What a line says, where the result has it, and how it is written."""


_OF_TEXTS = {
    "discriminatory individuals": "random swaps that change the decision",
    "discriminatory test rows": "test texts decided by their term",
}
"""What the two shares are called where texts are retrained."""


def _value(side: Mapping[str, Any], *path: str) -> Any:
    value: Any = side
    for part in path:
        value = None if value is None else value.get(part)
    return value


def _end(result: Mapping[str, Any]) -> str:
    n = result["iterations"]
    rounds = (
        f"{n:,} round{'' if n == 1 else 's'} in {result['seconds']:.1f} s; "
        f"{result['stop_reason'] or result['state']}. Run {result['run_id']}."
    )
    if result["out_model"] is None:
        return rounds
    return f"{rounds}\nModel written to {result['out_model']}, its card beside it."


_KERAS, _SKOPS = SUFFIXES


def expected_suffix(model: StoredFile, settings: RetrainSettings) -> str | None:
    """The suffix of the file that a retraining will make; ``None`` where only its end tells, or it cannot be retrained
    at all.

    Raises:
        ModelError: the model's file is of no known format.
    """
    if settings.surrogate is not Surrogate.NONE:
        return _KERAS if settings.surrogate is Surrogate.NETWORK else _SKOPS
    file_format = detect_format(model.path, model.name)
    if file_format in (FileFormat.SKOPS, FileFormat.PICKLE):
        return _SKOPS
    is_network = file_format in (FileFormat.KERAS, FileFormat.KERAS_H5)
    return _KERAS if is_network and settings.strategy not in BASELINES else None


def check_out_model(path: Path, model: StoredFile, settings: RetrainSettings) -> None:
    """Refuse, before anything is trained, a file that would have another format than its name says.

    Raises:
        SettingError: another suffix, or a strategy that makes no file.
    """
    if settings.strategy is Strategy.THRESHOLD:
        raise SettingError(
            f"--out-model needs a strategy that makes a model file, but '{settings.strategy}' keeps the model and "
            "changes what is done with its scores. Leave --out-model out, or choose another strategy."
        )
    try:
        expected = expected_suffix(model, settings)
    except ModelError:  # the run says it, with what to do
        return
    known = (expected,) if expected else SUFFIXES
    if path.suffix.lower() not in known:
        raise SettingError(
            f"--out-model must end in {' or '.join(known)}, the format that this model is written in, got "
            f"'{path.name}'."
        )


def write_model(path: Path, store: RunStore, run_id: str, card: str | None) -> Path | None:
    """Write the model that a retraining ended with, and its card as ``FILE.md``, each in one step.

    Returns:
        where it is: the path, but for a suffix that the model's format does not have; ``None`` when no model was made.

    Raises:
        SettingError: it cannot be written.
    """
    version = store.version(run_id)
    if version is None:
        return None
    model = store.file(version.model_id)
    suffix = Path(model.name).suffix
    target = path if path.suffix.lower() == suffix else path.with_name(path.name + suffix)
    try:
        with model.path.open("rb") as kept, exported_file(target) as file:
            shutil.copyfileobj(kept, file)
        if card is not None:
            with exported_file(target.with_name(target.name + ".md")) as file:
                file.write(card.rstrip("\n").encode() + b"\n")
    except OSError as error:
        raise SettingError(
            f"--out-model must name a file that can be written, got '{path}': {error.strerror}."
        ) from None
    return target


_UNLIMITED = 2**62
"""A retraining is limited by seconds and rounds alone; a budget wants one limit."""


def retrain(options: argparse.Namespace) -> Outcome:
    """Retrain a model, and say honestly what came of it.

    Raises:
        InputError: an option out of its range, no label, a model that cannot be trained, or a file that cannot be
            written.
        RunError: data and model cannot be used; runs of cases that are not here.
    """
    settings = settings_of_options(options)
    if settings.technique:
        technique_named(settings.technique)
    assessed = assess(options)
    settings = settings_of_options(options, *_named(options, assessed.store))
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
    config = make_config(assessed, options, kinds.RETRAIN, **own)
    store = assessed.store
    run = run_one(assessed, config, options, _shown)
    is_refused = bool((store.results(run.id).get("retrained") or {}).get("is_raised")) and not options.keep_anyway
    out = None
    unwritten = None
    if is_refused:
        _say_refused(options)
    else:  # before anything else: an interrupt of what follows loses no model
        try:
            out = _write(options, store, run)
        except SettingError as error:
            unwritten = error
    status = end_status(run)
    pairs = None
    if status is ExitStatus.DONE and (measured := store.results(run.id).get("measured")):
        status = wait_for_measuring(store, run.id, measured, options)
        pairs = _pairs(store, measured) if status is ExitStatus.DONE else None
    if is_refused and status is ExitStatus.DONE:
        status = ExitStatus.GATE_FAILED
    result = {**retrain_fields(store, run), "pairs": pairs, "out_model": out}
    cases = _cases(result, is_kept_anyway=options.keep_anyway)
    return Outcome(result, retrain_text(result), status, run.message or "", cases, unwritten)


def _cases(result: Mapping[str, Any], *, is_kept_anyway: bool) -> tuple[Case, ...]:
    """The verdict that decides on the status, as a test case; none where there is no verdict."""
    if result["verdict"] is None:
        return ()
    end = End.SKIPPED if result["verdict"] == _NOT_MEASURED else End.PASSED
    if result["raised"]:
        end = End.SKIPPED if is_kept_anyway else End.FAILED
    said = f"{result['verdict'].capitalize()}: {result['why'] or 'no reason was told'}"
    return (Case("the new model discriminates no more than the one before", end, said, subject=Subject.CHECK),)


def settings_of_options(
    options: argparse.Namespace, run_ids: tuple[str, ...] = (), rule_set: tuple[str, int] | None = None
) -> RetrainSettings:
    """The settings that the options describe.

    Args:
        run_ids: whole ids of the runs that ``--cases`` names.
        rule_set: whole id and position of what ``--rule-set`` names.

    Raises:
        SettingError: as ``read_settings``.
    """
    return read_settings(
        options,
        RetrainSettings,
        strategy=options.strategy or (OF_TEXTS if options.text_column else RetrainSettings.strategy),
        terms=named_terms(options),
        cases=[[run_id, []] for run_id in run_ids],
        rule_set=rule_set,
    )


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
        say("No model was written: the retraining kept none. The original stays as it is.")
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
    """Wait for the runs that measure both models; an interrupt cancels those that were made for it, and leaves those
    that were there before.
    """
    names = {
        run_id: f"{kind}, {side}" for side in ("before", "after") for kind, run_id in measured[side].items() if run_id
    }
    own = [run_id for run_id in names if store.run(run_id).config.comparison == retraining_id]
    with interrupts_noted() as interrupts, closing(ForegroundWorker(store)) as worker:
        for run_id, name in names.items():
            named = partial(progress_text, name=name)
            run = follow(store, run_id, options, named, is_own=run_id in own, worker=worker)
            if interrupts or run.state is RunState.CANCELLED or not run.state.is_final:
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
