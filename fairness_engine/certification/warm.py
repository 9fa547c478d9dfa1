"""Compiles the loops of certifications, or loads them when they were compiled before."""

from __future__ import annotations

import importlib

KERNELS = (
    *(
        "box_kernels",
        "box_tree_kernels",
        "class_form_kernels",
        "classes_kernels",
        "classic_kernels",
        "counting_kernels",
    ),
    *("explain_kernels", "linear_kernels", "network_kernels", "partition_kernels", "points_kernels", "refine_kernels"),
)
"""The modules of compiled loops that are called from outside; each has a ``warm_up`` of its own."""


def warm_up() -> None:
    """Compile every loop for the types it is called with."""
    for name in KERNELS:
        importlib.import_module(f"fairness_engine.certification.{name}").warm_up()
