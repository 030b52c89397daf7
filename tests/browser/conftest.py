"""JupyterLab in a real browser: `lab` opens notebooks, runs cells by Lab's own commands, takes pictures."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
CHROMIUM_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
WAIT = 60_000  # ms; generous, since tests assert no times


class Lab:
    """One JupyterLab page. Indices of cells are from 0."""

    def __init__(self, page: Any, url: str, folder: Path) -> None:
        self.page = page
        self.url = url
        self.folder = folder
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.opened: set[str] = set()
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda r: self._note(r.url))

    def _note(self, url: str) -> None:
        if not url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.foreign.append(url)

    def write(self, name: str, *sources: str) -> None:
        """A notebook of code cells in the server's folder."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, self.folder / name)

    def open(self, name: str) -> None:
        """Open a notebook alone and wait for its kernel."""
        self.opened.add(name)
        self.page.goto(f"{self.url}/lab/tree/{name}?reset")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=WAIT)
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=WAIT)
        self.page.evaluate(
            """async () => {
                const panel = jupyterapp.shell.currentWidget;
                await panel.context.ready;
                await panel.sessionContext.ready;
                await panel.sessionContext.session?.kernel?.info;
                if (!jupyterapp.shell.leftCollapsed)
                    await jupyterapp.commands.execute("application:toggle-left-area");
            }"""
        )

    def select(self, index: int) -> None:
        self.page.evaluate("i => { jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", index)

    def run_cell(self, index: int) -> None:
        """Run one cell to its end. Its widgets may need a moment more to appear."""
        self.select(index)
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")

    def run_all(self) -> None:
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")

    def cell(self, index: int) -> Any:
        """The locator of one cell."""
        return self.page.locator(f".jp-Notebook [data-windowed-list-index='{index}']")

    def cells(self) -> list[str]:
        """The kind of each cell, as the notebook's model has it."""
        return self.page.evaluate(
            "() => [...jupyterapp.shell.currentWidget.content.model.cells].map(cell => cell.type)"
        )

    def execute(self, code: str) -> str:
        """Run code in the notebook's kernel, outside any cell, and give what it prints."""
        return self.page.evaluate(
            """async code => {
                const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
                const future = kernel.requestExecute({ code });
                let text = "";
                future.onIOPub = m => { if (m.header.msg_type === "stream") text += m.content.text; };
                await future.done;
                return text;
            }""",
            code,
        )

    def save(self) -> None:
        self.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")

    def shut_down(self) -> None:
        """End the notebook's kernel and session."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    def theme(self, name: str) -> None:
        """Switch to "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        light = str("Light" in name).lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def size(self, width: int, height: int = 900) -> None:
        self.page.set_viewport_size({"width": width, "height": height})
        self.settle()

    def settle(self) -> None:
        """Let two animation frames pass."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def screenshot(self, name: str, element: Any = None) -> Path:
        """A picture of the page, or of one element, in build/screenshots/."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.settle()
        (element or self.page).screenshot(path=str(path))
        return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """JupyterLab on loopback with folders of its own; gives its address and the folder of its notebooks."""
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed, so nothing can be looked at in a browser")
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    for plugin, settings in SETTINGS.items():
        package, _, name = plugin.partition(":")
        path = home / "settings" / package / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    environment = dict(os.environ)
    for variable, name in (
        ("JUPYTER_CONFIG_DIR", "config"),
        ("JUPYTER_DATA_DIR", "data"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
        ("IPYTHONDIR", "ipython"),
        ("JUPYTERLAB_SETTINGS_DIR", "settings"),
        ("JUPYTERLAB_WORKSPACES_DIR", "workspaces"),
    ):
        environment[variable] = str(home / name)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    port = free_port()
    command = [
        sys.executable,
        *("-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root"),
        *(
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={folder}",
            "--ServerApp.port_retries=0",
        ),
        "--LabApp.expose_app_in_browser=True",
    ]
    url = f"http://127.0.0.1:{port}"
    with (home / "lab.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until_up(server, url, home / "lab.log")
        yield url, folder
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_until_up(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    for _ in range(300):
        if server.poll() is not None:
            pytest.fail(f"JupyterLab ended at its start:\n{log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"{url}/api/status", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not answer:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="session")
def browser(lab_server: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser context on the system's chromium, with a profile of its own."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        context = p.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=shutil.which("chromium"),
            args=list(CHROMIUM_ARGS),
            headless=True,
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(WAIT)
        yield context
        context.close()


@pytest.fixture(scope="session")
def new_lab(browser: Any, lab_server: tuple[str, Path]) -> Callable[[], AbstractContextManager[Lab]]:
    """Opens fresh pages in the running JupyterLab, for a fixture that serves several tests."""

    @contextmanager
    def opened() -> Iterator[Lab]:
        url, folder = lab_server
        page = browser.new_page()
        lab = Lab(page, url, folder)
        try:
            yield lab
        finally:
            page.close()
            with urllib.request.urlopen(f"{url}/api/sessions", timeout=30) as answer:
                sessions = json.load(answer)
            for session in (session for session in sessions if session["path"] in lab.opened):
                request = urllib.request.Request(f"{url}/api/sessions/{session['id']}", method="DELETE")
                urllib.request.urlopen(request, timeout=30).close()

    return opened


@pytest.fixture
def lab(new_lab: Callable[[], AbstractContextManager[Lab]]) -> Iterator[Lab]:
    """A fresh page in the running JupyterLab. The kernels of the notebooks it opens end with the test."""
    with new_lab() as opened:
        yield opened
