"""Rule sets in plain words: ``men aged 40 to 59 born in Africa or Asia: 29.9 % favourable, everyone else 9.7 %``.

Only what the data say is said: a natural phrase where the column's name makes it safe (sex, age, race, "born in"), else the
column's name before its values. Text of the file is not escaped here; whoever draws it does that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairness_engine.rules.attributes import TERM, RuleAttribute
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.space import NO_RULE

_SEX = {"sex", "gender"}
_AGE = {"age", "age in years", "age years"}
_SPEAK_FOR_THEMSELVES = _SEX | {"race", "ethnicity", "ethnic group", "race ethnicity", "nationality", "religion"}
"""Names of columns whose labels need no name before them: "White or Asian"."""
_PREPOSITIONS = ("in", "from", "at", "with", "by", "for", "on")
"""The last word of a column's name that its values can follow: ``born_in`` gives "born in Africa"."""
_NOUNS = {"male": "men", "man": "men", "men": "men", "female": "women", "woman": "women", "women": "women"}
_ADULT = 18
_MANY = 4
"""With so many values, all but one are said as "not" that one."""


def group_text(result: RuleResult, position: int) -> str:
    """The group of one rule set, ``men aged 40 to 59, White or Asian``.

    Args:
        result: of a run.
        position: among its rule sets, from 0.
    """
    return group_words(result.attributes, result.scored.rules[position].tolist())


def group_words(attributes: Sequence[RuleAttribute], rules: Sequence[int]) -> str:
    """The group of a rule on each attribute.

    Args:
        attributes: what rules are on.
        rules: the index of the rule on each attribute, -1 where there is none.
    """
    chosen = [(attributes[i], rule) for i, rule in enumerate(rules) if rule != NO_RULE]
    if chosen and all(attribute.kind == TERM for attribute, _ in chosen):
        return "texts with " + " and ".join(rule_text(attribute, rule) for attribute, rule in chosen)
    noun = next((found for each in chosen if (found := _noun(*each, chosen))), "")
    rest = [each for each in chosen if not (noun and _noun(*each, chosen))]
    tied = [rule_text(*each) for each in rest if _follows_noun(each[0])]
    free = [rule_text(*each) for each in rest if not _follows_noun(each[0])]
    head = " ".join([noun or "people", *tied]) if noun or tied else ""
    return ", ".join([head, *free] if head else free)


def rule_text(attribute: RuleAttribute, rule: int) -> str:
    """One rule, ``aged 40 to 59``, ``White or Asian``, ``not White``, ``hours per week 40 or more``.

    Args:
        attribute: what the rule is on.
        rule: its index.
    """
    if attribute.kind == TERM:
        return f"“{attribute.labels[int(attribute.values_of(rule)[0])]}”"
    name, values = plain_name(attribute.name), _values_text(attribute, rule)
    if name.casefold() in _AGE:
        return f"aged {values}"
    return values if name.casefold() in _SPEAK_FOR_THEMSELVES and not attribute.is_number else f"{name} {values}"


def sentence(result: RuleResult, position: int, favourable: str = "favourable") -> str:
    """What a rule set says: its group, and the favourable shares inside and of everyone else.

    Args:
        result: of a run.
        position: among its rule sets, from 0.
        favourable: what the outcome is called.
    """
    scored = result.scored
    inside, outside = share_text(float(scored.inside[position])), share_text(float(scored.outside[position]))
    is_text = any(attribute.kind == TERM for attribute in result.attributes)
    others = "the same texts with other terms" if is_text else "everyone else"
    return f"{group_text(result, position)}: {inside} {favourable}, {others} {outside}"


def interval_text(result: RuleResult, position: int) -> str:
    """The score with its interval, in points of a percent: ``20.2 points (18.1 to 22.4)``; an exact one is said to be exact."""
    scored = result.scored
    score, low, high = (100 * float(each[position]) for each in (scored.score, scored.low, scored.high))
    if low == high:
        return f"{score:.1f} points exactly"
    return f"{score:.1f} points ({low:.1f} to {high:.1f})"


def share_text(share: float) -> str:
    """A share with one decimal, and with two significant digits where one decimal would hide it: ``29.9 %``, ``0.062 %``."""
    percent = 100 * share
    least = min(percent, 100 - percent)
    if least <= 0:
        return f"{percent:.0f} %"
    return f"{percent:.{min(4, max(1, 1 - math.floor(math.log10(least))))}f} %"


def plain_name(name: str) -> str:
    """A column's name as people write it: ``hours_per_week`` as ``hours per week``."""
    return " ".join(name.replace("_", " ").split()) or name


def _noun(attribute: RuleAttribute, rule: int, chosen: Sequence[tuple[RuleAttribute, int]]) -> str:
    """``men`` or ``women`` for a rule that says so and nothing else; children are not called that."""
    if plain_name(attribute.name).casefold() not in _SEX or attribute.is_number:
        return ""
    values = attribute.values_of(rule)
    noun = _NOUNS.get(attribute.labels[int(values[0])].strip().casefold(), "") if len(values) == 1 else ""
    return "" if any(_ends_young(*each) for each in chosen) else noun


def _ends_young(attribute: RuleAttribute, rule: int) -> bool:
    is_age = attribute.is_number and plain_name(attribute.name).casefold() in _AGE
    return is_age and attribute.highs[int(attribute.values_of(rule)[-1])] < _ADULT


def _follows_noun(attribute: RuleAttribute) -> bool:
    """Whether a rule's words follow "people" without a comma: an age, or a name that ends in a preposition."""
    name = plain_name(attribute.name).casefold()
    return name in _AGE or name.rpartition(" ")[2] in _PREPOSITIONS and " " in name


def _values_text(attribute: RuleAttribute, rule: int) -> str:
    values = attribute.values_of(rule).tolist()
    if attribute.is_number:
        return _range_text(attribute, values[0], values[-1])
    if len(values) == attribute.n_values - 1 and attribute.n_values >= _MANY:
        (left_out,) = set(range(attribute.n_values)) - set(values)
        return f"not {attribute.labels[left_out]}"
    labels = [attribute.labels[value] for value in values]
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} or {labels[-1]}"


def _range_text(attribute: RuleAttribute, first: int, last: int) -> str:
    """A run of neighbouring ranges; one that begins or ends where the column does has one end only."""
    is_age = plain_name(attribute.name).casefold() in _AGE
    low, high = attribute.lows[first], attribute.highs[last]
    if low == high:
        return f"{low:g}"
    if first == 0:
        return f"{high:g} or {'under' if is_age else 'less'}"
    if last == attribute.n_values - 1:
        return f"{low:g} or {'over' if is_age else 'more'}"
    return f"{low:g} to {high:g}"
