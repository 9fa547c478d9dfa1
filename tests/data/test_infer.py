"""What a table is guessed to hold, and how a guess is corrected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fairness_engine.data.corrections import (
    change_kind,
    change_label,
    order_outcomes,
    rename_label_text,
    replace_column,
    set_case_id,
)
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import (
    guess_favourable,
    infer_schema,
    known_favourable,
    suggest_protected,
    why_left_out,
)
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import DataError, SchemaError


def table_of(**columns: Sequence[object]) -> Table:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(str(cell) for cell in row) for row in rows)]
    return read_table("\n".join(lines).encode(), "f.csv")


def column_of(values: Sequence[object], name: str = "x") -> Column:
    table = table_of(**{name: values, "filler": [i % 3 for i in range(len(values))]})
    return next(column for column in infer_schema(table).columns if column.name == name)


@pytest.mark.parametrize("codes", [[2**53 + i for i in range(3)], [900719925474099267 + i for i in range(6)]])
def test_codes_that_no_float_tells_apart_are_categories(codes: list[int]) -> None:
    """Two of three codes were one group; six were one value, left out."""
    values = [codes[i % len(codes)] for i in range(60)]
    column = column_of(values)
    assert (column.kind, column.codes) == (Kind.CATEGORICAL, tuple(str(code) for code in codes))
    table = table_of(x=values, y=[i % 7 for i in range(60)])
    rows = make_dataset(table, infer_schema(table)).rows
    assert rows[:, 0].tolist() == [i % len(codes) for i in range(60)]
    assert column_of([10**17 * i for i in range(60)]).kind is not Kind.CATEGORICAL, "told apart"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1, 2, 2, 9, 4], Kind.INTEGER),
        (["3.0", "1.0", "2.0", "2.0", "9.0", "4.0"], Kind.INTEGER),
        ([0.5, 1, 2, 2, 3, 3], Kind.REAL),
        ([1e300, 1, 2, 2, 3, 3], Kind.REAL),
        (["a", "b", "a", "a", "b", "c"], Kind.CATEGORICAL),
        ([0, 1, 1, 0, 0, 1], Kind.CATEGORICAL),
        (["0", "1", "2", "3+", "1", "0"], Kind.CATEGORICAL),
        (["01234", "09999", "01234", "01234", "09999", "10000"], Kind.CATEGORICAL),
        (["True", "False", "True", "True", "False", "True"], Kind.CATEGORICAL),
        ([7, 7, 7, 7, 7, 7], Kind.IGNORED),
        (["x", "x", "x", "x", "x", "x"], Kind.IGNORED),
        (["", "", "", "", "x", "y"], Kind.IGNORED),
        (["?", "?", "?", "1", "2", "3"], Kind.IGNORED),
        (["q1", "q2", "q3", "q4", "q5", "q6"], Kind.IGNORED),
        ([f"a long text of number {i}" for i in range(6)], Kind.TEXT),
        ([f"w{i // 2}" for i in range(100)], Kind.TEXT),
        (list(range(100, 160)), Kind.IGNORED),
        ([f"{i}e307" for i in range(-17, 18)], Kind.IGNORED),
        ([f"{i % 7}e307" for i in range(35)], Kind.REAL),
        ([5, 3, 8, 1, 9, 200], Kind.INTEGER),
        ([f"90071992547409{i}17" for i in (50, 30, 41, 99, 12, 77)], Kind.IGNORED),
    ],
)
def test_kinds(values: list[object], kind: Kind) -> None:
    assert column_of(values).kind is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [("id", Kind.IGNORED), ("customerId", Kind.IGNORED), ("row_nr", Kind.IGNORED), ("paid", Kind.INTEGER)],
)
def test_unique_numbers_are_ignored_when_called_an_id(name: str, kind: Kind) -> None:
    assert column_of([5, 3, 8, 1, 9, 200], name).kind is kind


def test_the_part_of_the_data_is_ignored() -> None:
    assert column_of(["train", "test", "train", "train"], "split").kind is Kind.IGNORED
    assert column_of(["train", "test", "train", "train"], "wagon").kind is Kind.CATEGORICAL


def test_ranges_and_categories_are_the_datas() -> None:
    number = column_of([31, 17, 90, 31])
    assert (number.minimum, number.maximum, number.step) == (17, 90, None)
    label = column_of(["nurse", "clerk", "?", "nurse"])
    assert label.codes == label.labels == ("clerk", "nurse")
    coded = column_of(["1", "0", "1.0", "0"])
    assert (coded.codes, coded.labels) == ((0, 1), ("0", "1"))


def test_missing_words_in_numbers_and_slips() -> None:
    ages: list[object] = [20 + i % 40 for i in range(60)]
    assert column_of([*ages, "NA", "nan", "", "?"]).kind is Kind.INTEGER
    assert column_of([*ages, "abc"]).kind is Kind.INTEGER
    assert column_of([*ages, *["abc"] * 10]).kind is Kind.TEXT
    assert column_of([*ages, "inf", "1e400"]).maximum == 59


def test_none_survives_as_a_category_and_na_does_not() -> None:
    column = column_of(["None", "NA", "clerk", "None", "-"])
    assert (column.codes, column.missing) == (("None", "clerk"), ("-", "NA"))


def test_two_outcomes_are_not_one_and_its_absence() -> None:
    column = column_of(["+", "-", "-", "+"])
    assert (column.codes, column.missing) == (("+", "-"), ())


@pytest.mark.parametrize(
    ("columns", "label", "favourable"),
    [
        ({"age": [1, 2, 3, 5], "income": ["<=50K", ">50K", "<=50K", ">50K"]}, "income", ">50K"),
        ({"income": ["<=50K.", ">50K.", "<=50K.", ">50K."], "age": [1, 2, 3, 5]}, "income", ">50K."),
        ({"age": [1, 2, 3, 5], "y": ["no", "yes", "no", "no"]}, "y", "yes"),
        ({"age": [1, 2, 3, 5], "two_year_recid": ["no", "yes", "no", "no"]}, "two_year_recid", "no"),
        ({"age": [1, 2, 3, 5], "credit_risk": ["good", "bad", "bad", "good"]}, "credit_risk", "good"),
        ({"age": [1, 2, 3, 5], "default": [0, 1, 1, 0]}, "default", 0),
        ({"age": [1, 2, 3, 5], "flag": [0, 1, 1, 0]}, "flag", 1),
        ({"age": [1, 2, 3, 5], "grade": [1, 3, 2, 3]}, "grade", 1),
        ({"age": [1, 2, 3, 5], "level": ["u", "w", "v", "w"]}, "level", "w"),
        ({"class": ["a", "b", "a", "b"], "age": [1, 2, 3, 5], "survived": [0, 1, 1, 1]}, "survived", 1),
        ({"hours": [1, 2, 3, 5], "level": ["u", "w", "v", "w"], "sex": ["f", "m", "f", "m"]}, "level", "w"),
        ({"hours": [1.5, 2.5, 3.5, 5.5], "rate": [0.1, 0.2, 0.3, 0.4], "race": ["a", "b", "a", "b"]}, None, None),
        ({"age": [1, 2, 3, 5], "label": ["y", "y", "y", "y"]}, None, None),
        ({"age": [1, 2, 3, 5]}, None, None),
        ({"age": [0.1, 0.2, 0.3, 0.5], "size": [0.1, 0.2, 0.3, 0.6]}, None, None),
    ],
)
def test_the_label_and_the_favourable_outcome(columns: dict[str, list[object]], label: str, favourable: object) -> None:
    schema = infer_schema(table_of(**columns))
    assert (schema.label, schema.favourable) == (label, favourable)


def test_a_label_of_numbers_has_classes() -> None:
    column = next(c for c in infer_schema(table_of(age=[1, 2, 3, 5], grade=[1, 3, 2, 3])).columns if c.name == "grade")
    assert (column.kind, column.codes) == (Kind.CATEGORICAL, (1, 2, 3))


def test_protected_suggestions_in_order() -> None:
    names = [
        "packages",
        "marital-status",
        "AgeInYears",
        "racePctWhite",
        "stage",
        "gender",
        "percentage",
        "native.country",
    ]
    columns = tuple(Column(name, Kind.INTEGER, minimum=0, maximum=9) for name in names)
    expected = ("gender", "racePctWhite", "AgeInYears", "marital-status", "native.country")
    assert suggest_protected(Schema(columns)) == expected


def test_a_table_of_ignored_columns_keeps_them() -> None:
    columns = infer_schema(table_of(a=["x", "x"], b=[7, 7], c=[0.5, 0.5])).columns
    assert [column.kind for column in columns] == [Kind.CATEGORICAL, Kind.INTEGER, Kind.REAL]


def test_nothing_to_describe_is_a_sentence() -> None:
    with pytest.raises(SchemaError, match="at least one column"):
        infer_schema(read_table(b"a,b\n?,\n,?\n", "f.csv"))


def test_guess_without_a_known_word_is_the_last() -> None:
    assert guess_favourable(Column("z", Kind.CATEGORICAL, codes=("p", "q"), labels=("p", "q"))) == "q"


# --- what is left out, and why --------------------------------------------------------------


@pytest.mark.parametrize(
    "dates",
    [
        [f"2022-01-{i:02d}" for i in range(1, 29)],
        [f"2022-01-{i:02d} 10:{i:02d}:00" for i in range(1, 29)],
        [f"2022-01-{i:02d}T10:{i:02d}:00.5+01:00" for i in range(1, 29)],
        [f"{i}.1.2022" for i in range(1, 29)],
        [f"{i:02d}.01.22 08:15" for i in range(1, 29)],
        [f"01/{i:02d}/2022" for i in range(1, 29)],
        [f"{i:02d}/01/2022 1:05 PM" for i in range(1, 29)],
        [f"{i}. Januar 2022" for i in range(1, 29)],
        [f"{i}-Jan-2022" for i in range(1, 29)],
        [f"2022/1/{i}" for i in range(1, 29)],
    ],
)
def test_dates_are_left_out_with_a_reason(dates: list[str]) -> None:
    table = table_of(when=dates * 3, age=[20 + i % 30 for i in range(84)])
    schema = infer_schema(table)
    assert "when" not in schema.names
    assert why_left_out(table, schema) == {"when": "dates, 28 different"}
    assert schema.case_id is None


@pytest.mark.parametrize(
    "cells",
    [[f"{i}.5" for i in range(30)], [f"192.168.1.{i}" for i in range(30)] * 9, [1990 + i for i in range(30)] * 2],
)
def test_what_only_looks_like_a_date_is_none(cells: list[object]) -> None:
    table = table_of(when=cells, age=[20 + i % 30 for i in range(len(cells))])
    assert not why_left_out(table, infer_schema(table)).get("when", "").startswith("dates")


def test_compact_dates_are_known_by_their_name() -> None:
    cells = [20220100 + i for i in range(1, 29)] * 3
    table = table_of(Antragsdatum=cells, betrag=cells, age=[20 + i % 30 for i in range(84)])
    assert list(why_left_out(table, infer_schema(table))) == ["Antragsdatum"]


@pytest.mark.parametrize(
    ("name", "cells", "is_id"),
    [
        ("Antrags-ID", [f"A-{1000 + 7 * i}" for i in range(40)], True),
        ("anything", [f"A-{1000 + 7 * i}" for i in range(40)], True),
        ("Kundennummer", [(7919 * i) % 100_003 for i in range(1, 41)], True),
        ("numéro_de_dossier", [(7919 * i) % 100_003 for i in range(1, 41)], True),
        ("Kundennummer", [i % 5 for i in range(40)], False),
        ("Betrag", [(7919 * i) % 100_003 for i in range(1, 41)], False),
        ("Stufe", [f"A-{i % 4}" for i in range(40)], False),
    ],
)
def test_what_names_a_case_is_the_id_and_no_input(name: str, cells: list[object], is_id: bool) -> None:
    fillers = {each: [0.1 + i % 30 for i in range(40)] for each in ("a", "b", "c")}
    table = table_of(**{name: cells}, age=[20 + i % 30 for i in range(40)], **fillers)
    schema = infer_schema(table)
    assert (schema.case_id == name) is is_id
    assert (name in schema.names) is not is_id
    dataset = make_dataset(table, schema)
    if is_id:
        assert why_left_out(table, schema)[name] == "ids, 40 different"
        assert dataset.ids is not None
        assert dataset.ids.tolist() == [str(cell) for cell in cells]
    else:
        assert dataset.ids is None


def test_the_id_of_a_row_goes_with_it() -> None:
    ages = ["?" if i % 3 == 0 else 20 + i % 9 for i in range(40)]
    table = table_of(nr=[f"K{i}" for i in range(40)], age=ages, a=[0.1 + i % 30 for i in range(40)])
    dataset = make_dataset(table, infer_schema(table))
    assert dataset.ids is not None
    assert dataset.ids.tolist() == [f"K{i}" for i in range(40) if i % 3]
    chosen = set_case_id(table, infer_schema(table), None)
    assert make_dataset(table, chosen).ids is None
    with pytest.raises(DataError, match="'zz'"):
        set_case_id(table, chosen, "zz")


def test_an_id_is_no_input_and_comes_back_as_one() -> None:
    schema = set_case_id(MIXED, infer_schema(MIXED).with_protected(["age", "job"]), "age")
    assert (schema.case_id, schema.protected) == ("age", ("job",))
    assert make_dataset(MIXED, schema).ids is not None
    back = change_kind(MIXED, schema, "age", Kind.INTEGER)
    assert (back.case_id, back.column("age")) == (None, infer_schema(MIXED).column("age"))
    with pytest.raises(SchemaError, match="is the label"):
        set_case_id(MIXED, schema, "out")


# --- words of six languages -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "outcomes", "good"),
    [
        ("bewilligt", ["ja", "nein"], "ja"),
        ("Bewilligt", ["NEIN", "JA"], "JA"),
        ("Entscheidung", ["bewilligt", "abgelehnt"], "bewilligt"),
        ("entscheidung", ["gewaehrt", "verweigert"], "gewaehrt"),
        ("kreditausfall", ["ja", "nein"], "nein"),
        ("Rückfällig", ["ja", "nein"], "nein"),
        ("Bonität", ["gut", "schlecht"], "gut"),
        ("décision", ["accepté", "refusé"], "accepté"),
        ("decision", ["accepte", "refuse"], "accepte"),
        ("défaut", ["oui", "non"], "non"),
        ("resultado", ["sí", "no"], "sí"),
        ("impago", ["si", "no"], "no"),
        ("beslissing", ["goedgekeurd", "afgewezen"], "goedgekeurd"),
        ("wanbetaling", ["ja", "nee"], "nee"),
        ("esito", ["approvato", "respinto"], "approvato"),
        ("insolvenza", ["sì", "no"], "no"),
    ],
)
def test_outcomes_in_six_languages(label: str, outcomes: list[str], good: str) -> None:
    table = read_table("\n".join([f"{label},alter", *(f"{outcomes[i % 2]},{20 + i % 30}" for i in range(40))]).encode())
    schema = infer_schema(table)
    assert (schema.label, schema.favourable) == (label, good)


def test_without_a_word_nothing_is_known_of_the_outcomes() -> None:
    assert known_favourable(Column("z", Kind.CATEGORICAL, codes=("p", "q"), labels=("p", "q"))) is None


def test_protected_attributes_in_six_languages() -> None:
    rows = [
        ("Geschlecht", "Herkunft", "Alter", "Staatsangehörigkeit", "Familienstand", "Schwerbehinderung"),
        ("GESCHLECHT", "Ethnie", "alter_in_jahren", "Staatsangehoerigkeit", "Konfession", "Staatsbürgerschaft"),
        ("sexe", "origine", "âge", "nationalité", "état civil", "religion"),
        ("sexo", "raza", "Edad", "nacionalidad", "estado_civil", "discapacidad"),
        ("geslacht", "afkomst", "leeftijd", "nationaliteit", "godsdienst", "burgerlijke staat"),
        ("sesso", "etnia", "età", "cittadinanza", "stato_civile", "disabilità"),
    ]
    for names in rows:
        columns = tuple(Column(name, Kind.INTEGER, minimum=0, maximum=9) for name in reversed(names))
        found = suggest_protected(Schema(columns))
        assert found[:3] == names[:3]
        assert set(found) == set(names)
    harmless = (
        "alternative",
        "Verwalter",
        "Einkommen",
        "Laufzeit",
        "stage",
        "percentage",
        "Gläubiger",
        "montant",
        "renta",
    )
    columns = tuple(Column(name, Kind.INTEGER, minimum=0, maximum=9) for name in harmless)
    assert suggest_protected(Schema(columns)) == ()


# --- corrections --------------------------------------------------------------------------

MIXED = table_of(
    age=[31, 45, 28, 60],
    rate=[0.5, 1.5, 0.5, 2.5],
    job=["a", "b", "a", "3"],
    text=["u v", "w x", "y z", "q r"],
    out=[0, 1, 1, 0],
)


def kind_after(name: str, kind: Kind) -> Column:
    schema = change_kind(MIXED, infer_schema(MIXED), name, kind)
    return next(column for column in schema.columns if column.name == name)


def test_change_kind_takes_the_domain_from_the_data() -> None:
    assert kind_after("age", Kind.CATEGORICAL).codes == (28, 31, 45, 60)
    assert kind_after("rate", Kind.CATEGORICAL).codes == (0.5, 1.5, 2.5)
    assert kind_after("job", Kind.CATEGORICAL).codes == ("3", "a", "b")
    assert kind_after("age", Kind.REAL).maximum == 60
    assert kind_after("age", Kind.IGNORED) == Column("age", Kind.IGNORED, minimum=28, maximum=60, was=Kind.INTEGER)
    assert kind_after("text", Kind.TEXT) == Column("text", Kind.TEXT)


def test_a_changed_column_encodes() -> None:
    schema = change_kind(MIXED, infer_schema(MIXED), "age", Kind.CATEGORICAL)
    assert make_dataset(MIXED, schema).rows[:, 0].tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("rate", Kind.INTEGER, "got '0.5' in line 2"),
        ("job", Kind.INTEGER, "got 'a' in line 2"),
        ("text", Kind.REAL, "got 'u v' in line 2"),
        ("out", Kind.INTEGER, "is the label"),
    ],
)
def test_a_kind_that_cannot_be_is_refused_with_the_line(name: str, kind: Kind, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        change_kind(MIXED, infer_schema(MIXED), name, kind)


def test_empty_and_overfull_columns_cannot_change() -> None:
    table = read_table(b"a,b,c\n" + b"".join(b"%d,,%d\n" % (i, i % 3) for i in range(1500)), "f.csv")
    schema = infer_schema(table)
    with pytest.raises(SchemaError, match="empty cells only"):
        change_kind(table, schema, "b", Kind.REAL)
    with pytest.raises(SchemaError, match="got 0"):
        change_kind(table, schema, "b", Kind.CATEGORICAL)
    with pytest.raises(SchemaError, match="1 to 1000 different values for this, got 1500"):
        change_kind(table, schema, "a", Kind.CATEGORICAL)
    with pytest.raises(SchemaError, match="as label"):
        change_label(table, schema, "a")
    with pytest.raises(DataError, match="'zz'"):
        change_kind(table, schema, "zz", Kind.REAL)


def test_an_ignored_column_comes_back_as_it_was() -> None:
    """Postcodes taken back as numbers would be other people to the model: 1067 instead of 01067."""
    table = table_of(
        plz=["01067", "99084", "10115", "01067"], age=[31, 45, 28, 60], **{"a": [0.5, 1.5, 2, 2], "b": [0.5, 1.5, 2, 2]}
    )
    schema = rename_label_text(infer_schema(table), "plz", "01067", "Dresden")
    without = change_kind(table, schema, "plz", Kind.IGNORED)
    assert "plz" not in without.names
    assert Schema.from_json(without.to_json()) == without
    assert change_kind(table, without, "plz", Kind.CATEGORICAL) == schema


def test_an_ignored_label_is_a_label_again() -> None:
    schema = rename_label_text(infer_schema(MIXED), "out", 1, "granted")
    other = change_label(MIXED, schema, "job")
    ignored = change_kind(MIXED, other, "out", Kind.IGNORED)
    assert make_dataset(MIXED, change_label(MIXED, ignored, "out")).classes == ("0", "granted")


def test_a_column_that_is_no_input_is_not_protected() -> None:
    schema = infer_schema(MIXED).with_protected(["age", "job"])
    assert change_kind(MIXED, schema, "age", Kind.IGNORED).protected == ("job",)
    assert change_kind(MIXED, schema, "age", Kind.REAL).protected == ("age", "job")


def test_change_label() -> None:
    schema = infer_schema(MIXED).with_protected(["age", "job"])
    changed = change_label(MIXED, schema, "job")
    assert (changed.label, changed.favourable, changed.protected) == ("job", "b", ("age",))
    assert "out" in changed.names
    without = change_label(MIXED, schema, None)
    assert (without.label, without.favourable) == (None, None)
    assert "out" in without.names


def test_change_label_keeps_human_labels() -> None:
    schema = rename_label_text(infer_schema(MIXED), "out", 1, "granted")
    again = change_label(MIXED, change_label(MIXED, schema, "job"), "out")
    assert make_dataset(MIXED, again).classes == ("0", "granted")


def test_rename_label_text() -> None:
    schema = rename_label_text(infer_schema(MIXED), "out", 1, " granted ")
    dataset = make_dataset(MIXED, schema)
    assert dataset.classes == ("0", "granted")
    assert dataset.favourable_class == 1
    texts = rename_label_text(schema, "job", "a", "adviser")
    assert texts.column("job").text(1.0) == "adviser"
    assert Schema.from_json(texts.to_json()) == texts
    np.testing.assert_array_equal(make_dataset(MIXED, texts).rows, make_dataset(MIXED, schema).rows)


@pytest.mark.parametrize(
    ("column", "code", "label", "says"),
    [
        ("job", "zz", "x", "must have the code 'zz'"),
        ("age", 1, "x", "must have the code"),
        ("job", "a", " ", "empty"),
        ("job", "a", "b", "differ"),
    ],
)
def test_rename_refusals(column: str, code: str, label: str, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        rename_label_text(infer_schema(MIXED), column, code, label)


def test_replace_column_adds_an_unknown_one() -> None:
    schema = Schema((Column("a", Kind.INTEGER, minimum=0, maximum=1),))
    assert replace_column(schema, Column("b", Kind.TEXT)).columns[-1].name == "b"


def test_a_label_beside_texts_alone_is_found() -> None:
    lines = "".join(f"Text number {i} says something of its own,{('kept', 'removed')[i % 3 // 2]}\n" for i in range(60))
    schema = infer_schema(read_table(f"comment,moderation\n{lines}".encode()))
    assert [column.kind for column in schema.columns] == [Kind.TEXT, Kind.CATEGORICAL]
    assert (schema.label, schema.favourable, schema.inputs) == ("moderation", "kept", ())


def test_outcomes_are_put_in_the_order_of_a_models_classes() -> None:
    cells = "".join(f"{i % 7},{('low', 'middle', 'high')[i % 3]}\n" for i in range(60))
    table = read_table(f"size,grade\n{cells}".encode())
    schema = change_label(table, infer_schema(table), "grade")
    dataset = make_dataset(table, schema)
    assert dataset.classes == ("high", "low", "middle")
    changed = order_outcomes(table, schema, ["low", "middle", "high"])
    again = make_dataset(table, changed)
    assert again.classes == ("low", "middle", "high")
    assert dataset.labels is not None
    assert again.labels is not None
    assert [again.classes[i] for i in again.labels] == [dataset.classes[i] for i in dataset.labels]
    assert changed.favourable == schema.favourable
    for wrong in (["low", "middle"], ["low", "middle", "best"], ["low", "low", "high"]):
        with pytest.raises(SchemaError, match="each of the label's 3 outcomes once"):
            order_outcomes(table, schema, wrong)
    with pytest.raises(SchemaError, match="0 outcomes"):
        order_outcomes(table, change_label(table, schema, None), ["low"])
