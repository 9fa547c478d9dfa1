"""What a retraining came to, in plain words: the verdict, why, what to keep in mind, and what to do next. Nothing here is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairness_engine.mitigation.settings import BASELINES, Reference, Strategy
from fairness_engine.mitigation.verdict import in_points
from pages.components import run_words, theme, wording
from pages.components.retrain_numbers import SHARES, Figure, change_text

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord, Version

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
    "Both models on the same held-out rows and the same fresh draws: rows that neither a training nor a search for cases has seen. No round is "
    "chosen for what it does on them; one that is less accurate there than the tolerance allows is refused. Intervals are of 95 %."
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
        meaning = _MEANINGS.get(str(told.get("verdict")), verdict_by_intervals(results))
        why = str(told.get("why") or "") or why_by_intervals(results)
        return Headline(meaning, _TITLES[meaning.name], why, _advice_measured(meaning, told))
    if version is not None:
        return _not_measured(run)
    return _without_model(run, results, told)


def _not_measured(run: RunRecord) -> Headline:
    """A model was trained and nobody looked at it on the rows held out."""
    how = "stopped" if run.state.value == "cancelled" else "broken off"
    why = (
        f"The retraining was {how} after it had a new model within the tolerance, and before that model was measured on the held-out "
        "rows. The model is kept as it was then; the original stays as it is."
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
        return Headline(BROKEN, "No result", run_words.ending(run), advice)
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
        why or _why_none(rounds, told),
        (*_advice_control(told), *_advice_without(rounds, strategy_of(run), n_vetoed=n_vetoed)),
    )


_AFTER_FAILURE = ("Read what is said above, change it, and retrain again.",)


def _why_none(rounds: list[Mapping[str, Any]], told: Mapping[str, Any]) -> str:
    """Why there is no new model, from the rounds."""
    if not rounds:
        return "Nothing was found to learn from, so no model was trained. The original stays as it is."
    n_within = sum(bool(one.get("is_within")) for one in rounds)
    models = wording.counted(len(rounds), "trained model")
    if not n_within:
        tolerance = in_points(float(told.get("tolerance", 0.0)))
        return f"None of the {models} kept within {tolerance} of the accuracy. The original stays as it is."
    return f"None of the {models} was better than the original on the rows that choose. The original stays as it is."


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


# --- from intervals -----------------------------------------------------------------------------


def verdict_by_intervals(results: Mapping[str, Any]) -> theme.Meaning:
    """The verdict of intervals that do not overlap: better only when no share rose, worse when one rose and none fell."""
    directions = {_direction(*_ends(results, key)) for key in SHARES}
    if "rose" in directions:
        return NO_IMPROVEMENT if "fell" in directions else WORSE
    return IMPROVED if "fell" in directions else NO_IMPROVEMENT


def why_by_intervals(results: Mapping[str, Any]) -> str:
    """Both shares and the accuracy, before and after."""
    parts = []
    for key, whose in SHARES.items():
        before, after = _ends(results, key)
        if before is None or after is None:
            continue
        said = {"fell": "fell", "rose": "rose", "": "went, within what chance explains,"}[_direction(before, after)]
        parts.append(f"Of {whose.lower()} the discriminatory share {said} from {before.short} to {after.short}.")
    accuracy = [Figure.of(((results.get(which) or {}).get("quality") or {}).get("accuracy")) for which in _BOTH]
    if accuracy[0] is not None and accuracy[1] is not None:
        change = (results.get("changes") or {}).get("accuracy")
        interval = f" ({change_text(change['value'], change['low'], change['high'])} points)" if change else ""
        parts.append(f"Accuracy went from {accuracy[0].short} to {accuracy[1].short}{interval}.")
    return " ".join(parts)


_BOTH = ("before", "after")


def _ends(results: Mapping[str, Any], key: str) -> tuple[Figure | None, Figure | None]:
    before, after = (Figure.of((results.get(which) or {}).get(key)) for which in _BOTH)
    return before, after


def _direction(before: Figure | None, after: Figure | None) -> str:
    if before is None or after is None:
        return ""
    return "fell" if after.high < before.low else "rose" if after.low > before.high else ""


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
    tolerance = float(run.config.settings.get("tolerance", 0.0))
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
            "The model before seems to have seen the held-out rows in its own training, so its accuracy looks too high: compare with the "
            "control, the same kind of model trained without cases on the same rows."
        )
    return said


def is_baseline(strategy: str) -> bool:
    """Whether a strategy only stands beside the others, for comparison."""
    return strategy in {str(one) for one in BASELINES}


def cases_text(results: Mapping[str, Any]) -> str:
    """What became of the cases that the model learned from; empty where it learned from none."""
    changes = results.get("changes") or {}
    n, n_fixed = int(changes.get("n_cases", 0)), int(changes.get("n_fixed", 0))
    if not n:
        return ""
    return (
        f"Of the {wording.counted(n, 'case')} that the new model learned from, {wording.count(n_fixed)} "
        f"({wording.share(n_fixed / n)}) are fixed: the person is decided alike whatever the protected values. "
        f"{wording.count(n - n_fixed)} are still there. A model is expected to do well on what it learned from; the fresh search says more."
    )


def strategy_of(run: RunRecord) -> Strategy:
    """The strategy of a retraining."""
    return Strategy(run.config.settings["strategy"])
