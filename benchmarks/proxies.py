"""Proxies: how often planted ones are found and noise is not, how often intervals hold, and what they cost on Adult.

``python -m benchmarks.proxies`` with ``EVENHAND_SHARED`` set writes ``benchmarks/proxies.md``; ``--only`` makes some of
its sections. Tables are drawn by ``tests/proxy_cases.py``, whose truth is known.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import skops.io

from benchmarks.people import LAST, raw_adult, raw_adult_pipeline
from benchmarks.table import keep_sections, markdown, shared_folder
from fairness_engine.__main__ import main as command
from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import NO_LIMIT
from fairness_engine.codec import decode
from fairness_engine.intervals import LEVEL
from fairness_engine.measures.proxies import telling
from fairness_engine.measures.proxies.differences import Decided, differences
from fairness_engine.measures.proxies.learners import (
    Inputs,
    predict_by_column,
    predict_chances,
    predict_number,
)
from fairness_engine.measures.proxies.results import Figure, GroupDifference
from fairness_engine.measures.proxies.telling import Attribute, Telling

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from proxy_cases import CARRIERS, SCHEMA, planted

N_SEEDS = 50
N_REPEATS = 200
N_REPEATS_OF_LEFT = 80
N_FRESH = 20_000
ATTRIBUTES = ("sex", "race", "age")
Line = list[str]


def found_section() -> str:
    """Planted columns of 50 tables each, and noise."""
    lines = [found_line(name, n, strength) for name in ATTRIBUTES for n, strength in ((400, 1.0), (2_000, 0.5))]
    header = ("attribute", "rows", "strength", "planted first", "interval above chance", "clear")
    more = ("noise: interval holds chance", "tables with clear noise", "all together above chance")
    return f"## Found\n\nOne column carries the attribute, seven are noise.\n\n{markdown((*header, *more), lines)}"


def found_line(name: str, n: int, strength: float) -> Line:
    """One attribute at one size."""
    chance = 0.0 if name == "age" else 0.5
    n_first = n_above = n_clear = n_together = n_wrong = 0
    holds: list[bool] = []
    for seed in range(N_SEEDS):
        carrier = CARRIERS[seed % 2]
        rows = planted(n, seed, name, (carrier,), strength).rows
        attribute = Attribute.of(SCHEMA.column(name), rows[:, SCHEMA.index(name)])
        others = Inputs.of(rows, SCHEMA).without(name)
        told = Telling(attribute, others, frozenset(), len(others.names), np.random.default_rng(seed))
        columns = told.columns(NO_LIMIT)
        first = columns[0]
        n_first += first.column == carrier
        n_above += first.column == carrier and first.tells.low > chance
        n_clear += first.column == carrier and first.is_clear
        noise = [one for one in columns if one.column != carrier]
        holds += [one.tells.low <= chance <= one.tells.high for one in noise]
        n_wrong += any(one.is_clear for one in noise)
        n_together += told.together(others).low > chance
    counts = [f"{count} of {N_SEEDS}" for count in (n_first, n_above, n_clear)]
    last = f"{np.mean(holds):.3f} of {len(holds)}"
    return [name, f"{n:,}", f"{strength:g}", *counts, last, f"{n_wrong} of {N_SEEDS}", f"{n_together} of {N_SEEDS}"]


def told_section() -> str:
    """Coverage of areas and of R squared: the truth is what the same learner tells of 20,000 people never drawn."""
    lines = []
    for name in ATTRIBUTES:
        for n in (200, 1_000):
            for columns in (("place",), ("town",), ()):
                lines.append(told_line(name, n, columns))
    header = ("attribute", "rows", "told by", "mean", "coverage", "mean width")
    what = f"{N_REPEATS} tables each; half of the rows are held out."
    return f"## Intervals of what is told\n\n{what}\n\n{markdown(header, lines)}"


def told_line(name: str, n: int, columns: tuple[str, ...]) -> Line:
    """One attribute at one size, by one column or by all."""
    place = SCHEMA.index(name)
    holds = []
    figures: list[Figure] = []
    for seed in range(N_REPEATS):
        rows = np.concatenate([planted(n, seed, name).rows, planted(N_FRESH, 10_000 + seed, name).rows])
        inputs = Inputs.of(rows, SCHEMA).without(name)
        is_fitted = np.arange(len(rows)) < n // 2
        rng = np.random.default_rng(seed)
        values = rows[:, place]
        is_number = name == "age"
        groups = values.astype(np.int64)
        if columns:
            targets = values[:, None] if is_number else (groups[:, None] == np.unique(groups)).astype(float)
            told = predict_by_column(inputs.only(columns), targets, is_fitted)
        elif is_number:
            told = predict_number(inputs, values, is_fitted, rng)[:, None]
        else:
            told = predict_chances(inputs, groups, is_fitted, rng)
        n_held_out = n - n // 2
        scale: Callable[[FloatArray, FloatArray], Figure] = _fit if is_number else _areas
        figure = scale(told[:n_held_out], values[n // 2 : n])
        truth = scale(told[n_held_out:], values[n:]).value
        holds.append(figure.low <= truth <= figure.high)
        figures.append(figure)
    means = np.mean([(figure.value, figure.high - figure.low) for figure in figures], axis=0)
    by = columns[0] if columns else "all columns"
    return [name, f"{n:,}", by, f"{means[0]:.3f}", f"{np.mean(holds):.3f}", f"{means[1]:.3f}"]


def _fit(told: FloatArray, values: FloatArray) -> Figure:
    return telling._Fit(values).figure(told, LEVEL)


def _areas(told: FloatArray, values: FloatArray) -> Figure:
    return telling._Areas(values[:, None] == np.unique(values)).figure(told, LEVEL)


# --- what is left -------------------------------------------------------------------------------


def by_carriers(rows: FloatArray) -> BoolArray:
    """A model that ignores sex and leans on both carriers."""
    hours, place = (rows[:, SCHEMA.index(name)] for name in ("hours", "place"))
    return np.asarray(hours + 6 * (place == 2) > 42)


def with_effect(rows: FloatArray) -> BoolArray:
    """A model that lets a fifth of all men pass where women do not."""
    wealth = rows[:, SCHEMA.index("wealth")]
    return np.asarray(by_carriers(rows) & (wealth > 0.4)) | ((wealth < 0.2) & (rows[:, 0] == 1))


def people_with_effect(rows: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Outcomes of people, a fifth better for men."""
    return np.asarray(rng.random(len(rows)) < 0.3 + 0.004 * rows[:, SCHEMA.index("hours")] + 0.2 * rows[:, 0])


CASES: dict[str, tuple[float, float | None, Callable[[FloatArray], BoolArray] | None]] = {
    "a model asked, ignores sex": (0.0, None, by_carriers),
    "a model asked, a fifth": (-0.2, None, with_effect),
    "a rule of the carriers, as a column": (0.0, 0.0, None),
    "outcomes of people, carriers alone": (0.0, 1.0, None),
    "outcomes of people, a fifth": (-0.2, None, None),
}
"""The truth, the noise of the planted outcome where it is that, and the model."""


def left_section(n_repeats: int) -> str:
    """Coverage of what is left, with all columns held and with the carriers alone."""
    lines = [
        line
        for case in CASES
        for n, strength in ((500, 1.0), (500, 0.5), (1_500, 1.0), (1_500, 0.5))
        for line in left_lines(case, n, strength, n_repeats)
    ]
    header = ("decisions", "rows", "strength", "held", "truth", "raw", "mean", "standard deviation", "mean half width")
    what = f"{n_repeats} tables each; without a figure where too few people can be compared."
    return f"## Intervals of what is left\n\n{what}\n\n{markdown((*header, 'coverage', 'figures'), lines)}"


def left_lines(case: str, n: int, strength: float, n_repeats: int) -> list[Line]:
    """One case at one size."""
    truth, noise, model = CASES[case]
    found: list[GroupDifference] = []
    for seed in range(n_repeats):
        rng = np.random.default_rng(seed)
        table = planted(n, 20_000 + seed, strength=strength, noise=noise or 0.0)
        rows = table.rows
        favourable = table.favourable if noise is not None else people_with_effect(rows, rng)
        if model is not None:
            favourable = model(rows)
        decided = Decided(Attribute.of(SCHEMA.column("sex"), rows[:, 0]), 0, rows, favourable, model)
        others = Inputs.of(rows, SCHEMA).without("sex")
        found += differences(decided, others, () if model is not None else CARRIERS, rng, NO_LIMIT)
    raw = float(np.mean([one.raw.value for one in found]))
    same = [case, f"{n:,}", f"{strength:g}"]
    lines = []
    for held in ("all columns",) if model is not None else ("all columns", "carriers"):
        figures = [one.held if held == "all columns" else one.held_strongest for one in found]
        known = [figure for figure in figures if figure is not None]
        values = np.array([figure.value for figure in known])
        half = np.mean([(figure.high - figure.low) / 2 for figure in known])
        covered = np.mean([figure.low <= truth <= figure.high for figure in known])
        told = [f"{truth:g}", f"{raw:.3f}", f"{values.mean():.3f}", f"{values.std():.4f}", f"{half:.4f}"]
        lines.append([*same, held, *told, f"{covered:.3f}", f"{len(known)}"])
    print(lines, flush=True)
    return lines


# --- raw Adult ----------------------------------------------------------------------------------


def adult_section() -> str:
    """Seconds and figures on raw Adult: a one-hot pipeline with and without a link, and the labels."""
    raw = pd.read_csv(shared_folder() / "data" / "raw" / "adult" / "data.csv")
    lines: list[Line] = []
    figures: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        model = Path(name) / "pipeline.skops"
        data = Path(name) / "adult.csv"
        raw.drop(columns=["fnlwgt", "split"], errors="ignore").to_csv(data, index=False)
        skops.io.dump(raw_adult_pipeline(raw_adult(), LAST["one-hot"]()), model)
        same = ["proxies", "--data", str(data), "--quiet"]
        same += ["--favourable", ">50K", "--workspace", name]
        asked = {
            "pipeline": ["--model", str(model)],
            "pipeline, linked": ["--model", str(model), "--link", "sex:relationship=Wife/Husband"],
            "labels": [],
            "labels, all rows": ["--rows", "200000"],
        }
        for title, own in asked.items():
            result = told(name, [*same, *own, "--protected", "sex,race"])
            lines.append([title, f"{result['n_rows']:,}", f"{result['evaluations']:,}", f"{result['seconds']:.0f}"])
            figures += adult_lines(title, result)
    first = markdown(("decisions", "rows", "rows of the model", "seconds"), lines)
    header = ("decisions", "attribute", "together", "first columns", "group", "raw", "held", "strongest held")
    second = markdown(header, figures)
    return f"## Raw Adult\n\n`sex` and `race`, seed 0.\n\n{first}\n\n{second}"


def told(folder: str, arguments: list[str]) -> dict[str, Any]:
    """The JSON of a command."""
    file = Path(folder) / "result.json"
    assert command([*arguments, "--json", str(file)]) == 0
    return decode(dict[str, Any], json.loads(file.read_text()))


def adult_lines(title: str, result: dict[str, Any]) -> list[Line]:
    """One line a difference."""
    lines = []
    for each in result["proxies"]:
        columns = [one for one in each["columns"] if one["is_clear"]][:4]
        named = ", ".join(
            f"{one['column']} {one['auc']:.3f}{' (linked)' if one['is_linked'] else ''}" for one in columns
        )
        together = "{auc:.3f} ({low:.3f} to {high:.3f})".format(**each["together"])
        for place, one in enumerate(each["differences"]):
            shown = [_points(one[name]) for name in ("raw", "held", "held_strongest")]
            first = ["", "", "", ""] if place else [title, each["protected"], together, named]
            lines.append([*first, one["group"], *shown])
    return lines


def _points(figure: dict[str, float] | None) -> str:
    if figure is None:
        return "too few to compare"
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * figure[name] for name in ("value", "low", "high")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=["found", "told", "left", "adult"])
    parser.add_argument("--repeats", type=int, default=N_REPEATS_OF_LEFT, help="tables of what is left")
    options = parser.parse_args(arguments)
    makers: dict[str, Callable[[], str]] = {
        "found": found_section,
        "told": told_section,
        "left": lambda: left_section(options.repeats),
        "adult": adult_section,
    }
    for name in options.only or makers:
        keep_sections("proxies", "Proxies", [makers[name]()])


if __name__ == "__main__":
    main()
