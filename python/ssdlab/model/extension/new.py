"""Creates plug-in crates, each with a working component, a test, and a README that lists the commands to run next."""

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.extension.sources import library, root

TEMPLATES = Path(__file__).parent / "templates"

DRIVE = "--preset tlc-chip --workload zipf -s device.capacity=256MiB -s workload.requests=210000"
MIXED = "--preset small-tlc --workload zipf -s workload.reads=50%"


class Kind(NamedTuple):
    """A type of component for which a crate can be generated."""

    about: str
    """Name of this type of component with an indefinite article, such as `a victim policy`."""
    use: str
    """Arguments of an `ssdlab` command that compares the component with built-in components."""
    setting: str = ""
    """Setting that chooses the component."""


KINDS = {
    "victim": Kind("a victim policy", f"sweep {DRIVE} -A ftl.page.gc=greedy,mine,fifo", "ftl.page.gc"),
    "placement": Kind("a placement policy", f"sweep {DRIVE} -A ftl.page.survivors=own,mine", "ftl.page.survivors"),
    "map": Kind("a map in flash", f"sweep {DRIVE} -A ftl.page.map=segments,mine", "ftl.page.map"),
    "ftl": Kind(
        "a flash translation layer",
        f"sweep {DRIVE} -s device.op=20% -s nand.pages_per_block=64 -A ftl=page,mine,fast",
        "ftl",
    ),
    "die-scheduler": Kind(
        "a die scheduler", f"sweep {MIXED} -A drive.scheduler=fifo,mine,read_first", "drive.scheduler"
    ),
    "io-scheduler": Kind(
        "an I/O scheduler", f"sweep {MIXED} -A block.scheduler=none,mine,mq_deadline", "block.scheduler"
    ),
    "cache-policy": Kind(
        "a replacement policy", "cache sim @TRACE@ --policy lru,mine,fifo --size 1%,10%", "cache.policy"
    ),
    "admission": Kind("an admission policy", "cache sim @TRACE@ --policy lru,lru:admission=mine --size 1%,10%"),
    "trace-format": Kind("a trace format", "trace info example.txt"),
    "workload": Kind(
        "a workload pattern",
        "run --preset tlc-chip -s workload.pattern=mine -s device.capacity=256MiB",
        "workload.pattern",
    ),
}

_EXAMPLE = "17us sda R 4096+512\n20us sda W 8192+1024\n"

_TAKEN = re.compile(
    "abstract|as|async|await|become|box|break|const|continue|crate|do|dyn|else|enum|extern|false|final|fn|for|"
    "gen|if|impl|in|let|loop|macro|match|mod|move|mut|override|priv|pub|ref|return|self|static|struct|super|"
    "trait|true|try|type|typeof|unsafe|unsized|use|virtual|where|while|yield|alloc|core|proc_macro|std|test|"
    "ssdlab"
)
"""Names that a new crate must not have: Rust keywords and the names of certain crates."""


def create(kind: str, name: str) -> Path:
    """Creates a directory `name` that contains a crate with a component of the given kind and name."""
    template = (TEMPLATES / f"{kind.replace('-', '_')}.rs").read_text(encoding="utf-8")
    directory, names = Path(name), _names(name)
    words = {*re.findall(r"\w+", template)} - {*_names("mine").values()}
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or _TAKEN.fullmatch(name):
        raise ConfigError(f"{name!r} is not a crate name; use lower-case letters, digits and _, such as my_component")
    if words & {*names.values()}:
        raise ConfigError(f"the template already uses the name {name}; choose another name, such as my_{name}")
    chosen = next((variants for key, _, _, variants in _ssdlab.options() if key == KINDS[kind].setting), [])
    if name in chosen:
        raise ConfigError(f"{KINDS[kind].setting} has a built-in {name}; choose another name, such as my_{name}")
    source = root()
    if directory.exists():
        raise ConfigError(f"{text.path(directory)} already exists; choose another name, or remove the directory")
    fields = {
        "ABOUT": KINDS[kind].about,
        "CONFORMANCE": json.dumps(str(source / "crates" / "conformance")),
        "PATH": json.dumps(str(library(source))),
        "TRACE": shlex.quote(str(source / "traces" / "oltp.csv.zst")),
        "VERSION": ".".join(_ssdlab.__version__.split(".")[:2]),
    }

    def filled(written: str) -> str:
        for mine, own in names.items():
            written = re.sub(rf"\b{mine}\b", own, written)
        for field, value in fields.items():
            written = written.replace(f"@{field}@", value)
        return written

    files = {
        "Cargo.toml": filled(_read("manifest.toml")),
        "README.md": filled(_read("README.md").replace("@USE@", KINDS[kind].use)),
        "src/lib.rs": filled(template),
        "src/main.rs": _read("main.rs"),
        ".gitignore": "/target\n/study\n",
        **({"example.txt": _EXAMPLE} if kind == "trace-format" else {}),
    }
    for file, contents in files.items():
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        (directory / file).write_text(contents, encoding="utf-8")
    return directory


def _read(file: str) -> str:
    return (TEMPLATES / file).read_text(encoding="utf-8")


def _names(name: str) -> dict[str, str]:
    """Returns the names of crate, type and static variable, by their placeholders in the templates."""
    camel = "".join(word.capitalize() for word in name.split("_"))
    return {"mine": name, "Mine": camel, "MINE": name.upper()}
