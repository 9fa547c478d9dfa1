"""Compiles the loops of certifications, or loads them when they were compiled before."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

NETWORKS = ("networks.box_kernels", "networks.counting_kernels", "networks.forward_kernels", "fairquant.kernels")
"""The modules of compiled loops over networks that are called from outside; each has a ``warm_up`` of its own."""
OTHERS = (
    *("forests.kernels", "networks.multiclass_kernels", "linear.kernels"),
    *("partition.partition_kernels", "partition.enumeration_kernels", "partition.refine_kernels"),
)
"""Those of everything else; with the loops of models and searches about as long to compile as those of networks, so
that two programs take half the time of one.
"""
KERNELS = (*NETWORKS, *OTHERS)


def warm_up(names: Sequence[str] = KERNELS) -> None:
    """Compile every loop of some of these modules for the types it is called with."""
    for name in names:
        importlib.import_module(f"fairness_engine.certification.{name}").warm_up()
