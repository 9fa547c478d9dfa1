"""Streams of a model's process, damaged and turned into lies by chance, told to the trusted side: how many end as
crashed, how many are taken, and whether what was stored of them can be.

.venv/bin/python -m benchmarks.altered_streams --streams 100000 --answers 26000

Real streams of every kind of run, and real answers to every question of a page, are recorded; each altered one is made
by a seed of its own. The store is a real one, in memory where there is such a folder. Some streams go through the
whole worker, the others through what it hands lines to. Nothing of it needs the real data.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.table import keep, markdown
from fairness_engine.errors import MAX_MESSAGE, EvenhandError
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from altered_streams import MAX_STORED_BYTES, alter, alter_answer, answer_problems, problems
from recorded_streams import KINDS, Recorded, ToldAgain, answer, questions, record, record_answers, tell

_SEARCH = "search: random"
"""Whose pairs questions are asked about."""
_WHOLE_EVERY = 25
_LONGEST_SECONDS = 30.0
_MAX_MIXED_BYTES = 30_000
_REPORT_EVERY = 500


@dataclass
class Tally:
    """What became of altered streams, by name of the stream.

    Args:
        crashed, accepted: the run ended with a sentence; it went through, and what it left can be.
        unexpected: the first of every sort of surprise, with the seed that makes it.
        longest: seconds of one stream.
    """

    crashed: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    unexpected: dict[str, list[str]] = field(default_factory=dict)
    longest: float = 0.0

    def note(self, name: str, seed: str, is_accepted: bool, found: Sequence[str], seconds: float) -> None:
        """Count one."""
        self.longest = max(self.longest, seconds)
        if found or seconds > _LONGEST_SECONDS:
            self.unexpected.setdefault(name, []).append(f"{seed}: {'; '.join(found) or f'{seconds:.0f} s'}")
        elif is_accepted:
            self.accepted[name] += 1
        else:
            self.crashed[name] += 1

    def add(self, other: Tally) -> None:
        """Count another's too."""
        self.crashed += other.crashed
        self.accepted += other.accepted
        self.longest = max(self.longest, other.longest)
        for name, found in other.unexpected.items():
            self.unexpected.setdefault(name, []).extend(found)


def _folder() -> Path:
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="altered-streams-", dir=shared if shared.is_dir() else None))


def _streams(streams: dict[str, tuple[bytes, ...]], numbers: range) -> Tally:
    """Tell the altered streams of these numbers."""
    folder = _folder()
    store = RunStore(folder)
    tally = Tally()
    names = list(streams)
    configs = {name: KINDS[name](store) for name in names}
    again = {name: ToldAgain(store, config) for name, config in configs.items()}
    others = [line for lines in streams.values() for line in lines if len(line) < _MAX_MIXED_BYTES]
    for done, number in enumerate(numbers):
        name = names[number % len(names)]
        seed = f"{name} {number}"
        said = alter(random.Random(seed), streams[name], others)
        is_whole = number // len(names) % _WHOLE_EVERY == 0
        started = time.monotonic()
        is_accepted = False
        try:
            run = tell(store, configs[name], said) if is_whole else again[name].tell(said)
            found = problems(store, run)
            is_accepted = run.state is RunState.FINISHED
            if is_whole:
                shutil.rmtree(store.run_folder(run.id))
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            found = [traceback.format_exc()[-2_000:]]
        tally.note(name, seed, is_accepted, found, time.monotonic() - started)
        if done % _REPORT_EVERY == 0:
            print(f"{done:,} of {len(numbers):,}; unexpected: {tally.unexpected}", flush=True)
    store.close()
    shutil.rmtree(folder)
    return tally


def _answers(recorded: Recorded, n: int) -> Tally:
    """Give altered answers to questions of pages."""
    folder = _folder()
    store = RunStore(folder)
    config = KINDS[_SEARCH](store)
    asked = questions(recorded)
    lines = record_answers(store, config, list(asked.values()))
    others = list(lines.values())
    tally = Tally()
    for number in range(n):
        name = list(asked)[number % len(asked)]
        seed = f"answer {name} {number}"
        said = alter_answer(random.Random(seed), lines[name], others)
        started = time.monotonic()
        is_accepted = False
        try:
            found = answer_problems(config, answer(config, asked[name], said))
            is_accepted = True
        except EvenhandError as error:
            found = [] if len(str(error)) <= MAX_MESSAGE and "\n" not in str(error) else [str(error)]
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            found = [traceback.format_exc()[-2_000:]]
        tally.note(f"question: {name}", seed, is_accepted, found, time.monotonic() - started)
    store.close()
    shutil.rmtree(folder)
    return tally


def main() -> None:
    """Record, alter, tell, and keep the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=26_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first altered stream")
    options = parser.parse_args()
    folder = _folder()
    store = RunStore(folder)
    recorded = {}
    for name, make in KINDS.items():
        recorded[name] = record(store, make(store))
        print(f"recorded {name}: {len(recorded[name].lines)} lines", flush=True)
    store.close()
    shutil.rmtree(folder)
    tally = _answers(recorded[_SEARCH], options.answers)
    last = options.first + options.streams
    size = -(-options.streams // options.processes)
    parts = [range(start, min(start + size, last)) for start in range(options.first, last, size)]
    streams = {name: each.lines for name, each in recorded.items()}
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for part in pool.starmap(_streams, [(streams, numbers) for numbers in parts]):
            tally.add(part)
    names = [*streams, *(name for name in sorted({*tally.crashed, *tally.accepted}) if name not in streams)]
    rows = []
    for name in names:
        counts = (tally.crashed[name], tally.accepted[name], len(tally.unexpected.get(name, ())))
        rows.append([name, *(f"{n:,}" for n in (sum(counts), *counts))])
    total = (tally.crashed.total(), tally.accepted.total(), sum(map(len, tally.unexpected.values())))
    rows.append(["**all**", *(f"{n:,}" for n in (sum(total), *total))])
    surprises = [f"* {text}" for found in tally.unexpected.values() for text in found]
    keep(
        "altered_streams",
        "What the trusted side makes of altered streams",
        [
            "Each stream has one to three alterations: a value of another type, size or place, an array with other "
            "numbers, shape or bytes, a line dropped, doubled, swapped, cut, or taken from another stream. *Crashed*: "
            f"the run ended with one sentence of at most {MAX_MESSAGE} characters. *Accepted*: it went to its end, and "
            "what was stored (as of crashed runs too) was read as pages read it and found to be possible by code of "
            "its own: people in the domain who differ in protected columns only, nobody twice, counts that agree. "
            "Of answers to a page's questions the same: refused in a sentence, or possible.",
            markdown(["stream", "altered", "crashed", "accepted, consistent", "unexpected"], rows),
            f"The longest took {tally.longest:.1f} s on a busy machine; none stored more than "
            f"{MAX_STORED_BYTES // 10**6} MB.",
            *surprises,
        ],
    )


if __name__ == "__main__":
    main()
