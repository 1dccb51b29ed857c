"""Components in Rust: new crates of every kind, faults in crates, and extensions with crates compiled in."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import jsonschema
import pytest

import ssdlab
from conftest import ROOT, SMALL
from ssdlab import _ssdlab
from ssdlab.cli.new import Kind
from ssdlab.model.extension.build import EXTENSION, FILE, build
from ssdlab.model.extension.new import KINDS, TEMPLATES, create
from ssdlab.model.extension.sources import SOURCE
from ssdlab.model.extension.wheel import write
from tiers import TIER

SCHEMA = json.loads((ROOT / "docs" / "output.schema.json").read_text(encoding="utf-8"))
PLUGIN = ("mine", "0.1.0", "0" * 64)

COPY = """
//! Greedy, once more.
use ssdlab::victim::{PlaneView, VictimInfo, VictimPolicy};
use ssdlab::{Archive, Archived, BlockId, NameTaken};

pub fn register() -> Result<(), NameTaken> {
    ssdlab::victim::register(&COPY)
}

static COPY: VictimInfo =
    VictimInfo { name: "NAME", help: "Greedy.", source: "", parameters: &[], role: &|_, _| Box::new(Copy) };

struct Copy;

impl VictimPolicy for Copy {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.least_valid()
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which becomes the current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workspace(directory: Path) -> None:
    """Creates a workspace with one crate of every kind, with the dependencies of ssdlab."""
    members = [create(kind, f"my_{kind.replace('-', '_')}") for kind in KINDS]
    for member in members:
        manifest = member / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace("[workspace]\n", "").partition("[profile.dev]")[0])
    (directory / "Cargo.toml").write_text(
        f'[workspace]\nresolver = "3"\nmembers = {json.dumps([str(member) for member in members])}\n'
        "[profile.dev]\nopt-level = 1\ndebug = false\n",
        encoding="utf-8",
    )
    shutil.copyfile(ROOT / "Cargo.lock", directory / "Cargo.lock")


def cargo(*arguments: str) -> str:
    done = subprocess.run(["cargo", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_every_kind_has_a_template() -> None:
    assert [*KINDS] == [*Kind.__args__]  # type: ignore[attr-defined]
    assert {path.stem.replace("_", "-") for path in TEMPLATES.glob("*.rs")} == {*KINDS, "main"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_crate_has_its_name_everywhere(kind: str, here: Path) -> None:
    crate = create(kind, "my_own")
    code, readme = (crate / "src/lib.rs").read_text(), (crate / "README.md").read_text()
    template = (TEMPLATES / f"{kind.replace('-', '_')}.rs").read_text()
    assert code == template.replace("mine", "my_own").replace("Mine", "MyOwn").replace("MINE", "MY_OWN")
    assert tomllib.loads((crate / "Cargo.toml").read_text())["package"]["name"] == "my_own"
    assert readme.count("```sh\n") == 3 and "@" not in readme and "mine" not in readme
    assert (crate / "src/main.rs").exists()


def test_new_crates_resolve_with_the_dependencies_of_ssdlab(here: Path) -> None:
    workspace(here)
    packages = json.loads(cargo("metadata", "--offline", "--format-version", "1"))["packages"]
    named = {package["name"] for package in packages if Path(package["manifest_path"]).is_relative_to(here)}
    assert named == {f"my_{kind.replace('-', '_')}" for kind in KINDS}


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("victim", "Mine", "'Mine' is not a crate name; use lower-case letters, digits and _, such as my_component"),
        ("victim", "match", "'match' is not a crate name; use lower-case letters, digits and _, such as my_component"),
        ("victim", "../mine", "'../mine' is not a crate name; use lower-case letters, digits and _, such as my_comp"),
        ("victim", "plane", "the template already uses the name plane; choose another name, such as my_plane"),
        ("victim", "greedy", "ftl.page.gc has a built-in greedy; choose another name, such as my_greedy"),
        ("ftl", "taken", "taken already exists; choose another name, or remove the directory"),
    ],
)
def test_a_bad_name_is_refused(kind: str, name: str, message: str, here: Path) -> None:
    (here / "taken").mkdir()
    with pytest.raises(ssdlab.ConfigError) as error:
        create(kind, name)
    assert str(error.value).startswith(message) and len(str(error.value).splitlines()) == 1
    assert [*here.iterdir()] == [here / "taken"]


def refused(*directories: str) -> str:
    with pytest.raises(ssdlab.ConfigError) as error:
        build([Path(directory) for directory in directories])
    return str(error.value)


def test_a_crate_that_does_not_fit_is_named(here: Path) -> None:
    crate = create("victim", "mine")
    manifest = crate / "Cargo.toml"
    written = manifest.read_text()
    file = str(here / "mine" / "Cargo.toml")
    assert refused("other") == (
        f"{here}/other/Cargo.toml: does not exist; pass a crate directory, such as one created by 'ssdlab new'"
    )
    shutil.copytree(crate, "other")
    assert refused("mine", "other") == f"{here}/other/Cargo.toml: {file} is also named mine; rename one"
    manifest.write_text(written.replace('version = "0.2" }', 'version = "0.3" }'))
    assert refused("mine") == (
        f'{file}: depends on ssdlab 0.3, but 0.2.0 is installed; set the version to "0.2" and adapt the crate'
    )
    ours = f'ssdlab = {{ path = "{ROOT}/crates/ssdlab" }}'
    manifest.write_text(written.replace(str(ROOT / "crates/ssdlab"), str(here / "elsewhere")))
    assert refused("mine") == (
        f"{file}: failed to read `{here}/elsewhere/Cargo.toml`: "
        "No such file or directory (os error 2); correct the file"
    )
    (here / "elsewhere" / "src").mkdir(parents=True)
    (here / "elsewhere" / "src/lib.rs").touch()
    (here / "elsewhere" / "Cargo.toml").write_text('[package]\nname = "ssdlab"\nversion = "0.1.0"\n')
    assert refused("mine") == f"{file}: depends on ssdlab from {here}/elsewhere; replace the dependency with {ours}"
    of_git = 'ssdlab = { git = "https://example.org/ssdlab" }'
    manifest.write_text(f"{written.partition('[dependencies]')[0]}[dependencies]\n{of_git}\n")
    assert (
        refused("mine")
        == f"{file}: depends on ssdlab from git+https://example.org/ssdlab; replace the dependency with {ours}"
    )
    manifest.write_text(written.partition("[dependencies]")[0])
    assert refused("mine") == f"{file}: does not depend on ssdlab; add {ours} to its dependencies"
    manifest.write_text(written.replace('edition = "2024"', 'edition = "2024'))
    assert refused("mine") == f'{file}: line 4: invalid basic string, expected `"`; correct the file'
    manifest.write_text(written)
    (crate / "src/lib.rs").unlink()
    assert refused("mine") == (
        f"{file}: has no library; add src/lib.rs with pub fn register() -> Result<(), ssdlab::NameTaken>"
    )


def test_the_sources_must_be_there_and_of_this_version(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    what = "a clone of ssdlab or its unpacked source distribution"
    monkeypatch.setenv(SOURCE, "nowhere")
    with pytest.raises(
        ssdlab.ConfigError, match=f"^{SOURCE}: nowhere does not contain the ssdlab sources; set it to {what}$"
    ):
        create("victim", "mine")
    (here / "crates/ssdlab").mkdir(parents=True)
    (here / "Cargo.toml").write_text('[workspace.package]\nversion = "9.9.9"\n')
    monkeypatch.setenv(SOURCE, str(here))
    with pytest.raises(ssdlab.ConfigError, match=r"is ssdlab 9\.9\.9, but 0\.2\.0 is installed; set SSDLAB_SOURCE"):
        create("victim", "mine")


def test_a_custom_extension_replaces_the_built_in_one(here: Path) -> None:
    (here / FILE).symlink_to(_ssdlab.__file__)
    code = [sys.executable, "-c", "import ssdlab; print(ssdlab._ssdlab.__file__)"]
    done = subprocess.run(code, env={**os.environ, EXTENSION: str(here)}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{here / FILE}\n"


def test_results_name_the_crates_that_were_compiled_in(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=SMALL))
    assert _ssdlab.PLUGINS == [] and "plugins" not in without.envelope()
    without.save("without")
    monkeypatch.setattr(_ssdlab, "PLUGINS", [PLUGIN])
    envelope = json.loads(without.to_json())
    assert envelope["plugins"] == [{"name": "mine", "version": "0.1.0", "sha256": "0" * 64}]
    jsonschema.validate(envelope, SCHEMA)
    without.save("with")
    # A loaded result keeps the crates of its run.
    assert "plugins" not in ssdlab.Result.load("without").envelope()
    monkeypatch.setattr(_ssdlab, "PLUGINS", [])
    assert ssdlab.Result.load("with").envelope()["plugins"] == envelope["plugins"]
    ssdlab.Result.load("with").save("again")
    assert Path("again/result.json").read_bytes() == Path("with/result.json").read_bytes()


@pytest.mark.skipif(TIER != "deep", reason="compiles ssdlab once more")
def test_new_crates_pass_their_tests(here: Path) -> None:
    workspace(here)
    cargo("test", "--offline", "--quiet", "--target-dir", str(ROOT / "target"))


@pytest.mark.skipif(TIER != "deep", reason="compiles ssdlab once more")
def test_a_compiled_in_copy_gives_equal_bytes(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    crate = create("victim", "mine")
    (crate / "src/lib.rs").write_text(COPY.replace("NAME", "mine"))
    built = build([crate])
    when = (built.directory / FILE).stat().st_mtime_ns
    assert build([crate]) == built and (built.directory / FILE).stat().st_mtime_ns == when

    def result(command: Path | str, policy: str) -> dict[str, object]:
        sets = [f"--set={key}={value}" for key, value in {**SMALL, "ftl.page.gc": policy}.items()]
        done = subprocess.run(
            [command, "run", "--json", "--preset", "tlc-chip", *sets], capture_output=True, text=True, check=True
        )
        return dict(json.loads(done.stdout))

    with_mine, built_in = result(built.command, "mine"), result(Path(sys.executable).with_name("ssdlab"), "greedy")
    assert with_mine.pop("plugins") == [{"name": "mine", "version": "0.1.0", "sha256": built.plugins[0].sha256}]
    assert json.dumps(with_mine["result"]) == json.dumps(built_in["result"])
    # With plug-ins, results of built-in components are the same.
    assert json.dumps(result(built.command, "greedy")["result"]) == json.dumps(built_in["result"])

    wheel = write(built, here / "dist")
    assert wheel.name.startswith(f"ssdlab-{version('ssdlab')}+mine-") and f"ssdlab/{FILE}" in ZipFile(wheel).namelist()

    # A crate as it is on crates.io is compiled with the same sources.
    manifest = crate / "Cargo.toml"
    written = manifest.read_text()
    manifest.write_text(written.partition("[dependencies]")[0] + '[dependencies]\nssdlab = "0.2"\n')
    assert json.dumps(result(build([crate]).command, "mine")["result"]) == json.dumps(built_in["result"])
    manifest.write_text(written)

    # A run that a component ends names its file.
    def failed(choice: str) -> str:
        (crate / "src/lib.rs").write_text(COPY.replace("NAME", "mine").replace("plane.least_valid()", choice))
        sets = [f"--set={key}={value}" for key, value in {**SMALL, "ftl.page.gc": "mine"}.items()]
        command: list[str | Path] = [build([crate]).command, "run", "--preset", "tlc-chip", *sets]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert f"{crate.resolve()}/src/lib.rs:17:9: no idea\n" in failed('panic!("no idea")')
    said = failed("plane.blocks().map(BlockId).find(|&block| !plane.is_closed(block))")
    assert "victim policy mine returned block " in said and f"({crate.resolve()}/Cargo.toml)" in said
    (crate / "src/lib.rs").write_text(COPY.replace("NAME", "mine"))

    # The name of a built-in component is found when the extension is loaded.
    (crate / "src/lib.rs").write_text(COPY.replace("NAME", "greedy"))
    assert (
        refused("mine")
        == f"{crate.resolve()}/Cargo.toml: another victim policy has the name `greedy`; choose a different name"
    )
    capfd.readouterr()
    (crate / "src/lib.rs").write_text(COPY.replace("least_valid", "least"))
    assert refused("mine") == f"{crate.resolve()}/Cargo.toml: does not compile; see the compiler's message above"
    assert "no method named `least`" in capfd.readouterr().err
    (crate / "src/lib.rs").write_text(COPY.replace("register() ->", "begin() ->"))
    assert "each crate needs pub fn register()" in refused("mine")
