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
    pytest.skip("Chromium is not on the path; apt-get install chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Any:
    """A shared browser window, because opening a window takes longer than most tests of pages."""
    return browser.new_page()


class Shown:
    """A page in a window of usual size, with its errors and network requests."""

    def __init__(self, window: Any, path: Path, **media: str) -> None:
        self.page = window
        self.faults: list[str] = []
        self._listeners = {
            "console": lambda said: self.faults.append(said.text) if said.type in ("error", "warning") else None,
            "pageerror": lambda error: self.faults.append(str(error)),
            "request": lambda asked: self.faults.append(asked.url) if asked.url != path.as_uri() else None,
        }
        window.set_viewport_size({"width": 1280, "height": 720})
        window.emulate_media(**{"color_scheme": "light", "reduced_motion": "no-preference", **media})
        window.mouse.move(0, 0)
        for event, listener in self._listeners.items():
            window.on(event, listener)
        window.goto(path.as_uri())
        window.evaluate("() => ready")

    def leave(self) -> None:
        """Closes the page to make room for another."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        assert self.faults == []


def violations(page: Any, *rules: str) -> list[tuple[str, str]]:
    """Accessibility violations that axe-core finds, with these rules or with all rules."""
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    axe_violations = axe.Axe().run(page, options=options).response["violations"]
    return [(violation["id"], violation["nodes"][0]["html"]) for violation in axe_violations]


def violations_in_both_schemes(page: Any) -> list[tuple[str, str]]:
    """Accessibility violations in the light and the dark colour scheme."""
    page.emulate_media(color_scheme="light")
    in_light = violations(page)
    page.emulate_media(color_scheme="dark")
    return in_light + violations(page, "color-contrast")


def check_for_everybody(page: Any) -> None:
    """Asserts that the page is accessible in both colour schemes and fits all screens from phones upwards."""
    assert violations_in_both_schemes(page) == []
    for width in (400, 900, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        # Figures are redrawn after the window has changed its width.
        page.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
