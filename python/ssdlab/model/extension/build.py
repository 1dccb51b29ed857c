"""Builds extensions: the compiled part of ssdlab, linked with crates of components (plug-ins).

A generated crate calls the function `register` of each plug-in, and adds ssdlab's own contents to the Python module of
the extension (`crates/py/src/compiled.rs`). A separate command starts ssdlab with the extension. The cache directory
holds an extension and a command for each set of plug-ins; they are built again when a source file has changed.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model import kept
from ssdlab.model.extension.sources import library, root
from ssdlab.model.files import locked

EXTENSION = "SSDLAB_EXTENSION"
"""Environment variable for the directory of the extension to load; `ssdlab/__init__.py` reads it."""

FILE = "_ssdlab.abi3.so"
COMMAND = "ssdlab"
REGISTER = "pub fn register() -> Result<(), ssdlab::NameTaken>"

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
"""Name that cargo gives to crates.io, the default source of dependencies."""

_FAILED = re.compile(r"could not compile `([^`]+)`")


class Plugin(NamedTuple):
    """A plug-in: a Rust crate that contains components."""

    manifest: Path
    """Path of the Cargo.toml."""
    name: str
    version: str
    sha256: str
    """SHA-256 of Cargo.toml, build.rs and all files below src."""
    published: bool
    """True if the crate specifies its dependency on ssdlab only by version, like crates on crates.io."""

    @property
    def library(self) -> str:
        """Name of the crate in Rust."""
        return self.name.replace("-", "_")


class Built(NamedTuple):
    """A built extension: the directory that holds it and its command, and the plug-ins that it contains."""

    directory: Path
    plugins: Sequence[Plugin]

    @property
    def command(self) -> Path:
        """Path of the command."""
        return self.directory / COMMAND


def build(directories: Iterable[Path]) -> Built:
    """Builds the extension with the plug-ins in the given directories, unless it is cached."""
    source = root()
    plugins = [_plugin(directory, source) for directory in dict.fromkeys(map(Path.resolve, directories))]
    names: dict[str, Plugin] = {}
    for plugin in plugins:
        other = names.setdefault(plugin.library, plugin)
        if other is not plugin:
            raise ConfigError(
                f"{text.path(plugin.manifest)}: {text.path(other.manifest)} is also named {other.name}; rename one"
            )
    cache = kept.directory()
    if cache is None:
        raise ConfigError(
            f"{kept.DIRECTORY} is empty, but building needs a directory; unset the variable, or set it to a directory"
        )
    places = json.dumps([str(source), sys.executable, *(str(plugin.manifest) for plugin in plugins)])
    extensions = cache / "extensions"
    built = Built(extensions / hashlib.sha256(places.encode()).hexdigest()[:16], plugins)
    key = json.dumps([_identity(source), *(plugin.sha256 for plugin in plugins)])
    extensions.mkdir(parents=True, exist_ok=True)
    # One process builds at a time.
    with locked(extensions / "lock", os.O_RDWR | os.O_CREAT, wait=True):
        stamp = built.directory / "key"
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != key:
            _install(built.directory, plugins, _compiled(source, extensions / "crate", plugins))
            _check(built)
            stamp.write_text(key, encoding="utf-8")
    return built


def copy(built: Built, directory: Path) -> Built:
    """Copies an extension and its command to another directory."""
    _install(directory, built.plugins, built.directory / FILE)
    return built._replace(directory=directory)


def _plugin(directory: Path, source: Path) -> Plugin:
    """Returns the plug-in in a directory, after checking that it fits this version."""
    manifest = directory / "Cargo.toml"
    shown = text.path(manifest)
    if not manifest.is_file():
        raise ConfigError(f"{shown}: does not exist; pass a crate directory, such as one created by 'ssdlab new'")
    if shutil.which("cargo") is None:
        raise ConfigError("compiling plug-ins needs cargo, which is not installed; get Rust from https://rustup.rs")
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", str(manifest)]
    done = subprocess.run(metadata, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"{shown}: {_first_error(done.stderr)}; correct the file")
    packages = json.loads(done.stdout)["packages"]
    package = next((package for package in packages if Path(package["manifest_path"]) == manifest), None)
    if package is None:
        raise ConfigError(f"{shown}: is a workspace without a package; pass the directory of a crate in it")
    if not any("lib" in target["kind"] for target in package["targets"]):
        raise ConfigError(f"{shown}: has no library; add src/lib.rs with {REGISTER}")
    published = _checked_dependency(shown, package["dependencies"], source)
    return Plugin(manifest, package["name"], package["version"], _sha256(directory, _sources(directory)), published)


def _checked_dependency(shown: str, dependencies: Sequence[Mapping[str, Any]], source: Path) -> bool:
    """Checks that a plug-in depends on this version of the crate `ssdlab`, because its components are not registered in
    another copy. Returns true if the dependency is from crates.io, not from the directory `source`.
    """
    used = [one for one in dependencies if one["name"] == "ssdlab" and one["kind"] is None]
    ours = library(source)
    line = f"ssdlab = {{ path = {json.dumps(str(ours))} }}"
    if not used:
        raise ConfigError(f"{shown}: does not depend on ssdlab; add {line} to its dependencies")
    version = re.fullmatch(r"\^?(\d+)\.(\d+).*", used[0]["req"])
    major, minor = _ssdlab.__version__.split(".")[:2]
    if version and (version[1] != major or (major == "0" and version[2] != minor)):
        raise ConfigError(
            f"{shown}: depends on ssdlab {used[0]['req'].removeprefix('^')}, but {_ssdlab.__version__} is installed; "
            f'set the version to "{major}.{minor}" and adapt the crate'
        )
    place = used[0].get("path") or used[0]["source"]
    if place == CRATES_IO:
        return True
    if Path(place).resolve() != ours.resolve():
        raise ConfigError(f"{shown}: depends on ssdlab from {place}; replace the dependency with {line}")
    return False


def _sources(directory: Path) -> Iterator[Path]:
    """Yields the files of a crate that affect the compiled code."""
    for name in ("Cargo.toml", "build.rs"):
        if (directory / name).is_file():
            yield directory / name
    yield from sorted(path for path in (directory / "src").rglob("*") if path.is_file())


def _sha256(directory: Path, files: Iterable[Path]) -> str:
    """Returns a checksum of the names and contents of files."""
    digest = hashlib.sha256()
    for path in files:
        contents = path.read_bytes()
        digest.update(f"{path.relative_to(directory)}\n{len(contents)}\n".encode() + contents)
    return digest.hexdigest()


def _identity(source: Path) -> str:
    """Returns a checksum of the Rust sources of ssdlab."""
    crates = (path for path in (source / "crates").rglob("*") if path.suffix in (".rs", ".toml"))
    # In a clone, this directory is a symbolic link, which rglob does not follow.
    presets = (source / "crates" / "lab" / "config" / "presets").glob("*.toml")
    return _sha256(source, sorted({source / "Cargo.toml", source / "Cargo.lock", *crates, *presets}))


def _compiled(source: Path, crate: Path, plugins: Sequence[Plugin]) -> Path:
    """Compiles the generated crate, and returns the path of its library."""
    profiles = (source / "Cargo.toml").read_text(encoding="utf-8").partition("[profile.release]\n")[2]
    dependencies = "".join(
        f"{json.dumps(plugin.name)} = {{ path = {json.dumps(str(plugin.manifest.parent))} }}\n" for plugin in plugins
    )
    ours = json.dumps(str(library(source)))
    patch = f"[patch.crates-io]\nssdlab = {{ path = {ours} }}\n" if any(one.published for one in plugins) else ""
    crate.mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").write_text(
        f"""# Written by 'ssdlab build'.
[package]
name = "ssdlab-extension"
version = "0.0.0"
edition = "2024"

[workspace]

[lib]
crate-type = ["cdylib"]
path = "lib.rs"

[dependencies]
ssdlab_py = {{ package = "ssdlab-py", path = {json.dumps(str(source / "crates/py"))}, default-features = false }}
{dependencies}
{patch}
[profile.release]
{profiles}""",
        encoding="utf-8",
    )
    rows = "".join(
        f"        Plugin {{ name: {json.dumps(plugin.name)}, version: {json.dumps(plugin.version)}, "
        f"sha256: {json.dumps(plugin.sha256)}, manifest: {json.dumps(str(plugin.manifest), ensure_ascii=False)}, "
        f"register: {plugin.library}::register }},\n"
        for plugin in plugins
    )
    (crate / "lib.rs").write_text(
        f"""// Written by 'ssdlab build'.
use ssdlab_py::compiled::{{Plugin, fill}};
use ssdlab_py::pyo3;
use pyo3::prelude::*;

#[pymodule]
#[pyo3(name = "_ssdlab", crate = "ssdlab_py::pyo3")]
fn extension(module: &Bound<'_, PyModule>) -> PyResult<()> {{
    fill(module, &[
{rows}    ])
}}
""",
        encoding="utf-8",
    )
    # The lock file makes the build use the dependency versions that ssdlab is tested with.
    shutil.copyfile(source / "Cargo.lock", crate / "Cargo.lock")
    target = Path(os.environ.get("CARGO_TARGET_DIR", source / "target"))
    mac = sys.platform == "darwin"
    # On macOS, the linker must leave Python's functions undefined; they are resolved when a program loads the
    # extension.
    linking = ["-C", "link-arg=-undefined", "-C", "link-arg=dynamic_lookup"] if mac else []
    places = ["--manifest-path", str(crate / "Cargo.toml"), "--target-dir", str(target)]
    _compile(["rustc", "--release", "--lib", *places, "--", "-C", "strip=symbols", *linking], plugins)
    return target / "release" / f"libssdlab_extension.{'dylib' if mac else 'so'}"


def _compile(arguments: Sequence[str], plugins: Sequence[Plugin]) -> None:
    """Runs cargo and shows its messages. The error for a crate that does not build names its file."""
    colour = "always" if sys.stderr.isatty() else "never"
    # The extension works with any Python from 3.11 on, so the build needs no Python interpreter.
    environment = {**os.environ, "PYO3_NO_PYTHON": "1", "CARGO_TERM_COLOR": colour}
    failed, error = set(), ""
    with subprocess.Popen(["cargo", *arguments], text=True, stderr=subprocess.PIPE, env=environment) as cargo:
        for line in cargo.stderr or ():
            print(line, end="", file=sys.stderr, flush=True)
            failed.update(_FAILED.findall(line))
            error = error or (line if "error" in line else "")
    if cargo.returncode == 0:
        return
    blamed = [text.path(plugin.manifest) for plugin in plugins if plugin.name in failed]
    if blamed:
        raise ConfigError(f"{blamed[0]}: does not compile; see the compiler's message above")
    names = ", ".join(text.path(plugin.manifest) for plugin in plugins)
    if "ssdlab-extension" in failed:
        raise ConfigError(f"{names}: cannot be linked; each crate needs {REGISTER}; see the compiler's message above")
    raise ConfigError(f"{names}: cargo failed; see its message above")


def _install(directory: Path, plugins: Sequence[Plugin], extension: Path) -> None:
    """Installs an extension, and a command that uses it, in a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    names = ", ".join(f"{plugin.name} {plugin.version}" for plugin in plugins)
    command = (
        f"#!/bin/sh\n# ssdlab with {names}; written by 'ssdlab build'.\n"
        f"export {EXTENSION}={shlex.quote(str(directory.absolute()))}\n"
        f'exec {shlex.quote(sys.executable)} -m ssdlab "$@"\n'
    )
    # Files are replaced instead of overwritten, because running programs may still use the old files.
    for name in (FILE, COMMAND):
        part = directory / f"{name}.part"
        if name == FILE:
            shutil.copyfile(extension, part)
        else:
            part.write_text(command, encoding="utf-8")
        part.chmod(0o755)
        part.replace(directory / name)


def _check(built: Built) -> None:
    """Loads the built extension, because faults such as duplicate component names appear only then."""
    environment = {**os.environ, EXTENSION: str(built.directory)}
    code = [sys.executable, "-c", "import ssdlab._ssdlab"]
    done = subprocess.run(code, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        kind, _, message = (done.stderr.strip().splitlines() or [""])[-1].partition(": ")
        raise ConfigError(message or f"the extension cannot be loaded: {kind}")


def _first_error(messages: str) -> str:
    """Returns the causes that cargo lists, or else its first line with the line number of the error, if known."""
    causes = re.findall(r"^Caused by:\n\s*(.*)$", messages, re.MULTILINE)
    place = re.search(r"^ *--> .*?:(\d+):", messages, re.MULTILINE)
    first = (messages.strip().splitlines() or ["cargo cannot read this file"])[0].removeprefix("error: ")
    return ": ".join(causes) or f"{f'line {place[1]}: ' if place else ''}{first}"
