"""Compiles the loops of certifications, or loads them when they were compiled before."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

NETWORKS = ("box_kernels", "counting_kernels", "explain_kernels", "network_kernels")
"""The modules of compiled loops over networks that are called from outside; each has a ``warm_up`` of its own."""
OTHERS = (
    *("box_tree_kernels", "class_form_kernels", "classes_kernels", "classic_kernels"),
    *("linear_kernels", "partition_kernels", "points_kernels", "refine_kernels"),
)
"""Those of everything else; about as long to compile, so that two programs take half the time of one."""
KERNELS = (*NETWORKS, *OTHERS)


def warm_up(names: Sequence[str] = KERNELS) -> None:
    """Compile every loop of some of these modules for the types it is called with."""
    for name in names:
        importlib.import_module(f"fairness_engine.certification.{name}").warm_up()
