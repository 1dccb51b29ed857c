//! Host reads first: a read for which the host waits overtakes all other operations.
//!
//! ```text
//! next = earliest ready host read, or else the earliest ready
//! ```
//! The host waits for a read, but a write may be buffered. G. Wu and X. He, "Reducing SSD read latency via NAND flash
//! program and erase suspension", FAST 2012, call this read priority scheduling. Other operations may wait without
//! limit.

use super::{Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Registry entry of this die scheduler.
pub static INFO: DieSchedulerInfo = DieSchedulerInfo {
    name: "read_first",
    help: "host reads first",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick, in_order: false, internal_read: Class::Internal },
};

fn pick(view: &DieView) -> Option<Class> {
    view.earliest(&[Class::HostRead]).or_else(|| view.earliest(&[Class::HostProgram, Class::Internal]))
}
