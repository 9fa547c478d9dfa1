"""A model file on its way out of the process that trained it: parts that fit into lines."""

from __future__ import annotations

from collections.abc import Iterator

from fairness_engine.errors import ModelError
from fairness_engine.events import ModelPart
from fairness_engine.models.formats import MAX_MODEL_BYTES

PART_BYTES = 8_000_000


def model_parts(content: bytes, suffix: str, version: int) -> Iterator[ModelPart]:
    """The file in parts, in order.

    Args:
        content: of the file.
        suffix: of its name, with the dot.
        version: number of the round that made it; a later one replaces an earlier one.

    Raises:
        ModelError: it is larger than a model file may be.
    """
    if len(content) > MAX_MODEL_BYTES:
        raise ModelError(
            f"A model file may have at most {MAX_MODEL_BYTES / 1e6:.0f} MB, but the retrained one has {len(content) / 1e6:,.0f} MB. "
            "Retrain a smaller model."
        )
    n_parts = max(1, -(-len(content) // PART_BYTES))
    for index in range(n_parts):
        yield ModelPart(content[index * PART_BYTES : (index + 1) * PART_BYTES], index, n_parts, suffix, version)
