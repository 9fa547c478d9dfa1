"""What a run costs by the size of its model and of its scope: ``python -m benchmarks.scale_models``.

Whole commands on the project's own data, with models made larger: forests whose trees are repeated, networks of wider
layers, stacks of more pipelines, scopes of more combinations of protected values. The exponents say how cost grows, and
what sizes that were not tried would take, on paper.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.app_uploads import _family, _memory
from benchmarks.cluster import ROOT, forest
from benchmarks.table import keep_sections, markdown
from fairness_engine.arrays import pack_columns, unpack_columns

SAMPLE = ROOT / "sample_data" / "census_income"
N_TREES = (12, 120, 480, 1200)
WIDTHS = (10, 100, 300, 1000, 2000)
N_LAYERS = 3
SCOPES = (
    ("sex",),
    ("sex", "race"),
    ("sex", "race", "marital_status"),
    ("sex", "race", "marital_status", "workclass"),
    ("sex", "race", "marital_status", "workclass", "occupation"),
)
N_MEMBERS = (2, 8, 32)
N_EVALUATIONS = 1_000_000
N_PEOPLE = 50_000
N_NEURONS = 1_000_000
_WORKERS = (2, 10, 100)
_SENDINGS = 5
_CALLS = 5
_LOOK_SECONDS = 0.05


def run(model: Path, words: Sequence[str], folder: Path) -> tuple[dict[str, Any], float]:
    """What a command says, and the most memory in MB that is no file's of one of the processes that it started."""
    command = [sys.executable, "-m", "fairness_engine", *words, "--data", f"{SAMPLE}.csv"]
    command += ["--schema", f"{SAMPLE}.schema.json", "--model", str(model), "--workspace", str(folder / "workspace")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    most = 0.0
    with (folder / "said.json").open("w+") as said:
        process = subprocess.Popen([*command, "--json", "-", "--quiet"], stdout=said, cwd=ROOT, env=environment)
        while process.poll() is None:
            most = max([most, *(_memory(child)[1] for child in _family(process.pid))])
            time.sleep(_LOOK_SECONDS)
        if process.returncode:
            raise SystemExit(f"'{' '.join(words)}' failed.")
        said.seek(0)
        return json.load(said), most


def network(width: int, folder: Path) -> tuple[Path, int]:
    """A network with layers so wide, hardly trained, and how many weights it has."""
    table = pd.read_csv(f"{SAMPLE}.csv")
    schema = json.loads(Path(f"{SAMPLE}.schema.json").read_text())
    codes = schema["layout"]["codes"]
    inputs = table.drop(columns=schema["label"])
    for name, values in codes.items():
        inputs[name] = inputs[name].map(values.index)
    labels = (table[schema["label"]] == schema["favourable"]).astype(int)
    model = MLPClassifier((width,) * N_LAYERS, max_iter=1, batch_size=500, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs.to_numpy(dtype=np.float64), labels)
    del model._optimizer  # what training alone needs, twice the weights
    skops.io.dump(model, folder / "network.skops")
    return folder / "network.skops", sum(each.size for each in model.coefs_)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Of the cost in the size, between the two largest."""
    return math.log(costs[-1] / costs[-2]) / math.log(sizes[-1] / sizes[-2])


def searched(
    title: str, what: str, sizes: Sequence[int], make: Callable[[int], tuple[Path, int]], folder: Path
) -> tuple[str, list[float]]:
    """A section: a search of a million rows, by the size of the model; and the seconds of each."""
    lines = []
    costs = []
    measured = []
    for size in sizes:
        model, n = make(size)
        words = ["search", "--technique", "random", "--max-evaluations", str(N_EVALUATIONS), "--protected", "sex"]
        said, most = run(model, words, folder)
        measured.append(n)
        costs.append(float(said["seconds"]))
        each = f"{1e6 * costs[-1] / N_EVALUATIONS:.2f}"
        lines.append([f"{size:,}", f"{n:,}", f"{costs[-1]:.1f}", each, f"{most:,.0f}"])
        print(title, lines[-1], flush=True)
    header = [title, what, f"s of {N_EVALUATIONS:,} rows", "microseconds a row", "model's process, MB"]
    grows = f"Between the two largest, seconds grow with the power {exponent(measured, costs):.2f} of the {what}."
    return f"## Search, by {title}\n\n{markdown(header, lines)}\n\n{grows}", costs


def by_scope(folder: Path) -> str:
    """A section: an estimate over some people, by the combinations of protected values."""
    lines = []
    sizes = []
    costs = []
    for protected in SCOPES:
        model = ROOT / "sample_models" / "census_income_forest.skops"
        said, most = run(model, ["estimate", "--samples", str(N_PEOPLE), "--protected", ",".join(protected)], folder)
        sizes.append(said["evaluations"] / N_PEOPLE)
        costs.append(float(said["seconds"]))
        lines.append([", ".join(protected), f"{sizes[-1]:,.0f}", f"{costs[-1]:.2f}", f"{most:,.0f}"])
        print(lines[-1], flush=True)
    header = ["protected", "combinations", f"s of {N_PEOPLE:,} people", "model's process, MB"]
    grows = f"Between the two largest, seconds grow with the power {exponent(sizes, costs):.2f} of the combinations."
    return f"## Estimate, by combinations of protected values\n\n{markdown(header, lines)}\n\n{grows}"


def stack(n_members: int, folder: Path) -> tuple[Path, Any, pd.DataFrame]:
    """Pipelines behind one another's encoders, asked by scikit-learn itself: a call takes long however few its rows
    are. With its path, and the inputs.
    """
    table = pd.read_csv(f"{SAMPLE}.csv")
    schema = json.loads(Path(f"{SAMPLE}.schema.json").read_text())
    inputs = table.drop(columns=schema["label"])
    texts = list(schema["layout"]["codes"])
    members = [
        (
            f"member {i}",
            make_pipeline(
                make_column_transformer((OneHotEncoder(), texts), remainder=StandardScaler()),
                LogisticRegression(C=0.1 + i),
            ),
        )
        for i in range(n_members)
    ]
    model = StackingClassifier(members, LogisticRegression(), cv=2).fit(inputs, table[schema["label"]])
    skops.io.dump(model, folder / "stack.skops")
    return folder / "stack.skops", model, inputs


def by_call(folder: Path) -> str:
    """A section: a scan of the data by models that are slow by the call."""
    lines = []
    for n_members in N_MEMBERS:
        path, model, inputs = stack(n_members, folder)
        calls = [statistics.median(_seconds(model, inputs[:n]) for _ in range(_CALLS)) for n in (1, 1_000)]
        said, most = run(path, ["search", "--technique", "data-scan", "--protected", "sex"], folder)
        singly = said["n_tried"] * calls[0]
        lines.append(
            [
                f"{n_members}",
                *(f"{1e3 * each:.0f}" for each in calls),
                f"{said['n_tried']:,}",
                f"{float(said['seconds']):.1f}",
                f"{singly:.0f}",
                f"{most:,.0f}",
            ]
        )
        print(lines[-1], flush=True)
    header = ["pipelines", "ms of 1 row", "ms of 1,000", "people", "s of the scan", "s, a call a person", "MB"]
    return (
        "## Models that are slow by the call\n\nStacks of pipelines, which scikit-learn itself is asked for: a scan of "
        "the sample's rows, beside what the same people would take in a call each. MB are those of the model's "
        f"process.\n\n{markdown(header, lines)}"
    )


def _seconds(model: Any, inputs: pd.DataFrame) -> float:
    began = time.perf_counter()
    model.predict_proba(inputs)
    return time.perf_counter() - began


def seconds_sent() -> float:
    """Of a row that goes to a process of a cluster, and of the answer's way back: what the run's own process spends."""
    rows = pd.read_csv(f"{SAMPLE}.csv").drop(columns=json.loads(Path(f"{SAMPLE}.schema.json").read_text())["label"])
    codes = np.column_stack([pd.factorize(column)[0] for _, column in rows.items()]).astype(np.float64)
    scores = np.linspace(0, 1, len(codes))
    began = time.perf_counter()
    for _ in range(_SENDINGS):
        json.dumps(pack_columns(codes))
        unpack_columns(json.loads(json.dumps(pack_columns(scores))))
    return (time.perf_counter() - began) / _SENDINGS / len(codes)


def on_paper(beside: float, sent: float, decided: float, weight: float) -> str:
    """A section: sizes that nobody waited for.

    Args:
        beside: seconds of a row that a search takes beside its model, at most: those of the smallest forest.
        sent: seconds of a row, see ``seconds_sent``.
        decided: seconds of a row that the largest forest takes.
        weight: seconds of a row for each weight of the largest network.
    """
    models = {
        f"a forest of {N_TREES[-1]:,} trees": decided,
        f"a network of {N_NEURONS:,} neurons, layers of {WIDTHS[-2]:,}": N_NEURONS * WIDTHS[-2] * weight,
        "a model that takes 10 ms a row": 0.01,
    }
    lines = []
    for title, model in models.items():
        own = beside + model
        with_workers = [beside + sent + model / n for n in _WORKERS]
        seconds = [f"{N_EVALUATIONS * each:,.0f}" for each in (own, *with_workers)]
        lines.append([title, f"{1e3 * model:,.3f}", *seconds, ", ".join(f"{own / each:,.1f}" for each in with_workers)])
    header = ["model", "ms a row", "s alone", *(f"s with {n} workers" for n in _WORKERS), "times as fast"]
    return (
        f"## On paper\n\nA search of {N_EVALUATIONS:,} rows. Of a row the run's own process spends at most "
        f"{1e6 * beside:.2f} microseconds beside the model and {1e6 * sent:.2f} on sending it, measured above and on "
        "one core; what is left is shared out evenly, each worker on a core of its own machine. Starting (some ten "
        f"seconds) is not in it. A network of so many neurons has {N_NEURONS * WIDTHS[-2]:,} weights, "
        f"{N_NEURONS * WIDTHS[-2] * 8 / 1e9:,.0f} GB, which each worker must hold.\n\n{markdown(header, lines)}"
    )


def main() -> None:
    """Print the tables and keep them in ``scale.md``."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale_models")
    parser.add_argument("--only", choices=("trees", "networks", "calls", "scopes"))
    only = parser.parse_args().only
    sections = []
    trees: list[float] = []
    networks: list[float] = []
    n_weights: list[int] = []

    def wider(width: int) -> tuple[Path, int]:
        path, n = network(width, folder)
        n_weights.append(n)
        return path, n

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if only in (None, "trees"):
            told, trees = searched("trees", "trees", N_TREES, lambda n: (forest(n // N_TREES[0], folder), n), folder)
            sections.append(told)
        if only in (None, "networks"):
            told, networks = searched(f"width of {N_LAYERS} layers", "weights", WIDTHS, wider, folder)
            sections.append(told)
        if only in (None, "calls"):
            sections.append(by_call(folder))
        if only in (None, "scopes"):
            sections.append(by_scope(folder))
    if trees and networks:
        beside = trees[0] / N_EVALUATIONS
        weight = networks[-1] / N_EVALUATIONS / n_weights[-1]
        sections.append(on_paper(beside, seconds_sent(), trees[-1] / N_EVALUATIONS, weight))
    keep_sections("scale", "Large tables, large models, wide scopes", sections)


if __name__ == "__main__":
    main()
