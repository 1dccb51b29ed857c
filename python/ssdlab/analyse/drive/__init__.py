"""Runs fio on real drives and measures their reads, if they are unused. No other package accesses a real drive."""
