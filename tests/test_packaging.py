"""Help, man pages, completions and versions as users install them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import check_wheels
import licences
import share
import ssdlab
from conftest import ROOT

COMMANDS = {context.command_path: (command, context) for command, context in share.commands()}


def test_all_commands_are_found() -> None:
    assert len(COMMANDS) > 30 and {"ssdlab", "ssdlab run", "ssdlab cache plan", "ssdlab trace analyze"} <= set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_help_fits_80_columns_and_names_kinds_of_values(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command, context = COMMANDS[path]
    help = command.get_help(context)
    assert [line for line in help.splitlines() if len(line) > 80] == []
    assert "[bold" not in help and command.help
    # The placeholder of an option's value is a word, such as INTEGER, SIZE or PATH, not N.
    values = [param for param in command.params if param.param_type_name == "option" and not param.is_flag]
    assert [value.name for value in values if value.metavar is None or len(value.metavar) < 3] == []


def test_every_command_has_a_man_page_with_its_options() -> None:
    files = share.files()
    for path, (command, context) in COMMANDS.items():
        page = files[f"man/man1/{path.replace(' ', '-')}.1"]
        for parameter in command.get_params(context):
            for name in parameter.opts if parameter.param_type_name == "option" else []:
                assert name.replace("-", "\\-") in page, (path, name)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_pages_are_valid() -> None:
    for name, text in share.files().items():
        if name.endswith(".1"):
            command = ["groff", "-man", "-Tutf8", "-ww", "-z"]
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, ""), name


@pytest.mark.parametrize(
    ("words", "completed"),
    [("c", "calibrate"), ("cache p", "plan"), ("run --pre", "--preset"), ("run --preset tl", "tlc-nvme")],
)
def test_completions_follow_the_declarations(words: str, completed: str) -> None:
    assert "_SSDLAB_COMPLETE=bash_complete" in share.files()["bash-completion/completions/ssdlab"]
    code = "import sys; sys.argv = ['ssdlab']; from ssdlab.cli import main; main()"
    environment = {
        **os.environ,
        "_SSDLAB_COMPLETE": "bash_complete",
        "COMP_WORDS": f"ssdlab {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert f"plain,{completed}" in done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["run", "--set", "ftl", "=", "fas"], ["plain,fast", "plain,faster"]),
        (["run", "--set", "ftl", "="], ["plain,page", "plain,bast", "plain,fast", "plain,faster", "plain,sbfast"]),
        (["run", "--set", "=", "nand.era"], ["plain,nand.erase="]),
        (["run", "--preset", "=", "tlc-n"], ["plain,tlc-nvme"]),
        (["run", "--set", "ftl=fas"], ["plain,fast", "plain,faster"]),
        (["run", "--set", "ftl", "=", "fast", "--al"], ["plain,--all"]),
        (["run", "--figures", "sv"], ["plain,svg"]),
        (["run", "-p", "a", "-p", "b", "--al"], ["plain,--all"]),
        (["explain", "fast-th"], ["plain,fast-thrashing"]),
    ],
)
def test_bash_splits_words_at_equals_signs(words: list[str], completed: list[str]) -> None:
    asked = {"_SSDLAB_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["ssdlab", *words]), "COMP_CWORD": len(words)}
    environment = {**os.environ, **{name: str(value) for name, value in asked.items()}}
    command = [sys.executable, "-m", "ssdlab"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == completed, done.stderr


def test_one_version_everywhere() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", ssdlab.__version__)
    assert f"\nversion: {ssdlab.__version__}\n" in Path(ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {ssdlab.__version__}\n" in Path(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_one_address_everywhere() -> None:
    address = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["repository"]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert all(url.startswith(address) for url in urls.values())
    for file in ("CITATION.cff", "README.md", "packaging/pypi.md"):
        assert address in (ROOT / file).read_text(encoding="utf-8"), file


def test_licences_of_all_crates_in_the_extension_are_listed() -> None:
    assert (ROOT / "THIRD-PARTY.txt").read_text(encoding="utf-8") == licences.document(), "run 'make licences'"


def test_a_faulty_wheel_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "ssdlab-0.2.0-cp311-abi3-manylinux_2_17_aarch64.whl"
    machine = bytes(18) + (62).to_bytes(2, "little")
    with ZipFile(wheel, "w") as archive:
        archive.writestr("ssdlab/_ssdlab.abi3.so", machine)
        for part in check_wheels.PARTS[1:]:
            archive.writestr(part, "")
        for file in ("LICENSE", "python/ssdlab/view/explore/echarts.LICENSE"):
            archive.writestr(f"ssdlab-0.2.0.dist-info/licenses/{file}", "")
    assert check_wheels.faults(wheel) == [
        "no ssdlab/py.typed", "no THIRD-PARTY.txt", "the extension is for another machine than the name says"
    ]  # fmt: skip


def test_every_document_is_on_the_site() -> None:
    listed = set((ROOT / "packaging" / "site" / "index.md").read_text(encoding="utf-8").splitlines())
    documents = {f"/{path.relative_to(ROOT).with_suffix('')}" for path in (ROOT / "docs").rglob("*.md")}
    assert documents - listed == set()
