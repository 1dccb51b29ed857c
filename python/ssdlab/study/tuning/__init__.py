"""Tuning: the best configuration under constraints, found in fewer runs than a design would take.

`space.py` is what is searched, `goal.py` what is asked of it, `search.py` proposes points (Optuna), `runs.py` has them
done by the executor of sweeps, `running.py` puts these together, `result.py` is what comes of it. The folder is that of
a study, described in `ssdlab.study.store`, with the trials of Optuna beside it (`trials.db`).

>>> import ssdlab
>>> tuned = ssdlab.tune(["device.op=3%..40%"], outcomes=["device.physical_bytes"],
...                     constraints=["write_amplification<=2"])  # doctest: +SKIP
>>> tuned.best.config.to_toml()  # doctest: +SKIP
"""
