"""Real drives: checks that a drive is unused, runs fio on it, and measures its reads. No other package accesses a real
drive.
"""
