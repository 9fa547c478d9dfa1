"""The command line that makes a run again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fairness_engine.data.schema import Column
from fairness_engine.runs import kinds
from fairness_engine.runs.kinds import kind_of
from fairness_engine.search.registry import technique_named
from fairness_engine.settings import Settings, settings_of
from fairness_engine.store.run_config import RunConfig

PROGRAM = "python -m fairness_engine"


def command_of(config: RunConfig, data: str, model: str, schema: str = "schema.json") -> str:
    """The command that makes the run again, from the files of the bundle.

    Args:
        config: of the run.
        data, model: names of the files; no model is the empty text.
        schema: name of the file with the columns as the run had them.
    """
    words = [PROGRAM, kind_of(config).name, "--data", data, "--schema", schema]
    if model:
        words += ["--model", model]
    words += [*_scope(config), *_own(config), "--seed", str(config.seed)]
    return " ".join([PROGRAM, *(shlex.quote(word) for word in words[1:])])


def _scope(config: RunConfig) -> Iterator[str]:
    scope = config.scope
    schema = config.schema
    texts = [name for name in scope.protected if schema.is_text(name)]
    if texts:
        yield from ("--text-column", texts[0])
    else:
        yield from ("--protected", ",".join(scope.protected))
    if scope.threshold is not None:
        yield from ("--threshold", repr(scope.threshold))
    if scope.score_gap:
        yield from ("--gap", repr(scope.score_gap))
    if scope.fixed:
        yield from ("--fixed", ",".join(scope.fixed))
    for name, (low, high) in scope.limits.items():
        yield from ("--limit", f"{name}={_number(low)}:{_number(high)}")
    for name, values in scope.bins.items():
        yield from ("--values", f"{name}={','.join(_value(schema.column(name), value) for value in values)}")
    if scope.excluded:
        yield "--leave-out-impossible"
    if scope.max_variants != 1000:
        yield from ("--max-variants", str(scope.max_variants))


def _own(config: RunConfig) -> Iterator[str]:
    """The options of the kind."""
    budget = config.budget
    if kinds.SEARCH.has(config):
        yield from ("--technique", config.technique)
        yield from _changed(technique_named(config.technique).from_json(config.settings))
        if config.max_starts is not None:
            yield from ("--start-rows", str(config.max_starts))
        if budget.max_evaluations is not None and budget.max_evaluations < 2**62:
            yield from ("--max-evaluations", str(budget.max_evaluations))
        if budget.max_found is not None:
            yield from ("--max-found", str(budget.max_found))
    elif kinds.ESTIMATE.has(config):
        yield from ("--samples", str(config.n_samples), "--distribution", config.distribution.value)
    elif kinds.FIGURES.has(config):
        asked = kinds.FIGURES.settings(config)
        for names in asked.attribute_sets:
            yield from ("--by", ",".join(names))
        if asked.predictions:
            yield from ("--predictions", asked.predictions)
        yield from ("--bins", str(asked.bins), "--edges", asked.edges.value)
    elif isinstance(settings := kind_of(config).settings(config), Settings):
        yield from _changed(settings)
    if budget.max_seconds is not None and not kinds.FIGURES.has(config):
        yield from ("--max-seconds", f"{budget.max_seconds:g}")


_SAID_OTHERWISE = ("source", "text_column", "terms")
"""Settings that other options say."""


def _changed(settings: Settings) -> Iterator[str]:
    """Settings that are not their defaults, by an option of their own or by ``--set``."""
    for info in settings_of(type(settings)):
        value = getattr(settings, info.name)
        if value == info.default or info.name in _SAID_OTHERWISE:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if info.option and not isinstance(value, bool):
            yield from (info.flag, text)
        elif info.option:
            yield info.flag
        else:
            yield from ("--set", f"{info.name}={text}")


def _value(column: Column, value: float) -> str:
    return column.labels[round(value)] if column.codes else _number(value)


def _number(value: float) -> str:
    return str(round(value)) if value == round(value) else repr(value)
