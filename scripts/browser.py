"""Find a browser that the tests can drive, or get one. Standard library only.

In order: the one named by EVENHAND_BROWSER, a Chromium or Chrome of the system, Playwright's own download inside
`.venv`, Debian's package; of each first the shell without windows, which draws the same with a fifth less work. A
candidate counts only if it really draws an empty page: on some systems `chromium-browser` is a stub that asks for a
snap, and a downloaded browser can lack system libraries.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOWNLOADED = ROOT / ".venv" / "browsers"
SYSTEM_NAMES = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable", "chrome"),
)
DOWNLOADED_PATTERNS = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/chrome-linux*/chrome")
QUIET_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MAX_SECONDS_TO_DRAW = 60


def candidates() -> Iterator[Path]:
    """Every browser that may be there, best first."""
    named = os.environ.get("EVENHAND_BROWSER")
    if named:
        yield Path(named)
        return
    for name in SYSTEM_NAMES:
        found = shutil.which(name)
        if found:
            yield Path(found)
    yield from _downloaded()


def _downloaded() -> Iterator[Path]:
    for pattern in DOWNLOADED_PATTERNS:
        yield from sorted(DOWNLOADED.glob(pattern), reverse=True)


def draws_a_page(browser: Path) -> bool:
    """Whether this browser starts without a screen and draws an empty page."""
    command = [str(browser), "--headless", *QUIET_FLAGS, "--dump-dom", "data:text/html,<p>drawn</p>"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=MAX_SECONDS_TO_DRAW, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"drawn" in done.stdout


def find_browser() -> Path | None:
    """The first browser that draws a page, or None."""
    return next((browser for browser in candidates() if draws_a_page(browser)), None)


def as_root(*command: str) -> list[str] | None:
    """The command as root may run it: itself for root, with `sudo -n` where that needs no password, else None."""
    if os.geteuid() == 0:
        return list(command)
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0:
        return [sudo, "-n", *command]
    return None


def apt_install(*packages: str) -> bool:
    """Install Debian packages, if this user may. Returns whether apt-get says it worked."""
    install = as_root("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", *packages)
    update = as_root("apt-get", "update", "-q")
    if install is None or update is None or shutil.which("apt-get") is None:
        return False
    print(f"Installing {', '.join(packages)} with apt-get ...", flush=True)
    if subprocess.run(install, capture_output=True, check=False).returncode == 0:
        return True
    subprocess.run(update, capture_output=True, check=False)  # a fresh machine has empty package lists
    return subprocess.run(install, capture_output=True, check=False).returncode == 0


def _download() -> None:
    print("No Chromium or Chrome on this machine: downloading one with Playwright ...", flush=True)
    environment = {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(DOWNLOADED)}
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    subprocess.run(command, env=environment, check=False)
    # A bare machine lacks the libraries that a downloaded browser is linked against.
    if not any(_downloaded()) or find_browser() is not None:
        return
    if with_root := as_root(*command[:-2], "install-deps", "chromium"):
        subprocess.run(with_root, env=environment, capture_output=True, check=False)


def ensure_browser() -> Path | None:
    """A browser that draws a page, downloaded or installed if there is none yet; None when that failed."""
    browser = find_browser()
    if browser is None and "EVENHAND_BROWSER" not in os.environ:
        _download()
        browser = find_browser()
        if browser is None and (apt_install("chromium-headless-shell") or apt_install("chromium")):
            browser = find_browser()
    return browser


def main() -> int:
    """Make sure that there is a browser; say where."""
    browser = ensure_browser()
    if browser is None:
        print(
            "The browser tests need a Chromium or Chrome that starts, found none, and could not install one. "
            "Install one (`sudo apt-get install chromium`) or name one with EVENHAND_BROWSER=/path/to/chrome.",
            file=sys.stderr,
        )
        return 1
    print(f"Browser for the tests: {browser}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
