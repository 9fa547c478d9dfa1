"""The command ``proxies``: which other columns tell a protected attribute, and what is left when they are held."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from fairness_engine.cli.commands.search import run_one
from fairness_engine.cli.output import Outcome, counted, end_status, progress_text, run_fields, say
from fairness_engine.cli.parser import read_settings
from fairness_engine.cli.request import Request, assess, guessed_favourable, read_scope
from fairness_engine.data.recorded import Source
from fairness_engine.errors import SettingError
from fairness_engine.measures.proxies.results import AttributeProxies, Figure, Measure, Proxies
from fairness_engine.measures.proxies.settings import ProxySettings
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds
from fairness_engine.store.records import RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

PROXIES_KEYS = (
    *("proxies", "n_rows", "n_incomplete", "shap", "why_no_shap", "source", "column", "settings", "n_tried", "n_found"),
    "notes",
)
_UNLIMITED = 2**62
"""A run of proxies is limited by seconds alone; a budget wants one limit."""
_MOST_SHOWN = 10


def proxies_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of proxies; a run that ended before an attribute was done has none."""
    settings = kinds.PROXIES.settings(run.config)
    results = kinds.results_of(store, run.id)
    is_of_column = settings.source is Source.LABELS
    told = {
        "source": settings.source.value,
        "column": (settings.predictions or run.config.schema.label) if is_of_column else None,
        "settings": settings.to_json(),
        "n_tried": run.n_tried,
        "n_found": run.n_found,
        "notes": results.notes.notes,
    }
    found = results.proxies
    if found is None:
        return {"proxies": [], "n_rows": None, "n_incomplete": None, "shap": None, "why_no_shap": None, **told}
    shap = found.shap
    return {
        "proxies": [_attribute_json(each, found) for each in found.attributes],
        "n_rows": found.n_rows,
        "n_incomplete": found.n_incomplete,
        "shap": shap and {name: value for name, value in asdict(shap).items() if name != "shares"},
        "why_no_shap": found.why_no_shap or None,
        **told,
    }


def _attribute_json(each: AttributeProxies, found: Proxies) -> dict[str, Any]:
    """One attribute; figures are named by their measure."""
    shares = found.shap.shares if found.shap is not None else {}

    def told(figure: Figure) -> dict[str, float]:
        return {each.measure.value: figure.value, "low": figure.low, "high": figure.high}

    return {
        "protected": each.protected,
        "measure": each.measure.value,
        "together": told(each.together),
        "columns": [
            {
                "column": one.column,
                **told(one.tells),
                "is_clear": one.is_clear,
                "is_linked": one.is_linked,
                "shap_share": shares.get(one.column),
            }
            for one in each.columns
        ],
        "shap_share": shares.get(each.protected),
        "strongest": list(each.strongest),
        "differences": [
            {name: value if value != "" else None for name, value in asdict(one).items()} for one in each.differences
        ],
        "n_rows": each.n_rows,
        "n_held_out": each.n_held_out,
        "n_left_out": each.n_left_out,
    }


# --- in words -----------------------------------------------------------------------------------


def proxies_text(result: Mapping[str, Any]) -> str:
    """The result of the command ``proxies`` in words."""
    end = result["stop_reason"] or result["state"]
    if not result["proxies"]:
        return f"No attribute was done; {end}. Run {result['run_id']}."
    whose = f"the column '{result['column']}'" if result["source"] == Source.LABELS.value else "the model"
    lines = [f"Proxies in {counted(result['n_rows'], 'row', 'rows')}, by what {whose} decides."]
    for each in result["proxies"]:
        lines += _attribute_lines(each)
    if result["shap"] is not None:
        lines.append(f"SHAP shares are of {result['shap']['n_people']:,} people of the data.")
    elif result["source"] == Source.MODEL.value:
        lines.append(result["why_no_shap"])
    lines += [_HOW, *result["notes"]]
    spent = f"{result['evaluations']:,} evaluations in {result['seconds']:.1f} s"
    return "\n".join([*lines, f"{spent}; {end}. Run {result['run_id']}."])


_HOW = (
    "How well an attribute is told is measured on rows that nothing was learned from. Each 95 % interval is of its own "
    "figure; the columns that are listed tell more than chance by intervals that hold for all of them together."
)


def _attribute_lines(each: Mapping[str, Any]) -> Iterator[str]:
    measure = each["measure"]
    chance = 0.5 if measure == Measure.AUC else 0
    name = "AUC" if measure == Measure.AUC else "R squared"
    yield (
        f"{each['protected']}: all other columns together tell it with {name} {_told(each['together'], measure)}; "
        f"{chance} is chance."
    )
    clear = [one for one in each["columns"] if one["is_clear"]]
    for place, one in enumerate(clear[:_MOST_SHOWN], 1):
        linked = "; linked, so no surprise" if one["is_linked"] else ""
        share = "" if one["shap_share"] is None else f"; {100 * one['shap_share']:.1f} % of the SHAP values"
        yield f"{place:>6}. {one['column']}: {_told(one, measure)}{share}{linked}"
    n_more = len(clear) - _MOST_SHOWN
    if n_more > 0:
        yield f"        and {n_more:,} more"
    n_rest = len(each["columns"]) - len(clear)
    if n_rest:
        yield f"        {n_rest:,} of {len(each['columns']):,} columns tell no more than chance may."
    for one in each["differences"]:
        yield f"  {one['group']} against {one['reference']}: {_points(one['raw'])}{_held(one, each['strongest'])}"


def _told(figure: Mapping[str, Any], measure: str) -> str:
    return f"{figure[measure]:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _held(one: Mapping[str, Any], strongest: list[str]) -> str:
    """What is left when columns are held, or why nothing is said of it."""
    whole = one["why"] if one["held"] is None else f"with all other columns held {_points(one['held'])}"
    if not strongest:
        return f"; {whole}"
    names = ", ".join(strongest)
    alone = one["why_strongest"] if one["held_strongest"] is None else _points(one["held_strongest"])
    return f"; {whole}; with {names} alone held: {alone}"


def _points(figure: Mapping[str, float]) -> str:
    value, low, high = (100 * figure[name] for name in ("value", "low", "high"))
    return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})"


# --- the command --------------------------------------------------------------------------------


def proxies(options: argparse.Namespace) -> Outcome:
    """Look for the proxies of every protected attribute.

    Raises:
        InputError: an option out of its range, no protected attribute, no outcome to compare.
        RunError: data and model cannot be used; an attribute that nothing could tell.
    """
    if options.model and options.predictions:
        raise SettingError(
            "--predictions compares a column of the table without a model. Leave --model out, or --predictions."
        )
    settings = read_settings(options, ProxySettings, source=Source.MODEL if options.model else Source.LABELS)
    assessed = assess(options)
    config = _config(assessed, options, settings)
    for note in (*_without_effect(options), *guessed_favourable(assessed.schema, options)):
        say(f"Note: {note}")

    def shown(run: RunRecord, *, has_bar: bool) -> str:
        counts = f"{run.n_tried:,} columns looked at, {run.evaluations:,} evaluations, {run.seconds:.1f} s"
        return progress_text(run, has_bar=has_bar, counts=counts)

    run = run_one(assessed, config, options, shown)
    result = {**run_fields(run, assessed.store), **proxies_fields(assessed.store, run)}
    return Outcome(result, proxies_text(result), end_status(run))


def _config(assessed: Request, options: argparse.Namespace, settings: ProxySettings) -> RunConfig:
    """The run that the options describe.

    Raises:
        InputError: a scope that cannot be.
    """
    scope = read_scope(options, assessed.schema, needs_variants=False)
    model_id = assessed.model.id if assessed.model is not None else ""
    own = {"budget": Budget(_UNLIMITED, options.max_seconds), "seed": options.seed, "settings": settings.to_json()}
    own["data_query"] = assessed.data_query
    return kinds.PROXIES.config(assessed.data.id, model_id, assessed.schema, scope, **own)


def _without_effect(options: argparse.Namespace) -> list[str]:
    """Options that were given and change nothing here, a sentence each."""
    if options.values or options.gap or options.fixed:
        return ["--values, --gap and --fixed have no effect on proxies: rows of the data are looked at as they are."]
    return []
