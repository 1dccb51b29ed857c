"""`ssdlab`, and `python -m ssdlab`: the command line."""

import sys

from ssdlab import interrupt
from ssdlab.lazy import room


def main() -> None:
    """Runs the command line and exits."""
    # Before the commands are loaded, which takes a while.
    interrupt.leave_at_once()
    sys.exit(room("cli").main())


if __name__ == "__main__":
    main()
