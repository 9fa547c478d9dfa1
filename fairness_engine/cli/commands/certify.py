"""The command ``certify``: what is proved of a model, and what is estimated of the rest."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.certification.results import DataRows, UndecidedShare
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.cli.commands.search import make_config, run_one, write_pairs
from fairness_engine.cli.output import Outcome, counted, outcome_of, progress_text, run_fields
from fairness_engine.cli.parser import read_settings
from fairness_engine.cli.request import assess
from fairness_engine.errors import StopReason
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds
from fairness_engine.runs.writers.proofs import stored_tree_file
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import proved_shares

CERTIFY_KEYS = (
    *("n_individuals", "certified", "falsified", "undecided", "estimate", "boxes", "trace", "tree_file"),
    *("mode", "weights", "kind", "method", "is_by_construction", "n_found", "n_open", "data_rows"),
    "notes",
)
CERTIFY_PARTS = {"estimate": UndecidedShare, "data_rows": DataRows}
_FROM_RESULT = ("n_individuals", "mode", "weights", "kind", "method", "is_by_construction", "n_open", "data_rows")
_NOT_DRAWN = {
    **{"unfair_share_of_undecided": None, "low": 0.0, "high": 1.0, "n": 0, "n_unfair": 0},
    **{"drawn_from": None, "falsified_there": None},
}
"""Nothing is known of what is undecided."""
_ENDS = {
    StopReason.EXHAUSTED.value: "nothing left to refine, or the target reached",
    StopReason.EVALUATIONS.value: "the limit of boxes reached",
}
_ROUNDING = 1e-12
"""What one less two shares may be off."""
_NOTHING_LEFT = {**_NOT_DRAWN, "unfair_share_of_undecided": 0.0, "high": 0.0}


def certify(options: argparse.Namespace) -> Outcome:
    """Prove fairness and unfairness of individuals, and count them.

    Raises:
        InputError: models of this kind, or this scope, cannot be certified.
    """
    settings = read_settings(options, CertifySettings)
    assessed = assess(options)
    budget = Budget(None, options.max_seconds)
    config = make_config(assessed, options, kinds.CERTIFY, budget=budget, settings=settings.to_json())
    store = assessed.store

    def shown(run: RunRecord, *, has_bar: bool) -> str:
        return progress_text(run, has_bar=has_bar, counts=_counts(store, run))

    run = run_one(assessed, config, options, shown)
    written, unwritten = write_pairs(options, assessed, run)
    result = {**run_fields(run, store), **certified_fields(store, run)}
    return outcome_of(run, result, certified_text(result) + written, unwritten)


def certified_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of a certification; one that was ended early has what it had proved by then."""
    results = store.results(run.id)
    whole = results.get("certification") or {}
    proved = results.get("proved") or {}
    certified, falsified = (float((whole or proved).get(name, 0.0)) for name in ("certified", "falsified"))
    undecided = float(whole.get("undecided", max(0.0, 1 - certified - falsified)))
    tree = stored_tree_file(store, run.id)
    return {
        "certified": certified,
        "falsified": falsified,
        "undecided": undecided,
        "estimate": whole.get("estimate") or (_NOT_DRAWN if undecided > 0 else _NOTHING_LEFT),
        "boxes": whole.get("boxes", proved.get("n_boxes", 0)),
        "trace": [point[:4] for point in results.get("trace", [])],
        "tree_file": str(tree) if tree is not None else None,
        "n_found": store.n_pairs(run.id),
        "notes": results.get("notes", {}).get("notes", []),
        **{name: whole.get(name) for name in _FROM_RESULT},
        "n_individuals": _whole_number(whole.get("n_individuals")),
    }


def _whole_number(value: float | None) -> float | None:
    """A count that a float holds exactly, as a whole number; others as they are."""
    return int(value) if value is not None and value < 2**53 else value


def certified_text(result: Mapping[str, Any]) -> str:
    """The result in words."""
    whom = "of all individuals"
    if result["n_individuals"] is not None:
        whom = f"of {counted(result['n_individuals'], 'individual', 'individuals')}"
    if result["weights"] == Weights.DATA:
        whom += ", each weighted by how often its values occur in the data"
    names = ("certified", "falsified", "undecided")
    told = proved_shares(*(result[name] for name in names))
    shares = ", ".join(f"{name} {text}" for name, text in zip(names, told, strict=True))
    end = _ENDS.get(result["stop_reason"], result["stop_reason"] or result["state"])
    text = (
        f"{shares} {whom}; {counted(result['boxes'], 'box', 'boxes')} in {result['seconds']:.1f} s; {end}. Run "
        f"{result['run_id']}."
    )
    estimate = result["estimate"]
    if result["is_by_construction"]:
        text += f"\n{result['method']}"
    elif estimate["unfair_share_of_undecided"] is None:
        text += "\nundecided: nothing was drawn, so how much of it is unfair is not known."
    elif result["undecided"] > 0 and estimate["low"] <= 0 and estimate["high"] >= 1:
        text += "\nundecided: too little to estimate how much of it is unfair."
    elif result["undecided"] > 0:
        interval = f"{share_text(estimate['low'])} to {share_text(estimate['high'])}"
        share = share_text(estimate["unfair_share_of_undecided"])
        text += f"\nundecided: estimated {share} unfair (95 % interval {interval})."
    if result["n_found"]:
        text += f"\n{counted(result['n_found'], 'pair', 'pairs')} stored as counterexamples."
    return text[0].upper() + text[1:]


def share_text(share: float, n_significant: int = 2) -> str:
    """A share in percent, with so many significant digits of it or of what is missing to 100 %; 100 % is said of all
    alone.
    """
    least = min(share, 1 - share)
    if least <= 0:
        return f"{100 * share:.0f} %"
    n_digits = max(0, n_significant - 1 - math.floor(math.log10(100 * least)))
    return f"{100 * share:.{min(n_digits, 15)}f} %"


def _counts(store: RunStore, run: RunRecord) -> str:
    """Where a certification stands."""
    proved = store.results(run.id).get("proved")
    if proved is None:
        return f"{run.seconds:.1f} s"
    undecided = 1 - proved["certified"] - proved["falsified"]
    undecided = undecided if undecided > _ROUNDING else 0.0
    shares = (
        f"{share_text(undecided)} undecided, {share_text(proved['certified'])} certified, "
        f"{share_text(proved['falsified'])} falsified"
    )
    return f"{shares}, {proved['n_boxes']:,} boxes, {run.seconds:.1f} s"
