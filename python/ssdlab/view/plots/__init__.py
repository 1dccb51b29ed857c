"""Charts as matplotlib draws them, for papers."""
