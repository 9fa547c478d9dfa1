"""How the app speaks of each kind of run, in one place: the twin of ``fairness_engine.runs.kinds``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairness_engine.errors import StopReason
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.runs import kinds
from fairness_engine.runs.kinds import RunKind
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from fairness_engine.settings import settings_of
from pages.shared.app import navigation, wording
from pages.shared.app.navigation import Place

if TYPE_CHECKING:
    from typing import Any

    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.run_config import RunConfig

DISTRIBUTIONS = {
    "uniform": "uniform over the domain",
    "data": "the data's rows",
    "perturbed": "the data's rows, one value moved",
}
ENDS = {
    StopReason.EVALUATIONS: "The budget of rows is spent.",
    StopReason.SECONDS: "The time is up.",
    StopReason.FOUND: "As many as you wanted were found.",
    StopReason.EXHAUSTED: "The technique has tried all it could.",
    StopReason.CANCELLED: "You stopped it.",
    StopReason.MEMORY: "The memory that boxes may take is spent.",
}


def _nothing(_: RunRecord) -> str:
    return ""


@dataclass(frozen=True)
class RunView:
    """What the app says of one kind of run.

    Args:
        kind: of the engine.
        noun: what one is called among others, in a few words; empty for a search, which goes by its technique.
        title: the name of a run: ``Certification, counting``.
        ends: why one ended, where that is said otherwise than of a search.
        finished: what one that finished says of its end; empty where the reason does.
        kept: what one that broke off leaves.
        place: the page of its results; ``None`` where *Run* has them.
        see: of a link to them.
        so_far: what *Run* says of one whose results are elsewhere, as markdown.
        came_to: what one found, in a few words; empty where that takes more than a few.
        effort: what it spent, where that is no rows: (one, many).
        has_own_attributes: its protected attributes are chosen for each run.
        may_be_narrowed: it may look at a part of the review's scope.
    """

    kind: RunKind[Any]
    noun: str
    title: Callable[[RunConfig], str]
    ends: Mapping[StopReason, str] = field(default_factory=dict)
    finished: Callable[[RunRecord], str] = _nothing
    kept: Callable[[RunRecord], str] = _nothing
    place: Place | None = None
    see: str = ""
    so_far: Callable[[RunRecord], str] = _nothing
    came_to: Callable[[RunRecord], str] = _nothing
    effort: tuple[str, str] | None = None
    has_own_attributes: bool = False
    may_be_narrowed: bool = False


def _search_title(config: RunConfig) -> str:
    technique = TECHNIQUES.get(config.technique)
    if technique is None:
        return config.technique
    own = [info.default for info in settings_of(technique) if info.name == "strategy"]
    return ", ".join([technique.title, *(str(config.settings.get("strategy", default)) for default in own)])


def _search_finished(record: RunRecord) -> str:
    is_scan = record.config.technique == DATA_SCAN and record.stop_reason is StopReason.EXHAUSTED
    return "It has gone through the data." if is_scan else ""


def _pairs_found(record: RunRecord) -> str:
    return f"{wording.counted(record.n_found, 'pair')} found"


def _share_found(record: RunRecord) -> str:
    return f"{wording.count(record.n_found)} of {wording.counted(record.n_tried, 'individual')} discriminated against"


def _search_kept(record: RunRecord) -> str:
    if record.n_found == 0:
        return "Nothing was found up to then."
    if record.n_found == 1:
        return "The pair found up to then is kept."
    return f"The {wording.count(record.n_found)} pairs found up to then are kept."


def _estimate_finished(record: RunRecord) -> str:
    is_all = record.config.distribution == "data" and record.stop_reason is StopReason.EXHAUSTED
    if is_all and record.n_tried < record.config.n_samples:
        return (
            f"All {wording.counted(record.n_tried, 'row')} of the data in the scope were asked, each once: there "
            "are no more to draw."
        )
    return f"All {wording.counted(record.n_tried, 'draw')} are made."


def _some(n: int, what: str) -> str:
    return f"What was {what} up to then is kept." if n else f"Nothing was {what} up to then."


def _rules_finished(record: RunRecord) -> str:
    return "" if record.n_found else "The time was up before any group was scored. Look again with more seconds."


def _rules_so_far(record: RunRecord) -> str:
    if not record.n_found:
        return ""
    evaluated = f"{wording.counted(record.evaluations, 'row')} evaluated in {wording.duration(record.seconds)}"
    return f"{wording.counted(record.n_found, 'rule set')} scored, {evaluated}."


def _proxies_so_far(record: RunRecord) -> str:
    if not record.n_tried:
        return ""
    pairs = wording.counted(record.n_tried, "pair")
    return (
        f"{pairs} of a column and a protected attribute looked at; in {wording.count(record.n_found)} the column tells "
        "the attribute."
    )


def _retrain_kept(record: RunRecord) -> str:
    if record.n_found:
        best = "The best model within the tolerance up to then is kept."
    else:
        best = f"No model was {'within the tolerance' if record.n_tried else 'trained'} by then."
    return f"{best} The original is as it was."


def _retrain_so_far(record: RunRecord) -> str:
    if not record.n_tried:
        return ""
    return f"{wording.counted(record.n_tried, 'round')}, {wording.count(record.n_found)} of them within the tolerance."


SEARCH = RunView(kinds.SEARCH, "", _search_title, finished=_search_finished, kept=_search_kept, came_to=_pairs_found)
ESTIMATE = RunView(
    kinds.ESTIMATE,
    "estimate",
    lambda config: f"Estimate, {DISTRIBUTIONS[config.distribution.value]}",
    finished=_estimate_finished,
    came_to=_share_found,
)
COUNT = RunView(
    kinds.COUNT,
    "exact count",
    lambda _: "Exact count",
    finished=lambda run: f"All {wording.counted(run.n_tried, 'individual')} of the domain were gone through.",
    came_to=_share_found,
)
CERTIFY = RunView(
    kinds.CERTIFY,
    "certification",
    lambda config: f"Certification, {kinds.CERTIFY.settings(config).mode}",
    ends={
        StopReason.EVALUATIONS: "The limit of boxes is reached.",
        StopReason.EXHAUSTED: "There was nothing left to split, or enough is decided.",
    },
    kept=lambda run: _some(run.evaluations, "proved"),
    place=navigation.CERTIFY,
    see="See what is proved",
    came_to=lambda run: f"{wording.counted(run.evaluations, 'box', 'boxes')} looked at",
    effort=("box", "boxes"),
    may_be_narrowed=True,
)
RULES = RunView(
    kinds.RULES,
    "rule sets",
    lambda config: f"Rule sets, groups of {100 * kinds.RULES.settings(config).support:g} % or more",
    ends={
        StopReason.EXHAUSTED: "",
        StopReason.SECONDS: "The time is up: the scores are of the samples that there was time for.",
    },
    finished=_rules_finished,
    kept=lambda run: _some(run.n_found, "scored"),
    place=navigation.GROUPS,
    see="See the groups",
    so_far=_rules_so_far,
    came_to=lambda run: f"{wording.counted(run.n_found, 'rule set')} scored",
    has_own_attributes=True,
)
FIGURES = RunView(
    kinds.FIGURES,
    "group figures",
    lambda _: "Group figures",
    ends={StopReason.EXHAUSTED: ""},
    place=navigation.GROUPS,
    see="See the figures",
    has_own_attributes=True,
)
PROXIES = RunView(
    kinds.PROXIES,
    "proxies",
    lambda _: "Proxies",
    ends={
        StopReason.EXHAUSTED: "",
        StopReason.SECONDS: "The time is up: the attributes that were done by then are the result.",
    },
    finished=lambda run: "" if run.n_tried else "The time was up before any attribute was done. Give it more seconds.",
    kept=lambda run: _some(run.n_tried, "looked at"),
    so_far=_proxies_so_far,
    came_to=lambda run: f"{wording.counted(run.n_found, 'column')} that tell a protected attribute",
    has_own_attributes=True,
)
RETRAIN = RunView(
    kinds.RETRAIN,
    "retraining",
    lambda config: f"Retraining: {STRATEGIES[kinds.RETRAIN.settings(config).strategy].title}",
    ends={
        StopReason.EXHAUSTED: "The strategy has nothing more to try.",
        StopReason.SECONDS: "The time is up: what was best by then is the result.",
    },
    kept=_retrain_kept,
    place=navigation.RETRAIN,
    see="See what it came to",
    so_far=_retrain_so_far,
    came_to=lambda run: f"{wording.counted(run.n_found, 'round')} within the tolerance",
)

_ALL = (SEARCH, ESTIMATE, COUNT, CERTIFY, RULES, FIGURES, PROXIES, RETRAIN)
VIEWS: dict[str, RunView] = {view.kind.name: view for view in _ALL}


def view_of(config: RunConfig) -> RunView:
    """How runs of this kind are spoken of."""
    return VIEWS[kinds.kind_of(config).name]
