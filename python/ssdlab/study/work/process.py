"""The program of a worker process: does the runs that its standard input names, and ends when that does.

The input is read by a thread of its own, so that the process ends at once when whoever started it is gone.
"""

import os
import pickle
import signal
import threading
from queue import SimpleQueue

from ssdlab.leaving import handle
from ssdlab.study.work.local import LENGTH
from ssdlab.study.work.run import Run, execute


def main() -> None:
    """Does runs."""
    # Ctrl-C reaches every process of a terminal; the one that started this decides what becomes of runs.
    handle(signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "wb")
    # What prints, prints where it does no harm.
    os.dup2(2, 1)
    runs: SimpleQueue[Run] = SimpleQueue()
    threading.Thread(target=_read, args=(runs,), daemon=True).start()
    while True:
        message = pickle.dumps(execute(runs.get()))
        replies.write(len(message).to_bytes(LENGTH, "big") + message)
        replies.flush()


def _read(runs: "SimpleQueue[Run]") -> None:
    with os.fdopen(0, "rb") as messages:
        while head := messages.read(LENGTH):
            runs.put(pickle.loads(messages.read(int.from_bytes(head, "big"))))
    os._exit(0)


if __name__ == "__main__":
    main()
