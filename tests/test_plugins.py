"""Victim policies in Python: equal to the built-in policies, found by name, and each fault gives one clear error."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import Cli
from plugged import BY_HAND, DRIVE, WRITTEN, figures
from ssdlab.model.plugins import register_files
from ssdlab.plugin import VictimPolicy


class Greedy(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        return valid.argmin()


class Least(VictimPolicy):
    def choose(self, least_valid):  # type: ignore[no-untyped-def]
        return least_valid


class Fifo(VictimPolicy):
    def choose(self, oldest):  # type: ignore[no-untyped-def]
        return oldest


class CostBenefit(VictimPolicy):
    """Cost-benefit, as a formula over arrays."""

    def choose(self, valid, closed_at, now, pages_per_block):  # type: ignore[no-untyped-def]
        if valid.min() == 0:
            return valid.argmin()
        return ((pages_per_block - valid) * (now - closed_at + 1) / (2 * valid)).argmax()


@pytest.mark.parametrize(
    ("own", "built_in"), [(Greedy, "greedy"), (Least, "greedy"), (Fifo, "fifo"), (CostBenefit, "cost_benefit")]
)
@pytest.mark.parametrize("more", [{}, {"nand.planes": 2, "time": "event"}])
def test_a_policy_in_python_equals_the_built_in_one(
    own: type[VictimPolicy], built_in: str, more: dict[str, object]
) -> None:
    drive = {**DRIVE, **more}
    mine = ssdlab.simulate(drive, plugins=[own()])
    theirs = ssdlab.simulate({**drive, "ftl.page.gc": built_in})
    assert figures(mine) == figures(theirs)
    (use,) = mine.summary["plugins"]
    assert use["name"] == f"python:test_plugins.{own.__name__}" and use["setting"] == "ftl.page.gc"
    assert use["file"] == "test_plugins.py" and len(use["sha256"]) == 64
    assert use["decisions"] > 0 and 0 < mine.plugins[0].seconds < mine.plugins[0].run_seconds
    assert "plugins" not in theirs.summary and theirs.plugins == []


def run_with(cls: type[VictimPolicy], **settings: object) -> ssdlab.Result:
    return ssdlab.simulate({**DRIVE, **settings}, plugins=[cls])


class Raises(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        return valid[0] // 0 if isinstance(valid, list) else 1 // 0


class Nothing(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        pass


class Fraction(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        return float(valid.argmin())


class Beyond(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        return len(valid)


class Negative(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        return -1


class Open(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        return valid.argmax()


class Full(VictimPolicy):
    """Chooses the closed block with the most valid pages, which frees no page."""

    def choose(self, valid, pages_per_block):  # type: ignore[no-untyped-def]
        return (valid * (valid <= pages_per_block)).argmax()


class Endless(VictimPolicy):
    time_limit = 0.3

    def choose(self, valid):  # type: ignore[no-untyped-def]
        while True:
            pass


class Stubborn(VictimPolicy):
    time_limit = 0.3

    def choose(self, valid):  # type: ignore[no-untyped-def]
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)


class Unmade(VictimPolicy):
    def __init__(self) -> None:
        raise ValueError("no table")

    def choose(self, valid):  # type: ignore[no-untyped-def]
        return valid.argmin()


class Unready(VictimPolicy):
    time_limit = 0.3

    def __init__(self) -> None:
        while True:
            pass

    def choose(self, valid):  # type: ignore[no-untyped-def]
        return valid.argmin()


class Writes(VictimPolicy):
    def choose(self, valid):  # type: ignore[no-untyped-def]
        valid[0] = 0


def line_of(words: str, cls: type) -> int:
    """Number of the line of this file that contains the given words, in a class."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    first = lines.index(f"class {cls.__name__}(VictimPolicy):")
    return next(number for number, line in enumerate(lines[first:], first + 1) if words in line)


@pytest.mark.parametrize(
    ("cls", "words", "message"),
    [
        (Raises, "return", "Raises.choose raised ZeroDivisionError: integer division or modulo by zero"),
        (Writes, "valid[0] = 0", "Writes.choose raised ValueError: assignment destination is read-only"),
        (Nothing, "def choose", "Nothing.choose returned None, which is not the number of a block; return a whole"),
        (Fraction, "def choose", "Fraction.choose returned 24.0, which is not the number of a block; return a whole"),
        (Beyond, "def choose", "Beyond.choose returned 77, which is not the number of a block; return a whole number"),
        (Negative, "def choose", "Negative.choose returned -1, which is not the number of a block; return a whole"),
        (
            Open,
            "def choose",
            "Open.choose returned 76, a block that is not closed; return a closed block, which has valid",
        ),
        (
            Full,
            "def choose",
            "yet another block without an invalid page, so no page becomes free; return a block with an",
        ),
        (Endless, "p", "Endless.choose ran for more than 0.3 s; look for an endless loop, or raise"),
        (Stubborn, "t", "Stubborn.choose ran for more than 0.3 s; look for an endless loop, or raise"),
        (Unmade, "raise", "Unmade cannot be created: no table"),
        (Unready, "p", "Unready.__init__ ran for more than 0.3 s; look for an endless loop, or raise"),
    ],
)
def test_a_faulty_policy_ends_the_run_with_its_line(cls: type[VictimPolicy], words: str, message: str) -> None:
    with pytest.raises(ssdlab.SimulationError) as caught:
        run_with(cls)
    said = str(caught.value)
    assert message in said and "\n" not in said
    file, line, _ = said.split(":", 2)
    assert file.endswith("test_plugins.py")
    # The interrupt ends the loop at any line.
    assert cls in (Endless, Stubborn, Unready) or int(line) == line_of(words, cls), said


ENDLESS = """
from pathlib import Path
from ssdlab.plugin import VictimPolicy

class Loop(VictimPolicy):
    time_limit = 600

    def choose(self, valid):
        Path("begun").touch()
        while True:
            pass
"""


def test_ctrl_c_ends_a_loop(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ENDLESS)
    sets = [part for key, value in DRIVE.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "ssdlab", "run", *sets, "--set", "ftl.page.gc=python:mine.Loop"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130 and b"Traceback" not in said, said


class Chance(VictimPolicy):
    """Draws random blocks until a block is closed, and counts the draws."""

    def __init__(self) -> None:
        self.draws = 0

    def choose(self, valid, pages_per_block):  # type: ignore[no-untyped-def]
        while True:
            self.draws += 1
            block = self.rng.randrange(len(valid))
            if valid[block] <= pages_per_block:
                return block


class Apart(VictimPolicy):
    def __init__(self, distance: int, *, mode: object = "near") -> None:
        self.distance = distance

    def choose(self, valid):  # type: ignore[no-untyped-def]
        return valid.argmin()


@pytest.mark.parametrize(
    ("policy", "call"),
    [
        (Apart(4), "(4)"),
        (Apart(distance=4, mode="far"), "(distance=4, mode='far')"),
        (Apart(4, mode=(1, 2)), "(...)"),
        (Apart(4, mode=Path()), "(...)"),
        (Apart, ""),
    ],
)
def test_the_name_of_an_object_has_the_arguments_of_its_constructor(policy: VictimPolicy, call: str) -> None:
    if call:
        config = ssdlab.simulate(DRIVE, plugins=[policy]).config
        assert config["ftl.page.gc"] == f"python:test_plugins.Apart{call}"
    if call == "(4)":
        assert ssdlab.simulate(config).summary["plugins"][0]["decisions"] > 0
    elif call == "(...)":
        with pytest.raises(ssdlab.SimulationError, match="was passed as an object; pass it again with plugins="):
            ssdlab.simulate(config)
    elif not call:
        with pytest.raises(ssdlab.ConfigError, match="missing a required argument: 'distance'"):
            ssdlab.simulate(DRIVE, plugins=[policy])


def test_equal_runs_give_equal_results_and_leave_the_object_alone() -> None:
    policy = Chance()
    first, second = (ssdlab.simulate(DRIVE, plugins=[policy]) for _ in range(2))
    assert first.to_json() == second.to_json() and policy.draws == 0
    other = ssdlab.simulate({**DRIVE, "seed": 5}, plugins=[policy])
    assert figures(first) != figures(other)


class Sees(VictimPolicy):
    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def __deepcopy__(self, _memo: object) -> "Sees":
        return self

    def choose(self, valid, closed_at, erases, invalidated_at, valid_pages, least_valid, oldest, now, pages_per_block):  # type: ignore[no-untyped-def]
        self.seen.append([*(array.tolist() for array in (valid, closed_at, erases)), least_valid, oldest, now])
        self.seen.append([invalidated_at.tolist(), valid_pages.astype(int).tolist()])
        assert pages_per_block == 4 and valid_pages.dtype == bool
        return least_valid


def test_a_policy_sees_the_blocks_of_its_plane() -> None:
    """By hand: five blocks of four pages, one of them kept for collection.

    Before the 17th page, blocks 0 to 3 are full. Pages 0, 1 and 2 of block 0, pages 4 and 5 of block 1, page 0 of block
    2 and the first copies of 0 and 5 in block 3 are outdated. Block 0 goes: page 3 is copied to block 4. Pages 3, 6 and
    6 follow it; the copy and the first 6 are outdated at once, as is page 6 in block 1.

    The last pages of blocks 0 to 3 became outdated with the 11th, 14th, 13th and 16th page of the host, later a page of
    block 1 with the 18th, and one of block 4 with the 19th.
    """
    trace = ssdlab.Trace.from_columns(
        op=["write"] * len(WRITTEN), offset=[4096 * page for page in WRITTEN], bytes=[4096] * len(WRITTEN)
    )
    seen: list[Any] = []
    result = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=BY_HAND), trace, plugins=[Sees(seen)])
    outside = 2**31
    assert seen == [
        [[1, 2, 3, 2, outside], [4, 8, 12, 16, 0], [0, 0, 0, 0, 0], 0, 0, 16],
        [[11, 14, 13, 16, 0], [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]],
        [[outside, 1, 3, 2, 2], [4, 8, 12, 16, 19], [1, 0, 0, 0, 0], 1, 1, 19],
        [[11, 18, 13, 16, 19], [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]]],
    ]
    assert result.summary["plugins"][0]["decisions"] == 2
    assert result.summary["flash"]["programs"] == {"host": 20, "gc": 2}


MINE = """
from ssdlab.plugin import VictimPolicy

class Greedy(VictimPolicy):
    \"\"\"The block with the fewest valid pages.\"\"\"

    def choose(self, valid):
        return valid.argmin()

class Windowed(VictimPolicy):
    def __init__(self, window=8):
        print("hello")
        self.window = window

    def choose(self, valid, closed_at, pages_per_block):
        closed = (valid <= pages_per_block).nonzero()[0]
        oldest = closed[closed_at[closed].argsort(kind="stable")[: self.window]]
        return oldest[valid[oldest].argmin()]
"""

SETS = [word for key, value in DRIVE.items() for word in ("-s", f"{key}={value}")]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file of plug-ins, as the current directory."""
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_command_finds_a_class_by_its_name(mine: Path, cli: Cli) -> None:
    done = cli("run", *SETS, "-s", "ftl.page.gc=python:mine.Windowed(window=4)", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["configuration"]["ftl.page.gc"]["value"] == "python:mine.Windowed(window=4)"
    (use,) = found["result"].pop("plugins")
    assert use.pop("decisions") > 0
    assert use == {
        "setting": "ftl.page.gc",
        "name": "python:mine.Windowed(window=4)",
        "file": "mine.py",
        "sha256": hashlib.sha256(MINE.encode()).hexdigest(),
    }
    assert re.search(
        r"Windowed\(window=4\): [\d,]+ decisions, [\d.e+-]+ M decisions/s, \d+ % of the run time of [\d.]+ \w+\n",
        done.stderr,
    )
    built_in = ["-s", "ftl.page.gc.windowed_greedy.window=4"]
    theirs = json.loads(cli("run", *SETS, "-s", "ftl.page.gc=windowed_greedy", *built_in, "--json").stdout)
    assert found["result"] == theirs["result"]


def test_a_result_with_a_plugin_is_saved_and_loaded(mine: Path, cli: Cli) -> None:
    name = ["-s", "ftl.page.gc=python:mine.Greedy"]
    assert cli("run", *SETS, *name, "--out", "out").returncode == 0
    saved = (mine / "out" / "result.json").read_bytes()
    loaded = ssdlab.Result.load(mine / "out")
    assert loaded.summary["plugins"][0]["name"] == "python:mine.Greedy"
    loaded.save(mine / "again")
    assert (mine / "again" / "result.json").read_bytes() == saved
    # Another file with the same name is a different plug-in.
    (mine / "mine.py").write_text(MINE.replace("argmin", "argmax"), encoding="utf-8")
    assert "choose returned" in cli("run", *SETS, *name, check=False).stderr


def test_listed_files_appear_in_lists_and_messages(mine: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSDLAB_PLUGINS", str(mine / "mine.py"))
    assert re.search(r"python:mine.Greedy +The block with the fewest valid pages.\n", cli("list", "ftl.page.gc").stdout)
    assert "python:mine.Windowed" in cli("config", "schema").stdout
    assert "python:mine.Windowed" in cli("run", "-s", "ftl.page.gc=best", check=False).stderr


def test_a_policy_that_was_never_asked_is_noted(mine: Path) -> None:
    result = ssdlab.simulate(
        {**DRIVE, "ftl.page.gc": "python:mine.Greedy", "workload.requests": 10, "precondition.fill": "0%",
         "precondition.overwrite": "none"}
    )  # fmt: skip
    assert result.summary["plugins"][0]["decisions"] == 0
    notes = [note for note in result.envelope()["notes"] if "never called" in note]
    assert notes == ["python:mine.Greedy was never called: the run needed no decision from it"]


def test_workers_of_a_sweep_load_the_file(mine: Path) -> None:
    axis = {"ftl.page.gc": ["greedy", "python:mine.Greedy", "python:mine.Windowed(window=4)"]}
    study = ssdlab.sweep(axis, DRIVE, out=mine / "study")
    greedy, own, windowed = study.to_arrow()["write_amplification"].to_pylist()
    assert greedy == own != windowed


def test_a_sweep_refuses_an_object(tmp_path: Path) -> None:
    config = ssdlab.simulate({**DRIVE, "workload.requests": 10}, plugins=[_local()]).config
    with pytest.raises(ssdlab.ConfigError, match="worker processes cannot find this class; write it to a file"):
        ssdlab.sweep({"seed": [1, 2]}, config, out=tmp_path / "study")


def _local() -> type[VictimPolicy]:
    class Local(VictimPolicy):
        def choose(self, least_valid):  # type: ignore[no-untyped-def]
            return least_valid

    return Local


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "mine.Greed", "mine.py has no class Greed"),
        ("", "mind.Greedy", "mind.py is not in this directory; set SSDLAB_PLUGINS to the path of the file"),
        ("", "mine", "write FILE.CLASS after python:, such as python:mine.Oldest for the class Oldest in mine.py"),
        (
            "",
            "mine.Greedy(1)",
            "Greedy in mine.py: too many positional arguments; pass the arguments of its constructor",
        ),
        ("", "mine.Windowed(window=x)", "is not a class name, with or without literal arguments; write FILE.CLASS "),
        ("x = 1 +\n", "mine.Greedy", "mine.py:1: SyntaxError: invalid syntax"),
        (
            "import nothing_like_it\n",
            "mine.Greedy",
            "mine.py:1: ModuleNotFoundError: No module named 'nothing_like_it'",
        ),
        ("\n1 / 0\n", "mine.Greedy", "mine.py:2: ZeroDivisionError: division by zero"),
        (
            "class Greedy:\n    pass\n",
            "mine.Greedy",
            "Greedy in mine.py is not a plug-in; derive it from a class of",
        ),
        (
            MINE.replace("def choose(self, valid):", "def choice(self, valid):"),
            "mine.Greedy",
            "mine.py:4: Greedy has no method choose; define it",
        ),
        (
            MINE.replace("choose(self, valid)", "choose(self, vald)"),
            "mine.Greedy",
            "mine.py:7: Greedy.choose has the unknown argument vald; use only valid,",
        ),
    ],
)
def test_a_name_or_file_with_a_fault_is_one_line(mine: Path, text: str, name: str, message: str, cli: Cli) -> None:
    if text:
        (mine / "mine.py").write_text(text, encoding="utf-8")
    done = cli("run", *SETS, "-s", f"ftl.page.gc=python:{name}", check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"ssdlab: --set: python:{name}: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_file_that_never_ends_is_named(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdlab.model.plugins.LOADING_SECONDS", 0.3)
    (mine / "endless.py").write_text("\nwhile True:\n    pass\n", encoding="utf-8")
    monkeypatch.setenv("SSDLAB_PLUGINS", "endless.py")
    with pytest.raises(ssdlab.ConfigError) as caught:
        register_files()
    place, _, why = str(caught.value).partition(": the module's top-level code ")
    assert place in ("SSDLAB_PLUGINS: endless.py:2", "SSDLAB_PLUGINS: endless.py:3")
    assert why == "ran for more than 0.3 s; look for an endless loop"


def test_two_files_of_one_name_are_refused(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine / "other").mkdir()
    (mine / "other" / "mine.py").write_text(MINE, encoding="utf-8")
    monkeypatch.setenv("SSDLAB_PLUGINS", os.pathsep.join(["mine.py", "other/mine.py"]))
    with pytest.raises(ssdlab.ConfigError, match=r"^SSDLAB_PLUGINS: other/mine.py and mine.py have the same name; ren"):
        register_files()


def test_a_faulty_policy_is_one_line_of_a_command(mine: Path, cli: Cli) -> None:
    (mine / "mine.py").write_text(MINE.replace("valid.argmin()", "valid.min() // [1][1]"), encoding="utf-8")
    done = cli("run", *SETS, "-s", "ftl.page.gc=python:mine.Greedy", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ssdlab: mine.py:8: Greedy.choose raised IndexError: list index out of range\n"


def test_commands_without_plugin_support_say_so(mine: Path) -> None:
    config = {"device.capacity": "64MiB", "ftl.page.gc": "python:mine.Greedy"}
    with pytest.raises(ssdlab.ConfigError, match="plug-ins written in Python work in simulations only"):
        ssdlab.Drive(config)
    with pytest.raises(ssdlab.ConfigError, match="plugins: object is not a plug-in"):
        ssdlab.simulate(config, plugins=[object()])  # type: ignore[list-item]
    with pytest.raises(ssdlab.ConfigError, match=r"plugins: python:test_plugins\.Greedy sets ftl\.page\.gc, which"):
        ssdlab.simulate({**DRIVE, "ftl": "bast"}, plugins=[Greedy()])


class Unsaved(Chance):
    def choose(self, valid, pages_per_block):  # type: ignore[no-untyped-def]
        self.first = lambda: 0
        return super().choose(valid, pages_per_block)  # type: ignore[no-untyped-call]


class OwnBytes(Chance):
    """Saves its number of draws, but not the state of its random numbers."""

    def save(self) -> bytes:
        return b"%d" % self.draws

    def load(self, state: bytes) -> None:
        self.draws = int(state)
        assert self.draws > 0


class Unloaded(OwnBytes):
    def load(self, state: bytes) -> None:
        raise ValueError("damaged")


class EndlessSave(Chance):
    time_limit = 0.3

    def save(self) -> bytes:
        while True:
            pass


class LeastRecent(VictimPolicy):
    """Chooses the closed block whose latest invalidation is the oldest, among blocks with an outdated page."""

    def choose(self, valid, invalidated_at, pages_per_block):  # type: ignore[no-untyped-def]
        return (invalidated_at + (valid >= pages_per_block) * 2**40).argmin()


@pytest.mark.parametrize("cls", [Chance, LeastRecent])
def test_a_policy_is_saved_with_its_drive(cls: type[VictimPolicy], tmp_path: Path) -> None:
    """Two halves of a workload together wear the blocks as the whole does, because the policy keeps its saved state.

    By hand: 2,048 sequential pages are the drive's 1,024 pages twice, so that the second half begins like the first.
    """
    path, config = tmp_path / "a.drive", {**DRIVE, "time": "count", "workload.pattern": "sequential"}
    whole = ssdlab.simulate({**config, "workload.requests": 4096}, plugins=[cls])
    half = {**config, "workload.requests": 2048}
    first = ssdlab.simulate(half, plugins=[cls], save_state=path)
    second = ssdlab.simulate(half, plugins=[cls], state=path)
    assert (first.erase_counts + second.erase_counts).tolist() == whole.erase_counts.tolist()


def test_a_policy_may_save_its_own_bytes(tmp_path: Path) -> None:
    for given in ("save_state", "state"):
        ssdlab.simulate(DRIVE, plugins=[OwnBytes], **{given: tmp_path / "a.drive"})  # type: ignore[arg-type]


def test_a_policy_that_cannot_be_saved_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.drive"
    with pytest.raises(ssdlab.SsdlabError, match=r"Unsaved.save raised .*; define save and load in Unsaved$"):
        ssdlab.simulate(DRIVE, plugins=[Unsaved], save_state=path)
    with pytest.raises(ssdlab.SsdlabError, match=r"EndlessSave\.save ran for more than 0\.3 s"):
        ssdlab.simulate(DRIVE, plugins=[EndlessSave], save_state=path)
    assert not path.exists()
    ssdlab.simulate(DRIVE, plugins=[Unloaded], save_state=path)
    with pytest.raises(ssdlab.SsdlabError, match=r"Unloaded\.load raised ValueError: damaged; define save and load in"):
        ssdlab.simulate(DRIVE, plugins=[Unloaded], state=path)


def test_a_changed_file_is_loaded_again(mine: Path) -> None:
    config = {**DRIVE, "ftl.page.gc": "python:mine.Greedy"}
    first = ssdlab.simulate(config)
    (mine / "mine.py").write_text(
        MINE.replace("return valid.argmin()", "return least_valid").replace(
            "choose(self, valid)", "choose(self, least_valid)"
        ),
        encoding="utf-8",
    )
    second = ssdlab.simulate(config)
    assert figures(first) == figures(second)
    assert first.summary["plugins"][0]["sha256"] != second.summary["plugins"][0]["sha256"]
