"""All that a review's runs say, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from fairness_engine.data.schema import Schema
from fairness_engine.findings import evidence, groups, people, proxies, shares
from fairness_engine.findings.evidence import Sorted, sort_runs
from fairness_engine.findings.finding import (
    MAX_CARDS,
    OF_ANOTHER_SCOPE,
    Action,
    Evidence,
    Figure,
    Finding,
    Findings,
    Level,
    Place,
    Subject,
    Tried,
)
from fairness_engine.groups.figures.report import LEAST_SHARE
from fairness_engine.groups.rule_sets.phrases import conditions_of_rules
from fairness_engine.oracle.cohorts import rules_of_limits
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.results import Retrained
from fairness_engine.runs.kinds import CERTIFY, COUNT, ESTIMATE, FIGURES, PROXIES, RETRAIN, RULES, SEARCH
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from fairness_engine.store.records import Review, RunRecord, VersionState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import listed, share

_ORDER = list(Subject)
_CLAIMS = {"yes", "no", "true", "false", "0", "1"}
"""Outcomes that say nothing without the name of the label."""


def findings_of(
    store: RunStore, review: Review, runs: Iterable[RunRecord] | None = None, least_share: float = LEAST_SHARE
) -> Findings:
    """Read what the runs of a review left, and put it into cards.

    Cards come by what they are about (see ``Subject``), among equals those that concern most first: an order of numbers
    alone would change with every seed.

    Args:
        store, review: whose.
        runs: of it; read from the store where none are given.
        least_share: of the rows, from which on a group is compared with others, 0 to 1.
    """
    known = sort_runs(store, review, runs)
    ignored = ignored_by(review, known)
    cards: list[Finding] = []
    tried: list[Tried] = []
    for part in _by_scope(review, known):
        more, more_tried = _read(store, review, part, ignored, least_share)
        if part.current and not _is_asked(review, part.current[0].run.config):
            whose = f"{OF_ANOTHER_SCOPE} ({part.current[0].protected})"
            keys = {card.key for card in cards}
            more = [_of_others(card, whose, keys) for card in more]
            more_tried = [_tried_of(one, whose) for one in more_tried]
        more.sort(key=lambda card: (_ORDER.index(card.subject), -card.weight))
        cards += more
        tried += more_tried
    shown = sorted(cards[:MAX_CARDS], key=lambda card: _ORDER.index(card.subject))
    return Findings(
        tuple(shown),
        max(0, len(cards) - MAX_CARDS),
        tuple(tried),
        missing_of(review, known),
        known.active,
        known.broken,
        known.earlier,
    )


def _by_scope(review: Review, known: Sorted) -> list[Sorted]:
    """Runs of what the review asks and of all people that it is about, those that kept to a part of them, part by part;
    then those that compare other attributes than the review asks for by now.
    """
    asked = dict(review.scope.limits) if review.scope is not None else {}
    parts: dict[str, tuple[evidence.Evidence, ...]] = {str((True, sorted(asked.items()), ())): ()}
    for one in sorted(known.current, key=lambda one: not _is_asked(review, one.run.config)):
        is_own = _is_asked(review, one.run.config)
        limits = asked if RETRAIN.has(one.run.config) else one.scope.limits
        key = str((is_own, sorted(limits.items()), () if is_own else tuple(sorted(one.scope.protected))))
        parts[key] = (*parts.get(key, ()), one)
    return [replace(known, current=part) for part in parts.values()]


def _is_asked(review: Review, config: RunConfig) -> bool:
    """Whether a run compares the protected attributes that the review asks for; a retraining is of a model."""
    return review.scope is None or RETRAIN.has(config) or set(config.scope.protected) == set(review.scope.protected)


def _of_others(card: Finding, whose: str, keys: Container[str]) -> Finding:
    """A card of other attributes than the review asks for says so before anything else. What was decided about it stays
    with it, but where there is one of the review's own.
    """
    key = f"{whose}|{card.key}" if card.key in keys else card.key
    return replace(card, key=key, title=f"{whose}: {card.title}", sentence=f"{whose}: {card.sentence}")


def _tried_of(tried: Tried, whose: str) -> Tried:
    """What found nothing, of some people or of another scope, says so before anything else."""
    return replace(tried, title=f"{whose}: {tried.title}", shows=f"{whose}: {tried.shows}")


def _read(
    store: RunStore, review: Review, known: Sorted, ignored: frozenset[str], least_share: float
) -> tuple[list[Finding], list[Tried]]:
    """The cards of runs of the same scope, and what found nothing by them."""
    favourable = favourable_name(review.schema)
    searches = known.of(SEARCH)
    scans = [one for one in searches if people.is_scan(one)]
    rule_cards, rules_tried = groups.rule_cards(store, known.of(RULES), favourable, ignored)
    proxy_cards, proxies_tried = proxies.proxy_cards(known.of(PROXIES), ignored)
    figure_cards, figures_tried = groups.figure_cards(known.of(FIGURES), favourable, ignored, least_share)
    cards = [
        *people.whom_cards(searches, favourable),
        *rule_cards,
        *people.people_cards(searches),
        *shares.share_cards(known.of(ESTIMATE), scans),
        *shares.proof_cards(known.of(CERTIFY)),
        *shares.count_cards(known.of(COUNT)),
        *figure_cards,
        *proxy_cards,
    ]
    looks = [
        *people.tried_by(searches),
        *shares.tried_by_shares(known.of(ESTIMATE), known.of(COUNT), known.of(CERTIFY)),
    ]
    tried = [
        *(replace(look, is_of_people=True) for look in looks),
        *rules_tried,
        *figures_tried,
        *proxies_tried,
    ]
    limited = next((one for one in known.current if one.scope.limits and not RETRAIN.has(one.run.config)), None)
    if limited is not None:
        schema = limited.run.config.schema
        where = conditions_of_rules(schema, rules_of_limits(schema, limited.scope.limits))
        cards = [_narrowed(card, where) for card in cards] if where else cards
        tried = [_tried_of(one, f"Only with {where}") for one in tried] if where else tried
    return [*cards, *_retrained_cards(store, known)], tried


def _narrowed(card: Finding, where: str) -> Finding:
    """A card of people within limits says so before anything else."""
    return replace(
        card,
        key=f"{card.key}|{where}",
        title=f"Only with {where}: {card.title}",
        sentence=f"Only with {where}: {card.sentence}",
        population=f"{card.population}, only with {where}",
    )


def favourable_name(schema: Schema | None) -> str:
    """What the outcome that is good for the person is called, as in a sentence."""
    if schema is None or schema.favourable is None:
        return "the favourable outcome"
    text = str(schema.favourable)
    label = next((column for column in schema.columns if column.name == schema.label), None)
    if label is not None and label.codes:
        by_code = {str(code): text for code, text in zip(label.codes, label.labels, strict=True)}
        text = by_code.get(text, text)
    return f"“{label.name}: {text}”" if label is not None and text.strip().casefold() in _CLAIMS else f"“{text}”"


def ignored_by(review: Review, known: Sorted) -> frozenset[str]:
    """Protected attributes on which no decision about the data's people depends: the model does not take them, it is
    proved of everybody, or everybody of the data was asked.
    """
    told = set((review.fit or {}).get("not_taken") or ())
    for one in known.current:
        found = one.results
        proof = found.certification
        scan = found.scan
        drawn = found.share
        counted = found.count
        is_so = proof is not None and proof.falsified == 0 and proof.undecided == 0
        is_so |= scan is not None and scan.n_tested == scan.n_people > 0 and not one.run.n_found
        is_so |= drawn is not None and drawn.distribution == "data" and drawn.n > 0 and drawn.high == 0
        is_so |= counted is not None and counted.n_discriminatory == 0
        if is_so and not one.scope.limits and not one.scope.excluded and not one.scope.bins:
            told |= set(one.scope.protected)
    return frozenset(told)


def missing_of(review: Review, known: Sorted) -> tuple[Evidence, ...]:
    """What a whole assessment would look at, and nobody has: neither done nor at work."""
    wanted = _wanted(review)
    asked = review.scope.limits if review.scope is not None else {}
    runs = [*known.active, *(one.run for one in known.current)]
    there = {_evidence_of(run) for run in runs if run.config.scope.limits == asked and _is_asked(review, run.config)}
    return tuple(one for one in wanted if one not in there)


def _wanted(review: Review) -> tuple[Evidence, ...]:
    if review.schema is None or review.scope is None:
        return ()
    if review.is_of_texts:
        return (Evidence.RULES,)
    if review.model_id is None:
        return (Evidence.RULES, Evidence.FIGURES, Evidence.PROXIES)
    return tuple(Evidence)


def _evidence_of(run: RunRecord) -> Evidence | None:
    config = run.config
    if SEARCH.has(config):
        return Evidence.SCAN if config.technique == DATA_SCAN else Evidence.SEARCH
    named = {ESTIMATE: Evidence.SHARE, COUNT: Evidence.SHARE, RULES: Evidence.RULES}
    named |= {CERTIFY: Evidence.PROOF, FIGURES: Evidence.FIGURES, PROXIES: Evidence.PROXIES}
    return next((evidence for kind, evidence in named.items() if kind.has(config)), None)


def _retrained_cards(store: RunStore, known: Sorted) -> list[Finding]:
    """Of the retrained models that wait for a decision, the one with the lowest share; where none is newer than the
    one that was kept, that one.
    """
    waiting: list[tuple[float, evidence.Evidence, Retrained]] = []
    for one in known.of(RETRAIN):
        found = one.results.retrained
        after, before = one.results.after, one.results.before
        version = store.version(one.run.id)
        state = VersionState.NEW if version is None else version.state
        if found is None or not found.has_model or after is None or before is None or state is VersionState.DISCARDED:
            continue
        if state is VersionState.KEPT:
            if not waiting:
                return [_retrained_card(one, found, "kept", [])]
            break
        waiting.append((after.data.share, one, found))
    waiting.sort(key=lambda each: each[0])
    if not waiting:
        return []
    others = [f"{_strategy_title(one)} ({share(part)})" for part, one, _ in waiting[1:]]
    return [_retrained_card(waiting[0][1], waiting[0][2], "waits for a decision", others)]


def _strategy_title(one: evidence.Evidence) -> str:
    return STRATEGIES[RETRAIN.settings(one.run.config).strategy].title


def _retrained_card(one: evidence.Evidence, found: Retrained, state: str, others: list[str]) -> Finding:
    after, before = one.results.after, one.results.before
    assert after is not None, "chosen by it"
    assert before is not None, "chosen by it"
    now, then = after.data, before.data
    said = f"{found.why} Of held-out people {share(now.share, now.low, now.high)} {one.are_otherwise}, "
    said += f"{share(then.share, then.low, then.high)} before."
    return Finding(
        key=f"retrained|{one.run.id}",
        subject=Subject.RETRAINED,
        level=Level.ESTIMATED,
        title=f"The model retrained by {_strategy_title(one)} ({found.verdict.value}) {state}",
        sentence=said,
        n=now.n,
        population="held-out people of the data",
        run_ids=(one.run.id,),
        action=Action(Place.RETRAIN, one.run.id, "See what it came to"),
        figure=None if one.results.changes is None else Figure(now.share, now.low, now.high),
        facts=(f"Others that wait, and their shares: {listed(others, most=6)}.",) if others else (),
    )
