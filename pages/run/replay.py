"""A search that can be watched: whom it tested, in order, and who was found, on two attributes of choice.

While a search is at work it shows what has been found so far; afterwards it plays it again, at any speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Kind
from fairness_engine.errors import EvenhandError
from fairness_engine.explanation.where import leaf_of
from fairness_engine.explanation.where_tree import sentence
from fairness_engine.model_process.questions import FindWhere, Held
from fairness_engine.oracle.domain import Distribution
from fairness_engine.runs.writers.tested import read_tested, searched_domain, stored_tested_file
from pages.shared.app import wording
from pages.shared.app.kept import kept
from pages.shared.player import player
from pages.shared.review import questions
from pages.shared.runs import phrases

if TYPE_CHECKING:
    from fairness_engine.explanation.where import Where
    from fairness_engine.oracle.domain import Domain
    from fairness_engine.oracle.tested import TestedPeople
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.store import RunStore

MOST_STEPS = 60
_MOST_ARROWS = 60
"""Of a step; more are a thicket."""
_MOST_CELLS = 60
"""A range of more whole numbers is drawn as a line, not in cells."""
_SPREAD = 0.7
"""Of a cell: people of one value lie side by side in it."""
_WHERE_DEPTH = 3
_VERY_FAST = 3
_DOT = 0.7


@dataclass(frozen=True)
class Axis:
    """How a column is drawn.

    Args:
        column: its place in a row.
        told: as the player takes it.
        spread: how far people of one value lie apart.
    """

    column: int
    told: list[Any]
    spread: float


def draw(store: RunStore, records: Sequence[RunRecord]) -> None:
    """The player of a search, or of one of several that stand side by side; nothing where no sample was kept."""
    paths = {record.id: path for record in records if (path := stored_tested_file(store, record.id)) is not None}
    watched = [record for record in records if record.id in paths]
    if not watched:
        return
    st.header("Where it looks" if watched[0].is_active else "Where it looked", anchor=False)
    record = watched[0]
    if len(watched) > 1:
        titles = phrases.distinct_titles([each.config for each in watched])
        at = st.segmented_control(
            "Search",
            range(len(watched)),
            default=0,
            required=True,
            format_func=titles.__getitem__,
            key=f"replay_of_{watched[0].id}",
            label_visibility="collapsed",
        )
        record = watched[at or 0]
    path = paths[record.id]
    domain = searched_domain(record.config)
    stand = (record.id, path.stat().st_mtime_ns)
    try:
        people = kept("watched", stand, lambda: read_tested(path, record.config))
    except EvenhandError as error:
        st.caption(wording.markdown(str(error)))
        return
    if not len(people):
        return
    # in one order while it is at work: axes that change by themselves cannot be followed
    columns = kept("watched_columns", (record.id, record.is_active), lambda: most_telling(people, domain))
    if len(columns) < 2:
        columns = [*columns, *(i for i in range(domain.n_columns) if i not in columns)][:2]
    across, up, with_groups = _choices(domain, columns, record)
    where = _groups(record) if with_groups and not record.is_active else None
    key = (*stand, across, up, with_groups, record.state.value)
    recording = kept("watched_steps", key, lambda: recording_of(people, domain, (across, up), where))
    player(recording, name=f"{record.id}-{across}-{up}-{with_groups}", key="replay_player")
    st.caption(wording.markdown(_caption(people, record)))


def _choices(domain: Domain, columns: Sequence[int], record: RunRecord) -> tuple[int, int, bool]:
    names = domain.schema.names
    with st.container(horizontal=True, vertical_alignment="bottom", key="replay_axes"):
        across = st.selectbox(
            "Across", columns, 0, format_func=lambda i: names[i], key=f"replay_across_{record.id}", width=240
        )
        up = st.selectbox(
            "Up",
            columns,
            min(1, len(columns) - 1),
            format_func=lambda i: names[i],
            key=f"replay_up_{record.id}",
            width=240,
        )
        with_groups = not record.is_active and st.toggle(
            "Count by group",
            key=f"replay_groups_{record.id}",
            help="Beside the picture: how many were found in each of the groups that the Where page tells apart.",
        )
    return across, up, with_groups


def _groups(record: RunRecord) -> Where | None:
    config = record.config
    target = Held(config.data_id, config.model_id, config.schema, config.scope)
    try:
        return questions.ask(
            target,
            FindWhere(Distribution.DATA, _WHERE_DEPTH),
            "Testing rows with every protected value, and looking for what they have in common …",
        )
    except EvenhandError as error:
        st.caption(wording.markdown(str(error)))
        return None


def _caption(people: TestedPeople, record: RunRecord) -> str:
    of_others, of_found = people.strides.tolist()
    if of_others == of_found == 1:
        shown = "Everybody who was tested is shown"
    elif of_found >= of_others:
        shown = f"Shown is one of every {wording.count(of_found)} people tested, found or not"
    else:
        often = wording.count(of_others // of_found)
        shown = (
            f"Shown are {_one_of(of_found)} found and {_one_of(of_others)} tested but not found: people found are seen "
            f"{often} times as often as they are"
        )
    is_short = not record.is_active and people.totals[3] < record.n_found
    ended = f" The run ended before it could show the last {wording.count(record.n_found - people.totals[3])} found."
    return (
        f"{shown}, in the order of the search.{ended if is_short else ''} The lists of attributes begin with those in "
        "which people found differ most from the others. People of one value are spread a little, so that all are seen."
    )


def _one_of(stride: int) -> str:
    return "all who were" if stride == 1 else f"one of {wording.count(stride)} who were"


# --- what is drawn ------------------------------------------------------------------------------


def most_telling(people: TestedPeople, domain: Domain) -> list[int]:
    """The columns that are not protected and vary, those first in which people found and others differ most: by the
    largest difference of their shares below a value, or of categories by half the sum of the differences.
    """
    is_found = people.is_found == 1
    columns = [int(i) for i in domain.free if domain.high[i] > domain.low[i]]
    differences = []
    for column in columns:
        values, places = np.unique(people.rows[:, column], return_inverse=True)
        shares = [
            np.bincount(places[chosen], minlength=len(values)) / max(1, int(chosen.sum()))
            for chosen in (is_found, ~is_found)
        ]
        by_value = shares[0] - shares[1]
        is_ordered = domain.schema.inputs[column].kind is not Kind.CATEGORICAL
        difference = np.abs(np.cumsum(by_value)).max() if is_ordered else np.abs(by_value).sum() / 2
        differences.append(float(difference))
    return [columns[i] for i in np.argsort([-each for each in differences], kind="stable")]


def axis_of(domain: Domain, column: int) -> Axis:
    """A column as an axis: categories and few whole numbers in cells, anything else along a line."""
    low = float(domain.low[column])
    high = float(domain.high[column])
    described = domain.schema.inputs[column]
    if described.kind is Kind.CATEGORICAL:
        labels = list(described.labels[round(low) : round(high) + 1])
        return Axis(column, [described.name, low, high, {"labels": labels}], _SPREAD)
    if domain.step[column] == 1 and high - low < _MOST_CELLS:
        return Axis(column, [described.name, low, high], _SPREAD)
    return Axis(column, [described.name, low, high, {"hasCells": False}], 0.0)


def recording_of(
    people: TestedPeople, domain: Domain, columns: tuple[int, int], where: Where | None = None
) -> dict[str, Any]:
    """The steps of a search, as the player takes them.

    Args:
        people: whom it tested.
        domain: what they are rows of.
        columns: across and up.
        where: the groups to count those found by; ``None`` for none.
    """
    people = at_one_rate(people)
    axes = [axis_of(domain, column) for column in columns]
    aside = np.random.default_rng(0).random((len(people), 2)) - 0.5
    moved = np.cumsum(people.has_moved) - 1
    leaves = None if where is None else leaf_of(where.nodes, people.rows)
    n_tests = int(people.totals[0])
    edges = np.unique(np.rint(np.linspace(0, n_tests, min(MOST_STEPS, len(people)) + 1)).astype(int))
    places = np.searchsorted(people.test, edges, side="right")
    steps = [_first_step(axes, wording.changing(domain.scope))]
    for begin, end, first, last in zip(edges, edges[1:], places, places[1:], strict=False):
        some = np.arange(first, last)
        step = _step(people, (int(begin), int(end)), some)
        step["dots"] = _dots(people, axes, aside, some)
        step["arrows"] = _arrows(people, axes, aside, moved, some)
        if leaves is not None and where is not None:
            step["panel_title"], step["panel"] = _panel(people, domain, where, leaves, last, some)
        steps.append(step)
    return {
        "title": "The search, step by step",
        "planes": [""],
        "axes": [axis.told for axis in axes],
        "steps": steps,
        "speed": _VERY_FAST,
        "dot": _DOT,
        "beginsAtEnd": True,
        "hasLongLabels": True,
    }


def at_one_rate(people: TestedPeople) -> TestedPeople:
    """Of those not found no more than of those found, so that a dense place is one where many are found; where finds
    are rare all that are kept stay.
    """
    of_others, of_found = people.strides.tolist()
    if of_found <= of_others:
        return people
    stays = (people.is_found == 1) | ((people.test - 1) % of_found == 0)
    return replace(
        people,
        rows=people.rows[stays],
        is_found=people.is_found[stays],
        test=people.test[stays],
        phase=people.phase[stays],
        origins=people.origins[stays[people.has_moved == 1]],
        has_moved=people.has_moved[stays],
        strides=np.array([of_found, of_found]),
    )


def _first_step(axes: Sequence[Axis], changing: str) -> dict[str, Any]:
    across, up = (axis.told[0] for axis in axes)
    return {
        "says": f"Every point will be a person, by {across} and {up}; a triangle is one who is decided differently "
        f"when nothing but {changing} changes.",
        "phase": "before",
        "figures": {"Tested": "0", "Found": "0"},
        "progress": [0, 0],
    }


def _step(people: TestedPeople, tests: tuple[int, int], some: IntArray) -> dict[str, Any]:
    begin, end = tests
    n_found = _n_found(people, end)
    n_here = max(0, n_found - _n_found(people, begin))
    about = "" if people.strides[1] == 1 else "about "
    about_all = "" if end == people.totals[0] else about
    phase = people.phases[int(np.bincount(people.phase[some]).argmax())] if len(some) else ""
    found = "nobody" if not n_here else f"{about}{wording.count(n_here)}"
    return {
        "says": f"Of {wording.counted(end - begin, 'person', 'people')} tested here, {found} "
        f"{'is' if n_here in (0, 1) else 'are'} found; so far {wording.share(n_found / end)} of all tested.",
        "phase": phase,
        "figures": {"Tested": wording.count(end), "Found": f"{about_all}{wording.count(n_found)}"},
        "progress": [end, n_found],
    }


def _n_found(people: TestedPeople, test: int) -> int:
    """How many had been found by a test, as far as the sample tells; at the end, to the last one."""
    if test >= people.totals[0]:
        return int(people.totals[3])
    n = int((people.is_found[: np.searchsorted(people.test, test, side="right")] == 1).sum())
    return min(n * int(people.strides[1]), int(people.totals[3]))


def _places(rows: FloatArray, axes: Sequence[Axis], aside: FloatArray) -> list[list[float]]:
    values = np.stack([rows[:, axis.column] + axis.spread * aside[:, i] for i, axis in enumerate(axes)], axis=1)
    places: list[list[float]] = np.round(values, 2).tolist()
    return places


def _dots(people: TestedPeople, axes: Sequence[Axis], aside: FloatArray, some: IntArray) -> list[list[Any]]:
    places = _places(people.rows[some], axes, aside[some])
    kinds = ["found" if found else "tested" for found in people.is_found[some]]
    return [[0, *place, kind] for place, kind in zip(places, kinds, strict=True)]


def _arrows(
    people: TestedPeople, axes: Sequence[Axis], aside: FloatArray, moved: IntArray, some: IntArray
) -> list[list[Any]]:
    """From where they moved to them; what moved in neither of the two attributes has none."""
    chosen = some[people.has_moved[some] == 1]
    origins = people.origins[moved[chosen]]
    shown = [axis.column for axis in axes]
    differs = (origins[:, shown] != people.rows[chosen][:, shown]).any(axis=1)
    chosen = chosen[differs][:_MOST_ARROWS]
    begins = _places(origins[differs][:_MOST_ARROWS], axes, aside[chosen])
    ends = _places(people.rows[chosen], axes, aside[chosen])
    kinds = ["hit" if found else "miss" for found in people.is_found[chosen]]
    return [[0, *begin, *end, kind] for begin, end, kind in zip(begins, ends, kinds, strict=True)]


def _panel(
    people: TestedPeople, domain: Domain, where: Where, leaves: IntArray, last: int, some: IntArray
) -> tuple[str, list[list[Any]]]:
    """How many were found in each group so far, most first at the end; marked is where somebody was found just now."""
    found = people.is_found == 1
    stride = int(people.strides[1])
    at_end = {leaf: int((leaves[found] == leaf).sum()) for leaf in where.leaves}
    most = max(1, *at_end.values())
    so_far = leaves[:last][found[:last]]
    here = set(leaves[some][found[some]].tolist())
    lines = []
    for leaf in sorted(at_end, key=lambda leaf: -at_end[leaf]):
        n = int((so_far == leaf).sum())
        about = "" if stride == 1 or not n else "about "
        words = sentence(where.nodes[leaf].conditions, domain)
        lines.append([words, f"{about}{wording.count(n * stride)}", n / most, leaf in here])
    n_reached = len(set(so_far.tolist()))
    return f"Found in {n_reached} of {len(at_end)} groups", lines
