"""Drives the app as a user would: a server on a free port, a real browser, waits that know when the app is at rest."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode, urlparse

from playwright.sync_api import Browser, Locator, Page, Playwright, Request, expect
from playwright.sync_api import TimeoutError as WaitedInVain

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from browser import QUIET_FLAGS, candidates  # noqa: E402  (scripts/ is no package)

PATIENCE_SECONDS = 300.0
PATIENCE_MS = 1000 * PATIENCE_SECONDS
"""How long anything may take: a wait ends with what it waits for, so that only a test that fails is slow, however busy
the machine is.
"""
expect.set_options(timeout=PATIENCE_MS)
APOLOGY = "Something went wrong that should not have"
REST_MS = 120
UPLOADS = "/_stcore/upload_file/"
LOOPBACK = {"127.0.0.1", "localhost", "[::1]", "::1"}

# When the page last told the server something, and when it last heard of it: until the server answers, the app looks at
# rest. What it hears may be the end of something older, so a question to run the script (its first byte says which) is
# answered only by a script that begins: the messages are Streamlit's protocol buffers, `BackMsg` and `ForwardMsg`.
NOTE_MESSAGES = """
const RUN_THE_SCRIPT = 11, BEGINS = 4;
const numberAt = (bytes, at) => {
  let value = 0, shift = 0;
  do { value += (bytes[at] & 127) * 2 ** shift; shift += 7; } while (bytes[at++] > 127);
  return [value, at];
};
const isBeginning = (bytes) => {
  let [tag, at] = numberAt(bytes, 0);
  while (tag >> 3 < BEGINS && (tag & 7) === 2 && at < bytes.length) {
    const [length, from] = numberAt(bytes, at);
    [tag, at] = numberAt(bytes, from + length);
  }
  return tag >> 3 === BEGINS;
};
const note = ({ data }) => {
  window.__heardAt = performance.now();
  if (isBeginning(new Uint8Array(data))) { window.__begunAt = performance.now(); }
};
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (...message) {
  if (!this.isNoted) { this.addEventListener('message', note); }
  this.isNoted = true;
  window.__toldAt = performance.now();
  if (message[0][0] >> 3 === RUN_THE_SCRIPT) { window.__askedAt = performance.now(); }
  return send.apply(this, message);
};
"""

# What the browser does at Back and Forward, the address being another.
FOLLOW = """
(address) => {
  history.pushState({}, '', address);
  dispatchEvent(new PopStateEvent('popstate', { state: {} }));
}
"""

# The app is at rest when the script has ended, the connection stands, the server has answered, and nothing is marked as
# stale or as a placeholder; all of it for REST_MS without a break, for one click can start a second rerun.
AT_REST = """
(restMs) => {
  const app = document.querySelector('[data-testid="stApp"]');
  const isAtRest = app !== null
    && app.getAttribute('data-test-script-state') === 'notRunning'
    && app.getAttribute('data-test-connection-state') === 'CONNECTED'
    && !(window.__toldAt > (window.__heardAt ?? 0))
    && !(window.__askedAt > (window.__begunAt ?? 0))
    && document.querySelector('[data-stale="true"]') === null
    && document.querySelector('[data-testid="stSkeleton"]') === null;
  const now = performance.now();
  if (!isAtRest) { window.__restSince = undefined; return false; }
  if (window.__restSince === undefined) { window.__restSince = now; }
  return now - window.__restSince >= restMs;
}
"""

# What has the focus as it is read aloud; a cell of a table, which is read from the copy inside of its canvas, by its
# own words.
FOCUSED_CELL = """
() => {
  const cell = document.activeElement?.closest('[role=gridcell]');
  return cell ? `cell "${cell.textContent}"` : document.activeElement?.matches('canvas') ? 'table' : null;
}
"""

WHY_NOT_AT_REST = """
() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const marked = (selector) => [...document.querySelectorAll(selector)].map((one) => one.className).slice(0, 5);
  return {
    script: app?.getAttribute('data-test-script-state'),
    connection: app?.getAttribute('data-test-connection-state'),
    toldAt: window.__toldAt, heardAt: window.__heardAt, askedAt: window.__askedAt, begunAt: window.__begunAt,
    now: performance.now(),
    stale: marked('[data-stale="true"]'), placeholders: marked('[data-testid="stSkeleton"]'),
  };
}
"""


def free_port(wanted: int = 0) -> int:
    """A port of this machine that nobody listens on: the one that is wanted, if so."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # its last server may have just ended
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class AppServer:
    """The app as `make run` starts it, on a free port, with a workspace of its own."""

    def __init__(
        self,
        workspace: Path,
        options: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        port: int = 0,
    ):
        self.workspace = workspace
        self.port = free_port(port)
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = workspace.parent / f"{workspace.name}-server.log"
        self._options = options
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin = subprocess.DEVNULL

    @property
    def pid(self) -> int:
        """The process id of the app."""
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def command(self) -> list[str]:
        """What starts it."""
        launcher = [sys.executable, "-m", "evenhand", "app"]
        return [*launcher, "--no-browser", "--port", str(self.port), "--workspace", str(self.workspace), *self._options]

    def start(self) -> AppServer:
        """Start it and wait until it answers (it has drawn no page yet)."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.workspace.parent,
                stdin=self._stdin,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **self._environment},
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the app did not start; its log:\n{self.log_text()}")
            time.sleep(0.05)
        return self

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def log_text(self) -> str:
        """What the server printed, its last 20,000 characters."""
        return self.log.read_text(errors="replace")[-20_000:] if self.log.exists() else ""

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as Ctrl-C would."""
        self._end(signal.SIGINT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=10)

    def end_workers(self) -> None:
        """End what still works for this workspace: runs outlive the server on purpose, but not the test."""
        for folder in Path("/proc").iterdir():
            try:
                is_ours = folder.name.isdigit() and (folder / "cwd").readlink().is_relative_to(self.workspace)
                if is_ours and int(folder.name) != os.getpid():
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                continue  # it ended by itself

    def restart(self) -> AppServer:
        """Start it again, after `stop` or `kill`, on the same port and workspace."""
        self.stop()
        return self.start()


class ServerOfModules(AppServer):
    """The app, shared by the modules of a test process: each has a workspace of its own, and its own answers."""

    def command(self) -> list[str]:
        """What starts it."""
        program = ROOT / "tests" / "browser" / "scripts" / "app_for_modules.py"
        return [sys.executable, str(program), *super().command()[4:]]

    def start(self) -> ServerOfModules:
        """Start it, and keep the line on which it is told of workspaces."""
        self._line, theirs = socket.socketpair()
        with theirs:
            self._stdin = theirs.fileno()
            super().start()
        return self

    def go_on(self, workspace: Path) -> None:
        """Serve another workspace from now on."""
        self.workspace = workspace
        self._line.sendall(str(workspace).encode())
        assert self._line.recv(100) == b"ready", self.log_text()

    def stop(self) -> None:
        """End it as Ctrl-C would."""
        super().stop()
        self._line.close()


ONE_PROCESS_FLAGS = ("--process-per-site", "--disable-gpu-compositing", "--js-flags=--no-flush-bytecode")
"""All tabs of an app are drawn by one process, which has the app's scripts compiled after the first, and keeps them."""


def launch_browser(playwright: Playwright, flags: tuple[str, ...] = ()) -> Browser:
    """Start the first browser of this machine that starts."""
    for path in candidates():
        return playwright.chromium.launch(executable_path=str(path), args=[*QUIET_FLAGS, *flags])
    raise RuntimeError("the browser tests need a Chromium: run `make test`, which gets one, or set EVENHAND_BROWSER")


class AppPage:
    """One browser tab on the app, with the words of a user: click, choose, upload, read."""

    def __init__(self, server: AppServer, page: Page, url: str | None = None):
        self.server = server
        self.url = url or server.url  # another: of a proxy before it
        self.page = page
        page.add_init_script(NOTE_MESSAGES)
        page.set_default_timeout(PATIENCE_MS)
        self.external_requests: list[str] = []
        self.page_errors: list[str] = []
        page.context.on("request", self._note_request)  # with those of tabs that it opens
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))

    def _note_request(self, request: Request) -> None:
        address = urlparse(request.url)
        if address.scheme not in ("data", "blob", "about") and address.hostname not in LOOPBACK:
            self.external_requests.append(request.url)

    def close(self) -> None:
        """Close the tab; what the app keeps in the browser (the theme, the menu) goes with it."""
        if self.page.url.startswith(self.url):
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.close()
        self.page.context.remove_listener("request", self._note_request)

    # Where

    def goto(self, path: str = "", *, settle: bool = True, **query: str) -> None:
        """Open an address of the app: `goto("pairs", run=run_id)`. Always a new session, like a pasted link."""
        self.page.goto(f"{self.url}/{path}{'?' + urlencode(query) if query else ''}")
        if settle:
            self.wait_until_at_rest()

    def follow(self, path: str = "", **query: str) -> None:
        """Go on to an address within the session, as Back and Forward do: `follow("pairs", run=run_id)`.

        A fifth of the work of `goto`, so for what is looked at after the first page, or where it does not matter how it
        was come by. What the session remembers, it remembers.
        """
        address = f"{self.url}/{path}{'?' + urlencode(query) if query else ''}"
        self.page.evaluate(FOLLOW, address)
        self.wait_until_at_rest()

    def open_in_turn(self, path: str = "", **query: str) -> None:
        """The first address as a pasted link, each one after it within the session: for looks at page after page."""
        opens = self.follow if self.page.url.startswith(self.url) else self.goto
        opens(path, **query)

    def look(self, *, theme: str = "light", width: int = 1400, height: int = 900) -> None:
        """Go on in another theme and another window."""
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": height})
        self.wait_until_at_rest()

    def reload(self) -> None:
        """Press F5."""
        self.page.reload()
        self.wait_until_at_rest()

    def open_menu(self, title: str) -> None:
        """Go to a page through the menu at the side."""
        self.page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).first.click()
        self.wait_until_at_rest()

    def query(self) -> str:
        """The query part of the address."""
        return urlparse(self.page.url).query

    # Waiting and reading

    def wait_until_at_rest(self) -> None:
        """Wait until the app has nothing more to do."""
        self.page.evaluate("() => { window.__restSince = undefined; }")  # rest before an action says nothing
        try:
            self.page.wait_for_function(AT_REST, arg=REST_MS, polling=30)
        except WaitedInVain as error:
            raise AssertionError(f"the app never came to rest: {self.page.evaluate(WHY_NOT_AT_REST)}") from error

    def wait_until_told(self, ms: int = 300) -> None:
        """Wait for what a table, a chart or an upload gathers for a moment before it tells the server, and for the
        server.

        Until then the app is at rest.
        """
        self.pause(ms)
        self.wait_until_at_rest()

    def pause(self, ms: int) -> None:
        """Let the page's own timers go off: it counts the time itself, so that those set before come before, however
        late.
        """
        self.page.evaluate("(ms) => new Promise((done) => setTimeout(done, ms))", ms)

    def text(self) -> str:
        """What the page shows, without the menu."""
        return self.page.get_by_test_id("stMain").inner_text()

    def expect_text(self, text: str | re.Pattern[str]) -> None:
        """Wait until the page shows this text (for what a run brings by itself)."""
        expect(self.page.get_by_test_id("stMain")).to_contain_text(text)

    def expect_no_text(self, text: str | re.Pattern[str]) -> None:
        """Wait until the page shows this text no more."""
        expect(self.page.get_by_test_id("stMain")).not_to_contain_text(text)

    def app_log(self) -> str:
        """What the app wrote to its log about errors that nobody expected, its last 4,000 characters."""
        log = self.server.workspace / "app.log"
        return log.read_text(errors="replace")[-4000:] if log.exists() else ""

    def expect_dialog(self, text: str) -> None:
        """Wait until a dialog shows this text."""
        expect(self.page.get_by_role("dialog")).to_contain_text(text)

    def expect_no_exception(self) -> None:
        """Nothing unexpected: no exception box, no apology of the app, no "Page not found", no failed browser
        script.
        """
        assert self.page.get_by_test_id("stException").count() == 0, self.text()
        assert APOLOGY not in self.text(), f"{self.text()}\n{self.app_log()}"
        assert self.page.get_by_text("Page not found").count() == 0, "the app says: Page not found"
        assert self.page_errors == []

    def by_key(self, key: str) -> Locator:
        """The element that the page gave this `key=`."""
        return self.page.locator(f".st-key-{key}")

    # Doing. `label` is the text a user reads; the first visible match is taken, `within` narrows the search.

    def _where(self, within: Locator | None) -> Locator:
        return within if within is not None else self.page.get_by_test_id("stApp")

    def click_button(self, label: str, *, within: Locator | None = None, settle: bool = True) -> None:
        """Press the button (or link button, or download button) with this label."""
        place = self._where(within)
        exact = place.get_by_role("button", name=label, exact=True)
        button = exact if exact.count() else place.get_by_role("button", name=label)
        button.first.click()
        if settle:
            self.wait_until_at_rest()

    def click_text(self, text: str, *, within: Locator | None = None) -> None:
        """Click on whatever shows this text: a tab, a link, a pill, a radio option, an expander."""
        self._where(within).get_by_text(text, exact=True).first.click()
        self.wait_until_at_rest()

    def open_tab(self, name: str) -> None:
        """Open a section of the page by its tab."""
        self.page.get_by_role("tab", name=name, exact=True).click()
        self.wait_until_at_rest()

    def click_link(self, text: str, *, within: Locator | None = None) -> None:
        """Follow the link with this text."""
        self._where(within).get_by_role("link", name=text).first.click()
        self.wait_until_at_rest()

    def fill(self, label: str, value: str, *, within: Locator | None = None) -> None:
        """Type into the text, number or date field with this label, and press Enter."""
        field = self._where(within).get_by_label(label, exact=True).first
        field.fill(value)
        field.press("Enter")
        self.wait_until_at_rest()

    def set_checked(self, label: str, is_checked: bool = True, *, within: Locator | None = None) -> None:
        """Set the checkbox or toggle with this label."""
        place = self._where(within)
        box = place.locator('[data-testid="stCheckbox"]').filter(has_text=label).first
        if box.locator("input").is_checked() != is_checked:
            box.locator("label").first.click()
        self.wait_until_at_rest()

    def choose(self, label: str, option: str, *, within: Locator | None = None) -> None:
        """Choose an option of the select box, multiselect, radio group, pills or segmented control with this label.

        In a multiselect and in pills of several this adds the option (a second time takes it away in pills).
        """
        place = self._where(within)
        group = place.locator(
            '[data-testid="stRadio"], [data-testid="stButtonGroup"], [data-testid="stSelectbox"], '
            '[data-testid="stMultiSelect"], [data-testid="stSelectSlider"]'
        ).filter(has=self.page.get_by_test_id("stWidgetLabel").get_by_text(label, exact=True))
        widget = group.first
        kind = widget.get_attribute("data-testid")
        if kind in ("stRadio", "stButtonGroup"):
            widget.get_by_text(option, exact=True).first.click()
        else:
            field = widget.locator("input").first
            field.click()
            field.fill(option)
            self.page.get_by_role("option", name=option, exact=True).first.click()
            if kind == "stMultiSelect":
                self.page.keyboard.press("Escape")
        self.wait_until_at_rest()

    def upload(self, label: str, path: Path | str | list[Path], *, within: Locator | None = None) -> None:
        """Give a file (or files) to the uploader with this label."""
        place = self._where(within)
        uploader = place.get_by_test_id("stFileUploader").filter(has_text=label).first
        with self.page.expect_response(lambda answer: UPLOADS in answer.url and answer.request.method == "PUT"):
            uploader.locator('input[type="file"]').set_input_files(path)
        self.wait_until_told(100)  # the app is told of the file when the transfer is over

    def download(self, label: str, *, within: Locator | None = None) -> Path:
        """Press a download button and return the file that came."""
        with self.page.expect_download() as coming:
            self.click_button(label, within=within, settle=False)
        self.wait_until_at_rest()
        return Path(coming.value.path())

    def download_table(self, label: str, *, choice: str | None = None) -> str:
        """Open what saves a table, press its button, and return the table that came in the zip; the provenance must be
        beside it.

        Args:
            label: of what opens; the first that begins so.
            choice: of the button, where it is another.
        """
        self.click_button(label)
        body = self.page.get_by_test_id("stPopoverBody")
        path = self.download(choice or label, within=body)
        self.page.keyboard.press("Escape")  # what is open lies over the page
        body.wait_for(state="detached")
        with zipfile.ZipFile(path) as file:
            table, provenance = file.namelist()
            assert provenance == table.removesuffix(".csv") + "-provenance.csv"
            assert "evenhand_version" in file.read(provenance).decode("utf-8-sig")
            return file.read(table).decode("utf-8-sig")

    def select_table_row(self, key: str, row: int) -> None:
        """Tick the selection box of a row (0 = first shown) of the table that has this `key=`."""
        table = self.by_key(key).locator(".dvn-scroller").first
        table.click(position={"x": 16, "y": 35 + 35 * row + 17})
        self.wait_until_told()

    # By keyboard: nothing is clicked, and nothing given the focus but by a key

    def focused(self) -> str:
        """What has the focus as it is read, such as ``button "Simplify"``, ``cell "12"``, ``table``; empty
        where nothing has it.
        """
        at = self.page.locator(":focus").last  # inside of a part that has a tree of its own
        read = self.page.evaluate(FOCUSED_CELL) or (at.aria_snapshot() if at.count() else "")
        return read.split("\n")[0].removeprefix("- ").removesuffix(":")

    def press(self, *keys: str) -> None:
        """Press keys one after the other, and wait until the app is at rest."""
        for key in keys:
            self.page.keyboard.press(key)
        self.wait_until_told()

    def tab_to(self, wanted: str, *, most: int = 40, key: str = "Tab") -> int:
        """Press Tab until what has the focus is read like this, or begins so; how many times that was.

        Args:
            wanted: as ``focused`` gives it.
            most: more often is a failure.
            key: ``Shift+Tab`` goes back.
        """
        passed = []
        for n in range(1, most + 1):
            self.page.keyboard.press(key)
            passed.append(self.focused())
            if passed[-1].startswith(wanted):
                return n
        raise AssertionError(f"no {wanted} within {most} times {key}: {passed}")

    def screenshot(self, name: str, *, full_page: bool = True) -> Path | None:
        """Keep a picture as NAME.png in the folder EVENHAND_SCREENSHOTS; without it, take none."""
        folder = os.environ.get("EVENHAND_SCREENSHOTS")
        if not folder:
            return None
        target = Path(folder) / f"{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        if full_page:
            self._grow_to_content()
        self.page.screenshot(path=target, animations="disabled")
        return target

    def _grow_to_content(self) -> None:
        """Make the window as high as the page: Streamlit scrolls inside it, so a full-page picture would be cut."""
        height = self.page.evaluate("""() => {
            const main = document.querySelector('[data-testid="stMain"]');
            return main === null ? 900 : Math.min(Math.max(main.scrollHeight, 900), 6000);
        }""")
        size = self.page.viewport_size or {"width": 1400, "height": 900}
        if height != size["height"]:
            self.page.set_viewport_size({"width": size["width"], "height": height})
            self.wait_until_at_rest()


OpenPage = Callable[..., AppPage]
"""What the fixture `open_page` gives."""
