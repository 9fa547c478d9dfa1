"""The kinds of runs: what the trusted half of the engine knows of each, in one place, and what runs leave beside pairs,
trees and rule sets: results by name, each of a type.

How a kind is worked is a table of the model's process (``model_process.work``), and how it is shown one of the app
(``pages.shared.runs.kinds``). Nothing else asks of which kind a run is.

Results come from the model's process, which may lie: the worker stores only what can be read as its type, and whoever
reads a stored result gets its attributes. Fields that older versions did not write have defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Generic, Protocol, TypeVar, get_type_hints

from msgspec import Meta

from fairness_engine.certification.results import Certification, Proved
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.cluster.counts import ClusterCounts
from fairness_engine.codec import TOLERANCE, Amount, Count, Proportion, Text, Word, decode, hold
from fairness_engine.data.recorded import Source
from fairness_engine.data.schema import Schema
from fairness_engine.errors import ModelError, RunError, SettingError
from fairness_engine.events import Event, GroupScored, ShareEstimated, Stopped
from fairness_engine.explanation.results import Affected
from fairness_engine.groups.figures.report import Figures, FigureSettings
from fairness_engine.groups.results import RuleSummary, Sentences
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.measures.proxies.results import OTHERS, REST, Proxies
from fairness_engine.measures.proxies.settings import ProxySettings
from fairness_engine.measures.results import Discovery, Diversity, ExactCount, PlausibleCounts, Severity, Share
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.results import Card, Changes, Measured, Retrained, Training, WorstRuleSet
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.trainable import libraries_of
from fairness_engine.runs.case_selection import picked_content
from fairness_engine.runs.learned import keep_lessons, known_lessons
from fairness_engine.runs.writers.models import ModelWriter
from fairness_engine.runs.writers.pairs import PairsWriter
from fairness_engine.runs.writers.proofs import ProofsWriter
from fairness_engine.runs.writers.rule_sets import RulesWriter
from fairness_engine.runs.writers.tested import TestedWriter
from fairness_engine.runs.writers.writer import Writer
from fairness_engine.search.results import ScanCounts, Tried
from fairness_engine.search.technique import Technique
from fairness_engine.store.records import RunRecord, StoredFile
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore


class Asked(Protocol):
    """Settings of a kind of run."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists, mappings, numbers and text."""


S = TypeVar("S", bound=Asked | None)
MAX_GROUPS = 10_000
_MAX_NOTES = 200


@dataclass(frozen=True)
class Spent:
    """What of a limit is used up: ``n`` of ``limit`` things, which ``noun`` names (one, many)."""

    n: int
    limit: float
    noun: tuple[str, str]


@dataclass(frozen=True)
class RunKind(Generic[S]):
    """A kind of run.

    Args:
        name: in the database, in JSON and in the address.
        settings: the typed settings of a configuration; what it does not name has its default.
        results: names of the results that its process may send.
        writers: what keeps more than results.
        tells: events of its own that become results.
        counts_people: whether its counts are of individuals, so that nobody is found who was not tried.
        agree: sees that results, by name, agree with each other, with what was asked and, at the end, with the last
            event; raises ``ValueError``.
        findings: of the results, those that say the same whenever the same is asked.
        gives_examples: its pairs are examples, as many as were found in some seconds, and no finding.
        first_phase: what it does once data and model are open.
        loops: compiled loops that it needs beside those of models.
        libraries: large ones that it needs beside those that opening its model takes.
        compares_variants: whether variants of a person are compared, so that the scope must have some.
        needs_model: whether a configuration needs one.
        shares: whether other processes may evaluate its rows, or decide its boxes, in blocks.
        goes_whole: whether a cluster works it in one of its processes.
        spent: what counts against which limit, beside the budget's seconds.
        finds: what is found among what is tried, in a word; empty where nothing is looked for.
        picked: what a person picked for it, beside the configuration.
        learns: what its process learns for the next run, see ``learned``.
        grace_seconds: how much longer than its budget of seconds a run may take.
        silence_seconds: how long it may say nothing.
        cancel_seconds: how long a cancelled one may say nothing before its process is killed.
    """

    name: str
    settings: Callable[[RunConfig], S]
    results: tuple[str, ...]
    writers: tuple[type[Writer], ...] = ()
    tells: tuple[type[Event], ...] = ()
    counts_people: bool = False
    agree: Callable[[RunConfig, Mapping[str, Any], Stopped | None], None] = lambda _, __, ___: None
    findings: tuple[str, ...] = ()
    gives_examples: bool = False
    first_phase: str = "searching"
    loops: tuple[Loops, ...] = (Loops.SEARCHES,)
    libraries: Callable[[RunConfig, StoredFile], tuple[str, ...]] = lambda _, __: ()
    compares_variants: bool = True
    needs_model: Callable[[S], bool] = lambda _: True
    shares: bool = False
    goes_whole: bool = False
    spent: Callable[[RunRecord, S], tuple[Spent, ...]] = lambda _, __: ()
    finds: str = "found"
    picked: Callable[[RunStore, RunConfig], dict[str, Any]] = lambda _, __: {}
    learns: tuple[str, ...] = ("reading",)
    grace_seconds: float = 120.0
    silence_seconds: float = 600.0
    cancel_seconds: float = 1.0

    def has(self, config: RunConfig) -> bool:
        """Whether a run is of this kind."""
        return config.kind == self.name

    def given(self, store: RunStore, config: RunConfig) -> dict[str, Any]:
        """What its process is told beside the configuration: what a person picked, and what earlier runs learned."""
        return {**known_lessons(store, config, self.learns), **self.picked(store, config)}

    def keep(self, store: RunStore, config: RunConfig, learned: dict[str, Any]) -> None:
        """Keep for the next run what its process has learned, which may be anything."""
        keep_lessons(store, config, self.learns, learned)

    @property
    def has_pairs(self) -> bool:
        """Whether its runs may store pairs."""
        return PairsWriter in self.writers

    def config(self, data_id: str, model_id: str, schema: Schema, scope: Scope, **others: Any) -> RunConfig:
        """A run to be made, with all its settings written out.

        Args:
            data_id, model_id, schema, scope: see ``RunConfig``; a model that the settings have no use for is left out.
            others: further fields of it.

        Raises:
            SettingError: a setting that there is none of or that is out of its range, or no model where one is needed.
        """
        config = RunConfig(self.name, data_id, model_id, schema, scope, **others)
        settings = self.settings(config)
        if settings is not None:
            config = replace(config, settings=settings.to_json())
        if not self.needs_model(settings):
            return replace(config, model_id="")
        if not config.model_id:
            raise SettingError("A model is needed, got none. Add one, or compare the groups by a column of the data.")
        return config


def _of_technique(config: RunConfig) -> Technique:
    """The technique of a search with its settings, see ``search.technique``."""
    from fairness_engine.search.registry import technique_named

    if not config.technique:
        raise SettingError("A search needs a technique, got none. Choose one under Plan.")
    return technique_named(config.technique).from_json(config.settings)


def _spent_by_search(run: RunRecord, _: Any) -> tuple[Spent, ...]:
    budget = run.config.budget
    return (
        *_limited(run.evaluations, budget.max_evaluations, ("row", "rows")),
        *_limited(run.n_found, budget.max_found, ("find", "finds")),
    )


def _spent_by_count(run: RunRecord, _: Any) -> tuple[Spent, ...]:
    n_individuals = Domain(run.config.schema, run.config.scope).n_individuals
    return _limited(run.n_tried, n_individuals if math.isfinite(n_individuals) else None, ("individual", "individuals"))


def _n_looks(config: RunConfig) -> int:
    """Columns that a run of proxies looks at, once for each attribute."""
    return len(config.scope.protected) * (len(config.schema.inputs) - 1)


def _limited(n: int, limit: float | None, noun: tuple[str, str]) -> tuple[Spent, ...]:
    return (Spent(n, limit, noun),) if limit else ()


def _agree_on_people(_: RunConfig, told: Mapping[str, Any], stopped: Stopped | None) -> None:
    """What a search says of where it looked is within what it tried."""
    if stopped is None:
        return
    for tried in (told.get("split") or {}).values():
        hold(
            tried.n_tried <= stopped.n_tried and tried.n_found <= stopped.n_found, "individuals by where they are from"
        )
    if "discovery" in told:
        hold(told["discovery"].evaluations[-1] <= stopped.evaluations, "evaluations of the curve")


def _agree_on_share(config: RunConfig, told: Mapping[str, Any], stopped: Stopped | None) -> None:
    """A share is of the draws that were asked for, and all of them."""
    share = told.get("share")
    if share is not None:
        hold(share.distribution == config.distribution.value, "distribution of the share")
        hold(share.n <= config.n_samples, "draws of the share")
        if stopped is not None:
            hold((share.n, share.n_hits) == (stopped.n_tried, stopped.n_found), "draws of the share")
    plausible = told.get("plausible_share")
    if plausible is not None:
        most = (config.n_samples, config.n_samples) if share is None else (share.n, share.n_hits)
        hold(plausible.n <= most[0] and plausible.n_hits <= most[1], "draws with plausible people")


def _agree_on_count(config: RunConfig, told: Mapping[str, Any], stopped: Stopped | None) -> None:
    """Everybody who was tried was counted."""
    count = told.get("count")
    if count is not None:
        hold(count.n_individuals <= Domain(config.schema, config.scope).n_individuals, "individuals of the domain")
        if stopped is not None:
            hold((count.n_individuals, count.n_discriminatory) == (stopped.n_tried, stopped.n_found), "individuals")


def _agree_on_proxies(config: RunConfig, told: Mapping[str, Any], stopped: Stopped | None) -> None:
    """Of every protected attribute that was done, in the order of the scope, every other column was looked at."""
    proxies = told.get("proxies")
    if proxies is None:
        return
    names = set(config.schema.names)
    done = tuple(each.protected for each in proxies.attributes)
    hold(done == config.scope.protected[: len(done)], "protected attributes")
    for each in proxies.attributes:
        hold({one.column for one in each.columns} == names - {each.protected}, "columns of an attribute")
        known = config.schema.column(each.protected).labels
        told_of = {name for one in each.differences for name in (one.group, one.reference)} - {OTHERS, REST}
        hold(not known or told_of <= set(known), "groups of an attribute")
    settings = ProxySettings.from_json(config.settings)
    hold(proxies.n_rows <= settings.n_rows, "rows of the data")
    if proxies.shap is not None:
        hold(settings.source is Source.MODEL, "an explanation of no model")
        hold(set(proxies.shap.shares) == names, "columns of the explanation")
        hold(proxies.shap.n_people <= settings.n_explained, "people who were explained")
    if stopped is not None:
        hold((proxies.n_columns, proxies.n_clear) == (stopped.n_tried, stopped.n_found), "columns")


SEARCH = RunKind(
    "search",
    _of_technique,
    ("reading", "notes", "plausibility", "severity", "affected", "discovery", "diversity", "split", "scan"),
    (PairsWriter, TestedWriter),
    tells=(GroupScored,),
    counts_people=True,
    agree=_agree_on_people,
    findings=("split", "scan"),
    shares=True,
    spent=_spent_by_search,
    learns=("reading", "surrogate"),
)
ESTIMATE = RunKind(
    "estimate",
    lambda _: None,
    ("reading", "notes", "plausible_share"),
    tells=(ShareEstimated,),
    counts_people=True,
    agree=_agree_on_share,
    findings=("share", "share_curve"),
    shares=True,
    spent=lambda run, _: _limited(run.n_tried, run.config.n_samples, ("draw", "draws")),
    finds="hits",
)
COUNT = RunKind(
    "count",
    lambda _: None,
    ("reading", "notes", "count"),
    counts_people=True,
    agree=_agree_on_count,
    findings=("count",),
    shares=True,
    spent=_spent_by_count,
)
CERTIFY = RunKind(
    "certify",
    lambda config: CertifySettings.from_json(config.settings),
    ("reading", "notes", "certification", "plausibility"),
    (PairsWriter, ProofsWriter),
    findings=("certification",),
    gives_examples=True,
    first_phase="certifying",
    shares=True,
    loops=(Loops.CERTIFICATIONS,),
    spent=lambda run, settings: _limited(run.evaluations, settings.max_boxes, ("box", "boxes")),
    grace_seconds=300.0,  # it estimates and stores after its budget
    cancel_seconds=10.0,  # its partition tree comes at its end
)
RULES = RunKind(
    "rules",
    lambda config: RuleSettings.from_json(config.settings),
    ("reading", "notes", "rules", "sentences"),
    (RulesWriter,),
    findings=("rules", "sentences"),
    first_phase="finding groups",
    loops=(),
    compares_variants=False,
    needs_model=lambda settings: settings.source is Source.MODEL,
    finds="",
    cancel_seconds=10.0,  # rule sets come all together
)


def _figure_settings(config: RunConfig) -> FigureSettings:
    """The choices of attributes that are named; else all that can be read of the scope's."""
    if "attribute_sets" in config.settings:
        return FigureSettings.from_json(config.settings)
    return FigureSettings.of_all(config.scope.protected, **config.settings)


FIGURES = RunKind(
    "figures",
    _figure_settings,
    ("reading", "notes", "figures"),
    findings=("figures",),
    first_phase="counting groups",
    loops=(),
    compares_variants=False,
    needs_model=lambda settings: settings.source is Source.MODEL,
)
PROXIES = RunKind(
    "proxies",
    lambda config: ProxySettings.from_json(config.settings),
    ("reading", "notes", "proxies"),
    agree=_agree_on_proxies,
    goes_whole=True,
    findings=("proxies",),
    first_phase="deciding the rows",
    loops=(),
    compares_variants=False,
    needs_model=lambda settings: settings.source is Source.MODEL,
    spent=lambda run, _: _limited(run.n_tried, _n_looks(run.config), ("look", "looks")),
    cancel_seconds=10.0,  # what is fitted is fitted to its end, and the attributes that are done come after it
)


def _libraries_of_training(config: RunConfig, model: StoredFile) -> tuple[str, ...]:
    try:
        return libraries_of(model.path, model.name, RetrainSettings.from_json(config.settings))
    except ModelError:  # its process will say so
        return ()


RETRAIN = RunKind(
    "retrain",
    lambda config: RetrainSettings.from_json(config.settings),
    (
        *("reading", "notes", "before", "training", "control", "after", "changes", "worst_rule_set"),
        *("retrained", "card"),
    ),
    (ModelWriter,),
    goes_whole=True,
    findings=("before", "training", "control", "after", "changes", "worst_rule_set", "retrained"),
    first_phase="reading the model",
    libraries=_libraries_of_training,
    picked=picked_content,
    grace_seconds=600.0,  # it ends the fit of an estimator, measures the new model and searches its rule sets
    silence_seconds=3600.0,  # one fit tells nothing until it is done; a person can cancel it, and a budget ends it
    cancel_seconds=10.0,
)

_ALL = (SEARCH, ESTIMATE, COUNT, CERTIFY, RULES, FIGURES, PROXIES, RETRAIN)
KINDS: dict[str, RunKind[Any]] = {kind.name: kind for kind in _ALL}


def kind_of(config: RunConfig) -> RunKind[Any]:
    """The kind of a run.

    Raises:
        RunError: there is none of that name.
    """
    if config.kind not in KINDS:
        raise RunError(f"The kind of a run must be one of {', '.join(KINDS)}, got '{config.kind}'. Run it anew.")
    return KINDS[config.kind]


# --- results ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notes:
    """Sentences that a reader of a run's figures needs."""

    notes: Annotated[list[Text], Meta(max_length=_MAX_NOTES)]


@dataclass(frozen=True)
class EstimatedShare(Share):
    """Of an estimate: what was drawn is ``uniform`` over the domain, the ``data`` rows, or ``perturbed`` ones."""

    distribution: Word = ""


@dataclass(frozen=True)
class GroupShares:
    """THEMIS's group score: largest less smallest favourable share over the combinations of protected values.

    Args:
        score: the difference.
        shares, counts, groups: of each combination its favourable share, its draws and its name.
    """

    score: Proportion
    shares: list[Proportion]
    counts: list[Count]
    groups: Annotated[list[Text], Meta(min_length=1, max_length=MAX_GROUPS)]

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        if not len(self.shares) == len(self.counts) == len(self.groups):
            raise ValueError("a share, a count and a name of each group")
        hold(abs(max(self.shares) - min(self.shares) - self.score) <= TOLERANCE, "difference of the shares")


@dataclass(frozen=True)
class FollowUpRuns:
    """The runs that measure both models of a retraining.

    Args:
        before, after: ids of the runs ``search``, ``certify`` and ``rules``; ``None`` where there is none.
        reasons: why not, by the same names.
        technique, seed: of them.
    """

    before: dict[str, str | None] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    technique: str = ""
    seed: int = 0

    def of(self, side: str) -> dict[str, str | None]:
        """The runs on the model ``before`` or ``after``."""
        return self.before if side == "before" else self.after


@dataclass(frozen=True)
class Results:
    """All that runs leave, by name; ``None`` for what this one did not.

    Args:
        split: individuals tried and found, by where they came from.
        share_curve: draws, share and the ends of its interval.
        plausible_share: of draws, those with a pair of two plausible people.
        trace: seconds, shares certified, falsified and undecided, and boxes.
        before, control, after: of a retraining, on the test rows.
        measured: the runs that followed it.
    """

    reading: Reading | None = None
    notes: Notes = field(default_factory=lambda: Notes([]))
    plausibility: PlausibleCounts | None = None
    severity: Severity | None = None
    discovery: Discovery | None = None
    diversity: Diversity | None = None
    split: dict[Text, Tried] | None = None
    scan: ScanCounts | None = None
    affected: Affected | None = None
    share: EstimatedShare | None = None
    share_curve: list[tuple[Count, Proportion, Proportion, Proportion]] = field(default_factory=list)
    plausible_share: Share | None = None
    group_score: GroupShares | None = None
    count: ExactCount | None = None
    proved: Proved | None = None
    trace: list[tuple[Amount, Amount, Amount, Amount, Count]] = field(default_factory=list)
    certification: Certification | None = None
    rules: RuleSummary | None = None
    proxies: Proxies | None = None
    sentences: Sentences | None = None
    figures: Figures | None = None
    before: Measured | None = None
    training: Training | None = None
    control: Measured | None = None
    after: Measured | None = None
    changes: Changes | None = None
    worst_rule_set: WorstRuleSet | None = None
    retrained: Retrained | None = None
    card: Card | None = None
    cluster: ClusterCounts | None = None
    measured: FollowUpRuns | None = None


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Results, include_extras=True)


def typed(name: str, content: Any) -> Any:
    """A result that was told, as its type: what it knows, and nothing else.

    Raises:
        ValueError: it cannot be.
    """
    return decode(_types()[name], content)


def of_stored(stored: dict[str, Any]) -> Results:
    """What ``RunStore.results`` holds, typed.

    Raises:
        RunError: a result is damaged.
    """
    values = {}
    for name, content in stored.items():
        if name in _types():
            try:
                values[name] = typed(name, content)
            except ValueError:
                raise RunError(
                    f"The result '{name}' of this run cannot be read: it is not as it was written. Run it again."
                ) from None
    return Results(**values)


def results_of(store: RunStore, run_id: str) -> Results:
    """What a run has left so far.

    Raises:
        RunError: a result is damaged.
    """
    return of_stored(store.results(run_id))
