"""The command ``evenhand app``: start the app on this machine and say where it is. `make run` is the same."""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import logging
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

from evenhand.gate import Gate, limits
from fairness_engine.cli import option_values
from fairness_engine.cli.leaving import raise_interrupts_once
from fairness_engine.cli.option_values import Parser
from fairness_engine.errors import SettingError
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.store.environment import (
    FOR_OTHERS_VARIABLE,
    UNSAFE_FORMATS_VARIABLE,
    WORKSPACE_VARIABLE,
    database_url,
    default_workspace,
)

_PACKAGE = Path(__file__).resolve().parent
APP = _PACKAGE / "app" if (_PACKAGE / "app").is_dir() else _PACKAGE.parent
"""The folder of ``app.py`` and ``pages``: in this package where it is installed, beside it in a checkout."""
ADDRESS = "127.0.0.1"
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - what a person may ask for; not the default
FIRST_PORT = 8501
N_PORTS_TRIED = 100
MAX_SECONDS_TO_START = 60.0
SECONDS_FOR_A_PAGE = 2.5
"""In which nothing else begins: the server and the browser need both cores of a small machine."""
_answers = threading.Event()
"""Is set while the app answers."""


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line.

    Raises:
        SystemExit: an option, or its value, is none.
    """
    parser = Parser(prog="evenhand app", description="Start Evenhand on this machine.", allow_abbrev=False)
    parser.add_argument(
        "--port", type=option_values.count_from_zero, help=f"port (default: {FIRST_PORT}, or the next free one)"
    )
    parser.add_argument(
        "--host",
        default=ADDRESS,
        metavar="ADDRESS",
        help=f"address to listen on (default: {ADDRESS}, this machine alone); 0.0.0.0 in a container",
    )
    parser.add_argument(
        "--workspace",
        type=Path,
        default=default_workspace(),
        metavar="DIR",
        help=f"folder that keeps reviews, runs and uploaded files (default: {WORKSPACE_VARIABLE}, else ./workspace)",
    )
    parser.add_argument(
        "--allow-unsafe-models",
        action="store_true",
        help="accept pickle, joblib and SavedModel files, which can run any code when they are loaded",
    )
    parser.add_argument(
        "--for-others",
        action="store_true",
        help="other people reach this server, through a proxy: list reviews only to whom they belong",
    )
    parser.add_argument(
        "--name",
        metavar="HOST",
        help="name by which other people reach this server, through a proxy: answer to it, too (implies --for-others)",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    try:
        return parser.parse_args(arguments)
    except SettingError as error:
        raise SystemExit(str(error)) from None


def is_free(port: int, host: str = ADDRESS) -> bool:
    """Whether nobody listens on this port of an address of this machine.

    Raises:
        SystemExit: it is no address of this machine.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            if problem.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise SystemExit(
                f"An address to listen on must be one of this machine, got '{host[:60]}'. Leave --host out, or name "
                f"{ADDRESS} or 0.0.0.0."
            ) from None
    return True


def choose_port(wanted: int | None, host: str = ADDRESS) -> int:
    """The wanted port, or the first free one from 8501 on.

    Raises:
        SystemExit: the wanted port is taken or out of range, or no port is free.
    """
    if wanted is not None:
        if not 1 <= wanted <= 65535:
            raise SystemExit(
                f"A port must be between 1 and 65535, got {wanted}. Leave --port out to take the next free one."
            )
        if not is_free(wanted, host):
            raise SystemExit(f"Port {wanted} must be free, but another program uses it. Choose another with --port.")
        return wanted
    for port in range(FIRST_PORT, FIRST_PORT + N_PORTS_TRIED):
        if is_free(port, host):
            return port
    raise SystemExit(f"No port from {FIRST_PORT} to {FIRST_PORT + N_PORTS_TRIED - 1} is free. Name one with --port.")


def prepare_workspace(folder: Path) -> Path:
    """Make the workspace folder, readable by this user only, and check that it can be written.

    Raises:
        SystemExit: it cannot be made or written.
    """
    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".write-test-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as problem:
        raise SystemExit(
            f"The workspace folder must be writable, got '{folder}' ({problem.strerror}). "
            "Choose another with --workspace."
        ) from None
    return folder


def has_display() -> bool:
    """Whether a browser opened here would be seen by somebody."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def announce(address: str, opens_browser: bool) -> None:
    """Wait until the app answers, then print its address and open it."""
    deadline = time.monotonic() + MAX_SECONDS_TO_START
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()  # noqa: S310 - our own address
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
            continue
        _answers.set()
        print(f"Evenhand is open at {address} (stop it with Ctrl-C)", flush=True)
        if opens_browser:
            webbrowser.open(address)
        time.sleep(SECONDS_FOR_A_PAGE)
        get_ready(default_workspace(), stands_by=True)
        compile_loops()
        get_ready(default_workspace(), stands_by=True)
        start_waiting_runs()
        spare_the_collector()
        return
    print(f"The app must answer within {MAX_SECONDS_TO_START:.0f} seconds, but did not.", file=sys.stderr, flush=True)


def compile_loops() -> None:
    """Compile the inner loops, once a version, in processes of their own: then the first run need not wait."""
    time.sleep(SECONDS_FOR_A_PAGE)  # the second page comes first
    from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled

    prepare_compiled(default_workspace(), None, *Loops)


def spare_the_collector() -> None:
    """What is here for good is not looked through again: a whole collection would stop every session for 0.2 s."""
    gc.collect()
    gc.freeze()


def start_waiting_runs() -> None:
    """Go on with the queue of an earlier server: workers start one another, but not over a restart of the machine."""
    from fairness_engine.errors import RunError
    from fairness_engine.runs.queue import start_queued
    from fairness_engine.store.store import RunStore

    workspace = default_workspace()
    url = database_url()
    if url is None and not (workspace / "evenhand.db").exists():
        return  # nothing waits in a new workspace
    # a store that cannot be used is said on every page
    with contextlib.suppress(RunError), contextlib.closing(RunStore(workspace, url)) as store:
        start_queued(store)


def preload() -> None:
    """Import what the first page needs while the browser is still opening."""
    for module in ("pandas", "plotly.graph_objects", "fairness_engine.store.store", "pages.start.demos"):
        importlib.import_module(module)


def serve(port: int, host: str = ADDRESS, name: str | None = None) -> None:
    """Run the Streamlit server in this process until it is stopped.

    Args:
        port: to listen on.
        host: address to listen on.
        name: by which others reach it, through a proxy; None: it answers to the names in its settings alone.
    """
    from starlette.middleware import Middleware
    from streamlit import config, net_util
    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.web import bootstrap
    from streamlit.web.server.starlette import App, UvicornRunner

    script = str(APP / "app.py")
    config._main_script_path = script  # .streamlit/config.toml is looked up beside it, whatever the current folder is
    # Streamlit takes a folder called "pages" for its older automatic menu until a script has called st.navigation
    # once. A deep link as the first request would then meet pages that nobody declared.
    PagesManager.uses_pages_directory = False
    # A page of somewhere else that calls this server would make Streamlit ask a service on the internet for this
    # machine's address, to compare. This is taken as the answer.
    net_util._external_ip = ADDRESS
    options = {"server_port": port, "server_address": host, "server_headless": True}
    if name is not None:
        options |= {"server_allowedHosts": [name, ADDRESS, "localhost"], "browser_serverAddress": name}
    bootstrap.load_config_options(flag_options=options)
    sys.path.insert(0, str(APP))
    threading.Thread(target=preload, daemon=True).start()
    # Who stops it twice cuts off what it was at: no error, which it would print with a traceback.
    logging.getLogger("uvicorn.error").addFilter(lambda record: "KeyboardInterrupt" not in record.getMessage())
    raise_interrupts_once(_answers.is_set)  # the server takes them itself as long as it is up, and hands them on
    try:
        UvicornRunner(App(script, middleware=[Middleware(Gate, limits=limits())])).run()
    except KeyboardInterrupt:  # as it says of itself that it is stopped
        print("Evenhand is closed.", flush=True)
    finally:
        _answers.clear()


def main(arguments: list[str] | None = None) -> int:
    """Start the app; returns when it is stopped."""
    options = parse_options(sys.argv[1:] if arguments is None else arguments)
    port = choose_port(options.port, options.host)
    os.environ[WORKSPACE_VARIABLE] = str(prepare_workspace(options.workspace))
    if options.allow_unsafe_models:
        os.environ[UNSAFE_FORMATS_VARIABLE] = "1"
        print("Pickle, joblib and SavedModel files are accepted: they can run any code on this machine.", flush=True)
    if options.for_others or options.name is not None:
        os.environ[FOR_OTHERS_VARIABLE] = "1"
    opens_browser = not options.no_browser and has_display()
    shown = ADDRESS if options.host in EVERY_ADDRESS else f"[{options.host}]" if ":" in options.host else options.host
    threading.Thread(target=announce, args=(f"http://{shown}:{port}", opens_browser), daemon=True).start()
    serve(port, options.host, options.name)
    return 0
