"""An estimator that is not given some columns: fitted on a frame of the others, whose names it carries into its
file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import ModelError
from fairness_engine.models.inputs.names import input_matches
from fairness_engine.models.model import Encoder
from fairness_engine.retraining.trainers.sklearn import cloned, parts_of

if TYPE_CHECKING:
    import pandas as pd


class OtherInputs:
    """A frame of what an encoder gives but for the inputs made of some columns.

    Args:
        encoder: of the model.
        unseen: names of columns.

    Raises:
        ModelError: nothing is left, or the encoder's inputs cannot be told apart by column.
    """

    def __init__(self, encoder: Encoder, unseen: Collection[str]) -> None:
        self._encoder = encoder
        self.block_rows = encoder.block_rows
        made_of = [match.column for match in input_matches(encoder)] or list(encoder.names)
        self.positions = [i for i, name in enumerate(made_of) if name not in unseen]
        self.names = tuple(encoder.names[i] for i in self.positions)
        self.all_names = tuple(encoder.names)
        if not self.names:
            raise ModelError(
                "A model needs an input that is not protected, but all of this one's are. Choose fewer protected "
                "attributes."
            )

    def encode(self, rows: FloatArray) -> pd.DataFrame:
        """``(n_rows, n_columns)`` -> a frame of ``n_rows`` with the other inputs."""
        import pandas as pd

        encoded = self._encoder.encode(rows)
        if hasattr(encoded, "columns"):
            frame: pd.DataFrame = encoded[list(self.names)]
            return frame
        return pd.DataFrame(encoded[:, self.positions], columns=list(self.names))

    plain = encode


def without_inputs(estimator: Any, inputs: OtherInputs) -> Any:
    """A clone whose steps name none of the inputs that it is not given.

    Args:
        estimator: as it was trained.
        inputs: says which are left.

    Raises:
        ModelError: it cannot be cloned.
    """
    changed = cloned(estimator)
    for part in parts_of(changed):
        if type(part).__name__ == "ColumnTransformer":
            part.set_params(transformers=_transformers(part.transformers, inputs))
        elif type(part).__name__ == "HistGradientBoostingClassifier":
            part.set_params(**_boosting_settings(part, inputs, is_given_them=part is changed))
    return changed


def _boosting_settings(boosting: Any, inputs: OtherInputs, *, is_given_them: bool) -> dict[str, Any]:
    """Settings of boosting on histograms that name its inputs, for the inputs that are left.

    Args:
        is_given_them: it is no step behind a transformation, whose columns have other places.

    Raises:
        ModelError: it names columns of a transformation.
    """
    named = {name: getattr(boosting, name) for name in ("categorical_features", "monotonic_cst")}
    named = {name: value for name, value in named.items() if value is not None and not isinstance(value, str)}
    if not named:
        return {}
    if not is_given_them:
        raise ModelError(
            f"'{next(iter(named))}' of '{type(boosting).__name__}' names columns behind a transformation, whose places "
            "change when one goes. Train the model without the columns yourself, or name a surrogate: 'forest', "
            "'tree', 'linear' or 'mlp'."
        )
    changed: dict[str, Any] = {}
    if "categorical_features" in named:
        changed["categorical_features"] = _named(named["categorical_features"], inputs)
    constraints = named.get("monotonic_cst")
    if isinstance(constraints, dict):
        changed["monotonic_cst"] = {name: value for name, value in constraints.items() if name in inputs.names}
    elif constraints is not None:
        changed["monotonic_cst"] = [constraints[i] for i in inputs.positions]
    return changed


def _transformers(given: Sequence[Any], inputs: OtherInputs) -> list[Any]:
    """The transformers of a ``ColumnTransformer`` for the columns that are left."""
    kept = []
    for name, transformer, columns in given:
        if callable(columns):
            kept.append((name, transformer, columns))
            continue
        all_named = _all_named(columns, inputs.all_names)
        stays = [i for i, column in enumerate(all_named) if column in inputs.names]
        if stays:
            own = [all_named[i] for i in stays]
            # one name given as text hands a transformer of texts one dimension
            kept.append(
                (
                    name,
                    _fewer_categories(transformer, stays, len(all_named)),
                    own[0] if isinstance(columns, str) else own,
                )
            )
    return kept


def _named(columns: Any, inputs: OtherInputs) -> list[str]:
    return [name for name in _all_named(columns, inputs.all_names) if name in inputs.names]


def _all_named(columns: Any, names: tuple[str, ...]) -> list[str]:
    """Columns given as names, positions, a slice or a mask, as names."""
    if isinstance(columns, str):
        return [columns]
    if not isinstance(columns, slice) and len(columns) and isinstance(columns[0], str):
        return [str(column) for column in columns]
    where = columns if isinstance(columns, slice) else np.asarray(columns)
    chosen: list[str] = np.asarray(names, dtype=object)[where].ravel().tolist()
    return chosen


def _fewer_categories(transformer: Any, stays: list[int], n_columns: int) -> Any:
    """A transformer whose lists of categories, one a column, are those of the columns that stay."""
    if not hasattr(transformer, "get_params"):
        return transformer  # "passthrough", "drop"
    changed = cloned(transformer)
    for key, value in transformer.get_params().items():
        if key.split("__")[-1] == "categories" and isinstance(value, list | tuple) and len(value) == n_columns:
            changed.set_params(**{key: [value[i] for i in stays]})
    return changed
