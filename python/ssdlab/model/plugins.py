"""Components written in Python (plug-ins): finds them by name, registers them, and enforces their time limits.

A name such as `python:mine.Windowed(window=8)` contains the class and the arguments of its constructor, so another
process can create the same plug-in from its name.
"""

import ast
import copy
import ctypes
import hashlib
import inspect
import linecache
import os
import pickle
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, ClassVar, NamedTuple, Self
from weakref import WeakSet

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError, SimulationError
from ssdlab.lazy import np
from ssdlab.model.config import PLUGIN, Config, rebuilt
from ssdlab.model.config import PLUGIN_FILES as FILES
from ssdlab.model.requests import from_columns

HOW = "write FILE.CLASS after python:, such as python:mine.Oldest for the class Oldest in mine.py"

LOST = "(...)"
"""Placeholder in a plug-in's name for constructor arguments that cannot be written as text. Other runs cannot create
such a plug-in.
"""

TIMED_OUT = "ran for more than"
"""Phrase by which messages about exceeded time limits can be recognized."""

POLL_SECONDS = 0.1
"""Interval in seconds at which running calls are checked against their time limits."""

LOADING_SECONDS = 60.0
"""Time limit for executing a file with plug-ins, in seconds; long enough to import large libraries."""

SHOWN = 100
"""Maximum length of the text that a message shows for an object, in characters."""

_FIELDS = ("op", "offset", "bytes", "time_ns", "stream")

Method = Callable[..., Any]

_NAMES = re.compile(r"""["'=]\s*(python:[\w.]+(?:\([^()\n]*\))?)""")
_LOCK = threading.RLock()


class Plugin:
    """Base class of all kinds of plug-ins."""

    _made: tuple[tuple[Any, ...], dict[str, Any]]
    """Arguments with which the plug-in was created: positional and named."""

    def __new__(cls, *positional: Any, **named: Any) -> Self:
        """Creates an object, and records its constructor arguments, which become part of the plug-in's name."""
        plugin = super().__new__(cls)
        plugin._made = positional, named
        return plugin

    def __init__(self) -> None:
        """Prepares the object for a run; subclasses may add arguments."""

    time_limit: float = 10.0
    """Time limit of a call in seconds. A call that takes longer is ended with an error."""

    rng: random.Random
    """Random-number generator, which draws the same numbers in every run. For a victim policy or a workload, the
    numbers depend on the setting `seed`. Every method except the constructor may use the generator.
    """

    kind: ClassVar[str]
    """Kind of plug-in, such as `victim`."""

    setting: ClassVar[str]
    """Key of the setting that chooses a plug-in of this kind."""

    methods: ClassVar[tuple[str, ...]]
    """Names of the methods that a subclass must define."""

    arguments: ClassVar[tuple[str, ...]] = ()
    """Names of the arguments that the first method may declare; the method receives only the arguments that it
    declares. Empty if the method always receives all arguments.
    """

    def save(self) -> bytes:
        """Returns the object's state, to be saved with a drive: by default all attributes, by pickle."""
        return pickle.dumps(vars(self))

    def load(self, state: bytes) -> None:
        """Restores the state that `save` returned. The default implementation unpickles the state, which can run code;
        load only drives that you trust.
        """
        vars(self).update(pickle.loads(state))

    @classmethod
    def wrong(cls) -> str | None:
        """Returns a message with a remedy if an attribute of the class has an invalid value; otherwise None."""
        return None


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
"""Plug-ins that users passed as objects to the simulation in the current thread, by name."""


def register_named(texts: Iterable[tuple[str, str]]) -> None:
    """Registers all plug-ins that are named in the settings of a configuration. Each setting is an (origin, text) pair.

    Raises:
        ConfigError: If a plug-in cannot be loaded.
    """
    for origin, written in texts:
        for name in _NAMES.findall(written):
            try:
                _register(name, _find(name))
            except ConfigError as error:
                raise ConfigError(f"{origin}: {name}: {error}") from error.__cause__


def register_files() -> None:
    """Registers all plug-ins in the files of `SSDLAB_PLUGINS`.

    Raises:
        ConfigError: If a file cannot be loaded.
    """
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
    """Returns the configuration with its settings changed to choose the given plug-ins.

    Raises:
        ConfigError: If an object is not a plug-in, or the configuration does not use plug-ins of its kind.
    """
    named: dict[str, str] = {}
    for plugin in _listed(plugins):
        cls: type[Any] = plugin if isinstance(plugin, type) else type(plugin)
        if not _is_plugin(cls):
            raise ConfigError(f"plugins: {cls.__name__} is not a plug-in; derive it from a class of ssdlab.plugin")
        made: tuple[tuple[Any, ...], dict[str, Any]] = ((), {}) if isinstance(plugin, type) else plugin._made
        call = _call(*made)
        name = f"{PLUGIN}{cls.__module__}.{cls.__name__}{call}"
        lost = call == LOST
        _register(name, _source(cls)._replace(positional=(...,) if lost else made[0], named={} if lost else made[1]))
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
    """Returns the arguments of a plug-in's constructor as text for the plug-in's name; `LOST` if they cannot be written
    as text.
    """
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
    """Returns the checksums of a configuration's plug-ins, which become part of the key of its run.

    Raises:
        ConfigError: If other processes cannot find a plug-in.
    """
    for name in config.plugins.values():
        if not _sources[name].importable or ... in _sources[name].positional:
            raise ConfigError(f"{name}: worker processes cannot find this class; write it to a file, and {HOW}")
    return [digest(name) for name in config.plugins.values()]


def is_timed(config: Config) -> bool:
    """True if the workload of a configuration is a plug-in that sets the times of its requests."""
    name = config.plugins.get("workload.pattern")
    return name is not None and getattr(_sources[name].cls, "timed", False)


def register_format(name: str | None) -> None:
    """Registers the plug-in for the trace format `name`. Without a name, registers all plug-ins in the files of
    `SSDLAB_PLUGINS`, so that the format can be detected.

    Raises:
        ConfigError: If a plug-in cannot be loaded.
    """
    if name is None:
        register_files()
    else:
        register_named([("format", f"={name}")])


def digest(name: str) -> str:
    """Returns the checksum of a registered plug-in, which becomes part of the key of runs that use it."""
    return _sources[name].sha256 or ""


def uses(
    config: Config,
    calls: Iterable[tuple[str, int, float]],
    run_seconds: float,
    ingest: Mapping[str, Any] | None = None,
) -> list[PluginUse]:
    """Returns usage statistics for each plug-in of a run, including trace formats.

    Args:
        config: The configuration.
        calls: For each plug-in of the configuration, its name, number of decisions and the seconds that they took.
        run_seconds: Time that the run took.
        ingest: Report on reading the trace, if the requests come from a trace.
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
    """Returns the module of a plug-in: a file listed in `SSDLAB_PLUGINS`, a file in the current directory, or an
    installed module.
    """
    imported = sys.modules.get(name)
    executed = [module for _, module in _modules.values()]
    if imported is not None and imported not in executed:
        return imported, None
    for path in (*_files(), Path(f"{name}.py")):
        if path.stem == name and path.is_file():
            return _executed(path), path
    try:
        return import_module(name), None
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise ConfigError(f"{_place(error)}: {error}") from error
        raise ConfigError(f"{name}.py is not in this directory; set {FILES} to the path of the file") from None
    except Exception as error:
        raise ConfigError(f"{_place(error)}: {type(error).__name__}: {error}") from error


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
    module, imported = ModuleType(path.stem), sys.modules.get(path.stem)
    if imported is not None and imported not in [module for _, module in _modules.values()]:
        raise ConfigError(f"{shown}: another module is named {path.stem}; rename the file")
    # Plug-ins print to standard error, because standard output carries results.
    vars(module).update(__file__=str(path), print=_print)
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    # Dataclasses look up the module of their class in `sys.modules`.
    sys.modules[path.stem] = module
    linecache.checkcache(str(path))
    try:
        with _limited(LOADING_SECONDS):
            exec(compile(contents, str(path), "exec"), vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[path.stem]
        why = f"{type(error).__name__}: {_reason(error)}"
        if isinstance(error, _Overran):
            why = f"the module's top-level code {TIMED_OUT} {LOADING_SECONDS:g} s; look for an endless loop"
        raise ConfigError(f"{_place(error, str(path))}: {why}") from error
    _modules[path.absolute()] = contents, module
    return module


def _print(*values: object, **options: Any) -> None:
    print(*values, **{"file": sys.stderr, **options})


def _source(cls: type[Plugin], path: Path | None = None) -> Source:
    """Returns the description of a plug-in class, after checking its required methods, its attributes and the arguments
    of its first method.
    """
    for name in cls.methods:
        if not callable(getattr(cls, name, None)):
            raise ConfigError(f"{_defined(cls)}: {cls.__name__} has no method {name}; define it")
    code = inspect.unwrap(getattr(cls, cls.methods[0])).__code__
    file = code.co_filename
    wrong = cls.wrong()
    if wrong:
        raise ConfigError(f"{text.path(file)}: {cls.__name__}.{wrong}")
    unknown = [name for name in _arguments(cls) if name not in cls.arguments]
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


def _arguments(cls: type[Plugin]) -> list[str]:
    """Returns the names of the required arguments of the first method: the arguments without a default."""
    parameters = [*inspect.signature(getattr(cls, cls.methods[0])).parameters.values()][1:]
    return [one.name for one in parameters if one.default is one.empty]


def _register(name: str, source: Source) -> None:
    with _LOCK:
        _sources[name] = source
        if name not in _registered:
            help = (source.cls.__doc__ or f"{source.cls.__name__} in {source.file}.").strip().splitlines()[0]
            _ssdlab.register_plugin(source.cls.kind, name, help, Named(name))
            _registered.add(name)


class Named:
    """Reference to a plug-in, for the Rust extension. It stores the plug-in's name and looks up the class on use,
    because loading a changed file replaces the class.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def cls(self) -> type[Plugin]:
        """The plug-in's class."""
        return _sources[self._name].cls

    def start(self, seed: int, calls: "_ssdlab.Calls") -> "Running":
        """Creates an object of the class for a run."""
        return Running(self._name, _sources[self._name], seed, calls)


class _Overran(BaseException):
    """Raised in the thread of a call that takes too long."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises `_Overran` in this thread if the `with` block takes longer than `seconds`."""
    thread, error = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_Overran)
    timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, (thread, error))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Running:
    """A plug-in object in use by a run: calls its methods, enforces the time limit and words its errors."""

    def __init__(self, name: str, source: Source, seed: int, calls: "_ssdlab.Calls") -> None:
        self._source, self._calls = source, calls
        self._thread, self._number, self._since = threading.get_ident(), 0, 0.0
        given = getattr(_given, "objects", {}).get(source.cls)
        if given is None and ... in source.positional:
            raise self._fault(f"{name} was passed as an object; pass it again with plugins=")
        self._limit = source.cls.time_limit
        try:
            with _limited(self._limit):
                plugin = source.cls(*source.positional, **source.named) if given is None else copy.deepcopy(given)
        except _Overran as error:
            raise self._overrun(source.cls.__init__, _place(error)) from error
        except Exception as error:
            raise self._fault(f"{_place(error)}: {source.cls.__name__} cannot be created: {error}", error) from error
        plugin.rng = random.Random(seed)
        self._limit = plugin.time_limit
        self.plugin = plugin
        self.arguments = _arguments(source.cls)
        _watch(self)

    def save(self) -> bytes:
        """Returns the state of the plug-in."""
        state: bytes = self._saving("save", self.plugin.save)
        return state

    def load(self, state: bytes) -> None:
        """Restores the state of the plug-in."""
        self._saving("load", self.plugin.load, state)

    def _saving(self, name: str, method: Method, *state: bytes) -> Any:
        try:
            with _limited(self._limit):
                return method(*state)
        except _Overran as error:
            raise self._overrun(method, _place(error)) from error
        except Exception as error:
            cls = self._source.cls.__name__
            message = f"{cls}.{name} raised {type(error).__name__}: {error}; define save and load in {cls}"
            raise self._fault(message, error) from error

    def runs_here(self) -> None:
        """Records that the plug-in's calls now run on this thread."""
        self._thread = threading.get_ident()

    def columns(self, item: tuple[Any, ...]) -> _ssdlab.Requests:
        """Converts an item that a workload yielded to requests. Each field of the item is an array, or one value for
        all requests.
        """
        rows = len(item[1])
        op = _ssdlab.operation(item[0]) if isinstance(item[0], str) else item[0]
        given: dict[str, Any] = {
            name: value for name, value in zip(_FIELDS, (op, *item[1:]), strict=False) if value is not None
        }
        columns: dict[str, Any] = {
            name: value if np.ndim(value) else np.full(rows, value) for name, value in given.items()
        }
        return from_columns(**columns)

    def raised(self, method: Method, error: BaseException) -> BaseException:
        """Returns the error that ends the run because a call raised an exception."""
        if isinstance(error, KeyboardInterrupt):
            return error
        place = _place(error, _code(method).co_filename)
        if isinstance(error, _Overran):
            return self._overrun(method, place)
        return self._fault(f"{place}: {self._called(method)} raised {type(error).__name__}: {error}", error)

    def returned(self, method: Method, answer: object, why: str) -> BaseException:
        """Returns the error that ends the run because the plug-in's method returned an invalid value."""
        try:
            shown = _shown(answer)
        except Exception:
            shown = f"a {type(answer).__name__}"
        verb = "yielded" if inspect.isgenerator(method) else "returned"
        return self._fault(f"{_begin(method)}: {self._called(method)} {verb} {shown}, {why}")

    def overran(self, method: Method) -> BaseException:
        """Returns the error that ends the run because a call took too long."""
        return self._overrun(method, _begin(method))

    def look(self, now: float) -> None:
        """Ends the running call if it takes too long; called about ten times a second."""
        number = self._calls.running
        if number != self._number:
            self._number, self._since = number, now
        elif number and now - self._since > self._limit:
            self._since = now
            self._calls.set_overdue()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(_Overran))

    def _called(self, method: Method) -> str:
        return f"{self._source.cls.__name__}.{method.__name__}"

    def _overrun(self, method: Method, place: str) -> BaseException:
        return self._fault(
            f"{place}: {self._called(method)} {TIMED_OUT} {self._limit:g} s; look for an endless loop, or raise "
            "time_limit in the class"
        )

    def _fault(self, message: str, cause: BaseException | None = None) -> BaseException:
        fault = SimulationError(message)
        fault.__cause__ = cause
        return fault


def _code(method: Method) -> CodeType:
    code: CodeType = method.gi_code if inspect.isgenerator(method) else inspect.unwrap(method).__code__
    return code


def _begin(method: Method) -> str:
    """Returns file and line at which a method begins, or at which a generator stopped."""
    line = _code(method).co_firstlineno
    if inspect.isgenerator(method) and method.gi_frame is not None:
        line = method.gi_frame.f_lineno
    return f"{text.path(_code(method).co_filename)}:{line}"


def _shown(answer: object) -> str:
    """Returns a short text for a value that a plug-in returned. NumPy numbers appear as plain numbers."""
    values = answer if isinstance(answer, tuple) else (answer,)
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    shown = " ".join(repr(plain if isinstance(answer, tuple) else plain[0]).split())
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."


def _reason(error: BaseException) -> str:
    """Returns the error's message, without the file and line that `_place` returns."""
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _place(error: BaseException, file: str | None = None) -> str:
    """Returns file and line at which an error was raised. If `file` is given and the error passed through it, returns
    the innermost position in this file.
    """
    if isinstance(error, SyntaxError):
        return f"{text.path(error.filename)}:{error.lineno}"
    places: list[tuple[str | None, int]] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        # An exception raised from another thread may have no line number.
        places.append((code.co_filename, trace.tb_lineno or code.co_firstlineno))
        trace = trace.tb_next
    own = [place for place in places if place[0] == file] or places or [(file, 0)]
    return f"{text.path(own[-1][0])}:{own[-1][1]}"


_running: "WeakSet[Running]" = WeakSet()
_watcher: threading.Thread | None = None


def _watch(running: Running) -> None:
    """Starts the time-limit checks of a plug-in's calls. The checks end when the plug-in is no longer used."""
    global _watcher
    with _LOCK:
        _running.add(running)
        if _watcher is None:
            _watcher = threading.Thread(target=_look, name="ssdlab plug-ins", daemon=True)
            _watcher.start()


def _look() -> None:
    global _watcher
    while True:
        time.sleep(POLL_SECONDS)
        with _LOCK:
            if not _running:
                _watcher = None
                return
            for running in _running:
                running.look(time.monotonic())
