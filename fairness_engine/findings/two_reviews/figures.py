"""Lines of figures: accuracy, shares, proofs, and what a retraining measured of both its models."""

from __future__ import annotations

from fairness_engine.certification.results import Certification
from fairness_engine.data.recorded import Source
from fairness_engine.errors import RunError
from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import Figure, Level
from fairness_engine.findings.two_reviews.change import Basis, Better, Change, Measure, Row, Topic, Verdict
from fairness_engine.findings.two_reviews.lining_up import Both, is_of_same_rows, name_of
from fairness_engine.groups.figures.report import GroupTable
from fairness_engine.intervals import share_interval
from fairness_engine.measures.results import Share
from fairness_engine.oracle.domain import Distribution
from fairness_engine.retraining.results import Interval, PairedChange
from fairness_engine.runs.kinds import FIGURES, Results, results_of
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import count

# --- accuracy -----------------------------------------------------------------------------------


def accuracy_row(reviews: tuple[Review, Review], figures: tuple[Both, ...]) -> Row | None:
    """How often each model decides as the outcome was: by group figures, which count right and wrong decisions, else by
    the fit cards; ``None`` where neither knows outcomes.
    """
    for both in figures:
        row = _accuracy_of_figures(both)
        if row is not None:
            return row
    counts = [_right_of_fit(review) for review in reviews]
    if counts[0] is None or counts[1] is None:
        return None
    (right, n), (other, n_other) = counts[0], counts[1]
    figure, after = _share(right, n), _share(other, n_other)
    is_same = reviews[0].data_id == reviews[1].data_id and n == n_other
    change = Change.of_same_rows(right, other, n) if is_same else Change.independent(figure, after)
    return Row(
        Topic.ACCURACY,
        Level.ESTIMATED,
        "Accuracy on the data's rows",
        figure,
        after,
        change,
        change.verdict(Better.HIGHER),
        n,
        n_other,
        ("", ""),
        f"By the fit cards. {_SEEN}",
    )


_SEEN = "Rows that a model was trained on make it look better than it is."


def _right_of_fit(review: Review) -> tuple[int, int] | None:
    fit = review.fit or {}
    accuracy = fit.get("accuracy")
    n = fit.get("n_rows")
    return None if accuracy is None or not n else (round(accuracy * n), int(n))


def _accuracy_of_figures(both: Both) -> Row | None:
    tables = [_table_with_outcomes(one) for one in both]
    if tables[0] is None or tables[1] is None or tables[0].attributes != tables[1].attributes:
        return None
    before, after = _right(tables[0]), _right(tables[1])
    n, n_after = (sum(size for _, size in each) for each in (before, after))
    right, right_after = (sum(hits for hits, _ in each) for each in (before, after))
    figures = _share(right, n), _share(right_after, n_after)
    is_same = is_of_same_rows(*both) and [size for _, size in before] == [size for _, size in after]
    if is_same:
        most_lost = sum(min(hits, size - other) for (hits, size), (other, _) in zip(before, after, strict=True))
        change = Change.of_same_rows(right, right_after, n, most_lost)
    else:
        change = Change.independent(*figures)
    return Row(
        Topic.ACCURACY,
        Level.ESTIMATED,
        "Accuracy on the data's rows",
        *figures,
        change,
        change.verdict(Better.HIGHER),
        n,
        n_after,
        (both[0].run.id, both[1].run.id),
        f"Decided for or against the person as the recorded outcome was. {_SEEN}",
    )


def _table_with_outcomes(one: Evidence) -> GroupTable | None:
    """Of one attribute, by whose groups the rows are counted; every group has rows of known outcomes."""
    figures = one.results.figures
    if figures is None or FIGURES.settings(one.run.config).source is not Source.MODEL:
        return None
    tables = (table for table in figures.read().tables if len(table.attributes) == 1)
    return next((table for table in tables if all(group.true_positive is not None for group in table.groups)), None)


def _right(table: GroupTable) -> list[tuple[int, int]]:
    """Right decisions, and rows, of each group and outcome."""
    parts = []
    for group in table.groups:
        assert group.true_positive is not None and group.false_positive is not None, "chosen by it"  # noqa: PT018
        parts.append((group.true_positive.n_hits, group.true_positive.n))
        parts.append((group.false_positive.n - group.false_positive.n_hits, group.false_positive.n))
    return parts


def _share(n_hits: int, n: int) -> Figure:
    low, high = share_interval(n_hits, n)
    return Figure(n_hits / n if n else 0.0, low, high)


# --- shares -------------------------------------------------------------------------------------


def share_rows(estimates: tuple[Both, ...], counts: tuple[Both, ...]) -> list[Row]:
    """Discriminatory shares, as estimated and as counted one by one."""
    rows = []
    for both in estimates:
        first, second = (one.results.share for one in both)
        if first is not None and second is not None and first.n and second.n:
            rows.append(_share_row(both, first, second, name_of(both[0])))
        judged, judged_after = (one.results.plausible_share for one in both)
        if judged is not None and judged_after is not None and judged.n and judged_after.n:
            rows.append(_share_row(both, judged, judged_after, f"{name_of(both[0])}, of two people who could exist"))
    return [*rows, *_count_rows(counts)]


def _share_row(both: Both, before: Share, after: Share, what: str) -> Row:
    figures = tuple(Figure(each.share, each.low, each.high) for each in (before, after))
    change = _change_of_shares(both, before, after, figures)
    note = f"When {both[0].nothing_but} changes."
    if not is_of_same_rows(*both) and both[0].run.config.distribution is not Distribution.UNIFORM:
        note += " The two are of different data: a difference may come of the people as well as of the model."
    return Row(
        Topic.SHARE,
        Level.ESTIMATED,
        what,
        figures[0],
        figures[1],
        change,
        change.verdict(Better.LOWER),
        before.n,
        after.n,
        (both[0].run.id, both[1].run.id),
        note,
    )


def _change_of_shares(both: Both, before: Share, after: Share, figures: tuple[Figure, ...]) -> Change:
    """Of everybody it is exact; draws of one seed may be the same rows, and those of others are independent."""
    configs = [one.run.config for one in both]
    is_same_data = is_of_same_rows(*both)
    is_whole = all(each.low == each.high for each in (before, after))
    if is_whole and is_same_data:
        return Change.exact(before.share, after.share)
    if not is_same_data or configs[0].seed != configs[1].seed:
        return Change.independent(figures[0], figures[1])
    if before.n == after.n:
        return Change.of_same_rows(before.n_hits, after.n_hits, before.n)
    return Change.dependent(figures[0], figures[1])


def _count_rows(counts: tuple[Both, ...]) -> list[Row]:
    rows = []
    for both in counts:
        first, second = (one.results.count for one in both)
        if first is None or second is None:
            continue
        change = Change.exact(first.share, second.share)
        rows.append(
            Row(
                Topic.SHARE,
                Level.PROVED,
                "Share of all individuals, counted one by one",
                _known(first.share),
                _known(second.share),
                change,
                change.verdict(Better.LOWER),
                first.n_individuals,
                second.n_individuals,
                (both[0].run.id, both[1].run.id),
                f"When {both[0].nothing_but} changes.",
            )
        )
    return rows


def _known(value: float) -> Figure:
    return Figure(value, value, value)


# --- proofs -------------------------------------------------------------------------------------


def proof_rows(proofs: tuple[Both, ...]) -> list[Row]:
    """What is proved of each model. Only the bounds of all who are decided otherwise say which model is better: a proof
    that decides less has fewer falsified and fewer certified alike.
    """
    rows: list[Row] = []
    for both in proofs:
        first, second = (one.results.certification for one in both)
        if first is None or second is None:
            continue
        rows.append(_bounds_row(both, first, second))
        for name in ("certified", "falsified", "undecided"):
            before, after = (float(getattr(each, name)) for each in (first, second))
            change = Change.exact(before, after, Basis.PROVED)
            rows.append(_proof_row(both, name.capitalize(), (_known(before), _known(after)), change, Better.NEITHER))
    return rows


def _bounds_row(both: Both, before: Certification, after: Certification) -> Row:
    figures = tuple(
        Figure(found.falsified, found.falsified, min(1.0, found.falsified + found.undecided))
        for found in (before, after)
    )
    value = after.falsified - before.falsified
    low, high = figures[1].low - figures[0].high, figures[1].high - figures[0].low
    change = Change(value, low, high, Basis.PROVED)
    return _proof_row(both, "Decided otherwise, at least and at most", (figures[0], figures[1]), change, Better.LOWER)


def _proof_row(both: Both, what: str, figures: tuple[Figure, Figure], change: Change, better: Better) -> Row:
    note = f"{name_of(both[0])}, when {both[0].nothing_but} changes."
    run_ids = both[0].run.id, both[1].run.id
    verdict = Verdict.NONE if better is Better.NEITHER else change.verdict(better)
    return Row(Topic.PROOFS, Level.PROVED, what, *figures, change, verdict, 0, 0, run_ids, note)


# --- a retraining -------------------------------------------------------------------------------


def retraining_of(store: RunStore, before: Review, after: Review) -> str:
    """The retraining in one of the two reviews that made the second model of the first; empty where there is none."""
    if not before.model_id or not after.model_id:
        return ""
    for version in reversed(store.version_of_model(after.model_id)):
        try:
            review_id = store.run(version.run_id).review_id
        except RunError:
            continue
        if version.parent_id == before.model_id and review_id in (before.id, after.id):
            return version.run_id
    return ""


def retraining_rows(store: RunStore, run_id: str) -> list[Row]:
    """What a retraining measured of both its models, as the Retrain page shows it: on rows held out from training, and
    on the same draws.
    """
    results = results_of(store, run_id)
    if results.before is None or results.after is None or results.changes is None:
        return []
    changes = results.changes
    before, after = results.before, results.after
    is_of_texts = bool(store.run(run_id).config.text_column)
    names = _TEXTS if is_of_texts else _PEOPLE
    pairs: list[tuple[str, Interval | Share, Interval | Share, PairedChange, Better]] = [
        (_HELD_OUT, before.quality.accuracy, after.quality.accuracy, changes.accuracy, Better.HIGHER),
        (names[0], before.uniform, after.uniform, changes.uniform, Better.LOWER),
        (names[1], before.data, after.data, changes.data, Better.LOWER),
    ]
    rows = [_retraining_row(run_id, *each) for each in pairs if each[3].n]
    return [*rows, *_worst_rule_set(results, run_id)]


_HELD_OUT = "Accuracy on held-out rows"
_PEOPLE = ("Discriminatory share of all individuals", "Discriminatory share of held-out people")
_TEXTS = ("Random swaps of a term", "Held-out texts with a term")


def _retraining_row(
    run_id: str, what: str, before: Interval | Share, after: Interval | Share, paired: PairedChange, better: Better
) -> Row:
    change = Change(paired.value, paired.low, paired.high, Basis.PAIRED)
    note = f"{count(paired.n_gained)} of {count(paired.n)} count now and did not, {count(paired.n_lost)} no longer do."
    return Row(
        Topic.RETRAINING,
        Level.ESTIMATED,
        what,
        _figure(before),
        _figure(after),
        change,
        change.verdict(better),
        paired.n,
        paired.n,
        (run_id, run_id),
        note,
    )


def _figure(found: Interval | Share) -> Figure:
    value = found.share if isinstance(found, Share) else found.value
    return Figure(value, found.low, found.high)


def _worst_rule_set(results: Results, run_id: str) -> list[Row]:
    worst = results.worst_rule_set
    if worst is None or worst.before is None or worst.after is None:
        return []
    before, after = (Figure(each.score, each.low, each.high) for each in (worst.before, worst.after))
    change = Change.dependent(before, after)
    return [
        Row(
            Topic.RETRAINING,
            Level.RULE,
            f"Worst rule set of the first model: {worst.text or worst.group}",
            before,
            after,
            change,
            change.verdict(Better.LOWER),
            worst.before.n_inside + worst.before.n_outside,
            worst.after.n_inside + worst.after.n_outside,
            (run_id, run_id),
            "By how much the favourable shares inside and outside differ.",
            Measure.DIFFERENCE,
        )
    ]
