"""The folder of a study.

    plan.json         what was asked: axes, design, base; which program answers; the points in order, each with its run
    journal           runs that came to their end, one line each with a checksum, since the last time it was packed
    results.parquet   the same of before: key, error, and the whole result as JSON
    runs.parquet      the dataset, for other tools: a row for each point, in their order, a column for each figure
    lock              held by the one process that writes
    trials.db         of a search: its trials, as Optuna keeps them

A run goes by a checksum of all that decides about its result (`ssdlab.study.work.run`): the resolved configuration,
the contents of the trace, the program. So a study that was killed finds what is done, a study with one value more runs
only what that adds, and equal runs run once. `runs.parquet` is made of the other two, and does not depend
on when or in which order runs ended.

A `Study` (`study.py`) is what a folder holds, each file about one side of it: the runs that were asked for and their
figures (`runs.py`), which of them are seeds of one point (`seeds.py`), what is to be told of them (`remarks.py`), which
of them answer a question (`questions.py`); and its table for other libraries (`frames.py`).
"""
