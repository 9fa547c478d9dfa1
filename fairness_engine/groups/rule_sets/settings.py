"""What a run of rule sets is asked: the group size that counts, the error allowed, how numbers are cut."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairness_engine.data.recorded import Source
from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.terms import Terms, read_setting, write_setting
from fairness_engine.settings import NOT_ASKED, Settings, setting

MAX_RULE_SETS = 200_000
"""More than anybody reads; beyond it the larger rule sets are left out, and the run says so."""
FEW_ATTRIBUTES = 5
USUAL_ATTRIBUTES = 3
"""Of at most the first all are combined where nothing else is asked, of more attributes at most the second."""
MAX_UNASKED = 100_000
"""Rule sets up to which those of more than three attributes are looked at unasked: less than a second's work, and ten
times as many widen the intervals by a tenth."""
MAX_RESCORED = 2_000
"""Nobody reads on so far, and these share half of the chance of error among them."""


class Part(StrEnum):
    """Of the form: which groups count, and how numbers are cut."""

    SIZES = "sizes"
    RANGES = "ranges"


class When(StrEnum):
    """What must be so for a form to ask."""

    A_MODEL_DECIDES = "a model decides"
    NUMBERS_ARE_CUT = "numbers are cut"


class Edges(StrEnum):
    """Where the ranges of a number are cut."""

    EQUAL = "equal"
    ROUND = "round"


@dataclass(frozen=True)
class RuleSettings(Settings):
    """Settings of TestSGD.

    Raises:
        SettingError: a value out of its range, or a column of predictions beside a model.

    Reference: paper 001 (TestSGD), Algorithms 1 and 2, Table 2.
    """

    whose = "A run of rule sets"

    support: float = setting(
        0.05,
        "The support (theta): a group with a smaller share of the data's rows is not looked at. Smaller groups are "
        "more, and take longer.",
        label="Least share of the rows",
        above=0.0,
        below=1.0,
        is_percent=True,
        step=1.0,
        ends=(0.01, 99.9),
        part=Part.SIZES,
        option="--support S",
    )
    max_attributes: int = setting(
        0,
        "Attributes in one rule set at most; 0: of a table all of them where they are at most five, and else three; "
        "those beyond three only while there are at most 100,000 rule sets. Of texts, three categories.",
        label="Attributes in a group, at most",
        hint="“Women” is a group of one attribute, “women over 50” one of two.",
        minimum=0,
        maximum=6,
        ends=(1, 6),
        part=Part.SIZES,
        option="--max-attributes N",
    )
    error: float = setting(
        0.05,
        "The most that z * sqrt(p(1-p)/n), inside plus outside, may be; 0 evaluates every neighbour of every row.",
        label="Error of a score, at most",
        hint="At 95 % confidence, for one score as in the paper. The intervals that are shown are wider: all of them "
        "hold together. Exact evaluates every neighbour of every row, so that nothing is left to chance.",
        minimum=0.0,
        below=1.0,
        names={0.05: ("5 points (paper)", ""), 0.01: ("1 point", ""), 0.0: ("Exact", "")},
        part=Part.SIZES,
        when=When.A_MODEL_DECIDES,
        option="--error E",
    )
    confidence: float = setting(
        0.95,
        "Of the intervals, jointly over all rule sets; also of each side's error, as in the paper.",
        minimum=0.5,
        below=1.0,
        part=NOT_ASKED,
        option="--confidence C",
    )
    least_samples: int = setting(
        1000,
        "Samples at least, inside and outside each.",
        minimum=1,
        maximum=10_000_000,
        part=NOT_ASKED,
        option="--least-samples N",
    )
    bins: int = setting(
        10, "Into how many ranges a number is cut.", minimum=2, maximum=100, part=NOT_ASKED, option="--bins N"
    )
    edges: Edges = setting(
        Edges.EQUAL,
        "Equal widths over the column's range (the paper), or round numbers.",
        label="Ranges of numbers",
        names={
            Edges.ROUND: ("Round numbers", "Ranges such as 20 to 29 begin at numbers that people use."),
            Edges.EQUAL: (
                "Equal widths, as in the paper",
                "The range of the column in ten parts of the same width, wherever they begin.",
            ),
        },
        part=Part.RANGES,
        when=When.NUMBERS_ARE_CUT,
        option="--edges",
    )
    one_sided: bool = setting(
        False,
        'Only ranges that begin or end where the column does ("60 or more"), none between, such as 40 to 59. Far fewer '
        "groups.",
        label="Only “up to” and “from … on”",
        part=Part.RANGES,
        when=When.NUMBERS_ARE_CUT,
        option="--one-sided",
    )
    n_rescored: int = setting(
        100,
        "How many of the top rule sets are scored again on samples of their own.",
        label="Scored again",
        minimum=0,
        maximum=MAX_RESCORED,
        part=NOT_ASKED,
    )
    source: Source = setting(
        Source.MODEL,
        "The model's decisions on rows and their neighbours, or the label column on the rows alone.",
        part=NOT_ASKED,
    )
    predictions: str = setting(
        "",
        "Name of a column whose decisions are compared instead of the label's; without a model.",
        part=NOT_ASKED,
        option="--predictions COLUMN",
    )
    text_column: str = setting("", "The column of texts to look into; empty for a table.", part=NOT_ASKED)
    terms: Terms = setting(
        (),
        "Identity terms by category for texts; empty takes the project's own list.",
        reader=read_setting,
        writer=write_setting,
        part=NOT_ASKED,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predictions and self.source is not Source.LABELS:
            raise SettingError(
                "A column of predictions is compared without a model. Leave the model out, or the column."
            )

    def most_attributes(self, n_attributes: int) -> int:
        """How many of so many attributes, or categories of terms, a rule set has at most."""
        is_few = n_attributes <= FEW_ATTRIBUTES and not self.text_column
        unasked = n_attributes if is_few else USUAL_ATTRIBUTES
        return min(self.max_attributes or unasked, n_attributes)

    def most_rule_sets(self, size: int) -> int:
        """How many rule sets there may be with those of ``size`` attributes among them."""
        return MAX_UNASKED if size > USUAL_ATTRIBUTES and not self.max_attributes else MAX_RULE_SETS
