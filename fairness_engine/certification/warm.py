"""Compiles the loops of certifications, or loads them when they were compiled before."""

from __future__ import annotations

import importlib
import pkgutil

from fairness_engine import certification


def kernel_modules() -> list[str]:
    """The modules of compiled loops, by name; each has a ``warm_up`` of its own."""
    names = (module.name for module in pkgutil.iter_modules(certification.__path__))
    return sorted(f"{certification.__name__}.{name}" for name in names if name.endswith("kernels"))


def warm_up() -> None:
    """Compile every loop for the types it is called with."""
    for name in kernel_modules():
        importlib.import_module(name).warm_up()
