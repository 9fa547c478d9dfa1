"""Scored rule sets, from the model's process to disk. Nothing is believed: they must be rule sets of this run, and
agree with themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairness_engine.codec import hold
from fairness_engine.errors import RunError, breach
from fairness_engine.events import Event, RulesScored, Stopped
from fairness_engine.groups.identity_terms.terms import default_terms
from fairness_engine.groups.results import RuleSummary
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute, make_attribute
from fairness_engine.groups.rule_sets.phrases import group_words_of_json
from fairness_engine.groups.rule_sets.result import RuleResult, read_checked, read_rules, write_rules
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.runs.writers.writer import Writer
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

RULES_FILE = "rules.npz"


class RulesWriter(Writer):
    """Keeps the rule sets of one run. One writer a run."""

    takes = (RulesScored,)

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._store = store
        self._run_id = run_id
        self._config = config
        self._result: RuleResult | None = None

    def take(self, event: Event) -> bool:
        """See ``Writer``."""
        if isinstance(event, RulesScored):
            self.keep(event)
        return False

    def keep(self, event: RulesScored) -> None:
        """Check scored rule sets and write their file.

        Raises:
            ProcessError: they are none, or not the first.
            RunError: the workspace cannot be written.
        """
        if self._result is not None:
            raise breach("it sent rule sets a second time")
        settings = RuleSettings.from_json(self._config.settings)
        try:
            result = read_checked(event.arrays, event.space, settings, asked_attributes(self._config))
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
            reason = f" ({str(error)[:60]})" if isinstance(error, ValueError) else ""
            raise breach(f"it sent rule sets that cannot be{reason}") from None
        try:
            write_rules(self._store.run_folder(self._run_id) / RULES_FILE, result)
        except OSError as error:
            raise RunError(f"The rule sets cannot be written to the workspace: {error.strerror or error}.") from None
        self._result = result

    def agree(self, told: Mapping[str, Any], stopped: Stopped | None) -> None:
        """See ``Writer``: counts and sentences are of the rule sets that were sent, which come first."""
        result = self._result
        counts = told.get("rules")
        sentences = told.get("sentences")
        if result is None:
            hold(counts is None or not counts.n_rule_sets, "counts of rule sets that it never sent")
            hold(sentences is None or not (sentences.pairs or sentences.looked), "sentences of no rule set")
            hold(stopped is None or stopped.n_found == 0, "rule sets")
            return
        n = len(result.scored)
        if counts is not None:
            said = (counts.n_rule_sets, counts.n_rows, counts.n_shown, counts.n_by_size)
            hold(said == (n, result.n_rows, result.n_shown, result.n_by_size), "counts of rule sets")
            _check_words(result, counts)
        if sentences is not None:
            places = [each.rule_set for each in (*sentences.pairs, *sentences.looked)]
            hold(max(places, default=0) < n, "rule sets of sentences")
        if stopped is not None:
            hold(stopped.n_found == n, "rule sets")


def asked_attributes(config: RunConfig) -> tuple[RuleAttribute, ...]:
    """The attributes that rule sets of a run are on: of its scope, or categories of terms for texts."""
    settings = RuleSettings.from_json(config.settings)
    schema = config.schema
    scope = config.scope
    if config.text_column:
        return tuple(RuleAttribute(name, TERM, terms) for name, terms in settings.terms or default_terms())
    return tuple(make_attribute(schema.column(name), scope.limits.get(name), settings) for name in scope.protected)


def _check_words(result: RuleResult, counts: RuleSummary) -> None:
    """See that groups and terms that are told in words are those of the run.

    Raises:
        ValueError: they are not.
    """
    try:
        for group in (counts.themis.highest, counts.themis.lowest) if counts.themis is not None else ():
            group_words_of_json(result.attributes, group.rules)
    except (LookupError, TypeError, ValueError):
        raise ValueError("rules of a group") from None
    if counts.texts is not None:
        for attribute in result.attributes:
            hold(set(attribute.labels) <= set(counts.texts.by_term.get(attribute.name, {})), "terms that were counted")


def stored_rules(store: RunStore, run_id: str) -> RuleResult:
    """The scored rule sets of a run.

    Raises:
        RunError: it has none, or they are damaged.
    """
    path = store.run_folder(run_id) / RULES_FILE
    if not path.is_file():
        raise RunError("This run has no rule sets: it is at work, or ended before it had scored any. Run it again.")
    return read_rules(path)
