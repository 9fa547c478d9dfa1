"""The figures of a run: how far it is, its success rate and pace, and a table of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairness_engine.intervals import share_interval
from fairness_engine.runs.kinds import kind_of
from fairness_engine.search.results import Tried
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
    """How much of the budget is spent, by the limit that will end the run first.

    When it will end by its pace is said where what counts is rows, draws or individuals: those take their time alike.
    """
    kind = kind_of(record.config)
    limits = kind.spent(record, kind.settings(record.config))
    shares = [0.0, *(spent.n / spent.limit for spent in limits)]
    texts = [f"{wording.counted(max(0, round(spent.limit) - spent.n), *spent.noun)} left" for spent in limits]
    max_seconds = record.config.budget.max_seconds
    if max_seconds:
        shares.append(record.seconds / max_seconds)
        texts.append(f"at most {wording.duration(max(0.0, max_seconds - record.seconds))}")
    done = min(1.0, max(shares))
    if limits and (done > 0.02 or (done > 0 and record.seconds > _SECONDS_TO_JUDGE)):
        texts.append(f"about {wording.duration(record.seconds * (1 - done) / done)} to go")
    return Left(done, ", ".join(texts) or "no limit of time")


def success_rate(record: RunRecord) -> str:
    """Found as a share of tried; a dash where it is not known.

    Only people drawn at random are a sample: a technique that chooses whom to try gets no interval.
    """
    share = record.found_by(record.n_tried)
    if share is None:
        return wording.DASH
    if record.config.technique != "random":
        return wording.share(share)
    return wording.share(share, *share_interval(record.n_found, record.n_tried))


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
    found = record.found_by(record.evaluations / 1000)
    return wording.DASH if found is None else wording.number(found)


def split_table(split: Mapping[str, Tried]) -> pd.DataFrame:
    """One line for each place that people came from, as a symbolic search reports them; places nobody came from are
    left out.
    """
    places = [(text, split[name]) for name, text in _PLACES.items() if name in split and split[name].n_tried]
    return pd.DataFrame(
        {
            "From": [text for text, _ in places],
            "People tried": [wording.count(counts.n_tried) for _, counts in places],
            "Found": [wording.count(counts.n_found) for _, counts in places],
            "Success rate": [wording.share(counts.n_found / counts.n_tried) for _, counts in places],
        }
    )
