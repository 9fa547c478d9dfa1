"""What a retraining came to, in plain words: the verdict, why, what to keep in mind, and what to do next. Nothing here
is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from fairness_engine.measures.results import Share
from fairness_engine.retraining.evaluation.verdict import in_points
from fairness_engine.retraining.results import Changes, Interval, Measured, PairedChange, Retrained, Round
from fairness_engine.retraining.settings import BASELINES, Reference, Strategy
from fairness_engine.runs.kinds import RETRAIN, Results
from pages.retrain import rounds as retrain_rounds
from pages.shared.app import theme, wording
from pages.shared.runs import phrases
from pages.shared.written_figures import Figure, Unit, change_text, points

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord, Version
    from fairness_engine.store.run_config import RunConfig

BEFORE = f"{theme.BEFORE.symbol} Before"
AFTER = f"{theme.AFTER.symbol} After"
CONTROL = "○ Control"
"""The same kind of model, trained on the same rows without any case."""
_QUALITY = (("accuracy", "Accuracy"), ("f1", "F1"), ("auc", "AUC"))
SHARES = {"uniform": "All individuals", "data": "Held-out people"}
"""Of whom the discriminatory share is one: anybody of the domain, or the people of the data that nothing was learned
from.
"""


@dataclass(frozen=True)
class Line:
    """One figure of both models.

    Args:
        name: what it is of.
        before, after, control: ``None`` where it was not measured.
        change: the paired change, or the difference; empty where none is told.
    """

    name: str
    before: Figure | None
    after: Figure | None
    control: Figure | None = None
    change: str = ""


def quality_lines(results: Results) -> list[Line]:
    """Accuracy, F1 and AUC; those that neither model has are left out."""
    lines = []
    for key, name in _QUALITY:
        unit = Unit.PLAIN if key == "auc" else Unit.SHARE
        found = [Figure.of(part_of(measured, key), unit) for measured in _models(results)]
        if any(found):
            lines.append(Line(name, *found, change=change_of(results, key)))
    return lines


def share_lines(results: Results, names: Mapping[str, str] = SHARES) -> list[Line]:
    """The discriminatory shares, of whom ``names`` says; those that nobody was counted for are left out."""
    lines = [
        Line(
            name,
            *(Figure.of(part_of(measured, key)) for measured in _models(results)),
            change=change_of(results, key),
        )
        for key, name in names.items()
    ]
    return [line for line in lines if line.before or line.after or line.control]


def _models(results: Results) -> tuple[Measured | None, ...]:
    return results.before, results.after, results.control


def part_of(measured: Measured | None, key: str) -> Interval | Share | None:
    """One of the figures of a model: ``accuracy``, ``f1``, ``auc``, ``uniform`` or ``data``."""
    if measured is None:
        return None
    found: Interval | Share | None = getattr(measured if key in SHARES else measured.quality, key)
    return found


def change_of(results: Results, key: str) -> str:
    """What became of a figure, in points: the paired change with its interval, where it was measured; else the plain
    difference of figures of as many draws; empty where they are of others, or one is missing.
    """
    paired: PairedChange | None = getattr(results.changes, key, None)
    if paired is not None:
        return change_text(paired.value, paired.low, paired.high)
    before = part_of(results.before, key)
    after = part_of(results.after, key)
    first = Figure.of(before)
    second = Figure.of(after)
    if first is None or second is None or getattr(before, "n", None) != getattr(after, "n", None):
        return ""
    return points(second.value - first.value)


def named_shares(lines: Sequence[Line]) -> list[Line]:
    """The discriminatory shares, named so that they can stand in a table with other figures."""
    return [replace(line, name=f"Discriminatory, {line.name.lower()}") for line in lines]


def column_helps(figures: str = "") -> dict[str, Any]:
    """What the columns of the figures mean, for a hover help; ``figures`` takes the place of what they are for
    people.
    """
    helps = _HELPS | ({"Figure": figures} if figures else {})
    return {name: st.column_config.TextColumn(help=text) for name, text in helps.items()}


_HELPS = {
    "Figure": "Accuracy: share of decisions that equal the recorded outcome. F1: how well the favourable outcome is "
    "found, missed and wrongly given ones counted alike. AUC: how well scores put people in order, 0.5 as chance, 1 "
    "perfect. Discriminatory: decided differently when nothing but protected attributes changes; of all individuals "
    "that the columns allow, and of the held-out people of the data.",
    CONTROL: "The same kind of model, trained on the same rows without any case: what training again does alone.",
    "Change, points": "After less before, in points of a percent (AUC times 100); with a 95 % interval where the same "
    "people were asked twice.",
}


def lines_text(lines: Sequence[Line]) -> str:
    """The figures in words, as a chart of them is read: ``Accuracy: 93.9 % before, 93.3 % after.``"""
    return " ".join(
        f"{line.name}: "
        + ", ".join(f"{one.short} {when}" for one, when in ((line.before, "before"), (line.after, "after")) if one)
        + "."
        for line in lines
    )


def table(lines: Sequence[Line], first: str) -> pd.DataFrame:
    """The twin of a chart: one line a figure; columns that nobody fills are left out.

    Args:
        lines: of the chart.
        first: heading of the names.
    """
    columns: dict[str, list[str]] = {first: [line.name for line in lines]}
    for heading, figures in (
        (BEFORE, [line.before for line in lines]),
        (AFTER, [line.after for line in lines]),
    ):
        if any(figures):
            columns[heading] = [_text_of(figure) for figure in figures]
    if any(line.change for line in lines):
        columns["Change, points"] = [line.change or wording.DASH for line in lines]
    if any(line.control for line in lines):
        columns[CONTROL] = [_text_of(line.control) for line in lines]
    return pd.DataFrame(columns)


def _text_of(figure: Figure | None) -> str:
    return wording.DASH if figure is None else figure.text


IMPROVED = theme.Meaning("improved", "↗", "#00805D", "#3CC79C")
NO_IMPROVEMENT = theme.Meaning("no improvement", "→", "#5F666F", "#A7ADB5")
WORSE = theme.Meaning("worse", "↘", "#B84A00", "#FF8A4C")
UNKNOWN = theme.Meaning("not measured", "?", "#5F666F", "#A7ADB5")
BROKEN = theme.Meaning("no result", "✕", "#B84A00", "#FF8A4C")
_MEANINGS = {one.name: one for one in (IMPROVED, NO_IMPROVEMENT, WORSE, UNKNOWN)}
_TITLES = {
    IMPROVED.name: "Improved",
    NO_IMPROVEMENT.name: "No improvement",
    WORSE.name: "Worse",
    UNKNOWN.name: "Not measured",
}
HOW_MEASURED = (
    "Both models on the same held-out rows and the same fresh draws: rows that neither a training nor a search for "
    "cases has seen. No round is chosen for what it does on them; one that is less accurate there than the tolerance "
    "allows is refused. Intervals are of 95 %."
)

HOW_MEASURED_ALONE = "On held-out rows and on fresh draws. Intervals are of 95 %."


@dataclass(frozen=True)
class Headline:
    """A result in words.

    Args:
        meaning: its symbol and colour.
        title: one or two words.
        why: sentences.
        advice: what to do next, a sentence each.
    """

    meaning: theme.Meaning
    title: str
    why: str
    advice: tuple[str, ...] = ()


def headline(run: RunRecord, results: Results, version: Version | None) -> Headline:
    """The result of a retraining that ended, whichever way it did.

    Args:
        run: the retraining.
        results: what it left.
        version: the model that it made.
    """
    retrained = results.retrained
    if results.after is not None:
        if retrained is None:
            why = "The run ended before it said what its figures come to: they are below."
            return Headline(UNKNOWN, "No verdict", why, _advice_measured(UNKNOWN, has_model=True))
        meaning = _MEANINGS[retrained.verdict]
        return Headline(
            meaning, _TITLES[meaning.name], retrained.why, _advice_measured(meaning, has_model=retrained.has_model)
        )
    if version is not None:
        return _not_measured(run)
    return _without_model(run, results)


def _not_measured(run: RunRecord) -> Headline:
    """A model was trained and nobody looked at it on the rows held out."""
    how = "stopped" if run.state.value == "cancelled" else "broken off"
    why = (
        f"The retraining was {how} after it had a new model within the tolerance, and before that model was measured "
        "on the held-out rows. The model is kept as it was then; the original stays as it is."
    )
    return Headline(
        UNKNOWN,
        "A new model, not measured",
        why,
        ("Retrain again with the same seed, and let it end, to see what the model is worth.", "Or discard it below."),
    )


def _without_model(run: RunRecord, results: Results) -> Headline:
    state = run.state.value
    if state in ("failed", "crashed"):
        advice = _AFTER_FAILURE if state == "failed" else ()
        return Headline(BROKEN, "No result", phrases.ending(run), advice)
    rounds = results.training.rounds if results.training else []
    retrained = results.retrained
    if state == "cancelled":
        tried = f"after {wording.counted(len(rounds), 'round')}" if rounds else "before a model was trained"
        text = f"You stopped it {tried}, with no model within the tolerance. The original stays as it is."
        return Headline(NO_IMPROVEMENT, "Stopped without a new model", text, ("Retrain again with more time.",))
    n_vetoed = retrained.n_vetoed if retrained else 0
    why = retrained.why if retrained else ""
    return Headline(
        NO_IMPROVEMENT,
        "No improvement",
        why or "No new model was better within the tolerance. The original stays as it is.",
        (*_advice_control(retrained), *_advice_without(rounds, strategy_of(run), n_vetoed=n_vetoed)),
    )


_AFTER_FAILURE = ("Read what is said above, change it, and retrain again.",)


def _advice_control(retrained: Retrained | None) -> tuple[str, ...]:
    """A tolerance that counts from an accuracy that looks too high leaves no room: say what to count from."""
    if retrained is not None and retrained.is_inflated and retrained.reference == Reference.MODEL:
        return ("Retrain again, and let the tolerance count from a control model: see the note below.",)
    return ()


def _advice_without(rounds: list[Round], strategy: Strategy, *, n_vetoed: int) -> tuple[str, ...]:
    if not rounds:
        return (
            "Look for cases with a larger budget, another technique or another scope.",
            "If a search finds none either, there may be nothing to mitigate.",
        )
    if n_vetoed or not any(one.is_within for one in rounds):
        return (
            "Allow a larger tolerance, if the price is right.",
            "Try another strategy."
            if strategy is Strategy.VARIANTS
            else "Try All variants, which takes smaller steps than most.",
            "Where the recorded outcomes discriminate themselves, every mitigation costs accuracy on them.",
        )
    return ("Try another strategy, more cases, or more rounds.",)


def _advice_measured(meaning: theme.Meaning, *, has_model: bool) -> tuple[str, ...]:
    if meaning is IMPROVED:
        return ()
    if not has_model:
        return ("Nothing has to be undone: the original stays as it is. Try another strategy.",)
    return ("The original stays as it is until you keep the new model. Try another strategy, or a larger tolerance.",)


# --- what was done ------------------------------------------------------------------------------


def done_text(run: RunRecord, retrained: Retrained) -> str:
    """What was trained on what: ``3 rounds in 38 s; round 3 was chosen ...``."""
    parts = [retrained.kind] if retrained.kind else []
    parts.append(f"{wording.counted(retrained.n_rounds, 'round')} in {wording.duration(run.seconds)}")
    if retrained.round:
        # the control is trained first, and is no round
        number = retrained.round - (retrained.reference == Reference.CONTROL)
        parts.append(f"round {number} was chosen, with {wording.counted(retrained.n_added, 'row')} added")
    if retrained.n_cases:
        parts.append(f"{wording.counted(retrained.n_cases, 'case')} to learn from")
    if retrained.n_train:
        parts.append(
            f"{wording.count(retrained.n_train)} rows to train, {wording.count(retrained.n_validation)} to choose, "
            f"{wording.count(retrained.n_test)} held out to test"
        )
    tolerance = RETRAIN.settings(run.config).tolerance
    parts.append(f"accuracy was allowed to fall by {in_points(tolerance)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def notes(retrained: Retrained) -> list[str]:
    """What a reader of the figures must know, a sentence each."""
    more = [retrained.no_file] if retrained.no_file and retrained.no_file not in retrained.notes else []
    return [*retrained.notes, *more]


def is_baseline(strategy: str) -> bool:
    """Whether a strategy only stands beside the others, for comparison."""
    return strategy in {str(one) for one in BASELINES}


def cases_text(changes: Changes | None) -> str:
    """What became of the cases that the model learned from; empty where it learned from none."""
    if changes is None or not changes.n_cases:
        return ""
    n = changes.n_cases
    n_fixed = changes.n_fixed
    return (
        f"Of the {wording.counted(n, 'case')} that the new model learned from, {wording.count(n_fixed)} "
        f"({wording.share(n_fixed / n)}) are fixed: the person is decided alike whatever the protected values. "
        f"{wording.count(n - n_fixed)} are still there. A model is expected to do well on what it learned from; the "
        "fresh search says more."
    )


def strategy_of(run: RunRecord) -> Strategy:
    """The strategy of a retraining."""
    return RETRAIN.settings(run.config).strategy


TEXT_SHARES = {"uniform": "Random swaps of a term", "data": "Held-out texts with a term"}
"""Of what the two shares are whose decision changes with a term, of a model before and after."""
_ROUNDS = {"data": "The data's texts with a term", "uniform": "Random swaps of a term"}
"""The same of the rounds, on texts that choose among models."""
HELP = (
    "Accuracy: share of decisions that equal the recorded outcome. F1: how well the favourable outcome is found, "
    "missed and wrongly given ones counted alike. AUC: how well scores put texts in order, 0.5 as chance, 1 perfect. "
    "Decided by its term: decided differently when nothing but an identity term is swapped for another of its "
    "category."
)


def shares_of(config: RunConfig) -> Mapping[str, str]:
    """Of whom the two shares of discrimination are, before and after."""
    return TEXT_SHARES if config.text_column else SHARES


def rounds_of(config: RunConfig) -> Mapping[str, str]:
    """The same of the rounds."""
    return _ROUNDS if config.text_column else retrain_rounds.SHARES
