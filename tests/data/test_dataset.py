"""From a table and a schema to rows of the engine; what is kept out is counted and said."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairness_engine.data.dataset import Dataset, fold_labels, group_sizes, make_dataset, widen_to_data
from fairness_engine.data.inference import infer_schema, suggest_protected
from fairness_engine.data.label import favourable_class
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.summary import describe_columns, range_text
from fairness_engine.data.table import read_table
from fairness_engine.errors import DataError, SchemaError

AGE = Column("age", Kind.INTEGER, minimum=18, maximum=90)
SEX = Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male"))
JOB = Column("job", Kind.CATEGORICAL, codes=("clerk", "nurse"), labels=("clerk", "nurse"))
RATE = Column("rate", Kind.REAL, minimum=0.0, maximum=1.0)
PEOPLE = Schema((AGE, SEX, JOB, RATE), label="out", favourable=1, protected=("sex",))
FILE = """out,rate,job,sex,age,extra
1,0.5,nurse,1,30,x
0,0.25,clerk,0,41,y
1,1,clerk,1.0,18,z
"""


def dataset_of(text: str, schema: Schema = PEOPLE) -> Dataset:
    return make_dataset(read_table(text.encode(), "people.csv"), schema)


def test_rows_are_in_the_schemas_order_whatever_the_files() -> None:
    dataset = dataset_of(FILE)
    assert dataset.rows.tolist() == [[30, 1, 1, 0.5], [41, 0, 0, 0.25], [18, 1, 0, 1.0]]
    assert dataset.rows.dtype == np.float64
    assert dataset.labels is not None
    assert dataset.labels.tolist() == [1, 0, 1]
    assert (dataset.classes, dataset.favourable_class) == (("0", "1"), 1)
    assert dataset.kept.tolist() == [0, 1, 2]
    assert (dataset.n_dropped, dataset.problems) == (0, ())


def test_without_a_label() -> None:
    dataset = dataset_of(FILE, replace(PEOPLE, label=None, favourable=None))
    assert (dataset.labels, dataset.classes, dataset.favourable_class) == (None, (), None)


def test_missing_cells_are_counted_and_said() -> None:
    dataset = dataset_of(FILE + "1,,nurse,1,30,x\n1,0.5,?,1,30,x\n?,0.5,nurse,0,NA,x\n,0.5,nurse,0,30,x\n")
    assert dataset.kept.tolist() == [0, 1, 2]
    assert dataset.n_dropped == 4
    assert dataset.n_unknown == {"age": 1, "sex": 0, "job": 1, "rate": 1, "out": 2}
    assert "4 of 7 rows have a missing cell ('?', empty or 'NA')" in dataset.problems[0]
    assert "leave these rows out, but 2 of them can count" in dataset.problems[0], "two miss the label"
    assert dataset.incomplete is not None
    assert dataset.incomplete.kept.tolist() == [3, 4]
    only_labels = dataset_of(FILE + "?,0.5,nurse,0,30,x\n")
    assert "leave these rows out. Complete them" in only_labels.problems[0]
    assert only_labels.incomplete is None
    assert dataset.missing == {"age": {"NA": 1}, "job": {"?": 1}, "rate": {"": 1}, "out": {"": 1, "?": 1}}
    assert "column 'out' has 2" in dataset.problems[0]


def test_a_question_mark_is_a_category_when_the_schema_lists_it() -> None:
    job = Column("job", Kind.CATEGORICAL, codes=("?", "clerk", "nurse"), labels=("unknown", "clerk", "nurse"))
    dataset = dataset_of(FILE + "1,0.5,?,1,30,x\n", replace(PEOPLE, columns=(AGE, SEX, job, RATE)))
    assert dataset.rows[:, 2].tolist() == [2, 1, 1, 0]
    assert dataset.n_dropped == 0


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "1,0.5,pilot,1,30,x",
            "Column 'job' must hold one of its categories (clerk, nurse), got 'pilot' in line 5; 1 row is",
        ),
        ("1,0.5,nurse,2,30,x", "Column 'sex' must hold one of its categories (0, 1), got '2' in line 5"),
        ("1,0.5,nurse,one,30,x", "Column 'sex' must hold one of its categories (0, 1), got 'one' in line 5"),
        ("1,0.5,nurse,1,17,x", "Column 'age' must lie from 18 to 90, got '17' in line 5"),
        ("1,0.5,nurse,1,30.5,x", "Column 'age' must hold whole numbers, got '30.5' in line 5"),
        ("1,0.5,nurse,1,abc,x", "Column 'age' must hold whole numbers, got 'abc' in line 5"),
        ("1,1.5,nurse,1,30,x", "Column 'rate' must lie from 0 to 1, got '1.5' in line 5"),
        ("1,inf,nurse,1,30,x", "Column 'rate' must hold finite numbers, got 'inf' in line 5"),
        ("1,1e400,nurse,1,30,x", "Column 'rate' must hold finite numbers, got '1e400' in line 5"),
        ("1,half,nurse,1,30,x", "Column 'rate' must hold numbers, got 'half' in line 5"),
    ],
)
def test_a_cell_outside_its_domain_keeps_the_row_out_and_is_said(row: str, says: str) -> None:
    dataset = dataset_of(FILE + row + "\n1,0.5,nurse,1,30,x\n")
    assert dataset.kept.tolist() == [0, 1, 2, 4]
    assert dataset.n_dropped == 1
    assert len(dataset.problems) == 1
    assert dataset.problems[0].startswith(says)


def test_long_cells_are_shortened_and_rows_counted() -> None:
    dataset = dataset_of(FILE + f"1,0.5,{'p' * 99},1,30,x\n" * 3)
    assert "'" + "p" * 37 + "...' in line 5; 3 rows are left out" in dataset.problems[0]


def test_many_bad_columns_are_summed_up() -> None:
    columns = tuple(Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=1) for i in range(30))
    text = ",".join(c.name for c in columns) + "\n" + ",".join("5" * 30) + "\n" + ",".join("1" * 30) + "\n"
    problems = dataset_of(text, Schema(columns)).problems
    assert len(problems) == 21
    assert problems[-1].startswith("10 more columns")


def test_no_row_left_is_refused_with_the_reason() -> None:
    with pytest.raises(DataError, match=r"got none.*lie from 18 to 90, got '5'"):
        dataset_of("out,rate,job,sex,age\n1,0.5,nurse,1,5\n0,0.5,nurse,1,6\n")


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("out,rate,job,sex,Age", "Did you mean 'Age'?"),
        ("out,rate,job,sex,zzz", "It has: out, rate"),
        ("res,rate,job,sex,age", "'out'"),
    ],
)
def test_a_missing_column_is_named(header: str, says: str) -> None:
    with pytest.raises(DataError, match="must have every column of the schema") as caught:
        dataset_of(f"{header}\n1,0.5,nurse,1,30\n")
    assert says in str(caught.value)


def test_ignored_columns_may_be_missing_in_the_file() -> None:
    schema = replace(PEOPLE, columns=(*PEOPLE.columns, Column("id", Kind.IGNORED), Column("note", Kind.TEXT)))
    assert dataset_of(FILE, schema).n_dropped == 0


# --- the label ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "says"),
    [
        ("yes,yes,yes", "at least two outcomes, got only 'yes'"),
        ("?,,?", "got none"),
        (",".join(map(str, range(60))), "got 60 different"),
    ],
)
def test_a_label_that_is_none(outcomes: str, says: str) -> None:
    text = "age,out\n" + "".join(f"30,{outcome}\n" for outcome in outcomes.split(","))
    with pytest.raises(DataError, match=says):
        dataset_of(text, Schema((AGE,), label="out"))


def test_columns_of_any_name_that_are_missing_are_a_short_sentence() -> None:
    for name in ("x" * 10_000, "extra" + "\u200b" * 10_000):
        with pytest.raises(DataError, match="must have every column of the schema") as refused:
            dataset_of(FILE, replace(PEOPLE, columns=(*PEOPLE.columns, replace(AGE, name=name))))
        assert len(str(refused.value)) <= 300


@pytest.mark.parametrize("favourable", [10**400, "9" * 400, "x" * 10_000])
def test_a_favourable_outcome_of_any_length_is_a_short_sentence(favourable: int | str) -> None:
    said = dataset_of(FILE, replace(PEOPLE, favourable=favourable)).problems
    assert ["The favourable outcome must be one of" in sentence for sentence in said] == [True]
    assert len(said[0]) <= 300


@pytest.mark.parametrize(
    ("outcomes", "favourable", "classes", "index"),
    [
        (["10", "9", "2"], 10, ("2", "9", "10"), 2),
        (["1.0", "0.0", "1"], "1", ("0", "1"), 1),
        (["0.5", "1.5", "0.5"], 0.5, ("0.5", "1.5"), 0),
        ([">50K", "<=50K", ">50K"], ">50K", ("<=50K", ">50K"), 1),
        (["b", "a", "1"], "a", ("1", "a", "b"), 1),
        (["b", "a", "a"], None, ("a", "b"), None),
    ],
)
def test_classes_from_the_data(outcomes: list[str], favourable: object, classes: tuple[str, ...], index: int) -> None:
    text = "age,out\n" + "".join(f"30,{outcome}\n" for outcome in outcomes)
    dataset = dataset_of(text, Schema((AGE,), label="out", favourable=favourable))
    assert (dataset.classes, dataset.favourable_class) == (classes, index)


def test_classes_of_the_schema_keep_their_order_and_labels() -> None:
    out = Column("out", Kind.CATEGORICAL, codes=(1, 0), labels=("granted", "refused"))
    dataset = dataset_of(FILE, replace(PEOPLE, columns=(AGE, SEX, JOB, RATE, out)))
    assert (dataset.classes, dataset.favourable_class) == (("granted", "refused"), 0)
    assert dataset.labels is not None
    assert dataset.labels.tolist() == [0, 1, 0]
    assert dataset.rows.shape == (3, 4)


def test_a_favourable_outcome_may_be_named_by_its_label() -> None:
    out = Column("out", Kind.CATEGORICAL, codes=(0, 1), labels=("refused", "granted"))
    assert favourable_class(out, "granted") == 1


def test_an_unknown_favourable_outcome_is_said() -> None:
    dataset = dataset_of(FILE, replace(PEOPLE, favourable=7))
    assert dataset.favourable_class is None
    assert "must be one of '0', '1'" in dataset.problems[-1]


def test_one_outcome_left_of_a_described_label_is_said() -> None:
    out = Column("out", Kind.CATEGORICAL, codes=(0, 1), labels=("refused", "granted"))
    dataset = dataset_of("age,out\n30,1\n31,1\n", Schema((AGE, out), label="out", favourable=1))
    assert "got only 'granted'" in dataset.problems[-1]


def test_labels_with_a_full_stop_are_said_and_folded() -> None:
    text = "age,income\n" + "30,>50K\n31,>50K.\n32,<=50K\n33,<=50K.\n"
    table = read_table(text.encode(), "adult.csv")
    said = make_dataset(table, Schema((AGE,), label="income")).problems
    assert "differ by a full stop or by capitals only" in said[0]
    folded = make_dataset(fold_labels(table, "income"), Schema((AGE,), label="income", favourable=">50K"))
    assert (folded.classes, folded.favourable_class, folded.problems) == (("<=50K", ">50K"), 1, ())
    assert table.frame["income"].tolist()[1] == ">50K."
    with pytest.raises(DataError, match="column 'zz'"):
        fold_labels(table, "zz")


def test_labels_that_differ_by_capitals_are_written_as_most_rows_have_them() -> None:
    table = read_table(b"age,out\n30,Yes\n31,yes\n32,no\n33,Yes.\n34,\n35,NO.\n36,no\n", "out.csv")
    said = make_dataset(table, Schema((AGE,), label="out")).problems
    assert any("'Yes' and 'Yes.' (and 2 more spellings), which differ" in sentence for sentence in said)
    folded = fold_labels(table, "out")
    assert folded.frame["out"].fillna("").tolist() == ["Yes", "Yes", "no", "Yes", "", "no", "no"]
    assert make_dataset(folded, Schema((AGE,), label="out")).classes == ("Yes", "no")


def test_categories_that_differ_by_capitals_are_said_once_and_stay_apart() -> None:
    text = "job,town,hired\n" + 5 * "Clerk,Ulm,1\nclerk,ULM,0\nCLERK,Bonn,1\nnurse,Bonn,0\n"
    table = read_table(text.encode(), "jobs.csv")
    dataset = make_dataset(table, infer_schema(table))
    (said,) = [text for text in dataset.problems if "capitals" in text]
    assert said.startswith("Categories of 'job' (and of 1 more column) differ by capitals only, as in")
    assert "'CLERK' and 'Clerk'" in said
    assert len(set(dataset.rows[:, 0])) == 4
    assert dataset_of("age,out\n30,1\n31,0\n", Schema((AGE,), label="out")).problems == ()


def test_an_input_that_tells_the_label_is_said() -> None:
    rows = "".join(f"{20 + i % 7},{'pn'[i % 2]},{i % 2}\n" for i in range(40))
    schema = Schema((AGE, Column("copy", Kind.CATEGORICAL, codes=("n", "p"), labels=("n", "p"))), label="out")
    problems = dataset_of("age,copy,out\n" + rows, schema).problems
    assert [problem[:14] for problem in problems] == ["Column 'copy' "]


# --- remedies -----------------------------------------------------------------------------


def test_widen_to_data_keeps_all_rows() -> None:
    table = read_table((FILE + "0,2.5,pilot,2,95,x\n0,inf,nurse,one,12.5,x\n").encode(), "people.csv")
    wide = widen_to_data(table, PEOPLE)
    assert make_dataset(table, wide).kept.tolist() == [0, 1, 2, 3]
    assert wide.column("sex").labels == ("Female", "Male", "2")
    assert wide.column("job").codes == ("clerk", "nurse", "pilot")
    assert (wide.column("age").maximum, wide.column("rate").maximum) == (95, 2.5)
    assert (wide.protected, wide.label) == (PEOPLE.protected, PEOPLE.label)
    assert widen_to_data(table, wide) == wide
    with pytest.raises(DataError, match="'age'"):
        widen_to_data(read_table(b"a,b\n1,2\n", "f.csv"), PEOPLE)


# --- what the Data page shows -------------------------------------------------------------


def test_describe_columns() -> None:
    table = read_table((FILE + "1,0.5,?,1,17,\n").encode(), "people.csv")
    by_name = {summary.name: summary for summary in describe_columns(table, PEOPLE)}
    assert list(by_name) == list(table.columns)
    sex, job, age, extra, out = (by_name[name] for name in ("sex", "job", "age", "extra", "out"))
    assert (sex.groups, sex.is_protected, sex.n_categories) == ((("Female", 1), ("Male", 3)), True, 2)
    assert sex.examples == ("Male", "Female", "1.0")
    assert (job.n_missing, job.missing_share, job.range_text) == (1, 0.25, "clerk, nurse")
    assert (age.range_text, age.n_unknown, age.n_missing) == ("18 to 90", 1, 0)
    assert age.problem is not None
    assert age.problem.startswith("Column 'age' must lie")
    assert (extra.kind, extra.n_missing, extra.range_text) == (Kind.IGNORED, 1, "3 different values")
    assert out.is_label


def test_describe_what_ignored_columns_hold() -> None:
    table = read_table(b"a,b,c,d,e\n1,,k,q,1\n2,,k,r,1\n3,,k,r,0\n", "f.csv")
    kinds = [Column(name, Kind.IGNORED) for name in "abcd"]
    many = Column("e", Kind.CATEGORICAL, codes=tuple(range(6)), labels=tuple("uvwxyz"))
    texts = [summary.range_text for summary in describe_columns(table, Schema((*kinds, many)))]
    expected = [
        "a different value in every row",
        "empty",
        "one value only: k",
        "2 different values",
        "u, v, w, x, ... (6)",
    ]
    assert texts == expected


def test_describe_a_step() -> None:
    schema = Schema((Column("a", Kind.REAL, minimum=0, maximum=1, step=0.01),))
    assert describe_columns(read_table(b"a,b\n1,2\n", "f.csv"), schema)[0].range_text == "0 to 1, step 0.01"
    assert range_text(Column("note", Kind.TEXT)) == ""


def test_group_sizes() -> None:
    dataset = dataset_of(FILE + "0,0.5,nurse,?,30,x\n0,0.5,nurse,0,30,x\n")
    sex, job, both = group_sizes(dataset, ("sex", "job"))
    assert (sex.protected, sex.n_unknown) == (("sex",), 1)
    assert [(g.labels, g.n, g.share, g.favourable_share) for g in sex.groups] == [
        (("Female",), 2, 0.5, 0.0),
        (("Male",), 2, 0.5, 1.0),
    ]
    assert [group.n for group in job.groups] == [2, 2]
    assert both.protected == ("sex", "job")
    assert [(group.labels, group.n) for group in both.groups] == [
        (("Female", "clerk"), 1),
        (("Female", "nurse"), 1),
        (("Male", "clerk"), 1),
        (("Male", "nurse"), 1),
    ]
    with pytest.raises(SchemaError, match="'zz'"):
        group_sizes(dataset, ("zz",))


def test_groups_without_rows_are_listed_and_have_no_rate() -> None:
    dataset = dataset_of("out,rate,job,sex,age\n1,0.5,nurse,1,30\n0,0.5,nurse,1,30\n")
    female = group_sizes(dataset, ("sex",))[0].groups[0]
    assert (female.labels, female.n, female.favourable_share) == (("Female",), 0, None)


def test_groups_of_a_number_are_values_or_quintiles() -> None:
    lines = "".join(f"{18 + i % 50},{i % 3}\n" for i in range(500))
    few = Column("few", Kind.INTEGER, minimum=0, maximum=9)
    dataset = dataset_of("age,few\n" + lines, Schema((AGE, few)))
    age, values = group_sizes(dataset, ("age", "few"))[:2]
    assert [group.labels[0] for group in values.groups] == ["0", "1", "2"]
    assert [group.labels[0] for group in age.groups] == ["18 to 27", "28 to 37", "38 to 47", "48 to 57", "58 to 67"]
    assert [group.n for group in age.groups] == [100] * 5
    assert age.groups[0].favourable_share is None


def test_groups_of_a_number_that_is_mostly_one_value() -> None:
    lines = "".join(f"{18 if i < 480 else 19 + i % 20}\n" for i in range(500))
    groups = group_sizes(dataset_of("age\n" + lines, Schema((AGE,))), ("age",))[0].groups
    assert [(group.labels[0], group.n) for group in groups] == [("18", 480), ("19 to 38", 20)]


def test_many_combinations_list_only_groups_with_rows() -> None:
    columns = tuple(
        Column(name, Kind.CATEGORICAL, codes=tuple(range(9)), labels=tuple("abcdefghi")) for name in ("p", "q")
    )
    both = group_sizes(dataset_of("p,q\n1,2\n1,2\n8,8\n", Schema(columns)), ("p", "q"))[-1]
    assert [(group.labels, group.n) for group in both.groups] == [(("b", "c"), 2), (("i", "i"), 1)]


# --- any dataset comes back ---------------------------------------------------------------

CODES = st.one_of(
    st.lists(st.integers(-99, 99), min_size=1, max_size=5, unique=True),
    st.lists(st.text(alphabet="abc <>-é", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=5, unique=True),
)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from([Kind.CATEGORICAL, Kind.INTEGER, Kind.REAL]))
    if kind is Kind.CATEGORICAL:
        codes = tuple(draw(CODES))
        return Column(name, kind, codes=codes, labels=tuple(f"label {i}" for i in range(len(codes))))
    low = draw(st.integers(-1000, 1000))
    return Column(name, kind, minimum=low, maximum=low + draw(st.integers(0, 1000)))


@settings(max_examples=60)
@given(st.data(), st.sampled_from([",", ";", "\t"]))
def test_any_rows_come_back(data: st.DataObject, delimiter: str) -> None:
    schema = Schema(tuple(data.draw(columns(f"column-{i}")) for i in range(data.draw(st.integers(2, 4)))))
    values = [
        [
            data.draw(st.integers(int(c.low), int(c.high)) if c.kind is not Kind.REAL else st.floats(c.low, c.high))
            for c in schema.inputs
        ]
        for _ in range(data.draw(st.integers(1, 5)))
    ]
    order = data.draw(st.permutations(range(len(schema.inputs))))
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow([schema.names[i] for i in order])
    writer.writerows([[schema.inputs[i].code(row[i]) for i in order] for row in values])
    dataset = make_dataset(read_table(file.getvalue().encode(), "f.csv"), schema)
    np.testing.assert_array_equal(dataset.rows, np.array(values, dtype=float))


# --- files of the project, and real ones ----------------------------------------------------


@pytest.mark.parametrize("name", ["census_income", "credit", "marketing", "recidivism", "comments"])
def test_sample_data_with_and_without_their_schemas(root: Path, name: str) -> None:
    table = read_table(root / "sample_data" / f"{name}.csv")
    given = make_dataset(table, Schema.read(root / "sample_data" / f"{name}.schema.json"))
    assert (given.n_dropped, given.problems) == (0, ())
    inferred = infer_schema(table)
    assert inferred.label == given.schema.label
    assert make_dataset(table, inferred).n_dropped == 0
    if name != "comments":
        assert inferred.favourable == given.schema.favourable
        assert set(given.schema.protected) <= set(suggest_protected(inferred))


PEER_DROPPED = {"german__fairify_fairquant": 154}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "n_rows"),
    [
        ("adult__fairify_fairquant", 45222),
        ("adult__maft_eidig", 48842),
        ("bank_additional__fairify_fairquant", 30488),
        ("compas__fairquant", 6172),
        ("german__fairify_fairquant", 1000),
        ("german__maft_eidig", 1000),
        ("heart__maft", 297),
    ],
)
def test_published_encoded_files(shared: Path, name: str, n_rows: int) -> None:
    table = read_table(shared / "data" / "peer" / f"{name}.csv")
    schema = Schema.read(shared / "data" / "peer" / f"{name}.schema.json")
    dataset = make_dataset(table, schema)
    assert dataset.n_dropped == PEER_DROPPED.get(name, 0)
    assert len(dataset.rows) + dataset.n_dropped == n_rows
    assert len(dataset.problems) == (1 if dataset.n_dropped else 0)
    assert dataset.favourable_class is not None
    assert make_dataset(table, widen_to_data(table, schema)).n_dropped == 0


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "label", "favourable", "n_rows"),
    [
        ("adult", "income", ">50K", 45222),
        ("bank_additional", "y", "yes", 41188),
        ("communities_crime", "high_crime", "low", 1993),
        ("compas", "two_year_recid", "no", 6900),
        ("german", "credit_risk", "good", 1000),
        ("heart", "disease", "absent", 297),
        ("law_school", "pass_bar", "passed", 20466),
        ("toxicity_madlibs", "label", "nontoxic", 71158),
    ],
)
def test_real_files_without_a_schema(shared: Path, name: str, label: str, favourable: str, n_rows: int) -> None:
    table = read_table(shared / "data" / "raw" / name / "data.csv")
    schema = infer_schema(table)
    dataset = make_dataset(table, schema)
    assert (schema.label, schema.favourable, len(dataset.rows)) == (label, favourable, n_rows)
