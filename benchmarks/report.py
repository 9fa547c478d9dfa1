"""What a report and its bundle cost on a review with 100,000 pairs: whole commands, in a workspace of their
own, and the size of what they write.

.venv/bin/python -m benchmarks.report
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import keep, markdown
from fairness_engine.data.catalogue import list_samples
from fairness_engine.report.presets import preset_names
from fairness_engine.store.store import RunStore

REPEATS = 5
N_PAIRS = 100_000


def seconds(workspace: Path, *words: str) -> float:
    """How long a command takes, with everything that starts and ends it."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "fairness_engine", *words, "--workspace", str(workspace), "--quiet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def fill(workspace: Path) -> None:
    """A search that finds ``N_PAIRS``, and one run of every other kind a report tells of."""
    [(sample, model)] = [
        (sample, model)
        for sample in list_samples()
        for model in sample.models
        if model.path.stem == "census_income_planted"
    ]
    assessed = ["--data", str(sample.data), "--schema", str(sample.schema), "--model", str(model.path)]
    assessed += ["--protected", ",".join(model.protected)]
    seconds(workspace, "search", *assessed, "--technique", "directed", "--max-evaluations", "100000000",
            "--max-found", str(N_PAIRS))  # fmt: skip
    seconds(workspace, "search", *assessed, "--technique", "data-scan")
    seconds(workspace, "estimate", *assessed)
    seconds(workspace, "certify", *assessed, "--max-seconds", "60")
    seconds(workspace, "rules", *assessed)
    seconds(workspace, "figures", *assessed)
    seconds(workspace, "proxies", *assessed)


def line(workspace: Path, runs: list[str], preset: str, folder: Path) -> list[str]:
    """Median time and size of the report and its bundle, and of replaying the bundle where there is no workspace."""
    made = []
    for turn in range(REPEATS):
        out = folder / f"{preset}-{turn}"
        made.append(seconds(workspace, "report", "--run", *runs, "--preset", preset, "--out", str(out)))
    [report] = out.glob("*.html")
    whole = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    replayed = seconds(folder / "elsewhere", "runs", "verify", str(out / "bundle"))
    return [
        preset,
        f"{statistics.median(made):.1f} s",
        f"{max(made):.1f} s",
        f"{report.stat().st_size / 1e3:,.0f} KB",
        f"{whole / 1e6:,.1f} MB",
        f"{replayed:.1f} s",
    ]


def main() -> None:
    """Fill a workspace once, write every preset's report from it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = folder / "workspace"
        fill(workspace)
        runs = [run.id for run in RunStore(workspace).runs()]
        rows = [line(workspace, runs, preset, folder) for preset in preset_names() if preset != "adverse-outcome"]
    heads = ("preset", "command, median", "slowest", "report", "report and bundle", "replayed")
    keep(
        "report",
        "Reports of 100,000 pairs",
        [
            f"Census, the planted model: a search with {N_PAIRS:,} pairs, a data scan, an estimate, a certification, "
            f"rule sets, figures and proxies in one workspace. `report --out` as a whole command, {REPEATS} runs; "
            "`runs verify` of the bundle in an empty workspace, once. Load when it began: "
            f"{os.getloadavg()[0]:.1f}.",
            markdown(heads, rows),
        ],
    )


if __name__ == "__main__":
    main()
