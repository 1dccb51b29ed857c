"""Plug-ins in a run: their base class, calls with time limits, and errors that name file and line of the plug-in."""

import ctypes
import inspect
import pickle
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, ClassVar, Self
from weakref import WeakSet

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import SimulationError
from ssdlab.lazy import np
from ssdlab.model.requests import from_columns

TIMED_OUT = "ran for more than"
"""Phrase by which messages about exceeded time limits can be recognized."""

POLL_SECONDS = 0.1
"""Interval in seconds at which running calls are checked against their time limits."""

SHOWN = 100
"""Maximum length of the text that a message shows for an object, in characters."""

_FIELDS = ("op", "offset", "bytes", "time_ns", "stream")

Method = Callable[..., Any]


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


def declared(cls: type[Plugin]) -> list[str]:
    """Returns the names of the required arguments of a plug-in's first method."""
    parameters = [*inspect.signature(getattr(cls, cls.methods[0])).parameters.values()][1:]
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


class Overran(BaseException):
    """Raised in the thread of a call that takes too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `Overran` in this thread if the `with` block takes longer than `seconds`."""
    timer = threading.Timer(seconds, _overrun, (threading.get_ident(),))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _overrun(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Overran))


class Running:
    """A plug-in object in use by a run: calls its methods, enforces the time limit and words its errors."""

    def __init__(self, cls: type[Plugin], create: Callable[[], Plugin], seed: int, calls: "_ssdlab.Calls") -> None:
        self._cls, self._calls = cls, calls
        self._thread, self._number, self._since = threading.get_ident(), 0, 0.0
        self._limit = cls.time_limit
        try:
            with limited(self._limit):
                self.plugin = create()
        except Overran as error:
            raise self.overran(cls.__init__, place(error)) from error
        except Exception as error:
            raise SimulationError(f"{place(error)}: {cls.__name__} cannot be created: {error}") from error
        self.plugin.rng = random.Random(seed)
        self._limit = self.plugin.time_limit
        self.arguments = declared(cls)
        _watch(self)

    def save(self) -> bytes:
        """Returns the state of the plug-in."""
        state: bytes = self._saving(self.plugin.save)
        return state

    def load(self, state: bytes) -> None:
        """Restores the state of the plug-in."""
        self._saving(self.plugin.load, state)

    def _saving(self, method: Method, *state: bytes) -> Any:
        try:
            with limited(self._limit):
                return method(*state)
        except Overran as error:
            raise self.overran(method, place(error)) from error
        except Exception as error:
            raise SimulationError(
                f"{self._called(method)} raised {type(error).__name__}: {error}; define save and load in "
                f"{self._cls.__name__}"
            ) from error

    def runs_here(self) -> None:
        """Records that the plug-in's calls now run on this thread."""
        self._thread = threading.get_ident()

    def columns(self, item: tuple[Any, ...]) -> _ssdlab.Requests:
        """Converts an item that a workload yielded to requests; each field is an array, or one value for all rows."""
        rows = len(item[1])
        op = _ssdlab.operation(item[0]) if isinstance(item[0], str) else item[0]
        fields = zip(_FIELDS, (op, *item[1:]), strict=False)
        columns: dict[str, Any] = {
            name: value if np.ndim(value) else np.full(rows, value) for name, value in fields if value is not None
        }
        return from_columns(**columns)

    def raised(self, method: Method, error: BaseException) -> BaseException:
        """Returns the error that ends the run because a call raised an exception."""
        if isinstance(error, KeyboardInterrupt):
            return error
        where = place(error, _code(method).co_filename)
        if isinstance(error, Overran):
            return self.overran(method, where)
        fault = SimulationError(f"{where}: {self._called(method)} raised {type(error).__name__}: {error}")
        fault.__cause__ = error
        return fault

    def returned(self, method: Method, answer: object, why: str) -> BaseException:
        """Returns the error that ends the run because the plug-in's method returned an invalid value."""
        try:
            shown = _shown(answer)
        except Exception:
            shown = f"a {type(answer).__name__}"
        verb = "yielded" if inspect.isgenerator(method) else "returned"
        return SimulationError(f"{_begin(method)}: {self._called(method)} {verb} {shown}, {why}")

    def overran(self, method: Method, where: str | None = None) -> BaseException:
        """Returns the error that ends the run because a call took too long. `where` is the position of the call when
        it was ended, if known.
        """
        return SimulationError(
            f"{where or _begin(method)}: {self._called(method)} {TIMED_OUT} {self._limit:g} s; look for an endless "
            "loop, or raise time_limit in the class"
        )

    def look(self, now: float) -> None:
        """Ends the running call if it takes too long; called about ten times a second."""
        number = self._calls.running
        if number != self._number:
            self._number, self._since = number, now
        elif number and now - self._since > self._limit:
            self._since = now
            self._calls.set_overdue()
            _overrun(self._thread)

    def _called(self, method: Method) -> str:
        return f"{self._cls.__name__}.{method.__name__}"


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


def place(error: BaseException, file: str | None = None) -> str:
    """Returns file and line at which an error was raised. If `file` is given and the error passed through it, returns
    the innermost position in this file.
    """
    if isinstance(error, SyntaxError):
        return f"{text.path(error.filename)}:{error.lineno}"
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    # An exception raised from another thread may have no line number.
    places = [(code.co_filename, line or code.co_firstlineno) for code, line in frames]
    own = [position for position in places if position[0] == file] or places
    name, line = own[-1] if own else (file, 0)
    return f"{text.path(name)}:{line}"


_LOCK = threading.Lock()
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
