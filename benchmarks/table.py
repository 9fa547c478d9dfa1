"""What every benchmark shares: the machine it ran on, medians, and the Markdown table it keeps."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

FOLDER = Path(__file__).parent
T = TypeVar("T")


def shared_folder() -> Path:
    """Where the real data and models are (``EVENHAND_SHARED``).

    Raises:
        SystemExit: the variable is not set to a folder.
    """
    folder = Path(os.environ.get("EVENHAND_SHARED", ""))
    if not os.environ.get("EVENHAND_SHARED") or not folder.is_dir():
        raise SystemExit(
            "This benchmark needs the real data: set EVENHAND_SHARED to the folder that holds data/ and models/."
        )
    return folder


def machine() -> str:
    """Processor, cores, system and the versions that matter, in one line."""
    names = ("numpy", "numba", "scikit-learn", "streamlit")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def medians(measure: Callable[[int], tuple[float, ...]], repeats: int) -> tuple[float, ...]:
    """The median of each figure over several runs; ``measure`` is given the number of the run as its seed."""
    runs = [measure(seed) for seed in range(repeats)]
    return tuple(statistics.median(run[i] for run in runs) for i in range(len(runs[0])))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def keep(name: str, title: str, parts: Sequence[str]) -> None:
    """Print the result and write it to ``benchmarks/<name>.md`` with the machine and the date."""
    head = f"# {title}\n\n{datetime.datetime.now(tz=datetime.UTC).date()}; {machine()}.\n"
    text = "\n".join([head, *(part + "\n" for part in parts)])
    (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def keep_sections(name: str, title: str, sections: Sequence[str]) -> None:
    """Write sections, each with machine and date, into ``benchmarks/<name>.md``; what else it holds stays as it is.

    Args:
        name, title: of the file.
        sections: each begins with its heading, ``## ...``.
    """
    path = FOLDER / f"{name}.md"
    made = f"*{datetime.datetime.now(tz=datetime.UTC).date()}; {machine()}.*"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    kept = {text.partition("\n")[0]: text.strip() for text in before.split("\n## ")[1:]}
    for section in sections:
        heading, _, rest = section.removeprefix("## ").partition("\n")
        kept[heading] = f"{heading}\n\n{made}\n\n{rest.strip()}"
    opening = before.partition("\n## ")[0].partition("\n")[2].strip()
    text = "\n\n".join(filter(None, [f"# {title}", opening, *(f"## {section}" for section in kept.values())])) + "\n"
    path.write_text(text, encoding="utf-8")
