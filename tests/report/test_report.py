"""A report: every number of it is the store's, its tables are those of the file, it is whole in itself, and nothing of
a user's reaches its markup.
"""

from __future__ import annotations

import csv
import html as html_signs
import io
import json
import re
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from fairness_engine.findings.evidence import sort_runs
from fairness_engine.findings.finding import Evidence
from fairness_engine.report.charts import rate_bars
from fairness_engine.report.content import Author
from fairness_engine.report.making import Wanted, figures_run, make_report, write_report
from fairness_engine.report.numbers import numbers_of
from fairness_engine.report.presets import find_preset, preset_names
from fairness_engine.report.tables import MissingTable, PrintedTable
from fairness_engine.runs import kinds, queue
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import DecisionKind, FileRole, Review
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import THIN_SPACE
from findings_cases import SAMPLES, assess, assessed, review_of, without_model

pytestmark = pytest.mark.thorough

MADE = datetime(2026, 11, 26, 3, 0, tzinfo=UTC)


def html_of(store: RunStore, review: Review, preset: str = "plain", **wanted: Any) -> str:
    return make_report(store, review, Wanted(find_preset(preset), **wanted), made=MADE)[1]


class Cells(HTMLParser):
    """The cells that say where their number is stored, and all tags and addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.numbers: list[dict[str, str]] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        known = {name: value or "" for name, value in attrs}
        self.addresses += [value for name, value in known.items() if name in ("src", "href", "action", "data")]
        if "data-run" in known:
            self.numbers.append(known)


def stored(workspace: Path, run_id: str, place: str) -> Any:
    """A number as the database holds it, read without the engine; rule sets from their own file."""
    first, _, rest = place.partition(".")
    with sqlite3.connect(workspace / "evenhand.db") as database:
        if first == "run":
            return database.execute(f"SELECT {rest} FROM runs WHERE id = ?", (run_id,)).fetchone()[0]
        if first != "rule_sets":
            query = "SELECT content FROM results WHERE run_id = ? AND name = ?"
            (content,) = database.execute(query, (run_id, first)).fetchone()
            value: Any = json.loads(content)
            for part in rest.split(".") if rest else ():
                value = value[int(part)] if isinstance(value, list) else value[part]
            return value
    position, name = rest.split(".")
    return getattr(stored_rules(RunStore(workspace), run_id).scored, name)[int(position)]


def test_every_number_is_the_stores(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    store, review = assessed(workspace, "recidivism_planted")
    numbers = Cells(html_of(store, review)).numbers
    assert len(numbers) > 40
    kinds_seen = {store.run(number["data-run"]).config.kind for number in numbers}
    assert kinds_seen == {"search", "estimate", "certify", "rules", "figures", "proxies"}
    for number in numbers:
        assert float(number["data-value"]) == stored(workspace, number["data-run"], number["data-place"]), number


def test_what_is_held_says_no_count_of_people_who_were_not_asked(tmp_path: Path) -> None:
    """The model is asked of people who miss no cell: the annex gave the number of all of the group."""
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    (one,) = sort_runs(store, review, store.runs(review.id)).of(kinds.PROXIES)
    assert one.results.proxies is not None
    for n_incomplete in (0, 5):
        proxies = replace(one.results.proxies, n_incomplete=n_incomplete)
        numbers = numbers_of(store, [replace(one, results=replace(one.results, proxies=proxies))])
        by_place = {number.place: number.n for number in numbers}
        of_women = by_place["proxies.attributes.0.differences.0.raw.value"]
        assert of_women == proxies.attributes[0].n_rows
        held = by_place["proxies.attributes.0.differences.0.held.value"]
        assert held == (None if n_incomplete else of_women)
        assert by_place["proxies.attributes.0.differences.0.held_strongest.value"] == of_women


def test_a_number_that_differs_from_the_store_is_seen(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    store, review = assessed(workspace, "recidivism_planted")
    before = Cells(html_of(store, review)).numbers
    with sqlite3.connect(workspace / "evenhand.db") as database:
        database.execute("UPDATE runs SET n_found = n_found + 1 WHERE n_found > 0")
    changed = [n for n in before if float(n["data-value"]) != stored(workspace, n["data-run"], n["data-place"])]
    assert changed


def test_it_is_whole_in_itself(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    for preset in preset_names():
        page = html_of(store, review, preset)
        cells = Cells(page)
        assert cells.tags.isdisjoint({"script", "link", "iframe", "object", "embed", "img", "form"}), preset
        assert cells.addresses == []
        assert "url(" not in re.sub(r"url\(#eh-[a-z]+\)", "", page)
        assert "@import" not in page
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
        assert "compliant" not in page.lower()
        assert "bias-free" not in page.lower()


def test_the_same_review_gives_the_same_bytes(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "recidivism_planted")
    assert html_of(store, review) == html_of(RunStore(tmp_path / "workspace"), store.review(review.id))


HOSTILE = "<script>alert(1)</script>\"'&{{ 7 * 7 }}"


def test_texts_of_people_are_texts(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "recidivism_planted")
    card = make_report(store, review, Wanted(find_preset("plain")))[0].cards[0]
    store.rename_review(review.id, HOSTILE)
    store.add_decision(review.id, card.key, DecisionKind.STOP, HOSTILE, HOSTILE, HOSTILE, card.run_ids)
    store.add_comment(review.id, card.key, HOSTILE, HOSTILE)
    author = Author(HOSTILE, HOSTILE, HOSTILE)
    page = html_of(store, store.review(review.id), "eu-ai-act", author=author)
    assert "script" not in Cells(page).tags
    assert page.count(html_signs.escape("<script>")) >= 8
    assert "49" not in page.split("<title>")[1].split("</title>")[0]


def test_what_is_long_stands_in_the_annex(tmp_path: Path) -> None:
    """The document before it stays short: groups by several attributes and the lesser findings come after."""
    store, review = assessed(tmp_path / "workspace", "credit_planted")
    report, page = make_report(store, review, Wanted(find_preset("four-fifths")))[:2]
    before, annex = page.split("<h1>Technical annex</h1>")
    assert len(report.cards) > len(report.first_cards)
    for number, card in enumerate(report.cards, 1):
        told = f"<p>{escape(card.sentence)}</p>"
        assert (told in before, told in annex) == (number <= 6, number > 6)
        assert escape(card.title) in before
    (both,) = report.annex_tables
    assert both.title == "By age and sex"
    assert f"<h3>{both.title}</h3>" in annex
    assert f"<h3>{both.title}</h3>" not in before
    n_rows = sum(int(str(line[1])) for line in both.values[1:])
    assert len(both.rows) == sum(int(str(line[1])) >= 0.02 * n_rows for line in both.values[1:]) < len(both.values) - 1


def test_people_can_be_left_out(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    with_people = html_of(store, review)
    without = html_of(store, review, with_people=False)
    assert "Person A" in with_people
    assert "Person A" not in without
    assert "People are left out of this report on purpose" in without


def test_a_sheet_for_one_person_is_about_that_pair(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    run = next(run for run in store.runs(review.id) if run.config.technique == "data-scan")
    page = html_of(store, review, "adverse-outcome", person=(run.id, 3))
    assert f"Pair 3 of run {run.id}" in page
    pair = store.pairs(run.id, 1, 2)
    column = run.config.schema.column("sex")
    place = run.config.schema.index("sex")
    for side in (pair.first[0], pair.second[0]):
        assert f"<td>{column.text(float(side[place]))}</td>" in page


@pytest.mark.parametrize("favourable", [0, 1])
def test_scores_of_people_are_for_the_favourable_outcome_as_on_pages(favourable: int, tmp_path: Path) -> None:
    """The report printed the engine's score, of class 1, and did not say whose it is."""
    store, review = assessed(tmp_path / "workspace", "census_income_planted")
    run = next(run for run in store.runs(review.id) if run.config.technique == "data-scan")
    classes = ["low", "high"]
    fit = {**(review.fit or {}), "classes": classes, "favourable": favourable, "threshold": 0.5}
    asked = replace(review, fit=fit)
    page = html_of(store, asked, "adverse-outcome", person=(run.id, 3))
    pair = store.pairs(run.id, 1, 2)
    sides = zip((*pair.decision_first, *pair.decision_second), (*pair.score_first, *pair.score_second), strict=True)
    for decision, score in sides:
        of_favourable = score if favourable else 1 - score
        assert f"{classes[decision]}, score {of_favourable:.3f} for {classes[favourable]}" in page
    assert "as was set" not in page
    assert review.scope is not None
    moved = html_of(store, replace(asked, scope=replace(review.scope, threshold=0.55)))
    assert "Decided is “high” where the score for it is above 0.55, as was set" in moved
    assert "the model&#39;s file by itself decides at 0.5." in moved


# --- New York's tables, by hand from the file ------------------------------------------------------


def printed(store: RunStore, review: Review, preset: str = "nyc-local-law-144") -> list[PrintedTable | MissingTable]:
    own = figures_run(store, review, find_preset(preset))
    if own is not None:
        queue.run_in_foreground(store, store.create_run(own, review.id), lambda _: None)
    return make_report(store, review, Wanted(find_preset(preset)), made=MADE)[0].tables


Counted = dict[tuple[str, ...], tuple[int, int, float, Any]]


def by_hand(lines: list[dict[str, str]], by: list[str], hit: Any) -> Counted:
    """Number, hits, rate and ratio of each group; groups under 2 % are no measure and have no ratio."""
    known = [line for line in lines if all(line[name] for name in by)]
    counts: dict[tuple[str, ...], list[int]] = {}
    for line in known:
        group = counts.setdefault(tuple(line[name] for name in by), [0, 0])
        group[0] += 1
        group[1] += hit(line)
    large = {key for key, (n, _) in counts.items() if n >= 0.02 * len(known)}
    best = max(counts[key][1] / counts[key][0] for key in large)
    return {
        key: (n, hits, hits / n, hits / n / best if key in large and best else None)
        for key, (n, hits) in counts.items()
    }


def check_table(table: PrintedTable | MissingTable, expected: Counted) -> None:
    assert isinstance(table, PrintedTable)
    lines = list(csv.DictReader(io.StringIO(table.csv())))
    assert {line["group"] for line in lines} == {", ".join(key) for key in expected}
    for key, (n, hits, rate, ratio) in expected.items():
        (line,) = [line for line in lines if line["group"] == ", ".join(key)]
        assert (int(line["n"]), int(line["hits"])) == (n, hits)
        assert float(line["rate"]) == pytest.approx(rate)
        assert (line["ratio"] == "") == (ratio is None)
        if ratio is not None:
            assert float(line["ratio"]) == pytest.approx(ratio)
        cells = table.rows[[row[0] for row in table.rows].index(", ".join(key))]
        assert cells[-1] == ("left out" if ratio is None else f"{ratio:.2f}")


def test_new_yorks_tables_are_those_of_the_samples_file(tmp_path: Path, root: Path) -> None:
    store = RunStore(tmp_path)
    review = without_model(store, "recidivism_planted")
    review = store.save_review(replace(review, scope=replace(review.scope, protected=("race", "sex"))))
    tables = printed(store, review)
    with (root / "sample_data" / "recidivism.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [table.title for table in tables] == [
        "Sex categories",
        "Race/ethnicity categories",
        "Intersectional categories: sex by race/ethnicity",
    ]
    favours = lambda line: line["risk"] == "low"  # noqa: E731
    check_table(tables[0], by_hand(lines, ["sex"], favours))
    check_table(tables[1], by_hand(lines, ["race"], favours))
    check_table(tables[2], by_hand(lines, ["sex", "race"], favours))


def test_new_yorks_tables_are_those_of_compas(tmp_path: Path, shared: Path) -> None:
    folder = shared / "data" / "raw" / "compas"
    store, review = _raw_review(tmp_path, folder, ("sex", "race"))
    with (folder / "data.csv").open() as file:
        lines = list(csv.DictReader(file))
    favours = lambda line: line["two_year_recid"] == "no"  # noqa: E731
    tables = printed(store, review)
    check_table(tables[0], by_hand(lines, ["sex"], favours))
    check_table(tables[1], by_hand(lines, ["race"], favours))
    check_table(tables[2], by_hand(lines, ["sex", "race"], favours))
    assert isinstance(tables[1], PrintedTable)
    assert any("Left out of the ratios" in note for note in tables[1].notes)


def _raw_review(workspace: Path, folder: Path, protected: tuple[str, ...]) -> tuple[RunStore, Review]:
    from fairness_engine.data.inference import infer_schema
    from fairness_engine.data.table import read_table
    from fairness_engine.oracle.domain import Scope

    store = RunStore(workspace)
    schema = replace(infer_schema(read_table(folder / "data.csv")), label="two_year_recid", favourable="no")
    data = store.add_file(folder / "data.csv", "data.csv", FileRole.DATA)
    review = store.create_review("Raw")
    content = {"data_id": data.id, "schema": schema, "scope": Scope(protected), "fit": {"source": "labels"}}
    return store, store.save_review(replace(review, **content))


def test_scoring_rates_are_above_the_median_of_all(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "census_income_network")
    tables = printed(store, review)
    scoring = [table for table in tables if isinstance(table, PrintedTable) and table.rate.value == "scoring"]
    assert len(scoring) == 3
    n = sum(rate.n for _, rate in scoring[0].groups)
    above = sum(rate.n_hits for _, rate in scoring[0].groups)
    assert n == 5000
    assert 0.45 <= above / n <= 0.5


def test_four_fifths_are_drawn_of_the_groups_that_are_compared(tmp_path: Path) -> None:
    """A small group with the highest rate moved the line, and a group that passes seemed to fail."""
    store, review = assessed(tmp_path / "workspace", "credit_planted")
    by_age = printed(store, review, "four-fifths")[0]
    assert isinstance(by_age, PrintedTable)
    small = by_age.groups[-1]
    highest = max(by_age.groups[:-1], key=lambda group: group[1].share)
    assert small[1].share > highest[1].share == by_age.best
    picture = rate_bars(by_age.groups, "Rate", by_age.best)
    widths = [float(width) for width in re.findall(r'<rect x="\d+" y="\d+" width="([\d.]+)"', picture)]
    start = float(re.findall(r'<rect x="(\d+)"', picture)[0])
    (line,) = re.findall(r'd="M([\d.]+) [^"]*" stroke="#000" stroke-width="1.5"', picture)
    assert float(line) - start == pytest.approx(0.8 * widths[by_age.groups.index(highest)], abs=0.2)


# --- what is missing ------------------------------------------------------------------------------


def test_runs_of_more_and_of_fewer_rows_are_explained(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "workspace")
    review = without_model(store)
    sample, _ = SAMPLES["census_income_planted"]
    head, *lines = sample.data.read_text().splitlines()
    lines[:7] = [line[line.index(",") :] for line in lines[:7]]
    (tmp_path / "holes.csv").write_text("\n".join([head, *lines]))
    data = store.add_file(tmp_path / "holes.csv", "holes.csv", FileRole.DATA)
    review = assess(store, store.save_review(replace(review, data_id=data.id)), (Evidence.FIGURES,))
    page = html_of(store, review).replace(THIN_SPACE, ",")
    assert "Of 5,000 rows 7 miss a cell." in page
    assert "the 4,993 complete ones" in page


def test_a_role_that_the_data_has_not_is_said(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    review = review_of(store, "credit_planted")
    tables = printed(store, review)
    missing = [table for table in tables if isinstance(table, MissingTable)]
    assert [table.title for table in missing] == [
        "Race/ethnicity categories",
        "Intersectional categories: sex by race/ethnicity",
    ]
    assert all("The data has no column for race/ethnicity" in table.why for table in missing)
    assert "The data has no column for race/ethnicity" in html_of(store, review, "nyc-local-law-144")


@pytest.mark.parametrize("preset", preset_names())
def test_of_nothing_a_report_says_so(preset: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    page = html_of(store, review_of(store, "recidivism_planted"), preset)
    assert "Nothing was looked at yet." in page
    assert "No run" in page


def test_of_labels_alone_and_of_texts(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "labels")
    review = assess(store, without_model(store), (Evidence.RULES, Evidence.FIGURES))
    page = html_of(store, review, "four-fifths")
    assert "the recorded outcomes are assessed" in page
    assert "Fisher" in page
    texts, of_texts = assessed(tmp_path / "texts", "comments_linear")
    page = html_of(texts, of_texts)
    assert "Texts with “gay”" in page


def test_a_model_file_that_is_gone_is_said(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "recidivism_planted")
    store.file(str(review.model_id)).path.unlink()
    assert "(the file is gone)" in html_of(store, review)


def test_files_are_written_and_hashed(tmp_path: Path) -> None:
    store, review = assessed(tmp_path / "workspace", "recidivism_planted")
    report, page = make_report(store, review, Wanted(find_preset("nyc-local-law-144")), made=MADE)
    files = write_report(store, tmp_path / "out", report, page)
    assert {"report.html", "schema.json"} <= set(files)
    assert sum(name.startswith("tables/") for name in files) == 3
    assert (tmp_path / "out" / "report.html").read_text() == page
    assert "bundle/ro-crate-metadata.json" in files
    assert files["bundle/report.html"] == files["report.html"]
    for path, hashed in files.items():
        assert sha256((tmp_path / "out" / path).read_bytes()).hexdigest() == hashed


def test_each_run_is_made_again_by_its_command(tmp_path: Path) -> None:
    """The commands of the annex, done: the same pairs, shares, rule sets and counts."""
    import shlex

    from fairness_engine.__main__ import main

    workspace = tmp_path / "workspace"
    store, review = assessed(workspace, "recidivism_planted")
    report, page = make_report(store, review, Wanted(find_preset("plain")), made=MADE)
    write_report(store, tmp_path, report, page)
    paths = {file.name: store.file(getattr(review, f"{file.role}_id")).path for file in report.files}
    for run in report.runs:
        words = shlex.split(run.command)[3:]
        words = [str(paths.get(word, word)) for word in words]
        words = [str(tmp_path / "schema.json") if word == "schema.json" else word for word in words]
        again = tmp_path / run.id
        assert main([*words, "--workspace", str(again), "--quiet"]) == 0, run.command
        (other,) = RunStore(again).runs()
        was = store.run(run.id)
        assert (other.n_tried, other.n_found, other.evaluations) == (was.n_tried, was.n_found, was.evaluations)
        results = [kinds.results_of(each, one) for each, one in ((store, run.id), (RunStore(again), other.id))]
        for name in ("share", "figures", "affected", "rules"):
            assert getattr(results[0], name) == getattr(results[1], name), (run.command, name)
