"""The texts of a review on the Data page: how many, a few of them, and the identity terms they hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError
from pages.shared.app import frame, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import kit
from pages.shared.review import dataset, kind, tables
from pages.shared.texts import marks
from pages.shared.texts import terms as text_terms

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fairness_engine.data.texts import Texts
    from fairness_engine.groups.identity_terms.matching import TermCounts
    from fairness_engine.groups.identity_terms.terms import Terms
    from fairness_engine.store.records import Review, ReviewTerms

_N_SHOWN = 4
_N_LOOKED_AT = 2_000
_MAX_CHARACTERS = 400
_MAX_NAMED = 8
_MAX_NAME_WORDS = 2


def draw(review: Review) -> None:
    """The section of a review whose data has a column of texts; nothing where the model is known to take the table."""
    columns = kind.text_columns(review.schema)
    if not columns or (review.fit is not None and kind.FIT_KEY not in review.fit):
        return
    known = kind.column_of(review)
    if known is None:
        columns = tuple(name for name in columns if not are_names(review, name))
        if not columns:
            return
    st.header("Texts", anchor=False)
    column = columns[columns.index(known) if known else 0]
    if len(columns) > 1:
        column = st.selectbox("Column of texts", columns, index=columns.index(column), key="text_column")
    try:
        texts = texts_of(review, column)
    except EvenhandError as error:
        frame.say(error)
        return
    st.markdown(size_text(texts, column))
    terms = text_terms.terms_of(review)
    counts = counts_of(review, column, terms)
    if not counts.n_any:
        st.warning(wording.markdown(none_text(column, terms)), icon=":material/warning:")
    else:
        _show_examples(review, column, terms, texts)
        _show_counts(counts, terms, len(texts.texts))
    text_terms.draw_own(review, terms)


# --- what the texts are -------------------------------------------------------------------------


def are_names(review: Review, column: str) -> bool:
    """Whether a column beside inputs of a table holds names rather than texts: half of them have two words at most."""
    import numpy as np

    if review.schema is None or not review.schema.inputs:
        return False
    try:
        texts = texts_of(review, column).texts[:_N_LOOKED_AT]
    except EvenhandError:
        return False  # whoever draws it says why
    return bool(texts) and float(np.median([text.count(" ") + 1 for text in texts])) <= _MAX_NAME_WORDS


def texts_of(review: Review, column: str) -> Texts:
    """The texts of a column that can be used.

    Raises:
        DataError: the column has none, or a cell of the label does not fit the schema.
    """
    table = dataset.table_of(review)
    assert review.schema is not None, "asked after the data step"
    return tables.texts_of(table, review.schema, column)


def counts_of(review: Review, column: str, terms: ReviewTerms) -> TermCounts:
    """How many texts hold each term, counted once a session and list of terms."""
    texts = texts_of(review, column)
    key = (review.data_id, json.dumps(review.schema.to_json() if review.schema else None), column)
    return _counts(str(key), terms.terms, texts)


@st.cache_resource(scope="session", max_entries=4, show_spinner="Looking for identity terms …")
def _counts(key: str, terms: Terms, _texts: Texts) -> TermCounts:  # noqa: ARG001 - the cache's key
    from fairness_engine.groups.identity_terms.matching import count_terms

    return count_terms(_texts.texts, terms)


def size_text(texts: Texts, column: str) -> str:
    """How many texts there are, how many rows are empty, how long they are; safe in markdown."""
    import numpy as np

    lengths = [text.count(" ") + 1 for text in texts.texts[:_N_LOOKED_AT]]
    empty = f", {wording.counted(texts.n_empty, 'empty row')} left out" if texts.n_empty else ""
    middle = wording.counted(float(np.median(lengths)), "word") if lengths else "none"
    n_texts = wording.counted(len(texts.texts), "text")
    return f"**{wording.markdown(column)}**: {n_texts}{empty}; half of them have {middle} or fewer."


def none_text(column: str, terms: ReviewTerms) -> str:
    """What to do where no term occurs."""
    looked_for = [term for _, category in terms.terms for term in category]
    return (
        f"No text of '{column}' holds an identity term, so there is nothing to swap; looked for "
        f"{wording.listed(looked_for, _MAX_NAMED)}. Drop a list of your own terms below."
    )


def _show_examples(review: Review, column: str, terms: ReviewTerms, texts: Texts) -> None:
    """A few texts with their terms marked: first those that hold one."""
    shown = kept(
        "text_examples",
        (review.data_id, column, terms),
        lambda: marks.examples(texts.texts[:_N_LOOKED_AT], terms.terms, _N_SHOWN),
    )
    rows = "".join(f"<li>{marks.found_html(text, spans, _MAX_CHARACTERS)}</li>" for text, spans in shown)
    st.html(f'{marks.style()}<ul class="eh-list">{rows}</ul>')


# --- terms --------------------------------------------------------------------------------------


def _show_counts(counts: TermCounts, terms: ReviewTerms, n_texts: int) -> None:
    table = count_table(counts)
    figure = kept("term_counts", (counts, theme.is_dark()), lambda: count_chart(counts))
    with frame.wrapping("terms", is_wide=True):
        left, right = st.columns([3, 2], gap="large", vertical_alignment="center")
    with left:
        frame.chart_with_table(figure, lambda: table, key="term_counts_chart")
    with right:
        st.markdown("\n".join(f"- {line}" for line in counts_in_words(counts, terms, n_texts)))


def counts_in_words(counts: TermCounts, terms: ReviewTerms, n_texts: int) -> list[str]:
    """How many texts speak of whom, and what never occurs; safe in markdown."""
    share = counts.n_any / max(1, n_texts)
    lines = [
        f"**{wording.counted(counts.n_any, 'text')}** ({wording.share(share)}) "
        f"{'holds' if counts.n_any == 1 else 'hold'} an identity term."
    ]
    unseen = [term for name, category in terms.terms for term in category if not counts.by_term[name][term]]
    n_terms = sum(len(category) for _, category in terms.terms)
    if unseen:
        named = wording.markdown(wording.listed(unseen, _MAX_NAMED))
        lines.append(
            f"{wording.count(len(unseen))} of {wording.count(n_terms)} terms occur in no text ({named}); they are "
            "still put in the place of others."
        )
    lines.append("Words are looked for whole and in any case, the longest terms first.")
    return lines


def count_table(counts: TermCounts) -> pd.DataFrame:
    """One line a term, the most frequent first within its category."""
    import pandas as pd

    lines = [
        (category, term, n)
        for category, terms in counts.by_term.items()
        for term, n in sorted(terms.items(), key=lambda each: -each[1])
    ]
    return pd.DataFrame(lines, columns=["Category", "Term", "Texts"])


def count_chart(counts: TermCounts) -> Figure:
    """Texts that hold a term, by category, with the most frequent terms named."""
    names = list(counts.by_category)
    values = [counts.by_category[name] for name in names]
    bars = kit.bars(
        values,
        range(len(names)),
        hover="%{customdata[0]}: %{text} texts<br>%{customdata[1]}",
        colour=theme.PLAIN.colour,
        text=[wording.count(value) for value in values],
        customdata=[[wording.escaped(name), wording.escaped(_most_frequent(counts.by_term[name]))] for name in names],
    )
    x = kit.axis("Texts", tickformat=",d", nticks=5, range=[0, 1.12 * max(1, *values)])
    y = kit.rows([wording.escaped(name) for name in names])
    return kit.chart("Texts with an identity term", [bars], x, y, 110 + 38 * len(names))


def _most_frequent(terms: dict[str, int]) -> str:
    ranked = sorted((term for term in terms if terms[term]), key=lambda term: -terms[term])
    return ", ".join(f"{term} {wording.count(terms[term])}" for term in ranked[:5])
