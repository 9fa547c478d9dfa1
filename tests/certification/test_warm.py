"""Compiling beforehand compiles what certifications call: nothing is left for the first run to wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import importlib, sys
from numba.core.registry import CPUDispatcher
from fairness_engine.clock import Clock
from fairness_engine.certification import warm_up as warm
from fairness_engine.models.trees import kernels as tree_kernels
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.settings import CertifySettings
from test_box_inspection import opened

def signatures():
    names = [*(f"certification.{name}" for name in warm.KERNELS), "models.trees.kernels"]
    modules = [importlib.import_module(f"fairness_engine.{name}") for name in names]
    loops = {value for module in modules for value in vars(module).values() if isinstance(value, CPUDispatcher)}
    found = [(loop.py_func.__module__, loop.py_func.__name__, loop.signatures) for loop in loops]
    return {(module, name, signature) for module, name, signatures in found for signature in signatures}

warm.warm_up()
tree_kernels.warm_up()
before = signatures()
assert before
for name in ("network", "forest", "tree", "ensemble", "pipeline"):
    for protected in (("sex",), ("age",)):
        for weights in ("uniform", "data"):
            for mode in ("counting", "classic"):
                settings = CertifySettings(mode=mode, weights=weights, max_boxes=300, n_samples=500)
                for _ in run_certification(*opened(f"census_income_{name}", protected), settings, 0, Clock(60.0)):
                    pass
for module, loop, signature in sorted(signatures() - before, key=str):
    print(module, loop, signature)
"""


def test_every_loop_is_compiled_for_the_types_it_is_called_with() -> None:
    folders = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "certification")]
    program = f"import sys; sys.path[:0] = {folders!r}\n{PROGRAM}"
    told = subprocess.run(
        [sys.executable, "-c", program], check=False, cwd=ROOT, capture_output=True, text=True, timeout=1200
    )
    assert told.returncode == 0, told.stderr[-2000:]
    assert told.stdout == ""
