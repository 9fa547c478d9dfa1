"""Results that cannot be: the model's process is not believed."""

from __future__ import annotations

from typing import Any

import pytest

from result_lies import is_possible


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("count", {"n_discriminatory": 1, "n_individuals": 3, "share": 1 / 3}),
        ("count", {"n_discriminatory": 0, "n_individuals": 3, "share": 0.0}),
        ("discovery", {"evaluations": [0], "n_found": [0]}),
        ("discovery", {"evaluations": [1, 5, 9], "n_found": [0, 2, 2]}),
        ("diversity", {"n_leaves": 3, "per_1000": None, "per_100": 1.5}),
        ("plausibility", {"limit": 0.1, "n_measured": 0, "median_distance": None}),
        ("notes", {"notes": ["anything"]}),
        ("split", {"data": {"n_tried": 4, "n_found": 4}, "directed": {"n_tried": 0, "n_found": 0}}),
    ],
)
def test_what_can_be(name: str, content: dict[str, Any]) -> None:
    assert is_possible(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("count", {}),
        ("count", {"n_discriminatory": 4, "n_individuals": 3, "share": 4 / 3}),
        ("count", {"n_discriminatory": 1, "n_individuals": 3, "share": 0.9}),
        ("count", {"n_discriminatory": 0, "n_individuals": 0, "share": 0.0}),
        ("count", {"n_discriminatory": True, "n_individuals": 1, "share": 1.0}),
        ("count", {"n_discriminatory": -1, "n_individuals": 1, "share": -1.0}),
        ("count", {"n_discriminatory": 1, "n_individuals": 2**62, "share": 0.0}),
        ("count", {"n_discriminatory": 1, "n_individuals": 2, "share": "half"}),
        ("discovery", {"evaluations": [1, 2], "n_found": [0]}),
        ("discovery", {"evaluations": [], "n_found": []}),
        ("discovery", {"evaluations": [2, 1], "n_found": [0, 1]}),
        ("discovery", {"evaluations": [1, 2], "n_found": [3, 1]}),
        ("discovery", {"evaluations": [1, 2.5], "n_found": [0, 1]}),
        ("discovery", {"evaluations": "12", "n_found": "12"}),
        ("discovery", {"evaluations": [1] * 3000, "n_found": [1] * 3000}),
        ("diversity", {"per_1000": "many"}),
        ("diversity", {"per_1000": -1.0}),
        ("plausibility", {"limit": True}),
        ("split", {"data": {"n_tried": 4, "n_found": 5}}),
        ("split", {"data": {"n_tried": 4}}),
        ("split", {"data": 4}),
        ("plausibility", {"limit": [1]}),
    ],
)
def test_what_cannot_be(name: str, content: dict[str, Any]) -> None:
    assert not is_possible(name, content)
