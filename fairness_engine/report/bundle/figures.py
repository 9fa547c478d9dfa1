"""What the runs of a bundle come to, in words and figures, as every document says it: nothing is blended, each figure
keeps its run, whom it is of, its interval and its level of evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.certification.results import Certification
from fairness_engine.groups.rule_sets.phrases import share_text
from fairness_engine.measures.results import Share
from fairness_engine.report.bundle.contents import BundledRun, RuleSetLine
from fairness_engine.retraining.results import Interval, Measured, Verdict
from fairness_engine.store.records import RunState

_KINDS = {
    "search": "Search",
    "estimate": "Estimate",
    "count": "Count of everybody",
    "certify": "Certification",
    "rules": "Rule sets",
    "retrain": "Retraining",
}


class Evidence(StrEnum):
    """What a figure rests on."""

    FOUND = "found"
    ESTIMATED = "estimated"
    COUNTED = "counted"
    PROVED = "proved"
    RULE = "rule, joint interval"
    MEASURED = "measured"


class Came(StrEnum):
    """What a run came to."""

    SHOWN = "discrimination was shown"
    NONE_THERE = "nobody is treated differently, as everybody was counted or proved"
    NONE_FOUND = "none was found within the budget"
    NOTHING_CLAIMED = "it ended before anything could be claimed"
    IMPROVED = "the new model was measured to discriminate less"
    NOT_IMPROVED = "no new model was measured to discriminate less"
    WORSE = "the new model was measured to discriminate more"


@dataclass(frozen=True)
class Figure:
    """One figure of a run.

    Args:
        name: of what.
        of: whom, or what, it speaks of.
        low, high: ends of its 95 % interval; ``None`` for one that has none.
    """

    name: str
    value: float
    of: str
    evidence: Evidence
    low: float | None = None
    high: float | None = None


def protected_text(bundled: BundledRun) -> str:
    """The protected attributes, or what of texts is compared."""
    config = bundled.config
    return f"terms in {config.text_column}" if config.text_column else ", ".join(config.scope.protected)


def title(bundled: BundledRun) -> str:
    """What a run is, in a line: ``Search by sg (sex, race)``."""
    config = bundled.config
    how = config.technique or config.settings.get("strategy", "")
    of = protected_text(bundled) if config.model_id else f"outcomes of the data, {protected_text(bundled)}"
    return f"{_KINDS.get(config.kind, config.kind)}{f' by {how}' if how else ''} ({of})"


def outcome(bundled: BundledRun) -> Came:
    """What a run came to."""
    config = bundled.config
    results = bundled.results
    has_ended = bundled.state is RunState.FINISHED
    if config.kind == "retrain":
        retrained = results.retrained
        if retrained is None:
            return Came.NOTHING_CLAIMED
        return {Verdict.IMPROVED: Came.IMPROVED, Verdict.WORSE: Came.WORSE}.get(retrained.verdict, Came.NOT_IMPROVED)
    if _shows(bundled):
        return Came.SHOWN
    certified = results.certification
    if results.count is not None or (certified is not None and _covers_everybody(certified)):
        return Came.NONE_THERE
    return Came.NONE_FOUND if has_ended and certified is None else Came.NOTHING_CLAIMED


def _covers_everybody(certified: Certification) -> bool:
    """Whether all individuals are proved; where the data's rows weigh, those of no weight may not be."""
    return certified.undecided == 0 and certified.weights == Weights.UNIFORM


def _shows(bundled: BundledRun) -> bool:
    """Whether somebody, or a group, was shown to be treated differently."""
    results = bundled.results
    rules = bundled.rule_sets
    proved = results.certification or results.proved
    return (
        bundled.n_pairs > 0
        or (results.share is not None and results.share.n_hits > 0)
        or (results.count is not None and results.count.n_discriminatory > 0)
        or (proved is not None and proved.falsified > 0)
        or (rules is not None and rules.n_beyond_chance > 0)
    )


def figures(bundled: BundledRun) -> list[Figure]:
    """All figures of a run that a card can tell."""
    return [*_of_people(bundled), *_of_groups(bundled), *_of_models(bundled)]


def accuracy(bundled: BundledRun) -> Figure | None:
    """How often a model decides as the data has it, as it was looked at before a run."""
    reading = bundled.results.reading
    if reading is None or reading.accuracy is None:
        return None
    return Figure("accuracy", reading.accuracy, "rows of the data", Evidence.MEASURED)


def _of_people(bundled: BundledRun) -> Iterator[Figure]:
    results = bundled.results
    protected = protected_text(bundled)
    if bundled.config.kind == "search":
        tried = f"{bundled.run.n_tried:,} individuals tried; {protected}"
        yield Figure("discriminatory individuals found", bundled.n_pairs, tried, Evidence.FOUND)
    share = results.share
    if share is not None:
        drawn = f"{share.n:,} draws, {share.distribution}; {protected}"
        yield _share_figure("share of discriminatory individuals", share, drawn)
    count = results.count
    if count is not None:
        everybody = f"all {count.n_individuals:,} individuals; {protected}"
        yield Figure("share of discriminatory individuals", count.share, everybody, Evidence.COUNTED)
    certified = results.certification
    if certified is not None:
        weighed = f"all individuals, weights {certified.weights}; {protected}"
        yield Figure("share proved to be treated alike", certified.certified, weighed, Evidence.PROVED)
        yield Figure("share proved to be treated differently", certified.falsified, weighed, Evidence.PROVED)
        yield Figure("share undecided", certified.undecided, weighed, Evidence.PROVED)
        drawn_of = certified.estimate
        if drawn_of is not None:
            name = "share treated differently of the undecided"
            value = drawn_of.unfair_share_of_undecided
            ends = (drawn_of.low, drawn_of.high)
            yield Figure(name, value, f"{drawn_of.n:,} draws; {protected}", Evidence.ESTIMATED, *ends)


def _of_groups(bundled: BundledRun) -> Iterator[Figure]:
    for line in bundled.rule_sets.top if bundled.rule_sets is not None else ():
        name = "difference of favourable shares, inside and outside"
        yield Figure(name, line.score, line.group, Evidence.RULE, line.low, line.high)


def _of_models(bundled: BundledRun) -> Iterator[Figure]:
    results = bundled.results
    for which, measured in (("before", results.before), ("after", results.after)):
        if measured is not None:
            yield from _measured_figures(f"test rows, model {which} the retraining", measured)


def _measured_figures(of: str, measured: Measured) -> Iterator[Figure]:
    quality = measured.quality
    for name, interval in (("accuracy", quality.accuracy), ("F1", quality.f1), ("AUC", quality.auc)):
        if interval is not None:
            yield _interval_figure(name, interval, f"{quality.n:,} {of}")
    yield _share_figure("share of discriminatory rows", measured.data, f"{measured.data.n:,} {of}")
    uniform = f"{measured.uniform.n:,} draws, uniform, {of.split(', ', 1)[1]}"
    yield _share_figure("share of discriminatory individuals", measured.uniform, uniform)


def _interval_figure(name: str, interval: Interval, of: str) -> Figure:
    return Figure(name, interval.value, of, Evidence.MEASURED, interval.low, interval.high)


def _share_figure(name: str, share: Share, of: str) -> Figure:
    return Figure(name, share.share, of, Evidence.ESTIMATED, share.low, share.high)


def rule_set_text(line: RuleSetLine) -> str:
    """What a rule set says: the favourable shares inside and outside, and how far they are apart."""
    ends = f"{100 * line.low:.1f} to {100 * line.high:.1f}, joint interval"
    return (
        f"{line.group}: {share_text(line.inside)} favourable (n {line.n_inside:,}), everyone else "
        f"{share_text(line.outside)} (n {line.n_outside:,}); {100 * line.score:.1f} points "
        f"({'exactly' if line.low == line.high else ends})"
    )


def said(bundled: BundledRun) -> str:
    """What a run is and what it came to, in a sentence."""
    return f"{title(bundled)}: {'; '.join(_told(bundled)) or outcome(bundled).value}."


def _told(bundled: BundledRun) -> Iterator[str]:
    results = bundled.results
    if bundled.config.kind == "search":
        yield f"{bundled.n_pairs:,} discriminatory individuals found among {bundled.run.n_tried:,} tried"
    if results.share is not None:
        share = results.share
        ends = f"{share_text(share.low)} to {share_text(share.high)}"
        drawn = f"{share.n:,} individuals drawn ({share.distribution})"
        yield f"{share_text(share.share)} of {drawn} are discriminatory ({ends})"
    if results.count is not None:
        count = results.count
        yield f"{count.n_discriminatory:,} of all {count.n_individuals:,} individuals are discriminatory, all counted"
    if results.certification is not None:
        proved = results.certification
        shares = (proved.certified, proved.falsified, proved.undecided)
        yield "{} proved to be treated alike, {} differently, {} undecided".format(*map(share_text, shares))
    if bundled.rule_sets is not None:
        n = bundled.rule_sets.n_beyond_chance
        yield f"{n:,} rule set{'' if n == 1 else 's'} beyond chance"
        yield from (rule_set_text(line) for line in bundled.rule_sets.top[:1])
    if results.retrained is not None:
        why = results.retrained.why.rstrip(".")
        yield f"{results.retrained.verdict.value}{f'. {why}' if why else ''}"
