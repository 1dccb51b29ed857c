"""`ssdlab`, and `python -m ssdlab`: the command line."""

# These direct imports avoid the package's `__getattr__`, which would load many modules.
from ssdlab.leaving import STATUS, leave_at_once

# This line must precede the slow imports.
leave_at_once()

import os  # noqa: E402
import sys  # noqa: E402

from ssdlab.interrupt import end  # noqa: E402
from ssdlab.lazy import room  # noqa: E402


def main() -> None:
    """Runs the command line and exits."""
    # No command multiplies large matrices. With more threads, idle BLAS threads would spin for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = room("cli").main()
    if status == STATUS:
        end()
    sys.exit(status)


if __name__ == "__main__":
    main()
