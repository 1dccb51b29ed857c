"""Runs the examples of documents; tests compare the output in a page with the current output.

A `console` block holds commands after `$ ` and their output; a line `...` stands for omitted lines. Commands that
compile crates run in tier `deep` only. A `python` block is executed, and the blocks of a document share variables; a
`text` block after it holds its output. A block under a line with only a path in backquotes and a colon is written to
that file. Run this file to write current outputs into all documents, or into those named.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
from ssdlab.model import metrics
from ssdlab.view import glossary
from tiers import TIER

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    "README.md",
    "packaging/pypi.md",
    "docs/tutorial.md",
    *(f"docs/tutorials/{user}.md" for user in ("researcher", "firmware-engineer", "database-engineer", "lecturer")),
    "docs/analysis.md",
    "docs/experiments.md",
    "docs/experiment-files.md",
    "docs/explain.md",
    "docs/ftls.md",
    "docs/diagnose.md",
    "docs/cache.md",
    "docs/drive-cache.md",
    "docs/compress.md",
    "docs/controller.md",
    "docs/device.md",
    "docs/filebench.md",
    "docs/inputs.md",
    "docs/calibrate.md",
    "docs/plan.md",
    "docs/slc-cache.md",
    "docs/studies.md",
    "docs/your-own/admission.md",
    "docs/your-own/cache-policy.md",
    "docs/your-own/conformance.md",
    "docs/your-own/die-scheduler.md",
    "docs/your-own/ftl.md",
    "docs/your-own/io-scheduler.md",
    "docs/your-own/map.md",
    "docs/your-own/members.md",
    "docs/your-own/placement.md",
    "docs/your-own/publish.md",
    "docs/your-own/python.md",
    "docs/your-own/rust.md",
    "docs/your-own/trace-format.md",
    "docs/your-own/victim.md",
    "docs/your-own/walk.md",
    "docs/your-own/workload.md",
)
SLOW_DOCUMENTS = (
    "docs/advice.md",
    "docs/conditions.md",
    "docs/fit.md",
    "docs/fleet.md",
    "docs/ftl-comparison.md",
    "docs/real-drives.md",
    "docs/schedulers.md",
    "docs/slc-fills.md",
    "docs/timing.md",
    "docs/tuning.md",
)
"""Documents whose examples take at least seven seconds of processor time; tier `deep` tests them."""
BLOCK = re.compile(
    r"^(?:`([^`\n]+)`:\n\n)?```(console|python|rust|diff|text|toml|csv|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COMPILES = re.compile(r"^\$ (?:ssdlab build|cargo|bin/ssdlab) ", re.MULTILINE)
"""Commands of blocks that compile crates of components, or need them. Only tier `deep` has the time."""


@contextlib.contextmanager
def workplace() -> Iterator[None]:
    """A new directory with the shipped traces and plug-ins, and with `ssdlab` on the path, as a reader has it."""
    before, path = Path.cwd(), os.environ["PATH"]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"
        for shipped in ("traces", "plugins"):
            Path(shipped).symlink_to(ROOT / shipped)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ["PATH"] = path


def _run(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command; pipelines and redirections go through a shell."""
    environment = {**os.environ, "COLUMNS": "100"}
    program, *arguments = shlex.split(command.replace("\\\n", ""))
    if program == "ssdlab" and not set("|<>") & set(command):
        return forked.run(arguments, Path.cwd(), environment=environment)
    return subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)


def _console(text: str) -> str:
    lines: list[str] = []
    for entry in filter(str.strip, re.split(r"^(?=\$ )", text, flags=re.MULTILINE)):
        command, _, shown = entry.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command += f"\n{more}"
        done = _run(command.removeprefix("$ "))
        # Standard error of a successful command is progress, which depends on the machine.
        output = done.stdout + (done.stderr if done.returncode else "")
        if "Traceback" in output:
            raise AssertionError(f"{command}\n{output}")
        lines += [command, *elided(shown.splitlines(), [line.rstrip() for line in output.splitlines()])]
    return "".join(f"{line}\n" for line in lines)


def elided(shown: list[str], output: list[str]) -> list[str]:
    """Returns the lines of `output` that the document shows before and after `...`; without `...`, the whole output."""
    if "..." not in shown:
        return output
    dots = shown.index("...")
    after = len(shown) - dots - 1
    return [*output[:dots], "...", *(output[-after:] if after else [])]


def current(document: str) -> str:
    """Returns the document with current outputs."""
    variables: dict[str, Any] = {}
    printed = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal printed
        path, kind, text = match.groups()
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
        elif kind == "console" and (TIER == "deep" or not COMPILES.search(text)):
            text = _console(text)
        elif kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, document, "exec"), variables)
            printed = out.getvalue()
        elif kind == "text":
            text = printed
        before = match[0][: match.start(3) - match.start()]
        return f"{before}{text}```"

    with workplace():
        return BLOCK.sub(replace, (ROOT / document).read_text(encoding="utf-8"))


def with_metrics(document: str) -> str:
    """The document with current tables of metrics, each between two markers."""

    def table(match: re.Match[str]) -> str:
        rows = ["| key | unit | meaning |", "|---|---|---|"]
        for metric in metrics.tables()[match[2]]:
            null = f"; null {metric.null}" if metric.null else ""
            rows.append(f"| `{metric.name}` | {metric.unit} | {metric.help}{null} |")
        return "\n".join([match[1], "", *rows, "", match[3]])

    markers = re.compile(r"^(<!-- figures of ([\w.]+): generated -->)$.*?^(<!-- end of figures -->)$", re.M | re.S)
    return markers.sub(table, document)


if __name__ == "__main__":
    for name in sys.argv[1:] or DOCUMENTS:
        (ROOT / name).write_text(current(name), encoding="utf-8")
    (ROOT / "docs" / "glossary.md").write_text(glossary.document(), encoding="utf-8")
    results = ROOT / "docs" / "results.md"
    results.write_text(with_metrics(results.read_text(encoding="utf-8")), encoding="utf-8")
