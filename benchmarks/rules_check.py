"""Algorithm 2 word for word beside the engine: how long it takes here and now, and whether the scores agree."""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.rules_cases import ERROR, Case, Outcome, case_of, met, repeated
from benchmarks.rules_data import TABLES
from benchmarks.rules_literal import Literal, LiteralScore, is_inside, keras_network, own_network
from benchmarks.rules_paper import PAPER
from benchmarks.table import markdown
from fairness_engine.groups.rule_sets.result import Stage
from fairness_engine.groups.rule_sets.sampling import Decider, Sampler


def literal_part(n_rule_sets: int) -> str:
    """Algorithm 2 one rule set and one row at a time, here and now: how long it takes, and whether the scores agree."""
    rows = []
    checks = []
    for name in TABLES:
        case = case_of(name)
        sampled, seconds = repeated(case, 3, error=ERROR)
        exact = case.run(case.settings(error=0.0))
        literal = Literal(
            case.dataset.schema, case.source.protected, case.dataset.rows, own_network(case.path, case.favourable)
        )
        chosen, scores = _literal_scores(literal, sampled, n_rule_sets)
        rows.append(_literal_row(case, sampled, seconds, chosen, scores))
        checks.append(_check_row(case, sampled, exact, chosen, scores))
        print(rows[-1], checks[-1], flush=True)
    header = (
        *("data", "paper, ms a rule set", "word for word, Keras", "word for word, NumPy", "samples a side"),
        *("a rule set at a time, 1,000 rows at once", "engine", "times sooner than that", "than NumPy", "than Keras"),
    )
    check = (
        *("data", "rule sets word for word", "intervals that meet the engine's", "that hold the exact score"),
        *("rule sets sampled", "intervals that hold the exact score", "largest difference of a score"),
    )
    return "\n\n".join(
        [
            *("## Beside Algorithm 2 word for word", markdown(header, rows), _LITERAL_NOTE.format(n=n_rule_sets)),
            *(markdown(check, checks), _CHECK_NOTE),
        ]
    )


def _literal_scores(literal: Literal, run: Outcome, n: int) -> tuple[list[int], list[LiteralScore]]:
    """Rule sets drawn evenly over the ranks, and the scores that Algorithm 2 finds for them."""
    n_all = len(run.result.scored)
    chosen = sorted(set(np.linspace(0, n_all - 1, min(n, n_all)).round().astype(int).tolist()))
    rng = np.random.default_rng(1)
    return chosen, [literal.score(run.result.rule_set_json(i)["rules"], rng) for i in chosen]


def _in_batches(case: Case, run: Outcome, chosen: list[int]) -> float:
    """Seconds a rule set, each with samples of its own, but all of a side at once, and only the least number of
    them.
    """
    sampler = Sampler(case.ranges, case.dataset.rows, Decider(case.model))
    rng = np.random.default_rng(3)
    n = case.settings().least_samples
    for _ in range(3):
        sampler.draw(n, rng)  # the decider finds its block size
    started = time.perf_counter()
    for position in chosen:
        inside = is_inside(case.dataset.schema, case.dataset.rows, run.result.rule_set_json(position)["rules"])
        for side in (inside, ~inside):
            sampler.draw(n, rng, np.flatnonzero(side))
    return (time.perf_counter() - started) / len(chosen)


def _literal_row(
    case: Case, run: Outcome, seconds: float, chosen: list[int], scores: list[LiteralScore]
) -> tuple[str, ...]:
    name = case.source.name
    each_batch = _in_batches(case, run, chosen)
    by_keras = Literal(
        case.dataset.schema, case.source.protected, case.dataset.rows, keras_network(case.path, case.favourable)
    )
    first = run.result.rule_set_json(0)["rules"]
    by_keras.score(first, np.random.default_rng(2), least=10, error=1.0)  # makes the graph
    kept = by_keras.score(first, np.random.default_rng(2))
    each_keras = kept.seconds / kept.n * statistics.mean(score.n for score in scores)
    each = seconds / len(run.result.scored)
    each_numpy = statistics.mean(score.seconds for score in scores)
    its_each = PAPER[name].seconds / PAPER[name].n_rule_sets
    return (
        case.source.title,
        f"{1000 * its_each:,.0f}",
        f"{1000 * each_keras:,.0f}",
        f"{1000 * each_numpy:.1f}",
        f"{statistics.mean(score.n for score in scores):,.0f}",
        f"{1000 * each_batch:.2f}",
        f"{1000 * each:.4f}",
        f"**{each_batch / each:,.0f} x**",
        f"**{each_numpy / each:,.0f} x**",
        f"**{each_keras / each:,.0f} x**",
    )


def _check_row(
    case: Case, sampled: Outcome, exact: Outcome, chosen: list[int], scores: list[LiteralScore]
) -> tuple[str, ...]:
    ours = sampled.result.scored
    truth = _by_rules(exact)
    held = [truth[line.tobytes()] for line in ours.rules]
    n_inside = sum(
        low - 1e-12 <= score <= high + 1e-12 for low, high, score in zip(ours.low, ours.high, held, strict=True)
    )
    intervals = [score.interval(len(ours)) for score in scores]
    n_meet = sum(low <= ours.high[i] and high >= ours.low[i] for i, (low, high) in zip(chosen, intervals, strict=True))
    n_right = sum(low <= held[i] <= high for i, (low, high) in zip(chosen, intervals, strict=True))
    difference = max(abs(score - ours.score[i]) for i, score in enumerate(held))
    return (
        case.source.title,
        f"{len(chosen)}",
        f"{met(n_meet == len(chosen))} {n_meet} of {len(chosen)}",
        f"{met(n_right == len(chosen))} {n_right} of {len(chosen)}",
        f"{len(ours):,}" + (" (all of them exact)" if (ours.stage == Stage.EXACT).all() else ""),
        f"{met(n_inside == len(ours))} {n_inside:,} of {len(ours):,}",
        f"{100 * difference:.2f} points",
    )


def _by_rules(run: Outcome) -> dict[bytes, float]:
    """The score of every rule set."""
    scored = run.result.scored
    return {line.tobytes(): float(score) for line, score in zip(scored.rules, scored.score, strict=True)}


_LITERAL_NOTE = (
    "{n} rule sets a table, drawn evenly over the ranks (all where there are fewer): each gets samples of its own, "
    "a row at a time, until 1,000 are there on each side and the error is at most 0.05. It shares no code with the "
    "engine. *Keras*: one rule set, each row a call of a compiled graph, scaled to the same samples. *1,000 rows at "
    "once*: the best that can be done without one pool for all rule sets, the engine's own sampling; it leaves out "
    "the check of the error. *Engine*: a whole run by its number of rule sets."
)
_CHECK_NOTE = (
    "Intervals hold jointly over all rule sets of a table at 95 %, the literal algorithm's as the engine's. *Exact*: "
    "the run that evaluates "
    "every neighbour of every row. *Largest difference*: of a sampled score from the exact one, over all rule sets."
)
