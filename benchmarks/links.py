"""Linked attributes on raw Adult: what a link changes, and the proofs through it under attack.

``python -m benchmarks.links`` with ``EVENHAND_SHARED`` set writes ``benchmarks/links.md``. The attack shares nothing
with the engine but the boxes: people are drawn in them, spelled out as a woman and as a man by hand, and decided by the
library's own pipeline.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import evenhand
from benchmarks.people import LAST, raw_adult, raw_adult_pipeline
from benchmarks.table import keep, markdown
from fairness_engine.arrays import FloatArray, IntArray

_LINK = "sex:relationship=Wife/Husband"
_ROLES = {"Wife/Husband": ("Wife", "Husband"), "Husband/Wife": ("Husband", "Wife")}
"""How a woman and a man are called who have a role, by hand; anything else is called the same."""
N_PEOPLE = 10_000_000
_BLOCK = 250_000
_SECONDS = 60.0
_FALSE_ALARM = 1e-9
_MODELS = {
    "one-hot pipeline": LAST["one-hot"],
    "forest": LAST["forest"],
    "decision tree": lambda: DecisionTreeClassifier(max_depth=12, min_samples_leaf=20, random_state=1),
    "network": lambda: MLPClassifier((12, 8), max_iter=40, random_state=1),
}


def scanned(name: str, estimator: Any, people: pd.DataFrame) -> list[list[str]]:
    """What the data scan finds, without the link and with it."""
    rows = []
    data = evenhand.read_data(people, label="income", favourable=">50K")
    for title, links in (("no link", ()), (_LINK, _LINK)):
        found = evenhand.Review(data, estimator, protected="sex", links=links).search("data-scan")
        n = found.n_plausible or 0
        shares = [
            f"{100 * part / max(1, whole):.1f} %"
            for part, whole in ((found.n_found, found.n_tried), (n, found.n_found))
        ]
        rows.append([name, title, f"{found.n_tried:,}", f"{found.n_found:,}", shares[0], f"{n:,}", shares[1]])
    return rows


def attacked(name: str, estimator: Any, people: pd.DataFrame, n_people: int) -> list[str]:
    """What is proved with the link, and what ``n_people`` say of it."""
    data = evenhand.read_data(people, label="income", favourable=">50K")
    review = evenhand.Review(data, estimator, protected="sex", links=_LINK)
    proof = review.certify(max_seconds=_SECONDS)
    tree, columns = proof._tree or (None, ())
    assert tree is not None, "certified box by box"
    leaves = np.flatnonzero(tree.is_leaf)
    low, high = (ends[leaves] for ends in tree.boxes())
    weight, certified, falsified = (getattr(tree, each)[leaves] for each in ("weight", "certified", "falsified"))
    is_fair = np.isclose(certified, weight, rtol=1e-12, atol=0)
    is_unfair = np.isclose(falsified, weight, rtol=1e-12, atol=0)
    taken = [column for column in people.columns if column != "income"]
    rng = np.random.default_rng(0)
    n_contradictions = n_alike = n_uniform = n_whole = 0
    for start in range(0, n_people, _BLOCK):
        n = min(_BLOCK, n_people - start)
        is_even = bool(start // _BLOCK % 2)  # of the blocks, every other is drawn from all people alike
        odds = weight / weight.sum() if is_even else np.full(len(leaves), 1 / len(leaves))
        which = rng.choice(len(leaves), size=n, p=odds)
        digits = rng.integers(low[which], high[which] + 1)
        frame = in_words(columns, digits, rng)
        decided = []
        for who, sex in enumerate(("Female", "Male")):
            called = frame.relationship.replace({role: ways[who] for role, ways in _ROLES.items()})
            assert called.isin(people.relationship.unique()).all(), "somebody whom the pipeline does not know"
            decided.append(estimator.predict(frame.assign(sex=sex, relationship=called)[taken]))
        alike = decided[0] == decided[1]
        n_contradictions += int((is_fair[which] & ~alike).sum() + (is_unfair[which] & alike).sum())
        n_whole += int((is_fair | is_unfair)[which].sum())
        if is_even:
            n_alike += int(alike.sum())
            n_uniform += n
    share = binomtest(n_alike, n_uniform).proportion_ci(1 - _FALSE_ALARM, method="exact")
    holds = proof.certified <= share.high and 1 - proof.falsified >= share.low
    line = [
        name,
        *(f"{100 * each:.4f} %" for each in (proof.certified, proof.falsified, proof.undecided)),
        f"{len(leaves):,}",
        f"{n_people:,}",
        f"{n_whole:,}",
        f"{n_contradictions:,}",
        f"{100 * n_alike / n_uniform:.4f} %",
        "yes" if holds else "NO",
    ]
    print(line, flush=True)
    return line


def in_words(columns: Sequence[Any], digits: IntArray, rng: np.random.Generator) -> pd.DataFrame:
    """People of digits ``(n, D)`` as a table, with roles as the boxes name them."""
    told: dict[str, Any] = {}
    for at, each in enumerate(columns):
        within: FloatArray = rng.random(len(digits)) if each.is_cell else np.zeros(len(digits))
        values = each.low + each.step * (digits[:, at] + within)
        labels = each.column.labels
        told[each.column.name] = np.array(labels, dtype=object)[np.rint(values).astype(int)] if labels else values
    return pd.DataFrame(told)


def main() -> None:
    """Both parts; the table is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=N_PEOPLE)
    options = parser.parse_args()
    people = raw_adult()
    fitted = {name: raw_adult_pipeline(people, make()) for name, make in _MODELS.items()}
    scans = [line for name, estimator in fitted.items() for line in scanned(name, estimator, people)]
    proofs = [attacked(name, estimator, people, options.people) for name, estimator in fitted.items()]
    found = ("model", "link", "people of the data", "treated differently", "share", "two plausible people", "of pairs")
    held = (
        "model",
        "certified",
        "falsified",
        "undecided",
        "boxes",
        "people drawn",
        "in boxes decided whole",
        "contradictions",
        "decided alike, of half of them",
        "between what is proved",
    )
    parts = [
        f"Raw Adult ({len(people):,} complete rows), by sex; link `{_LINK}`.",
        "## The data scan, with the link and without it\n\n" + markdown(found, scans),
        "## Proofs through the link under attack\n\n"
        f"At most {_SECONDS:g} s each. Half of the people are drawn box by box, half from everybody alike; each is "
        "spelled out by hand as a woman and as a man and decided by the library's own pipeline. A contradiction is "
        "somebody of a box that is certified whole whom the two decisions of differ, or of one falsified whole whom "
        f"they do not. The last column: the share decided alike, with an interval that is wrong once in 10⁹, lies "
        f"between what is certified and what is not falsified.\n\n{markdown(held, proofs)}",
    ]
    if options.people == N_PEOPLE:
        keep("links", "Linked attributes", parts)
    else:
        print("\n\n".join(parts))


if __name__ == "__main__":
    main()
