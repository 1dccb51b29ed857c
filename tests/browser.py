"""Pages in a real browser.

Needs the packages `playwright` and `axe-playwright-python`, and Chromium on the path; `apt-get install chromium`. Tests
that import this are skipped without.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("there is no Chromium on the path; apt-get install chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Opened:
    """A page, and whatever it complains of or asks the network for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.faults: list[str] = []
        self.page.on(
            "console", lambda said: self.faults.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda asked: self.faults.append(asked.url) if asked.url != path.as_uri() else None)
        self.page.goto(path.as_uri())
        self.page.evaluate("() => ready")


def violations(page: Any) -> list[tuple[str, str]]:
    """What axe-core finds that keeps somebody from using the page."""
    found = axe.Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]


def check_for_everybody(page: Any) -> None:
    """Nothing keeps anybody from using the page, in either colour scheme, and it fits screens from phones on."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    for width in (400, 900, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        # Figures are drawn anew once the window has changed its width.
        page.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
