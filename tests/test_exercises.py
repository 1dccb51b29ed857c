"""Exercises for students: the notebooks run without answers, and the worked answers are right."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from documents import ROOT

EXERCISES = sorted((ROOT / "docs" / "exercises").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return list(notebook["cells"])


def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the code of a notebook in the directory of the notebook, as Jupyter does."""
    monkeypatch.chdir(path.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(path):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), names)


def test_there_are_three_exercises() -> None:
    assert [path.stem for path in EXERCISES] == ["1-over-provisioning", "2-victims", "3-read-latency"]


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_an_exercise_without_answers_asks_for_them(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(path, monkeypatch)
    checks = sum(len(re.findall(r"^check\(", "".join(cell["source"]), re.MULTILINE)) for cell in cells(path))
    assert capsys.readouterr().out.count(": no answer yet\n") == checks >= 6


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_worked_answers_are_right(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(path.parent / "answers" / path.name, monkeypatch)
    out = capsys.readouterr().out
    assert out.count(": right\n") >= 6 and "not yet" not in out and "no answer yet" not in out


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_answers_differ_from_the_exercise_in_their_cells_only(path: Path) -> None:
    for asked, answered in zip(cells(path), cells(path.parent / "answers" / path.name), strict=True):
        assert asked["id"] == answered["id"] and asked["metadata"] == answered["metadata"]
        if "answer" in asked["metadata"].get("tags", ()):
            assert "..." in "".join(asked["source"]) and "..." not in "".join(answered["source"])
        elif asked["id"] != "cell-1":
            assert asked["source"] == answered["source"]
        assert not asked.get("outputs") and not answered.get("outputs")
