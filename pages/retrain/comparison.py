"""Several strategies of retraining side by side: one table, and accuracy against discrimination with the Pareto
front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from fairness_engine.data.table import export_text
from fairness_engine.retraining.results import GroupScore, ReferenceShares, Round
from fairness_engine.runs.kinds import RETRAIN, Results
from pages.compare import table
from pages.retrain import charts, follow_ups, live, phrases
from pages.retrain.charts import Point
from pages.retrain.phrases import SHARES, Figure, Headline, change_of, part_of
from pages.shared import exports
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.runs import certification_runs, models
from pages.shared.runs import phrases as run_words
from pages.shared.runs.results import results_now

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

ORIGINAL = "The original"
_LOOK_SECONDS = 2.0
"""How often the page looks whether the certifications are ready."""
_STYLE = """
.eh-strategies th, .eh-strategies td {padding-left: 0.26rem !important; padding-right: 0.26rem !important;}
.eh-strategies th:first-child {white-space: normal; min-width: 8.2rem;}
.eh-strategies th small {font-weight: 500; opacity: 1;}
.eh-strategies td {white-space: nowrap;}
.eh-strategies .eh-rejected {color: light-dark(#5A6069, #A7ADB5); font-style: italic;}
.eh-strategies .eh-rejected small {opacity: 1;}
@media (max-width: 1150px) {
  .eh-strategies th, .eh-strategies td {padding-left: 0.15rem !important; padding-right: 0.15rem !important;}
  .eh-strategies :is(thead, th, .eh-rejected) small {white-space: normal;}
}
"""
_HEADS = (
    ("Accuracy", "held-out rows", "Decisions that equal the recorded outcome, on the held-out rows."),
    ("All individuals", "discriminatory", "Discriminatory share of individuals drawn uniformly from the domain."),
    (
        "Held-out people",
        "discriminatory",
        "Discriminatory share of the people of the data that nothing was learned from.",
    ),
    (
        "Worst rule set",
        "of the original, points",
        "Score of the worst rule set of the original, in either model: the difference of favourable shares. Another "
        "may be the worst of the new model.",
    ),
    (
        "Certified",
        "share",
        "Share of all individuals proved to be decided alike, by a certification of equal settings.",
    ),
    ("Rounds", "within", "Of the models that were trained, those that stayed within the tolerance on accuracy."),
)


@dataclass(frozen=True)
class Entry:
    """One strategy of the comparison, read once.

    Args:
        name: of the strategy.
        run, results: the retraining.
        said: its verdict.
        certified: the certified share before and after, as they are written; ``None`` where there is none (yet).
        is_certifying: a certification of it still waits or works.
    """

    name: str
    run: RunRecord
    results: Results
    said: Headline
    certified: tuple[str, str] | None
    is_certifying: bool = False

    @property
    def is_baseline(self) -> bool:
        """Whether it only stands beside the others."""
        return phrases.is_baseline(RETRAIN.settings(self.run.config).strategy)

    @property
    def is_broken(self) -> bool:
        """Whether the run ended by an error, whatever it left."""
        return self.run.state.value in ("crashed", "failed")

    def figure(self, which: str, key: str) -> Figure | None:
        """What was measured of the model ``before`` or ``after``: ``accuracy``, ``uniform`` or ``data``."""
        measured = self.results.before if which == "before" else self.results.after
        return Figure.of(part_of(measured, key))

    @property
    def n_draws(self) -> int:
        """Individuals that its models were measured on: a slow model is given fewer."""
        return self.results.before.uniform.n if self.results.before else 0


def draw(review: Review, runs: Sequence[RunRecord]) -> None:
    """Retrainings that were started together and have ended.

    Args:
        review: the open one.
        runs: one a strategy.
    """
    entries = entries_of(runs)
    st.html(f"<style>{table.STYLE}{_STYLE}</style>")
    models.say_scope(runs[0], review)
    st.markdown(wording.markdown(lead_text(entries)))
    st.html(table_html(entries))
    is_of_texts = bool(runs[0].config.text_column)
    baselines = (
        "" if is_of_texts else " Baselines are there for comparison: they aim at groups, not at pairs of people."
    )
    st.caption(
        "Below each figure its 95 % interval, and below that the change from the original, with the interval of the "
        f"same {'texts' if is_of_texts else 'people'} asked twice: it can tell a change that single intervals, which "
        "overlap, cannot. Every strategy had the same rows, seed and tolerance, and is measured on the same held-out "
        f"rows{draws_text(entries)}{baselines}{rejected_text(entries)} Choose a strategy above to see all of it, and "
        "to keep its model."
    )
    _draw_chart(entries)
    if any(entry.is_certifying for entry in entries):
        at_work = frozenset(entry.run.id for entry in entries if entry.is_certifying)
        frame.alone(_look, run_every=_LOOK_SECONDS)([entry.run.id for entry in entries], at_work)
    exports.offer_csv(
        "Save the comparison as CSV",
        lambda: comparison_csv(entries),
        f"evenhand-retraining-{runs[0].id[:8]}",
        "retrain_comparison_csv",
        run_ids=[run.id for run in runs],
    )
    for entry in entries:
        if entry.is_broken:
            st.error(wording.markdown(f"{entry.name}: {run_words.ending(entry.run)}"), icon=":material/error:")
        elif entry.results.after is None:
            st.markdown(wording.markdown(f"{entry.said.meaning.symbol} {entry.name}: {entry.said.why}"))


def _look(run_ids: Sequence[str], at_work: frozenset[str]) -> None:
    """Draw the page again once a certification has ended."""
    still = [
        run_id
        for run_id in run_ids
        if follow_ups.measured_of(results_now(run_id).measured).of_kind["certify"].is_at_work
    ]
    if at_work != frozenset(still):
        st.rerun()


def entries_of(runs: Sequence[RunRecord]) -> list[Entry]:
    """What the comparison shows of each run."""
    titles = live.titles_of(runs)
    return [_entry(run, title.removeprefix("Retraining: ")) for run, title in zip(runs, titles, strict=True)]


def _entry(run: RunRecord, name: str) -> Entry:
    store = session.store()
    results = results_now(run.id)
    version = store.version(run.id)
    measured = follow_ups.measured_of(results.measured)
    return Entry(
        name,
        run,
        results,
        phrases.headline(run, results, version),
        _certified(measured),
        measured.of_kind["certify"].is_at_work,
    )


def _certified(measured: follow_ups.AllMeasured) -> tuple[str, str] | None:
    both = measured.of_kind["certify"].both
    if both is None:
        return None
    before, after = (certification_runs.shares_of(run) for run in both)
    return None if before is None or after is None else (before.texts[0], after.texts[0])


def lead_text(entries: Sequence[Entry]) -> str:
    """Which strategies helped, in a sentence or two."""
    better = [entry for entry in entries if entry.said.meaning is phrases.IMPROVED]
    n = wording.counted(len(entries), "strategy", "strategies")
    if not better:
        return f"None of the {n} improved the model within its tolerance. The original stays as it is."
    best = min(better, key=_share_of)
    share = best.figure("after", "data")
    is_of_texts = bool(best.run.config.text_column)
    whom = (
        "held-out texts with a term are decided by it"
        if is_of_texts
        else "held-out people are discriminated against with it"
    )
    text = "" if share is None else f": {share.text} of the {whom}"
    return (
        f"{len(better)} of {n} improved the model within the tolerance. {best.name} has the lowest discriminatory "
        f"share{text}."
    )


def draws_text(entries: Sequence[Entry]) -> str:
    """Whether all strategies were measured on as many individuals; the end of a sentence and, where they were not,
    another.
    """
    counts = sorted({entry.n_draws for entry in entries if entry.n_draws})
    if len(counts) < 2:
        return " and draws."
    return (
        f", but on {wording.count(counts[0])} to {wording.count(counts[-1])} draws of individuals, as there was time "
        "for: a strategy of fewer draws says from what share of the original, on its own draws, it comes."
    )


def rejected_text(entries: Sequence[Entry]) -> str:
    """What figures in italics are of, as a further sentence; empty where there are none."""
    if not any(_rejected(entry) for entry in entries):
        return ""
    return " In italics: the best model of a strategy that kept none, on the rows that choose among models."


def original_of(entries: Sequence[Entry]) -> Entry | None:
    """The strategy whose measure of the original stands for all: that of most draws; ``None`` where none measured
    it.
    """
    measured = [entry for entry in entries if entry.results.before is not None]
    return max(measured, key=lambda entry: entry.n_draws, default=None)


def _share_of(entry: Entry) -> float:
    figure = entry.figure("after", "data")
    return 1.0 if figure is None else figure.value


# --- the table ----------------------------------------------------------------------------------


def table_html(entries: Sequence[Entry]) -> str:
    """One line a strategy, the original on top; everything escaped."""
    heads = "".join(
        f'<th scope="col"><abbr title="{wording.escaped(meaning)}">{name}</abbr><small>{unit}</small></th>'
        for name, unit, meaning in _heads(entries)
    )
    original = original_of(entries)
    lines = "".join(_line_html(entry, original) for entry in entries)
    return (
        '<div class="evenhand-scroll"><table class="evenhand-compared eh-strategies"><thead><tr><th '
        'scope="col">Strategy</th>'
        f"{heads}</tr></thead><tbody>{_original_html(entries)}{lines}</tbody></table></div>"
    )


def _heads(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """The headings, with the names that the two shares have of texts."""
    if not any(entry.run.config.text_column for entry in entries):
        return [*_HEADS]
    shares = [
        (name, "decided by it", f"{name}: the share whose decision changes.") for name in phrases.TEXT_SHARES.values()
    ]
    return [_HEADS[0], *shares, *_HEADS[3:]]


def _original_html(entries: Sequence[Entry]) -> str:
    entry = original_of(entries)
    if entry is None:
        return ""
    worst = entry.results.worst_rule_set
    certified = next((one.certified[0] for one in entries if one.certified is not None), wording.DASH)
    cells = [
        *(_figure_cell(entry.figure("before", key)) for key in ("accuracy", *SHARES)),
        _score_cell(worst.before if worst else None),
    ]
    mark = f'<span style="color:{theme.BEFORE.colour}">{theme.BEFORE.symbol}</span> {ORIGINAL}'
    return f'<tr><th scope="row">{mark}</th>{"".join(cells)}{_cell(certified)}{_cell(wording.DASH)}</tr>'


def _line_html(entry: Entry, original: Entry | None) -> str:
    worst = entry.results.worst_rule_set
    meaning = entry.said.meaning
    said = f'<span style="color:{meaning.colour}">{meaning.symbol} {wording.escaped(meaning.name)}</span>'
    name = f"{wording.escaped(entry.name)}<small>{'baseline · ' if entry.is_baseline else ''}{said}</small>"
    certified = wording.DASH if entry.certified is None else entry.certified[1]
    training = entry.results.training
    rounds = [one for one in training.rounds if not one.is_control] if training else []
    n_within = sum(one.is_within and not one.is_vetoed for one in rounds)
    rejected = _rejected(entry)
    cells = [
        *(
            _figure_cell(entry.figure("after", key), change_of(entry.results, key), _own_original(entry, original, key))
            if rejected is None
            else _rejected_cell(rejected, key, training.reference if training else None)
            for key in ("accuracy", *SHARES)
        ),
        _score_cell(worst.after if worst else None),
        _cell(certified, "under way" if entry.is_certifying else ""),
        _cell(f"{wording.count(n_within)} of {wording.count(len(rounds))}"),
    ]
    return f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'


def _own_original(entry: Entry, original: Entry | None, key: str) -> str:
    """What a change is from, where that is not the figure of the original in the first line: it was measured on other
    draws.
    """
    own = entry.figure("before", key)
    shown = original.figure("before", key) if original is not None else None
    if own is None or own == shown:
        return ""
    n = getattr(part_of(entry.results.before, key), "n", 0)
    return f"from {own.short}" + (f", {wording.counted(n, 'draw')}" if n else "")


def _figure_cell(figure: Figure | None, note: str = "", origin: str = "") -> str:
    if figure is None:
        return _cell(wording.DASH)
    value, _, interval = figure.text.replace("below ", "< ").partition(" (")
    interval = interval.removesuffix(")")
    change, _, its_interval = note.partition(" (")
    return _cell(
        value,
        f"{interval} %" if interval else "",
        f"{change} points" if change else "",
        f"({its_interval}" if its_interval else "",
        origin if note else "",
    )


def _rejected(entry: Entry) -> Round | None:
    """The best model that was trained, where the strategy kept none."""
    training = entry.results.training
    rounds = [one for one in training.rounds if not one.is_control] if training else []
    return min(rounds, key=lambda one: one.objective) if rounds and entry.results.after is None else None


def _rejected_cell(best: Round, key: str, reference: ReferenceShares | None) -> str:
    """A figure of the best model of a strategy that kept none, from the rows that choose: it was measured on no
    others.
    """
    share = getattr(best, key)
    change = "" if reference is None else f"{100 * (share - reference[key]):+.1f} points".replace("-", "\N{MINUS SIGN}")
    is_beyond = best.is_vetoed or not best.is_within
    why = "beyond the tolerance" if is_beyond else "no file" if best.no_file else "not better"
    return _cell(wording.share(share), change, why if key == "accuracy" else "", is_rejected=True)


def _score_cell(found: GroupScore | None) -> str:
    if found is None:
        return _cell(wording.DASH)
    value, low, high = (100 * part for part in (found.score, found.low, found.high))
    return _cell(f"{value:.1f}", f"{low:.1f}-{high:.1f}")


def _cell(value: str, *notes: str, is_rejected: bool = False) -> str:
    small = "".join(f"<small>{wording.escaped(note)}</small>" for note in notes if note)
    look = ' class="eh-rejected"' if is_rejected else ""
    return f"<td{look}>{wording.escaped(value)}{small}</td>"


def comparison_csv(entries: Sequence[Entry]) -> bytes:
    """The comparison as a file: one line a model, shares as fractions."""
    original = original_of(entries)
    lines = [] if original is None else [_csv_line(original, "before", ORIGINAL)]
    lines += [_csv_line(entry, "after", entry.name) for entry in entries]
    return pd.DataFrame(lines).to_csv(index=False).encode()


def _csv_line(entry: Entry, which: str, name: str) -> dict[str, Any]:
    retrained = entry.results.retrained
    is_original = which == "before"
    line: dict[str, Any] = {
        "strategy": export_text(name),
        "run_id": "" if is_original else entry.run.id,
        "seed": entry.run.config.seed,
        "baseline": "" if is_original else entry.is_baseline,
        "verdict": "" if is_original else entry.said.meaning.name,
        "state": "" if is_original else entry.run.state.value,
        "rounds": "" if is_original or retrained is None else retrained.n_rounds,
    }
    for key in ("accuracy", *SHARES):
        figure = entry.figure(which, key)
        for part in ("value", "low", "high"):
            line[f"{key}_{part}"] = "" if figure is None else getattr(figure, part)
    worst = entry.results.worst_rule_set
    score = None if worst is None else worst.before if is_original else worst.after
    line |= {f"worst_rule_set_{part}": getattr(score, part, "") for part in ("score", "low", "high")}
    line["certified"] = "" if entry.certified is None else entry.certified[0 if is_original else 1]
    return line


# --- the chart ----------------------------------------------------------------------------------


def _draw_chart(entries: Sequence[Entry]) -> None:
    names = phrases.shares_of(entries[0].run.config)
    of = st.segmented_control(
        "Discriminatory share of",
        list(names),
        default="data",
        required=True,
        format_func=names.__getitem__,
        key=f"retrain_pareto_of_{entries[0].run.id}",
    )
    found = points_of(entries, str(of))
    if len(found) < 2:
        st.caption("No strategy ended with a new model that was measured, so there is nothing to draw.")
        return
    name = names[str(of)]
    key = (tuple(entry.run.id for entry in entries), of, theme.is_dark())
    figure = kept("retrain_pareto", key, lambda: charts.pareto_chart(found, name))
    baselines = "" if entries[0].run.config.text_column else ", open marks are baselines"
    note = (
        f"Further left discriminates less, further up is more accurate; bars are 95 % intervals{baselines}. The dotted "
        "line joins the models that no other one beats in both."
    )
    frame.chart_with_table(
        figure, lambda: charts.pareto_table(found, name), "retrain_pareto_chart", note, said=lead_text(entries)
    )


def points_of(entries: Sequence[Entry], of: str) -> list[Point]:
    """The original, and every strategy that was measured, those on the front marked.

    Args:
        entries: of the comparison.
        of: whose share, a key of ``SHARES``.
    """
    found: list[Point] = []
    original = original_of(entries)
    if original is not None:
        accuracy = original.figure("before", "accuracy")
        share = original.figure("before", of)
        if accuracy is not None and share is not None:
            found.append(Point(ORIGINAL, accuracy, share, is_original=True))
    for entry in entries:
        accuracy = entry.figure("after", "accuracy")
        share = entry.figure("after", of)
        if accuracy is not None and share is not None:
            found.append(Point(entry.name, accuracy, share, is_baseline=entry.is_baseline))
    return charts.with_front(found)
