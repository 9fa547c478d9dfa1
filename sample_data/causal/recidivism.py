"""Recidivism: whose risk of a new offence is called raised.

Planted: an intersection. African-American men get 5 points; neither their race nor their sex adds points alone. Age
under 25 adds 3 points openly. Race also acts through the number of earlier offences. The space is small enough to be
enumerated.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Schema
from sample_data.causal.draw import bell, choose, happens, table
from sample_data.causal.model import CausalModel, Group, as_rows, category, whole
from sample_data.causal.rule import Effect, PointRule, ladder

SEX = category("sex", "Female", "Male")
AGE_GROUP = category("age_group", "25 to 45", "over 45", "under 25")
RACE = category("race", "African-American", "Caucasian", "Hispanic", "Other")
PRIORS = whole("earlier_offences", 0, 15)
JUVENILE = whole("juvenile_offences", 0, 5)
DEGREE = category("charge_degree", "felony", "misdemeanour")
CHARGE = category("charge", "drugs", "property", "public order", "traffic", "violence")
DAYS = whole("days_in_custody", 0, 30)
COLUMNS = (SEX, AGE_GROUP, RACE, PRIORS, JUVENILE, DEGREE, CHARGE, DAYS)

CHANCE_MALE = 0.68
RACE_SHARES = [[0.38, 0.34, 0.18, 0.10]]
AGE_SHARES = [[0.54, 0.20, 0.26]]
MEAN_PRIORS = [3.5, 4.0, 1.5]
PRIORS_AFRICAN_AMERICAN = 1.2
PRIORS_SPREAD = 3.2
MEAN_JUVENILE = [0.2, 0.0, 0.9]
JUVENILE_SPREAD = 0.9
CHANCE_FELONY = 0.25
CHANCE_FELONY_PER_OFFENCE = 0.03
CHARGE_BY_DEGREE = [[0.28, 0.28, 0.08, 0.08, 0.28], [0.18, 0.20, 0.24, 0.30, 0.08]]
MEAN_DAYS = 3.0
DAYS_FELONY = 8.0
DAYS_PER_OFFENCE = 0.8
DAYS_SPREAD = 6.0

INTERSECTION = Effect(
    "African-American men",
    "African-American men get 5 more points of risk; neither women of that race nor other men do.",
    {"race": ("African-American",), "sex": ("Male",)},
    5,
)
YOUTH = Effect("youth", "People under 25 get 3 more points of risk, openly.", {"age_group": ("under 25",)}, 3)

RULE = PointRule(
    Schema((*COLUMNS, category("risk", "low", "raised")), label="risk", favourable="low", protected=("race", "sex")),
    {
        "earlier_offences": ladder(PRIORS, {0: 0, 1: 3, 3: 6, 6: 9, 10: 12}),
        "juvenile_offences": ladder(JUVENILE, {0: 0, 1: 3, 3: 6}),
        "charge_degree": (3, 0),
        "charge": (2, 3, 1, 0, 4),
        "days_in_custody": ladder(DAYS, {0: 0, 4: 2, 15: 4}),
    },
    cut=16,
    effects=(INTERSECTION, YOUTH),
)


def draw(n: int, rng: np.random.Generator) -> FloatArray:
    """Rows ``(n, 8)`` from the structural equations."""
    same = np.zeros(n, dtype=np.int64)
    sex = happens(rng, np.full(n, CHANCE_MALE)).astype(np.int64)
    race = choose(rng, table(RACE_SHARES, same))
    age = choose(rng, table(AGE_SHARES, same))
    mean_priors = np.array(MEAN_PRIORS)[age] + PRIORS_AFRICAN_AMERICAN * (race == 0)
    priors = bell(rng, mean_priors, PRIORS_SPREAD, PRIORS.low, PRIORS.high)
    is_felony = happens(rng, CHANCE_FELONY + CHANCE_FELONY_PER_OFFENCE * priors)
    degree = np.where(is_felony, 0, 1)
    mean_days = MEAN_DAYS + DAYS_FELONY * is_felony + DAYS_PER_OFFENCE * priors
    return as_rows(
        COLUMNS,
        {
            "sex": sex,
            "age_group": age,
            "race": race,
            "earlier_offences": priors,
            "juvenile_offences": bell(rng, np.array(MEAN_JUVENILE)[age], JUVENILE_SPREAD, JUVENILE.low, JUVENILE.high),
            "charge_degree": degree,
            "charge": choose(rng, table(CHARGE_BY_DEGREE, degree)),
            "days_in_custody": bell(rng, mean_days, DAYS_SPREAD, DAYS.low, DAYS.high),
        },
    )


RECIDIVISM = CausalModel(
    name="recidivism",
    title="Recidivism",
    description="Whose risk of a new offence is called raised, with planted extra points for African-American men.",
    rule=RULE,
    draw=draw,
    equations=(
        "sex, race and age_group are drawn independently",
        "earlier_offences <- age_group, race",
        "juvenile_offences <- age_group",
        "charge_degree <- earlier_offences",
        "charge <- charge_degree",
        "days_in_custody <- charge_degree, earlier_offences",
        "risk <- points of earlier_offences, juvenile_offences, charge_degree, charge, days_in_custody; and the "
        "planted effects of race and sex together, and of age_group",
    ),
    noise=0.9,
    n_rows=4000,
    seed=20240304,
    protected=("race", "sex"),
    protected_sets=(("sex",), ("race",), ("race", "sex"), ("age_group",), ("race", "sex", "age_group")),
    proxies=("Race acts on the number of earlier offences, and through it on the risk.",),
    no_effect=(),
    known="African-American men are said to be at raised risk where women of that race and all other men are not.",
    asks="Whose risk of a new offence is called low?",
    outcome="are said to be at low risk",
    groups=(
        Group("African-American men", INTERSECTION.where),
        Group("all other men", {"race": ("Caucasian", "Hispanic", "Other"), "sex": ("Male",)}),
        Group("African-American women", {"race": ("African-American",), "sex": ("Female",)}),
        Group("people under 25", {"age_group": ("under 25",)}),
    ),
    affected=("earlier_offences", "days_in_custody"),
)
