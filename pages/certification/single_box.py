"""Boxes that were certified once more on their own, and the whole with what they added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.certification.partition.phrases import box_limits
from fairness_engine.runs.kinds import CERTIFY
from pages.certification import comparison, form
from pages.certification.boxes import row_pixels
from pages.certification.tree import ReadTree, find_box, shares_in
from pages.shared import tables
from pages.shared.app import navigation, session, theme, wording
from pages.shared.members import controls
from pages.shared.runs import certification_runs, phrases
from pages.shared.runs.certification_phrases import Shares
from pages.shared.runs.live import stop_button

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.store.records import Review, RunRecord


@dataclass(frozen=True)
class Alone:
    """One box of a tree, certified on its own.

    Args:
        box: which box.
        run: the certification of its limits.
        shares: what it has proved, of the box's individuals; ``None`` before its first report.
    """

    box: int
    run: RunRecord
    shares: Shares | None


def of_tree(read: ReadTree, run: RunRecord, others: Sequence[RunRecord]) -> list[Alone]:
    """The certifications among others that are of exactly one box of a tree, the newest first."""
    found = []
    for other in others:
        limits = other.config.scope.limits
        if other.id == run.id or limits == run.config.scope.limits:
            continue
        if not certification_runs.asks_the_same(other.config, run.config) or not _is_narrower(run, other):
            continue
        box = find_box(read, limits)
        if box is not None and box > 0:
            found.append(Alone(box, other, certification_runs.shares_of(other)))
    return found


def _is_narrower(run: RunRecord, other: RunRecord) -> bool:
    """Whether every limit of a run holds in the other one too; a column it does not limit may be limited there."""
    limits = other.config.scope.limits
    return all(
        name in limits and low <= limits[name][0] and limits[name][1] <= high
        for name, (low, high) in run.config.scope.limits.items()
    )


def is_exact(run: RunRecord) -> bool:
    """Whether a box's shares can be put into the whole: with the data's weights the box alone has weights of its
    own.
    """
    return CERTIFY.settings(run.config).weights is Weights.UNIFORM


def whole_with(read: ReadTree, alone: Sequence[Alone]) -> Shares:
    """The shares of the whole with what boxes on their own proved beyond it.

    Both proofs of a box hold, so the larger certified and the larger falsified part stand; a box inside another one
    counts once, where it adds more.
    """
    tree = read.tree
    gains: dict[int, tuple[float, float]] = {}
    for each in alone:
        if each.shares is None:
            continue
        weight = float(tree.weight[each.box])
        gain = (
            max(0.0, weight * each.shares.certified - float(tree.certified[each.box])),
            max(0.0, weight * each.shares.falsified - float(tree.falsified[each.box])),
        )
        gains[each.box] = max(gain, gains.get(each.box, (0.0, 0.0)), key=sum)
    for box in sorted(gains, reverse=True):  # pre-order: what lies inside a box stands behind it
        inside = [other for other in gains if other > box and _lies_in(read, other, box)]
        within = tuple(sum(gains[other][i] for other in inside) for i in (0, 1))
        if sum(within) > sum(gains[box]):
            del gains[box]
        else:
            for other in inside:
                del gains[other]
    certified = float(tree.certified[0]) + sum(gain[0] for gain in gains.values())
    falsified = float(tree.falsified[0]) + sum(gain[1] for gain in gains.values())
    return Shares.of(certified, falsified)


def _lies_in(read: ReadTree, box: int, whole: int) -> bool:
    at = int(read.parents[box])
    while at > whole:
        at = int(read.parents[at])
    return at == whole


# --- drawing ------------------------------------------------------------------------------------


def offer(review: Review, run: RunRecord, read: ReadTree, box: int, alone: Sequence[Alone]) -> None:
    """The button that spends another minute on one box."""
    mine = [each for each in alone if each.box == box]
    if box == 0:
        st.caption("This is everybody. Certify again above for longer, or choose a box.")
        return
    if any(each.run.is_active for each in mine):
        st.caption("This box is being certified on its own, see below.")
        return
    label = "Spend another minute on this box" if not mine else "Spend another minute on this box again"
    if controls.button(label, key="certify_box", type="primary", icon=":material/more_time:"):
        config = form.box_config(run, box_limits(read.columns, *read.box(box)))
        session.set_run(run.id)  # the whole stays open: the box is shown under it
        session.start_runs(review, [config])
        st.rerun(scope="app")


def draw(review: Review, run: RunRecord, read: ReadTree, planned: Sequence[Alone], *, is_followed: bool) -> None:
    """Every box on its own, and the whole with all of them; drawn again every second while one is at work.

    Args:
        review, run, read: what is shown.
        planned: the boxes as they stood when the page was drawn.
        is_followed: this is drawn again by itself; once all have ended, the page is rerun to end that.
    """
    alone = planned
    if is_followed:
        session.start_waiting()
        alone = of_tree(read, run, certification_runs.certifications(review))
    if is_followed and not any(each.run.is_active for each in alone):
        st.rerun()
    with st.container(key="alone"):
        _draw_all(run, read, alone)


def _draw_all(run: RunRecord, read: ReadTree, alone: Sequence[Alone]) -> None:
    st.header("Boxes on their own", anchor=False)
    lines = table(read, alone)
    row = tables.clicked_row(
        lines,
        f"alone_{run.id}_{len(alone)}",
        row_height=row_pixels(lines["Box"].tolist()),
        column_config={"Box": st.column_config.TextColumn(width=300)},
    )
    stop_button([each.run for each in alone], "stop_alone", "what is proved")
    _say_whole(run, read, alone)
    if row is not None:
        query = session.address_of(run=alone[row].run.id)
        label = "Open the certification of this box"
        session.page_link(navigation.CERTIFY, label, query)


def _say_whole(run: RunRecord, read: ReadTree, alone: Sequence[Alone]) -> None:
    if not is_exact(run):
        st.caption(
            "Shares weighed by the data's people: a box alone has weights of its own, so it is not put into the whole."
        )
        return
    before = Shares.of(float(read.tree.certified[0]), float(read.tree.falsified[0]))
    after = whole_with(read, alone)
    if after == before:
        st.caption("So far the boxes on their own prove no more than the whole did.")
        return
    gains = [100 * (getattr(after, name) - getattr(before, name)) for name in ("certified", "falsified")]
    added = ", ".join(
        f"{meaning.symbol} {comparison.points_text(gain).lstrip('+')} points {name}"
        for meaning, name, gain in (
            (theme.CERTIFIED, "certified", gains[0]),
            (theme.DISCRIMINATORY, "falsified", gains[1]),
        )
        if gain > 0
    )
    st.markdown(
        f"**Proved**, the whole with these boxes: {wording.markdown(after.sentence)}. They add "
        f"{wording.markdown(added)}."
    )


def table(read: ReadTree, alone: Sequence[Alone]) -> pd.DataFrame:
    """One line a box: what the whole proved of it, and what it proves alone."""
    import pandas as pd

    lines = []
    for each in alone:
        weight, parts = shares_in(read, each.box)
        before = Shares.of(parts[0], parts[1])
        now = (wording.DASH,) * 3 if each.shares is None else each.shares.texts
        lines.append(
            {
                "Box": read.words(each.box),
                "Share of all": wording.bounded_share(weight),
                "Undecided in the whole": before.texts[2],
                "✓ Certified alone": now[0],
                "▲ Falsified alone": now[1],
                "? Undecided alone": now[2],
                "State": phrases.state_text(each.run),
                "Took": wording.duration(each.run.seconds),
            }
        )
    return pd.DataFrame(lines)


def shares_of_boxes(alone: Sequence[Alone]) -> Mapping[int, Shares]:
    """What is proved of boxes on their own, the best of each."""
    found: dict[int, Shares] = {}
    for each in alone:
        if each.shares is not None and (each.box not in found or each.shares.undecided < found[each.box].undecided):
            found[each.box] = each.shares
    return found
