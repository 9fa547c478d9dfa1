"""The command ``figures``: selection rates, impact ratios and equalised odds by group."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from fairness_engine.cli.commands.certify import share_text
from fairness_engine.cli.commands.search import run_one
from fairness_engine.cli.output import Outcome, counted, end_status, progress_text, run_fields, say
from fairness_engine.cli.request import assess, guessed_favourable, read_scope
from fairness_engine.data.recorded import Source
from fairness_engine.errors import SettingError
from fairness_engine.groups.figures.report import (
    LEAST_SHARE,
    Bounded,
    FigureSettings,
    GroupRates,
    GroupReport,
    GroupTable,
    Rate,
)
from fairness_engine.groups.figures.significance import against_best
from fairness_engine.groups.rule_sets.settings import Edges
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

FIGURES_KEYS = ("tables", "rows", "n_left_out", "n_incomplete", "median_score", "source", "column", "notes")
_UNLIMITED = 2**62
"""Every row is counted once; a budget wants a limit."""


def figures(options: argparse.Namespace) -> Outcome:
    """Count decisions by group.

    Raises:
        InputError: an option out of its range, an attribute that is no input, nothing that decides.
        RunError: data and model cannot be used.
    """
    if options.model and options.predictions:
        raise SettingError(
            "--predictions compares a column of the table without a model. Leave --model out, or --predictions."
        )
    assessed = assess(options)
    scope = read_scope(options, assessed.schema, needs_variants=False)
    for note in guessed_favourable(assessed.schema, options):
        say(f"Note: {note}")
    given: dict[str, Any] = {
        "source": Source.MODEL if options.model else Source.LABELS,
        "predictions": options.predictions or "",
        "bins": options.bins,
        "edges": Edges(options.edges),
    }
    sets = tuple(options.by)
    settings = FigureSettings(sets, **given) if sets else FigureSettings.of_all(scope.protected, **given)
    model_id = assessed.model.id if assessed.model is not None else ""
    own: dict[str, Any] = {"budget": Budget(_UNLIMITED), "seed": options.seed, "settings": settings.to_json()}
    own["data_query"] = assessed.data_query
    config = kinds.FIGURES.config(assessed.data.id, model_id, assessed.schema, scope, **own)

    def shown(run: RunRecord, *, has_bar: bool) -> str:
        return progress_text(run, has_bar=has_bar, counts=f"{run.seconds:.1f} s")

    run = run_one(assessed, config, options, shown)
    result = {**run_fields(run, assessed.store), **figures_fields(assessed.store, run)}
    return Outcome(result, figures_text(result), end_status(run))


def figures_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of group figures; a run that was ended early has none."""
    results = kinds.results_of(store, run.id)
    settings = kinds.FIGURES.settings(run.config)
    is_of_column = settings.source is Source.LABELS
    told = {
        "source": settings.source.value,
        "column": (settings.predictions or run.config.schema.label) if is_of_column else None,
        "notes": results.notes.notes,
    }
    if results.figures is None:
        return {"tables": [], "rows": None, "n_left_out": None, "n_incomplete": None, "median_score": None, **told}
    return {**report_fields(results.figures.read()), **told}


def report_fields(report: GroupReport) -> dict[str, Any]:
    """A report as the command line says it."""
    return {
        "tables": [_table_fields(table) for table in report.tables],
        "rows": report.n_rows,
        "n_left_out": report.n_left_out,
        "n_incomplete": report.n_incomplete,
        "median_score": report.median_score,
    }


def _table_fields(table: GroupTable) -> dict[str, Any]:
    best = table.most_favoured
    return {
        "attributes": list(table.attributes),
        "verdict": table.verdict.value,
        "most_favoured": None if best is None else list(best.labels),
        "n_unknown": table.n_unknown,
        "parity_difference": _bounded(table.parity_difference),
        "parity_ratio": _bounded(table.parity_ratio),
        "odds_difference": _bounded(table.odds_difference),
        "groups": [_group_fields(table, group) for group in table.groups],
    }


def _group_fields(table: GroupTable, group: GroupRates) -> dict[str, Any]:
    tested = against_best(table, group)
    return {
        "labels": list(group.labels),
        "rows": group.n_rows,
        "selected": _rate(group.selection),
        "impact_ratio": _bounded(group.impact),
        "verdict": group.verdict.value,
        "is_compared": group.is_compared,
        "fisher_p": None if tested is None else tested[0],
        "n_to_flip": None if tested is None else tested[1],
        "true_positive": _rate(group.true_positive),
        "false_positive": _rate(group.false_positive),
        "scoring": _rate(group.scoring),
    }


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    share = rate.share if rate.n else None
    return {"n_hits": rate.n_hits, "n": rate.n, "share": share, "low": rate.low, "high": rate.high}


def _bounded(figure: Bounded | None) -> dict[str, float] | None:
    return None if figure is None else {"value": figure.value, "low": figure.low, "high": figure.high}


def figures_text(result: Mapping[str, Any]) -> str:
    """The result of the command ``figures`` in words."""
    if not result["tables"]:
        return f"No groups were counted; {result['stop_reason'] or result['state']}. Run {result['run_id']}."
    whose = f"the column '{result['column']}'" if result["column"] else "the model"
    lines = [
        f"{counted(result['rows'], 'row', 'rows')}, by what {whose} decides. "
        "Impact ratios are against the most favoured group."
    ]
    for table in result["tables"]:
        lines.append(f"{' and '.join(table['attributes'])}: {table['verdict']}")
        lines += [_group_line(group, has_unknown=table["n_unknown"] > 0) for group in table["groups"]]
        if table["n_unknown"]:
            lines.append(f"  unknown: {table['n_unknown']:,} rows")
        lines += _odds_line(table)
    return "\n".join([*lines, *result["notes"], f"Run {result['run_id']}."])


def _odds_line(table: Mapping[str, Any]) -> list[str]:
    """How far the true and false positive rates are apart, where there are labels beside the decisions."""
    odds = table["odds_difference"]
    if odds is not None:
        ends = f"{odds['low']:.2f} to {odds['high']:.2f}"
        return [f"  true or false positive rates differ by up to {odds['value']:.2f} ({ends})"]
    compared = [group for group in table["groups"] if group["is_compared"]]
    if len(compared) < 2 or compared[0]["true_positive"] is None:
        return []
    return ["  true and false positive rates are not compared: a group has no row with one of the labels"]


def _group_line(group: Mapping[str, Any], *, has_unknown: bool) -> str:
    rate = group["selected"]
    ratio = group["impact_ratio"]
    told = "none" if ratio is None else f"{ratio['value']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    of = "the rows of known group" if has_unknown else "the rows"
    small = "" if group["is_compared"] else f"; left out, under {100 * LEAST_SHARE:g} % of {of}"
    counts = f"{rate['n_hits']:,} of {rate['n']:,} ({share_text(rate['share'])})"
    return f"  {', '.join(group['labels'])}: {counts}; impact ratio {told}{small}"
