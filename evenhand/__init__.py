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

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
_MODULES = {
    "evenhand.data": ("Data", "read_data", "read_sample"),
    "evenhand.results": ("Certification", "Count", "Estimate", "Groups", "Search"),
    "evenhand.review": ("Review",),
    "fairness_engine": ("__version__",),
    "fairness_engine.errors": ("EvenhandError",),
}
_OTHER_NAMES = {"Error": "EvenhandError"}


def __getattr__(name: str) -> object:
    """A public name, loaded when it is first asked for: the program ``evenhand`` is in this package, too, and needs
    none of them.
    """
    if name in __all__:
        theirs = _OTHER_NAMES.get(name, name)
        module = next(module for module, names in _MODULES.items() if theirs in names)
        globals()[name] = getattr(import_module(module), theirs)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(globals() | dict.fromkeys(__all__))
