"""Which inputs of a fitted transformation are more than scaled on their way through it.

A number that is only scaled can be computed for every value of its range. What else is done to it cannot be learned by
asking for some values: an encoder knows some numbers and no others, an imputer may take 0 for a missing cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
_IMPUTERS = ("SimpleImputer", "KNNImputer", "IterativeImputer")
_SELECTORS = ("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "RFE", "RFECV")
"""They leave columns out, and change none."""


def bent_inputs(transformation: Any, inputs: Sequence[int]) -> set[int]:
    """Which inputs are more than scaled, or not known to be only scaled.

    Args:
        transformation: fitted; a step of a pipeline, or a pipeline.
        inputs: what its columns are called here, in its order.
    """
    kind = type(transformation).__name__
    if _is_straight(transformation):
        return set()
    if kind == "ColumnTransformer":
        places = getattr(transformation, "_transformer_to_input_indices", None)
        if places is None:
            return set(inputs)
        bent: set[int] = set()
        for name, part, _ in transformation.transformers_:
            bent |= bent_inputs(part, [inputs[place] for place in places[name]])
        return bent
    if kind == "FeatureUnion":
        return set().union(*(bent_inputs(part, inputs) for _, part in transformation.transformer_list))
    if kind == "Pipeline" and all(_is_straight(step) for _, step in transformation.steps[1:]):
        return bent_inputs(transformation.steps[0][1], inputs)
    return set(inputs)


def _is_straight(part: Any) -> bool:
    """Whether a transformation scales, hands on or leaves out each of its columns, and does nothing else."""
    if part is None or isinstance(part, str):  # "passthrough", "drop"
        return True
    is_straight = _STRAIGHT.get(type(part).__name__)
    return is_straight is not None and type(part).__module__.startswith("sklearn.") and is_straight(part)


_STRAIGHT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(SCALERS, lambda part: not getattr(part, "clip", False)),
    # rows are complete: what stands for a missing cell is not in them, if it is no number
    **dict.fromkeys(_IMPUTERS, lambda part: isinstance(part.missing_values, float) and math.isnan(part.missing_values)),
    **dict.fromkeys(_SELECTORS, lambda _: True),
    "FunctionTransformer": lambda part: part.func is None,
    "ColumnTransformer": lambda part: all(_is_straight(one) for _, one, _ in part.transformers_),
    "FeatureUnion": lambda part: all(_is_straight(one) for _, one in part.transformer_list),
    "Pipeline": lambda part: all(_is_straight(step) for _, step in part.steps),
}
