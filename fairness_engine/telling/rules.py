"""A group said by rules on columns, as JSON: how the command line, stored results and findings name people."""

from __future__ import annotations

from typing import Annotated, Required, TypedDict

from msgspec import Meta

from fairness_engine.codec import Count, Number, Text

MAX_RULES = 100


class Rule(TypedDict, total=False):
    """A rule as the command line says it: the ``values`` of a category, the range of a number, or a ``term``.

    Of a continuous number ``includes_high`` may say whether the upper end belongs to it.
    """

    column: Required[Text]
    values: list[Text]
    low: Count | Number
    high: Count | Number
    includes_high: bool
    term: Text


Rules = Annotated[list[Rule], Meta(max_length=MAX_RULES)]
