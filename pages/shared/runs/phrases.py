"""What a run is called, how it stands and how it ended, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.errors import StopReason
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import Strategy
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from pages.shared.app import wording

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.run_config import RunConfig

DISTRIBUTIONS = {
    "uniform": "uniform over the domain",
    "data": "the data's rows",
    "perturbed": "the data's rows, one value moved",
}
_STATES = {
    "queued": "◌ Waiting",
    "running": "▶ Running",
    "finished": "✓ Finished",
    "cancelled": "■ Stopped",
    "crashed": "✕ Crashed",
    "failed": "✕ Failed",
}
_ENDS = {
    StopReason.EVALUATIONS: "The budget of rows is spent.",
    StopReason.SECONDS: "The time is up.",
    StopReason.FOUND: "As many as you wanted were found.",
    StopReason.EXHAUSTED: "The technique has tried all it could.",
    StopReason.CANCELLED: "You stopped it.",
    StopReason.MEMORY: "The memory that boxes may take is spent.",
}


_RULES_ENDS = {
    StopReason.EXHAUSTED: "",
    StopReason.SECONDS: "The time is up: the scores are of the samples that there was time for.",
}
_CERTIFY_ENDS = {
    StopReason.EVALUATIONS: "The limit of boxes is reached.",
    StopReason.EXHAUSTED: "There was nothing left to split, or enough is decided.",
}
_RETRAIN_ENDS = {
    StopReason.EXHAUSTED: "The strategy has nothing more to try.",
    StopReason.SECONDS: "The time is up: what was best by then is the result.",
}

_RETRAIN_KEPT = (
    "The best model within the tolerance up to then is kept. The original is as it was.",
    "No model was within the tolerance by then. The original is as it was.",
    "No model was trained by then. The original is as it was.",
)


def run_title(config: RunConfig) -> str:
    """A run's name: ``AEQUITAS, fully-directed``, ``Random``, ``Estimate, the data's rows``, ``Exact count``,
    ``Certification, counting``, ``Rule sets, groups of 5 % or more``, ``Retraining: All variants``."""
    if config.kind == "estimate":
        return f"Estimate, {DISTRIBUTIONS[config.distribution.value]}"
    if config.kind == "count":
        return "Exact count"
    if config.kind == "certify":
        return f"Certification, {config.settings.get('mode', 'counting')}"
    if config.kind == "rules":
        return f"Rule sets, groups of {100 * config.settings.get('support', 0.05):g} % or more"
    if config.kind == "retrain":
        return f"Retraining: {STRATEGIES[Strategy(config.settings['strategy'])].title}"
    technique = TECHNIQUES.get(config.technique)
    title = technique.title if technique else config.technique
    strategy = config.settings.get("strategy") or (getattr(technique, "strategy", None) if technique else None)
    return f"{title}, {strategy}" if strategy else title


def settings_text(config: RunConfig) -> str:
    """The settings of a search that are not its technique's own, not escaped: ``Start rows: uniform; Directed search:
    off``.
    """
    from fairness_engine.search.technique import settings_of

    technique = TECHNIQUES.get(config.technique) if config.kind == "search" else None
    if technique is None:
        return ""
    changed = [(info, config.settings.get(info.name, info.default)) for info in settings_of(technique)]
    return "; ".join(
        f"{info.label}: {_value(value)}{' ' * bool(info.unit)}{info.unit}"
        for info, value in changed
        if value != info.default and info.name != "strategy"  # which the name says
    )


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def distinct_titles(configs: list[RunConfig]) -> list[str]:
    """Names of runs that stand side by side; equal ones are told apart by their seed, then by a number."""
    titles = [run_title(config) for config in configs]
    named = [
        f"{title}, seed {config.seed}" if titles.count(title) > 1 else title
        for title, config in zip(titles, configs, strict=True)
    ]
    return [f"{name} ({named[:i].count(name) + 1})" if named.count(name) > 1 else name for i, name in enumerate(named)]


def state_text(record: RunRecord) -> str:
    """Symbol and word of where a run stands."""
    if record.is_active and record.is_cancel_requested:
        return "■ Stopping"
    if is_starting(record):
        return "▶ Starting"
    return _STATES[record.state.value]


def effort(record: RunRecord) -> str:
    """What a run spent, in rows evaluated; a certification looks at boxes instead."""
    if record.config.kind == "certify":
        return wording.counted(record.evaluations, "box", "boxes")
    return wording.count(record.evaluations)


def is_starting(record: RunRecord) -> bool:
    """Whether a run has a place and its process is on its way; one without a place waits for others to end."""
    return record.state.value == "queued" and record.reserved is not None


def activity(record: RunRecord) -> str:
    """What an active run is doing."""
    if is_starting(record):
        return "Starting"
    if record.state.value == "queued":
        return "Waits for a place: only a few runs work at once. It starts by itself."
    if record.phase in ("", "starting"):
        return "Opening the data and the model"
    return record.phase.capitalize()


def ending(record: RunRecord) -> str:
    """How a run ended and what to do about it: one or two sentences, not escaped."""
    kept = _kept(record)
    if record.state.value == "crashed":
        return f"{_crash(record)} {kept} Run it again.".replace("  ", " ")
    if record.state.value == "failed":
        return f"{record.message or 'The run could not go on.'} {kept}".strip()
    ends = _ENDS | {"certify": _CERTIFY_ENDS, "rules": _RULES_ENDS, "retrain": _RETRAIN_ENDS}.get(
        record.config.kind.value, {}
    )
    end = ends.get(record.stop_reason, "") if record.stop_reason else ""
    if record.config.technique == DATA_SCAN and record.stop_reason is StopReason.EXHAUSTED:
        end = "It has gone through the data."
    if record.config.kind == "estimate" and record.state.value == "finished":
        end = f"All {wording.counted(record.n_tried, 'draw')} are made."
        is_all = record.config.distribution == "data" and record.stop_reason is StopReason.EXHAUSTED
        if is_all and record.n_tried < record.config.n_samples:
            end = (
                f"All {wording.counted(record.n_tried, 'row')} of the data in the scope were asked, each once: there "
                "are no more to draw."
            )
    if record.config.kind == "count" and record.state.value == "finished":
        end = f"All {wording.counted(record.n_tried, 'individual')} of the domain were gone through."
    if record.config.kind == "rules" and record.state.value == "finished" and not record.n_found:
        end = "The time was up before any group was scored. Look again with more seconds."
    return f"{end} {kept if record.state.value == 'cancelled' else ''}".strip()


def _crash(record: RunRecord) -> str:
    """Why a run crashed; what the store says of a dead worker is said in this page's words."""
    from fairness_engine.runs.queue import CRASH_MESSAGE

    if record.message and record.message != CRASH_MESSAGE:
        return record.message
    return "The process that worked on this run ended before the run did."


def _kept(record: RunRecord) -> str:
    """What a run that broke off leaves."""
    left = {
        "certify": (record.evaluations, "What was proved up to then is kept.", "Nothing was proved up to then."),
        "rules": (record.n_found, "What was scored up to then is kept.", "Nothing was scored up to then."),
        "retrain": (record.n_found, _RETRAIN_KEPT[0], _RETRAIN_KEPT[1 if record.n_tried else 2]),
    }.get(record.config.kind.value)
    if left is not None:
        n, some, nothing = left
        return some if n else nothing
    if record.config.kind != "search":
        return ""
    if record.n_found == 0:
        return "Nothing was found up to then."
    if record.n_found == 1:
        return "The pair found up to then is kept."
    return f"The {wording.count(record.n_found)} pairs found up to then are kept."


def none_found(record: RunRecord, high: float) -> str:
    """What a search without a single pair says: how many individuals, and the most that may have been missed.

    Args:
        record: a search that ended.
        high: upper 95 % bound of the share among individuals like those tried.
    """
    if record.config.kind == "certify":
        return "This certification has no counterexample within its budget. This does not show that there are none."
    tried = wording.counted(record.n_tried, "individual")
    text = f"None found within the budget: {tried} tried, {wording.count(record.evaluations)} rows evaluated."
    if record.config.technique == "random" and record.n_tried:
        text += f" With 95 % confidence the share among people drawn at random is {wording.share(0.0, 0.0, high)}."
    return text + " This does not show that there are none."


def rate_title(record: RunRecord) -> str:
    """What the share of those found among those tried is called; for a scan it is the finding itself, and no
    success.
    """
    return "Discriminated against" if record.config.technique == DATA_SCAN else "Success rate"


def rate_note(record: RunRecord) -> str:
    """What a success rate is a share of; only random draws speak for the whole domain."""
    if record.config.technique == "random":
        return "Share of the individuals tried. They were drawn at random, so it estimates the share in the domain."
    if record.config.technique == DATA_SCAN:
        return (
            "Share of the people of your data who were tested: they are decided differently when nothing but "
            "protected values changes. People alike in everything else are counted once."
        )
    return (
        "Share of the individuals tried. The technique chooses whom to try, so it says nothing about how often in "
        "general."
    )
