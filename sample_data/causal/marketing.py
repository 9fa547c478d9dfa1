"""Marketing: who is offered the better deposit rate.

Planted: a subtle group. Men aged 40 to 59 born in Africa or Asia lose 7 points; no protected attribute acts alone. Age
also acts through job and balance.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Schema
from sample_data.causal.draw import bell, choose, happens, table
from sample_data.causal.model import CausalModel, Group, as_rows, category, whole
from sample_data.causal.rule import Effect, PointRule, ladder

AGE = whole("age", 18, 80)
SEX = category("sex", "female", "male")
ORIGIN = category("born_in", "Africa", "America", "Asia", "Europe")
JOB = category("job", "management", "retired", "services", "student", "technician", "worker")
EDUCATION = category("education", "primary", "secondary", "tertiary")
MARITAL = category("marital", "divorced", "married", "single")
BALANCE = whole("balance_thousands", 0, 30)
HOUSING = category("housing_loan", "no", "yes")
CONTACTS = whole("earlier_contacts", 0, 6)
OUTCOME = category("last_campaign", "failure", "none", "success")
CHANNEL = category("channel", "landline", "mobile")
COLUMNS = (AGE, SEX, ORIGIN, JOB, EDUCATION, MARITAL, BALANCE, HOUSING, CONTACTS, OUTCOME, CHANNEL)

ORIGIN_SHARES = [[0.25, 0.25, 0.25, 0.25]]
CHANCE_MALE = 0.5
MEAN_AGE = 46.0
AGE_SPREAD = 14.0
STAGE_FROM = (26, 62)
JOB_BY_STAGE = [
    [0.04, 0.00, 0.20, 0.42, 0.12, 0.22],
    [0.23, 0.01, 0.24, 0.01, 0.24, 0.27],
    [0.10, 0.66, 0.08, 0.00, 0.06, 0.10],
]
EDUCATION_BY_JOB = [
    [0.02, 0.22, 0.76],
    [0.34, 0.46, 0.20],
    [0.24, 0.62, 0.14],
    [0.02, 0.58, 0.40],
    [0.06, 0.56, 0.38],
    [0.42, 0.52, 0.06],
]
MARITAL_BY_STAGE = [[0.01, 0.15, 0.84], [0.14, 0.62, 0.24], [0.18, 0.70, 0.12]]
MEAN_BALANCE = 3.0
BALANCE_PER_YEAR = 0.16
BALANCE_MANAGEMENT = 4.0
BALANCE_SPREAD = 5.5
CHANCE_HOUSING = 0.46
MEAN_CONTACTS = 1.6
CONTACTS_SPREAD = 1.7
OUTCOME_SHARES = [[0.0, 1.0, 0.0], [0.55, 0.12, 0.33]]
CHANCE_MOBILE = 0.7

SUBTLE_GROUP = Effect(
    "middle-aged men of two origins",
    "Men aged 40 to 59 who were born in Africa or Asia lose 7 points.",
    {"sex": ("male",), "age": (40, 59), "born_in": ("Africa", "Asia")},
    -7,
)

RULE = PointRule(
    Schema(
        (*COLUMNS, category("offer", "no", "yes")),
        label="offer",
        favourable="yes",
        protected=("age", "sex", "born_in"),
    ),
    {
        "job": (9, 5, 4, 1, 6, 3),
        "education": (0, 3, 7),
        "marital": (1, 3, 2),
        "balance_thousands": ladder(BALANCE, {0: 0, 3: 4, 8: 8, 15: 11, 22: 13}),
        "housing_loan": (4, 0),
        "earlier_contacts": ladder(CONTACTS, {0: 0, 1: 2, 3: 4}),
        "last_campaign": (0, 2, 9),
        "channel": (0, 2),
    },
    cut=25,
    effects=(SUBTLE_GROUP,),
)


def draw(n: int, rng: np.random.Generator) -> FloatArray:
    """Rows ``(n, 11)`` from the structural equations."""
    same = np.zeros(n, dtype=np.int64)
    age = bell(rng, np.full(n, MEAN_AGE), AGE_SPREAD, AGE.low, AGE.high)
    sex = happens(rng, np.full(n, CHANCE_MALE)).astype(np.int64)
    origin = choose(rng, table(ORIGIN_SHARES, same))
    stage = (age >= STAGE_FROM[0]).astype(np.int64) + (age >= STAGE_FROM[1])
    job = choose(rng, table(JOB_BY_STAGE, stage))
    mean_balance = (
        MEAN_BALANCE + BALANCE_PER_YEAR * (age - AGE.low) + BALANCE_MANAGEMENT * (job == JOB.labels.index("management"))
    )
    contacts = bell(rng, np.full(n, MEAN_CONTACTS), CONTACTS_SPREAD, CONTACTS.low, CONTACTS.high)
    return as_rows(
        COLUMNS,
        {
            "age": age,
            "sex": sex,
            "born_in": origin,
            "job": job,
            "education": choose(rng, table(EDUCATION_BY_JOB, job)),
            "marital": choose(rng, table(MARITAL_BY_STAGE, stage)),
            "balance_thousands": bell(rng, mean_balance, BALANCE_SPREAD, BALANCE.low, BALANCE.high),
            "housing_loan": happens(rng, np.full(n, CHANCE_HOUSING)).astype(np.int64),
            "earlier_contacts": contacts,
            "last_campaign": choose(rng, table(OUTCOME_SHARES, (contacts > 0).astype(np.int64))),
            "channel": happens(rng, np.full(n, CHANCE_MOBILE)).astype(np.int64),
        },
    )


MARKETING = CausalModel(
    name="marketing",
    title="Bank marketing",
    description="Who is offered the better deposit rate, with a planted disadvantage for one subtle group: "
    "men aged 40 to 59 born in Africa or Asia.",
    rule=RULE,
    draw=draw,
    equations=(
        "age, sex, born_in, housing_loan, earlier_contacts and channel are drawn independently",
        "job <- age",
        "education <- job",
        "marital <- age",
        "balance_thousands <- age, job (management)",
        "last_campaign <- earlier_contacts",
        "offer <- points of job, education, marital, balance_thousands, housing_loan, earlier_contacts, last_campaign, "
        "channel; and the planted effect of sex, age and born_in together",
    ),
    noise=1.2,
    n_rows=4000,
    seed=20240303,
    protected=("age", "sex", "born_in"),
    protected_sets=(("sex",), ("born_in",), ("age",), ("age", "sex", "born_in")),
    proxies=("Age acts on job, marital status and balance, and through them on the offer.",),
    no_effect=(),
    known="Men aged 40 to 59 born in Africa or Asia get the offer far less often; no single attribute shows it fully.",
    asks="Who is offered the better deposit rate?",
    outcome="get the offer",
    groups=(
        Group("men aged 40 to 59 born in Africa or Asia", SUBTLE_GROUP.where),
        Group("men aged 40 to 59 born elsewhere", {**SUBTLE_GROUP.where, "born_in": ("America", "Europe")}),
        Group("women aged 40 to 59 born in Africa or Asia", {**SUBTLE_GROUP.where, "sex": ("female",)}),
        Group("men under 40", {"sex": ("male",), "age": (18, 39)}),
    ),
    affected=("last_campaign", "balance_thousands"),
)
