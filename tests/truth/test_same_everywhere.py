"""What is found does not depend on the processor: every technique on five models, with the kernels of other processors.

Each process is told another kind of processor: OpenBLAS picks its kernels by it, NumPy its loops, numba its
instructions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairness_engine.model_process.starting.compiled_loops import compiled_folder
from own_folders import KEPT

ROOT = Path(__file__).resolve().parents[2]
OTHERS = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX"},
    "Nehalem": {
        **{"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX2 FMA3"},
        **{"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16"},
    },
}


def digests(**settings: str) -> list[str]:
    """A line for each technique on each model: the hash of all that was found."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OPENBLAS_NUM_THREADS": "1"} | settings
    if "NUMBA_CPU_NAME" in settings:
        # loops compiled for this machine are not for that one; they take a minute, and serve the next time too
        version = compiled_folder(KEPT).name
        name = f"{version}-{settings['NUMBA_CPU_NAME']}"
        environment["NUMBA_CACHE_DIR"] = str(KEPT / "compiled-for" / name)
    command = [sys.executable, "-m", "search.digests"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here() -> list[str]:
    return digests()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="kernels of x86-64 processors")
@pytest.mark.parametrize("name", OTHERS)
def test_other_processors_find_the_same_to_the_bit(name: str, here: list[str]) -> None:
    assert len(here) >= 40, "ten techniques on five models, two of which have a gradient"
    assert sum(int(line.split()[-1]) for line in here) > 50_000
    assert digests(**OTHERS[name]) == here
