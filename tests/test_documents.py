"""Examples, links and names of documents are correct."""

import json
import re

import pytest

import ssdlab
from documents import DOCUMENTS, ROOT, SLOW_DOCUMENTS, current, with_metrics
from ssdlab.model import metrics
from ssdlab.view import glossary
from tiers import TIER

SCHEMA = json.loads((ROOT / "docs" / "output.schema.json").read_text(encoding="utf-8"))


def words(text: str) -> list[list[str]]:
    """Words and numbers of each line, without column widths and blank lines."""
    return [parts for line in text.splitlines() if (parts := line.split())]


@pytest.mark.slow
@pytest.mark.parametrize("document", [*DOCUMENTS, *(SLOW_DOCUMENTS if TIER == "deep" else ())])
def test_examples_print_what_the_document_shows(document: str) -> None:
    shown = (ROOT / document).read_text(encoding="utf-8")
    assert words(current(document)) == words(shown), "run 'make docs'"


def test_every_metric_has_its_row() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert with_metrics(text) == text, "run 'make docs'"
    assert [
        place for place in metrics.tables() if place and f"<!-- figures of {place}: generated -->" not in text
    ] == []


def test_the_glossary_lists_the_words_of_reports() -> None:
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == glossary.document(), "run 'make docs'"
    assert list(glossary.TERMS) == sorted(glossary.TERMS, key=str.lower)


def test_a_report_ends_with_its_glossary(small: ssdlab.Config) -> None:
    html = ssdlab.simulate(small).report_html()
    words, end = html[: html.index('<h2 id="glossary">')], html[html.index('<h2 id="glossary">') :]
    assert '<a href="#glossary">' in words
    told = re.findall("<dt>(.*?)</dt>", end)
    assert {"write amplification (WAF)", "garbage collection (GC)", "preconditioning"} <= set(told)
    assert {"switch merge", "miss ratio", "dirty page"} & set(told) == set()
    assert [term for term, _ in glossary.used("<p>WAF, trimmed planes</p><style>die</style>")] == [
        "plane", "write amplification (WAF)"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "document",
    [
        *DOCUMENTS, *SLOW_DOCUMENTS, "docs/index.md", "docs/results.md", "docs/scheduler-validation.md",
        "docs/glossary.md", "docs/exercises/README.md", "traces/README.md", "CONTRIBUTING.md", "CHANGELOG.md",
    ],
)  # fmt: skip
def test_links_exist(document: str) -> None:
    path = ROOT / document
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            assert (path.parent / link).exists(), link


def test_every_key_of_a_result_is_explained(small: ssdlab.Config) -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    result = ssdlab.simulate(small.with_overrides({"check": True})).to_dict()
    parts = [result[key] for key in ("device", "precondition", "host", "time", "wear", "lifetime", "check")]
    keys = {key for part in parts for key in part} | {*result, *result["latency"]["all"], *SCHEMA["required"]}
    log = ssdlab.simulate(small.with_overrides({"ftl": "faster"})).summary["log"]
    keys |= {*log, *log["merges"], *log["merges"]["full"], *log["capture"]}
    of_map = ssdlab.simulate(small.with_overrides({"ftl.page.map": "dftl"})).summary["map"]
    keys |= {*of_map, *of_map["all"]}
    above = {"block.scheduler": "noop", "block.record": True}
    event = ssdlab.simulate(small.with_overrides({"time": "event", "drive.buffer": "eager", **above}))
    drive = event.summary["drive"]
    keys |= {
        *drive,
        *drive["buffer"],
        *drive["interference"],
        *drive["block"],
        *drive["block"]["counters"],
        *(column for table in event.activity_arrow().values() for column in table.column_names),
    }
    keys |= {f"activity_{name}.parquet" for name in event.activity_arrow()}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []
    assert [name for name in ssdlab.simulate(small).series if f"`{name}`" not in text] == []
