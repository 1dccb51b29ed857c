"""`python -m ssdlab` is the command line."""

from ssdlab.cli import main

main()
