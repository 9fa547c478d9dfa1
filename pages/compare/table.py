"""The table of a comparison, one line a technique, and its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from pages.compare import charts
from pages.shared.app import wording

if TYPE_CHECKING:
    from fairness_engine.runs.comparison import Compared, Comparison, Spread

STYLE = """
.evenhand-compared {width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums;
    margin: 0.4rem 0 0.2rem 0;}
.evenhand-compared th, .evenhand-compared td {border: none; border-bottom: 1px solid rgba(128, 136, 148, 0.35);
  padding: 0.45rem 0.38rem; text-align: right; vertical-align: top; line-height: 1.25;}
.evenhand-compared thead th {font-weight: 600; font-size: 0.84rem; vertical-align: bottom;}
.evenhand-compared thead abbr {text-decoration: underline dotted; text-underline-offset: 0.25em; cursor: help;}
.evenhand-compared th:first-child {text-align: left; font-weight: 600; white-space: nowrap;}
.evenhand-compared small {display: block; opacity: 0.75; font-size: 0.78rem; white-space: nowrap;}
.evenhand-scroll {overflow-x: auto;}
"""


@dataclass(frozen=True)
class Column:
    """One column: its name, what it means, the attribute of ``Compared`` behind it, how a number is written."""

    name: str
    meaning: str
    attribute: str
    write: Callable[[float], str]


def _figure(value: float) -> str:
    return wording.number(float(f"{value:.3g}")) if abs(value) < 1000 else wording.count(value)


def _distance(value: float) -> str:
    return f"{value:.2g}"


def _percent(value: float) -> str:
    """Whole percent, with decimals only near 0 and 100 %, where they matter."""
    return f"{100 * value:.0f} %" if 0.1 <= value < 0.995 else wording.share(value)


COLUMNS = (
    Column(
        "Found",
        "Different individuals found: the median over the seeds, under it the least and the most. The model confirmed "
        "each a second time.",
        "n_found",
        wording.count,
    ),
    Column(
        "Of all",
        "Found as a share of all that exist in the domain, which were counted one by one.",
        "share_of_all",
        _percent,
    ),
    Column(
        "Per 1\u202f000 rows",
        "Found for every 1\u202f000 rows that the model evaluated. Every row counts, also those that only look around.",
        "per_1000_rows",
        _figure,
    ),
    Column(
        "Plausible per 1\u202f000 rows",
        "The same, of pairs of two people who could exist. It goes by the pairs that were measured.",
        "plausible_per_1000_rows",
        _figure,
    ),
    Column(
        "Per second",
        "Found for every second of work. It depends on this machine, and on what else worked at the time.",
        "per_second",
        _figure,
    ),
    Column(
        "Success rate",
        "Found as a share of the individuals tried. A technique chooses whom it tries, so this is no share of people.",
        "success_rate",
        _percent,
    ),
    Column(
        "Diversity",
        "How different the finds are: in how many parts of the space 1\u202f000 of them lie, as a tree that imitates "
        "the model divides it. Few means that they lie close together.",
        "diversity",
        _figure,
    ),
    Column(
        "Plausible",
        "Share of the pairs whose two people could exist, protected values included: not further from your data than "
        "real rows are from one another, and without values that practically never occur together.",
        "plausible_share",
        _percent,
    ),
    Column(
        "Distance",
        "Distance to the nearest row of your data of the person of each pair who is further away, the median of each "
        "run. 0 is a row of your data.",
        "median_distance",
        _distance,
    ),
    Column(
        "Naturalness",
        "How much the people of the pairs look like your data as a whole, in each column and in how columns depend on "
        "each other. Compare it with the data scan's, which has real people's values: it is not 100 % either.",
        "naturalness",
        _percent,
    ),
)
_ALWAYS = ("n_found", "per_1000_rows")


def columns_of(comparison: Comparison) -> list[Column]:
    """The columns that anyone has a figure for."""
    return [
        column
        for column in COLUMNS
        if column.attribute in _ALWAYS
        or any(getattr(compared, column.attribute) is not None for compared in comparison.techniques)
    ]


def html(comparison: Comparison) -> str:
    """The table, most found for the same rows first; what a column means shows on hovering over its name."""
    looks = charts.looks_of([compared.technique for compared in comparison.techniques])
    lines = sorted(zip(comparison.techniques, looks, strict=True), key=lambda line: _rank(line[0]), reverse=True)
    columns = columns_of(comparison)
    heads = "".join(
        f'<th scope="col"><abbr title="{wording.escaped(column.meaning)}">{column.name}</abbr></th>'
        for column in columns
    )
    body = "".join(_line(compared, look, columns) for compared, look in lines)
    head = f'<tr><th scope="col">Technique</th><th scope="col">Runs<br>ended</th>{heads}</tr>'
    return (
        '<div class="evenhand-scroll"><table '
        f'class="evenhand-compared"><thead>{head}</thead><tbody>{body}</tbody></table></div>'
    )


def _rank(compared: Compared) -> float:
    return -1.0 if compared.per_1000_rows is None else compared.per_1000_rows.median


def _line(compared: Compared, look: charts.Look, columns: list[Column]) -> str:
    name = f'<span style="color:{look.colour}">{look.glyph}</span> {wording.escaped(compared.label)}'
    cells = "".join(f"<td>{_cell(getattr(compared, column.attribute), column.write)}</td>" for column in columns)
    return f'<tr><th scope="row">{name}</th><td>{compared.n_done} of {compared.n_runs}</td>{cells}</tr>'


def _cell(value: Spread | None, write: Callable[[float], str]) -> str:
    """The median, and in small the range over the seeds."""
    if value is None:
        return wording.DASH
    median = write(value.median)
    low = write(value.low)
    high = write(value.high)
    return median if low == median == high else f"{median}<small>{low.removesuffix(' %')}{wording.DASH}{high}</small>"


# --- files --------------------------------------------------------------------------------------


def table_csv(comparison: Comparison) -> bytes:
    """The same in numbers: median, least, most and number of seeds of every figure."""
    lines = []
    for compared in comparison.techniques:
        line: dict[str, object] = {"technique": compared.technique, "label": compared.label}
        line |= {"runs_ended": compared.n_done, "runs": compared.n_runs}
        for column in COLUMNS:
            value: Spread | None = getattr(compared, column.attribute)
            for part, name in (("median", "median"), ("low", "min"), ("high", "max"), ("n", "seeds")):
                line[f"{column.attribute}_{name}"] = None if value is None else getattr(value, part)
        line["exact_count"] = comparison.n_exact
        line["run_ids"] = " ".join(compared.run_ids)
        lines.append(line)
    return pd.DataFrame(lines).to_csv(index=False).encode()


def curves_csv(comparison: Comparison) -> bytes:
    """All curves, one line a point: technique, axis (``evaluations`` or ``seconds``), position, median, least, most
    found.
    """
    parts = []
    for by in ("evaluations", "seconds"):
        points = charts.found_table(comparison.techniques, by)
        points.columns = ["technique", "position", "median", "min", "max"]
        points.insert(1, "axis", by)
        parts.append(points)
    return pd.concat(parts, ignore_index=True).to_csv(index=False).encode()


def figure_note(comparison: Comparison) -> str:
    """What the chart's line and band are."""
    n_seeds = max((compared.n_runs for compared in comparison.techniques), default=0)
    if n_seeds < 2:
        return "One run each: the lines say nothing about luck."
    if any(compared.n_done < compared.n_runs for compared in comparison.techniques):
        return "Lines are medians over the seeds that have come so far, bands reach from the least to the most found."
    return f"Lines are medians over {wording.counted(n_seeds, 'seed')}, bands reach from the least to the most found."
