"""The launcher: ports, the workspace, the settings that the app is started with, the browser for the tests."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.web import bootstrap
from streamlit.web.server.starlette import starlette_server
from test_project_setup import load

from evenhand import launcher


@pytest.fixture
def finder(root: Path) -> ModuleType:
    return load(root, "browser")


def test_the_next_free_port_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(launcher, "FIRST_PORT", port)
        assert port < launcher.choose_port(None) <= port + launcher.N_PORTS_TRIED


def test_a_wanted_port_that_is_taken_is_refused_in_a_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit, match=rf"Port {taken.getsockname()[1]} must be free"):
            launcher.choose_port(taken.getsockname()[1])


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_out_of_range_is_refused(port: int) -> None:
    with pytest.raises(SystemExit, match=f"between 1 and 65535, got {port}"):
        launcher.choose_port(port)


def test_the_workspace_is_made_for_this_user_only(tmp_path: Path) -> None:
    folder = launcher.prepare_workspace(tmp_path / "deep" / "workspace")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []


def test_a_workspace_that_is_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(SystemExit, match=r"The workspace folder must be writable, got .*taken"):
        launcher.prepare_workspace(tmp_path / "taken")


def test_the_options_reach_the_app_through_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[tuple[int, str]] = []
    monkeypatch.setattr(launcher, "serve", lambda port, host, _: served.append((port, host)))
    monkeypatch.setattr(launcher, "announce", lambda *_: None)
    monkeypatch.setenv("EVENHAND_WORKSPACE", "")
    monkeypatch.setenv("EVENHAND_UNSAFE_FORMATS", "0")
    port = launcher.choose_port(None)
    launcher.main(["--port", str(port), "--workspace", str(tmp_path / "w"), "--allow-unsafe-models", "--no-browser"])
    assert served == [(port, "127.0.0.1")]
    assert os.environ["EVENHAND_WORKSPACE"] == str(tmp_path / "w")
    assert os.environ["EVENHAND_UNSAFE_FORMATS"] == "1"
    assert "can run any code" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "abc"], "Argument --port: must be a finite number, got 'abc'. 'evenhand app --help' lists the"),
        (["--prot", "8600"], "Unrecognized arguments: --prot. Did you mean --port?"),
    ],
)
def test_an_option_that_is_none_is_refused_in_a_sentence(arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(said)):
        launcher.parse_options(arguments)


@pytest.mark.parametrize(
    ("options", "name", "is_said"),
    [((), None, None), (("--for-others",), None, "1"), (("--name", "bias.example.org"), "bias.example.org", "1")],
)
def test_an_option_says_that_others_reach_the_server(
    options: tuple[str, ...], name: str | None, is_said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str | None] = []
    monkeypatch.setattr(launcher, "serve", lambda port, host, name: served.append(name))
    monkeypatch.setattr(launcher, "announce", lambda *_: None)
    monkeypatch.setenv("EVENHAND_WORKSPACE", "")
    monkeypatch.setenv("EVENHAND_FOR_OTHERS", "")  # and is taken back after the test
    monkeypatch.delenv("EVENHAND_FOR_OTHERS")
    launcher.main([*options, "--workspace", str(tmp_path / "w"), "--no-browser"])
    assert (served, os.environ.get("EVENHAND_FOR_OTHERS")) == ([name], is_said)


def test_without_the_option_unsafe_formats_stay_as_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "serve", lambda *_: None)
    monkeypatch.setattr(launcher, "announce", lambda *_: None)
    monkeypatch.setenv("EVENHAND_WORKSPACE", "")
    monkeypatch.delenv("EVENHAND_UNSAFE_FORMATS", raising=False)
    launcher.main(["--workspace", str(tmp_path / "w"), "--no-browser"])
    assert "EVENHAND_UNSAFE_FORMATS" not in os.environ


def test_small_messages_are_sent_at_once() -> None:
    """With Nagle's algorithm and delayed acknowledgements every rerun would take 42 ms longer than it needs."""
    make_loop = bootstrap._get_uvloop_loop_factory()
    assert make_loop is not None, "uvloop is what Streamlit's server runs on"

    async def nodelay_of_a_connection() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = starlette_server._bind_socket("127.0.0.1", 0, 5)
        async with await asyncio.start_server(answer, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            return await asyncio.wait_for(found, 10)

    def connect() -> int:
        with asyncio.Runner(loop_factory=make_loop) as runner:
            return runner.run(nodelay_of_a_connection())

    with ThreadPoolExecutor(1) as thread:  # a browser of another test may have a loop in this one
        assert thread.submit(connect).result() == 1


def test_a_browser_that_draws_nothing_is_not_taken(finder: ModuleType, tmp_path: Path) -> None:
    stub = tmp_path / "chromium-browser"
    stub.write_text("#!/bin/sh\necho 'Please install the snap'\n")
    stub.chmod(0o755)
    assert not finder.draws_a_page(stub)
    assert not finder.draws_a_page(tmp_path / "absent")


def test_a_named_browser_is_the_only_candidate(
    finder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_BROWSER", str(tmp_path / "mine"))
    assert list(finder.candidates()) == [tmp_path / "mine"]
    assert finder.main() == 1, "a named browser that does not start is not replaced by another"


def test_the_shipped_settings_keep_the_app_to_itself(root: Path) -> None:
    settings = tomllib.loads((root / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["allowedHosts"] == ["127.0.0.1", "localhost"]
    assert settings["server"]["maxUploadSize"] == 600
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["client"] == {"showErrorDetails": "none", "toolbarMode": "viewer"}
    assert settings["runner"]["postScriptGC"] is False
    assert settings["global"]["maxCachedMessageAge"] >= 100, "of 2, the default, a slider moved quickly kills its page"
    assert "http" not in (root / ".streamlit" / "config.toml").read_text(), "no font or image from elsewhere"


def test_the_colours_of_meaning_are_those_of_the_palette(root: Path) -> None:
    theme = tomllib.loads((root / ".streamlit" / "config.toml").read_text())["theme"]
    assert theme["chartCategoricalColors"][:5] == ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"]
    assert len(theme["dark"]["chartCategoricalColors"]) == len(theme["chartCategoricalColors"])


def luminance(colour: str) -> float:
    """Relative luminance of '#rrggbb' (WCAG 2.2)."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_can_be_read_on_every_background_of_the_theme(root: Path, name: str) -> None:
    theme = tomllib.loads((root / ".streamlit" / "config.toml").read_text())["theme"][name]
    backgrounds = [theme["backgroundColor"], theme["secondaryBackgroundColor"], *theme["sidebar"].values()]
    for background in backgrounds:
        assert contrast(theme["textColor"], background) >= 7
        assert contrast(theme["linkColor"], background) >= 4.5
    assert contrast("#FFFFFF", theme["primaryColor"]) >= 4.5, "the label of a primary button is white"
    assert contrast(theme["primaryColor"], theme["backgroundColor"]) >= 3
