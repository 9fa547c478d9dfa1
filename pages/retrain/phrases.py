"""What a retraining came to, in plain words: the verdict, why, what to keep in mind, and what to do next. Nothing here
is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from fairness_engine.retraining.evaluation.verdict import in_points
from fairness_engine.retraining.settings import BASELINES, Reference, Strategy
from fairness_engine.runs.kinds import RETRAIN
from pages.retrain import rounds as retrain_rounds
from pages.shared.app import theme, wording
from pages.shared.runs import phrases

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord, Version
    from fairness_engine.store.run_config import RunConfig

BEFORE = f"{theme.BEFORE.symbol} Before"
AFTER = f"{theme.AFTER.symbol} After"
CONTROL = "○ Control"
"""The same kind of model, trained on the same rows without any case."""
_ONE_DECIMAL = 0.01
"""Shares from here on are written with one decimal: a tolerance is half a point or one."""
_QUALITY = (("accuracy", "Accuracy"), ("f1", "F1"), ("auc", "AUC"))
SHARES = {"uniform": "All individuals", "data": "Held-out people"}
"""Of whom the discriminatory share is one: anybody of the domain, or the people of the data that nothing was learned
from.
"""


class Unit(StrEnum):
    """How a figure is written."""

    SHARE = "share"
    POINTS = "points"
    PLAIN = "plain"


@dataclass(frozen=True)
class Figure:
    """A share, a difference of shares, or an AUC, with its 95 % interval, 0 to 1 each."""

    value: float
    low: float
    high: float
    unit: Unit = Unit.SHARE

    @classmethod
    def of(cls, content: Mapping[str, Any] | None, unit: Unit = Unit.SHARE) -> Figure | None:
        """From a result: of quality (``value``), or of a counted share (``share``); ``None`` where nothing was
        counted.
        """
        if not content or content.get("n") == 0:
            return None
        value = content["value"] if "value" in content else content["share"]
        return cls(float(value), float(content["low"]), float(content["high"]), unit)

    @property
    def text(self) -> str:
        """With its interval: ``93.9 % (92.2-95.2)``, ``27.6 points (24.1-30.0)``, ``0.983 (0.976-0.989)``, ``27.6
        points, exact``.
        """
        if self.unit is Unit.SHARE and self.value < _ONE_DECIMAL:
            return wording.share(self.value, self.low, self.high)
        if self.low == self.high and self.unit is Unit.POINTS:
            return f"{self.short}, exact"
        scale, decimals = (1, 3) if self.unit is Unit.PLAIN else (100, 1)
        return f"{self.short} ({scale * self.low:.{decimals}f}-{scale * self.high:.{decimals}f})"

    @property
    def short(self) -> str:
        """Without its interval; one decimal, so that a small change is seen: ``93.9 %``, ``0.041 %``, ``27.6 points``,
        ``0.983``. Of a share of which nothing was seen its upper bound: ``below 0.060 %``."""
        if self.unit is Unit.PLAIN:
            return f"{self.value:.3f}"
        if self.unit is Unit.POINTS:
            return f"{100 * self.value:.1f} points"
        if self.value == 0 < self.high:
            return wording.share(self.value, self.low, self.high)
        return f"{100 * self.value:.1f} %" if self.value >= _ONE_DECIMAL else wording.share(self.value)


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


def quality_lines(results: Mapping[str, Any]) -> list[Line]:
    """Accuracy, F1 and AUC; those that neither model has are left out."""
    lines = []
    for key, name in _QUALITY:
        unit = Unit.PLAIN if key == "auc" else Unit.SHARE
        found = [Figure.of(_quality(results, which).get(key), unit) for which in _MODELS]
        if any(found):
            lines.append(Line(name, *found, change=_change(results, key)))
    return lines


def share_lines(results: Mapping[str, Any], names: Mapping[str, str] = SHARES) -> list[Line]:
    """The discriminatory shares, of whom ``names`` says; those that nobody was counted for are left out."""
    lines = [
        Line(name, *(Figure.of((results.get(which) or {}).get(key)) for which in _MODELS), change=_change(results, key))
        for key, name in names.items()
    ]
    return [line for line in lines if line.before or line.after or line.control]


_MODELS = ("before", "after", "control")


def _quality(results: Mapping[str, Any], which: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (results.get(which) or {}).get("quality") or {}
    return found


def _change(results: Mapping[str, Any], key: str) -> str:
    """The paired change in points with its interval, where it was measured; else the plain difference of figures of the
    same draws.
    """
    found = (results.get("changes") or {}).get(key)
    if isinstance(found, Mapping) and "low" in found:
        return change_text(found["value"], found["low"], found["high"])
    ends = [_quality(results, which).get(key) or (results.get(which) or {}).get(key) for which in ("before", "after")]
    return plain_change(*ends)


def plain_change(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """The difference of two figures of as many rows or draws, in points; empty where they are of others, or one is
    missing.
    """
    first = Figure.of(before)
    second = Figure.of(after)
    if before is None or after is None or first is None or second is None or before.get("n") != after.get("n"):
        return ""
    return points(second.value - first.value)


def change_text(value: float, low: float, high: float) -> str:
    """A paired change in points with its interval: ``−4.2 (−5.9 to −2.6)``."""
    return f"{points(value)} ({points(low)} to {points(high)})"


def points(change: float) -> str:
    """A change of a share in points of a percent, with a real sign: ``+0.3``, ``−4.2``, ``0``."""
    value = 100 * change
    decimals = 2 if abs(value) < 1 else 1
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return "0"
    return f"{'+' if value > 0 else '−'}{text}"


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


def headline(run: RunRecord, results: Mapping[str, Any], version: Version | None) -> Headline:
    """The result of a retraining that ended, whichever way it did.

    Args:
        run: the retraining.
        results: what it left.
        version: the model that it made.
    """
    told = results.get("retrained") or {}
    if results.get("after"):
        meaning = _MEANINGS.get(str(told.get("verdict")), UNKNOWN)
        why = str(told.get("why") or "The run ended before it said what its figures come to: they are below.")
        title = _TITLES[meaning.name] if told.get("verdict") else "No verdict"
        return Headline(meaning, title, why, _advice_measured(meaning, told))
    if version is not None:
        return _not_measured(run)
    return _without_model(run, results, told)


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


def _without_model(run: RunRecord, results: Mapping[str, Any], told: Mapping[str, Any]) -> Headline:
    state = run.state.value
    if state in ("failed", "crashed"):
        advice = _AFTER_FAILURE if state == "failed" else ()
        return Headline(BROKEN, "No result", phrases.ending(run), advice)
    rounds = (results.get("training") or {}).get("rounds") or []
    why = str(told.get("why") or "")
    if state == "cancelled":
        tried = f"after {wording.counted(len(rounds), 'round')}" if rounds else "before a model was trained"
        text = f"You stopped it {tried}, with no model within the tolerance. The original stays as it is."
        return Headline(NO_IMPROVEMENT, "Stopped without a new model", text, ("Retrain again with more time.",))
    n_vetoed = int(told.get("n_vetoed", 0))
    return Headline(
        NO_IMPROVEMENT,
        "No improvement",
        why or "No new model was better within the tolerance. The original stays as it is.",
        (*_advice_control(told), *_advice_without(rounds, strategy_of(run), n_vetoed=n_vetoed)),
    )


_AFTER_FAILURE = ("Read what is said above, change it, and retrain again.",)


def _advice_control(told: Mapping[str, Any]) -> tuple[str, ...]:
    """A tolerance that counts from an accuracy that looks too high leaves no room: say what to count from."""
    if told.get("is_inflated") and told.get("reference") == Reference.MODEL:
        return ("Retrain again, and let the tolerance count from a control model: see the note below.",)
    return ()


def _advice_without(rounds: list[Mapping[str, Any]], strategy: Strategy, *, n_vetoed: int) -> tuple[str, ...]:
    if not rounds:
        return (
            "Look for cases with a larger budget, another technique or another scope.",
            "If a search finds none either, there may be nothing to mitigate.",
        )
    if n_vetoed or not any(one.get("is_within") for one in rounds):
        return (
            "Allow a larger tolerance, if the price is right.",
            "Try another strategy."
            if strategy is Strategy.VARIANTS
            else "Try All variants, which takes smaller steps than most.",
            "Where the recorded outcomes discriminate themselves, every mitigation costs accuracy on them.",
        )
    return ("Try another strategy, more cases, or more rounds.",)


def _advice_measured(meaning: theme.Meaning, told: Mapping[str, Any]) -> tuple[str, ...]:
    if meaning is IMPROVED:
        return ()
    if told.get("has_model") is False:
        return ("Nothing has to be undone: the original stays as it is. Try another strategy.",)
    return ("The original stays as it is until you keep the new model. Try another strategy, or a larger tolerance.",)


_BOTH = ("before", "after")


# --- what was done ------------------------------------------------------------------------------


def done_text(run: RunRecord, told: Mapping[str, Any]) -> str:
    """What was trained on what: ``3 rounds in 38 s; round 3 was chosen ...``."""
    kind = str(told.get("kind") or "")
    parts = [kind] if kind else []
    rounds = wording.counted(int(told.get("n_rounds", run.n_tried)), "round")
    parts.append(f"{rounds} in {wording.duration(run.seconds)}")
    if told.get("round"):
        number = int(told["round"]) - (
            told.get("reference") == "control"
        )  # the control is trained first, and is no round
        parts.append(f"round {number} was chosen, with {wording.counted(told.get('n_added', 0), 'row')} added")
    if told.get("n_cases"):
        parts.append(f"{wording.counted(told['n_cases'], 'case')} to learn from")
    if told.get("n_train"):
        counts = [wording.count(told[f"n_{part}"]) for part in ("train", "validation", "test")]
        parts.append(f"{counts[0]} rows to train, {counts[1]} to choose, {counts[2]} held out to test")
    tolerance = RETRAIN.settings(run.config).tolerance
    parts.append(f"accuracy was allowed to fall by {in_points(tolerance)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def notes(told: Mapping[str, Any]) -> list[str]:
    """What a reader of the figures must know, a sentence each."""
    said = [str(note) for note in told.get("notes") or ()]
    if told.get("no_file") and told["no_file"] not in said:
        said.append(str(told["no_file"]))
    if told.get("is_inflated") and not told.get("notes"):
        said.append(
            "The model before seems to have seen the held-out rows in its own training, so its accuracy looks too "
            "high: compare with the control, the same kind of model trained without cases on the same rows."
        )
    return said


def is_baseline(strategy: str) -> bool:
    """Whether a strategy only stands beside the others, for comparison."""
    return strategy in {str(one) for one in BASELINES}


def cases_text(results: Mapping[str, Any]) -> str:
    """What became of the cases that the model learned from; empty where it learned from none."""
    changes = results.get("changes") or {}
    n = int(changes.get("n_cases", 0))
    n_fixed = int(changes.get("n_fixed", 0))
    if not n:
        return ""
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
