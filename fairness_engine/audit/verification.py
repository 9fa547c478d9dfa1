"""A second look at a whole run: nothing that was stored is believed, and what could not be looked at is said.

Pairs, certificates, rule sets and retrained models have looks of their own (``proofs.py``, ``rule_sets.py``,
``models.py``); here is what concerns every run: the files that it was made from, its seal, its totals, and figures
computed anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.partition.lattice import Weights, make_lattice
from fairness_engine.data.dataset import make_dataset
from fairness_engine.errors import EvenhandError, RunError, StopReason
from fairness_engine.intervals import share_interval
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Decisions
from fairness_engine.model_process.tables import read_stored
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.tested import TestedPeople
from fairness_engine.runs.kinds import CERTIFY, kind_of, results_of
from fairness_engine.runs.worker import work
from fairness_engine.runs.writers.proofs import stored_tree
from fairness_engine.runs.writers.rule_sets import RULES_FILE, stored_rules
from fairness_engine.runs.writers.tested import read_tested, stored_tested_file
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.seal import check_seal, file_hash
from fairness_engine.store.store import RunStore

_N_DRAWS = 20_000
_MAX_ROWS = 2_000_000
_FALSE_ALARM = 1e-4
"""How likely it is at most that shares which are right are said to be contradicted by draws."""
_SUMS = 1e-9
_SECONDS_TO_REPEAT = 24 * 3600.0


class CheckVerdict(StrEnum):
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
    verdict: CheckVerdict
    said: str

    def to_json(self) -> dict[str, str]:
        """Plain texts."""
        return {"name": self.name, "verdict": self.verdict.value, "said": self.said}


@dataclass(frozen=True)
class LeftOut:
    """What of a run is not there on purpose, as in a bundle without people of the data.

    Args:
        n_pairs: pairs.
        parts: names of the seal's parts that are not there, or not as they were.
    """

    n_pairs: int = 0
    parts: frozenset[str] = frozenset()


NOTHING = LeftOut()


def look(name: str, check: Callable[[], tuple[bool, str]]) -> Check:
    """A look that may be impossible: damaged files, a model that no longer opens.

    Args:
        name: what is looked at.
        check: whether it holds, and what is to be said.
    """
    try:
        holds, said = check()
    except (EvenhandError, OSError) as error:
        return Check(name, CheckVerdict.NOT_CHECKED, str(error))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return Check(name, CheckVerdict.NOT_CHECKED, f"what is stored is not as it was written ({error})")
    return Check(name, CheckVerdict.HOLDS if holds else CheckVerdict.CONTRADICTED, said)


def check_run(
    store: RunStore, run: RunRecord, evaluator: Evaluator, keys: Sequence[IntArray], left_out: LeftOut = NOTHING
) -> list[Check]:
    """All looks that concern every run, or its kind.

    Args:
        store, run: where the run is, and which.
        evaluator: opens its model afresh.
        keys: of the individuals of its pairs, as they were read.
        left_out: what of it is not there on purpose.

    Raises:
        RunError: it is at work, so that counts and files change while they are compared.
    """
    if run.state is RunState.RUNNING:
        raise RunError(
            f"A run is verified once it has ended, but run {run.id} is at work. Wait for its end, or cancel it with "
            f"'runs cancel {run.id}'."
        )
    checks = [look("files", lambda: _files(store, run)), *check_kept(store, run, keys, left_out)]
    if run.config.kind in _OWN:
        name, check = _OWN[run.config.kind]
        checks.append(look(name, lambda: check(store, run, evaluator)))
    elif run.config.kind not in _LOOKED_AT_ELSEWHERE:
        said = f"nothing is known of what a run of the kind '{run.config.kind}' leaves"
        checks.append(Check("the figures", CheckVerdict.NOT_CHECKED, said))
    return checks


def check_kept(store: RunStore, run: RunRecord, keys: Sequence[IntArray], left_out: LeftOut = NOTHING) -> list[Check]:
    """The looks that need neither data nor model: the seal and the totals. See ``check_run``."""
    totals = look("totals", lambda: _totals(store, run, keys, left_out.n_pairs))
    checks = [_seal(store, run, left_out.parts), totals]
    path = stored_tested_file(store, run.id)
    if path is not None and not left_out.n_pairs:
        checks.append(look("people to watch", lambda: _tested(run, read_tested(path, run.config), keys)))
    return checks


def _files(store: RunStore, run: RunRecord) -> tuple[bool, str]:
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
    return _told(wrong, "data and model are, to the byte, what the run was made from")


def _seal(store: RunStore, run: RunRecord, left_out: Collection[str]) -> Check:
    if run.state is RunState.QUEUED:
        return Check("seal", CheckVerdict.HOLDS, "the run has not begun: nothing is stored")
    found = check_seal(store, run.id, left_out)
    if not found.seal:
        return Check(
            "seal", CheckVerdict.NOT_CHECKED, "the run has none: it has not ended, or an older version made it"
        )
    right = f"{found.n_parts} stored parts are what they were when it ended"
    if left_out and not found.changed:
        said = f"parts were left out ({', '.join(sorted(left_out))}); the other {right}"
        return Check("seal", CheckVerdict.NOT_CHECKED, said)
    return look("seal", lambda: _told(list(found.changed), right))


def _totals(store: RunStore, run: RunRecord, keys: Sequence[IntArray], n_left_out: int) -> tuple[bool, str]:
    """What the database counts is what the files hold, everybody once."""
    n_read = sum(map(len, keys))
    n_stored = store.n_pairs(run.id)
    wrong = []
    if n_read != n_stored:
        wrong.append(f"{n_stored:,} pairs are listed, {n_read:,} are there")
    if n_stored + n_left_out != run.n_found and kind_of(run.config).has_pairs:
        wrong.append(f"{run.n_found:,} were found, {n_stored + n_left_out:,} are stored")
    if n_read and len(np.unique(np.concatenate(keys))) != n_read:
        wrong.append("somebody is there twice")
    curve = store.progress(run.id)
    if len(curve) and int(curve["n_found"].max()) > run.n_found:
        wrong.append("more were reported on the way than at the end")
    if len(curve) and not curve["evaluations"].is_monotonic_increasing:
        wrong.append("reports are out of order")
    return _told(wrong, f"{n_read:,} pairs, each individual once" if n_read else "reports are in order")


def _tested(run: RunRecord, people: TestedPeople, keys: Sequence[IntArray]) -> tuple[bool, str]:
    """Those that the sample shows as found are among the pairs."""
    domain = Domain(run.config.schema, run.config.scope)
    found = np.asarray(domain.keys(domain.spelled(people.rows[people.is_found == 1])), np.int64)
    known = np.concatenate(keys) if keys else np.zeros(0, np.int64)
    n_strange = int((~np.isin(found, known)).sum())
    wrong = [f"{n_strange:,} people who are shown as found are in no pair"] if n_strange else []
    return _told(wrong, f"{len(found):,} shown as found, each among the pairs")


def _told(wrong: list[str], right: str) -> tuple[bool, str]:
    return not wrong, "; ".join(wrong) or right


# --- figures computed anew ----------------------------------------------------------------------


_NONE = "it ended before there was one: nothing is claimed"
_OTHER = "made again, it comes out differently"


def _share(store: RunStore, run: RunRecord, _: Evaluator) -> tuple[bool, str]:
    """An estimate is drawn again from its seed: every figure must be the same."""
    results = results_of(store, run.id)
    share = results.share
    if share is None:
        return True, _NONE
    curve = results.share_curve
    with _repeated(store, run.config) as (other, run_id):
        again = results_of(other, run_id)
    points = {point[0]: point for point in again.share_curve}
    is_same = all(points.get(point[0]) == point for point in curve)
    is_same &= results.plausible_share in (None, again.plausible_share)  # runs of earlier versions have none
    is_same &= bool(curve) and (share.n, share.share, share.low, share.high) == curve[-1]
    said = f"drawn again from seed {run.config.seed}: {share.n_hits:,} of {share.n:,}"
    return is_same, said if is_same else _OTHER


def _count(store: RunStore, run: RunRecord, _: Evaluator) -> tuple[bool, str]:
    """Everybody is counted again: every figure must be the same."""
    count = results_of(store, run.id).count
    if count is None:
        return True, _NONE
    with _repeated(store, run.config) as (other, run_id):
        again = results_of(other, run_id).count
    if again is not None and count.plausible is None:  # runs of earlier versions, and those whose time was over
        again = replace(again, plausible=None)
    is_same = again == count
    said = f"counted again: {count.n_discriminatory:,} of {count.n_individuals:,}"
    return is_same, said if is_same else _OTHER


def _all_rules(store: RunStore, run: RunRecord, _: Evaluator) -> tuple[bool, str]:
    """All rule sets are scored again from the seed: every count must be the same."""
    if not (store.run_folder(run.id) / RULES_FILE).is_file():
        return True, "it ended before there were any: nothing is claimed"
    scored = stored_rules(store, run.id).scored
    if run.stop_reason is not StopReason.EXHAUSTED:
        raise RunError(
            "The run was ended early, so that only its highest rule sets can be scored again. Score them to the end."
        )
    with _repeated(store, run.config) as (other, run_id):
        again = stored_rules(other, run_id).scored
    is_same = all(np.array_equal(getattr(scored, one.name), getattr(again, one.name)) for one in fields(scored))
    said = f"{len(scored):,} scored again from seed {run.config.seed}: every count is the same"
    return is_same, said if is_same else "scored again from the seed, they come out differently"


def _figures(store: RunStore, run: RunRecord, _: Evaluator) -> tuple[bool, str]:
    """Groups are counted again: every count must be the same."""
    figures = results_of(store, run.id).figures
    if figures is None:
        return True, _NONE
    with _repeated(store, run.config) as (other, run_id):
        again = results_of(other, run_id).figures
    is_same = again == figures
    return is_same, f"{len(figures.read().tables)} tables counted again" if is_same else _OTHER


def _proxies(store: RunStore, run: RunRecord, _: Evaluator) -> tuple[bool, str]:
    """Everything is learned again from the seed: every figure must be the same."""
    proxies = results_of(store, run.id).proxies
    if proxies is None:
        return True, _NONE
    if run.stop_reason is not StopReason.EXHAUSTED:
        raise RunError("The run was ended early, so that its figures cannot be made again. Run it to the end.")
    with _repeated(store, run.config) as (other, run_id):
        again = results_of(other, run_id).proxies
    n = proxies.n_columns
    said = f"{n:,} {'column' if n == 1 else 'columns'} looked at again from seed {run.config.seed}: the same figures"
    return again == proxies, said if again == proxies else _OTHER


@contextmanager
def _repeated(store: RunStore, config: RunConfig) -> Iterator[tuple[RunStore, str]]:
    """A run made again, with all the time that it may need, in a workspace of its own; that and the run there."""
    with tempfile.TemporaryDirectory(prefix="evenhand-verify-") as folder:
        other = RunStore(Path(folder))
        try:
            for identity in (config.data_id, config.model_id):
                if identity:
                    file = store.file(identity)
                    other.add_file(file.path, file.name, file.role)
            budget = Budget(config.budget.max_evaluations, _SECONDS_TO_REPEAT)
            run_id = other.create_run(replace(config, budget=budget))
            if work(other, run_id, lambda: False) is not RunState.FINISHED:
                raise RunError(f"It could not be made again: {other.run(run_id).message or 'it did not end'}")
            yield other, run_id
        finally:
            other.close()


def _shares(store: RunStore, run: RunRecord, evaluator: Evaluator) -> tuple[bool, str]:
    """The shares of the result are those of the tree, and people drawn by weight do not contradict them."""
    result = results_of(store, run.id).certification
    if result is None:
        return True, "it ended before there were any: nothing is claimed"
    certified = result.certified
    falsified = result.falsified
    wrong = []
    tree, _ = stored_tree(store, run.id)
    for name, share, of_tree in (
        ("certified", certified, tree.certified[0]),
        ("falsified", falsified, tree.falsified[0]),
    ):
        if abs(share - of_tree) > _SUMS:
            wrong.append(f"{name}: {share:.9g} is said, the tree has {of_tree:.9g}")
    rows = _drawn(store, run)
    config = run.config
    least, most = evaluator.ask(config, Decisions(rows))
    n = len(rows)
    n_unfair = int((least != most).sum())
    low, high = share_interval(n_unfair, n, level=1 - _FALSE_ALARM)
    if falsified > high + _SUMS or certified > 1 - low + _SUMS:
        wrong.append(f"of {n:,} people drawn {n_unfair:,} are decided in two ways")
    right = f"those of the tree; {n_unfair:,} of {n:,} people drawn are decided in two ways, which lies within them"
    return _told(wrong, right)


def _drawn(store: RunStore, run: RunRecord) -> FloatArray:
    """People drawn as the certification weighs them."""
    config = run.config
    rng = np.random.default_rng(0)
    domain = Domain(config.schema, config.scope)
    n = max(1000, min(_N_DRAWS, _MAX_ROWS // domain.n_variants))
    if CERTIFY.settings(config).weights is Weights.UNIFORM:
        return domain.sample(n, rng)
    data = store.file(config.data_id)
    dataset = make_dataset(read_stored(store.workspace, data.path, data.name), config.schema)
    space = make_lattice(domain, Weights.DATA, domain.roles(dataset.rows))
    low, high = (np.repeat(end, n, axis=0) for end in space.whole())
    return domain.spelled(space.rows_inside(space.draw(low, high, rng), rng))


_OWN: dict[str, tuple[str, Callable[[RunStore, RunRecord, Evaluator], tuple[bool, str]]]] = {
    "estimate": ("the figure", _share),
    "count": ("the figure", _count),
    "certify": ("the proved shares", _shares),
    "rules": ("all rule sets", _all_rules),
    "figures": ("the figures", _figures),
    "proxies": ("all proxies", _proxies),
}
"""The look that a kind of run has of its own, by its name."""
_LOOKED_AT_ELSEWHERE = ("search", "retrain")
"""Kinds whose pairs, and whose models, have commands of their own that look at them."""
