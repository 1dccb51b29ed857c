"""Worker process: executes the runs that it reads from standard input, and ends when the input ends.

A separate thread reads the input, so the process ends as soon as its parent has ended.
"""

import os
import pickle
import signal
import threading
from queue import SimpleQueue

from ssdlab._ssdlab import SsdlabError
from ssdlab.leaving import handle
from ssdlab.study.work.local import LENGTH
from ssdlab.study.work.run import Outcome, Run, execute


def main() -> None:
    """Executes runs from standard input, until the input ends."""
    # Ignores Ctrl-C, which a terminal sends to every process, because the parent handles it.
    handle(signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "wb")
    # Redirects standard output to standard error, because printed text must not mix with replies.
    os.dup2(2, 1)
    runs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(runs,), daemon=True).start()
    while True:
        message = pickle.dumps(_outcome(runs.get()))
        replies.write(len(message).to_bytes(LENGTH, "big") + message)
        replies.flush()


def _outcome(message: bytes) -> Outcome:
    try:
        run: Run = pickle.loads(message)
    except SsdlabError as error:
        # Reading the run can fail: for example, this process may not find a plug-in that the configuration names.
        return Outcome(None, f"{type(error).__name__}: {error}")
    return execute(run)


def _read(runs: "SimpleQueue[bytes]") -> None:
    with os.fdopen(0, "rb") as messages:
        while head := messages.read(LENGTH):
            runs.put(messages.read(int.from_bytes(head, "big")))
    os._exit(0)


if __name__ == "__main__":
    main()
