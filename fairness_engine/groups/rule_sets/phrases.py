"""Rule sets in plain words: ``men aged 40 to 59 born in Africa or Asia: 29.9 % favourable, everyone else 9.7 %``.

Only what the data say is said: a natural phrase where the column's name makes it safe (sex, age, race, "born in"), else
the column's name before its values. Text of the file is not escaped here; whoever draws it does that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.schema import Kind, Schema, number_text
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.telling.rules import Rule

_SEX = {"sex", "gender"}
_AGE = {"age", "age in years", "age years"}
_SPEAK_FOR_THEMSELVES = _SEX | {"race", "ethnicity", "ethnic group", "race ethnicity", "nationality", "religion"}
"""Names of columns whose labels need no name before them: "White or Asian"."""
_NAMED_CODE = re.compile(
    rf"(^|, )(?:{'|'.join(sorted(_SPEAK_FOR_THEMSELVES))})(?: =)? (?=(?:not )?[^a-z]*\d)", re.IGNORECASE
)
_PREPOSITIONS = ("in", "from", "at", "with", "by", "for", "on")
"""The last word of a column's name that its values can follow: ``born_in`` gives "born in Africa"."""
_CLAIMS = {"yes", "no", "true", "false", "0", "1"}
"""Labels that need a sign between the column's name and them: "foreign worker = yes"."""
_NOUNS = {"male": "men", "man": "men", "men": "men", "female": "women", "woman": "women", "women": "women"}
_NOT = "not "
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
    return _group(
        [_Part.of(attributes[i], attributes[i].values_of(rule)) for i, rule in enumerate(rules) if rule != NO_RULE]
    )


def group_words_of_json(attributes: Sequence[RuleAttribute], rules: Sequence[Mapping[str, Any]]) -> str:
    """The group of rules as the command line says them, ``RuleAttribute.rule_json``.

    Args:
        attributes: of the run.
        rules: one an attribute that is constrained.
    """
    by_name = {attribute.name: attribute for attribute in attributes}
    return _group([_Part.of(by_name[rule["column"]], _values_of_json(by_name[rule["column"]], rule)) for rule in rules])


def words_of_rules(schema: Schema, rules: Sequence[Rule]) -> str:
    """A group of people by rules of any kind, cut anywhere; ``everybody`` without any.

    Args:
        schema: of the columns that the rules are on.
        rules: one a column at most.
    """
    parts = [_part_of(schema, rule) for rule in rules]
    return _group([part for part in parts if part is not None]) or "everybody"


def key_words(words: str) -> str:
    """The words of a group as a key has them, by which a decision about it is found again: codes of columns that mostly
    speak for themselves stood bare in earlier versions.
    """
    return _NAMED_CODE.sub(r"\1", words)


def conditions_of_rules(schema: Schema, rules: Sequence[Rule]) -> str:
    """What people of a group have in common, with names: ``age 27 or over, hours per week 39 or less``."""
    parts = [part for part in (_part_of(schema, rule) for rule in rules) if part is not None]
    return ", ".join(f"age {part.text.removeprefix('aged ')}" if part.is_age else part.named_text for part in parts)


def _part_of(schema: Schema, rule: Rule) -> _Part | None:
    """A rule among the values that it parts its column into; ``None`` where it takes all of them."""
    if "term" in rule:
        return _Part(RuleAttribute(rule["column"], TERM, (rule["term"],)), np.array([0]))
    column = schema.column(rule["column"])
    if "values" in rule:
        places = [column.labels.index(label) for label in rule["values"]]
        return _Part(RuleAttribute(column.name, column.kind, column.labels), np.array(places, dtype=np.int64))
    low, high = float(rule["low"]), float(rule["high"])
    step = 1.0 if column.kind is Kind.INTEGER else 0.0
    below = [(column.low, low - step)] if low > column.low else []
    above = [(high + step, column.high)] if high < column.high else []
    ranges = [*below, (low, high), *above]
    if len(ranges) == 1:
        return None
    lows, highs = zip(*ranges, strict=True)
    attribute = RuleAttribute(column.name, column.kind, ("",) * len(ranges), lows, highs)
    return _Part(attribute, np.array([len(below)]), is_open=not rule.get("includes_high", True))


def sentence(result: RuleResult, position: int, favourable: str = "favourable") -> str:
    """What a rule set says: its group, and the favourable shares inside and of everyone else.

    Args:
        result: of a run.
        position: among its rule sets, from 0.
        favourable: what the outcome is called.
    """
    scored = result.scored
    inside = share_text(float(scored.inside[position]))
    outside = share_text(float(scored.outside[position]))
    is_text = any(attribute.kind == TERM for attribute in result.attributes)
    others = "the same texts with other terms" if is_text else "everyone else"
    return f"{group_text(result, position)}: {inside} {favourable}, {others} {outside}"


def categories(result: RuleResult, position: int) -> list[str]:
    """The attributes that a rule set has a rule on: of texts, the categories of its terms."""
    rules = result.scored.rules[position].tolist()
    return [attribute.name for attribute, rule in zip(result.attributes, rules, strict=True) if rule != NO_RULE]


def interval_text(result: RuleResult, position: int) -> str:
    """The score with its interval, in points of a percent: ``20.2 points (18.1 to 22.4)``; an exact one is said to be
    counted: it is rounded as the shares are that it is made of, and need not be the difference of what they say.
    """
    scored = result.scored
    score, low, high = (100 * float(each[position]) for each in (scored.score, scored.low, scored.high))
    if low == high:
        return f"{score:.1f} points, counted"
    return f"{score:.1f} points ({low:.1f} to {high:.1f})"


def share_text(share: float) -> str:
    """A share with one decimal, and with two significant digits where one decimal would hide it: ``29.9 %``, ``0.062
    %``.
    """
    percent = 100 * share
    least = min(percent, 100 - percent)
    if least <= 0:
        return f"{percent:.0f} %"
    return f"{percent:.{min(4, max(1, 1 - math.floor(math.log10(least))))}f} %"


def plain_name(name: str) -> str:
    """A column's name as people write it: ``hours_per_week`` as ``hours per week``."""
    return " ".join(name.replace("_", " ").split()) or name


@dataclass(frozen=True)
class _Part:
    """One rule: an attribute and the values that it takes, ascending; ``is_open`` where a range ends before its upper
    end.
    """

    attribute: RuleAttribute
    values: IntArray
    is_open: bool = False

    @classmethod
    def of(cls, attribute: RuleAttribute, values: IntArray) -> _Part:
        """Values of an attribute that was cut: a real range ends where the next one begins."""
        return cls(attribute, values, attribute.kind == Kind.REAL and int(values[-1]) < attribute.n_values - 1)

    @property
    def name(self) -> str:
        """The attribute's name in small letters, to know what it is."""
        return plain_name(self.attribute.name).casefold()

    @property
    def is_age(self) -> bool:
        return self.attribute.is_number and self.name in _AGE

    @property
    def follows_noun(self) -> bool:
        """Whether its words follow "people" without a comma: an age, or a name that ends in a preposition."""
        return self.is_age or (" " in self.name and self.name.rpartition(" ")[2] in _PREPOSITIONS)

    @property
    def noun(self) -> str:
        """``men`` or ``women`` for a rule that says so and nothing else."""
        if self.name not in _SEX or self.attribute.is_number or len(self.values) != 1:
            return ""
        return _NOUNS.get(self.attribute.labels[int(self.values[0])].strip().casefold(), "")

    @property
    def text(self) -> str:
        if self.attribute.kind == TERM:
            return f"“{self.attribute.labels[int(self.values[0])]}”"
        values = self._range_text() if self.attribute.is_number else self._labels_text()
        if self.is_age:
            return f"aged {values}"
        name = plain_name(self.attribute.name)
        if self.attribute.is_number:
            return f"{name} {values}"
        if self.name in _SPEAK_FOR_THEMSELVES and any(map(str.isalpha, "".join(self.attribute.labels))):
            return values  # a code does not: "sex = 1"
        if values.strip().casefold() in _CLAIMS:
            return f"{name} = {values}"
        is_not = values.startswith(_NOT) and self.follows_noun
        return f"{_NOT}{name} {values.removeprefix(_NOT)}" if is_not else f"{name} {values}"

    @property
    def named_text(self) -> str:
        """With the attribute's name, also where the words alone would do: ``sex Female``."""
        name = plain_name(self.attribute.name)
        return self.text if self.text.startswith((name, _NOT)) else f"{name} {self.text}"

    def _labels_text(self) -> str:
        labels = self.attribute.labels
        n = self.attribute.n_values
        if len(self.values) == n - 1 and n >= _MANY:
            (left_out,) = set(range(n)) - set(self.values.tolist())
            return f"{_NOT}{labels[left_out]}"
        taken = [labels[value] for value in self.values.tolist()]
        return taken[0] if len(taken) == 1 else f"{', '.join(taken[:-1])} or {taken[-1]}"

    def _range_text(self) -> str:
        """A run of neighbouring ranges; one that begins or ends where the column does has one end only."""
        first = int(self.values[0])
        last = int(self.values[-1])
        low = self.attribute.lows[first]
        high = self.attribute.highs[last]
        if low == high:
            return number_text(low)
        if first == 0 and self.is_open:
            return f"under {number_text(high)}"
        if first == 0:
            return f"{number_text(high)} or {'under' if self.is_age else 'less'}"
        if last == self.attribute.n_values - 1:
            return f"{number_text(low)} or {'over' if self.is_age else 'more'}"
        return f"{number_text(low)} to {'under ' if self.is_open else ''}{number_text(high)}"


def _group(parts: Sequence[_Part]) -> str:
    if parts and all(part.attribute.kind == TERM for part in parts):
        return "texts with " + " and ".join(part.text for part in parts)
    is_young = any(part.is_age and part.attribute.highs[int(part.values[-1])] < _ADULT for part in parts)
    named = None if is_young else next((part for part in parts if part.noun), None)
    rest = [part for part in parts if part is not named]
    tied = [part.text for part in rest if part.follows_noun]
    free = [part.text for part in rest if not part.follows_noun]
    head = " ".join([named.noun if named else "people", *tied]) if named or tied else ""
    return ", ".join([head, *free] if head else free)


def _values_of_json(attribute: RuleAttribute, rule: Mapping[str, Any]) -> IntArray:
    """The values that a rule in JSON takes."""
    if attribute.is_number:
        lows = np.asarray(attribute.lows)
        highs = np.asarray(attribute.highs)
        return np.flatnonzero((lows >= rule["low"]) & (highs <= rule["high"]))
    labels = [rule["term"]] if attribute.kind == TERM else rule["values"]
    return np.array([attribute.labels.index(label) for label in labels], dtype=np.int64)
