"""Starts Dask workers as SLURM jobs, and prints the address for `ssdlab sweep --cluster`.

Needs `pip install '.[cluster]' dask-jobqueue` in an environment on all nodes. Run it on the login node and leave it
running; workers end with it.
"""

import signal

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    queue="normal",
    account="storage",
    # One job: a node's share of cores and memory. One process per core, so a killed run takes no other with it.
    cores=16,
    processes=16,
    memory="64GB",
    walltime="04:00:00",
    # Node-local: keeps traces that nodes do not share.
    local_directory="/tmp",
)
# As many jobs as there is work. A sweep continues when workers come and go.
cluster.adapt(minimum_jobs=1, maximum_jobs=20)
print(cluster.scheduler_address, flush=True)
signal.pause()
