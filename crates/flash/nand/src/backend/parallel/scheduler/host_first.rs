//! Host first: host operations overtake garbage collection, merges and map write-backs.
//!
//! ```text
//! next = earliest ready operation for the host, or else the earliest ready
//! ```
//! Collection is delayed, not avoided: a program to a block waits for the erase of the block.

use super::{Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Registry entry of this die scheduler.
pub static INFO: DieSchedulerInfo = DieSchedulerInfo {
    name: "host_first",
    help: "host operations before garbage collection, merges and map writes",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick, in_order: false, internal_read: Class::Internal },
};

fn pick(view: &DieView) -> Option<Class> {
    view.earliest(&[Class::HostRead, Class::HostProgram]).or_else(|| view.earliest(&[Class::Internal]))
}
