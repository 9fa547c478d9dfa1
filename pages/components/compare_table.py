"""The table of a comparison, one line a technique, and its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pages.components import compare_charts, wording
from pages.components.compare_words import share_spread, spread

if TYPE_CHECKING:
    from fairness_engine.runs.comparison import Compared, Comparison, Spread

COLUMNS = {
    "Technique": "The technique, with the settings that tell it from others of its kind.",
    "Runs": "Runs that have ended, of those planned: one for each seed.",
    "Found": "Different individuals found: median over the seeds, and the range in brackets. Each was confirmed by the model a second time.",
    "Per 1\u202f000 rows": "Found for every 1 000 rows that the model evaluated. Every row counts, also those that only look around.",
    "Per second": "Found for every second of work. It depends on this machine and on what else worked at the time.",
    "Success rate": "Found as a share of the individuals tried. The technique chooses whom it tries, so this says nothing about people.",
    "Diversity": "How different the finds are: regions of the model's input space that they reach, of a tree that imitates the model, for "
    "the same number of finds. Few means that the finds lie close together.",
    "Plausible": "Share of the pairs whose person is not further from the data than real rows usually are, and has no values that "
    "never occur together.",
    "Distance": "Median distance of the found people to the nearest row of your data; 0 is a row of your data.",
    "Of all": "Found as a share of all that exist in the domain, which were counted exactly.",
}
_FIGURES: dict[str, tuple[str, bool]] = {
    "Found": ("n_found", False),
    "Per 1\u202f000 rows": ("per_1000_rows", False),
    "Per second": ("per_second", False),
    "Success rate": ("success_rate", True),
    "Diversity": ("diversity", False),
    "Plausible": ("plausible_share", True),
    "Distance": ("median_distance", False),
    "Of all": ("share_of_all", True),
}
"""Attribute of ``Compared`` behind each column, and whether it is a share."""


def table(comparison: Comparison) -> pd.DataFrame:
    """One line a technique as text, the best for the same rows first; columns that nobody has a figure for are left out."""
    ordered = sorted(comparison.techniques, key=_rank, reverse=True)
    looks = compare_charts.looks_of([compared.technique for compared in comparison.techniques])
    glyphs = {id(c): look.glyph for c, look in zip(comparison.techniques, looks, strict=True)}
    lines: dict[str, list[str]] = {
        "Technique": [f"{glyphs[id(compared)]} {compared.label}" for compared in ordered],
        "Runs": [f"{compared.n_done} of {compared.n_runs}" for compared in ordered],
    }
    for name, (attribute, is_share) in _FIGURES.items():
        values: list[Spread | None] = [getattr(compared, attribute) for compared in ordered]
        if any(value is not None for value in values) or name in ("Found", "Per 1\u202f000 rows"):
            lines[name] = [(share_spread if is_share else spread)(value) for value in values]
    return pd.DataFrame(lines)


def _rank(compared: Compared) -> float:
    return -1.0 if compared.per_1000_rows is None else compared.per_1000_rows.median


def table_csv(comparison: Comparison) -> bytes:
    """The same in numbers: median, least, most and number of seeds of every figure."""
    lines = []
    for compared in comparison.techniques:
        line: dict[str, object] = {"technique": compared.technique, "label": compared.label}
        line |= {"runs_ended": compared.n_done, "runs": compared.n_runs}
        for attribute, _ in _FIGURES.values():
            value: Spread | None = getattr(compared, attribute)
            for part, name in (("median", "median"), ("low", "min"), ("high", "max"), ("n", "seeds")):
                line[f"{attribute}_{name}"] = None if value is None else getattr(value, part)
        line["exact_count"] = comparison.n_exact
        line["run_ids"] = " ".join(compared.run_ids)
        lines.append(line)
    return pd.DataFrame(lines).to_csv(index=False).encode()


def curves_csv(comparison: Comparison) -> bytes:
    """All curves, one line a point: technique, axis (``evaluations`` or ``seconds``), position, median, least, most found."""
    parts = []
    for by in ("evaluations", "seconds"):
        points = compare_charts.found_table(comparison.techniques, by)
        points.columns = ["technique", "position", "median", "min", "max"]
        points.insert(1, "axis", by)
        parts.append(points)
    return pd.concat(parts, ignore_index=True).to_csv(index=False).encode()


def figure_note(comparison: Comparison) -> str:
    """What the chart's line and band are."""
    n_seeds = max((compared.n_runs for compared in comparison.techniques), default=0)
    if n_seeds < 2:
        return "One run each: the lines say nothing about luck."
    return f"Lines are medians over {wording.counted(n_seeds, 'seed')}, bands reach from the least to the most found."
