"""Pages of what was saved: a finding that `--out` wrote, or a study."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.envelope import check_version, read
from ssdlab.model.files import naming, replacing
from ssdlab.model.finding import REPORT, Finding
from ssdlab.model.loaded import LoadedResult
from ssdlab.model.result import Result
from ssdlab.study.fleet.running import STUDY, VOLUMES
from ssdlab.study.store.folder import PLAN
from ssdlab.study.store.study import Study

AGAIN = "copy all that was saved, or run it again with --out"

COLUMNS = {"result": ("series.parquet", "latency.parquet", "erase_counts.parquet")}
"""What findings of a kind have beside their page and JSON."""

TUNING = "tuning.json"
"""What a search saves in the folder of its study, beside a page of its own."""

RESULT_PAGE = "result.html"
"""The page of a run, made anew where another finding was saved after it and its page is the report."""

HEAD_BYTES = 4096
"""Of a page, in which it says of what it is."""


def page_of(path: Path) -> Path:
    """The page of what was saved in a folder, or of a JSON file in one. That of a study is written anew, and that of a
    run beside another finding's.

    Raises:
        ConfigError: If nothing was saved there, not all of it is there or whole, or another version saved it.
        OSError: If the page of a study or run cannot be written.
    """
    folder = path.parent if path.is_file() else path
    is_other = path.is_file() and path.suffix == ".json" and path.name not in (PLAN, Study._json)
    if (folder / PLAN).exists() and not (folder / TUNING).exists() and not is_other:
        return _of_study(folder)
    file, found = (path, read(path)) if path.is_file() else _envelope_in(path)
    check_version(file, found)
    kind = found["kind"]
    if file.name != f"{kind}.json" or not isinstance(found["result"], dict) or not found["result"]:
        what = f"kind: is {kind!r}" if file.name != f"{kind}.json" else "result: is empty"
        raise ConfigError(f"{text.path(file)}: {what}, so it is not what --out saved; {AGAIN}")
    wanted = (REPORT, *COLUMNS.get(kind, ()))
    missing = [name for name in wanted if not (folder / name).exists() or not (folder / name).stat().st_size]
    if missing:
        raise ConfigError(
            f"{text.path(folder)}: lacks {', '.join(missing)}, without which its page is not whole; {AGAIN}"
        )
    if kind == "result":
        LoadedResult(file).check()
    shown = _kind_of(folder / REPORT)
    if shown in (kind, None):
        return folder / REPORT
    if kind == "result":
        return _written(folder / RESULT_PAGE, Result.load(file))
    raise ConfigError(
        f"{text.path(file)}: {REPORT} beside it is that of {shown}.json, which was saved after it; run it again with "
        "--out and a folder of its own"
    )


def _of_study(folder: Path) -> Path:
    return _written(folder / REPORT, Study.read(folder))


def _written(path: Path, found: Finding) -> Path:
    with naming(path), replacing(path) as hidden:
        hidden.write_text(found.report_html(), encoding="utf-8")
    return path


def _kind_of(page: Path) -> str | None:
    """Of which kind the finding is that a page shows; None of a page that does not say so."""
    with page.open(encoding="utf-8", errors="replace") as file:
        found = re.search(r'<meta name="ssdlab-kind" content="([a-z-]+)">', file.read(HEAD_BYTES))
    return found and found[1]


def _envelope_in(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    if not folder.is_dir():
        raise ConfigError(f"{text.path(folder)}: is not there; give the folder that --out named, or a study")
    # That of the page comes first.
    shown = _kind_of(folder / REPORT) if (folder / REPORT).is_file() else None
    files = sorted(folder.glob("*.json"), key=lambda path: (path.stem != shown, path.name))
    for path in files:
        try:
            return path, read(path)
        except ConfigError:
            # Not every JSON file is a finding.
            continue
    if all((folder / name).is_dir() for name in (VOLUMES, STUDY)):
        name = text.path(folder)
        raise ConfigError(f"{name}: holds a fleet; 'ssdlab fleet show {name} --out FOLDER' makes a page of it")
    names = ", ".join(path.name for path in files)
    unread = f" ({names}: damaged, or of another program)" if files else ""
    raise ConfigError(
        f"{text.path(folder)}: holds neither a result nor a study{unread}; give the folder that --out named"
    )
