"""Cards of groups: rule sets, identity terms, and classical group figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairness_engine.data.recorded import Source
from fairness_engine.errors import RunError
from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import Action, Figure, Finding, Level, Place, Subject, Tried
from fairness_engine.groups.figures.figures import with_least_share
from fairness_engine.groups.figures.report import (
    FOUR_FIFTHS,
    LEAST_SHARE,
    Bounded,
    FigureVerdict,
    GroupRates,
    GroupTable,
    verdict_of,
)
from fairness_engine.groups.figures.significance import against_best
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import (
    categories,
    group_text,
    interval_text,
    key_words,
    sentence,
)
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.runs.kinds import FIGURES, RULES
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import count, counted, listed, share

MAX_RULE_CARDS = 3
MAX_FIGURE_CARDS = 3
LEAST_DIFFERENCE = 0.02
"""Of favourable shares that makes a card: with many rows, or with exact counts, every trifle is certain."""


def rule_cards(
    store: RunStore, runs: list[Evidence], favourable: str, ignored: frozenset[str]
) -> tuple[list[Finding], list[Tried]]:
    """The groups that fare worse for certain, of the newest run of each choice of attributes; what found none. A group
    by attributes that no decision depends on differs through other columns: it claims nothing of the model.

    Args:
        ignored: attributes of which it is known that no decision about the data's people depends on them.
    """
    cards: list[Finding] = []
    tried: list[Tried] = []
    seen = set()
    for one in runs:
        settings = RULES.settings(one.run.config)
        asked = (one.scope.protected, settings.source, settings.predictions, settings.text_column)
        if asked in seen:
            continue
        seen.add(asked)
        try:
            result = stored_rules(store, one.run.id)
        except RunError:
            continue
        certain = certain_rule_sets(result)
        if not certain:
            tried.append(_no_rule(one, result))
        elif settings.source is Source.MODEL and set(one.scope.protected) <= ignored:
            tried.append(_through_others(one, result, certain[0], favourable))
        else:
            cards += [_rule_card(one, result, position, favourable) for position in apart(result, certain)]
    return cards, tried


def certain_rule_sets(result: RuleResult) -> list[int]:
    """Positions of the groups that fare worse for certain, the highest first."""
    scored = result.scored
    is_own = (scored.head == np.arange(len(scored))) | (scored.head < 0)
    is_certain = is_own & scored.is_harmed & (scored.low >= LEAST_DIFFERENCE) & (scored.is_rest == 0)
    found: list[int] = np.flatnonzero(is_certain).tolist()
    return found


def apart(result: RuleResult, positions: list[int]) -> list[int]:
    """A few of the highest rule sets, without those that hold, or are held by, one before: they say less of the same
    people.
    """
    chosen: list[int] = []
    for position in positions:
        if len(chosen) < MAX_RULE_CARDS and not any(_is_nested(result, position, other) for other in chosen):
            chosen.append(position)
    return chosen


def _is_nested(result: RuleResult, one: int, other: int) -> bool:
    values = [[_values(result, position, i) for i in range(len(result.attributes))] for position in (one, other)]
    pairs = list(zip(*values, strict=True))
    return all(a <= b for a, b in pairs) or all(b <= a for a, b in pairs)


def _values(result: RuleResult, position: int, i: int) -> set[int]:
    rule = int(result.scored.rules[position, i])
    attribute = result.attributes[i]
    return set(range(attribute.n_values)) if rule == NO_RULE else set(attribute.values_of(rule).tolist())


def _through_others(one: Evidence, result: RuleResult, position: int, favourable: str) -> Tried:
    points = interval_text(result, position)
    said = f"The largest difference of this run: {sentence(result, position, favourable)}, {points}."
    return Tried(
        "Rule sets of attributes that no decision depends on",
        said,
        "Groups fare differently through other columns, which their people differ in.",
        f"That the model decides by {one.protected}: no person of the data gets another decision with another value.",
        (one.run.id,),
        Level.RULE,
    )


def _rule_card(one: Evidence, result: RuleResult, position: int, favourable: str) -> Finding:
    scored = result.scored
    settings = RULES.settings(one.run.config)
    who = group_text(result, position)
    is_of_texts = bool(settings.text_column)
    people = "texts" if is_of_texts else "rows"
    n_rows = int(scored.n_rows[position])
    score, low, high = (float(each[position]) for each in (scored.score, scored.low, scored.high))
    joint = f"the interval holds for all {counted(len(scored), 'group')} tried together" if len(scored) > 1 else ""
    said = f"{_capital(sentence(result, position, favourable))}. "
    said += f"The difference is {interval_text(result, position)}{f'; {joint}' if joint and low != high else ''}."
    part = f"{count(n_rows)} of the {count(result.n_rows)} {people}"
    facts = [f"{part} are in this group ({share(n_rows / result.n_rows)})."]
    if is_of_texts:
        facts = [f"{part} ({share(n_rows / result.n_rows)}) hold a term of {listed(categories(result, position))}."]
    if settings.source is Source.LABELS:
        facts.append(f"Decided by the column '{settings.predictions or one.run.config.schema.label}', not by a model.")
    elif is_of_texts:
        facts.append(
            f"Shares are of {count(int(scored.n_inside[position]))} texts with this one in its place, and "
            f"{count(int(scored.n_outside[position]))} with others."
        )
    else:
        facts.append(
            f"Shares are of {count(int(scored.n_inside[position]))} samples inside and "
            f"{count(int(scored.n_outside[position]))} outside: rows with another attribute moved by a unit. The rates "
            "of the rows as they stand, as group figures have them, may differ."
        )
    n = int(scored.n_inside[position] + scored.n_outside[position])
    return Finding(
        key=f"rule|{key_words(who)}",
        subject=Subject.GROUP,
        level=Level.RULE,
        title=f"{_capital(who)}: {100 * score:.1f} points less often {favourable}",
        sentence=said,
        n=n,
        population=f"{people} of the data" if n == result.n_rows else f"samples of the data's {people}",
        run_ids=(one.run.id,),
        action=Action(Place.GROUPS, one.run.id, "See the group", position + 1),
        figure=Figure(score, low, high),
        facts=tuple(facts),
        weight=score * n_rows / result.n_rows,
    )


def _no_rule(one: Evidence, result: RuleResult) -> Tried:
    settings = RULES.settings(one.run.config)
    n = counted(len(result.scored), "group")
    least = share(settings.support)
    return Tried(
        "Rule sets",
        f"{n} of {least} of the {'texts' if settings.text_column else 'rows'} or more, on {one.protected}.",
        f"No group whose favourable share is lower by {100 * LEAST_DIFFERENCE:g} points or more for certain.",
        f"Anything of smaller groups, differences inside the intervals, or other attributes than {one.protected}.",
        (one.run.id,),
        Level.RULE,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- group figures ------------------------------------------------------------------------------


def figure_cards(
    runs: list[Evidence], favourable: str, ignored: frozenset[str], least_share: float = LEAST_SHARE
) -> tuple[list[Finding], list[Tried]]:
    """The tables that are flagged, each by its surest group; those of attributes that no decision depends on claim
    nothing of the model, and are told apart, as are groups that are too small to be compared.

    Args:
        ignored: as for ``rule_cards``.
        least_share: of the rows, from which on a group is compared, 0 to 1.
    """
    cards: dict[tuple[object, ...], Finding] = {}
    tried: list[Tried] = []
    for one in runs[:1] + [run for run in runs[1:] if _source(run) != _source(runs[0])]:
        if one.results.figures is None:
            continue
        figures = with_least_share(one.results.figures.read(), least_share)
        flagged = [table for table in figures.tables if table.verdict is FigureVerdict.FLAG]
        claims = [table for table in flagged if _source(one) is Source.LABELS or not set(table.attributes) <= ignored]
        for table in sorted(claims, key=lambda table: len(table.attributes))[:MAX_FIGURE_CARDS]:
            cards.setdefault((table.attributes, _source(one)), _figure_card(one, table, favourable, least_share))
        tried += _unsettled(one, figures.n_rows, claims)
        rest = [table for table in figures.tables if table not in claims]
        if not claims or len(rest) < len(figures.tables):
            tried += _unflagged(one, figures.n_rows, rest, [table for table in flagged if table not in claims])
        tried += _too_small(one, figures.tables, favourable, least_share)
    return list(cards.values()), tried


def _source(one: Evidence) -> Source:
    return FIGURES.settings(one.run.config).source


def _worst(table: GroupTable) -> tuple[GroupRates, Bounded]:
    """The group whose impact ratio lies below four fifths for surest."""
    flagged = [(g, g.impact) for g in table.groups if g.impact is not None and g.verdict is FigureVerdict.FLAG]
    return min(flagged, key=lambda each: each[1].high)


def group_name(table: GroupTable, group: GroupRates) -> str:
    """``Female, Black``; a range says of what: ``age 18 to 29``."""
    named = zip(table.attributes, group.labels, strict=True)
    return ", ".join(f"{name} {label}" if label[:1].isdigit() else label for name, label in named)


def _figure_card(one: Evidence, table: GroupTable, favourable: str, least_share: float) -> Finding:
    group, impact = _worst(table)
    best = table.most_favoured
    assert best is not None, "a flagged table has one"
    own, other = group.selection, best.selection
    names = group_name(table, group), group_name(table, best)
    said = _capital(
        f"{names[0]}: {share(own.share, own.low, own.high)} get {favourable} ({count(own.n_hits)} of "
        f"{count(own.n)}), {names[1]}: {share(other.share, other.low, other.high)} ({count(other.n_hits)} "
        f"of {count(other.n)}). Impact ratio {impact.value:.2f} ({impact.low:.2f} to {impact.high:.2f}): all of the "
        f"interval lies below {FOUR_FIFTHS:g}, a convention and no law."
    )
    facts = []
    tested = against_best(table, group)
    if tested is not None:
        p = "below 0.001" if tested[0] < 0.001 else f"{tested[0]:.3f}"
        facts.append(
            f"Fisher's exact test: p {p}; {counted(tested[1], 'decision')} would have to be different to reach "
            f"{FOUR_FIFTHS:g}."
        )
    n_flagged = sum(each.verdict is FigureVerdict.FLAG for each in table.groups)
    if n_flagged > 1:
        of = "groups that are compared" if table.small else "groups"
        facts.append(f"{n_flagged} of {len(table.compared)} {of} lie below it for certain.")
    if table.small:
        least = f"{100 * least_share:g} %"
        facts.append(f"Not compared, with under {least} of the rows, and how many get it: {_small_of(table)}.")
    if table.n_unknown:
        facts.append(f"{counted(table.n_unknown, 'row')} have no known {listed(table.attributes)} and are left out.")
    whose = "as the data has it" if _source(one) is Source.LABELS else "as the model decides"
    return Finding(
        key=f"figures|{','.join(table.attributes)}|{_source(one).value}",
        subject=Subject.FIGURES,
        level=Level.ESTIMATED,
        title=f"Impact ratio {impact.value:.2f}: {names[0]} against {names[1]}",
        sentence=said,
        n=own.n + other.n,
        population=f"rows of the data, {whose}",
        run_ids=(one.run.id,),
        action=Action(
            Place.FIGURES,
            one.run.id,
            "See the figures",
            attributes=tuple(table.attributes),
            source=_source(one).value,
        ),
        figure=Figure(impact.value, impact.low, impact.high),
        facts=tuple(facts),
        weight=(1.0 - impact.value) / len(table.attributes),
    )


def _unsettled(one: Evidence, n_rows: int, claims: list[GroupTable]) -> list[Tried]:
    """Groups beside those that are told, whose ratio lies below four fifths, too, and not for certain."""
    below = _below(claims)
    if not below:
        return []
    return [
        Tried(
            "Group figures that are not settled",
            f"Groups by {_names_of(claims)}, {counted(n_rows, 'row')}, beside those that the findings tell of.",
            f"Below four fifths, with intervals that reach above them: {listed(below, most=6)}.",
            "Whether they lie below: more rows would settle it.",
            (one.run.id,),
            Level.ESTIMATED,
        )
    ]


def _names_of(tables: list[GroupTable]) -> str:
    return listed([" and ".join(table.attributes) for table in tables])


def _below(tables: list[GroupTable]) -> list[str]:
    """Groups that are compared whose impact ratio lies below four fifths, and not for certain."""
    return [
        f"{group_name(table, group)} ({impact.value:.2f})"
        for table in tables
        for group in table.compared
        if (impact := group.impact) is not None
        and impact.value < FOUR_FIFTHS
        and group.verdict is not FigureVerdict.FLAG
    ]


def _unflagged(one: Evidence, n_rows: int, tables: list[GroupTable], through_others: list[GroupTable]) -> list[Tried]:
    tried = []
    quiet = [table for table in tables if table not in through_others]
    if quiet:
        names = _names_of(quiet)
        passed = [" and ".join(table.attributes) for table in quiet if table.verdict is FigureVerdict.PASS]
        if len(passed) == len(quiet):
            shows = "Every group that is compared reaches four fifths for certain."
        else:
            shows = "No impact ratio of a group that is compared lies below four fifths for certain"
            shows += f"; all of {listed(passed)} reach them for certain." if passed else "."
            below = _below(quiet)
            shows += f" Not settled: {listed(below, most=6)}, whose intervals reach above them." if below else ""
        n_small = sum(len(table.small) for table in quiet)
        if n_small:
            shows += f" {counted(n_small, 'group')} {'is' if n_small == 1 else 'are'} too small to be compared."
        tried.append(
            Tried(
                "Group figures",
                f"Groups by {names}, {counted(n_rows, 'row')}.",
                shows,
                "That groups are treated alike: small groups settle nothing, and a rate says nothing of individuals.",
                (one.run.id,),
                Level.ESTIMATED,
            )
        )
    if through_others:
        worst = [(table, *_worst(table)) for table in through_others]
        names = listed([f"{group_name(table, group)} ({impact.value:.2f})" for table, group, impact in worst])
        tried.append(
            Tried(
                "Group figures of attributes that no decision depends on",
                f"Impact ratios below four fifths for certain: {names}.",
                "Groups fare differently through other columns, which their people differ in.",
                "That the model decides by them: no person of the data gets another decision with another value.",
                (one.run.id,),
                Level.ESTIMATED,
            )
        )
    return tried


def left_out(tables: Sequence[GroupTable]) -> list[str]:
    """The groups of each table that are too small to be compared, and how many of them get the favourable outcome;
    nothing of a table that has none.
    """
    return [f"by {' and '.join(table.attributes)} {_small_of(table)}" for table in tables if table.small]


def _small_of(table: GroupTable) -> str:
    named = [
        f"{group_name(table, group)} ({count(group.selection.n_hits)} of {count(group.n_rows)})"
        for group in table.small
    ]
    return listed(named, most=6)


def _too_small(one: Evidence, tables: Sequence[GroupTable], favourable: str, least_share: float) -> list[Tried]:
    """Groups that are not compared, so that nobody vanishes by being few."""
    said = left_out(tables)
    if not said:
        return []
    below = [
        f"{group_name(table, group)} ({impact.value:.2f}, {impact.low:.2f} to {impact.high:.2f})"
        for table in tables
        for group in table.small
        if (impact := group.impact) is not None and verdict_of(impact) is FigureVerdict.FLAG
    ]
    shows = "So few are no measure for others, and no part of a verdict or a finding."
    if below:
        shows += f" Their own intervals lie below four fifths all the same: {listed(below, most=6)}."
    return [
        Tried(
            "Groups that are left out of the ratios",
            f"Groups with under {100 * least_share:g} % of the rows each, and how many of them get {favourable}: "
            f"{'; '.join(said)}.",
            shows,
            "That these people fare as others do: where a group is small, look at its people one by one.",
            (one.run.id,),
            Level.ESTIMATED,
        )
    ]
