"""Which runs of two reviews ask the same question, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairness_engine.data.recorded import Source
from fairness_engine.data.schema import Schema
from fairness_engine.findings.evidence import Evidence, Sorted
from fairness_engine.findings.people import is_scan, technique_title
from fairness_engine.findings.two_reviews.change import NotCompared
from fairness_engine.oracle.domain import Distribution
from fairness_engine.runs.kinds import CERTIFY, COUNT, ESTIMATE, FIGURES, RULES, SEARCH, RunKind
from fairness_engine.telling.wording import listed

Both = tuple[Evidence, Evidence]
"""A run of the first review and one of the second that ask the same."""

_SHARES = {
    Distribution.DATA: "Share of the data's people",
    Distribution.UNIFORM: "Share of all individuals",
    Distribution.PERTURBED: "Share of the data's people with one value moved",
}


@dataclass(frozen=True)
class LinedUp:
    """The runs of one kind.

    Args:
        both: that ask the same, the newest of each question.
        missing: the other questions.
    """

    both: tuple[Both, ...]
    missing: tuple[NotCompared, ...]


def lined_up(before: Sorted, after: Sorted, kind: RunKind) -> LinedUp:  # type: ignore[type-arg]
    """Put the runs of one kind together, question by question; of several that ask the same the newest.

    Args:
        before, after: of each review.
        kind: of runs.
    """
    sides = [_by_name(known.of(kind)) for known in (before, after)]
    both: list[Both] = []
    missing: list[NotCompared] = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        first, second = (side.get(name, []) for side in sides)
        found = _of_one_name(first, second)
        both += found
        if not found:
            missing.append(NotCompared(name, _why_none(first, second)))
    return LinedUp(tuple(both), tuple(missing))


def _of_one_name(first: list[Evidence], second: list[Evidence]) -> list[Both]:
    """The newest of each choice of attributes."""
    found: dict[tuple[str, ...], Both] = {}
    for one in first:
        other = next((other for other in second if not why_not(one, other)), None)
        if other is not None and one.run.id != other.run.id:
            found.setdefault(one.scope.changing, (one, other))
    return list(found.values())


def _why_none(first: list[Evidence], second: list[Evidence]) -> str:
    if not first:
        return "Only the second review has a run of it."
    if not second:
        return "Only the first review has a run of it."
    return why_not(first[0], second[0]) or "It is the same run, and says nothing of a difference."


def _by_name(runs: list[Evidence]) -> dict[str, list[Evidence]]:
    """Runs by what they are of, the newest first."""
    named: dict[str, list[Evidence]] = {}
    for one in runs:
        named.setdefault(name_of(one), []).append(one)
    return named


def name_of(one: Evidence) -> str:
    """What a run is of: ``Share of the data's people``."""
    config = one.run.config
    if SEARCH.has(config):
        return technique_title(one)
    if ESTIMATE.has(config):
        return _SHARES[config.distribution]
    if CERTIFY.has(config):
        by_data = CERTIFY.settings(config).weights.value == "data"
        return "Certification, weighted by the data's values" if by_data else "Certification"
    if COUNT.has(config):
        return "Exact count"
    of_labels = " of the labels" if source_of(one) is Source.LABELS else ""
    return f"{'Rule sets' if RULES.has(config) else 'Group figures'}{of_labels}"


def source_of(one: Evidence) -> Source:
    """Whose decisions groups are compared by."""
    config = one.run.config
    if RULES.has(config):
        return RULES.settings(config).source
    return FIGURES.settings(config).source if FIGURES.has(config) else Source.MODEL


# --- the same question --------------------------------------------------------------------------


def is_of_same_rows(one: Evidence, other: Evidence) -> bool:
    """Whether both were asked about the same file."""
    return one.run.config.data_id == other.run.config.data_id


def why_not(one: Evidence, other: Evidence) -> str:
    """Why two runs of one name do not ask the same, in a sentence; empty where they do."""
    for asks in (_attributes, _data, _columns, _scope, _settings):
        why = asks(one, other)
        if why:
            return why
    return ""


def _attributes(one: Evidence, other: Evidence) -> str:
    if one.scope.changing == other.scope.changing:
        return ""
    return f"The first compares {one.protected}, the second {other.protected}."


def _data(one: Evidence, other: Evidence) -> str:
    """People can be told apart only in the same file; shares of people can be compared over two files."""
    if is_of_same_rows(one, other):
        return ""
    if SEARCH.has(one.run.config):
        return "The two are of different data, so nobody can be told to be the same person."
    if CERTIFY.has(one.run.config) and CERTIFY.settings(one.run.config).weights.value == "data":
        return "The two are of different data, by which each weighs its individuals."
    if RULES.has(one.run.config):
        return "The two are of different data, whose rows make the groups."
    return ""


def _columns(one: Evidence, other: Evidence) -> str:
    schemas = [each.run.config.schema for each in (one, other)]
    if _names(schemas[0]) != _names(schemas[1]):
        return "The two have different columns."
    config = one.run.config
    asked = [schema.inputs for schema in schemas]
    if not needs_domain(one):  # of people of the data: what is exchanged must be the same, other values may be others
        asked = [tuple(column for column in columns if column.name in one.scope.changing) for columns in asked]
    if FIGURES.has(config) or RULES.has(config):
        first, second = ((schema.label, schema.favourable) for schema in schemas)
        if first != second:
            return "The two have another label, or another outcome that is favourable."
    elif asked[0] != asked[1]:
        names = [a.name for a, b in zip(*asked, strict=True) if a != b]
        return f"The two have other ranges or values of {listed(names, most=4)}, so they ask of other individuals."
    return ""


def needs_domain(one: Evidence) -> bool:
    """Whether a run speaks of the individuals that the columns allow, and not of rows of the data alone."""
    config = one.run.config
    is_drawn_from_data = ESTIMATE.has(config) and config.distribution is Distribution.DATA
    return not (is_drawn_from_data or FIGURES.has(config) or RULES.has(config))


def _names(schema: Schema) -> list[tuple[object, ...]]:
    return [(column.name, column.kind) for column in schema.inputs]


def _scope(one: Evidence, other: Evidence) -> str:
    first, second = one.scope, other.scope
    asked: list[tuple[str, Callable[[Evidence], object]]] = [
        ("other limits", lambda each: dict(each.scope.limits)),
        ("other protected values to compare", lambda each: (dict(each.scope.bins), each.scope.excluded)),
        ("other linked attributes", lambda each: each.scope.links),
    ]
    if needs_domain(one):
        asked.append(("other attributes that must not vary", lambda each: each.scope.fixed))
    if not (FIGURES.has(one.run.config) or RULES.has(one.run.config)) and first.score_gap != second.score_gap:
        return "The two ask for another gap of scores."
    for what, part in asked:
        if part(one) != part(other):
            return f"The two have {what} in their scopes."
    return ""


def _settings(one: Evidence, other: Evidence) -> str:
    configs = one.run.config, other.run.config
    if RULES.has(configs[0]):
        asked = [{**RULES.settings(config).to_json(), "predictions": ""} for config in configs]
        names = [name for name in asked[0] if asked[0][name] != asked[1].get(name)]
        return f"The rule sets were asked for with other settings ({listed(names, most=4)})." if names else ""
    if FIGURES.has(configs[0]):
        cuts = [FIGURES.settings(config).cuts for config in configs]
        return "" if cuts[0] == cuts[1] else "Numbers are cut into other ranges."
    if is_scan(one) and configs[0].max_starts != configs[1].max_starts:
        return "The two scans look at another number of people."
    return ""
