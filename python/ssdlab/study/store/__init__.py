"""The folder of a study.

    plan.json         axes, design and base; version of ssdlab; points in order, each with the key of its run
    journal           finished runs that are not in results.parquet yet, one line each with a checksum
    results.parquet   earlier finished runs: key, error, complete result as JSON
    runs.parquet      dataset for other tools: a row per point in order, a column per metric
    lock              held by the writing process
    trials.db         trials of a search, in Optuna's format

A run's key is a checksum of all inputs that determine its result: resolved configuration, contents of the trace, and
program (see `ssdlab.study.work.run`). So an interrupted study reuses its finished runs, an extended study executes only
new runs, and equal runs execute only once. `runs.parquet` depends neither on times nor on the order in which runs
ended.

A `Study` (`study.py`) has requested runs with their metrics and notes (`runs.py`), and analyses (`questions.py`).
"""
