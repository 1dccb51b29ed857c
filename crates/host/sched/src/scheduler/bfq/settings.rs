//! Registration and tunables of BFQ.

use ssdlab_core::{Parameter, Unit};

use super::Bfq;
use crate::layer::BlockLayerKind;
use crate::scheduler::{SchedulerInfo, SchedulerRules};
use crate::tunable::{BACK_SEEK_MAX, BACK_SEEK_PENALTY};

pub(in crate::scheduler) static INFO: SchedulerInfo = SchedulerInfo {
    name: "bfq",
    help: "budget fair queueing: sector budgets per process, weighted fairness, idling and weight raising; Linux 6",
    source: "Linux 6, block/bfq-iosched.c",
    parameters: TUNABLES,
    role: SchedulerRules {
        by_process: true,
        by_sync: true,
        ..SchedulerRules::new(BlockLayerKind::MultiQueue, &|settings, device| Ok(Box::new(Bfq::new(settings, device))))
    },
};

const TUNABLES: &[Parameter] = &[
    Parameter::ms("slice_idle", 8, 0, "Maximum time to idle for the next request of a process; 0 disables idling."),
    Parameter::ms(
        "fifo_expire_sync",
        125,
        0,
        "Age at which a synchronous request is served first within its queue's turn.",
    ),
    Parameter::ms(
        "fifo_expire_async",
        250,
        0,
        "Age at which an asynchronous request is served first within its queue's turn.",
    ),
    BACK_SEEK_MAX,
    BACK_SEEK_PENALTY,
    Parameter::ms("timeout_sync", 125, 4, "Maximum duration of a queue's turn, in whole jiffies of 4 ms."),
    Parameter::new(
        "max_budget",
        Unit::Sectors,
        0,
        [0, 1 << 31],
        "Maximum sectors per turn of a queue; 0 allows as many as the device can transfer within timeout_sync.",
    ),
    Parameter::switch(
        "strict_guarantees",
        false,
        "True to send only one request to the device at a time, and to idle for every queue.",
    ),
    Parameter::switch("low_latency", true, "True to raise the weights of interactive and soft real-time processes."),
];
