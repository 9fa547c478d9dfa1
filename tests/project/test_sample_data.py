from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.data.catalogue import DATA_FOLDER, find_sample, list_samples
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.measures.exact_count import individuals
from fairness_engine.oracle.domain import Domain, Scope
from sample_data.causal import comments
from sample_data.causal.model import CausalModel, category, whole
from sample_data.causal.rule import Effect, PointRule, ladder
from sample_data.make import CREDIT, MARKETING, RECIDIVISM, TABLES, main, outcome_column, with_numbers

by_name = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


@pytest.mark.thorough
def test_the_script_writes_the_committed_files_byte_for_byte(tmp_path: Path) -> None:
    main(["--out", str(tmp_path)])
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in DATA_FOLDER.iterdir() if path.suffix in (".csv", ".json")}
    assert sorted(written) == sorted(committed)
    assert [name for name in written if written[name] != committed[name]] == []


def test_the_files_are_small_and_of_the_stated_length() -> None:
    for sample in list_samples():
        assert sample.data.stat().st_size < 400_000
        n_rows = len(read_table(sample.data).frame)
        assert 1_000 <= n_rows <= 5_000
        assert sample.read_truth()["n_rows"] == n_rows


@by_name
def test_a_table_reads_back_to_the_rows_that_were_drawn(table: CausalModel) -> None:
    sample = find_sample(table.name)
    schema = Schema.read(sample.schema)
    dataset = make_dataset(read_table(sample.data), schema)
    rows, labels = table.sample()
    assert schema == with_numbers(table.rule.schema)
    assert dataset.n_dropped == 0
    assert dataset.labels is not None
    assert (dataset.rows == rows).all()
    assert (dataset.labels == labels).all()
    assert dataset.classes == outcome_column(schema).labels
    assert dataset.favourable_class == dataset.classes.index(str(schema.favourable))


def enumerate_share(rule: PointRule, domain: Domain) -> int:
    """Discriminatory individuals, by deciding every row of the domain."""
    n = 0
    for start in range(0, int(domain.n_individuals), 50_000):
        rows = individuals(domain, start, min(start + 50_000, int(domain.n_individuals)))
        decisions = rule.decide(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(len(rows), -1)
        n += int((decisions.min(axis=1) != decisions.max(axis=1)).sum())
    return n


@pytest.mark.parametrize("protected", RECIDIVISM.protected_sets, ids="-".join)
def test_the_truth_of_recidivism_is_that_of_enumeration(protected: tuple[str, ...]) -> None:
    truth = next(s for s in find_sample("recidivism").read_truth()["shares"] if s["protected"] == list(protected))
    domain = Domain(RECIDIVISM.rule.schema, Scope(protected))
    assert (truth["n_discriminatory"], truth["n_individuals"]) == (
        enumerate_share(RECIDIVISM.rule, domain),
        domain.n_individuals,
    )


@by_name
def test_the_truth_agrees_with_a_uniform_sample(table: CausalModel) -> None:
    for truth in find_sample(table.name).read_truth()["shares"]:
        domain = Domain(table.rule.schema, Scope(tuple(truth["protected"])))
        n = min(20_000, 1_000_000 // domain.n_variants)
        rows = domain.sample(n, np.random.default_rng(5))
        decisions = table.rule.decide(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(n, -1)
        share = (decisions.min(axis=1) != decisions.max(axis=1)).mean()
        assert truth["n_individuals"] == domain.n_individuals
        assert truth["share"] == truth["n_discriminatory"] / truth["n_individuals"]
        assert abs(share - truth["share"]) <= 4 * np.sqrt(truth["share"] * (1 - truth["share"]) / n)


@st.composite
def small_rules(draw: st.DrawFn) -> PointRule:
    """Rules of four small attributes with up to three effects."""
    step = Column("d", Kind.REAL, minimum=1.0, maximum=2.5, step=0.5)
    columns = (category("a", "p", "q"), category("b", "x", "y", "z"), whole("c", -2, 3), step)
    point = st.integers(-4, 6)
    points = {c.name: tuple(draw(st.tuples(*[point] * int(c.n_values or 0)))) for c in columns}
    named = {name: points[name] for name in draw(st.sets(st.sampled_from("abcd"), min_size=1))}
    conditions = {
        "a": st.sampled_from([("p",), ("q",)]),
        "b": st.sampled_from([("x",), ("x", "z"), ("y", "z")]),
        "c": st.sampled_from([(-2.0, 0.0), (1.0, 3.0), (0.0, 0.0)]),
        "d": st.sampled_from([(1.0, 1.5), (2.0, 2.5)]),
    }
    effects = [
        Effect(f"effect {i}", "", {name: draw(conditions[name]) for name in draw(st.sets(st.sampled_from("abcd")))}, 5)
        for i in range(draw(st.integers(0, 3)))
    ]
    return PointRule(Schema(columns), named, draw(st.integers(-5, 15)), tuple(effects))


@given(small_rules(), st.sampled_from([("a",), ("b",), ("c",), ("d",), ("a", "b"), ("a", "c", "d")]))
def test_counting_by_convolution_is_enumeration(rule: PointRule, protected: tuple[str, ...]) -> None:
    domain = Domain(rule.schema, Scope(protected))
    assert rule.count(protected) == (enumerate_share(rule, domain), domain.n_individuals)


def test_a_rule_counted_by_hand() -> None:
    sex = category("sex", "F", "M")
    hours = whole("hours", 0, 9)
    rule = PointRule(
        Schema((sex, hours)),
        {"hours": ladder(hours, {0: 0, 5: 10})},
        cut=10,
        effects=(Effect("penalty", "", {"sex": ("F",), "hours": (5, 7)}, -1),),
    )
    assert rule.count(["sex"]) == (3, 10)
    assert rule.without(effects=["penalty"]).count(["sex"]) == (0, 10)
    assert rule.count(["hours"]) == (2, 2)


@by_name
def test_each_effect_shows_in_the_labels(table: CausalModel) -> None:
    truth = find_sample(table.name).read_truth()
    for effect in truth["planted"]:
        assert effect["n_rows_inside"] >= 0.05 * truth["n_rows"]
        assert effect["favourable_share_inside"] < effect["favourable_share_outside"] - 0.05
    assert truth["agreement_of_labels_with_rule"] > 0.9


def test_attributes_without_an_effect_change_no_decision() -> None:
    n_checked = 0
    for table in TABLES:
        for name in table.no_effect:
            assert table.rule.count([name])[0] == 0
            n_checked += 1
    assert n_checked == 2


def test_sex_leaves_no_trace_in_credit() -> None:
    rows = CREDIT.draw(100_000, np.random.Generator(np.random.PCG64(1)))
    names = CREDIT.rule.schema.names
    sex = rows[:, names.index("sex")]
    others = np.delete(rows, names.index("sex"), axis=1)
    correlations = [abs(np.corrcoef(sex, column)[0, 1]) for column in others.T]
    assert max(correlations) < 0.0125  # four standard errors


@pytest.mark.parametrize(
    ("name", "cause", "proxy"),
    [
        ("census_income", "sex", "occupation"),
        ("census_income", "sex", "hours_per_week"),
        ("census_income", "race", "education_years"),
        ("credit", "age", "employment_years"),
        ("marketing", "age", "balance_thousands"),
        ("recidivism", "race", "earlier_offences"),
    ],
)
def test_proxies_carry_their_cause(name: str, cause: str, proxy: str) -> None:
    table = next(table for table in TABLES if table.name == name)
    rows = table.draw(20_000, np.random.Generator(np.random.PCG64(2)))
    names = table.rule.schema.names
    causes = rows[:, names.index(cause)]
    proxies = rows[:, names.index(proxy)]
    assert largest_gap(causes, proxies) > 0.1
    assert largest_gap(causes, np.random.default_rng(3).permutation(proxies)) < 0.05


def largest_gap(causes: np.ndarray, proxies: np.ndarray) -> float:
    """Largest difference of a half, or a category, of the cause from the rest: the share with one value, or above
    it.
    """
    values = np.unique(causes)
    levels = np.unique(proxies)
    groups = [causes == value for value in values] if len(values) < 10 else [causes < np.median(causes)]
    claims = [*(proxies == level for level in levels), *(proxies > level for level in levels)]
    return max(abs(is_so[group].mean() - is_so[~group].mean()) for group in groups for is_so in claims)


def test_the_subtle_group_of_marketing_hides_from_single_attributes() -> None:
    rows, labels = MARKETING.sample()
    names = MARKETING.rule.schema.names
    age, sex, origin = (rows[:, names.index(name)] for name in ("age", "sex", "born_in"))
    middle = (age >= 40) & (age <= 59)
    male = sex == 1
    two_origins = np.isin(origin, (0, 2))
    inside = middle & male & two_origins
    gap = labels[~inside].mean() - labels[inside].mean()
    assert inside.mean() > 0.05
    for single in (male, two_origins):
        assert labels[~single].mean() - labels[single].mean() < gap / 2
    assert find_sample("marketing").read_truth()["planted"][0]["n_rows_inside"] == inside.sum()


def test_the_truth_of_the_comments_is_that_of_enumeration() -> None:
    shares = {entry["terms"]: entry for entry in find_sample("comments").read_truth()["shares"]}
    every = list(comments.every_comment())
    assert len({comment.text("gay") for comment in every}) == len(every)
    for kind, terms in comments.TERMS.items():
        found = 0
        for comment in every:
            texts = [comment.text(term) for term in terms]
            points = [
                (6 if any(c in text for c in comments.TONES["rude"][1]) else 0)
                + (2 if any(c in text for c in comments.TONES["critical"][1]) else 0)
                + (3 if "gay" in text or "Muslim" in text else 0)
                for text in texts
            ]
            found += len({p >= 5 for p in points}) > 1
        assert (shares[kind]["n_discriminatory"], shares[kind]["n_individuals"]) == (found, len(every))


def test_the_comments_read_back_and_show_the_effect() -> None:
    sample = find_sample("comments")
    assert sample.text_column == "comment"
    assert Schema.read(sample.schema) == comments.SCHEMA
    frame = read_table(sample.data).frame.astype("string")
    critical = frame[frame["comment"].str.contains("|".join(comments.TONES["critical"][1]), regex=True)]
    planted = critical["comment"].str.contains(r"\b(?:gay|Muslim)\b", regex=True)
    is_removed = critical["moderation"] == "removed"
    assert is_removed[planted].mean() > 0.5
    assert is_removed[~planted].mean() < 0.05


def test_every_truth_file_says_what_is_planted_in_words() -> None:
    for sample in list_samples():
        truth = json.loads(sample.truth.read_text(encoding="utf-8"))
        assert truth["known"] == sample.known
        assert truth["equations"]
        assert truth["planted"]


def test_rules_refuse_what_does_not_fit() -> None:
    sex = category("sex", "F", "M")
    with pytest.raises(ValueError, match="2 values"):
        PointRule(Schema((sex,)), {"sex": (1, 2, 3)}, 1)
    rule = PointRule(Schema((sex,)), {}, 1, (Effect("e", "", {"sex": ("female",)}, 1),))
    with pytest.raises(ValueError, match="no category"):
        rule.count(["sex"])
    continuous = Column("x", Kind.REAL, minimum=0.0, maximum=1.0)
    with pytest.raises(ValueError, match="continuous"):
        PointRule(Schema((sex, continuous)), {}, 1).count(["sex"])
