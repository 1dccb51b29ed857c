"""Starts Dask workers as SLURM jobs, and prints the address for `ssdlab sweep --cluster`.

Needs `pip install '.[cluster]' dask-jobqueue` in an environment on all nodes. Run this script on the login node and
leave it running; its workers end with it.
"""

import signal

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    queue="normal",
    account="storage",
    # Cores and memory of one job. There is one process per core, so a killed run does not end other runs.
    cores=16,
    processes=16,
    memory="64GB",
    walltime="04:00:00",
    # Folder on each node for traces that the nodes do not share.
    local_directory="/tmp",
)
# Starts as many jobs as the work needs. A sweep continues if workers are added or end.
cluster.adapt(minimum_jobs=1, maximum_jobs=20)
print(cluster.scheduler_address, flush=True)
signal.pause()
