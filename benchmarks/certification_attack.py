"""The proofs of 15 networks under attack by the checker of the tests, which shares no code with the engine."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.certification_cases import SOURCES, network_case
from benchmarks.table import markdown
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.oracle.domain import Scope

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from certification.attack import Attack, Report, interval
from certification.proofs import attack_of, certify, complete

N_LARGEST = 8
N_WALKERS = 2_000
N_STEPS = 200

HEADER = (
    "network",
    "proved in",
    "certified",
    "falsified",
    "unfair of all, drawn",
    "inside",
    "leaves with certificates",
    "people tried in certified regions",
    "in falsified ones",
    "contradictions",
    "least distance from the threshold",
    "shares too large",
    "float32 would change",
    "s",
)
_NOTE = (
    "Proofs as a run stores them, with the certificates of all leaves. *Drawn*: uniform people of the whole domain, "
    "with an interval that chance leaves once in a million times; it must meet what falsified and undecided allow. "
    "People tried: drawn in the regions by what is proved of each, drawn in the {n} largest, corners of boxes, and "
    "walkers that move, an attribute a step, to the limit of a certificate or of the decision. *Shares too large*: "
    "boxes of which more is counted than their certificates hold for, or, of boxes of up to 64 people, other than "
    "there are (of {small} and more looked at). The truth is what the weights say in float64; the last column but "
    "one counts people whom float32 arithmetic, as in Keras, would judge otherwise: the rounding of a framework, "
    "which no proof about the weights speaks of."
)


def attack_part(names: Sequence[str], n_samples: int, seconds: float) -> str:
    """Every network: proved for some seconds, then ``n_samples`` people in certified and falsified regions."""
    rows = []
    for name in names or SOURCES:
        rows.append(_row(name, n_samples, seconds))
        print(rows[-1], flush=True)
    note = _NOTE.format(n=N_LARGEST, small="2,000")
    return "\n\n".join(["## Under attack", markdown(HEADER, rows), note])


def _row(name: str, n_samples: int, seconds: float) -> tuple[str, ...]:
    source = SOURCES[name]
    case = network_case(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.npz"
        settings = CertifySettings(n_samples=0)
        result = certify(case.model, case.domain, settings, path, rows=case.rows, max_seconds=seconds).result
        complete(path, case.model, case.domain, settings)
        attack = attack_of(path, source.model_path, source.schema_path, Scope(source.protected))
    started = time.perf_counter()
    n_unfair, report, _ = attack.uniform(n_samples // 5)
    low, high = interval(n_unfair, n_samples // 5)
    is_inside = low <= 1 - result["certified"] + 1e-12 and high >= result["falsified"] - 1e-12
    report += _in_regions(attack, n_samples, result["falsified"] > 0)
    wrong_shares = [*attack.small_boxes(2_000)[1], *attack.counted_too_much(1e5, 200)]
    told = attack.proof.has_certificate(attack.proof.leaf)
    return (
        name,
        f"{seconds:g} s",
        f"{100 * result['certified']:.3f} %",
        f"{100 * result['falsified']:.3f} %",
        f"{100 * n_unfair * 5 / n_samples:.3f} % ({100 * low:.3f} to {100 * high:.3f})",
        "yes" if is_inside else "NO",
        f"{told.sum():,} of {len(told):,}",
        f"{report.n_certified:,}",
        f"{report.n_falsified:,}",
        f"**{report.n_wrong}**" + (f" {report.wrong[:3]}" if report.n_wrong else ""),
        f"{report.least_margin:.1e}",
        f"**{len(wrong_shares)}**" + (f" {wrong_shares[:2]}" if wrong_shares else ""),
        f"{report.n_float32}",
        f"{time.perf_counter() - started:.0f}",
    )


def _in_regions(attack: Attack, n_samples: int, has_falsified: bool) -> Report:
    """Half of the people in certified regions, half in falsified ones where there are any."""
    report = Report()
    for falsified in (False, True) if has_falsified else (False,):
        n = n_samples // (2 if has_falsified else 1)
        n_walkers = min(N_WALKERS, n // 10)
        report += attack.in_regions(n // 2, falsified=falsified)
        report += attack.in_regions(n - n // 2, falsified=falsified, n_largest=N_LARGEST)
        report += attack.descend(n_walkers, N_STEPS, falsified=falsified)
    return report + attack.corners(max(1, n_samples // 20))
