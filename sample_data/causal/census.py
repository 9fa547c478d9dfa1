"""Census income: who earns more than 50,000 a year.

Planted: women with at least 16 years of education who work less than 40 hours lose 20 points. Sex also acts through
occupation and hours; race acts only through education, and has no direct effect.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Schema
from sample_data.causal.draw import bell, choose, happens, table
from sample_data.causal.model import CausalModel, Group, as_rows, category, whole
from sample_data.causal.rule import Effect, PointRule, ladder

AGE = whole("age", 18, 79)
WORKCLASS = category("workclass", "Government", "Private", "Self-employed")
EDUCATION = whole("education_years", 8, 18)
MARITAL = category("marital_status", "Divorced", "Married", "Never married", "Widowed")
OCCUPATION = category(
    "occupation", "Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"
)
RACE = category("race", "Asian", "Black", "Other", "White")
SEX = category("sex", "Female", "Male")
GAIN = whole("capital_gain_thousands", 0, 20)
HOURS = whole("hours_per_week", 10, 70)
COLUMNS = (AGE, WORKCLASS, EDUCATION, MARITAL, OCCUPATION, RACE, SEX, GAIN, HOURS)

RACE_SHARES = [[0.12, 0.20, 0.08, 0.60]]
CHANCE_MALE = 0.52
MEAN_AGE = 43.0
AGE_SPREAD = 14.0
EDUCATION_BY_RACE = [  # 8, 9, ... 18 years
    [0.01, 0.01, 0.02, 0.02, 0.14, 0.06, 0.11, 0.05, 0.32, 0.18, 0.08],
    [0.03, 0.04, 0.05, 0.06, 0.30, 0.10, 0.12, 0.06, 0.15, 0.07, 0.02],
    [0.04, 0.05, 0.05, 0.06, 0.28, 0.10, 0.12, 0.06, 0.15, 0.07, 0.02],
    [0.01, 0.02, 0.03, 0.03, 0.24, 0.09, 0.12, 0.05, 0.25, 0.12, 0.04],
]
WORKCLASS_SHARES = [[0.17, 0.70, 0.13]]
DEGREE_YEARS = 16
OCCUPATION_BY_DEGREE = [
    [0.30, 0.16, 0.08, 0.05, 0.03, 0.16, 0.22],  # without a degree
    [0.05, 0.10, 0.18, 0.20, 0.28, 0.14, 0.05],
]
OCCUPATION_TILT_FEMALE = [0.4, 1.9, 0.7, 0.6, 1.1, 1.0, 1.4]
SINGLE_UNTIL = 27
WIDOWED_FROM = 66
MARITAL_BY_STAGE = [[0.04, 0.26, 0.70, 0.0], [0.20, 0.60, 0.18, 0.02], [0.16, 0.56, 0.06, 0.22]]
MEAN_HOURS = 42.0
HOURS_FEMALE = -5.0
HOURS_MANAGEMENT = 5.0
HOURS_SPREAD = 9.0
MANAGEMENT = OCCUPATION.labels.index("Management")
CHANCE_GAIN = 0.05
CHANCE_GAIN_PER_DEGREE = 0.05
MEAN_GAIN = 8.0
GAIN_SPREAD = 5.0

PENALTY = Effect(
    "women with a degree, part time",
    "Women with at least 16 years of education who work less than 40 hours a week lose 20 points.",
    {"sex": ("Female",), "hours_per_week": (10, 39), "education_years": (16, 18)},
    -20,
)

RULE = PointRule(
    Schema(
        (*COLUMNS, category("income", "<=50K", ">50K")), label="income", favourable=">50K", protected=("sex", "race")
    ),
    {
        "age": ladder(AGE, {18: 0, 25: 4, 32: 7, 40: 9, 65: 5}),
        "workclass": (3, 2, 1),
        "education_years": ladder(EDUCATION, {8: 0, 12: 3, 14: 5, 16: 9, 17: 12, 18: 14}),
        "marital_status": (2, 6, 0, 1),
        "occupation": (1, 3, 7, 11, 9, 5, 0),
        "capital_gain_thousands": ladder(GAIN, {0: 0, 3: 3, 7: 8, 14: 12}),
        "hours_per_week": ladder(HOURS, {10: 0, 25: 3, 35: 5, 45: 8, 55: 10}),
    },
    cut=31,
    effects=(PENALTY,),
)


def draw(n: int, rng: np.random.Generator) -> FloatArray:
    """Rows ``(n, 9)`` from the structural equations."""
    race = choose(rng, table(RACE_SHARES, np.zeros(n, dtype=np.int64)))
    sex = happens(rng, np.full(n, CHANCE_MALE)).astype(np.int64)
    age = bell(rng, np.full(n, MEAN_AGE), AGE_SPREAD, AGE.low, AGE.high)
    education = EDUCATION.low + choose(rng, table(EDUCATION_BY_RACE, race))
    has_degree = (education >= DEGREE_YEARS).astype(np.int64)
    workclass = choose(rng, table(WORKCLASS_SHARES, np.zeros(n, dtype=np.int64)))
    occupation_weights = table(OCCUPATION_BY_DEGREE, has_degree)
    occupation_weights = np.where((sex == 0)[:, None], occupation_weights * OCCUPATION_TILT_FEMALE, occupation_weights)
    occupation = choose(rng, occupation_weights)
    marital = choose(rng, table(MARITAL_BY_STAGE, (age >= SINGLE_UNTIL).astype(np.int64) + (age >= WIDOWED_FROM)))
    mean_hours = MEAN_HOURS + HOURS_FEMALE * (sex == 0) + HOURS_MANAGEMENT * (occupation == MANAGEMENT)
    hours = bell(rng, mean_hours, HOURS_SPREAD, HOURS.low, HOURS.high)
    has_gain = happens(rng, CHANCE_GAIN + CHANCE_GAIN_PER_DEGREE * has_degree)
    gain = np.where(has_gain, bell(rng, np.full(n, MEAN_GAIN), GAIN_SPREAD, 1, GAIN.high), 0)
    return as_rows(
        COLUMNS,
        {
            "age": age,
            "workclass": workclass,
            "education_years": education,
            "marital_status": marital,
            "occupation": occupation,
            "race": race,
            "sex": sex,
            "capital_gain_thousands": gain,
            "hours_per_week": hours,
        },
    )


CENSUS = CausalModel(
    name="census_income",
    title="Census income",
    description="Who earns more than 50,000 a year, with a planted penalty for women with a degree who work part time.",
    rule=RULE,
    draw=draw,
    equations=(
        "race, sex and age are drawn independently",
        "education_years <- race",
        "workclass is drawn independently",
        "occupation <- degree (16 years of education), sex",
        "marital_status <- age",
        "hours_per_week <- sex, occupation (management)",
        "capital_gain_thousands <- degree (16 years of education)",
        "income <- points of age, workclass, education_years, marital_status, occupation, capital_gain_thousands, "
        "hours_per_week; and the planted effect of sex",
    ),
    noise=1.2,
    n_rows=5000,
    seed=20240301,
    protected=("sex", "race"),
    protected_sets=(("sex",), ("race",), ("sex", "race")),
    proxies=(
        "Sex acts on occupation and hours, and through them on income.",
        "Race acts on education, and through it on income; it has no direct effect.",
    ),
    no_effect=("race",),
    known="Women with at least 16 years of education who work less than 40 hours are refused where men are not; "
    "race alone changes no decision of the planted rule.",
    asks="Who earns more than 50,000 a year?",
    outcome="are said to earn more than 50,000",
    groups=(
        Group("women with a degree who work part time", PENALTY.where),
        Group("men with a degree who work part time", {**PENALTY.where, "sex": ("Male",)}),
        Group("women without a degree", {"sex": ("Female",), "education_years": (8, 15)}),
        Group("people under 25", {"age": (18, 24)}),
    ),
    affected=("hours_per_week", "education_years"),
)
