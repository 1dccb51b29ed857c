//! What can be set.

use ssdlab_core::{Parameter, Unit};

use super::Bfq;
use crate::elevator::{MergeIndex, SchedulerInfo, SchedulerRules};
use crate::layer::Frame;
use crate::tunable::{BACK_SEEK_MAX, BACK_SEEK_PENALTY};

pub(in crate::elevator) static INFO: SchedulerInfo = SchedulerInfo {
    name: "bfq",
    help: "budgets of sectors for processes, fair by weight, with idling and raised weights; Linux 6",
    source: "Linux 6, block/bfq-iosched.c",
    parameters: TUNABLES,
    role: SchedulerRules {
        frame: Frame::Modern,
        merge_index: MergeIndex::Hash,
        by_queue: false,
        work_conserving: false,
        sorted_drain: false,
        bounded_wait: true,
        by_process: true,
        by_sync: true,
        part_of_device: None,
        build: |settings, device| Ok(Box::new(Bfq::new(settings, device))),
    },
};

const TUNABLES: &[Parameter] = &[
    Parameter::ms(
        "slice_idle",
        8,
        0,
        "How long the device is kept idle for the next request of a process; 0 for not at all.",
    ),
    Parameter::ms(
        "fifo_expire_sync",
        125,
        0,
        "Age at which a synchronous request is taken first when its queue is served.",
    ),
    Parameter::ms(
        "fifo_expire_async",
        250,
        0,
        "Age at which an asynchronous request is taken first when its queue is served.",
    ),
    BACK_SEEK_MAX,
    BACK_SEEK_PENALTY,
    Parameter::ms("timeout_sync", 125, 4, "How long a queue may be served at a time, in whole jiffies of 4 ms."),
    Parameter {
        name: "max_budget",
        unit: Unit::Sectors,
        default: 0,
        min: 0,
        max: 1 << 31,
        example: None,
        help: "Sectors for which a queue is served at a time at most; 0 for what the device transfers in that time.",
    },
    Parameter {
        name: "strict_guarantees",
        unit: Unit::Switch,
        default: 0,
        min: 0,
        max: 1,
        example: None,
        help: "Whether the device gets one request at a time and is kept idle for every queue.",
    },
    Parameter {
        name: "low_latency",
        unit: Unit::Switch,
        default: 1,
        min: 0,
        max: 1,
        example: None,
        help: "Whether the weights of interactive and soft real-time processes are raised.",
    },
];
