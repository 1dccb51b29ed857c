"""`ssdlab`, and `python -m ssdlab`: the command line."""

# Not from the package, which looks for the module first and loads much for that.
from ssdlab.leaving import STATUS, leave_at_once

# Before anything else is loaded, which takes a while.
leave_at_once()

import os  # noqa: E402
import sys  # noqa: E402

from ssdlab.interrupt import end  # noqa: E402
from ssdlab.lazy import room  # noqa: E402


def main() -> None:
    """Runs the command line and exits."""
    # No command multiplies large matrices, and threads of BLAS that have nothing to do burn a processor for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = room("cli").main()
    if status == STATUS:
        end()
    sys.exit(status)


if __name__ == "__main__":
    main()
