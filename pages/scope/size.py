"""How large a scope is and what it costs, in words."""

from __future__ import annotations

import math

import streamlit as st

from fairness_engine.data.schema import Column, Kind
from fairness_engine.oracle.domain import Domain, compared_values
from pages.scope.values import FEW_VARIANTS, N_EVEN, Values, n_compared
from pages.shared.app import wording

_N_LISTED = 4
_MOST_BELOW = 24
"""Characters that stand below the number without being cut."""
_EXAMPLE_ROWS = 500_000
"""The standard budget of the Plan page, as a measure of what a scope costs."""


def draw(domain: Domain, rows_per_second: float | None) -> None:
    """The number of variants, and beside it the space, the cost and how it could be cheaper."""
    left, right = st.columns([1, 3])
    product = product_in_words(domain)
    is_short = len(product) <= _MOST_BELOW
    left.metric(
        "Variants of each row",
        wording.count(domain.n_variants),
        wording.markdown(product) if is_short else None,
        delta_color="off",
        delta_arrow="off",
        help=wording.explain("variant"),
        border=True,
    )
    if not is_short:
        left.caption(wording.markdown(product))
    right.markdown(space_in_words(domain))
    right.markdown(cost_in_words(domain, rows_per_second))
    cheaper = cheaper_in_words(domain)
    if cheaper:
        right.info(wording.markdown(cheaper), icon=":material/savings:")
    right.caption(f"Compared with one another: {wording.markdown(variants_in_words(domain))}.")


def variants_in_words(domain: Domain) -> str:
    """The combinations of protected values that are compared: each when they are few, else the values of each
    attribute.
    """
    labels = domain.variant_labels() if domain.n_variants <= _N_LISTED else ()
    if labels:
        return "; ".join(labels)
    columns = [domain.schema.column(name) for name in domain.scope.protected]
    values = [_listed_values(column, _values_of(domain, i)) for i, column in enumerate(columns)]
    text = ("every combination of " if len(columns) > 1 else "") + wording.listed(values, most=len(values))
    n_left_out = _n_left_out(domain)
    return f"{text}, but for {wording.count(n_left_out)} that your data never holds" if n_left_out else text


def _n_left_out(domain: Domain) -> int:
    """Combinations of the values compared that the scope excludes."""
    return math.prod(n_compared(domain.schema, domain.scope).values()) - domain.n_variants


def _values_of(domain: Domain, index: int) -> Values:
    """The values compared of one protected attribute, by its place in the scope."""
    return tuple(compared_values(domain.schema, domain.scope, domain.scope.protected[index]))


def _listed_values(column: Column, values: Values) -> str:
    texts = [column.text(value) for value in values]
    few = texts if len(texts) <= _N_LISTED + 1 else [*texts[:2], "…", texts[-1]]
    return f"{column.name} ({', '.join(few)})"


def product_in_words(domain: Domain) -> str:
    """Where the number of variants comes from: ``race 5 × sex 2 × age 91``; the values compared of one attribute."""
    counts = [len(_values_of(domain, i)) for i in range(len(domain.scope.protected))]
    if len(counts) == 1:
        return wording.counted(counts[0], "value")
    text = " × ".join(f"{name} {count}" for name, count in zip(domain.scope.protected, counts, strict=True))
    n_left_out = _n_left_out(domain)
    return f"{text}, {wording.count(n_left_out)} left out" if n_left_out else text


def cost_in_words(domain: Domain, rows_per_second: float | None) -> str:
    """What testing people costs: rows evaluated for one individual, individuals for a budget, seconds with this
    model.
    """
    n_people = _EXAMPLE_ROWS // domain.n_variants
    n_rows = wording.count(_EXAMPLE_ROWS)
    text = (
        f"Testing one individual costs up to {wording.counted(domain.n_variants, 'row')} evaluated, one for each "
        f"variant: {n_rows} rows, a standard budget, test at least {wording.counted(n_people, 'individual')}"
    )
    if not rows_per_second:
        return text + "."
    seconds = _EXAMPLE_ROWS / rows_per_second
    return text + (", in less than a second." if seconds < 1 else f", in about {wording.duration(seconds)}.")


def cheaper_in_words(domain: Domain) -> str:
    """How bins would make a search cheaper; empty where there are few variants, or no number to bin."""
    columns = [domain.schema.column(name) for name in domain.scope.protected]
    counts = [len(_values_of(domain, i)) for i in range(len(columns))]
    widest = max(range(len(counts)), key=lambda i: (columns[i].kind is not Kind.CATEGORICAL, counts[i]))
    if domain.n_variants <= FEW_VARIANTS or columns[widest].kind is Kind.CATEGORICAL or counts[widest] <= N_EVEN:
        return ""
    fewer = domain.n_variants // counts[widest] * N_EVEN
    return (
        f"With {N_EVEN} values of {columns[widest].name} instead of {counts[widest]} it would be {fewer} variants, and "
        f"the same budget would test {counts[widest] / N_EVEN:.0f} times as many people."
    )


def space_in_words(domain: Domain) -> str:
    """How large the space of a search is, as a sentence."""
    people = wording.magnitude(domain.n_individuals)
    rows = wording.magnitude(domain.n_individuals * domain.n_variants)
    if math.isinf(domain.n_individuals):
        return (
            f"At least one attribute is continuous, so there are {people} individuals. A search looks at a part of "
            "them."
        )
    if domain.n_individuals * domain.n_variants <= 1e9:
        return f"{people} individuals, {rows} rows in all: few enough to be tested completely."
    return f"{people} individuals, {rows} rows in all. A search looks at a small part of them."
