"""MAFT's networks retrained, beside the authors' own retrained networks: discrimination, accuracy, and what is proved,
before and after.

``python -m benchmarks.retraining --only networks`` with ``EVENHAND_SHARED`` set; ``python -m
benchmarks.retraining_networks NAME... SEED...`` prints the outcomes of some cases as JSON lines, a retraining each.

The retraining is given only the rows that the published network was trained on (``train_test_split(random_state=42)``
with the authors' share, see the data's README): it splits those for itself. The authors' test rows are then new to the
published network and to the retrained one.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from benchmarks.certification_cases import SOURCES, Source
from benchmarks.table import markdown
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.clock import Clock
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.events import ModelPart, ResultReady
from fairness_engine.intervals import share_interval
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.evaluation.changes import paired_change
from fairness_engine.retraining.evaluation.split import split_rows
from fairness_engine.retraining.settings import RetrainSettings, Strategy
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.keras import KerasTrainer, reopened
from fairness_engine.retraining.trainers.trainer import Binding, Examples, Job

SEEDS = (0, 1, 2)
N_DRAWS = 100_000
CERTIFY_SECONDS = 20.0
_BLOCK = 1 << 14
_UNLIMITED = Budget(2**62)


@dataclass(frozen=True)
class Bar:
    """A published network, and what the authors' retraining made of it (``design/benchmarks.md``), in %.

    Args:
        source: file and data.
        test_share: the authors' share of test rows.
        uniform, rows: discriminatory individuals before.
        uniform_after, rows_after: of the authors' retrained network.
        points: accuracy that it lost; ``None`` where none is published.
        tolerance: what ours may lose on the rows that choose and refuse. The published network knows those: of the
            German data it decides 83.8 % of them and 78.3 % of new ones as their outcome was, and what was learnt by
            heart is allowed for beside ``points``.
    """

    source: Source
    test_share: float
    uniform: float
    rows: float
    uniform_after: float
    rows_after: float
    points: float | None
    tolerance: float


_ADULT = SOURCES["maft-adult"]
_GERMAN = SOURCES["maft-german"]
BARS = {
    "Adult, age": Bar(_ADULT, 0.2, 11.8, 15.4, 2.3, 5.8, 0.6, 0.006),
    "Adult, sex": Bar(replace(_ADULT, protected=("sex",)), 0.2, 3.9, 3.9, 0.9, 1.3, None, 0.006),
    "German, sex": Bar(_GERMAN, 0.4, 10.2, 7.4, 3.4, 6.9, 1.25, 0.068),
}
STRATEGIES = (Strategy.VARIANTS, Strategy.MAJORITY)


@dataclass(frozen=True)
class Figures:
    """One network: shares of uniform individuals, of all rows and of the new rows, and accuracy on both kinds of
    rows.
    """

    uniform: float
    rows: float
    new_rows: float
    accuracy_all: float
    accuracy: float


@dataclass(frozen=True)
class Outcome:
    """One retraining.

    Args:
        name, strategy, seed: which.
        before, control, after: figures; ``after`` is the original's where nothing was kept.
        change: of accuracy on the new rows, with its paired 95 % interval (value, low, high).
        n_new: rows that neither network was trained on.
        is_kept: a model within the tolerance was found.
        seconds: of the retraining.
    """

    name: str
    strategy: str
    seed: int
    before: Figures
    control: Figures
    after: Figures
    change: tuple[float, float, float]
    n_new: int
    is_kept: bool
    seconds: float


class Case:
    """A published network with its rows: those it was trained on, and those that are new to it."""

    def __init__(self, bar: Bar) -> None:
        from sklearn.model_selection import train_test_split

        source = bar.source
        schema = Schema.read(source.schema_path).with_protected(source.protected)
        csv = source.schema_path.with_name(f"{source.data}.csv")
        self.bar = bar
        self.all = make_dataset(read_table(csv, name=csv.name), schema)
        known, self.new = train_test_split(np.arange(len(self.all.rows)), test_size=bar.test_share, random_state=42)
        labels = labels_of(self.all)
        self.known = replace(self.all, rows=self.all.rows[known], labels=labels[known])
        self.favourable = 1 if self.all.favourable_class is None else self.all.favourable_class
        self.model = self.open(source)
        self.domain = Domain(schema, Scope(source.protected), self.model.taken(schema.names))
        self.people = self.domain.sample(N_DRAWS, np.random.default_rng(12_345))

    def open(self, source: Source) -> Model:
        """The published network."""
        return open_model(source.model_path, self.all.schema, classes=self.all.classes, favourable=self.favourable)

    def figures(self, model: Model) -> Figures:
        """What a network is measured by."""
        rows = self.all.rows
        new = self.all.rows[self.new]
        right = self.right(model, rows, labels_of(self.all))
        shares = (self._share(model, people) for people in (self.people, rows, new))
        return Figures(*shares, float(right.mean()), float(right[self.new].mean()))

    def right(self, model: Model, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Which rows are decided as their outcome was ``(n_rows,)``."""
        return model.decide(model.scores(rows)) == labels

    def _share(self, model: Model, people: np.ndarray) -> float:
        oracle = Oracle(model, self.domain, _UNLIMITED)
        found = [oracle.test(people[start : start + _BLOCK]) for start in range(0, len(people), _BLOCK)]
        return float(np.concatenate(found).astype(bool).mean())


def labels_of(dataset: Dataset) -> np.ndarray:
    """The outcomes of rows that have them."""
    assert dataset.labels is not None, "the peers' data has outcomes"
    return dataset.labels


def retrain(case: Case, strategy: Strategy, seed: int) -> tuple[Model, Model, float]:
    """The best network that was kept (the original where none was), the control, and seconds."""
    settings = RetrainSettings(strategy=strategy, tolerance=case.bar.tolerance)
    binding = Binding(case.known.schema, case.known.classes, case.favourable, None)
    trainer = KerasTrainer.of_file(case.bar.source.model_path, case.model, binding, settings, afresh=False)
    files: dict[int, list[bytes]] = {}
    started = time.perf_counter()
    for event in run_retraining(RetrainingTask(case.model, case.domain, case.known, trainer), settings, seed):
        if isinstance(event, ModelPart):
            files.setdefault(event.version, []).append(event.content)
    seconds = time.perf_counter() - started
    parts = split_rows(case.known, settings.test_share, settings.validation_share)
    train, held = (
        Examples(case.known.rows[part], labels_of(case.known)[part]) for part in (parts.train, parts.validation)
    )
    control = trainer.train(Job(train, held, seed)).model
    best = reopened(b"".join(files[max(files)]), trainer.suffix, binding) if files else case.model
    return best, control, seconds


def measure(name: str, strategy: Strategy, seed: int, case: Case) -> tuple[Outcome, Model]:
    """One retraining, and its network."""
    model, control, seconds = retrain(case, strategy, seed)
    new = case.all.rows[case.new]
    labels = labels_of(case.all)[case.new]
    change = paired_change(*(case.right(one, new, labels) for one in (case.model, model)))
    figures = [case.figures(one) for one in (case.model, control, model)]
    outcome = Outcome(
        name,
        strategy.value,
        seed,
        *figures,
        (change.value, change.low, change.high),
        len(new),
        model is not case.model,
        seconds,
    )
    return outcome, model


# --- what is proved -------------------------------------------------------------------------


def proved(case: Case, model: Model, seconds: float) -> tuple[float, float, float]:
    """Certified, falsified and undecided share of a network's individuals."""
    events = run_certification(model, case.domain, case.all.rows, CertifySettings(), 0, Clock(seconds))
    content = next(
        event.content for event in events if isinstance(event, ResultReady) and event.name == "certification"
    )
    total = content["certified"] + content["falsified"] + content["undecided"]
    return tuple(content[key] / total for key in ("certified", "falsified", "undecided"))  # type: ignore[return-value]


# --- the section ----------------------------------------------------------------------------

HEADER = (
    "network",
    "",
    "uniform",
    "all rows",
    "new rows",
    "accuracy, all rows",
    "accuracy, new rows (95 %)",
    "change, points (95 %)",
    "seeds",
    "s",
)


Proofs = dict[str, tuple[float, float, float]]
"""Certified, falsified and undecided share by network and model, as ``Adult, age / before``."""


def section(seeds: Sequence[int] = SEEDS) -> str:
    """The Markdown of this part, without its heading: tables and notes."""
    found = []
    proofs = Proofs()
    for name in BARS:
        outcomes, more = measure_all(name, STRATEGIES, seeds)
        found += outcomes
        proofs |= more
    return text_of(found, proofs)


def measure_all(name: str, strategies: Sequence[Strategy], seeds: Sequence[int]) -> tuple[list[Outcome], Proofs]:
    """Every retraining of a network, and what is proved of it and of the first seed's retrained ones."""
    case = Case(BARS[name])
    found = []
    proofs = {f"{name} / before": proved(case, case.model, CERTIFY_SECONDS)}
    for strategy in strategies:
        for seed in seeds:
            outcome, model = measure(name, strategy, seed, case)
            print(json.dumps(asdict(outcome)), file=sys.stderr, flush=True)
            found.append(outcome)
            if seed == seeds[0]:
                proofs[f"{name} / `{strategy.value}`"] = proved(case, model, CERTIFY_SECONDS)
    return found, proofs


def text_of(found: Sequence[Outcome], proofs: Proofs) -> str:
    """The tables of what was measured."""
    lines = []
    for name, bar in BARS.items():
        groups = [[one for one in found if (one.name, one.strategy) == (name, key.value)] for key in STRATEGIES]
        for group in filter(None, groups):
            lines += rows_of(group, bar, is_first=group is groups[0])
    shares = [(*name.split(" / "), *(f"{100 * share:.2f} %" for share in values)) for name, values in proofs.items()]
    table = markdown(("network", "", "certified", "falsified", "undecided"), shares)
    return "\n\n".join([markdown(HEADER, lines), _note(), table, _PROOF_NOTE])


def rows_of(found: Sequence[Outcome], bar: Bar, *, is_first: bool) -> list[tuple[str, ...]]:
    """Table rows of one strategy on one network: medians of its seeds."""
    name = found[0].name
    first = found[0]
    rows = []
    if is_first:
        rows.append(
            (
                name,
                f"before (published {bar.uniform:g} / {bar.rows:g} %)",
                *_cells(first.before, first.n_new),
                "",
                "",
                "",
            )
        )
        lost = "" if bar.points is None else f"-{bar.points:g}"
        rows.append(
            (name, "authors' retrained", f"{bar.uniform_after:g} %", f"{bar.rows_after:g} %", "", "", "", lost, "")
        )
        control = _median([one.control for one in found])
        rows.append((name, "control: the same training without cases", *_cells(control, first.n_new), "", "", ""))
    after = _median([one.after for one in found])
    change = "{:+.2f} ({:+.2f} to {:+.2f})".format(
        *(100 * statistics.median(one.change[i] for one in found) for i in range(3))
    )
    is_met = 100 * after.uniform <= bar.uniform_after and 100 * after.rows <= bar.rows_after
    if bar.points is not None:
        is_met = is_met and -100 * statistics.median(one.change[0] for one in found) <= bar.points
    kept = "" if all(one.is_kept for one in found) else f", kept in {sum(one.is_kept for one in found)} of {len(found)}"
    seconds = f"{statistics.median(one.seconds for one in found):.0f}"
    title = f"{'✓' if is_met else '✗'} ours, `{first.strategy}`{kept}"
    rows.append((name, title, *_cells(after, first.n_new), change, str(len(found)), seconds))
    return rows


def _median(figures: Sequence[Figures]) -> Figures:
    return Figures(
        *(statistics.median(values) for values in zip(*(asdict(one).values() for one in figures), strict=True))
    )


def _cells(one: Figures, n_new: int) -> tuple[str, ...]:
    low, high = share_interval(round(one.accuracy * n_new), n_new)
    return (
        *(f"{100 * share:.2f} %" for share in (one.uniform, one.rows, one.new_rows)),
        f"{100 * one.accuracy_all:.2f} %",
        f"{100 * one.accuracy:.2f} % ({100 * low:.1f} to {100 * high:.1f})",
    )


def _note() -> str:
    return (
        f"Discriminatory individuals: of {N_DRAWS:,} uniform ones, of all rows of the data, and of the *new rows*, the "
        "authors' test rows, which neither the published network nor ours was trained on: a retraining is given the "
        "authors' training rows alone, and splits them for itself. It therefore chooses by rows that the published "
        "network knows. On the German data that matters: 83.8 % of the rows it knows are decided as their outcome "
        "was, and 78.3 % of the new ones. The tolerance inside is 6.8 points there, these 5.6 beside the 1.25 of the "
        "bar (0.6 on Adult), and what was lost is what the new rows say. At 3 points the rows that it knows refuse "
        "nearly every model. All rows hold the rows that each was trained on. Medians over the seeds (column "
        "*seeds*). The control is trained from the same weights on the same rows without any cases. ✓: at most the "
        "authors' shares on uniform individuals *and* on all rows, at no more loss of accuracy on the new rows. The "
        "authors' own retrained networks are quoted, not run."
    )


_PROOF_NOTE = (
    f"Proved within {CERTIFY_SECONDS:g} s of refinement, shares of all individuals of the domain; the retrained "
    "networks are those of the first seed."
)


def main(arguments: Sequence[str]) -> None:
    """Print outcomes of some cases as JSON lines."""
    seeds = [int(one) for one in arguments if one.isdigit()] or list(SEEDS)
    names = [one for one in arguments if not one.isdigit() and one in BARS] or list(BARS)
    for name in names:
        case = Case(BARS[name])
        for strategy in STRATEGIES:
            for seed in seeds:
                print(json.dumps(asdict(measure(name, strategy, seed, case)[0])), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
