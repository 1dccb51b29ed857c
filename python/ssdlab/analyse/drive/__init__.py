"""Real drives: checks that one is unused, fio, and measuring reads. No other package touches a real drive."""
