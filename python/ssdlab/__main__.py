"""`ssdlab`, and `python -m ssdlab`: the command line."""

import os
import sys

from ssdlab import interrupt
from ssdlab.lazy import room


def main() -> None:
    """Runs the command line and exits."""
    # Before the commands are loaded, which takes a while.
    interrupt.leave_at_once()
    # No command multiplies large matrices, and threads of BLAS that have nothing to do burn a processor for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = room("cli").main()
    if status == interrupt.STATUS:
        interrupt.end()
    sys.exit(status)


if __name__ == "__main__":
    main()
