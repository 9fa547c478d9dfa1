"""One model of loan applications exported in some seventy ways, and how each file is read on a messy CSV of 20,000
people.

``python -m benchmarks.reading`` writes ``benchmarks/reading.md``. ``--rows 4000`` and ``--only skops`` print a part of
it only. Every case knows its true answers from NumPy, scikit-learn or Keras (``tests/models/export_bank.py``); a
reading that is wrong and not stopped is a fault.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from benchmarks.table import keep, markdown
from models.export_bank import Bank
from models.export_cases import ALL, NEVER_RIGHT
from models.export_judge import WRONG, Judge, Outcome

N_ROWS = 20_000
HEADER = ("exported as", "opened", "AUC", "off by", "as proposed", "off by", "with known answers")
SAID = """Opened with nothing said; then as the reading proposes (the button of the Model page); then with known answers
in the form in which the model's environment gave them (for every case the share of 'ja', the share of class 1, its
logit; the worst is shown), and as that proposes. *Off by* is the largest difference to the true probability of 'ja'
over all rows that can be used. *Not opened* is a refusal in a sentence."""


def shown(outcome: Outcome | None) -> str:
    """A state, and in bold what is wrong without a word."""
    if outcome is None:
        return "–"
    return f"**{outcome.state}, wrong**" if outcome.verdict == WRONG else outcome.state


def off(outcome: Outcome | None) -> str:
    """How far off the scores are, in two digits; nothing for what is exact."""
    if outcome is None or outcome.off is None:
        return "–"
    return "0" if outcome.off < 1e-6 else f"{outcome.off:.1g}"


def row(name: str, bank: Bank, judge: Judge) -> tuple[tuple[str, ...], bool]:
    """A line of the table, and whether the case is a fault: silently wrong, or right and never confirmed."""
    case = ALL[name](name, bank, judge.folder)
    plain = judge.as_it_is(case)
    proposed = judge.as_proposed(case, plain)
    paths = [[each for each in judge.with_answers(case, form) if each is not None] for form in case.forms()]
    ends = [path[-1] for path in paths]
    worst = max(ends, key=lambda end: (end.verdict == WRONG, end.state != "confirmed"))
    with_answers = next(path for path in paths if path[-1] is worst)
    is_silent = any(end.verdict == WRONG for path in paths for end in path)
    is_silent |= not case.is_hidden and any(each is not None and each.verdict == WRONG for each in (plain, proposed))
    is_never = name not in NEVER_RIGHT and any(end.state != "confirmed" for end in ends)
    area = "–" if plain.auc is None else f"{plain.auc:.2f}"
    line = (name, shown(plain), area, off(plain), shown(proposed), off(proposed), " → ".join(map(shown, with_answers)))
    return line, is_silent or is_never


def main() -> None:
    """Judge all cases, or those whose name has a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    bank = Bank(asked.rows)
    lines = []
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(bank, Path(folder))
        for name in ALL:
            if asked.only in name:
                line, is_fault = row(name, bank, judge)
                lines.append(line)
                faults += [name] * is_fault
                print(" | ".join(line), flush=True)
    n_hidden = sum("wrong" in "".join(line) for line in lines if line[0] not in faults)
    verdict = (
        f"{len(lines)} ways; {len(faults)} faults{': ' + '; '.join(faults) if faults else ''}; {n_hidden} plausible "
        "and wrong, which only known answers show."
    )
    if asked.only or asked.rows != N_ROWS:
        print(verdict)
        return
    keep("reading", "How exported models are read", [f"{verdict} {SAID}", markdown(HEADER, lines)])


if __name__ == "__main__":
    main()
