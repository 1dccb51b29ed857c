"""Finds or writes the report pages of saved results and studies."""

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

AGAIN = "copy all saved files, or repeat the command with --out"

COLUMNS = {"result": ("series.parquet", "latency.parquet", "erase_counts.parquet")}
"""Files that must exist in addition to the report and the JSON file, by kind of result."""

TUNING = "tuning.json"
"""JSON file of a search by `ssdlab tune`, whose folder is also a study."""

RESULT_PAGE = "result.html"
"""Report page of a run whose `report.html` was overwritten by a later result."""

HEAD_BYTES = 4096
"""Number of bytes at the start of a report page that contain the kind of its result."""


def page_of(path: Path) -> Path:
    """Returns the report page of a folder, or of a JSON file in it. The page of a study is first rewritten."""
    folder = path.parent if path.is_file() else path
    is_other = path.is_file() and path.suffix == ".json" and path.name not in (PLAN, Study._json)
    if (folder / PLAN).exists() and not (folder / TUNING).exists() and not is_other:
        return _written(folder / REPORT, Study.read(folder))
    file, envelope = (path, read(path)) if path.is_file() else _envelope_in(path)
    check_version(file, envelope)
    kind = envelope["kind"]
    if file.name != f"{kind}.json" or not isinstance(envelope["result"], dict) or not envelope["result"]:
        what = f"kind: is {kind!r}" if file.name != f"{kind}.json" else "result: is empty"
        raise ConfigError(f"{text.path(file)}: {what}, so this file was not saved by --out; {AGAIN}")
    wanted = (REPORT, *COLUMNS.get(kind, ()))
    missing = [name for name in wanted if not (folder / name).exists() or not (folder / name).stat().st_size]
    if missing:
        raise ConfigError(
            f"{text.path(folder)}: {', '.join(missing)} missing or empty, so the report would be incomplete; {AGAIN}"
        )
    if kind == "result":
        LoadedResult(file).check()
    shown = _kind_of(folder / REPORT)
    if shown in (kind, None):
        return folder / REPORT
    if kind == "result":
        return _written(folder / RESULT_PAGE, Result.load(file))
    raise ConfigError(
        f"{text.path(file)}: {REPORT} in the same folder shows {shown}.json, which was saved later; repeat the "
        "command with --out and a separate folder"
    )


def _written(path: Path, finding: Finding) -> Path:
    with naming(path), replacing(path) as hidden:
        hidden.write_text(finding.report_html(), encoding="utf-8")
    return path


def _kind_of(page: Path) -> str | None:
    """Returns the kind of result that a page shows; None if the page does not state it."""
    with page.open(encoding="utf-8", errors="replace") as file:
        kind = re.search(r'<meta name="ssdlab-kind" content="([a-z-]+)">', file.read(HEAD_BYTES))
    return kind and kind[1]


def _envelope_in(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    if not folder.is_dir():
        raise ConfigError(f"{text.path(folder)}: does not exist; use a folder written by --out or a study's folder")
    # Tries the JSON files in turn, starting with the file of the result that the report shows.
    shown = _kind_of(folder / REPORT) if (folder / REPORT).is_file() else None
    files = sorted(folder.glob("*.json"), key=lambda path: (path.stem != shown, path.name))
    for path in files:
        try:
            return path, read(path)
        except ConfigError:
            # The folder may contain JSON files that are not results.
            continue
    if all((folder / name).is_dir() for name in (VOLUMES, STUDY)):
        name = text.path(folder)
        raise ConfigError(f"{name}: contains a fleet; 'ssdlab fleet show {name} --out FOLDER' writes its report")
    names = ", ".join(path.name for path in files)
    unread = f" ({names}: damaged, or written by another program)" if files else ""
    raise ConfigError(
        f"{text.path(folder)}: contains neither a result nor a study{unread}; use a folder written by --out"
    )
