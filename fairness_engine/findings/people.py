"""Cards of searches: for whom a protected attribute changes the decision, and whom a search found."""

from __future__ import annotations

from fairness_engine.explanation.results import AffectedGroup
from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import MAX_KEY, Action, Figure, Finding, Level, Place, Subject, Tried
from fairness_engine.groups.rule_sets.phrases import conditions_of_rules, key_words, words_of_rules
from fairness_engine.intervals import share_interval
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.telling.rules import Rule
from fairness_engine.telling.wording import count, counted, listed, share

_FEW = 0.02
_BROKEN = (RunState.CRASHED, RunState.FAILED)
"""Of people for whom an attribute is enough; below it they are the exception."""


def technique_title(one: Evidence) -> str:
    """What the technique of a search is called."""
    technique = TECHNIQUES.get(one.run.config.technique)
    return technique.title if technique else one.run.config.technique


def is_scan(one: Evidence) -> bool:
    """Whether it tested the data's people as they come."""
    return one.run.config.technique == DATA_SCAN


# --- for whom -----------------------------------------------------------------------------------


def whom_cards(searches: list[Evidence], favourable: str) -> list[Finding]:
    """For whom it matters and who fares worse: by the newest scan of the data, whose counts are shares; else by the
    search that found most, whose are not.
    """
    scans = [one for one in searches if is_scan(one) and one.results.affected is not None]
    if scans:
        groups = scans[0].results.affected.groups if scans[0].results.affected else []
        told = groups[1:] or groups[:1]
        return [_group_card(scans[0], group, favourable) for group in told]
    others = [one for one in searches if one.results.affected is not None]
    if not others:
        return []
    best = max(others, key=lambda one: one.run.n_found)
    return [_found_card(best, favourable)]


def _group_card(one: Evidence, group: AffectedGroup, favourable: str) -> Finding:
    schema = one.run.config.schema
    where = conditions_of_rules(schema, group.rules)
    who = f"people with {where}" if where else "people"
    n_hits, n, n_all = (group.n_hits, group.n, None) if where else counted_by_scan(one, group)
    figure = Figure(n_hits / n, *share_interval(n_hits, n, n_all))
    text = figure_text(figure)
    sentence = (
        f"Of the data's {who}, {text} get {one.outcome} when {one.nothing_but} changes: {count(n_hits)} of {count(n)}."
    )
    facts = _facts(one, group, favourable)
    brief = f"{share(figure.value)} of everybody with that profile are affected, whatever their own protected values."
    if not where:
        brief = facts[-1][:1].lower() + facts[-1][1:] if group.worse else ""
    return Finding(
        key=_key(one, group),
        subject=Subject.WHOM,
        level=Level.ESTIMATED,
        title=_title(one, group, where),
        sentence=sentence,
        n=n,
        population=f"people of the data with {where}" if where else "people of the data",
        run_ids=(one.run.id,),
        action=Action(Place.PAIRS, one.run.id, "See these people"),
        figure=figure,
        facts=facts,
        brief=brief,
        weight=group.n_hits / max(1, (one.results.affected.groups[0].n if one.results.affected else group.n)),
    )


def counted_by_scan(one: Evidence, everybody: AffectedGroup) -> tuple[int, int, int | None]:
    """Who is affected, of how many, drawn from how many: of all that a scan tested, in an order of chance; of runs of
    earlier versions, of the half that was counted.
    """
    affected = one.results.affected
    if affected is None or not affected.n_affected or one.results.scan is None:
        return everybody.n_hits, everybody.n, None
    return affected.n_affected, affected.n_tried, one.results.scan.n_people


def figure_text(figure: Figure) -> str:
    """A share, with its interval where it has one."""
    return share(figure.value) if figure.low == figure.high else share(figure.value, figure.low, figure.high)


def _found_card(one: Evidence, favourable: str) -> Finding:
    assert one.results.affected is not None, "chosen by it"
    group = one.results.affected.groups[0]
    sentence = (
        f"Of those whom {technique_title(one)} found, {count(group.n_judged)} were looked at with every protected "
        "value. A search chooses whom to try, so nothing of this is a share of the population."
    )
    return Finding(
        key=_key(one, group),
        subject=Subject.WHOM,
        level=Level.FOUND,
        title=_title(one, group, ""),
        sentence=sentence,
        n=group.n_judged,
        population=f"people found by {technique_title(one)}",
        run_ids=(one.run.id,),
        action=Action(Place.PAIRS, one.run.id, "See these people"),
        facts=(facts := _facts(one, group, favourable)),
        brief=facts[-1][:1].lower() + facts[-1][1:] if group.worse else "",
    )


def _key(one: Evidence, group: AffectedGroup) -> str:
    """What the card is about: attributes and who fares worse, not where exactly a range was cut."""
    columns = ",".join(sorted(rule["column"] for rule in group.rules))
    worse = key_words(words_of_rules(one.run.config.schema, group.worse)) if group.worse else ""
    return f"whom|{','.join(one.scope.protected)}|{worse}|{columns}"[:MAX_KEY]


def _title(one: Evidence, group: AffectedGroup, where: str) -> str:
    """``Women fare worse, with education years 16 or more, hours per week 39 or less``."""
    worse = f"{_capital(words_of_rules(one.run.config.schema, group.worse))} fare worse" if group.worse else ""
    alone = group.as_they_are or group.alone
    enough = [name for name in one.scope.protected if alone.get(name, 0) > _FEW * group.n_judged]
    moved = "scores" if one.scope.score_gap > 0 else "decisions"
    head = worse or f"{_capital(listed(enough or list(one.scope.protected)))} changes {moved}, in both directions"
    return f"{head}, with {where}" if where else head


def _facts(one: Evidence, group: AffectedGroup, favourable: str) -> tuple[str, ...]:
    facts = []
    if len(one.scope.protected) > 1:
        facts.append(alone_sentence(group, one.scope.protected))
    if group.worse:
        harmed, others = group.n_worse_harmed / group.n_worse, group.n_others_harmed / group.n_others
        who = words_of_rules(one.run.config.schema, group.worse)
        unlike = "have the lower scores" if one.scope.score_gap > 0 else f"are decided against (not {favourable})"
        protected = list(one.scope.protected)
        over = f", over every combination of {listed(protected)}" if len(protected) > 1 else ""
        decides = "that makes a difference" if one.scope.score_gap > 0 else f"that decides about {favourable}"
        is_part = 0 < group.n_told < group.n_judged
        whom = f"of those asked, for whom {decides}"
        if is_part:
            whom = f"of {count(group.n_told)} of the {count(group.n_judged)} asked, for whom {decides}"
        chosen = "; others of them chose the values" if is_part else ""
        facts.append(
            f"With all else equal{over}, {who} {unlike} in {share(harmed)} of "
            f"{counted(group.n_worse, 'case')}, the other protected values in {share(others)} of "
            f"{count(group.n_others)}. A case is one {whom}, with one combination of protected values{chosen}."
        )
    return tuple(facts)


def alone_sentence(group: AffectedGroup, protected: tuple[str, ...]) -> str:
    """For how many of those asked another value of one attribute is enough: ``As they are, another sex alone is enough
    for all 40 asked; another race alone for none.``
    """
    parts: list[str] = []
    for name in protected:
        n = (group.as_they_are or group.alone).get(name, 0)
        asked = count(group.n_judged)
        of_asked = f"{count(n)} of {asked}" if parts else f"{count(n)} of the {asked} asked"
        whom = f"all {asked} asked" if n == group.n_judged else "none" if not n else of_asked
        parts.append(f"another {name} alone {'is enough for ' if not parts else 'for '}{whom}")
    where = "As they are" if group.as_they_are else "At some values of the other protected attributes"
    return f"{where}, {'; '.join(parts)}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def worse_rules(one: Evidence) -> list[Rule]:
    """The protected values that fare worse among all that a search found; empty where none do."""
    return one.results.affected.groups[0].worse if one.results.affected is not None else []


# --- who was found ------------------------------------------------------------------------------


def people_cards(searches: list[Evidence]) -> list[Finding]:
    """One card for each choice of protected attributes, of the search that found most."""
    found = [one for one in searches if one.run.n_found]
    cards = []
    for protected in dict.fromkeys(one.scope.changing for one in found):
        same = sorted((one for one in found if one.scope.changing == protected), key=lambda one: -one.run.n_found)
        cards.append(_people_card(same))
    return cards


def _people_card(same: list[Evidence]) -> Finding:
    best = same[0]
    run = best.run
    name = technique_title(best)
    whose = "people of the data" if is_scan(best) else "people"
    sentence = (
        f"{name} found {counted(run.n_found, 'person', 'people')} who get {best.outcome} when "
        f"{best.nothing_but} changes, among {count(run.n_tried)} tried. Every pair was passed through the model again"
    )
    sentence += (
        "; people who are alike in everything else are one here."
        if is_scan(best)
        else "; the search chose whom to try, so this is no share."
    )
    if run.state in _BROKEN:
        sentence += " The run broke off before its end."
    facts = [*_plausible_fact(best), *_severe_fact(best)]
    if len(same) > 1:
        others = listed([f"{technique_title(one)} ({_how_many(one.run)})" for one in same[1:]], most=5)
        facts.append(f"Also found: {others}.")
    return Finding(
        key=f"people|{','.join(best.scope.changing)}",
        subject=Subject.PEOPLE,
        level=Level.FOUND,
        title=f"{count(run.n_found)} {whose} found who {best.are_otherwise} when {best.nothing_but} changes",
        sentence=sentence,
        n=run.n_tried,
        population=f"individuals that {name} tried",
        run_ids=tuple(one.run.id for one in same),
        action=_first_pair(best),
        facts=tuple(facts),
        weight=float(run.n_found),
    )


def _how_many(run: RunRecord) -> str:
    return count(run.n_found) + (", broke off" if run.state in _BROKEN else "")


def _plausible_fact(one: Evidence) -> list[str]:
    measured = one.results.plausibility
    if measured is None or measured.n_plausible is None or not measured.n_measured:
        return []
    n = measured.n_measured
    of = (
        f"{counted(n, 'pair')} that {'was' if n == 1 else 'were'} measured"
        if n < one.run.n_found
        else counted(n, "pair")
    )
    return [f"Both people could exist in {count(measured.n_plausible)} of {of} ({share(measured.n_plausible / n)})."]


def _severe_fact(one: Evidence) -> list[str]:
    if one.results.severity is None or not one.results.severity.top:
        return []
    worst = one.results.severity.top[0]
    alike = counted(worst.similar_rows, "person", "people")
    be = "is" if worst.similar_rows == 1 else "are"
    return [
        f"Most severe: pair {count(worst.pair)}, {worst.variants_unlike} of {worst.n_variants} variants decided unlike "
        f"the others, scores up to {worst.gap:.3g} apart; {alike} of the data {be} like them."
    ]


def _first_pair(one: Evidence) -> Action:
    severity = one.results.severity
    number = severity.top[0].pair if severity is not None and severity.top else 1
    return Action(Place.PAIRS, one.run.id, "See the pair for whom it matters most", number)


# --- nothing found ------------------------------------------------------------------------------


def tried_by(searches: list[Evidence]) -> list[Tried]:
    """Searches that found nobody."""
    return [_tried(one) for one in searches if not one.run.n_found]


def _tried(one: Evidence) -> Tried:
    run = one.run
    said = (
        f"{counted(run.n_tried, 'individual')} tried with {count(run.evaluations)} rows evaluated (seed "
        f"{run.config.seed}); none found {run.extent}."
    )
    scan = one.results.scan
    level = None
    if scan is not None and scan.n_tested == scan.n_people:
        level = Level.FOUND
        shows = (
            f"None of the {counted(scan.n_people, 'person', 'people')} of the data gets another decision when "
            f"{one.nothing_but} changes."
        )
        rest = "Anything about people who are not in the data."
    elif run.config.technique == "random" and run.n_tried:
        level = Level.ESTIMATED
        high = share_interval(0, run.n_tried)[1]
        shows = f"Among people drawn at random the share is {share(0.0, 0.0, high)}, with 95 % confidence."
        rest = "That there are none, or how many the data has."
    else:
        shows = "Nothing of how many there are: the search chose whom to try."
        rest = "That there are none."
    return Tried(technique_title(one), said, shows, rest, (run.id,), level)
