"""A second look at a whole run: nothing that was stored is believed, and what could not be looked at is said.

Pairs, certificates, rule sets and retrained models have looks of their own (``check_pairs``, ``proof_check``, ``rules_check``,
``model_check``); here is what concerns every run: the files that it was made from, its seal, its totals, and figures computed anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.budget import Budget
from fairness_engine.certification.space import Weights, make_space
from fairness_engine.dataset import make_dataset, read_table
from fairness_engine.domain import Domain
from fairness_engine.errors import EvenhandError, RunError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.intervals import share_interval
from fairness_engine.runs.config import RunConfig, RunKind
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.records import RunRecord, RunState
from fairness_engine.runs.seal import check_seal, file_hash
from fairness_engine.runs.store import RunStore
from fairness_engine.runs.worker import work

_N_DRAWS, _MAX_ROWS = 20_000, 2_000_000
_FALSE_ALARM = 1e-4
"""How likely it is at most that shares which are right are said to be contradicted by draws."""
_SUMS = 1e-9
_WITH_PAIRS = (RunKind.SEARCH, RunKind.CERTIFY)


class Verdict(StrEnum):
    """What a check came to."""

    HOLDS = "holds"
    CONTRADICTED = "contradicted"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Check:
    """One look at one thing.

    Args:
        name: what was looked at.
        verdict: what it came to.
        said: in a few words, how, or what is wrong.
    """

    name: str
    verdict: Verdict
    said: str

    def to_json(self) -> dict[str, str]:
        """Plain texts."""
        return {"name": self.name, "verdict": self.verdict.value, "said": self.said}


def check_run(store: RunStore, run: RunRecord, evaluator: Evaluator, keys: Sequence[IntArray]) -> list[Check]:
    """All looks that concern every run, or its kind.

    Args:
        store, run: where the run is, and which.
        evaluator: opens its model afresh.
        keys: of the individuals of its pairs, as they were read.
    """
    checks = [_files(store, run), _seal(store, run), _totals(store, run, keys)]
    if run.config.kind in (RunKind.ESTIMATE, RunKind.COUNT):
        checks.append(_tried("the figure", lambda: _again(store, run)))
    if run.config.kind is RunKind.CERTIFY:
        checks.append(_tried("the proved shares", lambda: _shares(store, run, evaluator)))
    return checks


def _tried(name: str, look: Callable[[], Check]) -> Check:
    """A look that may be impossible: damaged files, a model that no longer opens."""
    try:
        return look()
    except (EvenhandError, OSError) as error:
        return Check(name, Verdict.NOT_CHECKED, str(error))


def _files(store: RunStore, run: RunRecord) -> Check:
    """The data and the model are the bytes that their names and entries say."""
    wrong = []
    for what, identity in (("data", run.config.data_id), ("model", run.config.model_id)):
        if not identity:
            continue
        try:
            file = store.file(identity)
        except RunError:
            wrong.append(f"the {what} file has no entry")
            continue
        found = file_hash(file.path)
        if not found:
            wrong.append(f"the {what} file '{file.name}' is gone")
        elif found != file.sha256 or file.path.stat().st_size != file.n_bytes:
            wrong.append(f"the {what} file '{file.name}' is not what it was")
    return _check("files", wrong, "data and model are, to the byte, what the run was made from")


def _seal(store: RunStore, run: RunRecord) -> Check:
    found = check_seal(store, run.id)
    if not found.seal:
        return Check("seal", Verdict.NOT_CHECKED, "the run has none: it has not ended, or an older version made it")
    return _check("seal", list(found.changed), f"{found.n_parts} stored parts are what they were when it ended")


def _totals(store: RunStore, run: RunRecord, keys: Sequence[IntArray]) -> Check:
    """What the database counts is what the files hold, everybody once."""
    n_read, n_stored = sum(map(len, keys)), store.n_pairs(run.id)
    wrong = []
    if n_read != n_stored:
        wrong.append(f"{n_stored:,} pairs are listed, {n_read:,} are there")
    if n_stored != run.n_found and run.config.kind in _WITH_PAIRS:
        wrong.append(f"{run.n_found:,} were found, {n_stored:,} are stored")
    if n_read and len(np.unique(np.concatenate(keys))) != n_read:
        wrong.append("somebody is there twice")
    curve = store.progress(run.id)
    if len(curve) and int(curve["n_found"].max()) > run.n_found:
        wrong.append("more were reported on the way than at the end")
    if len(curve) and not curve["evaluations"].is_monotonic_increasing:
        wrong.append("reports are out of order")
    return _check("totals", wrong, f"{n_read:,} pairs, each individual once" if n_read else "reports are in order")


def _check(name: str, wrong: list[str], right: str) -> Check:
    if wrong:
        return Check(name, Verdict.CONTRADICTED, "; ".join(wrong))
    return Check(name, Verdict.HOLDS, right)


# --- figures computed anew ----------------------------------------------------------------------


def _again(store: RunStore, run: RunRecord) -> Check:
    """An estimate is drawn again from its seed, and a count counted again: every figure must be the same."""
    results = store.results(run.id)
    name = "share" if run.config.kind is RunKind.ESTIMATE else "count"
    if name not in results:
        return Check("the figure", Verdict.HOLDS, "it ended before there was one: nothing is claimed")
    again = _repeated(store, run.config)
    if name == "count":
        is_same = again.get("count") == results["count"]
        said = f"counted again: {results['count']['n_discriminatory']:,} of {results['count']['n_individuals']:,}"
    else:
        share, curve = results["share"], results.get("share_curve") or []
        points = {point[0]: point for point in again.get("share_curve") or []}
        is_same = all(points.get(point[0]) == point for point in curve)
        is_same &= bool(curve) and [share["n"], share["share"], share["low"], share["high"]] == curve[-1]
        is_same &= round(share["share"] * share["n"]) == share["n_hits"]
        said = f"drawn again from seed {run.config.seed}: {share['n_hits']:,} of {share['n']:,}"
    return _check("the figure", [] if is_same else ["made again, it comes out differently"], said)


def _repeated(store: RunStore, config: RunConfig) -> dict[str, Any]:
    """The results of a run made again, with no limit of time, in a workspace of its own."""
    with tempfile.TemporaryDirectory(prefix="evenhand-verify-") as folder:
        other = RunStore(Path(folder))
        try:
            for identity in (config.data_id, config.model_id):
                if identity:
                    file = store.file(identity)
                    other.add_file(file.path, file.name, file.role)
            run_id = other.create_run(replace(config, budget=Budget(config.budget.max_evaluations)))
            if work(other, run_id, lambda: False) is not RunState.FINISHED:
                raise RunError(f"It could not be made again: {other.run(run_id).message or 'it did not end'}")
            return other.results(run_id)
        finally:
            other.close()


def _shares(store: RunStore, run: RunRecord, evaluator: Evaluator) -> Check:
    """The shares of the result are those of the tree, and people drawn by weight do not contradict them."""
    result = store.results(run.id).get("certification")
    if result is None:
        return Check("the proved shares", Verdict.HOLDS, "it ended before there were any: nothing is claimed")
    certified, falsified, undecided = (float(result[name]) for name in ("certified", "falsified", "undecided"))
    wrong = []
    if abs(certified + falsified + undecided - 1) > _SUMS or min(certified, falsified, undecided) < 0:
        wrong.append("the shares do not sum to 1")
    tree, _ = store.tree(run.id)
    for name, share, of_tree in (
        ("certified", certified, tree.certified[0]),
        ("falsified", falsified, tree.falsified[0]),
    ):
        if abs(share - of_tree) > _SUMS:
            wrong.append(f"{name}: {share:.9g} is said, the tree has {of_tree:.9g}")
    rows = _drawn(store, run)
    config = run.config
    least, most = evaluator.decisions(config.data_id, config.model_id, config.schema, config.scope, rows)
    n, n_unfair = len(rows), int((least != most).sum())
    low, high = share_interval(n_unfair, n, level=1 - _FALSE_ALARM)
    if falsified > high + _SUMS or certified > 1 - low + _SUMS:
        wrong.append(f"of {n:,} people drawn {n_unfair:,} are decided in two ways")
    right = f"those of the tree; {n_unfair:,} of {n:,} people drawn are decided in two ways, which lies within them"
    return _check("the proved shares", wrong, right)


def _drawn(store: RunStore, run: RunRecord) -> FloatArray:
    """People drawn as the certification weighs them."""
    config, rng = run.config, np.random.default_rng(0)
    domain = Domain(config.schema, config.scope)
    n = max(1000, min(_N_DRAWS, _MAX_ROWS // domain.n_variants))
    if Weights(config.settings.get("weights", Weights.UNIFORM)) is Weights.UNIFORM:
        return domain.sample(n, rng)
    data = store.file(config.data_id)
    dataset = make_dataset(read_table(data.path, name=data.name), config.schema)
    space = make_space(domain, Weights.DATA, dataset.rows)
    low, high = (np.repeat(end, n, axis=0) for end in space.whole())
    return space.rows_inside(space.draw(low, high, rng), rng)
