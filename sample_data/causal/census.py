"""Census income: who earns more than 50,000 a year.

Planted: women who work less than 40 hours and hold at least a bachelor's degree lose 20 points. Sex also acts through
occupation, hours and marital status; race acts only through education, and has no direct effect.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.events import FloatArray
from fairness_engine.schema import Schema
from sample_data.causal.draw import bell, choose, happens, table
from sample_data.causal.model import CausalModel, as_rows, category, whole
from sample_data.causal.rule import Effect, PointRule, ladder

AGE = whole("age", 18, 79)
WORKCLASS = category("workclass", "Private", "Government", "Self-employed")
EDUCATION = category("education", "No diploma", "High school", "Some college", "Bachelor", "Master", "Doctorate")
MARITAL = category("marital_status", "Never married", "Married", "Separated or divorced", "Widowed")
OCCUPATION = category("occupation", "Service", "Manual", "Clerical", "Sales", "Technical", "Professional", "Managerial")
RACE = category("race", "Asian", "Black", "Other", "White")
SEX = category("sex", "Female", "Male")
GAIN = whole("capital_gain_thousands", 0, 20)
HOURS = whole("hours_per_week", 10, 70)
COLUMNS = (AGE, WORKCLASS, EDUCATION, MARITAL, OCCUPATION, RACE, SEX, GAIN, HOURS)

RACE_SHARES = [[0.12, 0.20, 0.08, 0.60]]
CHANCE_MALE = 0.52
MEAN_AGE, AGE_SPREAD = 43.0, 14.0
EDUCATION_BY_RACE = [
    [0.06, 0.16, 0.20, 0.32, 0.18, 0.08],
    [0.16, 0.34, 0.24, 0.17, 0.07, 0.02],
    [0.18, 0.32, 0.24, 0.17, 0.07, 0.02],
    [0.08, 0.26, 0.24, 0.25, 0.12, 0.05],
]
WORKCLASS_SHARES = [[0.70, 0.17, 0.13]]
OCCUPATION_BY_DEGREE = [
    [0.22, 0.30, 0.16, 0.16, 0.08, 0.03, 0.05],  # below a bachelor's degree
    [0.05, 0.05, 0.10, 0.14, 0.18, 0.28, 0.20],
]
OCCUPATION_TILT_FEMALE = [1.4, 0.4, 1.9, 1.0, 0.7, 1.1, 0.6]
SINGLE_UNTIL, WIDOWED_FROM = 27, 66
MARITAL_BY_STAGE = [[0.70, 0.26, 0.04, 0.0], [0.18, 0.60, 0.20, 0.02], [0.06, 0.56, 0.16, 0.22]]
MEAN_HOURS, HOURS_FEMALE, HOURS_MANAGERIAL, HOURS_SPREAD = 42.0, -5.0, 5.0, 9.0
CHANCE_GAIN, CHANCE_GAIN_PER_DEGREE = 0.05, 0.05
MEAN_GAIN, GAIN_SPREAD = 8.0, 5.0

PENALTY = Effect(
    "women with a degree, part time",
    "Women who work less than 40 hours a week and hold at least a bachelor's degree lose 20 points.",
    {"sex": ("Female",), "hours_per_week": (10, 39), "education": ("Bachelor", "Master", "Doctorate")},
    -20,
)

RULE = PointRule(
    Schema(
        (*COLUMNS, category("income", "<=50K", ">50K")), label="income", favourable=">50K", protected=("sex", "race")
    ),
    {
        "age": ladder(AGE, {18: 0, 25: 4, 32: 7, 40: 9, 65: 5}),
        "workclass": (2, 3, 1),
        "education": (0, 2, 4, 9, 12, 15),
        "marital_status": (0, 6, 2, 1),
        "occupation": (0, 2, 3, 5, 7, 9, 11),
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
    education = choose(rng, table(EDUCATION_BY_RACE, race))
    has_degree = (education >= 3).astype(np.int64)
    workclass = choose(rng, table(WORKCLASS_SHARES, np.zeros(n, dtype=np.int64)))
    occupation_weights = table(OCCUPATION_BY_DEGREE, has_degree)
    occupation_weights = np.where((sex == 0)[:, None], occupation_weights * OCCUPATION_TILT_FEMALE, occupation_weights)
    occupation = choose(rng, occupation_weights)
    marital = choose(rng, table(MARITAL_BY_STAGE, (age >= SINGLE_UNTIL).astype(np.int64) + (age >= WIDOWED_FROM)))
    mean_hours = MEAN_HOURS + HOURS_FEMALE * (sex == 0) + HOURS_MANAGERIAL * (occupation == 6)
    hours = bell(rng, mean_hours, HOURS_SPREAD, HOURS.low, HOURS.high)
    has_gain = happens(rng, CHANCE_GAIN + CHANCE_GAIN_PER_DEGREE * has_degree)
    gain = np.where(has_gain, bell(rng, np.full(n, MEAN_GAIN), GAIN_SPREAD, 1, GAIN.high), 0)
    return as_rows(
        COLUMNS,
        {
            "age": age,
            "workclass": workclass,
            "education": education,
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
        "education <- race",
        "workclass is drawn independently",
        "occupation <- degree (education), sex",
        "marital_status <- age",
        "hours_per_week <- sex, occupation (managerial)",
        "capital_gain_thousands <- degree (education)",
        "income <- points of age, workclass, education, marital_status, occupation, capital_gain_thousands, "
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
    known="Women with at least a bachelor's degree who work less than 40 hours are refused where men are not; "
    "race alone changes no decision of the planted rule.",
)
