"""The tutorial as a notebook: its text, its commands and Python as cells, with what they give today.

Run this file to write `docs/tutorial.ipynb` from `docs/tutorial.md`.
"""

import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from documents import BLOCK, ROOT, workplace

TUTORIAL, NOTEBOOK = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "tutorial.ipynb"
CELL_SECONDS = 600
FIRST = """\
%cd -q ..
import os
os.environ["COLUMNS"] = "100"
"""
"""The notebook lies in `docs`, and its commands are those of somebody above; output is as wide as in the document."""


def cells(text: str) -> list[Any]:
    """The cells of a document; what its commands printed comes anew."""
    made, at = [], 0
    for match in BLOCK.finditer(text):
        made.append(_prose(text[at : match.start()]))
        path, kind, code = match.groups()
        if kind == "console":
            commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", code, re.MULTILINE)
            made += [nbformat.v4.new_code_cell(f"!{command}") for command in commands]
        elif kind == "python":
            made.append(nbformat.v4.new_code_cell(code.rstrip("\n")))
        elif path:
            made.append(nbformat.v4.new_code_cell(f"%%writefile {path}\n{code.rstrip()}"))
        at = match.end()
    made.append(_prose(text[at:]))
    kept = [nbformat.v4.new_code_cell(FIRST.rstrip()), *(cell for cell in made if cell is not None)]
    for number, cell in enumerate(kept):
        # Ids are random otherwise, and equal documents must give equal notebooks.
        cell["id"] = f"cell-{number}"
    # The title comes first.
    kept[0], kept[1] = kept[1], kept[0]
    return kept


def _prose(text: str) -> Any:
    return nbformat.v4.new_markdown_cell(text.strip()) if text.strip() else None


def notebook(text: str) -> Any:
    """A notebook that was not run."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells(text), metadata={"kernelspec": kernel})


def executed(made: Any, folder: Path) -> Any:
    """The notebook with its outputs, run in `folder`, and without when that was.

    Raises:
        CellExecutionError: If a cell fails.
    """
    client = nbclient.NotebookClient(
        made,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    made["metadata"].pop("language_info", None)
    nbformat.validate(made)
    return made


def main() -> None:
    """Writes the notebook."""
    with workplace():
        folder = Path("docs")
        folder.mkdir()
        done = executed(notebook(TUTORIAL.read_text(encoding="utf-8")), folder)
    nbformat.write(done, NOTEBOOK)


if __name__ == "__main__":
    main()
