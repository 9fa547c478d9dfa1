"""Values of options: names in quotation marks."""

from __future__ import annotations

import pytest

from fairness_engine.cli import option_values


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
