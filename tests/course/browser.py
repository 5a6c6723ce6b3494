"""A real browser on a real JupyterLab: the steps that the browser test takes, and the README's picture.

    PYTHONPATH=course:practice python tests/course/browser.py WORKSPACE NOTEBOOK.ipynb PICTURE.png [--dark]

makes the picture by hand. Needs playwright and a Chromium of the system; downloads neither.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from kit.learn import lab_command

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The system's Chromium, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextlib.contextmanager
def lab(ws: Path, dark: bool = False, timeout: float = 180) -> Iterator[str]:
    """JupyterLab on a workspace, as `make learn` starts it; gives the address with its token, ends it after.

    Settings and runtime files of the person who runs it are neither read nor written.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    command = [*lab_command(ws, None), "--no-browser", f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    home = ws / ".course" / "jupyter"
    themes = home / "lab" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    themes.parent.mkdir(parents=True, exist_ok=True)
    themes.write_text(json.dumps({"theme": "JupyterLab Dark" if dark else "JupyterLab Light"}))
    env |= {"PATH": path, "MINI_LLM_WORKSPACE": str(ws), "JUPYTER_TOKEN": token}
    env |= {"JUPYTERLAB_SETTINGS_DIR": str(home / "lab"), "JUPYTER_CONFIG_DIR": str(home / "config")}
    env |= {"JUPYTER_RUNTIME_DIR": str(home / "run"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    with open(ws / ".course" / "lab.log", "w") as log:
        server = subprocess.Popen(command, cwd=ws, env=env, stdout=log, stderr=log)
        try:
            _wait_for(f"http://127.0.0.1:{port}/api?token={token}", server, timeout)
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?reset&token={token}"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_for(url: str, server: subprocess.Popen, timeout: float) -> None:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended at once with status {server.returncode}; see .course/lab.log.")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=2)
            return
        time.sleep(0.2)
    raise TimeoutError(f"JupyterLab did not answer within {timeout:.0f} s; see .course/lab.log.")


@contextlib.contextmanager
def page(width: int = 1280, height: int = 1000):
    """A page of the system's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = p.chromium.launch(executable_path=chromium(), args=arguments)
        try:
            made = browser.new_page(viewport={"width": width, "height": height})
            made.set_default_timeout(60_000)
            yield made
        finally:
            browser.close()


class Notebook:
    """An open notebook, and what a learner does with it."""

    def __init__(self, page, address: str, name: str):
        self.page = page
        page.goto(address.format(name))
        # The indicator is 'idle' before there is a kernel too; the status bar names a connected one.
        page.locator("#jp-main-statusbar").get_by_text(re.compile(r"^(?!No Kernel).+ \| Idle$")).wait_for()

    def cell(self, text: str):
        """The code cell that holds `text`."""
        return self.page.locator(".jp-CodeCell").filter(has=self.page.locator(".cm-content", has_text=text)).first

    def run_all(self) -> None:
        """Menu Run, Run All Cells; returns when the kernel has been idle for a while."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_timeout(500)
        self._idle()

    def _idle(self) -> None:
        quiet = 0
        while quiet < 6:
            self.page.wait_for_timeout(250)
            indicator = self.page.locator(".jp-Notebook-ExecutionIndicator").first
            quiet = quiet + 1 if indicator.get_attribute("data-status") == "idle" else 0

    def move_slider(self, label: str, key: str = "ArrowRight") -> tuple[str, str]:
        """Moves the explorer's slider with that label by one step; gives the picture's address before and after."""
        explorer = self.cell("kit.ladder_explorer()")
        explorer.scroll_into_view_if_needed()
        picture = explorer.locator("img.widget-image").first
        picture.wait_for()
        before = picture.get_attribute("src")
        slider = explorer.locator(".widget-hslider, .jupyter-widget-hslider").filter(has_text=label)
        slider.locator(".noUi-handle").focus()
        self.page.keyboard.press(key)
        changed = "([picture, before]) => picture.src !== before && picture.complete"
        self.page.wait_for_function(changed, arg=[picture.element_handle(), before])
        return before, picture.get_attribute("src")

    def write(self, text: str, source: str) -> None:
        """Types `source` over the cell that holds `text`."""
        self.cell(text).locator(".cm-content").first.click()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)

    def run(self, text: str) -> str:
        """Runs the cell that holds `text`; gives its output."""
        cell = self.cell(text)
        cell.locator(".cm-content").first.click()
        self.page.keyboard.press("ControlOrMeta+Enter")
        self.page.wait_for_timeout(300)
        self._idle()
        return cell.locator(".jp-OutputArea").first.inner_text()

    def judge(self, call: str) -> str:
        """Clicks the button of the judge panel that `call` shows, and gives the verdict."""
        panel = self.cell(call)
        panel.scroll_into_view_if_needed()
        before = panel.inner_text()
        panel.get_by_role("button", name="Judge").first.click()
        # a click takes a while to reach the kernel: done is another result (its seed differs) under the same button
        other = "([panel, before]) => panel.innerText !== before && panel.innerText.includes('Judge again')"
        self.page.wait_for_function(other, arg=[panel.element_handle(), before])
        panel.get_by_role("button", name="Judge again").wait_for()
        return panel.locator(".kit-badge").inner_text()

    def picture(self, text: str, place: Path) -> None:
        """A picture of the page with the cell that holds `text` in view."""
        self.cell(text).scroll_into_view_if_needed()
        self.page.wait_for_timeout(500)
        self.page.screenshot(path=place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("workspace", type=Path)
    parser.add_argument("notebook")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--dark", action="store_true")
    args = parser.parse_args()
    with lab(args.workspace.resolve(), args.dark) as address, page() as made:
        notebook = Notebook(made, address, args.notebook)
        notebook.run_all()
        notebook.move_slider("batch size")
        notebook.judge('kit.judge(133, "pad_to")')
        notebook.picture("kit.ladder_explorer()", args.picture)
        notebook.picture('kit.judge(133, "pad_to")', args.picture.with_suffix(".judge.png"))


if __name__ == "__main__":
    main()
