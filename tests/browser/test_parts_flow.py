"""Parts of a page that are drawn alone, one in another, as fast as a browser can be sent them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import PATIENCE_MS, PATIENCE_SECONDS, free_port
from playwright.sync_api import BrowserContext, expect

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import streamlit as st
from pages.shared.app import frame

def inner():
    st.expander("folded")

def outer():
    n = st.session_state["n"] = st.session_state.get("n", 0) + 1
    for i in range(n % 37):
        st.write(f"{i} of {n}")
        st.container().write("-")
    frame.alone(inner)()
    st.text("looked often" if n > 150 else "looking")

frame.alone(outer, run_every=0.03)()
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server of a page that grows while it is drawn again and again."""
    script = tmp_path / "growing.py"
    script.write_text(SCRIPT, encoding="utf-8")
    port = free_port()
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    started = [sys.executable, "-m", "streamlit", "run", str(script), *options, "--browser.gatherUsageStats", "false"]
    process = subprocess.Popen(
        started,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + PATIENCE_SECONDS
        while not _answers(url):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_part_in_a_part_never_leaves_the_page_white(chromium: BrowserContext, address: str) -> None:
    """With Streamlit's fragments in one another, the page is white after a few looks (Bad delta path index)."""
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    expect(page.get_by_text("looked often")).to_be_visible(timeout=PATIENCE_MS)
    assert errors == []
    page.close()
