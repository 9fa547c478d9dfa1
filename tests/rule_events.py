"""Rule sets on one attribute of the census, as a model's process would send them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.events import RulesScored

RULES_SUMMARY = {
    **{"n_rule_sets": 2, "n_by_size": [2], "n_whole": 0, "max_attributes": 1, "n_rows": 100, "n_shown": 1, "n_rest": 0},
    **{"n_neighbours": 1600, "themis": None},
}


def whole(*values: int) -> np.ndarray:
    """An array of whole numbers."""
    return np.array(values, dtype=np.int64)


def rule_arrays(**changes: Any) -> dict[str, Any]:
    """Women and men: 40 and 60 of 100 rows, 100 of 400 samples favourable and 300 of 600."""
    arrays = {
        **{"rules": whole(0, 1)[:, None], "n_rows": whole(40, 60)},
        **{"n_inside": whole(400, 600), "favourable_inside": whole(100, 300)},
        **{"n_outside": whole(600, 400), "favourable_outside": whole(300, 100)},
        **{"low": np.array([0.2, 0.2]), "high": np.array([0.3, 0.3]), "error": np.array([0.05, 0.05])},
        **{"stage": whole(0, 0), "is_rest": whole(0, 0), "head": whole(0, 0)},
        **{"cell_codes": whole(0, 1)[:, None], "cell_n_rows": whole(40, 60)},
        **{"cell_drawn": whole(400, 600), "cell_favourable": whole(100, 300)},
    }
    return {**arrays, **changes}


def rule_space(**changes: Any) -> dict[str, Any]:
    """What the arrays speak of."""
    sex = {"name": "sex", "kind": "categorical", "labels": ["Female", "Male"], "lows": [], "highs": []}
    return {"attributes": [{**sex, "one_sided": False}], "n_rows": 100, **changes}


def rules_scored(space: dict[str, Any] | None = None, without: str = "", **changes: Any) -> RulesScored:
    """An event that may lie: ``changes`` of arrays, and ``without`` one of them."""
    arrays = {name: array for name, array in rule_arrays(**changes).items() if name != without}
    return RulesScored(arrays, rule_space(**(space or {})))
