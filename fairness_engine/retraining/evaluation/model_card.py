"""The model card: what was done to which model, on which data, with what result and with which limits; Markdown."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

from fairness_engine.measures.results import Share
from fairness_engine.models.classes import codes_of_outcomes
from fairness_engine.retraining.evaluation.verdict import Words, in_points, percent
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.results import Interval, Measured, Retrained
from fairness_engine.retraining.settings import Reference, RetrainSettings, Surrogate
from fairness_engine.retraining.subject import Retrainable

_MOST_INPUTS = 100
"""Inputs and outcomes of a surrogate that are named."""
_PACKAGES = ("numpy", "scikit-learn", "skops", "keras", "tensorflow", "fairlearn")
_LIMITS = (
    "The figures hold for these test rows, this scope and these draws. They say nothing of other attributes, other "
    "data or other uses.",
    "No discrimination found within the draws is not proof that there is none; a certification proves, where the "
    "model allows one.",
    "The outcomes in the data are taken as they are. Where they are themselves discriminatory, accuracy rewards a "
    "model for repeating that.",
)


def model_card(
    subject: Retrainable,
    settings: RetrainSettings,
    retrained: Retrained,
    before: Measured | None,
    control: Measured | None,
    after: Measured | None,
    words: Words | None = None,
) -> str:
    """What was done, to what, with what result and which limits, as Markdown.

    Args:
        subject, settings: what was retrained, and how.
        retrained: how it came out.
        before, control, after: figures on the test rows; ``None`` for what was not measured.
        words: of what the shares of discrimination are; ``None`` for a table.
    """
    words = words or Words()
    info = STRATEGIES[settings.strategy]
    blocks = [
        f"# Model card: {_code(subject.source.model_name) if subject.source.model_name else 'a model'}, retrained",
        f"**{_quiet(retrained.chance)}**" if retrained.chance else "",
        f"**Result: {retrained.verdict}.** {_quiet(retrained.why)}",
        *(f"> {_quiet(note)}" for note in retrained.notes),
        "## What was done",
        "\n".join(f"* {line}" for line in _done(subject, settings, retrained, info.title, info.reference)),
        "## Before and after",
        f"On the {retrained.n_test:,} test rows, which trained none of the new models, and on "
        f"{retrained.n_draws:,} {words.drawn} for this alone; with 95 % intervals.",
        "\n".join(_table(before, control, after, words)),
        "## Limits",
        "\n".join(f"* {line}" for line in (*_LIMITS, words.meaning, info.limit)),
        "## Settings",
        "\n".join(
            f"* {name}: `{value}`"
            for name, value in settings.to_json().items()
            if name != "cases" and value not in ("", None, {})
        ),
        f"Made with {_versions()}.",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _done(
    subject: Retrainable, settings: RetrainSettings, retrained: Retrained, title: str, reference: str
) -> Iterator[str]:
    source = subject.source
    data = subject.dataset
    yield f"Original: {_named(source.model_name, source.model_hash)}; it is kept unchanged."
    yield f"Data: {_named(source.data_name, data.source_hash)}; {len(data.rows):,} rows."
    yield f"Strategy: {title} ({reference})."
    yield f"Made: {retrained.kind}; {_kept(retrained)}"
    if settings.surrogate is not Surrogate.NONE:
        yield _surrogate_text(subject)
    protected = ", ".join(map(_code, subject.protected_names))
    yield f"Protected: {protected} ({_quiet(subject.variants_text)})."
    yield (
        f"Rows: {retrained.n_train:,} to train on, {retrained.n_validation:,} to choose by, "
        f"{retrained.n_test:,} to test with; the same split for every run on this data with the same settings."
    )
    if retrained.n_cases:
        technique = f"found by the technique '{retrained.technique}'" if retrained.technique else ""
        by = f", {technique}" if not subject.is_picked else ", picked by a person"
        if subject.is_picked and technique:
            by += f" (and more against the new models, {technique})"
        yield (
            f"Cases: {retrained.n_cases:,} discriminatory pairs{by}; {retrained.n_of_test_people:,} of people "
            "among the test rows were left out."
        )
        yield (
            "Labels of added people: majority of "
            f"{'a committee of other classifiers' if settings.labels == 'committee' else 'their own variants'}."
        )
    counted = "the control" if settings.reference is Reference.CONTROL else "the original"
    yield (
        f"Tolerance: {in_points(settings.tolerance)} of accuracy, counted from {counted}, on the validation rows and "
        "on the test rows."
    )
    yield f"Seed: {retrained.seed}."


def _surrogate_text(subject: Retrainable) -> str:
    """What a user of a surrogate's file must know, which says neither what it is given nor what it answers."""
    names = tuple(getattr(getattr(subject.trainer, "encoder", None), "names", ()))
    listed = ", ".join(map(_code, names[:_MOST_INPUTS])) + (", ..." if len(names) > _MOST_INPUTS else "")
    inputs = f" It takes {len(names):,} inputs in this order: {listed}." if names else ""
    classes = subject.dataset.classes
    outcomes = codes_of_outcomes(subject.dataset.schema, classes) or classes
    answers = ", ".join(_code(str(code)) for code in outcomes[:_MOST_INPUTS])
    return (
        f"A surrogate: another kind of model in place of the original.{inputs} Its outcomes, as the label's column "
        f"holds them: {answers}."
    )


def _kept(retrained: Retrained) -> str:
    if not retrained.round:
        return f"{retrained.n_rounds} tried, none kept."
    is_behind_control = retrained.reference == Reference.CONTROL  # which was trained first, and is no round
    number = retrained.round - is_behind_control
    return f"{retrained.n_rounds} tried, number {number} kept, with {retrained.n_added:,} added rows."


def _table(before: Measured | None, control: Measured | None, after: Measured | None, words: Words) -> Iterator[str]:
    columns = [(name, one) for name, one in (("before", before), ("control", control), ("after", after)) if one]
    if not columns:
        yield "Nothing was measured."
        return
    yield "| figure | " + " | ".join(name for name, _ in columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    uniform, data = words.figures
    shares: dict[str, _Figure] = {uniform: lambda one: one.uniform, data: lambda one: one.data}
    for title, figure in (_QUALITY | shares).items():
        yield f"| {title} | " + " | ".join(_bounded(figure(one)) for _, one in columns) + " |"


def _bounded(figure: Interval | Share | None) -> str:
    if figure is None:
        return "not defined"
    value = figure.share if isinstance(figure, Share) else figure.value
    return f"{percent(value)} ({percent(figure.low)} to {percent(figure.high)})"


_Figure = Callable[[Measured], Interval | Share | None]
_QUALITY: dict[str, _Figure] = {
    "accuracy": lambda one: one.quality.accuracy,
    "F1": lambda one: one.quality.f1,
    "AUC": lambda one: one.quality.auc,
}


def _named(name: str, digest: str) -> str:
    known = [_code(name)] if name else []
    return ", ".join([*known, *([f"SHA-256 `{digest}`"] if digest else [])]) or "not named"


def _code(name: str) -> str:
    """A name as it is, which says nothing to Markdown: only a backtick or a line break could end it."""
    return f"`{''.join(letter if letter.isprintable() and letter != '`' else '·' for letter in name)[:120]}`"


def _quiet(text: str) -> str:
    """A sentence in which names of the data begin neither a tag nor a link nor an emphasis."""
    return "".join(f"\\{letter}" if letter in "\\`*[<" else letter for letter in text)


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in ("evenhand", *_PACKAGES):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
