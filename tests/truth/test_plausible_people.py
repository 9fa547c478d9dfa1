"""Who could exist: every figure of a run's pairs, worked out anew from the file alone, by numpy and scipy.

Nothing of the engine is imported: distances are Gower's over all columns, row by row; values that never go together are
counted in the table.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import ROOT, Commands
from numpy.typing import NDArray
from scipy import stats

SAMPLES = ROOT / "sample_data"
MODELS = ROOT / "sample_models"
N_PAIRS = 500


@dataclass
class Column:
    """A column of a schema file, and where its values lie."""

    kind: str
    codes: list[object] = field(default_factory=list)
    low: float = 0.0
    high: float = 0.0
    step: float = 0.0

    @property
    def is_category(self) -> bool:
        return self.kind == "categorical"

    @property
    def is_by_value(self) -> bool:
        """Counted value by value; else by twenty intervals."""
        return self.is_category or (self.step > 0 and round((self.high - self.low) / self.step) < 20)

    def numbers(self, texts: pd.Series) -> NDArray[np.float64]:
        """Positions of the categories, or the numbers."""
        if not self.is_category:
            return texts.astype(float).to_numpy()
        places = {str(code): float(place) for place, code in enumerate(self.codes)}
        return texts.astype(str).map(places).to_numpy(dtype=float)


def columns_of(path: Path) -> dict[str, Column]:
    found = {}
    schema = json.loads(path.read_text())
    for each in schema["columns"]:
        if each["name"] == schema["label"]:
            continue
        if each["kind"] == "categorical":
            codes = each.get("codes") or each["categories"]
            found[each["name"]] = Column("categorical", codes, 0.0, len(codes) - 1.0, 1.0)
        elif each["kind"] in ("integer", "real"):
            step = 1.0 if each["kind"] == "integer" else float(each.get("step") or 0)
            found[each["name"]] = Column(each["kind"], [], float(each["min"]), float(each["max"]), step)
    return found


def distances(columns: list[Column], people: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gower's, ``(n_people, n_rows)``."""
    varied = [k for k, column in enumerate(columns) if column.low < column.high]
    total = np.zeros((len(people), len(rows)))
    for k in varied:
        gap = np.abs(people[:, None, k] - rows[None, :, k])
        total += gap > 0 if columns[k].is_category else np.minimum(gap / (columns[k].high - columns[k].low), 1)
    return total / len(varied)


def places(column: Column, data: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The value, or the interval of about as many rows each."""
    if column.is_by_value:
        return np.rint((values - column.low) / column.step).astype(np.int64)
    ordered = np.sort(data)
    ends = sorted({ordered[int(np.floor(k / 20 * (len(data) - 1)))] for k in range(1, 20)})
    return np.array([sum(value > end for end in ends) for value in values.tolist()], dtype=np.int64)


def never_together(columns: list[Column], rows: NDArray[np.float64], people: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many pairs of values of each person practically never occur together though they should."""
    own = [places(column, rows[:, k], rows[:, k]) for k, column in enumerate(columns)]
    theirs = [places(column, rows[:, k], people[:, k]) for k, column in enumerate(columns)]
    counts = np.zeros(len(people), dtype=np.int64)
    for a, b in itertools.combinations(range(len(columns)), 2):
        of_a, of_b = Counter(own[a].tolist()), Counter(own[b].tolist())
        of_both = Counter(zip(own[a].tolist(), own[b].tolist(), strict=True))
        for n, (x, y) in enumerate(zip(theirs[a].tolist(), theirs[b].tolist(), strict=True)):
            expected = of_a[x] * of_b[y] / len(rows)
            seen = of_both[x, y]
            counts[n] += expected >= 10 and (seen == 0 or upper_bound(seen) < expected / 100)
    return counts


@cache
def upper_bound(seen: int) -> float:
    """Of a Poisson variable's mean, 95 %, one-sided."""
    return float(stats.chi2.ppf(0.95, 2 * (seen + 1)) / 2)


def limit_of(columns: list[Column], rows: NDArray[np.float64]) -> float:
    """The 99th percentile of the distance of the different people to the nearest other one."""
    different = np.unique(rows, axis=0)
    nearest = np.empty(len(different))
    for start in range(0, len(different), 500):
        gaps = distances(columns, different[start : start + 500], different)
        gaps[gaps == 0] = np.inf
        nearest[start : start + 500] = gaps.min(axis=1)
    return float(np.quantile(nearest, 0.99, method="higher"))


@cache
def known(data: str) -> tuple[dict[str, Column], NDArray[np.float64], float]:
    """Columns, rows and the limit of a sample's file."""
    columns = columns_of(SAMPLES / f"{data}.schema.json")
    table = pd.read_csv(SAMPLES / f"{data}.csv", dtype=str, keep_default_na=False)
    rows = np.stack([column.numbers(table[name]) for name, column in columns.items()], axis=1)
    assert np.isfinite(rows).all()
    return columns, rows, limit_of(list(columns.values()), rows)


@pytest.mark.parametrize(
    ("data", "model", "protected", "technique"),
    [
        ("census_income", "census_income_pipeline.skops", "sex,age", "random"),
        ("census_income", "census_income_network.keras", "sex", "data-scan"),
        ("credit", "credit_network.keras", "age", "directed"),
        ("credit", "credit_network.keras", "sex", "data-scan"),
        ("census_income", "census_income_network.keras", "sex", "directed --only-plausible"),
        ("census_income", "census_income_pipeline.skops", "age,sex", "directed --only-plausible"),
        ("credit", "credit_network.keras", "age", "maft-plus --only-plausible"),
        ("credit", "credit_network.keras", "sex", "sg-shared --only-plausible"),
    ],
)
def test_every_figure_is_that_of_the_file(
    data: str, model: str, protected: str, technique: str, command: Commands, tmp_path: Path
) -> None:
    files = ("--data", str(SAMPLES / f"{data}.csv"), "--schema", str(SAMPLES / f"{data}.schema.json"))
    asked = ("--model", str(MODELS / model), "--protected", protected, "--technique", *technique.split())
    limits = ("--max-found", str(N_PAIRS), "--pairs", str(tmp_path / "pairs.csv"), "--workspace", str(tmp_path / "w"))
    told = command.run("search", *files, *asked, *limits)
    assert told.status in (0, 1), told.errors
    by_name, rows, limit = known(data)
    columns = list(by_name.values())
    found = pd.read_csv(tmp_path / "pairs.csv", dtype=str, keep_default_na=False)
    people = np.stack([column.numbers(found[name]) for name, column in by_name.items()], axis=1)
    assert len(people) >= 100

    distance = np.concatenate(
        [distances(columns, people[k : k + 200], rows).min(axis=1) for k in range(0, len(people), 200)]
    )
    n_unseen = never_together(columns, rows, people)
    is_plausible = (distance <= limit) & (n_unseen == 0)
    assert found["is_plausible"].tolist() == ["true" if each else "false" for each in is_plausible.tolist()]
    each = is_plausible.reshape(-1, 2)
    assert each.all() or "--only-plausible" not in technique
    measured = told.result["plausibility"]
    assert measured["limit"] == pytest.approx(limit, abs=1e-12)
    assert measured["n_measured"] == len(each)
    assert measured["n_plausible"] == int(each.all(axis=1).sum())
    assert measured["n_one_person"] == int((each.sum(axis=1) == 1).sum())
    assert measured["n_far"] == int((distance > limit).reshape(-1, 2).any(axis=1).sum())
    assert measured["n_with_unseen"] == int((n_unseen > 0).reshape(-1, 2).any(axis=1).sum())
    assert measured["median_distance"] == pytest.approx(
        float(np.median(distance.reshape(-1, 2).max(axis=1))), abs=1e-12
    )


def test_the_people_of_a_whole_count_are_those_of_the_file(command: Commands, tmp_path: Path) -> None:
    data = "census_income"
    model = MODELS / "census_income_pipeline.skops"
    ranges = {
        "age": (28, 37),
        "education_years": (10, 13),
        "capital_gain_thousands": (0, 1),
        "hours_per_week": (38, 41),
    }
    files = ("--data", str(SAMPLES / f"{data}.csv"), "--schema", str(SAMPLES / f"{data}.schema.json"))
    limits = [word for name, (low, high) in ranges.items() for word in ("--limit", f"{name}={low}:{high}")]
    asked = ("--model", str(model), "--protected", "sex", "--workspace", str(tmp_path / "w"))
    told = command.run("count", *files, *asked, *limits)
    assert told.status in (0, 1), told.errors

    by_name, rows, limit = known(data)
    columns = list(by_name.values())
    values = [
        np.arange(ranges[name][0], ranges[name][1] + 1.0) if name in ranges else np.arange(column.high + 1)
        for name, column in by_name.items()
        if name != "sex"
    ]
    others = np.array(list(itertools.product(*values)))
    place = list(by_name).index("sex")
    women, men = (np.insert(others, place, code, axis=1) for code in (0.0, 1.0))
    estimator = skops.io.load(model, trusted=skops.io.get_untrusted_types(file=model))
    decisions = [estimator.predict(spelled(by_name, people)) for people in (women, men)]
    differ = decisions[0] != decisions[1]
    assert (told.result["n_discriminatory"], told.result["n_individuals"]) == (int(differ.sum()), len(others))

    could_exist = []
    for people in (women[differ], men[differ]):
        nearest = [distances(columns, people[k : k + 200], rows).min(axis=1) for k in range(0, len(people), 200)]
        could_exist.append((np.concatenate(nearest) <= limit) & (never_together(columns, rows, people) == 0))
    n_hits = int((could_exist[0] & could_exist[1]).sum())
    assert 0 < n_hits < differ.sum()
    plausible = told.result["plausible"]
    assert (plausible["n_hits"], plausible["n"]) == (n_hits, int(differ.sum()))
    assert plausible["low"] == plausible["high"] == plausible["share"]


def spelled(columns: dict[str, Column], people: NDArray[np.float64]) -> pd.DataFrame:
    """As the file spells them."""
    return pd.DataFrame(
        {
            name: [column.codes[int(k)] for k in people[:, n]] if column.is_category else people[:, n].astype(int)
            for n, (name, column) in enumerate(columns.items())
        }
    )
