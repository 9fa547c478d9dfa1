"""Evenhand from a script or a notebook: who is decided differently for nothing but a protected attribute.

>>> import evenhand
>>> data, model = evenhand.read_sample("credit")
>>> review = evenhand.Review(data, model, protected=["sex"])
>>> found = review.search("random", max_evaluations=2000, seed=1)
>>> found.n_found, len(found.pairs)
(33, 66)

``docs/python.md`` has every public name.
"""

from __future__ import annotations

from evenhand.data import Data, read_data, read_sample
from evenhand.results import Certification, Count, Estimate, Groups, Search
from evenhand.review import Review
from fairness_engine import __version__
from fairness_engine.errors import EvenhandError as Error

__all__ = [
    "Certification",
    "Count",
    "Data",
    "Error",
    "Estimate",
    "Groups",
    "Review",
    "Search",
    "__version__",
    "read_data",
    "read_sample",
]
