"""How many rows each group of a protected attribute has, with those whose group is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.summary import GroupSizes

UNKNOWN = "Unknown"
FEW_ROWS = 50
"""Below this a rate within a group is a guess."""
_MAX_BARS = 12
_MAX_NAME = 36
_MAX_NAMED = 4


def sizes_of(dataset: Dataset) -> list[GroupSizes]:
    """The groups of each protected attribute, and of their combinations where there are several."""
    from fairness_engine.data.summary import count_groups

    favourable = None
    if dataset.labels is not None and dataset.favourable_class is not None:
        favourable = dataset.labels == dataset.favourable_class
    protected = dataset.schema.protected
    return count_groups(dataset.schema, dataset.rows, favourable, dataset.n_unknown, protected)


def title_of(sizes: GroupSizes) -> str:
    """The attributes of the groups: ``sex``, ``sex and race``, or ``all 4 attributes together``."""
    names = sizes.protected
    return wording.listed(names) if len(names) < 3 else f"all {len(names)} attributes together"


def group_table(sizes: GroupSizes) -> pd.DataFrame:
    """Columns ``Group``, ``Rows``, ``Share`` and, where known, ``Favourable outcome``; the unknown last."""
    import pandas as pd

    groups = sizes.groups
    lines: dict[str, list[object]] = {
        "Group": [", ".join(group.labels) for group in groups],
        "Rows": [group.n for group in groups],
        "Share": [wording.share(group.share) for group in groups],
    }
    if any(group.favourable_share is not None for group in groups):
        rates = [group.favourable_share for group in groups]
        lines["Favourable outcome"] = ["" if rate is None else wording.share(rate) for rate in rates]
    if sizes.n_unknown:
        unknown: dict[str, object] = {"Group": UNKNOWN, "Rows": sizes.n_unknown}
        for name, values in lines.items():
            values.append(unknown.get(name, ""))
    return pd.DataFrame(lines)


def bars(table: pd.DataFrame) -> pd.DataFrame:
    """The groups that a chart can show: all, or the largest; the unknown stay."""
    if len(table) <= _MAX_BARS + 1:
        return table
    is_unknown = table["Group"] == UNKNOWN
    largest = table[~is_unknown].sort_values("Rows", ascending=False, kind="stable").head(_MAX_BARS)
    return table.loc[[*largest.index, *table.index[is_unknown]]]


def group_chart(title: str, table: pd.DataFrame) -> Figure:
    """The group sizes as bars; unknown ones are grey and dotted."""
    shown = bars(table)
    most = max(1, int(shown["Rows"].max()))
    meanings = [theme.UNDECIDED if group == UNKNOWN else theme.PLAIN for group in shown["Group"]]
    traces = [
        kit.bars(
            shown["Rows"],
            range(len(shown)),
            hover="%{customdata}: %{x:,} rows",
            colour=[meaning.colour for meaning in meanings],
            hatch=kit.hatch([meaning.pattern for meaning in meanings]),
            text=[
                f"{wording.count(n)} · {s}" if s else wording.count(n)
                for n, s in zip(shown["Rows"], shown["Share"], strict=True)
            ],
            # beside a short bar there is room for its text, in a long one: "auto" sets it beside a long one, too, where
            # it is cut
            textposition=["inside" if n > 0.5 * most else "outside" for n in shown["Rows"]],
            insidetextanchor="end",
            customdata=[wording.escaped(group) for group in shown["Group"]],
        )
    ]
    return kit.chart(
        f"Rows by {wording.escaped(title)}",
        traces,
        kit.axis("Rows", tickformat=",d", nticks=5, tickangle=0, range=[0, 1.15 * most]),
        kit.rows([_shorten(group) for group in shown["Group"]]),
        110 + 34 * len(shown),
    )


def _shorten(text: str) -> str:
    """Its beginning and its end: groups of several attributes often begin alike."""
    if len(text) <= _MAX_NAME:
        return wording.escaped(text)
    end = text[-_MAX_NAME // 2 :]
    return wording.escaped(f"{text[: _MAX_NAME // 2]} … {end.partition(', ')[2] or end}")


def notes(table: pd.DataFrame) -> str:
    """What a reader should know of the chart: groups left out of it, groups with few rows."""
    said = []
    n_groups = int((table["Group"] != UNKNOWN).sum())
    if len(bars(table)) < len(table):
        said.append(f"The {_MAX_BARS} largest of {wording.count(n_groups)} groups; the table has all.")
    is_small = (table["Rows"] < FEW_ROWS) & (table["Group"] != UNKNOWN)
    small = [
        f"{name} ({wording.count(n)})" for name, n in table.loc[is_small, ["Group", "Rows"]].itertuples(index=False)
    ]
    if len(small) > _MAX_NAMED:
        said.append(
            f"{wording.count(len(small))} of {wording.count(n_groups)} groups have fewer than {FEW_ROWS} rows: rates "
            "of such groups are guesses."
        )
    elif small:
        said.append(f"Fewer than {FEW_ROWS} rows: {wording.listed(small)}. Rates of such groups are guesses.")
    return " ".join(said)
