"""The place of a model where there is none: a review may compare what a column of the data holds."""

from __future__ import annotations

from typing import Any, NoReturn

from fairness_engine.errors import ModelError
from fairness_engine.models.model import Model, Output


class _Nobody:
    """A predictor and an encoder that refuse to be asked."""

    kind = "no model"
    n_inputs: int | None = None
    n_scores = 1
    output = Output.LABEL
    names: tuple[str, ...] = ()
    block_rows: int | None = None

    def _refuse(self, *_: Any) -> NoReturn:
        raise ModelError("This needs a model, and the review has none. Add one under Model.")

    predict = margins = encode = plain = _refuse


def no_model(classes: tuple[str, ...], favourable: int | None) -> Model:
    """What stands for a model that is not there; it knows the outcomes of the data's label.

    Whoever asks it for a score gets a ``ModelError`` that says so.
    """
    nobody = _Nobody()
    return Model(nobody, nobody, classes=classes, favourable=1 if favourable is None else favourable, format="none")


def is_there(model: Model) -> bool:
    """Whether this is a model, and not the place of one."""
    return not isinstance(model.predictor, _Nobody)
