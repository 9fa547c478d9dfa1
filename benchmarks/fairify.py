"""Certification beside Fairify: the same boxes asked of z3 and of refinement, and the published figures beside whole
domains.

``python -m benchmarks.fairify`` with ``EVENHAND_SHARED`` set writes ``benchmarks/fairify.md``, a section a part;
``--only boxes`` makes one part and leaves the other as it was. What ``--quick`` or ``--networks AC-1,GC-3`` give is
printed only.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import z3

from benchmarks.certification_cases import FAIRIFY_NAMES, case_of, network_case
from benchmarks.fairify_query import Answer, Verdict, ask, box_limits, ranges_of
from benchmarks.table import keep_sections, markdown
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.counterexamples import counterexamples, falsified_rows
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.partition.undecided import draw_undecided
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.certification.warm_up import warm_up
from fairness_engine.clock import Clock
from fairness_engine.events import PairsFound, ResultReady
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain

MOST_VALUES = {"BM": 100, "GC": 100, "AC": 10}
"""Values of a column that a box may hold at most: the defaults that paper 004 names (section VIII-B)."""
N_BOXES = {"BM": 510, "GC": 201, "AC": 16_000}
"""Boxes that this gives there."""
FAIRIFY_TABLE_2 = {
    "BM-1": (30, 11, 10.00, 90.00),
    "BM-2": (31, 28, 16.07, 83.93),
    "BM-3": (30, 27, 19.60, 81.40),
    "GC-1": (32, 22, 0.0, 100.0),
    "GC-2": (33, 6, 0.0, 100.0),
    "GC-3": (8, 194, 2.98, 97.02),
    "AC-1": (32, 3, 0.03, 99.97),
    "AC-2": (31, 9, 0.01, 99.99),
    "AC-3": (32, 20, 0.0, 100.0),
    "AC-4": (36, 0, 0.0, 100.0),
    "AC-6": (33, 4, 0.01, 99.99),
    "compas-1": (17, 2, 80.00, 19.68),
}
"""Paper 004, Table II, of Fairify: minutes, counterexamples (one a SAT box), certified and undecided share in %."""
N_SAMPLED = 12
MAX_SECONDS = 20.0
REPEATS = 3
SEED = 0
WHOLE_SECONDS = 10.0
_N_TRIED = 2_000
_LONG_SECONDS = 2.0
"""A box that takes longer is refined once."""


# --- one box, by refinement -------------------------------------------------------------------


class Standing(StrEnum):
    """What refinement comes to in a box."""

    PAIR_FOUND = "pair found"
    CERTIFIED = "certified"
    UNDECIDED = "undecided"


AGREES = {
    Verdict.SAT: {Standing.PAIR_FOUND, Standing.UNDECIDED},
    Verdict.UNSAT: {Standing.CERTIFIED, Standing.UNDECIDED},
    Verdict.UNKNOWN: set(Standing),
}
"""What refinement may say of a box that z3 said something of."""


@dataclass(frozen=True)
class Refined:
    """As ``Answer``, by refinement: the pair ``(2, n_columns)`` for ``PAIR_FOUND``, and all seconds."""

    standing: Standing
    witness: np.ndarray | None
    seconds: float


def refine_box(model: Model, domain: Domain, max_seconds: float, seed: int) -> Refined:
    """Ask of a box what Fairify asks: is there a pair, or is everybody certified? One thread, as z3 has.

    People are drawn first; then the box is refined, and people of what stays undecided are drawn whenever the time has
    doubled.
    """
    started = time.perf_counter()
    clock = Clock(max_seconds)
    rng = np.random.default_rng(seed)
    space = make_lattice(domain)
    threads = ThreadPool(1)
    points = BoxEnumerator(model, domain, space)

    def refined(standing: Standing, row: np.ndarray | None = None) -> Refined:
        pair = None if row is None else _pair(model, domain, row)
        return Refined(standing, pair, time.perf_counter() - started)

    try:
        low, high = (np.repeat(end, _N_TRIED, axis=0) for end in space.whole())
        rows = space.rows(space.draw(low, high, rng))
        is_unfair = points.are_unfair(rows)
        if is_unfair.any():
            return refined(Standing.PAIR_FOUND, rows[is_unfair][0])
        refinement = Refinement(make_assessor(model, space, Mode.COUNTING), points, None, threads)
        drawn_at = 0.0
        while True:
            seconds = time.perf_counter() - started
            if refinement.is_between_rounds:
                if refinement.standing.falsified > 0:
                    found = counterexamples(refinement, falsified_rows(refinement, rng), clock, insists=True)
                    if len(found):
                        return refined(Standing.PAIR_FOUND, found.first[0])
                if not refinement.standing.n_open:
                    return refined(Standing.PAIR_FOUND if refinement.recount().falsified > 0 else Standing.CERTIFIED)
                if seconds >= 2 * drawn_at:
                    drawn_at = seconds
                    drawn = draw_undecided(refinement, _N_TRIED, rng, clock)
                    if drawn.n_unfair:
                        return refined(Standing.PAIR_FOUND, drawn.unfair[0])
            if seconds > max_seconds or refinement.is_full:
                refinement.stop()
                return refined(Standing.UNDECIDED)
            refinement.step(max_seconds - seconds)
    finally:
        threads.close()


def _pair(model: Model, domain: Domain, row: np.ndarray) -> np.ndarray:
    """Two variants of a person that are decided differently."""
    variants = domain.variants(row[None, :])[0]
    decided = model.decide(model.scores(variants))
    return variants[[int(np.argmin(decided)), int(np.argmax(decided))]]


def is_replayed(model: Model, domain: Domain, pair: np.ndarray) -> bool:
    """Whether a pair lies in the box, differs in protected attributes alone, and the model decides it differently."""
    same = np.delete(pair, domain.protected, axis=1)
    decided = model.decide(model.scores(pair))
    return bool(domain.contains(pair).all() and (same[0] == same[1]).all() and decided[0] != decided[1])


# --- boxes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Both:
    """A box, asked both ways; ``seconds`` of refinement are a median."""

    name: str
    number: int
    answer: Answer
    refined: Refined
    seconds: float
    are_replayed: bool

    @property
    def is_contradiction(self) -> bool:
        """Whether one says that there is a pair and the other that there is none."""
        return self.refined.standing not in AGREES[self.answer.verdict]


def ask_both(name: str, number: int, repeats: int, max_seconds: float) -> Both:
    """One box of a network's partition."""
    parts = ranges_of(network_case(name).domain, MOST_VALUES[name[:2]])
    case = network_case(name, limits=box_limits(parts, number))
    answer = ask(case.model, case.domain, max_seconds)
    runs = [refine_box(case.model, case.domain, max_seconds, 0)]
    if runs[0].seconds < _LONG_SECONDS:
        runs += [refine_box(case.model, case.domain, max_seconds, seed) for seed in range(1, repeats)]
    pairs = [pair for pair in (answer.witness, *(run.witness for run in runs)) if pair is not None]
    are_replayed = all(is_replayed(case.model, case.domain, pair) for pair in pairs)
    worst = next((run for run in runs if run.standing is Standing.UNDECIDED), runs[0])
    return Both(name, number, answer, worst, statistics.median(run.seconds for run in runs), are_replayed)


BOXES_HEADER = (
    *(
        "network",
        "neurons",
        "boxes",
        "asked",
        "neurons left with a ReLU",
        "z3: SAT",
        "UNSAT",
        "UNKNOWN",
        "s a box",
        "s in all",
    ),
    *("refinement: pair found", "certified", "undecided", "s a box", "s in all", "sooner in", "times sooner in all"),
    *("pairs replayed", "contradictions"),
)


def boxes_part(names: Sequence[str], n_sampled: int, repeats: int, max_seconds: float) -> str:
    """The same boxes asked of z3 and of refinement."""
    rows = []
    everything = []
    for name in names:
        n = math.prod(len(part) for part in ranges_of(network_case(name).domain, MOST_VALUES[name[:2]]).values())
        assert n == N_BOXES[name[:2]], f"{name} has {n} boxes, the paper says {N_BOXES[name[:2]]}"
        numbers = np.random.default_rng(SEED).choice(n, n_sampled, replace=False).tolist()
        found = [ask_both(name, number, repeats, max_seconds) for number in numbers]
        everything += found
        rows.append(_boxes_row(name, n, found))
        print(rows[-1], flush=True)
    note = _BOXES_NOTE.format(n=n_sampled, seconds=max_seconds, repeats=repeats, z3=z3.get_version_string(), seed=SEED)
    return "\n\n".join(["## The same boxes", markdown(BOXES_HEADER, rows), _crossed(everything), note])


def _boxes_row(name: str, n: int, found: Sequence[Both]) -> tuple[str, ...]:
    said = Counter(each.answer.verdict for each in found)
    stands = Counter(each.refined.standing for each in found)
    its = [each.answer.seconds for each in found]
    ours = [each.seconds for each in found]
    kept = [each.answer.n_neurons - each.answer.n_dead - each.answer.n_linear for each in found]
    n_both = found[0].answer.n_neurons
    n_contradictions = sum(each.is_contradiction for each in found)
    return (
        name,
        f"{n_both // 2}",
        f"{n:,}",
        f"{len(found)}",
        f"{100 * statistics.median(kept) / n_both:.0f} %",
        *(f"{said[verdict]}" for verdict in Verdict),
        f"{statistics.median(its):.3f}",
        f"{sum(its):.1f}",
        *(f"{stands[standing]}" for standing in Standing),
        f"{statistics.median(ours):.4f}",
        f"{sum(ours):.2f}",
        f"{sum(own < other for own, other in zip(ours, its, strict=True))} of {len(found)}",
        f"**{_times(sum(its) / sum(ours))}**",
        "all" if all(each.are_replayed for each in found) else "✗ not all",
        f"**{n_contradictions}**",
    )


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2g} x"


def _crossed(found: Sequence[Both]) -> str:
    """How often what z3 said meets what refinement said."""
    counts = Counter((each.answer.verdict, each.refined.standing) for each in found)
    rows = [(str(verdict), *(f"{counts[verdict, standing]}" for standing in Standing)) for verdict in Verdict]
    return markdown(("all networks", *Standing), rows)


_BOXES_NOTE = (
    "Fairify's partition with the largest numbers of values of a box that paper 004 names (100 for BM and GC, 10 for "
    "AC), which gives its numbers of boxes (510, 201, 16,000); {n} boxes of each network, drawn with seed {seed}. "
    "z3 {z3}, at most {seconds:g} s a box (Fairify's own limit is 100 s a box and 30 minutes a network), one "
    "thread, on networks without the neurons that bounds show to be never active, and without the ReLU of those "
    "always active; weights as exact fractions. Refinement: the same limit, one thread, everything compiled before, "
    "from the box to the answer, median of {repeats} seeds (one where it takes over 2 s); it draws {tried:,} "
    "people first, and ends at the first pair, as z3 does with SAT: the box is not falsified as a whole by it. Every "
    "pair of either was replayed on the model. *S a box*: median; *in all*: sum. Fairify's heuristic pruning, after a "
    "timeout, is not made: it changes the network."
).replace("{tried:,}", f"{_N_TRIED:,}")


# --- whole domains ----------------------------------------------------------------------------

WHOLE_HEADER = (
    *("network", "Fairify, published: min", "SAT boxes", "UNSAT boxes", "of boxes", "certified", "undecided"),
    *("here: s", "certified", "falsified", "undecided", "pairs"),
)


def whole_part(names: Sequence[str], max_seconds: float) -> str:
    """What paper 004 publishes of Fairify beside a certification of the whole domain."""
    rows = []
    for name in names:
        case = case_of(name)
        n_pairs = 0
        content = {}
        for event in run_certification(case.model, case.domain, case.rows, CertifySettings(), 0, Clock(max_seconds)):
            if isinstance(event, PairsFound):
                n_pairs += len(event.pairs)
            elif isinstance(event, ResultReady) and event.name == "certification":
                content = event.content
        minutes, n_sat, certified, undecided = FAIRIFY_TABLE_2[name]
        n_boxes = N_BOXES.get(name[:2], 20)
        shares = (f"{100 * content[key]:.3f} %" for key in ("certified", "falsified", "undecided"))
        rows.append(
            (
                *(name, f"{minutes}", f"{n_sat}", f"{round(certified / 100 * n_boxes)}", f"{n_boxes:,}"),
                *(f"{certified:g} %", f"{undecided:g} %", f"{content['seconds']:.2f}", *shares, f"{n_pairs:,}"),
            )
        )
        print(rows[-1], flush=True)
    return "\n\n".join(["## Whole domains", markdown(WHOLE_HEADER, rows), _WHOLE_NOTE])


_WHOLE_NOTE = (
    "Fairify's figures are those of paper 004, Table II, on its authors' machine with 2 processors, 30 minutes a "
    "network; UNSAT boxes are worked out from its certified share. No paper at hand gives its verdict or its seconds "
    "of a single box. What is left of its boxes after SAT and UNSAT ran out of time or was never reached. A SAT box "
    "has one pair and certifies or falsifies nothing else, so its share is undecided. Here: one run of at most 10 s "
    "over the domain of the data; at most 10,000 pairs are kept."
)


# --- all of it --------------------------------------------------------------------------------

TITLE = "Certification beside Fairify: boxes asked of an SMT solver"
PARTS = ("boxes", "whole")


def main() -> None:
    """Print the parts asked for, and keep those that were made in full."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help=f"parts, separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--networks", default="", help="some of them, separated by commas")
    parser.add_argument("--quick", action="store_true", help="few boxes and short limits, for a first look")
    arguments = parser.parse_args()
    chosen = [part for part in arguments.only.split(",") if part] or [*PARTS]
    names = [name for name in arguments.networks.split(",") if name]
    quick: bool = arguments.quick
    makers: dict[str, Callable[[], str]] = {
        "boxes": lambda: (
            boxes_part(names or FAIRIFY_NAMES, 3, 1, 2.0)
            if quick
            else boxes_part(names or FAIRIFY_NAMES, N_SAMPLED, REPEATS, MAX_SECONDS)
        ),
        "whole": lambda: whole_part(names or [*FAIRIFY_TABLE_2], 1.0 if quick else WHOLE_SECONDS),
    }
    unknown = sorted(set(chosen) - set(makers))
    if unknown:
        raise SystemExit(f"There is no part '{unknown[0]}'; there are: {', '.join(PARTS)}.")
    warm_up()
    ask_both("GC-3", 0, 1, 1.0)
    for name in chosen:
        part = makers[name]()
        print(part, "\n")
        if not quick and not names:
            keep_sections("fairify", TITLE, [part])


if __name__ == "__main__":
    main()
