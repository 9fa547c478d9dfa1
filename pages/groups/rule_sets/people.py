"""The people of a group, below its card: what they get and everyone else gets, their rows, and the pairs that they are
in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.intervals import share_interval
from fairness_engine.model_process.questions import Scores
from fairness_engine.models.fit.decisions import Decisions, score_digits
from pages.pairs import group_pairs
from pages.shared import tables
from pages.shared.app import navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.people import group_link, group_rows
from pages.shared.people.decisions import decisions_of
from pages.shared.people.group_link import LinkedGroup
from pages.shared.people.group_rows import GroupRows
from pages.shared.review import kind
from pages.shared.review.questions import Answer

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.arrays import FloatArray, IntArray
    from fairness_engine.data.dataset import Dataset
    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import Review, RunRecord

MAX_ASKED = 10_000
"""Rows on either side that the model is asked about; of more, so many are drawn."""
_TABLE_HEIGHT = 330


@dataclass(frozen=True)
class Asked:
    """What the model said of rows of the data.

    Args:
        positions: of the rows, ascending ``(n_asked,)``.
        scores, decisions: ``(n_asked,)`` each.
        sides: positions of the rows to count, in the group and of everyone else; all of them, or so many drawn.
    """

    positions: IntArray
    scores: FloatArray
    decisions: IntArray
    sides: tuple[IntArray, IntArray]

    def of(self, positions: IntArray) -> tuple[FloatArray, IntArray]:
        """Scores and decisions of rows that were all asked about."""
        places = np.searchsorted(self.positions, positions)
        return self.scores[places], self.decisions[places]


def draw(review: Review, run: RunRecord, result: RuleResult, position: int) -> None:
    """Draw the people of one rule set.

    Args:
        review: the open one.
        run, result: of rule sets; texts have sentences instead, and nothing is drawn for them.
        position: of the rule set, from 0.
    """
    group = LinkedGroup(run, result, position)
    if group.is_of_texts:
        return
    try:
        found = group_rows.rows_of(review, group)
    except EvenhandError as error:
        st.caption(wording.markdown(error))
        return
    n = len(found.inside)
    n_all = len(found.inside) + len(found.others)
    st.markdown(
        f"**The people of this group**: {wording.counted(n, 'row')} of the data, {wording.share(n / max(n_all, 1))} "
        f"of {wording.count(n_all)}."
    )
    asked = _ask(review, group, found)
    _shares(review, found, asked)
    _table(review, group, found, asked)
    with st.container(key="group_pairs"):
        group_pairs.draw_counts(review, group)


# --- what the model says ------------------------------------------------------------------------


def _ask(review: Review, group: LinkedGroup, found: GroupRows) -> Asked | None:
    """The model's answers about the rows that are shown and counted; ``None`` without a model, or when it cannot
    answer.
    """
    config = group.run.config
    if not config.model_id or kind.is_without_model(review):
        return None
    rng = np.random.default_rng(config.seed)
    sides = _some(rng, found.inside), _some(rng, found.others)
    positions = np.unique(np.concatenate([*sides, found.inside[: group_rows.N_SHOWN]]))

    def ask() -> Asked | str:
        rows = found.dataset.rows[positions]
        try:
            with st.spinner("Asking the model about these rows …"):
                said = Answer.of(session.ask(config, Scores(rows)))
        except EvenhandError as error:
            return str(error)
        return Asked(positions, said.scores, said.decisions, sides)

    answer = kept("group_answers", (group.run.id, group.position, positions.tobytes()), ask)
    if isinstance(answer, str):
        st.caption(f"The model cannot be asked about these rows. {wording.markdown(answer)}")
        return None
    return answer


def _some(rng: np.random.Generator, positions: IntArray) -> IntArray:
    if len(positions) <= MAX_ASKED:
        return positions
    return np.sort(rng.choice(positions, MAX_ASKED, replace=False))


# --- shares -------------------------------------------------------------------------------------


def _shares(review: Review, found: GroupRows, asked: Asked | None) -> None:
    """What is decided, and what the data says, in the group and of everyone else."""
    lines = [*_model_lines(review, found, asked), *_label_lines(found)]
    if not lines:
        return
    titles = (" ", "In the group", "Everyone else")
    columns = zip(*lines, strict=True)
    table = {title: [wording.markdown(text) for text in texts] for title, texts in zip(titles, columns, strict=True)}
    st.table(table, border="horizontal")
    if asked is not None:
        st.caption(
            "These are the rows of the data as they stand. The shares of the rule set are of samples around them, so "
            "they may differ a little."
        )


def _model_lines(review: Review, found: GroupRows, asked: Asked | None) -> list[tuple[str, ...]]:
    """A line a decision of the model; with an interval where not all rows were asked about."""
    if asked is None:
        return []
    names = decisions_of(review)
    counts = [Counter(asked.of(side)[1].tolist()) for side in asked.sides]
    n_all = len(found.inside), len(found.others)
    return [
        (
            f"Model: {names.text(decision)}",
            *(_share_text(count[decision], count.total(), n) for count, n in zip(counts, n_all, strict=True)),
        )
        for decision in sorted(set().union(*counts), key=lambda decision: (decision != names.favourable, decision))
    ]


def _label_lines(found: GroupRows) -> list[tuple[str, ...]]:
    """A line an outcome of the label."""
    dataset = found.dataset
    if dataset.labels is None:
        return []
    names = Decisions(dataset.classes, dataset.favourable_class)
    sides = [Counter(dataset.labels[positions].tolist()) for positions in (found.inside, found.others)]
    return [
        (
            f"{dataset.schema.label}: {names.text(i)}",
            *(_share_text(side[i], side.total(), side.total()) for side in sides),
        )
        for i in sorted(range(len(dataset.classes)), key=lambda i: (i != names.favourable, i))
    ]


def _share_text(hits: int, n: int, n_all: int) -> str:
    """A share of the rows counted, with an interval where there are more."""
    if not n:
        return "no row"
    of = f"{wording.count(hits)} of {wording.count(n)}"
    if n < n_all:
        return f"{wording.share(hits / n, *share_interval(hits, n))}, {of} drawn"
    return f"{wording.share(hits / n)}, {of}"


# --- rows ---------------------------------------------------------------------------------------


def _table(review: Review, group: LinkedGroup, found: GroupRows, asked: Asked | None) -> None:
    """The first rows, a file with all of them, and a link to the Data page."""
    shown = found.inside[: group_rows.N_SHOWN]
    key = (group.run.id, group.position, found.dataset.source_hash, asked is None)
    table = kept("group_table", key, lambda: _frame(review, found.dataset, shown, asked))
    digits = 3 if asked is None or not len(shown) else score_digits([float(np.median(np.abs(asked.of(shown)[0])))])
    tables.show(
        table,
        height=tables.height(len(shown), _TABLE_HEIGHT),
        key=f"group_rows_{group.run.id}_{group.position}",
        column_config={
            group_rows.SCORE: st.column_config.NumberColumn(
                f"Score for {decisions_of(review).scored()}", format=f"%.{digits}f", help=wording.explain("score")
            )
        },
    )
    if len(shown) < len(found.inside):
        st.caption(
            f"The first {wording.count(len(shown))} of {wording.counted(len(found.inside), 'row')}; the file has all "
            "of them."
        )
    group_rows.say_columns(found.dataset)
    with st.container(horizontal=True, vertical_alignment="center", key="group_actions"):
        group_rows.offer_csv(group, found, "group_csv")
        group_link.link(navigation.DATA, "See them on the Data page", group.run.id, group.position)


def _frame(review: Review, dataset: Dataset, shown: IntArray, asked: Asked | None) -> pd.DataFrame:
    if asked is None:
        return group_rows.frame(dataset, shown, None, None)
    scores, decisions = asked.of(shown)
    names = decisions_of(review)
    return group_rows.frame(
        dataset, shown, [names.text(decision) for decision in decisions.tolist()], names.shown(scores)
    )
