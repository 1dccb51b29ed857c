"""Tuning: finds the best configuration under constraints, with fewer runs than a full design needs.

`space.py` defines the space of points, `goal.py` defines goals and constraints. `search.py` proposes points (Optuna),
`runs.py` executes them, `finals.py` repeats the best points, and `running.py` combines these steps. `result.py` holds
the result. The folder has the files of a study (`ssdlab.study.store`), and Optuna's trials in `trials.db`.

>>> import ssdlab
>>> tuned = ssdlab.tune(["device.op=3%..40%"], outcomes=["device.physical_bytes"],
...                     constraints=["write_amplification<=2"])  # doctest: +SKIP
>>> tuned.best.config.to_toml()  # doctest: +SKIP
"""
