"""`ssdlab`, and `python -m ssdlab`: the command line."""

# Imports the module directly, because the package's `__getattr__` would load many other modules.
from ssdlab.leaving import STATUS, leave_at_once

# Ctrl-C must be handled before the slow imports begin.
leave_at_once()

import os  # noqa: E402
import sys  # noqa: E402

from ssdlab.interrupt import end  # noqa: E402
from ssdlab.lazy import room  # noqa: E402


def main() -> None:
    """Runs the command line and exits."""
    # One BLAS thread is enough, because no command multiplies large matrices. More threads would spin while idle.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = room("cli").main()
    if status == STATUS:
        end()
    sys.exit(status)


if __name__ == "__main__":
    main()
