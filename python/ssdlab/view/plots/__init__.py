"""Draws charts with matplotlib, for papers."""
