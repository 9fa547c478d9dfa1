"""Every number of the annex: what it is, its interval, how it is known, and where in the store it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import Level
from fairness_engine.findings.groups import apart, certain_rule_sets
from fairness_engine.findings.people import technique_title
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.runs import kinds
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import count, listed, share

MAX_RULE_SETS = 20
MAX_GROUPS = 60
MAX_COLUMNS = 12
_MAX_WRITTEN = 10**15
"""Individuals that are written as a number; of more their number says nothing."""
LEAST_SHARE = 0.02
"""Of the rows, that a group of more than one attribute must have: there are many, and most are small."""


@dataclass(frozen=True)
class Number:
    """One number.

    Args:
        what: it is, in words.
        text: as it is printed, with its interval.
        value: as it is stored.
        run_id, place: the run, and where in its stored results: names and positions, joined by dots; ``run.n_found``
            is a column of the run itself, ``rule_sets.3.score`` is of its rule sets.
        n: what it rests on; ``None`` where that says nothing.
        level: of evidence.
    """

    what: str
    text: str
    value: float
    run_id: str
    place: str
    n: int | None
    level: Level


def numbers_of(store: RunStore, evidence: list[Evidence]) -> list[Number]:
    """All numbers of the runs that speak, in the runs' order."""
    return [number for one in evidence for number in _of_run(store, one)]


def _of_run(store: RunStore, one: Evidence) -> Iterator[Number]:
    config = one.run.config
    if kinds.SEARCH.has(config):
        yield from _of_search(one)
    elif kinds.ESTIMATE.has(config):
        yield from _of_estimate(one)
    elif kinds.COUNT.has(config):
        yield from _of_count(one)
    elif kinds.CERTIFY.has(config):
        yield from _of_proof(one)
    elif kinds.RULES.has(config):
        yield from _of_rules(store, one)
    elif kinds.FIGURES.has(config):
        yield from _of_figures(one)
    elif kinds.PROXIES.has(config):
        yield from _of_proxies(one)
    elif kinds.RETRAIN.has(config):
        yield from _of_retraining(one)


def _number(one: Evidence, level: Level, what: str, text: str, value: float, place: str, n: int | None) -> Number:
    return Number(what, text, value, one.run.id, place, n, level)


def _of_search(one: Evidence) -> Iterator[Number]:
    run = one.run
    name = technique_title(one)
    found = f"{name}: individuals found, of {count(run.n_tried)} tried"
    yield _number(one, Level.FOUND, found, count(run.n_found), run.n_found, "run.n_found", run.n_tried)
    measured = one.results.plausibility
    if measured is not None and measured.n_measured:
        what = f"{name}: pairs with a person who could not exist, of {count(measured.n_measured)} measured"
        n = measured.n_implausible
        yield _number(one, Level.FOUND, what, count(n), n, "plausibility.n_implausible", measured.n_measured)
    affected = one.results.affected
    if affected is not None and affected.n_affected:
        what = f"{name}: people of the data with {one.outcome}, of {count(affected.n_tried)} tested"
        yield _number(
            one,
            Level.FOUND,
            what,
            count(affected.n_affected),
            affected.n_affected,
            "affected.n_affected",
            affected.n_tried,
        )
    for i, group in enumerate(affected.groups if affected is not None and affected.is_of_data else []):
        whom = "people of the data" if not i else f"people of group {i}"
        what = f"{name}: {whom} with {one.outcome}, of {count(group.n)} held back from the choice of groups"
        place = f"affected.groups.{i}.n_hits"
        yield _number(one, Level.ESTIMATED, what, count(group.n_hits), group.n_hits, place, group.n)
        told = "as_they_are" if group.as_they_are else "alone"
        where = " as they are" if group.as_they_are else " at some values of the other protected attributes"
        where = where if len(group.alone) > 1 else ""
        for attribute, n in getattr(group, told).items():
            what = f"{name}: of {whom}, those for whom another {attribute} alone is enough{where}"
            place = f"affected.groups.{i}.{told}.{attribute}"
            yield _number(one, Level.FOUND, what, count(n), n, place, group.n_judged)


def _of_estimate(one: Evidence) -> Iterator[Number]:
    for name, whom in (("share", "individuals"), ("plausible_share", "individuals with two people who could exist")):
        found = getattr(one.results, name)
        if found is None:
            continue
        is_exact = found.low == found.high
        text = share(found.share) if is_exact else share(found.share, found.low, found.high)
        what = f"Estimate, {one.run.config.distribution.value}: {whom} with {one.outcome}"
        yield _number(
            one, Level.PROVED if is_exact else Level.ESTIMATED, what, text, found.share, f"{name}.share", found.n
        )


def _of_count(one: Evidence) -> Iterator[Number]:
    found = one.results.count
    if found is not None:
        what = f"Exact count: individuals with {one.outcome}"
        n = found.n_discriminatory
        yield _number(one, Level.PROVED, what, count(n), n, "count.n_discriminatory", found.n_individuals)


def _of_proof(one: Evidence) -> Iterator[Number]:
    found = one.results.certification
    if found is None:
        return
    individuals = found.n_individuals
    n_all = None if individuals is None or individuals >= _MAX_WRITTEN else int(individuals)
    for name in ("certified", "falsified", "undecided"):
        value = getattr(found, name)
        what = f"Certification: {name}"
        text = f"{100 * value:.6g} %"
        place = f"certification.{name}"
        yield _number(one, Level.PROVED, what, text, value, place, n_all)
    rows = found.data_rows
    for name in ("certified", "falsified", "undecided") if rows is not None and rows.n else ():
        n = getattr(rows, name)
        what = f"Certification: people of the data, {name}"
        yield _number(one, Level.PROVED, what, count(n), n, f"certification.data_rows.{name}", rows.n if rows else None)
    rest = found.estimate
    if rest is not None and rest.n:
        value = rest.unfair_share_of_undecided
        what = "Certification: of the undecided, with another decision"
        place = "certification.estimate.unfair_share_of_undecided"
        yield _number(one, Level.ESTIMATED, what, share(value, rest.low, rest.high), value, place, rest.n)


def rule_sets_of(store: RunStore, one: Evidence) -> tuple[RuleResult, list[int]]:
    """The rule sets of a run, and the positions of those that are printed: those of the findings, and the highest that
    are no near duplicate and leave enough people to be compared with.
    """
    result = stored_rules(store, one.run.id)
    own = [i for i, head in enumerate(result.scored.head.tolist()) if head in (i, -1)]
    most = (1 - LEAST_SHARE) * result.n_rows
    highest = [i for i in own if result.scored.n_rows[i] <= most][:MAX_RULE_SETS]
    return result, sorted({*highest, *apart(result, certain_rule_sets(result))})


def _of_rules(store: RunStore, one: Evidence) -> Iterator[Number]:
    result, positions = rule_sets_of(store, one)
    scored = result.scored
    for position in positions:
        score, low, high = (float(each[position]) for each in (scored.score, scored.low, scored.high))
        direction = "harmed" if scored.is_harmed[position] else "favoured"
        what = f"Rule set {position + 1}: {group_text(result, position)} ({direction}), difference of favourable shares"
        text = f"{100 * score:.1f} points ({100 * low:.1f} to {100 * high:.1f})"
        n = int(scored.n_inside[position] + scored.n_outside[position])
        yield _number(one, Level.RULE, what, text, score, f"rule_sets.{position}.score", n)


def _of_figures(one: Evidence) -> Iterator[Number]:
    figures = one.results.figures
    if figures is None:
        return
    for t, table in enumerate(figures.read().tables):
        least = LEAST_SHARE * sum(group.n_rows for group in table.groups) if len(table.attributes) > 1 else 0
        for g, group in enumerate(table.groups[:MAX_GROUPS]):
            rate = group.selection
            if not rate.n or group.n_rows < least:
                continue
            what = f"Favourable, {', '.join(table.attributes)}: {', '.join(group.labels)}"
            text = f"{count(rate.n_hits)}, {share(rate.share, rate.low, rate.high)}"
            place = f"figures.report.tables.{t}.groups.{g}.rates.0.0"
            yield _number(one, Level.ESTIMATED, what, text, rate.n_hits, place, rate.n)


def _of_proxies(one: Evidence) -> Iterator[Number]:
    found = one.results.proxies
    n_incomplete = found.n_incomplete if found is not None else 0
    for a, told in enumerate(found.attributes if found is not None else ()):
        figures = [("all other columns together tell", told.together, f"proxies.attributes.{a}.together.value")]
        figures += [
            (f"{each.column} tells", each.tells, f"proxies.attributes.{a}.columns.{c}.tells.value")
            for c, each in enumerate(told.columns[:MAX_COLUMNS])
        ]
        for name, figure, place in figures:
            text = f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})"
            what = f"How well {name} {told.protected} ({told.measure.value.upper()})"
            yield _number(one, Level.ESTIMATED, what, text, figure.value, place, told.n_held_out)
        for d, each in enumerate(told.differences):
            n = each.n_group + each.n_reference
            is_of_all = one.run.config.model_id is None or not n_incomplete  # a model is asked of complete people
            kinds_of = (
                ("as it is", each.raw, "raw", n),
                ("all other columns held", each.held, "held", n if is_of_all else None),
                (f"{listed(told.strongest)} alone held", each.held_strongest, "held_strongest", n),
            )
            for name, held, place, n_of in kinds_of:
                if held is not None:
                    what = f"{told.protected}: {each.group} less {each.reference}, {name}"
                    text = f"{100 * held.value:+.1f} points ({100 * held.low:+.1f} to {100 * held.high:+.1f})"
                    where = f"proxies.attributes.{a}.differences.{d}.{place}.value"
                    yield _number(one, Level.ESTIMATED, what, text, held.value, where, n_of)


def _of_retraining(one: Evidence) -> Iterator[Number]:
    results = one.results
    for name, model in (("before", results.before), ("after", results.after)):
        if model is None:
            continue
        right = model.quality.accuracy
        held = model.data
        what = f"Retraining, {name}: accuracy on held-out rows"
        text = share(right.value, right.low, right.high)
        yield _number(one, Level.ESTIMATED, what, text, right.value, f"{name}.quality.accuracy.value", model.quality.n)
        what = f"Retraining, {name}: held-out people with {one.outcome}"
        text = share(held.share, held.low, held.high)
        yield _number(one, Level.ESTIMATED, what, text, held.share, f"{name}.data.share", held.n)
