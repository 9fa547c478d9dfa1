"""What a run is called, how it stands and how it ended, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.errors import StopReason
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from pages.shared.app import wording
from pages.shared.runs.kinds import CERTIFY, ENDS, SEARCH, view_of

if TYPE_CHECKING:
    from fairness_engine.cluster.counts import ClusterCounts
    from fairness_engine.measures.results import ExactCount, PlausibleCounts, Share
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.run_config import RunConfig

_STATES = {
    "queued": "◌ Waiting",
    "running": "▶ Running",
    "finished": "✓ Finished",
    "cancelled": "■ Stopped",
    "crashed": "✕ Crashed",
    "failed": "✕ Failed",
}


def run_title(config: RunConfig) -> str:
    """A run's name: ``AEQUITAS, fully-directed``, ``Random``, ``Estimate, the data's rows``, ``Exact count``,
    ``Certification, counting``, ``Rule sets, groups of 5 % or more``, ``Retraining: All variants``."""
    return view_of(config).title(config)


def settings_text(config: RunConfig) -> str:
    """The settings of a search that are not its technique's own, not escaped: ``Start rows: uniform; Directed search:
    off``.
    """
    from fairness_engine.settings import settings_of

    technique = TECHNIQUES.get(config.technique) if SEARCH.kind.has(config) else None
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


_ANNOUNCED = {"finished": "ended", "cancelled": "stopped", "crashed": "crashed", "failed": "failed"}


def announcement(record: RunRecord) -> str:
    """How a run stands, to be read aloud: ``Search ended: 1 204 pairs found.``, ``Rule sets at work: ...``."""
    view = view_of(record.config)
    stands = _ANNOUNCED.get(record.state.value, "at work")
    came_to = view.came_to(record)
    return f"{view.noun.capitalize() or 'Search'} {stands}{f': {came_to}' if came_to else ''}."


def effort(record: RunRecord) -> str:
    """What a run spent, in rows evaluated; a certification looks at boxes instead."""
    other = view_of(record.config).effort
    return wording.count(record.evaluations) if other is None else wording.counted(record.evaluations, *other)


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


def of_cluster(counts: ClusterCounts, *, are_kept: bool = False) -> str:
    """Who shared in a run, and what became of its blocks, as Markdown.

    Args:
        are_kept: the run broke off, and the next one of its question goes on from them.
    """
    if counts.why:
        return f"Cluster: {wording.markdown(counts.why)}"
    parts = [wording.counted(counts.n_workers, "process", "processes")]
    if counts.n_unable:
        parts.append(f"{wording.count(counts.n_unable)} could not open the model")
    parts.append(f"{wording.counted(counts.n_done, 'block')} done")
    if counts.n_repeated:
        parts.append(f"{wording.count(counts.n_repeated)} asked again")
    if counts.n_set_aside:
        parts.append(f"{wording.count(counts.n_set_aside)} set aside")
    if counts.n_known:
        parts.append(f"{wording.count(counts.n_known)} known from a run that broke off")
    if are_kept:
        parts.append("kept: the same run goes on from there")
    page = f" · [Dask's page]({counts.dashboard})" if counts.dashboard.startswith("http") else ""
    return f"Cluster: {', '.join(parts)}{page}"


def ending(record: RunRecord) -> str:
    """How a run ended and what to do about it: one or two sentences, not escaped."""
    view = view_of(record.config)
    kept = view.kept(record)
    if record.state.value == "crashed":
        return f"{_crash(record)} {kept} Run it again.".replace("  ", " ")
    if record.state.value == "failed":
        return f"{record.message or 'The run could not go on.'} {kept}".strip()
    if record.state.value == "cancelled":
        return f"{ENDS[StopReason.CANCELLED]} {kept}".strip()
    return view.finished(record) or (ENDS | dict(view.ends)).get(record.stop_reason, "")


def _crash(record: RunRecord) -> str:
    """Why a run crashed; what the store says of a dead worker is said in this page's words."""
    from fairness_engine.runs.queue import CRASH_MESSAGE

    if record.message and record.message != CRASH_MESSAGE:
        return record.message
    return "The process that worked on this run ended before the run did."


def none_found(record: RunRecord, high: float) -> str:
    """What a search without a single pair says: how many individuals, and the most that may have been missed.

    Args:
        record: a search that ended.
        high: upper 95 % bound of the share among individuals like those tried.
    """
    if CERTIFY.kind.has(record.config):
        return f"This certification has no counterexample {record.extent}. This does not show that there are none."
    tried = wording.counted(record.n_tried, "individual")
    text = f"None found {record.extent}: {tried} tried, {wording.count(record.evaluations)} rows evaluated."
    if record.config.technique == "random" and record.n_tried:
        text += f" With 95 % confidence the share among people drawn at random is {wording.share(0.0, 0.0, high)}."
    return text + " This does not show that there are none."


def plausible_pairs(record: RunRecord, measured: PlausibleCounts | None) -> str:
    """How many of a search's pairs are of two people who could exist, and what that makes of its success rate; nothing
    before any was measured, and of runs of earlier versions, which did not look at both.
    """
    if measured is None or measured.n_plausible is None or not measured.n_measured:
        return ""
    n = measured.n_measured
    of = "the" if n == record.n_found else f"{wording.count(n)} measured"
    share = wording.share(measured.n_plausible / n)
    text = f"Two people who could exist: {wording.count(measured.n_plausible)} of {of} pairs, {share}"
    if record.n_tried and n == record.n_found:
        text += f"; that is {wording.share(measured.n_plausible / record.n_tried)} of those tried"
    if measured.n_one_person:
        text += f". One who could: {wording.count(measured.n_one_person)}"
    return f"{text}."


def plausible_share(share: Share) -> str:
    """What an estimate says of individuals with a pair of two people who could exist."""
    text = wording.share(share.share) if share.low == share.high else wording.share(share.share, share.low, share.high)
    draws = wording.counted(share.n, "draw")
    return f"With two people who could exist: {text}; {wording.count(share.n_hits)} of {draws}."


def plausible_of_count(counted: ExactCount) -> str:
    """What a count says of its discriminatory individuals: how many have a pair of two people who could exist;
    nothing where nobody was judged.
    """
    share = counted.plausible
    if share is None:
        return ""
    is_whole = share.n == counted.n_discriminatory
    text = wording.share(share.share) if is_whole else wording.share(share.share, share.low, share.high)
    of = "these" if is_whole else f"{wording.count(share.n)} of these, drawn evenly"
    return f"With two people who could exist: {wording.count(share.n_hits)} of {of}, {text}."


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
