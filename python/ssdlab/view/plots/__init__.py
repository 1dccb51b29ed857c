"""Charts drawn by matplotlib, for papers."""
