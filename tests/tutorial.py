"""The tutorial as a notebook: its text, its commands and Python as cells, with the outputs that the document shows.

Those are today's: `tests/test_documents.py` compares them. Run this file to write `docs/tutorial.ipynb`.
"""

import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from documents import BLOCK, ROOT

TUTORIAL, NOTEBOOK = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "tutorial.ipynb"
CELL_SECONDS = 600
FIRST = """\
%cd -q ..
import os
import subprocess

os.environ["COLUMNS"] = "100"
os.environ.pop("FORCE_COLOR", None)


def system(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    print(done.stdout + (done.stderr if done.returncode else ""), end="")


get_ipython().system = system
"""
"""The notebook lies in `docs`, and its commands are those of somebody above; their output is that of the document.

Of itself a notebook gives them a terminal, on which they show colours, progress, and tables in parts.
"""
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
"""A command of a console, and what it prints."""


def notebook(text: str) -> Any:
    """The notebook of a document."""
    cells, at = [_code(FIRST)], 0
    for match in BLOCK.finditer(text):
        cells += _prose(text[at : match.start()])
        path, kind, code = match.groups()
        if kind == "console":
            cells += [_code(f"!{command}", printed) for command, printed in COMMAND.findall(code)]
        elif kind == "python":
            cells.append(_code(code))
        elif kind == "text":
            cells[-1]["outputs"] = [nbformat.v4.new_output("stream", name="stdout", text=code)]
        else:
            cells.append(_code(f"%%writefile {path}\n{code}", f"Writing {path}\n"))
        at = match.end()
    cells += _prose(text[at:])
    # The title comes first.
    cells[0], cells[1] = cells[1], cells[0]
    executed = 0
    for number, cell in enumerate(cells):
        # Ids are random otherwise, and equal documents must give equal notebooks.
        cell["id"] = f"cell-{number}"
        if cell["cell_type"] == "code":
            executed += 1
            cell["execution_count"] = executed
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.validate(made)
    return made


def _prose(text: str) -> list[Any]:
    return [nbformat.v4.new_markdown_cell(text.strip())] if text.strip() else []


def _code(code: str, printed: str = "") -> Any:
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=printed)] if printed.strip() else []
    return nbformat.v4.new_code_cell(code.rstrip("\n"), outputs=outputs)


def execute(made: Any, folder: Path) -> None:
    """Runs a notebook in a folder, which replaces its outputs.

    Raises:
        CellExecutionError: If a cell fails.
    """
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(made, timeout=CELL_SECONDS, record_timing=False, resources=resources).execute()


if __name__ == "__main__":
    nbformat.write(notebook(TUTORIAL.read_text(encoding="utf-8")), NOTEBOOK)
