"""Write requirements.lock, those of the extras and requirements-dev.lock from the files of ranges: `make lock`.

One lock serves every supported Python and processor: it is resolved for each of them, and refused when two differ.
Versions already in the lock are kept where the ranges allow; `make lock UPGRADE=1` takes the newest.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28")


def pins(text: str) -> list[str]:
    """The versions and hashes of a lock file, without the comments that say which package asked for which."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


def compile_lock(source: str, target: Path, python: str, platform: str, options: tuple[str, ...]) -> str:
    """Resolve one requirements file for one Python and platform into `target`; returns the text."""
    command = [sys.executable, "-m", "uv", "pip", "compile", source, "--output-file", str(target), "--generate-hashes"]
    command += ["--python-version", python, "--python-platform", platform, "--quiet", *options]
    command += ["--custom-compile-command", "make lock"]
    subprocess.run(command, cwd=ROOT, check=True)
    return target.read_text()


def lock(source: str, target: str, options: tuple[str, ...]) -> None:
    """Write one lock file, the same for all Pythons and platforms.

    Raises:
        SystemExit: two of them resolve to different packages.
    """
    written = compile_lock(source, ROOT / target, PYTHONS[0], PLATFORMS[0], options)
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / target
        for python in PYTHONS:
            for platform in PLATFORMS:
                trial.write_text(written)
                kept = tuple(option for option in options if option != "--upgrade")
                if pins(compile_lock(source, trial, python, platform, kept)) != pins(written):
                    raise SystemExit(
                        f"One lock must serve every Python, but {source} resolves differently for Python {python} on "
                        f"{platform}. Narrow a range in {source}, or give the package a marker."
                    )
    print(f"{target}: the same for Python {', '.join(PYTHONS)} on {', '.join(PLATFORMS)}")


def main() -> int:
    """Write the locks."""
    upgrade = ("--upgrade",) if "--upgrade" in sys.argv[1:] else ()
    tools = ["--quiet", "--require-hashes", "-r", "requirements-setup.lock"]  # uv among them
    subprocess.run([sys.executable, "-m", "pip", "install", *tools], cwd=ROOT, check=True)
    lock("requirements.txt", "requirements.lock", upgrade)
    lock("requirements-setup.txt", "requirements-setup.lock", (*upgrade, "--constraint", "requirements.lock"))
    lock("requirements-team.txt", "requirements-team.lock", (*upgrade, "--constraint", "requirements.lock"))
    lock("requirements-cluster.txt", "requirements-cluster.lock", (*upgrade, "--constraint", "requirements.lock"))
    lock("requirements-dev.txt", "requirements-dev.lock", (*upgrade, "--constraint", "requirements.lock"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
