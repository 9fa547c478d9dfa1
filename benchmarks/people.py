"""Who is found: how many pairs are of two people who could exist, and how much they look like the data.

``python -m benchmarks.people`` with ``EVENHAND_SHARED`` set writes ``benchmarks/people.md``. Pairs are judged by the
exact measure (docs/techniques.md, *Plausibility*), the same for every technique.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evenhand
from benchmarks.search_cases import CASES
from benchmarks.table import keep, markdown, shared_folder
from fairness_engine.arrays import FloatArray
from fairness_engine.errors import EvenhandError
from fairness_engine.events import PairsFound, Stopped
from fairness_engine.intervals import share_interval
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import settings_of

_LINK = "sex:relationship=Wife/Husband"
_RAW = {
    "raw-one-hot": ("A one-hot logistic regression on raw Adult, sex", False),
    "raw-one-hot-linked": ("The same, relationship linked to sex (Wife / Husband)", True),
    "raw-forest": ("A forest on one-hot columns of raw Adult, sex", False),
    "raw-forest-linked": ("The same, relationship linked to sex (Wife / Husband)", True),
}
_READY = "ready"
_CASES = ("adult-age", "adult-sex", "adult-forest", *_RAW, _READY)
N_ROWS = 2_000_000
MAX_SECONDS = 30.0
N_JUDGED = 10_000
"""Pairs of a run that are judged, drawn evenly."""
_HEADER = (
    "technique",
    "IDIs",
    "per 1,000 rows",
    "of two plausible people",
    "such pairs per 1,000 rows",
    "of one",
    "naturalness",
    "stopped by",
)
_NOTE = (
    "Budget {rows:,} rows evaluated or {seconds:g} s, seed 0, settings as they come. {judged:,} pairs of a run at most "
    "are judged. A data scan ends with the data. *Of two plausible people*: each of the two is near the data and has "
    "no values that practically never occur together, protected ones included. *Only plausible*: the setting "
    "``only_plausible``. *Naturalness*: LIMI's, of both people "
    "of the pairs against the data; compare it with the data scan's, whose people are real but for protected values."
)


@dataclass(frozen=True)
class Asked:
    """A model, where it is assessed, the data, and what says who could exist."""

    title: str
    model: Model
    domain: Domain
    rows: FloatArray
    plausibility: Plausibility


LAST: dict[str, Callable[[], Any]] = {
    "one-hot": lambda: LogisticRegression(max_iter=300),
    "forest": lambda: RandomForestClassifier(30, max_depth=9, random_state=1),
}


def raw_adult() -> pd.DataFrame:
    """Adult as it was published, without weights and incomplete rows."""
    people = pd.read_csv(shared_folder() / "data" / "raw" / "adult" / "data.csv", na_values="?")
    return people.drop(columns=["fnlwgt", "split"], errors="ignore").dropna()


def raw_adult_pipeline(people: pd.DataFrame, last: Any) -> Any:
    """A pipeline that takes raw Adult, fitted: numbers scaled, categories one-hot."""
    numbers = make_column_selector(dtype_include="number")
    encoder = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(encoder, last).fit(people.drop(columns="income"), people.income)


def asked_of(name: str) -> Asked:
    """A case by its name."""
    if name in CASES:
        case = CASES[name]()
        known = Plausibility.learn(case.rows, case.domain, np.random.default_rng(0))
        return Asked(case.title, case.model, case.domain, case.rows, known)
    title, is_linked = _RAW[name]
    people = raw_adult()
    estimator = raw_adult_pipeline(people, LAST["forest" if "forest" in name else "one-hot"]())
    data = evenhand.read_data(people, label="income", favourable=">50K")
    review = evenhand.Review(data, estimator, protected="sex", links=_LINK if is_linked else ())
    opened = review._session.in_roles
    return Asked(title, opened.model, opened.domain, opened.dataset.rows, opened.plausibility)


def found_by(asked: Asked, name: str, budget: Budget, *, is_near: bool) -> tuple[Pairs, Stopped, float]:
    """The pairs of one technique, how it ended, and its seconds."""
    kind = TECHNIQUES[name]
    technique = kind(only_plausible=True) if is_near else kind()
    kind.warm_up()
    batches = []
    stopped = None
    started = time.perf_counter()
    held = (technique, asked.model, asked.domain, asked.rows, budget, 0)
    for event in run_search(*held, nearness=asked.plausibility if is_near else None):
        if isinstance(event, PairsFound):
            batches.append(event.pairs)
        stopped = event
    if not isinstance(stopped, Stopped):
        raise TypeError(stopped)
    return Pairs.concatenate(batches, asked.domain.n_columns), stopped, time.perf_counter() - started


def natural(asked: Asked, pairs: Pairs) -> str:
    """How much the people of pairs look like the data; of ``N_JUDGED`` pairs at most, drawn evenly."""
    drawn = pairs[np.random.default_rng(0).permutation(len(pairs))[:N_JUDGED]]
    share = asked.plausibility.naturalness(np.concatenate([drawn.first, drawn.second]))
    return "–" if share is None else f"{100 * share:.1f} %"


def line(asked: Asked, name: str, *, is_near: bool) -> list[str]:
    """What one technique finds."""
    title = TECHNIQUES[name].title + (", only plausible" if is_near else "")
    pairs, stopped, _ = found_by(asked, name, Budget(N_ROWS, MAX_SECONDS), is_near=is_near)
    if not len(pairs):
        return [title, "0", *["–"] * (len(_HEADER) - 3), stopped.reason.value]
    drawn = pairs[np.random.default_rng(0).permutation(len(pairs))[:N_JUDGED]]
    each = np.stack([asked.plausibility.are_plausible(people) for people in (drawn.first, drawn.second)]).sum(axis=0)
    rate = 1000 * len(pairs) / stopped.evaluations
    return [
        title,
        f"{len(pairs):,}",
        f"{rate:,.1f}",
        f"{100 * (each == 2).mean():.1f} %",
        f"{rate * (each == 2).mean():,.1f}",
        f"{100 * (each == 1).mean():.1f} %",
        natural(asked, pairs),
        stopped.reason.value,
    ]


N_DRAWS = 4_000_000
_BUDGETS = (100_000, 200_000, 500_000, 1_000_000)


def population(asked: Asked) -> str:
    """How many individuals there are to be found at all with a pair of two plausible people, and how many of them
    Directed finds.
    """
    domain = asked.domain
    rng = np.random.default_rng(1)
    n_plausible = n_hits = 0
    hits = []
    for _ in range(N_DRAWS // 100_000):
        drawn = domain.sample(100_000, rng)
        could = asked.plausibility.plausible_variants(drawn)
        chosen = could.sum(axis=1) >= 2
        people = domain.variants(drawn[chosen]).reshape(-1, domain.n_columns)
        decided = asked.model.decide(asked.model.scores(people)).reshape(-1, domain.n_variants)
        lowest = np.where(could[chosen], decided, np.iinfo(np.int64).max)
        highest = np.where(could[chosen], decided, -1)
        is_hit = lowest.min(axis=1) < highest.max(axis=1)
        of_each = people.reshape(*decided.shape, domain.n_columns)
        each = np.flatnonzero(is_hit)
        hits += [of_each[each, side[each]] for side in (lowest.argmin(axis=1), highest.argmax(axis=1))]
        n_plausible += int(chosen.sum())
        n_hits += len(each)
    low, high = (domain.n_individuals * end for end in share_interval(n_hits, N_DRAWS))
    there_are = domain.n_individuals * n_hits / N_DRAWS
    lines = []
    for n_rows in _BUDGETS:
        pairs, stopped, seconds = found_by(asked, "directed", Budget(n_rows, MAX_SECONDS), is_near=True)
        lines.append(
            [
                f"{stopped.evaluations:,}",
                f"{len(pairs):,}",
                f"{1000 * len(pairs) / stopped.evaluations:,.1f}",
                f"{100 * len(pairs) / there_are:.0f} %" if there_are else "–",
                f"{len(pairs) / seconds:,.0f}",
                natural(asked, pairs),
                stopped.reason.value,
            ]
        )
    header = (
        "rows evaluated",
        "individuals",
        "per 1,000 rows",
        "of all there are",
        "a second",
        "naturalness",
        "ended by",
    )
    n_all = f"{domain.n_individuals:,.0f}"
    scanned, _, _ = found_by(asked, "data-scan", Budget(N_ROWS, MAX_SECONDS), is_near=False)
    could_be = [asked.plausibility.are_plausible(people) for people in (scanned.first, scanned.second)]
    of_scan = natural(asked, scanned[np.flatnonzero(np.all(could_be, axis=0))])
    said = (
        f"Of {n_all} individuals about {domain.n_individuals * n_plausible / N_DRAWS:,.0f} have two plausible "
        f"variants, and **{there_are:,.0f}** ({low:,.0f} to {high:,.0f}) of these are decided in two ways: more there "
        f"are not to be found ({N_DRAWS:,} uniform draws). These draws have a naturalness of "
        f"{100 * (asked.plausibility.naturalness(np.concatenate(hits)) or 0.0):.1f} %, which a search that finds all "
        "must come to;"
    )
    if not n_hits:
        said = (
            f"Of {n_all} individuals none of {N_DRAWS:,} drawn evenly has two plausible variants and is decided in two "
            "ways: how many there are to be found is not known;"
        )
    said += f" the data scan's pairs of two plausible people have {of_scan}. Directed, only plausible people:"
    return f"{said}\n\n{markdown(header, lines)}"


def speed(asked: Asked) -> str:
    """How fast people are judged, beside how fast the model decides."""
    people = asked.domain.sample(20_000, np.random.default_rng(1), asked.rows)
    near = asked.domain.variants(asked.rows[:10_000])[:, :2].reshape(-1, asked.domain.n_columns)
    rates = []
    for each in (near, people):
        started = time.perf_counter()
        asked.plausibility.measure(each)
        rates.append(len(each) / (time.perf_counter() - started))
    started = time.perf_counter()
    asked.plausibility.plausible_variants(asked.rows)
    n_variants = min(len(asked.rows), 10**9) * asked.domain.n_variants
    rates.append(n_variants / (time.perf_counter() - started))
    started = time.perf_counter()
    asked.model.margins(near)
    rates.append(len(near) / (time.perf_counter() - started))
    return (
        f"Measured: {rates[0]:,.0f} real people with other protected values a second, {rates[1]:,.0f} uniform ones; "
        f"said yes or no of: {rates[2]:,.0f} variants of real people a second; the model decides {rates[3]:,.0f} rows "
        "a second (all on one core)."
    )


N_READY = 50_000
N_TRIALS = 5


def ready() -> str:
    """How long who could exist takes to be learned, and the first pair to be found with that setting."""
    people = raw_adult()
    people = pd.concat([people, people.sample(N_READY - len(people), random_state=1)])
    estimator = raw_adult_pipeline(people, LAST["one-hot"]())
    data = evenhand.read_data(people, label="income", favourable=">50K")
    TECHNIQUES["directed"].warm_up()
    lines = []
    for title, links in (("without a link", ()), ("relationship linked to sex", _LINK)):
        opened = evenhand.Review(data, estimator, protected="sex", links=links)._session.in_roles
        seconds = []
        for _ in range(N_TRIALS):
            started = time.perf_counter()
            known = Plausibility.learn(opened.dataset.rows, opened.domain, np.random.default_rng(0))
            learned = time.perf_counter() - started
            held = (TECHNIQUES["directed"](only_plausible=True), opened.model, opened.domain, opened.dataset.rows)
            for event in run_search(*held, Budget(N_ROWS, MAX_SECONDS), 0, nearness=known):
                if isinstance(event, PairsFound):
                    break
            seconds.append((learned, time.perf_counter() - started))
        lines.append([title, *(f"{1000 * each:,.0f} ms" for each in np.median(seconds, axis=0))])
    header = ("one-hot regression, sex", "who could exist is learned", "first pair of Directed, only plausible")
    said = f"Raw Adult drawn to {N_READY:,} rows, from nothing known, medians of {N_TRIALS}, one core."
    return "\n\n".join(["## Ready", said, markdown(header, lines)])


def part(name: str, techniques: Sequence[str]) -> str:
    """The section of a case."""
    if name == _READY:
        return ready()
    asked = asked_of(name)
    rows = []
    left_out = []
    for each in techniques:
        try:
            rows.append(line(asked, each, is_near=False))
            if "only_plausible" in {info.name for info in settings_of(TECHNIQUES[each])}:
                rows.append(line(asked, each, is_near=True))
        except EvenhandError as error:
            left_out.append(f"{TECHNIQUES[each].title}: {error}")
            continue
        print(name, rows[-1], flush=True)
    parts = [f"## {asked.title}", markdown(_HEADER, rows), population(asked), speed(asked)]
    return "\n\n".join([*parts, *left_out])


def main() -> None:
    """All cases; the table is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=_CASES, default=_CASES)
    parser.add_argument("--techniques", nargs="+", choices=tuple(TECHNIQUES), default=tuple(TECHNIQUES))
    options = parser.parse_args()
    note = _NOTE.format(rows=N_ROWS, seconds=MAX_SECONDS, judged=N_JUDGED)
    parts = [note, *(part(name, options.techniques) for name in options.only)]
    if options.only == _CASES and options.techniques == tuple(TECHNIQUES):
        keep("people", "People who could exist", parts)
    else:
        print("\n\n".join(parts))


if __name__ == "__main__":
    main()
