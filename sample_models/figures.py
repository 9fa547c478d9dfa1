"""What is measured on the sample models, and the table that shows it in ``docs/sample-data.md``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.oracle.domain import Domain, Scope
from sample_data.causal import comments
from sample_data.causal.model import CausalModel
from sample_data.make import TABLES, class_one

MAX_INDIVIDUALS = 20_000
MAX_ROWS = 2_000_000
SEED = 20240402
SHARE_MARKERS = ("<!-- shares: written by sample_models/make.py -->", "<!-- end of shares -->")
MARKERS = ("<!-- figures: written by sample_models/make.py -->", "<!-- end of figures -->")

Decide = Callable[[FloatArray], IntArray]


def measure(table: CausalModel, decide: Decide, protected: tuple[str, ...], max_rows: int = MAX_ROWS) -> dict[str, Any]:
    """Accuracy on the held-out quarter, and sampled shares of discriminatory individuals.

    Args:
        table: what the model was trained on.
        decide: classes of rows of the engine.
        protected: names of the protected attributes.
        max_rows: how many rows the model may decide for the uniform share.

    Returns:
        ``accuracy`` and ``majority_share`` of the last quarter of the rows; ``uniform_share`` of ``n_individuals``
        uniform ones, and ``data_share`` of the held-out rows, for the recommended ``protected`` attributes.
    """
    rows, labels = table.sample()
    held_out = slice(len(rows) * 3 // 4, None)
    domain = Domain(table.rule.schema, Scope(protected))
    n = min(MAX_INDIVIDUALS, max_rows // domain.n_variants)
    drawn = domain.sample(n, np.random.Generator(np.random.PCG64(SEED)))
    truth = labels[held_out]
    return {
        "protected": list(protected),
        "accuracy": round(float((decide(rows[held_out]) == truth).mean()), 4),
        "majority_share": round(float(max(truth.mean(), 1 - truth.mean())), 4),
        "n_individuals": n,
        "uniform_share": round(share(domain, decide, drawn), 4),
        "data_share": round(share(domain, decide, rows[held_out]), 4),
    }


def lesson(table: CausalModel, decide: Decide, protected: tuple[str, ...]) -> dict[str, Any]:
    """What a class is asked to guess, counted on all rows of the data.

    Returns:
        ``n_rows``; for how many of them the decision changes with the ``protected`` attributes alone (``n_changed``);
        of each group of the table its size, and how many of it get the favourable outcome (``groups``).
    """
    rows, _ = table.sample()
    domain = Domain(table.rule.schema, Scope(protected))
    favourable = (decide(rows) == 1) == (class_one(table.rule.schema) == table.rule.schema.favourable)
    inside = [group.holds(table.rule, rows) for group in table.groups]
    return {
        "n_rows": len(rows),
        "n_changed": round(share(domain, decide, rows) * len(rows)),
        "groups": [[int(mask.sum()), int(favourable[mask].sum())] for mask in inside],
    }


def individuals(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Of what was measured, the share of all individuals of whom the decision changes, for the same catalogue."""
    return {"uniform_share": figure["uniform_share"]}


def lesson_of_comments(decide: Callable[[list[str]], IntArray]) -> dict[str, Any]:
    """The same of comments; changed are those of a term of religion or sexuality, by another of these terms."""
    texts = [text for text, _ in comments.sample()[0]]
    kept = decide(texts) == 0
    words = [set(text.split()) for text in texts]
    inside = [np.array([not words_of.isdisjoint(terms) for words_of in words]) for terms in comments.GROUPS.values()]
    terms = (*comments.TERMS["religion"], *comments.TERMS["sexuality"])
    named = [
        (text, next((term for term in terms if term in found), "")) for text, found in zip(texts, words, strict=True)
    ]
    other = np.array(
        [
            decide([text.replace(named_term, term) if named_term else text for text, named_term in named])
            for term in terms
        ]
    )
    return {
        "n_rows": len(texts),
        "n_changed": int((other.min(axis=0) != other.max(axis=0)).sum()),
        "groups": [[int(mask.sum()), int(kept[mask].sum())] for mask in inside],
    }


def share(domain: Domain, decide: Decide, rows: FloatArray) -> float:
    """Share of rows whose variants do not all get the same decision."""
    decisions = decide(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(-1, domain.n_variants)
    return float((decisions.min(axis=1) != decisions.max(axis=1)).mean())


def measure_comments(decide: Callable[[list[str]], IntArray]) -> dict[str, Any]:
    """Accuracy on the held-out quarter, and the share of comments that change when a term of religion or
    sexuality is exchanged, over every comment of the templates."""
    cells, labels = comments.sample()
    held_out = slice(len(cells) * 3 // 4, None)
    truth = labels[held_out]
    decided = decide([text for text, _ in cells[held_out]])
    every = list(comments.every_comment())
    terms = (*comments.TERMS["religion"], *comments.TERMS["sexuality"])
    decisions = np.array([decide([comment.text(term) for comment in every]) for term in terms])
    return {
        "protected": ["terms of religion and sexuality"],
        "accuracy": round(float((decided == truth).mean()), 4),
        "majority_share": round(float(max(truth.mean(), 1 - truth.mean())), 4),
        "n_individuals": len(every),
        "uniform_share": round(float((decisions.min(axis=0) != decisions.max(axis=0)).mean()), 4),
        "data_share": None,
    }


def write_figures(figures: list[dict[str, Any]], page: Path) -> None:
    """Renew the two tables between the markers of a page."""
    text = page.read_text(encoding="utf-8")
    text = between(text, SHARE_MARKERS, shares_table())
    page.write_text(between(text, MARKERS, figures_table(figures)), encoding="utf-8")


def between(text: str, markers: tuple[str, str], lines: str) -> str:
    """The text with new lines between two markers."""
    before, rest = text.split(markers[0])
    return f"{before}{markers[0]}\n{lines}\n{markers[1]}{rest.split(markers[1])[1]}"


def shares_table() -> str:
    """The exact shares under the planted rules as a table in Markdown."""
    lines = ["| data set | protected | individuals | discriminatory | share |", "| --- | --- | --- | --- | --- |"]
    for table in TABLES:
        for protected in table.protected_sets:
            found, n = table.rule.count(protected)
            lines.append(f"| `{table.name}` | {', '.join(protected)} | {n:,} | {found:,} | {found / n:.2%} |")
    for kind in comments.TERMS:
        found, n = comments.count(kind)
        lines.append(f"| `comments` | terms of {kind} | {n:,} | {found:,} | {found / n:.2%} |")
    return "\n".join(lines)


def figures_table(figures: list[dict[str, Any]]) -> str:
    """The figures as a table in Markdown."""
    lines = [
        "| model | accuracy (majority) | protected | discriminatory, uniform | discriminatory, held-out rows |",
        "| --- | --- | --- | --- | --- |",
    ]
    for entry in figures:
        among_data = "" if entry["data_share"] is None else f"{entry['data_share']:.1%}"
        lines.append(
            f"| `{entry['model']}` | {entry['accuracy']:.1%} ({entry['majority_share']:.1%}) | "
            f"{', '.join(entry['protected'])} | {entry['uniform_share']:.1%} | {among_data} |"
        )
    return "\n".join(lines)
