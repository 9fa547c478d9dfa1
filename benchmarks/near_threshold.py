"""Do estimates and random searches tell the share of models whose people lie at the threshold, or so near that float32
cannot tell?

The truth of each case is computed by whole numbers, or by scikit-learn's own ``predict``, over everybody of the domain.

.venv/bin/python -m benchmarks.near_threshold
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.table import keep, markdown
from fairness_engine.arrays import FloatArray
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.events import Event, Progress, ShareEstimated
from fairness_engine.intervals import share_interval
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.measures.share import run_estimate
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.random_search import RandomSearch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "truth"))
from test_near_threshold import CASES, Case, question

N_SEEDS = 200
N_SAMPLES = 2000
LEVEL = 0.999


def opened(case: Case, folder: Path) -> tuple[float, Model, Domain, FloatArray]:
    """The true share of a case, and what the commands make of its files."""
    truth, _ = question(case, folder)
    [model_path] = [path for path in folder.iterdir() if path.suffix in (".nnet", ".skops")]
    table = read_table(folder / "data.csv", name="data.csv")
    schema = infer_schema(table).with_protected(("g",))
    dataset = make_dataset(table, schema)
    model = open_model(model_path, schema, classes=dataset.classes, favourable=dataset.classes.index("yes"))
    return truth, model, Domain(schema, Scope(("g",))), dataset.rows


def last_share(events: list[Event]) -> ShareEstimated:
    """The estimate at its end."""
    return [event for event in events if isinstance(event, ShareEstimated)][-1]


def line(case: Case) -> list[str]:
    """What 200 seeds of each come to."""
    with tempfile.TemporaryDirectory() as folder:
        truth, model, domain, rows = opened(case, Path(folder))
        [count] = [event.content for event in run_exact(model, domain) if hasattr(event, "content")]
        n_held = n_held_95 = n_rates = 0
        for seed in range(N_SEEDS):
            share = last_share(list(run_estimate(model, domain, rows, Distribution.UNIFORM, N_SAMPLES, seed)))
            low, high = share_interval(share.n_hits, share.n, level=LEVEL)
            n_held += low <= truth <= high
            n_held_95 += share.low <= truth <= share.high
            budget = Budget(N_SAMPLES * domain.n_variants)
            searched = run_search(RandomSearch(), model, domain, rows, budget, seed)
            progress = [event for event in searched if isinstance(event, Progress)][-1]
            low, high = share_interval(progress.n_found, progress.n_tried, count["n_individuals"], level=LEVEL)
            n_rates += low <= truth <= high
    counted = count["n_discriminatory"] / count["n_individuals"]
    return [
        case.name,
        f"{truth:.4%}",
        f"{counted:.4%}",
        f"{n_held} of {N_SEEDS}",
        f"{n_held_95} of {N_SEEDS}",
        f"{n_rates} of {N_SEEDS}",
    ]


def main() -> None:
    """All cases."""
    names = (
        "case",
        "truth",
        "`count`",
        "`estimate` holds it, at 99.9 %",
        "at 95 %",
        "rate of *random* holds it, at 99.9 %",
    )
    table = markdown(names, [line(case) for case in CASES])
    about = (
        f"Each seed draws {N_SAMPLES:,} people, or searches as many; shares of discriminatory individuals of the "
        "whole domain."
    )
    keep("near_threshold", "Shares near the threshold", [about, table])


if __name__ == "__main__":
    main()
