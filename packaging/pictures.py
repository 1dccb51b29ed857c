"""Draws the pictures of the README: a report and a page of `ssdlab explain`, each in two widths. Needs Chromium.

Usage: python packaging/pictures.py DIRECTORY
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (960, 480)
HEIGHT = 780
STEPS = 14
"""Number of steps taken before the picture of the step-by-step page: the first full merge."""


def pages(folder: Path) -> dict[str, Path]:
    """Writes the pages to draw; returns them by the name of their picture."""
    ssdlab = Path(sys.executable).parent / "ssdlab"
    report, steps = folder / "report", folder / "steps.html"
    for arguments in (
        ("run", "traces/pgbench.csv.zst", "--out", report),
        ("explain", "fast-full-merge", "--out", steps),
    ):
        subprocess.run([ssdlab, *arguments], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return {"report": report / "report.html", "steps": steps}


def draw(browser: Browser, page: Path, picture: Path, width: int) -> None:
    """Draws the first screen of the step-by-step page, or the charts of a report."""
    tab = browser.new_page(viewport={"width": width, "height": HEIGHT}, device_scale_factor=1)
    tab.goto(page.as_uri())
    if page.name == "steps.html":
        for _ in range(STEPS):
            tab.keyboard.press("ArrowRight")
    else:
        tab.get_by_role("heading", name="Charts").scroll_into_view_if_needed()
    # Charts are drawn when they come into view; animations take less than a second.
    tab.wait_for_timeout(1500)
    tab.screenshot(path=picture)
    tab.close()


def main(target: Path) -> None:
    """Draws all pictures into a directory."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, page in pages(Path(folder)).items():
            for width in WIDTHS:
                draw(browser, page, target / f"{name}-{width}.png", width)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
