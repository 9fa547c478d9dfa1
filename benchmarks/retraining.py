"""Retraining beside the papers' figures and the authors' own retrained networks: before, after, and what it cost.

``python -m benchmarks.retraining`` with ``EVENHAND_SHARED`` set writes ``benchmarks/retraining.md``, a section a part;
``--only table5,table7`` makes some parts and leaves the others as they were; ``planted`` needs no real data. The
networks of Table 7 that are missing are trained first (``rules_models.py``).
"""

from __future__ import annotations

import argparse
import importlib
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.table import keep_sections

TITLE = "Retraining, before and after, beside the papers' figures"
PARTS = {
    "planted": "retraining_planted",
    "table5": "retraining_table5",
    "networks": "retraining_networks",
    "table7": "retraining_table7",
    "texts": "retraining_texts",
}
"""Modules of benchmarks; the function ``section`` of each makes its part."""
_HEADINGS = {
    "planted": "Every strategy on the samples, where discrimination was planted",
    "table5": "AEQUITAS's six classifiers, beside Table 5",
    "networks": "Networks, beside the authors' own retrained ones",
}
"""Of parts that come without one."""


def main() -> None:
    """Make the parts asked for, and keep each as soon as it is made.

    Raises:
        SystemExit: a part that there is none of.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help=f"parts: {', '.join(PARTS)}")
    chosen = [part for part in parser.parse_args().only.split(",") if part] or [*PARTS]
    unknown = sorted(set(chosen) - set(PARTS))
    if unknown:
        raise SystemExit(f"There is no part '{unknown[0]}'; there are: {', '.join(PARTS)}.")
    for name in chosen:
        section: str = importlib.import_module(f"benchmarks.{PARTS[name]}").section()
        if not section.startswith("## "):
            section = f"## {_HEADINGS[name]}\n\n{section}"
        print(section, "\n", flush=True)
        keep_sections("retraining", TITLE, [section])


if __name__ == "__main__":
    main()
