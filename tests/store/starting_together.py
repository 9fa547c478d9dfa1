"""Runs that start while others add the files they are about to open: ``PYTHONPATH=. python
tests/store/starting_together.py 50`` tells how many fail.

Each round has a data file of its own, so that its first search is the first that keeps it.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path

from fairness_engine.data.schema import Schema
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Fit, Held
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds, queue
from fairness_engine.store.records import FileRole, RunState
from fairness_engine.store.store import RunStore
from worker_cases import DATA, MODEL, SCHEMA, SCOPE, wait_for_end


def failures_of_a_round(store: RunStore, number: int) -> list[str]:
    """Two searches, a demo (its fit card, then its search) and two uploads of the same files at once; what went wrong,
    in words.
    """
    lines = DATA.read_bytes().splitlines(keepends=True)
    content = b"".join(lines + lines[1 : number + 1])
    schema = Schema.read(SCHEMA)
    runs_ended = threading.Event()
    failures: list[str] = []
    run_ids: list[str] = []

    def add_both() -> tuple[str, str]:
        data = store.add_file(content, DATA.name, FileRole.DATA)
        return data.id, store.add_file(MODEL, MODEL.name, FileRole.MODEL).id

    def search(seed: int) -> None:
        data_id, model_id = add_both()
        budget = Budget(max_evaluations=2_000)
        run_id = store.create_run(
            kinds.SEARCH.config(data_id, model_id, schema, SCOPE, technique="random", budget=budget, seed=seed)
        )
        run_ids.append(run_id)
        queue.launch(store, run_id)

    def demo() -> None:
        evaluator = Evaluator(store)
        try:
            evaluator.ask(Held(*add_both(), schema), Fit())
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            failures.append(f"fit card: {error}")
        finally:
            evaluator.close()
        search(3)

    def upload() -> None:
        while not runs_ended.wait(0.002):
            add_both()

    uploads = [threading.Thread(target=upload) for _ in range(2)]
    starts = [threading.Thread(target=search, args=(seed,)) for seed in (1, 2)] + [threading.Thread(target=demo)]
    for thread in uploads + starts:
        thread.start()
    for thread in starts:
        thread.join()
    ended = [wait_for_end(store, run_id, 180) for run_id in run_ids]
    runs_ended.set()
    for thread in uploads:
        thread.join()
    return failures + [f"{run.state}: {run.message}" for run in ended if run.state is not RunState.FINISHED]


def main() -> None:
    """As many rounds as asked for."""
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        for number in range(n_rounds):
            failures += failures_of_a_round(store, number)
            print(f"{number + 1} rounds, {3 * (number + 1)} runs, {len(failures)} failures", flush=True)
        store.close()
    print(*failures, sep="\n")


if __name__ == "__main__":
    main()
