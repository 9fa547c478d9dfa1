"""The answer in at most five sentences: for whoever reads nothing else."""

from __future__ import annotations

from fairness_engine.findings.finding import OF_ANOTHER_SCOPE, Evidence, Finding, Findings, Level, Subject
from fairness_engine.findings.shares import COUNT_KEY
from fairness_engine.runs.kinds import CERTIFY, COUNT, ESTIMATE, SEARCH
from fairness_engine.telling.wording import counted

_MOST = 4
"""Sentences, beside the one that says what is missing."""
_MISSING = {
    Evidence.SCAN: "the data's people one by one",
    Evidence.SEARCH: "people beyond the data",
    Evidence.SHARE: "how often it happens",
    Evidence.RULES: "rule sets, groups found among all of several attributes",
    Evidence.PROOF: "proofs",
    Evidence.FIGURES: "rates by group",
    Evidence.PROXIES: "other columns that stand for a protected one",
}


def answer(found: Findings) -> list[str]:
    """What was found, for whom, in which groups, what is proved, what was not looked at; a sentence each."""
    if found.is_empty:
        return ["Nothing was looked at yet."]
    first = {subject: _first(found, subject) for subject in Subject}
    counted_all = _count_of_all(found, first[Subject.SHARE])
    said = [_ended(counted_all.sentence)] if counted_all is not None else _how_many(found, first)
    said += _whom(first)
    group = first[Subject.GROUP]
    proof = next((card for card in found.cards if card.subject is Subject.PROOF and card is not counted_all), None)
    rates = [card for card in found.cards if card.subject is Subject.FIGURES]
    if group is not None:
        said.append(_ended(group.sentence))
    if proof is not None:
        said.append(f"{proof.title}.")
    said += [_ended(card.sentence) for card in rates[: _MOST - len(said)]]
    if not found.cards:
        proved = [tried for tried in found.tried if tried.level is Level.PROVED]
        said += [tried.shows for tried in proved[:1]]
        through = [tried for tried in found.tried if tried.title.endswith("no decision depends on")]
        said += [f"Groups differ all the same: {tried.said[0].lower()}{tried.said[1:]}" for tried in through[:1]]
    said = said[:_MOST]
    if found.missing:
        is_known = first[Subject.SHARE] is not None or proof is not None or counted_all is not None
        missing = [one for one in found.missing if one is not Evidence.SHARE or not is_known]
        names = [_MISSING[evidence] for evidence in missing]
        has_others = any(card.sentence.startswith(OF_ANOTHER_SCOPE) for card in found.cards)
        where = " in the scope of this review" if has_others else ""
        said += [f"Not looked at{where}: {', '.join(names)}."] if names else []
    return said


def _count_of_all(found: Findings, estimate: Finding | None) -> Finding | None:
    """The count of everybody, which is better than an estimate of their share; people of the data who are all known
    come first.
    """
    is_known = estimate is not None and estimate.figure is not None and estimate.figure.low == estimate.figure.high
    counts = [card for card in found.cards if card.key.startswith(COUNT_KEY)]
    return counts[0] if counts and not is_known else None


def _first(found: Findings, subject: Subject) -> Finding | None:
    return next((card for card in found.cards if card.subject is subject), None)


def _how_many(found: Findings, first: dict[Subject, Finding | None]) -> list[str]:
    share = first[Subject.SHARE]
    people = first[Subject.PEOPLE]
    if share is not None:
        said = _ended(share.sentence)
        return [f"{said.rstrip('.')}; {share.brief}" if share.brief else said]
    if people is not None:
        return [f"{people.title}."]
    if first[Subject.GROUP] is not None or first[Subject.FIGURES] is not None:
        return []
    n_looks = sum(tried.is_of_people for tried in found.tried)
    if n_looks:
        return [f"Nobody was found who is decided otherwise, in {counted(n_looks, 'look', 'looks')} that ended."]
    if any(kind.has(run.config) for run in found.active for kind in (SEARCH, ESTIMATE, COUNT, CERTIFY)):
        return ["No look for people who are decided otherwise has ended; some are on the way."]
    others = [f"{tried.said.rstrip('.')}: {tried.shows[0].lower()}{tried.shows[1:]}" for tried in found.tried]
    return ["Nobody has looked for people who are decided otherwise.", *others[:1]]


def _whom(first: dict[Subject, Finding | None]) -> list[str]:
    whom = first[Subject.WHOM]
    if whom is None:
        return []
    return [f"{whom.title}: {whom.brief}" if whom.brief else f"{whom.title}."]


def _ended(sentence: str) -> str:
    """The first sentence alone."""
    return f"{sentence.split('. ', maxsplit=1)[0].rstrip('.')}."
