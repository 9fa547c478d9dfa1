"""The command ``rules``: which groups are treated differently, without anybody naming one."""

from __future__ import annotations

import argparse

from fairness_engine.budget import Budget
from fairness_engine.command_line.display import progress_text, say
from fairness_engine.command_line.outcome import Outcome, end_status, run_fields
from fairness_engine.command_line.request import Assessed, assess, guessed_favourable, read_scope
from fairness_engine.command_line.rule_options import named_terms, text_scope
from fairness_engine.command_line.rules_json import rules_fields
from fairness_engine.command_line.rules_text import rules_text
from fairness_engine.command_line.searches import run_one
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.rules.settings import RuleSettings, Source
from fairness_engine.runs.config import RunConfig, RunKind
from fairness_engine.runs.records import RunRecord

_SETTINGS = ("support", "error", "confidence", "least_samples", "bins", "edges", "max_attributes", "one_sided")
_UNLIMITED = 2**62
"""A run of rule sets is limited by seconds alone; a budget wants one limit."""


def rules(options: argparse.Namespace) -> Outcome:
    """Score every group that is large enough.

    Raises:
        InputError: an option out of its range, no protected attribute, no group large enough, no outcome to compare.
        RunError: data and model cannot be used.
    """
    settings = _settings(options)
    assessed = assess(options)
    config = _config(assessed, options, settings)
    for note in (*_without_effect(options, settings), *guessed_favourable(assessed.schema, options)):
        say(f"Note: {note}")

    def shown(run: RunRecord, *, has_bar: bool) -> str:
        return progress_text(run, has_bar=has_bar, counts=f"{run.evaluations:,} evaluations, {run.seconds:.1f} s")

    run = run_one(assessed, config, options, shown)
    result = {
        **run_fields(run, assessed.store),
        **rules_fields(assessed.store, run, options.top, with_folded=options.folded),
    }
    return Outcome(result, rules_text(result), end_status(run))


def _settings(options: argparse.Namespace) -> RuleSettings:
    """The settings that the options describe.

    Raises:
        SettingError: one out of its range, or two that exclude one another.
    """
    if options.model and options.predictions:
        raise SettingError(
            "--predictions compares a column of the table without a model. Leave --model out, or --predictions."
        )
    given = {name: getattr(options, name) for name in _SETTINGS}
    source = Source.MODEL if options.model or options.text_column else Source.LABELS
    texts = {"text_column": options.text_column, "terms": named_terms(options)}
    return RuleSettings.from_json({**given, **texts, "source": source.value, "predictions": options.predictions})


def _config(assessed: Assessed, options: argparse.Namespace, settings: RuleSettings) -> RunConfig:
    """The run that the options describe.

    Raises:
        InputError: a scope that cannot be; texts without a model.
    """
    schema = assessed.schema
    if not settings.text_column:
        scope = read_scope(options, schema, needs_variants=False)
    elif assessed.model is None:
        raise ModelError("Terms are swapped in texts, which only a model can decide anew: name it with --model.")
    else:
        schema, scope = text_scope(options, schema)
    model_id = assessed.model.id if assessed.model is not None else ""
    own = {"budget": Budget(_UNLIMITED, options.max_seconds), "seed": options.seed, "settings": settings.to_json()}
    return RunConfig(RunKind.RULES, assessed.data.id, model_id, schema, scope, **own)


def _without_effect(options: argparse.Namespace, settings: RuleSettings) -> list[str]:
    """Options that were given and change nothing here, a sentence each."""
    said = []
    if options.values or options.gap:
        said.append("--values and --gap have no effect on rule sets: --bins cuts numbers, and decisions are compared.")
    if settings.text_column and (options.limit or options.fixed):
        said.append("--limit and --fixed have no effect on texts.")
    return said
