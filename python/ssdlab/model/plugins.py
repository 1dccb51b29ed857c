"""Components written in Python (plug-ins): finds them by name, and registers them.

A name such as `python:mine.Windowed(window=8)` contains the class and the arguments of its constructor, so another
process can create the same plug-in from its name.
"""

import ast
import copy
import hashlib
import inspect
import linecache
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError, SimulationError
from ssdlab.model.config import PLUGIN, Config, rebuilt
from ssdlab.model.config import PLUGIN_FILES as FILES
from ssdlab.model.plugin_run import TIMED_OUT, Overran, Plugin, Running, declared, limited, place

HOW = "write FILE.CLASS after python:, such as python:mine.Oldest for the class Oldest in mine.py"

LOST = "(...)"
"""Placeholder for constructor arguments that cannot be written as text; other runs cannot create such a plug-in."""

LOADING_SECONDS = 60.0
"""Time limit for executing a file with plug-ins, in seconds; long enough to import large libraries."""

_NAMES = re.compile(r"""["'=]\s*(python:[\w.]+(?:\([^()\n]*\))?)""")
_LOCK = threading.RLock()


class Source(NamedTuple):
    """A plug-in class with its source file and the arguments of its constructor."""

    cls: type[Plugin]
    positional: Sequence[Any]
    named: Mapping[str, Any]
    file: str
    sha256: str | None
    """SHA-256 of the file, or of the cell of a notebook; None if there is no source code."""
    importable: bool
    """True if other processes can find the class by its name."""


class PluginUse(NamedTuple):
    """Usage statistics of a plug-in in a run."""

    setting: str
    """Setting that chooses the plug-in; `format` for a trace format."""
    name: str
    file: str
    """Name of the file with the class."""
    sha256: str | None
    """SHA-256 of the file, or of the cell of a notebook; None if there is no source code."""
    decisions: int
    """Number of decisions that the plug-in made, including decisions during preconditioning."""
    seconds: float
    """Time that the plug-in took for its decisions, in seconds; 0 for a trace format."""
    run_seconds: float
    """Time that the whole run took, in seconds."""

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields except the elapsed times, which differ from run to run, ready for JSON."""
        fields = self._asdict()
        del fields["seconds"], fields["run_seconds"]
        return fields

    def __str__(self) -> str:
        """Returns the plug-in's name, its number of decisions, its speed and its share of the run as text."""
        said = f"{self.name}: {text.count(self.decisions)} decisions"
        if not self.decisions or not self.seconds:
            return said
        rate, share = self.decisions / self.seconds, self.seconds / self.run_seconds
        run = text.duration(1e9 * self.run_seconds)
        return f"{said}, {rate / 1e6:.2g} M decisions/s, {100 * share:.0f} % of the run time of {run}"


_sources: dict[str, Source] = {}
"""Loaded plug-in classes, keyed by plug-in name."""

_registered: set[str] = set()

_modules: dict[Path, tuple[bytes, ModuleType]] = {}
"""Modules created from executed files, each with the contents of its file at that time."""

_given = threading.local()
"""Plug-ins that users passed as objects to the simulation in the current thread, by class."""


def register_named(texts: Iterable[tuple[str, str]]) -> None:
    """Registers all plug-ins that are named in settings, which are (origin, text) pairs."""
    for origin, written in texts:
        for name in _NAMES.findall(written):
            try:
                _register(name, _find(name))
            except ConfigError as error:
                raise ConfigError(f"{origin}: {name}: {error}") from error.__cause__


def register_files() -> None:
    """Registers all plug-ins in the files of `SSDLAB_PLUGINS`."""
    for path in _files():
        try:
            module = _executed(path)
        except ConfigError as error:
            raise ConfigError(f"{FILES}: {error}") from error.__cause__
        for cls in vars(module).values():
            if _is_plugin(cls) and cls.__module__ == module.__name__:
                name = f"{PLUGIN}{module.__name__}.{cls.__name__}"
                _register(name, _source(cls, path))


def load(path: str | os.PathLike[str]) -> None:
    """Loads the plug-ins of a file, for this process and the worker processes of its studies.

    Args:
        path: Python file with plug-ins, as in the environment variable `SSDLAB_PLUGINS`.

    Raises:
        ConfigError: If the file cannot be loaded.
    """
    absolute = str(Path(path).absolute())
    named = [*filter(None, os.environ.get(FILES, "").split(os.pathsep))]
    os.environ[FILES] = os.pathsep.join(dict.fromkeys([*named, absolute]))
    register_files()


def with_plugins(config: Config, plugins: Sequence[Plugin | type[Plugin]]) -> Config:
    """Returns the configuration with its settings changed to choose the given plug-ins."""
    named: dict[str, str] = {}
    for plugin in _listed(plugins):
        cls: type[Any] = plugin if isinstance(plugin, type) else type(plugin)
        if not _is_plugin(cls):
            raise ConfigError(f"plugins: {cls.__name__} is not a plug-in; derive it from a class of ssdlab.plugin")
        made: tuple[tuple[Any, ...], dict[str, Any]] = ((), {}) if isinstance(plugin, type) else plugin._made
        call = _call(*made)
        name = f"{PLUGIN}{cls.__module__}.{cls.__name__}{call}"
        arguments, keywords = made if call != LOST else ((...,), {})
        _register(name, _source(cls)._replace(positional=arguments, named=keywords))
        named[cls.setting] = name
    sets = [("plugins", f"{key}={name}") for key, name in named.items()]
    for key in named.keys() - config.keys():
        raise ConfigError(f"plugins: {named[key]} sets {key}, which this configuration does not have; omit the plug-in")
    return rebuilt(config._preset, config._files, [*config._sets, sets])


def _listed(plugins: object) -> Sequence[Any]:
    if isinstance(plugins, Plugin | type):
        return [plugins]
    if not isinstance(plugins, Sequence):
        raise ConfigError(f"plugins: {type(plugins).__name__} is not a list of plug-ins; pass a list such as [Mine()]")
    return plugins


def _call(positional: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Returns constructor arguments as text for a plug-in's name; `LOST` if they cannot be written as text."""
    values = [repr(value) for value in positional] + [f"{key}={value!r}" for key, value in named.items()]
    call = f"({', '.join(values)})" if values else ""
    try:
        tree = ast.parse(f"call{call}", mode="eval").body
        same = not isinstance(tree, ast.Call) or (
            [ast.literal_eval(value) for value in tree.args] == [*positional]
            and [ast.literal_eval(keyword.value) for keyword in tree.keywords] == [*named.values()]
        )
    except (SyntaxError, ValueError):
        same = False
    return call if same and _NAMES.fullmatch(f"={PLUGIN}a.b{call}") else LOST


@contextmanager
def giving(plugins: Sequence[Plugin | type[Plugin]]) -> Iterator[None]:
    """Makes simulations of this thread use copies of the given objects."""
    objects = [plugin for plugin in _listed(plugins) if not isinstance(plugin, type)]
    _given.objects = {type(plugin): plugin for plugin in objects}
    try:
        yield
    finally:
        _given.objects = {}


def identity(config: Config) -> list[str]:
    """Returns the checksums of a configuration's plug-ins, which become part of the key of its run. Rejects plug-ins
    that other processes cannot find.
    """
    for name in config.plugins.values():
        if not _sources[name].importable or ... in _sources[name].positional:
            raise ConfigError(f"{name}: worker processes cannot find this class; write it to a file, and {HOW}")
    return [digest(name) for name in config.plugins.values()]


def is_timed(config: Config) -> bool:
    """True if the workload of a configuration is a plug-in that sets the times of its requests."""
    name = config.plugins.get("workload.pattern")
    return name is not None and getattr(_sources[name].cls, "timed", False)


def digest(name: str) -> str:
    """Returns the checksum of a registered plug-in, which becomes part of the key of runs that use it."""
    return _sources[name].sha256 or ""


def uses(
    config: Config,
    calls: Iterable[tuple[str, int, float]],
    run_seconds: float,
    ingest: Mapping[str, Any] | None,
) -> list[PluginUse]:
    """Returns usage statistics for each plug-in of a run, including trace formats. `calls` has the name of each
    plug-in, its number of decisions and the seconds that they took.
    """
    total: dict[str, tuple[int, float]] = {}
    for name, decisions, seconds in calls:
        before = total.get(name, (0, 0.0))
        total[name] = before[0] + decisions, before[1] + seconds
    named = list(config.plugins.items())
    if ingest is not None and ingest.get("format") in _sources:
        named.append(("format", ingest["format"]))
        total[ingest["format"]] = next(value for name, _, _, value in ingest["counts"] if name == "records"), 0.0
    return [
        PluginUse(setting, name, _sources[name].file, _sources[name].sha256, *total.get(name, (0, 0.0)), run_seconds)
        for setting, name in named
    ]


def _is_plugin(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, Plugin) and hasattr(cls, "kind") and "kind" not in vars(cls)


def _files() -> list[Path]:
    paths = [Path(path) for path in os.environ.get(FILES, "").split(os.pathsep) if path]
    names: dict[str, Path] = {}
    for path in paths:
        other = names.setdefault(path.stem, path)
        if other.absolute() != path.absolute():
            raise ConfigError(f"{FILES}: {text.path(path)} and {text.path(other)} have the same name; rename one")
    return paths


def _find(name: str) -> Source:
    """Finds the plug-in class that a name such as `python:mine.Oldest` denotes."""
    try:
        tree = ast.parse(name.removeprefix(PLUGIN), mode="eval").body
        called, positional, keywords = (
            (tree.func, tree.args, tree.keywords) if isinstance(tree, ast.Call) else (tree, [], [])
        )
        module_name, _, class_name = ast.unparse(called).rpartition(".")
        values = [ast.literal_eval(value) for value in positional]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
    except (SyntaxError, ValueError):
        raise ConfigError(f"is not a class name, with or without literal arguments; {HOW}") from None
    if not module_name:
        raise ConfigError(HOW)
    known = _sources.get(name)
    if known is not None and (not known.importable or ... in values):
        return known
    module, path = _module(module_name)
    cls = vars(module).get(class_name)
    where = text.path(path or module_name)
    if cls is None:
        names = [name for name, value in vars(module).items() if _is_plugin(value)]
        raise ConfigError(f"{where} has no class {class_name}{text.suggestion(class_name, names)}")
    if not _is_plugin(cls):
        raise ConfigError(f"{class_name} in {where} is not a plug-in; derive it from a class of ssdlab.plugin")
    try:
        inspect.signature(cls.__init__).bind(None, *values, **named)
    except TypeError as error:
        raise ConfigError(f"{class_name} in {where}: {error}; pass the arguments of its constructor") from None
    return _source(cls, path)._replace(positional=values, named=named, importable=True)


def _module(name: str) -> tuple[ModuleType, Path | None]:
    """Returns a plug-in's module: a file of `SSDLAB_PLUGINS` or the current directory, or an installed module."""
    imported = _imported(name)
    if imported is not None:
        return imported, None
    for path in (*_files(), Path(f"{name}.py")):
        if path.stem == name and path.is_file():
            return _executed(path), path
    try:
        return import_module(name), None
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise ConfigError(f"{place(error)}: {error}") from error
        raise ConfigError(f"{name}.py is not in this directory; set {FILES} to the path of the file") from None
    except Exception as error:
        raise ConfigError(f"{place(error)}: {type(error).__name__}: {error}") from error


def _imported(name: str) -> ModuleType | None:
    """Returns the imported module with this name, unless it was created from the file of a plug-in."""
    module = sys.modules.get(name)
    return None if module in [executed for _, executed in _modules.values()] else module


def _executed(path: Path) -> ModuleType:
    """Executes a Python file, unless it was already executed with the same contents."""
    shown = text.path(path)
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown}: {error.strerror}; pass the path of a Python file") from None
    known = _modules.get(path.absolute())
    if known is not None and known[0] == contents:
        return known[1]
    if _imported(path.stem) is not None:
        raise ConfigError(f"{shown}: another module is named {path.stem}; rename the file")
    module = ModuleType(path.stem)
    # Plug-ins print to standard error, because standard output carries results.
    vars(module).update(__file__=str(path), print=_print)
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    # Dataclasses look up the module of their class in `sys.modules`.
    sys.modules[path.stem] = module
    linecache.checkcache(str(path))
    try:
        with limited(LOADING_SECONDS):
            exec(compile(contents, str(path), "exec"), vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[path.stem]
        # The text of a SyntaxError ends with file and line, which `place` returns too.
        why = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
        if isinstance(error, Overran):
            why = f"the module's top-level code {TIMED_OUT} {LOADING_SECONDS:g} s; look for an endless loop"
        raise ConfigError(f"{place(error, str(path))}: {why}") from error
    _modules[path.absolute()] = contents, module
    return module


def _print(*values: object, **options: Any) -> None:
    print(*values, **{"file": sys.stderr, **options})


def _source(cls: type[Plugin], path: Path | None = None) -> Source:
    """Describes a plug-in class, after checking its methods, its attributes and its first method's arguments."""
    for name in cls.methods:
        if not callable(getattr(cls, name, None)):
            raise ConfigError(f"{_defined(cls)}: {cls.__name__} has no method {name}; define it")
    code = inspect.unwrap(getattr(cls, cls.methods[0])).__code__
    file = code.co_filename
    wrong = cls.wrong()
    if wrong:
        raise ConfigError(f"{text.path(file)}: {cls.__name__}.{wrong}")
    unknown = [name for name in declared(cls) if name not in cls.arguments]
    if cls.arguments and unknown:
        raise ConfigError(
            f"{text.path(file)}:{code.co_firstlineno}: {cls.__name__}.{cls.methods[0]} has the unknown argument "
            f"{unknown[0]}; use only {', '.join(cls.arguments)}{text.suggestion(unknown[0], cls.arguments)}"
        )
    source = path.read_bytes() if path else "".join(linecache.getlines(file)).encode()
    digest = hashlib.sha256(source).hexdigest() if source else None
    module = sys.modules.get(cls.__module__)
    importable = cls.__module__ != "__main__" and getattr(module, cls.__name__, None) is cls
    return Source(cls, (), {}, Path(file).name, digest, path is not None or importable)


def _defined(cls: type[Plugin]) -> str:
    """Returns file and line of a class, or its module if there is no source code."""
    try:
        return f"{text.path(inspect.getsourcefile(cls))}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return cls.__module__


def _register(name: str, source: Source) -> None:
    with _LOCK:
        _sources[name] = source
        if name not in _registered:
            help = (source.cls.__doc__ or f"{source.cls.__name__} in {source.file}.").strip().splitlines()[0]
            _ssdlab.register_plugin(source.cls.kind, name, help, Named(name))
            _registered.add(name)


class Named:
    """Reference to a plug-in by name, because loading a changed file replaces the class. For the Rust extension."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def cls(self) -> type[Plugin]:
        """The plug-in's class."""
        return _sources[self._name].cls

    def start(self, seed: int, calls: "_ssdlab.Calls") -> Running:
        """Creates an object of the class for a run, or a copy of the object that the user passed."""
        source = _sources[self._name]
        given = getattr(_given, "objects", {}).get(source.cls)
        if given is not None:
            return Running(source.cls, lambda: copy.deepcopy(given), seed, calls)
        if ... in source.positional:
            raise SimulationError(f"{self._name} was passed as an object; pass it again with plugins=")
        return Running(source.cls, lambda: source.cls(*source.positional, **source.named), seed, calls)
