"""Favourable share of every identity term within its category, beside the same texts with the other terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.groups.rule_sets import phrases
from pages.shared.app import frame, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import kit

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.models.fit.decisions import Decisions
    from fairness_engine.store.records import RunRecord

_ALL = "All categories"
CHANCE = "◇"
"""Neither harmed nor favoured: the difference may be chance."""
_SHAPES = {theme.HARMED.symbol: "triangle-down", theme.FAVOURED.symbol: "triangle-up-open", CHANCE: "diamond-open"}
_MANY = 20
"""With more lines than these the axis stands above them."""
_MAX_TOGETHER = 60
"""Terms that one chart shows; of more, a category at a time."""


def draw(run: RunRecord, result: RuleResult, names: Decisions) -> None:
    """The chart of single terms and its table; with many terms one category at a time."""
    positions = single_terms(result)
    if not positions:
        st.info("No single term was scored: the run's groups are of several categories only.")
        return
    options = categories_of(result, positions)
    wanted = options[0]
    if len(options) > 1:
        wanted = st.segmented_control(
            "Category",
            options,
            default=options[0],
            required=True,
            key=f"dots_category_{run.id}",
            format_func=wording.markdown,
        )
    chosen = [position for position in positions if wanted in (_ALL, category_of(result, position))]
    figure = kept(
        "text_dots", (run.id, wanted, theme.is_dark()), lambda: dot_chart(result, chosen, favourable_axis(names))
    )
    note = (
        f"{theme.HARMED.symbol} {theme.HARMED.name}, {theme.FAVOURED.symbol} {theme.FAVOURED.name}, "
        f"{CHANCE} no more than chance; | the same texts with the other terms of the category."
    )
    frame.chart_with_table(figure, lambda: dot_table(result, chosen), key="text_dots_chart", note=note)


def single_terms(result: RuleResult) -> list[int]:
    """Positions of the rule sets of one term, category by category, the lowest favourable share first."""
    scored = result.scored
    found = [i for i in range(len(scored)) if scored.n_attributes[i] == 1]
    order = {attribute.name: place for place, attribute in enumerate(result.attributes)}
    return sorted(found, key=lambda i: (order[category_of(result, i)], float(scored.inside[i])))


def categories_of(result: RuleResult, positions: list[int]) -> list[str]:
    """The categories to choose from, that with the highest score first; all together at the end unless that is too
    much.
    """
    found = list(dict.fromkeys(category_of(result, position) for position in sorted(positions)))
    is_all = len(found) > 1 and len(positions) <= _MAX_TOGETHER
    return [*found, _ALL] if is_all else found


def favourable_axis(names: Decisions) -> str:
    """The name of the axis: what the favourable decision is called."""
    known = names.favourable is not None and 0 <= names.favourable < len(names.names)
    return f"Share decided “{names.name(names.favourable or 0)}” (%)" if known else "Favourable share (%)"


def category_of(result: RuleResult, position: int) -> str:
    """The category of a rule set of one term."""
    return next(
        a.name for a, rule in zip(result.attributes, result.scored.rules[position].tolist(), strict=True) if rule >= 0
    )


def term_of(result: RuleResult, position: int) -> str:
    """The term of a rule set of one term."""
    line = result.scored.rules[position].tolist()
    attribute, rule = next((a, rule) for a, rule in zip(result.attributes, line, strict=True) if rule >= 0)
    return attribute.labels[int(attribute.values_of(rule)[0])]


def symbol_of(result: RuleResult, position: int) -> str:
    """Harmed, favoured, or neither where the interval holds 0."""
    return CHANCE if result.scored.low[position] <= 0 else phrases.direction(result, position).symbol


def colour_of(result: RuleResult, position: int) -> str:
    """The colour of the same."""
    meaning = theme.UNDECIDED if result.scored.low[position] <= 0 else phrases.direction(result, position)
    return meaning.colour


def dot_chart(result: RuleResult, positions: list[int], axis: str) -> Figure:
    """A line a term: its own share as a symbol, a stroke for the other terms, and a bar between.

    Args:
        result: of a run on texts.
        positions: of rule sets of one term, in the order from top to bottom.
        axis: name of the horizontal axis.
    """
    scored = result.scored
    keys = [_escaped_of(result, position) for position in positions]
    labels = [[category for category, _ in keys], [term for _, term in keys]]
    inside = [100 * float(scored.inside[position]) for position in positions]
    outside = [100 * float(scored.outside[position]) for position in positions]
    between = [value for pair in zip(inside, outside, strict=True) for value in (*pair, None)]
    n = len(positions)
    is_long = n > _MANY
    return kit.chart(
        "How each term is decided in the same texts",
        [
            kit.line(between, [np.repeat(names, 3) for names in labels], colour=theme.faint(), width=5),
            kit.marks(
                outside,
                labels,
                hover="other terms: %{x:.1f} %",
                symbol="line-ns",
                colour=theme.ink(),
                size=14,
                width=3,
            ),
            kit.marks(
                inside,
                labels,
                hover="%{y}: %{x:.1f} %<br>difference %{customdata}",
                symbol=[_SHAPES[symbol_of(result, position)] for position in positions],
                colour=[colour_of(result, position) for position in positions],
                size=13,
                customdata=[wording.escaped(phrases.score_text(result, position)) for position in positions],
            ),
        ],
        kit.axis(axis, range=[-2, 102], side="top" if is_long else "bottom"),
        kit.axis(autorange="reversed", showdividers=True, dividercolor=theme.faint(), tickson="labels"),
        130 + 26 * n,
        margin={"t": 96 if is_long else 48},
    )


def _escaped_of(result: RuleResult, position: int) -> tuple[str, str]:
    return wording.escaped(category_of(result, position)), wording.escaped(term_of(result, position))


def dot_table(result: RuleResult, positions: list[int]) -> pd.DataFrame:
    """The same numbers, one line a term."""
    import pandas as pd

    from fairness_engine.groups.rule_sets.phrases import share_text

    scored = result.scored
    return pd.DataFrame(
        {
            "Category": [category_of(result, position) for position in positions],
            "Term": [term_of(result, position) for position in positions],
            "": [symbol_of(result, position) for position in positions],
            "With this term": [share_text(float(scored.inside[position])) for position in positions],
            "With the others": [share_text(float(scored.outside[position])) for position in positions],
            "Difference": [phrases.score_text(result, position) for position in positions],
            "Texts": [int(scored.n_rows[position]) for position in positions],
        }
    )
