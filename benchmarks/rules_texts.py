"""Rule sets of texts: identity terms swapped in a CNN-LSTM and in a linear model, beside the paper's Tables 4 and 5."""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.rules_cases import ERROR, Outcome, outcome_of
from benchmarks.rules_data import TEXTS, TextSource
from benchmarks.rules_models import KIND_WORDS, text_model
from benchmarks.rules_paper import PAPER, shares
from benchmarks.table import markdown
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.data.texts import Texts, make_texts
from fairness_engine.groups.identity_terms.driver import AssessedTexts, run_text_rules
from fairness_engine.groups.rule_sets.phrases import group_text, interval_text, share_text
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.open_text import open_text_model
from fairness_engine.models.text_model import TextModel

N_TOP = 3
RATIO_BAR = 1000.0
_RATE_TEXTS = 20_000


def texts_part(repeats: int) -> str:
    """Seconds and the highest rule sets of each data set and model."""
    speed = []
    groups = []
    for name, source in TEXTS.items():
        texts = _read(source)
        for kind in KIND_WORDS:
            model = _open(source, texts, kind)
            run, seconds = _run(source, texts, model, repeats)
            speed.append(_speed_row(source, kind, texts, model, run, seconds))
            groups += [_group_row(name, source, kind, run, rank) for rank in range(N_TOP)]
            print(speed[-1], flush=True)
    header = (
        *(
            "data",
            "model",
            "texts",
            "support",
            "rule sets",
            "largest error",
            "texts decided",
            "s",
            "s by the model alone",
        ),
        *("ms a rule set", "paper: data", "rule sets", "s", "ms a rule set", "times sooner a rule set"),
    )
    group_header = (
        *("data", "model", "", "rule set", "favourable with the terms, with others", "score"),
        *("paper: rule set", "with, others", "score"),
    )
    return "\n\n".join(["## Texts", markdown(header, speed), markdown(group_header, groups), _NOTE])


def _schema(source: TextSource) -> Schema:
    """The column of texts and the label, as the engine takes them."""
    outcomes = source.outcomes
    columns = (
        Column(source.text, Kind.TEXT),
        Column(source.label, Kind.CATEGORICAL, codes=outcomes, labels=outcomes),
    )
    return Schema(columns, label=source.label, favourable=source.favourable)


def _read(source: TextSource) -> Texts:
    return make_texts(read_table(source.folder / "data.csv", name=f"{source.name}.csv"), _schema(source), source.text)


def _open(source: TextSource, texts: Texts, kind: str) -> TextModel:
    return open_text_model(
        text_model(source, kind).path,
        _schema(source),
        classes=texts.classes or None,
        favourable=int(texts.favourable_class or 0),
    )


def _run(source: TextSource, texts: Texts, model: TextModel, repeats: int) -> tuple[Outcome, float]:
    """The first run, and the median of the seconds of all; nothing is kept from one run for the next."""
    settings = RuleSettings(support=source.support, error=ERROR, text_column=source.text)
    runs = [outcome_of(run_text_rules(AssessedTexts(texts.texts, model), settings, seed)) for seed in range(repeats)]
    return runs[0], statistics.median(run.seconds for run in runs)


def _bare_rate(model: TextModel, texts: Texts) -> float:
    """Texts per second that the model decides at all, in one large call: the best of two."""
    order = np.random.default_rng(0).permutation(len(texts.texts))[:_RATE_TEXTS]
    some = [texts.texts[i] for i in order]
    model.is_favourable(some[:1000])
    best = 0.0
    for _ in range(2):
        started = time.perf_counter()
        model.is_favourable(some)
        best = max(best, len(some) / (time.perf_counter() - started))
    return best


def _speed_row(
    source: TextSource, kind: str, texts: Texts, model: TextModel, run: Outcome, seconds: float
) -> tuple[str, ...]:
    paper = PAPER[source.name]
    scored = run.result.scored
    each = seconds / len(scored)
    its_each = paper.seconds / paper.n_rule_sets
    largest = float(scored.error.max())
    ratio = its_each / each
    return (
        source.title,
        KIND_WORDS[kind],
        f"{len(texts.texts):,}",
        f"{100 * source.support:g} %",
        f"{len(scored):,}",
        f"{'✓' if largest <= ERROR else '✗'} {largest:.3f}",
        f"{run.evaluations:,}",
        f"{seconds:.2f}",
        f"{run.evaluations / _bare_rate(model, texts):.2f}",
        f"{1000 * each:.2f}",
        source.paper,
        f"{paper.n_rule_sets:,}",
        f"{paper.seconds:,.0f}",
        f"{1000 * its_each:,.0f}",
        f"{'✓' if ratio >= RATIO_BAR else '✗'} **{ratio:,.0f} x** (bar {RATIO_BAR:,.0f})",
    )


def _group_row(name: str, source: TextSource, kind: str, run: Outcome, rank: int) -> tuple[str, ...]:
    shown = run.shown()
    scored = run.result.scored
    ours = ("no term changes a share" if rank == 0 else "", "", "")
    if len(shown) > rank and scored.score[shown[rank]] > 0:
        position = shown[rank]
        pair = f"{share_text(float(scored.inside[position]))}, {share_text(float(scored.outside[position]))}"
        ours = (group_text(run.result, position), pair, f"**{interval_text(run.result, position)}**")
    inside, outside = shares(PAPER[name], rank)
    its = (PAPER[name].top[rank].words, f"{inside:.1f} %, {outside:.1f} %", f"{abs(inside - outside):.1f} points")
    head = (source.title, KIND_WORDS[kind]) if rank == 0 else ("", "")
    return (*head, f"{rank + 1}", *ours, *its)


_NOTE = (
    "*Texts decided*: different ones; a text that comes up again is not decided again. *S by the model alone*: these "
    "at the rate of one large call. The paper's shares of toxic texts are turned into those of texts that are not. "
    "The madlibs are templates (*Jim is a moronic chinese*): most hold one term, none holds terms of two categories, "
    "so there are no rule sets of two terms as the paper has. Models of them are trained on 120 texts, which makes "
    "them as often right as the paper's; with 1,000 they learn the adjectives by heart and no term matters. Of 1,000 "
    "sentences about films, 37 hold a term: at the paper's 5 % no category is left; at 1 % race (black, white, ...) "
    "and age (old, young, ...) are, 20 and 12 sentences, so a share there moves in steps of five points and more."
)
