"""`ssdlab`, and `python -m ssdlab`: the command line."""

import os
import sys

# Not from the package, which looks for the module first and loads much for that.
from ssdlab.interrupt import STATUS, end, leave_at_once
from ssdlab.lazy import room


def main() -> None:
    """Runs the command line and exits."""
    # Before the commands are loaded, which takes a while.
    leave_at_once()
    # No command multiplies large matrices, and threads of BLAS that have nothing to do burn a processor for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = room("cli").main()
    if status == STATUS:
        end()
    sys.exit(status)


if __name__ == "__main__":
    main()
