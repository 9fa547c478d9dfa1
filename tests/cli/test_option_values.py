"""Values of options: names in quotation marks."""

from __future__ import annotations

import pytest

from fairness_engine.cli import option_values
from fairness_engine.errors import SettingError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex, race", ("sex", "race")),
        ('"Alter, Jahre",=cmd', ("Alter, Jahre", "=cmd")),
        ('Typ "q",b', ('Typ "q"', "b")),
        ('"Typ ""q"", neu"', ('Typ "q", neu',)),
        ('"open,c', ('"open', "c")),
        ("", ()),
    ],
)
def test_a_name_with_a_comma_stands_in_quotation_marks(text: str, expected: tuple[str, ...]) -> None:
    assert option_values.names(text) == expected


def test_a_name_with_an_equals_sign_stands_in_quotation_marks() -> None:
    assert option_values.values('"a=b"="x,y",z') == ("a=b", ("x,y", "z"))
    assert option_values.values("a=b=c") == ("a", ("b=c",))
    assert option_values.limit('"x=y"=1:2') == ("x=y", (1.0, 2.0))


def test_what_is_said_twice_of_one_name_is_refused() -> None:
    """The last alone counted: of ``--values sex=f --values sex=m`` no two values were left to compare."""
    parser = option_values.Parser(prog="count")
    for option, kind in (("--values", option_values.values), ("--limit", option_values.limit)):
        parser.add_argument(option, type=kind, action=option_values.Named, default=[])
    given = parser.parse_args(["--values", "sex=f", "--values", "race=a,b", "--limit", "age=20:30"])
    assert given.values == [("sex", ("f",)), ("race", ("a", "b"))]
    assert parser.parse_args([]).values == []
    with pytest.raises(SettingError, match="--values must say all of 'sex' at once, but names it twice"):
        parser.parse_args(["--values", "sex=f", "--values", "sex=m"])
    with pytest.raises(SettingError, match="--limit must say all of 'age' at once"):
        parser.parse_args(["--limit", "age=20:30", "--limit", "age=25:39"])
