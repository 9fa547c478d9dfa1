"""The texts of a table's column: what is left out, what is refused, and tables that hold nothing else."""

from __future__ import annotations

import pytest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.summary import describe_columns
from fairness_engine.data.table import read_table
from fairness_engine.data.texts import make_texts
from fairness_engine.errors import DataError, SchemaError
from fairness_engine.oracle.domain import Ranges, Scope

SAID = Column("said", Kind.TEXT)
VERDICT = Column("verdict", Kind.CATEGORICAL, codes=("toxic", "fine"), labels=("toxic", "fine"))
SCHEMA = Schema((SAID, VERDICT), label="verdict", favourable="fine")


def test_texts_come_with_their_outcomes_and_empty_ones_are_counted_and_left_out() -> None:
    table = read_table(b'verdict,said\nfine, a day \ntoxic,\nfine,"two, lines\nof it"\ntoxic,a day\n')
    texts = make_texts(table, SCHEMA, "said")
    assert texts.texts == ("a day", "two, lines\nof it", "a day")
    assert (texts.n_empty, texts.kept.tolist(), len(texts)) == (1, [0, 2, 3], 3)
    assert texts.labels is not None
    assert (texts.labels.tolist(), texts.classes, texts.favourable_class) == ([1, 1, 0], ("toxic", "fine"), 1)
    assert any("1 of 4 rows have no text in 'said'" in sentence for sentence in texts.problems)


def test_a_missing_label_keeps_the_text() -> None:
    texts = make_texts(read_table(b"said,verdict\none,fine\ntwo,\nthree,odd\nfour,toxic\n"), SCHEMA, "said")
    assert texts.labels is not None
    assert texts.labels.tolist() == [1, -1, -1, 0]
    assert any("2 texts have no known outcome in 'verdict'" in sentence for sentence in texts.problems)


def test_without_a_label_there_are_no_outcomes() -> None:
    texts = make_texts(read_table(b"said,x\none,1\n"), Schema((SAID,)), "said")
    assert (texts.labels, texts.classes, texts.favourable_class) == (None, (), None)


def test_other_columns_do_not_matter() -> None:
    schema = Schema((SAID, Column("age", Kind.INTEGER, minimum=0, maximum=9), VERDICT), label="verdict")
    texts = make_texts(read_table(b"said,age,verdict\none,,fine\ntwo,99,toxic\n"), schema, "said")
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("content", "column", "kind", "said"),
    [
        (b"said,verdict\n,fine\n,toxic\n", "said", DataError, "is empty in all 2 rows"),
        (b"said,verdict\none,fine\n", "verdict", SchemaError, "the texts are in: said"),
        (b"said,verdict\none,fine\n", "typo", SchemaError, "the texts are in: said"),
        (b"spoken,verdict\none,fine\n", "said", DataError, "must have a column 'said'"),
        (b"said,verdict\none,\n,fine\n", "said", DataError, "must hold an outcome beside at least one text"),
    ],
)
def test_a_column_without_texts_is_refused_in_a_sentence(
    content: bytes, column: str, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        make_texts(read_table(content), SCHEMA, column)


def test_a_schema_without_texts_says_so() -> None:
    schema = Schema((Column("age", Kind.INTEGER, minimum=0, maximum=9),))
    with pytest.raises(SchemaError, match="no column is of type text"):
        make_texts(read_table(b"age\n1\n"), schema, "age")


def test_a_table_of_texts_alone_has_a_schema_and_rows_without_columns() -> None:
    table = read_table(b"said,verdict\n" + b"".join(b"word %d is a text of its own,fine\n" % i for i in range(60)))
    schema = Schema((SAID, VERDICT), label="verdict", favourable="fine")
    assert Schema.from_json(schema.to_json()) == schema
    dataset = make_dataset(table, schema)
    assert dataset.rows.shape == (60, 0)
    assert make_dataset(table, Schema((SAID,))).rows.shape == (60, 0)
    assert [summary.kind for summary in describe_columns(table, schema)] == [Kind.TEXT, Kind.CATEGORICAL]
    assert schema.is_text("said")
    assert not schema.is_text("verdict")


def test_a_label_that_is_missing_leaves_a_row_of_texts_out_of_the_table() -> None:
    dataset = make_dataset(read_table(b"said,verdict\none,fine\ntwo,\nthree,toxic\n"), SCHEMA)
    assert (len(dataset.rows), dataset.n_dropped) == (2, 1)


def test_what_needs_inputs_refuses_a_schema_of_texts() -> None:
    with pytest.raises(SchemaError, match="at least one column that the model takes, or one of texts"):
        Schema((Column("id", Kind.IGNORED),))
    for protected, why in (("said", "it holds free text"), ("verdict", "the inputs are: none")):
        with pytest.raises(SchemaError, match=why):
            Ranges(SCHEMA, Scope((protected,)))


def test_the_samples_comments_are_texts_whatever_the_schema_was_made_by() -> None:
    sample = find_sample("comments")
    table = read_table(sample.data)
    for schema in (Schema.read(sample.schema), infer_schema(table)):
        texts = make_texts(table, schema, "comment")
        assert len(texts) == 1500
        assert sorted(texts.classes) == ["kept", "removed"]
