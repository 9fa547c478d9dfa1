"""SG with parts of it switched off: the paper's Tables 3 to 7, on logistic regressions as theirs."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression

from benchmarks.search_cases import Case, estimator_case
from benchmarks.table import markdown
from fairness_engine.events import PairsFound, ResultReady
from fairness_engine.oracle.budget import Budget
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.sg.sg import Sg

N_INPUTS = 1_000
"""People tested in one run, the paper's limit."""
_OFF = {"is_directed": False, "undirected": "off"}
SETTINGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("all of it", "3", {}),
    ("start rows alone", "4", _OFF),
    ("uniform rows alone", "4", {**_OFF, "start_source": "uniform"}),
    ("uniform start rows", "5", {"start_source": "uniform"}),
    ("without directed search", "6", {"is_directed": False}),
    ("undirected first, without directed", "7", {"is_directed": False, "undirected": "first"}),
    ("without undirected search", "", {"undirected": "off"}),
)
"""What is measured, the table of the paper that has it, and SG's settings for it."""
PAPER = {
    "german-age-logistic": {"3": "359 / 1,000", "4": ("70 / 1,000", "46 / 1,000"), "5": "365 / 1,000"}
    | {"6": "70 / 1,000", "7": "18 / 1,000"},
    "adult-sex-logistic": {"3": "176 / 1,000", "4": ("20 / 500", "5 / 500"), "5": "195 / 1,000"}
    | {"6": "45 / 994", "7": "45 / 1,000"},
}
"""Found / tested of the paper's German Credit (age) and census (sex), whose tables and coding differ from these."""
_SOURCES = ("data", "uniform", "directed", "undirected")


def _logistic(name: str, title: str, data: str, protected: str) -> Case:
    return estimator_case(name, title, data, protected, LogisticRegression(max_iter=5_000))


CASES: dict[str, Callable[[], Case]] = {
    "german-age-logistic": lambda: _logistic(
        "german-age-logistic", "German credit, age", "german__maft_eidig", "AgeInYears"
    ),
    "adult-sex-logistic": lambda: _logistic("adult-sex-logistic", "Adult, sex", "adult__maft_eidig", "sex"),
}


def ablation_part(n_seeds: int) -> str:
    """The section: for each case and setting, people found of those tested, in all and by where they came from."""
    parts = [
        "## SG with parts of it switched off",
        f"Logistic regressions (scikit-learn), as in the paper; {N_INPUTS:,} people tested a run in the printed order "
        f"(`wave` = 1), 5,000 LIME samples. Found / tested, medians of {n_seeds} seeds; the range of what was found in "
        "brackets. When its queue is empty the paper stops, and here uniform rows follow: a run without uniform start "
        "rows has them in that column. The paper's figures are of its own tables of the same name, one run each.",
    ]
    for name, make in CASES.items():
        case = make()
        n_wrong = n_pairs = 0
        rows = []
        for what, table, values in SETTINGS:
            runs = [_run(case, Sg(wave=1, n_inputs=N_INPUTS, **values), seed) for seed in range(n_seeds)]
            n_wrong = n_wrong + sum(run[1] for run in runs)
            n_pairs = n_pairs + sum(run[2] for run in runs)
            rows.append((what, *_counts([run[0] for run in runs]), table, _paper(name, table, values)))
            print(name, rows[-1], flush=True)
        header = ("SG", "found / tested", "data's rows", "uniform rows", "directed", "undirected", "Table", "paper")
        judged = f"{case.title}: {n_pairs:,} pairs judged again by scikit-learn itself: **{n_wrong} wrong**."
        parts += [f"### {case.title}", markdown(header, rows), judged]
    return "\n\n".join(parts)


def _run(case: Case, technique: Sg, seed: int) -> tuple[dict[str, Any], int, int]:
    """Where the finds came from, pairs that are none, and pairs."""
    events = list(run_search(technique, case.model, case.domain, case.rows, Budget(None, 600.0), seed))
    (split,) = (event.content for event in events if isinstance(event, ResultReady))
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], case.domain.n_columns)
    return split, case.n_wrong(pairs), len(pairs)


def _counts(splits: list[dict[str, Any]]) -> list[str]:
    """Found / tested in all, with the range, and by source."""
    found = [sum(counts["n_found"] for counts in split.values()) for split in splits]
    tried = [sum(counts["n_tried"] for counts in split.values()) for split in splits]
    spread = "" if min(found) == max(found) else f" ({min(found):,}–{max(found):,})"
    cells = [f"{_median(found)}{spread} / {_median(tried)}"]
    for source in _SOURCES:
        of_source = [split[source] for split in splits]
        n_tried = [counts["n_tried"] for counts in of_source]
        cells.append(
            f"{_median([c['n_found'] for c in of_source])} / {_median(n_tried)}" if statistics.median(n_tried) else "–"
        )
    return cells


def _median(values: list[int]) -> str:
    return f"{statistics.median(values):,.0f}"


def _paper(name: str, table: str, values: dict[str, Any]) -> str:
    said = PAPER[name].get(table, "")
    return said if isinstance(said, str) else said["start_source" in values]
