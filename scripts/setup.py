"""Prepare `.venv` with the pinned versions: `make setup`. Standard library only, and syntax that Python 3.8 reads.

    python3 scripts/setup.py [--dev]

A second call finds its stamp and ends at once. The stamp holds the hash of the lock file and the Python it was made
with, so a changed lock or a changed Python is noticed.
"""

import argparse
import ast
import configparser
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

from browser import apt_install

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup-stamp.json"
LOG = VENV / "setup.log"
BYTECODE_KEPT = VENV / "bytecode-kept"
RUN_LOCK = "requirements.lock"
DEV_LOCK = "requirements-dev.lock"
SETUP_LOCK = "requirements-setup.lock"
SUPPORTED = ((3, 11), (3, 12), (3, 13))
MIN_FREE_BYTES = 5 * 1024**3
DISK_FULL_BYTES = 20 * 1024**2
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
PROGRAM = ("app.py", "evenhand", "fairness_engine", "pages", "scripts", "tests")

# Settings of pip and the variables of uv that mean the same, with what stands between several values there.
WORDS_OF_UV = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "no-cache-dir": ("UV_NO_CACHE", " "),
}
# Settings of pip that change nothing of what is installed here: each version is named, and each file has its hash.
NOTHING_TO_UV = {
    *("break-system-packages", "cache-dir", "config-file", "constraint", "disable-pip-version-check", "no-color"),
    *("no-compile", "no-input", "no-warn-script-location", "progress-bar", "quiet", "require-virtualenv"),
    *("retries", "root-user-action", "verbose"),
}

# Used only where Python comes without ensurepip (Debian keeps it in the package python3-venv).
PIP_WHEEL = "pip-26.3-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"
DEFAULT_INDEX = "https://pypi.org/simple"

FAILURES = (
    (r"No space left on device|\[Errno 28\]", "The disk is full: free about 5 GB, then run the same command again."),
    (
        r"DO NOT MATCH THE HASHES|do not match the hashes",
        "A downloaded package must match its hash in the lock file, but one did not: check the package index that pip "
        "is configured for.",
    ),
    (
        r"Name or service not known|name resolution|NewConnectionError|ConnectTimeout|Network is unreachable"
        r"|Connection refused|Max retries exceeded|ProxyError|Read timed out|SSLError",
        "The packages must be downloaded once, but the package index could not be reached: check the network, or "
        "PIP_INDEX_URL and the proxy settings, then run the same command again.",
    ),
    (
        r"No matching distribution|Could not find a version",
        "The package index that pip is configured for must offer the versions of the lock file, but one is missing: "
        "check PIP_INDEX_URL.",
    ),
    (r"Permission denied|\[Errno 13\]", "The folder '.venv' must be writable by you: check who owns it."),
)


class SetupError(Exception):
    """Something that a user can do something about, said in one sentence."""


def clean_environment():
    """The environment for pip and venv: nothing of another Python's settings."""
    unwanted = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_NO_BINARY")
    return {key: value for key, value in os.environ.items() if key not in unwanted}


def version_of(python):
    """(major, minor) of an interpreter, or None when it does not run."""
    command = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = done.stdout.decode().split()
    return (int(numbers[0]), int(numbers[1])) if done.returncode == 0 and len(numbers) == 2 else None


def choose_python():
    """The interpreter that `.venv` is made from: EVENHAND_PYTHON, else this one, else 3.11, 3.12 or 3.13 by name."""
    named = os.environ.get("EVENHAND_PYTHON")
    by_name = ["python{}.{}".format(*version) for version in SUPPORTED]
    candidates = [named] if named else [sys.executable, *by_name]
    for candidate in candidates:
        if version_of(candidate) in SUPPORTED:
            return candidate
    found = ".".join(str(number) for number in sys.version_info[:3])
    raise SetupError(
        f"Evenhand needs Python 3.11, 3.12 or 3.13, and found {named or 'Python ' + found}. "
        "Install one (Debian 12: `sudo apt-get install python3`) or name one with EVENHAND_PYTHON=/path/to/python3.12."
    )


def run_logged(command, environment=None):
    """Run a command with its output going to the log; returns (exit status, what it printed)."""
    lines = []
    with LOG.open("a") as log:
        process = subprocess.Popen(
            command,
            cwd=str(ROOT),
            env=environment or clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
            errors="replace",
        )
        for line in process.stdout:
            log.write(line)
            lines.append(line)
    return process.wait(), "".join(lines)


def explain(output):
    """One sentence for what pip, venv or the system said when it failed."""
    if shutil.disk_usage(str(ROOT)).free < DISK_FULL_BYTES:
        output = "No space left on device\n" + output  # not every program says so itself
    for pattern, sentence in FAILURES:
        if re.search(pattern, output):
            return f"{sentence} Details: {LOG}"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no message")
    return f"Setting up .venv must succeed, but it ended with '{last}'. Details: {LOG}"


# Making the environment


def make_environment(python):
    """Make `.venv` with pip in it, where there is no working one yet."""
    if version_of(VENV_PYTHON) == version_of(python) and has_pip():
        return
    print(f"Making .venv with {python} ...", flush=True)
    if VENV.exists():
        shutil.rmtree(str(VENV))
    VENV.mkdir()
    with_pip = has_ensurepip(python)
    status, output = run_logged([python, "-m", "venv", *([] if with_pip else ["--without-pip"]), str(VENV)])
    if status != 0 and with_pip:
        status, output = run_logged([python, "-m", "venv", "--clear", "--without-pip", str(VENV)])
    if status != 0:
        raise SetupError(explain(output))
    if not has_pip():
        add_pip(python)


def has_pip():
    """Whether `.venv` has a pip that starts."""
    command = [str(VENV_PYTHON), "-m", "pip", "--version"]
    try:
        return (
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
        )
    except OSError:
        return False


def has_ensurepip(python):
    """Whether this Python can put pip into a new environment by itself."""
    command = [python, "-c", "import ensurepip, sys; sys.exit(not ensurepip.version())"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def add_pip(python):
    """Put pip into an environment made without it: from its wheel, else from Debian's package."""
    print("This Python comes without ensurepip: fetching pip's own wheel ...", flush=True)
    try:
        wheel = fetch_pip(VENV)
    except (OSError, ValueError) as problem:
        add_pip_with_apt(python, str(problem))
        return
    command = [str(VENV_PYTHON), f"{wheel}/pip", "install", "--no-index", "--disable-pip-version-check", str(wheel)]
    status, output = run_logged(command)
    wheel.unlink()
    if status != 0:
        raise SetupError(explain(output))


def add_pip_with_apt(python, why):
    """Install Debian's python3-venv, if this user may, and make the environment again."""
    package = "python{}.{}-venv".format(*version_of(python))
    if not apt_install(package):
        raise SetupError(
            f"Python must be able to make an environment with pip, but Debian keeps that in the package {package}, and "
            f"pip's own wheel could not be fetched ({why}). Run `sudo apt-get install {package}`, or check the network."
        )
    status, output = run_logged([python, "-m", "venv", "--clear", str(VENV)])
    if status != 0:
        raise SetupError(explain(output))


def pip_setting(name):
    """A setting of pip, from PIP_NAME or pip's configuration files, or None: the places that pip reads, which is not
    there yet to be asked.
    """
    from_environment = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if from_environment:
        return from_environment
    home = Path.home()
    files = [
        os.environ.get("PIP_CONFIG_FILE", ""),
        str(Path(os.environ.get("XDG_CONFIG_HOME", str(home / ".config"))) / "pip" / "pip.conf"),
        str(home / ".pip" / "pip.conf"),
        "/etc/xdg/pip/pip.conf",
        "/etc/pip.conf",
    ]
    for file in filter(None, files):
        settings = configparser.RawConfigParser()
        settings.read(file)
        for section in ("install", "global"):
            if settings.has_option(section, name):
                return settings.get(section, name)
    return None


def fetch_pip(folder):
    """Download pip's wheel from the configured package index and check its hash; returns where it lies."""
    index = (pip_setting("index-url") or DEFAULT_INDEX).rstrip("/") + "/pip/"
    trusted = ssl.create_default_context(cafile=pip_setting("cert"))
    with urllib.request.urlopen(index, timeout=60, context=trusted) as answer:
        page = answer.read().decode("utf-8", "replace")
    link = re.search(rf'href="([^"]*{re.escape(PIP_WHEEL)}[^"]*)"', page)
    if link is None:
        raise ValueError(f"{index} does not offer {PIP_WHEEL}")
    address = urllib.parse.urljoin(index, link.group(1).replace("&amp;", "&"))
    with urllib.request.urlopen(address, timeout=60, context=trusted) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        raise ValueError(f"{PIP_WHEEL} from {index} does not have the expected hash")
    wheel = folder / PIP_WHEEL
    wheel.write_bytes(content)
    return wheel


# Installing


def lock_hash(lock):
    """The hash of a lock file's content."""
    return hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()


def read_stamp():
    """What was installed, or nothing when `.venv` is not there, not finished or not readable."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_ready(lock):
    """Whether `.venv` holds exactly this lock file's packages and its Python still runs."""
    stamp = read_stamp()
    version = version_of(VENV_PYTHON)
    is_locked = all(stamp.get(name) == lock_hash(name) for name in (lock, SETUP_LOCK))
    return version is not None and stamp.get("python") == list(version) and is_locked


OPTIONS = ["--require-hashes", "--no-deps", "--no-build-isolation"]


def pip_install(lock_file):
    """Install a lock file with pip, hash by hash."""
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    status, output = run_logged([*command, "--no-compile", *OPTIONS, "-r", str(lock_file)])
    if status != 0:
        raise SetupError(explain(output))


def uv_install(lock_file):
    """Install a lock file with uv, hash by hash; returns whether that went well."""
    environment = environment_of_uv()
    if environment is None:
        return False
    cache = VENV / "uv-cache"
    command = [str(VENV_PYTHON), "-m", "uv", "pip", "install", "--python", str(VENV_PYTHON)]
    command += ["--index-strategy", "unsafe-best-match"]  # as pip: each of several may have it, for the hash decides
    if not lies_beside(kept_packages(environment), VENV):  # it would be copied, and stay
        command += ["--cache-dir", str(cache)]
    status, _ = run_logged([*command, *OPTIONS, "-r", str(lock_file)], environment)
    shutil.rmtree(str(cache), ignore_errors=True)
    return status == 0


def environment_of_uv():
    """What tells uv how pip is set up here, or None where that is in a way that uv has no word for."""
    command = [str(VENV_PYTHON), "-m", "pip", "config", "list", "--disable-pip-version-check"]
    listed = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment(), check=False
    )
    places = {}
    for line in listed.stdout.decode().splitlines():
        name, _, value = line.partition("=")
        place, _, setting = name.rpartition(".")
        places.setdefault(setting, {})[place] = ast.literal_eval(value)
    if not places.keys() <= NOTHING_TO_UV | WORDS_OF_UV.keys():
        return None
    environment = {"UV_HTTP_TIMEOUT": "180", **clean_environment()}
    for setting in places.keys() & WORDS_OF_UV.keys():
        word, separator = WORDS_OF_UV[setting]
        values = places[setting]
        nearest = next(values[place] for place in (":env:", "install", "global", *values) if place in values)
        environment[word] = separator.join(nearest.split())
    return environment


def kept_packages(environment):
    """The folder in which uv keeps packages for the next environment."""
    command = [str(VENV_PYTHON), "-m", "uv", "cache", "dir", "--color", "never"]
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=False)
    return Path(told.stdout.decode().strip() or "/")


def lies_beside(folder, other):
    """Whether both lie, or would lie, in one file system, so that files of one can be linked from the other."""
    while not folder.exists():
        folder = folder.parent
    return folder.stat().st_dev == other.stat().st_dev


@contextlib.contextmanager
def seconds_shown():
    """Count seconds on a terminal meanwhile."""
    has_ended = threading.Event()
    began_at = time.monotonic()

    def show():
        while sys.stdout.isatty() and not has_ended.wait(1):
            print(f"\r  {time.monotonic() - began_at:.0f} s ", end="", flush=True)

    counter = threading.Thread(target=show)
    counter.start()
    try:
        yield
    finally:
        has_ended.set()
        counter.join()
        print("\r" + " " * 10 + "\r" if sys.stdout.isatty() else "", end="", flush=True)


def install(lock):
    """Install everything that a lock file names, then write the stamp."""
    n_packages = len(re.findall(r"^[A-Za-z0-9].*==", (ROOT / lock).read_text(), re.MULTILINE))
    print(f"Installing {n_packages} packages into .venv (once; about a minute, about 4 GB) ...", flush=True)
    stamp = read_stamp()
    for made in (STAMP, BYTECODE_KEPT):
        made.unlink() if made.exists() else None
    with seconds_shown():
        pip_install(ROOT / SETUP_LOCK)
        if not uv_install(ROOT / lock):
            pip_install(ROOT / lock)
    version = version_of(VENV_PYTHON)
    installed = {lock: lock_hash(lock), SETUP_LOCK: lock_hash(SETUP_LOCK), "python": list(version)}
    if lock == DEV_LOCK:
        installed[RUN_LOCK] = lock_hash(RUN_LOCK)  # the locks agree: the larger one holds the smaller one
    elif stamp.get("python") == list(version) and stamp.get(RUN_LOCK) == lock_hash(RUN_LOCK):
        installed = {**stamp, **installed}
    STAMP.write_text(json.dumps(installed))


def check_disk():
    """Say early that the disk is too full."""
    free = shutil.disk_usage(str(ROOT)).free
    if free < MIN_FREE_BYTES:
        raise SetupError(
            f"Setting up needs about 5 GB of free disk space, and {ROOT} has {free / 1024**3:.1f} GB. "
            "Free some, then run the same command again."
        )


def prepare(lock):
    """Make `.venv` hold this lock file's packages."""
    if is_ready(lock):
        return
    python = choose_python()
    check_disk()
    make_environment(python)
    install(lock)
    print(".venv is ready.", flush=True)


# Bytecode: the model's process, which may write nothing, would compile at every start what is not compiled before


def keep_bytecode(*what):
    """Compile modules, where they are not compiled yet; returns whether it came to its end."""
    command = [str(VENV_PYTHON), "-m", "compileall", "-q", *map(str, what)]
    ended = subprocess.run(command, cwd=str(ROOT), env=clean_environment(), check=False, **QUIET)
    return ended.returncode >= 0  # 1 where some file is of another Python, less where it was killed


def begin_bytecode_of_packages():
    """Have the packages compiled beside whatever comes next, which need not wait for it."""
    if not BYTECODE_KEPT.exists():
        subprocess.Popen([sys.executable, __file__, "--bytecode"], start_new_session=True, **QUIET)


def keep_bytecode_of_packages():
    """Compile the packages while nobody needs the machine; not twice at a time."""
    os.nice(19)
    with (VENV / "pyvenv.cfg").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        if keep_bytecode(VENV / "lib", "-j", "0", "-x", "/tests?/"):
            BYTECODE_KEPT.touch()


def main():
    """Prepare `.venv`; one preparation at a time."""
    parser = argparse.ArgumentParser(description="Prepare .venv with the pinned versions.")
    parser.add_argument("--dev", action="store_true", help="with what the tests and checks need")
    parser.add_argument("--bytecode", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bytecode:
        keep_bytecode_of_packages()
        return 0
    with Path(__file__).open() as this_file:  # a lock on it: `make run` and `make test` may be called together
        fcntl.flock(this_file, fcntl.LOCK_EX)
        try:
            prepare(DEV_LOCK if options.dev else RUN_LOCK)
            keep_bytecode(*(ROOT / name for name in PROGRAM))
            begin_bytecode_of_packages()
        except SetupError as problem:
            print(problem, file=sys.stderr)
            return 1
        except OSError as problem:
            print(explain(str(problem)), file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nStopped; the same command goes on from here.", file=sys.stderr)
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
