"""Cards of how many: estimates, exact counts and proofs."""

from __future__ import annotations

from dataclasses import replace

from fairness_engine.certification.results import Certification
from fairness_engine.explanation.results import Affected
from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import Action, Figure, Finding, Level, Place, Subject, Tried
from fairness_engine.findings.people import alone_sentence, counted_by_scan, figure_text, is_scan
from fairness_engine.intervals import share_interval
from fairness_engine.measures.results import Share
from fairness_engine.oracle.domain import Distribution
from fairness_engine.telling.wording import bounded_share, count, counted, magnitude, proved_shares, share

COUNT_KEY = "count|"
"""Begins the key of a card of everybody counted."""
_WHOM = {
    "data": "the data's people",
    "uniform": "all individuals of the domain",
    "perturbed": "the data's people with one value moved",
}
_OF = {
    "data": "people of the data",
    "uniform": "individuals drawn from the domain",
    "perturbed": "people of the data with one value moved",
}
_DRAWN = {
    "data": "drawn from the data's rows",
    "uniform": "drawn evenly from the domain",
    "perturbed": "drawn from the data's rows, with one value moved",
}


def share_cards(estimates: list[Evidence], scans: list[Evidence]) -> list[Finding]:
    """One card for each choice of attributes and population, the data's people first; they come from a scan where
    nobody made an estimate.
    """
    cards: dict[tuple[str, ...], Finding] = {}
    order = [Distribution.DATA, Distribution.UNIFORM, Distribution.PERTURBED]
    for one in sorted(estimates, key=lambda one: order.index(one.run.config.distribution)):
        found = one.results.share
        key = (*one.scope.changing, one.run.config.distribution.value)
        if found is not None and found.n_hits and key not in cards:
            cards[key] = _share_card(one, found, found.distribution)
    for one in scans:
        affected = one.results.affected
        key = (*one.scope.changing, Distribution.DATA.value)
        if affected is not None and affected.is_of_data and key not in cards:
            cards[key] = _scan_card(one, affected)
    return list(cards.values())


def _share_card(one: Evidence, found: Share, distribution: str) -> Finding:
    is_exact = found.low == found.high
    said = f"{_text(found)} of {_WHOM[distribution]} get {one.outcome} when {one.nothing_but} changes: "
    said += f"{count(found.n_hits)} of {counted(found.n, 'person', 'people')}"
    said += ", who are all there are, so there is no interval." if is_exact else f" {_DRAWN[distribution]}."
    facts = []
    plausible = one.results.plausible_share
    if plausible is not None and plausible.n:
        part = f" of the {count(found.n)}" if plausible.n < found.n else ""
        facts.append(
            f"With two people who could exist: {_text(plausible)}, {count(plausible.n_hits)} of "
            f"{count(plausible.n)} looked at for that{part}."
        )
    card = _card(
        one, f"share|{distribution}", Figure(found.share, found.low, found.high), found.n, said, facts, distribution
    )
    return replace(card, brief=facts[0][0].lower() + facts[0][1:]) if facts else card


def _text(found: Share) -> str:
    return figure_text(Figure(found.share, found.low, found.high))


def _scan_card(one: Evidence, affected: Affected) -> Finding:
    everybody = affected.groups[0]
    n_hits, n, n_all = counted_by_scan(one, everybody)
    who = "of the data scan, the half that chose no group"
    if n_all is not None:
        who = "of the data scan" if n < n_all else "of the data scan, who are all that it could test: no interval"
    low, high = share_interval(n_hits, n, n_all)
    figure = Figure(n_hits / n, low, high)
    said = (
        f"{figure_text(figure)} of the data's people get {one.outcome} when {one.nothing_but} changes: "
        f"{count(n_hits)} of {counted(n, 'person', 'people')} {who}."
    )
    facts = [alone_sentence(everybody, one.scope.protected)] if len(one.scope.protected) > 1 else []
    return _card(one, "share|data", figure, n, said, facts, "data")


def _card(
    one: Evidence, key: str, figure: Figure, n: int, sentence: str, facts: list[str], distribution: str
) -> Finding:
    return Finding(
        key=f"{key}|{','.join(one.scope.changing)}",
        subject=Subject.SHARE,
        level=Level.PROVED if figure.low == figure.high else Level.ESTIMATED,
        title=f"{share(figure.value)} of {_WHOM[distribution]} {one.are_otherwise} when {one.nothing_but} changes",
        sentence=sentence,
        n=n,
        population=_OF[distribution],
        run_ids=(one.run.id,),
        action=Action(Place.PAIRS if is_scan(one) else Place.RUN, one.run.id, "See how it was measured"),
        figure=figure,
        facts=tuple(facts),
        weight=figure.value,
    )


def count_cards(counts: list[Evidence]) -> list[Finding]:
    """Everybody counted, one card for each choice of attributes."""
    cards: dict[tuple[str, ...], Finding] = {}
    for one in counts:
        found = one.results.count
        if found is None or not found.n_discriminatory or one.scope.changing in cards:
            continue
        said = (
            f"{count(found.n_discriminatory)} of {counted(found.n_individuals, 'individual')} of the domain "
            f"({share(found.share)}) get {one.outcome} when {one.nothing_but} changes: everybody was decided, with "
            "every combination of protected values."
        )
        plausible = found.plausible
        facts = []
        if plausible is not None and plausible.n:
            facts.append(
                f"With two people who could exist: {count(plausible.n_hits)} of {count(plausible.n)} of them looked "
                "at for that."
            )
        cards[one.scope.changing] = Finding(
            key=f"{COUNT_KEY}{','.join(one.scope.changing)}",
            subject=Subject.PROOF,
            level=Level.PROVED,
            title=f"Counted one by one: {share(found.share)} of all individuals {one.are_otherwise}",
            sentence=said,
            n=found.n_individuals,
            population="individuals, all of the domain",
            run_ids=(one.run.id,),
            action=Action(Place.RUN, one.run.id, "See the count"),
            figure=Figure(found.share, found.share, found.share),
            facts=tuple(facts),
            weight=found.share,
        )
    return list(cards.values())


# --- proofs -------------------------------------------------------------------------------------


def proof_cards(proofs: list[Evidence]) -> list[Finding]:
    """Certifications that falsified somebody, the newest of each choice of attributes and weights."""
    cards: dict[tuple[object, ...], Finding] = {}
    for one in proofs:
        found = one.results.certification
        key = (*one.scope.changing, found.weights if found else "")
        if found is not None and found.falsified > 0 and key not in cards:
            cards[key] = _proof_card(one, found)
    return list(cards.values())


def _proof_card(one: Evidence, found: Certification) -> Finding:
    texts = proved_shares(found.certified, found.falsified, found.undecided)
    everybody = _individuals(found)
    same = f"get the same decision whatever their {one.protected}"
    facts = [f"Proved: {texts[0]} of {everybody} {same}."]
    if found.undecided > 0:
        facts.append(f"Open: {texts[2]} are undecided. That is no pass.")
    if found.estimate is not None and found.undecided > 0 and found.estimate.n:
        rest = found.estimate
        text = share(rest.unfair_share_of_undecided, rest.low, rest.high)
        facts.append(f"Estimated, not proved: {text} of the undecided are decided otherwise ({count(rest.n)} drawn).")
    rows = found.data_rows
    if rows is not None and rows.n:
        is_open = "is open" if rows.undecided == 1 else "are open"
        sentence = (
            f"Of the {counted(rows.n, 'person', 'people')} of the data it is proved for {count(rows.falsified)} that "
            f"another decision comes out when {one.nothing_but} changes, and for {count(rows.certified)} that none "
            f"does; {count(rows.undecided)} {is_open}. Of {everybody} {texts[1]} are proved to be decided otherwise."
        )
    else:
        sentence = f"{texts[1]} of {everybody} get another decision when {one.nothing_but} changes."
    least = f"at least {bounded_share(found.falsified)}" if found.undecided > 0 else texts[1]
    return Finding(
        key=f"proof|{','.join(one.scope.changing)}|{found.weights}",
        subject=Subject.PROOF,
        level=Level.PROVED,
        title=f"Proved: {least} of all individuals are decided otherwise when {one.nothing_but} changes",
        sentence=sentence,
        n=found.boxes,
        population=f"boxes that hold {everybody}",
        run_ids=(one.run.id,),
        action=Action(Place.CERTIFICATION, one.run.id, "See what is proved"),
        figure=Figure(found.falsified, found.falsified, min(1.0, found.falsified + found.undecided)),
        facts=tuple(facts),
        weight=found.falsified,
    )


def _individuals(found: Certification) -> str:
    n = found.n_individuals
    everybody = "individuals" if n is None else f"{magnitude(n)} individuals"
    if found.weights == "data":
        everybody += ", weighted by how common their values are"
    return everybody


# --- nothing found ------------------------------------------------------------------------------


def tried_by_shares(estimates: list[Evidence], counts: list[Evidence], proofs: list[Evidence]) -> list[Tried]:
    """Estimates, counts and proofs in which nobody is discriminated against."""
    tried = []
    for one in estimates:
        found = one.results.share
        if found is not None and not found.n_hits:
            tried.append(_no_share(one, found))
    for one in counts:
        if one.results.count is not None and not one.results.count.n_discriminatory:
            n = counted(one.results.count.n_individuals, "individual")
            shows = f"Nobody of the domain gets {one.outcome} when {one.nothing_but} changes."
            said = f"All {n} were decided, with every combination of protected values."
            tried.append(Tried("Exact count", said, shows, _OF_DOMAIN, (one.run.id,), Level.PROVED))
    for one in proofs:
        certified = one.results.certification
        if certified is not None and certified.falsified == 0:
            tried.append(_no_proof(one, certified))
    return tried


_OF_DOMAIN = "Anything outside the ranges of the domain, or of other attributes that stand for the protected ones."


def _no_share(one: Evidence, found: Share) -> Tried:
    distribution = one.run.config.distribution.value
    said = f"{counted(found.n, 'person', 'people')} {_DRAWN[distribution]}; none gets {one.outcome}."
    shows = f"At 95 % confidence the share is {share(0.0, 0.0, found.high)}, of {_WHOM[distribution]}."
    if found.high == 0:
        shows = f"None of {_WHOM[distribution]} gets {one.outcome} when {one.nothing_but} changes: all were asked."
    return Tried("Estimate", said, shows, "That there are none elsewhere.", (one.run.id,), Level.ESTIMATED)


def _no_proof(one: Evidence, found: Certification) -> Tried:
    everybody = _individuals(found)
    level: Level | None = Level.PROVED
    if found.is_by_construction:
        said = f"The model does not take {one.protected}."
        shows = f"{everybody[:1].upper()}{everybody[1:]} get the same decision whatever their {one.protected}."
    elif found.undecided == 0:
        said = f"All {everybody} were decided, in {counted(found.boxes, 'box', 'boxes')}."
        shows = f"Everybody of the domain gets the same decision whatever their {one.protected}."
    else:
        certified = bounded_share(found.certified)
        open_share = bounded_share(found.undecided, is_upper=True)
        said = f"{counted(found.boxes, 'box', 'boxes')}; none falsified {one.run.extent}."
        shows = f"Proved for {certified} of {everybody}: the same decision whatever their {one.protected}."
        level = Level.PROVED if found.certified > 0 else None
        return Tried("Certification", said, shows, f"Anything of the {open_share} that are open.", (one.run.id,), level)
    return Tried("Certification", said, shows, _OF_DOMAIN, (one.run.id,), level)
