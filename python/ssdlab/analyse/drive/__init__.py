"""Real drives: checks that a drive is unused, runs fio, and measures reads. No other package accesses a real drive."""
