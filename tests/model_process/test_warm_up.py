"""Compiling beforehand compiles what runs call: a process can keep no loop, so each run would compile it anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
LEFT = """
import importlib, pkgutil
import fairness_engine
from numba.core.registry import CPUDispatcher
from fairness_engine.model_process import server
from fairness_engine.model_process.starting.compiled_loops import WARM_UPS, Loops

def signatures():
    packages = pkgutil.walk_packages(fairness_engine.__path__, "fairness_engine.")
    modules = [importlib.import_module(each.name) for each in packages if each.name.endswith("kernels")]
    loops = {value for module in modules for value in vars(module).values() if isinstance(value, CPUDispatcher)}
    found = [(loop.py_func.__module__, loop.py_func.__name__, loop.signatures) for loop in loops]
    return {(module, name, signature) for module, name, signatures in found for signature in signatures}

def warm_up(*parts):
    for part in (Loops.MODELS, *parts):
        for name in WARM_UPS[part]:
            server.warm_up(name)
    warmed.update(signatures())
    assert warmed

warmed = set()
"""
SEARCHES = """
from dataclasses import replace
from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.errors import ModelError
from fairness_engine.model_process.session import open_all
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Scope
from fairness_engine.runs import kinds
from fairness_engine.search.registry import TECHNIQUES

warm_up(Loops.SEARCHES)
ENDED = dict.fromkeys(TECHNIQUES, 0)
for name in ("census_income_network", "census_income_forest", "census_income_svm", "credit_planted"):
    sample = find_sample(name.rpartition("_")[0])
    chosen = sample.model(name)
    schema = sample.schema_for(chosen)
    scope = Scope(chosen.protected)
    for asked in (scope, replace(scope, score_gap=0.05), replace(scope, protected=("age",))):
        session = open_all({
            "data": {"path": str(sample.data), "name": sample.data.name},
            "model": {"path": str(chosen.path), "name": chosen.path.name},
            "schema": schema.to_json(), "scope": asked.to_json(), "needs_variants": True,
        })
        of_searches = {"budget": Budget(1_000), "max_starts": 100}
        runs = [(kinds.SEARCH.name, {"technique": technique, **of_searches}) for technique in TECHNIQUES]
        picky = [name for name, technique in TECHNIQUES.items() if hasattr(technique, "only_plausible")]
        assert picky
        plausible = {"settings": {"only_plausible": True}}
        runs += [(kinds.SEARCH.name, {"technique": technique, **of_searches, **plausible}) for technique in picky]
        runs += [("estimate", {"distribution": each, "n_samples": 300}) for each in Distribution]
        runs += [("count", {})]
        for kind, others in runs:
            config = kinds.KINDS[kind].config("data", "model", schema, asked, **others)
            try:
                for _ in session.given({}).run(config, Clock(0.2 if kind == "count" else 60.0)):
                    pass
                ENDED[config.technique] = ENDED.get(config.technique, 0) + 1
            except ModelError:
                assert config.technique in ("adf", "eidig")  # the model has no gradient
assert min(ENDED.values()) >= 3, ENDED
"""
CERTIFICATIONS = """
from fairness_engine.clock import Clock
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.oracle.domain import Domain, Scope
import numpy as np
import test_forests, test_multiclass
from test_box_inspection import opened

warm_up(Loops.SEARCHES, Loops.CERTIFICATIONS)

def certify(model, domain, rows, **others):
    for weights in ("uniform", "data"):
        settings = CertifySettings(weights=weights, max_boxes=300, n_samples=500, **others)
        for _ in run_certification(model, domain, rows, settings, 0, Clock(60.0)):
            pass

for name in ("network", "forest", "tree", "ensemble", "pipeline"):
    for protected in (("sex",), ("age",)):
        for mode in ("counting", "classic"):
            certify(*opened(f"census_income_{name}", protected), mode=mode)
schema = test_forests.small_schema()
rows = sample_rows(schema, 100, np.random.default_rng(0))
for make in test_forests.ESTIMATORS.values():
    for n_classes in (2, 3):
        certify(test_forests.fitted(make(0), schema, 0, n_classes), Domain(schema, Scope(("sex",))), rows)
schema = test_multiclass.SCHEMA
rows = sample_rows(schema, 100, np.random.default_rng(0))
certify(test_multiclass.model_of(4), Domain(schema, Scope(schema.protected)), rows)
"""


@pytest.mark.parametrize("runs", [SEARCHES, CERTIFICATIONS], ids=["searches", "certifications"])
def test_every_loop_is_compiled_for_the_types_it_is_called_with(runs: str) -> None:
    folders = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "certification")]
    told = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}\n{LEFT}{runs}\nLEFT = signatures() - warmed\n"
         "print(*sorted(LEFT, key=str), sep='\\n', end='')"],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr[-2000:]
    assert told.stdout == ""
