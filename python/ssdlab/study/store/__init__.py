"""The folder of a study.

    plan.json         axes, design and base; version of ssdlab; points in order, each with the key of its run
    journal           finished runs that are not in results.parquet yet, one line each with a checksum
    results.parquet   earlier finished runs: key, error, complete result as JSON
    runs.parquet      dataset for other tools: a row per point in order, a column per metric
    lock              held by the writing process
    trials.db         trials of a search, in Optuna's format

A run's key is a checksum of all inputs of its result (`ssdlab.study.work.run`): resolved configuration, contents of the
trace, program. So an interrupted study finds its finished runs, an extended study executes only new runs, and equal
runs execute once. `runs.parquet` does not depend on the times or the order in which runs ended.

A `Study` (`study.py`) combines classes with one file each: requested runs, their metrics and seeds (`runs.py`), notes
(`remarks.py`), and analyses (`questions.py`).
"""
