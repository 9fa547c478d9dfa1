"""The groups in which a model discriminates: what to draw from, the picture, the ranked table, one group close up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.data.links.spelling import role_schema
from fairness_engine.explanation.where import leaf_of
from fairness_engine.explanation.where_tree import condition_rule, sentence
from fairness_engine.groups.rule_sets.phrases import conditions_of_rules
from fairness_engine.intervals import share_interval
from fairness_engine.model_process.questions import FindWhere
from fairness_engine.oracle.cohorts import joined
from fairness_engine.oracle.domain import Distribution, Domain
from fairness_engine.runs.kinds import SEARCH
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from pages.shared import exports, tables
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.pairs import filters as pair_filters
from pages.shared.pairs.card import Couple, couple_sentence, person_at, person_sentence
from pages.shared.pairs.filters import PairFilter
from pages.shared.people import case_ids, cohorts
from pages.shared.people.decisions import decisions_of
from pages.shared.review import questions
from pages.shared.runs import models, phrases
from pages.shared.runs.results import results_of
from pages.where import charts

if TYPE_CHECKING:
    from fairness_engine.explanation.where import Node, Where
    from fairness_engine.store.records import Review, RunRecord
    from pages.shared.people.cohorts import SavedGroup


@dataclass(frozen=True)
class FoundPairs:
    """The pairs of one search, by group: how many lie in each leaf."""

    run: RunRecord
    n: int
    n_by_leaf: Mapping[int, int]


def choose_pairs(review: Review, found: Where, group: SavedGroup | None = None) -> FoundPairs | None:
    """The pairs of the search that the address names, else of the newest with any; ``None`` without one.

    Args:
        review: the open one.
        found: what was learnt.
        group: whose pairs alone count; made by nothing that differs between the two people of a pair.
    """
    runs = [
        run
        for run in session.runs(review.id)
        if SEARCH.has(run.config) and run.n_found
        if (run.config.schema, run.config.scope) == (review.schema, review.scope)
    ]
    if not runs:
        return None
    ids = [run.id for run in runs]
    asked = session.current_run_id()
    at = ids.index(asked) if asked in ids else 0
    if len(runs) > 1:
        at = st.selectbox(
            "Pairs of",
            range(len(runs)),
            at,
            format_func=lambda i: (
                f"{models.title_of(review, runs[i])}, seed {runs[i].config.seed}: "
                f"{wording.counted(runs[i].n_found, 'pair')}"
            ),
            key=f"where_run_{review.id}_{len(runs)}",
            help="How the pairs that this search found are spread over the groups. It is no sample: it says nothing of "
            "how often.",
        )
    run = runs[at]
    domain, pairs = pair_filters.load(session.store(), run)
    if group is not None:
        pairs = pairs[np.flatnonzero(group.contains(domain.schema, pairs.first))]
    key = (run.id, len(pairs), repr(found.nodes), group and group.key)
    leaves = kept("where_pairs", key, lambda: leaf_of(found.nodes, domain.roles(pairs.first)))
    counted = np.unique(leaves, return_counts=True)
    return FoundPairs(run, len(pairs), dict(zip(*(part.tolist() for part in counted), strict=True)))


def offer_pairs(review: Review, domain: Domain, pairs: FoundPairs, node: Node, leaf: int) -> None:
    """A button to the Pairs page with the group's conditions as filters."""
    n = pairs.n_by_leaf.get(leaf, 0)
    title = phrases.run_title(pairs.run.config)
    if not n:
        st.markdown(wording.markdown(f"{title} found no pair in this group."))
        return
    part = f"{wording.counted(n, 'pair')} of the {wording.count(pairs.n)} that {title} found"
    label = "Show this pair" if n == 1 else f"Show these {wording.count(n)} pairs"
    with st.container(horizontal=True, vertical_alignment="center", key="where_show"):
        st.markdown(wording.markdown(f"{part} {'lies' if n == 1 else 'lie'} in this group."))
        if st.button(label, key="where_pairs", type="primary", icon=":material/arrow_forward:"):
            pair_filters.preset(review.id, domain, group_filter(domain, node))
            session.set_run(pairs.run.id)
            if "pair" in st.query_params:
                del st.query_params["pair"]
            session.go_to(navigation.PAIRS)


def group_filter(domain: Domain, node: Node) -> PairFilter:
    """The filter that lets the pairs of a group through, and no other."""
    names = domain.schema.names
    values = {names[c.column]: tuple(float(p) for p in c.positions) for c in node.conditions if c.positions}
    ranges = {names[c.column]: (c.low, c.high) for c in node.conditions if not c.positions}
    return PairFilter(values=values, ranges=ranges)


_ROWS = {Distribution.DATA: "rows of the data", Distribution.UNIFORM: "uniform rows"}
_SHORT_ROWS = {Distribution.DATA: "data rows", Distribution.UNIFORM: "uniform rows"}
_CHOICES = {Distribution.DATA: "Rows of the data", Distribution.UNIFORM: "Uniform rows"}
_DEPTHS = (1, 2, 3, 4, 5)
_DEPTH = 3


def draw(review: Review) -> None:
    """Controls, sentence, picture, table and the chosen group."""
    distribution, depth = _controls()
    asked, group = cohorts.narrowed_review(review, "where")
    found = questions.ask(
        questions.of_review(asked, "Groups need"),
        FindWhere(distribution, depth),
        "Testing rows with every protected value, and looking for what they have in common …",
    )
    assert asked.schema is not None
    assert asked.scope is not None
    scope = asked.scope
    domain = Domain(role_schema(asked.schema, scope.links), scope)  # groups are told by roles
    rows = rows_in_words(distribution, group)
    for text in summary(found, domain, rows):
        st.markdown(wording.markdown(text))
    if not found.root.n_hits:
        _say_what_next(found, rows)
        return
    key = f"where_{review.id}_{distribution.value}_{depth}_{found.root.n}{f'_{group.cohort.id}' if group else ''}"
    leaf = st.session_state.get(f"{key}_leaf", found.leaves[0])
    if len(found.leaves) > 1:
        _picture(found, domain, rows, key, leaf)
    pairs = choose_pairs(review, found, group)
    _table(found, domain, pairs, rows, key, leaf, group)
    if distribution is Distribution.DATA and group is None:
        _say_of_scan(review)
    rows_here = f"{rows} in this group" if group is None else f"{rows} and in this one"
    _group(review, found, domain, pairs, rows_here, leaf, group)


def _controls() -> tuple[Distribution, int]:
    with st.container(horizontal=True, gap="large", key="where_controls"):
        distribution = st.segmented_control(
            "Drawn from",
            list(_CHOICES),
            default=Distribution.DATA,
            required=True,
            format_func=_CHOICES.__getitem__,
            key="where_distribution",
            persist_state="session",
            help="Rows of the data are people as they come. Uniform rows reach every corner of the ranges, also people "
            "who are rare.",
        )
        depth = st.segmented_control(
            "Conditions in a row, at most",
            _DEPTHS,
            default=_DEPTH,
            required=True,
            key="where_depth",
            persist_state="session",
            help="More conditions make smaller and more exact groups.",
        )
    return Distribution(distribution), int(depth)


# --- words --------------------------------------------------------------------------------------


def rows_in_words(distribution: Distribution, group: SavedGroup | None = None) -> str:
    """What a percentage is of, not escaped; said with every one."""
    rows = _ROWS[distribution]
    return rows if group is None else f"{rows} in the group “{group.cohort.name}”"


def summary(found: Where, domain: Domain, rows: str) -> list[str]:
    """What was found, in plain sentences, not escaped; every share is of the rows that the groups were not learnt
    on.

    Args:
        found: what was learnt.
        domain: told by roles.
        rows: what a percentage is of.
    """
    root = found.root
    names = wording.changing(domain.scope)
    gap = domain.scope.score_gap
    changes = f"the score moves by more than {gap:g}" if gap > 0 else "the decision changes"
    if not root.n_hits:
        n_hits = root.n_learnt_hits
        n = root.n + root.n_learnt
        if n_hits:
            return [f"Too few to say where: {n_hits} of {wording.count(n)} {rows} tested are discriminatory."]
        bound = wording.share(share_interval(0, n)[1])
        return [
            f"None found among {wording.counted(n, 'row')} tested ({rows}): for nobody {changes} when nothing but "
            f"{names} changes. At 95 % confidence the share is below {bound}."
        ]
    share = wording.share(root.share or 0.0, *root.interval)
    texts = [f"{theme.DISCRIMINATORY.symbol} For {share} of {rows} {changes} when nothing but {names} changes."]
    if len(found.leaves) == 1:
        return [*texts, "No condition on the other attributes tells for whom: the share is much the same everywhere."]
    worst = found.nodes[found.leaves[0]]
    largest = (
        f"The largest share, {wording.share(worst.share or 0.0, *worst.interval)}, is where "
        f"{sentence(worst.conditions, domain)}."
    )
    n_flagged = len(found.flagged)
    if not n_flagged:
        return [*texts, f"No group lies clearly above that. {largest}"]
    hits, part = found.coverage
    lies, holds = ("lies", "it holds") if n_flagged == 1 else ("lie", "they hold")
    return [
        *texts,
        f"{wording.counted(n_flagged, 'group')} of {len(found.leaves)} {lies} clearly above that: {holds} "
        f"{wording.share(part)} of {rows} and {wording.share(hits)} of the discriminatory ones. {largest}",
    ]


def method_note(found: Where, rows: str) -> str:
    """How the figures came about; ``rows`` is what a percentage is of."""
    root = found.root
    leaves, one_answer = found.accuracy
    text = (
        f"A decision tree was learnt on {wording.counted(root.n_learnt, 'row')}; all figures are of "
        f"{wording.count(root.n)} others ({rows}). Taking each group by its majority is right about "
        f"{wording.share(leaves)} of them, one answer for everybody about {wording.share(one_answer)}. "
        f"{wording.counted(found.evaluations, 'row')} evaluated in {wording.duration(found.seconds)}."
    )
    if root.n + root.n_learnt < found.n_wanted:
        text += f" There was time for {wording.count(root.n + root.n_learnt)} of {wording.count(found.n_wanted)} rows."
    return text


def _say_what_next(found: Where, rows: str) -> None:
    if found.distribution is Distribution.DATA:
        st.markdown(
            "Uniform rows reach people whom the data do not have: choose them above. A search looks further still."
        )
    else:
        st.markdown("A search looks further: it goes on from what it finds.")
    st.caption(wording.markdown(method_note(found, rows)))
    session.link_to(navigation.PLAN, "Plan a search")
    session.link_to(navigation.SCOPE, "Change the scope")


def groups_of_scan(review: Review) -> list[str]:
    """Conditions of the groups that *Findings* tells of: those of the newest scan of the data in this scope."""
    scans = (
        run
        for run in session.runs(review.id)
        if SEARCH.has(run.config) and run.n_found and run.config.technique == DATA_SCAN
        if (run.config.schema, run.config.scope) == (review.schema, review.scope)
    )
    newest = next(scans, None)
    if newest is None:
        return []
    affected = results_of(newest).affected
    return [conditions_of_rules(newest.config.schema, one.rules) for one in affected.groups[1:]] if affected else []


def _say_of_scan(review: Review) -> None:
    """Two trees of different people name different groups, and both are right."""
    told = groups_of_scan(review)
    if not told:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="where_findings"):
        st.caption(
            wording.markdown(
                "Findings names the groups that hold most of those whom the data scan found: people with "
                f"{'; with '.join(told)}. Here another tree is learnt on other rows, and its groups are ranked by "
                "their share."
            )
        )
        session.link_to(navigation.FINDINGS, "See Findings")


# --- picture and table --------------------------------------------------------------------------


def _picture(found: Where, domain: Domain, rows: str, key: str, leaf: int) -> None:
    """The tree; a click on a group without parts opens it below."""

    def take(points: list[Mapping[str, Any]]) -> None:
        clicked = charts.clicked_leaf(found, points)
        if clicked is not None:
            st.session_state[f"{key}_leaf"] = clicked

    figure = kept(
        "where_tree",
        (key, leaf, theme.is_dark()),
        lambda: charts.tree_chart(found, domain, rows, leaf),
    )
    frame.chart(
        figure,
        f"{key}_tree_{leaf}",
        "Height is the number of rows, colour the share that is discriminatory, from none to the largest here; "
        f"hatched and {theme.DISCRIMINATORY.symbol}: clearly above everybody's share. The table has the same groups. "
        "Click on one to see it below.",
        said=" ".join(summary(found, domain, rows)),
        on_points=take,
    )


def _table(
    found: Where,
    domain: Domain,
    pairs: FoundPairs | None,
    rows: str,
    key: str,
    leaf: int,
    group: SavedGroup | None,
) -> None:
    """Groups by share, largest first; a click opens one."""
    n_by_leaf = pairs.n_by_leaf if pairs else None
    table = kept("where_table", (key, n_by_leaf), lambda: tables.arrow(charts.group_table(found, domain, n_by_leaf)))

    def take(row: int) -> None:
        st.session_state[f"{key}_leaf"] = found.leaves[row]

    columns = {
        "Group": st.column_config.TextColumn(
            width=64, help=f"{theme.DISCRIMINATORY.symbol} clearly above everybody's share: the whole interval is"
        ),
        "Conditions": st.column_config.TextColumn(width=364),
        charts.SHARE: st.column_config.NumberColumn(
            f"Share of {_SHORT_ROWS[found.distribution] if group is None else 'the group'}", format="%.1f %%", width=156
        ),
        charts.INTERVAL: st.column_config.TextColumn(width=128),
        "Rows": st.column_config.NumberColumn(width=64),
        charts.PART: st.column_config.NumberColumn(
            "Of all", format="%.0f %%", help="Of all discriminatory rows, the part in this group.", width=70
        ),
        charts.PAIRS: st.column_config.NumberColumn(width=96),
    }
    tables.choose_row(
        table,
        f"{key}_groups_{leaf}",
        take,
        [found.leaves.index(leaf)],
        row_height=66,  # above 64, long conditions go on in a second and third line
        column_config=columns,
    )
    with st.container(horizontal=True, vertical_alignment="center", key="where_note"):
        st.caption(wording.markdown(method_note(found, rows)))
        exports.offer_csv(
            "Save the groups as CSV",
            lambda: charts.groups_csv(
                found, domain, pairs.n_by_leaf if pairs else None, group.cohort.name if group else ""
            ),
            f"evenhand-where-{found.distribution.value}",
            "where_csv",
        )


# --- one group ----------------------------------------------------------------------------------


def _group(
    review: Review,
    found: Where,
    domain: Domain,
    pairs: FoundPairs | None,
    rows: str,
    leaf: int,
    group: SavedGroup | None,
) -> None:
    """The chosen group: its conditions in full, its share, its pairs; ``rows`` are those that its share is of."""
    node = found.nodes[leaf]
    rank = found.leaves.index(leaf) + 1
    st.header(f"Group {rank}", anchor=False)
    st.markdown(f"**{wording.markdown(sentence(node.conditions, domain, most=60))}**")
    if node.share is None:
        st.markdown("None of the rows that the shares are measured on lies in this group.")
    else:
        n_hits = wording.count(node.n_hits)
        n = wording.counted(node.n, "row")
        share = wording.share(node.share, *node.interval)
        text = f"{share} of {rows} are discriminatory: {n_hits} of {n}."
        st.markdown(wording.markdown(text[0].upper() + text[1:]))
    if pairs is not None:
        offer_pairs(review, domain, pairs, node, leaf)
    rules = [condition_rule(condition, domain) for condition in node.conditions]
    rules = joined(rules, group.rules if group else ())
    cohorts.offer_save(review, rules, "a group of Where", "where")
    _examples(review, found, leaf)


def _examples(review: Review, found: Where, leaf: int) -> None:
    """A few pairs of the group, as sentences."""
    from fairness_engine.explanation.where import leaf_of

    assert review.schema is not None
    assert review.scope is not None
    domain = Domain(review.schema, review.scope)
    names = decisions_of(review)
    examples = found.examples
    leaves = leaf_of(found.nodes, domain.roles(examples.first)).tolist()
    chosen = [i for i, at in enumerate(leaves) if at == leaf]
    if not chosen:
        return
    st.markdown("For example:")
    ids = case_ids.index_under(review, str(review.data_id), domain.schema, domain)
    for i in chosen:
        first = person_at(examples.first[i], examples.score_first[i], examples.decision_first[i])
        second = person_at(examples.second[i], examples.score_second[i], examples.decision_second[i])
        couple = Couple(domain, first, second, names)
        people = np.stack([first.row, second.row])
        cases = [] if ids is None else [f"Person {'AB'[side]} is {text}." for side, text in ids.by_side(people).items()]
        alike = "" if ids is None else ids.of_both(people)
        text = " ".join([couple_sentence(couple), person_sentence(couple, most=12), *cases, alike])
        st.markdown(f"- {wording.markdown(text)}")
