"""Credit: who is granted a loan.

Planted: applicants younger than 26 who ask for more than 30 months lose 16 points. Age also acts through employment and
housing. Sex has no effect at all, neither on the decision nor on any other column.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Column, Kind, Schema
from sample_data.causal.draw import bell, choose, happens, table
from sample_data.causal.model import CausalModel, Group, as_rows, category, whole
from sample_data.causal.rule import Effect, PointRule, ladder

STATUS = category("checking_account", "high", "low", "negative", "no account")
DURATION = whole("duration_months", 6, 60)
HISTORY = category("credit_history", "all repaid", "late payments", "no loans yet", "paid on time")
PURPOSE = category("purpose", "business", "car", "education", "furniture", "repairs")
AMOUNT = Column("amount", Kind.REAL, minimum=1000.0, maximum=15000.0, step=1000.0)
SAVINGS = category("savings", "high", "low", "medium", "none")
EMPLOYMENT = whole("employment_years", 0, 10)
HOUSING = category("housing", "own", "rent", "with family")
AGE = whole("age", 19, 75)
SEX = category("sex", "female", "male")
COLUMNS = (STATUS, DURATION, HISTORY, PURPOSE, AMOUNT, SAVINGS, EMPLOYMENT, HOUSING, AGE, SEX)

CHANCE_MALE = 0.55
MEAN_AGE = 36.0
AGE_SPREAD = 13.0
STAGE_FROM = (26, 40)
MEAN_EMPLOYMENT = [1.2, 4.2, 7.0]
EMPLOYMENT_SPREAD = 2.6
HOUSING_BY_STAGE = [[0.12, 0.46, 0.42], [0.58, 0.34, 0.08], [0.72, 0.22, 0.06]]
STATUS_BY_SAVINGS = [
    [0.46, 0.30, 0.12, 0.12],
    [0.16, 0.30, 0.28, 0.26],
    [0.30, 0.34, 0.18, 0.18],
    [0.06, 0.20, 0.38, 0.36],
]
SAVINGS_SHARES = [[0.14, 0.30, 0.18, 0.38]]
HISTORY_SHARES = [[0.24, 0.16, 0.24, 0.36]]
PURPOSE_SHARES = [[0.18, 0.34, 0.12, 0.22, 0.14]]
MEAN_AMOUNT = [8500.0, 7500.0, 4500.0, 3000.0, 4000.0]
AMOUNT_SPREAD = 2600.0
MEAN_DURATION = 16.0
MONTHS_PER_1000 = 2.6
DURATION_SPREAD = 9.0

AGE_RULE = Effect(
    "young and long",
    "Applicants younger than 26 who ask for more than 30 months lose 16 points.",
    {"age": (19, 25), "duration_months": (31, 60)},
    -16,
)

RULE = PointRule(
    Schema(
        (*COLUMNS, category("decision", "denied", "granted")),
        label="decision",
        favourable="granted",
        protected=("age", "sex"),
    ),
    {
        "checking_account": (8, 5, 0, 2),
        "duration_months": ladder(DURATION, {6: 6, 13: 4, 25: 2, 37: 0}),
        "credit_history": (8, 0, 3, 6),
        "purpose": (2, 2, 1, 3, 3),
        "amount": ladder(AMOUNT, {1000: 8, 3000: 6, 6000: 3, 10000: 0}),
        "savings": (6, 2, 4, 0),
        "employment_years": ladder(EMPLOYMENT, {0: 0, 1: 2, 3: 4, 6: 6, 9: 7}),
        "housing": (3, 1, 0),
    },
    cut=23,
    effects=(AGE_RULE,),
)


def draw(n: int, rng: np.random.Generator) -> FloatArray:
    """Rows ``(n, 10)`` from the structural equations."""
    same = np.zeros(n, dtype=np.int64)
    sex = happens(rng, np.full(n, CHANCE_MALE)).astype(np.int64)
    age = bell(rng, np.full(n, MEAN_AGE), AGE_SPREAD, AGE.low, AGE.high)
    stage = (age >= STAGE_FROM[0]).astype(np.int64) + (age >= STAGE_FROM[1])
    savings = choose(rng, table(SAVINGS_SHARES, same))
    purpose = choose(rng, table(PURPOSE_SHARES, same))
    thousands = bell(rng, np.array(MEAN_AMOUNT)[purpose] / 1000, AMOUNT_SPREAD / 1000, 1, 15)
    amount = 1000.0 * thousands
    duration = bell(rng, MEAN_DURATION + MONTHS_PER_1000 * amount / 1000, DURATION_SPREAD, DURATION.low, DURATION.high)
    return as_rows(
        COLUMNS,
        {
            "checking_account": choose(rng, table(STATUS_BY_SAVINGS, savings)),
            "duration_months": duration,
            "credit_history": choose(rng, table(HISTORY_SHARES, same)),
            "purpose": purpose,
            "amount": amount,
            "savings": savings,
            "employment_years": bell(rng, np.array(MEAN_EMPLOYMENT)[stage], EMPLOYMENT_SPREAD, 0, EMPLOYMENT.high),
            "housing": choose(rng, table(HOUSING_BY_STAGE, stage)),
            "age": age,
            "sex": sex,
        },
    )


CREDIT = CausalModel(
    name="credit",
    title="Credit",
    description="Who is granted a loan, with a planted rule against applicants under 26 who ask for more than 30 "
    "months.",
    rule=RULE,
    draw=draw,
    equations=(
        "sex is drawn independently, and causes nothing",
        "age, savings, credit_history and purpose are drawn independently",
        "employment_years <- age",
        "housing <- age",
        "checking_account <- savings",
        "amount <- purpose",
        "duration_months <- amount",
        "decision <- points of checking_account, duration_months, credit_history, purpose, amount, savings, "
        "employment_years, housing; and the planted age rule",
    ),
    noise=1.0,
    n_rows=4000,
    seed=20240302,
    protected=("age", "sex"),
    protected_sets=(("age",), ("sex",), ("age", "sex")),
    proxies=("Age acts on employment and housing, and through them on the decision.",),
    no_effect=("sex",),
    known="Applicants under 26 who ask for more than 30 months are denied where older ones are not; "
    "sex changes no decision of the planted rule.",
    asks="Who is granted a loan?",
    outcome="are granted the loan",
    groups=(
        Group("applicants under 26 who ask for more than 30 months", AGE_RULE.where),
        Group("applicants over 25 who ask for more than 30 months", {"age": (26, 75), "duration_months": (31, 60)}),
        Group("applicants under 26 who ask for at most 30 months", {"age": (19, 25), "duration_months": (6, 30)}),
        Group("women", {"sex": ("female",)}),
    ),
    affected=("duration_months",),
)
