"""SVG pictures and animations of `ssdlab explain`: they show the recorded steps."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

import ssdlab
from conftest import Cli
from ssdlab import ConfigError
from ssdlab.analyse import steps

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    """Texts of a picture, in the order of drawing."""
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def shown(paths: list[Path]) -> list[list[str]]:
    return [texts(path.read_text(encoding="utf-8")) for path in paths]


def test_each_step_has_a_picture_with_its_sentence(tmp_path: Path) -> None:
    explanation = ssdlab.explain("bast-full-merge")
    [recording] = explanation.recordings
    paths = explanation.save_svg(tmp_path)
    assert [path.name for path in paths] == [f"step-{at:04}.svg" for at in range(len(recording["steps"]) + 1)]
    first, *pictures = (" ".join(picture) for picture in shown(paths))
    assert "Before the first request." in first and "13 requests" in first
    for at, picture in enumerate(pictures):
        assert recording["sentences"][at] in picture and recording["title"] in picture
        for span, summary in zip(recording["spans"], recording["summaries"], strict=True):
            if summary:
                assert (summary in picture) == (span["from"] <= at <= span["to"])
    assert "Request 13 of 13: write 12" in pictures[-1]


def test_a_picture_shows_the_newest_copies_and_the_counts(tmp_path: Path) -> None:
    """By hand: 14 host pages and 6 copies are 20 programs. The 8 logical pages are not struck out."""
    explanation = ssdlab.explain("why-gc")
    last = len(explanation.clock()) - 1
    [path] = explanation.save_svg(tmp_path, last)
    svg = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    pages = [text for text in svg.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    newest = sorted(int(text.text or "") for text in pages if text.get("text-decoration") is None)
    assert newest == [*range(8)] and len(pages) > 8
    assert "host pages 14 · flash programs 20 · erases 3 · write amplification 1.43" in texts(path.read_text("utf-8"))


def test_copies_are_arrows_and_the_erased_block_is_framed(tmp_path: Path) -> None:
    explanation = ssdlab.explain("why-gc")
    kinds = ["", *(step["step"] for step in explanation.recordings[0]["steps"])]
    begin = kinds.index("victim")
    victim, opened, first, second, erase = explanation.save_svg(tmp_path, begin, begin + 4)
    assert kinds[begin : begin + 5] == ["victim", "opened", "copy", "copy", "erase"]
    arrows = [path.read_text("utf-8").count("stroke-linecap") for path in (victim, opened, first, second, erase)]
    assert arrows == [0, 0, 1, 2, 2]
    framed = [path.read_text("utf-8").count('rx="5"') for path in (second, erase)]
    assert framed == [5, 5] and 'rx="5" fill="#f6f8fa" stroke="#a13d00" stroke-width="3"' in erase.read_text("utf-8")


def test_two_drives_start_each_request_together(tmp_path: Path) -> None:
    explanation = ssdlab.explain("fast-thrashing")
    clock = explanation.clock()
    starts = [
        [at for at, step in enumerate(one["steps"]) if step["step"] == "request"] for one in explanation.recordings
    ]
    assert {(fast + 1, sbfast + 1) for fast, sbfast in zip(*starts, strict=True)} <= set(clock)
    assert clock[0] == (0, 0) and clock[-1] == tuple(len(one["steps"]) for one in explanation.recordings)
    [picture] = shown(explanation.save_svg(tmp_path, 5, 5))
    assert {"FAST", "SBFAST"} <= set(picture)


def test_a_viewer_without_animation_shows_the_first_picture(tmp_path: Path) -> None:
    explanation = ssdlab.explain("why-gc")
    explanation.save_animation(tmp_path / "steps.svg")
    svg = ElementTree.parse(tmp_path / "steps.svg").getroot()
    for parent in svg.findall(f"{SVG}g"):
        if parent.get("visibility") == "hidden":
            svg.remove(parent)
    [first] = shown(explanation.save_svg(tmp_path, 0, 0))
    assert [text.text for text in svg.iter(f"{SVG}text")] == first


def test_the_command_writes_pictures(cli: Cli, tmp_path: Path) -> None:
    output = cli("explain", "why-gc", "--svg", "pictures", "--animate", "why.svg", "--from", 3, "--to", 5).stdout
    assert output == "3 pictures written to pictures\nwritten to why.svg: open it in a browser\n"
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.svg"))
    assert written == [*(f"pictures/step-000{at}.svg" for at in (3, 4, 5)), "why.svg"]
    assert not list(tmp_path.glob("*.html"))
    cli("explain", "why-gc", "--svg", "pictures", "--to", 0, "--out", "why.html")
    assert (tmp_path / "why.html").exists()


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--from", 2], "--from and --to select pictures; add --svg DIR or --animate FILE.svg"),
        (["--animate", "why.gif"], "--animate writes an SVG picture; use the name why.svg"),
        (["--svg", "pictures", "--to", 999], "step 999 does not exist; --to must be from 0 to "),
        (["--svg", "pictures", "--from", 9, "--to", 5], "step 5 does not exist; --to must be from 9 to "),
        (["--animate", "why.svg", "--from", 999], "step 999 does not exist; --from must be from 0 to "),
    ],
)
def test_impossible_pictures_are_refused(arguments: list[object], fault: str, cli: Cli, tmp_path: Path) -> None:
    done = cli("explain", "why-gc", *arguments, check=False)
    assert done.returncode == 2 and fault in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.rglob("*.svg"))


def test_too_many_pictures_are_refused_with_a_last_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(steps, "MOST_DRAWN", 100)
    explanation = ssdlab.explain("why-gc")  # 5 blocks of 4 pages
    with pytest.raises(ConfigError, match="10 steps of 20 flash pages are too many to draw; set --to 7"):
        explanation.save_svg(tmp_path, 3, 12)
    assert len(explanation.save_svg(tmp_path, 3, 7)) == 5
