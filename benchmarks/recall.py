"""What a search misses: the share of a planted truth's discriminatory leaves that each technique reaches.

``python -m benchmarks.recall`` with ``EVENHAND_SHARED`` set writes ``benchmarks/recall.md``. A leaf is a set of
individuals whom the planted rule cannot tell apart; it is reached when somebody of it is found. ClearBias measures
searches so, by a planted truth of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import evenhand
from benchmarks.people import raw_adult
from benchmarks.table import FOLDER, keep, markdown
from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column
from fairness_engine.errors import EvenhandError
from fairness_engine.events import PairsFound
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import settings_of

BUDGETS = (10_000, 100_000, 1_000_000)
MAX_SECONDS = 20.0
_MAX_LEAVES = 3_000_000
_N_ALIKE = 100
"""Finds whose leaves are counted as a measure of how varied they are."""
_SAMPLES = (
    ("census_income", "census_income_planted.keras", "sex"),
    ("credit", "credit_planted.onnx", "age"),
    ("marketing", "marketing_planted.onnx", "age"),
    ("recidivism", "recidivism_planted.skops", "race"),
)
_DEPTH = 11
_LEAST_ROWS = 12
_SHARE_PLANTED = 0.12
"""Of the leaves of the planted tree on Adult."""


@dataclass(frozen=True)
class Planted:
    """A model whose discriminatory leaves are known.

    Args:
        title: for the heading.
        model, domain, rows: as the engine opens them.
        leaf_of: a number for the leaf of each row ``(n_rows,)``.
        leaves: those in which the decision depends on a protected value ``(n_leaves,)``.
    """

    title: str
    model: Model
    domain: Domain
    rows: FloatArray
    leaf_of: Callable[[FloatArray], IntArray]
    leaves: IntArray


# --- the samples' own rules ---------------------------------------------------------------------


def sample(data: str, model: str, protected: str) -> Planted:
    """One of the project's samples: its rule adds points by bands of every column, so that a leaf is a band of each."""
    folder = FOLDER.parent / "sample_data"
    read = evenhand.read_data(folder / f"{data}.csv", schema=folder / f"{data}.schema.json")
    review = evenhand.Review(read, str(FOLDER.parent / "sample_models" / model), protected=protected)
    opened = review._session
    domain = opened.domain
    truth = json.loads((folder / f"{data}.truth.json").read_text(encoding="utf-8"))
    bands = [_bands(domain.schema.inputs[i], truth) for i in domain.free.tolist()]
    n_leaves = int(np.prod([len(starts) for starts in bands], dtype=float))
    if n_leaves > _MAX_LEAVES:
        raise SystemExit(f"{data} has {n_leaves:,} leaves.")
    rows = np.tile(domain.low, (n_leaves, 1))
    rows[:, domain.free] = np.array(list(itertools.product(*bands)))
    is_planted = np.zeros(n_leaves, dtype=bool)
    for start in range(0, n_leaves, 20_000):
        part = slice(start, start + 20_000)
        variants = domain.variants(rows[part])
        decided = opened.model.decide(opened.model.scores(variants.reshape(-1, domain.n_columns)))
        by_row = decided.reshape(len(variants), -1)
        is_planted[part] = by_row.min(axis=1) != by_row.max(axis=1)
    sizes = [len(starts) for starts in bands]

    def leaf_of(people: FloatArray) -> IntArray:
        places = [
            np.searchsorted(starts, people[:, i] + 1e-9, side="right") - 1
            for starts, i in zip(bands, domain.free.tolist(), strict=True)
        ]
        return np.ravel_multi_index(tuple(places), sizes).astype(np.int64)

    title = f"{data.replace('_', ' ').capitalize()}, its planted rule, {protected}"
    return Planted(title, opened.model, domain, opened.dataset.rows, leaf_of, np.flatnonzero(is_planted))


def _bands(column: Column, truth: dict[str, object]) -> FloatArray:
    """The smallest value of each band of a column that the rule knows."""
    points = dict(truth["decision_rule"])["points"].get(column.name, {})
    if column.codes:
        return np.arange(len(column.codes), dtype=float) if points or _is_cut(column.name, truth) else np.zeros(1)
    starts = {column.low, *(float(start) for start in points if float(start) > column.low)}
    for planted in truth["planted"]:
        where = planted["where"].get(column.name)
        if where:
            starts |= {float(where[0]), float(where[1]) + (column.step or 1.0)}
    return np.array(sorted(start for start in starts if column.low <= start <= column.high))


def _is_cut(name: str, truth: dict[str, object]) -> bool:
    return any(name in planted["where"] for planted in truth["planted"])


# --- a planted tree on Adult --------------------------------------------------------------------


@dataclass
class _Tree:
    """A tree of random questions, and in which of its leaves sex decides."""

    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    is_equal: list[bool] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)

    def leaf_of(self, rows: FloatArray) -> IntArray:
        """The number of each row's leaf."""
        at = np.zeros(len(rows), dtype=np.int64)
        column = np.array(self.column)
        value = np.array(self.value)
        is_equal = np.array(self.is_equal)
        children = np.array(self.children)
        lines = np.arange(len(rows))
        for _ in range(_DEPTH + 1):
            going = children[at, 0] >= 0
            own = rows[lines, np.maximum(column[at], 0)]
            says = np.where(is_equal[at], own == value[at], own <= value[at])
            at = np.where(going, np.where(says, children[at, 0], children[at, 1]), at)
        return at


def _grow(rows: FloatArray, free: IntArray, is_category: BoolArray, rng: np.random.Generator) -> _Tree:
    """Questions that people of the data answer both ways, down to few of them."""
    tree = _Tree()

    def node(inside: FloatArray, depth: int) -> int:
        at = len(tree.column)
        tree.column.append(-1)
        tree.value.append(0.0)
        tree.is_equal.append(False)
        tree.children.append((-1, -1))
        for _ in range(8 if depth < _DEPTH else 0):
            column = int(rng.choice(free))
            value = float(rng.choice(inside[:, column]))
            is_equal = bool(is_category[column])
            says = inside[:, column] == value if is_equal else inside[:, column] <= value
            if min(says.sum(), (~says).sum()) >= _LEAST_ROWS:
                tree.column[at] = column
                tree.value[at] = value
                tree.is_equal[at] = is_equal
                tree.children[at] = (node(inside[says], depth + 1), node(inside[~says], depth + 1))
                break
        return at

    node(rows, 0)
    return tree


class _PlantedTree:
    """Decides by the leaf; in some leaves for one sex only. A slight slope in every column moves scores, and no
    decision.
    """

    kind = "planted tree"
    n_inputs: int | None = None
    n_scores = 1

    def __init__(self, tree: _Tree, sex: int, span: FloatArray, rng: np.random.Generator) -> None:
        from fairness_engine.models.model import Output

        self.output = Output.PROBABILITY
        self._tree = tree
        self._sex = sex
        self._slope = rng.normal(size=len(span)) * 0.01 / np.maximum(span, 1.0)
        is_leaf = np.array([children[0] < 0 for children in tree.children])
        self.is_planted = is_leaf & (rng.random(len(is_leaf)) < _SHARE_PLANTED)
        self._base = np.where(rng.random(len(is_leaf)) < 0.5, 0.35, 0.65)

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Scores ``(n_rows, 1)``."""
        leaf = self._tree.leaf_of(inputs)
        by_sex = np.where(inputs[:, self._sex] > 0, 0.56, 0.44)
        slope = np.clip(inputs @ self._slope, -0.04, 0.04)
        return (np.where(self.is_planted[leaf], by_sex, self._base[leaf]) + slope)[:, None]

    def margins(self, inputs: FloatArray, threshold: float) -> FloatArray:
        """See ``Predictor``."""
        return self.predict(inputs) - threshold


def planted_adult() -> Planted:
    """Raw Adult with a planted tree over everything but sex."""
    from fairness_engine.models.encoders.encoders import CodesEncoder
    from fairness_engine.oracle.domain import Scope

    data = evenhand.read_data(raw_adult(), label="income", favourable=">50K")
    opened = evenhand.Review(data, protected="sex")._session
    schema = opened.dataset.schema.with_protected(("sex",))
    domain = Domain(schema, Scope(("sex",)))
    rng = np.random.default_rng(7)
    is_category = np.array([bool(column.codes) for column in schema.inputs])
    tree = _grow(opened.dataset.rows, domain.free, is_category, rng)
    predictor = _PlantedTree(tree, int(domain.protected[0]), domain.high - domain.low, rng)

    class Rows(CodesEncoder):
        """Rows as they are."""

        def encode(self, rows: FloatArray) -> FloatArray:
            return rows

    model = Model(predictor, Rows(schema))
    leaves = np.flatnonzero(predictor.is_planted)
    return Planted("Raw Adult, a planted tree, sex", model, domain, opened.dataset.rows, tree.leaf_of, leaves)


# --- reaching leaves ----------------------------------------------------------------------------


def reached(planted: Planted, name: str, known: Plausibility | None, n_rows: int) -> tuple[int, float | None]:
    """How many of the leaves a technique reaches, and how many of them 100 of its finds lie in."""
    kind = TECHNIQUES[name]
    technique = kind() if known is None else kind(only_plausible=True)
    kind.warm_up()
    leaves: list[IntArray] = []
    budget = Budget(n_rows, MAX_SECONDS)
    for event in run_search(technique, planted.model, planted.domain, planted.rows, budget, 0, nearness=known):
        if isinstance(event, PairsFound):
            leaves.append(planted.leaf_of(event.pairs.first))
    found = np.concatenate(leaves) if leaves else np.empty(0, dtype=np.int64)
    wrong = np.setdiff1d(found, planted.leaves)
    if len(wrong):
        raise SystemExit(f"{name} found somebody of {planted.title} in a leaf that is not planted.")
    rng = np.random.default_rng(0)
    drawn = [len(np.unique(rng.choice(found, _N_ALIKE, replace=False))) for _ in range(20)] if len(found) > 100 else []
    return len(np.unique(found)), float(np.mean(drawn)) if drawn else None


def _of(part: int, n: int) -> str:
    return f"{part:,} ({100 * part / max(1, n):.1f} %)"


def _have_plausible_pair(planted: Planted, known: Plausibility) -> BoolArray:
    """Which people of the data have two plausible variants with different decisions ``(n_rows,)``."""
    variants = planted.domain.variants(planted.rows)
    decided = planted.model.decide(planted.model.scores(variants.reshape(-1, planted.domain.n_columns)))
    decided = decided.reshape(variants.shape[:2])
    near = known.plausible_variants(planted.rows)
    lowest = np.where(near, decided, np.iinfo(decided.dtype).max).min(axis=1)
    highest = np.where(near, decided, -1).max(axis=1)
    return lowest < highest


def part(planted: Planted, techniques: Sequence[str]) -> str:
    """The section of one planted truth."""
    known = Plausibility.learn(planted.rows, planted.domain, np.random.default_rng(0))
    of_data = np.intersect1d(planted.leaf_of(planted.rows), planted.leaves)
    of_pairs = np.unique(planted.leaf_of(planted.rows[_have_plausible_pair(planted, known)]))
    lines = []
    for name in techniques:
        able = "only_plausible" in {info.name for info in settings_of(TECHNIQUES[name])}
        for is_near in (False, True) if able else (False,):
            title = TECHNIQUES[name].title + (", only plausible" if is_near else "")
            try:
                found = [reached(planted, name, known if is_near else None, n_rows) for n_rows in BUDGETS]
            except EvenhandError:
                continue
            varied = next((each for _, each in found[1:] if each is not None), None)
            shares = [f"{100 * n / max(1, len(planted.leaves)):.1f} %" for n, _ in found]
            lines.append([title, *shares, "–" if varied is None else f"{varied:.1f}"])
            print(planted.title, lines[-1], flush=True)
    header = ("technique", *(f"{n_rows:,} rows" for n_rows in BUDGETS), f"leaves of {_N_ALIKE} finds")
    n = len(planted.leaves)
    said = (
        f"{n:,} leaves in which the decision depends on the protected attribute; people of the data lie in "
        f"{_of(len(of_data), n)} of them, those who make a pair of two plausible people in {_of(len(of_pairs), n)}."
    )
    return f"## {planted.title}\n\n{said}\n\n{markdown(header, lines)}"


def main() -> None:
    """All planted truths; the table is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--techniques", nargs="+", choices=tuple(TECHNIQUES), default=tuple(TECHNIQUES))
    options = parser.parse_args()
    note = (
        f"Share of the planted leaves in which a technique finds somebody, after so many rows evaluated or "
        f"{MAX_SECONDS:g} s, seed 0, settings as they come; a data scan ends with the data. A leaf is what the planted "
        "rule cannot tell apart. *Leaves of 100 finds*: how many different ones 100 finds lie in, drawn evenly of the "
        "run of 100,000 rows."
    )
    parts = [
        note,
        *(part(sample(*one), options.techniques) for one in _SAMPLES),
        part(planted_adult(), options.techniques),
    ]
    if options.techniques == tuple(TECHNIQUES):
        keep("recall", "What a search misses", parts)
    else:
        print("\n\n".join(parts))


if __name__ == "__main__":
    main()
