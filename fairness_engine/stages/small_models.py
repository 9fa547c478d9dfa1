"""The models of the stages: small networks over a plane of two attributes, whose truth is known person by person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.oracle.domain import Domain, Scope

SEX, AGE, INCOME, PAYMENTS = range(4)
"""The columns, in order; payments in one of the models only. Income and age are the axes of the plane."""
SEXES = ("women", "men")
YOUNGEST = 20
OLDEST = 49
HIGHEST_INCOME = 39
MOST_MISSED = 2
_FULL_AGE = 36
_SHARPNESS = 0.25
_N_PEOPLE = 240
_DATA_SEED = 20


@dataclass(frozen=True)
class SmallModel:
    """A model that decides by sex, age and income, and in one case by payments missed; sex is protected.

    Args:
        name: of the model, as ``registry.MODELS`` has it.
        rule: what it decides by, in words.
        truth: who is treated differently, in words.
        model, domain: as a review has them.
        planes: what the planes of the picture are called, one a number of payments missed; one plane, without a name,
            where nobody asks for payments.
    """

    name: str
    rule: str
    truth: str
    model: Model
    domain: Domain
    planes: tuple[str, ...]

    @cached_property
    def people(self) -> FloatArray:
        """A data set of such people ``(240, n_columns)``: the older, the higher the income, on the whole."""
        rng = np.random.default_rng(_DATA_SEED)
        age = rng.integers(YOUNGEST, OLDEST + 1, _N_PEOPLE)
        income = np.clip(np.rint(rng.normal(14 + 0.25 * (age - YOUNGEST), 9)), 0, HIGHEST_INCOME)
        columns = [rng.integers(0, len(SEXES), _N_PEOPLE), age, income]
        if len(self.planes) > 1:
            columns.append(rng.choice(MOST_MISSED + 1, _N_PEOPLE, p=(0.6, 0.25, 0.15)))
        return np.stack(columns, axis=1).astype(np.float64)

    @property
    def everybody(self) -> FloatArray:
        """Every individual once ``(n_planes * 30 * 40, n_columns)``, as women: by plane, then age, then income."""
        ages = np.arange(YOUNGEST, OLDEST + 1)
        incomes = np.arange(HIGHEST_INCOME + 1)
        plane, age, income = np.meshgrid(np.arange(len(self.planes)), ages, incomes, indexing="ij")
        columns = [np.zeros(plane.size), age.ravel(), income.ravel()]
        if len(self.planes) > 1:
            columns.append(plane.ravel())
        return np.stack(columns, axis=1).astype(np.float64)

    def granted(self, model: Model | None = None) -> IntArray:
        """Whether women and men get the loan, of everybody ``(2, n_planes, 30, 40)``; from another model, if given."""
        asked = model or self.model
        rows = self.everybody
        as_men = rows.copy()
        as_men[:, SEX] = 1.0
        both = [asked.decide(asked.scores(each)) for each in (rows, as_men)]
        shape = (len(SEXES), len(self.planes), OLDEST - YOUNGEST + 1, HIGHEST_INCOME + 1)
        return np.asarray(both, dtype=np.int64).reshape(shape)

    def is_treated_differently(self, row: FloatArray) -> bool:
        """Whether a person ``(n_columns,)`` is decided differently as a woman and as a man."""
        both = np.stack([row, row])
        both[:, SEX] = (0.0, 1.0)
        decided = self.model.decide(self.model.scores(both))
        return bool(decided[0] != decided[1])

    def plane_of(self, row: FloatArray) -> int:
        """Which plane a row ``(n_columns,)`` lies on."""
        return int(row[PAYMENTS]) if len(self.planes) > 1 else 0


def two_attributes() -> SmallModel:
    """Age and income make the plane; young women need more income than young men."""
    features = [(0, 0, 1, 0), (0, 1, 0, -YOUNGEST), (0, 1, 0, -_FULL_AGE), (-YOUNGEST, -1, 0, 40)]
    model, domain = _network(features, (1.0, 0.5, -0.5, -0.4), 24.25)
    return SmallModel(
        "two",
        "A loan is granted where the income, in thousands, and half a point for each year of age from 20 to 36 come to "
        "more than 24.",
        "Women under 40 need 0.4 more for each year that they are younger than 40. So the truth is a wedge: people of "
        "whom a man would get the loan and a woman would not.",
        model,
        domain,
        ("",),
    )


def three_attributes() -> SmallModel:
    """As ``two_attributes``, but sex matters for those only who missed a payment, and more for two."""
    features = [
        (0, 0, 1, 0, 0),
        (0, 1, 0, 0, -YOUNGEST),
        (0, 1, 0, 0, -_FULL_AGE),
        (0, 0, 0, 1, 0),
        (-YOUNGEST, -1, 0, 10, YOUNGEST),
    ]
    model, domain = _network(features, (1.0, 0.5, -0.5, -2.0, -0.6), 20.25, has_payments=True)
    return SmallModel(
        "three",
        "A loan is granted where the income, in thousands, and half a point for each year of age from 20 to 36, less 2 "
        "for each payment missed, come to more than 20.",
        "Women who missed a payment need more: 0.6 for each year that they are younger than 30 after one payment, than "
        "40 after two. Of those who missed none nobody is treated differently.",
        model,
        domain,
        ("no payment missed", "1 payment missed", "2 payments missed"),
    )


SMALL_MODELS = {"two": two_attributes, "three": three_attributes}


def _network(
    features: Sequence[tuple[int, ...]], weights: tuple[float, ...], limit: float, *, has_payments: bool = False
) -> tuple[Model, Domain]:
    """A network of one ReLU layer.

    Args:
        features: of each neuron the weight of sex (0 women, 1 men), age, income, payments, and its bias.
        weights: of the neurons, in thousands of income.
        limit: what must be exceeded.
    """
    columns = [
        Column("sex", Kind.CATEGORICAL, codes=SEXES, labels=SEXES),
        Column("age", Kind.INTEGER, minimum=YOUNGEST, maximum=OLDEST),
        Column("income", Kind.INTEGER, minimum=0, maximum=HIGHEST_INCOME),
    ]
    if has_payments:
        columns.append(Column("payments missed", Kind.INTEGER, minimum=0, maximum=MOST_MISSED))
    schema = Schema(tuple(columns), label="loan", favourable=1, protected=("sex",))
    first = np.array(features, dtype=np.float64)
    hidden = Layer(first[:, :-1].T.copy(), first[:, -1].copy(), Activation.RELU)
    last = Layer(_SHARPNESS * np.array(weights)[:, None], np.array([-_SHARPNESS * limit]), Activation.SIGMOID)
    model = bind(DenseNetwork([hidden, last]), CodesEncoder(schema), schema, classes=("refused", "granted"))
    return model, Domain(schema, Scope(("sex",)))
