"""The figures of a run: how far it is, its success rate and pace, and a table of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairness_engine.intervals import share_interval
from pages.shared.app import wording
from pages.shared.runs import phrases

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord

_SECONDS_TO_JUDGE = 2.0
"""After this long the pace of a run says when it will end, however little is done."""

_PLACES = {
    "data": "the data's rows",
    "directed": "directed search",
    "undirected": "undirected search",
    "uniform": "rows drawn evenly",
}


@dataclass(frozen=True)
class Left:
    """How far a run is: ``done`` in 0..1, and what is left in words."""

    done: float
    text: str


def elapsed(record: RunRecord) -> float:
    """Seconds from its start to its end, opening and storing included; those at work where it has not ended."""
    if record.started is None or record.finished is None:
        return record.seconds
    return (record.finished - record.started).total_seconds()


def what_is_left(record: RunRecord) -> Left:
    """How much of the budget is spent, by the limit that will end the run first."""
    config = record.config
    shares = [0.0]
    texts = []
    if config.kind == "estimate":
        left = max(0, config.n_samples - record.n_tried)
        return Left(min(1.0, record.n_tried / config.n_samples), f"{wording.counted(left, 'draw')} left")
    if config.kind in ("rules", "retrain"):
        limit = config.budget.max_seconds
        done = min(1.0, record.seconds / limit) if limit else 0.0
        return Left(done, f"at most {wording.duration(max(0.0, limit - record.seconds))}" if limit else "")
    max_rows = None if config.kind == "certify" else config.budget.max_evaluations  # it counts boxes, not rows
    for limit, spent, noun in (
        (max_rows, record.evaluations, "row"),
        (config.budget.max_found, record.n_found, "find"),
    ):
        if limit:
            shares.append(spent / limit)
            texts.append(wording.counted(max(0, limit - spent), noun) + " left")
    if config.budget.max_seconds:
        shares.append(record.seconds / config.budget.max_seconds)
        texts.append(f"at most {wording.duration(max(0.0, config.budget.max_seconds - record.seconds))}")
    done = min(1.0, max(shares))
    if config.kind == "certify":
        return Left(done, f"{texts[0]} to go" if texts else "no limit of time")
    if done > 0.02 or (done > 0 and record.seconds > _SECONDS_TO_JUDGE):
        texts.append(f"about {wording.duration(record.seconds * (1 - done) / done)} to go")
    return Left(done, ", ".join(texts))


def success_rate(record: RunRecord) -> str:
    """Found as a share of tried; a dash before anything was tried.

    Only people drawn at random are a sample: a technique that chooses whom to try gets no interval.
    """
    if not record.n_tried:
        return wording.DASH
    if record.config.technique != "random":
        return wording.share(record.n_found / record.n_tried)
    low, high = share_interval(record.n_found, record.n_tried)
    return wording.share(record.n_found / record.n_tried, low, high)


def speed(record: RunRecord) -> str:
    """Rows evaluated per second over the whole run."""
    return wording.count(record.evaluations / record.seconds) if record.seconds > 0 else wording.DASH


def comparison_table(records: list[RunRecord]) -> pd.DataFrame:
    """One line a run."""
    names = phrases.distinct_titles([record.config for record in records])
    return pd.DataFrame(
        {
            "Run": names,
            "State": [phrases.state_text(record) for record in records],
            "Pairs found": [wording.count(record.n_found) for record in records],
            "Success rate": [success_rate(record) for record in records],
            "Per 1\u202f000 rows": [_per_thousand(record) for record in records],
            "Rows evaluated": [wording.count(record.evaluations) for record in records],
            "Rows a second": [speed(record) for record in records],
            "Took": [wording.duration(record.seconds) for record in records],
        }
    )


def _per_thousand(record: RunRecord) -> str:
    return wording.number(1000 * record.n_found / record.evaluations) if record.evaluations else wording.DASH


def split_table(split: Mapping[str, Mapping[str, int]]) -> pd.DataFrame:
    """One line for each place that people came from, as a symbolic search reports them; places nobody came from are
    left out.
    """
    places = [(text, split[name]) for name, text in _PLACES.items() if split.get(name, {}).get("n_tried")]
    return pd.DataFrame(
        {
            "From": [text for text, _ in places],
            "People tried": [wording.count(counts["n_tried"]) for _, counts in places],
            "Found": [wording.count(counts["n_found"]) for _, counts in places],
            "Success rate": [wording.share(counts["n_found"] / counts["n_tried"]) for _, counts in places],
        }
    )
