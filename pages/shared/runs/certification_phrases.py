"""What a certification says, in plain words: what is proved, what is estimated, and how the two are kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairness_engine.certification.results import Certification, DataRows
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.data.links.spelling import link_text
from fairness_engine.runs.kinds import CERTIFY
from pages.shared.app import theme, wording

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.run_config import RunConfig

PROVED = "Proved"
ESTIMATED = "Estimated"
OPEN = "Open"
"""Levels of evidence: never in one sentence."""
WHAT_IT_GIVES = (
    "A certification proves for whom the decision does not depend on {names}, and for whom it does: not by samples, "
    "but for every single individual of whole regions of the domain. What it cannot decide in its time stays "
    "undecided; that part is estimated by a sample and never counted as a pass."
)
_DECIDED = 1e-12
"""Sums of shares are off by this much in floating point."""


@dataclass(frozen=True)
class Claim:
    """One sentence of a result: what it is about, how it is known, and the share in front of it."""

    meaning: theme.Meaning
    level: str
    text: str


@dataclass(frozen=True)
class Shares:
    """What is proved of the individuals of a domain, 0 to 1 each; the three make 1.

    Those of people are counted, and written as any share; those of a domain are bounds.
    """

    certified: float
    falsified: float
    undecided: float
    is_counted: bool = False

    @classmethod
    def of(cls, certified: float, falsified: float) -> Shares:
        """What is left is undecided, but for rounding."""
        undecided = max(0.0, 1 - certified - falsified)
        return cls(certified, falsified, undecided if undecided > _DECIDED else 0.0)

    @classmethod
    def of_people(cls, rows: DataRows) -> Shares:
        """Of the data's people, by what is proved of each; there must be one."""
        return cls(rows.certified / rows.n, rows.falsified / rows.n, rows.undecided / rows.n, is_counted=True)

    @property
    def texts(self) -> tuple[str, str, str]:
        """The three as they are written."""
        if self.is_counted:
            return wording.share(self.certified), wording.share(self.falsified), wording.share(self.undecided)
        certified = 1.0 if self.falsified == 0 and self.undecided == 0 else self.certified
        falsified = 1.0 if self.certified == 0 and self.undecided == 0 else self.falsified
        return wording.proved_shares(certified, falsified, self.undecided)

    @property
    def sentence(self) -> str:
        """Those that are not 0, in words: ``✓ 82 % certified, ? 18 % undecided``."""
        names = ((theme.CERTIFIED, "certified"), (theme.DISCRIMINATORY, "falsified"), (theme.UNDECIDED, "undecided"))
        parts = zip(names, self.texts, strict=True)
        return ", ".join(
            f"{meaning.symbol} {text} {name}" for (meaning, name), text in parts if getattr(self, name) > 0
        )


# --- the result ---------------------------------------------------------------------------------


def claims(result: Certification, protected: str, extent: str) -> list[Claim]:
    """The result in sentences, not escaped: first what is proved, then what is not.

    Args:
        result: of a run.
        protected: names of the protected attributes, as in a sentence.
        extent: of the run, see ``RunRecord``.
    """
    shares = Shares.of(result.certified, result.falsified)
    everybody = individuals_of(result)
    same = f"get the same decision whatever their {protected}"
    other = f"get another decision when nothing but their {protected} changes"
    if result.is_by_construction:
        text = f"All {everybody} {same}, by construction: the model does not take {protected}."
        return [Claim(theme.CERTIFIED, PROVED, text)]
    certified, falsified, _ = shares.texts
    found = [_certified(shares, certified, everybody, same, extent)]
    if shares.falsified > 0:
        found.append(Claim(theme.DISCRIMINATORY, PROVED, f"{falsified} of them {other}."))
    elif shares.undecided > 0:
        text = f"None were falsified {extent}; this does not show that there are none."
        found.append(Claim(theme.UNDECIDED, OPEN, text))
    if shares.undecided > 0:
        found += _undecided(result, shares)
    return found


def _certified(shares: Shares, text: str, everybody: str, same: str, extent: str) -> Claim:
    if shares.certified <= 0:
        return Claim(theme.CERTIFIED, PROVED, f"Of {everybody}, none are certified {extent}.")
    if shares.falsified == 0 and shares.undecided == 0:
        return Claim(theme.CERTIFIED, PROVED, f"All {everybody} {same}.")
    return Claim(theme.CERTIFIED, PROVED, f"{text} of {everybody} {same}.")


def _undecided(result: Certification, shares: Shares) -> list[Claim]:
    """What is open, and apart from it what a sample says of it."""
    found = [Claim(theme.UNDECIDED, OPEN, f"{shares.texts[2]} are undecided: neither is proved of them.")]
    estimate = result.estimate
    if estimate is not None and estimate.low <= 0 and estimate.high >= 1:
        text = "Too little is undecided to estimate how many of it are discriminated against."
        found.append(Claim(theme.UNDECIDED, ESTIMATED, text))
    elif estimate is not None:
        share = wording.share(estimate.unfair_share_of_undecided, estimate.low, estimate.high)
        drawn = f" of {wording.counted(estimate.n, 'individual')}" if estimate.n else ""
        text = f"{share} of the undecided are discriminated against, by a sample{drawn}, not by proof."
        found.append(Claim(theme.UNDECIDED, ESTIMATED, text))
    return found


def individuals_of(result: Certification) -> str:
    """Whom the shares are of: ``786 trillion individuals``."""
    n = result.n_individuals
    everybody = "individuals" if n is None else f"{wording.magnitude(n)} individuals"
    if result.weights == "data":
        return f"{everybody}, weighted by how common their values are in the data"
    return f"{everybody} of the domain" if n is None else everybody


def people_claims(rows: DataRows) -> list[Claim]:
    """What is proved of the data's own people, who come first: a sentence for each sort of them that there is."""
    n = rows.n
    if not n:
        return [Claim(theme.UNDECIDED, OPEN, "No row of the data lies in the domain.")]
    people = wording.counted(n, "person", "people")
    said = (
        (theme.DISCRIMINATORY, PROVED, "falsified", "are discriminated against"),
        (theme.CERTIFIED, PROVED, "certified", "are decided alike"),
        (theme.UNDECIDED, OPEN, "undecided", "are undecided"),
    )
    there = [each for each in said if getattr(rows, each[2])]
    if len(there) == 1:
        meaning, level, _, words = there[0]
        return [Claim(meaning, level, f"All {people} of your data {words}.")]
    texts = dict(zip(("certified", "falsified", "undecided"), Shares.of_people(rows).texts, strict=True))
    return [
        Claim(
            meaning,
            level,
            f"{texts[name]} of the {people} of your data ({wording.count(getattr(rows, name))}) {words}.",
        )
        for meaning, level, name, words in there
    ]


def method_note(result: Certification, seconds: float) -> str:
    """How the figures came about."""
    parts = [f"{_capital(result.kind)}, by {result.method}" if result.kind else _capital(result.method)]
    parts.append(f"{wording.counted(result.boxes, 'box', 'boxes')} in {wording.duration(seconds)}")
    if result.depth:
        parts.append(f"split up to {wording.counted(result.depth, 'time')}")
    if result.n_counterexamples:
        parts.append(f"{wording.counted(result.n_counterexamples, 'counterexample')} stored as pairs")
    return f"{'; '.join(parts)}. Shares that are proved are rounded down, what is undecided is rounded up."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- runs ---------------------------------------------------------------------------------------


def run_title(config: RunConfig) -> str:
    """What a certification is called: ``Counting, all individuals``, and the limits of its scope."""
    settings = CERTIFY.settings(config)
    weights = _name(settings, "weights")
    title = f"{_name(settings, 'mode')}, {weights[:1].lower()}{weights[1:]}"
    return f"{title}; {limits_text(config)}" if config.scope.limits else title


def _name(settings: CertifySettings, name: str) -> str:
    """What was chosen of a setting, as the form calls it."""
    return settings.info(name).name_of(getattr(settings, name))


def settings_lines(config: RunConfig) -> dict[str, str]:
    """The settings of a certification by name, as a reader compares them."""
    settings = CERTIFY.settings(config)
    limits = config.scope.limits
    lines = {
        "Mode": _name(settings, "mode"),
        "Weights": _name(settings, "weights"),
        "Protected": wording.listed(list(config.scope.protected)),
        "Limits": limits_text(config) if limits else "whole domain",
        "Decision threshold": "the model's own" if config.scope.threshold is None else f"{config.scope.threshold:g}",
        "Seconds": "no limit" if not config.budget.max_seconds else wording.number(config.budget.max_seconds),
        "Boxes at most": wording.count(settings.max_boxes) if settings.max_boxes else "no limit",
    }
    if config.scope.links:
        lines["Linked"] = "; ".join(link_text(link, config.schema) for link in config.scope.links)
    if settings.target:
        lines["Ends when undecided is at most"] = wording.share(settings.target)
    if settings.mode is Mode.CLASSIC:
        lines["Depth limits"] = f"sampled from {settings.check_depth}, at most {settings.max_depth}"
    return lines


def limits_text(config: RunConfig) -> str:
    """The limits of a run's scope in words: ``age 30-50, job = nurse``."""
    from fairness_engine.certification.partition.phrases import BoxColumn

    texts = []
    for name, (low, high) in config.scope.limits.items():
        column = config.schema.column(name)
        is_cell = column.n_values is None
        step = 1.0 if column.step is None else column.step
        whole = BoxColumn(column, low, high - low if is_cell else step, is_cell, 1)
        texts.append(whole.text(0, 0 if is_cell else round((high - low) / step)))
    return ", ".join(texts)


def run_label(run: RunRecord, shares: Shares | None = None) -> str:
    """A certification in one line of a list."""
    parts = [run_title(run.config)]
    if run.config.budget.max_seconds:
        parts.append(f"{wording.number(run.config.budget.max_seconds)} s")
    if shares is not None:
        parts.append(f"{theme.UNDECIDED.symbol} {shares.texts[2]} undecided")
    return " · ".join([*parts, wording.when(run.created)])
